/* SPDX-License-Identifier: Apache-2.0 */
/* Who confines Codex, row by row of the evidence table, and what follows from
 * the answer on both systems. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "boundary/codex.h"

#define FULL CK_NATIVE_FULL
#define OWN CK_NATIVE_OWN
#define OPEN CK_NATIVE_UNDECIDED

#define BYPASS "--dangerously-bypass-approvals-and-sandbox"
#define S_FULL "sandbox_mode = \"danger-full-access\"\n"
#define S_READ "sandbox_mode = \"read-only\"\n"
#define S_WRITE "sandbox_mode = 'workspace-write' # as usual\n"
#define P_FULL "default_permissions = \":danger-full-access\"\n"
#define P_OWN "default_permissions = \":workspace\"\n"
#define P_NAMED "default_permissions = \"mine\"\n"
#define TRUSTED "[projects.\"/w/app\"]\ntrust_level = \"trusted\"\n"
#define UNTRUSTED "[projects.\"/w/app\"]\ntrust_level = \"untrusted\"\n"
#define BROKEN "sandbox_mode = \n"

/* NULL: no such file.  "?": it cannot be read. */
struct row {
	const char *name;
	enum ck_native want;
	const char *argv[8];
	const char *managed, *project, *profile, *user, *system, *required;
};

static void
add(struct ck_codex_layer *layer, size_t *n, enum ck_codex_kind kind,
    const char *path, const char *text)
{
	bool readable = text != NULL && strcmp(text, "?") != 0;
	const struct ck_codex_layer next = { kind, path,
		readable ? text : NULL, readable ? strlen(text) : 0 };

	if (text != NULL)
		layer[(*n)++] = next;
}

static void
decide(const struct row *row, struct ck_native_answer *ret)
{
	static const char *const trust[] = { "/w/app/sub", "/w/app" };
	struct ck_codex_layer layer[6];
	char words[8][128], *argv[8];
	struct ck_codex_world w = { .argv = argv, .layer = layer,
		.trust = trust, .trusts = 2 };

	for (; w.argc < 8 && row->argv[w.argc] != NULL; w.argc++) {
		argv[w.argc] = words[w.argc];
		(void)snprintf(words[w.argc], sizeof(words[0]), "%s",
		    row->argv[w.argc]);
	}
	add(layer, &w.n, CK_CODEX_MANAGED, "managed", row->managed);
	add(layer, &w.n, CK_CODEX_PROJECT, "project", row->project);
	add(layer, &w.n, CK_CODEX_PROFILE, "profile", row->profile);
	add(layer, &w.n, CK_CODEX_USER, "user", row->user);
	add(layer, &w.n, CK_CODEX_SYSTEM, "system", row->system);
	add(layer, &w.n, CK_CODEX_REQUIREMENTS, "required", row->required);
	ck_codex_decide(&w, ret);
}

static void
check(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ck_native_answer got = { OPEN, "", "" };

		decide(&rows[i], &got);
		if (got.answer != rows[i].want)
			fail_msg("%s: %s by %s, %s", rows[i].name,
			    ck_native_name(got.answer), got.place, got.why);
		/* Whoever asks is told what it rests on. */
		assert_true(got.why[0] != '\0');
	}
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

static void
managed_files_decide_first(void **state)
{
	static const struct row rows[] = {
		{ "full", FULL, .argv = { NULL }, .managed = S_FULL },
		{ "read", OWN, .argv = { NULL }, .managed = S_READ, .user = S_FULL },
		{ "permissions", FULL, .argv = { NULL }, .managed = P_FULL },
		{ "said too", FULL, .argv = { BYPASS }, .managed = S_FULL },
		{ "said otherwise", OPEN, .argv = { BYPASS }, .managed = S_READ },
		{ "-s otherwise", OPEN, .argv = { "-s", "read-only" },
		    .managed = S_FULL },
		{ "-c otherwise", OPEN, .argv = { "-c", "sandbox_mode=read-only" },
		    .managed = S_FULL },
		{ "app-server flags are none", OWN, .argv = { BYPASS, "app-server" },
		    .managed = S_READ },
		{ "unreadable", OPEN, .argv = { BYPASS }, .managed = "?" },
		{ "broken", OPEN, .argv = { "-s", "read-only" }, .managed = BROKEN },
		{ "empty", FULL, .argv = { BYPASS }, .managed = "" },
	};

	(void)state;
	CHECK(rows);
}

