/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys worker exec: becomes the worker entry, which becomes the
 * command. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/platform.h"

/* What it is worth depends on who can change it. */
static ck_err
judge_entry(const char *path, bool *ret_there, struct ck_fail *fail)
{
	struct stat st;

	*ret_there = lstat(path, &st) == 0;
	if (!*ret_there)
		return errno == ENOENT || errno == ENOTDIR ? CK_OK :
		    ck_fail_sys(fail, errno, path, "examine it");
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is no regular file with one name");
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return ck_fail_set(fail, CK_REFUSED, path,
		    "belongs to user %ld", (long)st.st_uid);
	if ((st.st_mode & 022) != 0) {
		(void)ck_fail_set(fail, CK_REFUSED, path,
		    "is writable by other users");
		ck_fail_next(fail, "chmod go-w '%.400s'", path);
		return CK_REFUSED;
	}
	return ck_path_chain_safe(path, fail);
}

/* The owner said which: no other one will do. */
static ck_err
recorded_entry(struct cli *cli, const char *path, char ret[CK_PATH_MAX])
{
	bool there = false;
	ck_err r;

	if ((r = judge_entry(path, &there, &cli->fail)) != CK_OK)
		return r;
	if (!there) {
		(void)ck_fail_set(&cli->fail, CK_NOENFORCE, path,
		    "is the recorded worker entry and is not there");
		ck_fail_next(&cli->fail, "clankie-keys worker install-shell");
		return CK_NOENFORCE;
	}
	return ck_path_format(ret, &cli->fail, "%s", path);
}

/* Look at dir + "/" + rest. */
static ck_err
look_entry(struct cli *cli, const char *dir, const char *rest,
    bool *ret_there, char ret[CK_PATH_MAX])
{
	char path[CK_PATH_MAX], real[CK_PATH_MAX];
	ck_err r;

	if ((r = ck_path_format(path, &cli->fail, "%s/%s", dir,
	    rest)) != CK_OK ||
	    (r = ck_path_canonical(path, real, &cli->fail)) != CK_OK ||
	    (r = judge_entry(real, ret_there, &cli->fail)) != CK_OK)
		return r;
	if (*ret_there)
		memcpy(ret, real, sizeof(real));
	return CK_OK;
}

/* Installed with this program, or just built.  Nowhere else: what is in the
 * home and was not recorded may be a worker's. */
ck_err
worker_beside(struct cli *cli, const char *name, char ret[CK_PATH_MAX])
{
	static const char *const ways[] = { "../libexec/clankie-keys/", "" };
	char self[CK_PATH_MAX], dir[CK_PATH_MAX], rest[CK_PATH_MAX];
	bool there = false;
	ck_err r;

	if ((r = ck_platform_self(self, &cli->fail)) != CK_OK)
		return r;
	ck_path_parent(self, dir);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if ((r = ck_path_format(rest, &cli->fail, "%s%s", ways[i],
		    name)) != CK_OK ||
		    (r = look_entry(cli, dir, rest, &there, ret)) != CK_OK ||
		    there)
			return r;
	(void)ck_fail_set(&cli->fail, CK_NOENFORCE, name,
	    "is not installed in libexec/clankie-keys beside this program");
	ck_fail_next(&cli->fail, "cmake --install the build");
	return CK_NOENFORCE;
}

ck_err
worker_entry_beside(struct cli *cli, char ret[CK_PATH_MAX])
{
	return worker_beside(cli, WORKER_ENTRY, ret);
}

ck_err
worker_find_entry(struct cli *cli, const char *recorded,
    char ret[CK_PATH_MAX])
{
	return recorded[0] != '\0' ? recorded_entry(cli, recorded, ret) :
	    worker_entry_beside(cli, ret);
}

void
worker_not_started(int status_fd, int status, const char *code)
{
	if (status_fd >= 0)
		(void)dprintf(status_fd, "%d %s\n", status, code);
}

/* Without a boundary, or in that of an envelope. */
static ck_err
become_plain(struct cli *cli, const struct worker_start *start,
    int status_fd, const char *argv0, int argc, char **command)
{
	char **argv = calloc((size_t)argc + 1, sizeof(*argv));
	char *as = strdup(argv0 == NULL ? command[0] : argv0);
	bool missing;
	ck_err r;

	if (argv == NULL || as == NULL) {
		r = ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
		goto out;
	}
	memcpy(argv, command, (size_t)argc * sizeof(*argv));
	argv[0] = as;
	if ((r = worker_words_apply(cli, &start->words)) != CK_OK)
		goto out;
	if (status_fd >= 0 && fcntl(status_fd, F_SETFD, FD_CLOEXEC) != 0) {
		r = ck_fail_sys(&cli->fail, errno, NULL,
		    "use the status descriptor");
		goto out;
	}
	if (start->how == CK_LAUNCH_OFF)
		cli_say(cli, "the worker sandbox is off: this worker is not "
		    "confined");
	else if (start->how == CK_LAUNCH_NATIVE)
		cli_say(cli, "it confines its commands by itself, which hides "
		    "nothing from reading");
	(void)execvp(command[0], argv);
	missing = errno == ENOENT || errno == ENOTDIR;
	r = ck_fail_set(&cli->fail, CK_IO, command[0], "cannot be run: %s",
	    strerror(errno));
	/* As a shell would end, and as the entry does. */
	worker_not_started(status_fd, missing ? 127 : 126,
	    missing ? "not-found" : "not-run");
	cli_report(cli, r);
	_exit(missing ? 127 : 126);
out:
	free(as);
	free(argv);
	return r;
}

/* The helpers that a strict launch closes, as options of the entry; words has
 * room for two of each. */
