/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encrypted parts of a keychain file: DbBlob, KeyBlob, item data and the
 * unlock-key file, as docs/keychain-format.md sections 11 to 13 give them.
 * A padding check never decides alone: every key is used only after its MAC.
 *
 * Secrets given as ret must hold nothing; they are written on success only,
 * like all outputs.  Encoders append to out or leave it as it was.  Besides
 * the codes listed, every function may give CK_NOMEM (memory, the secure heap
 * included), CK_UNSUPPORTED (this OpenSSL lacks 3DES, SHA-1 or HMAC) and
 * CK_INTERNAL (it failed); none of them is ever reported as a wrong key.  A
 * key argument that holds nothing is CK_LOCKED, one of another size
 * CK_DAMAGED.
 */
#ifndef KC_BLOB_H
#define KC_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"

#define KC_BLOB_V100 0x100U
#define KC_BLOB_V101 0x101U
#define KC_BLOB_V200 0x200U

#define KC_MASTER_BYTES 24
#define KC_ENCRYPT_BYTES 24
#define KC_SIGN_BYTES 20
#define KC_ITEM_KEY_BYTES 24
#define KC_LABEL_BYTES 20     /* "ssgp" and 16 random bytes */

/* The keys of an unlocked file.  kc_keys_wipe() takes a half-filled one. */
struct kc_keys {
	struct ck_secret encrypt;      /* 24 bytes, wraps the keys in the file */
	struct ck_secret sign;         /* 20 bytes, MAC key */
	struct ck_secret private_acl;  /* private part of the DB ACL, may be 0 */
};
#define KC_KEYS_INIT { CK_SECRET_INIT, CK_SECRET_INIT, CK_SECRET_INIT }
void kc_keys_wipe(struct kc_keys *k);
/* Fresh random keys, empty private ACL. */
CK_MUST_USE ck_err kc_keys_random(struct kc_keys *ret);

/* DbBlob, section 11.  Spans point into the parsed data. */
struct kc_db_blob {
	uint32_t version;
	uint8_t signature[16];
	uint32_t sequence;
	uint32_t idle_timeout;         /* seconds; 0x7fffffff = never */
	uint8_t lock_on_sleep;
	uint8_t pad[3];                /* authenticated garbage: keep */
	uint8_t salt[20];
	uint8_t iv[8];
	uint8_t mac[20];
	struct ck_span public_acl;
	struct ck_span crypto;
	struct ck_span whole;          /* totalLength bytes */
};

/* CK_DAMAGED, CK_UNSUPPORTED (blob version, named).  shown for messages.
 * Bytes behind the announced length are ignored. */
CK_MUST_USE ck_err kc_db_blob_parse(struct ck_span data, const char *shown,
    struct kc_db_blob *ret, struct ck_fail *fail);

/* PBKDF2-HMAC-SHA1(password, salt, 1000), 24 bytes.  An empty password is
 * one; CK_LOCKED when password holds nothing, CK_REFUSED above
 * CK_SECRET_MAX. */
CK_MUST_USE ck_err kc_master_key(const struct ck_secret *password,
    const uint8_t salt[20], struct ck_secret *ret);

/* Recover the keys; the MAC decides.  blob is a parsed one.  CK_LOCKED: wrong
 * key, whether padding, length or MAC shows it (or damaged blob: the two
 * cannot be told apart). */
CK_MUST_USE ck_err kc_db_blob_open(const struct kc_db_blob *blob,
    const struct ck_secret *master, struct kc_keys *ret);

/* Encode: fields of blob (mac, crypto and whole are not read) with keys
 * under master; appended to out.  blob->iv must be fresh whenever keys or
 * master are (section 16).  CK_UNSUPPORTED: blob version; CK_REFUSED: longer
 * than 32 bits tell. */
CK_MUST_USE ck_err kc_db_blob_encode(const struct kc_db_blob *blob,
    const struct ck_secret *master, const struct kc_keys *keys,
    struct ck_buf *out);

/* The 48-byte unlock-key file, section 11.5; its version word has no meaning.
 * CK_DAMAGED.  The caller compares the signature with the DbBlob's. */
CK_MUST_USE ck_err kc_unlock_key_parse(const struct ck_secret *file,
    uint8_t ret_signature[16], struct ck_secret *ret_master);

