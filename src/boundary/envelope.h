/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch envelope of a whole service (ADR 0257) as data: deny by default,
 * and what is granted.  The same grants become a policy that the evaluator
 * reads, Seatbelt text, and the arguments of bubblewrap.  Nothing here looks
 * at a file.
 */
#ifndef CK_BOUNDARY_ENVELOPE_H
#define CK_BOUNDARY_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/path.h"

struct ck_policy;

/* What the service may do by its own word; "screen" lies above these and can
 * not be bounded.  The boundary is the same at each: see docs/envelope.md. */
enum ck_level {
	CK_LEVEL_PORTAL,
	CK_LEVEL_WORKERS,
	CK_LEVEL_SHELL,
	CK_LEVEL_COUNT
};

const char *ck_level_name(enum ck_level level);
/* CK_USAGE for another name; CK_NOENFORCE for "screen". */
CK_MUST_USE ck_err ck_level_find(const char *name, enum ck_level *ret,
    struct ck_fail *fail);

/* Files of the control directory. */
#define CK_ENVELOPE_RECORD "envelope.json"
#define CK_ENVELOPE_PROFILE "profile.sb"
#define CK_ENVELOPE_PROBE "refusal-probe"
/* What the last launch was given; not part of the envelope. */
#define CK_ENVELOPE_LAUNCH "launch.json"

enum { CK_ENVELOPE_FILES = 256, CK_ENVELOPE_WORKSPACES = 32 };
#define CK_ENVELOPE_ID_SIZE 37      /* a UUID and its NUL */

/* Every path is absolute and canonical.  Some 300 KiB: not for a stack. */
struct ck_envelope {
	char id[CK_ENVELOPE_ID_SIZE];
	enum ck_level level;
	bool network;            /* TCP and UDP to anywhere */
	char runtime[CK_PATH_MAX];
	char file[CK_ENVELOPE_FILES][CK_PATH_MAX];   /* of the runtime */
	size_t nfiles;
	char home[CK_PATH_MAX];  /* the private one */
	char workspace[CK_ENVELOPE_WORKSPACES][CK_PATH_MAX];
	size_t nworkspaces;
	char control[CK_PATH_MAX];   /* directory of the control files */
};

/*
 * The grants as rules.  Besides, outside of what rules on files can say: own
 * processes, signals to them, and on macOS the services of
 * ck_envelope_seatbelt().  CK_REFUSED names a path that is not canonical text.
 */
CK_MUST_USE ck_err ck_policy_envelope(const struct ck_envelope *e,
    struct ck_policy **ret, struct ck_fail *fail);

/* Append the profile for sandbox-exec -f; the same record gives the same
 * bytes.  Errors of ck_policy_envelope() and ck_seatbelt_render(). */
CK_MUST_USE ck_err ck_envelope_seatbelt(const struct ck_envelope *e,
    struct ck_buf *out, struct ck_fail *fail);

/* One of the system's directories, as this machine has it. */
struct ck_envelope_system {
	const char *path;
	bool there;
	char link[64];           /* where a symbolic link leads; "" for none */
};
/* Those that matter, path set and nothing else. */
enum { CK_ENVELOPE_SYSTEM = 8 };
void ck_envelope_system(struct ck_envelope_system ret[CK_ENVELOPE_SYSTEM]);

/* A grant as the entry inside must find it. */
struct ck_envelope_grant {
	const char *path;
	unsigned long long device, inode;
};
enum { CK_ENVELOPE_GRANTS = CK_ENVELOPE_FILES + CK_ENVELOPE_WORKSPACES + 3 };

struct ck_envelope_box {
	struct ck_envelope_system system[CK_ENVELOPE_SYSTEM];
	struct ck_envelope_grant grant[CK_ENVELOPE_GRANTS];
	size_t ngrants;
	const char *entry;       /* clankie-envelope-entry, absolute */
	const char *directory;   /* where the command begins */
};

/* The grants of e in one order: runtime, its files, home, workspaces, control
 * directory; paths only, identities are the caller's. */
void ck_envelope_grants(const struct ck_envelope *e,
    struct ck_envelope_grant ret[CK_ENVELOPE_GRANTS], size_t *ret_n);

/*
 * Append the words behind "bwrap", a NUL behind each, up to and with the "--"
 * that a command follows: an empty root that only the grants are bound into,
 * and clankie-envelope-entry, which proves them and shuts the probe.  CK_NOMEM.
 */
CK_MUST_USE ck_err ck_envelope_bwrap(const struct ck_envelope *e,
    const struct ck_envelope_box *box, struct ck_buf *out,
    struct ck_fail *fail);

#endif
