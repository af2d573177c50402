/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in our directories, and its going; see doctor_uninstall.h. */
#include "custody/doctor_uninstall_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "custody/check_int.h"
#include "custody/dedicated.h"
#include "custody/doctor.h"
#include "custody/doctor_rebuild_int.h"
#include "custody/locator.h"
#include "store/settings.h"

/* Largest file of another program that is searched for our name. */
#define SEARCHED_MAX ((size_t)1 << 20)

/* The first bytes of every keychain file. */
#define KEYCHAIN_MAGIC "kych"

enum kind {
	OURS,             /* goes */
	HIDDEN,           /* judged elsewhere */
	A_KEYCHAIN,       /* may be the last copy of a bearer */
	A_PASSWORD,       /* kept by a reset */
	FOREIGN
};

static bool
is_keychain(int dirfd, const char *name)
{
	uint8_t magic[sizeof(KEYCHAIN_MAGIC) - 1];
	int fd = -1;
	bool is;

	if (ck_io_open_file(dirfd, name, name, 0, &fd, NULL, NULL) != CK_OK)
		return false;
	is = ck_io_pread(fd, magic, sizeof(magic), 0, name, NULL) == CK_OK &&
	    memcmp(magic, KEYCHAIN_MAGIC, sizeof(magic)) == 0;
	ck_io_close(&fd);
	return is;
}

static bool
starts(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool
is_dir(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode);
}

static bool
is_leftover(const struct ck_out *o, const char *dir, const char *name)
{
	struct ck_leftover left[CK_LEFTOVERS];
	char unlock_dir[CK_PATH_MAX];

	ck_check_leftovers(o->p, unlock_dir, left);
	for (size_t i = 0; i < CK_LEFTOVERS; i++)
		for (size_t k = 0; k < left[i].n; k++)
			if (strcmp(left[i].dir, dir) == 0 &&
			    ck_io_is_left(name, left[i].forms[k]))
				return true;
	return false;
}

static enum kind
in_custody(const struct ck_out *o, const char *name)
{
	static const char journal[] = CK_REC_FILE "-journal";
	static const char *const ours[] = {
		CK_REC_FILE, journal, CK_RULES_FILE,
		CK_MOUNTS_FILE, CK_PROOF_FILE
	};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (strcmp(name, ours[i]) == 0)
			return OURS;
	if (strcmp(name, CK_OPERATOR_DIR) == 0)
		return HIDDEN;
	if ((starts(name, CK_SCRATCH_PREFIX) ||
	    starts(name, CK_RESTORED_PREFIX) ||
	    starts(name, CK_LOST_PREFIX)) && is_dir(o->dirfd, name))
		return A_KEYCHAIN;
	if (starts(name, CK_REBUILD_PREFIX) && is_dir(o->dirfd, name))
		return OURS;
	if (is_leftover(o, o->p->dir, name))
		return OURS;
	return is_keychain(o->dirfd, name) ? A_KEYCHAIN : FOREIGN;
}

/* What may be wanted yet is put where its owner keeps such things. */
static void
away(struct ck_out *o, const char *dir, const char *name)
{
	struct ck_buf b = CK_BUF_INIT;
	char path[CK_PATH_MAX];

	if (ck_path_join(dir, name, path, NULL) != CK_OK)
		return;
	ck_buf_text(&b, "mv ");
	ck_doctor_quote(&b, path);
	ck_buf_text(&b, " BACKUP-DIRECTORY");
	if (ck_buf_ok(&b) == CK_OK && b.n < CK_LINE_SIZE)
		ck_line(&o->ret->commands, "%.*s", (int)b.n,
		    (const char *)b.p);
	ck_buf_free(&b);
}

