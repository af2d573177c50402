/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that implement dedicated.h. */
#ifndef CK_CUSTODY_DEDICATED_INT_H
#define CK_CUSTODY_DEDICATED_INT_H

#include "custody/dedicated.h"
#include "keychain/keychain.h"

/* Rules for the file and for the directory it is alone in. */
#define CK_DEDICATED_RULES (CK_IO_OWNER | CK_IO_PRIVATE | CK_IO_ONELINK)

/* Open and unlock a dedicated file. */
CK_MUST_USE ck_err ck_dedicated_open(const char *path,
    const struct ck_secret *password, struct kc **ret, struct ck_fail *fail);

/* Unlock an opened one.  CK_LOCKED: the password is not this file's. */
CK_MUST_USE ck_err ck_dedicated_unlock(struct kc *kc,
    const struct ck_secret *password, struct ck_fail *fail);

/*
 * What can be said without a password: both items are there and bear the
 * labels that were written.  CK_DAMAGED otherwise.
 */
CK_MUST_USE ck_err ck_dedicated_names_in(const struct ck_place *p,
    struct kc *kc, struct ck_fail *fail);

/* ck_dedicated_read_both() of a file that is open and unlocked. */
CK_MUST_USE ck_err ck_dedicated_read_in(const struct ck_place *p,
    struct kc *kc, struct ck_secret *ret_value, struct ck_secret *ret_key,
    struct ck_fail *fail);

/*
 * An item of ours: found, encrypted, and with the label it was given.
 * CK_DAMAGED otherwise.  In version 0x100 anybody who can write the file can
 * put an item in the clear there, or change its attributes.
 */
CK_MUST_USE ck_err ck_dedicated_item(struct kc *kc, const char *service,
    const char *account, const char *label, struct kc_record *ret,
    struct ck_fail *fail);

/* The item of the seal key; needs no password. */
CK_MUST_USE ck_err ck_dedicated_seal_find(struct kc *kc,
    struct kc_record *ret, struct ck_fail *fail);

/*
 * The seal key of an unlocked file.  The item holds it with a MAC that only
 * the file's own signing key makes, since the format has none over the data
 * of an item.  CK_DAMAGED: missing, not ours, or not made by this keychain.
 */
CK_MUST_USE ck_err ck_dedicated_seal_read(struct kc *kc,
    struct ck_secret *ret, struct ck_fail *fail);

/* Add the item to a file that has none, with a new key. */
CK_MUST_USE ck_err ck_dedicated_seal_add(const char *path,
    const struct ck_secret *password, struct ck_fail *fail);

/* The item was carried over from another file: the same key, bound to this
 * one. */
CK_MUST_USE ck_err ck_dedicated_seal_rebind(const char *path,
    const struct ck_secret *password, struct ck_fail *fail);

#endif
