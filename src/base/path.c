/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as places; see path.h. */
#include "path.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARTS_MAX 256   /* components of a missing rest */

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* realpath() of text, or the errno. */
static int
resolve(const char *text, char ret[CK_PATH_MAX])
{
	char *full = realpath(text, NULL);
	int sys = errno;

	if (full == NULL)
		return sys;
	if (strlen(full) >= CK_PATH_MAX) {
		free(full);
		return ENAMETOOLONG;
	}
	memcpy(ret, full, strlen(full) + 1);
	free(full);
	return 0;
}

ck_err
ck_path_canonical(const char *path, char ret[CK_PATH_MAX],
    struct ck_fail *fail)
{
	char head[CK_PATH_MAX], real[CK_PATH_MAX];
	const char *rest[PARTS_MAX];
	size_t parts = 0;
	struct stat st;
	char *slash;
	int sys;
	ck_err r;

	if (path[0] != '/')
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is not an absolute path");
	if (strlen(path) >= sizeof(head))
		return ck_fail_set(fail, CK_REFUSED, NULL,
		    "a path is longer than %d bytes", CK_PATH_MAX - 1);
	memcpy(head, path, strlen(path) + 1);
	while ((sys = resolve(head, real)) != 0) {
		if (sys != ENOENT)
			return ck_fail_sys(fail, sys, path, "resolve it");
		/* A dangling link exists; what it will name is not known.  One
		 * look tells: between two a directory may come into being. */
		if (lstat(head, &st) == 0) {
			if (!S_ISLNK(st.st_mode))
				continue;   /* somebody made it just now */
			return ck_fail_set(fail, CK_REFUSED, head,
			    "is a symbolic link to something missing");
		}
		slash = strrchr(head, '/');
		if (slash == NULL || parts == PARTS_MAX)
			return ck_fail_set(fail, CK_REFUSED, path,
			    "cannot be resolved");
		if (is_dots(slash + 1))
			return ck_fail_set(fail, CK_REFUSED, path,
			    "has . or .. below a missing directory");
		if (slash[1] != '\0')
			rest[parts++] = path + (slash + 1 - head);
		if (slash == head)
			slash[1] = '\0';
		else
			*slash = '\0';
	}
	while (parts > 0) {
		parts--;
		r = ck_path_format(head, fail, "%s/%.*s",
		    strcmp(real, "/") == 0 ? "" : real,
		    (int)strcspn(rest[parts], "/"), rest[parts]);
		if (r != CK_OK)
			return r;
		memcpy(real, head, sizeof(real));
	}
	memcpy(ret, real, sizeof(real));
	return CK_OK;
}

ck_err
ck_path_chain_safe(const char *path, struct ck_fail *fail)
{
	char dir[CK_PATH_MAX];
	struct stat st;

	ck_path_parent(path, dir);
	for (;;) {
		if (lstat(dir, &st) != 0) {
			if (errno != ENOENT)
				return ck_fail_sys(fail, errno, dir,
				    "examine the directory");
		} else if (!S_ISDIR(st.st_mode)) {
			return ck_fail_set(fail, CK_REFUSED, dir,
			    "is not a directory");
		} else if (st.st_uid != 0 && st.st_uid != geteuid()) {
			return ck_fail_set(fail, CK_REFUSED, dir,
			    "belongs to user %ld, who could replace what is "
			    "below", (long)st.st_uid);
		} else if ((st.st_mode & 022) != 0 &&
		    (st.st_mode & S_ISVTX) == 0) {
			(void)ck_fail_set(fail, CK_REFUSED, dir,
			    "is writable by other users (mode %04o)",
			    (unsigned int)(st.st_mode & 07777));
			ck_fail_next(fail, "chmod go-w '%s'", dir);
			return CK_REFUSED;
		}
		if (strcmp(dir, "/") == 0 || strcmp(dir, ".") == 0)
			return CK_OK;
		ck_path_parent(dir, dir);
	}
}

/* Judge one candidate for the home directory. */
static ck_err
home_is_mine(const char *home, const char *from, char ret[CK_PATH_MAX],
    struct ck_fail *fail)
{
	char real[CK_PATH_MAX];
	struct stat st;
	int sys;

	if (home == NULL || home[0] != '/')
		return ck_fail_set(fail, CK_REFUSED, NULL,
		    "%s is not an absolute path", from);
	if ((sys = resolve(home, real)) != 0 || stat(real, &st) != 0)
		return ck_fail_set(fail, CK_REFUSED, home,
		    "%s cannot be used: %s", from,
		    strerror(sys != 0 ? sys : errno));
	if (!S_ISDIR(st.st_mode))
		return ck_fail_set(fail, CK_REFUSED, home,
		    "%s is not a directory", from);
	if (st.st_uid != geteuid()) {
		const struct passwd *pw = getpwuid(st.st_uid);

		(void)ck_fail_set(fail, CK_REFUSED, home,
		    "%s belongs to %s, not to you", from,
		    pw == NULL ? "another user" : pw->pw_name);
		if (pw != NULL)
			ck_fail_next(fail, "sudo -H -u %s clankie-keys ...",
			    pw->pw_name);
		return CK_REFUSED;
	}
	memcpy(ret, real, sizeof(real));
	return CK_OK;
}

ck_err
ck_path_home(const char *env_home, char ret[CK_PATH_MAX],
    struct ck_fail *fail)
{
	const struct passwd *pw;
	struct stat st;

	if (env_home != NULL && env_home[0] == '/') {
		if (home_is_mine(env_home, "HOME", ret, fail) == CK_OK)
			return CK_OK;
		/* Somebody else's home is never silently swapped for ours. */
		if (stat(env_home, &st) == 0 && st.st_uid != geteuid())
			return CK_REFUSED;
	}
	pw = getpwuid(geteuid());
	if (pw == NULL)
		return ck_fail_set(fail, CK_REFUSED, NULL,
		    "no home directory: HOME is not usable and the password "
		    "database does not know user %ld", (long)geteuid());
	return home_is_mine(pw->pw_dir, "the home directory", ret, fail);
}
