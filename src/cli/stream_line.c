/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of authenticate --stream; see stream_line.h. */
#include "stream_line.h"

#include <string.h>
#include <strings.h>

#include <openssl/crypto.h>

#include "store/bearer.h"

/* Drop the rest of a refused line.  True when its end was found. */
static bool
skip_rest(struct ck_lines *l)
{
	const uint8_t *end = memchr(l->p + l->from, '\n', l->to - l->from);

	if (end == NULL) {
		l->from = l->to;
		return false;
	}
	l->from = (size_t)(end - l->p) + 1;
	l->skip = false;
	return true;
}

enum ck_line
ck_lines_next(struct ck_lines *l, struct ck_span *ret)
{
	uint8_t *start, *end;

	if (l->skip && !skip_rest(l))
		return CK_LINE_NONE;
	start = l->p + l->from;
	end = memchr(start, '\n', l->to - l->from);
	if (end == NULL && l->to - l->from <= CK_STREAM_LINE_MAX)
		return CK_LINE_NONE;
	ret->p = start;
	if (end == NULL) {
		ret->n = CK_STREAM_LINE_MAX;
		l->from = l->to;
		l->skip = true;
		return CK_LINE_OVERLONG;
	}
	ret->n = (size_t)(end - start);
	*end = '\0';
	l->from += ret->n + 1;
	return ret->n > CK_STREAM_LINE_MAX ? CK_LINE_OVERLONG : CK_LINE_WHOLE;
}

void
ck_lines_pack(struct ck_lines *l)
{
	size_t left = l->to - l->from;

	if (l->from > 0 && left > 0)
		memmove(l->p, l->p + l->from, left);
	OPENSSL_cleanse(l->p + left, l->to - left);
	l->from = 0;
	l->to = left;
}

/* Somewhere in it, in any letter case. */
static bool
contains(struct ck_span s, const char *what)
{
	size_t n = strlen(what);

	for (size_t i = 0; i + n <= s.n; i++)
		if (strncasecmp((const char *)s.p + i, what, n) == 0)
			return true;
	return false;
}

/* A request whose ID was forgotten has its candidate there. */
static bool
may_be_a_bearer(struct ck_span id)
{
	char hex[2 * sizeof(CK_BEARER_PREFIX)];

	ck_hex_encode((const uint8_t *)CK_BEARER_PREFIX,
	    sizeof(CK_BEARER_PREFIX) - 1, hex);
	return contains(id, CK_BEARER_PREFIX) || contains(id, hex);
}

struct ck_span
ck_stream_id(struct ck_span line)
{
	struct ck_span none = CK_SPAN_NONE;
	size_t n = 0;

	while (n < line.n && n <= CK_STREAM_ID_MAX && line.p[n] > 0x20 &&
	    line.p[n] < 0x7f)
		n++;
	/* What no space follows may be anything, a piece of a candidate too:
	 * it is never sent back. */
	if (n == 0 || n > CK_STREAM_ID_MAX || n == line.n ||
	    line.p[n] != ' ' || may_be_a_bearer((struct ck_span){ line.p, n }))
		return none;
	return (struct ck_span){ line.p, n };
}

ck_err
ck_stream_parse(struct ck_span line, struct ck_span *ret_id, uint8_t *ret,
    size_t *ret_n)
{
	struct ck_span id = ck_stream_id(line);
	size_t digits;
	ck_err r;

	*ret_id = id;
	if (id.n == 0 || line.n > CK_STREAM_LINE_MAX)
		return CK_USAGE;
	digits = line.n - id.n - 1;
	if (digits % 2 != 0 || digits / 2 > CK_STREAM_CANDIDATE_MAX)
		return CK_USAGE;
	r = ck_hex_decode((const char *)line.p + id.n + 1, ret, digits / 2);
	if (r == CK_OK)
		*ret_n = digits / 2;
	return r;
}
