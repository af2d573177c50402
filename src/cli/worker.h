/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the verb "worker" share. */
#ifndef CK_CLI_WORKER_H
#define CK_CLI_WORKER_H

#include <stdbool.h>

#include "cli.h"
#include "custody/harness.h"
#include "custody/launch.h"
#include "custody/place.h"
#include "custody/view.h"

#define WORKER_ENTRY "clankie-worker-entry"

/* unistd.h of macOS does not declare it. */
extern char **environ;

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
	int password_fd;             /* of the broker; -1: none */
};

#define WORKER_SAID_INIT { NULL, NULL, { { NULL }, 0 }, -1 }

/* The recorded words, then what was said.  CK_USAGE names a wrong word;
 * CK_DAMAGED a recorded one. */
CK_MUST_USE ck_err worker_words(struct cli *cli, const struct ck_view *v,
    const struct worker_said *said, struct worker_words *ret);

/* A variable, NAME or NAME=VALUE, is set empty for a worker. */
bool worker_empties(const struct worker_words *words, const char *variable);

/* Make this process's environment a worker's, before it becomes one. */
CK_MUST_USE ck_err worker_words_apply(struct cli *cli,
    const struct worker_words *words);

/* What every launch begins with. */
struct worker_start {
	struct ck_place place;
	struct worker_words words;
	enum ck_launch_how how;
	bool wrap_undecided, strict; /* by the records */
	char entry[CK_PATH_MAX];     /* the program that makes the boundary; ""
	                              * when there is none and none is needed */
	char shell[CK_PATH_MAX];     /* the recorded one, or "" */
};

/*
 * Everything that must be in order before a worker can start, and whether it
 * is confined: no root (20); of ck_launch_look() and ck_launch_settle() the
 * records, their seal, the switch and the plan; an entry that nobody else can
 * change (19, 20).
 */
CK_MUST_USE ck_err worker_ready(struct cli *cli,
    const struct worker_said *said, struct worker_start *ret);

/* Become the entry and, through it, command[0] with these argc arguments;
 * argv0 is its name for itself, or NULL.  Where nothing is confined, become
 * the command at once, and say so.  Returns only with a reason. */
CK_MUST_USE ck_err worker_become(struct cli *cli, struct worker_start *start,
    int status_fd, const char *argv0, int argc, char **command);

/* Whether command[0] confines itself when it gets the arguments behind it. */
void worker_native(const struct cli *cli, enum ck_harness harness, int argc,
    char **command, struct ck_native_answer *ret);

/* Print that answer, its evidence, and what follows from it. */
CK_MUST_USE ck_err worker_explain(struct cli *cli, enum ck_harness harness,
    const struct ck_native_answer *answer);

/* Start a harness: ready and become, and where boundaries do not nest it is
 * asked in between.  CK_DECIDE: that is undecided there. */
CK_MUST_USE ck_err worker_launch(struct cli *cli,
    const struct worker_said *said, enum ck_harness harness, int status_fd,
    int argc, char **command);

/* As the entry says it: STATUS CODE on the descriptor, unless that is -1. */
void worker_not_started(int status_fd, int status, const char *code);

/* The entry that is recorded ("": none), or the one of this program. */
CK_MUST_USE ck_err worker_find_entry(struct cli *cli, const char *recorded,
    char ret[CK_PATH_MAX]);

/* A program that came with this one, in its libexec or beside it, and that
 * nobody else can change. */
CK_MUST_USE ck_err worker_beside(struct cli *cli, const char *name,
    char ret[CK_PATH_MAX]);
/* The worker entry so. */
CK_MUST_USE ck_err worker_entry_beside(struct cli *cli,
    char ret[CK_PATH_MAX]);

/*
 * The shell of the user: the recorded one, else the password database's; where
 * that is a link of the entry, the system's of the same name.  CK_DECIDE: it
 * leads back to the entry; CK_REFUSED and others: it is no program.
 */
CK_MUST_USE ck_err worker_real_shell(struct cli *cli, const char *recorded,
    const char *entry, char ret[CK_PATH_MAX]);

/* The parts of "worker"; the words behind their names. */
CK_MUST_USE ck_err worker_env(struct cli *cli, int argc, char **argv);
CK_MUST_USE ck_err worker_shell(struct cli *cli, int argc, char **argv);
CK_MUST_USE ck_err worker_install(struct cli *cli, int argc, char **argv);
CK_MUST_USE ck_err worker_sandbox(struct cli *cli, int argc, char **argv);
CK_MUST_USE ck_err worker_codex(struct cli *cli, int argc, char **argv);

#endif
