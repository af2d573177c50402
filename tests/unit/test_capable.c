/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision: every framework on every platform, requested or not, with the
 * opt-out or not, against a table written out here once more; and what the
 * texts have to say (integration.md 12).
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "boundary/capable.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define L "privilege-profile-linux-launcher-manual-wire"
#define M "privilege-profile-macos-launcher-manual-wire"
#define U "privilege-profile-unenforced-host"

static const struct {
	const char *framework, *platform;
	bool capable;
	const char *code, *mechanism;
} rows[] = {
	{ "claude", "linux", true, NULL, "native+launcher-bwrap" },
	{ "claude", "darwin", true, NULL, "native" },
	{ "claude", "win32", true, NULL, "native-unverified" },
	{ "claude", "freebsd14", true, NULL, "native-unverified" },
	{ "goose", "linux", true, L, "launcher-bwrap" },
	{ "goose", "darwin", true, NULL, "native-goose" },
	{ "goose", "win32", false, U, "none" },
	{ "goose", "cygwin", false, U, "none" },
	{ "codex", "linux", true, L, "launcher-bwrap" },
	{ "codex", "darwin", true, M, "launcher-sandbox-exec" },
	{ "codex", "win32", false, U, "none" },
	{ "codex", "freebsd14", false, U, "none" },
	{ "copilot-vscode", "linux", true, L, "launcher-bwrap" },
	{ "copilot-vscode", "darwin", true, M, "launcher-sandbox-exec" },
	{ "copilot-vscode", "win32", false, U, "none" },
	{ "copilot-vscode", "aix", false, U, "none" },
	{ "copilot-cli", "linux", true, L, "launcher-bwrap" },
	{ "copilot-cli", "darwin", true, M, "launcher-sandbox-exec" },
	{ "copilot-cli", "win32", false, U, "none" },
	{ "copilot-cli", "sunos5", false, U, "none" },
	{ "agents-md", "linux2", true, L, "launcher-bwrap" },
	{ "agents-md", "darwin", true, M, "launcher-sandbox-exec" },
	{ "agents-md", "win32", false, U, "none" },
	{ "agents-md", "", false, U, "none" },
	{ "somebody", "linux", true, L, "launcher-bwrap" },
	{ "", "darwin", true, M, "launcher-sandbox-exec" },
	{ "Claude", "win32", false, U, "none" },
	{ "claude ", "Linux", false, U, "none" },
};

static void
one(size_t i, bool requested, bool allow)
{
	struct ck_capable a;
	const char *code, *want = requested ? rows[i].code : NULL;
	bool fatal = want != NULL && strcmp(want, U) == 0;

	ck_capable_decide(ck_framework_of(rows[i].framework),
	    ck_target_of(rows[i].platform), requested, allow, &a);
	code = ck_advisory_code(a.advisory);
	assert_int_equal(a.requested, requested);
	if (a.capable != rows[i].capable ||
	    strcmp(ck_mechanism_name(a.mechanism), rows[i].mechanism) != 0)
		fail_msg("%s on %s", rows[i].framework, rows[i].platform);
	assert_int_equal(code == NULL, want == NULL);
	if (want != NULL)
		assert_string_equal(code, want);
	assert_int_equal(a.fatal, fatal);
	assert_int_equal(a.refused, fatal && !allow);
	/* With the opt-out there is still nothing. */
	assert_int_equal(a.emit, requested && rows[i].capable);
}

static void
every_row_is_decided_as_it_is_written(void **state)
{
	(void)state;
	assert_int_equal(COUNT(rows), 28);
	for (size_t i = 0; i < COUNT(rows); i++)
		for (int k = 0; k < 4; k++)
			one(i, (k & 1) != 0, (k & 2) != 0);
}

static void
other_words_for_a_platform_mean_it(void **state)
{
	(void)state;
	assert_int_equal(ck_target_of("macos"), CK_TARGET_DARWIN);
	assert_int_equal(ck_target_of("windows"), CK_TARGET_WINDOWS);
	assert_int_equal(ck_target_of("darwin20"), CK_TARGET_OTHER);
	assert_int_equal(ck_target_of(ck_target_here), CK_TARGET_LINUX);
}

static void
says(enum ck_advisory advisory, bool proved, const char *text, bool wanted)
{
	struct ck_buf b = CK_BUF_INIT;

	ck_advisory_text(advisory, "codex", "plan9", proved, &b);
	ck_buf_bytes(&b, "", 1);
	assert_int_equal(ck_buf_ok(&b), CK_OK);
	if ((strstr((char *)b.p, text) != NULL) != wanted)
		fail_msg("\"%s\" %s: %s", text, wanted ? "is missing" :
		    "is there", (char *)b.p);
	ck_buf_free(&b);
}

