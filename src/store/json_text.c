/* SPDX-License-Identifier: Apache-2.0 */
/* Characters, escapes and keys of JSON strings; see json.h, json_text.h. */
#include "store/json_text.h"

#include <string.h>

#include "store/json.h"

static bool
tail(struct ck_span s, size_t i)
{
	return i < s.n && (s.p[i] & 0xc0) == 0x80;
}

/* Table 3-7 of the Unicode standard, read as ranges of the second byte. */
size_t
ck_utf8_length(struct ck_span s)
{
	uint8_t a, b;

	if (s.n == 0)
		return 0;
	a = s.p[0];
	if (a < 0x80)
		return 1;
	if (a < 0xc2 || a > 0xf4 || !tail(s, 1))
		return 0;
	b = s.p[1];
	if (a < 0xe0)
		return 2;
	if (a < 0xf0) {
		if ((a == 0xe0 && b < 0xa0) || (a == 0xed && b > 0x9f))
			return 0;
		return tail(s, 2) ? 3 : 0;
	}
	if ((a == 0xf0 && b < 0x90) || (a == 0xf4 && b > 0x8f))
		return 0;
	return tail(s, 2) && tail(s, 3) ? 4 : 0;
}

static size_t
utf8_encode(uint32_t c, uint8_t ret[4])
{
	if (c < 0x80) {
		ret[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		ret[0] = (uint8_t)(0xc0 | c >> 6);
		ret[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		ret[0] = (uint8_t)(0xe0 | c >> 12);
		ret[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		ret[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	ret[0] = (uint8_t)(0xf0 | c >> 18);
	ret[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	ret[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	ret[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

/* Four hex digits that the scanner has checked. */
static uint32_t
hex4(const uint8_t *p)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++) {
		uint8_t c = p[i];

		v = v << 4 | (uint32_t)(c <= '9' ? c - '0' :
		    (c | 0x20) - 'a' + 10);
	}
	return v;
}

static uint8_t
short_escape(uint8_t c)
{
	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return c;   /* the quote, the slash, the backslash */
	}
}

size_t
ck_json_next(struct ck_span s, size_t *at, uint8_t ret[4])
{
	const uint8_t *p = s.p + *at;
	size_t left = s.n - *at;
	uint32_t c, low;

	if (p[0] != '\\' || left < 2) {
		ret[0] = p[0];
		*at += 1;
		return 1;
	}
	if (p[1] != 'u' || left < 6) {
		ret[0] = short_escape(p[1]);
		*at += 2;
		return 1;
	}
	c = hex4(p + 2);
	*at += 6;
	if (c >= 0xd800 && c < 0xdc00 && left >= 12 && p[6] == '\\' &&
	    p[7] == 'u') {
		low = hex4(p + 8);
		if (low >= 0xdc00 && low < 0xe000) {
			*at += 6;
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	return utf8_encode(c, ret);
}

static bool
escaped(struct ck_span s)
{
	return s.n > 0 && memchr(s.p, '\\', s.n) != NULL;
}

/* A stream of decoded bytes. */
struct bytes {
	struct ck_span s;
	size_t at;
	uint8_t part[4];
	size_t have, used;
};

/* The next byte, or -1 at the end. */
static int
next_byte(struct bytes *b)
{
	if (b->used == b->have) {
		if (b->at >= b->s.n)
			return -1;
		b->have = ck_json_next(b->s, &b->at, b->part);
		b->used = 0;
	}
	return b->part[b->used++];
}

int
ck_json_key_order(struct ck_span a, struct ck_span b)
{
	struct bytes x = { .s = a }, y = { .s = b };
	int i, j;

	if (!escaped(a) && !escaped(b))
		return ck_span_compare(a, b);
	do {
		i = next_byte(&x);
		j = next_byte(&y);
	} while (i == j && i >= 0);
	return (i > j) - (i < j);
}

bool
ck_json_key_is(struct ck_span raw, const char *text)
{
	struct bytes x = { .s = raw };
	int c;

	do {
		c = next_byte(&x);
		if (c < 0)
			return *text == '\0';
		/* Also ends at a NUL inside the key: text has none. */
	} while (*text != '\0' && c == (uint8_t)*text++);
	return false;
}

ck_err
ck_json_decode(struct ck_span value, struct ck_secret *ret)
{
	struct ck_secret out = CK_SECRET_INIT;
	struct ck_span whole, body;
	uint8_t part[4];
	size_t at = 0, n = 0, k;
	ck_err r;

	if ((r = ck_json_check(value, &whole)) != CK_OK)
		return r;
	if (whole.p[0] != '"')
		return CK_DAMAGED;
	body = (struct ck_span){ whole.p + 1, whole.n - 2 };
	/* No character is longer decoded than escaped. */
	if ((r = ck_secret_alloc(body.n, &out)) != CK_OK)
		return r;
	while (at < body.n) {
		k = ck_json_next(body, &at, part);
		memcpy(out.p + n, part, k);
		n += k;
	}
	out.n = n;
	ck_secret_move(ret, &out);
	return CK_OK;
}

/* Bytes that c takes in a JSON string; written to p unless it is NULL. */
static size_t
put_char(uint8_t c, uint8_t *p)
{
	static const char digit[] = "0123456789abcdef";
	uint8_t text[6] = { '\\', 'u', '0', '0' };
	size_t n;

	if (c == '"' || c == '\\') {
		text[1] = c;
		n = 2;
	} else if (c < 0x20 || c == 0x7f) {
		text[4] = (uint8_t)digit[c >> 4];
		text[5] = (uint8_t)digit[c & 15];
		n = 6;
	} else {
		text[0] = c;
		n = 1;
	}
	if (p != NULL)
		memcpy(p, text, n);
	return n;
}

ck_err
ck_json_encode(struct ck_span text, struct ck_secret *ret)
{
	struct ck_secret out = CK_SECRET_INIT;
	size_t n = 2, at, k;
	ck_err r;

	for (at = 0; at < text.n; at += k) {
		struct ck_span rest = { text.p + at, text.n - at };

		if ((k = ck_utf8_length(rest)) == 0)
			return CK_DAMAGED;
	}
	for (at = 0; at < text.n; at++)
		n += put_char(text.p[at], NULL);
	if ((r = ck_secret_alloc(n, &out)) != CK_OK)
		return r;
	out.p[0] = '"';
	for (at = 0, k = 1; at < text.n; at++)
		k += put_char(text.p[at], out.p + k);
	out.p[k] = '"';
	ck_secret_move(ret, &out);
	return CK_OK;
}

ck_err
ck_json_path(const struct ck_json_object *o, const char *key,
    char ret[CK_PATH_MAX])
{
	const struct ck_json_member *m = ck_json_member(o, key);
	struct ck_secret s = CK_SECRET_INIT;
	ck_err r;

	if (m == NULL)
		return CK_DAMAGED;
	if ((r = ck_json_decode(m->value, &s)) != CK_OK)
		return r;
	if (s.n == 0 || s.n >= CK_PATH_MAX || s.p[0] != '/' ||
	    memchr(s.p, 0, s.n) != NULL) {
		r = CK_DAMAGED;
	} else {
		memcpy(ret, s.p, s.n);
		ret[s.n] = '\0';
	}
	ck_secret_wipe(&s);
	return r;
}
