/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-race PROGRAM ROUNDS [SEED]
 *
 * 8 processes that rotate, 8 that read and 4 that check, beside one another on
 * the migrated custody of this home, many of them killed at a random moment,
 * until ROUNDS rotations were begun.  Prints each violation and a line of
 * figures.  Exit status 0: no violation; 1: some; 2: the race could not be
 * held.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "race.h"

#define WRITERS 8
#define READERS 8
#define CHECKERS 4
#define ACTORS (WRITERS + READERS + CHECKERS)
#define MAX_OUT 65536
#define WORDS 3              /* of a command, at most */
#define KEY_BYTES 54         /* clankie_op_ and 43 characters, and nothing */

/* One process at a time. */
struct actor {
	int step;            /* which of its commands comes next */
	pid_t pid;           /* 0: none */
	uint64_t began, dies;        /* ms; dies 0: lives */
	FILE *out, *err;     /* temporary files, used by descriptor only */
	/* A reader's: */
	uint64_t known;      /* what a rotation had reported before */
	uint64_t before;     /* generation before the value was got */
	uint8_t key[KEY_BYTES];
};

struct figures {
	size_t begun, rotated, resumed, lost, busy, killed;
	size_t reads, checks, cut_short;
	uint64_t took;       /* ms that a rotation takes, about */
};

static const char *program;
static struct race *race;
static struct figures f;
static uint64_t state;       /* of the random numbers */
static struct actor actors[ACTORS];

static uint64_t
chance(uint64_t below)
{
	/* xorshift64 */
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

/* The command of an actor at its step; NULL ends the words when there are
 * fewer. */
static const char *const *
command(size_t who, int step)
{
	static const char *const rotate[WORDS] = { "rotate", "--json" };
	static const char *const status[WORDS] = { "status", "--json" };
	static const char *const get[WORDS] = { "get", "--key" };
	static const char *const check[WORDS] = { "check", "--json" };
	static const char *const gate[WORDS] = { "check", "--startup",
	    "--json" };
	static const char *const verify[WORDS] = { "precedence", "verify" };
	static const char *const *const checks[] = { check, gate, verify };

	if (who < WRITERS)
		return rotate;
	if (who < WRITERS + READERS)
		return step == 1 ? get : status;
	return checks[step];
}

static void
empty(FILE *file)
{
	if (ftruncate(fileno(file), 0) != 0 ||
	    lseek(fileno(file), 0, SEEK_SET) != 0)
		err(2, "temporary file");
}

static void
start(size_t who)
{
	struct actor *a = &actors[who];
	const char *const *words = command(who, a->step);

	empty(a->out);
	empty(a->err);
	if ((a->pid = fork()) == -1)
		err(2, "fork");
	if (a->pid == 0) {
		if (dup2(fileno(a->out), STDOUT_FILENO) == -1 ||
		    dup2(fileno(a->err), STDERR_FILENO) == -1)
			_exit(126);
		(void)execl(program, program, words[0], words[1], words[2],
		    (char *)NULL);
		_exit(127);
	}
	a->began = ck_clock_mono_ms();
	/* Half of the writers die, some of the others. */
	a->dies = 0;
	if (chance(who < WRITERS ? 2 : 10) == 0)
		a->dies = a->began + 1 + chance(2 * f.took + 10);
	if (who < WRITERS)
		f.begun++;
}

/* What a file of an actor holds, with a NUL behind it. */
static size_t
text_of(FILE *file, char ret[MAX_OUT])
{
	ssize_t n = pread(fileno(file), ret, MAX_OUT - 1, 0);

	if (n < 0)
		err(2, "temporary file");
	ret[n] = '\0';
	return (size_t)n;
}

static void
odd(const struct actor *a, const char *what, int status)
{
	static char text[MAX_OUT];

	(void)text_of(a->err, text);
	text[strcspn(text, "\n")] = '\0';
	race_violation(race, "%s ended with %d: %.300s", what, status, text);
}

static json_t *
report(const struct actor *a, const char *what)
{
	static char text[MAX_OUT];
	json_t *root;

	(void)text_of(a->out, text);
	if ((root = json_loads(text, JSON_REJECT_DUPLICATES, NULL)) == NULL)
		race_violation(race, "%s printed no JSON", what);
	return root;
}

static uint64_t
number(const json_t *root, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(root, name));

	return n > 0 ? (uint64_t)n : 0;
}

static void
writer_ended(const struct actor *a, int status)
{
	const char *outcome;
	json_t *root;

	switch (status) {
	case 0:
		break;
	case 15:
		f.lost++;
		return;
	case 16:
		f.busy++;
		return;
	default:
		odd(a, "rotate", status);
		return;
	}
	if ((root = report(a, "rotate")) == NULL)
		return;
	outcome = json_string_value(json_object_get(root, "outcome"));
	if (outcome != NULL && strcmp(outcome, "resumed") == 0)
		f.resumed++;
	else
		f.rotated++;
	race_rotated(race, number(root, "generation"));
	json_decref(root);
	f.took = (7 * f.took + (ck_clock_mono_ms() - a->began)) / 8;
}

/* 54 characters of the bearer's alphabet, and nothing else. */
static void
take_key(struct actor *a)
{
	static char text[MAX_OUT];
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789-_";

	if (text_of(a->out, text) != KEY_BYTES ||
	    strncmp(text, "clankie_op_", 11) != 0 ||
	    strspn(text, alphabet) != KEY_BYTES) {
		race_violation(race, "get gave no whole value");
		a->step = -1;
		return;
	}
	memcpy(a->key, text, KEY_BYTES);
}

/* Status, get, status: the value is that of a generation between, or the one
 * that an unfinished rotation had written already. */
