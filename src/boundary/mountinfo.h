/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's list of mounts, /proc/self/mountinfo (proc(5)), a line at a
 * time and without allocation. */
#ifndef CK_BOUNDARY_MOUNTINFO_H
#define CK_BOUNDARY_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/path.h"

/*
 *   36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,...
 * A root or a point too long for a path of ours is none of ours, and empty.
 */
struct ck_mountinfo {
	long id;
	char device[32];             /* major:minor */
	char root[CK_PATH_MAX];      /* in its file system */
	char point[CK_PATH_MAX];
	bool read_only;
	char type[32];
};

struct ck_mountlist {
	int fd;
	size_t n, at;
	char buf[16384];             /* longer than any line */
};

/* One line without its newline, which is cut into words; false when it has
 * another form. */
CK_MUST_USE bool ck_mountinfo_parse(char *text, struct ck_mountinfo *ret);

/* CK_NOENFORCE: it cannot be read, or has a line of another form.  *ret_more
 * is false, and *ret as it was, at the end. */
CK_MUST_USE ck_err ck_mountlist_open(struct ck_mountlist *l,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_mountlist_next(struct ck_mountlist *l,
    struct ck_mountinfo *ret, bool *ret_more, struct ck_fail *fail);
void ck_mountlist_close(struct ck_mountlist *l);

#endif
