/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a trial; see verify_int.h. */
#include "custody/attempt_int.h"
#include "custody/verify_int.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "boundary/blank.h"

#define WAIT_MS 10000
#define LAUNCH_FD 7
#define ARGS_MAX 16
#define ENV_MAX 32

/* A clean environment, or that of a careless parent. */
static void
environment(const struct ck_trial *t, const struct ck_trial_run *run,
    char room[][CK_PATH_MAX], char **ret)
{
	static const char *const loader[] = { "LD_PRELOAD=/nowhere.so",
		"LD_LIBRARY_PATH=/nowhere", "BASH_ENV=/nowhere", "ENV=/nowhere",
		"GLIBC_TUNABLES=glibc.malloc.check=0" };
	const char *name;
	size_t n = 0;

	(void)snprintf(room[n], CK_PATH_MAX, "HOME=%s", run->home);
	n++;
	(void)snprintf(room[n], CK_PATH_MAX, "PATH=%s", t->how->path);
	n++;
	(void)snprintf(room[n], CK_PATH_MAX, "LC_ALL=C");
	n++;
	for (size_t i = 0; run->environment &&
	    (name = ck_blank_listed(i)) != NULL; i++, n++)
		(void)snprintf(room[n], CK_PATH_MAX, "%sset", name);
	for (size_t i = 0; run->environment &&
	    i < sizeof(loader) / sizeof(loader[0]); i++, n++)
		(void)snprintf(room[n], CK_PATH_MAX, "%s", loader[i]);
	for (size_t i = 0; i < n; i++)
		ret[i] = room[i];
	ret[n] = NULL;
}

/* path as descriptor to, also in the program that follows. */
static bool
give(const char *path, int to)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd >= 0 && (fd == to ? fcntl(fd, F_SETFD, 0) == 0 :
	    dup2(fd, to) == to);
}

/* Descriptors above those that are given, so that none is in their way. */
static bool
pipes(int out[2], int launch[2])
{
	int fd[2];

	for (int i = 0; i < 2; i++) {
		int *ret = i == 0 ? out : launch;

		if (pipe(fd) != 0)
			return false;
		for (int k = 0; k < 2; k++) {
			ret[k] = fcntl(fd[k], F_DUPFD_CLOEXEC, 10);
			(void)close(fd[k]);
			if (ret[k] < 0)
				return false;
		}
	}
	return true;
}

static void
become(const struct ck_trial *t, const struct ck_trial_run *run,
    const int out[2], const int launch[2])
{
	char room[ENV_MAX][CK_PATH_MAX], *env[ENV_MAX], **argv;
	const char *words[ARGS_MAX + 2] = { t->how->self };

	for (size_t i = 0; i < ARGS_MAX && run->argv[i] != NULL; i++)
		words[i + 1] = run->argv[i];
	argv = ck_try_words(words);
	environment(t, run, room, env);
	(void)setpgid(0, 0);
	if (argv == NULL || !give(run->input == NULL ? "/dev/null" : run->input, 0) ||
	    dup2(out[1], 1) != 1 || (run->talk ? dup2(out[1], 2) != 2 :
	    !give("/dev/null", 2)) ||
	    dup2(launch[1], LAUNCH_FD) != LAUNCH_FD ||
	    (run->file != NULL && !give(run->file, 8)) ||
	    (run->dir != NULL && !give(run->dir, 9)))
		_exit(125);
	(void)execve(t->how->self, argv, env);
	_exit(125);
}

ck_err
ck_trial_start(const struct ck_trial *t, struct ck_trial_run *run,
    struct ck_fail *fail)
{
	int out[2] = { -1, -1 }, launch[2] = { -1, -1 };
	pid_t pid = -1;

	run->status = -1;
	run->said[0] = run->code[0] = '\0';
	if (pipes(out, launch))
		pid = fork();
	if (pid == 0)
		become(t, run, out, launch);
	ck_io_close(&out[1]);
	ck_io_close(&launch[1]);
	if (pid < 0) {
		ck_io_close(&out[0]);
		ck_io_close(&launch[0]);
		return ck_fail_sys(fail, errno, NULL, "start a process");
	}
	(void)setpgid(pid, pid);
	run->pid = pid;
	run->out = out[0];
	run->launch = launch[0];
	return CK_OK;
}

