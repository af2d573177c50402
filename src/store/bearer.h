/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a credential's value must look like.  A value that does not fit is
 * damaged; nothing here repairs one.
 */
#ifndef CK_STORE_BEARER_H
#define CK_STORE_BEARER_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"

/* "clankie_op_" and 43 characters of base64url, which hold 32 bytes. */
#define CK_BEARER_PREFIX "clankie_op_"
#define CK_BEARER_KEY_SIZE 54

enum ck_format {
	CK_FORMAT_OPERATOR_BEARER,   /* "operator-bearer": JSON, see below */
	CK_FORMAT_OPAQUE,            /* "opaque": any bytes, at least one */
	CK_FORMAT_COUNT
};

/* The name the records use; NULL for a value outside the list. */
const char *ck_format_name(enum ck_format format);
/* CK_UNSUPPORTED for an unknown name. */
CK_MUST_USE ck_err ck_format_by_name(const char *name, enum ck_format *ret);
/* CK_DAMAGED when the value does not fit, an empty one included. */
CK_MUST_USE ck_err ck_format_check(enum ck_format format,
    const struct ck_secret *value);
/* *ret: both stand for the same secret.  CK_DAMAGED when either does not fit
 * the format.  Keys are compared in constant time. */
CK_MUST_USE ck_err ck_format_same(enum ck_format format,
    const struct ck_secret *a, const struct ck_secret *b, bool *ret);

/*
 * An operator bearer is a JSON object with "type":"api" and "key":KEY, in any
 * spelling; other members may be there ("metadata", "account").  CK_DAMAGED
 * otherwise, also when a member occurs twice.
 */
CK_MUST_USE ck_err ck_bearer_check(const struct ck_secret *value);
/* The CK_BEARER_KEY_SIZE bytes of KEY. */
CK_MUST_USE ck_err ck_bearer_key(const struct ck_secret *value,
    struct ck_secret *ret_key);
/* *ret: the two values have the same key. */
CK_MUST_USE ck_err ck_bearer_same(const struct ck_secret *a,
    const struct ck_secret *b, bool *ret);
/* A new bearer from 32 bytes of the system's generator.  CK_IO, CK_NOMEM. */
CK_MUST_USE ck_err ck_bearer_mint(struct ck_secret *ret_value);

/* The first CK_BEARER_KEY_SIZE bytes in text that have the shape of a key, or
 * { NULL, 0 }.  What stands around them does not matter. */
struct ck_span ck_bearer_search(struct ck_span text);

#endif
