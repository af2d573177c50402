/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the unlock password of the dedicated keychain lies (design 4): an item
 * of a keychain broker, else unlock.json.  Beside it stands what it opens, the
 * anchor: records and keychain that were put back together to an earlier day
 * do not fit it.
 */
#ifndef CK_CUSTODY_UNLOCK_PLACE_H
#define CK_CUSTODY_UNLOCK_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/secret.h"
#include "custody/place.h"

struct ck_anchor {
	/* All rotations of all credentials: see ck_anchor_generation(). */
	uint64_t generation;
	/* Of the keychain that has its final name, in hex; "" as long as none
	 * has, or when it is about to go. */
	char signature[33];
	/* What the records say that the keychain holds, in hex: see
	 * ck_anchor_print().  "" until a keychain was in place. */
	char print[65];
	/* Of the operation that may have changed records, keychain and anchor
	 * on one side only, see ck_anchor_note_of(); "" when they have to
	 * fit. */
	char operation[33];
};

#define CK_ANCHOR_INIT { 0, "", "", "" }

/* CK_NOSTORE when there is none, CK_REFUSED when it belongs to another
 * keychain. */
CK_MUST_USE ck_err ck_unlock_place_get(const struct ck_place *p,
    struct ck_secret *ret, struct ck_fail *fail);
/* The same with the anchor, from one look.  ret_password may be NULL. */
CK_MUST_USE ck_err ck_unlock_place_read(const struct ck_place *p,
    struct ck_secret *ret_password, struct ck_anchor *ret_anchor,
    struct ck_fail *fail);
/* Is there an unlock password, for whichever keychain?  Needs no password. */
CK_MUST_USE ck_err ck_unlock_place_exists(const struct ck_place *p,
    bool *ret, struct ck_fail *fail);
/* Store and read back, with an anchor that has nothing but the note of the
 * operation under way (ck_anchor_note_of()).  CK_REFUSED when another one is there. */
CK_MUST_USE ck_err ck_unlock_place_put(const struct ck_place *p,
    const struct ck_secret *password, const char *operation,
    struct ck_fail *fail);
/* Put another anchor beside it, in one replacement.  CK_CHANGED: the password
 * there is not the given one. */
CK_MUST_USE ck_err ck_unlock_place_anchor(const struct ck_place *p,
    const struct ck_secret *password, const struct ck_anchor *anchor,
    struct ck_fail *fail);
/* Another password and anchor in the place of the password now, in one
 * replacement; a pending one in unlock.json goes.  CK_CHANGED. */
CK_MUST_USE ck_err ck_unlock_place_swap(const struct ck_place *p,
    const struct ck_secret *now, const struct ck_secret *password,
    const struct ck_anchor *anchor, struct ck_fail *fail);
/* Take back what put stored, if it is still the same. */
CK_MUST_USE ck_err ck_unlock_place_remove(const struct ck_place *p,
    const struct ck_secret *password, struct ck_fail *fail);

#endif
