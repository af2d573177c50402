/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keychains that an interrupted operation left aside, found and taken away;
 * see check_int.h.  Each is a copy, closed by a password that may still be
 * known.
 */
#include "custody/check_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "custody/dedicated.h"

#define NONCE_SIZE 32

/* PREFIX and a nonce, and the nonce not that of an operation under way, which
 * its own command takes away. */
static const char *
prefix_of(const char *name, const struct ck_view *v)
{
	static const char *const prefixes[] = {
		CK_SCRATCH_PREFIX, CK_RESTORED_PREFIX
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t n = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], n) == 0 &&
		    strlen(name + n) == NONCE_SIZE &&
		    strspn(name + n, "0123456789abcdef") == NONCE_SIZE &&
		    !(v->journal_open &&
		    strcmp(name + n, v->journal.nonce) == 0))
			return prefixes[i];
	}
	return NULL;
}

/* Ours, and a directory: anything else is somebody's business. */
static bool
is_ours(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

ck_err
ck_check_asides(const struct ck_place *p, const struct ck_view *v,
    ck_aside_cb cb, void *arg, struct ck_fail *fail)
{
	const struct dirent *entry;
	const char *prefix;
	DIR *dir = NULL;
	int fd, sys;

	/* A stream of its own, since reading a directory moves its offset. */
	fd = openat(v->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || (dir = fdopendir(fd)) == NULL) {
		sys = errno;
		ck_io_close(&fd);
		return ck_fail_sys(fail, sys, p->dir, "list it");
	}
	while ((entry = readdir(dir)) != NULL)
		if ((prefix = prefix_of(entry->d_name, v)) != NULL &&
		    is_ours(v->dirfd, entry->d_name))
			cb(arg, prefix, entry->d_name + strlen(prefix));
	(void)closedir(dir);
	return CK_OK;
}

static void
found(void *arg, const char *prefix, const char *nonce)
{
	struct ck_check *c = arg;
	char path[CK_PATH_MAX];

	if (ck_path_format(path, NULL, "%s/%s%s", c->p->dir, prefix,
	    nonce) == CK_OK)
		ck_finding_add(c->out, CK_F_ASIDE, path, NULL,
		    "was left by an operation that is not under way any more, "
		    "and may hold a copy of the credential");
}

void
ck_check_aside(struct ck_check *c)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	/* Without records it is not known whose they are. */
	if (!c->viewed || c->v.rec == NULL)
		return;
	r = ck_check_asides(c->p, &c->v, found, c, &fail);
	if (r != CK_OK)
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
}
