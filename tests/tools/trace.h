/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges a log of strace(1): did a secret get into the arguments or the
 * environment of any process, or out of one of ours by a way that is not its
 * business?  scripts/secrets-trace makes the log and says how.
 */
#ifndef CK_TOOLS_TRACE_H
#define CK_TOOLS_TRACE_H

#include <stddef.h>

#include "patterns.h"

#define TRACE_MAX_WORDS 16

struct trace_rules {
	/* Base names of programs that are ours; what they start is too. */
	const char *subject[TRACE_MAX_WORDS];
	/* Files (fnmatch) that ours may write secrets to: the stores. */
	const char *path[TRACE_MAX_WORDS];
	/* Verbs that may write to standard output unless they name another
	 * descriptor with --fd or --out-fd, which is always allowed. */
	const char *verb[TRACE_MAX_WORDS];
};

struct trace_result {
	size_t subjects;     /* processes of ours */
	size_t looked_at;    /* their system calls that carry data */
	size_t findings;     /* each was printed to standard error */
};

/* Exits with status 2 when the log cannot be read. */
struct trace_result trace_judge(const char *log, const struct trace_rules *r,
    const struct patterns *p);

#endif
