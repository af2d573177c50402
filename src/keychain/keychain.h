/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One keychain file: unlock, find, read, list, change, create.  The face of
 * the engine for everybody above it.
 *
 * Reading takes no lock and leaves nothing behind.  Writing takes the lock
 * file of the file's other writers, reads the file afresh, verifies it, and
 * replaces it in one rename (docs/keychain-format.md section 10).
 */
#ifndef KC_KEYCHAIN_H
#define KC_KEYCHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"
#include "keychain/acl.h"
#include "keychain/db.h"

struct kc;                       /* opaque */

/*
 * Open a keychain file for reading.  path is absolute; its last component
 * must not be a symbolic link.  rules are those of base/io.h.  Errors of
 * ck_io_open_file() and kc_db_open_fd().
 */
CK_MUST_USE ck_err kc_open(const char *path, unsigned int rules,
    struct kc **ret, struct ck_fail *fail);

/*
 * Open for changes: takes the lock file (waiting at most wait_ms, CK_BUSY
 * after that) and only then reads.  The lock is held until kc_close().
 */
CK_MUST_USE ck_err kc_open_write(const char *path, unsigned int rules,
    unsigned int wait_ms, struct kc **ret, struct ck_fail *fail);

/* Release everything and wipe the keys; pending changes are dropped.  NULL
 * is fine. */
void kc_close(struct kc **kc);

struct kc_info {
	uint32_t version;            /* blob version: 0x100, 0x101 or 0x200 */
	uint32_t idle_timeout;       /* seconds; 0x7fffffff = never */
	bool lock_on_sleep;
	uint32_t commit;             /* commit counter */
	uint8_t signature[16];       /* identity of the keychain */
};

void kc_info(const struct kc *kc, struct kc_info *ret);
const char *kc_path(const struct kc *kc);
const struct stat *kc_stat(const struct kc *kc);   /* of the opened file */
struct kc_db *kc_db(struct kc *kc);                /* owned by kc */

/* CK_LOCKED: wrong password; for a file named like a login keychain the
 * reason tells that the system may hold the real key (section 17). */
CK_MUST_USE ck_err kc_unlock(struct kc *kc, const struct ck_secret *password,
    struct ck_fail *fail);

/* Unlock with the content of an unlock-key file (section 11.5).  CK_REFUSED
 * when it belongs to another keychain. */
CK_MUST_USE ck_err kc_unlock_keyfile(struct kc *kc,
    const struct ck_secret *file, struct ck_fail *fail);

bool kc_is_unlocked(const struct kc *kc);

/*
 * A generic password by exact service and account.  A hit comes from the
 * index when the index agrees; CK_ABSENT only after every record was read.
 */
CK_MUST_USE ck_err kc_find(struct kc *kc, struct ck_span service,
    struct ck_span account, struct kc_record *ret, struct ck_fail *fail);

/* The symmetric-key record of a password item.  CK_DAMAGED: none (a
 * "zombie"), or several that no index tells apart.  CK_UNSUPPORTED: the item
 * has no key of its own. */
CK_MUST_USE ck_err kc_item_key(struct kc *kc, const struct kc_record *item,
    struct kc_record *ret, struct ck_fail *fail);

/* Decrypt a password item.  CK_LOCKED; CK_DAMAGED when a MAC, the padding
 * or (version 0x200) the digest of the attributes is wrong. */
CK_MUST_USE ck_err kc_item_secret(struct kc *kc,
    const struct kc_record *item, struct ck_secret *ret,
    struct ck_fail *fail);

/* Is its data encrypted?  The format also allows data in the clear, which
 * anybody who can write the file can put there; needs no password. */
bool kc_item_is_encrypted(const struct kc_record *item);

/*
 * HMAC-SHA-256 of what under the file's signing key, which only the unlock
 * password opens: ties bytes to this keychain that its format does not
 * authenticate.  A changed password keeps it, a new file does not.
 * CK_LOCKED.
 */
#define KC_BIND_BYTES 32
CK_MUST_USE ck_err kc_bind(struct kc *kc, struct ck_span what,
    uint8_t ret[KC_BIND_BYTES], struct ck_fail *fail);

/* The raw key of a record in one of the key relations.  CK_LOCKED,
 * CK_DAMAGED. */
CK_MUST_USE ck_err kc_key_raw(struct kc *kc, const struct kc_record *rec,
    struct ck_secret *ret, struct ck_fail *fail);

/* What the access list of an item or key says.  CK_DAMAGED, CK_UNSUPPORTED
 * as kc_item_key(). */
CK_MUST_USE ck_err kc_item_access(struct kc *kc,
    const struct kc_record *rec, struct kc_acl_info *ret,
    struct ck_fail *fail);

/*
 * Everything that can be verified: the structure, and when unlocked every
 * MAC, every item's decryption and every 0x200 digest.  CK_DAMAGED names the
 * first fault.  *ret_keys counts the keys whose MAC was checked.
 */
CK_MUST_USE ck_err kc_verify(struct kc *kc, size_t *ret_keys,
    struct ck_fail *fail);

