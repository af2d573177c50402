/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The .env.local of a checkout, read exactly as Clankie's service reads it:
 * lines split at LF and trimmed, "#" starts a comment line, name and value
 * split at the first "=", one pair of matching quotes around the whole value
 * removed, the first of two equal names wins, nothing else interpreted.
 */
#ifndef CK_STORE_DOTENV_H
#define CK_STORE_DOTENV_H

#include <stdbool.h>

#include "base/err.h"
#include "base/secret.h"

/* Largest file that is read, and the longest name. */
#define CK_DOTENV_MAX CK_SECRET_MAX
#define CK_DOTENV_NAME_SIZE 129

/*
 * Call cb for each variable in the order of the file.  Names that no shell
 * variable can have ("export NAME") are passed over: they are on no list of
 * the service, and what stands in such a place may be half a secret.  Which
 * names the service accepts is the caller's knowledge.  value is valid during
 * the call.  A result of cb that is not CK_OK ends it and is returned.
 *
 * CK_NOSTORE: no such file.  CK_REFUSED: not a regular file of ours; a
 * symbolic link is not followed.  CK_UNSUPPORTED: larger than CK_DOTENV_MAX.
 */
typedef ck_err ck_dotenv_cb(void *arg, const char *name,
    const struct ck_secret *value);
CK_MUST_USE ck_err ck_dotenv_each(const char *path, ck_dotenv_cb *cb,
    void *arg, struct ck_fail *fail);

/*
 * Whether an operator bearer's key stands anywhere in the file, comments
 * included, and the first one.  *ret_first stays as it was when there is
 * none; it may be NULL.  Errors as above.
 */
CK_MUST_USE ck_err ck_dotenv_find_bearer(const char *path, bool *ret_found,
    struct ck_secret *ret_first, struct ck_fail *fail);

#endif
