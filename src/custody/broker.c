/* SPDX-License-Identifier: Apache-2.0 */
/* Both kinds of broker behind one face; see broker.h. */
#include "custody/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/platform.h"
#include "store/broker_file.h"
#include "store/index.h"
#include "store/json.h"
#include "store/login.h"

/* Room that is kept free beside a second copy of a store, in bytes. */
#define SPARE_BYTES (256ULL * 1024)

/* Largest file broker that is edited: its text, the edited one and what a
 * JSON parser makes of it fit together into the secure memory of migrate.
 * Real ones have a few KiB. */
#define EDIT_MAX ((off_t)512 * 1024)

static struct ck_login
as_login(const struct ck_place *p)
{
	struct ck_login login = { p->broker, p->login_password, CK_WAIT_MS };

	return login;
}

static bool
is_keychain(const struct ck_place *p)
{
	return p->broker_kind == CK_KIND_LOGIN_KEYCHAIN;
}

ck_err
ck_broker_lock(const struct ck_place *p, struct ck_broker_lock *ret,
    struct ck_fail *fail)
{
	if (is_keychain(p))
		return ck_broker_lock_keychain(p->home, p->service,
		    CK_WAIT_MS, ret, fail);
	return ck_broker_lock_file(p->broker, CK_WAIT_MS, ret, fail);
}

ck_err
ck_broker_read(const struct ck_place *p, struct ck_secret *ret,
    struct ck_fail *fail)
{
	struct ck_login login = as_login(p);
	struct ck_secret unwanted = CK_SECRET_INIT;
	ck_err r;

	if (is_keychain(p))
		return ck_login_find(&login, p->service, p->account, ret,
		    fail);
	r = ck_broker_file_find(p->broker, p->account,
	    ret != NULL ? ret : &unwanted, fail);
	ck_secret_wipe(&unwanted);
	return r;
}

/* How an index is edited: ck_index_with() or ck_index_without(). */
typedef ck_err index_edit(const struct ck_secret *index, const char *account,
    bool *ret_changed, struct ck_secret *ret);

/* Change the index item, if there is one and store says so.  A stale entry is
 * harmless, a broken index its owner's to mend. */
static ck_err
edit_index(const struct ck_place *p, index_edit *edit, bool store,
    bool *ret_changed, struct ck_fail *fail)
{
	struct ck_login login = as_login(p);
	struct ck_secret index = CK_SECRET_INIT, edited = CK_SECRET_INIT;
	struct ck_login_item item = { p->service, CK_INDEX_ACCOUNT, NULL,
	    &edited };
	bool changed = false;
	ck_err r = CK_ABSENT;

	if (is_keychain(p))
		r = ck_login_find(&login, p->service, CK_INDEX_ACCOUNT, &index,
		    fail);
	if (r == CK_ABSENT) {
		*ret_changed = false;
		return CK_OK;
	}
	if (r != CK_OK)
		return r;
	r = edit(&index, p->account, &changed, &edited);
	if (r == CK_DAMAGED && store)
		r = CK_OK;
	else if (r != CK_OK)
		(void)ck_fail_set(fail, r, p->broker,
		    "has an index item (%s / %s) that cannot be read",
		    p->service, CK_INDEX_ACCOUNT);
	else if (changed && store)
		r = ck_login_update(&login, &item, &index, fail);
	if (r == CK_OK)
		*ret_changed = changed;
	ck_secret_wipe(&index);
	ck_secret_wipe(&edited);
	return r;
}

ck_err
ck_broker_index(const struct ck_place *p, bool prune, bool *ret,
    struct ck_fail *fail)
{
	return edit_index(p, ck_index_without, prune, ret, fail);
}

ck_err
ck_broker_erase(const struct ck_place *p, const struct ck_secret *expected,
    struct ck_broker_lock *lock, struct ck_fail *fail)
{
	struct ck_login login = as_login(p);
	bool stale;
	ck_err r, i;

	if (!is_keychain(p))
		return ck_broker_file_erase(p->broker, p->account, expected,
		    lock, fail);
	if ((r = ck_broker_lock_touch(lock, fail)) != CK_OK)
		return r;
	r = ck_login_delete(&login, p->service, p->account, expected, fail);
	if (r != CK_OK && r != CK_ABSENT)
		return r;
	/* Also after an interrupted run that came no further than the item. */
	if ((i = ck_broker_index(p, true, &stale, fail)) != CK_OK)
		return i;
	return r;
}

static ck_err
keychain_put(const struct ck_place *p, const struct ck_secret *value,
    struct ck_fail *fail)
{
	struct ck_login login = as_login(p);
	const struct ck_login_item item = { p->service, p->account, NULL,
	    value };
	struct ck_secret now = CK_SECRET_INIT;
	bool same = false, changed;
	ck_err r;

