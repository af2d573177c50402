/* SPDX-License-Identifier: Apache-2.0 */
/* One replacement of the keychain, between its flow and its steps. */
#ifndef CK_CUSTODY_REKEY_INT_H
#define CK_CUSTODY_REKEY_INT_H

#include <sys/stat.h>

#include "custody/rekey.h"
#include "custody/view.h"

/* What the journal says has been reached. */
enum ck_rekey_step {
	CK_REKEY_BEGUN = 1,      /* journal row */
	CK_REKEY_INSTALLED = 2   /* the records know the new file */
};

struct ck_rekey_run {
	struct ck_place *p;
	struct ck_view v;
	int lockfd;
	struct ck_secret password;       /* opens the installed file */
	struct ck_secret next;           /* opens the new one */
	struct ck_secret key;            /* the seal key, of both */
	struct stat old;                 /* the file that was copied */
	char nonce[33];
};

/* The password that opens the file, and the seal key; CK_DAMAGED unless the
 * records and every value in the keychain fit. */
CK_MUST_USE ck_err ck_rekey_read(struct ck_rekey_run *run,
    struct ck_fail *fail);

/* Each carries out what its name says; see ck_rekey() for the order. */
CK_MUST_USE ck_err ck_rekey_begin(struct ck_rekey_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_rekey_password(struct ck_rekey_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_rekey_build(struct ck_rekey_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_rekey_exchange(struct ck_rekey_run *run,
    struct ck_fail *fail);

/* The new file has the name, and next opens it: records, password, the old
 * file's end, and the journal's.  Repeating it does no harm. */
CK_MUST_USE ck_err ck_rekey_finish(struct ck_rekey_run *run,
    struct ck_fail *fail);

/* Did the new file of the open operation come to the name? */
CK_MUST_USE ck_err ck_rekey_landed(const struct ck_rekey_run *run, bool *ret,
    struct ck_fail *fail);

/* It did not: the new file, its password and the journal row go. */
CK_MUST_USE ck_err ck_rekey_undo(struct ck_rekey_run *run,
    struct ck_fail *fail);

#endif