/* The first line of what came, in printable ASCII; false at the end. */
static bool
take_line(int fd, char *ret, size_t size)
{
	char buf[512];
	ssize_t n = read(fd, buf, sizeof(buf));
	size_t at = strlen(ret);

	for (ssize_t i = 0; i < n && at + 1 < size; i++) {
		if (buf[i] == '\n' && at > 0)
			break;
		if (buf[i] >= ' ' && buf[i] <= '~')
			ret[at++] = buf[i];
	}
	ret[at] = '\0';
	return n > 0 || (n < 0 && errno == EINTR);
}

/* Its end closes the pipe, unless something of it lives on. */
static bool
listen_to(const struct ck_trial *t, struct ck_trial_run *run)
{
	uint64_t until = ck_clock_mono_ms() + WAIT_MS;
	bool out = true, launch = true;

	while (out || launch) {
		struct pollfd p[2] = {
			{ .fd = out ? run->out : -1, .events = POLLIN },
			{ .fd = launch ? run->launch : -1, .events = POLLIN },
		};

		if (*t->how->stop != 0 || ck_clock_mono_ms() > until)
			return false;
		if (poll(p, 2, 50) <= 0)
			continue;
		if (p[0].revents != 0)
			out = take_line(run->out, run->said,
			    sizeof(run->said));
		if (p[1].revents != 0)
			launch = take_line(run->launch, run->code,
			    sizeof(run->code));
	}
	return true;
}

void
ck_trial_wait(const struct ck_trial *t, struct ck_trial_run *run)
{
	bool ended = listen_to(t, run);
	int status = 0;

	if (!ended)
		(void)kill(run->pid, SIGKILL);
	while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
		;
	/* What an attempt left running in its group. */
	(void)kill(-run->pid, SIGKILL);
	if (ended && WIFEXITED(status))
		run->status = WEXITSTATUS(status);
	ck_io_close(&run->out);
	ck_io_close(&run->launch);
	run->pid = 0;
}

ck_err
ck_trial_command(const struct ck_trial *t, const char *const *argv,
    struct ck_fail *fail)
{
	struct ck_trial_run run = CK_TRIAL_RUN_INIT;
	ck_err r;

	run.argv = argv;
	run.home = t->real.home;
	run.talk = true;
	if ((r = ck_trial_start(t, &run, fail)) != CK_OK)
		return r;
	ck_trial_wait(t, &run);
	if (run.status == 0)
		return CK_OK;
	return ck_fail_set(fail, CK_INTERNAL, NULL,
	    "in a throw-away home \"clankie-keys %s\" ended with %d: %s",
	    argv[0], run.status, run.said);
}

void
ck_verify_tool(const char *const *argv, char *ret, size_t size)
{
	int out[2] = { -1, -1 };
	pid_t pid = -1;

	ret[0] = '\0';
	if (pipe(out) == 0)
		pid = fork();
	if (pid == 0) {
		char **words = ck_try_words(argv);

		if (words != NULL && words[0] != NULL && dup2(out[1], 1) == 1 &&
		    give("/dev/null", 0) && give("/dev/null", 2))
			(void)execvp(words[0], words);
		_exit(127);
	}
	ck_io_close(&out[1]);
	if (pid > 0) {
		struct pollfd p = { .fd = out[0], .events = POLLIN };

		if (poll(&p, 1, 2000) > 0)
			(void)!take_line(out[0], ret, size);
		(void)kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	ck_io_close(&out[0]);
}

int
ck_trial_tool(const char *const *argv)
{
	pid_t pid = fork();
	int status = 1;

	if (pid < 0)
		return errno;
	if (pid == 0) {
		char **words = ck_try_words(argv);

		if (words != NULL && words[0] != NULL &&
		    give("/dev/null", 0) && give("/dev/null", 2))
			(void)execv(words[0], words);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}
