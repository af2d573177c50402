/* SPDX-License-Identifier: Apache-2.0 */
/* A mount plan as arguments of bubblewrap: both forms say the same, nothing
 * is mounted where nothing is, and a shell reads the words as they were. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boundary/bwrap.h"
#include "help_boundary.h"

#define HOME "/Users/o"
#define KEYS HOME "/.clankie-keys"

struct world {
	const char *missing, *link, *unknown;
};

static ck_err
look(void *arg, const char *path, struct ck_mount_fact *ret,
    struct ck_fail *fail)
{
	const struct world *w = arg;

	memset(ret, 0, sizeof(*ret));
	if (w->unknown != NULL && strcmp(path, w->unknown) == 0)
		return ck_fail_set(fail, CK_DENIED, path, "unknown");
	ret->there = w->missing == NULL || !ck_path_under(path, w->missing);
	ret->link = w->link != NULL && strcmp(path, w->link) == 0;
	ret->directory = ret->there && !ret->link &&
	    strchr(ck_path_base(path) + 1, '.') == NULL;
	ret->ours = ret->there;
	ret->movable = ck_path_under(path, HOME) && strcmp(path, HOME) != 0;
	return CK_OK;
}

static struct world world;
static const struct ck_mounts_options options = { HOME, 501, look, &world };

static struct ck_mounts *
plan_of(const struct ck_protect *set, size_t n)
{
	struct ck_mounts *plan = calloc(1, sizeof(*plan));

	assert_non_null(plan);
	world = (struct world){ NULL, NULL, NULL };
	assert_int_equal(ck_mounts_compile(set, n, &options, plan, NULL),
	    CK_OK);
	return plan;
}

static struct ck_mounts *
usual_plan(void)
{
	struct ck_protect set[] = {
		help_protect(KEYS, true, true),
		help_protect(KEYS "/custody.db", false, true),
		help_protect(HOME "/src/app/.env.local", false, true),
		help_protect(HOME "/.local/entry", true, false),
		help_protect(HOME "/b/creds.json", false, true),
		help_protect(HOME "/b/settings.json", false, false),
	};

	set[4].close_parent = true;
	return plan_of(set, HELP_COUNT(set));
}

/* The words of the form for --args, with a space between. */
static char *
words_of(const struct ck_mounts *plan)
{
	struct ck_buf b = CK_BUF_INIT;

	assert_int_equal(ck_bwrap_render(plan, &options, CK_BWRAP_NULL, &b,
	    NULL), CK_OK);
	for (size_t i = 0; i + 1 < b.n; i++)
		if (b.p[i] == '\0')
			b.p[i] = ' ';
	assert_int_equal(b.p[b.n - 1], '\0');
	return (char *)b.p;
}

static void
every_step_becomes_its_option(void **state)
{
	struct ck_mounts *plan = usual_plan();
	char *words = words_of(plan);

	(void)state;
	assert_string_equal(words, "--dev-bind / / "
	    "--bind " HOME "/.local " HOME "/.local "
	    "--ro-bind " HOME "/.local/entry " HOME "/.local/entry "
	    "--bind " HOME "/src " HOME "/src "
	    "--bind " HOME "/src/app " HOME "/src/app "
	    "--perms 0100 --tmpfs " KEYS " "
	    "--ro-bind /dev/null " KEYS "/custody.db "
	    "--remount-ro " KEYS " "
	    "--perms 0500 --tmpfs " HOME "/b "
	    "--ro-bind /dev/null " HOME "/b/creds.json "
	    "--ro-bind " HOME "/b/settings.json " HOME "/b/settings.json "
	    "--remount-ro " HOME "/b "
	    "--ro-bind /dev/null " HOME "/src/app/.env.local "
	    "--die-with-parent --new-session");
	free(words);
	free(plan);
}

