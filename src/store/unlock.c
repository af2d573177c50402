/* SPDX-License-Identifier: Apache-2.0 */
/* unlock.json; see unlock.h.  Its text is in secure memory only. */
#include "store/unlock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/io.h"
#include "store/json.h"

/* Two paths of CK_PATH_MAX, each byte at most six when escaped. */
#define UNLOCK_FILE_MAX ((size_t)16384)

#define FILE_RULES (CK_IO_OWNER | CK_IO_PRIVATE | CK_IO_ONELINK)
#define DIR_RULES (CK_IO_OWNER | CK_IO_PRIVATE)

void
ck_unlock_wipe(struct ck_unlock *u)
{
	ck_secret_wipe(&u->password);
	ck_secret_wipe(&u->pending_password);
	*u = (struct ck_unlock)CK_UNLOCK_INIT;
}

ck_err
ck_unlock_make(struct ck_secret *ret)
{
	struct ck_secret random = CK_SECRET_INIT;
	ck_err r;

	if ((r = ck_secret_random(CK_UNLOCK_PASSWORD_SIZE / 2, &random)) !=
	    CK_OK)
		return r;
	r = ck_secret_hex(&random, ret);
	ck_secret_wipe(&random);
	return r;
}

static bool
is_hex(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!((p[i] >= '0' && p[i] <= '9') ||
		    (p[i] >= 'a' && p[i] <= 'f')))
			return false;
	return true;
}

static bool
is_password(const struct ck_secret *s)
{
	return s->p != NULL && s->n == CK_UNLOCK_PASSWORD_SIZE &&
	    is_hex(s->p, s->n);
}

/* Every member has the shape that ck_unlock_get() accepts. */
static bool
is_good(const struct ck_unlock *u)
{
	if (!is_password(&u->password) || u->keychain[0] != '/')
		return false;
	if (!is_hex((const uint8_t *)u->signature, strlen(u->signature)) ||
	    !is_hex((const uint8_t *)u->print, strlen(u->print)) ||
	    !is_hex((const uint8_t *)u->operation, strlen(u->operation)))
		return false;
	if (u->pending_password.p == NULL)
		return u->pending_keychain[0] == '\0';
	return is_password(&u->pending_password) &&
	    u->pending_keychain[0] == '/';
}

#define PIECES 10

static ck_err
join(const struct ck_span piece[PIECES], struct ck_secret *ret)
{
	struct ck_secret s = CK_SECRET_INIT;
	size_t n = 0;
	ck_err r;

	for (int i = 0; i < PIECES; i++)
		n += piece[i].n;
	if ((r = ck_secret_alloc(n, &s)) != CK_OK)
		return r;
	n = 0;
	for (int i = 0; i < PIECES; i++) {
		if (piece[i].n > 0)
			memcpy(s.p + n, piece[i].p, piece[i].n);
		n += piece[i].n;
	}
	ck_secret_move(ret, &s);
	return CK_OK;
}

static struct ck_span
span(const struct ck_secret *s)
{
	return (struct ck_span){ s->p, s->n };
}

static ck_err
write_text(const struct ck_unlock *u, struct ck_secret *ret)
{
	struct ck_secret path = CK_SECRET_INIT, pending = CK_SECRET_INIT;
	struct ck_span piece[PIECES] = { { NULL, 0 } };
	char middle[320];
	size_t n = 0;
	ck_err r;

	if ((r = ck_json_encode(CK_SPAN_TEXT(u->keychain), &path)) != CK_OK)
		goto out;
	(void)snprintf(middle, sizeof(middle),
	    "\",\"generation\":%" PRIu64 ",\"signature\":\"%s\"%s%s%s%s%s%s",
	    u->generation, u->signature,
	    u->print[0] == '\0' ? "" : ",\"print\":\"", u->print,
	    u->print[0] == '\0' ? "" : "\"",
	    u->operation[0] == '\0' ? "" : ",\"operation\":\"", u->operation,
	    u->operation[0] == '\0' ? "" : "\"");
	piece[n++] = CK_SPAN_TEXT("{\"version\":1,\"keychain\":");
	piece[n++] = span(&path);
	piece[n++] = CK_SPAN_TEXT(",\"password\":\"");
	piece[n++] = span(&u->password);
	piece[n++] = CK_SPAN_TEXT(middle);
	if (u->pending_password.p != NULL) {
		r = ck_json_encode(CK_SPAN_TEXT(u->pending_keychain),
		    &pending);
		if (r != CK_OK)
			goto out;
		piece[n++] = CK_SPAN_TEXT(",\"pending\":{\"keychain\":");
		piece[n++] = span(&pending);
		piece[n++] = CK_SPAN_TEXT(",\"password\":\"");
		piece[n++] = span(&u->pending_password);
		piece[n++] = CK_SPAN_TEXT("\"}}\n");
	} else {
		piece[n++] = CK_SPAN_TEXT("}\n");
	}
	r = join(piece, ret);
out:
	ck_secret_wipe(&path);
	ck_secret_wipe(&pending);
	return r;
}

