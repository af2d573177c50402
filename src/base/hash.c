/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1, SHA-256, HMAC and PBKDF2; see hash.h. */

/* The functions that need no provider count as the older interface. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/hash.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#define BLOCK_BYTES 64           /* of both */

union state {
	SHA_CTX sha1;
	SHA256_CTX sha256;
};

struct ck_hmac {
	enum ck_hash kind;
	union state inner, outer;    /* after the key's block */
	union state now;
	uint8_t digest[CK_SHA256_BYTES];
};

static size_t
size_of(enum ck_hash kind)
{
	return kind == CK_SHA1 ? CK_SHA1_BYTES : CK_SHA256_BYTES;
}

/* None of the three can fail: they return 1 by their contract. */
static void
start(enum ck_hash kind, union state *s)
{
	if (kind == CK_SHA1)
		(void)SHA1_Init(&s->sha1);
	else
		(void)SHA256_Init(&s->sha256);
}

static void
add(enum ck_hash kind, union state *s, const void *p, size_t n)
{
	if (n == 0)
		return;
	if (kind == CK_SHA1)
		(void)SHA1_Update(&s->sha1, p, n);
	else
		(void)SHA256_Update(&s->sha256, p, n);
}

static void
end(enum ck_hash kind, union state *s, uint8_t *ret)
{
	if (kind == CK_SHA1)
		(void)SHA1_Final(ret, &s->sha1);
	else
		(void)SHA256_Final(ret, &s->sha256);
}

void
ck_hash(enum ck_hash kind, struct ck_span in, uint8_t *ret)
{
	union state s;

	start(kind, &s);
	add(kind, &s, in.p, in.n);
	end(kind, &s, ret);
}

ck_err
ck_hash_secret(enum ck_hash kind, const struct ck_span *parts, size_t n,
    uint8_t *ret)
{
	union state *s = OPENSSL_secure_zalloc(sizeof(*s));

	if (s == NULL)
		return CK_NOMEM;
	start(kind, s);
	for (size_t i = 0; i < n; i++)
		add(kind, s, parts[i].p, parts[i].n);
	end(kind, s, ret);
	OPENSSL_secure_clear_free(s, sizeof(*s));
	return CK_OK;
}

/* The state after the key, each byte of it mixed with pad. */
static void
absorb(struct ck_hmac *h, struct ck_span key, uint8_t pad, uint8_t *block,
    union state *ret)
{
	memset(block, pad, BLOCK_BYTES);
	for (size_t i = 0; i < key.n; i++)
		block[i] ^= key.p[i];
	start(h->kind, ret);
	add(h->kind, ret, block, BLOCK_BYTES);
}

ck_err
ck_hmac_new(enum ck_hash kind, struct ck_span key, struct ck_hmac **ret)
{
	struct ck_hmac *h = OPENSSL_secure_zalloc(sizeof(*h));
	uint8_t *block = OPENSSL_secure_zalloc(BLOCK_BYTES);

	if (h == NULL || block == NULL) {
		OPENSSL_secure_clear_free(h, sizeof(*h));
		OPENSSL_secure_clear_free(block, BLOCK_BYTES);
		return CK_NOMEM;
	}
	h->kind = kind;
	if (key.n > BLOCK_BYTES) {
		start(kind, &h->now);
		add(kind, &h->now, key.p, key.n);
		end(kind, &h->now, h->digest);
		key = (struct ck_span){ h->digest, size_of(kind) };
	}
	absorb(h, key, 0x36, block, &h->inner);
	absorb(h, key, 0x5c, block, &h->outer);
	h->now = h->inner;
	OPENSSL_secure_clear_free(block, BLOCK_BYTES);
	*ret = h;
	return CK_OK;
}

void
ck_hmac_add(struct ck_hmac *h, const void *p, size_t n)
{
	add(h->kind, &h->now, p, n);
}

void
ck_hmac_end(struct ck_hmac *h, uint8_t *ret)
{
	end(h->kind, &h->now, h->digest);
	h->now = h->outer;
	add(h->kind, &h->now, h->digest, size_of(h->kind));
	end(h->kind, &h->now, ret);
	h->now = h->inner;
}

void
ck_hmac_free(struct ck_hmac **h)
{
	OPENSSL_secure_clear_free(*h, sizeof(**h));
	*h = NULL;
}

ck_err
ck_hmac(enum ck_hash kind, struct ck_span key, const void *p, size_t n,
    uint8_t *ret)
{
	struct ck_hmac *h = NULL;
	ck_err r;

	if ((r = ck_hmac_new(kind, key, &h)) != CK_OK)
		return r;
	ck_hmac_add(h, p, n);
	ck_hmac_end(h, ret);
	ck_hmac_free(&h);
	return CK_OK;
}

/* One block of the result: the sum of all rounds, which begin with the salt
 * and the block's number, counted from 1.  round has room for one of them. */
static void
pbkdf2_block(struct ck_hmac *h, struct ck_span salt, uint32_t number,
    unsigned int rounds, uint8_t *round, uint8_t *sum)
{
	uint8_t wire[4];

	ck_put_be32(wire, number);
	ck_hmac_add(h, salt.p, salt.n);
	ck_hmac_add(h, wire, sizeof(wire));
	ck_hmac_end(h, round);
	memcpy(sum, round, CK_SHA1_BYTES);
	for (unsigned int i = 1; i < rounds; i++) {
		ck_hmac_add(h, round, CK_SHA1_BYTES);
		ck_hmac_end(h, round);
		for (size_t k = 0; k < CK_SHA1_BYTES; k++)
			sum[k] ^= round[k];
	}
}

ck_err
ck_pbkdf2_sha1(struct ck_span password, struct ck_span salt,
    unsigned int rounds, size_t n, struct ck_secret *ret)
{
	struct ck_secret s = CK_SECRET_INIT, work = CK_SECRET_INIT;
	struct ck_hmac *h = NULL;
	uint32_t number = 0;
	ck_err r;

	if (rounds == 0 || n == 0 || n > CK_SECRET_MAX)
		return CK_USAGE;
	if ((r = ck_secret_alloc(n, &s)) != CK_OK ||
	    (r = ck_secret_alloc(2 * CK_SHA1_BYTES, &work)) != CK_OK ||
	    (r = ck_hmac_new(CK_SHA1, password, &h)) != CK_OK)
		goto out;
	for (size_t at = 0; at < n; at += CK_SHA1_BYTES) {
		size_t part = n - at < CK_SHA1_BYTES ? n - at : CK_SHA1_BYTES;

		pbkdf2_block(h, salt, ++number, rounds, work.p,
		    work.p + CK_SHA1_BYTES);
		memcpy(s.p + at, work.p + CK_SHA1_BYTES, part);
	}
	ck_secret_move(ret, &s);
out:
	ck_hmac_free(&h);
	ck_secret_wipe(&work);
	ck_secret_wipe(&s);
	return r;
}
