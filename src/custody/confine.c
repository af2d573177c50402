/* SPDX-License-Identifier: Apache-2.0 */
/* See confine.h. */
#include "custody/confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* Entries of a directory that is made anew: more than a home has, and fewer
 * than arguments fit into a command line. */
#define ENTRIES_MAX 1024

static ck_err
look_at(const char *path, struct ck_confine_path *ret, struct ck_fail *fail)
{
	struct stat st;
	ck_err r;

	if ((r = ck_path_canonical(path, ret->path, fail)) != CK_OK)
		return r;
	ret->there = lstat(ret->path, &st) == 0;
	if (!ret->there && errno != ENOENT && errno != ENOTDIR)
		return ck_fail_sys(fail, errno, path, "examine it");
	ret->directory = ret->there && S_ISDIR(st.st_mode);
	return CK_OK;
}

static ck_err
too_many(const char *path, struct ck_fail *fail)
{
	return ck_fail_set(fail, CK_USAGE, path, "is one path too many");
}

static ck_err
add_writable(const struct ck_place *p, const char *path, struct ck_confine *c,
    struct ck_fail *fail)
{
	struct ck_confine_path *w = &c->writable[c->nwritable];
	ck_err r;

	if (c->nwritable == CK_CONFINE_MAX)
		return too_many(path, fail);
	if ((r = look_at(path, w, fail)) != CK_OK)
		return r;
	if (strcmp(w->path, path) != 0)
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is reached through a symbolic link; its place is %.400s",
		    w->path);
	if (!w->directory)
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is to be writable and is no directory that is there");
	if (ck_path_under(p->home, path))
		return ck_fail_set(fail, CK_REFUSED, path,
		    "cannot be writable: the home is in it");
	c->nwritable++;
	return CK_OK;
}

