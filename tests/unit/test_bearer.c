/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a credential's value. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help_store.h"
#include "store/bearer.h"

/* 43 characters of the alphabet that stand for no secret. */
#define BODY "AZaz09-_AZaz09-_AZaz09-_AZaz09-_AZaz09-_AZa"
#define KEY CK_BEARER_PREFIX BODY

static void
minted_bearer_is_good_and_never_the_same(void **state)
{
	struct ck_secret a = CK_SECRET_INIT, b = CK_SECRET_INIT;
	struct ck_secret key = CK_SECRET_INIT;
	bool same = true;

	(void)state;
	assert_int_equal(ck_bearer_mint(&a), CK_OK);
	assert_int_equal(ck_bearer_mint(&b), CK_OK);
	assert_int_equal(a.n, strlen("{\"type\":\"api\",\"key\":\"" KEY "\"}"));
	assert_true(memcmp(a.p, "{\"type\":\"api\",\"key\":\"clankie_op_", 32) ==
	    0);
	assert_int_equal(ck_bearer_check(&a), CK_OK);
	assert_int_equal(ck_bearer_key(&a, &key), CK_OK);
	assert_int_equal(key.n, CK_BEARER_KEY_SIZE);
	assert_true(memcmp(key.p, CK_BEARER_PREFIX, 11) == 0);
	assert_int_equal(ck_bearer_same(&a, &b, &same), CK_OK);
	assert_false(same);
	ck_secret_wipe(&key);
	ck_secret_wipe(&a);
	ck_secret_wipe(&b);
}

static int
value_of(uint8_t c)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkl"
	    "mnopqrstuvwxyz0123456789-_";
	const char *p = memchr(alphabet, c, 64);

	return p == NULL ? -1 : (int)(p - alphabet);
}

/*
 * Every digit must occur and the last one, which has only four bits of the
 * 32 bytes, must end in two zero bits: so the encoding is the standard one
 * and no bit of the random bytes is lost or constant.
 */
static void
minted_keys_use_all_bits(void **state)
{
	uint8_t ones[43] = { 0 }, zeros[43] = { 0 };
	bool seen[64] = { false };

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct ck_secret v = CK_SECRET_INIT, key = CK_SECRET_INIT;

		assert_int_equal(ck_bearer_mint(&v), CK_OK);
		assert_int_equal(ck_bearer_key(&v, &key), CK_OK);
		for (size_t k = 0; k < 43; k++) {
			int d = value_of(key.p[11 + k]);

			assert_true(d >= 0);
			seen[d] = true;
			ones[k] |= (uint8_t)d;
			zeros[k] |= (uint8_t)(~d & 63);
		}
		ck_secret_wipe(&v);
		ck_secret_wipe(&key);
	}
	for (int d = 0; d < 64; d++)
		assert_true(seen[d]);
	for (size_t k = 0; k < 42; k++)
		assert_true(ones[k] == 63 && zeros[k] == 63);
	assert_true(ones[42] == 60 && zeros[42] == 63);
}

static const char *const good[] = {
	"{\"type\":\"api\",\"key\":\"" KEY "\"}",
	" { \"key\" : \"" KEY "\" ,\n \"type\" : \"api\" } \n",
	"{\"\\u0074ype\":\"\\u0061pi\",\"key\":\"\\u0063lankie_op_" BODY "\"}",
	"{\"type\":\"api\",\"key\":\"" KEY "\",\"metadata\":{\"a\":\"b\"},"
	    "\"account\":{},\"later\":[1]}",
};

static const char *const bad[] = {
	"", " ", "null", "\"" KEY "\"", KEY, "[]", "{}",
	"{\"type\":\"api\"}", "{\"key\":\"" KEY "\"}",
	"{\"type\":\"api\",\"key\":\"\"}",
	"{\"type\":\"api\",\"key\":\"" KEY "A\"}",
	"{\"type\":\"api\",\"key\":\"" CK_BEARER_PREFIX "AZaz09-_\"}",
	"{\"type\":\"api\",\"key\":\" " KEY "\"}",
	"{\"type\":\"api\",\"key\":\"" KEY "\\n\"}",
	"{\"type\":\"api\",\"key\":\"" KEY "\\u0000\"}",
	"{\"type\":\"api\",\"key\":\"clankie_cap_AZaz09-_AZaz09-_AZaz09-_AZaz0"
	    "9-_AZaz09-_AZ\"}",
	"{\"type\":\"api\",\"key\":\"CLANKIE_OP_" BODY "\"}",
	"{\"type\":\"api\",\"key\":\"" CK_BEARER_PREFIX "+/az09-_AZaz09-_AZaz0"
	    "9-_AZaz09-_AZaz09-_AZa\"}",
	"{\"type\":\"api\",\"key\":[\"" KEY "\"]}",
	"{\"type\":\"oauth\",\"key\":\"" KEY "\"}",
	"{\"type\":[\"api\"],\"key\":\"" KEY "\"}",
	"{\"type\":\"api\",\"type\":\"api\",\"key\":\"" KEY "\"}",
	"{\"type\":\"api\",\"key\":\"" KEY "\",\"key\":\"" KEY "\"}",
	"{\"type\":\"api\",\"key\":\"" KEY "\"",
	"{\"type\":\"api\",\"key\":\"" KEY "\"}x",
	"{'type':'api','key':'" KEY "'}",
};

