/* SPDX-License-Identifier: Apache-2.0 */
/* The dedicated keychain: made complete in a scratch directory, taken into
 * place by one rename, and read with our own engine. */
#ifndef CK_CUSTODY_DEDICATED_H
#define CK_CUSTODY_DEDICATED_H

#include "base/err.h"
#include "base/secret.h"
#include "custody/place.h"
#include "custody/unlock_place.h"

/* Size of a fingerprint's text, NUL included: 64 hex digits. */
#define CK_FINGERPRINT_SIZE 65

/* The label of a credential's item: this and the credential's name. */
#define CK_ITEM_LABEL "clankie-keys: "

/* These and the journal's nonce: directories of ours beside the final one, for
 * a keychain that is being made, and for one that is on its way out. */
#define CK_SCRATCH_PREFIX "scratch-"
#define CK_RESTORED_PREFIX "restored-"
/* The same for what a reset keeps aside. */
#define CK_LOST_PREFIX "lost-"

/* The label that the item of p's credential has. */
#define CK_DEDICATED_LABEL_SIZE 128
void ck_dedicated_label(const struct ck_place *p,
    char ret[CK_DEDICATED_LABEL_SIZE]);

/*
 * Build DIR/scratch-NONCE/operator.keychain-db with the value and a fresh
 * seal key, under password; synced.  An older scratch directory of the same
 * nonce is removed first.
 */
CK_MUST_USE ck_err ck_dedicated_build(const struct ck_place *p, int dirfd,
    const char *nonce, const struct ck_secret *password,
    const struct ck_secret *value, struct ck_fail *fail);

/*
 * Prove a built or installed file: opened afresh, unlocked, everything
 * verified, the value equal to expected (may be NULL), item names as they
 * must be.  path is the keychain file.
 */
CK_MUST_USE ck_err ck_dedicated_prove(const struct ck_place *p,
    const char *path, const struct ck_secret *password,
    const struct ck_secret *expected, struct ck_fail *fail);

/* The keychain file in scratch-NONCE. */
CK_MUST_USE ck_err ck_dedicated_scratch(const struct ck_place *p,
    const char *nonce, char ret[CK_PATH_MAX], struct ck_fail *fail);

/*
 * Build scratch-NONCE like ck_dedicated_build(), with everything that the
 * installed file holds, which old opens; next opens the new one.
 * CK_UNSUPPORTED: something in it cannot be carried.
 */
CK_MUST_USE ck_err ck_dedicated_renew(const struct ck_place *p, int dirfd,
    const char *nonce, const struct ck_secret *old,
    const struct ck_secret *next, struct ck_fail *fail);

/* What a killed writer left beside the installed keychain goes; the name that
 * it may have given a new file becomes durable.  Under the custody lock. */
CK_MUST_USE ck_err ck_dedicated_tidy(const struct ck_place *p,
    struct ck_fail *fail);

/* The installed directory holds the keychain and what its writers put beside
 * it, and can go with it.  CK_UNSUPPORTED names what else is there. */
CK_MUST_USE ck_err ck_dedicated_alone(const struct ck_place *p,
    struct ck_fail *fail);

/* Exchange scratch-NONCE with the installed directory, in one step; synced.
 * CK_UNSUPPORTED: this file system cannot, and nothing was changed. */
CK_MUST_USE ck_err ck_dedicated_exchange(const struct ck_place *p, int dirfd,
    const char *nonce, struct ck_fail *fail);

/* Rename scratch-NONCE to its final name.  CK_REFUSED when that exists. */
CK_MUST_USE ck_err ck_dedicated_install(const struct ck_place *p, int dirfd,
    const char *nonce, struct ck_fail *fail);

/* Rename the final directory to restored-NONCE; synced also when that was
 * done before.  From here nobody finds the dedicated keychain any more. */
CK_MUST_USE ck_err ck_dedicated_retire(const struct ck_place *p, int dirfd,
    const char *nonce, struct ck_fail *fail);

/* Remove PREFIX-NONCE with what is in it; a missing one is CK_OK. */
CK_MUST_USE ck_err ck_dedicated_discard(const struct ck_place *p, int dirfd,
    const char *prefix, const char *nonce, struct ck_fail *fail);

/*
 * Read the credential from the installed file.  A file without its item is
 * CK_DAMAGED, never absent; so is one whose label, service or account differ
 * from what we wrote, and a value that does not fit its format.
 */
CK_MUST_USE ck_err ck_dedicated_read(const struct ck_place *p,
    const struct ck_secret *password, struct ck_secret *ret,
    struct ck_fail *fail);

/*
 * Value and seal key from one open of the installed file; either may be NULL
 * when it is not wanted.  Codes as for ck_dedicated_read(); a file without its
 * seal key is CK_DAMAGED too.
 */
CK_MUST_USE ck_err ck_dedicated_read_both(const struct ck_place *p,
    const struct ck_secret *password, struct ck_secret *ret_value,
    struct ck_secret *ret_key, struct ck_fail *fail);

/*
 * The same with whichever stored password opens the installed file: while it
 * is being replaced (rotate --keychain) two are stored, and both file and
 * passwords may change between two looks.  What opens it goes to
 * *ret_password; every output may be NULL.  CK_LOCKED: none of them does.
 * Errors of ck_unlock_place_get() besides.
 */
CK_MUST_USE ck_err ck_dedicated_look(const struct ck_place *p,
    struct ck_secret *ret_password, struct ck_secret *ret_value,
    struct ck_secret *ret_key, struct ck_fail *fail);
/* The same with the anchor that was read with the password. */
CK_MUST_USE ck_err ck_dedicated_look_at(const struct ck_place *p,
    struct ck_secret *ret_password, struct ck_secret *ret_value,
    struct ck_secret *ret_key, struct ck_anchor *ret_anchor,
    struct ck_fail *fail);

/* Set the auto-lock settings of the installed file as they were made, and
 * nothing else; one commit. */
CK_MUST_USE ck_err ck_dedicated_relock(const struct ck_place *p,
    const struct ck_secret *password, struct ck_fail *fail);

/* HMAC-SHA-256 of a value under the seal key, as hex. */
CK_MUST_USE ck_err ck_dedicated_print(const struct ck_secret *key,
    const struct ck_secret *value, char ret[CK_FINGERPRINT_SIZE],
    struct ck_fail *fail);

/* The fingerprint of what the installed file holds. */
CK_MUST_USE ck_err ck_dedicated_fingerprint(const struct ck_place *p,
    const struct ck_secret *password, char ret[CK_FINGERPRINT_SIZE],
    struct ck_fail *fail);

#endif
