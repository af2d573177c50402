/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing a candidate with the credential; see authenticate.h. */
#include "custody/authenticate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/io.h"
#include "custody/resolve.h"

/* A reading that meets a change is begun again this often. */
enum { TRIES = 5 };

static int64_t
nanoseconds(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#ifdef __APPLE__
#define MTIME(st) nanoseconds((st)->st_mtimespec)
#define CTIME(st) nanoseconds((st)->st_ctimespec)
#else
#define MTIME(st) nanoseconds((st)->st_mtim)
#define CTIME(st) nanoseconds((st)->st_ctim)
#endif

static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	    a->st_size == b->st_size && MTIME(a) == MTIME(b) &&
	    CTIME(a) == CTIME(b);
}

/* The file at path is the one that is held, unchanged. */
static bool
still(const char *path, const struct stat *seen)
{
	struct stat st;

	return fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    same_file(&st, seen);
}

/* Before the migration the dedicated file must be known to be missing: it
 * decides from the moment it appears. */
static bool
current(const struct ck_auth *a)
{
	struct stat st;

	if (a->digest.p == NULL)
		return false;
	if (!a->dedicated &&
	    (fstatat(AT_FDCWD, a->place.keychain, &st,
	    AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT))
		return false;
	return still(a->path, &a->seen);
}

static ck_err
digest_of(const struct ck_auth *a, const uint8_t *p, size_t n,
    struct ck_secret *ret, struct ck_fail *fail)
{
	unsigned int len = 0;

	if (HMAC(EVP_sha256(), a->key.p, (int)a->key.n, p, n, ret->p,
	    &len) == NULL || len != CK_AUTH_DIGEST_SIZE)
		return ck_fail_set(fail, CK_INTERNAL, NULL,
		    "the digest cannot be computed");
	return CK_OK;
}

/* What a candidate is compared with. */
static ck_err
digest_value(const struct ck_auth *a, enum ck_format format,
    const struct ck_secret *value, struct ck_secret *ret,
    struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT;
	ck_err r;

	if (format != CK_FORMAT_OPERATOR_BEARER)
		return digest_of(a, value->p, value->n, ret, fail);
	if ((r = ck_bearer_key(value, &key)) != CK_OK)
		return ck_fail_set(fail, r, NULL,
		    "the stored bearer has no key");
	r = digest_of(a, key.p, key.n, ret, fail);
	ck_secret_wipe(&key);
	return r;
}

/*
 * One reading: the store is resolved, its file held, and the store resolved
 * again while it is held, so that what is remembered about the file is older
 * than the value.  CK_CHANGED when the two do not belong together.
 */
static ck_err
read_once(struct ck_auth *a, const struct ck_resolved *where,
    struct ck_secret *ret_digest, int *ret_fd, struct stat *ret_st,
    struct ck_fail *fail)
{
	struct ck_secret value = CK_SECRET_INIT, digest = CK_SECRET_INIT;
	struct ck_place place = a->place;
	struct ck_resolved again;
	struct stat st;
	int fd = -1;
	ck_err r;

	r = ck_io_open_file(AT_FDCWD, where->path, NULL, CK_IO_OWNER, &fd, &st,
	    fail);
	/* It answered a moment ago: the credential was moved, or the keychain
	 * is being replaced.  Resolving again tells. */
	if (r == CK_NOSTORE)
		return ck_fail_set(fail, CK_CHANGED, where->path,
		    "disappeared while it was read");
	if (r != CK_OK)
		return r;
	if ((r = ck_resolve(&place, NULL, &value, &again, fail)) != CK_OK)
		goto out;
	if (again.kind != where->kind || strcmp(again.path, where->path) != 0 ||
	    !still(where->path, &st)) {
		r = ck_fail_set(fail, CK_CHANGED, where->path,
		    "changes while it is read");
		goto out;
	}
	if (ck_secret_alloc(CK_AUTH_DIGEST_SIZE, &digest) != CK_OK)
		r = ck_fail_set(fail, CK_NOMEM, NULL, "no secure memory");
	else
		r = digest_value(a, place.format, &value, &digest, fail);
	if (r != CK_OK)
		goto out;
	ck_secret_move(ret_digest, &digest);
	*ret_fd = fd;
	*ret_st = st;
	fd = -1;
out:
	ck_secret_wipe(&value);
	ck_secret_wipe(&digest);
	ck_io_close(&fd);
	return r;
}

/* Which file answers now; the value itself is not wanted yet. */
static ck_err
find_place(const struct ck_auth *a, struct ck_resolved *ret,
    struct ck_fail *fail)
{
	struct ck_secret value = CK_SECRET_INIT;
	struct ck_place place = a->place;
	ck_err r = ck_resolve(&place, NULL, &value, ret, fail);

	ck_secret_wipe(&value);
	return r;
}

static ck_err
read_again(struct ck_auth *a, struct ck_fail *fail)
{
	struct ck_secret digest = CK_SECRET_INIT;
	struct ck_resolved where;
	struct stat st;
	int fd = -1;
	ck_err r = CK_CHANGED;

	/* Fail closed: from here on nothing old can answer. */
	ck_secret_wipe(&a->digest);
	for (int i = 0; i < TRIES && r == CK_CHANGED; i++)
		if ((r = find_place(a, &where, fail)) == CK_OK)
			r = read_once(a, &where, &digest, &fd, &st, fail);
	if (r != CK_OK)
		return r;
	/* The old file is let go only now that the new one is held. */
	ck_io_close(&a->fd);
	a->fd = fd;
	a->seen = st;
	a->dedicated = where.kind == CK_KIND_DEDICATED;
	memcpy(a->path, where.path, sizeof(a->path));
	ck_secret_move(&a->digest, &digest);
	return CK_OK;
}

ck_err
ck_auth_open(const struct ck_place *place, struct ck_auth *ret,
    struct ck_fail *fail)
{
	struct ck_auth a = CK_AUTH_INIT;
	ck_err r;

	a.place = *place;
	if ((r = ck_secret_random(CK_AUTH_DIGEST_SIZE, &a.key)) != CK_OK)
		return ck_fail_set(fail, r, NULL, "no key for the digest");
	*ret = a;
	return CK_OK;
}

void
ck_auth_close(struct ck_auth *a)
{
	ck_secret_wipe(&a->digest);
	ck_secret_wipe(&a->key);
	ck_io_close(&a->fd);
}

void
ck_auth_batch(struct ck_auth *a)
{
	a->tried = false;
}

ck_err
ck_auth_ask(struct ck_auth *a, const uint8_t *p, size_t n,
    struct ck_fail *fail)
{
	struct ck_secret mine = CK_SECRET_INIT;
	ck_err r;

	if (n == 0)
		return CK_NO;
	if (a->tried)
		return ck_fail_set(fail, a->why, NULL,
		    "the store could not be read a moment ago");
	if (!current(a) && (r = read_again(a, fail)) != CK_OK) {
		a->tried = true;
		a->why = r;
		return r;
	}
	if (ck_secret_alloc(CK_AUTH_DIGEST_SIZE, &mine) != CK_OK)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no secure memory");
	r = digest_of(a, p, n, &mine, fail);
	if (r == CK_OK && CRYPTO_memcmp(mine.p, a->digest.p,
	    CK_AUTH_DIGEST_SIZE) != 0)
		r = CK_NO;
	ck_secret_wipe(&mine);
	return r;
}
