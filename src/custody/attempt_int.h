/* SPDX-License-Identifier: Apache-2.0 */
/* What the attempts share; see attempt.h. */
#ifndef CK_CUSTODY_ATTEMPT_INT_H
#define CK_CUSTODY_ATTEMPT_INT_H

#include <sys/types.h>

#include "custody/attempt.h"

/* The lists, each ended by an entry without id. */
extern const struct ck_attempt ck_attempts_read[];
extern const struct ck_attempt ck_attempts_change[];
extern const struct ck_attempt ck_attempts_launch[];
extern const struct ck_attempt ck_attempts_system[];   /* of this system */

/* What can be read at fd, which is closed, or at a path becomes the loot. */
int ck_try_take(const struct ck_scene *s, int fd);
int ck_try_steal(const struct ck_scene *s, const char *path);
/* Words of the attempt's own as loot. */
int ck_try_got(const struct ck_scene *s, const char *what, size_t n);
/* A path from pieces, then stolen. */
int ck_try_steal_at(const struct ck_scene *s, const char *fmt, ...)
    CK_PRINTF(2, 3);
/* A new file with a few bytes. */
int ck_try_make(const char *path);
/* Run a program; CK_TRY_CANNOT when it is not installed, EACCES when it
 * failed. */
int ck_try_tool(const char *const *argv);
/* The words as execve(2) wants them, in memory that a process about to become
 * another program need not free.  NULL: no memory. */
char **ck_try_words(const char *const *argv);
/* Run f in a child, which has its own place in the system. */
int ck_try_child(const struct ck_scene *s, ck_try_fn *f);
/* Two paths change places.  0 or an errno. */
int ck_try_exchange(const char *a, const char *b);

#endif
