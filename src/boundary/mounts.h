/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's boundary on Linux: the protected set as a list of mounts that
 * the worker entry makes in a namespace of its own (docs/boundary.md).
 *
 * A mount sits on one directory or file, not on a name.  So what is to be
 * closed is masked with its whole directory where that is possible: what the
 * owner renames inside changes nothing.  A mask on a single file is lost in
 * running workers as soon as its owner replaces the file by rename;
 * ck_mounts_report() names every one.
 */
#ifndef CK_BOUNDARY_MOUNTS_H
#define CK_BOUNDARY_MOUNTS_H

#include "base/bytes.h"
#include "boundary/mounts_text.h"
#include "boundary/policy.h"

/* Modes of what stands in for a protected thing: it can be seen and passed,
 * but neither opened nor listed; a directory that is closed only for what is
 * in it can be listed. */
#define CK_MOUNT_MODE_FILE 0000
#define CK_MOUNT_MODE_CLOSED 0100
#define CK_MOUNT_MODE_LISTED 0500

/* What a plan must know of a path. */
struct ck_mount_fact {
	bool there;
	bool directory;
	bool link;               /* symbolic; directory is then false */
	bool ours;               /* the worker's user owns it */
	bool movable;            /* that user can rename, remove or make it */
	unsigned long long device, inode;
};

/* How to find out; arg is the options'.  A path that cannot be examined is an
 * error (CK_DENIED and others of ck_fail_sys()), never "not there". */
typedef ck_err (*ck_mount_look)(void *arg, const char *path,
    struct ck_mount_fact *ret, struct ck_fail *fail);

struct ck_mounts_options {
	const char *home;        /* canonical home of the owner */
	unsigned long user;      /* whose worker it is for */
	ck_mount_look look;
	void *arg;
};

/* A look at the file system, for the effective user. */
CK_MUST_USE ck_err ck_mounts_look(void *arg, const char *path,
    struct ck_mount_fact *ret, struct ck_fail *fail);

/*
 * The plan for a set.  Nothing but ownership and permission of directories
 * decides which steps there are, so that the same set gives the same steps
 * before and after a file appears; what a directory is, is in its identity.
 *  - a closed directory: mask; also the directory of a closed file that says
 *    close_parent, unless it is not the user's or has the home in it;
 *  - below a mask: a name for what is closed, back for what may be read;
 *  - another closed file: shut; what may be read but not changed: read;
 *  - each directory on the way to one of these that the user could rename:
 *    bind.
 * CK_REFUSED: a path that is no canonical text, is the home or has the home
 * below it; more than CK_MOUNTS_MAX steps.  On failure *ret has no step.
 */
CK_MUST_USE ck_err ck_mounts_compile(const struct ck_protect *set, size_t n,
    const struct ck_mounts_options *options, struct ck_mounts *ret,
    struct ck_fail *fail);

/*
 * Check a plan against the set it was made from by following its mounts as a
 * kernel does, not by comparing steps: every way to a member ends at a mount
 * that keeps it, none is hidden by a later one, no directory on the way can
 * be renamed, and what is beside a member is left alone.  CK_NOENFORCE names
 * the first path that is not so.
 */
CK_MUST_USE ck_err ck_mounts_cover(const struct ck_mounts *plan,
    const struct ck_protect *set, size_t n,
    const struct ck_mounts_options *options, struct ck_fail *fail);

/* The plan as text, appended to out; the same plan gives the same bytes. */
void ck_mounts_write(const struct ck_mounts *plan, struct ck_buf *out);

/*
 * The same steps for the set itself.  *ret_facts: and b, which was made later,
 * has the same directories that could be renamed, and each that a knows is the
 * same one; one that a did not find may be there now.
 */
bool ck_mounts_same(const struct ck_mounts *a, const struct ck_mounts *b,
    bool *ret_facts);

/*
 * What the i-th step does not give, for people, as one line without a newline
 * appended to out; false, and nothing appended, when it holds what the policy
 * says.
 */
CK_MUST_USE bool ck_mounts_report(const struct ck_mounts *plan, size_t i,
    const struct ck_mounts_options *options, struct ck_buf *out);

#endif
