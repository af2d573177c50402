/* SPDX-License-Identifier: Apache-2.0 */
/* The general broker, whichever kind it is, and the unlock password's place
 * that goes with it. */
#ifndef CK_CUSTODY_BROKER_H
#define CK_CUSTODY_BROKER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/secret.h"
#include "custody/place.h"
#include "custody/unlock_place.h"
#include "store/broker_lock.h"

/* Take the lock that Clankie's broker takes for this place.  CK_BUSY. */
CK_MUST_USE ck_err ck_broker_lock(const struct ck_place *p,
    struct ck_broker_lock *ret, struct ck_fail *fail);

/* The credential's value as the broker stores it; ret may be NULL to ask only
 * whether it is there, which no keychain wants a password for.  CK_ABSENT only
 * when the whole store was read and has none. */
CK_MUST_USE ck_err ck_broker_read(const struct ck_place *p,
    struct ck_secret *ret, struct ck_fail *fail);

/*
 * Erase the credential if, read again under the lock, it is still expected
 * (CK_CHANGED otherwise), then prune it from a keychain broker's index.
 * CK_ABSENT: it is gone already.  lock is the held broker lock.
 */
CK_MUST_USE ck_err ck_broker_erase(const struct ck_place *p,
    const struct ck_secret *expected, struct ck_broker_lock *lock,
    struct ck_fail *fail);

/*
 * Put the credential into the broker, which holds none, or the same value
 * already (CK_CHANGED otherwise); a keychain broker's index, if it has one,
 * names it first, as the broker itself writes.  The caller reads it back.  An
 * error may leave the value there or not.
 */
CK_MUST_USE ck_err ck_broker_put(const struct ck_place *p,
    const struct ck_secret *value, struct ck_broker_lock *lock,
    struct ck_fail *fail);

/* Make what the broker holds durable, its file's name too: a value that was
 * there already may have come from a writer that was killed, or does not ask
 * the disk.  Before the other copy goes. */
CK_MUST_USE ck_err ck_broker_settle(const struct ck_place *p,
    struct ck_fail *fail);

/*
 * *ret: the broker holds the value when this is what it gives back.  A file
 * broker holds JSON, and every program that rewrites it spells that anew;
 * a keychain holds bytes.  CK_DAMAGED: the value does not fit its format;
 * CK_NOMEM.
 */
CK_MUST_USE ck_err ck_broker_same(const struct ck_place *p,
    const struct ck_secret *value, const struct ck_secret *stored, bool *ret);

/* Could a broker of this kind hold the value?  CK_UNSUPPORTED when it is not
 * what a file broker holds; what is in the broker now is not looked at. */
CK_MUST_USE ck_err ck_broker_could_hold(const struct ck_place *p,
    const struct ck_secret *value, struct ck_fail *fail);

/* May the value follow before, the present one?  CK_UNSUPPORTED when the
 * broker's own programs would drop it; see ck_broker_file_kind(). */
CK_MUST_USE ck_err ck_broker_may_follow(const struct ck_place *p,
    const struct ck_secret *value, const struct ck_secret *before,
    struct ck_fail *fail);

/*
 * Would ck_broker_put() find anything to refuse?  Nothing is locked or
 * written.  CK_UNSUPPORTED: the file broker holds JSON only, and only such
 * that can be proved unchanged after an edit.
 */
CK_MUST_USE ck_err ck_broker_puttable(const struct ck_place *p,
    const struct ck_secret *value, struct ck_fail *fail);

/*
 * A keychain broker's index names the credential, which is taken to be gone.
 * prune: take that entry, and nothing else, out.  *ret tells whether it was
 * so.  Needs the broker's password (CK_LOCKED); false for a file broker.  An
 * index that is no list is left to its owner: CK_DAMAGED, or false when it was
 * to be pruned.
 */
CK_MUST_USE ck_err ck_broker_index(const struct ck_place *p, bool prune,
    bool *ret, struct ck_fail *fail);

/* Could the broker be changed: its directory is writable and has room for a
 * second copy of the file?  CK_READONLY, CK_DENIED, CK_NOSPACE; CK_UNSUPPORTED
 * when the file is too large to be edited. */
CK_MUST_USE ck_err ck_broker_writable(const struct ck_place *p,
    struct ck_fail *fail);

#endif
