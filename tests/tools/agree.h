/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agreement table: 10,000 (path, operation) cases over policies made from
 * a seed, and four readings of each: the evaluator, the emitted profile run as
 * Scheme, the mount plan read as data, and the kernel with that plan.  See
 * ck-agree.c for the commands and tests/deny/agreement.sh for the order.
 */
#ifndef CK_TESTS_AGREE_H
#define CK_TESTS_AGREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "boundary/mounts.h"
#include "boundary/policy.h"

#define AG_COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define AG_FIRMLINK "/System/Volumes/Data"
/* Beside a path that is renamed or linked, for a moment. */
#define AG_AUX "-ck-aux"
/* What everything has, where file systems have such. */
#define AG_XATTR "user.ck"

enum {
	AG_POLICIES = 40,
	AG_EACH = 250,               /* cases of one policy */
	AG_PROGRAMS = 4,             /* Scheme programs that share them */
	AG_MEMBERS = 16,
	AG_RAW = CK_PATH_MAX + 128
};

struct ag_case {
	char raw[AG_RAW];            /* as a program would write it */
	char path[AG_RAW];           /* what it means */
	bool firmlink;               /* a spelling that only macOS has */
	enum ck_op op;
};

struct ag_policy {
	char home[CK_PATH_MAX];      /* canonical */
	char link[CK_PATH_MAX];      /* a symbolic link to it */
	struct ck_protect set[AG_MEMBERS];
	bool there[AG_MEMBERS];
	size_t n;
	struct ck_worker_options options;
	struct ag_case cases[AG_EACH];
};

/* Policy number i of a seed, in directory root: always the same; with disk,
 * its home is made there, too. */
void ag_policy(uint32_t seed, size_t i, const char *root, bool disk,
    struct ag_policy *ret);

/* The rules of it; with other options when they are not NULL. */
struct ck_policy *ag_rules(const struct ag_policy *a,
    const struct ck_worker_options *options);

/* What a system call for op would be on Linux, or that there is none. */
bool ag_has_call(enum ck_op op);
/* Do it and undo it: 0 or an errno. */
int ag_call(enum ck_op op, const char *path);

/* A plan's text as read here, without the code that makes or reads plans. */
enum ag_says {
	AG_OPEN,
	AG_CLOSED,
	AG_HIDDEN                    /* as if it was not there */
};
struct ag_plan;
struct ag_plan *ag_plan_read(FILE *f);
void ag_plan_free(struct ag_plan *p);
enum ag_says ag_plan_says(const struct ag_plan *p, enum ck_op op,
    const char *path);
/* A directory that is masked only for the sake of a file in it has path. */
bool ag_plan_takes_along(const struct ag_plan *p, const char *path);

/* The profile and the questions about it, appended to a program for
 * tests/scheme/prelude.scm; and the answers that the evaluator expects. */
void ag_scheme(const struct ag_policy *a, const struct ck_policy *rules,
    struct ck_buf *program, struct ck_buf *answers);

#endif
