/* SPDX-License-Identifier: Apache-2.0 */
/* The worker policy: what it denies, what it leaves alone, what it refuses. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boundary/policy.h"
#include "boundary/seatbelt.h"
#include "help_boundary.h"

#define BROKER "/Users/o/.config/clankie/credentials.json"
#define ENV "/Users/o/src/app/.env.local"

static const enum ck_op reading[] = { CK_OP_READ_DATA, CK_OP_READ_XATTR,
	CK_OP_MAP_EXECUTABLE };
static const enum ck_op writing[] = { CK_OP_WRITE_DATA, CK_OP_WRITE_CREATE,
	CK_OP_WRITE_UNLINK, CK_OP_LINK, CK_OP_CLONE, CK_OP_WRITE_MODE,
	CK_OP_WRITE_OWNER, CK_OP_WRITE_FLAGS, CK_OP_WRITE_ACL,
	CK_OP_WRITE_XATTR, CK_OP_WRITE_TIMES, CK_OP_WRITE_SETUGID,
	CK_OP_MOUNT };
static const enum ck_op seeing[] = { CK_OP_READ_METADATA, CK_OP_EXISTENCE };

static void
all_are(const struct ck_policy *p, enum ck_effect want, const enum ck_op *op,
    size_t n, const char *path)
{
	static const enum ck_model models[] = { CK_MODEL_SPECIFIC,
		CK_MODEL_LAST };
	struct ck_verdict v = { CK_ALLOW, 0, NULL };

	for (size_t i = 0; i < n; i++)
		for (size_t m = 0; m < 2; m++) {
			assert_int_equal(ck_policy_decide_as(p, models[m],
			    op[i], path, &v), CK_OK);
			if (v.effect != want)
				fail_msg("%s on %s: rule %zu, %s",
				    ck_op_name(op[i]), path, v.rule, v.why);
		}
}

#define DENIED(p, set, path) \
	all_are(p, CK_DENY, set, HELP_COUNT(set), path)
#define ALLOWED(p, set, path) \
	all_are(p, CK_ALLOW, set, HELP_COUNT(set), path)

static void
secret(const struct ck_policy *p, const char *path)
{
	DENIED(p, reading, path);
	DENIED(p, writing, path);
	ALLOWED(p, seeing, path);
}

static void
untouched(const struct ck_policy *p, const char *path)
{
	ALLOWED(p, reading, path);
	ALLOWED(p, writing, path);
	ALLOWED(p, seeing, path);
}

static void
secrets_are_denied_under_every_name(void **state)
{
	static const char *const names[] = {
		"/Users/o/.clankie-keys",
		"/Users/o/.clankie-keys/operator/operator.keychain-db",
		"/Users/o/.clankie-keys/custody.db-journal",
		"/System/Volumes/Data/Users/o/.clankie-keys/operator/x",
		"/Users/o/.Clankie-Keys/OPERATOR",
		BROKER,
		"/System/Volumes/Data" BROKER,
		"/Users/o/.config/clankie/CREDENTIALS.JSON",
		"/system/volumes/data/users/o/.config/clankie/"
		    "credentials.json",
		BROKER ".4711.6f1b4c1e-0000-4000-8000-00c0ffee0000.tmp",
		BROKER ".lock",
		BROKER ".lock/owner",
		BROKER ".tmp-a1B2c3D4",
		BROKER ".sb-abcd1234-abcdef",
		BROKER ".SB-abcd1234-abcdef",
		ENV,
		"/Users/o/src/app/.ENV.LOCAL",
		"/Users/o/.config/clankie-keys/unlock.json",
	};
	struct ck_policy *p = help_worker(help_set, HELP_SET_COUNT,
	    &help_macos);

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(names); i++)
		secret(p, names[i]);
	ck_policy_free(&p);
}

/* Whoever works beside, above or near by name must not notice. */
static void
work_is_unaffected(void **state)
{
	static const char *const names[] = {
		"/Users/o/.clankie-key", "/Users/o/.clankie-keys2",
		"/Users/o/.clankie-keys.d/x", "/Users/o/clankie-keys/x",
		BROKER "x", BROKER ".bak", BROKER "/x",
		"/Users/o/.config/clankie/notes",
		"/Users/o/src/app/.env.locale", ENV ".example",
		"/Users/o/src/app/.env", "/Users/o/src/app/main.c",
		"/Users/o/src/other", "/Users/o/x", "/Users/x",
		"/Users/o/.config/other/credentials.json",
		"/System/Volumes/Data/Users/o/src/app/main.c",
		"/private/tmp/.env.local", "/",
	};
	struct ck_policy *p = help_worker(help_set, HELP_SET_COUNT,
	    &help_macos);

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(names); i++)
		untouched(p, names[i]);
	ck_policy_free(&p);
}

