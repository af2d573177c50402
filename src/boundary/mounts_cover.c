/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second opinion on a mount plan: where each path leads when all mounts
 * are made, as a kernel walks it.  Knows nothing of how plans are made.
 */
#include "boundary/mounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE (-1)                 /* no mount of the plan */

struct walk {
	const struct ck_mounts *plan;
	const struct ck_protect *set;
	size_t n;
	const struct ck_mounts_options *options;
	struct ck_fail *fail;
	int on[CK_MOUNTS_MAX];       /* the mount that each step was made on */
};

static bool
is_mount(const struct ck_mount *m)
{
	return m->step != CK_MOUNT_NAME;
}

/* From mount cur over everything that is mounted on the path text[0..n), the
 * first steps steps being made. */
static int
cross(const struct walk *w, int cur, const char *text, size_t n,
    size_t steps)
{
	for (size_t i = 0; i < steps; i++) {
		const struct ck_mount *m = &w->plan->step[i];

		if (is_mount(m) && w->on[i] == cur &&
		    strncmp(m->path, text, n) == 0 && m->path[n] == '\0')
			cur = (int)i;
	}
	return cur;
}

/* The mount in which path is found. */
static int
leads_to(const struct walk *w, const char *path, size_t steps)
{
	int cur = NOWHERE;

	for (size_t n = 1; path[n - 1] != '\0'; n++)
		if (path[n] == '/' || path[n] == '\0')
			cur = cross(w, cur, path, n, steps);
	return cur;
}

static ck_err
uncovered(const struct walk *w, const char *path, const char *why)
{
	return ck_fail_set(w->fail, CK_NOENFORCE, path, "the plan %s", why);
}

/* Make the mounts in order; at the end each must still be on top. */
static ck_err
make_all(struct walk *w)
{
	const struct ck_mounts *plan = w->plan;

	for (size_t i = 0; i < plan->n; i++)
		w->on[i] = is_mount(&plan->step[i]) ?
		    leads_to(w, plan->step[i].path, i) : NOWHERE;
	for (size_t i = 0; i < plan->n; i++)
		if (is_mount(&plan->step[i]) &&
		    leads_to(w, plan->step[i].path, plan->n) != (int)i)
			return uncovered(w, plan->step[i].path,
			    "hides one mount behind a later one");
	return CK_OK;
}

static const struct ck_mount *
find(const struct walk *w, const char *path)
{
	int at = leads_to(w, path, w->plan->n);

	return at == NOWHERE ? NULL : &w->plan->step[at];
}

/* Seen, and closed: the mask itself or a name in it, without a read bit. */
static bool
stands_in(const struct walk *w, const struct ck_mount *mask,
    const char *path)
{
	if (strcmp(mask->path, path) == 0)
		return (mask->mode & 0444) == 0;
	for (size_t i = 0; i < w->plan->n; i++)
		if (w->plan->step[i].step == CK_MOUNT_NAME &&
		    strcmp(w->plan->step[i].path, path) == 0)
			return (w->plan->step[i].mode & 0444) == 0;
	return false;
}

static ck_err
check_closed(const struct walk *w, const struct ck_protect *what)
{
	const struct ck_mount *m = find(w, what->path);
	char text[CK_PATH_MAX + 16];

	if (m == NULL || (m->step != CK_MOUNT_MASK && m->step != CK_MOUNT_SHUT))
		return uncovered(w, what->path, "leaves it readable");
	if (m->step == CK_MOUNT_MASK && !stands_in(w, m, what->path))
		return uncovered(w, what->path,
		    "makes it look as if it did not exist, or lists it");
	(void)snprintf(text, sizeof(text), "%s/x/y", what->path);
	if (!what->directory)
		return CK_OK;
	m = find(w, text);
	return m != NULL && m->step == CK_MOUNT_MASK ? CK_OK :
	    uncovered(w, text, "leaves it readable");
}

static ck_err
check_kept(const struct walk *w, const struct ck_protect *what)
{
	char text[CK_PATH_MAX + 16];
	const struct ck_mount *m;

	(void)snprintf(text, sizeof(text), "%s%s", what->path,
	    what->directory ? "/x" : "");
	m = find(w, text);
	return m != NULL && m->step != CK_MOUNT_BIND ? CK_OK :
	    uncovered(w, what->path, "leaves it writable");
}

/* No rename of a directory on the way: it is a mount point, or in something
 * that is read-only, or nobody but root can. */
static ck_err
check_ancestors(const struct walk *w, const char *path)
{
	struct ck_mount_fact fact;
	char dir[CK_PATH_MAX];
	ck_err r;

	for (ck_path_parent(path, dir); strcmp(dir, "/") != 0;
	    ck_path_parent(dir, dir)) {
		const struct ck_mount *m = find(w, dir);

		if (m != NULL && (m->step != CK_MOUNT_BIND ||
		    strcmp(m->path, dir) == 0))
			continue;
		if ((r = w->options->look(w->options->arg, dir, &fact,
		    w->fail)) != CK_OK)
			return r;
		if (fact.movable)
			return uncovered(w, dir,
			    "lets this directory be renamed");
	}
	return CK_OK;
}

/* Some member is the reason for a mount at path. */
static bool
is_wanted(const struct walk *w, const char *path)
{
	char dir[CK_PATH_MAX];

	for (size_t i = 0; i < w->n; i++) {
		const struct ck_protect *what = &w->set[i];

		ck_path_parent(what->path, dir);
		if (strcmp(what->path, path) == 0 ||
		    (what->close_parent && strcmp(dir, path) == 0))
			return true;
	}
	return false;
}

/* Beside a member and in each directory on the way, work goes on. */
static ck_err
check_work(const struct walk *w, const char *path)
{
	char text[CK_PATH_MAX + 16], dir[CK_PATH_MAX];
	const struct ck_mount *m;

	memcpy(dir, path, CK_PATH_MAX);
	while (strcmp(dir, "/") != 0) {
		(void)snprintf(text, sizeof(text), "%s-control", dir);
		m = find(w, text);
		if (m != NULL && m->step != CK_MOUNT_BIND &&
		    !is_wanted(w, m->path))
			return uncovered(w, text, "closes it too");
		ck_path_parent(dir, dir);
	}
	return CK_OK;
}

ck_err
ck_mounts_cover(const struct ck_mounts *plan, const struct ck_protect *set,
    size_t n, const struct ck_mounts_options *options, struct ck_fail *fail)
{
	struct walk w = { plan, set, n, options, fail, { 0 } };
	ck_err r;

	if ((r = make_all(&w)) != CK_OK)
		return r;
	for (size_t i = 0; i < n; i++) {
		const char *path = set[i].path;

		r = set[i].deny_read ? check_closed(&w, &set[i]) :
		    check_kept(&w, &set[i]);
		if (r != CK_OK || (r = check_ancestors(&w, path)) != CK_OK ||
		    (r = check_work(&w, path)) != CK_OK)
			return r;
	}
	return CK_OK;
}
