/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clankie-worker-entry --plan FILE [--mask DIRECTORY]... [--shut FILE]...
 *     [--status-fd N] [--argv0 NAME] -- COMMAND [ARGUMENT...]
 *
 * What is masked or shut here comes behind the steps of the plan: sockets of
 * this moment, which no plan of another day can know.
 *
 * Under the name of a shell it is that shell in a boundary; see shell.c.
 *
 * The command runs in this very process.  Exit status: the command's; 126
 * when it cannot be run, 127 when it does not exist; else one of the table in
 * base/err.h, and nothing was started.  As a command may end with any of
 * these, --status-fd tells them apart: "STATUS CODE\n" is written there when
 * the command was not started, and nothing when it was.
 */
#include "worker/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "boundary/blank.h"

#define PROGRAM "clankie-worker-entry"

/* More variables than anybody has; pages that are not used cost nothing. */
#define VARIABLES_MAX 32768

static struct worker w;
static char *inherited[VARIABLES_MAX];

static ck_err
usage(struct ck_fail *fail, const char *word, const char *why)
{
	(void)ck_fail_set(fail, CK_USAGE, word, "%s", why);
	ck_fail_next(fail, "usage: " PROGRAM " --plan FILE [--status-fd N] "
	    "[--argv0 NAME] [--mask DIRECTORY]... [--shut FILE]... -- COMMAND "
	    "[ARGUMENT]...");
	return CK_USAGE;
}

static ck_err
descriptor(const char *text, struct ck_fail *fail)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
	    n < 3 || n > 1 << 20)
		return usage(fail, text, "is no descriptor from 3");
	w.status_fd = (int)n;
	return CK_OK;
}

static bool
is_more(const char *option)
{
	return strcmp(option, "--mask") == 0 || strcmp(option, "--shut") == 0;
}

static ck_err
arguments(int argc, char **argv, struct ck_fail *fail)
{
	char *as = NULL;
	int i = 1;
	ck_err r;

	for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
		if (strcmp(argv[i], "--plan") == 0)
			w.plan_path = argv[i + 1];
		else if (strcmp(argv[i], "--argv0") == 0)
			as = argv[i + 1];
		else if (is_more(argv[i])) {
			if (w.mores == WK_MORE_MAX)
				return usage(fail, argv[i],
				    "is given too many times");
			w.more[w.mores++] = &argv[i];
		} else if (strcmp(argv[i], "--status-fd") != 0)
			return usage(fail, argv[i], "is no option");
		else if ((r = descriptor(argv[i + 1], fail)) != CK_OK)
			return r;
	}
	if (w.plan_path == NULL || w.plan_path[0] != '/')
		return usage(fail, NULL, "no plan is named by its full path");
	if (i + 1 >= argc || strcmp(argv[i], "--") != 0)
		return usage(fail, NULL, "no command stands behind --");
	w.command = argv + i + 1;
	w.file = w.command[0];
	if (as != NULL)
		w.command[0] = as;
	return CK_OK;
}

/* Root's files stay writable and /proc/sys too, whatever is masked. */
static ck_err
who(struct ck_fail *fail)
{
	uid_t saved_uid = 0;
	gid_t saved_gid = 0;
	uid_t effective = 0;
	gid_t group = 0;

	if (getresuid(&w.uid, &effective, &saved_uid) != 0 ||
	    getresgid(&w.gid, &group, &saved_gid) != 0)
		return ck_fail_sys(fail, errno, NULL, "ask who runs it");
	if (w.uid == 0 || effective == 0 || saved_uid == 0) {
		(void)ck_fail_set(fail, CK_NOENFORCE, NULL,
		    "root cannot be kept from anything");
		ck_fail_next(fail, "start workers as an ordinary user");
		return CK_NOENFORCE;
	}
	if (w.uid != effective || w.uid != saved_uid || w.gid != group ||
	    w.gid != saved_gid)
		return ck_fail_set(fail, CK_REFUSED, NULL,
		    "runs with two identities; it must not be set-id");
	return CK_OK;
}

static ck_err
confine(struct ck_fail *fail)
{
	ck_err r;

	if ((r = who(fail)) != CK_OK ||
	    (r = wk_descriptors_close(&w, fail)) != CK_OK ||
	    (r = wk_plan_read(&w, fail)) != CK_OK ||
	    (r = wk_survey(&w, fail)) != CK_OK ||
	    (r = wk_descriptors_check(&w, fail)) != CK_OK ||
	    (r = wk_enter(&w, fail)) != CK_OK ||
	    (r = wk_mount(&w, fail)) != CK_OK ||
	    (r = wk_prove(&w, fail)) != CK_OK ||
	    (r = wk_privileges_drop(fail)) != CK_OK)
		return r;
	return wk_probe(&w, fail);
}

/* One line, whatever bytes a path has. */
static void
say(const struct ck_fail *fail)
{
	char line[2400];
	int n;

	n = snprintf(line, sizeof(line), PROGRAM ": %s%s%s%s%s%s\n",
	    fail->place, fail->place[0] == '\0' ? "" : ": ", fail->why,
	    fail->next[0] == '\0' ? "" : " (", fail->next,
	    fail->next[0] == '\0' ? "" : ")");
	if (n < 0 || (size_t)n >= sizeof(line))
		n = (int)sizeof(line) - 1;
	for (int i = 0; i < n - 1; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	(void)!write(STDERR_FILENO, line, (size_t)n);
}

/* Not started. */
static int
end(int status, const char *code, const struct ck_fail *fail)
{
	char line[64];
	int n;

	say(fail);
	if (w.status_fd < 0)
		return status;
	n = snprintf(line, sizeof(line), "%d %s\n", status, code);
	if (n > 0)
		(void)!write(w.status_fd, line, (size_t)n);
	return status;
}

/* The path that execve(2) was given, by the kernel. */
static const char *
executed(void)
{
	union {
		unsigned long value;
		const char *text;
	} path = { getauxval(AT_EXECFN) };

	return path.value == 0 ? "" : path.text;
}

int
main(int argc, char **argv)
{
	struct ck_fail fail = CK_FAIL_INIT;
	const char *shell;
	bool missing;
	ck_err r;

	w.status_fd = -1;
	wk_environment_scrub(environ);
	shell = wk_shell_link(executed(), argc > 0 ? argv[0] : "");
	if (shell != NULL) {
		r = wk_shell(shell, argc, argv, &fail);
		return end(ck_err_exit(r), ck_err_code(r), &fail);
	}
	if ((r = arguments(argc, argv, &fail)) != CK_OK ||
	    (r = ck_blank_environment(environ, inherited, VARIABLES_MAX,
	    &fail)) != CK_OK || (r = confine(&fail)) != CK_OK)
		return end(ck_err_exit(r), ck_err_code(r), &fail);
	environ = inherited;
	(void)execvp(w.file, w.command);
	missing = errno == ENOENT || errno == ENOTDIR;
	(void)ck_fail_set(&fail, CK_IO, w.file, "cannot be run: %s",
	    strerror(errno));
	return missing ? end(127, "not-found", &fail) :
	    end(126, "not-run", &fail);
}
