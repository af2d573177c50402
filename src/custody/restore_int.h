/* SPDX-License-Identifier: Apache-2.0 */
/* One restore, between its flow and its steps. */
#ifndef CK_CUSTODY_RESTORE_INT_H
#define CK_CUSTODY_RESTORE_INT_H

#include "base/secret.h"
#include "custody/restore.h"
#include "custody/seal.h"
#include "custody/view.h"
#include "store/broker_lock.h"

/* What the journal says has been reached. */
enum ck_restore_step {
	CK_RESTORE_ALONE = 0,    /* begun; the broker held no copy, so that one
	                          * there later was written by us */
	CK_RESTORE_BEGUN = 1,    /* begun; the broker's copy is not ours */
	CK_RESTORE_RECORDED = 2  /* the records name the broker */
};

struct ck_restore_run {
	struct ck_place *p;
	struct ck_view v;
	struct ck_broker_lock broker_lock;
	int lockfd;
	struct ck_secret password;
	struct ck_secret key;            /* the seal key */
	struct ck_secret value;
	char nonce[33];
	bool resumed;
	bool dry_run;
	bool there;                      /* the broker holds the value */
	bool begun;                      /* this run has found nothing amiss */
	bool shared;                     /* others stay in the keychain */
};

/* The journal row and state restoring, sealed. */
CK_MUST_USE ck_err ck_restore_begin(struct ck_restore_run *run,
    struct ck_fail *fail);

/* The value into the broker, read back from a fresh open.  A failure that
 * left none there takes the journal row back. */
CK_MUST_USE ck_err ck_restore_write(struct ck_restore_run *run,
    struct ck_fail *fail);

/*
 * What was begun and cannot be finished: as it was before, and then
 * run->v.journal_open is false.  A copy goes from the broker only if a run
 * that was interrupted wrote it and it still is the value.  Left for the next
 * run: what the records tell of already, a copy that is not known to be ours,
 * and one that cannot be removed.
 */
void ck_restore_undo(struct ck_restore_run *run);

/* Precedence and state name the broker, in one sealed transaction. */
CK_MUST_USE ck_err ck_restore_record(struct ck_restore_run *run,
    struct ck_fail *fail);

/*
 * The item leaves the keychain or, when it is the last one, the keychain
 * loses its name; for certain also when an interrupted run did it.  From here
 * the broker decides, and in the second case no seal is asked for.
 */
CK_MUST_USE ck_err ck_restore_retire(struct ck_restore_run *run,
    struct ck_fail *fail);

/* Unlock password, its directory and the keychain go, if it was the last one;
 * rules; the journal is closed. */
CK_MUST_USE ck_err ck_restore_finish(struct ck_restore_run *run,
    struct ck_fail *fail);

#endif
