/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attribute values: taken from bytes, put into bytes, compared
 * (docs/keychain-format.md sections 5 and 6.3).
 */
#include <string.h>

#include "db_int.h"

#define DATE_BYTES 16
#define REAL_BYTES 8

bool
kc_format_known(uint32_t format)
{
	return format < KC_FORMAT_COUNT && format != KC_COMPLEX;
}

static size_t
align4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

/* A value without a length word in front. */
static bool
take_fixed(struct ck_span in, size_t n, struct kc_value *ret, size_t *ret_used)
{
	if (in.n < n)
		return false;
	*ret = (struct kc_value){ true, 0, { in.p, n } };
	*ret_used = n;
	return true;
}

static bool
take_counted(struct ck_span in, size_t unit, struct kc_value *ret,
    size_t *ret_used)
{
	size_t n;

	if (in.n < 4)
		return false;
	n = ck_get_be32(in.p);
	if (n > (in.n - 4) / unit || align4(n * unit) > in.n - 4)
		return false;
	*ret = (struct kc_value){ true, 0, { in.p + 4, n * unit } };
	*ret_used = 4 + align4(n * unit);
	return true;
}

bool
kc_value_take(uint32_t format, struct ck_span in, struct kc_value *ret,
    size_t *ret_used)
{
	switch (format) {
	case KC_STRING:
	case KC_BIGNUM:
	case KC_BLOB:
		return take_counted(in, 1, ret, ret_used);
	case KC_MULTI:
		return take_counted(in, 4, ret, ret_used);
	case KC_DATE:
		return take_fixed(in, DATE_BYTES, ret, ret_used);
	case KC_REAL:
		return take_fixed(in, REAL_BYTES, ret, ret_used);
	case KC_SINT32:
	case KC_UINT32:
		if (in.n < 4)
			return false;
		*ret = (struct kc_value){ true, ck_get_be32(in.p),
		    CK_SPAN_NONE };
		*ret_used = 4;
		return true;
	default:
		return false;
	}
}

/* Two digits as a number; the caller has seen that they are digits. */
static int
two(const uint8_t *p)
{
	return (p[0] - '0') * 10 + (p[1] - '0');
}

/* YYYYMMDDhhmmssZ and NUL, each part in its range (section 5). */
static bool
date_valid(struct ck_span s)
{
	const uint8_t *p = s.p;

	if (s.n != DATE_BYTES || p[14] != 'Z' || p[15] != '\0')
		return false;
	for (size_t i = 0; i < 14; i++)
		if (p[i] < '0' || p[i] > '9')
			return false;
	return two(p + 4) >= 1 && two(p + 4) <= 12 && two(p + 6) >= 1 &&
	    two(p + 6) <= 31 && two(p + 8) <= 23 && two(p + 10) <= 59 &&
	    two(p + 12) <= 59;
}

const char *
kc_value_refusal(uint32_t format, const struct kc_value *v)
{
	if (!kc_format_known(format))
		return "has a format that is not known";
	if (v->bytes.n > KC_FILE_MAX)
		return "is too long";
	if (format == KC_DATE && !date_valid(v->bytes))
		return "is not a date of the form YYYYMMDDhhmmssZ";
	if (format == KC_REAL && v->bytes.n != REAL_BYTES)
		return "is not a number of 8 bytes";
	if (format == KC_MULTI && v->bytes.n % 4 != 0)
		return "is not a list of words";
	return NULL;
}

void
kc_value_put(uint32_t format, const struct kc_value *v, struct ck_buf *out)
{
	switch (format) {
	case KC_SINT32:
	case KC_UINT32:
		ck_buf_u32(out, v->word);
		return;
	case KC_STRING:
	case KC_BIGNUM:
	case KC_BLOB:
		ck_buf_u32(out, (uint32_t)v->bytes.n);
		break;
	case KC_MULTI:
		ck_buf_u32(out, (uint32_t)(v->bytes.n / 4));
		break;
	default:
		break;
	}
	ck_buf_span(out, v->bytes);
	/* Of the value, not of the buffer: that need not start aligned. */
	ck_buf_zeros(out, align4(v->bytes.n) - v->bytes.n);
}

static int
order_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int
order_size(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

/* Up to a NUL that both have at the same place, then the length. */
static int
order_string(struct ck_span a, struct ck_span b)
{
	size_t n = a.n < b.n ? a.n : b.n;

	for (size_t i = 0; i < n; i++) {
		if (a.p[i] != b.p[i])
			return a.p[i] < b.p[i] ? -1 : 1;
		if (a.p[i] == 0)
			break;
	}
	return order_size(a.n, b.n);
}

/* Doubles in the byte order of the machine; what is no number comes last. */
static int
order_real(struct ck_span a, struct ck_span b)
{
	double x, y;
	int nx, ny;

	memcpy(&x, a.p, sizeof(x));
	memcpy(&y, b.p, sizeof(y));
	nx = x != x;
	ny = y != y;
	if (nx || ny)
		return nx - ny;
	return (x > y) - (x < y);
}

/* Little-endian magnitude whose first byte also carries the sign. */
static int
order_bignum(struct ck_span a, struct ck_span b)
{
	int na = a.n > 0 && (a.p[0] & 0x80) != 0;
	int nb = b.n > 0 && (b.p[0] & 0x80) != 0;
	int c;

	if (na != nb)
		return nb - na;
	c = order_size(a.n, b.n);
	for (size_t i = a.n; c == 0 && i > 0; i--)
		c = (a.p[i - 1] > b.p[i - 1]) - (a.p[i - 1] < b.p[i - 1]);
	return na ? -c : c;
}

/* Count, then memcmp of words that the little-endian machines which write
 * these files hold in memory: the low byte decides first. */
static int
order_multi(struct ck_span a, struct ck_span b)
{
	if (a.n != b.n)
		return order_size(a.n, b.n);
	for (size_t i = 0; i < a.n; i++) {
		size_t at = (i & ~(size_t)3) | (3 - (i & 3));

		if (a.p[at] != b.p[at])
			return a.p[at] < b.p[at] ? -1 : 1;
	}
	return 0;
}

int
kc_value_compare(uint32_t format, const struct kc_value *a,
    const struct kc_value *b)
{
	switch (format) {
	case KC_UINT32:
		return order_u32(a->word, b->word);
	case KC_SINT32:
		/* With the sign bit turned round the order is unsigned. */
		return order_u32(a->word ^ 0x80000000U, b->word ^ 0x80000000U);
	case KC_STRING:
		return order_string(a->bytes, b->bytes);
	case KC_REAL:
		return order_real(a->bytes, b->bytes);
	case KC_BIGNUM:
		return order_bignum(a->bytes, b->bytes);
	case KC_MULTI:
		return order_multi(a->bytes, b->bytes);
	default:
		return ck_span_compare(a->bytes, b->bytes);
	}
}

bool
kc_value_same(uint32_t format, const struct kc_value *a,
    const struct kc_value *b)
{
	if (format == KC_UINT32 || format == KC_SINT32)
		return a->word == b->word;
	return ck_span_equal(a->bytes, b->bytes);
}
