/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changing the file broker; see broker_file.h.  Every edit is: lock, read,
 * compare, edit the bytes, see that nobody without the lock wrote meanwhile,
 * replace, read back.
 */
#include "store/broker_file.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#include "base/io.h"
#include "base/path.h"
#include "store/broker_text.h"

/* The time of the last change with its fraction, as the system names it. */
#if defined(__APPLE__)
#define CTIME st_ctimespec
#else
#define CTIME st_ctim
#endif

static struct ck_span
span(const struct ck_secret *s)
{
	return (struct ck_span){ s->p, s->n };
}

static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	    a->st_size == b->st_size &&
	    a->CTIME.tv_sec == b->CTIME.tv_sec &&
	    a->CTIME.tv_nsec == b->CTIME.tv_nsec;
}

/*
 * The name still stands for the very file that was read.  Versions of the
 * broker that know no lock replace the file, which gives another inode; what
 * remains open is the moment between this look and our rename.
 */
static ck_err
unchanged(const struct ck_broker_text *b, struct ck_fail *fail)
{
	struct stat st;
	bool gone = fstatat(b->dirfd, ck_path_base(b->path), &st,
	    AT_SYMLINK_NOFOLLOW) != 0;

	if (b->missing && gone)
		return CK_OK;
	if (!b->missing && !gone && same_file(&st, &b->st))
		return CK_OK;
	(void)ck_fail_set(fail, CK_CHANGED, b->path,
	    "was written by another program meanwhile");
	ck_fail_next(fail, "try again");
	return CK_CHANGED;
}

/* Read from a fresh open; the same bytes must come back. */
static ck_err
read_back(const char *path, const struct ck_secret *text,
    struct ck_fail *fail)
{
	struct ck_broker_text b = CK_BROKER_TEXT_INIT(path);
	ck_err r;

	r = ck_broker_text_open(&b, fail);
	if (r == CK_OK && !ck_secret_equal(&b.text, text)) {
		r = ck_fail_set(fail, CK_CHANGED, path,
		    "was overwritten by another program at once");
		ck_fail_next(fail, "see what runs that uses it, then try "
		    "again");
	}
	ck_broker_text_close(&b);
	return r;
}

static ck_err
store(const struct ck_broker_text *b, const struct ck_secret *text,
    struct ck_broker_lock *lock, struct ck_fail *fail)
{
	ck_err r;

	if (text->n > CK_BROKER_FILE_MAX)
		return ck_fail_set(fail, CK_UNSUPPORTED, b->path,
		    "would become larger than %zu bytes", CK_BROKER_FILE_MAX);
	if ((r = ck_broker_lock_touch(lock, fail)) != CK_OK)
		return r;
	if ((r = unchanged(b, fail)) != CK_OK)
		return r;
	r = ck_io_replace(b->dirfd, ck_path_base(b->path), b->path, text->p,
	    text->n, 0600, fail);
	if (r != CK_OK)
		return r;
	return read_back(b->path, text, fail);
}

/* The value that is there must be the one the caller knows. */
static ck_err
compare(const struct ck_broker_text *b, const struct ck_json_member *m,
    const char *key, const struct ck_secret *expected, struct ck_fail *fail)
{
	bool same = false;
	ck_err r;

	r = ck_json_same(m->value, span(expected), &same);
	if (r == CK_NOMEM)
		return ck_fail_set(fail, r, b->path,
		    "not enough secure memory to compare %s", key);
	/* What jansson cannot represent is at least not known to be equal. */
	if (r == CK_OK && same)
		return CK_OK;
	return ck_fail_set(fail, CK_CHANGED, b->path,
	    "has another value for %s than expected", key);
}

/* The caller's lock, or one for this call in *own. */
static ck_err
lock_for(const char *path, struct ck_broker_lock **lock,
    struct ck_broker_lock *own, struct ck_fail *fail)
{
	ck_err r;

	if (*lock != NULL && ck_broker_lock_held(*lock))
		return ck_broker_lock_touch(*lock, fail);
	r = ck_broker_lock_file(path, CK_BROKER_LOCK_WAIT_MS, own, fail);
	*lock = r == CK_OK ? own : NULL;
	return r;
}

