/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What mends each finding of check.h: the command line itself, for this home
 * and these paths, and what a person has to decide before it is run.  Nothing
 * here runs one.
 */
#ifndef CK_CUSTODY_DOCTOR_H
#define CK_CUSTODY_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"
#include "custody/check.h"
#include "custody/place.h"

/*
 * command is one line for sh(1), names quoted; a word in capitals in it
 * (BACKUP, PASSWORD-FILE) is a file that only the owner can name.  decide is
 * a sentence.  One of the two may be empty.
 */
struct ck_remedy {
	int order;                    /* of running: lower goes first */
	struct ck_buf command;
	struct ck_buf decide;
};

struct ck_doctor {
	struct ck_findings found;
	struct ck_remedy remedy[CK_FINDINGS_MAX];   /* of found.at[i] */
	/* Indexes of found.at: errors first and then as they are mended; and
	 * as they are mended, each remedy once. */
	size_t shown[CK_FINDINGS_MAX];
	size_t steps[CK_FINDINGS_MAX];
	size_t nsteps;
};

/*
 * The remedies for what d->found holds; the rest of *d is overwritten.  Looks
 * at modes and owners and opens nothing.  p is NULL when the places could not
 * be resolved: then only what needs none is given.  CK_NOMEM.
 */
CK_MUST_USE ck_err ck_doctor_remedies(const struct ck_place *p,
    struct ck_doctor *d, struct ck_fail *fail);
void ck_doctor_done(struct ck_doctor *d);

/* text as one word of sh(1): as it is when nothing in it is special, else in
 * single quotes.  Never has a backslash of its own. */
void ck_doctor_quote(struct ck_buf *b, const char *text);
/* The options, each behind a space, that a command of ours has to be given
 * here; with password also the one where a keychain is the broker. */
void ck_doctor_options(const struct ck_place *p, bool password,
    struct ck_buf *b);

#endif
