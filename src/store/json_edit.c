/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edits of one member of a JSON object by its bytes.  Each result is proved
 * twice before anybody sees it: the scanner finds every other member with the
 * bytes it had, and jansson, which shares no code with the scanner, finds the
 * object that doing the edit on its own values gives.
 */
#include "store/json.h"

#include <string.h>

#include "store/json_dom.h"

/* An edit: what it is, and the text with and without it. */
struct edit {
	struct ck_span before, after;
	struct ck_json_object was, is;
	const char *key;
	size_t index;              /* of the member in was; was.n: added */
	const struct ck_span *put; /* NULL: cut */
};

static size_t
offset(struct ck_span text, const uint8_t *p)
{
	return (size_t)(p - text.p);
}

static const uint8_t *
end_of(struct ck_span s)
{
	return s.p + s.n;
}

/* before up to from, then up to three pieces, then before from to on. */
static ck_err
splice(struct ck_span before, size_t from, size_t to,
    const struct ck_span piece[4], struct ck_secret *ret)
{
	struct ck_secret s = CK_SECRET_INIT;
	size_t n = from, tail = before.n - to;
	ck_err r;

	for (int i = 0; i < 4; i++)
		if (!ck_size_add(n, piece[i].n, &n))
			return CK_NOMEM;
	if (!ck_size_add(n, tail, &n))
		return CK_NOMEM;
	if ((r = ck_secret_alloc(n, &s)) != CK_OK)
		return r;
	memcpy(s.p, before.p, from);
	n = from;
	for (int i = 0; i < 4; i++) {
		if (piece[i].n > 0)
			memcpy(s.p + n, piece[i].p, piece[i].n);
		n += piece[i].n;
	}
	memcpy(s.p + n, before.p + to, tail);
	ck_secret_move(ret, &s);
	return CK_OK;
}

/*
 * Which bytes go with member i.  Before another member: from its opening
 * quote to the next one's, so that the next one stands where it stood.  The
 * last one: from the end of the value before it, comma included.  The only
 * one: all between the braces.
 */
static void
cut_bytes(const struct edit *e, size_t *from, size_t *to)
{
	const struct ck_json_member *m = e->was.member;
	size_t i = e->index;

	if (i + 1 < e->was.n) {
		*from = offset(e->before, m[i].key.p) - 1;
		*to = offset(e->before, m[i + 1].key.p) - 1;
	} else if (i > 0) {
		*from = offset(e->before, end_of(m[i - 1].value));
		*to = offset(e->before, end_of(m[i].value));
	} else {
		*from = offset(e->before, e->was.body.p);
		*to = *from + e->was.body.n;
	}
}

/* Put a new member behind the last, with the white space that the last one
 * has before its key and around its colon. */
static ck_err
append(const struct edit *e, const struct ck_secret *key,
    struct ck_secret *ret)
{
	const struct ck_json_member *last = &e->was.member[e->was.n - 1];
	const uint8_t *end = end_of(last->value), *colon, *gap;
	struct ck_span piece[4] = { { NULL, 0 } };
	struct ck_secret lead = CK_SECRET_INIT;
	size_t at = offset(e->before, end), n;
	ck_err r;

	gap = last->key.p - 1;
	while (gap[-1] != ',' && gap[-1] != '{')
		gap--;
	n = (size_t)(last->key.p - 1 - gap);
	colon = end_of(last->key) + 1;
	if ((r = ck_secret_alloc(n + 1, &lead)) != CK_OK)
		return r;
	lead.p[0] = ',';
	memcpy(lead.p + 1, gap, n);
	piece[0] = (struct ck_span){ lead.p, lead.n };
	piece[1] = (struct ck_span){ key->p, key->n };
	piece[2] = (struct ck_span){ colon, (size_t)(last->value.p - colon) };
	piece[3] = *e->put;
	r = splice(e->before, at, at, piece, ret);
	ck_secret_wipe(&lead);
	return r;
}

/* The first member, in the broker's own layout. */
static ck_err
fill(const struct edit *e, const struct ck_secret *key, struct ck_secret *ret)
{
	struct ck_span piece[4] = { CK_SPAN_TEXT("\n  "),
	    { key->p, key->n }, CK_SPAN_TEXT(": "), CK_SPAN_NONE };
	struct ck_secret value = CK_SECRET_INIT;
	size_t from = offset(e->before, e->was.body.p);
	ck_err r;

	if ((r = ck_secret_alloc(e->put->n + 1, &value)) != CK_OK)
		return r;
	memcpy(value.p, e->put->p, e->put->n);
	value.p[e->put->n] = '\n';
	piece[3] = (struct ck_span){ value.p, value.n };
	r = splice(e->before, from, from + e->was.body.n, piece, ret);
	ck_secret_wipe(&value);
	return r;
}

