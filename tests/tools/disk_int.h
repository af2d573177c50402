/* SPDX-License-Identifier: Apache-2.0 */
/* What disk.c and disk_make.c share. */
#ifndef CK_TOOLS_DISK_INT_H
#define CK_TOOLS_DISK_INT_H

#include "disk.h"

struct name {
	char *text;
	struct node *node;
};

/* A file has bytes, a directory names. */
struct state {
	mode_t mode;
	uint8_t *p;
	size_t n;
	struct name *name;
	size_t names;
};

struct node {
	struct node *next;   /* of all nodes, in the order of their making */
	bool dir;
	struct state now;
	struct state safe;   /* as of the last sync */
};

struct disk {
	struct node *first;
	struct node **last;
	struct node *top;
};

/* A directory whose names were changed since its last sync. */
bool node_names_differ(const struct node *node);

#endif
