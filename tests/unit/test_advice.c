/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in next steps: complete where they have to be, and bounded. */
#include "unit.h"

#include <string.h>

#include "custody/advice.h"

static void
fill(struct ck_place *p, enum ck_rec_kind kind, const char *credential)
{
	memset(p, 0, sizeof(*p));
	p->broker_kind = kind;
	memcpy(p->broker, "/none/a b.kc", 13);
	memcpy(p->credential, credential, strlen(credential) + 1);
}

static void
assert_advice(const struct ck_place *p, const char *text, const char *want)
{
	char got[CK_ADVICE_SIZE];

	ck_advice(p, got, "%s", text);
	assert_string_equal(got, want);
}

static void
without_a_place_nothing_is_added(void **state)
{
	(void)state;
	assert_advice(NULL, "{rotate}", "clankie-keys rotate");
	assert_advice(NULL, "first {get}, then {reset --confirm}.",
	    "first clankie-keys get, then clankie-keys reset --confirm.");
}

static void
operator_in_a_file_needs_nothing(void **state)
{
	struct ck_place p;

	(void)state;
	fill(&p, CK_KIND_FILE_BROKER, "operator");
	assert_advice(&p, "{rotate}", "clankie-keys rotate");
	assert_advice(&p, "{rules --write}", "clankie-keys rules --write");
}

static void
name_value_and_password_are_asked_for(void **state)
{
	struct ck_place p;

	(void)state;
	fill(&p, CK_KIND_LOGIN_KEYCHAIN, "github");
	assert_advice(&p, "{rotate}", "clankie-keys rotate github "
	    "--secret-fd N --login-password-fd N");
	assert_advice(&p, "{rotate --keychain}",
	    "clankie-keys rotate --keychain --login-password-fd N");
	assert_advice(&p, "{status}", "clankie-keys status github");
	assert_advice(&p, "{check --login-password-fd N}",
	    "clankie-keys check --login-password-fd N github");
	assert_advice(&p, "{precedence list}", "clankie-keys precedence list");
}

static void
broker_that_was_said_is_said_again(void **state)
{
	struct ck_place p;

	(void)state;
	fill(&p, CK_KIND_LOGIN_KEYCHAIN, "operator");
	p.broker_said = true;
	assert_advice(&p, "{doctor --rebuild}", "clankie-keys doctor "
	    "--rebuild --broker 'keychain:/none/a b.kc' "
	    "--login-password-fd N");
	assert_advice(&p, "{restore}",
	    "clankie-keys restore --login-password-fd N");
}

static void
braces_of_others_stay(void **state)
{
	struct ck_place p;

	(void)state;
	fill(&p, CK_KIND_FILE_BROKER, "operator");
	assert_advice(&p, "a {b} c", "a {b} c");
	assert_advice(&p, "open {get", "open {get");
	assert_advice(&p, "{getting}", "{getting}");
	assert_advice(&p, "", "");
}

static void
what_does_not_fit_is_cut(void **state)
{
	char text[2 * CK_ADVICE_SIZE], got[CK_ADVICE_SIZE];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_advice(NULL, got, "%s", text);
	assert_int_equal(strlen(got), CK_ADVICE_SIZE - 1);
	text[CK_ADVICE_SIZE - 8] = '\0';
	ck_advice(NULL, got, "%s{get}", text);
	assert_int_equal(strlen(got), CK_ADVICE_SIZE - 1);
}

static void
finishing_names_credential_and_options(void **state)
{
	struct ck_rec_journal j;
	struct ck_place p;
	char got[CK_ADVICE_SIZE];

	(void)state;
	memset(&j, 0, sizeof(j));
	memcpy(j.operation, "rotate", 7);
	memcpy(j.credential, "github", 7);
	fill(&p, CK_KIND_LOGIN_KEYCHAIN, "operator");
	ck_advice_finish(&p, &j, got);
	assert_string_equal(got, "clankie-keys rotate github --secret-fd N "
	    "--login-password-fd N");
	memcpy(j.operation, "rotate --keychain", 18);
	j.credential[0] = '\0';
	p.broker_kind = CK_KIND_FILE_BROKER;
	ck_advice_finish(&p, &j, got);
	assert_string_equal(got, "clankie-keys rotate --keychain");
	memcpy(j.operation, "dance", 6);
	ck_advice_finish(&p, &j, got);
	assert_string_equal(got, "clankie-keys dance");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_place_nothing_is_added),
		cmocka_unit_test(operator_in_a_file_needs_nothing),
		cmocka_unit_test(name_value_and_password_are_asked_for),
		cmocka_unit_test(broker_that_was_said_is_said_again),
		cmocka_unit_test(braces_of_others_stay),
		cmocka_unit_test(what_does_not_fit_is_cut),
		cmocka_unit_test(finishing_names_credential_and_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
