/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection must be like, set and read back; see records_int.h. */
#include "records_int.h"

#include <string.h>

#include "base/bytes.h"

/* One setting: how it is set (NULL: it only must be so), how it is read, what
 * must be read.  The texts are whole statements because SQLite binds nothing
 * in a pragma. */
static const struct {
	bool reading;       /* also for a handle that only reads */
	const char *set;
	const char *get;
	const char *want;
} pragmas[] = {
	/* Read back only: the wait is set by a call of its own. */
	{ true, NULL, "PRAGMA busy_timeout", "5000" },
	{ true, "PRAGMA cell_size_check = ON", "PRAGMA cell_size_check", "1" },
	/* A mapped file that somebody shortens is a signal, not an error. */
	{ true, "PRAGMA mmap_size = 0", "PRAGMA mmap_size", "0" },
	/* No temporary file ever holds rows. */
	{ true, "PRAGMA temp_store = MEMORY", "PRAGMA temp_store", "2" },
	{ true, NULL, "PRAGMA locking_mode", "normal" },
	{ true, NULL, "PRAGMA journal_mode", "delete" },
	{ false, "PRAGMA journal_mode = DELETE", "PRAGMA journal_mode",
	    "delete" },
	{ false, "PRAGMA synchronous = EXTRA", "PRAGMA synchronous", "3" },
	/* Only macOS does something for this one. */
	{ false, "PRAGMA fullfsync = ON", "PRAGMA fullfsync", "1" },
	{ false, "PRAGMA secure_delete = ON", "PRAGMA secure_delete", "1" },
	{ false, "PRAGMA foreign_keys = ON", "PRAGMA foreign_keys", "1" },
	{ false, "PRAGMA recursive_triggers = OFF",
	    "PRAGMA recursive_triggers", "0" },
	{ false, "PRAGMA ignore_check_constraints = OFF",
	    "PRAGMA ignore_check_constraints", "0" }
};

/* Switches of the connection, each read back by the call that sets it. */
static const struct {
	int op;
	int on;
	const char *name;
} switches[] = {
	{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, "trusted_schema" },
	{ SQLITE_DBCONFIG_DEFENSIVE, 1, "defensive" },
	{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, "triggers" },
	{ SQLITE_DBCONFIG_ENABLE_VIEW, 1, "views" },
	{ SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0, "writable_schema" },
	{ SQLITE_DBCONFIG_DQS_DML, 0, "double-quoted strings" }
};

/* What one statement may use: far above what ours need, and far below what an
 * edited file could make SQLite do. */
static const struct {
	int what;
	int most;
} limits[] = {
	{ SQLITE_LIMIT_LENGTH, CK_REC_VALUE_MAX },
	{ SQLITE_LIMIT_SQL_LENGTH, 1 << 16 },
	{ SQLITE_LIMIT_COLUMN, 64 },
	{ SQLITE_LIMIT_EXPR_DEPTH, 100 },
	{ SQLITE_LIMIT_COMPOUND_SELECT, 8 },
	{ SQLITE_LIMIT_VDBE_OP, 100000 },
	{ SQLITE_LIMIT_FUNCTION_ARG, 16 },
	{ SQLITE_LIMIT_ATTACHED, 0 },
	{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 256 },
	{ SQLITE_LIMIT_VARIABLE_NUMBER, 32 },
	{ SQLITE_LIMIT_TRIGGER_DEPTH, 8 },
	{ SQLITE_LIMIT_WORKER_THREADS, 0 }
};

/* So many steps of SQLite's machine lie between two looks at the clock. */
#define STEPS 1000

void
ck_rec_clock_start(struct ck_records *rec)
{
	rec->until = ck_clock_mono_ms() + CK_REC_RUN_MS;
}

/* Called by SQLite; a result other than 0 ends the statement. */
static int
is_over(void *arg)
{
	const struct ck_records *rec = arg;

	return ck_clock_mono_ms() > rec->until;
}

static ck_err
set_limits(struct ck_records *rec, struct ck_fail *fail)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		(void)sqlite3_limit(rec->db, limits[i].what, limits[i].most);
		/* It may have been built with a lower one. */
		if (sqlite3_limit(rec->db, limits[i].what, -1) >
		    limits[i].most)
			return ck_fail_set(fail, CK_UNSUPPORTED, rec->path,
			    "SQLite %s does not take a limit",
			    sqlite3_libversion());
	}
	sqlite3_progress_handler(rec->db, STEPS, is_over, rec);
	return CK_OK;
}

/* Run text to its end; the first column of its first row goes to ret. */
static int
run(sqlite3 *db, const char *text, char *ret, size_t n)
{
	sqlite3_stmt *stmt = NULL;
	const unsigned char *p;
	int rc, end;
	size_t len;

	ret[0] = '\0';
	rc = sqlite3_prepare_v2(db, text, -1, &stmt, NULL);
	if (rc != SQLITE_OK)
		return rc;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		p = sqlite3_column_text(stmt, 0);
		len = p == NULL ? 0 : strlen((const char *)p);
		if (p != NULL && len < n && ret[0] == '\0')
			memcpy(ret, p, len + 1);
	}
	end = sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? SQLITE_OK : end;
}

