/* SPDX-License-Identifier: Apache-2.0 */
/* A plan for others: its file, its comparison, its gaps; see mounts.h. */
#include "boundary/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the effective user can rename, remove or make path. */
static ck_err
is_movable(const char *path, const struct stat *own, bool *ret,
    struct ck_fail *fail)
{
	char dir[CK_PATH_MAX];
	struct stat st;

	ck_path_parent(path, dir);
	/* A directory that is missing is made by whoever can make it. */
	while (lstat(dir, &st) != 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			return ck_fail_sys(fail, errno, dir,
			    "examine the directory");
		own = NULL;
		ck_path_parent(dir, dir);
	}
	/* Who owns it can give himself the permission; and what is read-only
	 * at the moment may not be so for the next worker. */
	*ret = st.st_uid == geteuid() ||
	    ((faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) == 0 ||
	    errno == EROFS) &&
	    ((st.st_mode & S_ISVTX) == 0 || own == NULL ||
	    own->st_uid == geteuid()));
	return CK_OK;
}

ck_err
ck_mounts_look(void *arg, const char *path, struct ck_mount_fact *ret,
    struct ck_fail *fail)
{
	struct ck_mount_fact fact;
	struct stat st;
	ck_err r;

	(void)arg;
	memset(&fact, 0, sizeof(fact));
	if (lstat(path, &st) == 0)
		fact.there = true;
	else if (errno != ENOENT && errno != ENOTDIR)
		return ck_fail_sys(fail, errno, path, "examine it");
	if ((r = is_movable(path, fact.there ? &st : NULL, &fact.movable,
	    fail)) != CK_OK)
		return r;
	if (fact.there) {
		fact.directory = S_ISDIR(st.st_mode);
		fact.link = S_ISLNK(st.st_mode);
		fact.ours = st.st_uid == geteuid();
		fact.device = (unsigned long long)st.st_dev;
		fact.inode = (unsigned long long)st.st_ino;
	}
	*ret = fact;
	return CK_OK;
}

void
ck_mounts_write(const struct ck_mounts *plan, struct ck_buf *out)
{
	char line[CK_MOUNT_LINE_MAX];

	ck_buf_format(out, CK_MOUNTS_FIRST "\nuser %lu\n", plan->user);
	for (size_t i = 0; i < plan->n; i++)
		ck_buf_bytes(out, line, ck_mount_line(&plan->step[i], line));
	ck_buf_format(out, "end %zu\n", plan->n);
}

/* The i-th or next step that comes from the set itself; NULL. */
static const struct ck_mount *
own_step(const struct ck_mounts *plan, size_t *i)
{
	while (*i < plan->n && plan->step[*i].step == CK_MOUNT_BIND)
		(*i)++;
	return *i < plan->n ? &plan->step[(*i)++] : NULL;
}

static bool
same_step(const struct ck_mount *x, const struct ck_mount *y)
{
	return x->step == y->step && x->directory == y->directory &&
	    x->mode == y->mode && strcmp(x->path, y->path) == 0;
}

bool
ck_mounts_same(const struct ck_mounts *a, const struct ck_mounts *b,
    bool *ret_facts)
{
	bool facts = a->n == b->n;
	size_t i = 0, k = 0;

	if (a->user != b->user)
		return false;
	for (;;) {
		const struct ck_mount *x = own_step(a, &i);
		const struct ck_mount *y = own_step(b, &k);

		if (x == NULL && y == NULL)
			break;
		if (x == NULL || y == NULL || !same_step(x, y))
			return false;
	}
	for (i = 0; facts && i < a->n; i++) {
		const struct ck_mount *x = &a->step[i], *y = &b->step[i];

		/* Where nothing was, nothing can have been moved away. */
		facts = same_step(x, y) && (!x->known || (y->known &&
		    x->device == y->device && x->inode == y->inode));
	}
	*ret_facts = facts;
	return true;
}

/* A single file, or something that is not there. */
static const char *
gap(const struct ck_mount *m, const struct ck_mount_fact *fact)
{
	bool shut = m->step == CK_MOUNT_SHUT;

	if (!fact->there)
		return m->step == CK_MOUNT_BIND ? NULL :
		    "is not there, so nothing is protected; a worker may "
		    "make it";
	if (fact->link)
		return "is a symbolic link: it can be replaced, and only what "
		    "it leads to is protected, by its own rule";
	if (m->directory)
		return NULL;
	return shut ? "is closed as a single file: replaced by rename, as most "
	    "editors save, it is open to the workers that run then" :
	    "is read-only as a single file: replaced by rename, it can be "
	    "changed by the workers that run then";
}

bool
ck_mounts_report(const struct ck_mounts *plan, size_t i,
    const struct ck_mounts_options *options, struct ck_buf *out)
{
	const struct ck_mount *m = &plan->step[i];
	struct ck_mount_fact fact;
	const char *why;

	if (m->step == CK_MOUNT_NAME || m->step == CK_MOUNT_BACK)
		return false;
	if (options->look(options->arg, m->path, &fact, NULL) != CK_OK)
		why = "cannot be examined";
	else
		why = gap(m, &fact);
	if (why == NULL)
		return false;
	ck_buf_format(out, "%s: %s", m->path, why);
	return true;
}
