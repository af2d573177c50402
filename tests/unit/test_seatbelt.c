/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Seatbelt text: exact bytes, strings that cannot be broken out of, and
 * what is refused.  The strings are read back by a small reader here; that a
 * real interpreter agrees is test_scheme_oracle's part.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boundary/policy.h"
#include "boundary/seatbelt.h"
#include "help_boundary.h"

#define GOLDEN "fixtures/boundary/worker.sb"

static struct ck_buf
rendered(const struct ck_policy *p)
{
	struct ck_buf b = CK_BUF_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r = ck_seatbelt_render(p, &b, &fail);

	if (r != CK_OK)
		fail_msg("%s: %s: %s", ck_err_code(r), fail.place, fail.why);
	ck_buf_bytes(&b, "", 1);
	assert_int_equal(ck_buf_ok(&b), CK_OK);
	b.n--;
	return b;
}

static struct ck_buf
rendered_one(const char *path, const struct ck_worker_options *options)
{
	struct ck_protect set[] = { help_protect(path, false, true) };
	struct ck_policy *p = help_worker(set, 1, options);
	struct ck_buf b = rendered(p);

	ck_policy_free(&p);
	return b;
}

/* (allow default) and one deny of file-link. */
static struct ck_policy *
hand_made(enum ck_filter filter, const char *path, bool fold)
{
	static const struct ck_rule base = { .ops = CK_OPS(DEFAULT) };
	struct ck_rule rule = { .effect = CK_DENY, .ops = CK_OPS(LINK),
		.filter = filter, .path = path, .fold = fold };
	struct ck_policy *p = NULL;

	assert_int_equal(ck_policy_new(&p), CK_OK);
	assert_int_equal(ck_policy_add(p, &base, NULL), CK_OK);
	assert_int_equal(ck_policy_add(p, &rule, NULL), CK_OK);
	return p;
}

static void
renders_as(enum ck_filter filter, const char *path, bool fold,
    const char *want)
{
	struct ck_policy *p = hand_made(filter, path, fold);
	struct ck_buf b = rendered(p);
	const char *at = strstr((char *)b.p, "(deny file-link\n    ");
	char text[4096];

	(void)snprintf(text, sizeof(text), "(deny file-link\n    %s\n    "
	    "(with message \"clankie-keys\"))\n", want);
	assert_non_null(at);
	assert_string_equal(at, text);
	ck_buf_free(&b);
	ck_policy_free(&p);
}

static void
filters_are_written_as_seatbelt_reads_them(void **state)
{
	(void)state;
	renders_as(CK_FILTER_LITERAL, "/a b", false, "(literal \"/a b\")");
	renders_as(CK_FILTER_SUBPATH, "/a", false, "(subpath \"/a\")");
	renders_as(CK_FILTER_SUBPATH, "/", true, "(subpath \"/\")");
	renders_as(CK_FILTER_PREFIX, "/a.sb-", false, "(prefix \"/a.sb-\")");
	renders_as(CK_FILTER_NUMBERED, "/aZ.", false,
	    "(regex \"^/aZ[.][0-9]\")");
	renders_as(CK_FILTER_NUMBERED, "/aZ.", true,
	    "(regex \"^/[Aa][Zz][.][0-9]\")");
	renders_as(CK_FILTER_LITERAL, "/aZ", true,
	    "(literal \"/aZ\")\n    (regex \"^/[Aa][Zz]$\")");
	renders_as(CK_FILTER_SUBPATH, "/a", true,
	    "(subpath \"/a\")\n    (regex \"^/[Aa](/|$)\")");
	renders_as(CK_FILTER_PREFIX, "/a", true,
	    "(prefix \"/a\")\n    (regex \"^/[Aa]\")");
}

static void
quotes_and_backslashes_are_escaped(void **state)
{
	(void)state;
	renders_as(CK_FILTER_LITERAL, "/a\"b", false, "(literal \"/a\\\"b\")");
	renders_as(CK_FILTER_LITERAL, "/a\\", false, "(literal \"/a\\\\\")");
	renders_as(CK_FILTER_LITERAL, "/\\\"", false,
	    "(literal \"/\\\\\\\"\")");
	renders_as(CK_FILTER_LITERAL, "/;#\"$'()", false,
	    "(literal \"/;#\\\"$'()\")");
}

