/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can a boundary be emitted for a framework on a platform (the third source
 * text, "The decision")?  A table, and nothing is looked at: what a machine
 * really has is another question, and whether the bearer can be read a third.
 */
#ifndef CK_BOUNDARY_CAPABLE_H
#define CK_BOUNDARY_CAPABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"

enum ck_framework {
	CK_FW_CLAUDE,
	CK_FW_GOOSE,
	CK_FW_CODEX,
	CK_FW_COPILOT_VSCODE,
	CK_FW_COPILOT_CLI,
	CK_FW_AGENTS_MD,
	CK_FW_UNKNOWN,           /* every other name; no error */
	CK_FW_COUNT
};

enum ck_target {
	CK_TARGET_LINUX,         /* every name that begins so */
	CK_TARGET_DARWIN,
	CK_TARGET_WINDOWS,
	CK_TARGET_OTHER,
	CK_TARGET_COUNT
};

enum ck_framework ck_framework_of(const char *name);
/* Python's sys.platform (linux, darwin, win32); macos and windows are taken,
 * too, so that nobody is told "no boundary" for a word. */
enum ck_target ck_target_of(const char *name);
/* The name of the system this program was built for, as above. */
extern const char ck_target_here[];

enum ck_advisory {
	CK_ADVISORY_NONE,
	CK_ADVISORY_LINUX_WIRE,  /* available, not applied by itself */
	CK_ADVISORY_MACOS_WIRE,  /* the same, and not verified */
	CK_ADVISORY_UNENFORCED   /* fatal: there is no boundary */
};

/* "privilege-profile-..."; NULL for none. */
const char *ck_advisory_code(enum ck_advisory advisory);

enum ck_mechanism {
	CK_MECH_NONE,
	CK_MECH_NATIVE_AND_LAUNCHER,
	CK_MECH_NATIVE,
	CK_MECH_NATIVE_UNVERIFIED,
	CK_MECH_GOOSE,
	CK_MECH_BWRAP,
	CK_MECH_SANDBOX_EXEC
};

/* For JSON, and a line for people; never NULL. */
const char *ck_mechanism_name(enum ck_mechanism mechanism);
const char *ck_mechanism_text(enum ck_mechanism mechanism);

struct ck_capable {
	bool requested;
	bool capable;
	enum ck_mechanism mechanism;
	enum ck_advisory advisory;   /* NONE when nothing was requested */
	bool fatal;
	bool emit;               /* a boundary is emitted */
	bool refused;            /* fatal, and no opt-out */
};

/* The answer for one row; allow is --allow-unenforced-confinement. */
void ck_capable_decide(enum ck_framework framework, enum ck_target target,
    bool requested, bool allow, struct ck_capable *ret);

enum ck_profile { CK_PROFILE_COOPERATIVE, CK_PROFILE_CONFINED,
	CK_PROFILE_EXCLUSIVE };
/* CK_USAGE for every other name: a typo must not mean "no boundary". */
CK_MUST_USE ck_err ck_profile_find(const char *name, enum ck_profile *ret,
    struct ck_fail *fail);
const char *ck_profile_name(enum ck_profile profile);

/* A token of the request, NAMESPACE:FEATURE, split at the last colon. */
enum { CK_TOKENS_MAX = 40 };
struct ck_tokens {
	const char *at[CK_TOKENS_MAX];
	size_t n;
};
/* Add one, unless it is there; borrowed.  CK_USAGE: it has no colon, or the
 * namespace takes no sandbox. */
CK_MUST_USE ck_err ck_tokens_add(struct ck_tokens *t, const char *token,
    struct ck_fail *fail);
/* Those that a profile stands for, behind the ones that are there. */
CK_MUST_USE ck_err ck_tokens_expand(struct ck_tokens *t,
    enum ck_profile profile, enum ck_framework framework,
    struct ck_fail *fail);
/* The profile or a token asks for a boundary. */
bool ck_tokens_request(const struct ck_tokens *t, enum ck_profile profile);

/*
 * Append what an advisory says to an operator.  framework and platform are the
 * words of the question.  proved: boundary verify showed on this machine that
 * this mechanism engages, so that the macOS text need not say that nothing
 * did.
 */
void ck_advisory_text(enum ck_advisory advisory, const char *framework,
    const char *platform, bool proved, struct ck_buf *out);
/* Why nothing is generated, and what would still generate nothing. */
void ck_advisory_refusal(const char *framework, const char *platform,
    struct ck_buf *out);

/* Of the profile exclusive: it excludes reading, and does not close what
 * comes in. */
#define CK_ADVISORY_EXCLUSIVE "privilege-profile-exclusive-inbound-hardening"

#endif
