/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records and keychain against the anchor, which lies with the unlock password
 * (design 6): whoever puts both back to an earlier day has to put back the
 * unlock password's place too, and for that to read it.
 */
#ifndef CK_CUSTODY_ANCHOR_H
#define CK_CUSTODY_ANCHOR_H

#include "base/err.h"
#include "base/secret.h"
#include "custody/place.h"
#include "custody/unlock_place.h"
#include "records/records.h"

/* The sum of the generations of all credentials, each without the step that a
 * migration under way has counted beforehand.  It never goes down. */
CK_MUST_USE ck_err ck_anchor_generation(struct ck_records *rec,
    uint64_t *ret, struct ck_fail *fail);

/*
 * Inside an open transaction.  CK_DAMAGED: the records are of an earlier or a
 * later day.  What an operation that is under way may have changed on one
 * side only is no difference.
 */
CK_MUST_USE ck_err ck_anchor_check(const struct ck_place *p,
    struct ck_records *rec, const struct ck_anchor *anchor,
    struct ck_fail *fail);

/* Could it be moved: is the place of the unlock password writable, with room
 * for a second copy?  Codes of ck_broker_writable(). */
CK_MUST_USE ck_err ck_anchor_writable(const struct ck_place *p,
    struct ck_fail *fail);

/* Put it right for the records as they stand, plus more rotations, and for
 * the keychain that has its final name. */
CK_MUST_USE ck_err ck_anchor_write(const struct ck_place *p,
    struct ck_records *rec, const struct ck_secret *password, uint64_t more,
    struct ck_fail *fail);

/* The keychain is about to go: from here an open operation explains that it
 * is missing. */
CK_MUST_USE ck_err ck_anchor_lift(const struct ck_place *p,
    const struct ck_secret *password, struct ck_fail *fail);

#endif
