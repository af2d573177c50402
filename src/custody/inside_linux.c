/* SPDX-License-Identifier: Apache-2.0 */
/* On Linux a boundary is made of mounts; see inside.h. */
#include "custody/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boundary/mountinfo.h"
#include "boundary/mounts.h"

/* What the list of mounts says of one path: the mount on it, the last of
 * several. */
struct on {
	const char *path;
	bool there, read_only, tmpfs;
};

static ck_err
look_at_mounts(struct on *on, size_t n, struct ck_fail *fail)
{
	struct ck_mountlist *list = malloc(sizeof(*list));
	struct ck_mountinfo line;
	bool more = true;
	ck_err r;

	if (list == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	if ((r = ck_mountlist_open(list, fail)) != CK_OK)
		goto out;
	while ((r = ck_mountlist_next(list, &line, &more,
	    fail)) == CK_OK && more) {
		for (size_t i = 0; i < n; i++) {
			if (strcmp(line.point, on[i].path) != 0)
				continue;
			on[i].there = true;
			on[i].read_only = line.read_only;
			on[i].tmpfs = strcmp(line.type, "tmpfs") == 0;
		}
	}
	ck_mountlist_close(list);
out:
	free(list);
	return r;
}

/* A mask has a mode that no custody directory has. */
static bool
looks_masked(const char *dir)
{
	struct stat st;

	return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	    (st.st_mode & 07777) == CK_MOUNT_MODE_CLOSED;
}

/* A file that is there, and *ret_errno of opening it for reading (0: it could
 * be). */
static bool
tries(const char *path, int *ret_errno)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_nlink != 1 || st.st_uid != geteuid())
		return false;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
	    O_CLOEXEC);
	*ret_errno = fd < 0 ? errno : 0;
	if (fd >= 0)
		(void)close(fd);
	return true;
}

static bool
envelope_refuses(const char *record, const char *probe)
{
	struct stat st;
	int sys = 0;

	/* Without its owner's bit anybody could have made it so. */
	return tries(record, &sys) && sys == 0 && tries(probe, &sys) &&
	    (sys == EACCES || sys == EPERM) && lstat(probe, &st) == 0 &&
	    (st.st_mode & S_IRUSR) != 0;
}

ck_err
ck_inside(const struct ck_place *p, enum ck_inside *ret,
    struct ck_fail *fail)
{
	char record[CK_PATH_MAX], probe[CK_PATH_MAX];
	struct on on[] = {
		{ p->dir, false, false, false },
		{ p->envelope, false, false, false },
	};
	const struct on *custody = &on[0], *control = &on[1];
	ck_err r;

	if ((r = ck_path_join(p->envelope, CK_ENVELOPE_RECORD, record,
	    fail)) != CK_OK ||
	    (r = ck_path_join(p->envelope, CK_ENVELOPE_PROBE, probe,
	    fail)) != CK_OK ||
	    (r = look_at_mounts(on, sizeof(on) / sizeof(on[0]),
	    fail)) != CK_OK)
		return r;
	*ret = CK_INSIDE_NOTHING;
	if (custody->there && custody->read_only && custody->tmpfs &&
	    looks_masked(p->dir))
		*ret = CK_INSIDE_WORKER;
	else if (control->there && control->read_only &&
	    envelope_refuses(record, probe))
		*ret = CK_INSIDE_ENVELOPE;
	return CK_OK;
}

bool
ck_inside_possible(void)
{
	return true;
}

enum ck_system
ck_inside_system(void)
{
	return CK_SYSTEM_LINUX;
}
