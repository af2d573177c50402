/* SPDX-License-Identifier: Apache-2.0 */
/* The verdicts of boundary verify, and the list of attempts. */
#include "unit.h"

#include <string.h>

#include "custody/verify.h"

static enum ck_verdict
of(enum ck_seen control, enum ck_seen before, enum ck_seen after)
{
	return ck_verdict_of(CK_TRY_READ, control, before, after);
}

static void
it_passes_when_it_works_outside_alone(void **state)
{
	(void)state;
	assert_int_equal(of(CK_SEEN_WORKED, CK_SEEN_REFUSED, CK_SEEN_REFUSED),
	    CK_VERDICT_PASS);
}

static void
whatever_works_inside_fails(void **state)
{
	(void)state;
	for (int s = CK_SEEN_NOTHING; s <= CK_SEEN_STRANGE; s++)
		for (int t = CK_SEEN_NOTHING; t <= CK_SEEN_STRANGE; t++) {
			assert_int_equal(of((enum ck_seen)s, CK_SEEN_WORKED,
			    (enum ck_seen)t), CK_VERDICT_FAIL);
			assert_int_equal(of((enum ck_seen)s, (enum ck_seen)t,
			    CK_SEEN_WORKED), CK_VERDICT_FAIL);
		}
}

static void
without_a_control_nothing_is_decided(void **state)
{
	const enum ck_seen no[] = { CK_SEEN_NOTHING, CK_SEEN_REFUSED,
		CK_SEEN_STOPPED, CK_SEEN_STRANGE };

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_int_equal(of(no[i], CK_SEEN_REFUSED, CK_SEEN_REFUSED),
		    CK_VERDICT_UNDECIDED);
	assert_int_equal(of(CK_SEEN_CANNOT, CK_SEEN_REFUSED,
	    CK_SEEN_REFUSED), CK_VERDICT_NA);
	assert_int_equal(ck_verdict_of(CK_TRY_READ | CK_TRY_RARE,
	    CK_SEEN_REFUSED, CK_SEEN_REFUSED, CK_SEEN_REFUSED),
	    CK_VERDICT_NA);
}

static void
a_refused_launch_proves_only_what_was_prepared(void **state)
{
	(void)state;
	assert_int_equal(of(CK_SEEN_WORKED, CK_SEEN_STOPPED,
	    CK_SEEN_REFUSED), CK_VERDICT_UNTRUSTED);
	assert_int_equal(of(CK_SEEN_WORKED, CK_SEEN_REFUSED,
	    CK_SEEN_STOPPED), CK_VERDICT_UNTRUSTED);
	assert_int_equal(ck_verdict_of(CK_TRY_READ | CK_TRY_PREPARED,
	    CK_SEEN_WORKED, CK_SEEN_STOPPED, CK_SEEN_STOPPED),
	    CK_VERDICT_PASS);
}

static void
what_hangs_or_cannot_be_tried_inside_is_undecided(void **state)
{
	const enum ck_seen odd[] = { CK_SEEN_NOTHING, CK_SEEN_CANNOT,
		CK_SEEN_STRANGE };

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_int_equal(of(CK_SEEN_WORKED, odd[i], CK_SEEN_REFUSED),
		    CK_VERDICT_UNDECIDED);
		assert_int_equal(of(CK_SEEN_WORKED, CK_SEEN_REFUSED, odd[i]),
		    CK_VERDICT_UNDECIDED);
	}
}

static void
the_worst_one_stands_for_all(void **state)
{
	size_t count[CK_VERDICT_COUNT] = { 0 };

	(void)state;
	assert_int_equal(ck_verdict_all(count), CK_VERDICT_UNDECIDED);
	count[CK_VERDICT_NA] = 40;
	assert_int_equal(ck_verdict_all(count), CK_VERDICT_UNDECIDED);
	count[CK_VERDICT_PASS] = 1;
	assert_int_equal(ck_verdict_all(count), CK_VERDICT_PASS);
	count[CK_VERDICT_UNDECIDED] = 1;
	assert_int_equal(ck_verdict_all(count), CK_VERDICT_UNDECIDED);
	count[CK_VERDICT_UNTRUSTED] = 1;
	assert_int_equal(ck_verdict_all(count), CK_VERDICT_UNTRUSTED);
	count[CK_VERDICT_FAIL] = 1;
	assert_int_equal(ck_verdict_all(count), CK_VERDICT_FAIL);
}

static void
each_attempt_has_a_name_of_its_own(void **state)
{
	const struct ck_attempt *a;
	size_t n = 0;

	(void)state;
	for (; (a = ck_attempt_at(n)) != NULL; n++) {
		assert_ptr_equal(ck_attempt_by_id(a->id), a);
		assert_non_null(a->run);
		assert_true(strlen(a->text) > 0);
		/* What is prepared is taken back. */
		assert_int_equal(a->prepare == NULL, a->undo == NULL);
	}
	assert_true(n >= 100);
	assert_null(ck_attempt_by_id("nothing"));
}

/* Only a home that was made for it. */
static void
no_other_home_is_attacked(void **state)
{
	struct ck_scene s;
	int outcome = 7, why = 7;

	(void)state;
	assert_int_equal(ck_scene_make("/nowhere", 1, "", NULL, &s, NULL),
	    CK_OK);
	assert_int_equal(ck_attempt_run(ck_attempt_at(0), &s, &outcome, &why,
	    NULL), CK_REFUSED);
	assert_int_equal(outcome, 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_passes_when_it_works_outside_alone),
		cmocka_unit_test(whatever_works_inside_fails),
		cmocka_unit_test(without_a_control_nothing_is_decided),
		cmocka_unit_test(
		    a_refused_launch_proves_only_what_was_prepared),
		cmocka_unit_test(
		    what_hangs_or_cannot_be_tried_inside_is_undecided),
		cmocka_unit_test(the_worst_one_stands_for_all),
		cmocka_unit_test(each_attempt_has_a_name_of_its_own),
		cmocka_unit_test(no_other_home_is_attacked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
