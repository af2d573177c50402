/* SPDX-License-Identifier: Apache-2.0 */
/* The namespaces, and what keeps a system from giving them; see worker.h. */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

/* The first byte of a small file of the kernel; 0 when it has none. */
static char
setting(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char c = 0;

	if (fd < 0)
		return 0;
	if (read(fd, &c, 1) != 1)
		c = 0;
	(void)close(fd);
	return c;
}

/* Which of the usual switches it is. */
static ck_err
not_allowed(struct ck_fail *fail, int sys, const char *doing)
{
	(void)ck_fail_set(fail, CK_NOENFORCE, NULL,
	    "the system does not let an ordinary user %s: %s", doing,
	    strerror(sys));
	if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
	    == '1')
		ck_fail_next(fail, "copy share/clankie-keys/apparmor/"
		    "clankie-worker-entry to /etc/apparmor.d, then sudo "
		    "apparmor_parser -r it");
	else if (setting("/proc/sys/kernel/unprivileged_userns_clone") == '0')
		ck_fail_next(fail,
		    "sudo sysctl kernel.unprivileged_userns_clone=1");
	else if (setting("/proc/sys/user/max_user_namespaces") == '0')
		ck_fail_next(fail,
		    "sudo sysctl user.max_user_namespaces=10000");
	else
		ck_fail_next(fail, "allow user namespaces; a container must "
		    "allow them in its own settings");
	return CK_NOENFORCE;
}

/* 0 or an errno. */
static int
put(const char *path, const char *text)
{
	size_t n = strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC), sys = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, n) != (ssize_t)n)
		sys = errno;
	(void)close(fd);
	return sys;
}

/* The user stays who he is; nobody else is known inside. */
static ck_err
map_ids(const struct worker *w, struct ck_fail *fail)
{
	char line[64];
	int sys;

	sys = put("/proc/self/setgroups", "deny");
	if (sys != 0 && sys != ENOENT)
		return not_allowed(fail, sys, "keep groups in a namespace");
	(void)snprintf(line, sizeof(line), "%lu %lu 1\n",
	    (unsigned long)w->uid, (unsigned long)w->uid);
	if ((sys = put("/proc/self/uid_map", line)) != 0)
		return not_allowed(fail, sys, "name himself in a namespace");
	(void)snprintf(line, sizeof(line), "%lu %lu 1\n",
	    (unsigned long)w->gid, (unsigned long)w->gid);
	if ((sys = put("/proc/self/gid_map", line)) != 0)
		return not_allowed(fail, sys, "name his group in a namespace");
	return CK_OK;
}

ck_err
wk_enter(struct worker *w, struct ck_fail *fail)
{
	struct statfs fs;
	ck_err r;

	/* Everything below goes through /proc/self. */
	if (statfs("/proc/self/fd", &fs) != 0 ||
	    (unsigned long)fs.f_type != PROC_SUPER_MAGIC)
		return ck_fail_set(fail, CK_NOENFORCE, "/proc",
		    "is not mounted as it should be");
	if (getcwd(w->cwd, sizeof(w->cwd)) == NULL || w->cwd[0] != '/')
		return ck_fail_set(fail, CK_REFUSED, NULL,
		    "the working directory has no path");
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return not_allowed(fail, errno, "make namespaces");
	if ((r = map_ids(w, fail)) != CK_OK)
		return r;
	/* Nothing that is mounted outside later appears inside: what is proved
	 * now stays so. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return not_allowed(fail, errno, "mount in a namespace");
	return CK_OK;
}
