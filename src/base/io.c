/* SPDX-License-Identifier: Apache-2.0 */
/* Files: open and judge, read, replace; see io.h. */
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "path.h"
#include "platform.h"

#define OPEN_TRIES 100   /* of a file that is being replaced meanwhile */

static ck_err
judge(const struct stat *st, unsigned int rules, const char *shown,
    struct ck_fail *fail)
{
	mode_t mode = st->st_mode & 07777;

	if ((rules & CK_IO_OWNER) != 0 && st->st_uid != geteuid())
		return ck_fail_set(fail, CK_REFUSED, shown,
		    "is owned by user %ld, not by you (user %ld)",
		    (long)st->st_uid, (long)geteuid());
	if ((rules & CK_IO_PRIVATE) != 0 && (mode & 077) != 0) {
		(void)ck_fail_set(fail, CK_REFUSED, shown,
		    "has mode %04o; it must be closed to group and others",
		    (unsigned int)mode);
		ck_fail_next(fail, "chmod go= '%s'", shown);
		return CK_REFUSED;
	}
	if ((rules & CK_IO_NOWRITE) != 0 && (mode & 022) != 0) {
		(void)ck_fail_set(fail, CK_REFUSED, shown,
		    "has mode %04o; it must not be writable by group or "
		    "others", (unsigned int)mode);
		ck_fail_next(fail, "chmod go-w '%s'", shown);
		return CK_REFUSED;
	}
	if ((rules & CK_IO_ONELINK) != 0 && S_ISREG(st->st_mode) &&
	    st->st_nlink != 1)
		return ck_fail_set(fail, CK_REFUSED, shown,
		    "has %lu hard links; a second name would stay readable",
		    (unsigned long)st->st_nlink);
	return CK_OK;
}

static const char *
kind(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISLNK(mode))
		return "a symbolic link";
	if (S_ISFIFO(mode))
		return "a FIFO";
	if (S_ISSOCK(mode))
		return "a socket";
	if (S_ISREG(mode))
		return "a file";
	return "a device";
}

