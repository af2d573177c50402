/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, closing and changing the records as a whole; see records.h. */
#include "records_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"

/* dir still names the directory that the caller checked. */
static ck_err
same_directory(int dirfd, const char *dir, struct ck_fail *fail)
{
	struct stat here, named;

	if (fstat(dirfd, &here) != 0 || stat(dir, &named) != 0)
		return ck_fail_sys(fail, errno, dir, "examine it");
	if (here.st_dev != named.st_dev || here.st_ino != named.st_ino)
		return ck_fail_set(fail, CK_CHANGED, dir,
		    "was replaced by another directory");
	return CK_OK;
}

/* What SQLite opened by its path is what was judged through dirfd. */
static ck_err
same_file(struct ck_records *rec, int dirfd, const struct stat *judged,
    struct ck_fail *fail)
{
	struct stat st;
	int moved = 0, rc;

	rc = sqlite3_file_control(rec->db, "main", SQLITE_FCNTL_HAS_MOVED,
	    &moved);
	if (rc != SQLITE_OK)
		return ck_rec_fail(NULL, rec->path, rc, "examine it", fail);
	if (fstatat(dirfd, CK_REC_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return ck_fail_sys(fail, errno, rec->path, "examine it");
	if (moved != 0 || st.st_dev != judged->st_dev ||
	    st.st_ino != judged->st_ino)
		return ck_fail_set(fail, CK_CHANGED, rec->path,
		    "was replaced while it was opened");
	return CK_OK;
}

/* A refusal costs time and nothing else. */
void
ck_records_init(void)
{
	(void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

const char *
ck_records_engine(void)
{
	return sqlite3_libversion();
}

static ck_err
connect_db(struct ck_records *rec, struct ck_fail *fail)
{
	int flags = SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX |
	    SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
	int rc;

	flags |= rec->how == CK_REC_READ ? SQLITE_OPEN_READONLY :
	    SQLITE_OPEN_READWRITE;
	rc = sqlite3_open_v2(rec->path, &rec->db, flags, NULL);
	if (rc != SQLITE_OK)
		return ck_rec_fail(rec->db, rec->path, rc, "open it", fail);
	/* SQLite falls back to reading by itself. */
	if (rec->how != CK_REC_READ &&
	    sqlite3_db_readonly(rec->db, "main") != 0)
		return ck_fail_set(fail, CK_READONLY, rec->path,
		    "can be read but not written");
	return CK_OK;
}

/* SQLite opens what lies beside the file by name and would wait on a FIFO. */
static ck_err
sidecars_are_files(struct ck_records *rec, int dirfd, struct ck_fail *fail)
{
	static const char *const names[] = {
		CK_REC_FILE "-journal", CK_REC_FILE "-wal", CK_REC_FILE "-shm"
	};
	struct stat st;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (fstatat(dirfd, names[i], &st, AT_SYMLINK_NOFOLLOW) != 0) {
			if (errno == ENOENT)
				continue;
			return ck_fail_sys(fail, errno, rec->path,
			    "examine what lies beside it");
		}
		if (!S_ISREG(st.st_mode))
			return ck_fail_set(fail, CK_REFUSED, rec->path,
			    "has something beside it that is no file: %s",
			    names[i]);
	}
	return CK_OK;
}

ck_err
ck_records_open(int dirfd, const char *dir, enum ck_rec_how how,
    struct ck_records **ret, struct ck_fail *fail)
{
	struct ck_records *rec;
	struct stat st;
	ck_err r;

	rec = calloc(1, sizeof(*rec));
	if (rec == NULL)
		return ck_fail_set(fail, CK_NOMEM, dir,
		    "no memory to open the records");
	rec->how = how;
	if ((r = ck_path_join(dir, CK_REC_FILE, rec->path, fail)) != CK_OK)
		goto out;
	if ((r = same_directory(dirfd, dir, fail)) != CK_OK)
		goto out;
	if (how == CK_REC_CREATE &&
	    (r = ck_rec_create(dirfd, rec->path, fail)) != CK_OK)
		goto out;
	/* By name and not by a descriptor of our own: closing one would drop
	 * the locks that SQLite holds on this file in this process. */
	if ((r = ck_io_judge_file(dirfd, CK_REC_FILE, rec->path, CK_IO_OWNER |
	    CK_IO_PRIVATE | CK_IO_ONELINK, &st, fail)) != CK_OK)
		goto out;
	if ((r = sidecars_are_files(rec, dirfd, fail)) != CK_OK)
		goto out;
	if ((r = connect_db(rec, fail)) != CK_OK)
		goto out;
	if ((r = same_file(rec, dirfd, &st, fail)) != CK_OK)
		goto out;
	if ((r = ck_rec_header(rec, fail)) != CK_OK)
		goto out;
	if ((r = ck_rec_pragmas(rec, fail)) != CK_OK)
		goto out;
	/* Before anything else is asked: what a name stands for, and how an
	 * index answers, is what the file says. */
	if ((r = ck_rec_schema_same(rec, fail)) != CK_OK)
		goto out;
	*ret = rec;
	rec = NULL;
out:
	ck_records_close(&rec);
	return r;
}

/*
 * A process that died before its journal was in force leaves a file that
 * undoes nothing, and that SQLite only clears away with the next change: so
 * make one that changes nothing.
 */
static ck_err
clear_journal(struct ck_records *rec, int dirfd, struct ck_fail *fail)
{
	struct stat st;
	int rc;

	if (fstatat(dirfd, CK_REC_FILE "-journal", &st,
	    AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? CK_OK : ck_fail_sys(fail, errno,
		    rec->path, "examine its journal");
	ck_rec_clock_start(rec);
	rc = sqlite3_exec(rec->db, CK_REC_SET_VERSION, NULL, NULL,
	    NULL);
	if (rc != SQLITE_OK)
		return ck_rec_fail(rec->db, rec->path, rc,
		    "clear its journal away", fail);
	return CK_OK;
}

ck_err
ck_records_recover(int dirfd, const char *dir, struct ck_fail *fail)
{
	struct ck_records *rec = NULL;
	ck_err r;

	if ((r = ck_records_open(dirfd, dir, CK_REC_WRITE, &rec,
	    fail)) != CK_OK)
		return r;
	r = clear_journal(rec, dirfd, fail);
	ck_records_close(&rec);
	return r;
}

void
ck_records_close(struct ck_records **rec)
{
	if (*rec == NULL)
		return;
	ck_rec_finalize(*rec);
	/* Rolls back what is open.  With all statements gone it cannot be
	 * refused. */
	(void)sqlite3_close((*rec)->db);
	free(*rec);
	*rec = NULL;
}

/* Undoing must not depend on memory, so it is prepared before it is needed. */
static ck_err
begin(struct ck_records *rec, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_rec_prepare(rec, CK_ST_ROLLBACK, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_prepare(rec, CK_ST_COMMIT, fail)) != CK_OK)
		return r;
	return ck_rec_change(rec, rec->how == CK_REC_READ ?
	    CK_ST_BEGIN_READ : CK_ST_BEGIN, NULL, NULL, fail);
}

/* SQLite may have ended it already; then there is nothing to undo. */
static void
undo_all(struct ck_records *rec)
{
	if (!sqlite3_get_autocommit(rec->db))
		(void)!ck_rec_run_quietly(rec, CK_ST_ROLLBACK);
}

static ck_err
commit(struct ck_records *rec, struct ck_fail *fail)
{
	ck_err r = ck_rec_change(rec, CK_ST_COMMIT, NULL, NULL, fail);

	if (r != CK_OK)
		undo_all(rec);
	return r;
}

ck_err
ck_records_begin(struct ck_records *rec, struct ck_fail *fail)
{
	ck_err r;

	if (rec->in_tx)
		return ck_fail_set(fail, CK_INTERNAL, rec->path,
		    "a transaction is open already");
	if ((r = begin(rec, fail)) != CK_OK)
		return r;
	rec->in_tx = true;
	return CK_OK;
}

ck_err
ck_records_commit(struct ck_records *rec, struct ck_fail *fail)
{
	ck_err r;

	if (!rec->in_tx)
		return ck_fail_set(fail, CK_INTERNAL, rec->path,
		    "no transaction is open");
	r = commit(rec, fail);
	rec->in_tx = false;
	return r;
}

void
ck_records_rollback(struct ck_records *rec)
{
	if (rec == NULL || !rec->in_tx)
		return;
	undo_all(rec);
	rec->in_tx = false;
}

ck_err
ck_rec_enter(struct ck_records *rec, bool *ret_own, struct ck_fail *fail)
{
	ck_err r;

	if (rec->how == CK_REC_READ)
		return ck_fail_set(fail, CK_READONLY, rec->path,
		    "was opened for reading only");
	if (!rec->in_tx) {
		if ((r = begin(rec, fail)) != CK_OK)
			return r;
		*ret_own = true;
		return CK_OK;
	}
	if ((r = ck_rec_prepare(rec, CK_ST_UNDO, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_prepare(rec, CK_ST_RELEASE, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_change(rec, CK_ST_SAVE, NULL, NULL, fail)) != CK_OK)
		return r;
	*ret_own = false;
	return CK_OK;
}

ck_err
ck_rec_leave(struct ck_records *rec, bool own, ck_err r,
    struct ck_fail *fail)
{
	if (own && r == CK_OK)
		return commit(rec, fail);
	if (own) {
		undo_all(rec);
		return r;
	}
	if (r == CK_OK)
		r = ck_rec_change(rec, CK_ST_RELEASE, NULL, NULL, fail);
	/* A half that cannot be taken back takes the whole with it; every
	 * further call in this transaction then says so. */
	else if (!ck_rec_run_quietly(rec, CK_ST_UNDO) ||
	    !ck_rec_run_quietly(rec, CK_ST_RELEASE))
		undo_all(rec);
	return r;
}
