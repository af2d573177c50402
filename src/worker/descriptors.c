/* SPDX-License-Identifier: Apache-2.0 */
/* What the worker would have open; see worker.h. */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436          /* the same on every architecture */
#endif

const char *
wk_fd_path(int fd, char to[WK_FD_PATH_SIZE])
{
	(void)snprintf(to, WK_FD_PATH_SIZE, "/proc/self/fd/%d", fd);
	return to;
}

/* Kernels before 5.9: as many as could be open. */
static ck_err
close_each(unsigned int first, unsigned int last, struct ck_fail *fail)
{
	long most = sysconf(_SC_OPEN_MAX);

	if (most < 0 || most > 1 << 20)
		return ck_fail_set(fail, CK_NOENFORCE, NULL,
		    "this kernel cannot close inherited descriptors at once, "
		    "and there may be too many to close one by one");
	for (unsigned int fd = first; fd <= last && fd < (unsigned int)most;
	    fd++)
		(void)close((int)fd);
	return CK_OK;
}

static ck_err
close_range_of(unsigned int first, unsigned int last, struct ck_fail *fail)
{
	if (first > last || syscall(SYS_close_range, first, last, 0U) == 0)
		return CK_OK;
	if (errno == ENOSYS || errno == EPERM)
		return close_each(first, last, fail);
	return ck_fail_sys(fail, errno, NULL, "close inherited descriptors");
}

ck_err
wk_descriptors_close(const struct worker *w, struct ck_fail *fail)
{
	unsigned int kept = w->status_fd < 0 ? 2 : (unsigned int)w->status_fd;
	ck_err r;

	if (w->status_fd >= 0 && fcntl(w->status_fd, F_SETFD, FD_CLOEXEC) != 0)
		return ck_fail_sys(fail, errno, NULL,
		    "use the status descriptor");
	if ((r = close_range_of(3, kept - 1, fail)) != CK_OK ||
	    (r = close_range_of(kept + 1, ~0U, fail)) != CK_OK)
		return r;
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ?
		    O_WRONLY : O_RDONLY) != fd)
			return ck_fail_sys(fail, errno, "/dev/null",
			    "open it in place of a closed descriptor");
	return CK_OK;
}

/* path, as the kernel names an open file, is path or below it; a file that was
 * removed has " (deleted)" behind its name. */
static bool
is_at(const char *open_path, const struct ck_mount *m)
{
	size_t n = strlen(m->path);

	if (m->directory && ck_path_under(open_path, m->path))
		return true;
	return strncmp(open_path, m->path, n) == 0 &&
	    (open_path[n] == '\0' || strcmp(open_path + n, " (deleted)") == 0);
}

/* The step keeps something from the worker: all of it, or writing. */
static bool
keeps(const struct ck_mount *m, bool writing)
{
	switch (m->step) {
	case CK_MOUNT_MASK:
		return (m->mode & 0444) == 0;
	case CK_MOUNT_NAME:
	case CK_MOUNT_SHUT:
		return true;
	case CK_MOUNT_READ:
	case CK_MOUNT_BACK:
		return writing;
	case CK_MOUNT_BIND:
	case CK_MOUNT_STEPS:
		break;
	}
	return false;
}

static ck_err
check(const struct worker *w, int fd, struct ck_fail *fail)
{
	char name[WK_FD_PATH_SIZE], target[PATH_MAX + 16];
	struct stat st;
	bool writing;
	ssize_t n;

	if (fstat(fd, &st) != 0)
		return ck_fail_sys(fail, errno, NULL, "examine descriptor 0-2");
	if (S_ISDIR(st.st_mode))
		return ck_fail_set(fail, CK_REFUSED, NULL,
		    "descriptor %d is a directory: what is below it would be "
		    "reached past every mount", fd);
	writing = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
	n = readlink(wk_fd_path(fd, name), target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = '\0';
	for (size_t i = 0; i < w->plan.n; i++) {
		const struct ck_mount *m = &w->plan.step[i];

		if (keeps(m, writing) && (is_at(target, m) ||
		    (w->seen[i].there && w->seen[i].device == st.st_dev &&
		    w->seen[i].inode == st.st_ino)))
			return ck_fail_set(fail, CK_REFUSED, m->path,
			    "is open as descriptor %d, which a worker would "
			    "inherit", fd);
	}
	return CK_OK;
}

ck_err
wk_descriptors_check(const struct worker *w, struct ck_fail *fail)
{
	ck_err r = CK_OK;

	for (int fd = 0; r == CK_OK && fd <= 2; fd++)
		r = check(w, fd, fail);
	return r;
}
