/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clankie-envelope-entry --control DIRECTORY [--same PATH DEVICE INODE]...
 *     [--allow PATH]... [--network] -- COMMAND [ARGUMENT...]
 *
 * Started by bubblewrap inside of what it has bound.  Exit status: the
 * command's; 126 when it cannot be run, 127 when it does not exist; else one
 * of the table in base/err.h, and nothing was started.
 */
#include "worker/envelope/envelope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/worker.h"

#define PROGRAM "clankie-envelope-entry"

static struct envelope_entry e;
static struct worker descriptors;

static ck_err
usage(struct ck_fail *fail, const char *word, const char *why)
{
	(void)ck_fail_set(fail, CK_USAGE, word, "%s", why);
	ck_fail_next(fail, "clankie-keys envelope launch starts it");
	return CK_USAGE;
}

static bool
number(const char *text, unsigned long long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

/* How many words the option at argv[0] has; 0: it is none. */
static int
one(char **argv, int left)
{
	if (strcmp(argv[0], "--network") == 0) {
		e.network = true;
		return 1;
	}
	if (left >= 2 && strcmp(argv[0], "--control") == 0) {
		e.control = argv[1];
		return 2;
	}
	if (left >= 2 && strcmp(argv[0], "--allow") == 0 &&
	    e.nallow < EN_ALLOW_MAX) {
		e.allow[e.nallow++] = argv[1];
		return 2;
	}
	if (left >= 4 && strcmp(argv[0], "--same") == 0 &&
	    e.nsame < EN_SAME_MAX &&
	    number(argv[2], &e.same[e.nsame].device) &&
	    number(argv[3], &e.same[e.nsame].inode)) {
		e.same[e.nsame++].path = argv[1];
		return 4;
	}
	return 0;
}

static ck_err
arguments(int argc, char **argv, struct ck_fail *fail)
{
	int i = 1, n;

	for (; i < argc && strcmp(argv[i], "--") != 0; i += n)
		if ((n = one(argv + i, argc - i)) == 0)
			return usage(fail, argv[i], "is no option");
	if (i + 1 >= argc)
		return usage(fail, NULL, "no command stands behind --");
	if (e.control == NULL || e.control[0] != '/' ||
	    strlen(e.control) >= CK_PATH_MAX || e.nsame == 0)
		return usage(fail, NULL, "no control directory is named");
	e.command = argv + i + 1;
	return CK_OK;
}

static ck_err
confine(struct ck_fail *fail)
{
	ck_err r;

	if (getuid() == 0 || geteuid() == 0)
		return ck_fail_set(fail, CK_NOENFORCE, NULL,
		    "root cannot be kept from anything");
	descriptors.status_fd = -1;
	if ((r = wk_descriptors_close(&descriptors, fail)) != CK_OK ||
	    (r = wk_descriptors_check(&descriptors, fail)) != CK_OK ||
	    (r = en_same(&e, fail)) != CK_OK ||
	    (r = en_shut(&e, fail)) != CK_OK ||
	    (r = wk_terminal_filter(fail)) != CK_OK)
		return r;
	return en_prove(&e, fail);
}

static int
end(int status, const struct ck_fail *fail)
{
	(void)dprintf(STDERR_FILENO, PROGRAM ": %s%s%s%s%s%s\n", fail->place,
	    fail->place[0] == '\0' ? "" : ": ", fail->why,
	    fail->next[0] == '\0' ? "" : " (", fail->next,
	    fail->next[0] == '\0' ? "" : ")");
	return status;
}

int
main(int argc, char **argv)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	if ((r = arguments(argc, argv, &fail)) != CK_OK ||
	    (r = confine(&fail)) != CK_OK)
		return end(ck_err_exit(r), &fail);
	(void)execv(e.command[0], e.command);
	(void)ck_fail_set(&fail, CK_IO, e.command[0], "cannot be run: %s",
	    strerror(errno));
	return end(errno == ENOENT || errno == ENOTDIR ? 127 : 126, &fail);
}
