/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The narrow face to keychain files that the operating system also uses: the
 * login keychain as broker, and the dedicated keychain when it is made or
 * changed.  Two adapters carry these names: login_file.c (our own engine, any
 * system) and the Security.framework one of macOS; the build chooses.
 *
 * An object is a place, not an open file: every call opens, acts and closes,
 * and each change is one commit of its own.
 */
#ifndef CK_STORE_LOGIN_H
#define CK_STORE_LOGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/path.h"
#include "base/secret.h"

struct ck_login {
	const char *path;                   /* absolute; borrowed */
	const struct ck_secret *password;   /* NULL: none at hand; borrowed */
	unsigned int wait_ms;               /* longest wait for a lock */
};

struct ck_login_status {
	char path[CK_PATH_MAX];             /* canonical */
	uint64_t device, inode;
	mode_t mode;
	uint32_t version;                   /* blob version */
	uint32_t idle_timeout;              /* seconds */
	bool lock_on_sleep;
	char signature[33];                 /* hex */
	uint32_t items;                     /* generic passwords */
};

/*
 * What can be said without a password.  CK_NOSTORE, CK_DENIED, CK_DAMAGED,
 * CK_UNSUPPORTED, CK_REFUSED (not a private file of ours with one name),
 * CK_IO.
 */
CK_MUST_USE ck_err ck_login_status(const struct ck_login *login,
    struct ck_login_status *ret, struct ck_fail *fail);

/*
 * Read one item; ret may be NULL to ask only whether it is there, which needs
 * no password.  CK_ABSENT: the whole file was read and has none.  CK_LOCKED:
 * no password, or a wrong one.
 */
CK_MUST_USE ck_err ck_login_find(const struct ck_login *login,
    const char *service, const char *account, struct ck_secret *ret,
    struct ck_fail *fail);

struct ck_login_item {
	const char *service;
	const char *account;
	const char *label;                  /* NULL: the service */
	const struct ck_secret *value;
};

/* Add an item that any application may read once the file is unlocked.
 * CK_REFUSED: it exists. */
CK_MUST_USE ck_err ck_login_add(const struct ck_login *login,
    const struct ck_login_item *item, struct ck_fail *fail);

/* Change an item's value, access list kept.  expected may be NULL; otherwise
 * CK_CHANGED when the stored value differs under the lock.  CK_ABSENT. */
CK_MUST_USE ck_err ck_login_update(const struct ck_login *login,
    const struct ck_login_item *item, const struct ck_secret *expected,
    struct ck_fail *fail);

/* The same, if still() says CK_OK under the lock, right before the write: its
 * code, with what it set, otherwise. */
typedef ck_err ck_login_still(void *arg, struct ck_fail *fail);
CK_MUST_USE ck_err ck_login_update_if(const struct ck_login *login,
    const struct ck_login_item *item, const struct ck_secret *expected,
    ck_login_still *still, void *arg, struct ck_fail *fail);

/* Remove an item whose value, read again under the lock, equals expected;
 * CK_CHANGED otherwise.  CK_ABSENT. */
CK_MUST_USE ck_err ck_login_delete(const struct ck_login *login,
    const char *service, const char *account,
    const struct ck_secret *expected, struct ck_fail *fail);

/*
 * Make a keychain file with its items in one step: it appears complete, mode
 * 0600, locked on sleep and after idle seconds.  CK_REFUSED when the path
 * exists or macOS would take it for a login keychain.
 */
CK_MUST_USE ck_err ck_login_create(const struct ck_login *login,
    uint32_t idle, const struct ck_login_item *items, size_t nitems,
    struct ck_fail *fail);

/*
 * Make at to->path, under to->password, a keychain with keys and a signature
 * of its own that holds every item of from->path as it is: attributes, dates
 * and access list.  It appears complete, like one of ck_login_create(), was
 * read back and compared item by item.  from is under its writers' lock
 * meanwhile and stays as it is.
 *
 * CK_UNSUPPORTED: from holds something that cannot be carried.  CK_REFUSED as
 * in ck_login_create().
 */
CK_MUST_USE ck_err ck_login_renew(const struct ck_login *from,
    const struct ck_login *to, uint32_t idle, struct ck_fail *fail);
/* Only whether from could be carried. */
CK_MUST_USE ck_err ck_login_can_renew(const struct ck_login *from,
    struct ck_fail *fail);

/*
 * Each keychain on the user's search list, as its preference file names it
 * ("~/" resolved against home; macOS leaves "-db" away there).  A missing
 * preference file is an empty list.  CK_UNSUPPORTED: a property list in a
 * form that cannot be read here.  A result of cb other than CK_OK ends it.
 */
typedef ck_err ck_login_list_cb(void *arg, const char *path);
CK_MUST_USE ck_err ck_login_search_list(const char *home,
    ck_login_list_cb *cb, void *arg, struct ck_fail *fail);

#endif