static void
flags_decide_in_their_position(void **state)
{
	static const struct row rows[] = {
		{ "bypass", FULL, .argv = { BYPASS } },
		{ "yolo", FULL, .argv = { "--yolo", "do it" } },
		{ "behind the prompt", FULL, .argv = { "do it", "--yolo" } },
		{ "full", FULL, .argv = { "--sandbox", "danger-full-access" } },
		{ "=", FULL, .argv = { "--sandbox=danger-full-access" } },
		{ "-s", FULL, .argv = { "-sdanger-full-access" } },
		{ "-s=", FULL, .argv = { "-s=danger-full-access" } },
		{ "read", OWN, .argv = { "-s", "read-only" }, .user = S_FULL },
		{ "write", OWN, .argv = { "--sandbox", "workspace-write" },
		    .user = S_FULL },
		{ "auto", OWN, .argv = { "--full-auto" }, .user = S_FULL },
		{ "not yolo", OWN, .argv = { "--not-so-yolo" }, .user = S_FULL },
		{ "unknown mode", OPEN, .argv = { "-s", "full" } },
		{ "no value", OPEN, .argv = { "--sandbox" } },
		{ "side by side", FULL, .argv = { "-s", "read-only", BYPASS } },
		{ "against -c", OWN, .argv = { "-s", "read-only", "-c",
		    "sandbox_mode=danger-full-access" } },
		{ "exec", FULL, .argv = { "exec", "--yolo", "x" } },
		{ "inherited", FULL, .argv = { "--yolo", "exec", "x" } },
		{ "own", OWN, .argv = { "--yolo", "exec", "-s", "read-only", "x" } },
		{ "own full", FULL, .argv = { "-s", "read-only", "resume", "--yolo" } },
		{ "alias", FULL, .argv = { "e", "--yolo" } },
		{ "behind --", OWN, .argv = { "exec", "--", "--yolo" } },
		{ "a value", OWN, .argv = { "-m", "--yolo" } },
		{ "images", OWN, .argv = { "-i", "a", "b", "-s", "read-only" },
		    .user = S_FULL },
		{ "unknown", OPEN, .argv = { "--new-thing", "--yolo" } },
		{ "unknown behind a subcommand", FULL,
		    .argv = { "exec", "--new-thing", "--yolo" } },
		{ "unknown letters", OPEN, .argv = { "-xyz" }, .user = S_READ },
		{ "app-server ignores them", OWN, .argv = { BYPASS, "app-server" } },
		{ "app-server ignores -s", OWN, .argv = { "-s", "danger-full-access",
		    "app-server", "--listen", "unix:///tmp/s" } },
		{ "app-server and own", OWN, .argv = { "app-server", "--yolo" } },
	};

	(void)state;
	CHECK(rows);
}

