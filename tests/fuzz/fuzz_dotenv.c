/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any .env.local is read or refused.  The names that come out are those of
 * shell variables, each once, and each value lies somewhere in the file.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/bearer.h"
#include "store/dotenv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(c) do { if (!(c)) { (void)fprintf(stderr, \
    "%d: %s\n", __LINE__, #c); abort(); } } while (0)

#define NAMES_MAX 64

struct seen {
	struct ck_span file;
	char name[NAMES_MAX][CK_DOTENV_NAME_SIZE];
	size_t n;
};

static char path[64];

static void
remove_file(void)
{
	(void)unlink(path);
}

static void
prepare(void)
{
	int fd;

	if (path[0] != '\0')
		return;
	REQUIRE(ck_secret_heap_init((size_t)1 << 22, NULL) == CK_OK);
	(void)snprintf(path, sizeof(path), "/tmp/fuzz-dotenv-XXXXXX");
	fd = mkstemp(path);
	REQUIRE(fd >= 0);
	(void)close(fd);
	(void)atexit(remove_file);
}

static bool
inside(struct ck_span whole, const struct ck_secret *part)
{
	for (size_t i = 0; i + part->n <= whole.n; i++)
		if (part->n == 0 ||
		    memcmp(whole.p + i, part->p, part->n) == 0)
			return true;
	return part->n == 0;
}

static ck_err
check(void *arg, const char *name, const struct ck_secret *value)
{
	struct seen *s = arg;

	REQUIRE(name[0] != '\0' && strlen(name) < CK_DOTENV_NAME_SIZE);
	REQUIRE(strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
	    "uvwxyz0123456789_") == strlen(name));
	REQUIRE(value->p != NULL && inside(s->file, value));
	REQUIRE(memchr(value->p, '\n', value->n) == NULL);
	for (size_t i = 0; i < s->n; i++)
		REQUIRE(strcmp(s->name[i], name) != 0);
	if (s->n < NAMES_MAX)
		(void)snprintf(s->name[s->n++], CK_DOTENV_NAME_SIZE, "%s",
		    name);
	return CK_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen s = { .file = { data, size } };
	struct ck_secret first = CK_SECRET_INIT;
	bool found = false;
	int fd;

	prepare();
	fd = open(path, O_WRONLY | O_TRUNC);
	REQUIRE(fd >= 0);
	REQUIRE(write(fd, data, size) == (ssize_t)size);
	REQUIRE(close(fd) == 0);
	REQUIRE(ck_dotenv_each(path, check, &s, NULL) == CK_OK);
	REQUIRE(ck_dotenv_find_bearer(path, &found, &first, NULL) == CK_OK);
	REQUIRE(found == (first.p != NULL));
	if (found)
		REQUIRE(first.n == CK_BEARER_KEY_SIZE &&
		    inside(s.file, &first));
	ck_secret_wipe(&first);
	return 0;
}
