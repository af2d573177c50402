/* SPDX-License-Identifier: Apache-2.0 */
/* The mount plan: which steps a set gives, and what the second opinion says
 * of a plan that lost one. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boundary/mounts.h"
#include "help_boundary.h"

#define GOLDEN "fixtures/boundary/worker.mounts"
#define KEYS "/Users/o/.clankie-keys"
#define CLANKIE "/Users/o/.config/clankie"

/* A file system of which everything below the home is the user's. */
struct world {
	const char *missing;         /* and everything below it */
	const char *foreign;         /* belongs to somebody else */
	const char *unknown;         /* cannot be examined */
	const char *link;
};

static ck_err
look(void *arg, const char *path, struct ck_mount_fact *ret,
    struct ck_fail *fail)
{
	const struct world *w = arg;
	const char *base = ck_path_base(path);
	struct ck_mount_fact fact;

	memset(&fact, 0, sizeof(fact));
	if (w->unknown != NULL && strcmp(path, w->unknown) == 0)
		return ck_fail_set(fail, CK_DENIED, path, "unknown");
	fact.there = w->missing == NULL || !ck_path_under(path, w->missing);
	fact.movable = strncmp(path, "/Users/o/", 9) == 0;
	fact.ours = fact.there && ck_path_under(path, "/Users/o") &&
	    (w->foreign == NULL || strcmp(path, w->foreign) != 0);
	fact.link = w->link != NULL && strcmp(path, w->link) == 0;
	fact.directory = fact.there && !fact.link && strstr(base, ".json") ==
	    NULL && strcmp(base, ".env.local") != 0;
	fact.device = 7;
	fact.inode = strlen(path);
	*ret = fact;
	return CK_OK;
}

static struct world whole;
static const struct ck_mounts_options usual = { "/Users/o", 501, look,
	&whole };

/* help_set as custody gives it: the broker takes its directory along. */
static void
usual_set(struct ck_protect ret[HELP_SET_COUNT + 2])
{
	memcpy(ret, help_set, sizeof(help_set));
	ret[1].close_parent = true;
	ret[HELP_SET_COUNT] = help_protect(KEYS "/operator", true, true);
	ret[HELP_SET_COUNT + 1] = help_protect(KEYS
	    "/operator/operator.keychain-db", false, true);
}

static struct ck_mounts *
compiled(const struct ck_protect *set, size_t n,
    const struct ck_mounts_options *options)
{
	struct ck_mounts *plan = calloc(1, sizeof(*plan));
	struct ck_fail fail = CK_FAIL_INIT;

	assert_non_null(plan);
	if (ck_mounts_compile(set, n, options, plan, &fail) != CK_OK)
		fail_msg("%s: %s", fail.place, fail.why);
	if (ck_mounts_cover(plan, set, n, options, &fail) != CK_OK)
		fail_msg("%s: %s", fail.place, fail.why);
	return plan;
}

static char *
text_of(const struct ck_mounts *plan)
{
	struct ck_buf b = CK_BUF_INIT;

	ck_mounts_write(plan, &b);
	ck_buf_bytes(&b, "", 1);
	assert_int_equal(ck_buf_ok(&b), CK_OK);
	return (char *)b.p;
}

static bool
has_line(const char *text, const char *line)
{
	char whole_line[2048];

	(void)snprintf(whole_line, sizeof(whole_line), "\n%s\n", line);
	return strstr(text, whole_line) != NULL;
}

static void
gives(const struct ck_protect *set, size_t n,
    const struct ck_mounts_options *options, const char *line)
{
	struct ck_mounts *plan = compiled(set, n, options);
	char *text = text_of(plan);

	if (!has_line(text, line))
		fail_msg("no \"%s\" in\n%s", line, text);
	free(text);
	free(plan);
}

static void
plan_is_as_the_golden_file(void **state)
{
	struct ck_protect set[HELP_SET_COUNT + 2];
	struct ck_mounts *plan;
	char golden[8192], *text;
	size_t n;
	FILE *f;

	(void)state;
	usual_set(set);
	plan = compiled(set, HELP_COUNT(set), &usual);
	text = text_of(plan);
	if (getenv("CK_GOLDEN") != NULL) {
		f = fopen(GOLDEN, "w");
		assert_non_null(f);
		assert_true(fputs(text, f) >= 0);
		assert_int_equal(fclose(f), 0);
	}
	f = fopen(GOLDEN, "r");
	assert_non_null(f);
	n = fread(golden, 1, sizeof(golden) - 1, f);
	golden[n] = '\0';
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, golden);
	free(text);
	free(plan);
}

