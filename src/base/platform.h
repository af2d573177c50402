/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs between operating systems, one file each
 * (platform_linux.c, platform_darwin.c), chosen by the build.
 */
#ifndef CK_BASE_PLATFORM_H
#define CK_BASE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "path.h"

/* Flush fd to the medium.  0 or an errno. */
int ck_platform_sync(int fd);

/* The path of the program of this process.  CK_IO. */
CK_MUST_USE ck_err ck_platform_self(char ret[CK_PATH_MAX],
    struct ck_fail *fail);

/* No core dump, no tracing by other processes of the user.  CK_INTERNAL when
 * the system refuses. */
CK_MUST_USE ck_err ck_platform_harden(void);

/* Swap two entries of one directory in one step.  0 or an errno; ENOTSUP or
 * EINVAL where the file system cannot. */
int ck_platform_exchange(int dirfd, const char *a, const char *b);

/*
 * Which process keeps flock(2) on the file behind fd: its number, and in name
 * ("" when hidden) what it runs.  0: not known, which is usual on macOS.
 */
#define CK_PROCESS_NAME_SIZE 32
long ck_platform_lock_holder(int fd, char name[CK_PROCESS_NAME_SIZE]);

/* rename that never replaces.  0 or an errno (EEXIST). */
int ck_platform_rename_new(int from_dirfd, const char *from, int to_dirfd,
    const char *to);

/* Kind of file system behind fd. */
enum ck_fs {
	CK_FS_LOCAL,
	CK_FS_REMOTE,     /* NFS, SMB, AFS, FUSE, 9p and the like */
	CK_FS_UNKNOWN
};
struct ck_fs_info {
	enum ck_fs kind;
	char name[32];            /* "ext4", "nfs", ... */
	bool readonly;
	unsigned long long free;  /* bytes available to this user */
};
CK_MUST_USE ck_err ck_platform_fs(int fd, const char *shown,
    struct ck_fs_info *ret, struct ck_fail *fail);

#endif
