/* SPDX-License-Identifier: Apache-2.0 */
/* How a worker is started, for every combination of what can be known. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "custody/launch.h"

/* The outcome as it is promised: a way, or the code of a refusal. */
struct outcome {
	ck_err r;
	enum ck_launch_how how;
};

static struct outcome
refuse(ck_err r)
{
	return (struct outcome){ r, CK_LAUNCH_OFF };
}

static struct outcome
start(enum ck_launch_how how)
{
	return (struct outcome){ CK_OK, how };
}

static struct outcome
promised(const struct ck_launch_facts *f)
{
	bool says_on = f->readable && f->setting == CK_SANDBOX_ON;

	if (f->inside == CK_INSIDE_ENVELOPE)
		return start(CK_LAUNCH_ENVELOPE);
	if (f->inside != CK_INSIDE_NOTHING)
		return refuse(CK_NESTED);
	if (f->word == CK_WORD_OFF)
		return start(CK_LAUNCH_OFF);
	if (f->word == CK_WORD_FOLLOW && !f->readable)
		return refuse(CK_REFUSED);
	if (f->word == CK_WORD_FOLLOW && !says_on)
		return f->seen ? refuse(CK_DECIDE) : start(CK_LAUNCH_OFF);
	if (!f->custody)
		return refuse(CK_NOSTORE);
	return f->possible ? start(CK_LAUNCH_CONFINED) :
	    refuse(CK_NOENFORCE);
}

static void
each(void (*look)(const struct ck_launch_facts *f))
{
	/* A mixed radix counter over the members. */
	for (unsigned int i = 0; i < 4U * 3 * 2 * 2 * 3 * 2 * 2; i++) {
		const struct ck_launch_facts f = {
			(enum ck_inside)(i % 4),
			(enum ck_word)(i / 4 % 3),
			i / 12 % 2 == 1, i / 24 % 2 == 1,
			(enum ck_worker_sandbox)(i / 48 % 3),
			i / 144 % 2 == 1, i / 288 % 2 == 1,
		};

		look(&f);
	}
}

static unsigned int seen_ways;

static void
is_as_promised(const struct ck_launch_facts *f)
{
	const struct outcome want = promised(f);
	struct ck_fail fail = CK_FAIL_INIT;
	enum ck_launch_how how = CK_LAUNCH_ENVELOPE;
	ck_err r = ck_launch_decide(f, NULL, &how, &fail);

	if (r != want.r || (r == CK_OK && how != want.how))
		fail_msg("inside %d word %d seen %d readable %d setting %d "
		    "custody %d possible %d: %s", (int)f->inside,
		    (int)f->word, f->seen, f->readable, (int)f->setting,
		    f->custody, f->possible, ck_err_code(r));
	/* A refusal says why, and leaves the output alone. */
	if (r != CK_OK) {
		assert_int_equal(how, CK_LAUNCH_ENVELOPE);
		assert_true(fail.why[0] != '\0');
		assert_int_equal(fail.code, r);
	}
	seen_ways |= r == CK_OK ? 1U << how : 1U << (8 + r);
}

static void
each_combination_ends_as_promised(void **state)
{
	(void)state;
	seen_ways = 0;
	each(is_as_promised);
	/* All three ways and all five refusals were met. */
	assert_int_equal(__builtin_popcount(seen_ways), 8);
}

/* Said without the table: nothing but the owner's word, or a switch that was
 * read and never was on, starts a worker without a boundary. */
static void
is_never_silently_off(const struct ck_launch_facts *f)
{
	enum ck_launch_how how = CK_LAUNCH_CONFINED;

	if (ck_launch_decide(f, NULL, &how, NULL) != CK_OK ||
	    how != CK_LAUNCH_OFF)
		return;
	assert_int_equal(f->inside, CK_INSIDE_NOTHING);
	if (f->word != CK_WORD_OFF) {
		assert_int_equal(f->word, CK_WORD_FOLLOW);
		assert_true(f->readable && !f->seen);
		assert_int_not_equal(f->setting, CK_SANDBOX_ON);
	}
}

static void
only_the_owner_or_a_switch_never_on_is_off(void **state)
{
	(void)state;
	each(is_never_silently_off);
}

static void
a_recorded_word_is_one_of_three(void **state)
{
	static const char *const wrong[] = { "On", "off ", "true", "0",
		"followed", NULL };
	enum ck_word word = CK_WORD_ON;

	(void)state;
	assert_int_equal(ck_word_parse("", &word, NULL), CK_OK);
	assert_int_equal(word, CK_WORD_FOLLOW);
	assert_int_equal(ck_word_parse("on", &word, NULL), CK_OK);
	assert_int_equal(word, CK_WORD_ON);
	assert_int_equal(ck_word_parse("follow", &word, NULL), CK_OK);
	assert_int_equal(word, CK_WORD_FOLLOW);
	assert_int_equal(ck_word_parse("off", &word, NULL), CK_OK);
	for (size_t i = 0; wrong[i] != NULL; i++) {
		assert_int_equal(ck_word_parse(wrong[i], &word, NULL),
		    CK_DAMAGED);
		assert_int_equal(word, CK_WORD_OFF);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_combination_ends_as_promised),
		cmocka_unit_test(only_the_owner_or_a_switch_never_on_is_off),
		cmocka_unit_test(a_recorded_word_is_one_of_three),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
