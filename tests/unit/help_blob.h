/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the tests of blobs and ACLs: real keychain files cut up without the
 * table layer, and the values of the worked example (docs/keychain-format.md,
 * section 18), which are ranges of byte values.
 */
#ifndef CK_TESTS_HELP_BLOB_H
#define CK_TESTS_HELP_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/secret.h"
#include "keychain/blob.h"
#include "keychain/db.h"

/* cmocka group setup: the secure heap, 16 MiB. */
int help_heap(void **state);

/* ret[n] from exactly 2n hex digits; the test fails otherwise. */
void help_hex(const char *text, uint8_t *ret, size_t n);
struct ck_secret help_blob_secret(const void *p, size_t n);
struct ck_secret help_secret_text(const char *text);
/* n bytes first, first + 1, ... */
struct ck_secret help_range(uint8_t first, size_t n);
void help_fill(uint8_t first, uint8_t *ret, size_t n);

/* Keys 00..17 and 20..33, no private ACL. */
struct kc_keys help_example_keys(void);
/* The item key blob of the example around acl. */
struct kc_key_blob help_example_key_blob(uint32_t version,
    struct ck_span acl);

#define HELP_KEYS_MAX 16
#define HELP_ITEMS_MAX 8

struct help_key {
	size_t at;                     /* offset in the file */
	struct kc_key_blob blob;
};

/* A keychain with its blobs in file order. */
struct help_file {
	uint8_t *p;
	size_t n;
	struct kc_db_blob db;
	struct kc_keys keys;           /* opened with the password */
	struct help_key key[HELP_KEYS_MAX];
	size_t nkeys;
	size_t item[HELP_ITEMS_MAX];   /* offsets of "ssgp" data */
	size_t nitems;
};

struct help_vector {
	const char *name;
	const char *password;
	size_t nkeys;
	size_t nitems;
};

/* The four healthy files made by macOS and the two synthetic ones. */
#define HELP_VECTORS 6
#define HELP_REAL 4
extern const struct help_vector help_vectors[HELP_VECTORS];

/* Skips the running test, with a line that says so, when the file is
 * missing; fails it when the file is not what the table says. */
void help_load(const struct help_vector *v, struct help_file *ret);
void help_free(struct help_file *f);
/* Any file of the vector folder, NUL behind it; the caller frees. */
uint8_t *help_blob_read(const char *name, size_t *ret_n);

/* The hex value after word in the section of MANIFEST.md about name. */
void help_manifest_hex(const char *name, const char *word, uint8_t *ret,
    size_t n);
/* MANIFEST.md has this text as `text`. */
bool help_manifest_names(struct ck_span text);

/* Attribute values of the record that holds data at offset at of the file,
 * decoded by hand. */
void help_values(const struct help_file *f, size_t at,
    const struct kc_relation *rel, struct kc_value *ret);
/* Whether such a record can start in front of at. */
bool help_fits(const struct help_file *f, size_t at,
    const struct kc_relation *rel);

extern const struct kc_relation help_generic;
extern const struct kc_relation help_internet;
extern const struct kc_relation help_key_relation;

/* The data of the password item whose key is k, and its relation. */
struct ck_span help_item_of(const struct help_file *f,
    const struct help_key *k, size_t *ret_at,
    const struct kc_relation **ret_rel);

#endif
