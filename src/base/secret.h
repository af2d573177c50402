/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets live here and nowhere else: bearers, unlock passwords, derived keys,
 * decrypted item data.  The memory is OpenSSL's secure heap: guarded, kept out
 * of core dumps, locked where the system allows it.  There is no fallback to
 * the ordinary heap.
 */
#ifndef CK_BASE_SECRET_H
#define CK_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct ck_secret {
	uint8_t *p;    /* NULL when empty-handed; non-NULL even for 0 bytes */
	size_t n;
};

#define CK_SECRET_INIT { NULL, 0 }

/* Largest secret that is read from a descriptor or a file: 1 MiB. */
#define CK_SECRET_MAX ((size_t)1 << 20)

/*
 * Set up the secure heap of the process, once, before any secret exists.
 * bytes is a power of two; an allocation takes the next power of two, so a
 * 1 MiB secret with padding needs 2 MiB.  CK_NOMEM when it cannot be had,
 * CK_OK also when it could not be locked into memory: ask
 * ck_secret_heap_locked().  A second call changes nothing.
 */
CK_MUST_USE ck_err ck_secret_heap_init(size_t bytes, struct ck_fail *fail);
bool ck_secret_heap_locked(void);

/* Room for n zeroed bytes.  *ret must hold nothing.  CK_NOMEM. */
CK_MUST_USE ck_err ck_secret_alloc(size_t n, struct ck_secret *ret);

/* A copy of n bytes at p; the source is the caller's to wipe.  CK_NOMEM. */
CK_MUST_USE ck_err ck_secret_copy(const void *p, size_t n,
    struct ck_secret *ret);

/* n bytes of the system's generator.  CK_NOMEM, CK_IO when it fails. */
CK_MUST_USE ck_err ck_secret_random(size_t n, struct ck_secret *ret);

/* Lower-case hex digits of s.  CK_NOMEM. */
CK_MUST_USE ck_err ck_secret_hex(const struct ck_secret *s,
    struct ck_secret *ret);

/*
 * How long, in milliseconds, the other end of a descriptor may neither give
 * nor take a byte before the two functions at a descriptor end with CK_BUSY.
 * It is a minute unless a test makes it shorter.
 */
#define CK_SECRET_STALL_MS 60000
void ck_secret_stall(unsigned int ms);

/*
 * All bytes from fd up to its end, at most max.  CK_USAGE when there are more
 * or fd is not open, CK_BUSY, CK_IO, CK_NOMEM.  The descriptor stays open.
 */
CK_MUST_USE ck_err ck_secret_read_fd(int fd, size_t max,
    struct ck_secret *ret, struct ck_fail *fail);

/*
 * The whole regular file behind fd, at most max bytes (CK_UNSUPPORTED above),
 * in one allocation of its size.  CK_CHANGED when its size changes meanwhile,
 * CK_IO, CK_NOMEM.  shown is the path used in messages.
 */
CK_MUST_USE ck_err ck_secret_read_file(int fd, size_t max, const char *shown,
    struct ck_secret *ret, struct ck_fail *fail);

/* Write every byte to fd.  CK_BUSY, CK_IO, CK_NOSPACE. */
CK_MUST_USE ck_err ck_secret_write_fd(int fd, const struct ck_secret *s,
    struct ck_fail *fail);

/* Same length and bytes; constant time for equal lengths. */
CK_MUST_USE bool ck_secret_equal(const struct ck_secret *a,
    const struct ck_secret *b);

/* Hand over: *to, which must hold nothing, takes what *from held. */
void ck_secret_move(struct ck_secret *to, struct ck_secret *from);

/* Wipe, release and set to CK_SECRET_INIT.  Empty-handed is fine. */
void ck_secret_wipe(struct ck_secret *s);

#endif
