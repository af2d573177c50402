/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt, once; see verify_int.h. */
#include "custody/attempt_int.h"
#include "custody/verify_int.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

/* Launches while directories change places. */
#define SWAP_TURNS 8
#define WORDS_MAX 16

struct turn {
	struct ck_trial *t;
	const struct ck_attempt *a;
	const struct ck_scene *s;     /* the home it is made on */
	bool inside;
	struct ck_trial_run run;
	char pid[24];
	const char *argv[WORDS_MAX];
};

static void
words(struct turn *u)
{
	static const char *const enter[] = { "worker", "exec", "--status-fd",
		"7", "--" };
	size_t n = 0;

	(void)snprintf(u->pid, sizeof(u->pid), "%ld", (long)u->t->outside);
	if (u->inside) {
		for (size_t i = 0; i < sizeof(enter) / sizeof(enter[0]); i++)
			u->argv[n++] = enter[i];
		u->argv[n++] = u->t->how->self;
	}
	u->argv[n++] = "boundary";
	u->argv[n++] = "attempt";
	u->argv[n++] = u->a->id;
	u->argv[n++] = u->s->home;
	u->argv[n++] = u->pid;
	u->argv[n] = NULL;
}

static ck_err
start(struct turn *u, struct ck_fail *fail)
{
	const unsigned int flags = u->a->flags;
	const struct ck_scene *s = u->s;
	const struct ck_trial_run none = CK_TRIAL_RUN_INIT;

	words(u);
	u->run = none;
	u->run.argv = u->argv;
	u->run.home = s->home;
	u->run.input = (flags & CK_TRY_STDIN_FILE) != 0 ? s->broker :
	    (flags & CK_TRY_STDIN_DIR) != 0 ? s->vault : NULL;
	u->run.file = (flags & CK_TRY_FILE) != 0 ? s->keychain : NULL;
	u->run.dir = (flags & CK_TRY_DIR) != 0 ? s->vault : NULL;
	u->run.environment = (flags & CK_TRY_ENV) != 0;
	return ck_trial_start(u->t, &u->run, fail);
}

/* What is there counts, and not what the attempt says of itself. */
static enum ck_seen
judge(const struct turn *u, bool changed)
{
	struct stat st;
	bool got = lstat(u->s->loot, &st) == 0 && st.st_size > 0;

	if ((u->a->flags & CK_TRY_READ) != 0 ? got : changed)
		return CK_SEEN_WORKED;
	if (u->run.code[0] != '\0')
		return CK_SEEN_STOPPED;
	return u->run.status == 1 ? CK_SEEN_REFUSED :
	    u->run.status == 2 ? CK_SEEN_CANNOT : CK_SEEN_STRANGE;
}

static void
nap(long ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&t, NULL);
}

/* The owner's half of "owner-replaces": every file anew, by rename, and a
 * rotation. */
static void
replace_all(const struct turn *u)
{
	const struct ck_scene *s = u->s;
	const char *const files[] = { s->keychain, s->broker, s->records,
		s->plan, s->settings, s->unlock };
	char begun[CK_PATH_MAX], stop[CK_PATH_MAX], next[CK_PATH_MAX];

	if (ck_path_join(s->work, "begun", begun, NULL) != CK_OK ||
	    ck_path_join(s->work, "stop", stop, NULL) != CK_OK)
		return;
	for (int i = 0; i < 300 && access(begun, F_OK) != 0; i++)
		nap(10);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (ck_path_format(next, NULL, "%s.new", files[i]) == CK_OK &&
		    ck_trial_tool((const char *const[]){ "/bin/cp", "-p",
		    files[i], next, NULL }) == 0)
			(void)rename(next, files[i]);
	}
	(void)!ck_trial_command(u->t, (const char *const[]){ "rotate", NULL },
	    NULL);
	nap(50);
	(void)ck_try_make(stop);
}

/* The other half of "swapped-parent", until it is killed. */
static pid_t
start_swapping(const struct turn *u, const char *twin)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (;;) {
		(void)ck_try_exchange(u->s->app, twin);
		nap(1);
	}
}