ck_err
ck_broker_file_erase(const char *path, const char *provider,
    const struct ck_secret *expected, struct ck_broker_lock *lock,
    struct ck_fail *fail)
{
	struct ck_broker_text b = CK_BROKER_TEXT_INIT(path);
	struct ck_broker_lock own = CK_BROKER_LOCK_INIT;
	struct ck_secret edited = CK_SECRET_INIT;
	const struct ck_json_member *m = NULL;
	char key[CK_PROVIDER_SIZE];
	ck_err r;

	if ((r = ck_broker_provider(provider, key, fail)) != CK_OK)
		goto out;
	r = lock_for(path, &lock, &own, fail);
	/* Without the directory there is nothing to lock; the read below
	 * tells a missing store from everything else. */
	if (r != CK_OK && r != CK_NOSTORE)
		goto out;
	if ((r = ck_broker_text_open(&b, fail)) != CK_OK)
		goto out;
	if ((r = ck_broker_text_find(&b, key, &m, fail)) != CK_OK)
		goto out;
	if (m == NULL) {
		r = ck_broker_text_absent(&b, key, fail);
		goto out;
	}
	if (lock == NULL) {
		r = ck_fail_set(fail, CK_CHANGED, path,
		    "appeared while it was examined");
		goto out;
	}
	if ((r = compare(&b, m, key, expected, fail)) != CK_OK)
		goto out;
	if ((r = ck_json_cut_member(&b.text, key, path, &edited, fail)) !=
	    CK_OK)
		goto out;
	r = store(&b, &edited, lock, fail);
out:
	ck_secret_wipe(&edited);
	ck_broker_text_close(&b);
	ck_broker_lock_release(&own);
	return r;
}

ck_err
ck_broker_file_erasable(const char *path, const char *provider,
    struct ck_fail *fail)
{
	struct ck_broker_text b = CK_BROKER_TEXT_INIT(path);
	struct ck_secret edited = CK_SECRET_INIT;
	const struct ck_json_member *m = NULL;
	char key[CK_PROVIDER_SIZE];
	ck_err r;

	if ((r = ck_broker_provider(provider, key, fail)) == CK_OK &&
	    (r = ck_broker_text_open(&b, fail)) == CK_OK &&
	    (r = ck_broker_text_find(&b, key, &m, fail)) == CK_OK)
		r = m == NULL ? ck_broker_text_absent(&b, key, fail) :
		    ck_json_cut_member(&b.text, key, path, &edited, fail);
	ck_secret_wipe(&edited);
	ck_broker_text_close(&b);
	return r;
}

/* The directory of path, 0700, when only it is missing. */
static ck_err
make_parent(const char *path, struct ck_fail *fail)
{
	char dir[CK_PATH_MAX];

	ck_path_parent(path, dir);
	return ck_io_make_dir(AT_FDCWD, dir, dir, 0700, fail);
}

/*
 * Whether the value may be written: CK_OK with *ret_there when it is there
 * already, CK_CHANGED when what is there is not what the caller knows.
 */
static ck_err
may_put(const struct ck_broker_text *b, const char *key,
    const struct ck_secret *value, const struct ck_secret *expected,
    bool *ret_there, struct ck_fail *fail)
{
	const struct ck_json_member *m = NULL;
	bool same = false;
	ck_err r;

	if ((r = ck_broker_text_find(b, key, &m, fail)) != CK_OK)
		return r;
	if (m == NULL && expected == NULL)
		return CK_OK;
	if (m == NULL)
		return ck_fail_set(fail, CK_CHANGED, b->path,
		    "no longer holds %s", key);
	r = ck_json_same(m->value, span(value), &same);
	if (r == CK_OK && same) {
		*ret_there = true;
		return CK_OK;
	}
	if (r == CK_NOMEM)
		return ck_fail_set(fail, r, b->path,
		    "not enough secure memory to compare %s", key);
	if (expected == NULL)
		return ck_fail_set(fail, CK_CHANGED, b->path,
		    "holds another %s already", key);
	return compare(b, m, key, expected, fail);
}

ck_err
ck_broker_file_put(const char *path, const char *provider,
    const struct ck_secret *value, const struct ck_secret *expected,
    struct ck_broker_lock *lock, struct ck_fail *fail)
{
	struct ck_broker_text b = CK_BROKER_TEXT_INIT(path);
	struct ck_broker_lock own = CK_BROKER_LOCK_INIT;
	struct ck_secret edited = CK_SECRET_INIT;
	char key[CK_PROVIDER_SIZE];
	struct ck_span text = CK_SPAN_NONE;
	bool there = false;
	ck_err r;

