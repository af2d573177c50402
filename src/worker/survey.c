/* SPDX-License-Identifier: Apache-2.0 */
/* The plan, and what the file system has at its paths; see worker.h. */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#ifndef SYS_openat2
#define SYS_openat2 437              /* the same on every architecture */
#endif

/* The plan's text; read once. */
static char text[CK_MOUNTS_TEXT_MAX];

static ck_err
stale(struct ck_fail *fail, const char *path, const char *why)
{
	(void)ck_fail_set(fail, CK_NOENFORCE, path, "%s", why);
	ck_fail_next(fail, "if that is as it should be: "
	    "clankie-keys rules --write");
	return CK_NOENFORCE;
}

/* Only its user can have written it. */
static ck_err
judge_plan(const struct worker *w, const struct stat *st,
    struct ck_fail *fail)
{
	if (!S_ISREG(st->st_mode) || st->st_nlink != 1)
		return ck_fail_set(fail, CK_REFUSED, w->plan_path,
		    "is no regular file with one name");
	if (st->st_uid != w->uid && st->st_uid != 0)
		return ck_fail_set(fail, CK_REFUSED, w->plan_path,
		    "belongs to another user");
	if ((st->st_mode & 022) != 0)
		return ck_fail_set(fail, CK_REFUSED, w->plan_path,
		    "is writable by other users");
	return CK_OK;
}

/* Which directory it is does not matter: whatever has this path now. */
static ck_err
add_step(struct worker *w, const char *option, const char *path,
    struct ck_fail *fail)
{
	struct ck_mount *m = &w->plan.step[w->plan.n];

	if (path[0] != '/' || strlen(path) >= sizeof(m->path) ||
	    w->plan.n == CK_MOUNTS_MAX)
		return ck_fail_set(fail, CK_REFUSED, path,
		    "cannot be added to the plan");
	memset(m, 0, sizeof(*m));
	m->directory = strcmp(option, "--mask") == 0;
	m->step = m->directory ? CK_MOUNT_MASK : CK_MOUNT_SHUT;
	m->mode = m->directory ? 0100 : 0;
	memcpy(m->path, path, strlen(path) + 1);
	w->plan.n++;
	return CK_OK;
}

ck_err
wk_plan_read(struct worker *w, struct ck_fail *fail)
{
	struct stat st;
	size_t n = 0;
	ssize_t got = 1;
	int fd;
	ck_err r;

	fd = open(w->plan_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
	    O_CLOEXEC);
	if (fd < 0)
		return ck_fail_sys(fail, errno, w->plan_path,
		    "open the plan");
	if (fstat(fd, &st) != 0) {
		r = ck_fail_sys(fail, errno, w->plan_path, "examine the plan");
		goto out;
	}
	if ((r = judge_plan(w, &st, fail)) != CK_OK)
		goto out;
	while (n < sizeof(text) &&
	    (got = read(fd, text + n, sizeof(text) - n)) > 0)
		n += (size_t)got;
	if (got < 0)
		r = ck_fail_sys(fail, errno, w->plan_path, "read the plan");
	else if (n == sizeof(text))
		r = ck_fail_set(fail, CK_UNSUPPORTED, w->plan_path,
		    "is longer than any plan");
	else
		r = ck_mounts_read(text, n, w->plan_path, &w->plan, fail);
	if (r == CK_OK && w->plan.user != w->uid)
		r = ck_fail_set(fail, CK_REFUSED, w->plan_path,
		    "is the plan of user %lu", w->plan.user);
	for (size_t i = 0; r == CK_OK && i < w->mores; i++)
		r = add_step(w, w->more[i][0], w->more[i][1], fail);
out:
	(void)close(fd);
	return r;
}

/* One step on from directory *fd, which is closed. */
static ck_err
descend(int *fd, const char *name, struct stat *ret_st)
{
	int next = openat(*fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int sys = errno;

	(void)close(*fd);
	*fd = next;
	if (next < 0)
		return sys == ENOTDIR ? CK_NOSTORE : ck_err_from_errno(sys);
	return fstat(next, ret_st) == 0 ? CK_OK : CK_IO;
}

/*
 * The same walk in one call, of kernels from 5.6: CK_NOSTORE and CK_OK are
 * final; after anything else the reason is found component by component, also
 * where a filter of system calls does not know this one.
 */
static ck_err
walk_at_once(const char *path, int *ret_fd, struct stat *ret_st)
{
	const struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
	};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? CK_NOSTORE :
		    CK_UNSUPPORTED;
	if (fstat(fd, ret_st) != 0) {
		(void)close(fd);
		return CK_UNSUPPORTED;
	}
	*ret_fd = fd;
	return CK_OK;
}

