/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a disk may hold after a power cut.  A tree of files and directories,
 * each in two states: as programs see it, and as it was when it was last
 * synced.  docs/reliability.md says how that differs from real disks.
 *
 * Paths are relative to the top of the tree, without a slash in front; "" is
 * the top itself.  Functions that return bool fail when the tree has nothing
 * of that kind at the path: what was replayed is not what happened.  Lack of
 * memory and errors of the real disk end the program with status 2.
 */
#ifndef CK_TOOLS_DISK_H
#define CK_TOOLS_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct disk;

/* What the power cut left. */
struct disk_view {
	/* Bit i: the names in the i-th directory of disk_pending() are the new
	 * ones, and not those of its last sync. */
	unsigned int names;
	bool data;           /* what was written since the last sync is there */
};

#define DISK_MAX_PENDING 16

/* The tree below a real directory, all of it synced. */
struct disk *disk_load(const char *top);
void disk_free(struct disk *d);

/* A missing file is made; *ret_size is its length. */
bool disk_open(struct disk *d, const char *path, bool create, bool truncate,
    mode_t mode, size_t *ret_size);
bool disk_mkdir(struct disk *d, const char *path, mode_t mode);
bool disk_write(struct disk *d, const char *path, size_t offset,
    const uint8_t *p, size_t n);
bool disk_truncate(struct disk *d, const char *path, size_t n);
bool disk_chmod(struct disk *d, const char *path, mode_t mode);
bool disk_link(struct disk *d, const char *from, const char *to);
bool disk_unlink(struct disk *d, const char *path);
/* Both names exist, and change places. */
bool disk_exchange(struct disk *d, const char *from, const char *to);
bool disk_rename(struct disk *d, const char *from, const char *to);
bool disk_sync(struct disk *d, const char *path);

/* How many directories have names that were not synced; what was written to
 * files and not synced, or modes. */
size_t disk_pending(const struct disk *d);
bool disk_unsynced(const struct disk *d);

/* A digest of the tree in that view: equal trees have equal ones. */
uint64_t disk_digest(const struct disk *d, struct disk_view v);

/* Make the tree in a real directory that is empty or missing. */
void disk_make(const struct disk *d, struct disk_view v, const char *top);

#endif
