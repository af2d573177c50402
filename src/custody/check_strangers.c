/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies in the custody and is none of ours; see check_int.h.  The
 * keychain's directory holds that file and Apple's lock for it, and a name
 * beside them may be a second link to it, a copy, or something that a writer
 * stumbles over.
 */
#include "custody/check_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "custody/dedicated.h"
#include "custody/doctor_rebuild_int.h"
#include "keychain/keychain.h"

/* As many are named; the others are counted. */
#define NAMED_MAX 8

/* What the records and rules have beside them while they are written. */
static const char rec_journal[] = CK_REC_FILE "-journal";
static const char rec_new[] = CK_REC_NEW;
static const char new_journal[] = CK_REC_NEW "-journal";
static const char rec_temp[] = CK_REC_FILE CK_IO_TEMP;
static const char rules_temp[] = CK_RULES_FILE CK_IO_TEMP;
static const char mounts_temp[] = CK_MOUNTS_FILE CK_IO_TEMP;
static const char proof_temp[] = CK_PROOF_FILE CK_IO_TEMP;
static const char rec_kept[] = CK_REBUILD_KEPT;

/* A directory of ours and the names that belong there. */
struct house {
	const char *dir;
	const char *const *names;     /* ends with NULL */
	const char *const *forms;     /* of ck_io_is_left() */
	const char *const *prefixes;  /* before 32 hex digits */
};

static bool
in(const char *const *list, const char *name)
{
	for (; *list != NULL; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

static bool
has_form(const char *const *forms, const char *name)
{
	for (; *forms != NULL; forms++)
		if (ck_io_is_left(name, *forms))
			return true;
	return false;
}

/* Before a nonce; SQLite's own journal may be beside a file that is kept. */
static bool
has_prefix(const char *const *prefixes, const char *name)
{
	for (; *prefixes != NULL; prefixes++) {
		size_t n = strlen(*prefixes);

		if (strncmp(name, *prefixes, n) == 0 &&
		    strspn(name + n, "0123456789abcdef") == 32 &&
		    (name[n + 32] == '\0' ||
		    strcmp(name + n + 32, "-journal") == 0))
			return true;
	}
	return false;
}

/* What a writer of ours leaves, and what is kept, is a directory or a file
 * with one name; nothing else is made, or would be found by the repair. */
static bool
is_plain(int dirfd, const char *name, bool dir_too)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT;
	return st.st_uid == geteuid() && ((dir_too && S_ISDIR(st.st_mode)) ||
	    (S_ISREG(st.st_mode) && st.st_nlink <= 2));
}

/* The names that are given once are judged by themselves. */
static bool
belongs(const struct house *h, int dirfd, const char *name)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    in(h->names, name))
		return true;
	if (has_form(h->forms, name))
		return is_plain(dirfd, name, false);
	return has_prefix(h->prefixes, name) && is_plain(dirfd, name, true);
}

static void
name_it(struct ck_check *c, const struct house *h, const char *name)
{
	char path[CK_PATH_MAX];

	if (ck_path_join(h->dir, name, path, NULL) != CK_OK)
		memcpy(path, h->dir, strlen(h->dir) + 1);
	ck_finding_add(c->out, CK_F_FOREIGN_FILE, path, NULL,
	    "is not one of the names that clankie-keys gives in this "
	    "directory");
}

static void
look_in(struct ck_check *c, const struct house *h)
{
	struct ck_fail fail = CK_FAIL_INIT;
	const struct dirent *entry;
	size_t n = 0;
	DIR *dir;
	int fd = -1;
	ck_err r;

	r = ck_io_open_dir(AT_FDCWD, h->dir, h->dir, CK_IO_OWNER, &fd, NULL,
	    &fail);
	if (r != CK_OK) {
		if (r != CK_NOSTORE && !ck_findings_error_at(c->out, h->dir))
			ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
		return;
	}
	if ((dir = fdopendir(fd)) == NULL) {
		ck_io_close(&fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL)
		if (!belongs(h, dirfd(dir), entry->d_name) && ++n <= NAMED_MAX)
			name_it(c, h, entry->d_name);
	(void)closedir(dir);
	if (n > NAMED_MAX)
		ck_finding_add(c->out, CK_F_FOREIGN_FILE, h->dir, NULL,
		    "has %zu more of them", n - NAMED_MAX);
}

void
ck_check_strangers(struct ck_check *c)
{
	static const char *const no_prefix[] = { NULL };
	static const char *const dir_names[] = { CK_OPERATOR_DIR, CK_REC_FILE,
	    rec_journal, CK_RULES_FILE, CK_MOUNTS_FILE, CK_PROOF_FILE, NULL };
	static const char *const dir_forms[] = { rec_new, new_journal,
	    rec_temp, rules_temp, mounts_temp, proof_temp, NULL };
	static const char *const prefixes[] = { CK_SCRATCH_PREFIX,
	    CK_RESTORED_PREFIX, CK_LOST_PREFIX, CK_REBUILD_PREFIX,
	    rec_kept, NULL };
	static const char *const key_forms[] = {
	    CK_KEYCHAIN_FILE CK_IO_TEMP_APPLE, NULL };
	char lock[KC_LOCK_NAME_SIZE];
	const char *const key_names[] = { CK_KEYCHAIN_FILE, lock, NULL };
	const struct house custody = { c->p->dir, dir_names, dir_forms,
	    prefixes };
	const struct house keychain = { c->p->operator_dir, key_names,
	    key_forms, no_prefix };

	kc_lock_name(CK_KEYCHAIN_FILE, lock);
	look_in(c, &custody);
	look_in(c, &keychain);
}
