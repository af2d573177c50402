/* SPDX-License-Identifier: Apache-2.0 */
/* What SQLite says, in our words; see records_int.h. */
#include "records_int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* SQLite's primary codes as an enum: a switch without default makes the
 * compiler name the one that is not handled. */
enum primary {
	P_OK = SQLITE_OK, P_ERROR = SQLITE_ERROR,
	P_INTERNAL = SQLITE_INTERNAL, P_PERM = SQLITE_PERM,
	P_ABORT = SQLITE_ABORT, P_BUSY = SQLITE_BUSY,
	P_LOCKED = SQLITE_LOCKED, P_NOMEM = SQLITE_NOMEM,
	P_READONLY = SQLITE_READONLY, P_INTERRUPT = SQLITE_INTERRUPT,
	P_IOERR = SQLITE_IOERR, P_CORRUPT = SQLITE_CORRUPT,
	P_NOTFOUND = SQLITE_NOTFOUND, P_FULL = SQLITE_FULL,
	P_CANTOPEN = SQLITE_CANTOPEN, P_PROTOCOL = SQLITE_PROTOCOL,
	P_EMPTY = SQLITE_EMPTY, P_SCHEMA = SQLITE_SCHEMA,
	P_TOOBIG = SQLITE_TOOBIG, P_CONSTRAINT = SQLITE_CONSTRAINT,
	P_MISMATCH = SQLITE_MISMATCH, P_MISUSE = SQLITE_MISUSE,
	P_NOLFS = SQLITE_NOLFS, P_AUTH = SQLITE_AUTH,
	P_FORMAT = SQLITE_FORMAT, P_RANGE = SQLITE_RANGE,
	P_NOTADB = SQLITE_NOTADB, P_NOTICE = SQLITE_NOTICE,
	P_WARNING = SQLITE_WARNING, P_ROW = SQLITE_ROW, P_DONE = SQLITE_DONE
};

/* Input and output: the errno says more than SQLite does, if it says one of
 * the few things that somebody would act on. */
static ck_err
map_io(int rc, int sys)
{
	switch (rc) {
	case SQLITE_IOERR_NOMEM:
		return CK_NOMEM;
	case SQLITE_IOERR_DATA:
		return CK_DAMAGED;
	case SQLITE_IOERR_BLOCKED:
		return CK_BUSY;
	default:
		break;
	}
	switch (sys) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EROFS:
	case EACCES:
	case EPERM:
	case ENOMEM:
		return ck_err_from_errno(sys);
	default:
		return CK_IO;
	}
}

static ck_err
map_open(int rc, int sys)
{
	if (rc == SQLITE_CANTOPEN_ISDIR || rc == SQLITE_CANTOPEN_SYMLINK ||
	    sys == ELOOP)
		return CK_REFUSED;
	return map_io(SQLITE_CANTOPEN, sys);
}

ck_err
ck_rec_map(int rc, int sys)
{
	switch ((enum primary)(rc & 0xff)) {
	case P_OK:
	case P_ROW:
	case P_DONE:
		return CK_OK;
	case P_BUSY:
	case P_LOCKED:
	case P_PROTOCOL:
	case P_INTERRUPT:      /* by our own clock, see pragma.c */
		return CK_BUSY;
	case P_NOMEM:
		return CK_NOMEM;
	case P_READONLY:
		return rc == SQLITE_READONLY_DBMOVED ? CK_CHANGED : CK_READONLY;
	case P_IOERR:
		return map_io(rc, sys);
	case P_CANTOPEN:
		return map_open(rc, sys);
	case P_CORRUPT:
	case P_NOTADB:
	case P_TOOBIG:         /* what we write is measured before */
		return CK_DAMAGED;
	case P_FULL:
		return CK_NOSPACE;
	case P_PERM:
	case P_AUTH:
		return CK_DENIED;
	case P_CONSTRAINT:
	case P_MISMATCH:
		return CK_REFUSED;
	case P_SCHEMA:
		return CK_CHANGED;
	case P_NOLFS:
	case P_FORMAT:
		return CK_UNSUPPORTED;
	case P_ERROR:
	case P_INTERNAL:
	case P_ABORT:
	case P_NOTFOUND:
	case P_EMPTY:
	case P_MISUSE:
	case P_RANGE:
	case P_NOTICE:
	case P_WARNING:
		return CK_INTERNAL;
	}
	return CK_INTERNAL;   /* a code newer than this program */
}