static ck_err
pragma(struct ck_records *rec, size_t i, struct ck_fail *fail)
{
	char got[32];
	int rc = SQLITE_OK;

	if (pragmas[i].set != NULL)
		rc = run(rec->db, pragmas[i].set, got, sizeof(got));
	if (rc == SQLITE_OK)
		rc = run(rec->db, pragmas[i].get, got, sizeof(got));
	if (rc != SQLITE_OK)
		return ck_rec_fail_text(rec->db, rec->path, rc,
		    "prepare the connection", fail);
	if (strcmp(got, pragmas[i].want) != 0)
		return ck_fail_set(fail, CK_UNSUPPORTED, rec->path,
		    "SQLite %s answers \"%s\" to %s; %s is needed",
		    sqlite3_libversion(), got, pragmas[i].get,
		    pragmas[i].want);
	return CK_OK;
}

static ck_err
turn_switches(struct ck_records *rec, struct ck_fail *fail)
{
	int rc, now;

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		now = -1;
		rc = sqlite3_db_config(rec->db, switches[i].op,
		    switches[i].on, &now);
		if (rc != SQLITE_OK || now != switches[i].on)
			return ck_fail_set(fail, CK_UNSUPPORTED, rec->path,
			    "SQLite %s does not set %s to %d",
			    sqlite3_libversion(), switches[i].name,
			    switches[i].on);
	}
	return CK_OK;
}

ck_err
ck_rec_pragmas(struct ck_records *rec, struct ck_fail *fail)
{
	char got[32];
	int rc;
	ck_err r;

	(void)sqlite3_busy_timeout(rec->db, CK_REC_WAIT_MS);
	ck_rec_clock_start(rec);
	if ((r = set_limits(rec, fail)) != CK_OK ||
	    (r = turn_switches(rec, fail)) != CK_OK)
		return r;
	/* The first read under a lock: here a change that was cut short is
	 * undone, or, where only reading is allowed, reported. */
	rc = run(rec->db, "PRAGMA schema_version", got, sizeof(got));
	if (rc != SQLITE_OK)
		return ck_rec_fail_text(rec->db, rec->path, rc, "open the records",
		    fail);
	for (size_t i = 0; i < sizeof(pragmas) / sizeof(pragmas[0]); i++) {
		if (rec->how == CK_REC_READ && !pragmas[i].reading)
			continue;
		if ((r = pragma(rec, i, fail)) != CK_OK)
			return r;
	}
	return CK_OK;
}

/*
 * The header of a database file, https://www.sqlite.org/fileformat.html 1.3.
 * It is read without SQL, because SQL on a database in WAL mode would make
 * files beside it before anybody could look.
 */
#define HEADER_SIZE 100
#define HEADER_MAGIC 0         /* 16 bytes, NUL included */
#define HEADER_WRITE_VERSION 18
#define HEADER_READ_VERSION 19
#define HEADER_USER_VERSION 60
#define HEADER_APPLICATION_ID 68

static ck_err
judge_header(const struct ck_records *rec, const uint8_t *h,
    struct ck_fail *fail)
{
	static const char magic[16] = "SQLite format 3";
	uint32_t version = ck_get_be32(h + HEADER_USER_VERSION);

	if (memcmp(h + HEADER_MAGIC, magic, sizeof(magic)) != 0)
		return ck_rec_damaged(rec->path, fail,
		    "it does not begin like an SQLite database");
	if (ck_get_be32(h + HEADER_APPLICATION_ID) != CK_REC_APPLICATION_ID)
		return ck_fail_set(fail, CK_REFUSED, rec->path,
		    "is a database of another program (application_id "
		    "0x%08x)", ck_get_be32(h + HEADER_APPLICATION_ID));
	if (version > CK_REC_VERSION && version <= INT32_MAX) {
		(void)ck_fail_set(fail, CK_UNSUPPORTED, rec->path,
		    "was written by a newer clankie-keys (records version "
		    "%u, this program knows %d)", version, CK_REC_VERSION);
		ck_fail_next(fail, "install the newer clankie-keys");
		return CK_UNSUPPORTED;
	}
	if (version != CK_REC_VERSION)
		return ck_rec_damaged(rec->path, fail,
		    "there is no records version %d", (int)version);
	if (h[HEADER_WRITE_VERSION] != 1 || h[HEADER_READ_VERSION] != 1) {
		(void)ck_fail_set(fail, CK_REFUSED, rec->path,
		    "was switched to WAL mode by another program");
		ck_fail_next(fail, "sqlite3 '%s' 'PRAGMA journal_mode=DELETE'",
		    rec->path);
		return CK_REFUSED;
	}
	return CK_OK;
}

ck_err
ck_rec_header(struct ck_records *rec, struct ck_fail *fail)
{
	uint8_t header[HEADER_SIZE];
	sqlite3_file *file = NULL;
	int rc;

	rc = sqlite3_file_control(rec->db, "main", SQLITE_FCNTL_FILE_POINTER,
	    &file);
	if (rc == SQLITE_OK && (file == NULL || file->pMethods == NULL))
		rc = SQLITE_CANTOPEN;
	if (rc == SQLITE_OK)
		rc = file->pMethods->xRead(file, header, sizeof(header), 0);
	if (rc == SQLITE_IOERR_SHORT_READ)
		return ck_rec_damaged(rec->path, fail,
		    "it is shorter than the header of a database");
	if (rc != SQLITE_OK)
		return ck_rec_fail(NULL, rec->path, rc, "read the header",
		    fail);
	return judge_header(rec, header, fail);
}
