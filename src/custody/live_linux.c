/* SPDX-License-Identifier: Apache-2.0 */
/* See live.h. */
#include "custody/live.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#define ASK_VERSION 1U           /* LANDLOCK_CREATE_RULESET_VERSION */

/* In a process of its own, which ends at once. */
static bool
can_make_namespace(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool
is_restricted(void)
{
	static const char path[] =
	    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
	char c = '0';
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ret = fd >= 0 && read(fd, &c, 1) == 1 && c == '1';

	if (fd >= 0)
		(void)close(fd);
	return ret;
}

ck_err
ck_live_look(const struct ck_place *p, struct ck_live *ret,
    struct ck_fail *fail)
{
	struct ck_live live;
	long version;
	ck_err r;

	memset(&live, 0, sizeof(live));
	if ((r = ck_inside(p, &live.inside, fail)) != CK_OK)
		return r;
	version = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);
	live.landlock = version > 0 ? (int)version : 0;
	live.bwrap = access("/usr/bin/bwrap", X_OK) == 0;
	live.user_namespaces = can_make_namespace();
	live.apparmor = is_restricted();
	*ret = live;
	return CK_OK;
}
