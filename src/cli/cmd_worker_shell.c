/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clankie-keys worker shell: the owner's shell as a worker.  Links of the worker
 * entry under the names of shells lead here, and to the shell that they stand
 * for: the recorded one, else the password database's, with the same
 * arguments, and named as it would be.
 */
#include "worker.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A shell that is a script can lead back here in the same process, again and
 * again.  A boundary ends that; where there is none, this variable does, which
 * has the number of the process.
 */
#define ROUND "CLANKIE_KEYS_SHELL"

static const char *
number_of(pid_t pid, char to[24])
{
	(void)snprintf(to, 24, "%ld", (long)pid);
	return to;
}

/* path can be run, and does not lead back to the entry. */
static ck_err
judge_shell(struct cli *cli, const char *path, const struct stat *entry,
    bool *ret_ours)
{
	struct stat st;

	*ret_ours = false;
	if (path[0] != '/')
		return ck_fail_set(&cli->fail, CK_REFUSED, path,
		    "is no shell: its path is not absolute");
	if (stat(path, &st) != 0)
		return ck_fail_sys(&cli->fail, errno, path,
		    "examine the shell");
	*ret_ours = st.st_dev == entry->st_dev && st.st_ino == entry->st_ino;
	if (!S_ISREG(st.st_mode) || access(path, X_OK) != 0)
		return ck_fail_set(&cli->fail, CK_REFUSED, path,
		    "is no program that could be a shell");
	return CK_OK;
}

static ck_err
ours(struct cli *cli, const char *path)
{
	(void)ck_fail_set(&cli->fail, CK_DECIDE, path,
	    "leads back to the worker entry, and no other shell is known");
	ck_fail_next(&cli->fail, "clankie-keys worker install-shell --shell "
	    "PATH-OF-A-SHELL");
	return CK_DECIDE;
}

/* Whoever made one of our links his login shell means the shell of its
 * name. */
static ck_err
system_shell(struct cli *cli, const char *link, const struct stat *entry,
    char ret[CK_PATH_MAX])
{
	static const char *const dirs[] = { "/bin", "/usr/bin",
		"/usr/local/bin" };
	struct ck_fail none = CK_FAIL_INIT;
	bool again = false;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		if (ck_path_join(dirs[i], ck_path_base(link), ret,
		    &none) == CK_OK && access(ret, X_OK) == 0 &&
		    judge_shell(cli, ret, entry, &again) == CK_OK && !again)
			return CK_OK;
	}
	return ours(cli, link);
}

ck_err
worker_real_shell(struct cli *cli, const char *recorded, const char *entry,
    char ret[CK_PATH_MAX])
{
	const struct passwd *pw;
	struct stat st = { 0 };      /* no file has this number */
	bool again = false;
	ck_err r;

	if (entry[0] != '\0' && stat(entry, &st) != 0)
		return ck_fail_sys(&cli->fail, errno, entry, "examine it");
	if (recorded[0] != '\0') {
		if ((r = judge_shell(cli, recorded, &st, &again)) != CK_OK)
			return r;
		return again ? ours(cli, recorded) :
		    ck_path_format(ret, &cli->fail, "%s", recorded);
	}
	/* $SHELL is not asked: it names the link. */
	errno = 0;
	if ((pw = getpwuid(geteuid())) == NULL) {
		(void)ck_fail_set(&cli->fail, CK_NOENFORCE, NULL,
		    "the password database does not tell this user's shell");
		ck_fail_next(&cli->fail, "clankie-keys worker install-shell "
		    "--shell PATH");
		return CK_NOENFORCE;
	}
	if ((r = ck_path_format(ret, &cli->fail, "%s",
	    pw->pw_shell == NULL || pw->pw_shell[0] == '\0' ? "/bin/sh" :
	    pw->pw_shell)) != CK_OK ||
	    (r = judge_shell(cli, ret, &st, &again)) != CK_OK || !again)
		return r;
	return system_shell(cli, pw->pw_shell, &st, ret);
}

/*
 * What the shell is called: where the caller used the link's name, the shell's
 * own, in the same form (-zsh, zsh, /bin/zsh); any other name as it is.
 */