ck_err
ck_unlock_open_dir(const char *path, bool make, int *ret_dirfd,
    struct ck_fail *fail)
{
	char dir[CK_PATH_MAX], parent[CK_PATH_MAX];
	ck_err r;

	ck_path_parent(path, dir);
	ck_path_parent(dir, parent);
	if (make && ((r = ck_io_make_dir(AT_FDCWD, parent, parent, 0700,
	    fail)) != CK_OK || (r = ck_io_make_dir(AT_FDCWD, dir, dir, 0700,
	    fail)) != CK_OK))
		return r;
	return ck_io_open_dir(AT_FDCWD, dir, dir, DIR_RULES, ret_dirfd, NULL,
	    fail);
}

/* Judge what has the file's name.  CK_NOSTORE when nothing has. */
static ck_err
open_file(int dirfd, const char *path, int *ret_fd, struct ck_fail *fail)
{
	return ck_io_open_file(dirfd, ck_path_base(path), path, FILE_RULES,
	    ret_fd, NULL, fail);
}

ck_err
ck_unlock_put(const char *path, const struct ck_unlock *u,
    struct ck_fail *fail)
{
	struct ck_secret text = CK_SECRET_INIT;
	int dirfd = -1, fd = -1;
	ck_err r;

	if (!is_good(u))
		return ck_fail_set(fail, CK_USAGE, path,
		    "what should be stored has a wrong shape");
	if ((r = write_text(u, &text)) != CK_OK) {
		r = ck_fail_set(fail, r == CK_DAMAGED ? CK_REFUSED : r, path,
		    r == CK_DAMAGED ?
		    "cannot name a keychain whose path is not UTF-8" :
		    "secure memory is full");
		goto out;
	}
	if ((r = ck_unlock_open_dir(path, true, &dirfd, fail)) != CK_OK)
		goto out;
	/* A link or a foreign file is not replaced either: whoever put it
	 * there would learn of it, or wait for the next one. */
	r = open_file(dirfd, path, &fd, fail);
	if (r != CK_OK && r != CK_NOSTORE)
		goto out;
	r = ck_io_replace(dirfd, ck_path_base(path), path, text.p, text.n,
	    0600, fail);
out:
	ck_io_close(&fd);
	ck_io_close(&dirfd);
	ck_secret_wipe(&text);
	return r;
}

static ck_err
take_password(const struct ck_json_object *o, struct ck_secret *ret)
{
	const struct ck_json_member *m = ck_json_member(o, "password");
	struct ck_secret s = CK_SECRET_INIT;
	ck_err r;

	if (m == NULL)
		return CK_DAMAGED;
	if ((r = ck_json_decode(m->value, &s)) != CK_OK)
		return r;
	if (is_password(&s))
		ck_secret_move(ret, &s);
	else
		r = CK_DAMAGED;
	ck_secret_wipe(&s);
	return r;
}

/* Plain digits, as ck_unlock_put() writes them. */
static ck_err
take_number(const struct ck_json_object *o, const char *key, uint64_t *ret)
{
	const struct ck_json_member *m = ck_json_member(o, key);
	uint64_t v = 0;

	if (m == NULL)
		return CK_DAMAGED;
	for (size_t i = 0; i < m->value.n; i++) {
		unsigned int d = (unsigned int)m->value.p[i] - '0';

		if (d > 9 || v > (UINT64_MAX - d) / 10)
			return CK_DAMAGED;
		v = v * 10 + d;
	}
	*ret = v;
	return CK_OK;
}

/* Up to size - 1 hex digits. */
static ck_err
take_hex(const struct ck_json_member *m, char *ret, size_t size)
{
	size_t n;

	if (m == NULL || m->value.p[0] != '"')
		return CK_DAMAGED;
	n = m->value.n - 2;
	if (n >= size || !is_hex(m->value.p + 1, n))
		return CK_DAMAGED;
	memcpy(ret, m->value.p + 1, n);
	ret[n] = '\0';
	return CK_OK;
}

/* A member that is not written when it would be empty. */
static ck_err
take_some(const struct ck_json_object *o, const char *key, char *ret,
    size_t size, size_t *known)
{
	const struct ck_json_member *m = ck_json_member(o, key);
	ck_err r;

	if (m == NULL)
		return CK_OK;
	(*known)++;
	if ((r = take_hex(m, ret, size)) != CK_OK)
		return r;
	return ret[0] == '\0' ? CK_DAMAGED : CK_OK;
}

