/* SPDX-License-Identifier: Apache-2.0 */
/* Removing what a killed writer left behind; see io.h. */
#include "io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* prefix and hex digits or dashes, at least one, nothing else. */
static bool
is_left(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);
	const char *rest = name + n;

	return strncmp(name, prefix, n) == 0 && *rest != '\0' &&
	    rest[strspn(rest, "0123456789abcdef-")] == '\0';
}

/* Ours, and a plain file: anything else is somebody's business. */
static bool
is_ours(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

ck_err
ck_io_sweep(int dirfd, const char *prefix, const char *shown,
    struct ck_fail *fail)
{
	const struct dirent *entry;
	ck_err r = CK_OK;
	DIR *dir;
	int fd;

	/* A descriptor of its own: reading a directory moves its offset. */
	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || (dir = fdopendir(fd)) == NULL) {
		int sys = errno;

		ck_io_close(&fd);
		return ck_fail_sys(fail, sys, shown, "list it");
	}
	while ((entry = readdir(dir)) != NULL)
		if (is_left(entry->d_name, prefix) &&
		    is_ours(dirfd, entry->d_name) &&
		    unlinkat(dirfd, entry->d_name, 0) != 0 &&
		    errno != ENOENT)
			r = ck_fail_sys(fail, errno, shown,
			    "remove a file that a killed process left");
	(void)closedir(dir);
	return r;
}