/* bubblewrap would make it, outside too. */
static void
what_is_not_there_or_a_link_is_left_out(void **state)
{
	struct ck_mounts *plan = usual_plan();
	char *words;

	(void)state;
	world.missing = HOME "/src/app/.env.local";
	world.link = HOME "/.local/entry";
	words = words_of(plan);
	assert_null(strstr(words, ".env.local"));
	assert_null(strstr(words, "entry"));
	/* Nothing below them is mounted on, so they are not held either. */
	assert_null(strstr(words, HOME "/src"));
	assert_null(strstr(words, HOME "/.local"));
	assert_non_null(strstr(words, "--tmpfs " KEYS));
	free(words);
	world.link = NULL;
	world.missing = HOME "/b";
	words = words_of(plan);
	assert_null(strstr(words, HOME "/b"));
	free(words);
	free(plan);
}

static void
a_failure_leaves_the_output_as_it_was(void **state)
{
	static const struct {
		struct world world;
		ck_err r;
	} cases[] = {
		{ { HOME, NULL, NULL }, CK_NOENFORCE },
		{ { NULL, NULL, HOME "/b" }, CK_DENIED },
	};
	struct ck_mounts *plan = usual_plan();

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(cases); i++) {
		struct ck_buf b = CK_BUF_INIT;
		struct ck_fail fail = CK_FAIL_INIT;

		ck_buf_text(&b, "kept");
		world = cases[i].world;
		assert_int_equal(ck_bwrap_render(plan, &options,
		    CK_BWRAP_SHELL, &b, &fail), cases[i].r);
		assert_int_equal(b.n, 4);
		assert_true(fail.why[0] != '\0');
		ck_buf_free(&b);
	}
	free(plan);
}

/* What a shell makes of the text; NUL behind each word. */
static size_t
read_by_shell(const char *text, char *ret, size_t room)
{
	char script[64] = "/tmp/ck-bwrap-XXXXXX", command[128];
	int fd = mkstemp(script);
	FILE *f;
	size_t n;

	assert_true(fd >= 0);
	assert_non_null(f = fdopen(fd, "w"));
	assert_true(fprintf(f, "set -- %s\nprintf '%%s\\0' \"$@\"\n", text) >
	    0);
	assert_int_equal(fclose(f), 0);
	(void)snprintf(command, sizeof(command), "sh %s", script);
	assert_non_null(f = popen(command, "r"));
	n = fread(ret, 1, room, f);
	assert_int_equal(pclose(f), 0);
	assert_int_equal(remove(script), 0);
	return n;
}

static void
a_shell_reads_the_same_words(void **state)
{
	static const char *const names[] = { "a b", "'", "a'b''c", "\"", "\\",
		"$(echo x)", "`echo x`", "$HOME", "*", "?", "[a]", "~", "#",
		";", "&", "|", "<", ">", "!", "{a,b}", "\n", "a\nb", "\t",
		"\xC3\xA9", "-x", "--bind", "=", "%s" };
	struct ck_protect set[HELP_COUNT(names) + 1];
	static char words[64 << 10];
	struct ck_buf text = CK_BUF_INIT, plain = CK_BUF_INIT;
	struct ck_mounts *plan;
	char path[128];

	(void)state;
	set[0] = help_protect(KEYS, true, true);
	for (size_t i = 0; i < HELP_COUNT(names); i++) {
		(void)snprintf(path, sizeof(path), HOME "/%s/.env", names[i]);
		set[i + 1] = help_protect(path, false, true);
	}
	plan = plan_of(set, HELP_COUNT(set));
	assert_int_equal(ck_bwrap_render(plan, &options, CK_BWRAP_SHELL,
	    &text, NULL), CK_OK);
	assert_int_equal(ck_bwrap_render(plan, &options, CK_BWRAP_NULL,
	    &plain, NULL), CK_OK);
	ck_buf_bytes(&text, "", 1);
	assert_int_equal(read_by_shell((const char *)text.p, words,
	    sizeof(words)), plain.n);
	assert_memory_equal(words, plain.p, plain.n);
	ck_buf_free(&plain);
	ck_buf_free(&text);
	free(plan);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_becomes_its_option),
		cmocka_unit_test(what_is_not_there_or_a_link_is_left_out),
		cmocka_unit_test(a_failure_leaves_the_output_as_it_was),
		cmocka_unit_test(a_shell_reads_the_same_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
