/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clankie-worker-entry: enters the boundary of a compiled plan
 * (boundary/mounts_text.h) and becomes the command.  Linux only, linked
 * statically, one process, no allocation: nothing of the environment or of a
 * library can change what it does, and no parent stays behind.
 */
#ifndef CK_WORKER_WORKER_H
#define CK_WORKER_WORKER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"
#include "boundary/mounts_text.h"

/* What the file system has at a step's path, before anything is mounted. */
struct wk_seen {
	bool there;
	bool link;               /* a symbolic link, which is not mounted on */
	bool mounted;
	dev_t device;
	ino_t inode;
	int source;              /* of back: the real thing, O_PATH; or -1 */
	long id;                 /* of the mount that was made */
};

/* Steps that the command line adds to the plan. */
enum { WK_MORE_MAX = 64 };

struct worker {
	uid_t uid;
	gid_t gid;
	const char *plan_path;
	char **more[WK_MORE_MAX];    /* --mask or --shut, and what */
	size_t mores;
	char **command;          /* its arguments, the first by any name */
	const char *file;        /* what is executed */
	int status_fd;           /* -1: nobody asked */
	char cwd[PATH_MAX];
	struct ck_mounts plan;
	struct wk_seen seen[CK_MOUNTS_MAX];
};

/*
 * Is this the entry under the name of a shell?  executed is the path of
 * execve(2).  The name or path it has as one; NULL: it is not.  Then wk_shell()
 * becomes "clankie-keys worker shell", with the same arguments; it returns
 * only with a reason.
 */
const char *wk_shell_link(const char *executed, const char *argv0);
#define WK_WORDS_MAX 65536
CK_MUST_USE ck_err wk_shell(const char *link, int argc, char **argv,
    struct ck_fail *fail);

/* In this order.  Each fails with a reason, and then nothing is started. */

/* Variables that load code into programs or change how shells start. */
void wk_environment_scrub(char **environment);

/* Close all but 0, 1, 2 and the status descriptor, which exec closes. */
CK_MUST_USE ck_err wk_descriptors_close(const struct worker *w,
    struct ck_fail *fail);

/* Read the plan: a file that only its user could have written; and add to it
 * what the command line says.  CK_REFUSED, CK_NOSTORE, and the errors of
 * ck_mounts_read(). */
CK_MUST_USE ck_err wk_plan_read(struct worker *w, struct ck_fail *fail);

/* Look at every path of the plan.  CK_NOENFORCE: a directory is another one
 * than the plan was made for; CK_REFUSED: owner, kind or a second hard
 * link. */
CK_MUST_USE ck_err wk_survey(struct worker *w, struct ck_fail *fail);

/* CK_REFUSED: one of 0, 1, 2 is a directory, or leads to what is protected:
 * no mount is between a process and what it has open. */
CK_MUST_USE ck_err wk_descriptors_check(const struct worker *w,
    struct ck_fail *fail);

/* A user and a mount namespace of our own.  CK_NOENFORCE says what the system
 * would have to allow. */
CK_MUST_USE ck_err wk_enter(struct worker *w, struct ck_fail *fail);

/* Make the mounts, and go to the working directory again through them. */
CK_MUST_USE ck_err wk_mount(struct worker *w, struct ck_fail *fail);

/* The kernel's own list must have every mount, on top and as wide as it
 * should be, and no other way to a closed directory.  CK_NOENFORCE. */
CK_MUST_USE ck_err wk_prove(struct worker *w, struct ck_fail *fail);

/* No capability now or later, no new privileges, no typing into the terminal.
 * CK_NOENFORCE. */
CK_MUST_USE ck_err wk_privileges_drop(struct ck_fail *fail);

/* No typing into the terminal alone. */
CK_MUST_USE ck_err wk_terminal_filter(struct ck_fail *fail);

/* As the command would: each closed path exists and cannot be opened, each
 * kept one cannot be written.  CK_NOENFORCE. */
CK_MUST_USE ck_err wk_probe(const struct worker *w, struct ck_fail *fail);

/* --- helpers of these --- */

/*
 * Open path as O_PATH, component by component, following no symbolic link; the
 * last component may be one and is then opened itself.  CK_NOSTORE: it is not
 * there; CK_REFUSED: a link on the way.
 */
CK_MUST_USE ck_err wk_walk(const char *path, int *ret_fd, struct stat *ret_st,
    struct ck_fail *fail);

#define WK_FD_PATH_SIZE 40
/* The name of a descriptor in /proc. */
const char *wk_fd_path(int fd, char to[WK_FD_PATH_SIZE]);

/* The step is one that is mounted, and is below dir or is it. */
bool wk_mounts_on(const struct ck_mount *m);

/* The part of a path below a directory that it lies in. */
const char *wk_below(const char *path, const char *dir);

#endif
