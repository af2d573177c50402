/* SPDX-License-Identifier: Apache-2.0 */
/* flock on a file, or on a directory itself; see io.h. */
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "platform.h"

/* What is locked: a file in a directory, or (name NULL) the directory. */
struct target {
	int dirfd;
	const char *name;
	const char *shown;
	mode_t mode;
};

/* Always an open file of its own: a lock belongs to that, and the caller's
 * descriptor may be shared. */
static int
open_target(const struct target *t)
{
	if (t->name == NULL)
		return openat(t->dirfd, ".",
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return openat(t->dirfd, t->name, O_RDONLY | O_CREAT | O_NOFOLLOW |
	    O_CLOEXEC | O_NONBLOCK, t->mode);
}

static ck_err
removed(const struct target *t, struct ck_fail *fail)
{
	return ck_fail_set(fail, CK_CHANGED, t->shown,
	    "was removed meanwhile");
}

/* One try for the lock: CK_OK, CK_BUSY, or an error of its own. */
static ck_err
lock_once(const struct target *t, int *ret_fd, struct ck_fail *fail)
{
	struct stat st;
	int fd, sys;

	if ((fd = open_target(t)) < 0 && t->name == NULL && errno == ENOENT)
		return removed(t, fail);
	if (fd < 0)
		return ck_fail_sys(fail, errno, t->shown, t->name == NULL ?
		    "open it to lock it" : "open the lock file");
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		sys = errno;
		ck_io_close(&fd);
		if (sys == EWOULDBLOCK || sys == EINTR)
			return ck_fail_set(fail, CK_BUSY, t->shown,
			    "another process holds the lock");
		return ck_fail_sys(fail, sys, t->shown, "lock it");
	}
	/* A lock on a file without a name protects nothing; the file can be
	 * made again, the directory not. */
	if (fstat(fd, &st) != 0 || st.st_nlink == 0) {
		ck_io_close(&fd);
		return t->name == NULL ? removed(t, fail) :
		    ck_fail_set(fail, CK_BUSY, t->shown,
		    "the lock file was replaced");
	}
	/* Anything else was put there in its place. */
	if (t->name != NULL && !S_ISREG(st.st_mode)) {
		ck_io_close(&fd);
		return ck_fail_set(fail, CK_REFUSED, t->shown,
		    "is no regular file, as a lock has to be");
	}
	*ret_fd = fd;
	return CK_OK;
}

/* CK_BUSY, with the process that is in the way where it can be known. */
static ck_err
name_holder(const struct target *t, struct ck_fail *fail)
{
	char program[CK_PROCESS_NAME_SIZE] = "";
	long pid = 0;
	int fd;

	fd = t->name == NULL ? open_target(t) : openat(t->dirfd,
	    t->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		pid = ck_platform_lock_holder(fd, program);
	ck_io_close(&fd);
	if (pid == 0)
		return ck_fail_set(fail, CK_BUSY, t->shown,
		    "another process holds the lock");
	return ck_fail_set(fail, CK_BUSY, t->shown,
	    "process %ld (%s) holds the lock", pid,
	    program[0] != '\0' ? program : "name not known");
}

static ck_err
take(const struct target *t, unsigned int wait_ms, int *ret_fd,
    struct ck_fail *fail)
{
	uint64_t end = ck_clock_mono_ms() + wait_ms;
	struct timespec pause = { 0, 5000000 };
	ck_err r;

	for (;;) {
		r = lock_once(t, ret_fd, fail);
		if (r != CK_BUSY)
			return r;
		if (ck_clock_mono_ms() >= end)
			return name_holder(t, fail);
		(void)nanosleep(&pause, NULL);
	}
}

ck_err
ck_io_lock(int dirfd, const char *name, const char *shown, mode_t mode,
    unsigned int wait_ms, int *ret_fd, struct ck_fail *fail)
{
	const struct target t = { dirfd, name, shown != NULL ? shown : name,
	    mode };

	return take(&t, wait_ms, ret_fd, fail);
}

ck_err
ck_io_lock_dir(int dirfd, const char *shown, unsigned int wait_ms,
    int *ret_fd, struct ck_fail *fail)
{
	const struct target t = { dirfd, NULL, shown, 0 };

	return take(&t, wait_ms, ret_fd, fail);
}
