/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as text and as places.  Nobody compares paths with strcmp. */
#ifndef CK_BASE_PATH_H
#define CK_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* Size of every path buffer here, NUL included. */
#define CK_PATH_MAX 1024

/* dir + "/" + name.  CK_REFUSED when it does not fit. */
CK_MUST_USE ck_err ck_path_join(const char *dir, const char *name,
    char ret[CK_PATH_MAX], struct ck_fail *fail);

/* printf into a path buffer.  CK_REFUSED when it does not fit. */
CK_MUST_USE ck_err ck_path_format(char ret[CK_PATH_MAX],
    struct ck_fail *fail, const char *fmt, ...) CK_PRINTF(3, 4);

/* Text before the last slash ("/" stays "/"; "." when there is none), and
 * behind it. */
void ck_path_parent(const char *path, char ret[CK_PATH_MAX]);
const char *ck_path_base(const char *path);

/*
 * The canonical absolute path.  The deepest existing ancestor is resolved
 * (symbolic links, dots) and the missing rest appended; a missing rest with
 * "." or ".." is CK_REFUSED, a relative path too, and so is a component that
 * cannot be examined (CK_DENIED).  Nothing is created.
 */
CK_MUST_USE ck_err ck_path_canonical(const char *path,
    char ret[CK_PATH_MAX], struct ck_fail *fail);

/* path is dir itself or lies below it.  Both canonical. */
bool ck_path_under(const char *path, const char *dir);

/* needle occurs in path, ASCII letters compared without case. */
bool ck_path_contains_nocase(const char *path, const char *needle);

/*
 * Every directory on the way to path (its parent and up) belongs to root or
 * to the effective user and is not writable by others, or is sticky.
 * Otherwise CK_REFUSED names the directory.  path is canonical.
 */
CK_MUST_USE ck_err ck_path_chain_safe(const char *path, struct ck_fail *fail);

/*
 * The home directory of the caller: $HOME (given as env_home, may be NULL)
 * when it is absolute, exists and is owned by the effective user; else the
 * password database's under the same conditions; else CK_REFUSED.  A set HOME
 * that belongs to somebody else is CK_REFUSED at once.  Canonical.
 */
CK_MUST_USE ck_err ck_path_home(const char *env_home, char ret[CK_PATH_MAX],
    struct ck_fail *fail);

#endif