static void
list_one(struct ck_out *o, const char *dir, const char *name, enum kind kind)
{
	switch (kind) {
	case OURS:
		ck_line(&o->ret->removes, "%s/%s", dir, name);
		break;
	case A_KEYCHAIN:
		ck_line(&o->ret->bearers, "%s/%s: a keychain that was left "
		    "or put aside, which may hold a copy of a credential", dir,
		    name);
		ck_line(&o->ret->in_the_way, "%s/%s may hold a copy of a "
		    "credential: look at it with clankie-keys keychain list, "
		    "then move or remove it", dir, name);
		away(o, dir, name);
		break;
	case A_PASSWORD:
		ck_line(&o->ret->in_the_way, "%s/%s holds an unlock password "
		    "that a reset kept: remove it when it is of no use", dir,
		    name);
		away(o, dir, name);
		break;
	case FOREIGN:
		ck_line(&o->ret->stays, "%s/%s%s", dir, name,
		    starts(name, CK_REBUILD_KEPT) ?
		    ": records from before a rebuild" : "");
		break;
	case HIDDEN:
		break;
	}
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Removed directories are listed as they go. */
static void
list_dir(struct ck_out *o, const char *dir)
{
	if (!o->confirm)
		ck_line(&o->ret->removes, "%s, if it is empty then", dir);
}

/* Every name below fd, in order, so that two looks say the same. */
static ck_err
names(int fd, const char *shown, char ***ret, size_t *ret_n,
    struct ck_fail *fail)
{
	const struct dirent *entry;
	char **all = NULL, **more;
	size_t n = 0;
	DIR *dir;
	int own, sys;

	own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (own < 0 || (dir = fdopendir(own)) == NULL) {
		sys = errno;
		ck_io_close(&own);
		return ck_fail_sys(fail, sys, shown, "list it");
	}
	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if ((more = realloc(all, (n + 1) * sizeof(*all))) == NULL)
			break;
		all = more;
		if ((all[n] = strdup(entry->d_name)) == NULL)
			break;
		n++;
	}
	(void)closedir(dir);
	if (n > 0)
		qsort(all, n, sizeof(*all), by_name);
	*ret = all;
	*ret_n = n;
	return entry == NULL ? CK_OK : ck_fail_set(fail, CK_NOMEM, NULL,
	    "no memory");
}

static void
free_names(char **all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(all[i]);
	free(all);
}

static ck_err
list_custody(struct ck_out *o, struct ck_fail *fail)
{
	char **all = NULL;
	size_t n = 0;
	ck_err r;

	if (o->dirfd < 0)
		return CK_OK;
	r = names(o->dirfd, o->p->dir, &all, &n, fail);
	for (size_t i = 0; i < n; i++)
		list_one(o, o->p->dir, all[i], in_custody(o, all[i]));
	list_dir(o, o->p->dir);
	free_names(all, n);
	return r;
}

static enum kind
beside_unlock(const struct ck_out *o, const char *dir, const char *name)
{
	if (strcmp(name, ck_path_base(o->p->unlock)) == 0)
		return HIDDEN;
	if (strcmp(name, CK_LOCATOR_FILE) == 0 || is_leftover(o, dir, name))
		return OURS;
	return starts(name, "unlock." CK_LOST_PREFIX) ? A_PASSWORD : FOREIGN;
}

/* unlock.json's own directory, which no other program uses. */
static ck_err
list_unlock(struct ck_out *o, struct ck_fail *fail)
{
	char dir[CK_PATH_MAX], **all = NULL;
	size_t n = 0;
	int fd = -1;
	ck_err r;

	ck_path_parent(o->p->unlock, dir);
	r = ck_io_open_dir(AT_FDCWD, dir, dir, CK_IO_OWNER, &fd, NULL, fail);
	if (r == CK_NOSTORE)
		return CK_OK;
	if (r == CK_OK)
		r = names(fd, dir, &all, &n, fail);
	for (size_t i = 0; i < n; i++)
		list_one(o, dir, all[i], beside_unlock(o, dir, all[i]));
	list_dir(o, dir);
	free_names(all, n);
	ck_io_close(&fd);
	return r;
}

static bool
mentions_us(const char *path)
{
	static const char word[] = "clankie-keys";
	uint8_t *bytes = NULL;
	size_t n = 0;
	int fd = -1;
	bool found = false;

	if (ck_io_open_file(AT_FDCWD, path, path, 0, &fd, NULL,
	    NULL) != CK_OK)
		return false;
	if (ck_io_read_all(fd, SEARCHED_MAX, path, &bytes, &n,
	    NULL) == CK_OK)
		found = strstr((const char *)bytes, word) != NULL;
	free(bytes);
	ck_io_close(&fd);
	return found;
}

