/* SPDX-License-Identifier: Apache-2.0 */
/* From the protected set to a list of mounts; see mounts.h. */
#include "boundary/mounts.h"

#include <stdlib.h>
#include <string.h>

#include "policy_rules.h"

struct plan {
	const struct ck_protect *set;
	size_t n;
	const struct ck_mounts_options *options;
	struct ck_mounts *out;
	struct ck_fail *fail;
};

static ck_err
look(struct plan *p, const char *path, struct ck_mount_fact *ret)
{
	return p->options->look(p->options->arg, path, ret, p->fail);
}

/* Strictly below. */
static bool
below(const char *path, const char *dir)
{
	return ck_path_under(path, dir) && strcmp(path, dir) != 0;
}

static ck_err
add(struct plan *p, enum ck_mount_step step, bool directory,
    unsigned int mode, const char *path)
{
	struct ck_mounts *out = p->out;
	struct ck_mount *m;

	for (size_t i = 0; i < out->n; i++)
		if (strcmp(out->step[i].path, path) == 0)
			return CK_OK;
	if (out->n == CK_MOUNTS_MAX)
		return ck_fail_set(p->fail, CK_REFUSED, path,
		    "is one step more than the %d a plan can have",
		    CK_MOUNTS_MAX);
	m = &out->step[out->n++];
	memset(m, 0, sizeof(*m));
	m->step = step;
	m->directory = directory;
	m->mode = mode;
	memcpy(m->path, path, strlen(path) + 1);
	return CK_OK;
}

/* The mask that path lies in or is; NULL. */
static const struct ck_mount *
mask_over(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->out->n; i++)
		if (p->out->step[i].step == CK_MOUNT_MASK &&
		    ck_path_under(path, p->out->step[i].path))
			return &p->out->step[i];
	return NULL;
}

/* Some other mount of a directory has path in it. */
static bool
read_only_over(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->out->n; i++)
		if (p->out->step[i].step == CK_MOUNT_READ &&
		    below(path, p->out->step[i].path))
			return true;
	return false;
}

/* A member that is closed as a whole has path in it, or is it. */
static bool
is_closed(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->set[i].deny_read && (p->set[i].directory ?
		    ck_path_under(path, p->set[i].path) :
		    strcmp(path, p->set[i].path) == 0))
			return true;
	return false;
}

static bool
has_below(const struct plan *p, const char *dir, bool closed)
{
	for (size_t i = 0; i < p->n; i++)
		if (below(p->set[i].path, dir) &&
		    (!closed || p->set[i].deny_read))
			return true;
	return false;
}

/* The directory that is masked for a member, if one is. */
static ck_err
mask_for(struct plan *p, const struct ck_protect *what, bool *ret,
    char ret_dir[CK_PATH_MAX])
{
	struct ck_mount_fact fact;
	ck_err r;

	*ret = what->deny_read;
	if (!what->deny_read)
		return CK_OK;
	memcpy(ret_dir, what->path, CK_PATH_MAX);
	if (what->directory)
		return CK_OK;
	ck_path_parent(what->path, ret_dir);
	*ret = what->close_parent &&
	    !ck_path_under(p->options->home, ret_dir);
	if (!*ret)
		return CK_OK;
	/* Not /tmp, nor a system directory that others live in. */
	if ((r = look(p, ret_dir, &fact)) == CK_OK)
		*ret = fact.there ? fact.ours && fact.directory :
		    fact.movable;
	return r;
}

/* The outermost masks.  Closed directories first, for one of them may be the
 * directory of a closed file and then is not listed. */
static ck_err
masks(struct plan *p)
{
	char dir[CK_PATH_MAX];
	struct ck_mounts *out = p->out;
	size_t kept = 0;
	bool wanted;
	ck_err r;

	for (int files = 0; files < 2; files++)
		for (size_t i = 0; i < p->n; i++) {
			const struct ck_protect *what = &p->set[i];

			if (what->directory == (files == 1))
				continue;
			if ((r = mask_for(p, what, &wanted, dir)) != CK_OK)
				return r;
			if (wanted && (r = add(p, CK_MOUNT_MASK, true,
			    files == 1 ? CK_MOUNT_MODE_LISTED :
			    CK_MOUNT_MODE_CLOSED, dir)) != CK_OK)
				return r;
		}
	for (size_t i = 0; i < out->n; i++) {
		bool inner = false;

		for (size_t k = 0; k < out->n; k++)
			inner = inner || below(out->step[i].path,
			    out->step[k].path);
		if (!inner)
			out->step[kept++] = out->step[i];
	}
	out->n = kept;
	return CK_OK;
}

/* Directories between a mask and what is shown in it. */
static ck_err
passages(struct plan *p, const char *mask, const char *path)
{
	char dir[CK_PATH_MAX];
	ck_err r = CK_OK;

	for (ck_path_parent(path, dir); r == CK_OK && below(dir, mask);
	    ck_path_parent(dir, dir))
		r = add(p, CK_MOUNT_NAME, true, is_closed(p, dir) ?
		    CK_MOUNT_MODE_CLOSED : CK_MOUNT_MODE_LISTED, dir);
	return r;
}

/* A member below a mask: back if it may be read and closes nothing itself,
 * else its name. */