static void
order_and_repetition_make_no_difference(void **state)
{
	struct ck_protect set[2 * (HELP_SET_COUNT + 2)], turned;
	size_t n = HELP_SET_COUNT + 2;
	struct ck_mounts *plan;
	char *want, *text;

	(void)state;
	usual_set(set);
	plan = compiled(set, n, &usual);
	want = text_of(plan);
	free(plan);
	for (size_t i = 0; i < n; i++)
		set[n + i] = set[n - 1 - i];
	for (size_t turn = 0; turn < 2 * n; turn++) {
		turned = set[0];
		memmove(set, set + 1, (2 * n - 1) * sizeof(*set));
		set[2 * n - 1] = turned;
		plan = compiled(set, 2 * n, &usual);
		text = text_of(plan);
		assert_string_equal(text, want);
		free(text);
		free(plan);
	}
	free(want);
}

/* What appears or disappears changes identities, never steps. */
static void
files_that_come_and_go_change_no_step(void **state)
{
	static const char *const gone[] = { KEYS, "/Users/o/.config",
		"/Users/o/.config/clankie/settings.json", "/Users/o/.local",
		"/Users/o/src/app/.env.local", "/Users/o/src" };
	struct ck_protect set[HELP_SET_COUNT + 2];
	struct ck_mounts *all, *some;
	bool facts = true;

	(void)state;
	usual_set(set);
	all = compiled(set, HELP_COUNT(set), &usual);
	for (size_t i = 0; i < HELP_COUNT(gone); i++) {
		struct world w = { .missing = gone[i] };
		struct ck_mounts_options options = usual;

		options.arg = &w;
		some = compiled(set, HELP_COUNT(set), &options);
		assert_true(ck_mounts_same(all, some, &facts));
		assert_int_equal(facts, strchr(ck_path_base(gone[i]) + 1,
		    '.') != NULL);
		/* What was not there when the plan was made may come. */
		assert_true(ck_mounts_same(some, all, &facts));
		assert_true(facts);
		free(some);
	}
	some = compiled(set, HELP_COUNT(set), &usual);
	some->n--;
	memmove(some->step, some->step + 1, some->n * sizeof(some->step[0]));
	assert_true(ck_mounts_same(all, some, &facts));
	assert_false(facts);
	assert_true(ck_mounts_same(all, all, &facts));
	assert_true(facts);
	free(some);
	some = compiled(set, HELP_COUNT(set) - 1, &usual);
	assert_false(ck_mounts_same(all, some, &facts));
	assert_true(facts);
	free(some);
	free(all);
}

static void
only_what_the_worker_can_rename_is_bound(void **state)
{
	struct ck_protect set[] = {
		help_protect("/Users/o/a/b/.env.local", false, true),
		help_protect("/srv/x/y", false, true),
	};
	struct ck_mounts *plan = compiled(set, 2, &usual);
	char *text = text_of(plan);

	(void)state;
	assert_string_equal(text, CK_MOUNTS_FIRST "\nuser 501\n"
	    "bind dir - 7 10 /Users/o/a\nbind dir - 7 12 /Users/o/a/b\n"
	    "shut file - - - /Users/o/a/b/.env.local\n"
	    "shut file - - - /srv/x/y\nend 4\n");
	free(text);
	free(plan);
}

static void
broker_directory_is_masked_unless_it_cannot_be(void **state)
{
	struct ck_protect set[] = {
		help_protect(CLANKIE "/credentials.json", false, true),
		help_protect(CLANKIE "/settings.json", false, false),
	};
	struct world w = { .foreign = CLANKIE };
	struct ck_mounts_options options = usual;

	(void)state;
	set[0].close_parent = true;
	gives(set, 2, &usual, "mask dir 0500 7 24 " CLANKIE);
	gives(set, 2, &usual, "name file 0000 - - " CLANKIE
	    "/credentials.json");
	gives(set, 2, &usual, "back file - - - " CLANKIE "/settings.json");
	options.arg = &w;
	gives(set, 2, &options, "shut file - - - " CLANKIE
	    "/credentials.json");
	gives(set, 2, &options, "read file - - - " CLANKIE "/settings.json");
	set[0] = help_protect("/Users/o/credentials.json", false, true);
	set[0].close_parent = true;
	gives(set, 2, &usual, "shut file - - - /Users/o/credentials.json");
}

