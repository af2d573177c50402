/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded reading and growing writing of big-endian binary data.  Not for
 * secrets: those stay in struct ck_secret.
 */
#ifndef CK_BASE_BYTES_H
#define CK_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* n bytes that somebody else owns. */
struct ck_span {
	const uint8_t *p;
	size_t n;
};

#define CK_SPAN_NONE { NULL, 0 }
#define CK_SPAN_TEXT(s) ((struct ck_span){ (const uint8_t *)(s), strlen(s) })

/* memcmp over the shorter length; if equal the shorter is smaller. */
int ck_span_compare(struct ck_span a, struct ck_span b);
bool ck_span_equal(struct ck_span a, struct ck_span b);

/* A cursor over a span.  Each take is CK_DAMAGED past the end and then leaves
 * cursor and output as they were. */
struct ck_cursor {
	struct ck_span in;
	size_t at;
};

CK_MUST_USE ck_err ck_take_u32(struct ck_cursor *c, uint32_t *ret);
CK_MUST_USE ck_err ck_take_bytes(struct ck_cursor *c, size_t n,
    struct ck_span *ret);
/* Move to the next multiple of 4 counted from the span's start. */
CK_MUST_USE ck_err ck_take_align4(struct ck_cursor *c);
/* Bytes up to a NUL, which is consumed but not part of *ret. */
CK_MUST_USE ck_err ck_take_cstring(struct ck_cursor *c, struct ck_span *ret);

uint32_t ck_get_be32(const uint8_t *p);
void ck_put_be32(uint8_t *p, uint32_t v);

/*
 * A growing buffer.  After a failed allocation it stays as it was and every
 * further call fails too, so that the check can wait until the end.
 */
struct ck_buf {
	uint8_t *p;
	size_t n;
	size_t room;
	bool failed;
};

#define CK_BUF_INIT { NULL, 0, 0, false }

void ck_buf_bytes(struct ck_buf *b, const void *p, size_t n);
void ck_buf_span(struct ck_buf *b, struct ck_span s);
void ck_buf_text(struct ck_buf *b, const char *s);
void ck_buf_format(struct ck_buf *b, const char *fmt, ...) CK_PRINTF(2, 3);
void ck_buf_u32(struct ck_buf *b, uint32_t v);      /* big-endian */
void ck_buf_zeros(struct ck_buf *b, size_t n);
void ck_buf_align4(struct ck_buf *b);               /* zeros to 4 */
/* Make room for n more bytes at once. */
void ck_buf_reserve(struct ck_buf *b, size_t n);
/* CK_NOMEM when any call failed. */
CK_MUST_USE ck_err ck_buf_ok(const struct ck_buf *b);
struct ck_span ck_buf_view(const struct ck_buf *b);
void ck_buf_free(struct ck_buf *b);

/* 2n hex digits and NUL.  ret has room for 2n+1. */
void ck_hex_encode(const uint8_t *p, size_t n, char *ret);
/* Exactly 2n hex digits, either case.  CK_USAGE otherwise. */
CK_MUST_USE ck_err ck_hex_decode(const char *text, uint8_t *ret, size_t n);

/* a + b and a * b; false on overflow, *ret untouched. */
CK_MUST_USE bool ck_size_add(size_t a, size_t b, size_t *ret);
CK_MUST_USE bool ck_size_mul(size_t a, size_t b, size_t *ret);

#endif
