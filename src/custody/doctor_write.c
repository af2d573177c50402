/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing the rebuilt records.  They are made and proved in a directory of
 * their own; the old file gets a second name, which it keeps, and one rename
 * puts the new one in its place.  A kill before that rename leaves the old
 * file with two names, which the next run takes back.
 */
#include "custody/doctor_rebuild_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "custody/anchor.h"
#include "custody/locator.h"
#include "custody/seal.h"
#include "custody/view.h"

#define JOURNAL "-journal"
#define NONCE_DIGITS 32

struct write {
	const struct ck_place *p;
	int dirfd;                       /* the custody directory */
	char nonce[NONCE_DIGITS + 1];
	char scratch[64];                /* its name there */
	char path[CK_PATH_MAX];          /* its path */
	int scratchfd;
	const struct ck_items *items;
	const struct ck_secret *key, *password;
	struct ck_rebuild *b;
};

static bool
is_named(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(name, prefix, n) == 0 &&
	    strlen(name + n) == NONCE_DIGITS &&
	    strspn(name + n, "0123456789abcdef") == NONCE_DIGITS;
}

/* Only what a rebuild makes is in it. */
static ck_err
remove_scratch(int dirfd, const char *name, const char *shown,
    struct ck_fail *fail)
{
	static const char *const files[] = {
		CK_REC_FILE, CK_REC_FILE JOURNAL
	};
	ck_err r = CK_OK;
	int fd = -1;

	if ((r = ck_io_open_dir(dirfd, name, shown, CK_IO_OWNER |
	    CK_IO_PRIVATE, &fd, NULL, fail)) != CK_OK)
		return r == CK_NOSTORE ? CK_OK : r;
	(void)!ck_io_sweep(fd, CK_REC_NEW, shown, NULL);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (unlinkat(fd, files[i], 0) != 0 && errno != ENOENT)
			r = ck_fail_sys(fail, errno, shown, "empty it");
	ck_io_close(&fd);
	if (r != CK_OK || unlinkat(dirfd, name, AT_REMOVEDIR) == 0 ||
	    errno == ENOENT)
		return r;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return ck_fail_sys(fail, errno, shown, "remove it");
	(void)ck_fail_set(fail, CK_REFUSED, shown,
	    "holds a file that no rebuild has put there");
	ck_fail_next(fail, "look at it (ls -la '%.400s'), move it away, and try "
	    "again", shown);
	return CK_REFUSED;
}

/* The second name of a file that still has its first one. */
static ck_err
take_back(int dirfd, const char *kept, const char *shown,
    struct ck_fail *fail)
{
	char journal[128];
	struct stat now, st;

	if (fstatat(dirfd, CK_REC_FILE, &now, AT_SYMLINK_NOFOLLOW) != 0 ||
	    fstatat(dirfd, kept, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    now.st_dev != st.st_dev || now.st_ino != st.st_ino)
		return CK_OK;
	(void)snprintf(journal, sizeof(journal), "%s" JOURNAL, kept);
	if (renameat(dirfd, journal, dirfd, CK_REC_FILE JOURNAL) != 0 &&
	    errno != ENOENT)
		return ck_fail_sys(fail, errno, shown,
		    "give the old records their journal back");
	if (unlinkat(dirfd, kept, 0) != 0)
		return ck_fail_sys(fail, errno, shown,
		    "take a second name of the records back");
	return ck_io_sync(dirfd, shown, fail);
}

static ck_err
clean_one(const struct ck_place *p, int dirfd, const char *name,
    struct ck_fail *fail)
{
	char shown[CK_PATH_MAX];
	ck_err r;

	if (is_named(name, CK_REBUILD_KEPT))
		return take_back(dirfd, name, p->dir, fail);
	if (!is_named(name, CK_REBUILD_PREFIX))
		return CK_OK;
	if ((r = ck_path_join(p->dir, name, shown, fail)) != CK_OK)
		return r;
	return remove_scratch(dirfd, name, shown, fail);
}

ck_err
ck_rebuild_clean(const struct ck_place *p, int dirfd, struct ck_fail *fail)
{
	const struct dirent *entry;
	ck_err r = CK_OK;
	DIR *dir;
	int fd, sys;

	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || (dir = fdopendir(fd)) == NULL) {
		sys = errno;
		ck_io_close(&fd);
		return ck_fail_sys(fail, sys, p->dir, "list it");
	}
	while (r == CK_OK && (entry = readdir(dir)) != NULL)
		r = clean_one(p, dirfd, entry->d_name, fail);
	(void)closedir(dir);
	return r;
}

