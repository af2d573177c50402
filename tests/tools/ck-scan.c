/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-scan files SECRETS FILE...
 * ck-scan process SECRETS PID
 * ck-scan trace SECRETS LOG [-s PROGRAM] [-p GLOB] [-v VERB]
 *
 * Looks for pieces of the secrets (see patterns.h) in files, in the memory of a
 * process (Linux), or in the log of a traced run (see trace.h).  Exit status 0: none; 1: found, and where is on
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
	    "       ck-scan process SECRETS PID\n"
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

/* One mapping, in pieces that overlap by more than a pattern is long.  What
 * cannot be read (a page nobody may touch, the kernel's own) holds nothing;
 * *looked counts the bytes that were. */
static const char *
scan_mapping(const struct patterns *p, int mem, off_t from, off_t to,
    size_t *looked)
{
	enum { PIECE = 1 << 20, OVERLAP = 64 };
	static uint8_t buf[PIECE + OVERLAP];
	const char *how;
	size_t want;
	ssize_t n;

	for (; from < to; from += PIECE) {
		want = (size_t)(to - from);
		n = pread(mem, buf, want < sizeof(buf) ? want : sizeof(buf),
		    from);
		if (n <= 0)
			continue;
		*looked += (size_t)n;
		if ((how = patterns_find(p, buf, (size_t)n)) != NULL)
			return how;
	}
	return NULL;
}

static FILE *
open_proc(const char *pid, const char *name)
{
	char path[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, name);
	if ((f = fopen(path, "re")) == NULL)
		err(2, "%s", path);
	return f;
}

static int
scan_process(const struct patterns *p, const char *pid)
{
	FILE *maps = open_proc(pid, "maps"), *mem = open_proc(pid, "mem");
	char line[4096], *end;
	size_t looked = 0;
	int status = 0;

	while (fgets(line, sizeof(line), maps) != NULL) {
		unsigned long from = strtoul(line, &end, 16), to = 0;
		const char *how;

		if (*end == '-')
			to = strtoul(end + 1, &end, 16);
		if (*end != ' ')
			errx(2, "/proc/%s/maps: %s", pid, line);
		how = scan_mapping(p, fileno(mem), (off_t)from, (off_t)to,
		    &looked);
		if (how == NULL)
			continue;
		warnx("process %s holds a piece of a secret (%s) in %s", pid,
		    how, line);
		status = 1;
	}
	(void)fclose(maps);
	(void)fclose(mem);
	(void)printf("%zu bytes looked at\n", looked);
	return looked == 0 ? 2 : status;
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
	else if (strcmp(argv[1], "process") == 0)
		status = patterns_count(p) == 0 ? 2 : scan_process(p, argv[3]);
	else if (strcmp(argv[1], "trace") == 0)
		status = scan_trace(p, argc - 2, argv + 2);
	else
		status = usage();
	patterns_free(p);
	return status;
}