static ck_err
inside(struct plan *p, const struct ck_protect *what)
{
	bool directory = what->directory || has_below(p, what->path, false);

	if (!is_closed(p, what->path) && !has_below(p, what->path, true))
		return add(p, CK_MOUNT_BACK, what->directory, 0, what->path);
	return add(p, CK_MOUNT_NAME, directory, directory ?
	    CK_MOUNT_MODE_CLOSED : CK_MOUNT_MODE_FILE, what->path);
}

static ck_err
members(struct plan *p)
{
	ck_err r = CK_OK;

	for (size_t i = 0; r == CK_OK && i < p->n; i++) {
		const struct ck_protect *what = &p->set[i];
		const struct ck_mount *mask = mask_over(p, what->path);

		if (mask != NULL && strcmp(mask->path, what->path) == 0)
			continue;
		if (mask != NULL)
			r = inside(p, what);
		else
			r = add(p, is_closed(p, what->path) ? CK_MOUNT_SHUT :
			    CK_MOUNT_READ, what->directory, 0, what->path);
	}
	/* Now, when every name is known: a member that is on the way to another
	 * keeps its own mode. */
	for (size_t i = 0; r == CK_OK && i < p->n; i++) {
		const struct ck_mount *mask = mask_over(p, p->set[i].path);

		if (mask != NULL)
			r = passages(p, mask->path, p->set[i].path);
	}
	return r;
}

static bool
is_bound(const struct plan *p, const char *dir)
{
	for (size_t i = 0; i < p->out->n; i++)
		if (p->out->step[i].step == CK_MOUNT_BIND &&
		    strcmp(p->out->step[i].path, dir) == 0)
			return true;
	return false;
}

/* Each directory that could be renamed with a mounted path in it. */
static ck_err
ancestors(struct plan *p)
{
	char dir[CK_PATH_MAX];
	struct ck_mount_fact fact;
	size_t n = p->out->n;
	ck_err r;

	for (size_t i = 0; i < n; i++) {
		const struct ck_mount *m = &p->out->step[i];

		if (m->step == CK_MOUNT_NAME || m->step == CK_MOUNT_BACK)
			continue;
		for (ck_path_parent(m->path, dir); strcmp(dir, "/") != 0;
		    ck_path_parent(dir, dir)) {
			if (read_only_over(p, dir) || is_bound(p, dir))
				continue;
			if ((r = look(p, dir, &fact)) != CK_OK)
				return r;
			if (fact.movable && (r = add(p, CK_MOUNT_BIND, true,
			    0, dir)) != CK_OK)
				return r;
		}
	}
	return CK_OK;
}

/* A member that says nothing new: in a directory that is read-only anyway. */
static void
drop_covered(struct ck_mounts *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->n; i++) {
		bool covered = false;

		for (size_t k = 0; k < out->n; k++)
			covered = covered ||
			    (out->step[i].step == CK_MOUNT_READ &&
			    out->step[k].step == CK_MOUNT_READ &&
			    out->step[k].directory &&
			    below(out->step[i].path, out->step[k].path));
		if (!covered)
			out->step[kept++] = out->step[i];
	}
	out->n = kept;
}

static ck_err
identities(struct plan *p)
{
	struct ck_mount_fact fact;
	ck_err r;

	for (size_t i = 0; i < p->out->n; i++) {
		struct ck_mount *m = &p->out->step[i];

		if (!m->directory || m->step == CK_MOUNT_NAME ||
		    m->step == CK_MOUNT_BACK)
			continue;
		if ((r = look(p, m->path, &fact)) != CK_OK)
			return r;
		m->known = fact.there && fact.directory;
		if (m->known) {
			m->device = fact.device;
			m->inode = fact.inode;
		}
	}
	return CK_OK;
}

static ck_err
check_member(const struct plan *p, const struct ck_protect *what)
{
	const char *fault = ck_policy_path_fault(what->path);
	ck_err r;

	if (fault != NULL)
		return ck_fail_set(p->fail, CK_REFUSED, what->path, "%s",
		    fault);
	if (ck_path_under(p->options->home, what->path)) {
		r = ck_fail_set(p->fail, CK_REFUSED, what->path,
		    "cannot be protected: the home %s is in it",
		    p->options->home);
		ck_fail_next(p->fail, "protect a directory below the home");
		return r;
	}
	return CK_OK;
}

static int
by_order(const void *a, const void *b)
{
	return ck_mount_compare(a, b);
}

ck_err
ck_mounts_compile(const struct ck_protect *set, size_t n,
    const struct ck_mounts_options *options, struct ck_mounts *ret,
    struct ck_fail *fail)
{
	struct plan p = { set, n, options, ret, fail };
	ck_err r;

	ret->n = 0;
	ret->user = options->user;
	for (size_t i = 0; i < n; i++)
		if ((r = check_member(&p, &set[i])) != CK_OK)
			return r;
	if ((r = masks(&p)) != CK_OK || (r = members(&p)) != CK_OK)
		goto out;
	drop_covered(ret);
	if ((r = ancestors(&p)) != CK_OK || (r = identities(&p)) != CK_OK)
		goto out;
	qsort(ret->step, ret->n, sizeof(ret->step[0]), by_order);
out:
	if (r != CK_OK)
		ret->n = 0;
	return r;
}
