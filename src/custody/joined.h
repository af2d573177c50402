/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One credential's item among others in the dedicated keychain.  Law 2, for
 * several of them: the keychain is first for a credential as soon as its item
 * is in the file that has the final name, or the records say so.
 */
#ifndef CK_CUSTODY_JOINED_H
#define CK_CUSTODY_JOINED_H

#include <stdbool.h>

#include "base/err.h"
#include "base/secret.h"
#include "custody/place.h"

/*
 * Does the installed file have an item of this credential: one with its
 * service and account, or with the label that was written for its name?  A
 * row that was edited to other names is found out by the second.  Needs no
 * password.  Errors of the keychain: then it may well have one.
 */
CK_MUST_USE ck_err ck_joined_holds(const struct ck_place *p, bool *ret,
    struct ck_fail *fail);

/* Add the item, in one commit under the file's lock.  CK_REFUSED: there is one
 * with these names. */
CK_MUST_USE ck_err ck_joined_add(const struct ck_place *p,
    const struct ck_secret *password, const struct ck_secret *value,
    struct ck_fail *fail);

/* Remove the item, in one commit, if its value is still expected (CK_CHANGED).
 * CK_ABSENT: it is gone already. */
CK_MUST_USE ck_err ck_joined_remove(const struct ck_place *p,
    const struct ck_secret *password, const struct ck_secret *expected,
    struct ck_fail *fail);

/* Has another credential than p's its place in the dedicated keychain, or a
 * way there or back that is not finished? */
CK_MUST_USE ck_err ck_joined_others(const struct ck_place *p,
    struct ck_records *rec, bool *ret, struct ck_fail *fail);

/*
 * The broker beside which the unlock password lies: that of another credential
 * which is in the dedicated keychain.  CK_ABSENT: none is.
 */
CK_MUST_USE ck_err ck_joined_broker(const struct ck_place *p,
    struct ck_records *rec, struct ck_rec_store *ret, struct ck_fail *fail);

#endif
