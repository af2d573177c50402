/* SPDX-License-Identifier: Apache-2.0 */
/* The table and its texts; see capable.h. */
#include "boundary/capable.h"

#include <string.h>

#define ALLOW_OPTION "--allow-unenforced-confinement"

static const char *const frameworks[CK_FW_UNKNOWN] = {
	[CK_FW_CLAUDE] = "claude", [CK_FW_GOOSE] = "goose",
	[CK_FW_CODEX] = "codex", [CK_FW_COPILOT_VSCODE] = "copilot-vscode",
	[CK_FW_COPILOT_CLI] = "copilot-cli", [CK_FW_AGENTS_MD] = "agents-md"
};

/* integration.md 12.2, row by row. */
static const struct {
	bool capable;
	enum ck_mechanism mechanism;
	enum ck_advisory advisory;
} table[CK_FW_COUNT][CK_TARGET_COUNT] = {
#define LAUNCHER { true, CK_MECH_BWRAP, CK_ADVISORY_LINUX_WIRE }
#define MACOS { true, CK_MECH_SANDBOX_EXEC, CK_ADVISORY_MACOS_WIRE }
#define NOTHING { false, CK_MECH_NONE, CK_ADVISORY_UNENFORCED }
	[CK_FW_CLAUDE] = {
		[CK_TARGET_LINUX] = { true, CK_MECH_NATIVE_AND_LAUNCHER,
		    CK_ADVISORY_NONE },
		[CK_TARGET_DARWIN] = { true, CK_MECH_NATIVE,
		    CK_ADVISORY_NONE },
		[CK_TARGET_WINDOWS] = { true, CK_MECH_NATIVE_UNVERIFIED,
		    CK_ADVISORY_NONE },
		[CK_TARGET_OTHER] = { true, CK_MECH_NATIVE_UNVERIFIED,
		    CK_ADVISORY_NONE },
	},
	[CK_FW_GOOSE] = {
		[CK_TARGET_LINUX] = LAUNCHER,
		[CK_TARGET_DARWIN] = { true, CK_MECH_GOOSE,
		    CK_ADVISORY_NONE },
		[CK_TARGET_WINDOWS] = NOTHING, [CK_TARGET_OTHER] = NOTHING,
	},
#define WIRED { [CK_TARGET_LINUX] = LAUNCHER, [CK_TARGET_DARWIN] = MACOS,     \
	[CK_TARGET_WINDOWS] = NOTHING, [CK_TARGET_OTHER] = NOTHING }
	[CK_FW_CODEX] = WIRED,
	[CK_FW_COPILOT_VSCODE] = WIRED,
	[CK_FW_COPILOT_CLI] = WIRED,
	[CK_FW_AGENTS_MD] = WIRED,
	[CK_FW_UNKNOWN] = WIRED,
};

enum ck_framework
ck_framework_of(const char *name)
{
	for (int i = 0; i < CK_FW_UNKNOWN; i++)
		if (strcmp(name, frameworks[i]) == 0)
			return (enum ck_framework)i;
	return CK_FW_UNKNOWN;
}

enum ck_target
ck_target_of(const char *name)
{
	if (strncmp(name, "linux", 5) == 0)
		return CK_TARGET_LINUX;
	if (strcmp(name, "darwin") == 0 || strcmp(name, "macos") == 0)
		return CK_TARGET_DARWIN;
	if (strcmp(name, "win32") == 0 || strcmp(name, "windows") == 0)
		return CK_TARGET_WINDOWS;
	return CK_TARGET_OTHER;
}

const char *
ck_advisory_code(enum ck_advisory advisory)
{
	switch (advisory) {
	case CK_ADVISORY_LINUX_WIRE:
		return "privilege-profile-linux-launcher-manual-wire";
	case CK_ADVISORY_MACOS_WIRE:
		return "privilege-profile-macos-launcher-manual-wire";
	case CK_ADVISORY_UNENFORCED:
		return "privilege-profile-unenforced-host";
	case CK_ADVISORY_NONE:
		break;
	}
	return NULL;
}

static const struct {
	const char *name, *text;
} mechanisms[] = {
	[CK_MECH_NONE] = { "none", "none" },
	[CK_MECH_NATIVE_AND_LAUNCHER] = { "native+launcher-bwrap",
	    "its own sandbox, and the launcher (bubblewrap); on Ubuntu "
	    "bubblewrap needs its AppArmor profile" },
	[CK_MECH_NATIVE] = { "native", "its own sandbox (Seatbelt)" },
	[CK_MECH_NATIVE_UNVERIFIED] = { "native-unverified",
	    "its own sandbox, unverified on this platform" },
	[CK_MECH_GOOSE] = { "native-goose",
	    "its own sandbox (GOOSE_SANDBOX), of the desktop app: the command "
	    "line has none" },
	[CK_MECH_BWRAP] = { "launcher-bwrap",
	    "the launcher (bubblewrap), which must be wrapped around it" },
	[CK_MECH_SANDBOX_EXEC] = { "launcher-sandbox-exec",
	    "the launcher (sandbox-exec), which must be wrapped around it" },
};

