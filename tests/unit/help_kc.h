/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the tests of the item layer: keychain files in a directory of the
 * test's own, and short ways to ask for what is in them.
 */
#ifndef CK_TESTS_HELP_KC_H
#define CK_TESTS_HELP_KC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/path.h"
#include "base/secret.h"
#include "keychain/keychain.h"

/* Password of the files that macOS made, and of the synthetic ones. */
#define KCT_PASSWORD "password"
#define KCT_EXAMPLE "example"

/* A directory of its own, 0700, and the path of a file in it. */
struct kct {
	char dir[CK_PATH_MAX];
	char path[CK_PATH_MAX];
};

/* cmocka fixtures; *state is a struct kct, path is "test.keychain".  The
 * secure heap is there afterwards. */
int kct_setup(void **state);
int kct_teardown(void **state);

/* Copy a vector to fx->path, mode 0600.  Skips when it is missing. */
void kct_copy(const struct kct *fx, const char *vector);
void kct_put(const char *path, struct ck_span bytes, mode_t mode);
void kct_get(const char *path, struct ck_buf *ret);
/* The file has exactly these bytes. */
void kct_same(const char *path, const struct ck_buf *bytes);
/* Names in the directory, dots left out. */
size_t kct_entries(const char *dir);
bool kct_exists(const char *dir, const char *name);

struct ck_secret kct_secret(const void *p, size_t n);
#define kct_text(s) kct_secret((s), strlen(s))

/* Open for reading or for changes; password NULL leaves it locked. */
struct kc *kct_open(const struct kct *fx, const char *password);
struct kc *kct_open_write(const struct kct *fx, const char *password);
/* A new file with this blob version, not committed. */
struct kc *kct_new(const struct kct *fx, uint32_t version,
    const char *password);
/* Commit and close. */
void kct_commit(struct kc **kc);

/* An item that any application may read, clock 2024-01-02T03:04:05Z. */
#define KCT_NOW 1704164645
void kct_add(struct kc *kc, const char *service, const char *account,
    const void *secret, size_t n);

struct kc_record kct_find(struct kc *kc, const char *service,
    const char *account);
/* The first record of a relation with this text in an attribute. */
struct kc_record kct_find_by(struct kc *kc, uint32_t relation, uint32_t attr,
    const char *text);

/* The attribute has these bytes; text NULL: it has no value. */
void kct_attr(struct kc *kc, const struct kc_record *rec, uint32_t attr,
    const char *text);
void kct_secret_is(struct kc *kc, const struct kc_record *rec, const void *p,
    size_t n);
/* A copy of the public ACL of an item's key; malloc'ed. */
void kct_acl(struct kc *kc, const struct kc_record *item, struct ck_buf *ret);

/* A fresh open with the password finds the whole file in order, and this
 * secret in the item (service NULL: no item is asked for). */
void kct_reads(const struct kct *fx, const char *password,
    const char *service, const char *account, const char *secret);

/* No text of the reason holds this. */
void kct_silent(const struct ck_fail *fail, const char *text);

#endif
