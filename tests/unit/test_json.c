/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON scanner and the byte editor, each against jansson. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <openssl/crypto.h>

#include "help_store.h"
#include "store/json.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct edit {
	const char *before, *key, *value, *after;
};

/* value NULL: cut. */
static ck_err
run(const char *before, const char *key, const char *value,
    struct ck_secret *ret)
{
	struct ck_secret text = hs_secret(before), v = CK_SECRET_INIT;
	struct ck_fail f = CK_FAIL_INIT;
	ck_err r;

	if (value == NULL) {
		r = ck_json_cut_member(&text, key, "text", ret, &f);
	} else {
		v = hs_secret(value);
		r = ck_json_put_member(&text, key, &v, "text", ret, &f);
	}
	assert_int_equal(f.code, r);
	assert_true(hs_is(&text, before));
	ck_secret_wipe(&text);
	ck_secret_wipe(&v);
	return r;
}

static const struct edit edits[] = {
	/* cut: first, middle, last, only */
	{ "{\"a\":1,\"b\":2,\"c\":3}", "a", NULL, "{\"b\":2,\"c\":3}" },
	{ "{\"a\":1,\"b\":2,\"c\":3}", "b", NULL, "{\"a\":1,\"c\":3}" },
	{ "{\"a\":1,\"b\":2,\"c\":3}", "c", NULL, "{\"a\":1,\"b\":2}" },
	{ " {\t\"a\" : 1 } \n", "a", NULL, " {} \n" },
	{ "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n", "a", NULL,
	    "{\n  \"b\": 2,\n  \"c\": 3\n}\n" },
	{ "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n", "b", NULL,
	    "{\n  \"a\": 1,\n  \"c\": 3\n}\n" },
	{ "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n", "c", NULL,
	    "{\n  \"a\": 1,\n  \"b\": 2\n}\n" },
	/* odd white space and spelling of what stays */
	{ "{ \"a\" :1.0e+05 ,\r\n\"b\": -0\t, \"c\":[ ]\n , \"d\" : {} }",
	    "c", NULL,
	    "{ \"a\" :1.0e+05 ,\r\n\"b\": -0\t, \"d\" : {} }" },
	{ "{\"n\":123456789012345678901234567890,\"x\":0.10}", "x", NULL,
	    "{\"n\":123456789012345678901234567890}" },
	/* a key in another spelling, a brace and a quote inside strings */
	{ "{\"x\":\"}\\\",\",\"clankie\\u005foperator\":{\"k\":\"}\"},"
	    "\"y\":1}", "clankie_operator", NULL,
	    "{\"x\":\"}\\\",\",\"y\":1}" },
	{ "{\"\\ud83d\\ude00\":1,\"z\":2}", "\xf0\x9f\x98\x80", NULL,
	    "{\"z\":2}" },
	{ "{\"\xc3\xa9\":1,\"z\":2}", "\xc3\xa9", NULL, "{\"z\":2}" },
	{ "{\"\":1,\"z\":2}", "", NULL, "{\"z\":2}" },
	{ "{\"\\b\\f\\n\\r\\t\\/\\\\\\\"\\u20AC\":1,\"z\":2}",
	    "\b\f\n\r\t/\\\"\xe2\x82\xac", NULL, "{\"z\":2}" },
	/* the same key deeper is another one */
	{ "{\"z\":{\"a\":1,\"a\":2},\"a\":3}", "a", NULL,
	    "{\"z\":{\"a\":1,\"a\":2}}" },
	/* put: replace */
	{ "{\"a\":1, \"b\" : [2] ,\"c\":3}", "b", "{\"n\":7}",
	    "{\"a\":1, \"b\" : {\"n\":7} ,\"c\":3}" },
	{ "{\"\\u0061\":1}", "a", " \"x\" ", "{\"\\u0061\":\"x\"}" },
	/* put: add behind the last, in its spelling */
	{ "{\"a\":1}", "b", "2", "{\"a\":1,\"b\":2}" },
	{ "{\n  \"a\": 1\n}\n", "b", "2", "{\n  \"a\": 1,\n  \"b\": 2\n}\n" },
	{ "{ \"a\" : 1 }", "b", "2", "{ \"a\" : 1, \"b\" : 2 }" },
	{ "{\"a\":1,\n\t\"b\":2}", "c", "3", "{\"a\":1,\n\t\"b\":2,\n\t\"c\":3}" },
	/* put: into nothing */
	{ "{}", "a", "1", "{\n  \"a\": 1\n}" },
	{ " { \n} \n", "a", "1", " {\n  \"a\": 1\n} \n" },
	{ "{}", "q\"\\", "1", "{\n  \"q\\\"\\\\\": 1\n}" },
};

