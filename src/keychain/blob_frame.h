/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What DbBlob and KeyBlob have in common (docs/keychain-format.md, sections
 * 11 and 12): four words in front, a fixed part that ends with the MAC, the
 * public ACL, the encrypted rest.
 */
#ifndef KC_BLOB_FRAME_H
#define KC_BLOB_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"

#define KC_BLOB_MAGIC 0xfade0711U
#define KC_DB_FIXED 92
#define KC_KEY_FIXED 136

struct kc_frame {
	uint32_t version;
	struct ck_span acl;
	struct ck_span crypto;
	struct ck_span whole;    /* announced length; data may go on */
};

/* CK_UNSUPPORTED unless version is one that the format knows. */
CK_MUST_USE ck_err kc_frame_version(uint32_t version);

/* what names the blob in messages.  CK_DAMAGED, CK_UNSUPPORTED. */
CK_MUST_USE ck_err kc_frame_parse(struct ck_span data, size_t fixed,
    const char *what, const char *shown, struct kc_frame *ret,
    struct ck_fail *fail);

/* Magic, version and the two lengths.  CK_REFUSED: they exceed 32 bits. */
CK_MUST_USE ck_err kc_frame_begin(struct ck_buf *b, uint32_t version,
    size_t fixed, size_t acl, size_t crypto);

/* Compute the MAC over the blob in b, which starts at 0, and put it into the
 * last 20 bytes of the fixed part. */
CK_MUST_USE ck_err kc_frame_sign(struct ck_buf *b, uint32_t version,
    size_t fixed, const struct ck_secret *sign);

/* Compare the MAC in constant time.  CK_DAMAGED: it is wrong. */
CK_MUST_USE ck_err kc_frame_check(struct ck_span whole, uint32_t version,
    size_t fixed, const struct ck_secret *sign);

/* All of b appended to out, or out as it was. */
CK_MUST_USE ck_err kc_frame_append(struct ck_buf *out,
    const struct ck_buf *b);

#endif