static void
last_override_decides(void **state)
{
	static const struct row rows[] = {
		{ "full", FULL, .argv = { "-c", "sandbox_mode=\"danger-full-access\"" },
		    .user = S_READ },
		{ "bare", FULL, .argv = { "-c", "sandbox_mode=danger-full-access" } },
		{ "quotes", FULL, .argv = { "-c", "sandbox_mode='danger-full-access'" } },
		{ "half a quote", FULL, .argv = { "-csandbox_mode=\"danger-full-access" } },
		{ "blanks", FULL,
		    .argv = { "--config", " sandbox_mode = danger-full-access " } },
		{ "=", OWN, .argv = { "--config=sandbox_mode=read-only" },
		    .user = S_FULL },
		{ "last", OWN, .argv = { "-c", "sandbox_mode=danger-full-access",
		    "-c", "sandbox_mode=read-only" } },
		{ "subcommand's", FULL, .argv = { "-c", "sandbox_mode=read-only",
		    "exec", "-c", "sandbox_mode=danger-full-access" } },
		{ "unknown mode", OPEN, .argv = { "-c", "sandbox_mode=none" } },
		{ "no text", OPEN, .argv = { "-c", "sandbox_mode=true" } },
		{ "nothing", OPEN, .argv = { "-c", "sandbox_mode=" } },
		{ "another key", OWN, .argv = { "-c", "model=danger-full-access" } },
		{ "app-server", FULL, .argv = { "-c", "sandbox_mode=danger-full-access",
		    "app-server" } },
		{ "too late", OPEN, .argv = { "app-server", "-c",
		    "sandbox_mode=danger-full-access" } },
		{ "permissions", FULL,
		    .argv = { "-c", "default_permissions=:danger-full-access" } },
		{ "permissions own", OWN,
		    .argv = { "-c", "default_permissions=\":workspace\"" } },
		{ "an older layer wins", OWN,
		    .argv = { "-c", "default_permissions=:danger-full-access" },
		    .user = S_WRITE },
		{ "an older layer wins, full", FULL,
		    .argv = { "-c", "default_permissions=:workspace" },
		    .system = S_FULL },
		{ "unknown permissions", OPEN,
		    .argv = { "-c", "default_permissions=:new" } },
		{ "permissions and a broken file", OPEN,
		    .argv = { "-c", "default_permissions=:workspace" },
		    .system = BROKEN },
		{ "mode and a broken file below", FULL,
		    .argv = { "-c", "sandbox_mode=danger-full-access" },
		    .user = BROKEN },
		{ "a changed table", OPEN, .argv = { "-c", "profiles.x.sandbox_mode=a" } },
		{ "a changed table, and decided", OWN,
		    .argv = { "-c", "projects.x=1", "-s", "read-only" } },
	};

	(void)state;
	CHECK(rows);
}

static void
named_permissions_are_looked_up(void **state)
{
	static const struct row rows[] = {
		{ "nowhere", OPEN, .argv = { NULL }, .user = P_NAMED },
		{ "root", FULL, .argv = { NULL }, .user = P_NAMED
		    "[permissions.mine.filesystem]\n\":root\" = \"write\"\n" },
		{ "slash", FULL, .argv = { NULL }, .user = P_NAMED
		    "[permissions.mine.filesystem]\n\"/\" = \"write\"\n" },
		{ "inline", FULL, .argv = { NULL }, .user = P_NAMED
		    "permissions.mine.filesystem = { \"/\" = \"write\" }\n" },
		{ "less", OWN, .argv = { NULL }, .user = P_NAMED
		    "[permissions.mine.filesystem]\n\":root\" = \"read\"\n"
		    "\"/w\" = \"write\"\n" },
		{ "another's", OPEN, .argv = { NULL }, .user = P_NAMED
		    "[permissions.yours.filesystem]\n\"/\" = \"read\"\n" },
		{ "inherited", OPEN, .argv = { NULL }, .user = P_NAMED
		    "[permissions.mine]\nextends = \":workspace\"\n"
		    "[permissions.mine.filesystem]\n\"/w\" = \"write\"\n" },
		{ "in another file", FULL, .argv = { NULL }, .user = P_NAMED, .system =
		    "[permissions.mine.filesystem]\n\"/\" = \"write\"\n" },
		{ "said", OWN, .argv = { "-c", "default_permissions=mine" }, .user =
		    "[permissions.mine.filesystem]\n\"/w\" = \"write\"\n" },
		{ "of a form that is not known", OPEN, .argv = { NULL }, .user = P_NAMED
		    "[permissions.mine.filesystem.\"/\"]\na = \"write\"\n" },
	};

	(void)state;
	CHECK(rows);
}