/* The next step that goes with a code. */
static void
next_step(ck_err code, struct ck_fail *fail)
{
	switch (code) {
	case CK_DAMAGED:
		ck_fail_next(fail, "put " CK_REC_FILE " back from a backup; clankie-keys "
		    "doctor says what else mends it");
		break;
	case CK_BUSY:
		ck_fail_next(fail, "wait for the other clankie-keys to end, "
		    "then try again");
		break;
	case CK_NOSPACE:
		ck_fail_next(fail, "free some disk space, then try again");
		break;
	default:
		break;
	}
}

/* An errno belongs to these two only; else it is an old one.  SQLite keeps
 * one itself, but not when a commit failed. */
static int
errno_behind(sqlite3 *db, int rc, int sys)
{
	int primary = rc & 0xff;

	if (primary != SQLITE_IOERR && primary != SQLITE_CANTOPEN)
		return 0;
	return sys != 0 || db == NULL ? sys : sqlite3_system_errno(db);
}

/* What could not be read SQLite calls malformed.  Its file knows better: it
 * keeps the errno of the last call that failed. */
static int
errno_of_file(sqlite3 *db)
{
	int sys = 0;

	return db != NULL && sqlite3_file_control(db, "main",
	    SQLITE_FCNTL_LAST_ERRNO, &sys) == SQLITE_OK ? sys : 0;
}

ck_err
ck_rec_unread(sqlite3 *db, const char *path, const char *doing,
    struct ck_fail *fail)
{
	int sys = errno_of_file(db);

	if (sys == 0)
		return CK_OK;
	(void)ck_fail_set(fail, map_io(SQLITE_IOERR, sys), path,
	    "cannot %s: %s", doing, strerror(sys));
	if (fail != NULL)
		fail->sys = sys;
	return map_io(SQLITE_IOERR, sys);
}

ck_err
ck_rec_fail_step(sqlite3 *db, const char *path, int rc, int sys,
    const char *doing, struct ck_fail *fail)
{
	ck_err code, unread;

	sys = errno_behind(db, rc, sys);
	code = ck_rec_map(rc, sys);
	if (code == CK_DAMAGED &&
	    (unread = ck_rec_unread(db, path, doing, fail)) != CK_OK)
		return unread;
	if (rc == SQLITE_READONLY_ROLLBACK) {
		(void)ck_fail_set(fail, code, path, "cannot %s: a change was "
		    "cut short and has to be undone first, which needs "
		    "writing", doing);
		ck_fail_next(fail, "run the command again where its "
		    "directory can be written");
		return code;
	}
	if (rc == SQLITE_INTERRUPT) {
		(void)ck_fail_set(fail, code, path,
		    "cannot %s within %d seconds", doing,
		    CK_REC_RUN_MS / 1000);
		ck_fail_next(fail, "try again; put " CK_REC_FILE " back from "
		    "a backup if it stays so");
		return code;
	}
	/* The text of a constraint is ours; those of the rest are SQLite's. */
	(void)ck_fail_set(fail, code, path, "%scannot %s: %s",
	    code == CK_DAMAGED ? "records damaged: " : "", doing,
	    (rc & 0xff) == SQLITE_CONSTRAINT && db != NULL ?
	    sqlite3_errmsg(db) : sqlite3_errstr(rc));
	if (fail != NULL)
		fail->sys = sys;
	next_step(code, fail);
	return code;
}

ck_err
ck_rec_fail(sqlite3 *db, const char *path, int rc, const char *doing,
    struct ck_fail *fail)
{
	return ck_rec_fail_step(db, path, rc, 0, doing, fail);
}

ck_err
ck_rec_fail_text(sqlite3 *db, const char *path, int rc, const char *doing,
    struct ck_fail *fail)
{
	if ((rc & 0xff) == SQLITE_ERROR)
		return ck_rec_damaged(path, fail, "%s", sqlite3_errmsg(db));
	return ck_rec_fail(db, path, rc, doing, fail);
}

ck_err
ck_rec_damaged(const char *path, struct ck_fail *fail, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)ck_fail_set(fail, CK_DAMAGED, path, "records damaged: %s", text);
	next_step(CK_DAMAGED, fail);
	return CK_DAMAGED;
}