/* Why open() failed, in words about the thing itself where we can tell. */
static ck_err
open_failed(int sys, int dirfd, const char *name, const char *shown,
    const char *wanted, struct ck_fail *fail)
{
	struct stat st;

	if ((sys == ELOOP || sys == ENOTDIR || sys == ENXIO ||
	    sys == EOPNOTSUPP || sys == EISDIR) &&
	    fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return ck_fail_set(fail, CK_REFUSED, shown,
		    "is %s, not %s", kind(st.st_mode), wanted);
	return ck_fail_sys(fail, sys, shown, "open it");
}

/* One try.  *ret_gone: it lost its last name between the two calls. */
static ck_err
open_once(int dirfd, const char *name, const char *shown, int how,
    int *ret_fd, struct stat *ret_st, bool *ret_gone, struct ck_fail *fail)
{
	int fd, sys;

	do {
		fd = openat(dirfd, name,
		    how | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return open_failed(errno, dirfd, name, shown, "a file", fail);
	if (fstat(fd, ret_st) != 0) {
		sys = errno;
		ck_io_close(&fd);
		return ck_fail_sys(fail, sys, shown, "examine it");
	}
	*ret_gone = ret_st->st_nlink == 0;
	*ret_fd = fd;
	return CK_OK;
}

ck_err
ck_io_open_file(int dirfd, const char *name, const char *shown,
    unsigned int rules, int *ret_fd, struct stat *ret_st,
    struct ck_fail *fail)
{
	struct stat st;
	bool gone = true;
	int fd = -1;
	int how = (rules & CK_IO_WRITE) != 0 ? O_RDWR : O_RDONLY;
	ck_err r;

	if (shown == NULL)
		shown = name;
	/* A file that a rename replaced just now is not the one that the name
	 * stands for; only a storm of writers makes more than one retry. */
	for (int i = 0; gone && i < OPEN_TRIES; i++) {
		ck_io_close(&fd);
		r = open_once(dirfd, name, shown, how, &fd, &st, &gone, fail);
		if (r != CK_OK)
			return r;
	}
	if (gone) {
		ck_io_close(&fd);
		return ck_fail_set(fail, CK_CHANGED, shown,
		    "is replaced again and again");
	}
	if (!S_ISREG(st.st_mode)) {
		ck_io_close(&fd);
		return ck_fail_set(fail, CK_REFUSED, shown,
		    "is %s, not a file", kind(st.st_mode));
	}
	if ((r = judge(&st, rules, shown, fail)) != CK_OK) {
		ck_io_close(&fd);
		return r;
	}
	*ret_fd = fd;
	if (ret_st != NULL)
		*ret_st = st;
	return CK_OK;
}

ck_err
ck_io_judge_file(int dirfd, const char *name, const char *shown,
    unsigned int rules, struct stat *ret_st, struct ck_fail *fail)
{
	struct stat st;
	ck_err r;

	if (shown == NULL)
		shown = name;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return ck_fail_sys(fail, errno, shown, "examine it");
	if (!S_ISREG(st.st_mode))
		return ck_fail_set(fail, CK_REFUSED, shown,
		    "is %s, not a file", kind(st.st_mode));
	if ((r = judge(&st, rules, shown, fail)) != CK_OK)
		return r;
	*ret_st = st;
	return CK_OK;
}

ck_err
ck_io_open_dir(int dirfd, const char *name, const char *shown,
    unsigned int rules, int *ret_fd, struct stat *ret_st,
    struct ck_fail *fail)
{
	struct stat st;
	int fd, sys;
	ck_err r;

	if (shown == NULL)
		shown = name;
	do {
		fd = openat(dirfd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return open_failed(errno, dirfd, name, shown, "a directory",
		    fail);
	if (fstat(fd, &st) != 0) {
		sys = errno;
		ck_io_close(&fd);
		return ck_fail_sys(fail, sys, shown, "examine it");
	}
	if ((r = judge(&st, rules, shown, fail)) != CK_OK) {
		ck_io_close(&fd);
		return r;
	}
	*ret_fd = fd;
	if (ret_st != NULL)
		*ret_st = st;
	return CK_OK;
}

/* Bring the name itself to the disk: syncing what is in a directory does not
 * keep the directory's own name. */
static ck_err
sync_parent(int dirfd, const char *name, const char *shown,
    struct ck_fail *fail)
{
	char parent[CK_PATH_MAX];
	int fd;
	ck_err r;

	ck_path_parent(name, parent);
	fd = openat(dirfd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return ck_fail_sys(fail, errno, parent, "open the directory");
	r = ck_io_sync(fd, shown, fail);
	ck_io_close(&fd);
	return r;
}

ck_err
ck_io_make_dir(int dirfd, const char *name, const char *shown, mode_t mode,
    struct ck_fail *fail)
{
	int fd = -1;
	ck_err r;

	if (shown == NULL)
		shown = name;
	/* 0700 at most from the first moment; widened below if asked. */
	if (mkdirat(dirfd, name, mode & 0700) != 0) {
		if (errno != EEXIST)
			return ck_fail_sys(fail, errno, shown,
			    "make the directory");
		/* Whoever made it may have died before this.  A parent that
		 * we may not read is not one that we made it in. */
		r = sync_parent(dirfd, name, shown, fail);
		return r == CK_DENIED ? CK_OK : r;
	}
	/* The umask may have taken bits away. */
	if ((r = ck_io_open_dir(dirfd, name, shown, CK_IO_OWNER, &fd, NULL,
	    fail)) != CK_OK)
		goto undo;
	if (fchmod(fd, mode) != 0) {
		r = ck_fail_sys(fail, errno, shown, "set the mode");
		goto undo;
	}
	if ((r = sync_parent(dirfd, name, shown, fail)) != CK_OK)
		goto undo;
	ck_io_close(&fd);
	return CK_OK;
undo:
	ck_io_close(&fd);
	(void)unlinkat(dirfd, name, AT_REMOVEDIR);
	return r;
}

ck_err
ck_io_pread(int fd, void *buf, size_t n, uint64_t offset, const char *shown,
    struct ck_fail *fail)
{
	uint8_t *p = buf;
	ssize_t got;

	while (n > 0) {
		got = pread(fd, p, n, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return ck_fail_sys(fail, errno, shown, "read it");
		if (got == 0)
			return ck_fail_set(fail, CK_CHANGED, shown,
			    "became shorter while it was read");
		p += got;
		n -= (size_t)got;
		offset += (uint64_t)got;
	}
	return CK_OK;
}

ck_err
ck_io_read_all(int fd, size_t max, const char *shown, uint8_t **ret,
    size_t *ret_n, struct ck_fail *fail)
{
	struct stat st;
	uint8_t *buf;
	ck_err r;

	if (fstat(fd, &st) != 0)
		return ck_fail_sys(fail, errno, shown, "examine it");
	if (st.st_size < 0 || (uint64_t)st.st_size > max)
		return ck_fail_set(fail, CK_UNSUPPORTED, shown,
		    "is larger than the %zu bytes read here", max);
	buf = malloc((size_t)st.st_size + 1);
	if (buf == NULL)
		return ck_fail_set(fail, CK_NOMEM, shown,
		    "no memory to read it");
	r = ck_io_pread(fd, buf, (size_t)st.st_size, 0, shown, fail);
	if (r != CK_OK) {
		free(buf);
		return r;
	}
	buf[st.st_size] = '\0';
	*ret = buf;
	*ret_n = (size_t)st.st_size;
	return CK_OK;
}

ck_err
ck_io_write_all(int fd, const void *buf, size_t n, const char *shown,
    struct ck_fail *fail)
{
	const uint8_t *p = buf;
	ssize_t put;

	while (n > 0) {
		put = write(fd, p, n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return ck_fail_sys(fail, errno, shown, "write it");
		p += put;
		n -= (size_t)put;
	}
	return CK_OK;
}

ck_err
ck_io_sync(int fd, const char *shown, struct ck_fail *fail)
{
	int sys;

	do {
		sys = ck_platform_sync(fd);
	} while (sys == EINTR);
	if (sys != 0)
		return ck_fail_sys(fail, sys, shown,
		    "bring it safely to the disk");
	return CK_OK;
}

/* Make a temporary file beside name; its name goes to temp. */
static ck_err
make_temp(int dirfd, const char *name, const char *shown, unsigned int how,
    char temp[NAME_MAX + 1], int *ret_fd, struct ck_fail *fail)
{
	struct timespec now = { 0, 0 };
	unsigned long salt;
	int fd, len;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	salt = (unsigned long)now.tv_nsec * 2654435761UL +
	    (unsigned long)getpid();
	/* Uniqueness is O_EXCL's work; the salt only avoids waiting for it. */
	for (int i = 0; i < 100; i++, salt += 0x9e3779b9UL) {
		if ((how & CK_IO_APPLE) != 0)
			len = snprintf(temp, NAME_MAX + 1, "%s.sb-%08lx-%06lx",
			    name, salt & 0xffffffffUL,
			    (salt >> 7) * 40503UL & 0xffffffUL);
		else
			len = snprintf(temp, NAME_MAX + 1, "%s.tmp-%08lx",
			    name, salt & 0xffffffffUL);
		if (len < 0 || len > NAME_MAX)
			return ck_fail_set(fail, CK_REFUSED, shown,
			    "the name is too long");
		fd = openat(dirfd, temp, O_WRONLY | O_CREAT | O_EXCL |
		    O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0) {
			*ret_fd = fd;
			return CK_OK;
		}
		if (errno != EEXIST && errno != EINTR)
			return ck_fail_sys(fail, errno, shown,
			    "make a temporary file beside it");
	}
	return ck_fail_set(fail, CK_BUSY, shown,
	    "too many temporary files beside it");
}

/* What a writer killed before its rename left.  Failing to remove it is no
 * reason not to write; beside a keychain macOS uses the same names. */
static void
sweep(int dirfd, const char *name, unsigned int how)
{
	char form[NAME_MAX + 1];
	int n = snprintf(form, sizeof(form), "%s" CK_IO_TEMP, name);

	if ((how & CK_IO_APPLE) == 0 && n > 0 && (size_t)n < sizeof(form))
		(void)!ck_io_sweep(dirfd, form, name, NULL);
}

/* Give temp its final name.  0 or an errno. */
static int
take_name(int dirfd, const char *temp, const char *name, unsigned int how)
{
	int sys;

	if ((how & CK_IO_NEW) == 0)
		return renameat(dirfd, temp, dirfd, name) == 0 ? 0 : errno;
	sys = ck_platform_rename_new(dirfd, temp, dirfd, name);
	if (sys != ENOSYS && sys != EINVAL && sys != ENOTSUP)
		return sys;
	/* Not every file system can; a hard link refuses just as well. */
	if (linkat(dirfd, temp, dirfd, name, 0) != 0)
		return errno;
	return unlinkat(dirfd, temp, 0) == 0 ? 0 : errno;
}

ck_err
ck_io_replace_how(int dirfd, const char *name, const char *shown,
    const void *buf, size_t n, mode_t mode, gid_t group, unsigned int how,
    struct ck_fail *fail)
{
	char temp[NAME_MAX + 1];
	int fd = -1, sys;
	ck_err r;

	if (shown == NULL)
		shown = name;
	sweep(dirfd, name, how);
	if ((r = make_temp(dirfd, name, shown, how, temp, &fd,
	    fail)) != CK_OK)
		return r;
	/* A group we are not in cannot be kept; ours is the safer one. */
	if (group != (gid_t)-1 && fchown(fd, (uid_t)-1, group) != 0)
		mode &= ~(mode_t)070;
	if (fchmod(fd, mode) != 0) {
		r = ck_fail_sys(fail, errno, shown, "set the mode");
		goto undo;
	}
	if ((r = ck_io_write_all(fd, buf, n, shown, fail)) != CK_OK)
		goto undo;
	if ((r = ck_io_sync(fd, shown, fail)) != CK_OK)
		goto undo;
	if ((sys = take_name(dirfd, temp, name, how)) != 0) {
		r = sys == EEXIST ? ck_fail_set(fail, CK_REFUSED, shown,
		    "exists already") :
		    ck_fail_sys(fail, sys, shown, "rename over it");
		goto undo;
	}
	ck_io_close(&fd);
	/* The new content is in place; what is not certain is only whether
	 * it survives a power cut, and that is an error the caller must see. */
	return ck_io_sync(dirfd, shown, fail);
undo:
	ck_io_close(&fd);
	(void)unlinkat(dirfd, temp, 0);
	return r;
}

ck_err
ck_io_replace(int dirfd, const char *name, const char *shown,
    const void *buf, size_t n, mode_t mode, struct ck_fail *fail)
{
	return ck_io_replace_how(dirfd, name, shown, buf, n, mode, (gid_t)-1,
	    0, fail);
}

ck_err
ck_io_remove(int dirfd, const char *name, const char *shown,
    struct ck_fail *fail)
{
	if (shown == NULL)
		shown = name;
	if (unlinkat(dirfd, name, 0) != 0)
		return ck_fail_sys(fail, errno, shown, "remove it");
	return ck_io_sync(dirfd, shown, fail);
}

void
ck_io_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

ck_err
ck_io_standard(void)
{
	int fd;

	for (fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* The lowest free number is taken, which is fd itself.  Opened
		 * the wrong way round, so that data that would be lost, or a
		 * secret that nobody sends, is an error and not a success. */
		if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			return CK_IO;
	}
	return CK_OK;
}
