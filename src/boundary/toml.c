/* SPDX-License-Identifier: Apache-2.0 */
/* See toml.h. */
#include "boundary/toml.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *at, *end;
	ck_toml_cb cb;
	void *arg;
	size_t n;                    /* parts in use */
	char part[CK_TOML_PARTS][CK_TOML_TEXT];
	char text[CK_TOML_TEXT];     /* of the value */
	int depth, arrays;
};

static bool
ends(const struct reader *r)
{
	return r->at == r->end;
}

/* The next byte; 0 at the end, which no TOML text has inside. */
static char
peek(const struct reader *r)
{
	return ends(r) ? '\0' : *r->at;
}

static bool
starts(const struct reader *r, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(r->end - r->at) >= n && memcmp(r->at, text, n) == 0;
}

static bool
take(struct reader *r, const char *text)
{
	if (!starts(r, text))
		return false;
	r->at += strlen(text);
	return true;
}

static void
blanks(struct reader *r)
{
	while (peek(r) == ' ' || peek(r) == '\t')
		r->at++;
}

/* A line end; false when something else stands here. */
static bool
newline(struct reader *r)
{
	return take(r, "\n") || take(r, "\r\n");
}

/* Blanks, a comment.  CK_DAMAGED: a control character in it. */
static ck_err
comment(struct reader *r)
{
	blanks(r);
	if (peek(r) != '#')
		return CK_OK;
	while (!ends(r) && *r->at != '\n' && !starts(r, "\r\n")) {
		unsigned char c = (unsigned char)*r->at++;

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return CK_DAMAGED;
	}
	return CK_OK;
}

/* Blanks, comments and line ends, between the items of an array. */
static ck_err
space(struct reader *r)
{
	ck_err e;

	do {
		if ((e = comment(r)) != CK_OK)
			return e;
	} while (newline(r));
	return CK_OK;
}

static ck_err
put(char *to, size_t *n, char c)
{
	if (*n + 1 >= CK_TOML_TEXT)
		return CK_UNSUPPORTED;
	to[(*n)++] = c;
	to[*n] = '\0';
	return CK_OK;
}

static ck_err
put_utf8(char *to, size_t *n, uint32_t c)
{
	size_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	const uint32_t first[] = { 0, 0xc0, 0xe0, 0xf0 };
	ck_err e;

	/* A NUL would hide what stands behind it. */
	if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return CK_DAMAGED;
	e = put(to, n, (char)(first[more] | c >> 6 * more));
	while (e == CK_OK && more-- > 0)
		e = put(to, n, (char)(0x80 | (c >> 6 * more & 0x3f)));
	return e;
}

static ck_err
hex(struct reader *r, int digits, uint32_t *ret)
{
	uint32_t value = 0;

	for (; digits > 0; digits--) {
		char c = peek(r);
		uint32_t d = c >= '0' && c <= '9' ? (uint32_t)(c - '0') :
		    c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10 :
		    c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10 : 16;

		if (d == 16)
			return CK_DAMAGED;
		value = value << 4 | d;
		r->at++;
	}
	*ret = value;
	return CK_OK;
}

