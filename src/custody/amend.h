/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing what a finished migration wrote into the records, in one sealed
 * transaction: paths that are protected too, and who asks the records.
 */
#ifndef CK_CUSTODY_AMEND_H
#define CK_CUSTODY_AMEND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "custody/place.h"
#include "records/records.h"

struct ck_amend_how {
	const char *operation;           /* the command, for what it says */
	bool dry_run;                    /* say what would be done */
	const char *const *checkouts;    /* canonical directories */
	size_t ncheckouts;
	/* Paths that are protected from now on, at least so much. */
	const struct ck_rec_protected *rows;
	size_t nrows;
	/* ... and one that is not any more; NULL: none. */
	const char *remove;
	/* Those of whom is said whether they ask the records, and what:
	 * "yes", "no" or "unknown".  n 0: nobody. */
	const char *const *principals;
	size_t nprincipals;
	const char *honours;
};

struct ck_amend_report {
	size_t added;                    /* paths that were not protected */
	size_t there;                    /* ... that were */
	size_t bearers;                  /* ... that hold an operator bearer */
	size_t changed;                  /* principals that were said otherwise */
	size_t removed;
};

/*
 * Amend.  Rules are written again from the changed records; a run that was
 * killed between the two is finished by the same call, and said by check until
 * then.  Nothing is written, and no password is wanted, when all is so already.
 *
 * CK_NOSTORE: nothing was migrated.  CK_BUSY: an operation is open.  CK_USAGE:
 * no such principal.  CK_REFUSED: rules cannot be made with this, or the path
 * to be removed is always protected; a worker pane.  CK_ABSENT: the path to be
 * removed is not protected.  CK_DAMAGED: the records do not fit their seal.  Nothing was changed.
 */
CK_MUST_USE ck_err ck_amend(struct ck_place *p, const struct ck_amend_how *how,
    struct ck_amend_report *ret, struct ck_fail *fail);

/* Clankie's own places, for which "the service honours the records" speaks;
 * *ret_n of them. */
const char *const *ck_amend_promised(size_t *ret_n);

#endif
