/* SPDX-License-Identifier: Apache-2.0 */
/* Open, unlock, find and read; see keychain.h. */
#include "keychain/keychain.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "keychain/kc_int.h"

#define OPEN_TRIES 100   /* of a directory that is being replaced meanwhile */

void
kc_lock_name(const char *base, char ret[KC_LOCK_NAME_SIZE])
{
	uint8_t md[CK_SHA1_BYTES];

	/* SHA-1 is the name's format, not a protection. */
	ck_hash(CK_SHA1, CK_SPAN_TEXT(base), md);
	(void)snprintf(ret, KC_LOCK_NAME_SIZE, ".fl%02X%02X%02X%02X", md[0],
	    md[1], md[2], md[3]);
}

struct kc *
kc_alloc(void)
{
	struct kc *kc = calloc(1, sizeof(*kc));

	if (kc != NULL)
		kc->dirfd = kc->fd = kc->lockfd = -1;
	return kc;
}

ck_err
kc_place(struct kc *kc, const char *path, struct ck_fail *fail)
{
	char parent[CK_PATH_MAX], real[CK_PATH_MAX];
	const char *base = ck_path_base(path);
	ck_err r;

	if (path[0] != '/' || base[0] == '\0' || strcmp(base, ".") == 0 ||
	    strcmp(base, "..") == 0 || strlen(path) >= sizeof(parent))
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is not the absolute path of a file");
	ck_path_parent(path, parent);
	if ((r = ck_path_canonical(parent, real, fail)) != CK_OK)
		return r;
	if ((r = ck_path_join(real, base, kc->path, fail)) != CK_OK)
		return r;
	(void)snprintf(kc->base, sizeof(kc->base), "%s", base);
	r = ck_io_open_dir(AT_FDCWD, real, real, 0, &kc->dirfd, NULL, fail);
	if (r == CK_NOSTORE)
		(void)ck_fail_set(fail, r, kc->path,
		    "the directory does not exist");
	return r;
}

ck_err
kc_take_lock(struct kc *kc, unsigned int wait_ms, struct ck_fail *fail)
{
	char name[KC_LOCK_NAME_SIZE], shown[CK_PATH_MAX];
	ck_err r;

	kc_lock_name(kc->base, name);
	ck_path_parent(kc->path, shown);
	if ((r = ck_path_join(shown, name, shown, fail)) != CK_OK)
		return r;
	return ck_io_lock(kc->dirfd, name, shown, 0444, wait_ms, &kc->lockfd,
	    fail);
}

/* Find and parse the one DbBlob of the file. */
static ck_err
load_blob(struct kc *kc, struct ck_fail *fail)
{
	uint32_t number = 0;
	ck_err r;

	r = kc_db_next(kc->db, KC_REL_DB_BLOB, &number, &kc->blob_record,
	    fail);
	if (r == CK_ABSENT)
		return ck_fail_set(fail, CK_DAMAGED, kc->path,
		    "has no database blob");
	if (r != CK_OK)
		return r;
	return kc_db_blob_parse(kc->blob_record.data, kc->path, &kc->blob,
	    fail);
}

/* The directory was replaced by another one between our opening it and our
 * looking into it, as rotate --keychain does. */
static bool
is_moved(const struct kc *kc)
{
	char dir[CK_PATH_MAX];
	struct stat held, now;

	ck_path_parent(kc->path, dir);
	return kc->dirfd >= 0 && fstat(kc->dirfd, &held) == 0 &&
	    lstat(dir, &now) == 0 && (held.st_dev != now.st_dev ||
	    held.st_ino != now.st_ino);
}

static ck_err
open_once(const char *path, unsigned int rules, bool writing,
    unsigned int wait_ms, struct kc **ret, bool *ret_moved,
    struct ck_fail *fail)
{
	struct kc *kc = kc_alloc();
	ck_err r;

	*ret_moved = false;
	if (kc == NULL)
		return ck_fail_set(fail, CK_NOMEM, path, "no memory");
	if ((r = kc_place(kc, path, fail)) != CK_OK)
		goto out;
	/* Look before locking: a lock file must not appear beside something
	 * that is no keychain. */
	r = ck_io_open_file(kc->dirfd, kc->base, kc->path, rules, &kc->fd,
	    &kc->st, fail);
	if (r != CK_OK)
		goto out;
	if (writing) {
		if ((r = kc_db_open_fd(kc->fd, kc->path, &kc->db,
		    fail)) != CK_OK)
			goto out;
		kc_db_free(&kc->db);
		ck_io_close(&kc->fd);
		if ((r = kc_take_lock(kc, wait_ms, fail)) != CK_OK)
			goto out;
		/* What was there before the lock may be stale. */
		r = ck_io_open_file(kc->dirfd, kc->base, kc->path, rules,
		    &kc->fd, &kc->st, fail);
		if (r != CK_OK)
			goto out;
	}
	kc->writing = writing;
	kc->mode = kc->st.st_mode & 07777;
	if ((r = kc_db_open_fd(kc->fd, kc->path, &kc->db, fail)) != CK_OK)
		goto out;
	if ((r = load_blob(kc, fail)) != CK_OK)
		goto out;
	*ret = kc;
	return CK_OK;
out:
	*ret_moved = r == CK_NOSTORE && is_moved(kc);
	kc_close(&kc);
	return r;
}