static void
write_only_members_stay_readable_and_executable(void **state)
{
	static const char *const names[] = {
		"/Users/o/.config/clankie/settings.json",
		"/Users/o/.local/libexec/clankie-keys/clankie-worker-entry",
	};
	struct ck_policy *p = help_worker(help_set, HELP_SET_COUNT,
	    &help_macos);

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(names); i++) {
		ALLOWED(p, reading, names[i]);
		ALLOWED(p, seeing, names[i]);
		DENIED(p, writing, names[i]);
	}
	ck_policy_free(&p);
}

static void
ancestors_stay_where_and_what_they_are(void **state)
{
	static const enum ck_op moving[] = { CK_OP_WRITE_UNLINK,
		CK_OP_WRITE_CREATE, CK_OP_WRITE_MODE, CK_OP_WRITE_OWNER,
		CK_OP_WRITE_ACL, CK_OP_WRITE_FLAGS, CK_OP_LINK, CK_OP_CLONE,
		CK_OP_MOUNT };
	static const enum ck_op working[] = { CK_OP_READ_DATA,
		CK_OP_WRITE_TIMES, CK_OP_WRITE_XATTR, CK_OP_WRITE_DATA };
	static const char *const names[] = { "/Users", "/Users/o",
		"/Users/o/src", "/Users/o/src/app", "/Users/o/.config",
		"/Users/o/.config/clankie", "/System/Volumes/Data/Users/o",
		"/Users/O/SRC" };
	struct ck_policy *p = help_worker(help_set, HELP_SET_COUNT,
	    &help_macos);

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(names); i++) {
		DENIED(p, moving, names[i]);
		ALLOWED(p, working, names[i]);
		ALLOWED(p, seeing, names[i]);
	}
	ck_policy_free(&p);
}

/* Only its parent, and only inside the home. */
static void
own_parent_is_denied_every_write_inside_home_only(void **state)
{
	struct ck_protect set[] = {
		help_protect("/Users/o/.config/own/file", false, true),
		help_protect("/Users/o/file", false, true),
		help_protect("/opt/own/file", false, true),
	};
	struct ck_policy *p;

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(set); i++)
		set[i].own_parent = true;
	p = help_worker(set, HELP_COUNT(set), &help_plain);
	DENIED(p, writing, "/Users/o/.config/own");
	ALLOWED(p, reading, "/Users/o/.config/own");
	untouched(p, "/Users/o/.config/own/other");
	all_are(p, CK_ALLOW, &writing[10], 1, "/Users/o/.config");
	all_are(p, CK_ALLOW, &writing[10], 1, "/Users/o");
	all_are(p, CK_ALLOW, &writing[10], 1, "/opt/own");
	ck_policy_free(&p);
}

static void
plain_options_make_one_spelling(void **state)
{
	struct ck_policy *p = help_worker(help_set, HELP_SET_COUNT,
	    &help_plain);

	(void)state;
	secret(p, ENV);
	untouched(p, "/Users/o/src/app/.ENV.LOCAL");
	untouched(p, "/System/Volumes/Data" ENV);
	ck_policy_free(&p);
}

static void
long_spelling_protects_the_short_one(void **state)
{
	struct ck_protect set[] = {
		help_protect("/System/Volumes/Data" ENV, false, true)
	};
	struct ck_policy *p = help_worker(set, 1, &help_macos);

	(void)state;
	secret(p, ENV);
	secret(p, "/System/Volumes/Data" ENV);
	assert_int_equal(ck_policy_covers(p, set, 1, &help_macos, NULL),
	    CK_OK);
	ck_policy_free(&p);
}

static struct ck_buf
text_of(const struct ck_policy *p)
{
	struct ck_buf b = CK_BUF_INIT;

	for (size_t i = 0; i < ck_policy_count(p); i++) {
		ck_policy_describe(p, i, &b);
		ck_buf_text(&b, "\n");
	}
	assert_int_equal(ck_buf_ok(&b), CK_OK);
	return b;
}

