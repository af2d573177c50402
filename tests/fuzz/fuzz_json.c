/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cut and put on any text.  Input: one byte that says what to do, the key up
 * to a NUL, for a put also the value up to a NUL, the text.  An edit that
 * succeeds leaves every other member its bytes, and undoing a put by a cut
 * gives the same members again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/bearer.h"
#include "store/broker_type.h"
#include "store/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(c) do { if (!(c)) { (void)fprintf(stderr, \
    "%d: %s\n", __LINE__, #c); abort(); } } while (0)

static void
prepare(void)
{
	/* Small, so that running out of it is explored too. */
	REQUIRE(ck_secret_heap_init((size_t)1 << 18, NULL) == CK_OK);
	ck_json_init();
}

/* A copy in ordinary memory, where a read beyond the end is seen. */
static uint8_t *
exact(struct ck_span s)
{
	uint8_t *p = malloc(s.n == 0 ? 1 : s.n);

	REQUIRE(p != NULL);
	if (s.n > 0)
		memcpy(p, s.p, s.n);
	return p;
}

static struct ck_json_object
scan(const struct ck_secret *s)
{
	struct ck_json_object o = CK_JSON_OBJECT_INIT;

	REQUIRE(ck_json_scan((struct ck_span){ s->p, s->n }, NULL, &o,
	    NULL) == CK_OK);
	return o;
}

/* Apart from key, both have the same members, bytes and order. */
static void
others_same(const struct ck_secret *a, const struct ck_secret *b,
    const char *key)
{
	struct ck_json_object x = scan(a), y = scan(b);
	size_t i = 0, j = 0;

	for (;;) {
		while (i < x.n && ck_json_key_is(x.member[i].key, key))
			i++;
		while (j < y.n && ck_json_key_is(y.member[j].key, key))
			j++;
		if (i == x.n || j == y.n)
			break;
		REQUIRE(ck_span_equal(x.member[i].key, y.member[j].key));
		REQUIRE(ck_span_equal(x.member[i].value, y.member[j].value));
		i++;
		j++;
	}
	REQUIRE(i == x.n && j == y.n);
	ck_json_object_free(&x);
	ck_json_object_free(&y);
}

static void
read_only(struct ck_span text)
{
	struct ck_json_object o = CK_JSON_OBJECT_INIT;
	struct ck_secret s = CK_SECRET_INIT;
	const char *type = NULL;
	uint8_t *p = exact(text);

	text.p = p;
	if (ck_json_scan(text, "text", &o, NULL) == CK_OK)
		for (size_t i = 0; i < o.n; i++) {
			REQUIRE(ck_broker_type(o.member[i].value, &type) ==
			    CK_OK);
			if (ck_json_decode(o.member[i].value, &s) == CK_OK)
				ck_secret_wipe(&s);
		}
	ck_json_object_free(&o);
	(void)ck_bearer_search(text);
	if (ck_json_encode(text, &s) == CK_OK) {
		struct ck_secret back = CK_SECRET_INIT;

		if (ck_json_decode((struct ck_span){ s.p, s.n }, &back) ==
		    CK_OK)
			REQUIRE(ck_span_equal((struct ck_span){ back.p,
			    back.n }, text));
		ck_secret_wipe(&back);
	}
	ck_secret_wipe(&s);
	free(p);
}

static void
edit(bool put, const char *key, const char *value,
    const struct ck_secret *text)
{
	struct ck_secret v = CK_SECRET_INIT, out = CK_SECRET_INIT;
	struct ck_secret undone = CK_SECRET_INIT;
	ck_err r;

	if (!put) {
		r = ck_json_cut_member(text, key, "text", &out, NULL);
		REQUIRE(r != CK_INTERNAL);
		if (r == CK_OK)
			others_same(text, &out, key);
		else
			REQUIRE(out.p == NULL);
		ck_secret_wipe(&out);
		return;
	}
	if (ck_secret_copy(value, strlen(value), &v) != CK_OK)
		return;
	r = ck_json_put_member(text, key, &v, "text", &out, NULL);
	REQUIRE(r != CK_INTERNAL && (r == CK_OK || out.p == NULL));
	if (r == CK_OK) {
		others_same(text, &out, key);
		r = ck_json_cut_member(&out, key, "text", &undone, NULL);
		REQUIRE(r == CK_OK || r == CK_NOMEM);
		if (r == CK_OK)
			others_same(text, &undone, key);
	}
	ck_secret_wipe(&undone);
	ck_secret_wipe(&out);
	ck_secret_wipe(&v);
}

/* Text up to a NUL, which is stepped over; malloc'ed. */
static char *
take(struct ck_span *in)
{
	size_t n = 0;
	char *s;

	while (n < in->n && in->p[n] != 0)
		n++;
	s = malloc(n + 1);
	REQUIRE(s != NULL);
	memcpy(s, in->p, n);
	s[n] = '\0';
	if (n < in->n)
		n++;
	in->p += n;
	in->n -= n;
	return s;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ck_span in = { data, size };
	struct ck_secret text = CK_SECRET_INIT;
	char *key, *value = NULL;
	bool put;

	prepare();
	if (size == 0)
		return 0;
	put = (data[0] & 1) != 0;
	in.p++;
	in.n--;
	key = take(&in);
	if (put)
		value = take(&in);
	read_only(in);
	if (ck_secret_copy(in.p, in.n, &text) == CK_OK)
		edit(put, key, value, &text);
	ck_secret_wipe(&text);
	free(key);
	free(value);
	return 0;
}
