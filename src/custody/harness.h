/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which harness a command is, and whether that confines its own commands as
 * it is launched: its files are read, its arguments and variables looked at,
 * and nothing else is asked.
 */
#ifndef CK_CUSTODY_HARNESS_H
#define CK_CUSTODY_HARNESS_H

#include "boundary/native.h"

enum ck_harness {
	CK_HARNESS_OTHER,            /* none that we know confines itself */
	CK_HARNESS_CODEX,
	CK_HARNESS_CLAUDE,
	CK_HARNESS_GEMINI,
	CK_HARNESS_GOOSE
};

/* By the name of the program, its directory aside. */
enum ck_harness ck_harness_of(const char *program);
/* "codex" and so on, "other"; never NULL. */
const char *ck_harness_name(enum ck_harness harness);

/* What was said from outside.  home and cwd are absolute; the others, values
 * of the variables of that name, may be NULL. */
struct ck_harness_say {
	const char *home, *cwd;
	const char *codex_home, *claude_config_dir;
	const char *gemini_sandbox, *goose_sandbox;
};

/* argv is what stands behind the program's name.  Always an answer: what
 * cannot be read is undecided. */
void ck_harness_decide(enum ck_harness harness,
    const struct ck_harness_say *say, int argc, char **argv,
    struct ck_native_answer *ret);

#endif
