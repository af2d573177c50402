/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.mounts: the text between the program that makes the plan and the one
 * that carries it out.  Nothing here allocates, so that the worker entry can
 * share it.
 *
 * The file is ASCII.  Its first line is CK_MOUNTS_FIRST, the second "user UID",
 * the last "end N" with the number of steps between; no other line is allowed,
 * and no other spelling of one: what is read must be, byte for byte, what
 * would be written.  A step is six words with one space between:
 *
 *	STEP KIND MODE DEVICE INODE PATH
 *
 * KIND is dir or file; MODE four octal digits; DEVICE and INODE decimal, as
 * stat(2) has them; each is "-" where the step has none.  In PATH a byte up to
 * space, a backslash and 0x7F stand as \ooo, as in /proc/self/mountinfo.
 *
 *	bind  dir   a directory onto itself, so that it cannot be renamed
 *	read  any   onto itself, read-only
 *	mask  dir   an empty read-only file system of this mode over it
 *	name  any   an entry that exists in the mask above, mode as said
 *	back  any   what is really there, bound read-only into the mask above
 *	shut  file  a file of mode 0000 over it
 *
 * DEVICE and INODE say which directory it was when the plan was made; "-": it
 * was not there.  Files have none, for their writers replace them.  The order
 * is the order of mounting: bind and read, mask with name and back, shut; in
 * each of the three a directory before what is below it, so that no mount
 * hides an earlier one.
 */
#ifndef CK_BOUNDARY_MOUNTS_TEXT_H
#define CK_BOUNDARY_MOUNTS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/path.h"

#define CK_MOUNTS_FIRST "clankie-keys worker mounts 1"

enum ck_mount_step {
	CK_MOUNT_BIND,
	CK_MOUNT_READ,
	CK_MOUNT_MASK,
	CK_MOUNT_NAME,
	CK_MOUNT_BACK,
	CK_MOUNT_SHUT,
	CK_MOUNT_STEPS
};

struct ck_mount {
	enum ck_mount_step step;
	bool directory;
	unsigned int mode;           /* of mask and name */
	bool known;                  /* device and inode are */
	unsigned long long device;
	unsigned long long inode;
	char path[CK_PATH_MAX];
};

/* More than the 128 protected paths and their ancestors ever need. */
#define CK_MOUNTS_MAX 512
/* Longest line: six words, each byte of the path as four. */
#define CK_MOUNT_LINE_MAX (64 + 4 * CK_PATH_MAX)
/* Longest file that is read. */
#define CK_MOUNTS_TEXT_MAX ((size_t)512 << 10)

/* A plan; about half a megabyte, so not for the stack. */
struct ck_mounts {
	unsigned long user;          /* whose worker it is for */
	size_t n;
	struct ck_mount step[CK_MOUNTS_MAX];
};

const char *ck_mount_step_name(enum ck_mount_step step);

/* Paths in the order of the plan: a directory before what is below it. */
int ck_mount_path_compare(const char *a, const char *b);
/* Steps in the order of the plan. */
int ck_mount_compare(const struct ck_mount *a, const struct ck_mount *b);

/* The line of a step, its newline and a NUL behind; its length. */
size_t ck_mount_line(const struct ck_mount *m, char ret[CK_MOUNT_LINE_MAX]);

/*
 * Read a whole file.  CK_DAMAGED, with the line's number in the reason, for
 * anything that is not the one spelling or the one order; CK_UNSUPPORTED: the
 * first line is of another version; CK_REFUSED: more than CK_MOUNTS_MAX
 * steps.  *ret may be written to even then, but its n is 0.
 */
CK_MUST_USE ck_err ck_mounts_read(const char *text, size_t n,
    const char *shown, struct ck_mounts *ret, struct ck_fail *fail);

/* path as it stands in the plan; and back from there or from mountinfo, false
 * for what is no such text or too long. */
void ck_mount_escape(const char *path, char ret[4 * CK_PATH_MAX]);
CK_MUST_USE bool ck_mount_unescape(const char *text, char ret[CK_PATH_MAX]);

#endif