const char *
ck_mechanism_name(enum ck_mechanism mechanism)
{
	return mechanisms[mechanism].name;
}

const char *
ck_mechanism_text(enum ck_mechanism mechanism)
{
	return mechanisms[mechanism].text;
}

void
ck_capable_decide(enum ck_framework framework, enum ck_target target,
    bool requested, bool allow, struct ck_capable *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->requested = requested;
	ret->capable = table[framework][target].capable;
	ret->mechanism = table[framework][target].mechanism;
	ret->advisory = requested ? table[framework][target].advisory :
	    CK_ADVISORY_NONE;
	ret->fatal = ret->advisory == CK_ADVISORY_UNENFORCED;
	ret->emit = requested && ret->capable;
	ret->refused = ret->fatal && !allow;
}

static const char *const profiles[] = { "cooperative", "confined",
	"exclusive" };

ck_err
ck_profile_find(const char *name, enum ck_profile *ret, struct ck_fail *fail)
{
	for (int i = 0; i < 3; i++)
		if (strcmp(name, profiles[i]) == 0) {
			*ret = (enum ck_profile)i;
			return CK_OK;
		}
	return ck_fail_set(fail, CK_USAGE, name,
	    "is no profile: cooperative, confined or exclusive");
}

const char *
ck_profile_name(enum ck_profile profile)
{
	return profiles[profile];
}

/* The feature behind the last colon. */
static bool
is_sandbox(const char *token)
{
	const char *colon = strrchr(token, ':');

	return colon != NULL && strcmp(colon, ":sandbox") == 0;
}

ck_err
ck_tokens_add(struct ck_tokens *t, const char *token, struct ck_fail *fail)
{
	const char *colon = strrchr(token, ':');

	if (colon == NULL || colon == token || colon[1] == '\0')
		return ck_fail_set(fail, CK_USAGE, token,
		    "is no token: NAMESPACE:FEATURE");
	if (is_sandbox(token) && (strncmp(token, "copilot-", 8) == 0 ||
	    strncmp(token, "bridge:", 7) == 0))
		return ck_fail_set(fail, CK_USAGE, token,
		    "cannot be asked for: that namespace has no sandbox of its "
		    "own");
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->at[i], token) == 0)
			return CK_OK;
	if (t->n == CK_TOKENS_MAX)
		return ck_fail_set(fail, CK_USAGE, token,
		    "is one token too many");
	t->at[t->n++] = token;
	return CK_OK;
}

ck_err
ck_tokens_expand(struct ck_tokens *t, enum ck_profile profile,
    enum ck_framework framework, struct ck_fail *fail)
{
	if (profile == CK_PROFILE_COOPERATIVE)
		return CK_OK;
	return ck_tokens_add(t, framework == CK_FW_GOOSE ? "goose:sandbox" :
	    framework == CK_FW_CODEX ? "codex:sandbox" : "claude:sandbox",
	    fail);
}

bool
ck_tokens_request(const struct ck_tokens *t, enum ck_profile profile)
{
	for (size_t i = 0; i < t->n; i++)
		if (is_sandbox(t->at[i]))
			return true;
	return profile != CK_PROFILE_COOPERATIVE;
}

static void
must_be_wrapped(const char *framework, struct ck_buf *out)
{
	ck_buf_format(out, "A boundary for %.64s can be emitted here and is "
	    "not applied by itself: you must wrap its command in the launcher "
	    "(confine-run.sh, or clankie-keys boundary confine -- COMMAND). "
	    "Finding the launcher is not being confined.", framework);
}

void
ck_advisory_text(enum ck_advisory advisory, const char *framework,
    const char *platform, bool proved, struct ck_buf *out)
{
	switch (advisory) {
	case CK_ADVISORY_NONE:
		return;
	case CK_ADVISORY_LINUX_WIRE:
		must_be_wrapped(framework, out);
		return;
	case CK_ADVISORY_MACOS_WIRE:
		must_be_wrapped(framework, out);
		if (!proved)
			ck_buf_text(out, " ENFORCEMENT-UNVERIFIED: nothing has "
			    "shown on this host that it engages (clankie-keys "
			    "boundary verify).");
		ck_buf_text(out, " What is left open on macOS: memory is "
		    "UNCAPPED; there is no system call filter; refusing "
		    "set-uid programs by name is not the same as no new "
		    "privileges, and the list is not complete; the network is "
		    "filtered by * and localhost only; sandbox-exec is "
		    "deprecated; a limit on processes means something only "
		    "for a user of its own.");
		return;
	case CK_ADVISORY_UNENFORCED:
		ck_buf_format(out, "ADVISORY ONLY: no boundary can be emitted "
		    "for %.64s on %.64s, and nothing confines it. Use one from "
		    "outside: a container with a seccomp filter, Landlock and "
		    "an egress filter.", framework, platform);
		return;
	}
}

void
ck_advisory_refusal(const char *framework, const char *platform,
    struct ck_buf *out)
{
	ck_buf_format(out, "fail-closed: nothing is generated for %.64s on "
	    "%.64s, because it would look protective and confine nothing",
	    framework, platform);
}
