/* SPDX-License-Identifier: Apache-2.0 */
/* 3DES-CBC, both HMAC variants and PBKDF2; see crypto.h. */

/* The functions that need no provider count as the older interface; why not
 * the newer one: base/hash.h. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "crypto.h"

#include <limits.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/des.h>

#include "base/hash.h"
#include "blob.h"

#define SHA1_BLOCK 64
#define PBKDF2_ROUNDS 1000
#define SALT_BYTES 20

/* What the three keys become, and the block before. */
struct schedules {
	DES_key_schedule key[3];
	DES_cblock iv;
};

ck_err
kc_key_fits(const struct ck_secret *key, size_t n)
{
	if (key->p == NULL)
		return CK_LOCKED;
	return key->n == n ? CK_OK : CK_DAMAGED;
}

/*
 * One CBC pass over whole blocks from in to out, which may be the same.  The
 * parity bits of a key count for nothing, as everywhere since 1977, and a weak
 * key is the file's: it is not for us to refuse.
 */
static ck_err
cbc(int encrypt, const struct ck_secret *key, const uint8_t iv[KC_IV_BYTES],
    const uint8_t *in, size_t n, uint8_t *out)
{
	struct ck_secret room = CK_SECRET_INIT;
	struct schedules *s;
	ck_err r;

	if ((r = kc_key_fits(key, KC_3DES_BYTES)) != CK_OK)
		return r;
	if (n > LONG_MAX)
		return CK_NOMEM;
	if ((r = ck_secret_alloc(sizeof(*s), &room)) != CK_OK)
		return r;
	s = (void *)room.p;
	for (size_t i = 0; i < 3; i++)
		DES_set_key_unchecked((const_DES_cblock *)(key->p +
		    i * KC_BLOCK_BYTES), &s->key[i]);
	memcpy(s->iv, iv, sizeof(s->iv));
	DES_ede3_cbc_encrypt(in, out, (long)n, &s->key[0], &s->key[1],
	    &s->key[2], &s->iv, encrypt);
	ck_secret_wipe(&room);
	return CK_OK;
}

ck_err
kc_cbc_encrypt(const struct ck_secret *key, const uint8_t iv[KC_IV_BYTES],
    const struct ck_secret *plain, struct ck_secret *ret)
{
	struct ck_secret s = CK_SECRET_INIT;
	size_t pad = KC_BLOCK_BYTES - plain->n % KC_BLOCK_BYTES;
	size_t whole;
	ck_err r;

	if (!ck_size_add(plain->n, pad, &whole))
		return CK_NOMEM;
	if ((r = ck_secret_alloc(whole, &s)) != CK_OK)
		goto out;
	if (plain->n > 0)
		memcpy(s.p, plain->p, plain->n);
	memset(s.p + plain->n, (int)pad, pad);
	if ((r = cbc(1, key, iv, s.p, s.n, s.p)) != CK_OK)
		goto out;
	ck_secret_move(ret, &s);
out:
	ck_secret_wipe(&s);
	return r;
}

/* Length of the padding at the end of the last block, 0 when it is wrong.
 * Arithmetic instead of branches: the time taken tells nothing about where
 * the padding went wrong. */
static size_t
padding(const uint8_t last[KC_BLOCK_BYTES])
{
	uint32_t pad = last[KC_BLOCK_BYTES - 1];
	uint32_t bad = (pad - 1) >> 3;   /* not zero unless 1 to 8 */

	for (uint32_t i = 0; i < KC_BLOCK_BYTES; i++) {
		/* All ones when byte i is one of the last pad bytes. */
		uint32_t in = 0 - ((KC_BLOCK_BYTES - 1 - i - pad) >> 31);

		bad |= in & (last[i] ^ pad);
	}
	return bad == 0 ? pad : 0;
}

ck_err
kc_cbc_decrypt(const struct ck_secret *key, const uint8_t iv[KC_IV_BYTES],
    struct ck_span cipher, struct ck_secret *ret)
{
	struct ck_secret s = CK_SECRET_INIT;
	size_t pad;
	ck_err r;