static void
same_rules(const struct ck_protect *a, size_t a_n, const struct ck_protect *b,
    size_t b_n)
{
	struct ck_policy *pa = help_worker(a, a_n, &help_macos);
	struct ck_policy *pb = help_worker(b, b_n, &help_macos);
	struct ck_buf ta = text_of(pa), tb = text_of(pb);

	assert_int_equal(ta.n, tb.n);
	assert_memory_equal(ta.p, tb.p, ta.n);
	ck_buf_free(&ta);
	ck_buf_free(&tb);
	ck_policy_free(&pa);
	ck_policy_free(&pb);
}

/* Every rotation and its mirror image, with members given twice. */
static void
order_and_repetition_make_no_difference(void **state)
{
	struct ck_protect set[2 * HELP_SET_COUNT];

	(void)state;
	for (size_t shift = 0; shift < HELP_SET_COUNT; shift++) {
		for (size_t i = 0; i < HELP_SET_COUNT; i++) {
			set[i] = help_set[(i + shift) % HELP_SET_COUNT];
			set[2 * HELP_SET_COUNT - 1 - i] = set[i];
		}
		same_rules(help_set, HELP_SET_COUNT, set, HELP_SET_COUNT);
		same_rules(help_set, HELP_SET_COUNT, set + HELP_SET_COUNT,
		    HELP_SET_COUNT);
		same_rules(help_set, HELP_SET_COUNT, set, 2 * HELP_SET_COUNT);
	}
}

/* The same path for reading and for writing, in both orders. */
static void
repeated_member_gets_the_stronger_denial(void **state)
{
	struct ck_protect set[] = { help_protect(ENV, false, false),
		help_protect(ENV, false, true),
		help_protect(ENV, false, false) };
	struct ck_policy *p = help_worker(set, 3, &help_macos);

	(void)state;
	secret(p, ENV);
	same_rules(set, 2, set + 1, 2);
	same_rules(set, 2, set + 1, 1);
	ck_policy_free(&p);
}

static void
nested_members_keep_the_stronger_denial(void **state)
{
	struct ck_protect set[] = {
		help_protect("/Users/o/k", true, true),
		help_protect("/Users/o/k/in/file", false, false),
	};
	struct ck_policy *p = help_worker(set, 2, &help_macos);

	(void)state;
	secret(p, "/Users/o/k");
	secret(p, "/Users/o/k/in");
	secret(p, "/Users/o/k/in/file");
	assert_int_equal(ck_policy_covers(p, set, 2, &help_macos, NULL),
	    CK_OK);
	ck_policy_free(&p);
}

static void
unusable_members_are_refused_and_output_unchanged(void **state)
{
	static const char *const bad[] = { "/", "/Users", "/Users/o", "",
		"relative", "/Users/o/", "/Users/o/a/../b", "/Users/o//a",
		"/System/Volumes/Data", "/System/Volumes/Data/Users/o" };
	struct ck_policy *mine = NULL, *p;
	struct ck_fail fail;

	(void)state;
	assert_int_equal(ck_policy_new(&mine), CK_OK);
	p = mine;
	for (size_t i = 0; i < HELP_COUNT(bad); i++) {
		struct ck_protect set[] = { help_set[0],
			help_protect(bad[i], true, true) };

		memset(&fail, 0, sizeof(fail));
		if (ck_policy_worker(set, 2, &help_macos, &p, &fail) !=
		    CK_REFUSED)
			fail_msg("%s is not refused", bad[i]);
		assert_string_equal(fail.place, bad[i]);
		assert_ptr_equal(p, mine);
	}
	ck_policy_free(&mine);
}

static void
unusable_home_is_refused(void **state)
{
	struct ck_worker_options options = { .home = "home" };
	struct ck_policy *p = NULL;

	(void)state;
	assert_int_equal(ck_policy_worker(help_set, 1, &options, &p, NULL),
	    CK_REFUSED);
	assert_null(p);
}

static void
nothing_protected_denies_nothing(void **state)
{
	struct ck_policy *p = help_worker(NULL, 0, &help_macos);

	(void)state;
	assert_int_equal(ck_policy_count(p), 1);
	untouched(p, ENV);
	ck_policy_free(&p);
}

static void
worker_policies_pass_their_own_check(void **state)
{
	static const struct ck_worker_options *const options[] = {
		&help_macos, &help_plain };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct ck_policy *p = help_worker(help_set, HELP_SET_COUNT,
		    options[i]);

		assert_int_equal(ck_policy_agrees(p, NULL), CK_OK);
		assert_int_equal(ck_policy_covers(p, help_set, HELP_SET_COUNT,
		    options[i], NULL), CK_OK);
		ck_policy_free(&p);
	}
}

