/* SPDX-License-Identifier: Apache-2.0 */
/* Files and secrets for the tests of the store module. */
#ifndef CK_TESTS_HELP_STORE_H
#define CK_TESTS_HELP_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/path.h"
#include "base/secret.h"

/* A directory of its own, 0700, and the path of a file "store" in it. */
struct help_store {
	char dir[CK_PATH_MAX];
	char path[CK_PATH_MAX];
};

/* cmocka fixtures; *state is a struct help_store.  The secure heap is there
 * afterwards. */
int help_store_setup(void **state);
int help_store_teardown(void **state);

void hs_write(const char *path, const void *p, size_t n, mode_t mode);
/* malloc'ed, with a NUL behind it. */
char *hs_read(const char *path, size_t *ret_n);
/* The file has exactly these bytes; the failure shows none of them. */
void hs_assert_file(const char *path, const void *p, size_t n);
/* Entries of the directory, dots left out. */
size_t hs_entries(const char *dir);
mode_t hs_mode(const char *path);

struct ck_secret hs_secret(const char *text);
/* The secret has exactly the bytes of text; the failure shows none. */
bool hs_is(const struct ck_secret *s, const char *text);
/* A bearer's value as text, made now; malloc'ed. */
char *hs_bearer(void);
/* No text of fail holds any 12 bytes in a row of the bearer's random part. */
void hs_assert_silent(const struct ck_fail *fail, const char *bearer);

#endif