/* A weaker row never opens what a stronger one closes. */
static void
stronger_rule_wins_inside_and_outside(void **state)
{
	struct ck_protect set[] = {
		help_protect("/Users/o/k", true, true),
		help_protect("/Users/o/k/open", true, false),
		help_protect("/Users/o/k/open/x", false, true),
		help_protect("/Users/o/r", true, false),
		help_protect("/Users/o/r/s", false, true),
		help_protect("/Users/o/r/d/e", true, true),
		help_protect("/Users/o/r/t", false, false),
		help_protect("/Users/o/k-beside", true, true),
		help_protect("/Users/o/two", false, false),
		help_protect("/Users/o/two", false, true),
	};
	struct ck_mounts *plan = compiled(set, HELP_COUNT(set), &usual);
	char *text = text_of(plan);

	(void)state;
	assert_string_equal(text, CK_MOUNTS_FIRST "\nuser 501\n"
	    "read dir - 7 10 /Users/o/r\n"
	    "mask dir 0100 7 10 /Users/o/k\n"
	    "name dir 0100 - - /Users/o/k/open\n"
	    "name file 0000 - - /Users/o/k/open/x\n"
	    "mask dir 0100 7 17 /Users/o/k-beside\n"
	    "mask dir 0100 7 14 /Users/o/r/d/e\n"
	    "shut file - - - /Users/o/r/s\n"
	    "shut file - - - /Users/o/two\nend 8\n");
	free(text);
	free(plan);
}

static void
directories_between_mask_and_name_are_made(void **state)
{
	struct ck_protect set[] = {
		help_protect("/Users/o/b/c.json", false, true),
		help_protect("/Users/o/b/d/e/f", false, false),
		help_protect("/Users/o/b/d/g/h", false, true),
	};

	(void)state;
	set[0].close_parent = true;
	gives(set, 3, &usual, "name dir 0500 - - /Users/o/b/d");
	gives(set, 3, &usual, "name dir 0500 - - /Users/o/b/d/e");
	gives(set, 3, &usual, "back file - - - /Users/o/b/d/e/f");
	gives(set, 3, &usual, "name file 0000 - - /Users/o/b/d/g/h");
}

static void
refuses(const char *path, ck_err want, const struct ck_mounts_options *options)
{
	struct ck_protect set[] = {
		help_protect("/Users/o/fine", true, true),
		help_protect(path, true, true),
	};
	struct ck_mounts *plan = calloc(1, sizeof(*plan));
	struct ck_fail fail = CK_FAIL_INIT;

	assert_non_null(plan);
	plan->n = 1;
	assert_int_equal(ck_mounts_compile(set, 2, options, plan, &fail),
	    want);
	assert_int_equal(fail.code, want);
	assert_string_equal(fail.place, path);
	assert_int_equal(plan->n, 0);
	free(plan);
}

static void
what_cannot_be_masked_is_refused(void **state)
{
	struct world w = { .unknown = "/Users/o/secret" };
	struct ck_mounts_options options = usual;

	(void)state;
	refuses("/Users/o", CK_REFUSED, &usual);
	refuses("/Users", CK_REFUSED, &usual);
	refuses("/", CK_REFUSED, &usual);
	refuses("relative", CK_REFUSED, &usual);
	refuses("/Users/o/../x", CK_REFUSED, &usual);
	refuses("/Users/o/x/", CK_REFUSED, &usual);
	options.arg = &w;
	refuses("/Users/o/secret", CK_DENIED, &options);
}

static void
too_many_steps_are_refused(void **state)
{
	struct ck_protect *set = calloc(CK_MOUNTS_MAX + 1, sizeof(*set));
	struct ck_mounts *plan = calloc(1, sizeof(*plan));

	(void)state;
	assert_non_null(set);
	assert_non_null(plan);
	for (size_t i = 0; i <= CK_MOUNTS_MAX; i++) {
		(void)snprintf(set[i].path, sizeof(set[i].path),
		    "/Users/o/d%zu", i);
		set[i].directory = set[i].deny_read = true;
	}
	assert_int_equal(ck_mounts_compile(set, CK_MOUNTS_MAX, &usual, plan,
	    NULL), CK_OK);
	assert_int_equal(ck_mounts_compile(set, CK_MOUNTS_MAX + 1, &usual,
	    plan, NULL), CK_REFUSED);
	assert_int_equal(plan->n, 0);
	free(plan);
	free(set);
}

/* The second opinion must miss every single step, apart from what only makes
 * a mask less strict. */
static void
plan_that_lost_a_step_does_not_cover(void **state)
{
	struct ck_protect set[HELP_SET_COUNT + 2];
	struct ck_mounts *plan, *less = calloc(1, sizeof(*less));
	ck_err r;

	(void)state;
	assert_non_null(less);
	usual_set(set);
	plan = compiled(set, HELP_COUNT(set), &usual);
	for (size_t i = 0; i < plan->n; i++) {
		*less = *plan;
		less->n--;
		memmove(&less->step[i], &less->step[i + 1],
		    (less->n - i) * sizeof(less->step[0]));
		r = ck_mounts_cover(less, set, HELP_COUNT(set), &usual, NULL);
		if (r != (plan->step[i].step == CK_MOUNT_BACK ? CK_OK :
		    CK_NOENFORCE))
			fail_msg("without %s it is %s", plan->step[i].path,
			    ck_err_code(r));
	}
	free(plan);
	free(less);
}