static void
edit_changes_only_its_member(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(edits); i++) {
		struct ck_secret out = CK_SECRET_INIT;
		ck_err r = run(edits[i].before, edits[i].key, edits[i].value,
		    &out);

		if (r != CK_OK || !hs_is(&out, edits[i].after))
			print_error("edit %zu: %s, %.*s\n", i, ck_err_code(r),
			    (int)out.n, (const char *)out.p);
		assert_int_equal(r, CK_OK);
		assert_true(hs_is(&out, edits[i].after));
		ck_secret_wipe(&out);
	}
}

/* Texts that are no JSON; jansson must agree about each. */
static const char *const bad[] = {
	"", " ", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1,}",
	"{,\"a\":1}", "{\"a\":1 \"b\":2}", "{'a':1}", "{a:1}", "{\"a\":01}",
	"{\"a\":1.}", "{\"a\":.5}", "{\"a\":+1}", "{\"a\":1e}", "{\"a\":-}",
	"{\"a\":0x10}", "{\"a\":NaN}", "{\"a\":tru}", "{\"a\":nulll}",
	"{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":\"\\u12g4\"}",
	"{\"a\":\"\n\"}", "{\"a\":\"\t\"}", "{\"a\":\"}", "{\"a\":\"\\\"}",
	"{\"a\":[1,2}", "{\"a\":[1,]}", "{\"a\":1}}", "{\"a\":1}{}",
	"{\"a\":1} x", "// c\n{}", "{\"a\":1/**/}", "\xef\xbb\xbf{}",
	"{\"a\":\"\xc0\x80\"}", "{\"a\":\"\xed\xa0\x80\"}",
	"{\"a\":\"\xff\"}", "{\"a\":\"\xc3\"}", "{\"\xf4\x90\x80\x80\":1}",
	"{\"a\":\"\xe2\x82\"}", "{\"a\":\v1}", "{\"a\":--1}", "{\"a\":1e5.5}",
};

static const char *const good[] = {
	"{}", " {} ", "{\"a\":null}", "{\"a\":[[],{}]}", "{\"a\":-0.0E-1}",
	"{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uFFff\"}",
	"{\"a\":\"\xf0\x9f\x98\x80\xe2\x82\xac\x7f\"}",
	"{\"a\":1,\"A\":2,\"\":3}", "{\"a\":true,\"b\":false}",
};

static bool
jansson_takes(const char *text)
{
	json_t *v = json_loadb(text, strlen(text), JSON_ALLOW_NUL, NULL);
	bool ok = json_is_object(v);

	json_decref(v);
	return ok;
}

static void
scanner_and_jansson_agree(void **state)
{
	struct ck_json_object o = CK_JSON_OBJECT_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct ck_fail f = CK_FAIL_INIT;
		ck_err r = ck_json_scan(CK_SPAN_TEXT(bad[i]), "text", &o, &f);

		if (r != CK_DAMAGED || jansson_takes(bad[i]))
			print_error("bad %zu: %s\n", i, ck_err_code(r));
		assert_int_equal(r, CK_DAMAGED);
		assert_int_equal(f.code, CK_DAMAGED);
		assert_false(jansson_takes(bad[i]));
		assert_null(o.member);
	}
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(ck_json_scan(CK_SPAN_TEXT(good[i]), "text",
		    &o, NULL), CK_OK);
		assert_true(jansson_takes(good[i]));
		ck_json_object_free(&o);
	}
}

static void
edit_of_bad_text_is_damaged_and_gives_nothing(void **state)
{
	struct ck_secret out = CK_SECRET_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(run(bad[i], "a", NULL, &out), CK_DAMAGED);
		assert_int_equal(run(bad[i], "a", "1", &out), CK_DAMAGED);
		assert_null(out.p);
	}
	assert_int_equal(run("[1]", "a", NULL, &out), CK_DAMAGED);
	assert_int_equal(run("\"a\"", "a", NULL, &out), CK_DAMAGED);
	assert_null(out.p);
}

static void
same_key_twice_is_damaged_in_any_spelling(void **state)
{
	static const char *const twice[] = {
		"{\"a\":1,\"a\":1}",
		"{\"b\":0,\"a\":1,\"c\":2,\"\\u0061\":1}",
		"{\"\xc3\xa9\":1,\"\\u00E9\":2}",
		"{\"\xf0\x9f\x98\x80\":1,\"\\uD83D\\uDE00\":2}",
		"{\"\":1,\"x\":2,\"\":3}",
		"{\"/\":1,\"\\/\":2}",
	};
	struct ck_secret out = CK_SECRET_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(twice); i++)
		assert_int_equal(run(twice[i], "b", "1", &out), CK_DAMAGED);
	assert_null(out.p);
}

