/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new records file.  It is built in memory, written under another name and
 * renamed into place, so that custody.db never exists unfinished: an empty or
 * short one is damage, whatever was interrupted.
 */
#include "records_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/platform.h"

/* The bytes of a new database; the caller gives them to sqlite3_free(). */
static ck_err
image(const char *path, unsigned char **ret, size_t *ret_n,
    struct ck_fail *fail)
{
	sqlite3 *db = NULL;
	unsigned char *bytes;
	sqlite3_int64 n = 0;
	int rc;
	ck_err r;

	rc = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE |
	    SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
	    NULL);
	if (rc != SQLITE_OK) {
		r = ck_rec_fail(db, path, rc, "make the records", fail);
		goto out;
	}
	if ((r = ck_rec_schema_make(db, path, fail)) != CK_OK)
		goto out;
	bytes = sqlite3_serialize(db, "main", &n, 0);
	if (bytes == NULL || n <= 0) {
		sqlite3_free(bytes);
		r = ck_fail_set(fail, CK_NOMEM, path,
		    "no memory to make the records");
		goto out;
	}
	*ret = bytes;
	*ret_n = (size_t)n;
out:
	(void)sqlite3_close(db);
	return r;
}

/* temp becomes the records, or gives way to ones that are there already. */
static ck_err
into_place(int dirfd, const char *temp, const char *path,
    struct ck_fail *fail)
{
	int sys = ck_platform_rename_new(dirfd, temp, dirfd, CK_REC_FILE);

	/* A file system without that kind of rename has links. */
	if (sys == EINVAL || sys == ENOTSUP)
		sys = linkat(dirfd, temp, dirfd, CK_REC_FILE, 0) == 0 ?
		    0 : errno;
	(void)unlinkat(dirfd, temp, 0);
	if (sys != 0 && sys != EEXIST)
		return ck_fail_sys(fail, sys, path, "rename into place");
	return ck_io_sync(dirfd, path, fail);
}

ck_err
ck_records_remove(int dirfd, const char *dir, struct ck_fail *fail)
{
	/* In this order: a journal without its file is known to be nobody's,
	 * a file without its journal may be half written. */
	if (unlinkat(dirfd, CK_REC_FILE, 0) != 0 && errno != ENOENT)
		return ck_fail_sys(fail, errno, dir, "remove the records");
	if (unlinkat(dirfd, CK_REC_FILE "-journal", 0) != 0 &&
	    errno != ENOENT)
		return ck_fail_sys(fail, errno, dir,
		    "remove the records' journal");
	return ck_io_sync(dirfd, dir, fail);
}

ck_err
ck_rec_create(int dirfd, const char *path, struct ck_fail *fail)
{
	unsigned char *bytes = NULL;
	char temp[64];
	struct stat st;
	size_t n = 0;
	int fd = -1;
	ck_err r;

	/* What is there, of whatever kind, is judged by the caller. */
	if (fstatat(dirfd, CK_REC_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return CK_OK;
	if (errno != ENOENT)
		return ck_fail_sys(fail, errno, path, "examine it");
	/* SQLite would undo an old file's change in the new one. */
	if (unlinkat(dirfd, CK_REC_FILE "-journal", 0) != 0 &&
	    errno != ENOENT)
		return ck_fail_sys(fail, errno, path,
		    "remove the journal of a file that is gone");
	if ((r = image(path, &bytes, &n, fail)) != CK_OK)
		return r;
	/* Under the custody lock any that is there was left by a process that
	 * died. */
	if ((r = ck_io_sweep(dirfd, CK_REC_NEW, path, fail)) != CK_OK)
		goto out;
	(void)snprintf(temp, sizeof(temp), CK_REC_FILE ".new-%016lx",
	    (unsigned long)getpid());
	fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd < 0) {
		r = ck_fail_sys(fail, errno, path, "make it");
		goto out;
	}
	if (fchmod(fd, 0600) != 0) {
		r = ck_fail_sys(fail, errno, path, "set the mode");
		goto out;
	}
	if ((r = ck_io_write_all(fd, bytes, n, path, fail)) != CK_OK)
		goto out;
	if ((r = ck_io_sync(fd, path, fail)) != CK_OK)
		goto out;
	r = into_place(dirfd, temp, path, fail);
out:
	if (r != CK_OK && fd >= 0)
		(void)unlinkat(dirfd, temp, 0);
	ck_io_close(&fd);
	sqlite3_free(bytes);
	return r;
}
