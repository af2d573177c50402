/* SPDX-License-Identifier: Apache-2.0 */
/* An operation as a system call, which is undone if it works; see agree.h. */
#include "agree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>


static int
result(int r)
{
	return r < 0 ? errno : 0;
}

static int
opens(const char *path, int flags)
{
	int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

static int
maps(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), sys;
	void *p;

	if (fd < 0)
		return errno;
	p = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	sys = p == MAP_FAILED ? errno : 0;
	(void)close(fd);
	if (p != MAP_FAILED)
		(void)munmap(p, 1);
	return sys;
}

static int
moves(const char *path, const char *aux)
{
	if (rename(path, aux) != 0)
		return errno;
	return result(rename(aux, path));
}

static int
links(const char *path, const char *aux)
{
	if (link(path, aux) != 0)
		return errno;
	return result(unlink(aux));
}

/* In its place, by rename as editors do; or new. */
static int
creates(const char *path, const char *aux)
{
	struct stat st;
	int fd, sys;

	if (lstat(path, &st) != 0) {
		sys = opens(path, O_WRONLY | O_CREAT | O_EXCL);
		return sys != 0 ? sys : result(unlink(path));
	}
	if (S_ISDIR(st.st_mode)) {
		if (mkdir(aux, 0700) != 0)
			return errno;
	} else {
		fd = open(aux, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			return errno;
		(void)!write(fd, "#\n", 2);
		(void)!fsetxattr(fd, AG_XATTR, "x", 1, 0);
		(void)close(fd);
	}
	if ((sys = result(rename(aux, path))) != 0 && unlink(aux) != 0)
		(void)rmdir(aux);
	return sys;
}

static int
changes_mode(const char *path, mode_t more)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno;
	if (chmod(path, (st.st_mode & 07777) | more) != 0)
		return errno;
	return result(chmod(path, st.st_mode & 07777));
}

static int
reads_xattr(const char *path)
{
	char value[16];

	return lgetxattr(path, AG_XATTR, value, sizeof(value)) < 0 ? errno : 0;
}

static int
writes_xattr(const char *path)
{
	return result(lsetxattr(path, AG_XATTR, "x", 1, 0));
}

bool
ag_has_call(enum ck_op op)
{
	return ag_call(op, "") != ENOSYS;
}

int
ag_call(enum ck_op op, const char *path)
{
	char aux[AG_RAW + sizeof(AG_AUX)];
	struct stat st;

	(void)snprintf(aux, sizeof(aux), "%s" AG_AUX, path);
	switch (op) {
	case CK_OP_READ_DATA:
		return opens(path, O_RDONLY);
	case CK_OP_READ_METADATA:
		return result(lstat(path, &st));
	case CK_OP_EXISTENCE:
		return result(faccessat(AT_FDCWD, path, F_OK,
		    AT_SYMLINK_NOFOLLOW));
	case CK_OP_READ_XATTR:
		return reads_xattr(path);
	case CK_OP_MAP_EXECUTABLE:
		return maps(path);
	case CK_OP_WRITE_DATA:
		return opens(path, O_WRONLY);
	case CK_OP_WRITE_CREATE:
		return creates(path, aux);
	case CK_OP_WRITE_UNLINK:
		return moves(path, aux);
	case CK_OP_WRITE_MODE:
		return changes_mode(path, 0);
	case CK_OP_WRITE_SETUGID:
		return changes_mode(path, S_ISGID);
	case CK_OP_WRITE_OWNER:
		return result(lchown(path, geteuid(), getegid()));
	case CK_OP_WRITE_TIMES:
		return result(utimensat(AT_FDCWD, path, NULL,
		    AT_SYMLINK_NOFOLLOW));
	case CK_OP_WRITE_XATTR:
		return writes_xattr(path);
	case CK_OP_LINK:
		return links(path, aux);
	default:
		return ENOSYS;
	}
}
