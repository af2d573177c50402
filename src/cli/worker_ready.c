/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether and how a worker can be started; see worker.h.  The question needs
 * the seal's key, so a process of its own answers it: the one that becomes
 * the worker never had a secret, nor a limit or mode of ours.
 */
#include "worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "custody/settings.h"

/* In memory that both processes share. */
struct answer {
	bool given;
	ck_err r;
	struct ck_fail fail;
	struct worker_start start;
};

/* What the records say of the launch. */
static ck_err
recorded(struct cli *cli, const struct ck_view *v,
    const struct worker_said *said, char entry[CK_PATH_MAX],
    struct worker_start *ret)
{
	ck_err r;

	if ((r = worker_words(cli, v, said, &ret->words)) != CK_OK ||
	    (r = ck_setting_read(v, CK_SETTING_SHELL, ret->shell,
	    sizeof(ret->shell), &cli->fail)) != CK_OK)
		return r;
	return ck_setting_read(v, CK_SETTING_ENTRY, entry, CK_PATH_MAX,
	    &cli->fail);
}

/* Only a confined launch needs the entry; a shell must know it in any case,
 * so that it does not start itself. */
static ck_err
find_entry(struct cli *cli, const char *said, struct worker_start *start)
{
	ck_err r = worker_find_entry(cli, said, start->entry);

	if (r == CK_OK || start->how == CK_LAUNCH_CONFINED)
		return r;
	start->entry[0] = '\0';
	return CK_OK;
}

static ck_err
judge(struct cli *cli, const struct worker_said *said,
    struct worker_start *start)
{
	struct ck_launch launch = CK_LAUNCH_INIT;
	char entry[CK_PATH_MAX];
	bool news;
	ck_err r;

	if ((r = ck_place_resolve(&cli->say, &start->place,
	    &cli->fail)) != CK_OK ||
	    (r = ck_launch_look(&start->place, &launch, &cli->fail)) != CK_OK)
		return r;
	news = ck_launch_is_news(&launch);
	start->wrap_undecided = launch.wrap_undecided;
	start->strict = launch.strict;
	if ((r = recorded(cli, &launch.v, said, entry, start)) == CK_OK)
		r = ck_launch_settle(&start->place, &launch, &start->how,
		    &cli->fail);
	/* This process ends now, and with it the transaction; only who writes
	 * must have ended it before. */
	if (r != CK_OK || (r = find_entry(cli, entry, start)) != CK_OK ||
	    !news)
		return r;
	ck_launch_close(&launch);
	/* While something else is under way the next launch will do. */
	r = ck_launch_remember(&start->place, &cli->fail);
	return r == CK_BUSY ? CK_OK : r;
}

/* In the other process. */
static void
answer(struct cli *cli, const struct worker_said *said, struct answer *to)
{
	struct ck_secret password = CK_SECRET_INIT;
	ck_err r;

	if ((r = cli_prepare(cli, CLI_HEAP_KEYS)) == CK_OK &&
	    (r = cli_password(cli, said->password_fd, &password)) == CK_OK) {
		if (password.p != NULL)
			cli->say.login_password = &password;
		r = judge(cli, said, &to->start);
	}
	ck_secret_wipe(&password);
	to->start.place.login_password = NULL;
	to->fail = cli->fail;
	to->r = r;
	to->given = true;
}

/* A caller may ignore SIGCHLD, and then there is no status to be had: the
 * answer is what counts. */
static ck_err
ask(struct cli *cli, const struct worker_said *said, struct answer *a)
{
	pid_t pid = fork();

	if (pid < 0)
		return ck_fail_sys(&cli->fail, errno, NULL,
		    "start a process that looks at the records");
	if (pid == 0) {
		answer(cli, said, a);
		_exit(0);
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!a->given)
		return ck_fail_set(&cli->fail, CK_INTERNAL, NULL,
		    "the process that looks at the records died");
	cli->fail = a->fail;
	return a->r;
}

ck_err
worker_ready(struct cli *cli, const struct worker_said *said,
    struct worker_start *ret)
{
	struct answer *a;
	ck_err r;

	if (geteuid() == 0) {
		(void)ck_fail_set(&cli->fail, CK_NOENFORCE, NULL,
		    "root cannot be kept from anything");
		ck_fail_next(&cli->fail, "start workers as an ordinary user");
		return CK_NOENFORCE;
	}
	a = mmap(NULL, sizeof(*a), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a == MAP_FAILED)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	if ((r = ask(cli, said, a)) == CK_OK)
		*ret = a->start;
	(void)munmap(a, sizeof(*a));
	if (said->password_fd > 2)
		(void)close(said->password_fd);
	return r;
}