static ck_err
put_dedicated(const struct write *w, struct ck_records *rec, int64_t *ret,
    struct ck_fail *fail)
{
	struct ck_rec_store store;
	struct stat st;

	memset(&store, 0, sizeof(store));
	if (lstat(w->p->keychain, &st) != 0)
		return ck_fail_set(fail, CK_CHANGED, w->p->keychain,
		    "disappeared meanwhile");
	store.kind = CK_KIND_DEDICATED;
	memcpy(store.path, w->p->keychain, sizeof(store.path));
	store.device = (uint64_t)st.st_dev;
	store.inode = (uint64_t)st.st_ino;
	return ck_records_store_put(rec, &store, ret, fail);
}

/* One credential with its precedence, as migrate and restore leave it. */
static ck_err
put_row(struct ck_records *rec, const struct ck_rebuild_row *row,
    int64_t dedicated, struct ck_fail *fail)
{
	struct ck_rec_credential c = row->c;
	struct ck_rec_store store;
	int64_t broker = 0;
	ck_err r;

	memset(&store, 0, sizeof(store));
	store.kind = row->broker_kind;
	memcpy(store.path, row->broker, sizeof(store.path));
	if ((r = ck_records_store_put(rec, &store, &broker, fail)) != CK_OK)
		return r;
	if (!row->has_item) {
		if ((r = ck_records_credential_put(rec, &c, fail)) != CK_OK)
			return r;
		return ck_records_precedence_broker(rec, c.name, broker, fail);
	}
	c.state = CK_STATE_MIGRATING;
	if ((r = ck_records_credential_put(rec, &c, fail)) != CK_OK ||
	    (r = ck_records_precedence_dedicated(rec, c.name, dedicated,
	    broker, fail)) != CK_OK)
		return r;
	c.state = CK_STATE_DEDICATED;
	return ck_records_credential_put(rec, &c, fail);
}