/* In a regular expression a backslash is doubled once more by the reader. */
static void
regex_characters_stand_for_themselves(void **state)
{
	(void)state;
	renders_as(CK_FILTER_NUMBERED, "/.*+?|(){}$", false,
	    "(regex \"^/[.][*][+][?][|][(][)][{][}][$][0-9]\")");
	renders_as(CK_FILTER_NUMBERED, "/[]^\\", false,
	    "(regex \"^/\\\\[\\\\]\\\\^\\\\\\\\[0-9]\")");
	renders_as(CK_FILTER_NUMBERED, "/\"\xC3\xA9", false,
	    "(regex \"^/\\\"\xC3\xA9[0-9]\")");
}

/*
 * What a reader of the language sees: *ret_forms top-level forms, and each
 * string, with string-append joined, appended to strings with a newline
 * behind.  Fails the test on a string of 256 bytes or more, an unknown
 * escape, unbalanced parentheses or text outside forms.
 */
static void
read_back(const char *text, size_t *ret_forms, struct ck_buf *strings)
{
	size_t forms = 0, depth = 0, join = 0, begun = 0;

	for (const char *at = text; *at != '\0'; at++) {
		if (*at == ';') {
			at += strcspn(at, "\n");
			assert_true(*at == '\n');
		} else if (*at == '(') {
			forms += depth++ == 0;
			if (strncmp(at, "(string-append ", 15) == 0)
				join = depth;
		} else if (*at == ')') {
			assert_true(depth > 0);
			if (join == depth) {
				ck_buf_text(strings, "\n");
				join = 0;
			}
			depth--;
		} else if (*at == '"') {
			begun = strings->n;
			for (at++; *at != '"'; at++) {
				if (*at == '\\') {
					at++;
					assert_true(*at == '"' || *at == '\\');
				}
				assert_true(*at != '\0' && *at != '\n');
				ck_buf_bytes(strings, at, 1);
			}
			assert_true(strings->n - begun < 256);
			if (join == 0)
				ck_buf_text(strings, "\n");
		} else if (*at != '\n') {
			assert_true(depth > 0);
		}
	}
	assert_int_equal(depth, 0);
	*ret_forms = forms;
}

static size_t
times(const struct ck_buf *b, const char *line)
{
	size_t n = 0, len = strlen(line);

	for (size_t i = 0; b->p != NULL && i + len <= b->n; i++)
		n += memcmp(b->p + i, line, len) == 0 &&
		    (i == 0 || b->p[i - 1] == '\n') &&
		    (i + len == b->n || b->p[i + len] == '\n');
	return n;
}

static void
survives(const char *path)
{
	struct ck_buf b = rendered_one(path, &help_plain);
	struct ck_buf strings = CK_BUF_INIT;
	char name[CK_PATH_MAX + 16];
	size_t forms = 0;

	read_back((char *)b.p, &forms, &strings);
	/* version, default, the secret with its names, its ancestors. */
	assert_int_equal(forms, 4);
	assert_int_equal(times(&strings, path), 1);
	(void)snprintf(name, sizeof(name), "%s.sb-", path);
	assert_int_equal(times(&strings, name), 1);
	assert_int_equal(times(&strings, "clankie-keys"), 2);
	ck_buf_free(&strings);
	ck_buf_free(&b);
}

static void
attack_strings_stay_inside_their_string(void **state)
{
	char e[2 * 300 + 4] = "/p/";

	(void)state;
	survives("/p/a\")(allow file-read* (subpath \"/\"))"
	    "(deny file-read* (literal \"b");
	survives("/p/a\\");
	survives("/p/a\\\"");
	survives("/p/#\"x");
	survives("/p/#|x");
	survives("/p/;x");
	survives("/p/a b'(x");
	survives("/p/$x");
	for (size_t i = 0; i < 300; i++)
		memcpy(e + 3 + 2 * i, "\xC3\xA9", 2);
	e[sizeof(e) - 1] = '\0';
	survives(e);
}

/* Whatever lies at the boundary of two pieces: one byte, a pair, a sequence
 * of two, three or four bytes, a class. */
static void
long_paths_are_split_between_characters(void **state)
{
	static const char *const unit[] = { "x", "\"", "\\", "\xC3\xA9",
		"\xE2\x82\xAC", "\xF0\x9F\x94\x91" };
	char path[CK_PATH_MAX];

	(void)state;
	for (size_t u = 0; u < HELP_COUNT(unit); u++)
		for (size_t lead = 0; lead < 8; lead++) {
			size_t n = 3 + lead, len = strlen(unit[u]);

			memset(path, 'a', sizeof(path));
			memcpy(path, "/p/", 3);
			for (; n + len < 700; n += len)
				memcpy(path + n, unit[u], len);
			path[n] = '\0';
			survives(path);
		}
}