/* Many keys must not cost the square of their number. */
static void
many_keys_are_compared_in_time(void **state)
{
	struct ck_json_object o = CK_JSON_OBJECT_INIT;
	size_t n = 0, room = 1200000;
	char *text = malloc(room);

	(void)state;
	assert_non_null(text);
	text[n++] = '{';
	for (int i = 0; i < 90000; i++)
		n += (size_t)snprintf(text + n, room - n, "%s\"k%d\":0",
		    i == 0 ? "" : ",", i);
	text[n++] = '}';
	assert_int_equal(ck_json_scan((struct ck_span){ (uint8_t *)text, n },
	    "text", &o, NULL), CK_OK);
	assert_int_equal(o.n, 90000);
	assert_non_null(ck_json_member(&o, "k89999"));
	ck_json_object_free(&o);
	free(text);
}

static void
missing_member_is_absent_and_gives_nothing(void **state)
{
	struct ck_secret out = CK_SECRET_INIT;

	(void)state;
	assert_int_equal(run("{\"A\":1,\"a \":2,\"b\":{\"a\":1}}", "a", NULL,
	    &out), CK_ABSENT);
	assert_int_equal(run("{\"a\\u0000\":1}", "a", NULL, &out), CK_ABSENT);
	assert_null(out.p);
}

/* Valid JSON that a proof is not possible for stays as it is. */
static void
what_jansson_cannot_represent_is_unsupported(void **state)
{
	struct ck_secret out = CK_SECRET_INIT;

	(void)state;
	assert_int_equal(run("{\"a\":1,\"b\":1e999}", "a", NULL, &out),
	    CK_UNSUPPORTED);
	assert_int_equal(run("{\"a\":1,\"b\":\"\\ud800\"}", "a", NULL, &out),
	    CK_UNSUPPORTED);
	assert_int_equal(run("{\"a\":1,\"\\u0000\":2}", "a", NULL, &out),
	    CK_UNSUPPORTED);
	assert_null(out.p);
}

static void
value_that_is_no_json_is_refused(void **state)
{
	static const char *const values[] = {
		"", "x", "1,\"b\":2", "{\"a\":1", "1 2", "\"", "1e999",
	};
	struct ck_secret out = CK_SECRET_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++)
		assert_int_equal(run("{\"a\":1}", "b", values[i], &out),
		    CK_USAGE);
	assert_int_equal(run("{\"a\":1}", "\xff", "1", &out), CK_USAGE);
	assert_null(out.p);
}

/* depth levels in all: the object, and arrays in it. */
static char *
nested(size_t depth)
{
	char *text = calloc(1, 2 * depth + 8);

	assert_non_null(text);
	memcpy(text, "{\"a\":", 5);
	memset(text + 5, '[', depth - 1);
	memset(text + 5 + depth - 1, ']', depth - 1);
	text[5 + 2 * (depth - 1)] = '}';
	return text;
}

static void
depth_is_bounded(void **state)
{
	struct ck_secret out = CK_SECRET_INIT;
	char *ok = nested(CK_JSON_DEPTH), *deep = nested(CK_JSON_DEPTH + 1);
	char *very = nested(300000);

	(void)state;
	assert_int_equal(run(ok, "a", NULL, &out), CK_OK);
	assert_true(hs_is(&out, "{}"));
	ck_secret_wipe(&out);
	assert_int_equal(run(deep, "a", NULL, &out), CK_UNSUPPORTED);
	assert_int_equal(run(very, "a", NULL, &out), CK_UNSUPPORTED);
	assert_null(out.p);
	free(ok);
	free(deep);
	free(very);
}