	if (cipher.n == 0 || cipher.n % KC_BLOCK_BYTES != 0)
		return CK_DAMAGED;
	if ((r = ck_secret_alloc(cipher.n, &s)) != CK_OK)
		goto out;
	if ((r = cbc(0, key, iv, cipher.p, cipher.n, s.p)) != CK_OK)
		goto out;
	pad = padding(s.p + s.n - KC_BLOCK_BYTES);
	if (pad == 0) {
		r = CK_DAMAGED;
		goto out;
	}
	s.n -= pad;
	ck_secret_move(ret, &s);
out:
	ck_secret_wipe(&s);
	return r;
}

/* HMAC-SHA1 over a and b as one message. */
static ck_err
mac_ordinary(const struct ck_secret *sign, struct ck_span a, struct ck_span b,
    uint8_t ret[KC_MAC_BYTES])
{
	struct ck_hmac *h = NULL;
	ck_err r;

	if ((r = ck_hmac_new(CK_SHA1, (struct ck_span){ sign->p, sign->n },
	    &h)) != CK_OK)
		return r;
	ck_hmac_add(h, a.p, a.n);
	ck_hmac_add(h, b.p, b.n);
	ck_hmac_end(h, ret);
	ck_hmac_free(&h);
	return CK_OK;
}

/* The inner and the outer key block of HMAC, 64 bytes each. */
static ck_err
key_blocks(const struct ck_secret *sign, struct ck_secret *ret)
{
	struct ck_secret s = CK_SECRET_INIT;
	ck_err r;

	if ((r = ck_secret_alloc(2 * SHA1_BLOCK, &s)) != CK_OK)
		return r;
	memcpy(s.p, sign->p, sign->n);
	memcpy(s.p + SHA1_BLOCK, sign->p, sign->n);
	for (size_t i = 0; i < SHA1_BLOCK; i++) {
		s.p[i] ^= 0x36;
		s.p[SHA1_BLOCK + i] ^= 0x5c;
	}
	ck_secret_move(ret, &s);
	return CK_OK;
}

/* The variant of version 0x100: each chunk gets a complete two-level hash,
 * and the second goes on from the outer hash of the first. */
static ck_err
mac_chunked(const struct ck_secret *sign, struct ck_span a, struct ck_span b,
    uint8_t ret[KC_MAC_BYTES])
{
	struct ck_secret blocks = CK_SECRET_INIT;
	uint8_t first[CK_SHA1_BYTES], second[CK_SHA1_BYTES];
	struct ck_span inner, outer;
	ck_err r;

	if ((r = key_blocks(sign, &blocks)) != CK_OK)
		goto out;
	inner = (struct ck_span){ blocks.p, SHA1_BLOCK };
	outer = (struct ck_span){ blocks.p + SHA1_BLOCK, SHA1_BLOCK };
	if ((r = ck_hash_secret(CK_SHA1, (struct ck_span[]){ inner, a }, 2,
	    first)) != CK_OK)
		goto out;
	if ((r = ck_hash_secret(CK_SHA1, (struct ck_span[]){ outer,
	    { first, sizeof(first) }, inner, b }, 4, second)) != CK_OK)
		goto out;
	r = ck_hash_secret(CK_SHA1, (struct ck_span[]){ outer,
	    { second, sizeof(second) } }, 2, ret);
out:
	OPENSSL_cleanse(first, sizeof(first));
	OPENSSL_cleanse(second, sizeof(second));
	ck_secret_wipe(&blocks);
	return r;
}

ck_err
kc_mac(uint32_t version, const struct ck_secret *sign, struct ck_span a,
    struct ck_span b, uint8_t ret[KC_MAC_BYTES])
{
	uint8_t mac[KC_MAC_BYTES];
	ck_err r;

	if ((r = kc_key_fits(sign, KC_SIGN_BYTES)) != CK_OK)
		return r;
	r = version == KC_BLOB_V100 ? mac_chunked(sign, a, b, mac) :
	    mac_ordinary(sign, a, b, mac);
	if (r == CK_OK)
		memcpy(ret, mac, sizeof(mac));
	OPENSSL_cleanse(mac, sizeof(mac));
	return r;
}

ck_err
kc_master_key(const struct ck_secret *password,
    const uint8_t salt[SALT_BYTES], struct ck_secret *ret)
{
	if (password->p == NULL)
		return CK_LOCKED;
	if (password->n > CK_SECRET_MAX)
		return CK_REFUSED;
	return ck_pbkdf2_sha1((struct ck_span){ password->p, password->n },
	    (struct ck_span){ salt, SALT_BYTES }, PBKDF2_ROUNDS,
	    KC_MASTER_BYTES, ret);
}
