/* SPDX-License-Identifier: Apache-2.0 */
/* The boundary, tried as the command would; see worker.h. */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ck_err
leaks(struct ck_fail *fail, const char *path, const char *why)
{
	(void)ck_fail_set(fail, CK_NOENFORCE, path, "%s", why);
	ck_fail_next(fail, "nothing was started");
	return CK_NOENFORCE;
}

/* It exists, and opening it is refused: not that it is missing. */
static ck_err
closed(const char *path, struct ck_fail *fail)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) != 0)
		return leaks(fail, path,
		    "does not show inside the boundary that it exists");
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0) {
		(void)close(fd);
		return leaks(fail, path, S_ISLNK(st.st_mode) ?
		    "is a symbolic link to something that is not closed" :
		    "can be opened inside the boundary");
	}
	/* A link to what is masked under a name that nobody protected leads
	 * nowhere inside. */
	if (errno != EACCES && !(errno == ENOENT && S_ISLNK(st.st_mode)))
		return leaks(fail, path, "cannot be opened inside the "
		    "boundary, but for another reason");
	return CK_OK;
}

static ck_err
unwritable(const char *path, struct ck_fail *fail)
{
	if (faccessat(AT_FDCWD, path, W_OK, 0) == 0)
		return leaks(fail, path,
		    "can be written inside the boundary");
	return errno == EROFS || errno == EACCES ? CK_OK : leaks(fail, path,
	    "cannot be written inside the boundary, but for another reason");
}

/* Nothing can be made in a mask. */
static ck_err
sealed(const char *dir, struct ck_fail *fail)
{
	char path[CK_PATH_MAX + 8];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/.probe", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		(void)close(fd);
		return leaks(fail, dir, "can be written in inside the "
		    "boundary");
	}
	return errno == EROFS || errno == EACCES ? CK_OK : leaks(fail, dir,
	    "cannot be written in, but for another reason");
}

/* A name is in its mask whether or not the real thing exists. */
static bool
has_mask(const struct worker *w, size_t i)
{
	for (i++; i > 0; i--)
		if (w->plan.step[i - 1].step == CK_MOUNT_MASK)
			return w->seen[i - 1].mounted;
	return false;
}

static ck_err
probe(const struct worker *w, size_t i, struct ck_fail *fail)
{
	const struct ck_mount *m = &w->plan.step[i];
	ck_err r;

	switch (m->step) {
	case CK_MOUNT_MASK:
		if (!w->seen[i].mounted)
			return CK_OK;
		r = (m->mode & 0444) == 0 ? closed(m->path, fail) : CK_OK;
		return r == CK_OK ? sealed(m->path, fail) : r;
	case CK_MOUNT_NAME:
		return has_mask(w, i) && (m->mode & 0444) == 0 ?
		    closed(m->path, fail) : CK_OK;
	case CK_MOUNT_SHUT:
		return w->seen[i].there ? closed(m->path, fail) : CK_OK;
	case CK_MOUNT_READ:
	case CK_MOUNT_BACK:
		return w->seen[i].there ? unwritable(m->path, fail) : CK_OK;
	case CK_MOUNT_BIND:
	case CK_MOUNT_STEPS:
		break;
	}
	return CK_OK;
}

ck_err
wk_probe(const struct worker *w, struct ck_fail *fail)
{
	ck_err r = CK_OK;

	for (size_t i = 0; r == CK_OK && i < w->plan.n; i++)
		r = probe(w, i, fail);
	return r;
}
