/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of .env.local; see dotenv.h. */
#include "store/dotenv.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/io.h"
#include "store/bearer.h"

/* One accepted line; the spans point into the file's text. */
struct entry {
	struct ck_span name, value;
	size_t index;      /* in the order of the file */
	bool later;        /* an earlier line has the same name */
};

struct entries {
	struct entry *at;
	size_t n, room;
};

static ck_err
read_file(const char *path, struct ck_secret *ret, struct ck_fail *fail)
{
	int fd = -1;
	ck_err r;

	r = ck_io_open_file(AT_FDCWD, path, path, CK_IO_OWNER, &fd, NULL,
	    fail);
	if (r != CK_OK)
		return r;
	r = ck_secret_read_file(fd, CK_DOTENV_MAX, path, ret, fail);
	ck_io_close(&fd);
	return r;
}

/*
 * The white space of JavaScript's trim beyond ASCII, in UTF-8: no-break
 * space, ogham space, the spaces of U+2000 to U+200A, line and paragraph
 * separator, narrow and mathematical space, ideographic space, and the byte
 * order mark with which some editors begin a file.
 */
static const char *const wide[] = {
	"\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
	"\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85",
	"\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89",
	"\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
	"\xe2\x81\x9f", "\xe3\x80\x80", "\xef\xbb\xbf",
};

/* Bytes of white space at the start of s, or at its end. */
static size_t
space_at(struct ck_span s, bool end)
{
	uint8_t c;
	size_t n;

	if (s.n == 0)
		return 0;
	c = s.p[end ? s.n - 1 : 0];
	if (c == ' ' || (c >= '\t' && c <= '\r'))
		return 1;
	for (size_t i = 0; c >= 0x80 && i < sizeof(wide) / sizeof(wide[0]);
	    i++) {
		n = strlen(wide[i]);
		if (s.n >= n &&
		    memcmp(s.p + (end ? s.n - n : 0), wide[i], n) == 0)
			return n;
	}
	return 0;
}

static struct ck_span
trim(struct ck_span s)
{
	size_t n;

	while ((n = space_at(s, false)) > 0) {
		s.p += n;
		s.n -= n;
	}
	while ((n = space_at(s, true)) > 0)
		s.n -= n;
	return s;
}

static struct ck_span
unquote(struct ck_span s)
{
	if (s.n >= 2 && (s.p[0] == '"' || s.p[0] == '\'') &&
	    s.p[s.n - 1] == s.p[0]) {
		s.p++;
		s.n -= 2;
	}
	return s;
}

static bool
is_name(struct ck_span s)
{
	if (s.n == 0 || s.n >= CK_DOTENV_NAME_SIZE)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		uint8_t c = s.p[i];

		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		    c == '_' || (i > 0 && c >= '0' && c <= '9')))
			return false;
	}
	return true;
}

/* false: a line that is passed over. */
static bool
read_line(struct ck_span line, struct entry *ret)
{
	const uint8_t *eq;
	size_t n;

	line = trim(line);
	if (line.n == 0 || line.p[0] == '#')
		return false;
	eq = memchr(line.p, '=', line.n);
	if (eq == NULL)
		return false;
	n = (size_t)(eq - line.p);
	ret->name = trim((struct ck_span){ line.p, n });
	ret->value = unquote(trim((struct ck_span){ eq + 1,
	    line.n - n - 1 }));
	return is_name(ret->name);
}

static ck_err
add(struct entries *e, struct entry line)
{
	size_t room = e->room == 0 ? 32 : e->room * 2;
	struct entry *p;

	if (e->n == e->room) {
		p = realloc(e->at, room * sizeof(*p));
		if (p == NULL)
			return CK_NOMEM;
		e->at = p;
		e->room = room;
	}
	line.index = e->n;
	e->at[e->n++] = line;
	return CK_OK;
}

static ck_err
collect(struct ck_span text, struct entries *e)
{
	struct entry line = { .later = false };
	const uint8_t *lf;
	size_t n;
	ck_err r;

	while (text.n > 0) {
		lf = memchr(text.p, '\n', text.n);
		n = lf == NULL ? text.n : (size_t)(lf - text.p);
		if (read_line((struct ck_span){ text.p, n }, &line) &&
		    (r = add(e, line)) != CK_OK)
			return r;
		n += lf != NULL;
		text.p += n;
		text.n -= n;
	}
	return CK_OK;
}

static int
by_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = ck_span_compare(x->name, y->name);

	return c != 0 ? c : (x->index > y->index) - (x->index < y->index);
}

static int
by_index(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

/* The first of equal names wins.  By sorting, so that a file of many lines
 * costs no square of their number. */
static void
mark_later(struct entries *e)
{
	if (e->n < 2)
		return;
	qsort(e->at, e->n, sizeof(*e->at), by_name);
	for (size_t i = 1; i < e->n; i++)
		e->at[i].later = ck_span_equal(e->at[i - 1].name,
		    e->at[i].name);
	qsort(e->at, e->n, sizeof(*e->at), by_index);
}

static ck_err
give(const struct entry *e, ck_dotenv_cb *cb, void *arg, const char *path,
    struct ck_fail *fail)
{
	struct ck_secret value = CK_SECRET_INIT;
	char name[CK_DOTENV_NAME_SIZE];
	ck_err r;

	memcpy(name, e->name.p, e->name.n);
	name[e->name.n] = '\0';
	if ((r = ck_secret_copy(e->value.p, e->value.n, &value)) != CK_OK)
		return ck_fail_set(fail, r, path, "secure memory is full");
	r = cb(arg, name, &value);
	ck_secret_wipe(&value);
	return r;
}

ck_err
ck_dotenv_each(const char *path, ck_dotenv_cb *cb, void *arg,
    struct ck_fail *fail)
{
	struct ck_secret text = CK_SECRET_INIT;
	struct entries e = { NULL, 0, 0 };
	ck_err r;

	if ((r = read_file(path, &text, fail)) != CK_OK)
		goto out;
	r = collect((struct ck_span){ text.p, text.n }, &e);
	if (r != CK_OK) {
		r = ck_fail_set(fail, r, path, "no memory to examine it");
		goto out;
	}
	mark_later(&e);
	for (size_t i = 0; i < e.n && r == CK_OK; i++)
		if (!e.at[i].later)
			r = give(&e.at[i], cb, arg, path, fail);
out:
	free(e.at);
	ck_secret_wipe(&text);
	return r;
}

ck_err
ck_dotenv_find_bearer(const char *path, bool *ret_found,
    struct ck_secret *ret_first, struct ck_fail *fail)
{
	struct ck_secret text = CK_SECRET_INIT;
	struct ck_span key;
	ck_err r;

	if ((r = read_file(path, &text, fail)) != CK_OK)
		goto out;
	key = ck_bearer_search((struct ck_span){ text.p, text.n });
	if (key.p != NULL && ret_first != NULL) {
		r = ck_secret_copy(key.p, key.n, ret_first);
		if (r != CK_OK) {
			r = ck_fail_set(fail, r, path,
			    "secure memory is full");
			goto out;
		}
	}
	*ret_found = key.p != NULL;
out:
	ck_secret_wipe(&text);
	return r;
}