/* A bind on top of a mask, above a mask, or of the file in it. */
static void
later_mount_over_a_mask_does_not_cover(void **state)
{
	static const char *const over[] = { "/Users/o", "/Users/o/.config",
		KEYS, CLANKIE, "/Users/o/src/app", "/Users" };
	struct ck_protect set[HELP_SET_COUNT + 2];
	struct ck_mounts *plan;

	(void)state;
	usual_set(set);
	plan = compiled(set, HELP_COUNT(set), &usual);
	plan->n++;
	for (size_t i = 0; i < HELP_COUNT(over); i++) {
		struct ck_mount *last = &plan->step[plan->n - 1];

		memset(last, 0, sizeof(*last));
		last->directory = true;
		(void)snprintf(last->path, sizeof(last->path), "%s", over[i]);
		assert_int_equal(ck_mounts_cover(plan, set, HELP_COUNT(set),
		    &usual, NULL), CK_NOENFORCE);
	}
	free(plan);
}

static void
mask_that_can_be_listed_or_is_too_wide_does_not_cover(void **state)
{
	struct ck_protect set[HELP_SET_COUNT + 2];
	struct ck_mounts *plan;

	(void)state;
	usual_set(set);
	for (int what = 0; what < 3; what++) {
		plan = compiled(set, HELP_COUNT(set), &usual);
		for (size_t i = 0; i < plan->n; i++) {
			struct ck_mount *m = &plan->step[i];

			if (what == 0 && strcmp(m->path, KEYS) == 0)
				m->mode = 0500;
			if (what == 1 && m->step == CK_MOUNT_NAME)
				m->mode = 0400;
			if (what == 2 && strcmp(m->path,
			    "/Users/o/src") == 0)
				m->step = CK_MOUNT_MASK;
		}
		assert_int_equal(ck_mounts_cover(plan, set, HELP_COUNT(set),
		    &usual, NULL), CK_NOENFORCE);
		free(plan);
	}
}

static size_t
reports(const struct ck_protect *set, size_t n, struct world *w,
    const char *text)
{
	struct ck_mounts_options options = usual;
	struct ck_mounts *plan;
	struct ck_buf b = CK_BUF_INIT;
	size_t lines = 0;

	options.arg = w;
	plan = compiled(set, n, &options);
	for (size_t i = 0; i < plan->n; i++)
		if (ck_mounts_report(plan, i, &options, &b))
			lines++;
	ck_buf_bytes(&b, "", 1);
	assert_int_equal(ck_buf_ok(&b), CK_OK);
	if (strstr((char *)b.p, text) == NULL)
		fail_msg("not \"%s\" in %s", text, (char *)b.p);
	ck_buf_free(&b);
	free(plan);
	return lines;
}

static void
what_a_mount_cannot_give_is_reported(void **state)
{
	struct ck_protect set[] = {
		help_protect("/Users/o/a/.env.local", false, true),
		help_protect("/Users/o/k", true, true),
	};
	struct world w = { NULL, NULL, NULL, NULL };

	(void)state;
	assert_int_equal(reports(set, 2, &w,
	    "/Users/o/a/.env.local: is closed as a single file"), 1);
	w.link = "/Users/o/a/.env.local";
	assert_int_equal(reports(set, 2, &w, "is a symbolic link"), 1);
	w.link = NULL;
	w.missing = "/Users/o/a/.env.local";
	assert_int_equal(reports(set, 2, &w, "is not there"), 1);
	w.missing = "/Users/o/k";
	assert_int_equal(reports(set, 2, &w, "/Users/o/k: is not there"), 2);
	set[0].deny_read = false;
	w.missing = NULL;
	assert_int_equal(reports(set, 2, &w, "is read-only as a single"), 1);
	assert_int_equal(reports(set + 1, 1, &w, ""), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plan_is_as_the_golden_file),
		cmocka_unit_test(order_and_repetition_make_no_difference),
		cmocka_unit_test(files_that_come_and_go_change_no_step),
		cmocka_unit_test(only_what_the_worker_can_rename_is_bound),
		cmocka_unit_test(broker_directory_is_masked_unless_it_cannot_be),
		cmocka_unit_test(stronger_rule_wins_inside_and_outside),
		cmocka_unit_test(directories_between_mask_and_name_are_made),
		cmocka_unit_test(what_cannot_be_masked_is_refused),
		cmocka_unit_test(too_many_steps_are_refused),
		cmocka_unit_test(plan_that_lost_a_step_does_not_cover),
		cmocka_unit_test(later_mount_over_a_mask_does_not_cover),
		cmocka_unit_test(
		    mask_that_can_be_listed_or_is_too_wide_does_not_cover),
		cmocka_unit_test(what_a_mount_cannot_give_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