static void
only_the_right_shape_is_a_bearer(void **state)
{
	struct ck_secret key = CK_SECRET_INIT, none = CK_SECRET_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct ck_secret v = hs_secret(good[i]);

		assert_int_equal(ck_bearer_check(&v), CK_OK);
		assert_int_equal(ck_bearer_key(&v, &key), CK_OK);
		assert_true(hs_is(&key, KEY));
		ck_secret_wipe(&key);
		ck_secret_wipe(&v);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ck_secret v = hs_secret(bad[i]);

		if (ck_bearer_check(&v) != CK_DAMAGED)
			print_error("bad value %zu\n", i);
		assert_int_equal(ck_bearer_check(&v), CK_DAMAGED);
		assert_int_equal(ck_bearer_key(&v, &key), CK_DAMAGED);
		assert_null(key.p);
		assert_true(hs_is(&v, bad[i]));
		ck_secret_wipe(&v);
	}
	assert_int_equal(ck_bearer_check(&none), CK_DAMAGED);
}

static void
same_compares_keys_and_not_spelling(void **state)
{
	struct ck_secret a = hs_secret(good[0]), b = CK_SECRET_INIT;
	bool same = false;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		b = hs_secret(good[i]);
		same = false;
		assert_int_equal(ck_bearer_same(&a, &b, &same), CK_OK);
		assert_true(same);
		ck_secret_wipe(&b);
	}
	b = hs_secret(good[0]);
	b.p[36] = b.p[36] == (uint8_t)'0' ? '1' : '0';
	assert_int_equal(ck_bearer_same(&a, &b, &same), CK_OK);
	assert_false(same);
	ck_secret_wipe(&b);
	/* Damaged is an answer of its own, also when both are the same. */
	b = hs_secret("{}");
	same = true;
	assert_int_equal(ck_bearer_same(&a, &b, &same), CK_DAMAGED);
	assert_int_equal(ck_bearer_same(&b, &b, &same), CK_DAMAGED);
	assert_true(same);
	ck_secret_wipe(&a);
	ck_secret_wipe(&b);
}

static void
formats_have_names_and_rules(void **state)
{
	enum ck_format f = CK_FORMAT_COUNT;
	struct ck_secret x = hs_secret("any\n"), empty = hs_secret("");
	struct ck_secret b = hs_secret(good[1]);
	bool same = false;

	(void)state;
	assert_string_equal(ck_format_name(CK_FORMAT_OPERATOR_BEARER),
	    "operator-bearer");
	assert_string_equal(ck_format_name(CK_FORMAT_OPAQUE), "opaque");
	assert_null(ck_format_name(CK_FORMAT_COUNT));
	assert_int_equal(ck_format_by_name("Opaque", &f), CK_UNSUPPORTED);
	assert_int_equal(f, CK_FORMAT_COUNT);
	assert_int_equal(ck_format_by_name("opaque", &f), CK_OK);
	assert_int_equal(ck_format_check(f, &x), CK_OK);
	assert_int_equal(ck_format_check(f, &empty), CK_DAMAGED);
	assert_int_equal(ck_format_same(f, &x, &x, &same), CK_OK);
	assert_true(same);
	assert_int_equal(ck_format_same(f, &x, &b, &same), CK_OK);
	assert_false(same);
	assert_int_equal(ck_format_same(f, &empty, &empty, &same),
	    CK_DAMAGED);
	assert_int_equal(ck_format_by_name("operator-bearer", &f), CK_OK);
	assert_int_equal(ck_format_check(f, &x), CK_DAMAGED);
	assert_int_equal(ck_format_check(f, &empty), CK_DAMAGED);
	assert_int_equal(ck_format_check(f, &b), CK_OK);
	assert_int_equal(ck_format_same(f, &b, &b, &same), CK_OK);
	assert_true(same);
	assert_int_equal(ck_format_same(f, &b, &x, &same), CK_DAMAGED);
	assert_int_equal(ck_format_check(CK_FORMAT_COUNT, &b),
	    CK_UNSUPPORTED);
	ck_secret_wipe(&x);
	ck_secret_wipe(&b);
	ck_secret_wipe(&empty);
}

static void
search_finds_a_key_anywhere(void **state)
{
	static const struct {
		const char *text;
		bool found;
	} row[] = {
		{ KEY, true }, { "x" KEY "x", true },
		{ CK_BEARER_PREFIX CK_BEARER_PREFIX KEY, true },
		{ "clankie_op_ " KEY, true }, { "", false },
		{ CK_BEARER_PREFIX "AZaz09", false },
		{ "clankie_opx" BODY, false },
		{ "CLANKIE_OP_" BODY, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct ck_span s = ck_bearer_search(CK_SPAN_TEXT(row[i].text));

		assert_int_equal(s.p != NULL, row[i].found);
		assert_int_equal(s.n, row[i].found ? CK_BEARER_KEY_SIZE : 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(minted_bearer_is_good_and_never_the_same),
		cmocka_unit_test(minted_keys_use_all_bits),
		cmocka_unit_test(only_the_right_shape_is_a_bearer),
		cmocka_unit_test(same_compares_keys_and_not_spelling),
		cmocka_unit_test(formats_have_names_and_rules),
		cmocka_unit_test(search_finds_a_key_anywhere),
	};

	return cmocka_run_group_tests(tests, help_store_setup,
	    help_store_teardown);
}
