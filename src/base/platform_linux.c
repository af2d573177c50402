/* SPDX-License-Identifier: Apache-2.0 */
/* Linux half of platform.h. */
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif
#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

int
ck_platform_sync(int fd)
{
	return fsync(fd) == 0 ? 0 : errno;
}

ck_err
ck_platform_self(char ret[CK_PATH_MAX], struct ck_fail *fail)
{
	ssize_t n = readlink("/proc/self/exe", ret, CK_PATH_MAX);

	if (n < 0 || n >= CK_PATH_MAX)
		return ck_fail_sys(fail, n < 0 ? errno : ENAMETOOLONG,
		    "/proc/self/exe", "read it");
	ret[n] = '\0';
	return CK_OK;
}

ck_err
ck_platform_harden(void)
{
	struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none) != 0)
		return CK_INTERNAL;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return CK_INTERNAL;
	return CK_OK;
}

static int
rename_with(int from_dirfd, const char *from, int to_dirfd, const char *to,
    unsigned int flags)
{
	if (syscall(SYS_renameat2, from_dirfd, from, to_dirfd, to, flags) == 0)
		return 0;
	return errno;
}

int
ck_platform_exchange(int dirfd, const char *a, const char *b)
{
	return rename_with(dirfd, a, dirfd, b, RENAME_EXCHANGE);
}

/* /proc/PID/comm, without its line end. */
static void
program_name(long pid, char ret[CK_PROCESS_NAME_SIZE])
{
	char path[64];
	FILE *comm;

	ret[0] = '\0';
	(void)snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	if ((comm = fopen(path, "re")) == NULL)
		return;
	if (fgets(ret, CK_PROCESS_NAME_SIZE, comm) == NULL)
		ret[0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	(void)fclose(comm);
}

/*
 * A line of /proc/locks, proc(5):
 *   1: FLOCK  ADVISORY  WRITE 708 08:02:1966 0 EOF
 * with process, device (hexadecimal) and inode.  A waiting process has "->"
 * before the kind, and process numbers of another namespace are 0 or less.
 */
static long
flock_of(char *line, const char *file)
{
	static const char *const want[] = {
		NULL, "FLOCK", "ADVISORY", "WRITE", NULL
	};
	char *save = NULL, *word = strtok_r(line, " \n", &save), *pid = NULL;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		if (word == NULL || (want[i] != NULL &&
		    strcmp(word, want[i]) != 0))
			return 0;
		pid = word;
		word = strtok_r(NULL, " \n", &save);
	}
	return word != NULL && strcmp(word, file) == 0 ?
	    strtol(pid, NULL, 10) : 0;
}

long
ck_platform_lock_holder(int fd, char name[CK_PROCESS_NAME_SIZE])
{
	char line[256], want[64];
	struct stat st;
	FILE *locks;
	long found = 0;

	name[0] = '\0';
	if (fstat(fd, &st) != 0 || (locks = fopen("/proc/locks", "re")) == NULL)
		return 0;
	(void)snprintf(want, sizeof(want), "%02x:%02x:%llu",
	    major(st.st_dev), minor(st.st_dev),
	    (unsigned long long)st.st_ino);
	while (found <= 0 && fgets(line, sizeof(line), locks) != NULL)
		found = flock_of(line, want);
	(void)fclose(locks);
	if (found <= 0)
		return 0;
	program_name(found, name);
	return found;
}

int
ck_platform_rename_new(int from_dirfd, const char *from, int to_dirfd,
    const char *to)
{
	return rename_with(from_dirfd, from, to_dirfd, to, RENAME_NOREPLACE);
}

/* File systems by their magic number: the ones we know to be local, and the
 * ones whose locks and renames other machines or programs answer for. */
static const struct {
	unsigned long magic;
	enum ck_fs kind;
	const char *name;
} known[] = {
	{ 0xEF53UL, CK_FS_LOCAL, "ext4" },
	{ 0x58465342UL, CK_FS_LOCAL, "xfs" },
	{ 0x9123683EUL, CK_FS_LOCAL, "btrfs" },
	{ 0xF2F52010UL, CK_FS_LOCAL, "f2fs" },
	{ 0x01021994UL, CK_FS_LOCAL, "tmpfs" },
	{ 0x858458F6UL, CK_FS_LOCAL, "ramfs" },
	{ 0x794C7630UL, CK_FS_LOCAL, "overlayfs" },
	{ 0x2FC12FC1UL, CK_FS_LOCAL, "zfs" },
	{ 0xCA451A4EUL, CK_FS_LOCAL, "bcachefs" },
	{ 0x3153464AUL, CK_FS_LOCAL, "jfs" },
	{ 0x52654973UL, CK_FS_LOCAL, "reiserfs" },
	{ 0x0000F15FUL, CK_FS_LOCAL, "ecryptfs" },
	{ 0x6969UL, CK_FS_REMOTE, "nfs" },
	{ 0x517BUL, CK_FS_REMOTE, "smb" },
	{ 0xFE534D42UL, CK_FS_REMOTE, "smb2" },
	{ 0xFF534D42UL, CK_FS_REMOTE, "cifs" },
	{ 0x5346414FUL, CK_FS_REMOTE, "afs" },
	{ 0x73757245UL, CK_FS_REMOTE, "coda" },
	{ 0x00C36400UL, CK_FS_REMOTE, "ceph" },
	{ 0x01021997UL, CK_FS_REMOTE, "9p" },
	{ 0x65735546UL, CK_FS_REMOTE, "fuse" },
	{ 0x786F4256UL, CK_FS_REMOTE, "vboxsf" },
	{ 0x4D44UL, CK_FS_UNKNOWN, "vfat" },
};

ck_err
ck_platform_fs(int fd, const char *shown, struct ck_fs_info *ret,
    struct ck_fail *fail)
{
	struct ck_fs_info info = { CK_FS_UNKNOWN, "", false, 0 };
	struct statfs fs;
	struct statvfs vfs;

	if (fstatfs(fd, &fs) != 0 || fstatvfs(fd, &vfs) != 0)
		return ck_fail_sys(fail, errno, shown,
		    "examine the file system");
	(void)snprintf(info.name, sizeof(info.name), "type 0x%lx",
	    (unsigned long)fs.f_type);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].magic != ((unsigned long)fs.f_type & 0xffffffffUL))
			continue;
		info.kind = known[i].kind;
		(void)snprintf(info.name, sizeof(info.name), "%s",
		    known[i].name);
	}
	info.readonly = (vfs.f_flag & ST_RDONLY) != 0;
	info.free = (unsigned long long)vfs.f_bavail * vfs.f_frsize;
	*ret = info;
	return CK_OK;
}
