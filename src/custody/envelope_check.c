/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of an envelope's places; see envelope.h. */
#include "custody/envelope.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* A release has some ten thousand files. */
#define RUNTIME_FILES_MAX 200000
#define RUNTIME_DEPTH_MAX 40

static ck_err
real(const char *path, const char *what, bool directory, struct ck_fail *fail)
{
	char canonical[CK_PATH_MAX];
	struct stat st;
	ck_err r;

	if (lstat(path, &st) != 0)
		return errno == ENOENT || errno == ENOTDIR ?
		    ck_fail_set(fail, CK_REFUSED, path,
		    "is to be the %s and is not there", what) :
		    ck_fail_sys(fail, errno, path, "examine it");
	if ((r = ck_path_canonical(path, canonical, fail)) != CK_OK)
		return r;
	if (strcmp(canonical, path) != 0)
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is to be the %s and is reached through a symbolic link; "
		    "its place is %.400s", what, canonical);
	if (directory ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is to be the %s and is no %s", what,
		    directory ? "directory" : "file");
	return CK_OK;
}

struct walk {
	size_t files;
	struct ck_fail *fail;
};

static ck_err walk(struct walk *w, int dirfd, const char *path,
    unsigned int depth);

/* A second name of a file of the runtime may lie where it can be written. */
static ck_err
walk_entry(struct walk *w, int dirfd, const char *dir, const char *name,
    unsigned int depth)
{
	char path[CK_PATH_MAX];
	struct stat st;
	int fd = -1;
	ck_err r;

	if ((r = ck_path_join(dir, name, path, w->fail)) != CK_OK)
		return r;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return ck_fail_sys(w->fail, errno, path, "examine it");
	if (++w->files > RUNTIME_FILES_MAX || depth > RUNTIME_DEPTH_MAX)
		return ck_fail_set(w->fail, CK_REFUSED, path,
		    "lies in a runtime of too many files to be one");
	if (!S_ISDIR(st.st_mode)) {
		if (S_ISREG(st.st_mode) && st.st_nlink != 1)
			return ck_fail_set(w->fail, CK_REFUSED, path,
			    "is of the runtime and has %lu hard links",
			    (unsigned long)st.st_nlink);
		return CK_OK;
	}
	if ((r = ck_io_open_dir(dirfd, name, path, 0, &fd, NULL,
	    w->fail)) == CK_OK)
		r = walk(w, fd, path, depth + 1);
	return r;
}

