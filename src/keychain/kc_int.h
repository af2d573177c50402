/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of struct kc, for the files that implement keychain.h. */
#ifndef KC_INT_H
#define KC_INT_H

#include "base/path.h"
#include "keychain/blob.h"
#include "keychain/keychain.h"

/* Attributes of the widest relation (keys have 27), with room to spare. */
#define KC_VALUES_MAX 64

struct kc {
	char path[CK_PATH_MAX];
	char base[CK_PATH_MAX];
	int dirfd;
	int fd;                      /* -1 for a file that is being created */
	int lockfd;                  /* -1 when opened for reading */
	struct stat st;
	struct kc_db *db;
	struct kc_record blob_record;
	struct kc_db_blob blob;
	struct kc_keys keys;
	struct ck_secret master;
	bool unlocked;
	bool writing;
	bool begun;
	bool creating;
	bool torn;                   /* a change failed half-way */
	bool committed;
	mode_t mode;
	struct ck_buf acl;           /* of the database, while creating */
	struct ck_buf touched;       /* relation and number of changed items */
};

/* Open the parent directory and fill path, base and dirfd. */
CK_MUST_USE ck_err kc_place(struct kc *kc, const char *path,
    struct ck_fail *fail);

/* Take the lock file of the keychain's writers. */
CK_MUST_USE ck_err kc_take_lock(struct kc *kc, unsigned int wait_ms,
    struct ck_fail *fail);

/* CK_LOCKED with its reason unless the file is unlocked. */
CK_MUST_USE ck_err kc_need_keys(const struct kc *kc, struct ck_fail *fail);

/* Start the write transaction of the table layer once; CK_INTERNAL for an
 * object that was opened for reading. */
CK_MUST_USE ck_err kc_need_write(struct kc *kc, struct ck_fail *fail);

/*
 * The key record with that label, through the index or by reading all.
 * *ret_found is 0, 1 or, when several claim it, more; *ret is written unless
 * it is 0.
 */
CK_MUST_USE ck_err kc_label_key(struct kc *kc, struct ck_span label,
    size_t *ret_found, struct kc_record *ret, struct ck_fail *fail);

/* Version 0x200: CK_DAMAGED when the digest in an item's access list does not
 * fit the attributes of its record. */
CK_MUST_USE ck_err kc_check_digest(struct kc *kc,
    const struct kc_record *rec, struct ck_span acl, struct ck_fail *fail);

/*
 * Parse the key of an item that is about to change or be carried, check it
 * and the digest that its access list may have, and give its private ACL.
 */
CK_MUST_USE ck_err kc_prove_key(struct kc *kc, const struct kc_record *item,
    const struct kc_record *keyrec, struct kc_key_blob *ret,
    struct ck_secret *ret_acl, struct ck_fail *fail);

/* Insert a generic password with these attributes, and a fresh key for it
 * with that access list (private_acl may be NULL).  Errors of kc_add(). */
CK_MUST_USE ck_err kc_put_item(struct kc *kc, const struct kc_value *values,
    struct ck_span acl, const struct ck_secret *private_acl,
    const struct ck_secret *secret, struct ck_fail *fail);

/* A value that is present. */
struct kc_value kc_bytes_value(struct ck_span s);
struct kc_value kc_word_value(uint32_t w);

/* A stack object for the caller to fill, with nothing open. */
struct kc *kc_alloc(void);

#endif