/* Any of the launches may get it; when none does, the last one speaks. */
static ck_err
swapping(struct turn *u, enum ck_seen *ret, struct ck_fail *fail)
{
	char twin[CK_PATH_MAX];
	struct stat real, now;
	ck_err r;
	pid_t pid;

	if ((r = ck_path_format(twin, fail, "%s/src/twin", u->s->home)) !=
	    CK_OK)
		return r;
	if (stat(u->s->app, &real) != 0 ||
	    (pid = start_swapping(u, twin)) < 0)
		return ck_fail_sys(fail, errno, u->s->app, "swap it");
	*ret = CK_SEEN_NOTHING;
	for (int i = 0; i < SWAP_TURNS && r == CK_OK &&
	    *ret != CK_SEEN_WORKED; i++) {
		if ((r = start(u, fail)) != CK_OK)
			break;
		ck_trial_wait(u->t, &u->run);
		*ret = judge(u, false);
	}
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (stat(u->s->app, &now) == 0 && now.st_ino != real.st_ino)
		(void)ck_try_exchange(u->s->app, twin);
	return r;
}

/* Somebody outside who waits for workers at a multiplexer's place. */
static int
listen_at(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(at.sun_path))
		return -1;
	memcpy(at.sun_path, path, strlen(path) + 1);
	(void)unlink(path);
	if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) < 0)
		return -1;
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(fd, 8) != 0)
		ck_io_close(&fd);
	return fd;
}

static ck_err
strict(const struct turn *u, const char *word, struct ck_fail *fail)
{
	return u->t->how->without ? CK_OK : ck_trial_command(u->t,
	    (const char *const[]){ "worker", "sandbox", "--strict", word,
	    NULL }, fail);
}

/* The usual way: one process, and for some what goes on beside it. */
static ck_err
single(struct turn *u, struct ck_fail *fail)
{
	const bool with_socket = (u->a->flags & CK_TRY_STRICT) != 0;
	int fd = with_socket ? listen_at(u->s->socket) : -1;
	ck_err r = CK_OK;

	if (with_socket)
		r = strict(u, "on", fail);
	if (r == CK_OK && (r = start(u, fail)) == CK_OK) {
		if ((u->a->flags & CK_TRY_OWNER) != 0)
			replace_all(u);
		ck_trial_wait(u->t, &u->run);
	}
	if (with_socket && r == CK_OK)
		r = strict(u, "off", fail);
	if (fd >= 0)
		(void)unlink(u->s->socket);
	ck_io_close(&fd);
	return r;
}

static ck_err
attempt(struct turn *u, enum ck_seen *ret, struct ck_fail *fail)
{
	uint8_t then[CK_SHA256_BYTES], now[CK_SHA256_BYTES];
	int why = 0;
	ck_err r;

	if ((r = ck_trial_sweep(u->s, fail)) != CK_OK)
		return r;
	if ((u->a->flags & CK_TRY_SWAPS) != 0)
		return swapping(u, ret, fail);
	if (u->a->prepare != NULL && (why = u->a->prepare(u->s)) != 0)
		return ck_fail_sys(fail, why, u->s->home,
		    "prepare an attempt in it");
	if ((r = ck_trial_print(u->s, then, fail)) == CK_OK &&
	    (r = single(u, fail)) == CK_OK &&
	    (r = ck_trial_print(u->s, now, fail)) == CK_OK)
		*ret = judge(u, memcmp(then, now, sizeof(now)) != 0);
	if (u->a->undo != NULL && (why = u->a->undo(u->s)) != 0 && r == CK_OK)
		r = ck_fail_sys(fail, why, u->s->home,
		    "take back what was prepared in it");
	return r;
}

ck_err
ck_trial_turn(struct ck_trial *t, const struct ck_attempt *a, bool inside,
    enum ck_seen *ret, char *how, struct ck_fail *fail)
{
	struct turn u = { .t = t, .a = a, .s = &t->real,
		.inside = inside && !t->how->without };
	ck_err r;

	/* What changes something does it to a copy, unless it is inside. */
	if (!u.inside && ((a->flags & CK_TRY_READ) == 0 ||
	    (a->flags & CK_TRY_COPY) != 0)) {
		if ((r = ck_trial_copy(t, fail)) != CK_OK)
			return r;
		u.s = &t->twin;
	}
	if ((r = attempt(&u, ret, fail)) != CK_OK)
		return r;
	if (how != NULL)
		(void)snprintf(how, 96, "%.95s", u.run.code[0] != '\0' ?
		    u.run.code : u.run.said);
	return ck_trial_sweep(u.s, fail);
}
