/* SPDX-License-Identifier: Apache-2.0 */
/* Short ways to use the table layer in tests. */
#ifndef CK_TESTS_HELP_DB_H
#define CK_TESTS_HELP_DB_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "keychain/db.h"
#include "keychain/db_int.h"

/* A call that must succeed; the reason is printed when it does not. */
#define HELP_OK(call) do {                                                    \
	struct ck_fail fail = CK_FAIL_INIT;                                   \
	ck_err help_r_ = (call);                                              \
	if (help_r_ != CK_OK)                                                 \
		print_error("%s: %s\n", fail.place, fail.why);                \
	assert_int_equal(help_r_, CK_OK);                                     \
} while (0)

struct kc_value help_word(uint32_t v);
struct kc_value help_bytes(const void *p, size_t n);
struct kc_value help_text(const char *s);

struct kc_db *help_db_open(struct ck_span file);
/* The vector, opened; skips the test when it is missing. */
struct kc_db *help_db_vector(const char *name);

/* A generic-password record: all but the given values absent. */
void help_db_generic(const struct kc_relation *rel, const char *account,
    const char *service, struct kc_value *ret);
/* A symmetric-key record with that label and everything an item key has. */
void help_key(const struct kc_relation *rel, const char *label,
    struct kc_value *ret);

/* A new keychain with n bytes of data as its blob, serialised. */
void help_new_file(size_t n, struct ck_buf *ret);

/* n items in a keychain: generic passwords "account"/"service00000" and so on,
 * each with a key of the same label. */
void help_many(size_t n, struct ck_buf *ret);

/* Is the record found through each index that must have it?  The first of
 * the equal ones must have its keys.  The number of indexes tried. */
size_t help_find(struct kc_db *db, const struct kc_table *t,
    const struct kc_record *rec);

/* The pending changes as a file. */
void help_serialise(struct kc_db *db, struct ck_buf *ret);

void help_same(const struct ck_buf *a, const struct ck_buf *b);

/* The file with one more table, by hand: size and id are put in front of
 * body, which counts from the third word on. */
void help_add_table(const struct ck_buf *file, uint32_t id,
    struct ck_span body, struct ck_buf *ret);

/*
 * Whatever these bytes are: open them, read and look up everything, verify,
 * and when that passes lay the file out again, which must give the same bytes.
 * Nothing read may lie outside.  The answer of opening or verifying.
 */
ck_err help_exercise(struct ck_span file);

#endif