static ck_err
apply(const struct edit *e, struct ck_secret *ret)
{
	struct ck_span piece[4] = { { NULL, 0 } };
	struct ck_secret key = CK_SECRET_INIT;
	size_t from = 0, to = 0;
	ck_err r;

	if (e->put == NULL) {
		cut_bytes(e, &from, &to);
		return splice(e->before, from, to, piece, ret);
	}
	if (e->index < e->was.n) {
		from = offset(e->before, e->was.member[e->index].value.p);
		to = from + e->was.member[e->index].value.n;
		piece[0] = *e->put;
		return splice(e->before, from, to, piece, ret);
	}
	r = ck_json_encode(CK_SPAN_TEXT(e->key), &key);
	if (r != CK_OK)
		return r == CK_DAMAGED ? CK_USAGE : r;
	r = e->was.n > 0 ? append(e, &key, ret) : fill(e, &key, ret);
	ck_secret_wipe(&key);
	return r;
}

/* Every other member has its bytes and its place in the order. */
static bool
others_untouched(const struct edit *e)
{
	const struct ck_json_member *a, *b;
	size_t n = e->was.n, j = 0;

	if (e->is.n != n - (e->put == NULL) + (e->index == n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (i == e->index && e->put == NULL)
			continue;
		a = &e->was.member[i];
		b = &e->is.member[j++];
		if (!ck_span_equal(a->key, b->key))
			return false;
		if (i != e->index && !ck_span_equal(a->value, b->value))
			return false;
	}
	return true;
}

/* jansson does the edit in its own way and compares. */
static ck_err
prove(void *arg)
{
	/* Integers beyond 64 bits are valid JSON.  As doubles two different
	 * ones can be equal, but others_untouched() has compared bytes. */
	const size_t flags = JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
	const struct edit *e = arg;
	json_t *was, *is, *put;

	if ((was = ck_json_parse(e->before, flags)) == NULL)
		return CK_UNSUPPORTED;
	if (e->put == NULL) {
		if (json_object_del(was, e->key) != 0)
			return CK_INTERNAL;
	} else {
		put = ck_json_parse(*e->put, flags | JSON_DECODE_ANY);
		if (put == NULL)
			return CK_USAGE;
		if (json_object_set_new(was, e->key, put) != 0)
			return CK_INTERNAL;
	}
	is = ck_json_parse(e->after, flags);
	if (is == NULL || json_equal(was, is) != 1)
		return CK_INTERNAL;
	return CK_OK;
}

static ck_err
explain(ck_err r, const char *shown, struct ck_fail *fail)
{
	switch (r) {
	case CK_NOMEM:
		return ck_fail_set(fail, r, shown,
		    "not enough secure memory to edit it");
	case CK_UNSUPPORTED:
		return ck_fail_set(fail, r, shown,
		    "holds a number or an escape that cannot be represented "
		    "here, so that an edit cannot be proved");
	case CK_USAGE:
		return ck_fail_set(fail, r, shown,
		    "what should be put into it is not valid JSON");
	default:
		return ck_fail_set(fail, CK_INTERNAL, shown,
		    "the edited text is not what it should be");
	}
}

/* e has key, put and before; do it, prove it, hand it out. */
static ck_err
edit(struct edit *e, const char *shown, struct ck_secret *ret,
    struct ck_fail *fail)
{
	struct ck_secret after = CK_SECRET_INIT;
	ck_err r;

	if ((r = ck_json_scan(e->before, shown, &e->was, fail)) != CK_OK)
		goto out;
	for (e->index = 0; e->index < e->was.n; e->index++)
		if (ck_json_key_is(e->was.member[e->index].key, e->key))
			break;
	if (e->put == NULL && e->index == e->was.n) {
		r = ck_fail_set(fail, CK_ABSENT, shown, "has no %s", e->key);
		goto out;
	}
	if ((r = apply(e, &after)) != CK_OK) {
		r = explain(r, shown, fail);
		goto out;
	}
	e->after = (struct ck_span){ after.p, after.n };
	if ((r = ck_json_scan(e->after, shown, &e->is, fail)) != CK_OK) {
		r = explain(r == CK_DAMAGED ? CK_INTERNAL : r, shown, fail);
		goto out;
	}
	r = others_untouched(e) ? ck_json_with_dom(e->before.n + e->after.n,
	    prove, e) : CK_INTERNAL;
	if (r != CK_OK) {
		r = explain(r, shown, fail);
		goto out;
	}
	ck_secret_move(ret, &after);
out:
	ck_json_object_free(&e->was);
	ck_json_object_free(&e->is);
	ck_secret_wipe(&after);
	return r;
}

ck_err
ck_json_cut_member(const struct ck_secret *text, const char *key,
    const char *shown, struct ck_secret *ret, struct ck_fail *fail)
{
	struct edit e = { .before = { text->p, text->n }, .key = key };

	return edit(&e, shown, ret, fail);
}

ck_err
ck_json_put_member(const struct ck_secret *text, const char *key,
    const struct ck_secret *value, const char *shown, struct ck_secret *ret,
    struct ck_fail *fail)
{
	struct edit e = { .before = { text->p, text->n }, .key = key };
	struct ck_span put = CK_SPAN_NONE;

	if (ck_json_check((struct ck_span){ value->p, value->n }, &put) !=
	    CK_OK)
		return explain(CK_USAGE, shown, fail);
	e.put = &put;
	return edit(&e, shown, ret, fail);
}
