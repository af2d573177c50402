/* SPDX-License-Identifier: Apache-2.0 */
/* .env.local as Clankie's service reads it. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "help_store.h"
#include "store/dotenv.h"

struct seen {
	char text[1024];
	ck_err result;
	size_t calls;
};

static ck_err
note(void *arg, const char *name, const struct ck_secret *value)
{
	struct seen *s = arg;
	size_t n = strlen(s->text);

	(void)snprintf(s->text + n, sizeof(s->text) - n, "%s=<%.*s>", name,
	    (int)value->n, (const char *)value->p);
	s->calls++;
	return s->result;
}

static void
lines_follow_the_rules_of_the_service(void **state)
{
	static const struct {
		const char *text, *want;
	} row[] = {
		{ "", "" }, { "\n\n \t\n", "" }, { "A=1", "A=<1>" },
		{ "A=1\nB=2\n", "A=<1>B=<2>" }, { "A=1\r\nB=2\r\n", "A=<1>B=<2>" },
		/* a carriage return alone ends no line */
		{ "A=1\rB=2", "A=<1\rB=2>" },
		{ "# A=1\n  #B=2\nC=3#x", "C=<3#x>" },
		{ "A=b=c", "A=<b=c>" }, { "A", "" }, { "=1", "" }, { " = 1", "" },
		{ "  A  =  x y  ", "A=<x y>" }, { "A=", "A=<>" },
		{ "export A=1", "" }, { "A B=1", "" }, { "1A=1", "" },
		{ "A-B=1", "" }, { "A.B=1", "" }, { "\xc3\xa9=1", "" },
		/* one matching pair, around the whole value */
		{ "A=\"x\"", "A=<x>" }, { "A='x'", "A=<x>" },
		{ "A=\"x'", "A=<\"x'>" }, { "A=\"\"x\"\"", "A=<\"x\">" },
		{ "A=\"'x'\"", "A=<'x'>" }, { "A=\" x \"", "A=< x >" },
		{ "A=\"\"", "A=<>" }, { "A=\"", "A=<\">" },
		{ "A=\"x\" # c", "A=<\"x\" # c>" },
		{ "A=x\\ny$B${C}", "A=<x\\ny$B${C}>" },
		{ "A=\"x\ny\"", "A=<\"x>" },
		/* the first of two wins, an empty one too; case matters */
		{ "A=1\nB=2\nA=3\nB=", "A=<1>B=<2>" },
		{ "A=\nA=3\na=4", "A=<>a=<4>" },
		/* JavaScript's white space */
		{ "\xef\xbb\xbf" "A=1", "A=<1>" },
		{ "\xc2\xa0" "A\xe2\x80\x83=\xe3\x80\x80x\xe2\x80\xa8", "A=<x>" },
		{ "A=\xe2\x80\x8bx", "A=<\xe2\x80\x8bx>" },
		{ "A=\v1\f", "A=<1>" },
	};
	struct help_store *fx = *state;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct seen s = { "", CK_OK, 0 };

		hs_write(fx->path, row[i].text, strlen(row[i].text), 0644);
		assert_int_equal(ck_dotenv_each(fx->path, note, &s, NULL),
		    CK_OK);
		assert_string_equal(s.text, row[i].want);
	}
}

static void
name_too_long_is_passed_over(void **state)
{
	struct help_store *fx = *state;
	struct seen s = { "", CK_OK, 0 };
	char text[400];

	memset(text, 'A', sizeof(text));
	memcpy(text + CK_DOTENV_NAME_SIZE - 1, "=1\n", 3);
	memcpy(text + 300, "=2", 2);
	hs_write(fx->path, text, 302, 0600);
	assert_int_equal(ck_dotenv_each(fx->path, note, &s, NULL), CK_OK);
	assert_int_equal(s.calls, 1);
	assert_non_null(strstr(s.text, "=<1>"));
}

static void
callback_ends_the_reading(void **state)
{
	struct help_store *fx = *state;
	struct seen s = { "", CK_NO, 0 };

	hs_write(fx->path, "A=1\nB=2\n", 8, 0600);
	assert_int_equal(ck_dotenv_each(fx->path, note, &s, NULL), CK_NO);
	assert_int_equal(s.calls, 1);
}

