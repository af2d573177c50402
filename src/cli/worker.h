/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the verb "worker" share. */
#ifndef CK_CLI_WORKER_H
#define CK_CLI_WORKER_H

#include <stdbool.h>

#include "cli.h"
#include "custody/place.h"
#include "custody/view.h"

#define WORKER_ENTRY "clankie-worker-entry"

/* What is said about the environment, by records and command line. */
struct worker_words {
	char marker[256];            /* NAME=VALUE besides CK_MARKER, or "" */
	bool blank_keys;             /* providers' keys are emptied */
	char kept[1024];             /* but these, with commas between */
};

/* What the command line says of it; NULL and 0: nothing. */
struct worker_said {
	const char *marker;
	const char *keys;
	struct opt_list kept;
};

/* The recorded words, then what was said.  CK_USAGE names a wrong word;
 * CK_DAMAGED a recorded one. */
CK_MUST_USE ck_err worker_words(struct cli *cli, const struct ck_view *v,
    const struct worker_said *said, struct worker_words *ret);

/* A variable, NAME or NAME=VALUE, is set empty for a worker. */
bool worker_empties(const struct worker_words *words, const char *variable);

/* Make this process's environment a worker's, before it becomes one. */
CK_MUST_USE ck_err worker_words_apply(struct cli *cli,
    const struct worker_words *words);

/* worker env; the words behind it. */
CK_MUST_USE ck_err worker_env(struct cli *cli, int argc, char **argv);

#endif
