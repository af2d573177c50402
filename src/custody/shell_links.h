/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of the user's own worker entry: links to the entry under the
 * names of shells, and copies of the programs where the installed ones could
 * be changed by a worker.  What lies there and is not ours is never touched.
 */
#ifndef CK_CUSTODY_SHELL_LINKS_H
#define CK_CUSTODY_SHELL_LINKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/path.h"
#include "custody/place.h"
#include "records/records.h"

#define CK_LINKS_ENTRY "clankie-worker-entry"
#define CK_LINKS_PROGRAM "clankie-keys"

/* The names of the links; NULL behind the last. */
const char *ck_links_name(size_t i);

struct ck_links {
	char dir[CK_PATH_MAX];       /* of the links */
	char entry[CK_PATH_MAX];     /* where they lead */
	char from_entry[CK_PATH_MAX];    /* copied from here, or "" */
	char from_program[CK_PATH_MAX];
	char before[CK_PATH_MAX];    /* where links of ours led before, or "" */
	bool copied;                 /* the programs there are ours */
};

/* The directory, which need not exist.  CK_REFUSED: it does not fit. */
CK_MUST_USE ck_err ck_links_dir(const struct ck_place *p,
    char ret[CK_PATH_MAX], struct ck_fail *fail);

/* path and all directories on the way belong to root, and nobody else can
 * change them. */
bool ck_links_is_system(const char *path);

/*
 * Make what is missing, bring up to date what is ours, and remove copies that
 * are not needed any more; *ret_changed tells whether anything was done.  The caller holds the custody lock.  CK_REFUSED,
 * and nothing was changed: something there is not ours, or the directory is
 * reached through a link or writable by others.
 */
CK_MUST_USE ck_err ck_links_make(const struct ck_place *p,
    const struct ck_links *links, bool *ret_changed, struct ck_fail *fail);

/* Remove the links that lead to before, and the programs if they were copied.
 * The directory stays.  What else is there stays, too. */
CK_MUST_USE ck_err ck_links_remove(const struct ck_place *p,
    const struct ck_links *links, size_t *ret_removed, struct ck_fail *fail);

/*
 * An empty configuration of Herdr where there is none and the records protect
 * one, or a worker could make it and name another shell for every pane.
 * *ret_made tells; an existing one is left as it is.
 */
CK_MUST_USE ck_err ck_links_herdr(const struct ck_place *p,
    struct ck_records *rec, bool *ret_made, struct ck_fail *fail);

/*
 * Every link leads to entry, and entry and program can be run and changed by
 * nobody else.  Otherwise the path that is not so, and why.
 */
CK_MUST_USE bool ck_links_are_whole(const struct ck_place *p,
    const char *entry, char ret_path[CK_PATH_MAX], const char **ret_why);

#endif
