/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a file, brought in block by block when somebody asks.  The
 * buffer never moves and a block is read once only, so pointers into it stay
 * good and checked data cannot change afterwards.  The file is not mapped: a
 * file that shrinks is an error here and not a signal.
 */
#ifndef KC_DB_SRC_H
#define KC_DB_SRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define KC_BLOCK ((size_t)16384)

struct kc_src {
	int fd;              /* not ours; -1 for bytes */
	const char *shown;   /* not ours */
	uint8_t *p;          /* n bytes, valid where kc_src_need() was CK_OK */
	size_t n;
	uint8_t *have;       /* one bit a block; NULL when all is there */
	size_t loaded;       /* blocks read so far, for tests */
};

#define KC_SRC_INIT { -1, NULL, NULL, 0, NULL, 0 }

/* n is the size of the file and not 0.  CK_NOMEM. */
CK_MUST_USE ck_err kc_src_from_fd(int fd, size_t n, const char *shown,
    struct kc_src *ret, struct ck_fail *fail);
/* A copy of in.  CK_NOMEM. */
CK_MUST_USE ck_err kc_src_from_bytes(struct ck_span in, const char *shown,
    struct kc_src *ret, struct ck_fail *fail);
void kc_src_free(struct kc_src *s);

/* Make n bytes at p + at readable.  CK_DAMAGED beyond the end, CK_CHANGED when
 * the file became shorter, CK_IO. */
CK_MUST_USE ck_err kc_src_need(struct kc_src *s, size_t at, size_t n,
    struct ck_fail *fail);

#endif
