/* SPDX-License-Identifier: Apache-2.0 */
/* Creating a keychain, its password and settings, and the commit. */
#include "keychain/keychain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/rand.h>

#include "base/io.h"
#include "keychain/kc_int.h"

/* Encode the database blob under the current master key and store it. */
static ck_err
put_blob(struct kc *kc, const struct kc_db_blob *blob,
    const struct ck_secret *master, struct ck_fail *fail)
{
	struct ck_buf out = CK_BUF_INIT;
	uint32_t number;
	ck_err r;

	if ((r = kc_db_blob_encode(blob, master, &kc->keys, &out)) != CK_OK) {
		(void)ck_fail_set(fail, r, kc->path,
		    "the database blob cannot be encrypted");
		goto out;
	}
	if (kc->blob_record.relation != KC_REL_DB_BLOB) {
		r = kc_db_insert(kc->db, KC_REL_DB_BLOB, NULL,
		    ck_buf_view(&out), &number, fail);
		if (r == CK_OK) {
			kc->blob_record.relation = KC_REL_DB_BLOB;
			kc->blob_record.number = number;
		}
	} else {
		r = kc_db_update(kc->db, KC_REL_DB_BLOB,
		    kc->blob_record.number, NULL, ck_buf_view(&out), fail);
	}
out:
	ck_buf_free(&out);
	return r;
}

static ck_err
random_bytes(uint8_t *p, size_t n, struct ck_fail *fail)
{
	if (RAND_bytes(p, (int)n) == 1)
		return CK_OK;
	return ck_fail_set(fail, CK_IO, NULL,
	    "the system's random generator failed");
}

ck_err
kc_set_password(struct kc *kc, const struct ck_secret *password,
    struct ck_fail *fail)
{
	struct ck_secret master = CK_SECRET_INIT;
	struct kc_db_blob blob = kc->blob;
	ck_err r;

	if ((r = kc_need_keys(kc, fail)) != CK_OK ||
	    (r = kc_need_write(kc, fail)) != CK_OK ||
	    (r = random_bytes(blob.salt, sizeof(blob.salt), fail)) != CK_OK ||
	    (r = random_bytes(blob.iv, sizeof(blob.iv), fail)) != CK_OK)
		return r;
	if ((r = kc_master_key(password, blob.salt, &master)) != CK_OK)
		return ck_fail_set(fail, r, kc->path,
		    "the key cannot be derived");
	if ((r = put_blob(kc, &blob, &master, fail)) == CK_OK) {
		kc->blob = blob;
		ck_secret_wipe(&kc->master);
		ck_secret_move(&kc->master, &master);
	}
	ck_secret_wipe(&master);
	return r;
}

ck_err
kc_set_settings(struct kc *kc, uint32_t idle_timeout, bool lock_on_sleep,
    struct ck_fail *fail)
{
	struct kc_db_blob blob = kc->blob;
	ck_err r;

	if ((r = kc_need_keys(kc, fail)) != CK_OK ||
	    (r = kc_need_write(kc, fail)) != CK_OK ||
	    (r = random_bytes(blob.iv, sizeof(blob.iv), fail)) != CK_OK)
		return r;
	blob.idle_timeout = idle_timeout;
	blob.lock_on_sleep = lock_on_sleep ? 1 : 0;
	if ((r = put_blob(kc, &blob, &kc->master, fail)) == CK_OK)
		kc->blob = blob;
	return r;
}