/* Closes dirfd. */
static ck_err
walk(struct walk *w, int dirfd, const char *path, unsigned int depth)
{
	const struct dirent *entry;
	DIR *dir = fdopendir(dirfd);
	ck_err r = CK_OK;

	if (dir == NULL) {
		r = ck_fail_sys(w->fail, errno, path, "list it");
		ck_io_close(&dirfd);
		return r;
	}
	while (r == CK_OK && (entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			r = walk_entry(w, dirfd, path, entry->d_name, depth);
	(void)closedir(dir);
	return r;
}

static ck_err
runtime(const struct ck_envelope *e, struct ck_fail *fail)
{
	struct walk w = { 0, fail };
	struct stat st;
	int fd = -1;
	ck_err r;

	if ((r = real(e->runtime, "runtime", true, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < e->nfiles; i++) {
		if ((r = real(e->file[i], "runtime's file", false,
		    fail)) != CK_OK)
			return r;
		/* The system's own files are nobody's to link. */
		if (lstat(e->file[i], &st) == 0 && st.st_uid != 0 &&
		    st.st_nlink != 1)
			return ck_fail_set(fail, CK_REFUSED, e->file[i],
			    "is of the runtime and has %lu hard links",
			    (unsigned long)st.st_nlink);
	}
	if ((r = ck_io_open_dir(AT_FDCWD, e->runtime, e->runtime, 0, &fd, NULL,
	    fail)) != CK_OK)
		return r;
	return walk(&w, fd, e->runtime, 0);
}

/* What must not become writable or readable with a workspace. */
static ck_err
contains_nothing(const struct ck_place *p, const char *path,
    const char *what, struct ck_fail *fail)
{
	const struct {
		const char *path, *name;
	} kept[] = {
		{ p->home, "the home" }, { p->dir, "the custody" },
		{ p->broker, "the broker" }, { p->file_broker, "the broker" },
		{ p->unlock, "the unlock password" },
		{ p->settings, "the settings" },
	};

	if (strcmp(path, "/") == 0)
		return ck_fail_set(fail, CK_REFUSED, path,
		    "cannot be the %s: it is everything", what);
	if (strcmp(path, p->home) == 0)
		return ck_fail_set(fail, CK_REFUSED, path,
		    "cannot be the %s: it is the home", what);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (ck_path_under(kept[i].path, path))
			return ck_fail_set(fail, CK_REFUSED, path,
			    "cannot be the %s: it contains %s (%.400s)", what,
			    kept[i].name, kept[i].path);
	if (ck_path_under(path, p->dir))
		return ck_fail_set(fail, CK_REFUSED, path,
		    "cannot be the %s: it lies in the custody", what);
	return CK_OK;
}

struct part {
	const char *path, *what;
};

static size_t
parts_of(const struct ck_envelope *e,
    struct part ret[CK_ENVELOPE_WORKSPACES + 3])
{
	size_t n = 0;

	ret[n++] = (struct part){ e->control, "control directory" };
	ret[n++] = (struct part){ e->runtime, "runtime" };
	ret[n++] = (struct part){ e->home, "private home" };
	for (size_t i = 0; i < e->nworkspaces; i++)
		ret[n++] = (struct part){ e->workspace[i], "workspace" };
	return n;
}

static ck_err
apart(const struct part *a, const struct part *b, struct ck_fail *fail)
{
	if (!ck_path_under(a->path, b->path) &&
	    !ck_path_under(b->path, a->path))
		return CK_OK;
	return ck_fail_set(fail, CK_REFUSED, b->path,
	    "is to be the %s and overlaps the %s %.400s", b->what, a->what,
	    a->path);
}

static ck_err
all_apart(const struct ck_envelope *e, struct ck_fail *fail)
{
	struct part part[CK_ENVELOPE_WORKSPACES + 3];
	size_t n = parts_of(e, part);
	ck_err r;

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if ((r = apart(&part[i], &part[k], fail)) != CK_OK)
				return r;
	/* A native library that could be written inside is not one. */
	for (size_t i = 0; i < e->nfiles; i++)
		for (size_t k = 0; k < n; k++)
			if (k != 1 && ck_path_under(e->file[i], part[k].path))
				return ck_fail_set(fail, CK_REFUSED,
				    e->file[i], "is a file of the runtime and "
				    "lies in the %s %.400s", part[k].what,
				    part[k].path);
	return CK_OK;
}

static ck_err
sockets_fit(const struct ck_envelope *e, struct ck_fail *fail)
{
	size_t n = strlen(e->home) + sizeof(CK_ENVELOPE_SOCKET) - 1;

	if (n <= CK_ENVELOPE_SOCKET_MAX)
		return CK_OK;
	(void)ck_fail_set(fail, CK_REFUSED, e->home,
	    "is too long a private home: its sockets would have paths of %zu "
	    "bytes, and %d fit", n, CK_ENVELOPE_SOCKET_MAX);
	ck_fail_next(fail, "give a shorter --private-home");
	return CK_REFUSED;
}

ck_err
ck_envelope_check(const struct ck_place *p, const struct ck_envelope *e,
    struct ck_fail *fail)
{
	struct stat st;
	ck_err r;

	if ((r = contains_nothing(p, e->home, "private home", fail)) != CK_OK ||
	    (r = contains_nothing(p, e->runtime, "runtime", fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < e->nworkspaces; i++)
		if ((r = contains_nothing(p, e->workspace[i], "workspace",
		    fail)) != CK_OK)
			return r;
	if ((r = all_apart(e, fail)) != CK_OK ||
	    (r = sockets_fit(e, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < e->nworkspaces; i++)
		if ((r = real(e->workspace[i], "workspace", true,
		    fail)) != CK_OK)
			return r;
	/* Preparing makes it. */
	if (lstat(e->home, &st) == 0 &&
	    (r = real(e->home, "private home", true, fail)) != CK_OK)
		return r;
	return runtime(e, fail);
}
