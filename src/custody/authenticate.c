/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing a candidate with the credential; see authenticate.h. */
#include "custody/authenticate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <openssl/crypto.h>

#include "base/hash.h"
#include "base/io.h"
#include "custody/resolve.h"

/* A reading that meets a change is begun again this often. */
enum { TRIES = 5 };

/* A file system's clock ticks: what was changed no longer ago than this, in
 * nanoseconds, may change once more and bear the same time. */
#define TICK 100000000

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

static void
look_at(const char *path, struct ck_auth_seen *ret)
{
	ret->sys = lstat(path, &ret->st) == 0 ? 0 : errno;
}

static bool
same(const struct ck_auth_seen *a, const struct ck_auth_seen *b)
{
	const struct stat *x = &a->st, *y = &b->st;

	if (a->sys != 0 || b->sys != 0)
		return a->sys == b->sys;
	return x->st_dev == y->st_dev && x->st_ino == y->st_ino &&
	    x->st_mode == y->st_mode && x->st_uid == y->st_uid &&
	    x->st_size == y->st_size && MTIME(x) == MTIME(y) &&
	    CTIME(x) == CTIME(y);
}

/*
 * Everything that a resolution consults, as place knows it now.  What does not
 * exist is watched too: before the migration the dedicated keychain decides
 * from the moment it appears.
 */
static ck_err
watch_paths(const struct ck_place *place, bool dedicated,
    char ret[CK_AUTH_WATCHED][CK_PATH_MAX], struct ck_fail *fail)
{
	bool by_file = dedicated &&
	    place->broker_kind == CK_KIND_FILE_BROKER;
	/* The broker also beside the keychain: a restore that was stopped may
	 * have recorded it. */
	const char *const paths[] = { place->dir, place->operator_dir,
	    place->keychain, place->broker,
	    by_file ? place->unlock : place->broker };
	size_t n = sizeof(paths) / sizeof(paths[0]);

	for (size_t i = 0; i < n; i++)
		memcpy(ret[i], paths[i], CK_PATH_MAX);
	ck_path_parent(paths[n - 1], ret[n]);
	return ck_path_join(place->dir, CK_REC_FILE, ret[n + 1], fail);
}

/* Some of it was changed so recently that a further change may not show. */
static bool
is_recent(const struct ck_auth_seen *seen)
{
	struct timespec now = { 0, 0 };
	int64_t age;

	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return true;
	for (size_t i = 0; i < CK_AUTH_WATCHED; i++) {
		age = nanoseconds(now) - CTIME(&seen[i].st);
		if (seen[i].sys == 0 && age > -TICK && age < TICK)
			return true;
	}
	return false;
}

static void
look(char paths[CK_AUTH_WATCHED][CK_PATH_MAX], struct ck_auth_seen *ret)
{
	for (size_t i = 0; i < CK_AUTH_WATCHED; i++)
		look_at(paths[i], &ret[i]);
}

/* Nothing that the digest came from has changed since. */
static bool
current(const struct ck_auth *a)
{
	struct ck_auth_seen now;

	if (a->digest.p == NULL || a->recent)
		return false;
	for (size_t i = 0; i < CK_AUTH_WATCHED; i++) {
		look_at(a->paths[i], &now);
		if (!same(&a->seen[i], &now))
			return false;
	}
	return true;
}

static ck_err
digest_of(const struct ck_auth *a, const uint8_t *p, size_t n,
    struct ck_secret *ret, struct ck_fail *fail)
{
	ck_err r = ck_hmac(CK_SHA256, (struct ck_span){ a->key.p, a->key.n },
	    p, n, ret->p);

