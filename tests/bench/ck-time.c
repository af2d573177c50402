/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-time [-n RUNS] [-w WARM] [-m] [-i FD=FILE] [-o FD=FILE] COMMAND...
 * ck-time -r FILE [-n RUNS] [-w WARM]
 *
 * Runs the command and prints the microseconds of each run, one per line;
 * with -m the most memory any run had resident, in KiB, instead.  -i and -o
 * open a file for the command at that descriptor, so that no shell is timed.
 * Standard input, output and error are /dev/null unless named.  With -r it
 * times reading the file once, in this process.  A run that fails ends it
 * with the status of that run.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#define MAXRSS_UNIT 1024L       /* bytes */
#else
#define MAXRSS_UNIT 1L          /* KiB */
#endif

extern char **environ;

static double
now(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
		err(2, "clock_gettime");
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double
run_command(const posix_spawn_file_actions_t *files, char *const *argv,
    long *max_kib)
{
	struct rusage use;
	double start = now(), end;
	long kib;
	pid_t pid;
	int status, r;

	if ((r = posix_spawnp(&pid, argv[0], files, NULL, argv, environ)) != 0)
		errx(2, "%s: %s", argv[0], strerror(r));
	while (wait4(pid, &status, 0, &use) == -1) {
		if (errno != EINTR)
			err(2, "wait4");
	}
	end = now();
	if (!WIFEXITED(status))
		errx(2, "%s: killed", argv[0]);
	if (WEXITSTATUS(status) != 0)
		errx(WEXITSTATUS(status), "%s: exit status %d", argv[0],
		    WEXITSTATUS(status));
	kib = use.ru_maxrss / MAXRSS_UNIT;
	if (kib > *max_kib)
		*max_kib = kib;
	return end - start;
}

static double
run_read(const char *path)
{
	static char buf[1 << 16];
	double start = now();
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		err(2, "%s", path);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		continue;
	if (n == -1)
		err(2, "%s", path);
	(void)close(fd);
	return now() - start;
}

static void
add_file(posix_spawn_file_actions_t *files, const char *spec, int flags)
{
	char *path;
	long fd = strtol(spec, &path, 10);

	if (path == spec || *path != '=' || fd < 0 || fd > 1000 ||
	    posix_spawn_file_actions_addopen(files, (int)fd, path + 1, flags,
	    0600) != 0)
		errx(2, "%s: not FD=FILE", spec);
}

static long
count(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end != '\0' || n < 0 || n > 1000000)
		errx(2, "%s: not a number of runs", text);
	return n;
}

struct plan {
	posix_spawn_file_actions_t files;
	const char *read;
	bool memory;
	long runs, warm;
};

static void
parse(struct plan *p, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "+n:w:mi:o:r:")) != -1) {
		switch (c) {
		case 'n':
			p->runs = count(optarg);
			break;
		case 'w':
			p->warm = count(optarg);
			break;
		case 'm':
			p->memory = true;
			break;
		case 'i':
			add_file(&p->files, optarg, O_RDONLY);
			break;
		case 'o':
			add_file(&p->files, optarg,
			    O_WRONLY | O_CREAT | O_TRUNC);
			break;
		case 'r':
			p->read = optarg;
			break;
		default:
			exit(2);
		}
	}
	if (p->read == NULL && optind == argc)
		errx(2, "no command");
}

int
main(int argc, char **argv)
{
	struct plan p = { .runs = 1 };
	long kib = 0;

	if (posix_spawn_file_actions_init(&p.files) != 0)
		errx(2, "out of memory");
	add_file(&p.files, "0=/dev/null", O_RDONLY);
	add_file(&p.files, "1=/dev/null", O_WRONLY);
	add_file(&p.files, "2=/dev/null", O_WRONLY);
	parse(&p, argc, argv);
	for (long i = -p.warm; i < p.runs; i++) {
		double took = p.read != NULL ? run_read(p.read) :
		    run_command(&p.files, argv + optind, &kib);

		if (i >= 0 && !p.memory)
			(void)printf("%.1f\n", took);
	}
	if (p.memory)
		(void)printf("%ld\n", kib);
	(void)posix_spawn_file_actions_destroy(&p.files);
	return ferror(stdout) || fflush(stdout) != 0 ? 2 : 0;
}
