/* SPDX-License-Identifier: Apache-2.0 */
/* Where things lie and who could touch them; see check_int.h. */
#include "custody/check_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/platform.h"
#include "custody/locator.h"
#include "custody/preflight.h"
#include "keychain/keychain.h"

/* What must hold of a place; one that is missing is judged elsewhere. */
enum {
	A_DIR = 1,
	ONE_NAME = 2,
	NO_WRITE = 4,         /* by group and others */
	PRIVATE = 8           /* no bit for them at all */
};

static void
bad_mode(struct ck_check *c, const char *path, const struct stat *st,
    unsigned int rules)
{
	char next[512];

	(void)snprintf(next, sizeof(next), "chmod %s '%.400s'",
	    (rules & PRIVATE) != 0 ? "go=" : "go-w", path);
	ck_finding_add(c->out, CK_F_UNSAFE_MODE, path, next,
	    "has mode %04o and must %s group and others",
	    (unsigned int)(st->st_mode & 07777), (rules & PRIVATE) != 0 ?
	    "be closed to" : "not be writable by");
}

static void
judge_owner(struct ck_check *c, const char *path, const struct stat *st,
    unsigned int rules)
{
	mode_t forbidden = (rules & PRIVATE) != 0 ? 077 :
	    (rules & NO_WRITE) != 0 ? 022 : 0;

	if (st->st_uid != geteuid())
		ck_finding_add(c->out, CK_F_UNSAFE_OWNER, path, NULL,
		    "belongs to user %ld, not to you", (long)st->st_uid);
	if ((st->st_mode & forbidden) != 0)
		bad_mode(c, path, st, rules);
	if ((rules & ONE_NAME) != 0 && st->st_nlink > 1)
		ck_finding_add(c->out, CK_F_EXTRA_LINK, path, NULL,
		    "has %lu hard links, so another name leads to it",
		    (unsigned long)st->st_nlink);
}

/* Judged by name: nothing is opened, so nothing can keep us waiting. */
static void
judge(struct ck_check *c, const char *path, unsigned int rules)
{
	bool dir = (rules & A_DIR) != 0;
	struct stat st;

	if (lstat(path, &st) != 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			ck_finding_add(c->out, CK_F_NOT_JUDGED, path, NULL,
			    "cannot be examined: %s", strerror(errno));
	} else if (S_ISLNK(st.st_mode)) {
		ck_finding_add(c->out, CK_F_SYMLINK, path, NULL,
		    "is a symbolic link");
	} else if (dir ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode)) {
		ck_finding_add(c->out, CK_F_WRONG_TYPE, path, NULL,
		    "is not a %s", dir ? "directory" : "regular file");
	} else {
		judge_owner(c, path, &st, rules);
	}
}

static void
judge_custody(struct ck_check *c)
{
	const struct ck_place *p = c->p;
	char name[KC_LOCK_NAME_SIZE], lock[CK_PATH_MAX];

	judge(c, p->dir, A_DIR | PRIVATE);
	judge(c, p->operator_dir, A_DIR | PRIVATE);
	judge(c, p->keychain, PRIVATE | ONE_NAME);
	/* Whatever is not a file there keeps every writer out. */
	kc_lock_name(CK_KEYCHAIN_FILE, name);
	if (ck_path_join(p->operator_dir, name, lock, NULL) == CK_OK)
		judge(c, lock, NO_WRITE | ONE_NAME);
	judge(c, p->records, PRIVATE | ONE_NAME);
	if (ck_path_join(p->dir, CK_REC_FILE "-journal", lock, NULL) == CK_OK)
		judge(c, lock, PRIVATE | ONE_NAME);
	judge(c, p->rules, NO_WRITE | ONE_NAME);
	judge(c, p->mounts, NO_WRITE | ONE_NAME);
}

/* The custody directory's file system, or that of the deepest directory on
 * the way to it. */