/*
 * --- Changes: only on an object of kc_open_write() or kc_create(). ---
 *
 * Reading still shows the file as it was opened, so an existing item can be
 * changed once before kc_commit(); a second change of it is CK_UNSUPPORTED.
 * When a change fails half-way, kc_commit() refuses to write (CK_INTERNAL).
 */

struct kc_new_item {
	struct ck_span service;
	struct ck_span account;
	struct ck_span label;        /* n 0: the service, else the account */
	struct ck_span comment;      /* n 0: none */
	struct ck_span kind;         /* n 0: none */
	enum kc_access access;
	const struct kc_trusted *trusted;
	size_t ntrusted;
	int64_t now;                 /* seconds since 1970 */
};

/* Add a generic password.  CK_REFUSED: service and account exist.
 * CK_LOCKED.  The file changes with kc_commit(). */
CK_MUST_USE ck_err kc_add(struct kc *kc, const struct kc_new_item *item,
    const struct ck_secret *secret, struct ck_fail *fail);

/*
 * Give an item a new secret: new label bytes, item key and IVs; the access
 * list is carried over byte for byte, creation date and slots stay.
 * CK_LOCKED; CK_DAMAGED when the old key or the digest of the attributes is
 * not in order: nothing of ours goes on top of that.
 */
CK_MUST_USE ck_err kc_set_secret(struct kc *kc, const struct kc_record *item,
    const struct ck_secret *secret, int64_t now, struct ck_fail *fail);

/* Change one BLOB attribute (label, comment, kind, alias, ...) of an item;
 * a 0x200 digest is kept valid, which needs the keys (CK_LOCKED) and a digest
 * that was valid before (CK_DAMAGED).  CK_REFUSED: another item has the
 * service and account this one would get. */
CK_MUST_USE ck_err kc_set_attribute(struct kc *kc,
    const struct kc_record *item, uint32_t attr, struct ck_span value,
    int64_t now, struct ck_fail *fail);

/*
 * --- From one file into a new one (keychain_carry.c): both unlocked. ---
 */

/*
 * Can every record of the file be carried?  CK_UNSUPPORTED names the table
 * that holds something else than generic passwords and their keys, or the
 * item that is of no known kind.  Verifies everything first (CK_DAMAGED).
 */
CK_MUST_USE ck_err kc_can_carry(struct kc *kc, struct ck_fail *fail);

/* A generic password of from into to (of kc_create()): every attribute, both
 * dates and the access list as they are; new label bytes, key and IVs.  The
 * two files must be of one version. */
CK_MUST_USE ck_err kc_carry(struct kc *from, const struct kc_record *item,
    struct kc *to, struct ck_fail *fail);

/* Every item of a is in b with the same attributes, access list and secret,
 * and there are no others.  CK_DAMAGED names b. */
CK_MUST_USE ck_err kc_same_items(struct kc *a, struct kc *b,
    struct ck_fail *fail);

/* Remove an item and its key; needs no password, as on macOS.  An item
 * without a key goes too. */
CK_MUST_USE ck_err kc_delete(struct kc *kc, const struct kc_record *item,
    struct ck_fail *fail);

/* New unlock password: new salt, IV and master key; file keys and items
 * stay.  The file must be unlocked. */
CK_MUST_USE ck_err kc_set_password(struct kc *kc,
    const struct ck_secret *password, struct ck_fail *fail);

/* Auto-lock settings; the file must be unlocked. */
CK_MUST_USE ck_err kc_set_settings(struct kc *kc, uint32_t idle_timeout,
    bool lock_on_sleep, struct ck_fail *fail);

/*
 * Write the pending changes: commit counter + 1, temporary file beside it,
 * fsync, rename.  CK_CHANGED when the file is no longer the one that was
 * read.  After a failure the old file stands.  After CK_OK only kc_close()
 * is useful: open again to read back.
 */
CK_MUST_USE ck_err kc_commit(struct kc *kc, struct ck_fail *fail);

struct kc_new_file {
	uint32_t version;            /* KC_BLOB_V100 or KC_BLOB_V200 */
	uint32_t idle_timeout;       /* seconds */
	bool lock_on_sleep;
	mode_t mode;                 /* of the file, whatever the umask */
};

/*
 * A new keychain that does not exist until kc_commit(), which refuses
 * (CK_REFUSED) when something has that name by then.  Unlocked, and items
 * can be added before the commit.  Paths that macOS would treat as a login
 * keychain are CK_REFUSED.
 */
CK_MUST_USE ck_err kc_create(const char *path, const struct kc_new_file *how,
    const struct ck_secret *password, unsigned int wait_ms, struct kc **ret,
    struct ck_fail *fail);

/* ".fl" and 8 hex digits: the lock file's name for a keychain's base name,
 * section 10.1. */
#define KC_LOCK_NAME_SIZE 12
void kc_lock_name(const char *base, char ret[KC_LOCK_NAME_SIZE]);

/* Seconds since 1970 of a 16-byte keychain date; false when it is none, or a
 * day that its month does not have. */
bool kc_date_parse(struct ck_span date, int64_t *ret);
/* 16 bytes; times outside 1970 to 2069 are brought to the nearest end. */
void kc_date_format(int64_t seconds, uint8_t ret[16]);

#endif
