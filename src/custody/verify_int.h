/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of verify.c: the throw-away home, and processes in it. */
#ifndef CK_CUSTODY_VERIFY_INT_H
#define CK_CUSTODY_VERIFY_INT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "custody/verify.h"

struct ck_trial {
	const struct ck_verify_how *how;
	char base[CK_PATH_MAX];       /* the directory of everything */
	char twin_dir[CK_PATH_MAX];
	struct ck_scene real, twin;
	pid_t outside;                /* 0: none */
};

/* One process: its descriptors besides 0 to 2, and what came of it. */
struct ck_trial_run {
	const char *const *argv;      /* behind this program's name */
	const char *home;
	const char *input;            /* path of standard input, or NULL */
	const char *file, *dir;       /* paths to inherit as 8 and 9, or NULL */
	bool talk;                    /* what it says on standard error counts
	                               * as output */
	bool environment;             /* with bearers and a loader's variables */
	pid_t pid;
	int out, launch;              /* pipes from it; -1: none */
	int status;                   /* its exit status; -1: it hung or died */
	char said[192];               /* the first line of its output */
	char code[32];                /* of a launch that was refused, or "" */
};
#define CK_TRIAL_RUN_INIT { .pid = 0, .out = -1, .launch = -1 }

/* Make the home, with a migrated custody.  CK_REFUSED, CK_IO. */
CK_MUST_USE ck_err ck_trial_begin(const struct ck_verify_how *how,
    struct ck_trial *ret, struct ck_fail *fail);
/* The home anew, after something got through. */
CK_MUST_USE ck_err ck_trial_again(struct ck_trial *t, struct ck_fail *fail);
void ck_trial_end(struct ck_trial *t);
/* A process of the owner's beside the workers, in place of the one before. */
CK_MUST_USE ck_err ck_trial_outside(struct ck_trial *t,
    struct ck_fail *fail);
/* An empty directory for the worker, in a home. */
CK_MUST_USE ck_err ck_trial_sweep(const struct ck_scene *s,
    struct ck_fail *fail);
/* The twin: a copy of the home as it is now. */
CK_MUST_USE ck_err ck_trial_copy(struct ck_trial *t, struct ck_fail *fail);
/* What is protected, as one digest: what is there, whose, its content. */
CK_MUST_USE ck_err ck_trial_print(const struct ck_scene *s,
    uint8_t ret[CK_SHA256_BYTES], struct ck_fail *fail);

/* This program with argv.  The first starts it, the second waits for it, ten
 * seconds at most, and kills what is left of it. */
CK_MUST_USE ck_err ck_trial_start(const struct ck_trial *t,
    struct ck_trial_run *run, struct ck_fail *fail);
void ck_trial_wait(const struct ck_trial *t, struct ck_trial_run *run);
/* Both, for a command that has to succeed.  CK_INTERNAL with its words. */
CK_MUST_USE ck_err ck_trial_command(const struct ck_trial *t,
    const char *const *argv, struct ck_fail *fail);
/*
 * One attempt, once: inside the boundary or not.  how, of 96 bytes or NULL:
 * in which words it was refused.  Where the trial is to run without a
 * boundary, inside is no different.
 */
CK_MUST_USE ck_err ck_trial_turn(struct ck_trial *t,
    const struct ck_attempt *a, bool inside, enum ck_seen *ret, char *how,
    struct ck_fail *fail);
/* cp and rm; 0 when they succeeded. */
int ck_trial_tool(const char *const *argv);

#endif