/* Behind a backslash. */
static ck_err
escape(struct reader *r, bool lines, char *to, size_t *n)
{
	static const char names[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
	const char *at = peek(r) == '\0' ? NULL : strchr(names, peek(r));
	uint32_t c = 0;
	ck_err e;

	if (at != NULL) {
		r->at++;
		return put(to, n, values[at - names]);
	}
	if (peek(r) == 'u' || peek(r) == 'U') {
		int digits = *r->at++ == 'u' ? 4 : 8;

		return (e = hex(r, digits, &c)) != CK_OK ? e :
		    put_utf8(to, n, c);
	}
	/* A line end, and the white space behind it, is left away. */
	blanks(r);
	if (!lines || !newline(r))
		return CK_DAMAGED;
	do
		blanks(r);
	while (newline(r));
	return CK_OK;
}

/* A string with its quotes, each of the four kinds. */
static ck_err
string(struct reader *r, bool lines_allowed, char *to)
{
	const char quote[2] = { peek(r), '\0' };
	const char three[4] = { quote[0], quote[0], quote[0], '\0' };
	bool lines = lines_allowed && starts(r, three);
	size_t n = 0;
	ck_err e = CK_OK;

	to[0] = '\0';
	r->at += lines ? 3 : 1;
	if (lines)
		(void)newline(r);
	while (e == CK_OK) {
		char c = peek(r);

		if (take(r, lines ? three : quote)) {
			/* Up to two quotes may stand before the last three. */
			for (int i = 0; lines && e == CK_OK && i < 2 &&
			    take(r, quote); i++)
				e = put(to, &n, quote[0]);
			return e;
		}
		if (lines && newline(r)) {
			e = put(to, &n, '\n');
			continue;
		}
		if (ends(r) || ((unsigned char)c < 0x20 && c != '\t') ||
		    c == 0x7f)
			return CK_DAMAGED;
		r->at++;
		e = c == '\\' && quote[0] == '"' ?
		    escape(r, lines, to, &n) : put(to, &n, c);
	}
	return e;
}

static bool
is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* A dotted key, behind the parts that are in use. */
static ck_err
key(struct reader *r)
{
	size_t n;
	ck_err e = CK_OK;

	do {
		blanks(r);
		if (r->n == CK_TOML_PARTS)
			return CK_UNSUPPORTED;
		n = 0;
		r->part[r->n][0] = '\0';
		if (peek(r) == '"' || peek(r) == '\'') {
			e = string(r, false, r->part[r->n]);
		} else {
			while (e == CK_OK && is_bare(peek(r)))
				e = put(r->part[r->n], &n, *r->at++);
			if (n == 0)
				e = CK_DAMAGED;
		}
		r->n++;
		blanks(r);
	} while (e == CK_OK && take(r, "."));
	return e;
}

static ck_err
give(struct reader *r, enum ck_toml_kind kind)
{
	struct ck_toml_value v = { .n = r->n, .kind = kind,
		.item = r->arrays > 0 };

	for (size_t i = 0; i < r->n; i++)
		v.part[i] = r->part[i];
	v.text = kind == CK_TOML_ARRAY || kind == CK_TOML_TABLE ? "" :
	    r->text;
	return r->cb(r->arg, &v);
}

static ck_err value(struct reader *r);

static ck_err
array(struct reader *r)
{
	ck_err e;

	if ((e = give(r, CK_TOML_ARRAY)) != CK_OK)
		return e;
	r->arrays++;
	for (r->at++;;) {
		if ((e = space(r)) != CK_OK)
			return e;
		if (take(r, "]"))
			break;
		if ((e = value(r)) != CK_OK || (e = space(r)) != CK_OK)
			return e;
		if (take(r, "]"))
			break;
		if (!take(r, ","))
			return CK_DAMAGED;
	}
	r->arrays--;
	return CK_OK;
}

/* KEY = VALUE, whose parts are in use only here. */
static ck_err
pair(struct reader *r)
{
	size_t n = r->n;
	ck_err e;

	if ((e = key(r)) != CK_OK)
		return e;
	if (!take(r, "="))
		return CK_DAMAGED;
	blanks(r);
	e = value(r);
	r->n = n;
	return e;
}

static ck_err
table(struct reader *r)
{
	ck_err e;

	if ((e = give(r, CK_TOML_TABLE)) != CK_OK)
		return e;
	r->at++;
	blanks(r);
	if (take(r, "}"))
		return CK_OK;
	for (;;) {
		if ((e = pair(r)) != CK_OK)
			return e;
		blanks(r);
		if (take(r, "}"))
			return CK_OK;
		if (!take(r, ","))
			return CK_DAMAGED;
	}
}

/* A boolean, number or date. */
static ck_err
token(struct reader *r)
{
	bool number = strchr("+-0123456789in", peek(r)) != NULL;
	size_t n = 0;
	ck_err e = CK_OK;

	r->text[0] = '\0';
	while (e == CK_OK && (is_bare(peek(r)) || peek(r) == '.' ||
	    peek(r) == '+' || peek(r) == ':'))
		e = put(r->text, &n, *r->at++);
	if (e != CK_OK || n == 0)
		return e != CK_OK ? e : CK_DAMAGED;
	if (strcmp(r->text, "true") == 0 || strcmp(r->text, "false") == 0)
		return give(r, CK_TOML_BOOLEAN);
	return number ? give(r, CK_TOML_OTHER) : CK_DAMAGED;
}

static ck_err
value(struct reader *r)
{
	ck_err e;

	if (++r->depth > CK_TOML_DEPTH)
		return CK_UNSUPPORTED;
	switch (peek(r)) {
	case '"':
	case '\'':
		if ((e = string(r, true, r->text)) == CK_OK)
			e = give(r, CK_TOML_STRING);
		break;
	case '[':
		e = array(r);
		break;
	case '{':
		e = table(r);
		break;
	default:
		e = ends(r) ? CK_DAMAGED : token(r);
	}
	r->depth--;
	return e;
}

/* [key] or [[key]], which all that follows belongs to. */
static ck_err
header(struct reader *r)
{
	bool many = take(r, "[[");
	ck_err e;

	if (!many)
		r->at++;
	r->n = 0;
	if ((e = key(r)) != CK_OK)
		return e;
	return take(r, many ? "]]" : "]") ? give(r, CK_TOML_TABLE) :
	    CK_DAMAGED;
}

static ck_err
lines(struct reader *r)
{
	ck_err e;

	for (;;) {
		if ((e = space(r)) != CK_OK)
			return e;
		if (ends(r))
			return CK_OK;
		e = peek(r) == '[' ? header(r) : pair(r);
		if (e != CK_OK || (e = comment(r)) != CK_OK)
			return e;
		if (!ends(r) && !newline(r))
			return CK_DAMAGED;
	}
}

ck_err
ck_toml_read(const char *text, size_t n, ck_toml_cb cb, void *arg)
{
	struct reader *r;
	ck_err e;

	if (n == 0)
		return CK_OK;
	if (n > CK_TOML_MAX)
		return CK_UNSUPPORTED;
	if (memchr(text, '\0', n) != NULL)
		return CK_DAMAGED;
	if ((r = calloc(1, sizeof(*r))) == NULL)
		return CK_NOMEM;
	r->at = text;
	r->end = text + n;
	r->cb = cb;
	r->arg = arg;
	/* A mark that some editors put in front of UTF-8. */
	(void)take(r, "\xef\xbb\xbf");
	e = lines(r);
	free(r);
	return e;
}
