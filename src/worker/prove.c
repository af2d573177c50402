/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the mounts are as they should be, by the kernel's own list; see
 * worker.h. */
#include "worker/worker.h"

#include <stdio.h>
#include <string.h>

#include "boundary/mountinfo.h"

/* Where a protected path really is: in which file system, and where there. */
struct real {
	size_t point_n;              /* of the mount that has it; 0: none yet */
	char device[32];
	char inside[CK_PATH_MAX];
};

static struct real reals[CK_MOUNTS_MAX];
static struct ck_mountlist list;
static struct ck_mountinfo line;

static ck_err
unproved(struct ck_fail *fail, const char *path, const char *why)
{
	return ck_fail_set(fail, CK_NOENFORCE, path, "%s", why);
}

/* The step that made this mount; the plan's n when none did. */
static size_t
step_of(const struct worker *w, long id)
{
	size_t i = 0;

	while (i < w->plan.n && (!w->seen[i].mounted || w->seen[i].id != id))
		i++;
	return i;
}

static ck_err
check_ours(const struct worker *w, size_t i, const struct ck_mountinfo *l,
    struct ck_fail *fail)
{
	const struct ck_mount *m = &w->plan.step[i];
	bool tmpfs = m->step == CK_MOUNT_MASK || m->step == CK_MOUNT_SHUT;

	if (strcmp(l->point, m->path) != 0)
		return unproved(fail, m->path, "was moved meanwhile");
	if (m->step != CK_MOUNT_BIND && !l->read_only)
		return unproved(fail, m->path, "is not read-only inside");
	if (tmpfs && strcmp(l->type, "tmpfs") != 0)
		return unproved(fail, m->path, "is not covered");
	if (m->step == CK_MOUNT_MASK && strcmp(l->root, "/") != 0)
		return unproved(fail, m->path, "is covered by something else");
	return CK_OK;
}

/* A mount of somebody else's in a directory that should be read-only. */
static ck_err
check_other(const struct worker *w, const struct ck_mountinfo *l,
    struct ck_fail *fail)
{
	for (size_t i = 0; i < w->plan.n; i++) {
		const struct ck_mount *m = &w->plan.step[i];

		if (w->seen[i].mounted && !l->read_only && m->directory &&
		    (m->step == CK_MOUNT_READ || m->step == CK_MOUNT_BACK) &&
		    ck_path_under(l->point, m->path) &&
		    strcmp(l->point, m->path) != 0)
			return unproved(fail, l->point,
			    "is a file system of its own in a directory that "
			    "must be read-only");
	}
	return CK_OK;
}

/* Some other mount of that file system may show the same thing. */
static bool
is_guarded(const struct worker *w, size_t i)
{
	return w->seen[i].there && w->plan.step[i].step != CK_MOUNT_BIND;
}

/* to = root, and behind it what path has behind point. */
static bool
transplant(char to[CK_PATH_MAX], const char *root, const char *path,
    const char *point)
{
	const char *rest = path + (strcmp(point, "/") == 0 ? 0 :
	    strlen(point));
	int n = snprintf(to, CK_PATH_MAX, "%s%s",
	    strcmp(root, "/") == 0 ? "" : root, rest);

	return n >= 0 && n < CK_PATH_MAX;
}

/* The deepest mount that is not ours is the one that has it, the last one of
 * several at one point. */
static void
locate(const struct worker *w, const struct ck_mountinfo *l)
{
	size_t n = strlen(l->point);

	for (size_t i = 0; n > 0 && i < w->plan.n; i++) {
		const char *path = w->plan.step[i].path;

		if (!is_guarded(w, i) || n < reals[i].point_n ||
		    !ck_path_under(path, l->point))
			continue;
		reals[i].point_n = n;
		memcpy(reals[i].device, l->device, sizeof(l->device));
		if (!transplant(reals[i].inside, l->root, path, l->point))
			reals[i].inside[0] = '\0';
	}
}

/* What a step keeps, this mount gives: reading, or writing. */
static bool
undoes(const struct ck_mount *m, const struct ck_mountinfo *l)
{
	if (m->step == CK_MOUNT_READ || m->step == CK_MOUNT_BACK)
		return !l->read_only;
	return true;
}

/* The mount shows the path's own file or directory under another name, which
 * goes to alias; or something that is in the directory.  A mask that can be
 * listed is about the names in it only. */
static bool
shows(const struct worker *w, size_t i, const struct ck_mountinfo *l,
    char alias[CK_PATH_MAX])
{
	const struct ck_mount *m = &w->plan.step[i];
	const char *inside = reals[i].inside;
	struct stat st;

	if (inside[0] == '\0' || l->root[0] == '\0')
		return false;
	if (ck_path_under(inside, l->root))
		return transplant(alias, l->point, inside, l->root) &&
		    strcmp(alias, m->path) != 0 && lstat(alias, &st) == 0 &&
		    st.st_dev == w->seen[i].device &&
		    st.st_ino == w->seen[i].inode;
	memcpy(alias, l->point, CK_PATH_MAX);
	return m->directory && (m->mode & 0444) == 0 &&
	    ck_path_under(l->root, inside) &&
	    !ck_path_under(l->point, m->path);
}

static ck_err
check_alias(const struct worker *w, const struct ck_mountinfo *l,
    struct ck_fail *fail)
{
	char alias[CK_PATH_MAX];

	for (size_t i = 0; i < w->plan.n; i++) {
		if (!is_guarded(w, i) || strcmp(reals[i].device,
		    l->device) != 0 || !undoes(&w->plan.step[i], l) ||
		    !shows(w, i, l, alias))
			continue;
		(void)ck_fail_set(fail, CK_NOENFORCE, alias,
		    "is another way to what must be kept from workers, by a "
		    "second mount of its file system");
		ck_fail_next(fail, "unmount it, or keep the custody elsewhere");
		return CK_NOENFORCE;
	}
	return CK_OK;
}

/* One pass over the list; each line is looked at by one of these two. */
static ck_err
ours_and_others(struct worker *w, size_t *found, struct ck_fail *fail)
{
	size_t i = step_of(w, line.id);

	if (i < w->plan.n) {
		(*found)++;
		return check_ours(w, i, &line, fail);
	}
	locate(w, &line);
	return check_other(w, &line, fail);
}

static ck_err
second_ways(struct worker *w, size_t *found, struct ck_fail *fail)
{
	(void)found;
	return step_of(w, line.id) < w->plan.n ? CK_OK :
	    check_alias(w, &line, fail);
}

static ck_err
for_each(struct worker *w, size_t *found,
    ck_err (*look)(struct worker *, size_t *, struct ck_fail *),
    struct ck_fail *fail)
{
	bool more = true;
	ck_err r;

	if ((r = ck_mountlist_open(&list, fail)) != CK_OK)
		return r;
	while ((r = ck_mountlist_next(&list, &line, &more,
	    fail)) == CK_OK && more)
		if ((r = look(w, found, fail)) != CK_OK)
			break;
	ck_mountlist_close(&list);
	return r;
}

ck_err
wk_prove(struct worker *w, struct ck_fail *fail)
{
	size_t expected = 0, found = 0;
	ck_err r;

	for (size_t i = 0; i < w->plan.n; i++)
		expected += w->seen[i].mounted;
	if ((r = for_each(w, &found, ours_and_others, fail)) != CK_OK)
		return r;
	if (found != expected)
		return unproved(fail, NULL, "a mount is missing from the list "
		    "of the kernel");
	return for_each(w, &found, second_ways, fail);
}
