/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access control blobs and the attribute digest of version 0x200 files
 * (docs/keychain-format.md sections 14 and 15).  ACLs that are carried over
 * keep every byte, those we do not understand included.
 */
#ifndef KC_ACL_H
#define KC_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "keychain/db.h"

#define KC_DIGEST_BYTES 32

/* A program that may use an item without being asked about. */
struct kc_trusted {
	const char *path;              /* comment for people */
	uint8_t hash[20];              /* legacy hash; zeros when unknown */
	struct ck_span requirement;    /* code-signing blob, n 0 for none */
};

enum kc_access {
	KC_ACCESS_ANY,                 /* any application (-A) */
	KC_ACCESS_TRUSTED,             /* those listed, else ask */
	KC_ACCESS_NONE,                /* always ask */
	KC_ACCESS_UNKNOWN              /* parsed, but none of these shapes */
};

/* What one ACL may name. */
#define KC_ACL_TRUSTED_MAX 64
#define KC_ACL_PARTITIONS_MAX 64

/* The 28-byte open ACL of the database (section 14.4), appended to out. */
void kc_acl_open(struct ck_buf *out);

/*
 * The standard ACL of an item: owner, encrypt entry, decrypt entry; appended
 * to out or out as it was.  description is the item's label; it ends at a NUL,
 * as the prompt does.  digest (32 bytes) and partitions (ids like
 * "apple-tool:") are for version 0x200 and both NULL/0 otherwise.
 * CK_REFUSED: programs named without KC_ACCESS_TRUSTED or none with it; a
 * program without a path or with a requirement whose second word is not its
 * length; too many; a digest without partitions or the reverse; an id that
 * would need an escape in XML.  CK_NOMEM.
 */
CK_MUST_USE ck_err kc_acl_item(struct ck_span description,
    enum kc_access access, const struct kc_trusted *trusted, size_t ntrusted,
    const uint8_t *digest, const char *const *partitions, size_t npartitions,
    struct ck_buf *out);

/*
 * What an ACL says, for display and checks.  Spans point into the ACL.  When
 * it is not understood, access is KC_ACCESS_UNKNOWN and all else empty.
 */
struct kc_acl_info {
	bool understood;               /* every entry could be parsed */
	size_t entries;
	enum kc_access access;         /* of the one decrypt entry; else unknown */
	size_t ntrusted;               /* 0 unless KC_ACCESS_TRUSTED */
	struct ck_span trusted[KC_ACL_TRUSTED_MAX];   /* their paths */
	struct ck_span description;    /* of the first prompt */
	bool has_digest;
	uint8_t digest[KC_DIGEST_BYTES];
	bool has_partitions;
	struct ck_span partitions;     /* the property list, raw */
};

/* Never fails on foreign content: what cannot be parsed is not understood,
 * nor is an ACL with two digests or partition lists, with a digest that has
 * not 32 bytes, or with more than KC_ACL_TRUSTED_MAX programs in one entry.
 * Bounded recursion and counts (section 19, item 26). */
void kc_acl_inspect(struct ck_span acl, struct kc_acl_info *ret);

/* The same ACL with the integrity digest exchanged; appended to out.  An ACL
 * without one is copied as it is.  Every other byte is kept, padding and
 * trailing bytes included.  CK_UNSUPPORTED: cannot be parsed up to the entry,
 * has two, or one that has not 32 bytes.  CK_NOMEM. */
CK_MUST_USE ck_err kc_acl_set_digest(struct ck_span acl,
    const uint8_t digest[KC_DIGEST_BYTES], struct ck_buf *out);

/* Digest of a record's attributes, section 15.2; values in record order.
 * CK_NOMEM, CK_INTERNAL (OpenSSL failed). */
CK_MUST_USE ck_err kc_attr_digest(const struct kc_relation *rel,
    const struct kc_value *values, uint8_t ret[KC_DIGEST_BYTES]);

#endif
