/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening, checking, reading, replacing and locking files.  Every check is
 * made on the opened descriptor; every descriptor is close-on-exec.
 */
#ifndef CK_BASE_IO_H
#define CK_BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "err.h"

/* What an opened file or directory must be; else CK_REFUSED, with the reason. */
enum ck_io_rule {
	CK_IO_OWNER = 1,     /* owned by the effective user */
	CK_IO_PRIVATE = 2,   /* no bit for group or others */
	CK_IO_NOWRITE = 4,   /* not writable by group or others */
	CK_IO_ONELINK = 8,   /* link count 1 (files only) */
	CK_IO_WRITE = 16     /* open read-write instead of read-only */
};

/*
 * Open a regular file below dirfd (AT_FDCWD: any path) without following a
 * symbolic link in the last component and without ever blocking: FIFOs,
 * devices, directories and links are CK_REFUSED.  A missing file is
 * CK_NOSTORE; one that is replaced meanwhile is opened again (CK_CHANGED when
 * that never ends).  shown is the path used in messages; NULL means name.
 * *ret_fd and *ret_st (may be NULL) are written on success only.
 */
CK_MUST_USE ck_err ck_io_open_file(int dirfd, const char *name,
    const char *shown, unsigned int rules, int *ret_fd, struct stat *ret_st,
    struct ck_fail *fail);

/*
 * Judge a file by its name, without opening it: for a file that another
 * library opens, and whose POSIX locks closing a descriptor of ours would
 * drop.  The caller proves afterwards, by *ret_st, that it was this one.
 * CK_IO_WRITE means nothing.  A missing file is CK_NOSTORE.
 */
CK_MUST_USE ck_err ck_io_judge_file(int dirfd, const char *name,
    const char *shown, unsigned int rules, struct stat *ret_st,
    struct ck_fail *fail);

/* ck_io_open_file() for a directory; CK_IO_ONELINK and CK_IO_WRITE mean
 * nothing. */
CK_MUST_USE ck_err ck_io_open_dir(int dirfd, const char *name,
    const char *shown, unsigned int rules, int *ret_fd, struct stat *ret_st,
    struct ck_fail *fail);

/* mkdir with exactly mode, whatever the umask; an existing one is CK_OK and
 * left as it is (open it with rules to judge it).  The parent is synced in
 * both cases: the name is then safe from a power cut. */
CK_MUST_USE ck_err ck_io_make_dir(int dirfd, const char *name,
    const char *shown, mode_t mode, struct ck_fail *fail);

/* Exactly n bytes at offset; CK_CHANGED when the file is shorter. */
CK_MUST_USE ck_err ck_io_pread(int fd, void *buf, size_t n, uint64_t offset,
    const char *shown, struct ck_fail *fail);

/*
 * The whole file, at most max bytes (CK_UNSUPPORTED above), into malloc'ed
 * memory with a NUL behind it that *ret_n does not count.  The caller frees.
 */
CK_MUST_USE ck_err ck_io_read_all(int fd, size_t max, const char *shown,
    uint8_t **ret, size_t *ret_n, struct ck_fail *fail);

/* Write every byte. */
CK_MUST_USE ck_err ck_io_write_all(int fd, const void *buf, size_t n,
    const char *shown, struct ck_fail *fail);

/* fsync, with the platform's full flush to the medium where there is one. */
CK_MUST_USE ck_err ck_io_sync(int fd, const char *shown, struct ck_fail *fail);

/*
 * Replace (or create) dirfd/name by n bytes with exactly mode: a temporary
 * file name.tmp-XXXXXXXX in the same directory (O_EXCL, O_NOFOLLOW), written,
 * synced, renamed over name, directory synced.  After an error the old file
 * is intact and the temporary is gone.  The caller holds the lock, so that a
 * temporary file that is there already was left by a killed writer: it is
 * removed.
 */
CK_MUST_USE ck_err ck_io_replace(int dirfd, const char *name,
    const char *shown, const void *buf, size_t n, mode_t mode,
    struct ck_fail *fail);

enum ck_io_how {
	CK_IO_NEW = 1,       /* CK_REFUSED when name exists, decided by the rename */
	CK_IO_APPLE = 2      /* temporary named NAME.sb-XXXXXXXX-XXXXXX, as macOS does
	                      * beside a keychain, so that one rule covers both */
};

/* The same with choices; group is given to the file when it is not (gid_t)-1
 * and the system lets us. */
CK_MUST_USE ck_err ck_io_replace_how(int dirfd, const char *name,
    const char *shown, const void *buf, size_t n, mode_t mode, gid_t group,
    unsigned int how, struct ck_fail *fail);

/* Unlink and sync the directory.  A missing file is CK_NOSTORE. */
CK_MUST_USE ck_err ck_io_remove(int dirfd, const char *name,
    const char *shown, struct ck_fail *fail);

/*
 * The names of those temporary files, behind the name of the final one; each #
 * is a lower-case hexadecimal digit.  Whatever is called otherwise is not ours.
 */
#define CK_IO_TEMP ".tmp-########"
#define CK_IO_TEMP_APPLE ".sb-########-######"

/* name is one that form ("NAME" CK_IO_TEMP) stands for. */
bool ck_io_is_left(const char *name, const char *form);

/*
 * Remove what a writer that was killed left in a directory: regular files of
 * the caller with one link and a name of the form.  The caller holds the lock
 * of those writers, so that none of the files is in use.
 */
CK_MUST_USE ck_err ck_io_sweep(int dirfd, const char *form,
    const char *shown, struct ck_fail *fail);
/* How many files ck_io_sweep() would remove of each of n forms, to ret[n]; the
 * directory is listed once. */
CK_MUST_USE ck_err ck_io_left(int dirfd, const char *const *forms, size_t n,
    const char *shown, size_t *ret, struct ck_fail *fail);

/*
 * Take flock(LOCK_EX) on dirfd/name, created with mode when missing, waiting
 * at most wait_ms.  CK_BUSY when somebody keeps it, named if the system tells.
 * The descriptor holds the lock until it is closed.  Retries when the file was
 * removed meanwhile; whoever removes it while it is locked lets a second one
 * in, so this is for files whose name somebody else prescribes.
 */
CK_MUST_USE ck_err ck_io_lock(int dirfd, const char *name, const char *shown,
    mode_t mode, unsigned int wait_ms, int *ret_fd, struct ck_fail *fail);

/* The same on the directory itself: there is no file to remove.  shown is the
 * directory's path.  CK_CHANGED: it was removed. */
CK_MUST_USE ck_err ck_io_lock_dir(int dirfd, const char *shown,
    unsigned int wait_ms, int *ret_fd, struct ck_fail *fail);

/* Close and set to -1; -1 is fine. */
void ck_io_close(int *fd);

/* Make sure descriptors 0, 1 and 2 are open (on /dev/null if they were not, in
 * a way that reading 0 and writing 1 or 2 fail), so that no file of ours ever
 * gets such a number.  CK_IO. */
CK_MUST_USE ck_err ck_io_standard(void);

#endif