/* KeyBlob, section 12. */
struct kc_key_header {
	uint32_t version;              /* 2 */
	uint32_t blob_type;            /* 2 */
	uint32_t format;
	uint32_t algorithm;            /* 17 3DES, 42 RSA, 0x80000001 AES */
	uint32_t key_class;            /* 0 public, 1 private, 2 session */
	uint32_t bits;
	uint32_t attributes;
	uint32_t usage;
	uint8_t start[8], end[8];
	uint32_t wrap_algorithm, wrap_mode, reserved;
};

struct kc_key_blob {
	uint32_t version;
	uint8_t iv[8];
	struct kc_key_header header;
	uint32_t wrapped[4];           /* 3, 100, 17, 6 when encrypted */
	uint8_t mac[20];
	bool cleartext;                /* section 12.3; class public only */
	struct ck_span public_acl;
	struct ck_span crypto;
	struct ck_span whole;
};

/* Header of a new item key: section 12, column "item key". */
extern const struct kc_key_header kc_item_key_header;

/* CK_DAMAGED: structure, or a key in the clear that is not public.
 * CK_UNSUPPORTED: blob version, another header version or module than Apple's
 * CSP (macOS refuses those too), another wrap. */
CK_MUST_USE ck_err kc_key_blob_parse(struct ck_span data, const char *shown,
    struct kc_key_blob *ret, struct ck_fail *fail);

/* MAC, then unwrap.  CK_DAMAGED: MAC or structure wrong.  CK_LOCKED: keys
 * hold nothing.  A cleartext public key is returned as it is: nothing vouches
 * for it.  ret_private_acl may be NULL. */
CK_MUST_USE ck_err kc_key_blob_open(const struct kc_key_blob *blob,
    const struct kc_keys *keys, struct ck_secret *ret_key,
    struct ck_secret *ret_private_acl);

/* The same for the key of a password item, which must be an authenticated
 * 3DES session key of 24 bytes; anything else is CK_DAMAGED.  Use this one in
 * front of kc_item_data_open(): a key in the clear, planted in place of an
 * item key, opens elsewhere but not here. */
CK_MUST_USE ck_err kc_item_key_open(const struct kc_key_blob *blob,
    const struct kc_keys *keys, struct ck_secret *ret_key);

/* Only the MAC; CK_OK for a cleartext public key, which has none. */
CK_MUST_USE ck_err kc_key_blob_check(const struct kc_key_blob *blob,
    const struct kc_keys *keys);

/*
 * Encode with a fresh wrap under blob->iv; appended to out.  private_acl may
 * be NULL (empty).  Of blob, version, iv, header and public_acl are read, and
 * cleartext: such a key is stored as it is, with blob->wrapped (0, 1, 0, 0 for
 * PKCS#1) and, by custom, a zero IV.  CK_REFUSED: in the clear, but not
 * public or with a private ACL; or longer than 32 bits tell.
 */
CK_MUST_USE ck_err kc_key_blob_encode(const struct kc_key_blob *blob,
    const struct kc_keys *keys, const struct ck_secret *key,
    const struct ck_secret *private_acl, struct ck_buf *out);

/* Encode with new ACL, everything else and the wrapped key kept: for edits
 * of the ACL (section 15.3).  Works on cleartext public keys too.  blob is a
 * parsed one; a wrong MAC is CK_DAMAGED and is not made right. */
CK_MUST_USE ck_err kc_key_blob_reseal(const struct kc_key_blob *blob,
    const struct kc_keys *keys, struct ck_span new_acl, struct ck_buf *out);

/* Item data, section 13.1. */
/* true when data is an ssgp blob; *ret_label gets its first 20 bytes. */
bool kc_item_data_label(struct ck_span data, struct ck_span *ret_label);
/* CK_DAMAGED for bad length, padding or key size, or no ssgp blob (one answer
 * for all: there is no MAC, and a finer one would be a padding oracle). */
CK_MUST_USE ck_err kc_item_data_open(struct ck_span data,
    const struct ck_secret *item_key, struct ck_secret *ret);
/* label is 20 bytes, iv 8; an empty secret gives exactly 28 bytes.
 * CK_REFUSED: the label does not start with "ssgp". */
CK_MUST_USE ck_err kc_item_data_encode(const uint8_t label[20],
    const uint8_t iv[8], const struct ck_secret *item_key,
    const struct ck_secret *secret, struct ck_buf *out);

#endif