static ck_err
put_rows(const struct write *w, struct ck_records *rec, struct ck_fail *fail)
{
	const struct ck_rebuild *b = w->b;
	int64_t dedicated = 0;
	ck_err r;

	if ((r = put_dedicated(w, rec, &dedicated, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < b->n; i++)
		if ((r = put_row(rec, &b->row[i], dedicated, fail)) != CK_OK)
			return r;
	for (size_t i = 0; i < b->set.n; i++)
		if ((r = ck_records_protected_add(rec, &b->set.row[i],
		    fail)) != CK_OK)
			return r;
	if ((r = ck_records_event(rec, "rebuilt", w->p->keychain,
	    fail)) != CK_OK)
		return r;
	return ck_seal_write_key(rec, w->key, fail);
}

static ck_err
build(const struct write *w, struct ck_fail *fail)
{
	struct ck_records *rec = NULL;
	ck_err r;

	if ((r = ck_records_open(w->scratchfd, w->path, CK_REC_CREATE, &rec,
	    fail)) != CK_OK ||
	    (r = ck_records_begin(rec, fail)) != CK_OK)
		goto out;
	if ((r = put_rows(w, rec, fail)) == CK_OK)
		r = ck_records_commit(rec, fail);
	else
		ck_records_rollback(rec);
out:
	ck_records_close(&rec);
	return r;
}

static ck_err
proved(const struct write *w, struct ck_records *rec, struct ck_fail *fail)
{
	struct ck_rec_credential row;
	ck_err r;

	if ((r = ck_records_check(rec, fail)) != CK_OK ||
	    (r = ck_seal_check(w->p, rec, w->key, NULL, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < w->items->n; i++) {
		const struct ck_rec_credential *c = &w->items->at[i];

		if ((r = ck_records_credential_get(rec, c->name, &row,
		    fail)) != CK_OK)
			return r;
		if (row.state != CK_STATE_DEDICATED ||
		    strcmp(row.fingerprint, c->fingerprint) != 0)
			return ck_fail_set(fail, CK_IO, w->path,
			    "does not give back what was written");
	}
	return CK_OK;
}

/* As a stranger would look at it, from a fresh open. */
static ck_err
prove(const struct write *w, struct ck_fail *fail)
{
	struct ck_records *rec = NULL;
	ck_err r;

	if ((r = ck_records_open(w->scratchfd, w->path, CK_REC_READ, &rec,
	    fail)) == CK_OK && (r = ck_records_begin(rec, fail)) == CK_OK) {
		r = proved(w, rec, fail);
		ck_records_rollback(rec);
	}
	ck_records_close(&rec);
	return r;
}

/* The old file under its second name, its journal too: SQLite would undo an
 * old file's change in the new one. */
static ck_err
set_aside(struct write *w, struct ck_fail *fail)
{
	char kept[64], journal[128];
	bool there = true;

	(void)snprintf(kept, sizeof(kept), CK_REBUILD_KEPT "%s", w->nonce);
	(void)snprintf(journal, sizeof(journal), "%s" JOURNAL, kept);
	if (linkat(w->dirfd, CK_REC_FILE, w->dirfd, kept, 0) != 0) {
		if (errno != ENOENT)
			return ck_fail_sys(fail, errno, w->p->dir,
			    "keep the old records under another name");
		there = false;
	}
	if (there && ck_path_join(w->p->dir, kept, w->b->kept,
	    fail) != CK_OK)
		return CK_REFUSED;
	if (renameat(w->dirfd, CK_REC_FILE JOURNAL, w->dirfd, journal) != 0 &&
	    errno != ENOENT)
		return ck_fail_sys(fail, errno, w->p->dir,
		    "keep the journal of the old records");
	return ck_io_sync(w->dirfd, w->p->dir, fail);
}

static ck_err
install(struct write *w, struct ck_fail *fail)
{
	char kept[64];
	ck_err r;

	if ((r = set_aside(w, fail)) == CK_OK &&
	    renameat(w->scratchfd, CK_REC_FILE, w->dirfd, CK_REC_FILE) != 0)
		r = ck_fail_sys(fail, errno, w->p->dir,
		    "take the new records into place");
	if (r == CK_OK)
		return ck_io_sync(w->dirfd, w->p->dir, fail);
	(void)snprintf(kept, sizeof(kept), CK_REBUILD_KEPT "%s", w->nonce);
	(void)!take_back(w->dirfd, kept, w->p->dir, NULL);
	return r;
}

/* Until the anchor fits, the new records are refused like the old ones. */
static ck_err
follow_up(const struct write *w, struct ck_fail *fail)
{
	struct ck_records *rec = NULL;
	ck_err r;

	if ((r = ck_records_open(w->dirfd, w->p->dir, CK_REC_READ, &rec,
	    fail)) == CK_OK &&
	    (r = ck_anchor_write(w->p, rec, w->password, 0, NULL, NULL,
	    fail)) == CK_OK && (r = ck_locator_put(w->p, fail)) == CK_OK)
		r = ck_rules_write(w->p, w->dirfd, rec, fail);
	ck_records_close(&rec);
	if (r != CK_OK && fail != NULL)
		ck_fail_next(fail, "the records are rebuilt; clankie-keys "
		    "doctor says what is still to be done");
	return r;
}

ck_err
ck_rebuild_write(const struct ck_place *p, int dirfd,
    const struct ck_items *items, const struct ck_secret *key,
    const struct ck_secret *password, struct ck_rebuild *b,
    struct ck_fail *fail)
{
	struct write w = { .p = p, .dirfd = dirfd, .scratchfd = -1,
	    .items = items, .key = key, .password = password, .b = b };
	ck_err r, gone;

	if ((r = ck_view_nonce(w.nonce, fail)) != CK_OK)
		return r;
	(void)snprintf(w.scratch, sizeof(w.scratch), CK_REBUILD_PREFIX "%s",
	    w.nonce);
	if ((r = ck_path_join(p->dir, w.scratch, w.path, fail)) != CK_OK ||
	    (r = ck_io_make_dir(dirfd, w.scratch, w.path, 0700,
	    fail)) != CK_OK)
		return r;
	if ((r = ck_io_open_dir(dirfd, w.scratch, w.path, CK_IO_OWNER |
	    CK_IO_PRIVATE, &w.scratchfd, NULL, fail)) == CK_OK &&
	    (r = build(&w, fail)) == CK_OK &&
	    (r = prove(&w, fail)) == CK_OK)
		r = install(&w, fail);
	ck_io_close(&w.scratchfd);
	gone = remove_scratch(dirfd, w.scratch, w.path,
	    r == CK_OK ? fail : NULL);
	if (r == CK_OK)
		r = gone;
	return r == CK_OK ? follow_up(&w, fail) : r;
}
