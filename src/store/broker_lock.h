/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock that Clankie's credential broker takes across processes: an empty
 * directory, made by mkdir, gone on release, stale after 60 s without a
 * touch.  Ours differ from the broker's in two things it does not look at:
 * the directory has mode 0500 from its first moment, and its holder keeps
 * flock(LOCK_EX) on it.  So a lock whose clankie-keys died is known to be
 * free at once, without process ids, and a holder that is merely slow is
 * never robbed by another clankie-keys.
 */
#ifndef CK_STORE_BROKER_LOCK_H
#define CK_STORE_BROKER_LOCK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/path.h"

/* Seconds without a touch after which a foreign lock is taken over; so is one
 * whose touch lies more than as many in the future. */
#define CK_BROKER_LOCK_STALE 60
/* Milliseconds that the operations of this module wait for the lock. */
#define CK_BROKER_LOCK_WAIT_MS 5000

struct ck_broker_lock {
	int dirfd;                  /* the directory it lies in; -1: not held */
	int fd;                     /* the lock directory itself */
	dev_t dev;
	ino_t ino;
	char name[NAME_MAX + 1];    /* in dirfd */
	char path[CK_PATH_MAX];     /* for messages */
};

#define CK_BROKER_LOCK_INIT { .dirfd = -1, .fd = -1 }

/*
 * Take PATH.lock for the file broker at path, waiting at most wait_ms.  The
 * directory of path exists.  CK_BUSY names the lock directory, says how old
 * it is and when it becomes free; CK_NOSTORE when the directory is missing;
 * CK_REFUSED when something that is no directory of ours has its name.
 */
CK_MUST_USE ck_err ck_broker_lock_file(const char *path, unsigned int wait_ms,
    struct ck_broker_lock *ret, struct ck_fail *fail);

/*
 * Take the lock of the keychain broker for service:
 * HOME/.config/clankie/credential-locks/<sha256 of service>.lock, whatever
 * XDG_CONFIG_HOME says.  credential-locks is made (0700) when it is missing.
 * When HOME/.config/clankie is missing no broker that locks has ever run
 * here, nothing is made and CK_OK leaves *ret not held.
 */
CK_MUST_USE ck_err ck_broker_lock_keychain(const char *home,
    const char *service, unsigned int wait_ms, struct ck_broker_lock *ret,
    struct ck_fail *fail);

/* The lock directory that ck_broker_lock_keychain() takes. */
CK_MUST_USE ck_err ck_broker_lock_keychain_path(const char *home,
    const char *service, char ret[CK_PATH_MAX], struct ck_fail *fail);

bool ck_broker_lock_held(const struct ck_broker_lock *lock);

/*
 * Tell the others that the work goes on; call it at least every 20 s and
 * before each write.  CK_CHANGED when somebody took the lock over: nothing
 * may be written any more.  A lock that is not held is CK_OK.
 */
CK_MUST_USE ck_err ck_broker_lock_touch(struct ck_broker_lock *lock,
    struct ck_fail *fail);

/* Not held is fine.  Never removes a lock that is no longer ours. */
void ck_broker_lock_release(struct ck_broker_lock *lock);

#endif
