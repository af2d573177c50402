/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables a worker gets empty, and what its environment is. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boundary/blank.h"

/* The list as it is promised, spelled once more. */
static const char *const promised[CK_BLANK_LISTED_MAX] = {
	"CLANKIE_OPERATOR_TOKEN", "CLANKIE_CAPTAIN_TOKEN",
	"CLANKIE_ACTIVITY_PRODUCER_TOKEN", "CLANKIE_PLAY_VOICE_TOKEN",
	"CLANKIE_WORLD_CREDENTIAL", "CLANKIE_RUNNER_TOKEN",
	"CLANKIE_WORKER_TOKEN", "DISCORD_BOT_TOKEN", "DISCORD_USER_TOKEN",
	"SWARM_SESSION_CAPABILITY",
};

static void
each_bearer_is_listed_and_no_other(void **state)
{
	char with_value[80];

	(void)state;
	for (size_t i = 0; i < CK_BLANK_LISTED_MAX; i++) {
		assert_int_equal(ck_blank_class(promised[i]),
		    CK_BLANK_LISTED);
		(void)snprintf(with_value, sizeof(with_value), "%s=a=b",
		    promised[i]);
		assert_int_equal(ck_blank_class(with_value),
		    CK_BLANK_LISTED);
		assert_non_null(ck_blank_listed(i));
		assert_true(ck_blank_same_name(ck_blank_listed(i),
		    promised[i]));
	}
	assert_null(ck_blank_listed(CK_BLANK_LISTED_MAX));
}

static void
class_is(enum ck_blank class, const char *const *names)
{
	for (; *names != NULL; names++)
		if (ck_blank_class(*names) != class)
			fail_msg("%s is of class %d", *names,
			    (int)ck_blank_class(*names));
}

static void
pattern_holds_at_both_ends_only(void **state)
{
	static const char *const in[] = { "CLANKIE_NEW_TOKEN",
		"CLANKIE_A_BEARER=", "CLANKIE_X_Y_SECRET=1",
		"CLANKIE_Z_CREDENTIAL", "CLANKIE_TOKEN", "CLANKIE__TOKEN",
		NULL };
	static const char *const out[] = {
		"CLANKIE_VOICE_POST_INSTRUCTIONS_TOKEN_LIMIT=9",
		"CLANKIE_TOKENS", "CLANKIE_A_TOKEN ", "XCLANKIE_A_TOKEN",
		"clankie_a_token", "CLANKIE_A_CREDENTIALS_FILE",
		"CLANKIE_CREDENTIALS_FILE", "A_TOKEN", "TOKEN", "CLANKIE_",
		"CLANKIE", "", "=CLANKIE_A_TOKEN", "A=CLANKIE_A_TOKEN",
		"CLANKIE_A=_TOKEN", "CLANKIE_ATOKEN", NULL };

	(void)state;
	class_is(CK_BLANK_PATTERN, in);
	class_is(CK_BLANK_NOT, out);
}

static void
pane_link_and_seat_are_no_bearers(void **state)
{
	static const char *const kept[] = { "HERDR_PANE_ID", "HERDR_ENV",
		"HERDR_SOCKET_PATH", "CLANKIE_STATE",
		"CLANKIE_CONTROL_PLANE_URL", "CLANKIE_CODEX_THREAD",
		"CLANKIE_SEAT_ID", "CLANKIE_CONVERSATION_ID",
		"CLANKIE_EXPECTED_TOOL_NAMES", "CLANKIE_KEYS_HOME",
		"CLANKIE_DEVICE_SESSION_KEY_PATH", CK_MARKER, "PATH", "HOME",
		NULL };

	(void)state;
	class_is(CK_BLANK_NOT, kept);
}

static void
keys_of_providers_are_a_class_of_their_own(void **state)
{
	static const char *const in[] = { "OPENAI_API_KEY", "XI_API_KEY=1",
		"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "AWS_ACCESS_KEY_ID",
		"AWS_X", "GEMINI_API_KEY", "ELEVENLABS_API_KEY",
		"XAI_API_KEY", NULL };
	static const char *const out[] = { "AWS_", "AWS", "XAWS_X",
		"OPENAI_API_KEYS", "OPENAI_API_KE", "MY_OPENAI_API_KEY", NULL };

	(void)state;
	class_is(CK_BLANK_KEY, in);
	class_is(CK_BLANK_NOT, out);
}

