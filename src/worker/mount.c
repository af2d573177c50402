/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mounts; see worker.h.  Every path is walked to a descriptor, which is
 * compared with what was surveyed and then mounted on through /proc/self/fd,
 * so that no name is looked up between the check and the mount.
 */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* What is bound over single files: in the first mask, which cannot be
 * listed. */
#define CLOSED ".closed"
/* Room for as many names as a plan can have. */
#define MASK_OPTIONS "mode=0700,size=64k,nr_inodes=1024"
#define MASK_FLAGS (MS_NOSUID | MS_NODEV | MS_NOEXEC)

static ck_err
failed(struct ck_fail *fail, const char *path, const char *doing)
{
	return ck_fail_set(fail, CK_NOENFORCE, path, "cannot %s: %s", doing,
	    strerror(errno));
}

/* The step's path, which must still be what was surveyed. */
static ck_err
walk_again(const struct worker *w, size_t i, int *ret_fd,
    struct ck_fail *fail)
{
	const struct wk_seen *s = &w->seen[i];
	const char *path = w->plan.step[i].path;
	struct stat st;
	int fd = -1;
	ck_err r;

	if ((r = wk_walk(path, &fd, &st, fail)) != CK_OK)
		return r == CK_NOSTORE ? ck_fail_set(fail, CK_NOENFORCE, path,
		    "disappeared meanwhile") : r;
	if (st.st_dev != s->device || st.st_ino != s->inode) {
		(void)close(fd);
		return ck_fail_set(fail, CK_NOENFORCE, path,
		    "was replaced meanwhile");
	}
	*ret_fd = fd;
	return CK_OK;
}

/* The number of the mount that fd is on, by the text that all kernels have. */
static long
mount_id_by_text(int fd)
{
	char path[WK_FD_PATH_SIZE + 8], text[512];
	const char *at;
	int info;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return -1;
	n = read(info, text, sizeof(text) - 1);
	(void)close(info);
	text[n < 0 ? 0 : n] = '\0';
	at = strstr(text, "mnt_id:");
	return at == NULL ? -1 : strtol(at + 7, NULL, 10);
}

/* The number by which the kernel's list names the mount that fd is on: in one
 * call by kernels from 5.8. */
static long
mount_id(int fd)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &stx) == 0 &&
	    (stx.stx_mask & STATX_MNT_ID) != 0)
		return (long)stx.stx_mnt_id;
	return mount_id_by_text(fd);
}

/* After a mount: the path leads to it now.  The caller closes *ret_fd. */
static ck_err
on_top(struct worker *w, size_t i, int *ret_fd, struct ck_fail *fail)
{
	const char *path = w->plan.step[i].path;
	struct stat st;
	int fd = -1;
	ck_err r;

	if ((r = wk_walk(path, &fd, &st, fail)) != CK_OK)
		return r;
	if ((w->seen[i].id = mount_id(fd)) < 0) {
		(void)close(fd);
		return ck_fail_set(fail, CK_NOENFORCE, path,
		    "has a mount without a number");
	}
	w->seen[i].mounted = true;
	*ret_fd = fd;
	return CK_OK;
}

/* Read-only, and all that the mount is already: a namespace of a user may not
 * take anything of that away. */
static int
make_read_only(int fd, unsigned long more)
{
	static const struct {
		unsigned long has, flag;
	} kept[] = {
		{ ST_NOSUID, MS_NOSUID }, { ST_NODEV, MS_NODEV },
		{ ST_NOEXEC, MS_NOEXEC }, { ST_NOATIME, MS_NOATIME },
		{ ST_NODIRATIME, MS_NODIRATIME },
		{ ST_RELATIME, MS_RELATIME },
	};
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | more;
	char name[WK_FD_PATH_SIZE];
	struct statvfs fs;

	if (fstatvfs(fd, &fs) != 0)
		return -1;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if ((fs.f_flag & kept[i].has) != 0)
			flags |= kept[i].flag;
	return mount(NULL, wk_fd_path(fd, name), NULL, flags, NULL);
}

/* bind and read, and the second half of back: from onto on. */
static ck_err
bind(struct worker *w, size_t i, int from, int on, bool read_only,
    struct ck_fail *fail)
{
	char source[WK_FD_PATH_SIZE], target[WK_FD_PATH_SIZE];
	const char *path = w->plan.step[i].path;
	int fd = -1;
	ck_err r;

