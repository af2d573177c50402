/* SPDX-License-Identifier: Apache-2.0 */
/* One run of doctor --rebuild, between its parts. */
#ifndef CK_CUSTODY_DOCTOR_REBUILD_INT_H
#define CK_CUSTODY_DOCTOR_REBUILD_INT_H

#include "base/secret.h"
#include "custody/doctor_rebuild.h"

#define CK_REBUILD_PREFIX "rebuild-"          /* and 32 hex digits */
#define CK_REBUILD_KEPT CK_REC_FILE ".before-"

/* What the dedicated keychain holds of ours. */
struct ck_items {
	struct ck_rec_credential at[CK_REBUILD_ROWS_MAX];
	size_t n;
	size_t others;                /* that are no credentials of ours */
};

/*
 * Everything in it verified, each credential's value judged and printed; the
 * seal key too.  CK_DAMAGED: an item that bears our label and is not in order,
 * none that does, or no seal key.
 */
CK_MUST_USE ck_err ck_doctor_items(const struct ck_place *p,
    const struct ck_secret *password, struct ck_items *ret,
    struct ck_secret *ret_key, struct ck_fail *fail);

/* What could be read of the old records. */
struct ck_old {
	struct ck_records *rec;       /* NULL: missing, or not readable */
	bool there;                   /* a file has the name */
	bool whole;                   /* every table could be read */
	struct ck_fail why;           /* when it was not */
	struct ck_rec_credential row[CK_REBUILD_ROWS_MAX];
	struct ck_rec_store broker[CK_REBUILD_ROWS_MAX];   /* id 0: none */
	size_t n;
	struct ck_rec_store dedicated;
	bool journal_open;
	struct ck_rec_journal journal;
	size_t astray;                /* precedence rows of rank 0 elsewhere */
	size_t honours;               /* principals that were known to */
	size_t events;
	struct ck_rules_set set;
	size_t set_more;              /* protected rows that did not fit */
};

/* CK_OK also when nothing of them can be read; ret is zeroed before. */
CK_MUST_USE ck_err ck_old_read(const struct ck_place *p, int dirfd,
    struct ck_old *ret, struct ck_fail *fail);
void ck_old_done(struct ck_old *old);
const struct ck_rec_credential *ck_old_row(const struct ck_old *old,
    const char *name);
/* The broker of a credential, or NULL. */
const struct ck_rec_store *ck_old_broker(const struct ck_old *old,
    const char *name);

/*
 * Do they hold, and fit the keychain?  CK_BUSY when they do and an operation
 * is open.
 */
CK_MUST_USE ck_err ck_old_holds(const struct ck_place *p, struct ck_old *old,
    const struct ck_items *items, const struct ck_secret *key, bool *ret,
    struct ck_fail *fail);

/* What old and new say differently, and what the new cannot say. */
void ck_old_compare(const struct ck_place *p, const struct ck_old *old,
    const struct ck_items *items, struct ck_rebuild *ret);

/* Take back what a killed rebuild left.  The caller holds the lock. */
CK_MUST_USE ck_err ck_rebuild_clean(const struct ck_place *p, int dirfd,
    struct ck_fail *fail);
/* Build, prove, and take into place; then the anchor and the rules. */
CK_MUST_USE ck_err ck_rebuild_write(const struct ck_place *p, int dirfd,
    const struct ck_items *items, const struct ck_secret *key,
    const struct ck_secret *password, struct ck_rebuild *b,
    struct ck_fail *fail);

#endif
