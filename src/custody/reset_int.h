/* SPDX-License-Identifier: Apache-2.0 */
/* One reset, between its flow and its steps. */
#ifndef CK_CUSTODY_RESET_INT_H
#define CK_CUSTODY_RESET_INT_H

#include "custody/reset.h"
#include "custody/view.h"
#include "store/broker_lock.h"

/* What the journal says has been reached. */
enum ck_reset_step {
	CK_RESET_BEGUN = 1,      /* journal row, without a seal */
	CK_RESET_ASIDE = 2,      /* what was there is kept aside */
	CK_RESET_INSTALLED = 3   /* new file, records and seal fit */
};

struct ck_reset_run {
	struct ck_place *p;
	struct ck_view v;
	int lockfd;
	struct ck_broker_lock broker_lock;
	enum ck_lost lost;
	bool keeps;              /* the broker has p's credential: see
	                          * ck_reset_broker_has() */
	bool mint;               /* p's credential is one that is made here */
	struct ck_reset_names others;   /* those that are given up with it */
	bool resumed;
	bool taken_over;         /* another operation was open and is given up */
	bool over_again;         /* that one was a reset, whose work is lost */
	bool installed;          /* the new file has, or may have, its name */
	struct ck_secret password;
	char nonce[33];
};

/* What is lost, if anything; other codes when that cannot be said. */
CK_MUST_USE ck_err ck_reset_judge(const struct ck_place *p,
    const struct ck_view *v, enum ck_lost *ret, struct ck_fail *fail);

/* Neither broker holds a bearer (CK_DECIDE); keeps: p's own one may. */
CK_MUST_USE ck_err ck_reset_no_other(const struct ck_place *p, bool keeps,
    struct ck_fail *fail);

/* The first row that is in the keychain or on a way there or back.  CK_ABSENT:
 * there is none. */
CK_MUST_USE ck_err ck_reset_any(const struct ck_reset_run *run,
    struct ck_rec_credential *ret, struct ck_fail *fail);

/*
 * Does an operation that moves p's credential, and was not finished, have it
 * in the broker, too?  Then nothing is made: the broker is in charge again.
 * Whatever keeps that from being read comes back as it is.
 */
CK_MUST_USE ck_err ck_reset_broker_has(const struct ck_reset_run *run,
    bool *ret, struct ck_fail *fail);

/* What else is given up, and whether p's credential can be minted, into
 * run. */
CK_MUST_USE ck_err ck_reset_others(struct ck_reset_run *run,
    struct ck_fail *fail);
/* None of them can be read any more, and none has a value in a broker
 * (CK_DECIDE); CK_UNSUPPORTED: see ck_reset(). */
CK_MUST_USE ck_err ck_reset_others_lost(struct ck_reset_run *run,
    struct ck_fail *fail);
/* Inside a transaction: everything that is not minted back to its broker. */
CK_MUST_USE ck_err ck_reset_release(struct ck_reset_run *run,
    struct ck_fail *fail);

/* Each carries out what its name says; a step that was reached before is
 * repeated without harm. */
CK_MUST_USE ck_err ck_reset_begin(struct ck_reset_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_reset_aside(struct ck_reset_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_reset_install(struct ck_reset_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_reset_record(struct ck_reset_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_reset_finish(struct ck_reset_run *run,
    struct ck_fail *fail);
/* In the place of the last three, when nothing can be minted: no keychain, and
 * the records say so. */
CK_MUST_USE ck_err ck_reset_leave(struct ck_reset_run *run,
    struct ck_fail *fail);

/* Of a reset that kept the old ones aside: is the keychain that is in place
 * the one it made?  The anchor beside the new password says so, and once the
 * records tell of it the seal does. */
CK_MUST_USE ck_err ck_reset_is_ours(struct ck_reset_run *run, bool *ret,
    struct ck_fail *fail);

/* Is an unlock password there that this reset did not store? */
CK_MUST_USE ck_err ck_reset_is_foreign(struct ck_reset_run *run, bool *ret,
    struct ck_fail *fail);

/* Before the new file has its name: everything as it was, if that can be. */
void ck_reset_undo(struct ck_reset_run *run);
/* What was lost is back: close the journal if the records then fit the old
 * seal again. */
CK_MUST_USE ck_err ck_reset_withdraw(struct ck_reset_run *run,
    struct ck_fail *fail);

/* Where the old file and the old password are kept, "" when there were
 * none. */
void ck_reset_kept(const struct ck_reset_run *run,
    struct ck_reset_report *ret);

#endif
