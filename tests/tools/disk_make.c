/* SPDX-License-Identifier: Apache-2.0 */
/* A view of the tree: its digest, and as a real directory.  See disk.h. */
#include "disk_int.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct look {
	const struct disk *d;
	struct disk_view v;
};

/* The state of a node that a power cut leaves in this view. */
static const struct state *
state_of(const struct look *l, const struct node *node)
{
	unsigned int at = 0;

	if (!node->dir)
		return l->v.data ? &node->now : &node->safe;
	for (const struct node *i = l->d->first; i != node; i = i->next)
		at += node_names_differ(i) ? 1 : 0;
	if (node_names_differ(node))
		return (l->v.names >> at & 1) != 0 ? &node->now : &node->safe;
	return l->v.data ? &node->now : &node->safe;
}

static void
add(uint64_t *sum, const void *p, size_t n)
{
	const uint8_t *byte = p;

	/* FNV-1a. */
	for (size_t i = 0; i < n; i++)
		*sum = (*sum ^ byte[i]) * 0x100000001b3ULL;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text,
	    ((const struct name *)b)->text);
}

static void
digest(const struct look *l, const struct node *node, uint64_t *sum)
{
	const struct state *s = state_of(l, node);
	struct name *sorted;

	add(sum, &node->dir, sizeof(node->dir));
	add(sum, &s->mode, sizeof(s->mode));
	add(sum, &s->n, sizeof(s->n));
	add(sum, s->p, s->n);
	add(sum, &s->names, sizeof(s->names));
	if (s->names == 0)
		return;
	if ((sorted = malloc(s->names * sizeof(*sorted))) == NULL)
		err(2, "disk");
	memcpy(sorted, s->name, s->names * sizeof(*sorted));
	qsort(sorted, s->names, sizeof(*sorted), by_text);
	for (size_t i = 0; i < s->names; i++) {
		add(sum, sorted[i].text, strlen(sorted[i].text) + 1);
		digest(l, sorted[i].node, sum);
	}
	free(sorted);
}

uint64_t
disk_digest(const struct disk *d, struct disk_view v)
{
	const struct look l = { d, v };
	uint64_t sum = 0xcbf29ce484222325ULL;

	digest(&l, d->top, &sum);
	return sum;
}

static void
make_file(const struct state *s, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd == -1 || write(fd, s->p, s->n) != (ssize_t)s->n ||
	    fchmod(fd, s->mode) != 0 || close(fd) != 0)
		err(2, "%s", path);
}

static void
make(const struct look *l, const struct node *node, const char *path)
{
	const struct state *s = state_of(l, node);
	char below[PATH_MAX];

	if (!node->dir) {
		make_file(s, path);
		return;
	}
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		err(2, "%s", path);
	for (size_t i = 0; i < s->names; i++) {
		if (snprintf(below, sizeof(below), "%s/%s", path,
		    s->name[i].text) >= (int)sizeof(below))
			errx(2, "%s: too long", path);
		make(l, s->name[i].node, below);
	}
	/* Last: it may take our right to write away. */
	if (chmod(path, s->mode) != 0)
		err(2, "%s", path);
}

void
disk_make(const struct disk *d, struct disk_view v, const char *top)
{
	const struct look l = { d, v };

	make(&l, d->top, top);
}