static void
filesystem(struct ck_check *c)
{
	char dir[CK_PATH_MAX];
	struct ck_fail fail = CK_FAIL_INIT;
	struct ck_fs_info fs;
	struct stat st;
	int fd = -1;
	ck_err r;

	memcpy(dir, c->p->dir, sizeof(dir));
	while (strcmp(dir, "/") != 0 && (stat(dir, &st) != 0 ||
	    !S_ISDIR(st.st_mode)))
		ck_path_parent(dir, dir);
	r = ck_io_open_dir(AT_FDCWD, dir, dir, 0, &fd, NULL, &fail);
	if (r == CK_OK)
		r = ck_platform_fs(fd, dir, &fs, &fail);
	ck_io_close(&fd);
	if (r != CK_OK) {
		if (!ck_findings_error_at(c->out, dir))
			ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
		return;
	}
	if (fs.kind == CK_FS_REMOTE)
		ck_finding_add(c->out, CK_F_REMOTE_FILESYSTEM, dir, NULL,
		    "is on a %s file system, whose locks and renames other "
		    "machines answer for", fs.name);
}

/* Directories whose content programs carry to other machines. */
static void
synced(struct ck_check *c)
{
	static const char *const names[] = {
		"/Library/Mobile Documents", "/Library/CloudStorage",
		"/Dropbox", "/OneDrive", "/Google Drive", "/GoogleDrive",
		"/iCloud Drive", "/Nextcloud", "/ownCloud", "/Syncthing",
		"/pCloud", "/MEGAsync"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (ck_path_contains_nocase(c->p->dir, names[i])) {
			ck_finding_add(c->out, CK_F_SYNCED_FOLDER, c->p->dir,
			    NULL, "lies below %s, whose content is copied to "
			    "other machines and changed from there",
			    names[i] + 1);
			return;
		}
}

static void
search_list(struct ck_check *c)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r = ck_preflight_search_list(c->p, &fail);

	if (r == CK_REFUSED && strcmp(fail.place, c->p->keychain) == 0)
		ck_finding_add(c->out, CK_F_ON_SEARCH_LIST, fail.place, NULL,
		    "%s", fail.why);
	else if (r != CK_OK)
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
}

static const char rec_new[] = CK_REC_NEW;
static const char rec_temp[] = CK_REC_FILE CK_IO_TEMP;
static const char rules_temp[] = CK_RULES_FILE CK_IO_TEMP;
static const char mounts_temp[] = CK_MOUNTS_FILE CK_IO_TEMP;
static const char proof_temp[] = CK_PROOF_FILE CK_IO_TEMP;
static const char keychain_temp[] = CK_KEYCHAIN_FILE CK_IO_TEMP_APPLE;
static const char unlock_temp[] = "unlock.json" CK_IO_TEMP;
static const char locator_temp[] = CK_LOCATOR_FILE CK_IO_TEMP;

void
ck_check_leftovers(const struct ck_place *p, char unlock_dir[CK_PATH_MAX],
    struct ck_leftover ret[CK_LEFTOVERS])
{
	const struct ck_leftover all[CK_LEFTOVERS] = {
		{ p->dir, { rec_new, rec_temp, rules_temp, mounts_temp,
		    proof_temp }, 5 },
		{ p->operator_dir, { keychain_temp }, 1 },
		{ unlock_dir, { unlock_temp, locator_temp }, 2 },
	};

	ck_path_parent(p->unlock, unlock_dir);
	memcpy(ret, all, sizeof(all));
}

static void
left_in(struct ck_check *c, const struct ck_leftover *left)
{
	size_t n[CK_LEFTOVER_FORMS] = { 0 };
	struct ck_fail fail = CK_FAIL_INIT;
	int fd = -1;
	ck_err r;

	r = ck_io_open_dir(AT_FDCWD, left->dir, left->dir, CK_IO_OWNER, &fd,
	    NULL, &fail);
	if (r == CK_OK)
		r = ck_io_left(fd, left->forms, left->n, left->dir, n, &fail);
	ck_io_close(&fd);
	if (r != CK_OK && r != CK_NOSTORE &&
	    !ck_findings_error_at(c->out, left->dir))
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
	for (size_t i = 0; r == CK_OK && i < left->n; i++)
		if (n[i] > 0)
			ck_finding_add(c->out, CK_F_LEFTOVER, left->dir, NULL,
			    "has %zu file%s %s, left by a writer that was "
			    "killed or belonging to one at work", n[i],
			    n[i] == 1 ? "" : "s", left->forms[i]);
}

