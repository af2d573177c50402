/* SPDX-License-Identifier: Apache-2.0 */
/* Records and places, read together; see view.h. */
#include "custody/view.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/rand.h>

#include "base/bytes.h"
#include "base/io.h"
#include "custody/advice.h"
#include "custody/joined.h"
#include "custody/locator.h"

/* How often other processes may die between two looks of ours. */
#define LOOKS_MAX 32

/* The row's names stand over the defaults; what the owner said must agree. */
static ck_err
take_names(struct ck_place *p, const struct ck_rec_credential *row,
    struct ck_fail *fail)
{
	enum ck_format format;

	if (p->names_said && (strcmp(p->service, row->service) != 0 ||
	    strcmp(p->account, row->account) != 0))
		return ck_fail_set(fail, CK_REFUSED, p->dir,
		    "the records know the credential %s as %s / %s",
		    row->name, row->service, row->account);
	/* A newer program's format would come with a newer schema. */
	if (ck_format_by_name(row->format, &format) != CK_OK)
		return ck_fail_set(fail, CK_DAMAGED, p->dir,
		    "the records give the credential %s an unknown format",
		    row->name);
	memcpy(p->service, row->service, sizeof(p->service));
	memcpy(p->account, row->account, sizeof(p->account));
	p->names_said = true;
	p->format = format;
	return CK_OK;
}

/* Remember the broker among the rows of one credential. */
static ck_err
find_broker(void *arg, const struct ck_rec_precedence *row)
{
	struct ck_rec_store *found = arg;

	if (row->store.kind == CK_KIND_LOGIN_KEYCHAIN ||
	    row->store.kind == CK_KIND_FILE_BROKER)
		*found = row->store;
	return CK_OK;
}

static ck_err
take_broker(struct ck_place *p, struct ck_view *v, struct ck_fail *fail)
{
	struct ck_rec_store store;
	ck_err r;

	memset(&store, 0, sizeof(store));
	r = ck_records_precedence_each(v->rec, p->credential, NULL,
	    find_broker, &store, fail);
	if (r != CK_OK || store.id == 0)
		return r;
	if (p->broker_said && (p->broker_kind != store.kind ||
	    strcmp(p->broker, store.path) != 0))
		return ck_fail_set(fail, CK_REFUSED, p->broker,
		    "is not the recorded broker (%.400s)", store.path);
	p->broker_kind = store.kind;
	memcpy(p->broker, store.path, sizeof(p->broker));
	return CK_OK;
}

/* Where the unlock password lies, there its credential is looked for. */
static ck_err
usual_broker(struct ck_place *p, struct ck_view *v, struct ck_fail *fail)
{
	struct ck_rec_store store;
	ck_err r;

	if (p->broker_said)
		return CK_OK;
	if ((r = ck_joined_broker(p, v->rec, &store, fail)) != CK_OK)
		return r == CK_ABSENT ? CK_OK : r;
	p->broker_kind = store.kind;
	memcpy(p->broker, store.path, sizeof(p->broker));
	return CK_OK;
}

static ck_err
read_rows(struct ck_place *p, struct ck_view *v, struct ck_fail *fail)
{
	ck_err r;

	r = ck_records_credential_get(v->rec, p->credential, &v->row, fail);
	if (r == CK_OK) {
		v->known = true;
		if ((r = take_names(p, &v->row, fail)) == CK_OK)
			r = take_broker(p, v, fail);
	} else if (r == CK_ABSENT) {
		r = usual_broker(p, v, fail);
	}
	if (r != CK_OK)
		return r;
	r = ck_records_journal_get(v->rec, &v->journal, fail);
	v->journal_open = r == CK_OK;
	return r == CK_ABSENT ? CK_OK : r;
}

/* A reader's rows are those of one moment; a writer has the custody lock, or
 * looks again under it. */
static ck_err
read_records(struct ck_place *p, enum ck_rec_how how, struct ck_view *v,
    struct ck_fail *fail)
{
	ck_err r = CK_OK;

	if (how == CK_REC_READ)
		r = ck_records_begin(v->rec, fail);
	if (r == CK_OK)
		r = read_rows(p, v, fail);
	if (how == CK_REC_READ)
		ck_records_rollback(v->rec);
	return r;
}

static bool
is_recorded(const struct ck_view *v)
{
	return v->known && (v->row.state == CK_STATE_DEDICATED ||
	    v->row.state == CK_STATE_RESTORING);
}

/* A file that cannot be looked into may well have it. */
static void
look_for_item(const struct ck_place *p, struct ck_view *v)
{
	v->item = v->dedicated;
	if (v->item && !is_recorded(v) &&
	    ck_joined_holds(p, &v->item, NULL) != CK_OK)
		v->item = true;
}

/* Where the keychain is.  lost: a directory without it is an answer, too. */
static ck_err
find_dedicated(const struct ck_place *p, bool lost, struct ck_view *v,
    struct ck_fail *fail)
{
	ck_err r = ck_place_dedicated(p, &v->dedicated, fail);

	v->hollow = lost && r == CK_DAMAGED;
	return v->hollow ? CK_OK : r;
}

/* One look; CK_READONLY when the records need undoing first. */
static ck_err
view_once(struct ck_place *p, enum ck_rec_how how, bool lost,
    struct ck_view *ret, struct ck_fail *fail)
{
	struct ck_view v = CK_VIEW_INIT;
	ck_err r;