/* Valid UTF-8 in each literal by itself, checked with the renderer's rule:
 * "/" + piece must be a path it takes. */
static void
pieces_are_valid_utf8_and_short(void **state)
{
	char path[CK_PATH_MAX] = "/x", piece[300];
	struct ck_buf b;
	size_t pieces = 0;

	(void)state;
	for (size_t n = 2; n + 4 < 900; n += 4)
		memcpy(path + n, "\xF0\x9F\x94\x91", 5);
	b = rendered_one(path, &help_macos);
	for (const char *at = (char *)b.p; (at = strchr(at, '"')) != NULL;
	    pieces++) {
		size_t n = strcspn(at + 1, "\"");

		assert_true(n <= 200);
		(void)snprintf(piece, sizeof(piece), "/%.*s", (int)n, at + 1);
		if (n > 0 && at[1] != '/')
			assert_int_equal(ck_seatbelt_path(piece, NULL),
			    CK_OK);
		at += n + 2;
	}
	assert_true(pieces > 20);
	ck_buf_free(&b);
}

static void
unsafe_paths_are_refused_by_name(void **state)
{
	static const char *const bad[] = {
		"/a\n(allow default)", "/a\rb", "/a\tb", "/a\x01", "/a\x1F",
		"/a\x7F", "/a${HOME}", "/${", "/a\x80", "/a\xC3", "/\xC3(",
		"/\xC0\xAF", "/\xE0\x80\xAF", "/\xED\xA0\x80",
		"/\xF4\x90\x80\x80", "/\xF5\x80\x80\x80", "/\xFF",
		"/\xE2\x82", "/\xF0\x9F\x94", "", "a", "a/b", "/a/", "//a",
		"/a//b", "/a/.", "/a/../b", "/.." };
	static const char *const good[] = { "/", "/a", "/$a{b}", "/a$",
		"/\xC3\xA9", "/\xED\x9F\xBF", "/\xEE\x80\x80",
		"/\xF0\x90\x80\x80", "/\xF4\x8F\xBF\xBF", "/...", "/a\"\\" };
	struct ck_fail fail = CK_FAIL_INIT;

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(bad); i++) {
		if (ck_seatbelt_path(bad[i], &fail) != CK_REFUSED)
			fail_msg("bad path %zu is taken", i);
		assert_string_equal(fail.place, bad[i]);
		assert_string_not_equal(fail.why, "");
	}
	for (size_t i = 0; i < HELP_COUNT(good); i++)
		if (ck_seatbelt_path(good[i], NULL) != CK_OK)
			fail_msg("good path %zu is refused", i);
}

static void
refused_policy_leaves_the_text_as_it_was(void **state)
{
	static const char *const bad[] = { "/a\n(allow default)", "/a\x7F",
		"/a${HOME}", "/a\xFF" };
	struct ck_buf b = CK_BUF_INIT;
	struct ck_fail fail = CK_FAIL_INIT;

	(void)state;
	ck_buf_text(&b, "mine");
	for (size_t i = 0; i < HELP_COUNT(bad); i++) {
		struct ck_policy *p = hand_made(CK_FILTER_LITERAL, bad[i],
		    true);

		assert_int_equal(ck_seatbelt_render(p, &b, &fail),
		    CK_REFUSED);
		assert_string_equal(fail.place, bad[i]);
		ck_policy_free(&p);
	}
	assert_int_equal(b.n, 4);
	assert_memory_equal(b.p, "mine", 4);
	ck_buf_free(&b);
}

static void
ambiguous_policy_is_not_enforceable_and_not_written(void **state)
{
	static const struct ck_rule allow = { .ops = CK_OPS(LINK) |
	    CK_OPS(READ_DATA), .filter = CK_FILTER_LITERAL, .path = "/a/b" };
	struct ck_policy *p = hand_made(CK_FILTER_SUBPATH, "/a", false);
	struct ck_policy *empty = NULL;
	struct ck_buf b = CK_BUF_INIT;

	(void)state;
	assert_int_equal(ck_policy_add(p, &allow, NULL), CK_OK);
	assert_int_equal(ck_seatbelt_render(p, &b, NULL), CK_NOENFORCE);
	assert_int_equal(ck_policy_new(&empty), CK_OK);
	assert_int_equal(ck_seatbelt_render(empty, &b, NULL), CK_NOENFORCE);
	assert_int_equal(b.n, 0);
	ck_policy_free(&p);
	ck_policy_free(&empty);
	ck_buf_free(&b);
}

