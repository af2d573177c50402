/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and loading test vectors; see help_vectors.h. */
#include "help_vectors.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/io.h"
#include "unit.h"

const char *const help_healthy[HELP_HEALTHY] = {
	HELP_V100, HELP_V100_CERTS, HELP_V200_EMPTY, HELP_V200,
	HELP_ONE_V100, HELP_ONE_V200
};

const char *
help_vector_path(const char *name)
{
	static char path[1024];
	const char *dir = getenv("CLANKIE_KEYS_VECTORS");
	struct stat st;

	if (dir == NULL)
		dir = "../shared/vectors";
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (stat(path, &st) != 0) {
		(void)printf("SKIP: %s is missing\n", path);
		skip();
	}
	return path;
}

void
help_vector_load(const char *name, struct ck_buf *ret)
{
	const char *path = help_vector_path(name);
	uint8_t *p = NULL;
	size_t n = 0;
	int fd = -1;

	assert_int_equal(ck_io_open_file(AT_FDCWD, path, NULL, 0, &fd, NULL,
	    NULL), CK_OK);
	assert_int_equal(ck_io_read_all(fd, (size_t)1 << 24, path, &p, &n,
	    NULL), CK_OK);
	ck_io_close(&fd);
	*ret = (struct ck_buf)CK_BUF_INIT;
	ck_buf_bytes(ret, p, n);
	free(p);
	assert_int_equal(ck_buf_ok(ret), CK_OK);
}
