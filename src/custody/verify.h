/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof that the boundary holds on this machine: every attempt of
 * custody/attempt.h, in a home that is made for it and removed again, with a
 * custody that the real commands make there.  Each attempt runs three times:
 * outside the boundary, where it must work, or it proves nothing; inside; and
 * inside again after a rotation.  Nothing of the owner's is touched.
 */
#ifndef CK_CUSTODY_VERIFY_H
#define CK_CUSTODY_VERIFY_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "custody/attempt.h"

/* What was seen of one run of an attempt. */
enum ck_seen {
	CK_SEEN_NOTHING,         /* it was not run */
	CK_SEEN_WORKED,          /* it got or changed something */
	CK_SEEN_REFUSED,         /* the system said no */
	CK_SEEN_STOPPED,         /* the launch was refused */
	CK_SEEN_CANNOT,          /* the means are missing here */
	CK_SEEN_STRANGE          /* it hung, died, or says what is not so */
};

enum ck_verdict {
	CK_VERDICT_PASS,
	CK_VERDICT_FAIL,
	CK_VERDICT_NA,           /* not here: no such program, or the kernel
	                          * refuses it to everybody */
	CK_VERDICT_UNTRUSTED,    /* the boundary could not be entered */
	CK_VERDICT_UNDECIDED,    /* INDETERMINATE: the control failed */
	CK_VERDICT_COUNT
};
const char *ck_verdict_name(enum ck_verdict v);
const char *ck_seen_name(enum ck_seen s);

struct ck_verify_row {
	const struct ck_attempt *attempt;
	enum ck_seen control, before, after;
	enum ck_verdict verdict;
	char how[96];            /* in which way the inner one was refused */
};

struct ck_verify_sum {
	size_t count[CK_VERDICT_COUNT];
	enum ck_verdict verdict;
	char why[256];           /* UNTRUSTED: what the launch said */
};

struct ck_verify_how {
	const char *self;        /* this program's path */
	/* The directory for the home, an absolute path.  It must be one that
	 * no worker can see: the attempts run outside, too, and would follow
	 * what a worker puts in their way.  Without a custody there are no
	 * confined workers, and TMPDIR will do. */
	const char *below;
	const char *path;        /* PATH, to find interpreters */
	bool without;            /* run everything outside: has to FAIL */
	const char *only;        /* one attempt, by id; NULL: all */
	const volatile sig_atomic_t *stop;   /* not 0: come to an end */
};

typedef void (*ck_verify_cb)(void *arg, const struct ck_verify_row *row);

/* The verdict of one attempt with these flags, and of all. */
enum ck_verdict ck_verdict_of(unsigned int flags, enum ck_seen control,
    enum ck_seen before, enum ck_seen after);
enum ck_verdict ck_verdict_all(const size_t count[CK_VERDICT_COUNT]);

/* The first line that a program of the PATH says, in printable ASCII; "" when
 * it says nothing within two seconds. */
void ck_verify_tool(const char *const *argv, char *ret, size_t size);

/*
 * Run it all; cb is told of each attempt when its verdict is there.
 * CK_NOENFORCE: run as root, or stopped.  CK_REFUSED: below is not a place
 * for it.  CK_USAGE: no such attempt.  What cannot be proved is no failure
 * but a verdict.  The home is gone when this returns.
 */
CK_MUST_USE ck_err ck_verify(const struct ck_verify_how *how,
    ck_verify_cb cb, void *arg, struct ck_verify_sum *ret,
    struct ck_fail *fail);

#endif
