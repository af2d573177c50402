/* SPDX-License-Identifier: Apache-2.0 */
/* The way back: a credential out of the dedicated keychain into the general
 * broker, in the reverse order of the migration and with its guarantees. */
#ifndef CK_CUSTODY_RESTORE_H
#define CK_CUSTODY_RESTORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "custody/place.h"

enum ck_restore_end {
	CK_RESTORED,
	CK_RESTORE_ALREADY,              /* it lies in the broker */
	CK_RESTORE_RESUMED,              /* an interrupted run was finished */
	CK_RESTORE_PLANNED               /* dry run */
};

struct ck_restore_report {
	enum ck_restore_end end;
	enum ck_rec_kind broker_kind;
	char broker[CK_PATH_MAX];        /* where it lies (is to lie) */
	char keychain[CK_PATH_MAX];
	char rules[CK_PATH_MAX];
	bool stays;                      /* the keychain, for other credentials */
	bool covered;                    /* the rules close the broker's file */
};

/*
 * Restore.  A second call resumes an interrupted one or reports that all is
 * done.  Until the broker holds the value again a failure leaves every store
 * as it was; afterwards the journal stays open and the next call finishes.
 * When that one is refused before the records name the broker, it takes back
 * what was begun, with the copy that was written, and its reason says so.
 *
 * CK_ABSENT      never migrated, and the broker has none either
 * CK_NOSTORE     keychain, unlock password or broker are missing
 * CK_REFUSED     environment override, worker pane
 * CK_DECIDE      a broker holds another value of this credential
 * CK_UNSUPPORTED the broker's file cannot take the value
 * CK_BUSY        another operation is unfinished, or at work
 * CK_DAMAGED     records and keychain do not fit
 * and the errors of every store.
 */
CK_MUST_USE ck_err ck_restore(struct ck_place *p, bool dry_run,
    struct ck_restore_report *ret, struct ck_fail *fail);

#endif
