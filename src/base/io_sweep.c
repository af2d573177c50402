/* SPDX-License-Identifier: Apache-2.0 */
/* Removing what a killed writer left behind; see io.h. */
#include "io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool
ck_io_is_left(const char *name, const char *form)
{
	static const char digits[] = "0123456789abcdef";

	for (; *form != '\0' && *name != '\0'; form++, name++)
		if (*form == '#' ? strchr(digits, *name) == NULL :
		    *form != *name)
			return false;
	return *form == *name;
}

/* Ours, and a plain file under this name only: anything else is somebody's
 * business. */
static bool
is_ours(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_nlink == 1;
}

/* A stream of its own, since reading a directory moves its offset; or NULL,
 * and the code of the failure in *ret_why. */
static DIR *
list(int dirfd, const char *shown, ck_err *ret_why, struct ck_fail *fail)
{
	DIR *dir;
	int fd, sys;

	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (dir = fdopendir(fd)) != NULL)
		return dir;
	sys = errno;
	ck_io_close(&fd);
	*ret_why = ck_fail_sys(fail, sys, shown, "list it");
	return NULL;
}

ck_err
ck_io_sweep(int dirfd, const char *form, const char *shown,
    struct ck_fail *fail)
{
	const struct dirent *entry;
	ck_err r = CK_OK;
	DIR *dir;

	if ((dir = list(dirfd, shown, &r, fail)) == NULL)
		return r;
	while ((entry = readdir(dir)) != NULL)
		if (ck_io_is_left(entry->d_name, form) &&
		    is_ours(dirfd, entry->d_name) &&
		    unlinkat(dirfd, entry->d_name, 0) != 0 &&
		    errno != ENOENT)
			r = ck_fail_sys(fail, errno, shown,
			    "remove a file that a killed process left");
	(void)closedir(dir);
	return r;
}

ck_err
ck_io_left(int dirfd, const char *const *forms, size_t n, const char *shown,
    size_t *ret, struct ck_fail *fail)
{
	const struct dirent *entry;
	ck_err r = CK_OK;
	DIR *dir;

	if ((dir = list(dirfd, shown, &r, fail)) == NULL)
		return r;
	memset(ret, 0, n * sizeof(*ret));
	while ((entry = readdir(dir)) != NULL)
		for (size_t i = 0; i < n; i++)
			if (ck_io_is_left(entry->d_name, forms[i]) &&
			    is_ours(dirfd, entry->d_name))
				ret[i]++;
	(void)closedir(dir);
	return CK_OK;
}
