/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner: RFC 8259 and nothing beyond it, in one pass over the text,
 * which is neither changed nor copied.  Numbers are only spelled, never
 * converted, so that none is too large for it.
 */
#include "store/json.h"

#include <stdlib.h>
#include <string.h>

#include "store/json_text.h"

struct scan {
	struct ck_span in;
	size_t at;
	const char *why;                /* what is wrong at at */
	struct ck_json_object *object;  /* takes depth 1; may be NULL */
	size_t room;                    /* members there is memory for */
};

static ck_err value(struct scan *s, unsigned int depth);

static ck_err
wrong(struct scan *s, const char *why)
{
	s->why = why;
	return CK_DAMAGED;
}

/* The character at hand, 0 at the end: NUL is nowhere allowed in JSON. */
static uint8_t
peek(const struct scan *s)
{
	return s->at < s->in.n ? s->in.p[s->at] : 0;
}

static void
skip_space(struct scan *s)
{
	uint8_t c;

	for (;;) {
		c = peek(s);
		if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
			return;
		s->at++;
	}
}

static bool
is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool
is_hex(uint8_t c)
{
	return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Behind a backslash. */
static ck_err
escape(struct scan *s)
{
	uint8_t c = peek(s);

	if (c == 0 || strchr("\"\\/bfnrtu", c) == NULL)
		return wrong(s, "an unknown escape");
	s->at++;
	if (c != 'u')
		return CK_OK;
	for (int i = 0; i < 4; i++, s->at++)
		if (!is_hex(peek(s)))
			return wrong(s, "an incomplete \\u escape");
	return CK_OK;
}

/* A string; *ret is what stands between the quotes. */
static ck_err
string(struct scan *s, struct ck_span *ret)
{
	size_t start, n;
	uint8_t c;
	ck_err r;

	if (peek(s) != '"')
		return wrong(s, "a string is missing");
	start = ++s->at;
	while ((c = peek(s)) != '"') {
		if (s->at == s->in.n)
			return wrong(s, "a string without end");
		if (c < 0x20)
			return wrong(s, "a control character in a string");
		if (c == '\\') {
			s->at++;
			if ((r = escape(s)) != CK_OK)
				return r;
			continue;
		}
		n = ck_utf8_length((struct ck_span){ s->in.p + s->at,
		    s->in.n - s->at });
		if (n == 0)
			return wrong(s, "bytes that are not UTF-8");
		s->at += n;
	}
	*ret = (struct ck_span){ s->in.p + start, s->at - start };
	s->at++;
	return CK_OK;
}

static ck_err
digits(struct scan *s)
{
	if (!is_digit(peek(s)))
		return wrong(s, "a digit is missing");
	while (is_digit(peek(s)))
		s->at++;
	return CK_OK;
}

static ck_err
number(struct scan *s)
{
	ck_err r = CK_OK;

	if (peek(s) == '-')
		s->at++;
	/* No digit follows a leading zero; the caller trips over one. */
	if (peek(s) == '0')
		s->at++;
	else
		r = digits(s);
	if (r == CK_OK && peek(s) == '.') {
		s->at++;
		r = digits(s);
	}
	if (r == CK_OK && (peek(s) | 0x20) == 'e') {
		s->at++;
		if (peek(s) == '+' || peek(s) == '-')
			s->at++;
		r = digits(s);
	}
	return r;
}

static ck_err
word(struct scan *s, const char *text)
{
	size_t n = strlen(text);

	if (s->in.n - s->at < n || memcmp(s->in.p + s->at, text, n) != 0)
		return wrong(s, "an unknown word");
	s->at += n;
	return CK_OK;
}

/* Remember a member of the outermost object. */
static ck_err
note(struct scan *s, struct ck_span key, size_t from)
{
	struct ck_json_object *o = s->object;
	struct ck_json_member *p;
	size_t room;

	if (o->n == s->room) {
		room = s->room == 0 ? 16 : s->room * 2;
		p = realloc(o->member, room * sizeof(*p));
		if (p == NULL)
			return CK_NOMEM;
		o->member = p;
		s->room = room;
	}
	o->member[o->n].key = key;
	o->member[o->n].value = (struct ck_span){ s->in.p + from,
	    s->at - from };
	o->n++;
	return CK_OK;
}

static ck_err
member(struct scan *s, unsigned int depth)
{
	struct ck_span key = CK_SPAN_NONE;
	size_t from;
	ck_err r;

	if ((r = string(s, &key)) != CK_OK)
		return r;
	skip_space(s);
	if (peek(s) != ':')
		return wrong(s, "a colon is missing");
	s->at++;
	skip_space(s);
	from = s->at;
	if ((r = value(s, depth)) != CK_OK)
		return r;
	if (depth == 1 && s->object != NULL)
		return note(s, key, from);
	return CK_OK;
}

/* What stands in braces or brackets; depth is that of its parts. */
static ck_err
group(struct scan *s, uint8_t end, unsigned int depth)
{
	ck_err r;

	if (depth > CK_JSON_DEPTH)
		return CK_UNSUPPORTED;
	s->at++;
	skip_space(s);
	if (peek(s) == end) {
		s->at++;
		return CK_OK;
	}
	for (;;) {
		r = end == '}' ? member(s, depth) : value(s, depth);
		if (r != CK_OK)
			return r;
		skip_space(s);
		if (peek(s) == end) {
			s->at++;
			return CK_OK;
		}
		if (peek(s) != ',')
			return wrong(s, "a comma or an end is missing");
		s->at++;
		skip_space(s);
	}
}

static ck_err
value(struct scan *s, unsigned int depth)
{
	struct ck_span ignored;

	switch (peek(s)) {
	case '{':
		return group(s, '}', depth + 1);
	case '[':
		return group(s, ']', depth + 1);
	case '"':
		return string(s, &ignored);
	case 't':
		return word(s, "true");
	case 'f':
		return word(s, "false");
	case 'n':
		return word(s, "null");
	case '-': case '0': case '1': case '2': case '3': case '4':
	case '5': case '6': case '7': case '8': case '9':
		return number(s);
	default:
		return wrong(s, "a value is missing");
	}
}

/* One value and white space around it. */
static ck_err
whole(struct scan *s, struct ck_span *ret)
{
	size_t from;
	ck_err r;

	skip_space(s);
	from = s->at;
	if ((r = value(s, 0)) != CK_OK)
		return r;
	*ret = (struct ck_span){ s->in.p + from, s->at - from };
	skip_space(s);
	if (s->at != s->in.n)
		return wrong(s, "something behind the end");
	return CK_OK;
}

ck_err
ck_json_check(struct ck_span text, struct ck_span *ret)
{
	struct scan s = { .in = text };

	return whole(&s, ret);
}

static int
by_key(const void *a, const void *b)
{
	const struct ck_span *x = a, *y = b;

	return ck_json_key_order(*x, *y);
}

/* CK_DAMAGED when two members have the same decoded key. */
static ck_err
all_different(const struct ck_json_object *o)
{
	struct ck_span *key;
	ck_err r = CK_OK;

	if (o->n < 2)
		return CK_OK;
	key = calloc(o->n, sizeof(*key));
	if (key == NULL)
		return CK_NOMEM;
	for (size_t i = 0; i < o->n; i++)
		key[i] = o->member[i].key;
	qsort(key, o->n, sizeof(*key), by_key);
	for (size_t i = 1; i < o->n && r == CK_OK; i++)
		if (ck_json_key_order(key[i - 1], key[i]) == 0)
			r = CK_DAMAGED;
	free(key);
	return r;
}

static ck_err
explain(const struct scan *s, ck_err r, const char *shown,
    struct ck_fail *fail)
{
	size_t line = 1;

	if (r == CK_NOMEM)
		return ck_fail_set(fail, r, shown, "no memory to examine it");
	for (size_t i = 0; i < s->at && i < s->in.n; i++)
		line += s->in.p[i] == '\n';
	if (r == CK_UNSUPPORTED)
		return ck_fail_set(fail, r, shown,
		    "is nested deeper than %d levels (line %zu)",
		    CK_JSON_DEPTH, line);
	return ck_fail_set(fail, r, shown, "is not valid JSON: %s (line %zu)",
	    s->why, line);
}

ck_err
ck_json_scan(struct ck_span text, const char *shown,
    struct ck_json_object *ret, struct ck_fail *fail)
{
	struct ck_json_object o = CK_JSON_OBJECT_INIT;
	struct scan s = { .in = text, .object = &o };
	struct ck_span all = CK_SPAN_NONE;
	ck_err r;

	if ((r = whole(&s, &all)) != CK_OK) {
		r = explain(&s, r, shown, fail);
		goto out;
	}
	if (all.p[0] != '{') {
		r = ck_fail_set(fail, CK_DAMAGED, shown,
		    "is JSON, but not an object");
		goto out;
	}
	o.body = (struct ck_span){ all.p + 1, all.n - 2 };
	if ((r = all_different(&o)) != CK_OK) {
		r = ck_fail_set(fail, r, shown, r == CK_NOMEM ?
		    "no memory to examine it" : "has a key twice");
		goto out;
	}
	*ret = o;
	o = (struct ck_json_object)CK_JSON_OBJECT_INIT;
out:
	ck_json_object_free(&o);
	return r;
}

void
ck_json_object_free(struct ck_json_object *o)
{
	free(o->member);
	*o = (struct ck_json_object)CK_JSON_OBJECT_INIT;
}

const struct ck_json_member *
ck_json_member(const struct ck_json_object *o, const char *key)
{
	for (size_t i = 0; i < o->n; i++)
		if (ck_json_key_is(o->member[i].key, key))
			return &o->member[i];
	return NULL;
}
