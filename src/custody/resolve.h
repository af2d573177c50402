/* SPDX-License-Identifier: Apache-2.0 */
/* Law 2 as code: the first existing store decides. */
#ifndef CK_CUSTODY_RESOLVE_H
#define CK_CUSTODY_RESOLVE_H

#include "base/err.h"
#include "base/secret.h"
#include "custody/place.h"

struct ck_resolved {
	enum ck_rec_kind kind;           /* where the value came from */
	char path[CK_PATH_MAX];
	char service[256];
	char account[256];
};

/*
 * The credential's value.  Once the dedicated keychain exists under its name,
 * or the records say so, it alone is asked; an error there ends the
 * resolution.  The environment is never asked, nothing is ever made.
 * CK_ABSENT: the broker, asked in full, has none and nothing was migrated.
 * reader, when not NULL, must be a principal that reads (CK_USAGE).
 */
CK_MUST_USE ck_err ck_resolve(struct ck_place *p, const char *reader,
    struct ck_secret *ret, struct ck_resolved *ret_where,
    struct ck_fail *fail);

#endif