static void
full_memory_leaves_the_text_as_it_was(void **state)
{
	struct ck_policy *p = hand_made(CK_FILTER_LITERAL, "/a", false);
	struct ck_buf b = CK_BUF_INIT;

	(void)state;
	ck_buf_text(&b, "mine");
	b.failed = true;
	assert_int_equal(ck_seatbelt_render(p, &b, NULL), CK_NOMEM);
	assert_int_equal(b.n, 4);
	assert_memory_equal(b.p, "mine", 4);
	ck_buf_free(&b);
	ck_policy_free(&p);
}

static void
forms_stay_below_sixteen_kilobytes(void **state)
{
	struct ck_protect set[40];
	struct ck_policy *p;
	struct ck_buf b, strings = CK_BUF_INIT;
	size_t forms = 0, longest = 0;
	const char *at, *end;

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(set); i++) {
		set[i] = help_protect("/p/", false, true);
		memset(set[i].path + 3, 'a', 960);
		(void)snprintf(set[i].path + 960, 8, "%02zu", i);
	}
	p = help_worker(set, HELP_COUNT(set), &help_macos);
	b = rendered(p);
	for (at = (char *)b.p; (end = strstr(at, ")\n(")) != NULL;
	    at = end + 2)
		if ((size_t)(end + 1 - at) > longest)
			longest = (size_t)(end + 1 - at);
	assert_true(longest > 8000 && longest < 16384);
	read_back((char *)b.p, &forms, &strings);
	assert_true(forms > 40);
	for (size_t i = 0; i < HELP_COUNT(set); i++)
		assert_int_equal(times(&strings, set[i].path), 1);
	ck_buf_free(&strings);
	ck_buf_free(&b);
	ck_policy_free(&p);
}

static void
names_beyond_ascii_are_reported_as_a_gap(void **state)
{
	struct ck_buf b = rendered_one("/p/caf\xC3\xA9", &help_macos);

	(void)state;
	assert_non_null(strstr((char *)b.p, "; Other Unicode spellings are "
	    "not covered: /p/caf\xC3\xA9\n"));
	ck_buf_free(&b);
	b = rendered_one("/p/cafe", &help_macos);
	assert_null(strstr((char *)b.p, "Unicode"));
	ck_buf_free(&b);
}

/* Set CLANKIE_KEYS_WRITE_GOLDEN to write the file anew, then read the diff. */
static void
worker_profile_is_the_golden_one_byte_for_byte(void **state)
{
	struct ck_policy *p = help_worker(help_set, HELP_SET_COUNT,
	    &help_macos);
	struct ck_buf b = rendered(p), again = rendered(p);
	static char golden[65536];
	FILE *f;
	size_t n;

	(void)state;
	assert_int_equal(b.n, again.n);
	assert_memory_equal(b.p, again.p, b.n);
	if (getenv("CLANKIE_KEYS_WRITE_GOLDEN") != NULL) {
		f = fopen(GOLDEN, "w");
		assert_non_null(f);
		assert_int_equal(fwrite(b.p, 1, b.n, f), b.n);
		assert_int_equal(fclose(f), 0);
	}
	f = fopen(GOLDEN, "r");
	assert_non_null(f);
	n = fread(golden, 1, sizeof(golden) - 1, f);
	(void)fclose(f);
	golden[n] = '\0';
	assert_string_equal((char *)b.p, golden);
	ck_buf_free(&again);
	ck_buf_free(&b);
	ck_policy_free(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_are_written_as_seatbelt_reads_them),
		cmocka_unit_test(quotes_and_backslashes_are_escaped),
		cmocka_unit_test(regex_characters_stand_for_themselves),
		cmocka_unit_test(attack_strings_stay_inside_their_string),
		cmocka_unit_test(long_paths_are_split_between_characters),
		cmocka_unit_test(pieces_are_valid_utf8_and_short),
		cmocka_unit_test(unsafe_paths_are_refused_by_name),
		cmocka_unit_test(refused_policy_leaves_the_text_as_it_was),
		cmocka_unit_test(
		    ambiguous_policy_is_not_enforceable_and_not_written),
		cmocka_unit_test(full_memory_leaves_the_text_as_it_was),
		cmocka_unit_test(forms_stay_below_sixteen_kilobytes),
		cmocka_unit_test(names_beyond_ascii_are_reported_as_a_gap),
		cmocka_unit_test(
		    worker_profile_is_the_golden_one_byte_for_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
