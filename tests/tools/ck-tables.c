/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-tables FILE
 *
 * What a keychain file consists of, one line each, so that two states of a
 * file can be compared with diff(1):
 *
 *	table RELATION SIZE SHA256       the whole table, indexes included
 *	record RELATION NUMBER SHA256    one record with its header
 *
 * Reads the frame by itself (docs/keychain-format.md sections 2 to 4) and
 * uses nothing of the engine, whose writing it helps to judge.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/bytes.h"

#define FRAME_SCHEMA 20   /* offset of the table array in the file */
#define TABLE_HEAD 28     /* size of a table's header */

static uint8_t *bytes;
static size_t total;

static uint32_t
word(size_t at)
{
	if (at > total || total - at < 4)
		errx(2, "offset %zu is outside of the file", at);
	return ck_get_be32(bytes + at);
}

static void
digest(size_t at, size_t n)
{
	uint8_t md[32];
	char hex[65];
	size_t len = 0;

	if (at > total || n > total - at)
		errx(2, "%zu bytes at %zu are outside of the file", n, at);
	if (EVP_Q_digest(NULL, "SHA256", NULL, bytes + at, n, md, &len) != 1)
		errx(2, "no SHA-256");
	ck_hex_encode(md, len, hex);
	printf("%s\n", hex);
}

static void
table(size_t at)
{
	uint32_t size = word(at), relation = word(at + 4);
	uint32_t slots = word(at + 24), offset;

	printf("table %08" PRIx32 " %" PRIu32 " ", relation, size);
	digest(at, size);
	for (uint32_t i = 0; i < slots; i++) {
		offset = word(at + TABLE_HEAD + (size_t)i * 4);
		if (offset == 0 || (offset & 1) != 0)
			continue;   /* a free slot */
		printf("record %08" PRIx32 " %" PRIu32 " ", relation, i);
		digest(at + offset, word(at + offset));
	}
}

static void
load(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) != 0)
		err(2, "%s", path);
	total = (size_t)st.st_size;
	if ((bytes = malloc(total + 1)) == NULL)
		err(2, "%s", path);
	if (pread(fd, bytes, total, 0) != (ssize_t)total)
		errx(2, "%s: short read", path);
	(void)close(fd);
}

int
main(int argc, char **argv)
{
	uint32_t tables;

	if (argc != 2)
		errx(2, "usage: ck-tables FILE");
	load(argv[1]);
	if (word(0) != 0x6b796368)
		errx(2, "%s: no keychain", argv[1]);
	tables = word(FRAME_SCHEMA + 4);
	for (uint32_t i = 0; i < tables; i++)
		table(FRAME_SCHEMA +
		    word(FRAME_SCHEMA + 8 + (size_t)i * 4));
	free(bytes);
	return 0;
}
