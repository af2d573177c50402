/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which keychain holds the unlock password, noted outside of the custody:
 * broker.json beside where unlock.json would lie,
 *
 *   {"version":1,"keychain":PATH,"broker":PATH}
 *
 * The records name the broker, too, but whoever edits them while the dedicated
 * keychain is away has no seal to fear.  unlock.json stands for itself; an item
 * in a keychain that nobody names any more would not be looked for.  It is a
 * locator, never a proof: what it leads to is asked.
 *
 * It is written before the unlock password is stored and removed after that is
 * gone, so that at no moment there is a password without it.
 */
#ifndef CK_CUSTODY_LOCATOR_H
#define CK_CUSTODY_LOCATOR_H

#include "base/err.h"
#include "base/path.h"
#include "custody/place.h"

#define CK_LOCATOR_FILE "broker.json"

/* Its path.  CK_REFUSED: too long. */
CK_MUST_USE ck_err ck_locator_path(const struct ck_place *p,
    char ret[CK_PATH_MAX], struct ck_fail *fail);

/* The broker noted for p's keychain.  CK_NOSTORE: none is.  CK_DAMAGED,
 * CK_UNSUPPORTED: it cannot be told; CK_REFUSED: file or directory are open to
 * others, or a link. */
CK_MUST_USE ck_err ck_locator_get(const struct ck_place *p,
    char ret[CK_PATH_MAX], struct ck_fail *fail);

/* Where nothing else says which broker it is, neither the command line nor
 * records: p's broker becomes the noted one, if one is noted. */
void ck_locator_stand_in(struct ck_place *p);

/*
 * Note p's broker, unless that is a file.  CK_REFUSED: another keychain's is
 * noted.  CK_DECIDE: another broker is, and holds an unlock password.
 */
CK_MUST_USE ck_err ck_locator_put(const struct ck_place *p,
    struct ck_fail *fail);

/* Take the note of p's keychain away; that there is none is fine. */
CK_MUST_USE ck_err ck_locator_remove(const struct ck_place *p,
    struct ck_fail *fail);

#endif