static ck_err
take_pending(const struct ck_json_object *o, struct ck_unlock *u)
{
	const struct ck_json_member *m = ck_json_member(o, "pending");
	struct ck_json_object p = CK_JSON_OBJECT_INIT;
	ck_err r;

	if (m == NULL)
		return CK_OK;
	if ((r = ck_json_scan(m->value, NULL, &p, NULL)) != CK_OK)
		return r;
	r = ck_json_path(&p, "keychain", u->pending_keychain);
	if (r == CK_OK)
		r = take_password(&p, &u->pending_password);
	if (r == CK_OK && p.n != 2)
		r = CK_UNSUPPORTED;
	ck_json_object_free(&p);
	return r;
}

static ck_err
take_all(const struct ck_json_object *o, struct ck_unlock *u)
{
	uint64_t version = 0;
	size_t known = 5;
	ck_err r;

	if ((r = take_number(o, "version", &version)) != CK_OK)
		return r;
	if (version != 1)
		return CK_UNSUPPORTED;
	if ((r = ck_json_path(o, "keychain", u->keychain)) != CK_OK)
		return r;
	if ((r = take_password(o, &u->password)) != CK_OK)
		return r;
	if ((r = take_number(o, "generation", &u->generation)) != CK_OK)
		return r;
	if ((r = take_hex(ck_json_member(o, "signature"), u->signature,
	    sizeof(u->signature))) != CK_OK ||
	    (r = take_some(o, "print", u->print, sizeof(u->print),
	    &known)) != CK_OK ||
	    (r = take_some(o, "operation", u->operation, sizeof(u->operation),
	    &known)) != CK_OK)
		return r;
	if ((r = take_pending(o, u)) != CK_OK)
		return r;
	known += u->pending_password.p != NULL;
	return o->n == known ? CK_OK : CK_UNSUPPORTED;
}

static ck_err
explain(ck_err r, const char *path, struct ck_fail *fail)
{
	switch (r) {
	case CK_NOMEM:
		return ck_fail_set(fail, r, path, "memory is full");
	case CK_UNSUPPORTED:
		return ck_fail_set(fail, r, path,
		    "was written by another version of clankie-keys");
	default:
		return ck_fail_set(fail, CK_DAMAGED, path,
		    "lacks a member, or has one of a wrong shape");
	}
}

ck_err
ck_unlock_get(const char *path, struct ck_unlock *ret, struct ck_fail *fail)
{
	struct ck_unlock u = CK_UNLOCK_INIT;
	struct ck_json_object o = CK_JSON_OBJECT_INIT;
	struct ck_secret text = CK_SECRET_INIT;
	int dirfd = -1, fd = -1;
	ck_err r;

	if ((r = ck_unlock_open_dir(path, false, &dirfd, fail)) != CK_OK)
		goto out;
	if ((r = open_file(dirfd, path, &fd, fail)) != CK_OK)
		goto out;
	if ((r = ck_secret_read_file(fd, UNLOCK_FILE_MAX, path, &text,
	    fail)) != CK_OK)
		goto out;
	if ((r = ck_json_scan(span(&text), path, &o, fail)) != CK_OK)
		goto out;
	if ((r = take_all(&o, &u)) != CK_OK) {
		r = explain(r, path, fail);
		goto out;
	}
	*ret = u;
	u = (struct ck_unlock)CK_UNLOCK_INIT;
out:
	ck_unlock_wipe(&u);
	ck_json_object_free(&o);
	ck_secret_wipe(&text);
	ck_io_close(&fd);
	ck_io_close(&dirfd);
	return r;
}

ck_err
ck_unlock_tidy(const char *path, struct ck_fail *fail)
{
	char form[CK_PATH_MAX];
	int dirfd = -1;
	ck_err r;

	if ((r = ck_path_format(form, fail, "%s" CK_IO_TEMP,
	    ck_path_base(path))) != CK_OK ||
	    (r = ck_unlock_open_dir(path, false, &dirfd, fail)) != CK_OK)
		return r;
	r = ck_io_sweep(dirfd, form, path, fail);
	ck_io_close(&dirfd);
	return r;
}

ck_err
ck_unlock_remove(const char *path, struct ck_fail *fail)
{
	int dirfd = -1, fd = -1;
	ck_err r;

	if ((r = ck_unlock_open_dir(path, false, &dirfd, fail)) != CK_OK)
		goto out;
	if ((r = open_file(dirfd, path, &fd, fail)) != CK_OK)
		goto out;
	r = ck_io_remove(dirfd, ck_path_base(path), path, fail);
out:
	ck_io_close(&fd);
	ck_io_close(&dirfd);
	return r;
}
