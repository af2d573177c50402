/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock around the grants, and the proof that it holds. */
#include "worker/envelope/envelope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "boundary/envelope.h"

/* Of linux/landlock.h, newer than many systems' headers.  Numbers of system
 * calls that every architecture has in common. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define JOIN_SESSION_KEYRING 1   /* KEYCTL_JOIN_SESSION_KEYRING */
#define ASK_VERSION 1U           /* LANDLOCK_CREATE_RULESET_VERSION */
#define PATH_BENEATH 1           /* LANDLOCK_RULE_PATH_BENEATH */
#define READ_FILE ((uint64_t)1 << 2)
#define READ_DIR ((uint64_t)1 << 3)
#define FILE_RIGHTS ((uint64_t)1 << 0 | (uint64_t)1 << 1 | READ_FILE |        \
	(uint64_t)1 << 14 | (uint64_t)1 << 15)
#define SCOPES ((uint64_t)3)     /* abstract sockets and signals */
/* What came with which version: moving between directories, and scopes. */
#define REFER_FROM 2
#define SCOPES_FROM 6

struct beneath {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

/* Every right on files that this version knows: not one is left out. */
static uint64_t
rights_of(long version)
{
	if (version >= 5)
		return ((uint64_t)1 << 16) - 1;   /* with ioctl of devices */
	if (version >= 3)
		return ((uint64_t)1 << 15) - 1;   /* with truncation */
	return ((uint64_t)1 << 14) - 1;           /* with moving */
}

static ck_err
failed(struct ck_fail *fail, const char *path, const char *doing)
{
	return ck_fail_set(fail, CK_NOENFORCE, path, "cannot %s: %s", doing,
	    strerror(errno));
}

/* A file takes only the rights that files have. */
static ck_err
allow(int rules, const char *path, uint64_t rights, struct ck_fail *fail)
{
	struct beneath what = { rights, -1 };
	struct stat st;
	long rc;
	int sys;

	what.fd = open(path, O_PATH | O_CLOEXEC);
	if (what.fd < 0 || fstat(what.fd, &st) != 0)
		return failed(fail, path, "open what is granted");
	if (!S_ISDIR(st.st_mode))
		what.allowed &= FILE_RIGHTS;
	rc = syscall(SYS_landlock_add_rule, rules, PATH_BENEATH, &what, 0);
	sys = errno;
	(void)close(what.fd);
	errno = sys;
	return rc == 0 ? CK_OK : failed(fail, path, "grant it");
}

static ck_err
allow_all(const struct envelope_entry *e, int rules, uint64_t rights,
    struct ck_fail *fail)
{
	char record[CK_PATH_MAX + sizeof(CK_ENVELOPE_RECORD) + 1];
	ck_err r = CK_OK;

	for (size_t i = 0; r == CK_OK && i < e->nallow; i++)
		r = allow(rules, e->allow[i], rights, fail);
	(void)snprintf(record, sizeof(record), "%s/" CK_ENVELOPE_RECORD,
	    e->control);
	if (r == CK_OK)
		r = allow(rules, record, READ_FILE, fail);
	return r == CK_OK ? allow(rules, "/", READ_DIR, fail) : r;
}

static ck_err
version_will_do(const struct envelope_entry *e, long version,
    struct ck_fail *fail)
{
	if (version < REFER_FROM)
		return ck_fail_set(fail, CK_NOENFORCE, NULL,
		    "this kernel's Landlock (%s) cannot keep the probe shut; "
		    "Linux 5.19 is the first that can",
		    version <= 0 ? "none" : "version 1");
	if (e->network && version < SCOPES_FROM)
		return ck_fail_set(fail, CK_NOENFORCE, NULL,
		    "with the network, abstract sockets of the outside could "
		    "be reached: this kernel's Landlock (version %ld) does not "
		    "keep them away, Linux 6.12 is the first that does",
		    version);
	return CK_OK;
}

/* Keys that the owner's session has in the kernel are no files: the command
 * gets a session keyring of its own.  Where there are none, there are none to
 * keep away. */
static ck_err
leave_keyring(struct ck_fail *fail)
{
	if (syscall(SYS_keyctl, JOIN_SESSION_KEYRING, NULL) >= 0 ||
	    errno == ENOSYS)
		return CK_OK;
	return failed(fail, NULL, "leave the session's keyring");
}

ck_err
en_shut(const struct envelope_entry *e, struct ck_fail *fail)
{
	struct {
		uint64_t files, network, scoped;
	} what = { 0, 0, 0 };
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    ASK_VERSION);
	size_t size = sizeof(what.files);
	int rules;
	ck_err r;

	if ((r = version_will_do(e, version, fail)) != CK_OK)
		return r;
	what.files = rights_of(version);
	if (version >= SCOPES_FROM) {
		what.scoped = SCOPES;
		size = sizeof(what);
	}
	rules = (int)syscall(SYS_landlock_create_ruleset, &what, size, 0);
	if (rules < 0)
		return failed(fail, NULL, "make a Landlock ruleset");
	r = allow_all(e, rules, what.files, fail);
	if (r == CK_OK && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		r = failed(fail, NULL, "give up new privileges");
	if (r == CK_OK && syscall(SYS_landlock_restrict_self, rules, 0) != 0)
		r = failed(fail, NULL, "restrict itself");
	if (r == CK_OK)
		r = leave_keyring(fail);
	(void)close(rules);
	return r;
}

ck_err
en_same(const struct envelope_entry *e, struct ck_fail *fail)
{
	struct stat st;

	for (size_t i = 0; i < e->nsame; i++) {
		if (lstat(e->same[i].path, &st) != 0)
			return failed(fail, e->same[i].path, "examine it");
		if ((unsigned long long)st.st_dev != e->same[i].device ||
		    (unsigned long long)st.st_ino != e->same[i].inode)
			return ck_fail_set(fail, CK_NOENFORCE, e->same[i].path,
			    "was replaced while the envelope was launched");
	}
	return CK_OK;
}

/* Which errno an open gives; 0: it worked. */
static int
tries(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
	    O_CLOEXEC);

	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

ck_err
en_prove(const struct envelope_entry *e, struct ck_fail *fail)
{
	static const char *const closed[] = {
		CK_ENVELOPE_PROBE, CK_ENVELOPE_PROFILE
	};
	char path[CK_PATH_MAX + 32];
	struct stat st;
	int sys;

	(void)snprintf(path, sizeof(path), "%s/" CK_ENVELOPE_RECORD,
	    e->control);
	if ((sys = tries(path)) != 0)
		return ck_fail_set(fail, CK_NOENFORCE, path,
		    "must be readable inside, and is not: %s", strerror(sys));
	for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", e->control,
		    closed[i]);
		if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
		    (st.st_mode & 0400) == 0)
			return ck_fail_set(fail, CK_NOENFORCE, path,
			    "is not there to be refused");
		if (tries(path) != EACCES)
			return ck_fail_set(fail, CK_NOENFORCE, path,
			    "can be read inside");
	}
	return CK_OK;
}
