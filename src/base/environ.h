/* SPDX-License-Identifier: Apache-2.0 */
/* Which other processes of this user have a variable in their environment. */
#ifndef CK_BASE_ENVIRON_H
#define CK_BASE_ENVIRON_H

#include <stddef.h>
#include <sys/types.h>

#include "err.h"

enum { CK_ENVIRON_MAX = 16 };
struct ck_environ {
	pid_t pid[CK_ENVIRON_MAX];
	size_t n;                 /* processes in pid */
	size_t more;              /* further ones that have it */
	size_t unseen;            /* processes that do not show theirs */
};

/*
 * Look for a variable by its name, set to whatever value, empty included, in
 * the processes of the effective user except this one.  What is seen is what
 * each was started with.  Values pass through the secure heap in pieces and
 * are not looked at.  CK_UNSUPPORTED where the system shows none; CK_NOMEM.
 */
CK_MUST_USE ck_err ck_environ_scan(const char *name, struct ck_environ *ret,
    struct ck_fail *fail);

#endif
