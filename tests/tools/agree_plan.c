/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mount plan read as data; see agree.h.  Reads the text of worker.mounts by
 * its description alone and says what each step means for one path: nothing
 * of the code that makes, writes, reads or carries out plans is used.
 */
#include "agree.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STEPS_MAX = 512, LINE = 8192 };

struct step {
	char kind[8];
	bool directory;
	unsigned int mode;
	char path[LINE];
};

struct ag_plan {
	size_t n;
	struct step step[STEPS_MAX];
};

static bool
is(const struct step *s, const char *kind)
{
	return strcmp(s->kind, kind) == 0;
}

static bool
there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static bool
within(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 &&
	    (path[n] == '\0' || path[n] == '/');
}

static void
unescape(const char *from, char *to)
{
	for (; *from != '\0' && *from != '\n'; to++) {
		if (*from != '\\') {
			*to = *from++;
			continue;
		}
		*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
		    (from[3] - '0'));
		from += 4;
	}
	*to = '\0';
}

struct ag_plan *
ag_plan_read(FILE *f)
{
	struct ag_plan *p = calloc(1, sizeof(*p));
	static char line[LINE], path[LINE];
	char what[8], mode[8], device[32], inode[32];

	if (p == NULL)
		err(2, NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		struct step *s = &p->step[p->n];

		if (sscanf(line, "%7s %7s %7s %31s %31s %8191[^\n]", s->kind,
		    what, mode, device, inode, path) != 6)
			continue;
		if (strcmp(s->kind, "clankie") == 0)
			continue;
		s->directory = strcmp(what, "dir") == 0;
		s->mode = (unsigned int)strtoul(mode, NULL, 8);
		unescape(path, s->path);
		if (++p->n == STEPS_MAX)
			errx(2, "a plan has too many steps");
	}
	if (p->n == 0)
		errx(2, "a plan has no step");
	return p;
}

void
ag_plan_free(struct ag_plan *p)
{
	free(p);
}

static const struct step *
at(const struct ag_plan *p, const char *path)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->step[i].path, path) == 0)
			return &p->step[i];
	return NULL;
}

/* The step of this kind that has path in it and that something is there for;
 * a mask cannot be made where nothing is. */
static const struct step *
over(const struct ag_plan *p, const char *kind, const char *path)
{
	for (size_t i = 0; i < p->n; i++)
		if (is(&p->step[i], kind) && there(p->step[i].path) &&
		    (p->step[i].directory ? within(path, p->step[i].path) :
		    strcmp(path, p->step[i].path) == 0))
			return &p->step[i];
	return NULL;
}

static bool
asks_only_whether(enum ck_op op)
{
	return op == CK_OP_READ_METADATA || op == CK_OP_EXISTENCE;
}

static bool
reads(enum ck_op op)
{
	return op == CK_OP_READ_DATA || op == CK_OP_READ_XATTR ||
	    op == CK_OP_MAP_EXECUTABLE;
}

/* A name and the mask itself have neither bytes nor attributes, but a mode that
 * may let a directory be listed; nobody can change anything. */
static enum ag_says
in_mask(const struct ag_plan *p, const struct step *mask, enum ck_op op,
    const char *path)
{
	const struct step *s = at(p, path);

	if (over(p, "back", path) != NULL)
		return asks_only_whether(op) || reads(op) ? AG_OPEN :
		    AG_CLOSED;
	if (s == NULL || (s != mask && !is(s, "name")))
		return AG_HIDDEN;
	if (asks_only_whether(op))
		return AG_OPEN;
	return op == CK_OP_READ_DATA && s->directory &&
	    (s->mode & 0400) != 0 ? AG_OPEN : AG_CLOSED;
}

/* Something below it is mounted on, so that it is held. */
static bool
is_held(const struct ag_plan *p, const char *path)
{
	for (size_t i = 0; i < p->n; i++)
		if (!is(&p->step[i], "bind") && !is(&p->step[i], "name") &&
		    within(p->step[i].path, path) && there(p->step[i].path))
			return true;
	return false;
}

enum ag_says
ag_plan_says(const struct ag_plan *p, enum ck_op op, const char *path)
{
	const struct step *mask = over(p, "mask", path);
	const struct step *s = at(p, path);

	if (mask != NULL)
		return in_mask(p, mask, op, path);
	if (over(p, "read", path) != NULL)
		return asks_only_whether(op) || reads(op) ? AG_OPEN :
		    AG_CLOSED;
	if (s == NULL || !there(path))
		return AG_OPEN;
	if (is(s, "shut"))
		return asks_only_whether(op) ? AG_OPEN : AG_CLOSED;
	if (is(s, "bind") && is_held(p, path) &&
	    (op == CK_OP_WRITE_UNLINK || op == CK_OP_WRITE_CREATE))
		return AG_CLOSED;
	return AG_OPEN;
}

bool
ag_plan_takes_along(const struct ag_plan *p, const char *path)
{
	const struct step *mask = over(p, "mask", path);

	return mask != NULL && (mask->mode & 0400) != 0;
}