static void
same_compares_meaning(void **state)
{
	static const struct {
		const char *a, *b;
		ck_err r;
		bool same;
	} row[] = {
		{ "{\"a\":1,\"b\":[2]}", " { \"b\" : [ 2 ], \"\\u0061\":1 }",
		    CK_OK, true },
		{ "{\"a\":1}", "{\"a\":2}", CK_OK, false },
		{ "{\"a\":1}", "{\"a\":1,\"b\":1}", CK_OK, false },
		{ "9007199254740993", "9007199254740992", CK_OK, false },
		{ "\"a\"", "\"\\u0061\"", CK_OK, true },
		{ "1e999", "1e999", CK_OK, true },
		{ "1e999", "2e999", CK_DAMAGED, true },
		{ "{\"a\":1,\"a\":2}", "{\"a\":2}", CK_DAMAGED, true },
		{ "{", "{}", CK_DAMAGED, true },
		{ "{}", "", CK_DAMAGED, true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		/* On failure the output keeps what it was. */
		bool same = row[i].r == CK_OK ? !row[i].same : row[i].same;

		assert_int_equal(ck_json_same(CK_SPAN_TEXT(row[i].a),
		    CK_SPAN_TEXT(row[i].b), &same), row[i].r);
		assert_int_equal(same, row[i].same);
	}
}

static void
decode_and_encode_are_inverse(void **state)
{
	static const char text[] = "q\"b\\s/\n\x01\x7f \xc3\xa9\xf0\x9f\x98\x80";
	struct ck_secret json = CK_SECRET_INIT, back = CK_SECRET_INIT;

	(void)state;
	assert_int_equal(ck_json_encode(CK_SPAN_TEXT(text), &json), CK_OK);
	assert_int_equal(ck_json_decode((struct ck_span){ json.p, json.n },
	    &back), CK_OK);
	assert_true(hs_is(&back, text));
	ck_secret_wipe(&back);
	ck_secret_wipe(&json);
	assert_int_equal(ck_json_encode(CK_SPAN_TEXT("a\xff"), &json),
	    CK_DAMAGED);
	assert_int_equal(ck_json_decode(CK_SPAN_TEXT("1"), &json),
	    CK_DAMAGED);
	assert_int_equal(ck_json_decode(CK_SPAN_TEXT("\"a"), &json),
	    CK_DAMAGED);
	assert_null(json.p);
	assert_int_equal(ck_json_decode(CK_SPAN_TEXT("\"\""), &json), CK_OK);
	assert_true(hs_is(&json, ""));
	ck_secret_wipe(&json);
}

static void
jansson_lives_in_secure_memory(void **state)
{
	json_t *v = json_pack("{s:s}", "k", "value");

	(void)state;
	assert_non_null(v);
	assert_int_equal(CRYPTO_secure_allocated(v), 1);
	assert_int_equal(CRYPTO_secure_allocated(json_string_value(
	    json_object_get(v, "k"))), 1);
	json_decref(v);
}

/* The first block is too small for this text's values. */
static void
values_that_need_more_than_the_text_are_proved(void **state)
{
	struct ck_secret out = CK_SECRET_INIT;
	size_t n = 0, room = 40000;
	char *text = malloc(room);

	(void)state;
	assert_non_null(text);
	n += (size_t)snprintf(text, room, "{\"a\":1,\"b\":[{}");
	while (n < 12000)
		n += (size_t)snprintf(text + n, room - n, ",{}");
	(void)snprintf(text + n, room - n, "]}");
	assert_int_equal(run(text, "a", NULL, &out), CK_OK);
	assert_true(out.n == strlen(text) - 6);
	assert_true(memcmp(out.p + 1, text + 7, out.n - 1) == 0);
	ck_secret_wipe(&out);
	free(text);
}

/* Whatever is left of the secure heap: success, or out of memory with
 * nothing given and nothing kept. */
static void
full_secure_heap_is_no_memory_and_leaks_nothing(void **state)
{
	static const char text[] = "{\"a\":\"0123456789012345678901234567890"
	    "123456789012345678901234567890123456789\",\"b\":{\"c\":[1,2]}}";
	struct ck_secret whole = hs_secret(text), out = CK_SECRET_INIT;
	struct ck_secret hold[64];
	size_t n = 0, used, tries = 0, done = 0;
	ck_err r;

	(void)state;
	/* Fill it, largest pieces first, then give back one by one. */
	for (size_t size = (size_t)1 << 23; size >= 32 && n < 64; size /= 2)
		while (n < 64) {
			hold[n] = (struct ck_secret)CK_SECRET_INIT;
			if (ck_secret_alloc(size, &hold[n]) != CK_OK)
				break;
			n++;
		}
	while (n > 0) {
		used = CRYPTO_secure_used();
		r = ck_json_cut_member(&whole, "b", "text", &out, NULL);
		tries++;
		if (r == CK_OK) {
			done++;
			assert_non_null(out.p);
			ck_secret_wipe(&out);
		}
		assert_true(r == CK_OK || r == CK_NOMEM);
		assert_null(out.p);
		assert_int_equal(CRYPTO_secure_used(), used);
		ck_secret_wipe(&hold[--n]);
	}
	assert_true(done > 0 && done < tries);
	ck_secret_wipe(&whole);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edit_changes_only_its_member),
		cmocka_unit_test(scanner_and_jansson_agree),
		cmocka_unit_test(edit_of_bad_text_is_damaged_and_gives_nothing),
		cmocka_unit_test(same_key_twice_is_damaged_in_any_spelling),
		cmocka_unit_test(many_keys_are_compared_in_time),
		cmocka_unit_test(missing_member_is_absent_and_gives_nothing),
		cmocka_unit_test(what_jansson_cannot_represent_is_unsupported),
		cmocka_unit_test(value_that_is_no_json_is_refused),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(same_compares_meaning),
		cmocka_unit_test(decode_and_encode_are_inverse),
		cmocka_unit_test(jansson_lives_in_secure_memory),
		cmocka_unit_test(values_that_need_more_than_the_text_are_proved),
		cmocka_unit_test(full_secure_heap_is_no_memory_and_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, help_store_setup,
	    help_store_teardown);
}
