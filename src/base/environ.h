/* SPDX-License-Identifier: Apache-2.0 */
/* Which other processes of this user have a variable in their environment. */
#ifndef CK_BASE_ENVIRON_H
#define CK_BASE_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

struct ck_environ_process {
	pid_t pid;
	pid_t parent;             /* 0 when the system does not tell */
	int64_t started;          /* seconds since 1970 by the clock of now;
	                           * 0 when the system does not tell */
};

typedef void (*ck_environ_cb)(void *arg,
    const struct ck_environ_process *process);

/*
 * Hand over each process of the effective user, except this one, that was
 * started with a variable of this name, set to whatever value, empty
 * included, unless it has the variable unless too (may be NULL).  Values pass through the secure heap in pieces and are not looked
 * at.  *ret_unseen: processes that do not show their environment.
 * CK_UNSUPPORTED where the system shows none; CK_NOMEM.
 */
CK_MUST_USE ck_err ck_environ_scan(const char *name, const char *unless,
    ck_environ_cb cb, void *arg, size_t *ret_unseen, struct ck_fail *fail);

/* The process sees the file system through the same mounts as this one, so no
 * boundary of mounts is around it.  False also when that cannot be seen. */
bool ck_environ_same_mounts(pid_t pid);

/* The process was started with exactly this variable, NAME=VALUE.  False also
 * when that cannot be seen. */
bool ck_environ_has(pid_t pid, const char *variable);

#endif
