/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for libFuzzer: gives each named file, and each file in each named
 * directory, to the target once.  The empty input comes first.  Input that
 * ends the process is named on standard error before it is tried.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#define INPUT_LIMIT ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only some targets have one. */
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

static int tried;

static void
try_file(int dirfd, const char *name, const char *shown)
{
	struct ck_fail fail = CK_FAIL_INIT;
	uint8_t *buf = NULL;
	size_t n = 0;
	int fd = -1;

	if (ck_io_open_file(dirfd, name, shown, 0, &fd, NULL, &fail) != CK_OK ||
	    ck_io_read_all(fd, INPUT_LIMIT, shown, &buf, &n, &fail) != CK_OK)
		errx(2, "%s: %s", shown, fail.why);
	ck_io_close(&fd);
	(void)fprintf(stderr, "%s\n", shown);
	(void)LLVMFuzzerTestOneInput(buf, n);
	free(buf);
	tried++;
}

static void
try_directory(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;

	if (dir == NULL)
		err(2, "%s", path);
	for (errno = 0; (e = readdir(dir)) != NULL; errno = 0) {
		if (e->d_name[0] != '.')
			try_file(dirfd(dir), e->d_name, e->d_name);
	}
	if (errno != 0)
		err(2, "%s", path);
	(void)closedir(dir);
}

int
main(int argc, char **argv)
{
	const uint8_t nothing[1] = { 0 };
	struct stat st;

	if (LLVMFuzzerInitialize != NULL)
		(void)LLVMFuzzerInitialize(&argc, &argv);
	(void)LLVMFuzzerTestOneInput(nothing, 0);
	for (int i = 1; i < argc; i++) {
		if (stat(argv[i], &st) != 0)
			err(2, "%s", argv[i]);
		if (S_ISDIR(st.st_mode))
			try_directory(argv[i]);
		else
			try_file(AT_FDCWD, argv[i], argv[i]);
	}
	/* A replay of nothing would be a test that cannot fail. */
	if (tried == 0)
		errx(2, "no input to replay");
	(void)printf("%d inputs replayed\n", tried);
	return 0;
}
