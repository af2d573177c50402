/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a candidate the credential?  Kept in memory is only an HMAC-SHA-256 of
 * the credential under a key made for this process.  The file it came from is
 * held open, so that no other file can get its inode; between a request and
 * its answer it is looked at, and so is all else that decided: the custody directory, the
 * records, the keychain and the place of its password.
 */
#ifndef CK_CUSTODY_AUTHENTICATE_H
#define CK_CUSTODY_AUTHENTICATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/secret.h"
#include "custody/place.h"

#define CK_AUTH_DIGEST_SIZE 32

/* What is looked at, each by lstat(); sys is its errno or 0. */
#define CK_AUTH_WATCHED 7
struct ck_auth_seen {
	int sys;
	struct stat st;
};

struct ck_auth {
	struct ck_place place;       /* as resolved; a copy is given away */
	struct ck_secret key;
	struct ck_secret digest;     /* nothing: not known */
	int fd;                      /* the file that the digest came from */
	char paths[CK_AUTH_WATCHED][CK_PATH_MAX];
	struct ck_auth_seen seen[CK_AUTH_WATCHED];   /* before it was read */
	bool recent;                 /* changed just before */
	bool looked;                 /* already in this batch */
	bool tried;                  /* failed already in this batch */
	ck_err why;                  /* and how */
};

#define CK_AUTH_INIT { .fd = -1 }

/* Start; nothing is read yet.  CK_NOMEM, CK_IO.  The login password in place
 * stays the caller's and must outlive ret. */
CK_MUST_USE ck_err ck_auth_open(const struct ck_place *place,
    struct ck_auth *ret, struct ck_fail *fail);
void ck_auth_close(struct ck_auth *a);

/* Input that arrives now has not been answered: everything is looked at again,
 * once for all requests that were read together. */
void ck_auth_batch(struct ck_auth *a);

/*
 * CK_OK: the n bytes at p are the credential (an operator bearer's key, any
 * other's value).  CK_NO: they are not; n = 0 never is.  Every other code:
 * the store did not say, see ck_resolve().
 */
CK_MUST_USE ck_err ck_auth_ask(struct ck_auth *a, const uint8_t *p, size_t n,
    struct ck_fail *fail);

#endif