/* Where a hook is put by hand, since nothing here writes such files. */
static void
hooks(struct ck_out *o)
{
	static const char *const files[] = {
		".profile", ".bash_profile", ".bashrc", ".zprofile", ".zshrc",
		".config/fish/config.fish",
		"Library/LaunchAgents/bot.clankie.autostart.plist"
	};
	const struct ck_place *p = o->p;
	enum ck_worker_sandbox sandbox = CK_SANDBOX_ABSENT;
	char path[CK_PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (ck_path_join(p->home, files[i], path, NULL) == CK_OK &&
		    mentions_us(path))
			ck_line(&o->ret->by_hand, "%s names clankie-keys",
			    path);
	if (ck_path_join(p->config, "herdr/config.toml", path, NULL) == CK_OK &&
	    mentions_us(path))
		ck_line(&o->ret->by_hand, "%s names clankie-keys", path);
	if (ck_path_join(p->home, ".local/libexec/clankie-keys", path,
	    NULL) == CK_OK && lstat(path, &st) == 0)
		ck_line(&o->ret->by_hand, "%s is there (before: clankie-keys "
		    "worker install-shell --remove)", path);
	if (ck_settings_worker_sandbox(p->settings, &sandbox,
	    NULL) == CK_OK && sandbox == CK_SANDBOX_ON)
		ck_line(&o->ret->by_hand, "%s turns on fleet.workerSandbox, "
		    "which will have no rules", p->settings);
}

static ck_err
principal(void *arg, const struct ck_rec_principal *row)
{
	struct ck_out *o = arg;

	if (strcmp(row->honours, "yes") == 0)
		ck_line(&o->ret->by_hand, "%s asks the records; without them "
		    "it asks its broker again", row->id);
	return CK_OK;
}

ck_err
ck_out_files(struct ck_out *o, struct ck_fail *fail)
{
	ck_err r;

	hooks(o);
	if (o->v.rec != NULL && (r = ck_records_principal_each(o->v.rec,
	    principal, o, fail)) != CK_OK)
		return r;
	if ((r = list_custody(o, fail)) != CK_OK)
		return r;
	return list_unlock(o, fail);
}

static ck_err
sweep(struct ck_out *o, struct ck_fail *fail)
{
	struct ck_leftover left[CK_LEFTOVERS];
	char unlock_dir[CK_PATH_MAX];
	int fd = -1;
	ck_err r;

	ck_check_leftovers(o->p, unlock_dir, left);
	for (size_t i = 0; i < CK_LEFTOVERS; i++) {
		r = ck_io_open_dir(AT_FDCWD, left[i].dir, left[i].dir,
		    CK_IO_OWNER, &fd, NULL, fail);
		for (size_t k = 0; r == CK_OK && k < left[i].n; k++)
			r = ck_io_sweep(fd, left[i].forms[k], left[i].dir,
			    fail);
		ck_io_close(&fd);
		if (r != CK_OK && r != CK_NOSTORE)
			return r;
	}
	return CK_OK;
}

/* One that something else lies in stays. */
static ck_err
remove_dir(struct ck_out *o, const char *dir, struct ck_fail *fail)
{
	if (rmdir(dir) == 0) {
		ck_line(&o->ret->removes, "%s", dir);
		return CK_OK;
	}
	if (errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST)
		return CK_OK;
	return ck_fail_sys(fail, errno, dir, "remove it");
}

/* Rules before the records they are made from, the lock last: whoever waits
 * for it finds that its file is gone. */
static ck_err
remove_custody(struct ck_out *o, struct ck_fail *fail)
{
	const struct ck_place *p = o->p;
	ck_err r;

	if ((r = ck_rebuild_clean(p, o->dirfd, fail)) != CK_OK ||
	    (r = sweep(o, fail)) != CK_OK)
		return r;
	r = ck_io_remove(o->dirfd, CK_RULES_FILE, p->rules, fail);
	if (r != CK_OK && r != CK_NOSTORE)
		return r;
	r = ck_io_remove(o->dirfd, CK_MOUNTS_FILE, p->mounts, fail);
	if (r != CK_OK && r != CK_NOSTORE)
		return r;
	r = ck_io_remove(o->dirfd, CK_PROOF_FILE, p->dir, fail);
	if (r != CK_OK && r != CK_NOSTORE)
		return r;
	if ((r = ck_records_remove(o->dirfd, p->dir, fail)) != CK_OK)
		return r;
	return remove_dir(o, p->dir, fail);
}

ck_err
ck_out_remove(struct ck_out *o, struct ck_fail *fail)
{
	char dir[CK_PATH_MAX];
	ck_err r;

	r = o->dirfd >= 0 ? remove_custody(o, fail) : sweep(o, fail);
	if (r != CK_OK || (r = ck_locator_remove(o->p, fail)) != CK_OK)
		return r;
	ck_path_parent(o->p->unlock, dir);
	if ((r = remove_dir(o, dir, fail)) == CK_OK)
		o->ret->removed = true;
	return r;
}
