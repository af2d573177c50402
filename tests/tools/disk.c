/* SPDX-License-Identifier: Apache-2.0 */
/* The tree; disk_make.c brings it to a real directory.  See disk.h. */
#include "disk_int.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *
more(void *p, size_t n)
{
	if ((p = realloc(p, n > 0 ? n : 1)) == NULL)
		err(2, "disk");
	return p;
}

static struct node *
node_new(struct disk *d, bool dir, mode_t mode)
{
	struct node *node = more(NULL, sizeof(*node));

	memset(node, 0, sizeof(*node));
	node->dir = dir;
	node->now.mode = node->safe.mode = mode;
	/* In the order of their making, so that numbers are stable. */
	*d->last = node;
	d->last = &node->next;
	return node;
}

static void
state_clear(struct state *s)
{
	for (size_t i = 0; i < s->names; i++)
		free(s->name[i].text);
	free(s->name);
	free(s->p);
	memset(s, 0, sizeof(*s));
}

static void
name_add(struct state *s, const char *text, struct node *node)
{
	s->name = more(s->name, (s->names + 1) * sizeof(*s->name));
	if ((s->name[s->names].text = strdup(text)) == NULL)
		err(2, "disk");
	s->name[s->names++].node = node;
}

static void
state_copy(struct state *to, const struct state *from)
{
	state_clear(to);
	to->mode = from->mode;
	to->p = more(NULL, from->n);
	to->n = from->n;
	if (from->n > 0)
		memcpy(to->p, from->p, from->n);
	for (size_t i = 0; i < from->names; i++)
		name_add(to, from->name[i].text, from->name[i].node);
}

bool
node_names_differ(const struct node *node)
{
	const struct state *a = &node->now, *b = &node->safe;

	if (a->names != b->names)
		return true;
	for (size_t i = 0; i < a->names; i++) {
		const struct node *other = NULL;

		for (size_t j = 0; j < b->names; j++) {
			if (strcmp(a->name[i].text, b->name[j].text) == 0)
				other = b->name[j].node;
		}
		if (other != a->name[i].node)
			return true;
	}
	return false;
}

static struct name *
name_find(struct state *s, const char *text)
{
	for (size_t i = 0; i < s->names; i++) {
		if (strcmp(s->name[i].text, text) == 0)
			return &s->name[i];
	}
	return NULL;
}

/* The directory that path is in, and its last component. */
static struct node *
parent_of(struct disk *d, const char *path, char last[NAME_MAX + 1])
{
	struct node *at = d->top;
	const struct name *found;

	for (;;) {
		size_t n = strcspn(path, "/");

		if (n == 0 || n > NAME_MAX)
			return NULL;
		memcpy(last, path, n);
		last[n] = '\0';
		if (path[n] == '\0')
			return at;
		found = name_find(&at->now, last);
		if (found == NULL || !found->node->dir)
			return NULL;
		at = found->node;
		path += n + 1;
	}
}

static struct node *
find(struct disk *d, const char *path)
{
	char last[NAME_MAX + 1];
	struct node *dir;
	const struct name *name;

	if (path[0] == '\0')
		return d->top;
	if ((dir = parent_of(d, path, last)) == NULL ||
	    (name = name_find(&dir->now, last)) == NULL)
		return NULL;
	return name->node;
}

/* Point a name at a node; a NULL node takes the name away. */
static bool
name_set(struct disk *d, const char *path, struct node *node)
{
	char last[NAME_MAX + 1];
	struct node *dir = parent_of(d, path, last);
	struct name *name;

	if (dir == NULL)
		return false;
	name = name_find(&dir->now, last);
	if (node == NULL && name == NULL)
		return false;
	if (node == NULL) {
		free(name->text);
		*name = dir->now.name[--dir->now.names];
	} else if (name == NULL) {
		name_add(&dir->now, last, node);
	} else {
		name->node = node;
	}
	return true;
}

static void
load_file(struct node *node, const char *path, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	node->now.p = more(NULL, n);
	node->now.n = n;
	if (fd == -1 || read(fd, node->now.p, n) != (ssize_t)n)
		err(2, "%s", path);
	(void)close(fd);
}