	return r == CK_OK ? r : ck_fail_set(fail, r, NULL,
	    "no secure memory for the digest");
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

/* Where a resolution ended, and with which names. */
struct found {
	struct ck_place place;
	struct ck_resolved where;
	struct ck_secret value;
};

static ck_err
find(const struct ck_auth *a, struct found *ret, struct ck_fail *fail)
{
	ret->place = a->place;
	return ck_resolve(&ret->place, NULL, &ret->value, &ret->where, fail);
}

/*
 * One reading: the store is resolved, its file held and everything looked at,
 * and the store resolved again, so that what is remembered is older than the
 * value.  CK_CHANGED when the two resolutions do not end in one place.
 */
static ck_err
read_once(struct ck_auth *a, struct found *first, struct found *again,
    struct ck_auth *ret, struct ck_fail *fail)
{
	const char *path = first->where.path;
	bool dedicated = first->where.kind == CK_KIND_DEDICATED;
	ck_err r;

	r = ck_io_open_file(AT_FDCWD, path, NULL, CK_IO_OWNER, &ret->fd, NULL,
	    fail);
	/* It answered a moment ago: the credential was moved, or the keychain
	 * is being replaced.  Resolving again tells. */
	if (r == CK_NOSTORE)
		return ck_fail_set(fail, CK_CHANGED, path,
		    "disappeared while it was read");
	if (r != CK_OK || (r = watch_paths(&first->place, dedicated,
	    ret->paths, fail)) != CK_OK)
		return r;
	look(ret->paths, ret->seen);
	ret->recent = is_recent(ret->seen);
	if ((r = find(a, again, fail)) != CK_OK)
		return r;
	if (again->where.kind != first->where.kind ||
	    strcmp(again->where.path, path) != 0 ||
	    strcmp(again->place.broker, first->place.broker) != 0)
		return ck_fail_set(fail, CK_CHANGED, path,
		    "changes while it is read");
	if (ck_secret_alloc(CK_AUTH_DIGEST_SIZE, &ret->digest) != CK_OK)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no secure memory");
	return digest_value(a, again->place.format, &again->value,
	    &ret->digest, fail);
}

/* What was read takes the place of what was known.  The old file is let go
 * only now that the new one is held. */
static void
take(struct ck_auth *a, struct ck_auth *got)
{
	ck_io_close(&a->fd);
	a->fd = got->fd;
	got->fd = -1;
	memcpy(a->paths, got->paths, sizeof(a->paths));
	memcpy(a->seen, got->seen, sizeof(a->seen));
	a->recent = got->recent;
	ck_secret_move(&a->digest, &got->digest);
}

static ck_err
read_again(struct ck_auth *a, struct ck_fail *fail)
{
	struct ck_auth got = CK_AUTH_INIT;
	struct found first, again;
	ck_err r = CK_CHANGED;

	memset(&first, 0, sizeof(first));
	memset(&again, 0, sizeof(again));
	/* Fail closed: from here on nothing old can answer. */
	ck_secret_wipe(&a->digest);
	for (int i = 0; i < TRIES && r == CK_CHANGED; i++) {
		if ((r = find(a, &first, fail)) == CK_OK)
			r = read_once(a, &first, &again, &got, fail);
		ck_secret_wipe(&first.value);
		ck_secret_wipe(&again.value);
		if (r == CK_OK)
			take(a, &got);
		ck_auth_close(&got);
	}
	return r;
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
	a->looked = false;
}

ck_err
ck_auth_ask(struct ck_auth *a, const uint8_t *p, size_t n,
    struct ck_fail *fail)
{
	struct ck_secret mine = CK_SECRET_INIT;
	ck_err r;

	if (a->tried)
		return ck_fail_set(fail, a->why, NULL,
		    "the store could not be read a moment ago");
	if (!a->looked && !current(a) && (r = read_again(a, fail)) != CK_OK) {
		a->tried = true;
		a->why = r;
		return r;
	}
	a->looked = true;
	/* The store's own failure comes before any no. */
	if (n == 0)
		return CK_NO;
	if (ck_secret_alloc(CK_AUTH_DIGEST_SIZE, &mine) != CK_OK)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no secure memory");
	r = digest_of(a, p, n, &mine, fail);
	if (r == CK_OK && CRYPTO_memcmp(mine.p, a->digest.p,
	    CK_AUTH_DIGEST_SIZE) != 0)
		r = CK_NO;
	ck_secret_wipe(&mine);
	return r;
}
