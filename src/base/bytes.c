/* SPDX-License-Identifier: Apache-2.0 */
/* Cursor, buffer and hex; see bytes.h. */
#include "bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
ck_span_compare(struct ck_span a, struct ck_span b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n == 0 ? 0 : memcmp(a.p, b.p, n);

	if (c != 0)
		return c;
	return (a.n > b.n) - (a.n < b.n);
}

bool
ck_span_equal(struct ck_span a, struct ck_span b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

ck_err
ck_take_bytes(struct ck_cursor *c, size_t n, struct ck_span *ret)
{
	if (c->at > c->in.n || n > c->in.n - c->at)
		return CK_DAMAGED;
	/* The span may be NULL, which even 0 must not be added to. */
	ret->p = c->at == 0 ? c->in.p : c->in.p + c->at;
	ret->n = n;
	c->at += n;
	return CK_OK;
}

ck_err
ck_take_u32(struct ck_cursor *c, uint32_t *ret)
{
	struct ck_span s;
	ck_err r;

	if ((r = ck_take_bytes(c, 4, &s)) != CK_OK)
		return r;
	*ret = ck_get_be32(s.p);
	return CK_OK;
}

ck_err
ck_take_align4(struct ck_cursor *c)
{
	struct ck_span s;

	return ck_take_bytes(c, (4 - (c->at & 3)) & 3, &s);
}

ck_err
ck_take_cstring(struct ck_cursor *c, struct ck_span *ret)
{
	const uint8_t *nul;

	if (c->at >= c->in.n)
		return CK_DAMAGED;
	nul = memchr(c->in.p + c->at, 0, c->in.n - c->at);
	if (nul == NULL)
		return CK_DAMAGED;
	ret->p = c->in.p + c->at;
	ret->n = (size_t)(nul - ret->p);
	c->at += ret->n + 1;
	return CK_OK;
}

uint32_t
ck_get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

void
ck_put_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

void
ck_buf_reserve(struct ck_buf *b, size_t n)
{
	size_t want, room;
	uint8_t *p;

	if (b->failed)
		return;
	if (!ck_size_add(b->n, n, &want)) {
		b->failed = true;
		return;
	}
	if (want <= b->room)
		return;
	room = b->room < 64 ? 64 : b->room;
	while (room < want)
		room = room > SIZE_MAX / 2 ? want : room * 2;
	p = realloc(b->p, room);
	if (p == NULL) {
		b->failed = true;
		return;
	}
	b->p = p;
	b->room = room;
}

void
ck_buf_bytes(struct ck_buf *b, const void *p, size_t n)
{
	ck_buf_reserve(b, n);
	if (b->failed || n == 0)
		return;
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

void
ck_buf_span(struct ck_buf *b, struct ck_span s)
{
	ck_buf_bytes(b, s.p, s.n);
}

void
ck_buf_text(struct ck_buf *b, const char *s)
{
	ck_buf_bytes(b, s, strlen(s));
}

void
ck_buf_format(struct ck_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->failed = true;
		return;
	}
	ck_buf_reserve(b, (size_t)n + 1);
	if (b->failed)
		return;
	va_start(ap, fmt);
	(void)vsnprintf((char *)b->p + b->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

void
ck_buf_u32(struct ck_buf *b, uint32_t v)
{
	uint8_t w[4];

	ck_put_be32(w, v);
	ck_buf_bytes(b, w, sizeof(w));
}

void
ck_buf_zeros(struct ck_buf *b, size_t n)
{
	ck_buf_reserve(b, n);
	if (b->failed || n == 0)
		return;
	memset(b->p + b->n, 0, n);
	b->n += n;
}

void
ck_buf_align4(struct ck_buf *b)
{
	ck_buf_zeros(b, (4 - (b->n & 3)) & 3);
}

ck_err
ck_buf_ok(const struct ck_buf *b)
{
	return b->failed ? CK_NOMEM : CK_OK;
}

struct ck_span
ck_buf_view(const struct ck_buf *b)
{
	struct ck_span s = { b->p, b->n };

	return s;
}

void
ck_buf_free(struct ck_buf *b)
{
	free(b->p);
	*b = (struct ck_buf)CK_BUF_INIT;
}

void
ck_hex_encode(const uint8_t *p, size_t n, char *ret)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = digit[p[i] >> 4];
		ret[2 * i + 1] = digit[p[i] & 15];
	}
	ret[2 * n] = '\0';
}

/* c is a hex digit. */
static unsigned int
nibble(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned int)(c - 'a' + 10);
	return (unsigned int)(c - 'A' + 10);
}

ck_err
ck_hex_decode(const char *text, uint8_t *ret, size_t n)
{
	if (n > SIZE_MAX / 2 || strlen(text) != 2 * n ||
	    strspn(text, "0123456789abcdefABCDEF") != 2 * n)
		return CK_USAGE;
	for (size_t i = 0; i < n; i++)
		ret[i] = (uint8_t)(nibble(text[2 * i]) << 4 |
		    nibble(text[2 * i + 1]));
	return CK_OK;
}

bool
ck_size_add(size_t a, size_t b, size_t *ret)
{
	if (SIZE_MAX - a < b)
		return false;
	*ret = a + b;
	return true;
}

bool
ck_size_mul(size_t a, size_t b, size_t *ret)
{
	if (b != 0 && a > SIZE_MAX / b)
		return false;
	*ret = a * b;
	return true;
}
