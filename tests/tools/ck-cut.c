/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-cut list LOG ROOT START
 * ck-cut make LOG ROOT START NUMBER DIRECTORY
 *
 * What a power cut may leave of a run: START is a copy of the directory ROOT
 * as it was before, LOG what strace saw (see replay.h).  Behind each call that
 * changes something the power goes: names that were not synced are all old, or
 * all new, or new in some directories only; data that was not synced is lost,
 * or written.  list prints one line for each tree that is not equal to an
 * earlier one, "NUMBER CALL; names: ..., data: ...", and then "# cuts N trees
 * N different N".  make brings one of them to DIRECTORY.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

/* Up to so many directories every mixture of old and new is tried; above,
 * those in which one is unlike all others. */
#define MIX_ALL 3

struct cut {
	size_t cuts;
	size_t trees;
	uint64_t *seen;
	size_t different;
	/* make: */
	size_t wanted;
	const char *directory;
};

static bool
is_new(struct cut *c, uint64_t sum)
{
	for (size_t i = 0; i < c->different; i++) {
		if (c->seen[i] == sum)
			return false;
	}
	c->seen = realloc(c->seen, (c->different + 1) * sizeof(*c->seen));
	if (c->seen == NULL)
		err(2, "ck-cut");
	c->seen[c->different++] = sum;
	return true;
}

static void
print(const struct cut *c, struct disk_view v, size_t pending, bool unsynced,
    const char *what)
{
	unsigned int all = (1U << pending) - 1;

	(void)printf("%zu cut %zu after %s; names: ", c->different, c->cuts,
	    what);
	if (pending == 0)
		(void)printf("synced");
	else if (v.names == 0)
		(void)printf("old");
	else if (v.names == all)
		(void)printf("new");
	else
		(void)printf("new in %#x of %#x", v.names, all);
	(void)printf(", data: %s\n", !unsynced ? "synced" : v.data ?
	    "written" : "lost");
}

/* false when the wanted tree was made. */
static bool
try(struct cut *c, const struct disk *d, struct disk_view v, size_t pending,
    bool unsynced, const char *what)
{
	c->trees++;
	if (!is_new(c, disk_digest(d, v)))
		return true;
	if (c->wanted == 0)
		print(c, v, pending, unsynced, what);
	if (c->wanted != c->different)
		return true;
	disk_make(d, v, c->directory);
	return false;
}

static bool
mixed(unsigned int names, size_t pending)
{
	unsigned int all = (1U << pending) - 1, few = names;

	if (pending <= MIX_ALL || names == 0 || names == all)
		return true;
	if ((few & (few - 1)) == 0)
		return true;
	few = ~names & all;
	return (few & (few - 1)) == 0;
}

static bool
step(void *arg, const struct disk *d, const char *what)
{
	struct cut *c = arg;
	size_t pending = disk_pending(d);
	bool unsynced = disk_unsynced(d);
	struct disk_view v;

	if (pending > DISK_MAX_PENDING)
		errx(2, "%zu directories are not synced", pending);
	c->cuts++;
	for (v.names = 0; v.names < 1U << pending; v.names++) {
		if (!mixed(v.names, pending))
			continue;
		v.data = true;
		if (!try(c, d, v, pending, unsynced, what))
			return false;
		v.data = false;
		if (unsynced && !try(c, d, v, pending, unsynced, what))
			return false;
	}
	return true;
}

int
main(int argc, char **argv)
{
	struct cut c = { 0, 0, NULL, 0, 0, NULL };
	bool make = argc == 7 && strcmp(argv[1], "make") == 0;
	struct disk *d;

	if (!make && (argc != 5 || strcmp(argv[1], "list") != 0))
		errx(2, "usage: ck-cut list LOG ROOT START\n"
		    "       ck-cut make LOG ROOT START NUMBER DIRECTORY");
	if (make) {
		c.wanted = (size_t)strtoull(argv[5], NULL, 10);
		c.directory = argv[6];
	}
	d = disk_load(argv[4]);
	replay(argv[2], argv[3], d, step, &c);
	disk_free(d);
	free(c.seen);
	if (make)
		return c.different == c.wanted ? 0 : 1;
	(void)printf("# cuts %zu trees %zu different %zu\n", c.cuts, c.trees,
	    c.different);
	return ferror(stdout) || fflush(stdout) != 0 ? 2 : 0;
}