static void
texts_say_what_they_must(void **state)
{
	static const char *const residuals[] = { "UNCAPPED",
		"system call filter", "set-uid", "localhost", "deprecated",
		"user of its own" };
	struct ck_buf b = CK_BUF_INIT;

	(void)state;
	for (int i = 0; i < 2; i++) {
		enum ck_advisory a = i == 0 ? CK_ADVISORY_LINUX_WIRE :
		    CK_ADVISORY_MACOS_WIRE;

		says(a, false, "must", true);
		says(a, false, "confine-run.sh", true);
		says(a, false, "codex", true);
	}
	for (size_t i = 0; i < COUNT(residuals); i++) {
		says(CK_ADVISORY_MACOS_WIRE, false, residuals[i], true);
		says(CK_ADVISORY_MACOS_WIRE, true, residuals[i], true);
	}
	says(CK_ADVISORY_MACOS_WIRE, false, "ENFORCEMENT-UNVERIFIED", true);
	says(CK_ADVISORY_MACOS_WIRE, true, "ENFORCEMENT-UNVERIFIED", false);
	says(CK_ADVISORY_UNENFORCED, false, "ADVISORY ONLY", true);
	says(CK_ADVISORY_UNENFORCED, false, "codex", true);
	says(CK_ADVISORY_UNENFORCED, false, "plan9", true);
	says(CK_ADVISORY_UNENFORCED, false, "seccomp filter, Landlock", true);
	ck_advisory_refusal("codex", "plan9", &b);
	ck_buf_bytes(&b, "", 1);
	assert_non_null(strstr((char *)b.p, "fail-closed"));
	ck_buf_free(&b);
	ck_advisory_text(CK_ADVISORY_NONE, "a", "b", false, &b);
	assert_int_equal(b.n, 0);
}

static void
profiles_are_three_and_no_other(void **state)
{
	static const char *const bad[] = { "", "Confined", "none", "confine",
		"confined ", "off" };
	enum ck_profile p = CK_PROFILE_COOPERATIVE;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(ck_profile_find(bad[i], &p, NULL), CK_USAGE);
	assert_int_equal(ck_profile_find("exclusive", &p, NULL), CK_OK);
	assert_string_equal(ck_profile_name(p), "exclusive");
}

static void
tokens_keep_order_and_are_a_request(void **state)
{
	static const char *const bad[] = { "sandbox", ":sandbox", "claude:",
		"", "copilot-cli:sandbox", "copilot-vscode:sandbox",
		"bridge:x:sandbox" };
	struct ck_tokens t = { { NULL }, 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(ck_tokens_add(&t, bad[i], NULL), CK_USAGE);
	assert_int_equal(t.n, 0);
	assert_int_equal(ck_tokens_add(&t, "copilot-cli:other", NULL), CK_OK);
	assert_false(ck_tokens_request(&t, CK_PROFILE_COOPERATIVE));
	assert_true(ck_tokens_request(&t, CK_PROFILE_CONFINED));
	assert_int_equal(ck_tokens_add(&t, "goose:sandbox", NULL), CK_OK);
	assert_int_equal(ck_tokens_add(&t, "goose:sandbox", NULL), CK_OK);
	assert_int_equal(ck_tokens_add(&t, "a:b:sandbox", NULL), CK_OK);
	assert_int_equal(t.n, 3);
	assert_string_equal(t.at[1], "goose:sandbox");
	assert_true(ck_tokens_request(&t, CK_PROFILE_COOPERATIVE));
	assert_int_equal(ck_tokens_expand(&t, CK_PROFILE_CONFINED,
	    CK_FW_GOOSE, NULL), CK_OK);
	assert_int_equal(t.n, 3);
	assert_int_equal(ck_tokens_expand(&t, CK_PROFILE_EXCLUSIVE,
	    CK_FW_CODEX, NULL), CK_OK);
	assert_string_equal(t.at[3], "codex:sandbox");
	assert_int_equal(ck_tokens_expand(&t, CK_PROFILE_CONFINED,
	    CK_FW_UNKNOWN, NULL), CK_OK);
	assert_string_equal(t.at[4], "claude:sandbox");
	assert_int_equal(ck_tokens_expand(&t, CK_PROFILE_COOPERATIVE,
	    CK_FW_CLAUDE, NULL), CK_OK);
	assert_int_equal(t.n, 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_decided_as_it_is_written),
		cmocka_unit_test(other_words_for_a_platform_mean_it),
		cmocka_unit_test(texts_say_what_they_must),
		cmocka_unit_test(profiles_are_three_and_no_other),
		cmocka_unit_test(tokens_keep_order_and_are_a_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