	r = ck_login_find(&login, p->service, p->account, &now, fail);
	if (r == CK_OK && (ck_format_same(p->format, value, &now,
	    &same) != CK_OK || !same))
		r = ck_fail_set(fail, CK_CHANGED, p->broker,
		    "holds another %s / %s already", p->service, p->account);
	ck_secret_wipe(&now);
	if (r != CK_ABSENT)
		return r;
	if ((r = edit_index(p, ck_index_with, true, &changed,
	    fail)) != CK_OK ||
	    (r = ck_login_add(&login, &item, fail)) == CK_OK)
		return r;
	/* An index that names nothing says no more than it must. */
	if (ck_login_find(&login, p->service, p->account, NULL,
	    NULL) == CK_ABSENT)
		(void)!edit_index(p, ck_index_without, true, &changed, NULL);
	return r;
}

ck_err
ck_broker_put(const struct ck_place *p, const struct ck_secret *value,
    struct ck_broker_lock *lock, struct ck_fail *fail)
{
	ck_err r;

	if (!is_keychain(p))
		return ck_broker_file_put(p->broker, p->account, value, NULL,
		    lock, fail);
	if ((r = ck_broker_lock_touch(lock, fail)) != CK_OK)
		return r;
	return keychain_put(p, value, fail);
}

ck_err
ck_broker_settle(const struct ck_place *p, struct ck_fail *fail)
{
	char dir[CK_PATH_MAX];
	int fd = -1;
	ck_err r;

	ck_path_parent(p->broker, dir);
	if ((r = ck_io_open_file(AT_FDCWD, p->broker, p->broker, CK_IO_OWNER,
	    &fd, NULL, fail)) != CK_OK)
		return r;
	r = ck_io_sync(fd, p->broker, fail);
	ck_io_close(&fd);
	if (r != CK_OK || (r = ck_io_open_dir(AT_FDCWD, dir, dir, 0, &fd, NULL,
	    fail)) != CK_OK)
		return r;
	r = ck_io_sync(fd, dir, fail);
	ck_io_close(&fd);
	return r;
}

ck_err
ck_broker_same(const struct ck_place *p, const struct ck_secret *value,
    const struct ck_secret *stored, bool *ret)
{
	ck_err r;

	if (is_keychain(p) || p->format != CK_FORMAT_OPAQUE)
		return ck_format_same(p->format, value, stored, ret);
	r = ck_json_same((struct ck_span){ value->p, value->n },
	    (struct ck_span){ stored->p, stored->n }, ret);
	/* What is no JSON is held by nobody, and so is not the same. */
	if (r == CK_DAMAGED) {
		*ret = false;
		r = CK_OK;
	}
	return r;
}

ck_err
ck_broker_could_hold(const struct ck_place *p, const struct ck_secret *value,
    struct ck_fail *fail)
{
	return is_keychain(p) ? CK_OK : ck_broker_file_could_hold(p->broker,
	    p->account, value, fail);
}

ck_err
ck_broker_may_follow(const struct ck_place *p, const struct ck_secret *value,
    const struct ck_secret *before, struct ck_fail *fail)
{
	return is_keychain(p) ? CK_OK : ck_broker_file_kind(p->broker,
	    p->account, value, before, fail);
}

ck_err
ck_broker_puttable(const struct ck_place *p, const struct ck_secret *value,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_broker_writable(p, fail)) != CK_OK || is_keychain(p))
		return r;
	return ck_broker_file_puttable(p->broker, p->account, value, fail);
}

ck_err
ck_broker_writable(const struct ck_place *p, struct ck_fail *fail)
{
	char dir[CK_PATH_MAX];
	struct ck_fs_info fs;
	struct stat st;
	unsigned long long need;
	int fd = -1;
	ck_err r;

	if (lstat(p->broker, &st) != 0)
		return errno == ENOENT ? CK_OK : ck_fail_sys(fail, errno,
		    p->broker, "examine it");
	if (!is_keychain(p) && st.st_size > EDIT_MAX)
		return ck_fail_set(fail, CK_UNSUPPORTED, p->broker,
		    "has %lld bytes; a file broker of more than %lld is not "
		    "edited", (long long)st.st_size, (long long)EDIT_MAX);
	ck_path_parent(p->broker, dir);
	r = ck_io_open_dir(AT_FDCWD, dir, dir, 0, &fd, NULL, fail);
	if (r != CK_OK)
		return r;
	if ((r = ck_platform_fs(fd, dir, &fs, fail)) != CK_OK)
		goto out;
	need = (unsigned long long)st.st_size + SPARE_BYTES;
	if (fs.readonly)
		r = ck_fail_set(fail, CK_READONLY, dir,
		    "is on a read-only file system, so %s could not be "
		    "changed", ck_path_base(p->broker));
	else if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) != 0)
		r = ck_fail_sys(fail, errno, dir,
		    "replace the broker's file in it");
	else if (fs.free < need)
		r = ck_fail_set(fail, CK_NOSPACE, dir,
		    "has %llu bytes free, and %llu are needed to rewrite %s",
		    fs.free, need, ck_path_base(p->broker));
out:
	ck_io_close(&fd);
	return r;
}
