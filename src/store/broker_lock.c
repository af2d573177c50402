/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's lock directory; see broker_lock.h for the protocol.  Nothing
 * is ever put into the directory, because the broker's own take-over and
 * release are an rmdir, which must succeed.
 */
#include "store/broker_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"

/* The broker's directories have the owner's write bit, whatever the umask. */
#define OUR_MODE ((mode_t)0500)

/* How one look at the lock ended, when not with CK_OK or an error. */
struct look {
	bool again;      /* somebody changed it at the same moment */
	int64_t age;     /* seconds since the last touch of its holder */
	bool ours;       /* the holder is a clankie-keys */
};

static bool
same_entry(const struct ck_broker_lock *l)
{
	struct stat st;

	return fstatat(l->dirfd, l->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_dev == l->dev && st.st_ino == l->ino;
}

/* Open what has the lock's name and note its identity. */
static ck_err
open_lock(struct ck_broker_lock *l, struct stat *st, struct look *look,
    struct ck_fail *fail)
{
	ck_err r;

	r = ck_io_open_dir(l->dirfd, l->name, l->path, CK_IO_OWNER, &l->fd, st,
	    fail);
	if (r == CK_NOSTORE)   /* released between two calls */
		look->again = true;
	if (r != CK_OK)
		return r;
	l->dev = st->st_dev;
	l->ino = st->st_ino;
	return CK_OK;
}

/*
 * Try for the lock that is there.  flock decides among clankie-keys: whoever
 * gets it on the inode that still has the name may judge the directory, and
 * nobody else will meanwhile.
 */
static ck_err
examine(struct ck_broker_lock *l, struct look *look, struct ck_fail *fail)
{
	struct stat st;
	bool locked;
	ck_err r;

	if ((r = open_lock(l, &st, look, fail)) != CK_OK)
		return r;
	look->age = ck_clock_wall() - (int64_t)st.st_mtime;
	look->ours = (st.st_mode & 0777) == OUR_MODE;
	locked = flock(l->fd, LOCK_EX | LOCK_NB) == 0;
	if (!locked && errno == EWOULDBLOCK)
		return CK_BUSY;
	if (!same_entry(l)) {
		look->again = true;
		return CK_BUSY;
	}
	/* Its clankie-keys is dead: the lock is ours as it stands. */
	if (look->ours && locked)
		return CK_OK;
	/* A time that is to come was given by a clock that has been set back
	 * since, or by nobody's clock: whoever is alive touches it again. */
	if (look->age <= CK_BROKER_LOCK_STALE &&
	    look->age >= -CK_BROKER_LOCK_STALE)
		return CK_BUSY;
	if (unlinkat(l->dirfd, l->name, AT_REMOVEDIR) != 0) {
		if (errno == ENOTEMPTY || errno == EEXIST)
			return ck_fail_set(fail, CK_REFUSED, l->path,
			    "is a stale lock, but not an empty directory");
		if (errno != ENOENT)
			return ck_fail_sys(fail, errno, l->path,
			    "remove the stale lock");
	}
	look->again = true;
	return CK_BUSY;
}

/* One try: CK_OK, CK_BUSY with *look filled, or an error of its own. */
static ck_err
try_once(struct ck_broker_lock *l, struct look *look, struct ck_fail *fail)
{
	struct stat st;
	ck_err r;

	*look = (struct look){ .again = false };
	if (mkdirat(l->dirfd, l->name, OUR_MODE) != 0) {
		if (errno != EEXIST)
			return ck_fail_sys(fail, errno, l->path,
			    "make the lock directory");
		r = examine(l, look, fail);
	} else if ((r = open_lock(l, &st, look, fail)) == CK_OK &&
	    flock(l->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
		/* Another clankie-keys took it for a dead one's.  Where flock
		 * does not exist the directory alone is the lock. */
		look->ours = true;
		r = CK_BUSY;
	}
	if (r == CK_OK && !same_entry(l)) {
		look->again = true;
		r = CK_BUSY;
	}
	if (r != CK_OK)
		ck_io_close(&l->fd);
	return look->again ? CK_BUSY : r;
}

static ck_err
busy(const struct ck_broker_lock *l, const struct look *look,
    struct ck_fail *fail)
{
	int64_t left = CK_BROKER_LOCK_STALE - look->age;

	if (look->ours) {
		(void)ck_fail_set(fail, CK_BUSY, l->path,
		    "another clankie-keys is changing the credentials");
		ck_fail_next(fail, "wait for it to end and try again");
		return CK_BUSY;
	}
	(void)ck_fail_set(fail, CK_BUSY, l->path,
	    "another program is changing the credentials (its lock was "
	    "touched %lld s ago)", (long long)(look->age > 0 ? look->age : 0));
	ck_fail_next(fail, "try again; if that program is gone, the lock ends "
	    "by itself in %lld s", (long long)(left > 0 ? left + 1 : 1));
	return CK_BUSY;
}

/* l has dirfd, name and path.  On failure dirfd stays the caller's. */
static ck_err
take(struct ck_broker_lock *l, unsigned int wait_ms, struct ck_fail *fail)
{
	uint64_t end = ck_clock_mono_ms() + wait_ms;
	struct timespec pause = { 0, 5000000 };
	struct look look;
	ck_err r;

	for (;;) {
		r = try_once(l, &look, fail);
		if (r != CK_BUSY)
			break;
		if (ck_clock_mono_ms() >= end)
			return busy(l, &look, fail);
		(void)nanosleep(&pause, NULL);
		if (pause.tv_nsec < 80000000)
			pause.tv_nsec *= 2;
	}
	if (r != CK_OK)
		return r;
	if ((r = ck_broker_lock_touch(l, fail)) != CK_OK) {
		/* Ours by flock, so nobody else's is removed. */
		if (r != CK_CHANGED)
			(void)unlinkat(l->dirfd, l->name, AT_REMOVEDIR);
		ck_io_close(&l->fd);
	}
	return r;
}

static ck_err
take_at(int dirfd, const char *name, const char *dir, unsigned int wait_ms,
    struct ck_broker_lock *ret, struct ck_fail *fail)
{
	struct ck_broker_lock l = CK_BROKER_LOCK_INIT;
	int n;
	ck_err r;

	n = snprintf(l.name, sizeof(l.name), "%s.lock", name);
	if (n < 0 || (size_t)n >= sizeof(l.name))
		return ck_fail_set(fail, CK_REFUSED, dir,
		    "a name in it is too long to be locked");
	if ((r = ck_path_join(dir, l.name, l.path, fail)) != CK_OK)
		return r;
	l.dirfd = dirfd;
	if ((r = take(&l, wait_ms, fail)) != CK_OK)
		return r;
	*ret = l;
	return CK_OK;
}

ck_err
ck_broker_lock_file(const char *path, unsigned int wait_ms,
    struct ck_broker_lock *ret, struct ck_fail *fail)
{
	char dir[CK_PATH_MAX];
	int dirfd = -1;
	ck_err r;

	ck_path_parent(path, dir);
	r = ck_io_open_dir(AT_FDCWD, dir, dir, CK_IO_OWNER | CK_IO_NOWRITE,
	    &dirfd, NULL, fail);
	if (r != CK_OK)
		return r;
	r = take_at(dirfd, ck_path_base(path), dir, wait_ms, ret, fail);
	if (r != CK_OK)
		ck_io_close(&dirfd);
	return r;
}

static void
service_digest(const char *service, char ret[2 * CK_SHA256_BYTES + 1])
{
	uint8_t md[CK_SHA256_BYTES];

	ck_hash(CK_SHA256, CK_SPAN_TEXT(service), md);
	ck_hex_encode(md, sizeof(md), ret);
}

ck_err
ck_broker_lock_keychain_path(const char *home, const char *service,
    char ret[CK_PATH_MAX], struct ck_fail *fail)
{
	char name[2 * CK_SHA256_BYTES + 1];

	service_digest(service, name);
	return ck_path_format(ret, fail,
	    "%s/.config/clankie/credential-locks/%s.lock", home, name);
}

ck_err
ck_broker_lock_keychain(const char *home, const char *service,
    unsigned int wait_ms, struct ck_broker_lock *ret, struct ck_fail *fail)
{
	char parent[CK_PATH_MAX], dir[CK_PATH_MAX];
	char name[2 * CK_SHA256_BYTES + 1];
	int parentfd = -1, dirfd = -1;
	ck_err r;

	service_digest(service, name);
	if ((r = ck_path_join(home, ".config/clankie", parent, fail)) != CK_OK)
		return r;
	if ((r = ck_path_join(parent, "credential-locks", dir, fail)) !=
	    CK_OK)
		return r;
	r = ck_io_open_dir(AT_FDCWD, parent, parent,
	    CK_IO_OWNER | CK_IO_NOWRITE, &parentfd, NULL, fail);
	if (r == CK_NOSTORE)
		return CK_OK;
	if (r != CK_OK)
		return r;
	r = ck_io_make_dir(parentfd, "credential-locks", dir, 0700, fail);
	if (r == CK_OK)
		r = ck_io_open_dir(parentfd, "credential-locks", dir,
		    CK_IO_OWNER | CK_IO_NOWRITE, &dirfd, NULL, fail);
	ck_io_close(&parentfd);
	if (r != CK_OK)
		return r;
	if ((r = take_at(dirfd, name, dir, wait_ms, ret, fail)) != CK_OK)
		ck_io_close(&dirfd);
	return r;
}

bool
ck_broker_lock_held(const struct ck_broker_lock *lock)
{
	return lock->dirfd >= 0;
}

ck_err
ck_broker_lock_touch(struct ck_broker_lock *lock, struct ck_fail *fail)
{
	if (!ck_broker_lock_held(lock))
		return CK_OK;
	if (!same_entry(lock)) {
		(void)ck_fail_set(fail, CK_CHANGED, lock->path,
		    "another program took the lock over");
		ck_fail_next(fail, "try again");
		return CK_CHANGED;
	}
	if (futimens(lock->fd, NULL) != 0)
		return ck_fail_sys(fail, errno, lock->path,
		    "touch the lock directory");
	return CK_OK;
}

void
ck_broker_lock_release(struct ck_broker_lock *lock)
{
	if (!ck_broker_lock_held(lock))
		return;
	/* Under flock no other clankie-keys removes it between the two. */
	if (same_entry(lock))
		(void)unlinkat(lock->dirfd, lock->name, AT_REMOVEDIR);
	ck_io_close(&lock->fd);
	ck_io_close(&lock->dirfd);
}