	r = ck_place_open_dir(p, &v.dirfd, fail);
	if (r == CK_NOSTORE) {
		*ret = v;
		return CK_OK;
	}
	if (r != CK_OK)
		return r;
	if ((r = find_dedicated(p, lost, &v, fail)) != CK_OK)
		goto out;
	r = ck_records_open(v.dirfd, p->dir, how, &v.rec, fail);
	if (r == CK_NOSTORE && !v.dedicated) {
		*ret = v;
		return CK_OK;
	}
	/* Whoever looks on in spite of it looks at the right place. */
	if (r == CK_NOSTORE || r == CK_DAMAGED)
		ck_locator_stand_in(p);
	if (r == CK_NOSTORE) {
		(void)ck_fail_set(fail, r, p->dir,
		    "the records (%s) are missing beside the dedicated "
		    "keychain", CK_REC_FILE);
		ck_advise(fail, p, "put %s back from a backup, or see what "
		    "{doctor --rebuild} would make", CK_REC_FILE);
	}
	if (r == CK_OK)
		r = read_records(p, how, &v, fail);
	/* The records may have been read after a migration took the file into
	 * place, or a restore out of it, and the file been looked for before. */
	if (r == CK_OK && (!v.dedicated || (v.known &&
	    v.row.state == CK_STATE_BROKER)))
		r = find_dedicated(p, lost, &v, fail);
	if (r == CK_OK)
		look_for_item(p, &v);
out:
	if (r == CK_OK)
		*ret = v;
	else
		ck_view_close(&v);
	return r;
}

/* A crash left a change half made; its undoing is SQLite's work, done when
 * the records are opened for writing. */
static ck_err
undo_crash(const struct ck_place *p, struct ck_fail *fail)
{
	int dirfd = -1;
	ck_err r;

	if ((r = ck_place_open_dir(p, &dirfd, fail)) == CK_OK)
		r = ck_records_recover(dirfd, p->dir, fail);
	ck_io_close(&dirfd);
	return r;
}

static ck_err
view_open(struct ck_place *p, enum ck_rec_how how, bool lost,
    struct ck_view *ret, struct ck_fail *fail)
{
	ck_err r, undone;

	r = view_once(p, how, lost, ret, fail);
	/* A writer may be killed at any time, also between our opening the
	 * records and our reading them, and again while we look again. */
	for (int i = 0; i < LOOKS_MAX && r == CK_READONLY &&
	    how == CK_REC_READ; i++) {
		if ((undone = undo_crash(p, fail)) != CK_OK)
			return undone;
		r = view_once(p, how, lost, ret, fail);
	}
	return r;
}

ck_err
ck_view_open(struct ck_place *p, enum ck_rec_how how, struct ck_view *ret,
    struct ck_fail *fail)
{
	return view_open(p, how, false, ret, fail);
}

ck_err
ck_view_open_lost(struct ck_place *p, enum ck_rec_how how,
    struct ck_view *ret, struct ck_fail *fail)
{
	return view_open(p, how, true, ret, fail);
}

void
ck_view_close(struct ck_view *v)
{
	ck_records_close(&v->rec);
	ck_io_close(&v->dirfd);
}

bool
ck_view_is_dedicated(const struct ck_view *v)
{
	return v->item || is_recorded(v);
}

ck_err
ck_view_nonce(char ret[33], struct ck_fail *fail)
{
	uint8_t raw[16];

	if (RAND_bytes(raw, sizeof(raw)) != 1)
		return ck_fail_set(fail, CK_IO, NULL,
		    "the system's random generator failed");
	ck_hex_encode(raw, sizeof(raw), ret);
	return CK_OK;
}

ck_err
ck_view_lock(struct ck_place *p, struct ck_view *v, int *ret_lock,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_place_lock(p, v->dirfd, ret_lock, fail)) != CK_OK)
		return r;
	ck_view_close(v);
	return ck_view_open(p, CK_REC_WRITE, v, fail);
}

ck_err
ck_view_note_file(const struct ck_place *p, struct ck_records *rec,
    struct ck_fail *fail)
{
	struct ck_rec_store store;
	struct stat st;
	ck_err r;

	if ((r = ck_records_store_by_kind(rec, CK_KIND_DEDICATED, &store,
	    fail)) != CK_OK)
		return r;
	if (lstat(p->keychain, &st) != 0)
		return ck_fail_set(fail, CK_CHANGED, p->keychain,
		    "disappeared while it was changed");
	store.device = (uint64_t)st.st_dev;
	store.inode = (uint64_t)st.st_ino;
	return ck_records_store_put(rec, &store, NULL, fail);
}

void
ck_view_command(const struct ck_rec_journal *j,
    char ret[CK_VIEW_COMMAND_SIZE])
{
	(void)snprintf(ret, CK_VIEW_COMMAND_SIZE, "clankie-keys %s%s%s",
	    j->operation, j->credential[0] == '\0' ? "" : " ",
	    j->credential);
}

bool
ck_view_known_operation(const char *operation)
{
	static const char *const known[] = {
		"migrate", "rotate", "rotate --keychain", "restore",
		"reset --confirm"
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(operation, known[i]) == 0)
			return true;
	return false;
}

bool
ck_view_is_moving(const struct ck_view *v, const struct ck_place *p)
{
	return v->journal_open && (v->journal.credential[0] == '\0' ||
	    strcmp(v->journal.credential, p->credential) == 0);
}

ck_err
ck_view_unhindered(const struct ck_view *v, const struct ck_place *p,
    const char *operation, struct ck_fail *fail)
{
	const struct ck_rec_journal *j = &v->journal;
	char command[CK_ADVICE_SIZE];
	bool whole = j->credential[0] == '\0';

	if (!v->journal_open || (strcmp(j->operation, operation) == 0 &&
	    ck_view_is_moving(v, p)))
		return CK_OK;
	ck_advice_finish(p, j, command);
	(void)ck_fail_set(fail, CK_BUSY, p->dir,
	    "an earlier %s%s%s was not finished", j->operation,
	    whole ? "" : " of ", j->credential);
	ck_fail_next(fail, "%s", command);
	return CK_BUSY;
}
