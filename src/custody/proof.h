/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What "boundary verify" last found on this machine, kept as the JSON that it
 * printed, in the custody directory.  It is a note for the owner: nothing is
 * allowed because of it.
 */
#ifndef CK_CUSTODY_PROOF_H
#define CK_CUSTODY_PROOF_H

#include "base/bytes.h"
#include "base/err.h"
#include "custody/place.h"

/* The text of the note is longer than this only when it is not ours. */
#define CK_PROOF_MAX ((size_t)256 << 10)

struct ck_proof {
	char verdict[16];
	char at[32];             /* as ck_clock_iso() writes it */
	char version[32];        /* of clankie-keys */
	char kernel[96];
};

/* Keep it.  CK_NOSTORE: there is no custody directory. */
CK_MUST_USE ck_err ck_proof_write(const struct ck_place *p,
    struct ck_span json, struct ck_fail *fail);
/* CK_ABSENT: nothing was kept.  CK_DAMAGED: it is not what was written. */
CK_MUST_USE ck_err ck_proof_read(const struct ck_place *p,
    struct ck_proof *ret, struct ck_fail *fail);

#endif
