/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cryptography that the file format fixes, on top of libcrypto: 3DES-CBC,
 * HMAC-SHA1 in its two variants and the master key (docs/keychain-format.md,
 * sections 11 to 15).  No state is kept.
 *
 * Besides what is listed, every function may give CK_NOMEM: secure memory is
 * full.  That may never be taken for a wrong key.
 */
#ifndef KC_CRYPTO_H
#define KC_CRYPTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"

#define KC_BLOCK_BYTES 8
#define KC_IV_BYTES 8
#define KC_3DES_BYTES 24
#define KC_MAC_BYTES 20

/* CK_OK when key holds exactly n bytes.  CK_LOCKED: it holds nothing.
 * CK_DAMAGED: it has another size. */
CK_MUST_USE ck_err kc_key_fits(const struct ck_secret *key, size_t n);

/*
 * Pad plain to whole blocks (PKCS#7, at least one byte) and encrypt it.  *ret
 * must hold nothing.  The result lies in secure memory because one pass of
 * the key wrap is the plaintext of the next.  CK_LOCKED, CK_DAMAGED: key.
 */
CK_MUST_USE ck_err kc_cbc_encrypt(const struct ck_secret *key,
    const uint8_t iv[KC_IV_BYTES], const struct ck_secret *plain,
    struct ck_secret *ret);

/*
 * Decrypt and take the padding off.  CK_DAMAGED: no whole blocks, or wrong
 * padding, or a key of the wrong size; CK_LOCKED: no key.  The padding is
 * examined without a branch on its bytes; it is a plausibility check and
 * proves nothing about the key.
 */
CK_MUST_USE ck_err kc_cbc_decrypt(const struct ck_secret *key,
    const uint8_t iv[KC_IV_BYTES], struct ck_span cipher,
    struct ck_secret *ret);

/*
 * MAC over two chunks with a 20-byte signing key.  The blob version selects
 * the variant (section 11.2): 0x100 is a bug-compatible chunked form, all
 * others are ordinary HMAC-SHA1.
 */
CK_MUST_USE ck_err kc_mac(uint32_t version, const struct ck_secret *sign,
    struct ck_span a, struct ck_span b, uint8_t ret[KC_MAC_BYTES]);

#endif
