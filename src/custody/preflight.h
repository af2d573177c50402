/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that can be known before a change is made (design 8, step 0):
 * read-only, all stores, nothing created. */
#ifndef CK_CUSTODY_PREFLIGHT_H
#define CK_CUSTODY_PREFLIGHT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/secret.h"
#include "custody/place.h"
#include "custody/view.h"

/* One place that holds a copy of the credential. */
enum { CK_COPIES_MAX = 16 };
struct ck_copy {
	enum ck_rec_kind kind;
	char path[CK_PATH_MAX];
	bool same;                       /* as the one that is moved */
};

struct ck_preflight {
	struct ck_secret value;          /* what is to be moved */
	struct ck_copy copies[CK_COPIES_MAX];
	size_t ncopies;                  /* the broker's first */
	char clankie[CK_PATH_MAX];       /* sign of an installed Clankie or "" */
};

#define CK_PREFLIGHT_INIT { .ncopies = 0 }

/* A worker pane changes nothing (19). */
CK_MUST_USE ck_err ck_preflight_worker(bool marked, const char *operation,
    struct ck_fail *fail);

/* Refusals that need no store: an environment override (19), a worker pane
 * (19).  Every changing operation asks this first. */
CK_MUST_USE ck_err ck_preflight_context(const struct ck_place *p,
    const char *operation, struct ck_fail *fail);

/*
 * Can the custody directory be made or used: parents, file system (read-only,
 * room), and the dedicated path on no search list.
 */
CK_MUST_USE ck_err ck_preflight_places(const struct ck_place *p,
    struct ck_fail *fail);

/* CK_REFUSED when the dedicated path is on the user's search list; other
 * codes when the list cannot be read. */
CK_MUST_USE ck_err ck_preflight_search_list(const struct ck_place *p,
    struct ck_fail *fail);

/* An entry of the search list is the dedicated keychain; macOS leaves "-db"
 * away there. */
bool ck_preflight_is_ours(const struct ck_place *p, const char *path);

/*
 * Read the value to be moved and look for copies elsewhere: the other broker
 * and the .env.local of each checkout.  CK_ABSENT: nothing anywhere.
 * CK_DECIDE: copies that differ, or one in a place that is not ours to edit;
 * the reason names both.
 */
CK_MUST_USE ck_err ck_preflight_copies(const struct ck_place *p,
    const char *const *checkouts, size_t ncheckouts,
    struct ck_preflight *ret, struct ck_fail *fail);

/* CK_DECIDE when an unlock password is stored although nothing was begun:
 * the keychain it belongs to may only have been moved away. */
CK_MUST_USE ck_err ck_preflight_password(const struct ck_place *p,
    struct ck_fail *fail);

/* CK_DECIDE when a Clankie is installed that is not known to honour the
 * records. */
CK_MUST_USE ck_err ck_preflight_clankie(const struct ck_place *p,
    const struct ck_view *v, bool honours, struct ck_preflight *ret,
    struct ck_fail *fail);

/*
 * CK_NOSTORE when an unlock password is stored although no dedicated keychain
 * is there, nor an operation open that explains it: what it opens went
 * missing, and the broker must not be asked instead (law 2).  Needs the
 * broker's password only with such an operation in a keychain broker's
 * records (CK_LOCKED).
 */
CK_MUST_USE ck_err ck_preflight_orphan(const struct ck_place *p,
    const struct ck_view *v, struct ck_fail *fail);

/* Known answers through the engine's cryptography.  CK_INTERNAL. */
CK_MUST_USE ck_err ck_preflight_selftest(struct ck_fail *fail);

void ck_preflight_done(struct ck_preflight *pf);

#endif