static void
load(struct disk *d, struct node *into, const char *path)
{
	char below[PATH_MAX];
	const struct dirent *entry;
	struct node *node;
	struct stat st;
	DIR *dir = opendir(path);

	if (dir == NULL)
		err(2, "%s", path);
	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path,
		    entry->d_name) >= (int)sizeof(below) ||
		    lstat(below, &st) != 0)
			err(2, "%s/%s", path, entry->d_name);
		if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
			errx(2, "%s: neither file nor directory", below);
		node = node_new(d, S_ISDIR(st.st_mode), st.st_mode & 07777);
		name_add(&into->now, entry->d_name, node);
		if (node->dir)
			load(d, node, below);
		else
			load_file(node, below, (size_t)st.st_size);
	}
	(void)closedir(dir);
}

struct disk *
disk_load(const char *top)
{
	struct disk *d = more(NULL, sizeof(*d));

	d->first = NULL;
	d->last = &d->first;
	d->top = node_new(d, true, 0700);
	load(d, d->top, top);
	for (struct node *node = d->first; node != NULL; node = node->next)
		state_copy(&node->safe, &node->now);
	return d;
}

void
disk_free(struct disk *d)
{
	struct node *next;

	for (struct node *node = d->first; node != NULL; node = next) {
		next = node->next;
		state_clear(&node->now);
		state_clear(&node->safe);
		free(node);
	}
	free(d);
}

bool
disk_truncate(struct disk *d, const char *path, size_t n)
{
	struct node *node = find(d, path);

	if (node == NULL || node->dir)
		return false;
	node->now.p = more(node->now.p, n);
	if (n > node->now.n)
		memset(node->now.p + node->now.n, 0, n - node->now.n);
	node->now.n = n;
	return true;
}

bool
disk_open(struct disk *d, const char *path, bool create, bool truncate,
    mode_t mode, size_t *ret_size)
{
	struct node *node = find(d, path);

	if (node == NULL) {
		if (!create || !name_set(d, path,
		    node = node_new(d, false, mode)))
			return false;
	}
	if (truncate && !disk_truncate(d, path, 0))
		return false;
	*ret_size = node->now.n;
	return true;
}

bool
disk_mkdir(struct disk *d, const char *path, mode_t mode)
{
	return find(d, path) == NULL &&
	    name_set(d, path, node_new(d, true, mode));
}

bool
disk_write(struct disk *d, const char *path, size_t offset, const uint8_t *p,
    size_t n)
{
	struct node *node = find(d, path);

	if (node == NULL || node->dir || (offset + n > node->now.n &&
	    !disk_truncate(d, path, offset + n)))
		return false;
	memcpy(node->now.p + offset, p, n);
	return true;
}

bool
disk_chmod(struct disk *d, const char *path, mode_t mode)
{
	struct node *node = find(d, path);

	if (node == NULL)
		return false;
	node->now.mode = mode;
	return true;
}

bool
disk_link(struct disk *d, const char *from, const char *to)
{
	struct node *node = find(d, from);

	return node != NULL && !node->dir && find(d, to) == NULL &&
	    name_set(d, to, node);
}

bool
disk_unlink(struct disk *d, const char *path)
{
	const struct node *node = find(d, path);

	return node != NULL && (!node->dir || node->now.names == 0) &&
	    name_set(d, path, NULL);
}

bool
disk_exchange(struct disk *d, const char *from, const char *to)
{
	struct node *a = find(d, from), *b = find(d, to);

	return a != NULL && b != NULL && name_set(d, from, b) &&
	    name_set(d, to, a);
}

bool
disk_rename(struct disk *d, const char *from, const char *to)
{
	struct node *node = find(d, from);

	if (node == NULL || !name_set(d, to, node))
		return false;
	return strcmp(from, to) == 0 || name_set(d, from, NULL);
}

bool
disk_sync(struct disk *d, const char *path)
{
	struct node *node = find(d, path);

	if (node == NULL)
		return false;
	state_copy(&node->safe, &node->now);
	return true;
}

size_t
disk_pending(const struct disk *d)
{
	size_t n = 0;

	for (const struct node *node = d->first; node != NULL;
	    node = node->next)
		n += node_names_differ(node) ? 1 : 0;
	return n;
}

bool
disk_unsynced(const struct disk *d)
{
	for (const struct node *node = d->first; node != NULL;
	    node = node->next) {
		const struct state *a = &node->now, *b = &node->safe;

		if (a->mode != b->mode || a->n != b->n ||
		    (a->n > 0 && memcmp(a->p, b->p, a->n) != 0))
			return true;
	}
	return false;
}
