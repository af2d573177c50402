/* SPDX-License-Identifier: Apache-2.0 */
/* macOS half of environ.h: other processes are not asked there. */
#include "environ.h"

ck_err
ck_environ_scan(const char *name, const char *unless, ck_environ_cb cb,
    void *arg, size_t *ret_unseen, struct ck_fail *fail)
{
	(void)name;
	(void)unless;
	(void)cb;
	(void)arg;
	(void)ret_unseen;
	return ck_fail_set(fail, CK_UNSUPPORTED, NULL,
	    "what other processes have in their environment is not looked at "
	    "on this system");
}

bool
ck_environ_has(pid_t pid, const char *variable)
{
	(void)pid;
	(void)variable;
	return false;
}

bool
ck_environ_same_mounts(pid_t pid)
{
	(void)pid;
	return false;
}