static ck_err
close_helpers(struct cli *cli, const struct worker_start *start,
    struct ck_helpers *helpers, char **words, size_t *n)
{
	static char mask_option[] = "--mask", shut_option[] = "--shut";
	struct ck_helpers_say say;
	ck_err r;

	if (!start->strict)
		return CK_OK;
	cli_helpers_say(&start->place, &say);
	if ((r = ck_helpers_close(&say, helpers, &cli->fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < helpers->n; i++) {
		words[(*n)++] = helpers->at[i].directory ? mask_option :
		    shut_option;
		words[(*n)++] = helpers->at[i].path;
	}
	return CK_OK;
}

/* The entry's options, in front of the command; number has room for one. */
static size_t
entry_options(struct worker_start *start, int status_fd, char number[16],
    char *as, char **words)
{
	static char name[] = WORKER_ENTRY, plan_option[] = "--plan",
	    status_option[] = "--status-fd", as_option[] = "--argv0";
	size_t n = 0;

	words[n++] = name;
	words[n++] = plan_option;
	words[n++] = start->place.mounts;
	if (status_fd >= 0) {
		(void)snprintf(number, 16, "%d", status_fd);
		words[n++] = status_option;
		words[n++] = number;
	}
	if (as != NULL) {
		words[n++] = as_option;
		words[n++] = as;
	}
	return n;
}

static ck_err
become_entry(struct cli *cli, struct worker_start *start, int status_fd,
    const char *argv0, int argc, char **command)
{
	static char end_option[] = "--";
	char number[16];
	struct ck_helpers *helpers = calloc(1, sizeof(*helpers));
	char **argv = calloc((size_t)argc + 9 + 2 * CK_HELPERS_MAX,
	    sizeof(*argv));
	char *as = argv0 == NULL ? NULL : strdup(argv0);
	size_t n = 0;
	ck_err r;

	if (argv == NULL || helpers == NULL || (argv0 != NULL && as == NULL)) {
		r = ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
		goto out;
	}
	n = entry_options(start, status_fd, number, as, argv);
	if ((r = close_helpers(cli, start, helpers, argv, &n)) != CK_OK)
		goto out;
	argv[n++] = end_option;
	memcpy(argv + n, command, (size_t)argc * sizeof(*argv));
	if ((r = worker_words_apply(cli, &start->words)) != CK_OK)
		goto out;
	(void)execv(start->entry, argv);
	r = ck_fail_set(&cli->fail, CK_NOENFORCE, start->entry,
	    "cannot be run: %s", strerror(errno));
out:
	free(as);
	free(argv);
	free(helpers);
	return r;
}

ck_err
worker_become(struct cli *cli, struct worker_start *start, int status_fd,
    const char *argv0, int argc, char **command)
{
	return start->how == CK_LAUNCH_CONFINED ?
	    become_entry(cli, start, status_fd, argv0, argc, command) :
	    become_plain(cli, start, status_fd, argv0, argc, command);
}

typedef ck_err run_part(struct cli *cli, int argc, char **argv);

/* NULL: exec, or no part of the verb. */
static run_part *
part(const char *sub)
{
	static const struct {
		const char *name;
		run_part *run;
	} parts[] = {
		{ "env", worker_env },
		{ "shell", worker_shell },
		{ "install-shell", worker_install },
		{ "sandbox", worker_sandbox },
		{ "codex", worker_codex },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strcmp(sub, parts[i].name) == 0)
			return parts[i].run;
	return NULL;
}

/* What exec is told; argc and command are what stands behind --. */
static ck_err
exec_words(struct cli *cli, const char *sub, size_t n, int argc,
    int status_fd)
{
	if (n != 1 || strcmp(sub, "exec") != 0)
		return ck_fail_set(&cli->fail, CK_USAGE, sub,
		    sub == NULL ? "what to do with a worker is missing" :
		    "is nothing to do with a worker");
	if (argc < 1)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "no command stands behind --");
	if (status_fd >= 0 && status_fd < 3)
		return ck_fail_set(&cli->fail, CK_USAGE, "--status-fd",
		    "wants a descriptor from 3");
	return CK_OK;
}

ck_err
cmd_worker(struct cli *cli, int argc, char **argv)
{
	struct worker_said said = WORKER_SAID_INIT;
	struct ck_native_answer answer;
	enum ck_harness harness;
	const char *sub = NULL;
	int status_fd = -1, own = 0;
	bool explain = false;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--status-fd", OPT_FD, &status_fd },
		{ "--explain", OPT_FLAG, &explain },
		{ "--provider-keys", OPT_TEXT, &said.keys },
		{ "--keep", OPT_LIST, &said.kept },
		{ "--login-password-fd", OPT_FD, &said.password_fd },
	};
	ck_err r;

	if (argc > 0 && part(argv[0]) != NULL)
		return part(argv[0])(cli, argc - 1, argv + 1);
	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	r = cli_options(cli, own, argv, opts, sizeof(opts) / sizeof(opts[0]),
	    &sub, 1, &n);
	argc -= own + 1;
	argv += own + 1;
	if (r != CK_OK ||
	    (r = exec_words(cli, sub, n, argc, status_fd)) != CK_OK)
		goto out;
	harness = ck_harness_of(argv[0]);
	if (explain) {
		worker_native(cli, harness, argc, argv, &answer);
		return worker_explain(cli, harness, &answer);
	}
	r = worker_launch(cli, &said, harness, status_fd, argc, argv);
out:
	if (status_fd >= 3)
		worker_not_started(status_fd, ck_err_exit(r), ck_err_code(r));
	return r;
}
