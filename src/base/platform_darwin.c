/* SPDX-License-Identifier: Apache-2.0 */
/* macOS half of platform.h. */
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <mach-o/dyld.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

int
ck_platform_sync(int fd)
{
	/* fsync alone leaves the data in the drive's cache on macOS. */
	if (fcntl(fd, F_FULLFSYNC) == 0)
		return 0;
	return fsync(fd) == 0 ? 0 : errno;
}

ck_err
ck_platform_self(char ret[CK_PATH_MAX], struct ck_fail *fail)
{
	char path[CK_PATH_MAX];
	uint32_t n = sizeof(path);

	if (_NSGetExecutablePath(path, &n) != 0)
		return ck_fail_set(fail, CK_IO, NULL,
		    "the path of this program is too long");
	return ck_path_canonical(path, ret, fail);
}

ck_err
ck_platform_harden(void)
{
	struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none) != 0)
		return CK_INTERNAL;
	if (ptrace(PT_DENY_ATTACH, 0, NULL, 0) != 0)
		return CK_INTERNAL;
	return CK_OK;
}

int
ck_platform_exchange(int dirfd, const char *a, const char *b)
{
	return renameatx_np(dirfd, a, dirfd, b, RENAME_SWAP) == 0 ? 0 : errno;
}

/* The system tells nobody who keeps a flock. */
long
ck_platform_lock_holder(int fd, char name[CK_PROCESS_NAME_SIZE])
{
	(void)fd;
	name[0] = '\0';
	return 0;
}

int
ck_platform_rename_new(int from_dirfd, const char *from, int to_dirfd,
    const char *to)
{
	return renameatx_np(from_dirfd, from, to_dirfd, to,
	    RENAME_EXCL) == 0 ? 0 : errno;
}

ck_err
ck_platform_fs(int fd, const char *shown, struct ck_fs_info *ret,
    struct ck_fail *fail)
{
	struct ck_fs_info info = { CK_FS_UNKNOWN, "", false, 0 };
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return ck_fail_sys(fail, errno, shown,
		    "examine the file system");
	(void)snprintf(info.name, sizeof(info.name), "%s", fs.f_fstypename);
	info.kind = (fs.f_flags & MNT_LOCAL) != 0 ? CK_FS_LOCAL :
	    CK_FS_REMOTE;
	info.readonly = (fs.f_flags & MNT_RDONLY) != 0;
	info.free = (unsigned long long)fs.f_bavail * fs.f_bsize;
	*ret = info;
	return CK_OK;
}