	/* With what is mounted below it, which may not be left out. */
	if (mount(wk_fd_path(from, source), wk_fd_path(on, target), NULL,
	    MS_BIND | MS_REC, NULL) != 0)
		return failed(fail, path, "bind it");
	if ((r = on_top(w, i, &fd, fail)) != CK_OK)
		return r;
	if (read_only && make_read_only(fd, 0) != 0)
		r = failed(fail, path, "make it read-only");
	(void)close(fd);
	return r;
}

static ck_err
bind_itself(struct worker *w, size_t i, bool read_only, struct ck_fail *fail)
{
	int fd = -1;
	ck_err r;

	if ((r = walk_again(w, i, &fd, fail)) != CK_OK)
		return r;
	r = bind(w, i, fd, fd, read_only, fail);
	(void)close(fd);
	return r;
}

/* An entry of a mask, with exactly this mode. */
static ck_err
make_entry(int mask, const char *name, const char *shown, bool directory,
    unsigned int mode, struct ck_fail *fail)
{
	int fd;

	if (directory) {
		if (mkdirat(mask, name, 0700) != 0)
			return failed(fail, shown, "make it in its mask");
	} else {
		fd = openat(mask, name, O_CREAT | O_EXCL | O_NOFOLLOW |
		    O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			return failed(fail, shown, "make it in its mask");
		(void)close(fd);
	}
	return fchmodat(mask, name, mode, 0) == 0 ? CK_OK :
	    failed(fail, shown, "close it in its mask");
}

/* The plan's n when there is none. */
static size_t
first_mask(const struct worker *w)
{
	size_t i = 0;

	while (i < w->plan.n && (w->plan.step[i].step != CK_MOUNT_MASK ||
	    !w->seen[i].mounted))
		i++;
	return i;
}

/* The steps of a mask behind it: entries first, then what is put back. */
static ck_err
fill(struct worker *w, size_t mask, int fd, struct ck_fail *fail)
{
	const struct ck_mount *step = w->plan.step;
	const char *dir = step[mask].path;
	ck_err r = CK_OK;

	for (size_t i = mask + 1; r == CK_OK && i < w->plan.n &&
	    (step[i].step == CK_MOUNT_NAME || step[i].step == CK_MOUNT_BACK);
	    i++)
		if (step[i].step == CK_MOUNT_NAME || w->seen[i].there)
			r = make_entry(fd, wk_below(step[i].path, dir),
			    step[i].path, step[i].directory,
			    step[i].step == CK_MOUNT_NAME ? step[i].mode : 0,
			    fail);
	if (r == CK_OK && first_mask(w) == mask)
		r = make_entry(fd, CLOSED, dir, false, 0, fail);
	return r;
}

/* Bound from the descriptor that was opened before the mask covered it. */
static ck_err
put_back(struct worker *w, size_t i, struct ck_fail *fail)
{
	struct stat st;
	int on = -1;
	ck_err r;

	if ((r = wk_walk(w->plan.step[i].path, &on, &st, fail)) != CK_OK)
		return r;
	r = bind(w, i, w->seen[i].source, on, true, fail);
	(void)close(on);
	(void)close(w->seen[i].source);
	w->seen[i].source = -1;
	return r;
}

/* An empty file system over directory fd, filled, then closed. */
static ck_err
cover(struct worker *w, size_t i, int fd, struct ck_fail *fail)
{
	const struct ck_mount *m = &w->plan.step[i];
	char name[WK_FD_PATH_SIZE];
	int mask = -1;
	ck_err r;

	if (mount("tmpfs", wk_fd_path(fd, name), "tmpfs", MASK_FLAGS,
	    MASK_OPTIONS) != 0)
		return failed(fail, m->path, "mask it");
	if ((r = on_top(w, i, &mask, fail)) != CK_OK)
		return r;
	if ((r = fill(w, i, mask, fail)) != CK_OK)
		goto out;
	for (size_t k = i + 1; r == CK_OK && k < w->plan.n; k++)
		if (w->seen[k].source >= 0)
			r = put_back(w, k, fail);
	if (r != CK_OK)
		goto out;
	/* The mount, and the file system below it too. */
	if (fchmodat(mask, ".", m->mode, 0) != 0 ||
	    make_read_only(mask, MASK_FLAGS) != 0 ||
	    mount(NULL, wk_fd_path(mask, name), NULL,
	    MS_REMOUNT | MS_RDONLY | MASK_FLAGS, NULL) != 0)
		r = failed(fail, m->path, "close its mask");
out:
	(void)close(mask);
	return r;
}

static ck_err
mask_directory(struct worker *w, size_t i, struct ck_fail *fail)
{
	const struct ck_mount *step = w->plan.step;
	int fd = -1;
	ck_err r;

	if ((r = walk_again(w, i, &fd, fail)) != CK_OK)
		return r;
	for (size_t k = i + 1; r == CK_OK && k < w->plan.n &&
	    (step[k].step == CK_MOUNT_NAME || step[k].step == CK_MOUNT_BACK);
	    k++)
		if (step[k].step == CK_MOUNT_BACK && w->seen[k].there)
			r = walk_again(w, k, &w->seen[k].source, fail);
	if (r == CK_OK)
		r = cover(w, i, fd, fail);
	(void)close(fd);
	return r;
}

/* The closed file of the first mask, over a file. */
static ck_err
shut(struct worker *w, size_t i, struct ck_fail *fail)
{
	char source[CK_PATH_MAX + sizeof(CLOSED) + 1];
	struct stat st;
	size_t mask = first_mask(w);
	int from = -1, on = -1;
	ck_err r;

	if (mask == w->plan.n)
		return ck_fail_set(fail, CK_NOENFORCE, w->plan.step[i].path,
		    "cannot be closed: the plan has no masked directory");
	(void)snprintf(source, sizeof(source), "%s/" CLOSED,
	    w->plan.step[mask].path);
	if ((r = wk_walk(source, &from, &st, fail)) != CK_OK)
		return r;
	if ((r = walk_again(w, i, &on, fail)) == CK_OK)
		r = bind(w, i, from, on, false, fail);
	(void)close(from);
	if (on >= 0)
		(void)close(on);
	return r;
}

/* A directory is only held where something below it is mounted on: each bind
 * is an edge that renames and hard links cannot cross. */
static bool
is_needed(const struct worker *w, size_t i)
{
	const char *dir = w->plan.step[i].path;

	for (size_t k = 0; k < w->plan.n; k++)
		if (wk_mounts_on(&w->plan.step[k]) && w->seen[k].there &&
		    !w->seen[k].link && ck_path_under(w->plan.step[k].path,
		    dir))
			return true;
	return false;
}

static ck_err
make(struct worker *w, size_t i, struct ck_fail *fail)
{
	if (!w->seen[i].there || w->seen[i].link)
		return CK_OK;
	switch (w->plan.step[i].step) {
	case CK_MOUNT_BIND:
		return is_needed(w, i) ? bind_itself(w, i, false, fail) :
		    CK_OK;
	case CK_MOUNT_READ:
		return bind_itself(w, i, true, fail);
	case CK_MOUNT_MASK:
		return mask_directory(w, i, fail);
	case CK_MOUNT_SHUT:
		return shut(w, i, fail);
	case CK_MOUNT_NAME:
	case CK_MOUNT_BACK:
		return CK_OK;    /* made with their mask */
	case CK_MOUNT_STEPS:
		break;
	}
	return ck_fail_set(fail, CK_INTERNAL, NULL, "a step has no meaning");
}

ck_err
wk_mount(struct worker *w, struct ck_fail *fail)
{
	char here[PATH_MAX];
	ck_err r = CK_OK;

	for (size_t i = 0; r == CK_OK && i < w->plan.n; i++)
		r = make(w, i, fail);
	if (r != CK_OK)
		return r;
	/* The working directory is a place below the mounts until it is looked
	 * up again. */
	if (chdir(w->cwd) != 0 || getcwd(here, sizeof(here)) == NULL ||
	    strcmp(here, w->cwd) != 0)
		return ck_fail_set(fail, CK_REFUSED, w->cwd,
		    "is the working directory, and closed to workers");
	return CK_OK;
}