static void
files_decide_by_their_rank(void **state)
{
	static const struct row rows[] = {
		{ "nothing", OWN, .argv = { NULL } },
		{ "user", FULL, .argv = { NULL }, .user = S_FULL, .system = S_READ },
		{ "system", FULL, .argv = { NULL }, .system = S_FULL },
		{ "permissions", FULL, .argv = { NULL }, .user = P_FULL },
		{ "older first", OWN, .argv = { NULL }, .user = P_FULL S_WRITE },
		{ "older below", OWN, .argv = { NULL }, .user = P_FULL,
		    .system = S_READ },
		{ "trusted", FULL, .argv = { NULL }, .project = S_FULL,
		    .user = S_READ TRUSTED },
		{ "trusted own", OWN, .argv = { NULL }, .project = S_READ,
		    .user = S_FULL TRUSTED },
		{ "untrusted", OWN, .argv = { NULL }, .project = S_FULL,
		    .user = S_READ UNTRUSTED },
		{ "not settled, full", OPEN, .argv = { NULL }, .project = S_FULL },
		{ "not settled, differs", OPEN, .argv = { NULL }, .project = S_READ,
		    .user = S_FULL },
		{ "not settled, no matter", OWN, .argv = { NULL }, .project = S_READ },
		{ "the closest decides", OWN, .argv = { NULL }, .project = S_FULL,
		    .user = S_READ TRUSTED "[projects.\"/w/app/sub\"]\n"
		    "trust_level = \"untrusted\"\n" },
		{ "broken project", OPEN, .argv = { NULL }, .project = BROKEN,
		    .user = S_READ TRUSTED },
		{ "broken user", OPEN, .argv = { NULL }, .user = BROKEN,
		    .system = S_READ },
		{ "unreadable user", OPEN, .argv = { NULL }, .user = "?" },
		{ "broken below", FULL, .argv = { NULL }, .user = S_FULL,
		    .system = BROKEN },
		{ "broken, and no other says it", OPEN, .argv = { NULL },
		    .system = "a = [1, 2\n" },
		{ "twice", OPEN, .argv = { NULL }, .user = S_READ S_FULL },
		{ "no text", OPEN, .argv = { NULL }, .user = "sandbox_mode = 1\n" },
		{ "unknown mode", OPEN, .argv = { NULL },
		    .user = "sandbox_mode = \"external\"\n" },
		{ "in a table", OWN, .argv = { NULL },
		    .user = "[tui]\nsandbox_mode = \"danger-full-access\"\n" },
		{ "in a comment", OWN, .argv = { NULL }, .user = "# " S_FULL },
		{ "in a string", OWN, .argv = { NULL },
		    .user = "a = \"\"\"\n" S_FULL "\"\"\"\n" },
		{ "in escapes", FULL, .argv = { NULL }, .user =
		    "\"sandbox\\u005fmode\" = \"danger\\u002dfull-access\"\n" },
	};

	(void)state;
	CHECK(rows);
}