/* p without rule drop, and without the operations in minus. */
static struct ck_policy *
copy_without(const struct ck_policy *p, size_t drop, ck_ops minus)
{
	struct ck_policy *copy = NULL;

	assert_int_equal(ck_policy_new(&copy), CK_OK);
	for (size_t i = 0; i < ck_policy_count(p); i++) {
		struct ck_rule rule = *ck_policy_rule(p, i);

		rule.ops &= ~minus;
		if (i != drop)
			assert_int_equal(ck_policy_add(copy, &rule, NULL),
			    CK_OK);
	}
	return copy;
}

/* Of a single file no rule is there twice, so each loss must be found. */
static void
check_finds_every_missing_rule(void **state)
{
	struct ck_protect set[] = { help_protect(ENV, false, true) };
	struct ck_policy *p = help_worker(set, 1, &help_macos);
	struct ck_fail fail = CK_FAIL_INIT;

	(void)state;
	for (size_t i = 0; i < ck_policy_count(p); i++) {
		struct ck_policy *less = copy_without(p, i, 0);

		if (ck_policy_covers(less, set, 1, &help_macos, &fail) !=
		    CK_NOENFORCE)
			fail_msg("rule %zu is not missed", i);
		ck_policy_free(&less);
	}
	ck_policy_free(&p);
}

static void
check_finds_every_missing_operation(void **state)
{
	static const ck_ops gone[] = { CK_OPS(LINK), CK_OPS(CLONE),
		CK_OPS(MOUNT), CK_OPS(READ_DATA), CK_OPS(READ_XATTR),
		CK_OPS(MAP_EXECUTABLE), CK_OPS(WRITE_CREATE),
		CK_OPS(WRITE_UNLINK), CK_OPS(WRITE_ANY) };
	struct ck_protect set[] = { help_protect(ENV, false, true) };
	struct ck_policy *p = help_worker(set, 1, &help_plain);

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(gone); i++) {
		struct ck_policy *less = copy_without(p, SIZE_MAX, gone[i]);

		if (ck_policy_covers(less, set, 1, &help_plain, NULL) !=
		    CK_NOENFORCE)
			fail_msg("operation %zu is not missed", i);
		ck_policy_free(&less);
	}
	ck_policy_free(&p);
}

/* Too much is a fault as well: hidden metadata, a whole home. */
static void
check_finds_denials_that_stop_work(void **state)
{
	static const struct ck_rule extra[] = {
		{ .effect = CK_DENY, .ops = CK_OPS(READ_METADATA),
		    .filter = CK_FILTER_LITERAL, .path = ENV },
		{ .effect = CK_DENY, .ops = CK_OPS(WRITE_ANY),
		    .filter = CK_FILTER_SUBPATH, .path = "/Users/o/src" },
		{ .effect = CK_DENY, .ops = CK_OPS(READ_ANY),
		    .filter = CK_FILTER_PREFIX, .path = ENV },
	};
	struct ck_protect set[] = { help_protect(ENV, false, true) };

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(extra); i++) {
		struct ck_policy *p = help_worker(set, 1, &help_macos);

		assert_int_equal(ck_policy_add(p, &extra[i], NULL), CK_OK);
		assert_int_equal(ck_policy_covers(p, set, 1, &help_macos,
		    NULL), CK_NOENFORCE);
		ck_policy_free(&p);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_denied_under_every_name),
		cmocka_unit_test(work_is_unaffected),
		cmocka_unit_test(
		    write_only_members_stay_readable_and_executable),
		cmocka_unit_test(ancestors_stay_where_and_what_they_are),
		cmocka_unit_test(
		    own_parent_is_denied_every_write_inside_home_only),
		cmocka_unit_test(plain_options_make_one_spelling),
		cmocka_unit_test(long_spelling_protects_the_short_one),
		cmocka_unit_test(order_and_repetition_make_no_difference),
		cmocka_unit_test(repeated_member_gets_the_stronger_denial),
		cmocka_unit_test(nested_members_keep_the_stronger_denial),
		cmocka_unit_test(
		    unusable_members_are_refused_and_output_unchanged),
		cmocka_unit_test(unusable_home_is_refused),
		cmocka_unit_test(nothing_protected_denies_nothing),
		cmocka_unit_test(worker_policies_pass_their_own_check),
		cmocka_unit_test(check_finds_every_missing_rule),
		cmocka_unit_test(check_finds_every_missing_operation),
		cmocka_unit_test(check_finds_denials_that_stop_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
