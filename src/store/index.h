/* SPDX-License-Identifier: Apache-2.0 */
/* The index item of a keychain broker: a JSON array of provider ids. */
#ifndef CK_STORE_INDEX_H
#define CK_STORE_INDEX_H

#include <stdbool.h>

#include "base/err.h"
#include "base/secret.h"

/*
 * The index without account, in the broker's own spelling (compact JSON).
 * *ret_changed is false, and *ret left alone, when it does not name it.
 * CK_DAMAGED: not an array of strings.  CK_NOMEM.
 */
CK_MUST_USE ck_err ck_index_without(const struct ck_secret *index,
    const char *account, bool *ret_changed, struct ck_secret *ret);

/*
 * The index with account, which goes in front of the first greater id: the
 * broker keeps them sorted.  *ret_changed is false, and *ret left alone, when
 * it names it already.  Codes as above.
 */
CK_MUST_USE ck_err ck_index_with(const struct ck_secret *index,
    const char *account, bool *ret_changed, struct ck_secret *ret);

#endif
