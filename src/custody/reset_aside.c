/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping aside what a reset gives up, and putting it back; see reset_int.h.
 * Nothing here deletes a keychain or the only copy of a password. */
#include "custody/reset_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/platform.h"
#include "custody/broker.h"
#include "custody/seal.h"
#include "store/login.h"

#define ACCOUNT_SIZE 128

static bool
is_keychain(const struct ck_place *p)
{
	return p->broker_kind == CK_KIND_LOGIN_KEYCHAIN;
}

/* Names under which this run keeps things. */
static void
lost_account(const struct ck_reset_run *run, const char *account,
    char ret[ACCOUNT_SIZE])
{
	(void)snprintf(ret, ACCOUNT_SIZE, "%s-" CK_LOST_PREFIX "%s", account,
	    run->nonce);
}

static ck_err
lost_dir(const char *nonce, char ret[CK_PATH_MAX], struct ck_fail *fail)
{
	return ck_path_format(ret, fail, CK_LOST_PREFIX "%s", nonce);
}

/* unlock.json becomes unlock.lost-NONCE.json. */
static ck_err
lost_file(const struct ck_reset_run *run, char ret[CK_PATH_MAX],
    struct ck_fail *fail)
{
	const char *base = ck_path_base(run->p->unlock);
	const char *dot = strrchr(base, '.');
	int n = dot == NULL ? (int)strlen(base) : (int)(dot - base);

	return ck_path_format(ret, fail, "%.*s." CK_LOST_PREFIX "%s%s", n,
	    base, run->nonce, dot == NULL ? "" : dot);
}

/* Rename without ever replacing; that from is not there is fine.  Synced in
 * any case, for a killed run may have come as far as the rename. */
static ck_err
keep(int dirfd, const char *dir, const char *from, const char *to,
    struct ck_fail *fail)
{
	int sys = ck_platform_rename_new(dirfd, from, dirfd, to);

	if (sys != 0 && sys != ENOENT) {
		(void)ck_fail_sys(fail, sys, dir, "keep what is there aside");
		return sys == EEXIST || sys == ENOTEMPTY ?
		    ck_fail_set(fail, CK_REFUSED, dir,
		    "holds both %.200s and %.200s", from, to) :
		    ck_err_from_errno(sys);
	}
	return ck_io_sync(dirfd, dir, fail);
}

static ck_err
keep_in(const char *dir, const char *from, const char *to,
    struct ck_fail *fail)
{
	int fd = -1;
	ck_err r;

	r = ck_io_open_dir(AT_FDCWD, dir, dir, CK_IO_OWNER | CK_IO_PRIVATE,
	    &fd, NULL, fail);
	if (r == CK_NOSTORE)
		return CK_OK;
	if (r == CK_OK)
		r = keep(fd, dir, from, to, fail);
	ck_io_close(&fd);
	return r;
}

/* An item gets another account: first the second one, then without the
 * first.  A missing item is fine. */
static ck_err
keep_item(const struct ck_place *p, const char *from, const char *to,
    struct ck_fail *fail)
{
	const struct ck_login login = { p->broker, p->login_password,
	    CK_WAIT_MS };
	struct ck_secret value = CK_SECRET_INIT, there = CK_SECRET_INIT;
	const struct ck_login_item item = { CK_OWN_SERVICE, to,
	    "clankie-keys unlock password (kept by reset)", &value };
	ck_err r;

	r = ck_login_find(&login, CK_OWN_SERVICE, from, &value, fail);
	if (r != CK_OK)
		return r == CK_ABSENT ? CK_OK : r;
	r = ck_login_find(&login, CK_OWN_SERVICE, to, &there, fail);
	if (r == CK_ABSENT)
		r = ck_login_add(&login, &item, fail);
	else if (r == CK_OK && !ck_secret_equal(&there, &value))
		r = ck_fail_set(fail, CK_REFUSED, p->broker,
		    "holds another item %s / %s", CK_OWN_SERVICE, to);
	if (r == CK_OK)
		r = ck_login_delete(&login, CK_OWN_SERVICE, from, &value,
		    fail);
	ck_secret_wipe(&there);
	ck_secret_wipe(&value);
	return r;
}

/* Aside, or back again. */
static ck_err
keep_password(struct ck_reset_run *run, bool back, struct ck_fail *fail)
{
	static const char *const accounts[] = { CK_UNLOCK_ACCOUNT,
	    CK_PENDING_ACCOUNT };
	char dir[CK_PATH_MAX], name[CK_PATH_MAX], account[ACCOUNT_SIZE];
	const char *base = ck_path_base(run->p->unlock);
	ck_err r = CK_OK;

	if (!is_keychain(run->p)) {
		if ((r = lost_file(run, name, fail)) != CK_OK)
			return r;
		ck_path_parent(run->p->unlock, dir);
		return keep_in(dir, back ? name : base, back ? base : name,
		    fail);
	}
	for (size_t i = 0; r == CK_OK && i < 2; i++) {
		lost_account(run, accounts[i], account);
		r = keep_item(run->p, back ? account : accounts[i],
		    back ? accounts[i] : account, fail);
	}
	return r;
}

