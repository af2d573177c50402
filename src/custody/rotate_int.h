/* SPDX-License-Identifier: Apache-2.0 */
/* One rotation, between its flow and its steps. */
#ifndef CK_CUSTODY_ROTATE_INT_H
#define CK_CUSTODY_ROTATE_INT_H

#include "custody/rotate.h"
#include "custody/view.h"

/* The journal's steps: the value may be either one; the records tell of the
 * new one, and the anchor has still to follow. */
enum { CK_ROTATE_BEGUN = 0, CK_ROTATE_RECORDED = 1 };

struct ck_rotate_run {
	struct ck_place *p;
	const struct ck_rotate_how *how;
	struct ck_view v;
	int lockfd;
	uint64_t seen;                   /* generation before the lock */
	struct ck_secret password;
	struct ck_secret key;            /* the seal key */
	struct ck_secret now, next;      /* values */
	char now_print[CK_FINGERPRINT_SIZE];
	char next_print[CK_FINGERPRINT_SIZE];
	char nonce[33];
	bool landed;                     /* by an interrupted run */
};

/* Password, key and present value; CK_DAMAGED unless they fit the records. */
CK_MUST_USE ck_err ck_rotate_read(struct ck_rotate_run *run,
    struct ck_fail *fail);

/* An interrupted rotation is closed at the generation that the keychain's
 * value has.  *ret_landed: at the new one. */
CK_MUST_USE ck_err ck_rotate_settle(struct ck_rotate_run *run,
    bool *ret_landed, struct ck_fail *fail);

/* The journal row n -> n + 1 with the fingerprint of next. */
CK_MUST_USE ck_err ck_rotate_begin(struct ck_rotate_run *run,
    struct ck_fail *fail);

/* The anchor, then next into the keychain.  A failure that left the old value
 * there puts the anchor back and closes the journal again. */
CK_MUST_USE ck_err ck_rotate_write(struct ck_rotate_run *run,
    struct ck_fail *fail);

/* Read back from a fresh open, then generation and fingerprint together, the
 * anchor for them, and the end of the journal row. */
CK_MUST_USE ck_err ck_rotate_finish(struct ck_rotate_run *run,
    struct ck_fail *fail);

#endif
