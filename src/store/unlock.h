/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unlock password of the dedicated keychain where the broker is a file:
 * unlock.json, 0600, in a 0700 directory of its own.
 *
 *   {"version":1,"keychain":PATH,"password":64 HEX,"generation":N,
 *    "signature":HEX,"print":64 HEX,"operation":32 HEX,
 *    "pending":{"keychain":PATH,"password":64 HEX}}
 *
 * "print" and "operation" are left out where they are empty.
 * "pending" is there only while the keychain is being replaced: the new
 * file's password, stored before the new file takes the old one's place.
 */
#ifndef CK_STORE_UNLOCK_H
#define CK_STORE_UNLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/path.h"
#include "base/secret.h"

#define CK_UNLOCK_PASSWORD_SIZE 64   /* lower-case hex digits of 32 bytes */

struct ck_unlock {
	struct ck_secret password;
	char keychain[CK_PATH_MAX];          /* canonical path */
	uint64_t generation;
	char signature[65];                  /* lower-case hex; may be "" */
	char print[65];                      /* the same */
	char operation[33];                  /* the same */
	/* Both empty when nothing is pending. */
	struct ck_secret pending_password;
	char pending_keychain[CK_PATH_MAX];
};

#define CK_UNLOCK_INIT { .password = CK_SECRET_INIT, \
    .pending_password = CK_SECRET_INIT }

/* Wipes both passwords and empties the rest. */
void ck_unlock_wipe(struct ck_unlock *u);

/* A new password: 64 hex digits of 32 random bytes.  CK_IO, CK_NOMEM. */
CK_MUST_USE ck_err ck_unlock_make(struct ck_secret *ret);

/*
 * Replace the file at path, or make it; its directory is made too (0700), and
 * so is that one's parent.  CK_USAGE when a member has a wrong shape.
 * CK_REFUSED when the file is a link or has a second one, when file or
 * directory belong to somebody else or are open to group or others.
 */
CK_MUST_USE ck_err ck_unlock_put(const char *path, const struct ck_unlock *u,
    struct ck_fail *fail);

/*
 * Read it.  *ret must hold nothing.  CK_NOSTORE: no file.  CK_DAMAGED: not
 * what ck_unlock_put() writes.  CK_UNSUPPORTED: another version, or a member
 * this version does not know.  CK_REFUSED as above.
 */
CK_MUST_USE ck_err ck_unlock_get(const char *path, struct ck_unlock *ret,
    struct ck_fail *fail);

/* The directory of that file, judged as above; make: it is made with its
 * parent where they are missing.  CK_NOSTORE: it is not there. */
CK_MUST_USE ck_err ck_unlock_open_dir(const char *path, bool make,
    int *ret_dirfd, struct ck_fail *fail);

/* Remove what a killed ck_unlock_put() left beside the file. */
CK_MUST_USE ck_err ck_unlock_tidy(const char *path, struct ck_fail *fail);

/* Remove the file, judged as in ck_unlock_get() but not read.  CK_NOSTORE. */
CK_MUST_USE ck_err ck_unlock_remove(const char *path, struct ck_fail *fail);

#endif
