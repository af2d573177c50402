/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys worker exec: checks the plan against the records, then becomes
 * the worker entry, which becomes the command. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "custody/rules.h"
#include "custody/view.h"

#define ENTRY WORKER_ENTRY

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

/* Installed beside this program, or for one user, or just built. */
static ck_err
find_entry(struct cli *cli, const struct ck_place *place,
    char ret[CK_PATH_MAX])
{
	char self[CK_PATH_MAX], path[CK_PATH_MAX], dir[CK_PATH_MAX];
	const struct {
		const char *dir, *rest;
	} ways[] = {
		{ dir, "../libexec/clankie-keys/" ENTRY },
		{ place->home, ".local/libexec/clankie-keys/" ENTRY },
		{ dir, ENTRY },
	};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	bool there = false;
	ck_err r;

	self[n < 0 ? 0 : n] = '\0';
	ck_path_parent(self, dir);
	for (size_t i = 0; i < 3; i++) {
		if ((r = ck_path_format(self, &cli->fail, "%s/%s", ways[i].dir,
		    ways[i].rest)) != CK_OK ||
		    (r = ck_path_canonical(self, path, &cli->fail)) != CK_OK ||
		    (r = judge_entry(path, &there, &cli->fail)) != CK_OK)
			return r;
		if (there) {
			memcpy(ret, path, sizeof(path));
			return CK_OK;
		}
	}
	(void)ck_fail_set(&cli->fail, CK_NOENFORCE, ENTRY,
	    "is neither installed in libexec/clankie-keys beside this program "
	    "nor in ~/.local");
	ck_fail_next(&cli->fail, "cmake --install the build");
	return CK_NOENFORCE;
}

/* A mask has a mode that no custody directory has. */
static ck_err
not_inside(const struct ck_place *place, struct ck_fail *fail)
{
	struct stat st;

	if (lstat(place->dir, &st) != 0 ||
	    (st.st_mode & 07777) != CK_MOUNT_MODE_CLOSED)
		return CK_OK;
	return ck_fail_set(fail, CK_NESTED, place->dir,
	    "is masked: this is inside a worker's boundary already");
}

/* The plan is in order; and what is recorded of the environment. */
static ck_err
check_plan(struct cli *cli, struct ck_place *place,
    const struct worker_said *said, struct worker_words *ret_words)
{
	struct ck_view v = CK_VIEW_INIT;
	ck_err r;

	if ((r = ck_view_open(place, CK_REC_READ, &v, &cli->fail)) != CK_OK)
		return r;
	if (v.rec == NULL || (!v.dedicated && !ck_view_is_dedicated(&v))) {
		r = ck_fail_set(&cli->fail, CK_NOSTORE, place->dir,
		    "there are no records that say what to keep workers "
		    "from");
		ck_fail_next(&cli->fail, "clankie-keys migrate");
	} else if ((r = worker_words(cli, &v, said, ret_words)) == CK_OK) {
		r = ck_rules_ready(place, v.dirfd, v.rec, &cli->fail);
	}
	ck_view_close(&v);
	return r;
}

/* Gives a reason; on success this process is another program. */
static ck_err
become(struct cli *cli, const char *entry, const struct ck_place *place,
    int status_fd, int argc, char **command)
{
	static char name[] = ENTRY, plan_option[] = "--plan",
	    status_option[] = "--status-fd", end_option[] = "--";
	char plan[CK_PATH_MAX], number[16];
	char **argv = calloc((size_t)argc + 7, sizeof(*argv));
	size_t n = 0;
	ck_err r;

	if (argv == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	memcpy(plan, place->mounts, sizeof(plan));
	argv[n++] = name;
	argv[n++] = plan_option;
	argv[n++] = plan;
	if (status_fd >= 0) {
		(void)snprintf(number, sizeof(number), "%d", status_fd);
		argv[n++] = status_option;
		argv[n++] = number;
	}
	argv[n++] = end_option;
	memcpy(argv + n, command, (size_t)argc * sizeof(*argv));
	(void)execv(entry, argv);
	r = ck_fail_set(&cli->fail, CK_NOENFORCE, entry, "cannot be run: %s",
	    strerror(errno));
	free(argv);
	return r;
}

static ck_err
worker_exec(struct cli *cli, const struct worker_said *said, int status_fd,
    int argc, char **command)
{
	struct worker_words words;
	char entry[CK_PATH_MAX];
	struct ck_place place;
	ck_err r;

	if (geteuid() == 0) {
		(void)ck_fail_set(&cli->fail, CK_NOENFORCE, NULL,
		    "root cannot be kept from anything");
		ck_fail_next(&cli->fail, "start workers as an ordinary user");
		return CK_NOENFORCE;
	}
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = not_inside(&place, &cli->fail)) != CK_OK ||
	    (r = check_plan(cli, &place, said, &words)) != CK_OK ||
	    (r = find_entry(cli, &place, entry)) != CK_OK ||
	    (r = worker_words_apply(cli, &words)) != CK_OK)
		return r;
	return become(cli, entry, &place, status_fd, argc, command);
}

ck_err
cmd_worker(struct cli *cli, int argc, char **argv)
{
	struct worker_said said = { NULL, NULL, { { NULL }, 0 } };
	const char *sub = NULL;
	int status_fd = -1, own = 0;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--status-fd", OPT_FD, &status_fd },
		{ "--provider-keys", OPT_TEXT, &said.keys },
		{ "--keep", OPT_LIST, &said.kept },
	};
	ck_err r;

	if (argc > 0 && strcmp(argv[0], "env") == 0)
		return worker_env(cli, argc - 1, argv + 1);

	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	r = cli_options(cli, own, argv, opts, sizeof(opts) / sizeof(opts[0]),
	    &sub, 1, &n);
	if (r == CK_OK && (n != 1 || strcmp(sub, "exec") != 0))
		r = ck_fail_set(&cli->fail, CK_USAGE, sub,
		    sub == NULL ? "what to do with a worker is missing" :
		    "is nothing to do with a worker");
	if (r == CK_OK && own + 1 >= argc)
		r = ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "no command stands behind --");
	if (r == CK_OK && status_fd >= 0 && status_fd < 3)
		r = ck_fail_set(&cli->fail, CK_USAGE, "--status-fd",
		    "wants a descriptor from 3");
	if (r == CK_OK)
		r = worker_exec(cli, &said, status_fd, argc - own - 1,
		    argv + own + 1);
	/* As the entry says it; see src/worker/main.c. */
	if (status_fd >= 3)
		(void)dprintf(status_fd, "%d %s\n", ck_err_exit(r),
		    ck_err_code(r));
	return r;
}