static size_t
count(char *const *list, const char *variable)
{
	size_t n = 0;

	for (; *list != NULL; list++)
		n += strcmp(*list, variable) == 0;
	return n;
}

static void
bearers_are_empty_and_the_rest_is_as_it_was(void **state)
{
	static char a[] = "A=1", op[] = "CLANKIE_OPERATOR_TOKEN=sesame",
	    twice[] = "CLANKIE_OPERATOR_TOKEN=again",
	    pat[] = "CLANKIE_NEW_SECRET=sesame", key[] = "OPENAI_API_KEY=k",
	    bare[] = "DISCORD_BOT_TOKEN", mark[] = CK_MARKER "=0",
	    odd[] = "=x";
	char *from[] = { a, op, twice, mark, pat, key, bare, odd, NULL };
	char *to[32];
	size_t n = 0;

	(void)state;
	assert_int_equal(ck_blank_environment(from, to, 32, NULL), CK_OK);
	while (to[n] != NULL)
		n++;
	/* All but the marker, and the nine that were missing, and that. */
	assert_int_equal(n, 7 + CK_BLANK_LISTED_MAX - 1 + 1);
	assert_ptr_equal(to[0], a);
	assert_string_equal(a, "A=1");
	assert_int_equal(count(to, "CLANKIE_OPERATOR_TOKEN="), 2);
	assert_int_equal(count(to, "CLANKIE_NEW_SECRET="), 1);
	assert_int_equal(count(to, "OPENAI_API_KEY=k"), 1);
	assert_int_equal(count(to, "=x"), 1);
	/* Without a value it is no variable, so the real one is added. */
	assert_int_equal(count(to, "DISCORD_BOT_TOKEN="), 1);
	assert_int_equal(count(to, CK_MARKER "=1"), 1);
	assert_int_equal(count(to, CK_MARKER "=0"), 0);
	for (size_t i = 1; i < CK_BLANK_LISTED_MAX; i++)
		assert_int_equal(count(to, ck_blank_listed(i)), 1);
	/* Nothing of a value is left in memory. */
	assert_memory_equal(op + 23, "\0\0\0\0\0\0", 6);
}

static void
an_environment_that_does_not_fit_is_left_alone(void **state)
{
	static char op[] = "CLANKIE_OPERATOR_TOKEN=sesame", a[] = "A=1";
	char *from[] = { op, a, NULL };
	char *to[CK_BLANK_MORE + 2] = { NULL };

	(void)state;
	assert_int_equal(ck_blank_environment(from, to, CK_BLANK_MORE + 1,
	    NULL), CK_REFUSED);
	assert_int_equal(ck_blank_environment(from, to, 3, NULL), CK_REFUSED);
	assert_string_equal(op, "CLANKIE_OPERATOR_TOKEN=sesame");
	assert_null(to[0]);
	assert_int_equal(ck_blank_environment(from, to, CK_BLANK_MORE + 2,
	    NULL), CK_OK);
}

static void
only_what_a_shell_takes_is_a_name(void **state)
{
	(void)state;
	assert_true(ck_blank_is_name("A", 1));
	assert_true(ck_blank_is_name("_a9Z", 4));
	assert_true(ck_blank_is_name("A=1", 1));
	assert_false(ck_blank_is_name("A=1", 3));
	assert_false(ck_blank_is_name("", 0));
	assert_false(ck_blank_is_name("9A", 2));
	assert_false(ck_blank_is_name("A$(b)", 5));
	assert_false(ck_blank_is_name("A-B", 3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_bearer_is_listed_and_no_other),
		cmocka_unit_test(pattern_holds_at_both_ends_only),
		cmocka_unit_test(pane_link_and_seat_are_no_bearers),
		cmocka_unit_test(keys_of_providers_are_a_class_of_their_own),
		cmocka_unit_test(bearers_are_empty_and_the_rest_is_as_it_was),
		cmocka_unit_test(an_environment_that_does_not_fit_is_left_alone),
		cmocka_unit_test(only_what_a_shell_takes_is_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
