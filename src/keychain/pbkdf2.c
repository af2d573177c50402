/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PBKDF2 with HMAC-SHA1 (RFC 8018, 5.2), for the one length and number of
 * rounds of the keychain format; see crypto.h.
 *
 * libcrypto's own goes through a context that is allocated, copied and freed
 * for each of the 2,000 HMACs, and costs five times the hashing.  Every "get"
 * and every start of a worker waits for it.  Its plain functions for SHA-1,
 * whose state is copied by assignment, are marked as deprecated in favour of
 * those contexts.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "crypto.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "blob.h"

#define ROUNDS 1000
#define SALT_BYTES 20
#define BLOCKS ((KC_MASTER_BYTES + SHA_DIGEST_LENGTH - 1) / SHA_DIGEST_LENGTH)

/* Everything that tells something about the password, to be wiped at once. */
struct state {
	SHA_CTX inner, outer;        /* behind the key's own block */
	SHA_CTX now;
	uint8_t key[SHA_CBLOCK];
	uint8_t pad[SHA_CBLOCK];
	uint8_t u[SHA_DIGEST_LENGTH];
	uint8_t t[BLOCKS * SHA_DIGEST_LENGTH];
};

/* A hash that has been given the key with this byte over each of its own. */
static bool
begin(struct state *s, uint8_t with, SHA_CTX *ret)
{
	for (size_t i = 0; i < sizeof(s->pad); i++)
		s->pad[i] = s->key[i] ^ with;
	return SHA1_Init(ret) == 1 &&
	    SHA1_Update(ret, s->pad, sizeof(s->pad)) == 1;
}

/* A key that is longer than a block is hashed first, as HMAC has it. */
static bool
set_key(struct state *s, const struct ck_secret *password)
{
	if (password->n > sizeof(s->key)) {
		if (SHA1(password->p, password->n, s->key) == NULL)
			return false;
	} else if (password->n > 0) {
		memcpy(s->key, password->p, password->n);
	}
	return begin(s, 0x36, &s->inner) && begin(s, 0x5c, &s->outer);
}

/* u = HMAC(key, what s->now has been given). */
static bool
finish(struct state *s)
{
	if (SHA1_Final(s->u, &s->now) != 1)
		return false;
	s->now = s->outer;
	return SHA1_Update(&s->now, s->u, sizeof(s->u)) == 1 &&
	    SHA1_Final(s->u, &s->now) == 1;
}

static bool
block(struct state *s, const uint8_t salt[SALT_BYTES], uint8_t number,
    uint8_t t[SHA_DIGEST_LENGTH])
{
	const uint8_t index[4] = { 0, 0, 0, number };

	s->now = s->inner;
	if (SHA1_Update(&s->now, salt, SALT_BYTES) != 1 ||
	    SHA1_Update(&s->now, index, sizeof(index)) != 1 || !finish(s))
		return false;
	memcpy(t, s->u, SHA_DIGEST_LENGTH);
	for (int round = 1; round < ROUNDS; round++) {
		s->now = s->inner;
		if (SHA1_Update(&s->now, s->u, sizeof(s->u)) != 1 ||
		    !finish(s))
			return false;
		for (size_t i = 0; i < SHA_DIGEST_LENGTH; i++)
			t[i] ^= s->u[i];
	}
	return true;
}

ck_err
kc_master_key(const struct ck_secret *password,
    const uint8_t salt[SALT_BYTES], struct ck_secret *ret)
{
	struct ck_secret room = CK_SECRET_INIT, master = CK_SECRET_INIT;
	struct state *s;
	ck_err r;

	if (password->p == NULL)
		return CK_LOCKED;
	if (password->n > CK_SECRET_MAX)
		return CK_REFUSED;
	if ((r = ck_secret_alloc(sizeof(*s), &room)) != CK_OK ||
	    (r = ck_secret_alloc(KC_MASTER_BYTES, &master)) != CK_OK)
		goto out;
	s = (void *)room.p;
	if (!set_key(s, password)) {
		r = CK_INTERNAL;
		goto out;
	}
	for (size_t i = 0; i < BLOCKS; i++)
		if (!block(s, salt, (uint8_t)(i + 1),
		    s->t + i * SHA_DIGEST_LENGTH)) {
			r = CK_INTERNAL;
			goto out;
		}
	memcpy(master.p, s->t, KC_MASTER_BYTES);
	ck_secret_move(ret, &master);
out:
	ck_secret_wipe(&master);
	ck_secret_wipe(&room);
	return r;
}
