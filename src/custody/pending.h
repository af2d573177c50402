/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second unlock password, there only while rotate --keychain replaces the
 * dedicated keychain: stored before the new file can take the old one's name,
 * beside the password of the old one, which it follows in one step.  It is a
 * member of unlock.json, or an item of a keychain broker.
 */
#ifndef CK_CUSTODY_PENDING_H
#define CK_CUSTODY_PENDING_H

#include "base/err.h"
#include "base/secret.h"
#include "custody/place.h"

/* CK_NOSTORE when none is pending, CK_REFUSED when it belongs to another
 * keychain; other codes as for ck_unlock_place_get(). */
CK_MUST_USE ck_err ck_pending_get(const struct ck_place *p,
    struct ck_secret *ret, struct ck_fail *fail);

/* Store and read back.  CK_REFUSED when another one is pending. */
CK_MUST_USE ck_err ck_pending_put(const struct ck_place *p,
    const struct ck_secret *password, struct ck_fail *fail);

/* password, which is pending or was, becomes the unlock password of the file
 * with that signature (hex, for the anchor), and none is pending any more.  Nothing to do is CK_OK; CK_CHANGED when it is neither. */
CK_MUST_USE ck_err ck_pending_promote(const struct ck_place *p,
    const struct ck_secret *password, const char *signature,
    struct ck_fail *fail);

/* Take the pending one away, with what a killed writer of it left; none is
 * CK_OK. */
CK_MUST_USE ck_err ck_pending_drop(const struct ck_place *p,
    struct ck_fail *fail);

#endif