static void
reader_ended(struct actor *a, int status)
{
	uint64_t generation;
	bool settled;
	json_t *root;

	if (status != 0) {
		odd(a, a->step == 1 ? "get" : "status", status);
		a->step = -1;
		return;
	}
	if (a->step == 1) {
		take_key(a);
		return;
	}
	if ((root = report(a, "status")) == NULL)
		return;
	generation = number(root, "generation");
	settled = json_is_null(json_object_get(root, "unfinished"));
	json_decref(root);
	if (generation < a->known)
		race_violation(race, "generation %llu after %llu was reported",
		    (unsigned long long)generation,
		    (unsigned long long)a->known);
	if (a->step == 0) {
		a->before = generation;
		return;
	}
	race_value(race, a->key, KEY_BYTES, a->before,
	    settled && generation == a->before ? generation : generation + 1);
	f.reads++;
}

/* What may be found while a writer is killed: that it was. */
static bool
may_find(const char *code)
{
	static const char *const codes[] = { "not-judged",
	    "records-unreadable", "no-answer" };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (code != NULL && strcmp(code, codes[i]) == 0)
			return true;
	}
	return false;
}

static void
findings(const struct actor *a)
{
	json_t *root = report(a, "check"), *finding;
	size_t i;

	if (root == NULL)
		return;
	f.cut_short++;
	json_array_foreach(json_object_get(root, "findings"), i, finding) {
		const char *code = json_string_value(
		    json_object_get(finding, "code"));
		const char *how = json_string_value(
		    json_object_get(finding, "severity"));

		if (how != NULL && strcmp(how, "error") == 0 &&
		    !may_find(code))
			race_violation(race, "check finds %s", code);
	}
	json_decref(root);
}

static void
checker_ended(const struct actor *a, int status)
{
	f.checks++;
	if (status == 21 && a->step != 2)
		findings(a);
	else if (status != 0)
		odd(a, a->step == 2 ? "precedence verify" : "check", status);
}

static void
ended(size_t who, int wait_status)
{
	struct actor *a = &actors[who];
	int steps = who < WRITERS ? 1 : 3;
	int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) :
	    128 + WTERMSIG(wait_status);

	if (a->dies != 0 && status == 128 + SIGKILL) {
		f.killed++;
		a->step = who < WRITERS + READERS ? 0 : (a->step + 1) % 3;
	} else {
		if (who < WRITERS)
			writer_ended(a, status);
		else if (who < WRITERS + READERS)
			reader_ended(a, status);
		else
			checker_ended(a, status);
		a->step = (a->step + 1) % steps;
	}
	a->pid = 0;
	if (a->step == 0)
		a->known = race_reported(race);
}

static bool
some_run(size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		if (actors[i].pid != 0)
			return true;
	}
	return false;
}

static void
collect(void)
{
	int status;

	for (size_t i = 0; i < ACTORS; i++) {
		struct actor *a = &actors[i];

		if (a->pid == 0)
			continue;
		if (a->dies != 0 && ck_clock_mono_ms() >= a->dies)
			(void)kill(a->pid, SIGKILL);
		if (waitpid(a->pid, &status, WNOHANG) == a->pid)
			ended(i, status);
	}
}

/* The others go on as long as somebody rotates. */
static void
run(size_t rounds)
{
	const struct timespec pause = { 0, 1000000 };
	bool goes_on = true;

	while (goes_on || some_run(0, ACTORS)) {
		for (size_t i = 0; i < ACTORS; i++) {
			if (actors[i].pid == 0 && (f.begun < rounds ||
			    (i >= WRITERS && goes_on)))
				start(i);
		}
		(void)nanosleep(&pause, NULL);
		collect();
		goes_on = f.begun < rounds || some_run(0, WRITERS);
	}
}

/* The last rotation, which nothing disturbs, settles what was begun. */
static void
settle(void)
{
	uint64_t before = race_reported(race);
	int status = 0;

	actors[0].step = 0;
	start(0);
	(void)waitpid(actors[0].pid, &status, 0);
	actors[0].dies = 0;
	ended(0, status);
	if (race_reported(race) <= before)
		race_violation(race, "the last rotation did not end");
	race_judge(race, race_reported(race));
}

int
main(int argc, char **argv)
{
	size_t rounds;
	int status;

	if (argc < 3)
		errx(2, "usage: ck-race PROGRAM ROUNDS [SEED]");
	program = argv[1];
	rounds = (size_t)strtoull(argv[2], NULL, 10);
	state = argc > 3 ? strtoull(argv[3], NULL, 10) :
	    ck_clock_mono_ms() * 2654435761ULL;
	state |= 1;
	race = race_new();
	f.took = 50;
	for (size_t i = 0; i < ACTORS; i++) {
		if ((actors[i].out = tmpfile()) == NULL ||
		    (actors[i].err = tmpfile()) == NULL)
			err(2, "tmpfile");
	}
	run(rounds);
	settle();
	(void)printf("rounds %zu rotated %zu resumed %zu lost %zu busy %zu "
	    "killed %zu reads %zu values %zu checks %zu cut-short %zu "
	    "violations %zu\n", f.begun - 1, f.rotated, f.resumed, f.lost,
	    f.busy, f.killed, f.reads, race_values(race), f.checks,
	    f.cut_short, race_violations(race));
	status = race_violations(race) == 0 ? 0 : 1;
	for (size_t i = 0; i < ACTORS; i++) {
		(void)fclose(actors[i].out);
		(void)fclose(actors[i].err);
	}
	race_free(race);
	return ferror(stdout) || fflush(stdout) != 0 ? 2 : status;
}
