/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One set of names that are easily written wrong, in each format, compared
 * byte for byte with fixtures/boundary (CK_GOLDEN=write makes those anew):
 * what is written to disk must be the same on every machine and day, or
 * "check" would find a difference that is none.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boundary/bwrap.h"
#include "boundary/mounts.h"
#include "boundary/policy.h"
#include "boundary/seatbelt.h"
#include "help_boundary.h"

#define HOME "/Users/o"
#define MISSING HOME "/not yet"

/* 300 bytes in one name, more than a string literal of the profile holds and
 * more than most file systems take; and a path of nearly CK_PATH_MAX. */
#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define DEEP "/" HUNDRED "/" HUNDRED

/* /tmp and /var are symbolic links on macOS and stand here resolved, as
 * ck_path_canonical() gives them; so does a home that is reached by a link. */
static const struct {
	const char *path;
	bool directory, deny_read, close_parent, own_parent;
} odd[] = {
	{ HOME "/.clankie-keys", true, true, false, false },
	{ HOME "/.clankie-keys/operator/operator.keychain-db", false, true,
	    false, false },
	{ "/private/tmp/keys of o", true, true, false, false },
	{ "/private/var/folders/x_/o's \"T\"/token", false, true, false,
	    false },
	{ HOME "/back\\slash/\\n.json", false, true, true, false },
	{ HOME "/a\")(allow file-read* (subpath \"/\"))", false, true, false,
	    false },
	{ HOME "/$(touch x) `touch y` ; # & | *?", true, false, false,
	    false },
	{ HOME "/caf\xC3\xA9", true, true, false, false },
	{ HOME "/cafe\xCC\x81", false, true, false, false },
	{ HOME "/\xF0\x9F\x94\x91/.env.local", false, true, false, false },
	{ HOME "/" HUNDRED HUNDRED HUNDRED, false, true, false, false },
	{ HOME DEEP DEEP DEEP DEEP "/.env.local", false, true, false, false },
	{ MISSING "/.env.local", false, true, false, false },
	{ HOME "/secret", true, true, false, false },
	{ HOME "/secret2", false, false, false, true },
};
#define ODD HELP_COUNT(odd)

static void
odd_set(struct ck_protect ret[ODD])
{
	for (size_t i = 0; i < ODD; i++) {
		ret[i] = help_protect(odd[i].path, odd[i].directory,
		    odd[i].deny_read);
		ret[i].close_parent = odd[i].close_parent;
		ret[i].own_parent = odd[i].own_parent;
	}
}

/* Everything but one directory is there; what is in the home, and what the
 * set has elsewhere, is the user's. */
static ck_err
look(void *arg, const char *path, struct ck_mount_fact *ret,
    struct ck_fail *fail)
{
	struct ck_mount_fact fact;

	(void)arg;
	(void)fail;
	memset(&fact, 0, sizeof(fact));
	fact.there = !ck_path_under(path, MISSING);
	fact.movable = ck_path_under(path, HOME) && strcmp(path, HOME) != 0;
	fact.ours = fact.there && !ck_path_under("/private/tmp", path);
	fact.directory = fact.there;
	for (size_t i = 0; i < ODD; i++)
		if (!odd[i].directory && strcmp(odd[i].path, path) == 0)
			fact.directory = false;
	fact.device = 7;
	fact.inode = strlen(path);
	*ret = fact;
	return CK_OK;
}

static const struct ck_mounts_options options = { HOME, 501, look, NULL };

static void
expect_golden(const char *name, const struct ck_buf *text)
{
	static char golden[256 << 10];
	char path[128];
	size_t n;
	FILE *f;

	assert_int_equal(ck_buf_ok(text), CK_OK);
	(void)snprintf(path, sizeof(path), "fixtures/boundary/%s", name);
	if (getenv("CK_GOLDEN") != NULL) {
		assert_non_null(f = fopen(path, "w"));
		assert_int_equal(fwrite(text->p, 1, text->n, f), text->n);
		assert_int_equal(fclose(f), 0);
	}
	assert_non_null(f = fopen(path, "r"));
	n = fread(golden, 1, sizeof(golden), f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(n, text->n);
	assert_memory_equal(golden, text->p, n);
}

static void
seatbelt_text_is_the_golden_one(void **state)
{
	struct ck_protect set[ODD];
	struct ck_buf text = CK_BUF_INIT;
	struct ck_policy *p;

	(void)state;
	odd_set(set);
	p = help_worker(set, ODD, &help_macos);
	assert_int_equal(ck_policy_covers(p, set, ODD, &help_macos, NULL),
	    CK_OK);
	assert_int_equal(ck_seatbelt_render(p, &text, NULL), CK_OK);
	expect_golden("odd.sb", &text);
	ck_buf_free(&text);
	ck_policy_free(&p);
}

static struct ck_mounts *
plan_of(void)
{
	struct ck_protect set[ODD];
	struct ck_mounts *plan = calloc(1, sizeof(*plan));
	struct ck_fail fail = CK_FAIL_INIT;

	assert_non_null(plan);
	odd_set(set);
	if (ck_mounts_compile(set, ODD, &options, plan, &fail) != CK_OK ||
	    ck_mounts_cover(plan, set, ODD, &options, &fail) != CK_OK)
		fail_msg("%s: %s", fail.place, fail.why);
	return plan;
}

static void
mount_plan_is_the_golden_one(void **state)
{
	struct ck_mounts *plan = plan_of(), *again = calloc(1, sizeof(*again));
	struct ck_buf text = CK_BUF_INIT, second = CK_BUF_INIT;

	(void)state;
	assert_non_null(again);
	ck_mounts_write(plan, &text);
	expect_golden("odd.mounts", &text);
	assert_int_equal(ck_mounts_read((const char *)text.p, text.n, "odd",
	    again, NULL), CK_OK);
	ck_mounts_write(again, &second);
	assert_int_equal(second.n, text.n);
	assert_memory_equal(second.p, text.p, text.n);
	ck_buf_free(&second);
	ck_buf_free(&text);
	free(again);
	free(plan);
}

static void
bwrap_arguments_are_the_golden_ones(void **state)
{
	struct ck_mounts *plan = plan_of();
	struct ck_buf text = CK_BUF_INIT;

	(void)state;
	assert_int_equal(ck_bwrap_render(plan, &options, CK_BWRAP_SHELL,
	    &text, NULL), CK_OK);
	expect_golden("odd.bwrap", &text);
	ck_buf_free(&text);
	free(plan);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seatbelt_text_is_the_golden_one),
		cmocka_unit_test(mount_plan_is_the_golden_one),
		cmocka_unit_test(bwrap_arguments_are_the_golden_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