/* Many lines with one name must not cost the square of their number. */
static void
many_lines_are_read_in_time(void **state)
{
	struct help_store *fx = *state;
	struct seen s = { "", CK_OK, 0 };
	const size_t lines = 200000;
	char *text = malloc(lines * 4);

	assert_non_null(text);
	for (size_t i = 0; i < lines; i++)
		memcpy(text + i * 4, "A=1\n", 4);
	hs_write(fx->path, text, lines * 4, 0600);
	free(text);
	assert_int_equal(ck_dotenv_each(fx->path, note, &s, NULL), CK_OK);
	assert_int_equal(s.calls, 1);
}

/* Both functions give want, and nothing else. */
static void
assert_both(const char *path, ck_err want)
{
	struct seen s = { "", CK_OK, 0 };
	struct ck_secret first = CK_SECRET_INIT;
	struct ck_fail f = CK_FAIL_INIT;
	bool found = true;

	assert_int_equal(ck_dotenv_each(path, note, &s, &f), want);
	assert_int_equal(f.code, want);
	assert_string_equal(f.place, path);
	assert_int_equal(ck_dotenv_find_bearer(path, &found, &first, &f),
	    want);
	assert_int_equal(f.code, want);
	assert_int_equal(s.calls, 0);
	assert_true(found);
	assert_null(first.p);
}

static void
what_cannot_be_read_has_its_own_error(void **state)
{
	struct help_store *fx = *state;
	char other[CK_PATH_MAX];

	assert_both(fx->path, CK_NOSTORE);
	assert_int_equal(mkfifo(fx->path, 0600), 0);
	assert_both(fx->path, CK_REFUSED);
	assert_int_equal(unlink(fx->path), 0);
	assert_int_equal(mkdir(fx->path, 0700), 0);
	assert_both(fx->path, CK_REFUSED);
	assert_int_equal(rmdir(fx->path), 0);
	assert_int_equal(ck_path_join(fx->dir, "other", other, NULL), CK_OK);
	hs_write(other, "A=1\n", 4, 0600);
	assert_int_equal(symlink(other, fx->path), 0);
	assert_both(fx->path, CK_REFUSED);
	assert_int_equal(unlink(fx->path), 0);
	hs_write(fx->path, "A=1\n", 4, 0600);
	assert_int_equal(truncate(fx->path, (off_t)CK_DOTENV_MAX + 1), 0);
	assert_both(fx->path, CK_UNSUPPORTED);
	if (geteuid() == 0) {
		assert_int_equal(chown(other, 12345, 12345), 0);
		assert_both(other, CK_REFUSED);
	} else {
		print_message("SKIP: a foreign owner needs root\n");
	}
}

static void
bearer_is_found_in_comments_and_values(void **state)
{
	static const char *const frame[] = {
		"# old: %s\nA=1\n", "A=1\nCLANKIE_OPERATOR_TOKEN='%s'\n", "%s",
		"x%sx", "export T=%s", "A=%s,second",
	};
	struct help_store *fx = *state;
	char *value = hs_bearer(), text[256], key[64];
	struct ck_secret first = CK_SECRET_INIT;
	bool found = false;

	(void)snprintf(key, sizeof(key), "%.54s",
	    strstr(value, "clankie_op_"));
	for (size_t i = 0; i < sizeof(frame) / sizeof(frame[0]); i++) {
		const char *hole = strstr(frame[i], "%s");

		(void)snprintf(text, sizeof(text), "%.*s%s%s",
		    (int)(hole - frame[i]), frame[i], key, hole + 2);
		hs_write(fx->path, text, strlen(text), 0600);
		found = false;
		assert_int_equal(ck_dotenv_find_bearer(fx->path, &found,
		    &first, NULL), CK_OK);
		assert_true(found);
		assert_true(hs_is(&first, key));
		ck_secret_wipe(&first);
		found = false;
		assert_int_equal(ck_dotenv_find_bearer(fx->path, &found, NULL,
		    NULL), CK_OK);
		assert_true(found);
	}
	key[50] = '\0';
	hs_write(fx->path, key, strlen(key), 0600);
	assert_int_equal(ck_dotenv_find_bearer(fx->path, &found, &first,
	    NULL), CK_OK);
	assert_false(found);
	assert_null(first.p);
	free(value);
}

#define WITH_FX(f) \
    cmocka_unit_test_setup_teardown(f, help_store_setup, help_store_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FX(lines_follow_the_rules_of_the_service),
		WITH_FX(name_too_long_is_passed_over),
		WITH_FX(callback_ends_the_reading),
		WITH_FX(many_lines_are_read_in_time),
		WITH_FX(what_cannot_be_read_has_its_own_error),
		WITH_FX(bearer_is_found_in_comments_and_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
