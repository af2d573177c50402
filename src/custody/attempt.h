/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker could try against what it may not have, one function each,
 * for "boundary verify" (custody/verify.h).  An attempt runs in a process of
 * its own, once outside the boundary, where it has to work, and then inside.
 * It only touches a home that was made for it.
 *
 * Sources: the threat table and the tests of docs/boundary.md.
 */
#ifndef CK_CUSTODY_ATTEMPT_H
#define CK_CUSTODY_ATTEMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/path.h"

/* The file in a home that says it was made for this. */
#define CK_SCENE_MARK ".clankie-keys-throw-away"

/* The places of such a home, and what an attempt gets besides. */
struct ck_scene {
	char home[CK_PATH_MAX];
	char custody[CK_PATH_MAX];    /* ~/.clankie-keys */
	char vault[CK_PATH_MAX];      /* its directory "operator" */
	char keychain[CK_PATH_MAX];
	char records[CK_PATH_MAX];
	char plan[CK_PATH_MAX];
	char clankie[CK_PATH_MAX];    /* ~/.config/clankie */
	char broker[CK_PATH_MAX];
	char settings[CK_PATH_MAX];
	char unlock[CK_PATH_MAX];
	char app[CK_PATH_MAX];        /* a checkout, ~/src/app */
	char env[CK_PATH_MAX];        /* its .env.local */
	char work[CK_PATH_MAX];       /* the worker's own directory */
	char x[CK_PATH_MAX];          /* a name in it that nothing has */
	char loot[CK_PATH_MAX];       /* where what was got is written */
	char socket[CK_PATH_MAX];     /* a multiplexer's */
	pid_t outside;                /* a process of the owner's, with the
	                               * keychain as descriptor 8 and its
	                               * directory as 9 and for its own */
	const char *self;             /* this program */
	char **environment;
};

/* CK_REFUSED: a path is too long. */
CK_MUST_USE ck_err ck_scene_make(const char *home, pid_t outside,
    const char *self, char **environment, struct ck_scene *ret,
    struct ck_fail *fail);

/* How an attempt ends: 0, CK_TRY_CANNOT, or the errno by which the system
 * refused. */
enum { CK_TRY_CANNOT = -1 };          /* the means are missing here */
typedef int ck_try_fn(const struct ck_scene *s);

enum ck_try_flag {
	CK_TRY_READ = 1,          /* its success is what it got; else what it
	                           * changed */
	CK_TRY_FILE = 2,          /* it inherits the keychain as 8 */
	CK_TRY_DIR = 4,           /* its directory as 9 */
	CK_TRY_STDIN_FILE = 8,    /* the broker as standard input */
	CK_TRY_STDIN_DIR = 16,    /* the keychain's directory as that */
	CK_TRY_ENV = 32,          /* bearers and a loader's variables */
	CK_TRY_PREPARED = 64,     /* before the launch, by somebody unconfined:
	                           * a launch that is refused will do */
	CK_TRY_RARE = 128,        /* the kernel may refuse it to everybody */
	CK_TRY_SWAPS = 256,       /* while two directories change places */
	CK_TRY_OWNER = 512,       /* while the owner replaces everything */
	CK_TRY_STRICT = 1024,     /* with worker.strict */
	CK_TRY_COPY = 2048        /* it reads, but outside on a copy, which it
	                           * changes */
};

struct ck_attempt {
	const char *id;               /* stable, lower case */
	const char *text;             /* what is tried, one line */
	unsigned int flags;
	ck_try_fn *run;
	/* Of CK_TRY_PREPARED: outside, before the launch, and back.  0 or an
	 * errno. */
	ck_try_fn *prepare, *undo;
};

/* The attempts, list by list; NULL: no such one. */
const struct ck_attempt *ck_attempt_at(size_t i);
const struct ck_attempt *ck_attempt_by_id(const char *id);

/* None of the list: it has to work inside, too, or "refused" says nothing. */
extern const struct ck_attempt ck_attempt_allowed;

/* Run it: 0 it worked, 1 refused, 2 cannot be tried here, by *ret_why (an
 * errno or 0).  CK_REFUSED: the home was not made for this. */
CK_MUST_USE ck_err ck_attempt_run(const struct ck_attempt *a,
    const struct ck_scene *s, int *ret, int *ret_why, struct ck_fail *fail);

#endif