static ck_err
name_of(struct cli *cli, const char *argv0, const char *link,
    const char *shell, char ret[CK_PATH_MAX])
{
	bool login = argv0[0] == '-';
	const char *name = argv0 + login;

	if (strcmp(ck_path_base(name), link) != 0)
		return ck_path_format(ret, &cli->fail, "%s", argv0);
	return ck_path_format(ret, &cli->fail, "%s%s", login ? "-" : "",
	    strchr(name, '/') != NULL ? shell : ck_path_base(shell));
}

/* argv: the name the shell was called by, and its arguments. */
static ck_err
start_shell(struct cli *cli, const struct worker_said *said,
    const char *link, const char *argv0, int argc, char **argv)
{
	static struct worker_start start;
	static char shell[CK_PATH_MAX];
	char name[CK_PATH_MAX], number[24], **command;
	const char *round = getenv(ROUND);
	ck_err r;

	if (round != NULL && strcmp(round, number_of(getpid(),
	    number)) == 0)
		return ours(cli, link);
	if ((r = worker_ready(cli, said, &start)) != CK_OK ||
	    (r = worker_real_shell(cli, start.shell, start.entry,
	    shell)) != CK_OK ||
	    (r = name_of(cli, argv0, link, shell, name)) != CK_OK)
		return r;
	/* Or whatever starts $SHELL in there would come here again. */
	if (setenv("SHELL", shell, 1) != 0 ||
	    (start.how != CK_LAUNCH_CONFINED &&
	    setenv(ROUND, number_of(getpid(), number), 1) != 0) ||
	    (command = calloc((size_t)argc + 2, sizeof(*command))) == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	command[0] = shell;
	memcpy(command + 1, argv, (size_t)argc * sizeof(*argv));
	r = worker_become(cli, &start, -1, name, argc + 1, command);
	free(command);
	return r;
}

/*
 * The home is the one that the link lies in: whatever HOME a pane is given, its
 * worker is kept from that custody.  A link that was called without its path
 * goes by HOME (NULL).
 */
static ck_err
home_of(struct cli *cli, const char *link, char room[CK_PATH_MAX],
    const char **ret_home)
{
	static const char tail[] = "/.local/libexec/clankie-keys";
	char dir[CK_PATH_MAX];
	size_t n;
	ck_err r;

	*ret_home = NULL;
	if (link[0] != '/')
		return CK_OK;
	ck_path_parent(link, dir);
	if ((r = ck_path_canonical(dir, room, &cli->fail)) != CK_OK)
		return r;
	n = strlen(room);
	if (n < sizeof(tail) ||
	    strcmp(room + n - (sizeof(tail) - 1), tail) != 0)
		return CK_OK;
	room[n - (sizeof(tail) - 1)] = '\0';
	*ret_home = room;
	return CK_OK;
}

/* argv[0] is the name that a link was called by. */
static ck_err
start_link(struct cli *cli, const struct worker_said *said,
    const char *link, int argc, char **argv)
{
	char room[CK_PATH_MAX];
	const char *home = NULL;
	ck_err r;

	if ((r = home_of(cli, link, room, &home)) != CK_OK)
		return r;
	if (home != NULL)
		cli->say.home = home;
	/* A pane's environment may come from anywhere. */
	cli->say.keys_home = NULL;
	return start_shell(cli, said, ck_path_base(link), argv[0], argc - 1,
	    argv + 1);
}

ck_err
worker_shell(struct cli *cli, int argc, char **argv)
{
	struct worker_said said = WORKER_SAID_INIT;
	const char *link = NULL;
	bool login = false;
	int own = 0;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--login", OPT_FLAG, &login },
		{ "--link", OPT_TEXT, &link },
		{ "--provider-keys", OPT_TEXT, &said.keys },
		{ "--keep", OPT_LIST, &said.kept },
	};
	ck_err r;

	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	if ((r = cli_options(cli, own, argv, opts, sizeof(opts) /
	    sizeof(opts[0]), NULL, 0, &n)) != CK_OK)
		return r;
	own += own < argc;
	argc -= own;
	argv += own;
	if (link == NULL)
		return start_shell(cli, &said, "shell", login ? "-shell" :
		    "shell", argc, argv);
	if (login || argc < 1)
		return ck_fail_set(&cli->fail, CK_USAGE, "--link",
		    "is for the links of the worker entry, which give the "
		    "name they were called by behind --");
	return start_link(cli, &said, link, argc, argv);
}
