/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The framework-neutral launcher (integration.md 13) as data, the third policy:
 * the world can be read and not written, a workspace can be written, credentials
 * cannot be read, control paths inside the workspace cannot be changed.  Nothing
 * here looks at a file.
 */
#ifndef CK_BOUNDARY_CONFINE_H
#define CK_BOUNDARY_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/path.h"

struct ck_policy;

enum { CK_CONFINE_MAX = 192 };

/* One path and what the caller saw there. */
struct ck_confine_path {
	char path[CK_PATH_MAX];  /* absolute and canonical */
	bool there, directory;
};

/* A directory that is made anew inside, entry by entry, because something that
 * is masked below it is not there yet and must not show when it comes. */
struct ck_confine_rebuilt {
	char path[CK_PATH_MAX];
	char (*entry)[256];      /* names; of those that are no links */
	size_t n;
	struct {
		char name[256], to[CK_PATH_MAX];
	} *link;
	size_t nlinks;
};

struct ck_confine {
	struct ck_confine_path writable[CK_CONFINE_MAX];   /* the workspace first */
	size_t nwritable;
	struct ck_confine_path mask[CK_CONFINE_MAX];
	size_t nmask;
	struct ck_confine_path protect[CK_CONFINE_MAX];
	size_t nprotect;
	struct ck_confine_rebuilt rebuilt[CK_CONFINE_MAX];   /* outermost first */
	size_t nrebuilt;
	bool network;            /* of the host; else none */
};

/* As rules.  Errors of ck_policy_add(). */
CK_MUST_USE ck_err ck_policy_confine(const struct ck_confine *c,
    struct ck_policy **ret, struct ck_fail *fail);

/* Append the profile for sandbox-exec -p. */
CK_MUST_USE ck_err ck_confine_seatbelt(const struct ck_confine *c,
    struct ck_buf *out, struct ck_fail *fail);

/* Append the words behind "bwrap", a NUL behind each, with the "--" that the
 * command follows.  CK_NOMEM. */
CK_MUST_USE ck_err ck_confine_bwrap(const struct ck_confine *c,
    struct ck_buf *out, struct ck_fail *fail);

/* Credentials that are masked whether they exist or not, below the home; NULL
 * behind the last. */
const char *ck_confine_credential(size_t i);

#endif