static ck_err
walk_by_steps(const char *path, int *ret_fd, struct stat *ret_st,
    struct ck_fail *fail)
{
	char name[CK_PATH_MAX];
	const char *at = path;
	struct stat st = { 0 };
	ck_err r = CK_OK;
	int fd;

	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return ck_fail_sys(fail, errno, "/", "open it");
	while (r == CK_OK && *at == '/') {
		size_t n = strcspn(++at, "/");

		memcpy(name, at, n);
		name[n] = '\0';
		at += n;
		r = descend(&fd, name, &st);
		if (r == CK_OK && *at == '/' && S_ISLNK(st.st_mode)) {
			(void)close(fd);
			return stale(fail, path,
			    "is reached through a symbolic link now");
		}
	}
	if (r != CK_OK) {
		if (fd >= 0)
			(void)close(fd);
		return ck_fail_set(fail, r, path, r == CK_NOSTORE ?
		    "is not there" : "cannot be reached");
	}
	*ret_fd = fd;
	*ret_st = st;
	return CK_OK;
}

ck_err
wk_walk(const char *path, int *ret_fd, struct stat *ret_st,
    struct ck_fail *fail)
{
	ck_err r = walk_at_once(path, ret_fd, ret_st);

	if (r == CK_OK)
		return CK_OK;
	return r == CK_NOSTORE ? ck_fail_set(fail, r, path, "is not there") :
	    walk_by_steps(path, ret_fd, ret_st, fail);
}

bool
wk_mounts_on(const struct ck_mount *m)
{
	return m->step != CK_MOUNT_NAME && m->step != CK_MOUNT_BIND;
}

const char *
wk_below(const char *path, const char *dir)
{
	return path + strlen(dir) + 1;
}

static ck_err
judge_kind(const struct ck_mount *m, const struct stat *st,
    struct ck_fail *fail)
{
	if (S_ISLNK(st->st_mode)) {
		/* What it leads to must be closed by its own step, which the
		 * probe shows.  Bound back it would open what it leads to. */
		if (m->step == CK_MOUNT_SHUT || m->step == CK_MOUNT_NAME ||
		    (m->step == CK_MOUNT_READ && !m->directory))
			return CK_OK;
		return stale(fail, m->path, "is a symbolic link now");
	}
	if (m->step == CK_MOUNT_NAME)
		return CK_OK;
	if (m->directory != S_ISDIR(st->st_mode))
		return stale(fail, m->path, m->directory ?
		    "is no directory any more" : "is a directory now");
	if (m->step == CK_MOUNT_BACK && !m->directory &&
	    !S_ISREG(st->st_mode))
		return stale(fail, m->path, "is no regular file");
	return CK_OK;
}

static ck_err
judge(const struct worker *w, const struct ck_mount *m, const struct stat *st,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = judge_kind(m, st, fail)) != CK_OK)
		return r;
	if (m->known && (m->device != (unsigned long long)st->st_dev ||
	    m->inode != (unsigned long long)st->st_ino))
		return stale(fail, m->path, "is another directory than the "
		    "plan was made for; where is the old one?");
	/* The system's own may stand in for what its package brings. */
	if (st->st_uid != w->uid && (st->st_uid != 0 ||
	    m->step == CK_MOUNT_MASK || m->step == CK_MOUNT_NAME))
		return ck_fail_set(fail, CK_REFUSED, m->path,
		    "belongs to user %ld", (long)st->st_uid);
	if (!S_ISDIR(st->st_mode) && st->st_nlink > 1) {
		(void)ck_fail_set(fail, CK_REFUSED, m->path,
		    "has %lu hard links: another name leads to it",
		    (unsigned long)st->st_nlink);
		ck_fail_next(fail, "find it (find / -xdev -samefile) and "
		    "remove it");
		return CK_REFUSED;
	}
	return CK_OK;
}

static ck_err
survey_one(struct worker *w, size_t i, struct ck_fail *fail)
{
	const struct ck_mount *m = &w->plan.step[i];
	struct wk_seen *s = &w->seen[i];
	struct stat st = { 0 };
	int fd = -1;
	ck_err r;

	s->source = -1;
	s->id = -1;
	r = wk_walk(m->path, &fd, &st, fail);
	if (r == CK_NOSTORE)
		return CK_OK;
	if (r != CK_OK)
		return r;
	(void)close(fd);
	if ((r = judge(w, m, &st, fail)) != CK_OK)
		return r;
	s->there = true;
	s->link = S_ISLNK(st.st_mode);
	s->device = st.st_dev;
	s->inode = st.st_ino;
	return CK_OK;
}

ck_err
wk_survey(struct worker *w, struct ck_fail *fail)
{
	ck_err r = CK_OK;

	for (size_t i = 0; r == CK_OK && i < w->plan.n; i++)
		r = survey_one(w, i, fail);
	return r;
}
