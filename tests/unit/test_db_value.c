/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute values: encoding, bounds, order (sections 5 and 6.3). */
#include "unit.h"

#include <string.h>

#include "help_db.h"
#include "keychain/db_int.h"

/* Encoded, then decoded, a value is the same and takes what it should. */
static void
values_come_back_as_they_were_put(void **state)
{
	static const struct {
		uint32_t format;
		struct kc_value v;
		size_t bytes;
	} cases[] = {
		{ KC_STRING, { true, 0, { (const uint8_t *)"abc", 3 } }, 8 },
		{ KC_STRING, { true, 0, { NULL, 0 } }, 4 },
		{ KC_SINT32, { true, 0xfffffffe, { NULL, 0 } }, 4 },
		{ KC_UINT32, { true, 0x80000000, { NULL, 0 } }, 4 },
		{ KC_BIGNUM, { true, 0, { (const uint8_t *)"\1\2", 2 } }, 8 },
		{ KC_REAL, { true, 0, { (const uint8_t *)"12345678", 8 } },
		    8 },
		{ KC_DATE, { true, 0,
		    { (const uint8_t *)"20240102030405Z", 16 } }, 16 },
		{ KC_BLOB, { true, 0, { (const uint8_t *)"abcd", 4 } }, 8 },
		{ KC_BLOB, { true, 0, { (const uint8_t *)"a\0b\xff" "e", 5 } },
		    12 },
		{ KC_MULTI, { true, 0, { (const uint8_t *)"12345678", 8 } },
		    12 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ck_buf buf = CK_BUF_INIT;
		struct kc_value got = { false, 0, CK_SPAN_NONE };
		size_t used = 0;

		assert_null(kc_value_refusal(cases[i].format, &cases[i].v));
		/* An odd start must not change the padding. */
		ck_buf_bytes(&buf, "x", 1);
		kc_value_put(cases[i].format, &cases[i].v, &buf);
		assert_int_equal(buf.n - 1, cases[i].bytes);
		assert_true(kc_value_take(cases[i].format,
		    (struct ck_span){ buf.p + 1, buf.n - 1 }, &got, &used));
		assert_int_equal(used, cases[i].bytes);
		assert_true(got.present);
		assert_true(kc_value_same(cases[i].format, &got,
		    &cases[i].v));
		/* One byte less does not hold it. */
		got.word = 77;
		assert_false(kc_value_take(cases[i].format,
		    (struct ck_span){ buf.p + 1, buf.n - 2 }, &got, &used));
		assert_int_equal(used, cases[i].bytes);
		ck_buf_free(&buf);
	}
}

static void
huge_lengths_do_not_fit(void **state)
{
	static const uint32_t formats[] = { KC_STRING, KC_BLOB, KC_BIGNUM,
	    KC_MULTI };
	static const uint32_t lengths[] = { 5, 0x3fffffff, 0x40000000,
	    0x7ffffffd, 0x80000000, 0xfffffffc, 0xffffffff };
	uint8_t bytes[8];
	struct kc_value v;
	size_t used;

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	for (size_t f = 0; f < 4; f++)
		for (size_t n = 0; n < 7; n++) {
			ck_put_be32(bytes, lengths[n]);
			assert_false(kc_value_take(formats[f],
			    (struct ck_span){ bytes, 8 }, &v, &used));
		}
	assert_false(kc_value_take(KC_COMPLEX, (struct ck_span){ bytes, 8 },
	    &v, &used));
	assert_false(kc_value_take(9, (struct ck_span){ bytes, 8 }, &v,
	    &used));
}

/* A record of one attribute with that many values, all empty. */
static bool
many_values(uint32_t claimed, size_t stored, uint32_t *ret_count)
{
	static const struct kc_attr attr = { 1, 2, KC_BLOB, CK_SPAN_NONE };
	const struct kc_relation rel = { 0x11, CK_SPAN_NONE, &attr, 1 };
	struct ck_buf raw = CK_BUF_INIT;
	struct kc_value v;
	size_t bytes = 0;
	bool fine;

	ck_buf_zeros(&raw, KC_REC_ATTRS);
	ck_buf_u32(&raw, KC_REC_ATTRS + 4);
	ck_buf_u32(&raw, claimed);
	ck_buf_zeros(&raw, 4 * stored);
	fine = kc_raw_value(&rel, ck_buf_view(&raw), 0, &v, ret_count,
	    &bytes);
	if (fine)
		assert_int_equal(bytes, 4 * stored);
	ck_buf_free(&raw);
	return fine;
}

static void
counts_of_values_are_bounded(void **state)
{
	uint32_t count = 77;

	(void)state;
	assert_true(many_values(KC_VALUES_MAX, KC_VALUES_MAX, &count));
	assert_int_equal(count, KC_VALUES_MAX);
	assert_true(many_values(0, 0, &count));
	assert_int_equal(count, 0);
	count = 77;
	assert_false(many_values(KC_VALUES_MAX + 1, KC_VALUES_MAX + 1,
	    &count));
	assert_false(many_values(3, 2, &count));
	assert_false(many_values(0xffffffff, 2, &count));
	assert_int_equal(count, 77);
}

static void
impossible_values_are_not_written(void **state)
{
	static const char *const dates[] = {
		"20240102030405Z", "20241231235959Z", "00000101000000Z",
		/* and those that are none */
		"20241302030405Z", "20240002030405Z", "20240132030405Z",
		"20240100030405Z", "20240102240405Z", "20240102036005Z",
		"20240102030460Z", "20240102030405z", "2024010203040 Z",
		"2024010203040:Z",
	};
	struct kc_value v;

	(void)state;
	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
		v = help_bytes(dates[i], 16);
		if (i < 3)
			assert_null(kc_value_refusal(KC_DATE, &v));
		else
			assert_non_null(kc_value_refusal(KC_DATE, &v));
	}
	v = help_bytes("20240102030405Z", 15);
	assert_non_null(kc_value_refusal(KC_DATE, &v));
	v = help_bytes("20240102030405ZZ", 16);
	assert_non_null(kc_value_refusal(KC_DATE, &v));
	v = help_bytes("1234567", 7);
	assert_non_null(kc_value_refusal(KC_REAL, &v));
	assert_non_null(kc_value_refusal(KC_MULTI, &v));
	assert_non_null(kc_value_refusal(KC_COMPLEX, &v));
	v = help_bytes("", 0);
	v.bytes.n = KC_FILE_MAX + 1;
	assert_non_null(kc_value_refusal(KC_BLOB, &v));
}