	if ((r = ck_broker_provider(provider, key, fail)) != CK_OK)
		goto out;
	if (ck_json_check(span(value), &text) != CK_OK) {
		r = ck_fail_set(fail, CK_USAGE, path,
		    "the value for %s is not JSON", key);
		goto out;
	}
	r = lock_for(path, &lock, &own, fail);
	if (r == CK_NOSTORE && (r = make_parent(path, fail)) == CK_OK)
		r = lock_for(path, &lock, &own, fail);
	if (r != CK_OK)
		goto out;
	if ((r = ck_broker_text_open(&b, fail)) != CK_OK)
		goto out;
	r = may_put(&b, key, value, expected, &there, fail);
	if (r != CK_OK || there)
		goto out;
	if ((r = ck_json_put_member(&b.text, key, value, path, &edited,
	    fail)) != CK_OK)
		goto out;
	r = store(&b, &edited, lock, fail);
out:
	ck_secret_wipe(&edited);
	ck_broker_text_close(&b);
	ck_broker_lock_release(&own);
	return r;
}

/* Which of JSON's kinds it is, by the character it begins with; 0: none. */
static int
kind_of(const struct ck_secret *value)
{
	struct ck_span text = CK_SPAN_NONE;

	if (ck_json_check(span(value), &text) != CK_OK)
		return 0;
	if (text.p[0] == '-' || isdigit(text.p[0]))
		return '0';
	return text.p[0] == 'f' ? 't' : text.p[0];
}

static ck_err
is_json(const char *path, const char *provider, const struct ck_secret *value,
    struct ck_fail *fail)
{
	if (kind_of(value) != 0)
		return CK_OK;
	return ck_fail_set(fail, CK_UNSUPPORTED, path,
	    "holds JSON only, and the value of %s is none", provider);
}

ck_err
ck_broker_file_kind(const char *path, const char *provider,
    const struct ck_secret *value, const struct ck_secret *before,
    struct ck_fail *fail)
{
	int kind = kind_of(value);

	if (kind == '{' || (kind != 0 && kind == kind_of(before)))
		return CK_OK;
	return ck_fail_set(fail, CK_UNSUPPORTED, path,
	    "holds JSON objects, which the new value of %s is not; programs "
	    "that use the file drop anything else", provider);
}

/* jansson is the judge: it is what the proof of an edit is made with. */
static ck_err
unprovable(ck_err r, const char *path, const char *provider,
    struct ck_fail *fail)
{
	return r != CK_USAGE ? r : ck_fail_set(fail, CK_UNSUPPORTED, path,
	    "takes only JSON that can be proved unchanged after an edit, and "
	    "the value of %s has some that cannot", provider);
}

ck_err
ck_broker_file_could_hold(const char *path, const char *provider,
    const struct ck_secret *value, struct ck_fail *fail)
{
	struct ck_secret empty = CK_SECRET_INIT, edited = CK_SECRET_INIT;
	char key[CK_PROVIDER_SIZE];
	ck_err r;

	if ((r = is_json(path, provider, value, fail)) != CK_OK ||
	    (r = ck_broker_provider(provider, key, fail)) != CK_OK)
		return r;
	if ((r = ck_secret_copy("{}\n", 3, &empty)) != CK_OK)
		return ck_fail_set(fail, r, path, "secure memory is full");
	r = unprovable(ck_json_put_member(&empty, key, value, path, &edited,
	    fail), path, provider, fail);
	ck_secret_wipe(&edited);
	ck_secret_wipe(&empty);
	return r;
}

ck_err
ck_broker_file_puttable(const char *path, const char *provider,
    const struct ck_secret *value, struct ck_fail *fail)
{
	struct ck_broker_text b = CK_BROKER_TEXT_INIT(path);
	struct ck_secret edited = CK_SECRET_INIT;
	char key[CK_PROVIDER_SIZE];
	bool there = false;
	ck_err r;

	if ((r = is_json(path, provider, value, fail)) == CK_OK &&
	    (r = ck_broker_provider(provider, key, fail)) == CK_OK &&
	    (r = ck_broker_text_open(&b, fail)) == CK_OK &&
	    (r = may_put(&b, key, value, NULL, &there, fail)) == CK_OK &&
	    !there)
		r = unprovable(ck_json_put_member(&b.text, key, value, path,
		    &edited, fail), path, provider, fail);
	ck_secret_wipe(&edited);
	ck_broker_text_close(&b);
	return r;
}