static void
profiles_count_as_each_version_has_them(void **state)
{
	static const struct row rows[] = {
		{ "none of that name", OPEN, .argv = { "-p", "x" } },
		{ "file", FULL, .argv = { "-p", "x" }, .profile = S_FULL,
		    .user = S_READ },
		{ "below the project", OWN, .argv = { "-p", "x" }, .profile = S_FULL,
		    .project = S_READ, .user = TRUSTED },
		{ "table", FULL, .argv = { "-p", "x" }, .user = S_READ
		    "[profiles.x]\n" S_FULL },
		{ "above the project", FULL, .argv = { "-p", "x" }, .project = S_READ,
		    .user = TRUSTED "[profiles.x]\n" S_FULL },
		{ "both, and they agree", FULL, .argv = { "-p", "x" },
		    .profile = S_FULL, .user = "[profiles.x]\n" S_FULL },
		{ "both, and they differ", OPEN, .argv = { "-p", "x" },
		    .profile = S_READ, .user = "[profiles.x]\n" S_FULL },
		{ "by the file, in old versions", OPEN, .argv = { NULL },
		    .user = "profile = \"x\"\n" S_READ
		    "[profiles.x]\n" S_FULL },
		{ "by the file, no matter", OWN, .argv = { NULL },
		    .user = "profile = \"x\"\n" S_READ
		    "[profiles.x]\n" S_WRITE },
		{ "empty file", FULL, .argv = { "-p", "x" }, .profile = "",
		    .user = S_FULL },
		{ "broken file", OPEN, .argv = { "-p", "x" }, .profile = BROKEN,
		    .user = S_FULL },
		{ "flag first", OWN, .argv = { "-p", "x", "-s", "read-only" },
		    .profile = S_FULL },
	};

	(void)state;
	CHECK(rows);
}

static void
requirements_undo_full_access(void **state)
{
	static const char only[] =
	    "allowed_sandbox_modes = [\"read-only\", \"workspace-write\"]\n";
	static const char all[] = "allowed_sandbox_modes = [\n"
	    "  \"read-only\",\n  \"danger-full-access\", # yes\n]\n";
	const struct row rows[] = {
		{ "forbidden", OPEN, .argv = { BYPASS }, .required = only },
		{ "allowed", FULL, .argv = { BYPASS }, .required = all },
		{ "no list", FULL, .argv = { BYPASS }, .required = "a = 1\n" },
		{ "native stays", OWN, .argv = { "-s", "read-only" },
		    .required = only },
		{ "broken", OPEN, .argv = { BYPASS }, .required = BROKEN },
		{ "profiles are listed", OPEN, .argv = { "-s", "read-only" },
		    .required = "allowed_permission_profiles = [\"a\"]\n" },
	};

	(void)state;
	CHECK(rows);
}

static void
unreadable_preferences_leave_it_open(void **state)
{
	char bypass[] = "--yolo", *argv[] = { bypass };
	const struct ck_codex_world w = { .argc = 1, .argv = argv,
		.preferences = true };
	struct ck_native_answer got;

	(void)state;
	ck_codex_decide(&w, &got);
	assert_int_equal(got.answer, OPEN);
}

static void
each_system_has_its_own_consequence(void **state)
{
	static const enum ck_native answers[] = { FULL, OWN, OPEN };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		for (int word = 0; word < 2; word++)
			assert_int_equal(ck_native_wrap(CK_SYSTEM_LINUX,
			    answers[i], word), CK_WRAP);
	for (int word = 0; word < 2; word++) {
		assert_int_equal(ck_native_wrap(CK_SYSTEM_MACOS, FULL, word),
		    CK_WRAP);
		assert_int_equal(ck_native_wrap(CK_SYSTEM_MACOS, OWN, word),
		    CK_WRAP_NOT);
	}
	assert_int_equal(ck_native_wrap(CK_SYSTEM_MACOS, OPEN, 0),
	    CK_WRAP_REFUSE);
	assert_int_equal(ck_native_wrap(CK_SYSTEM_MACOS, OPEN, 1), CK_WRAP);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(managed_files_decide_first),
		cmocka_unit_test(flags_decide_in_their_position),
		cmocka_unit_test(last_override_decides),
		cmocka_unit_test(named_permissions_are_looked_up),
		cmocka_unit_test(files_decide_by_their_rank),
		cmocka_unit_test(profiles_count_as_each_version_has_them),
		cmocka_unit_test(requirements_undo_full_access),
		cmocka_unit_test(unreadable_preferences_leave_it_open),
		cmocka_unit_test(each_system_has_its_own_consequence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