static void
leftovers(struct ck_check *c)
{
	struct ck_leftover left[CK_LEFTOVERS];
	char unlock_dir[CK_PATH_MAX];

	ck_check_leftovers(c->p, unlock_dir, left);
	for (size_t i = 0; i < CK_LEFTOVERS; i++)
		left_in(c, &left[i]);
}

/* The keychain that has the unlock password, as it stands beside the
 * records. */
static void
noted_broker(struct ck_check *c)
{
	char path[CK_PATH_MAX], broker[CK_PATH_MAX] = "";
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	if ((r = ck_locator_path(c->p, path, &fail)) == CK_OK) {
		judge(c, path, PRIVATE | ONE_NAME);
		r = ck_locator_get(c->p, broker, &fail);
	}
	if (r == CK_OK && strcmp(broker, c->p->broker) == 0)
		return;
	if (r != CK_OK && r != CK_NOSTORE) {
		if (!ck_findings_error_at(c->out, path))
			ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
	} else if (c->in_charge && c->file_there) {
		ck_finding_add(c->out, CK_F_BROKER_NOT_NOTED, path, NULL,
		    "does not name %.300s, which has the unlock password",
		    c->p->broker);
	}
}

/* Who may write a directory above can put another one in its place. */
static void
ancestors(struct ck_check *c, const char *dir)
{
	struct ck_fail fail = CK_FAIL_INIT;

	if (!ck_findings_has(c->out, CK_F_UNSAFE_ANCESTOR) &&
	    ck_path_chain_safe(dir, &fail) != CK_OK)
		ck_finding_fail(c->out, CK_F_UNSAFE_ANCESTOR, CK_REFUSED,
		    &fail);
}

static void
judge_broker(struct ck_check *c)
{
	const struct ck_place *p = c->p;
	char dir[CK_PATH_MAX];
	struct stat st;

	ck_path_parent(p->broker, dir);
	judge(c, dir, A_DIR | NO_WRITE);
	ancestors(c, dir);
	if (p->broker_kind == CK_KIND_LOGIN_KEYCHAIN) {
		judge(c, p->broker, NO_WRITE | ONE_NAME);
		noted_broker(c);
		return;
	}
	judge(c, p->broker, PRIVATE | ONE_NAME);
	/* As it is called, since its canonical path hides a link. */
	if (ck_path_join(p->config, "clankie-keys", dir, NULL) == CK_OK &&
	    lstat(dir, &st) == 0 && S_ISLNK(st.st_mode))
		ck_finding_add(c->out, CK_F_SYMLINK, dir, NULL,
		    "is a symbolic link");
	ck_path_parent(p->unlock, dir);
	judge(c, dir, A_DIR | PRIVATE);
	ancestors(c, dir);
	judge(c, p->unlock, PRIVATE | ONE_NAME);
}

void
ck_check_places(struct ck_check *c)
{
	struct ck_fail fail = CK_FAIL_INIT;

	if (ck_place_second(c->p, &fail) != CK_OK)
		ck_finding_add(c->out, CK_F_SECOND_CUSTODY, fail.place, NULL,
		    "%s", fail.why);
	ancestors(c, c->p->dir);
	judge_custody(c);
	ck_check_strangers(c);
	filesystem(c);
	synced(c);
	search_list(c);
}

void
ck_check_broker_place(struct ck_check *c)
{
	judge_broker(c);
	/* The unlock password's directory is one of theirs. */
	leftovers(c);
}