static ck_err
open_any(const char *path, unsigned int rules, bool writing,
    unsigned int wait_ms, struct kc **ret, struct ck_fail *fail)
{
	bool moved = true;
	ck_err r = CK_NOSTORE;

	for (int i = 0; moved && i < OPEN_TRIES; i++)
		r = open_once(path, rules, writing, wait_ms, ret, &moved,
		    fail);
	return r;
}

ck_err
kc_open(const char *path, unsigned int rules, struct kc **ret,
    struct ck_fail *fail)
{
	return open_any(path, rules, false, 0, ret, fail);
}

ck_err
kc_open_write(const char *path, unsigned int rules, unsigned int wait_ms,
    struct kc **ret, struct ck_fail *fail)
{
	return open_any(path, rules, true, wait_ms, ret, fail);
}

void
kc_close(struct kc **kcp)
{
	struct kc *kc = *kcp;
	char name[KC_LOCK_NAME_SIZE];

	if (kc == NULL)
		return;
	kc_keys_wipe(&kc->keys);
	ck_secret_wipe(&kc->master);
	kc_db_free(&kc->db);
	ck_buf_free(&kc->acl);
	ck_buf_free(&kc->touched);
	ck_io_close(&kc->fd);
	/* Nothing stays behind of a file that was not made.  Whoever waits
	 * for this lock finds it without a name and makes a new one. */
	if (kc->creating && !kc->committed && kc->lockfd >= 0) {
		kc_lock_name(kc->base, name);
		(void)unlinkat(kc->dirfd, name, 0);
	}
	ck_io_close(&kc->lockfd);
	ck_io_close(&kc->dirfd);
	free(kc);
	*kcp = NULL;
}

void
kc_info(const struct kc *kc, struct kc_info *ret)
{
	ret->version = kc->blob.version;
	ret->idle_timeout = kc->blob.idle_timeout;
	ret->lock_on_sleep = kc->blob.lock_on_sleep != 0;
	ret->commit = kc_db_commit(kc->db);
	memcpy(ret->signature, kc->blob.signature, sizeof(ret->signature));
}

const char *
kc_path(const struct kc *kc)
{
	return kc->path;
}

const struct stat *
kc_stat(const struct kc *kc)
{
	return &kc->st;
}

struct kc_db *
kc_db(struct kc *kc)
{
	return kc->db;
}

bool
kc_is_unlocked(const struct kc *kc)
{
	return kc->unlocked;
}

/* Try a master key; take it over on success. */
static ck_err
unlock_master(struct kc *kc, struct ck_secret *master, struct ck_fail *fail)
{
	struct kc_keys keys = KC_KEYS_INIT;
	ck_err r;

	r = kc_db_blob_open(&kc->blob, master, &keys);
	if (r == CK_LOCKED) {
		(void)ck_fail_set(fail, r, kc->path,
		    "is locked: the password does not open it");
		/* Section 17: such a file may need a key that only the
		 * system holds, and the right password looks wrong. */
		if (ck_path_contains_nocase(kc->path, "login.keychain"))
			ck_fail_next(fail, "a login keychain of macOS 26 or "
			    "later can be bound to its Mac; there the system "
			    "itself has to open it");
		return r;
	}
	if (r != CK_OK)
		return ck_fail_set(fail, r, kc->path, "cannot be unlocked");
	kc_keys_wipe(&kc->keys);
	ck_secret_wipe(&kc->master);
	kc->keys = keys;
	ck_secret_move(&kc->master, master);
	kc->unlocked = true;
	return CK_OK;
}

ck_err
kc_unlock(struct kc *kc, const struct ck_secret *password,
    struct ck_fail *fail)
{
	struct ck_secret master = CK_SECRET_INIT;
	ck_err r;

	r = kc_master_key(password, kc->blob.salt, &master);
	if (r == CK_OK)
		r = unlock_master(kc, &master, fail);
	else
		(void)ck_fail_set(fail, r, kc->path,
		    "the key cannot be derived");
	ck_secret_wipe(&master);
	return r;
}

ck_err
kc_unlock_keyfile(struct kc *kc, const struct ck_secret *file,
    struct ck_fail *fail)
{
	struct ck_secret master = CK_SECRET_INIT;
	uint8_t signature[16];
	ck_err r;

	if ((r = kc_unlock_key_parse(file, signature, &master)) != CK_OK)
		return ck_fail_set(fail, r, kc->path,
		    "what was given is not an unlock-key file");
	if (memcmp(signature, kc->blob.signature, sizeof(signature)) != 0)
		r = ck_fail_set(fail, CK_REFUSED, kc->path,
		    "the unlock-key file belongs to another keychain");
	else
		r = unlock_master(kc, &master, fail);
	ck_secret_wipe(&master);
	return r;
}

ck_err
kc_need_keys(const struct kc *kc, struct ck_fail *fail)
{
	if (kc->unlocked)
		return CK_OK;
	(void)ck_fail_set(fail, CK_LOCKED, kc->path,
	    "is locked and no password was given");
	ck_fail_next(fail, "give its password with --password-fd N");
	return CK_LOCKED;
}