/* Is the file under that name still the one that was read? */
static ck_err
still_same(const struct kc *kc, struct ck_fail *fail)
{
	struct stat st;
	uint8_t word[4];
	ck_err r;

	if (fstatat(kc->dirfd, kc->base, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return ck_fail_set(fail, CK_CHANGED, kc->path,
		    "disappeared while it was being changed");
	if (st.st_dev != kc->st.st_dev || st.st_ino != kc->st.st_ino ||
	    st.st_size != kc->st.st_size ||
	    st.st_mtime != kc->st.st_mtime)
		return ck_fail_set(fail, CK_CHANGED, kc->path,
		    "was changed by another program that did not take the "
		    "lock");
	/* The same file at the same second: its writers change the commit
	 * counter, the last word, with every commit. */
	r = ck_io_pread(kc->fd, word, sizeof(word),
	    (uint64_t)st.st_size - sizeof(word), kc->path, fail);
	if (r == CK_OK && ck_get_be32(word) != kc_db_commit(kc->db))
		r = ck_fail_set(fail, CK_CHANGED, kc->path,
		    "was written by another program meanwhile");
	return r;
}

/* The bytes about to be written must be a keychain that we would accept. */
static ck_err
prove(const struct kc *kc, const struct ck_buf *bytes, struct ck_fail *fail)
{
	struct kc_db *db = NULL;
	ck_err r;

	r = kc_db_open_bytes(ck_buf_view(bytes), kc->path, &db, fail);
	if (r == CK_OK)
		r = kc_db_verify(db, fail);
	kc_db_free(&db);
	/* Our own output being damaged is our fault, not the file's. */
	if (r == CK_DAMAGED)
		r = ck_fail_set(fail, CK_INTERNAL, kc->path,
		    "what was to be written would be damaged; the file stays "
		    "as it is");
	return r;
}

ck_err
kc_commit(struct kc *kc, struct ck_fail *fail)
{
	struct ck_buf bytes = CK_BUF_INIT;
	unsigned int how = CK_IO_APPLE;
	ck_err r;

	if ((r = kc_need_write(kc, fail)) != CK_OK)
		return r;
	if (kc->torn || kc->committed)
		return ck_fail_set(fail, CK_INTERNAL, kc->path, kc->torn ?
		    "a change failed half-way, so none is written" :
		    "the changes were written already");
	if ((r = kc_db_serialise(kc->db, false, &bytes, fail)) != CK_OK)
		goto out;
	if ((r = prove(kc, &bytes, fail)) != CK_OK)
		goto out;
	if (kc->creating)
		how |= CK_IO_NEW;
	else if ((r = still_same(kc, fail)) != CK_OK)
		goto out;
	r = ck_io_replace_how(kc->dirfd, kc->base, kc->path, bytes.p, bytes.n,
	    kc->mode, kc->creating ? (gid_t)-1 : kc->st.st_gid, how, fail);
	if (r == CK_OK)
		kc->committed = true;
out:
	ck_buf_free(&bytes);
	return r;
}

/* macOS 26 re-encrypts anything named like a login keychain (section 17). */
static ck_err
name_allowed(const char *path, struct ck_fail *fail)
{
	if (!ck_path_contains_nocase(path, "login.keychain"))
		return CK_OK;
	(void)ck_fail_set(fail, CK_REFUSED, path,
	    "contains \"login.keychain\": macOS takes such a file for a login "
	    "keychain and may bind it to the machine");
	ck_fail_next(fail, "choose another name");
	return CK_REFUSED;
}

/* Fill the blob's fields of a new file. */
static ck_err
new_blob(struct kc *kc, const struct kc_new_file *how,
    const struct ck_secret *password, struct ck_fail *fail)
{
	struct kc_db_blob *blob = &kc->blob;
	ck_err r;

	memset(blob, 0, sizeof(*blob));
	blob->version = how->version;
	blob->idle_timeout = how->idle_timeout;
	blob->lock_on_sleep = how->lock_on_sleep ? 1 : 0;
	kc_acl_open(&kc->acl);
	if ((r = ck_buf_ok(&kc->acl)) != CK_OK)
		return ck_fail_set(fail, r, kc->path, "no memory");
	blob->public_acl = ck_buf_view(&kc->acl);
	if ((r = random_bytes(blob->signature, sizeof(blob->signature),
	    fail)) != CK_OK ||
	    (r = random_bytes(blob->salt, sizeof(blob->salt), fail)) != CK_OK ||
	    (r = random_bytes(blob->iv, sizeof(blob->iv), fail)) != CK_OK)
		return r;
	if ((r = kc_keys_random(&kc->keys)) != CK_OK)
		return ck_fail_set(fail, r, kc->path,
		    "no random keys can be made");
	if ((r = kc_master_key(password, blob->salt, &kc->master)) != CK_OK)
		return ck_fail_set(fail, r, kc->path,
		    "the key cannot be derived");
	kc->unlocked = true;
	return CK_OK;
}

ck_err
kc_create(const char *path, const struct kc_new_file *how,
    const struct ck_secret *password, unsigned int wait_ms, struct kc **ret,
    struct ck_fail *fail)
{
	struct kc *kc = kc_alloc();
	struct stat st;
	ck_err r;

	if (kc == NULL)
		return ck_fail_set(fail, CK_NOMEM, path, "no memory");
	if ((r = kc_place(kc, path, fail)) != CK_OK ||
	    (r = name_allowed(path, fail)) != CK_OK ||
	    (r = name_allowed(kc->path, fail)) != CK_OK)
		goto out;
	if (fstatat(kc->dirfd, kc->base, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		r = ck_fail_set(fail, CK_REFUSED, kc->path, "exists already");
		goto out;
	}
	if (errno != ENOENT) {
		r = ck_fail_sys(fail, errno, kc->path, "examine it");
		goto out;
	}
	if ((r = kc_take_lock(kc, wait_ms, fail)) != CK_OK)
		goto out;
	kc->writing = kc->begun = kc->creating = true;
	kc->mode = how->mode;
	if ((r = kc_db_new(&kc->db, fail)) != CK_OK)
		goto out;
	if ((r = new_blob(kc, how, password, fail)) != CK_OK)
		goto out;
	r = put_blob(kc, &kc->blob, &kc->master, fail);
out:
	if (r == CK_OK)
		*ret = kc;
	else
		kc_close(&kc);
	return r;
}