static ck_err
add_mask(const char *path, struct ck_confine *c, struct ck_fail *fail)
{
	struct ck_confine_path *m = &c->mask[c->nmask];
	ck_err r;

	if (c->nmask == CK_CONFINE_MAX)
		return too_many(path, fail);
	if ((r = look_at(path, m, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < c->nmask; i++)
		if (strcmp(c->mask[i].path, m->path) == 0)
			return CK_OK;
	for (size_t i = 0; i < c->nwritable; i++) {
		const char *w = c->writable[i].path;

		if (ck_path_under(w, m->path))
			return ck_fail_set(fail, CK_REFUSED, w,
			    "cannot be writable: it lies in %.400s, which is "
			    "masked", m->path);
		if (ck_path_under(m->path, w) && !m->there)
			return ck_fail_set(fail, CK_NOENFORCE, m->path,
			    "cannot be masked: it is not there, and would come "
			    "where it can be written");
	}
	c->nmask++;
	return CK_OK;
}

static ck_err
add_masks(const struct ck_place *p, const struct ck_confine_said *said,
    struct ck_confine *c, struct ck_fail *fail)
{
	char path[CK_PATH_MAX];
	const char *below;
	ck_err r;

	for (size_t i = 0; (below = ck_confine_credential(i)) != NULL; i++)
		if ((r = ck_path_join(p->home, below, path, fail)) != CK_OK ||
		    (r = add_mask(path, c, fail)) != CK_OK)
			return r;
	/* Directories, for a file's mask is gone when the file is replaced. */
	if ((r = add_mask(p->dir, c, fail)) != CK_OK)
		return r;
	ck_path_parent(p->unlock, path);
	if ((r = add_mask(path, c, fail)) != CK_OK)
		return r;
	ck_path_parent(p->file_broker, path);
	if ((r = add_mask(path, c, fail)) != CK_OK ||
	    (r = add_mask(p->broker, c, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < said->nexclude; i++)
		if ((r = add_mask(said->exclude[i], c, fail)) != CK_OK)
			return r;
	return CK_OK;
}

static ck_err
add_protect(const char *path, struct ck_confine *c, struct ck_fail *fail)
{
	struct ck_confine_path *x = &c->protect[c->nprotect];
	bool inside = false;
	ck_err r;

	if (c->nprotect == CK_CONFINE_MAX)
		return too_many(path, fail);
	if ((r = look_at(path, x, fail)) != CK_OK)
		return r;
	if (!x->there)
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is to be protected and is not there");
	if (strcmp(x->path, path) != 0)
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is to be protected and is reached through a symbolic "
		    "link");
	for (size_t i = 0; i < c->nwritable; i++)
		inside = inside || (ck_path_under(path, c->writable[i].path) &&
		    strcmp(path, c->writable[i].path) != 0);
	if (!inside)
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is to be protected and lies in no writable root");
	c->nprotect++;
	return CK_OK;
}

static ck_err
take_entry(struct ck_confine_rebuilt *d, int fd, const char *name,
    struct ck_fail *fail)
{
	struct stat st;
	ssize_t n;

	if (d->n + d->nlinks >= ENTRIES_MAX || strlen(name) > 255)
		return ck_fail_set(fail, CK_NOENFORCE, d->path,
		    "has too many entries to be made anew inside, which keeps "
		    "what comes later from showing");
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? CK_OK : ck_fail_sys(fail, errno,
		    d->path, "examine what is in it");
	if (!S_ISLNK(st.st_mode)) {
		memcpy(d->entry[d->n++], name, strlen(name) + 1);
		return CK_OK;
	}
	n = readlinkat(fd, name, d->link[d->nlinks].to,
	    sizeof(d->link[0].to) - 1);
	if (n < 0)
		return ck_fail_sys(fail, errno, d->path, "read a link in it");
	d->link[d->nlinks].to[n] = '\0';
	memcpy(d->link[d->nlinks++].name, name, strlen(name) + 1);
	return CK_OK;
}

static ck_err
list_rebuilt(struct ck_confine_rebuilt *d, struct ck_fail *fail)
{
	const struct dirent *entry;
	DIR *dir = opendir(d->path);
	ck_err r = CK_OK;

	if (dir == NULL)
		return ck_fail_sys(fail, errno, d->path, "list it");
	d->entry = calloc(ENTRIES_MAX, sizeof(*d->entry));
	d->link = calloc(ENTRIES_MAX, sizeof(*d->link));
	if (d->entry == NULL || d->link == NULL)
		r = ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	while (r == CK_OK && (entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			r = take_entry(d, dirfd(dir), entry->d_name, fail);
	(void)closedir(dir);
	return r;
}

/* The deepest directory on the way to what is not there. */
static ck_err
rebuild_for(const struct ck_confine_path *m, struct ck_confine *c,
    struct ck_fail *fail)
{
	struct ck_confine_rebuilt *d = &c->rebuilt[c->nrebuilt];
	struct stat st;

	ck_path_parent(m->path, d->path);
	while (lstat(d->path, &st) != 0 && strcmp(d->path, "/") != 0)
		ck_path_parent(d->path, d->path);
	for (size_t i = 0; i < c->nrebuilt; i++)
		if (strcmp(c->rebuilt[i].path, d->path) == 0)
			return CK_OK;
	/* What lies in a mask comes with it. */
	for (size_t i = 0; i < c->nmask; i++)
		if (c->mask[i].there && ck_path_under(d->path,
		    c->mask[i].path))
			return CK_OK;
	if (c->nrebuilt + 1 >= CK_CONFINE_MAX)
		return too_many(m->path, fail);
	c->nrebuilt++;
	return list_rebuilt(d, fail);
}

static int
by_path(const void *a, const void *b)
{
	const struct ck_confine_rebuilt *x = a, *y = b;

	return strcmp(x->path, y->path);
}

ck_err
ck_confine_look(const struct ck_place *p, const struct ck_confine_said *said,
    struct ck_confine *ret, struct ck_fail *fail)
{
	ck_err r;

	memset(ret, 0, sizeof(*ret));
	ret->network = said->network;
	if ((r = add_writable(p, said->workspace, ret, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < said->nwritable; i++)
		if ((r = add_writable(p, said->writable[i], ret,
		    fail)) != CK_OK)
			return r;
	if ((r = add_masks(p, said, ret, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < said->nprotect; i++)
		if ((r = add_protect(said->protect[i], ret, fail)) != CK_OK)
			return r;
	for (size_t i = 0; i < ret->nmask; i++)
		if (!ret->mask[i].there &&
		    (r = rebuild_for(&ret->mask[i], ret, fail)) != CK_OK)
			return r;
	/* Outermost first: what is above sorts before. */
	qsort(ret->rebuilt, ret->nrebuilt, sizeof(ret->rebuilt[0]), by_path);
	return CK_OK;
}

void
ck_confine_done(struct ck_confine *c)
{
	for (size_t i = 0; i < c->nrebuilt; i++) {
		free(c->rebuilt[i].entry);
		free(c->rebuilt[i].link);
	}
	c->nrebuilt = 0;
}
