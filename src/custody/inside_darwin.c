/* SPDX-License-Identifier: Apache-2.0 */
/* On macOS a boundary is a profile of the process, which shows in what can be
 * opened; see inside.h. */
#include "custody/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The user owns it and may read it by its mode: *ret_errno of opening it. */
static bool
tries(const char *path, mode_t mode, int flags, int *ret_errno)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) != 0 || (st.st_mode & S_IFMT) != mode ||
	    st.st_uid != geteuid() || (st.st_mode & 0400) == 0)
		return false;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
	    flags);
	*ret_errno = fd < 0 ? errno : 0;
	if (fd >= 0)
		(void)close(fd);
	return true;
}

ck_err
ck_inside(const struct ck_place *p, enum ck_inside *ret,
    struct ck_fail *fail)
{
	char record[CK_PATH_MAX], probe[CK_PATH_MAX];
	int sys = 0;
	ck_err r;

	if ((r = ck_path_join(p->envelope, CK_ENVELOPE_RECORD, record,
	    fail)) != CK_OK ||
	    (r = ck_path_join(p->envelope, CK_ENVELOPE_PROBE, probe,
	    fail)) != CK_OK)
		return r;
	*ret = CK_INSIDE_NOTHING;
	/* EPERM where the mode allows it: only a profile does that. */
	if (tries(record, S_IFREG, 0, &sys) && sys == 0 &&
	    tries(probe, S_IFREG, 0, &sys) && sys == EPERM)
		*ret = CK_INSIDE_ENVELOPE;
	else if (tries(p->dir, S_IFDIR, O_DIRECTORY, &sys) && sys == EPERM)
		*ret = CK_INSIDE_WORKER;
	return CK_OK;
}

bool
ck_inside_possible(void)
{
	return false;
}

enum ck_system
ck_inside_system(void)
{
	return CK_SYSTEM_MACOS;
}
