/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-1 and SHA-256 (FIPS 180-4), HMAC (RFC 2104) and PBKDF2 (RFC 8018) over
 * libcrypto's compression functions.
 *
 * Why not through EVP: its contexts lie on the ordinary heap and hold what the
 * key was mixed into, ours lie in secure memory; and it first asks every
 * provider for every algorithm, which takes a multiple of all that the gate of
 * a service start has to compute.  Nothing here depends on a provider, on a
 * configuration file or on the environment.
 */
#ifndef CK_BASE_HASH_H
#define CK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "bytes.h"
#include "err.h"
#include "secret.h"

enum ck_hash { CK_SHA1, CK_SHA256 };

#define CK_SHA1_BYTES 20
#define CK_SHA256_BYTES 32

/* Of public bytes.  ret has room for what the hash gives. */
void ck_hash(enum ck_hash kind, struct ck_span in, uint8_t *ret);

/* Of n parts, one after the other, of which some are secret.  CK_NOMEM. */
CK_MUST_USE ck_err ck_hash_secret(enum ck_hash kind,
    const struct ck_span *parts, size_t n, uint8_t *ret);

/* An HMAC in secure memory.  CK_NOMEM.  The key is the caller's to wipe. */
struct ck_hmac;
CK_MUST_USE ck_err ck_hmac_new(enum ck_hash kind, struct ck_span key,
    struct ck_hmac **ret);
void ck_hmac_add(struct ck_hmac *h, const void *p, size_t n);
/* The MAC of what was added; then it is as new, under the same key. */
void ck_hmac_end(struct ck_hmac *h, uint8_t *ret);
/* Wipe, release and set to NULL. */
void ck_hmac_free(struct ck_hmac **h);

/* The MAC of n bytes at p, in one step.  CK_NOMEM. */
CK_MUST_USE ck_err ck_hmac(enum ck_hash kind, struct ck_span key,
    const void *p, size_t n, uint8_t *ret);

/*
 * PBKDF2 with HMAC-SHA1: n bytes in *ret, which must hold nothing.  CK_NOMEM.
 * CK_USAGE: no rounds, or nothing wanted.
 */
CK_MUST_USE ck_err ck_pbkdf2_sha1(struct ck_span password,
    struct ck_span salt, unsigned int rounds, size_t n,
    struct ck_secret *ret);

#endif
