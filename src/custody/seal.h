/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seal over the records (design section 6, docs/records.md): it shows
 * that they were changed by somebody who had the dedicated keychain.  Its key
 * is an item of that keychain.
 *
 * Whoever changes a row while the dedicated keychain is in place ends the same
 * transaction with ck_seal_write(), so that committed records always fit
 * their seal, also with an operation under way.
 */
#ifndef CK_CUSTODY_SEAL_H
#define CK_CUSTODY_SEAL_H

#include "base/err.h"
#include "base/secret.h"
#include "custody/place.h"
#include "custody/unlock_place.h"
#include "records/records.h"

/*
 * Seal the records as they stand inside the open transaction; the last change
 * before the commit.  password opens the dedicated keychain, where the key is.
 * Errors of the keychain (CK_LOCKED, CK_DAMAGED, ...) and of the records.
 */
CK_MUST_USE ck_err ck_seal_write(const struct ck_place *p,
    struct ck_records *rec, const struct ck_secret *password,
    struct ck_fail *fail);
/* The same with the key at hand. */
CK_MUST_USE ck_err ck_seal_write_key(struct ck_records *rec,
    const struct ck_secret *key, struct ck_fail *fail);

/*
 * Compare, inside an open transaction (or snapshot).  CK_DAMAGED: rows or
 * events were changed without the keychain, there is no seal, or they do not
 * fit the anchor (ck_anchor_check()).  No seal is needed in one moment only:
 * between the keychain taking its name and the records naming it, when state
 * is migrating, migrate's journal row open, and the anchor empty.
 * anchor NULL: it is not compared, and a seal is needed.
 * CK_BUSY: a reset gave up the key of the seal and was not finished.
 */
CK_MUST_USE ck_err ck_seal_check(const struct ck_place *p,
    struct ck_records *rec, const struct ck_secret *key,
    const struct ck_anchor *anchor, struct ck_fail *fail);
/* The same without the events before the last one, for a caller who judges
 * their chain by itself. */
CK_MUST_USE ck_err ck_seal_rows(const struct ck_place *p,
    struct ck_records *rec, const struct ck_secret *key,
    const struct ck_anchor *anchor, struct ck_fail *fail);

/*
 * The value read from the dedicated keychain is the one the records tell of:
 * its fingerprint is the recorded one or, while a rotation is under way, the
 * one that rotation is bringing in.  CK_DAMAGED otherwise: records or keychain
 * were put back to an earlier day.  Inside an open transaction, after
 * ck_seal_check().
 */
CK_MUST_USE ck_err ck_seal_value(const struct ck_place *p,
    struct ck_records *rec, const struct ck_secret *key,
    const struct ck_secret *value, struct ck_fail *fail);

/*
 * Where every change of what the dedicated keychain holds begins, under the
 * custody lock: unlock password, value and seal key are read, and fit the
 * records (ck_seal_check(), ck_seal_value()).
 */
CK_MUST_USE ck_err ck_seal_open(const struct ck_place *p,
    struct ck_records *rec, struct ck_secret *ret_password,
    struct ck_secret *ret_value, struct ck_secret *ret_key,
    struct ck_fail *fail);

/* The records alone, for whoever makes something from them: the keychain is
 * opened for the seal key, whichever credentials it holds. */
CK_MUST_USE ck_err ck_seal_records(const struct ck_place *p,
    struct ck_records *rec, struct ck_fail *fail);

/* The setting that holds, while a rotation is under way, the fingerprint of
 * the value it brings in. */
#define CK_SEAL_NEXT_SETTING "rotate.fingerprint"

/* What the journal calls an operation. */
#define CK_MIGRATE_OPERATION "migrate"
#define CK_ROTATE_OPERATION "rotate"
#define CK_RESTORE_OPERATION "restore"
/* A reset cannot seal its first steps: the key is what was lost. */
#define CK_RESET_OPERATION "reset --confirm"

#endif
