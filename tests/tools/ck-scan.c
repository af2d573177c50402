/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-scan files SECRETS FILE...
 * ck-scan trace SECRETS LOG [-s PROGRAM] [-p GLOB] [-v VERB]
 *
 * Looks for pieces of the secrets (see patterns.h) in files, or in the log of
 * a traced run (see trace.h).  Exit status 0: none; 1: found, and where is on
 * standard error; 2: nothing was proved.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "patterns.h"
#include "trace.h"

#define MAX_FILE ((size_t)1 << 30)

static int
usage(void)
{
	(void)fprintf(stderr, "usage: ck-scan files SECRETS FILE...\n"
	    "       ck-scan trace SECRETS LOG [-s PROGRAM] [-p GLOB] "
	    "[-v VERB]\n");
	return 2;
}

static const char *
scan_file(const struct patterns *p, const char *path)
{
	struct ck_fail fail = CK_FAIL_INIT;
	uint8_t *buf = NULL;
	size_t n = 0;
	const char *how;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd == -1)
		err(2, "%s", path);
	if (ck_io_read_all(fd, MAX_FILE, path, &buf, &n, &fail) != CK_OK)
		errx(2, "%s: %s", path, fail.why);
	how = patterns_find(p, buf, n);
	free(buf);
	ck_io_close(&fd);
	return how;
}

static int
scan_files(const struct patterns *p, char *const *paths)
{
	int status = 0;

	for (; *paths != NULL; paths++) {
		const char *how = scan_file(p, *paths);

		if (how == NULL)
			continue;
		warnx("%s holds a piece of a secret (%s)", *paths, how);
		status = 1;
	}
	return status;
}

static void
add_word(const char **list, const char *word)
{
	size_t i = 0;

	while (list[i] != NULL)
		i++;
	if (i >= TRACE_MAX_WORDS - 1)
		errx(2, "too many options");
	list[i] = word;
}

static int
scan_trace(const struct patterns *p, int argc, char **argv)
{
	struct trace_rules rules = { { NULL }, { NULL }, { NULL } };
	struct trace_result r;
	const char *log = argv[1];
	int c;

	optind = 2;
	while ((c = getopt(argc, argv, "s:p:v:")) != -1) {
		switch (c) {
		case 's':
			add_word(rules.subject, optarg);
			break;
		case 'p':
			add_word(rules.path, optarg);
			break;
		case 'v':
			add_word(rules.verb, optarg);
			break;
		default:
			return usage();
		}
	}
	r = trace_judge(log, &rules, p);
	(void)printf("%zu secrets, %zu processes of ours, %zu calls looked at, "
	    "%zu findings\n", patterns_count(p), r.subjects, r.looked_at,
	    r.findings);
	if (r.findings != 0)
		return 1;
	return patterns_count(p) == 0 || r.subjects == 0 ? 2 : 0;
}

int
main(int argc, char **argv)
{
	struct patterns *p;
	int status;

	if (argc < 4)
		return usage();
	p = patterns_load(argv[2]);
	if (strcmp(argv[1], "files") == 0)
		status = patterns_count(p) == 0 ? 2 : scan_files(p, argv + 3);
	else if (strcmp(argv[1], "trace") == 0)
		status = scan_trace(p, argc - 2, argv + 2);
	else
		status = usage();
	patterns_free(p);
	return status;
}
