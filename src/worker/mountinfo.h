/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's list of mounts, /proc/self/mountinfo (proc(5)), a line at a
 * time and without allocation. */
#ifndef CK_WORKER_MOUNTINFO_H
#define CK_WORKER_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/path.h"

/*
 *   36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,...
 * A root or a point too long for a path of ours is none of ours, and empty.
 */
struct wk_line {
	long id;
	char device[32];             /* major:minor */
	char root[CK_PATH_MAX];      /* in its file system */
	char point[CK_PATH_MAX];
	bool read_only;
	char type[32];
};

struct wk_list {
	int fd;
	size_t n, at;
	char buf[16384];             /* longer than any line */
};

/* One line without its newline, which is cut into words; false when it has
 * another form. */
CK_MUST_USE bool wk_line_parse(char *text, struct wk_line *ret);

/* CK_NOENFORCE: it cannot be read, or has a line of another form.  *ret_more
 * is false, and *ret as it was, at the end. */
CK_MUST_USE ck_err wk_list_open(struct wk_list *l, struct ck_fail *fail);
CK_MUST_USE ck_err wk_list_next(struct wk_list *l, struct wk_line *ret,
    bool *ret_more, struct ck_fail *fail);
void wk_list_close(struct wk_list *l);

#endif
