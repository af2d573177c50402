/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry under the name of a shell.  Which shell and which plan that means
 * stand in records that this program does not read; so it becomes
 * clankie-keys, which compares plan and records and comes back as the entry.
 * See worker.h.
 */
#include "worker/worker.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM "clankie-keys"
#define ENTRY "clankie-worker-entry"

static const char *
base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static bool
is_shell(const char *path)
{
	static const char *const names[] = { "zsh", "bash", "fish", "sh" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(base(path), names[i]) == 0)
			return true;
	return false;
}

const char *
wk_shell_link(const char *executed, const char *argv0)
{
	/* The path that was executed cannot be chosen freely, so it is asked
	 * first; a script's interpreter has the script's there. */
	if (strcmp(base(executed), ENTRY) == 0)
		return NULL;
	if (is_shell(executed))
		return executed;
	argv0 += argv0[0] == '-';
	return is_shell(argv0) ? argv0 : NULL;
}

/* Beside this program, where only its user or root writes; or in the bin of
 * the package that both came with, which must be root's, for a bin in a home
 * is open to workers. */
static ck_err
find_program(char ret[CK_PATH_MAX], struct ck_fail *fail)
{
	char dir[CK_PATH_MAX];
	const char *const places[] = { "/" PROGRAM, "/../../bin/" PROGRAM };
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	struct stat st;

	dir[n < 0 ? 0 : n] = '\0';
	if (strrchr(dir, '/') != NULL)
		*strrchr(dir, '/') = '\0';
	else
		return ck_fail_set(fail, CK_NOENFORCE, "/proc/self/exe",
		    "does not tell which program this is");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		ck_err r = ck_path_format(ret, fail, "%s%s", dir, places[i]);

		if (r != CK_OK)
			return r;
		if (lstat(ret, &st) != 0)
			continue;
		if (!S_ISREG(st.st_mode) || (st.st_mode & 022) != 0 ||
		    (st.st_uid != 0 && (i > 0 || st.st_uid != getuid())))
			return ck_fail_set(fail, CK_REFUSED, ret,
			    "could have been changed by somebody else");
		return CK_OK;
	}
	(void)ck_fail_set(fail, CK_NOENFORCE, PROGRAM,
	    "is not found from %s: nothing tells which shell to start and "
	    "what to keep it from", dir);
	ck_fail_next(fail, "clankie-keys worker install-shell");
	return CK_NOENFORCE;
}

ck_err
wk_shell(const char *link, int argc, char **argv, struct ck_fail *fail)
{
	static char program[] = PROGRAM, verb[] = "worker", sub[] = "shell",
	    link_option[] = "--link", end_option[] = "--", from[CK_PATH_MAX],
	    path[CK_PATH_MAX];
	static char *to[WK_WORDS_MAX];
	size_t n = 0;
	ck_err r;

	if ((r = find_program(path, fail)) != CK_OK ||
	    (r = ck_path_format(from, fail, "%s", link)) != CK_OK)
		return r;
	if (argc < 1 || argc > WK_WORDS_MAX - 8)
		return ck_fail_set(fail, CK_REFUSED, NULL,
		    "has more arguments than can be passed on");
	to[n++] = program;
	to[n++] = verb;
	to[n++] = sub;
	to[n++] = link_option;
	to[n++] = from;
	to[n++] = end_option;
	/* All of it, with its own name and the NULL. */
	memcpy(to + n, argv, ((size_t)argc + 1) * sizeof(*argv));
	(void)execv(path, to);
	return ck_fail_set(fail, CK_NOENFORCE, path, "cannot be run: %s",
	    strerror(errno));
}
