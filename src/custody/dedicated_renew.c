/* SPDX-License-Identifier: Apache-2.0 */
/* A new dedicated keychain for the old one's items; see dedicated.h. */
#include "custody/dedicated_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/io.h"
#include "base/platform.h"
#include "custody/advice.h"
#include "keychain/keychain.h"
#include "store/login.h"

/* The rename that follows must not reach the disk before what it names. */
static ck_err
sync_dir(int dirfd, const char *name, const char *path, struct ck_fail *fail)
{
	int fd = -1;
	ck_err r;

	if ((r = ck_io_open_dir(dirfd, name, path, CK_IO_OWNER | CK_IO_PRIVATE,
	    &fd, NULL, fail)) == CK_OK)
		r = ck_io_sync(fd, path, fail);
	ck_io_close(&fd);
	return r;
}

/* What the engine calls a file on its way to the keychain's name. */
#define LEFT CK_KEYCHAIN_FILE CK_IO_TEMP_APPLE

ck_err
ck_dedicated_tidy(const struct ck_place *p, struct ck_fail *fail)
{
	const char *path = p->operator_dir;
	int fd = -1;
	ck_err r;

	if ((r = ck_io_open_dir(AT_FDCWD, path, path, CK_IO_OWNER, &fd, NULL,
	    fail)) != CK_OK)
		return r;
	if ((r = ck_io_sweep(fd, LEFT, path, fail)) == CK_OK)
		r = ck_io_sync(fd, path, fail);
	ck_io_close(&fd);
	return r;
}

ck_err
ck_dedicated_renew(const struct ck_place *p, int dirfd, const char *nonce,
    const struct ck_secret *old, const struct ck_secret *next,
    struct ck_fail *fail)
{
	const struct ck_login from = { p->keychain, old, CK_WAIT_MS };
	char file[CK_PATH_MAX], path[CK_PATH_MAX];
	const struct ck_login to = { file, next, CK_WAIT_MS };
	ck_err r;

	if ((r = ck_dedicated_scratch(p, nonce, file, fail)) != CK_OK ||
	    (r = ck_dedicated_discard(p, dirfd, CK_SCRATCH_PREFIX, nonce,
	    fail)) != CK_OK)
		return r;
	ck_path_parent(file, path);
	if ((r = ck_io_make_dir(dirfd, ck_path_base(path), path, 0700,
	    fail)) != CK_OK ||
	    (r = ck_login_renew(&from, &to, CK_DEDICATED_IDLE,
	    fail)) != CK_OK ||
	    (r = ck_dedicated_seal_rebind(file, next, fail)) != CK_OK)
		return r;
	return sync_dir(dirfd, ck_path_base(path), path, fail);
}

/* A name that the keychain's writers use: the file, its lock, and what a
 * killed one left on its way to the name. */
static bool
is_writers(const char *name)
{
	char lock[KC_LOCK_NAME_SIZE];

	kc_lock_name(CK_KEYCHAIN_FILE, lock);
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strcmp(name, CK_KEYCHAIN_FILE) == 0 || strcmp(name, lock) == 0 ||
	    ck_io_is_left(name, LEFT);
}

ck_err
ck_dedicated_alone(const struct ck_place *p, struct ck_fail *fail)
{
	struct dirent *entry;
	DIR *dir;
	int fd = -1, sys;
	ck_err r;

	if ((r = ck_io_open_dir(AT_FDCWD, p->operator_dir, p->operator_dir,
	    CK_IO_OWNER | CK_IO_PRIVATE, &fd, NULL, fail)) != CK_OK)
		return r;
	if ((dir = fdopendir(fd)) == NULL) {
		sys = errno;
		ck_io_close(&fd);
		return ck_fail_sys(fail, sys, p->operator_dir, "list it");
	}
	while ((entry = readdir(dir)) != NULL && is_writers(entry->d_name))
		continue;
	if (entry != NULL) {
		r = ck_fail_set(fail, CK_UNSUPPORTED, p->operator_dir,
		    "holds %.200s, which is not ours and would be lost",
		    entry->d_name);
		ck_fail_next(fail, "move it out of that directory");
	}
	(void)closedir(dir);
	return r;
}

ck_err
ck_dedicated_exchange(const struct ck_place *p, int dirfd, const char *nonce,
    struct ck_fail *fail)
{
	char file[CK_PATH_MAX], path[CK_PATH_MAX];
	int sys;
	ck_err r;

	if ((r = ck_dedicated_scratch(p, nonce, file, fail)) != CK_OK)
		return r;
	ck_path_parent(file, path);
	sys = ck_platform_exchange(dirfd, ck_path_base(path),
	    CK_OPERATOR_DIR);
	if (sys == ENOTSUP || sys == EOPNOTSUPP || sys == EINVAL ||
	    sys == ENOSYS) {
		(void)ck_fail_set(fail, CK_UNSUPPORTED, p->dir,
		    "is on a file system that cannot exchange two directories "
		    "in one step");
		ck_advise(fail, p, "{rotate} replaces the value in the file "
		    "that is there");
		return CK_UNSUPPORTED;
	}
	if (sys != 0)
		return ck_fail_sys(fail, sys, p->operator_dir,
		    "exchange it for the new keychain");
	return ck_io_sync(dirfd, p->dir, fail);
}
