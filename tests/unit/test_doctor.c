/* SPDX-License-Identifier: Apache-2.0 */
/* The table of remedies: no finding is left without one. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "custody/doctor.h"

static void
fill(struct ck_place *p)
{
	memset(p, 0, sizeof(*p));
	memcpy(p->home, "/none/h", 8);
	memcpy(p->dir, "/none/h/keys", 13);
	memcpy(p->operator_dir, "/none/h/keys/operator", 22);
	memcpy(p->keychain, "/none/h/keys/operator/k", 24);
	memcpy(p->broker, "/none/h/broker", 15);
	memcpy(p->settings, "/none/h/c/s.json", 17);
	memcpy(p->unlock, "/none/h/u/unlock.json", 22);
	memcpy(p->credential, CK_OPERATOR_NAME, sizeof(CK_OPERATOR_NAME));
	memcpy(p->service, "a service", 10);
	memcpy(p->account, "it's", 5);
	p->broker_kind = CK_KIND_FILE_BROKER;
}

static struct ck_doctor *
with(enum ck_finding_code code, const char *place, const char *next)
{
	struct ck_doctor *d = test_calloc(1, sizeof(*d));

	ck_finding_add(&d->found, code, place, next, "a message");
	return d;
}

static void
done(struct ck_doctor *d)
{
	ck_doctor_done(d);
	test_free(d);
}

static void
assert_command(const struct ck_doctor *d, const char *want)
{
	const struct ck_buf *b = &d->remedy[0].command;

	assert_int_equal(b->n, strlen(want));
	assert_memory_equal(b->p, want, b->n);
}

static void
every_code_has_a_turn_and_a_remedy(void **state)
{
	struct ck_place p;

	(void)state;
	fill(&p);
	for (int kind = 0; kind < 3; kind++)
		for (int i = 0; i < CK_F_COUNT; i++) {
			struct ck_doctor *d = with((enum ck_finding_code)i,
			    "/none/h/keys/place", NULL);

			p.broker_kind = kind == 1 ? CK_KIND_LOGIN_KEYCHAIN :
			    CK_KIND_FILE_BROKER;
			assert_int_equal(ck_doctor_remedies(
			    kind == 2 ? NULL : &p, d, NULL), CK_OK);
			assert_true(d->remedy[0].order > 0);
			assert_true(d->remedy[0].command.n > 0 ||
			    d->remedy[0].decide.n > 0);
			done(d);
		}
}

static void
command_without_places_is_left_out(void **state)
{
	struct ck_doctor *d = with(CK_F_SETTINGS_CHANGED, "/x", NULL);

	(void)state;
	assert_int_equal(ck_doctor_remedies(NULL, d, NULL), CK_OK);
	assert_int_equal(d->remedy[0].command.n, 0);
	assert_true(d->remedy[0].decide.n > 0);
	done(d);
}

static void
custody_elsewhere_and_broker_are_named(void **state)
{
	struct ck_doctor *d = with(CK_F_SETTINGS_CHANGED, "/x", NULL);
	struct ck_place p;

	(void)state;
	fill(&p);
	p.broker_said = true;
	p.broker_kind = CK_KIND_LOGIN_KEYCHAIN;
	memcpy(p.credential, "other", 6);
	assert_int_equal(ck_doctor_remedies(&p, d, NULL), CK_OK);
	assert_command(d, "clankie-keys check other --repair --home "
	    "/none/h/keys --broker keychain:/none/h/broker "
	    "--login-password-fd 3 3<PASSWORD-FILE");
	done(d);
}

static void
words_of_a_next_step_are_quoted(void **state)
{
	struct ck_doctor *d = with(CK_F_JOURNAL_OPEN, "/x",
	    "clankie-keys rotate $(x);y `z`");
	struct ck_place p;

	(void)state;
	fill(&p);
	memcpy(p.dir, "/none/h/.clankie-keys", 22);
	assert_int_equal(ck_doctor_remedies(&p, d, NULL), CK_OK);
	assert_command(d, "clankie-keys rotate '$(x);y' '`z`'");
	done(d);
}

static void
names_are_quoted_without_backslashes(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "''" },
		{ "/a/b-c.d", "/a/b-c.d" },
		{ "a b", "'a b'" },
		{ "it's", "'it'\"'\"'s'" },
		{ "~", "'~'" },
		{ "$HOME", "'$HOME'" },
		{ "a\\b", "'a\\b'" },
		{ "\xc3\xa4", "'\xc3\xa4'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ck_buf b = CK_BUF_INIT;

		ck_doctor_quote(&b, cases[i].text);
		assert_int_equal(b.n, strlen(cases[i].want));
		assert_memory_equal(b.p, cases[i].want, b.n);
		ck_buf_free(&b);
	}
}

static void
errors_are_shown_first_and_steps_run_in_their_order(void **state)
{
	struct ck_doctor *d = with(CK_F_SANDBOX_OFF, "/s", NULL);
	struct ck_place p;

	(void)state;
	fill(&p);
	ck_finding_add(&d->found, CK_F_RULES_MISSING, "/r", NULL, "m");
	ck_finding_add(&d->found, CK_F_REMAINING_SECRETS, "/b", NULL, "m");
	ck_finding_add(&d->found, CK_F_UNSAFE_MODE, "/m", NULL, "m");
	ck_finding_add(&d->found, CK_F_LEFTOVER, "/l", NULL, "m");
	assert_int_equal(ck_doctor_remedies(&p, d, NULL), CK_OK);
	assert_int_equal(d->shown[0], 3);
	assert_int_equal(d->shown[1], 1);
	assert_int_equal(d->shown[2], 4);
	assert_int_equal(d->shown[3], 0);
	assert_int_equal(d->shown[4], 2);
	/* One repair does for two, and what is only to know is no step. */
	assert_int_equal(d->nsteps, 3);
	assert_int_equal(d->steps[0], 3);
	assert_int_equal(d->steps[1], 1);
	assert_int_equal(d->steps[2], 0);
	done(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_has_a_turn_and_a_remedy),
		cmocka_unit_test(command_without_places_is_left_out),
		cmocka_unit_test(custody_elsewhere_and_broker_are_named),
		cmocka_unit_test(words_of_a_next_step_are_quoted),
		cmocka_unit_test(names_are_quoted_without_backslashes),
		cmocka_unit_test(
		    errors_are_shown_first_and_steps_run_in_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