/* What an operation that is given up left half made may be the last copy of
 * something: it is kept as well. */
static ck_err
keep_scratch(struct ck_reset_run *run, struct ck_fail *fail)
{
	const size_t n = sizeof(CK_SCRATCH_PREFIX) - 1;
	char to[CK_PATH_MAX];
	struct dirent *entry;
	DIR *dir;
	ck_err r = CK_OK;

	if ((dir = opendir(run->p->dir)) == NULL)
		return ck_fail_sys(fail, errno, run->p->dir, "list it");
	while (r == CK_OK && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, CK_SCRATCH_PREFIX, n) != 0)
			continue;
		if ((r = lost_dir(entry->d_name + n, to, fail)) == CK_OK)
			r = keep(run->v.dirfd, run->p->dir, entry->d_name, to,
			    fail);
	}
	(void)closedir(dir);
	return r;
}

ck_err
ck_reset_aside(struct ck_reset_run *run, struct ck_fail *fail)
{
	char name[CK_PATH_MAX];
	ck_err r;

	if ((r = lost_dir(run->nonce, name, fail)) != CK_OK ||
	    (r = keep(run->v.dirfd, run->p->dir, CK_OPERATOR_DIR, name,
	    fail)) != CK_OK ||
	    (r = keep_scratch(run, fail)) != CK_OK ||
	    (r = keep_password(run, false, fail)) != CK_OK)
		return r;
	return ck_records_journal_step(run->v.rec, run->nonce,
	    CK_RESET_ASIDE, fail);
}

/* The journal row goes, and with it all that a reset changed so far. */
static ck_err
close_unsealed(struct ck_reset_run *run, const struct ck_secret *key,
    struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	ck_err r;

	if ((r = ck_records_begin(rec, fail)) != CK_OK)
		return r;
	r = ck_records_journal_close(rec, run->nonce, fail);
	if (r == CK_OK && key != NULL)
		r = ck_seal_check(run->p, rec, key, NULL, fail);
	if (r != CK_OK) {
		ck_records_rollback(rec);
		return r;
	}
	if ((r = ck_records_commit(rec, fail)) == CK_OK)
		run->v.journal_open = false;
	return r;
}

ck_err
ck_reset_withdraw(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT;
	ck_err r;

	if ((r = ck_dedicated_look(run->p, NULL, NULL, &key, fail)) != CK_OK)
		return r;
	r = close_unsealed(run, &key, fail);
	ck_secret_wipe(&key);
	return r;
}

void
ck_reset_undo(struct ck_reset_run *run)
{
	struct ck_place *p = run->p;
	char name[CK_PATH_MAX];
	ck_err r;

	if (ck_dedicated_discard(p, run->v.dirfd, CK_SCRATCH_PREFIX, run->nonce,
	    NULL) != CK_OK)
		return;
	/* The new password opens nothing; what cannot be undone is left to the
	 * next run, and the open journal says so. */
	if (run->password.p != NULL) {
		r = ck_unlock_place_remove(p, &run->password, NULL);
		if (r != CK_OK && r != CK_NOSTORE && r != CK_ABSENT)
			return;
	}
	if (keep_password(run, true, NULL) != CK_OK ||
	    lost_dir(run->nonce, name, NULL) != CK_OK ||
	    keep(run->v.dirfd, p->dir, name, CK_OPERATOR_DIR, NULL) != CK_OK)
		return;
	(void)!close_unsealed(run, NULL, NULL);
}

void
ck_reset_kept(const struct ck_reset_run *run, struct ck_reset_report *ret)
{
	const struct ck_place *p = run->p;
	const struct ck_login login = { p->broker, NULL, CK_WAIT_MS };
	char name[CK_PATH_MAX], dir[CK_PATH_MAX], account[ACCOUNT_SIZE];
	struct stat st;

	if (lost_dir(run->nonce, name, NULL) != CK_OK ||
	    ck_path_join(p->dir, name, ret->kept, NULL) != CK_OK ||
	    lstat(ret->kept, &st) != 0)
		ret->kept[0] = '\0';
	if (is_keychain(p)) {
		lost_account(run, CK_UNLOCK_ACCOUNT, account);
		if (ck_login_find(&login, CK_OWN_SERVICE, account, NULL,
		    NULL) == CK_OK)
			memcpy(ret->kept_password, account, sizeof(account));
		return;
	}
	ck_path_parent(p->unlock, dir);
	if (lost_file(run, name, NULL) != CK_OK ||
	    ck_path_join(dir, name, ret->kept_password, NULL) != CK_OK ||
	    lstat(ret->kept_password, &st) != 0)
		ret->kept_password[0] = '\0';
}