static void
below(uint32_t format, struct kc_value a, struct kc_value b)
{
	assert_true(kc_value_compare(format, &a, &b) < 0);
	assert_true(kc_value_compare(format, &b, &a) > 0);
	assert_int_equal(kc_value_compare(format, &a, &a), 0);
	assert_int_equal(kc_value_compare(format, &b, &b), 0);
	assert_false(kc_value_same(format, &a, &b));
}

static struct kc_value
real(const double *d)
{
	return help_bytes(d, sizeof(*d));
}

static void
each_format_has_its_order(void **state)
{
	static const double minus = -2.5, plus = 1.5;
	static const double none = (double)__builtin_nanf("");
	struct kc_value a = help_bytes("a\0b", 3), b = help_bytes("a\0c", 3);

	(void)state;
	below(KC_UINT32, help_word(1), help_word(0xffffffff));
	below(KC_SINT32, help_word(0xffffffff), help_word(1));
	below(KC_SINT32, help_word(0x80000000), help_word(0xffffffff));
	below(KC_BLOB, help_text(""), help_text("a"));
	below(KC_BLOB, help_text("ab"), help_text("abc"));
	below(KC_BLOB, help_text("abz"), help_text("b"));
	below(KC_BLOB, help_text("a"), help_text("\x80"));
	below(KC_BLOB, a, b);
	below(KC_DATE, help_bytes("20240102030405Z", 16),
	    help_bytes("20240102030406Z", 16));
	/* A string ends at a NUL both have, a blob does not. */
	assert_int_equal(kc_value_compare(KC_STRING, &a, &b), 0);
	assert_false(kc_value_same(KC_STRING, &a, &b));
	below(KC_STRING, help_bytes("a\0b", 3), help_bytes("a\0bc", 4));
	below(KC_STRING, help_text("ab"), help_text("abc"));
	below(KC_STRING, help_text("a"), help_text("\x80"));
	below(KC_REAL, real(&minus), real(&plus));
	below(KC_REAL, real(&plus), real(&none));
	/* Little-endian magnitude, the sign in the first byte. */
	below(KC_BIGNUM, help_bytes("\x02\x01", 2), help_bytes("\x01\x02", 2));
	below(KC_BIGNUM, help_bytes("\x7f", 1), help_bytes("\x01\x01", 2));
	below(KC_BIGNUM, help_bytes("\x82", 1), help_bytes("\x01", 1));
	below(KC_BIGNUM, help_bytes("\x82", 1), help_text(""));
	/* Fewer words first; then the low byte of a word decides. */
	below(KC_MULTI, help_bytes("\xff\xff\xff\xff", 4),
	    help_bytes("\0\0\0\0\0\0\0\0", 8));
	below(KC_MULTI, help_bytes("\x01\0\0\x01", 4),
	    help_bytes("\0\0\0\x02", 4));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_come_back_as_they_were_put),
		cmocka_unit_test(huge_lengths_do_not_fit),
		cmocka_unit_test(counts_of_values_are_bounded),
		cmocka_unit_test(impossible_values_are_not_written),
		cmocka_unit_test(each_format_has_its_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
