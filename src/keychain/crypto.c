/* SPDX-License-Identifier: Apache-2.0 */
/* 3DES-CBC, both HMAC variants and SHA-256; see crypto.h. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "crypto.h"

#include <limits.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/des.h>
#include <openssl/evp.h>

#include "blob.h"

#define SHA1_BYTES 20
#define SHA1_BLOCK 64

ck_err
kc_key_fits(const struct ck_secret *key, size_t n)
{
	if (key->p == NULL)
		return CK_LOCKED;
	return key->n == n ? CK_OK : CK_DAMAGED;
}

/* The three keys, made ready; in secure memory, for they are as good as the
 * keys. */
struct schedules {
	DES_key_schedule k[3];
};

/*
 * One CBC pass over whole blocks from in to out, which may be the same.
 * Padding is no part of it: a library's own would report bad padding and its
 * own failures alike.
 *
 * By libcrypto's plain functions, which are marked as deprecated: to fetch one
 * cipher by its name makes it build a list of all, which takes longer than
 * everything else that "get" and the start of a worker compute.
 */
static ck_err
cbc(int encrypt, const struct ck_secret *key, const uint8_t iv[KC_IV_BYTES],
    const uint8_t *in, size_t n, uint8_t *out)
{
	struct ck_secret room = CK_SECRET_INIT;
	struct schedules *s;
	DES_cblock chain;
	ck_err r;

	if ((r = kc_key_fits(key, KC_3DES_BYTES)) != CK_OK)
		return r;
	if (n > INT_MAX)
		return CK_NOMEM;
	if (n % KC_BLOCK_BYTES != 0)
		return CK_INTERNAL;
	if ((r = ck_secret_alloc(sizeof(*s), &room)) != CK_OK)
		return r;
	s = (void *)room.p;
	for (size_t i = 0; i < 3; i++) {
		DES_cblock part = { 0 };

		memcpy(part, key->p + i * sizeof(part), sizeof(part));
		DES_set_key_unchecked(&part, &s->k[i]);
		OPENSSL_cleanse(part, sizeof(part));
	}
	memcpy(chain, iv, sizeof(chain));
	DES_ede3_cbc_encrypt(in, out, (long)n, &s->k[0], &s->k[1], &s->k[2],
	    &chain, encrypt);
	OPENSSL_cleanse(chain, sizeof(chain));
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
	char digest[] = "SHA1";
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST,
		    digest, 0),
		OSSL_PARAM_construct_end()
	};
	EVP_MAC *hmac = NULL;
	EVP_MAC_CTX *ctx = NULL;
	size_t n = 0;
	ck_err r;

	if ((hmac = EVP_MAC_fetch(NULL, "HMAC", NULL)) == NULL) {
		r = CK_UNSUPPORTED;
		goto out;
	}
	if ((ctx = EVP_MAC_CTX_new(hmac)) == NULL) {
		r = CK_NOMEM;
		goto out;
	}
	r = CK_INTERNAL;
	if (EVP_MAC_init(ctx, sign->p, sign->n, params) == 1 &&
	    EVP_MAC_update(ctx, a.p, a.n) == 1 &&
	    EVP_MAC_update(ctx, b.p, b.n) == 1 &&
	    EVP_MAC_final(ctx, ret, &n, KC_MAC_BYTES) == 1 &&
	    n == KC_MAC_BYTES)
		r = CK_OK;
out:
	EVP_MAC_CTX_free(ctx);
	EVP_MAC_free(hmac);
	return r;
}

/* SHA-1 over the parts, one after the other. */
static ck_err
sha1(EVP_MD_CTX *ctx, const EVP_MD *md, const struct ck_span *parts,
    size_t nparts, uint8_t ret[SHA1_BYTES])
{
	if (EVP_DigestInit_ex2(ctx, md, NULL) != 1)
		return CK_INTERNAL;
	for (size_t i = 0; i < nparts; i++)
		if (EVP_DigestUpdate(ctx, parts[i].p, parts[i].n) != 1)
			return CK_INTERNAL;
	return EVP_DigestFinal_ex(ctx, ret, NULL) == 1 ? CK_OK : CK_INTERNAL;
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
	uint8_t first[SHA1_BYTES], second[SHA1_BYTES];
	struct ck_span inner, outer;
	EVP_MD *md = NULL;
	EVP_MD_CTX *ctx = NULL;
	ck_err r;

	if ((r = key_blocks(sign, &blocks)) != CK_OK)
		goto out;
	inner = (struct ck_span){ blocks.p, SHA1_BLOCK };
	outer = (struct ck_span){ blocks.p + SHA1_BLOCK, SHA1_BLOCK };
	if ((md = EVP_MD_fetch(NULL, "SHA1", NULL)) == NULL) {
		r = CK_UNSUPPORTED;
		goto out;
	}
	if ((ctx = EVP_MD_CTX_new()) == NULL) {
		r = CK_NOMEM;
		goto out;
	}
	if ((r = sha1(ctx, md, (struct ck_span[]){ inner, a }, 2,
	    first)) != CK_OK)
		goto out;
	if ((r = sha1(ctx, md, (struct ck_span[]){ outer,
	    { first, sizeof(first) }, inner, b }, 4, second)) != CK_OK)
		goto out;
	r = sha1(ctx, md, (struct ck_span[]){ outer,
	    { second, sizeof(second) } }, 2, ret);
out:
	EVP_MD_CTX_free(ctx);
	EVP_MD_free(md);
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
kc_sha256(struct ck_span in, uint8_t ret[32])
{
	uint8_t digest[32];
	size_t n = 0;

	if (EVP_Q_digest(NULL, "SHA256", NULL, in.p, in.n, digest, &n) != 1 ||
	    n != sizeof(digest))
		return CK_INTERNAL;
	memcpy(ret, digest, sizeof(digest));
	return CK_OK;
}
