/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the mounts are as they should be, by the kernel's list and by
 * trying; see worker.h. */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A line of /proc/self/mountinfo (proc(5)):
 *   36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,... */
struct line {
	long id;
	char device[32];             /* major:minor */
	char root[CK_PATH_MAX];      /* in its file system */
	char point[CK_PATH_MAX];
	bool read_only;
	char type[32];
};

struct list {
	int fd;
	size_t n, at;
	char buf[16384];             /* longer than any line */
};

static ck_err
unproved(struct ck_fail *fail, const char *path, const char *why)
{
	return ck_fail_set(fail, CK_NOENFORCE, path, "%s", why);
}

/* The next word of a line, in place; NULL at its end. */
static char *
word(char **at)
{
	char *begin = *at, *end;

	if (begin == NULL || *begin == '\0')
		return NULL;
	end = strchr(begin, ' ');
	if (end != NULL)
		*end++ = '\0';
	*at = end;
	return begin;
}

static bool
copy(char *to, size_t room, const char *from)
{
	if (from == NULL || strlen(from) >= room)
		return false;
	memcpy(to, from, strlen(from) + 1);
	return true;
}

static bool
parse(char *text, struct line *ret)
{
	char *at = text, *id = word(&at), *w;

	if (id == NULL || word(&at) == NULL)
		return false;
	ret->id = strtol(id, NULL, 10);
	if (!copy(ret->device, sizeof(ret->device), word(&at)))
		return false;
	/* A root or a point that is too long for a path of ours is none of
	 * ours; it is kept as one that equals nothing. */
	if ((w = word(&at)) == NULL)
		return false;
	if (!ck_mount_unescape(w, ret->root))
		ret->root[0] = '\0';
	if ((w = word(&at)) == NULL)
		return false;
	if (!ck_mount_unescape(w, ret->point))
		ret->point[0] = '\0';
	if ((w = word(&at)) == NULL)
		return false;
	ret->read_only = strncmp(w, "ro", 2) == 0 &&
	    (w[2] == ',' || w[2] == '\0');
	while ((w = word(&at)) != NULL && strcmp(w, "-") != 0)
		;
	return w != NULL && copy(ret->type, sizeof(ret->type), word(&at));
}

/* The next line; *ret_more is false at the end. */
static ck_err
next(struct list *l, struct line *ret, bool *ret_more, struct ck_fail *fail)
{
	char *end;
	ssize_t got;

	for (;;) {
		end = memchr(l->buf + l->at, '\n', l->n - l->at);
		if (end != NULL)
			break;
		memmove(l->buf, l->buf + l->at, l->n - l->at);
		l->n -= l->at;
		l->at = 0;
		got = l->n == sizeof(l->buf) ? -1 :
		    read(l->fd, l->buf + l->n, sizeof(l->buf) - l->n);
		if (got < 0 || (got == 0 && l->n > 0))
			return unproved(fail, "/proc/self/mountinfo",
			    "cannot be read");
		if (got == 0) {
			*ret_more = false;
			return CK_OK;
		}
		l->n += (size_t)got;
	}
	*end = '\0';
	if (!parse(l->buf + l->at, ret))
		return unproved(fail, "/proc/self/mountinfo",
		    "has a line of another form");
	l->at = (size_t)(end - l->buf) + 1;
	*ret_more = true;
	return CK_OK;
}

static ck_err
open_list(struct list *l, struct ck_fail *fail)
{
	l->n = l->at = 0;
	l->fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	return l->fd >= 0 ? CK_OK : unproved(fail, "/proc/self/mountinfo",
	    "cannot be opened");
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
check_ours(const struct worker *w, size_t i, const struct line *line,
    struct ck_fail *fail)
{
	const struct ck_mount *m = &w->plan.step[i];
	bool tmpfs = m->step == CK_MOUNT_MASK || m->step == CK_MOUNT_SHUT;

	if (strcmp(line->point, m->path) != 0)
		return unproved(fail, m->path, "was moved meanwhile");
	if (m->step != CK_MOUNT_BIND && !line->read_only)
		return unproved(fail, m->path, "is not read-only inside");
	if (tmpfs && strcmp(line->type, "tmpfs") != 0)
		return unproved(fail, m->path, "is not covered");
	if (m->step == CK_MOUNT_MASK && strcmp(line->root, "/") != 0)
		return unproved(fail, m->path, "is covered by something else");
	return CK_OK;
}

/* A mount of somebody else's in a directory that should be read-only. */
static ck_err
check_other(const struct worker *w, const struct line *line,
    struct ck_fail *fail)
{
	for (size_t i = 0; i < w->plan.n; i++) {
		const struct ck_mount *m = &w->plan.step[i];

		if (w->seen[i].mounted && !line->read_only && m->directory &&
		    (m->step == CK_MOUNT_READ || m->step == CK_MOUNT_BACK) &&
		    ck_path_under(line->point, m->path) &&
		    strcmp(line->point, m->path) != 0)
			return unproved(fail, line->point,
			    "is a file system of its own in a directory that "
			    "must be read-only");
	}
	return CK_OK;
}

/* Every mount that was made is in the list once, and each path still leads to
 * it. */
ck_err
wk_prove(struct worker *w, struct ck_fail *fail)
{
	static struct list l;
	static struct line line;
	size_t expected = 0, found = 0;
	bool more = true;
	ck_err r;

	for (size_t i = 0; i < w->plan.n; i++)
		expected += w->seen[i].mounted;
	if ((r = open_list(&l, fail)) != CK_OK)
		return r;
	while ((r = next(&l, &line, &more, fail)) == CK_OK && more) {
		size_t i = step_of(w, line.id);

		found += i < w->plan.n;
		r = i < w->plan.n ? check_ours(w, i, &line, fail) :
		    check_other(w, &line, fail);
		if (r != CK_OK)
			break;
	}
	(void)close(l.fd);
	if (r == CK_OK && found != expected)
		r = unproved(fail, NULL, "a mount is missing from the list of "
		    "the kernel");
	return r;
}
