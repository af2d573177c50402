/* SPDX-License-Identifier: Apache-2.0 */
/* Statements are constant text, prepared once at first use; see
 * records_int.h. */
#include "records_int.h"

#include <errno.h>

#define PRECEDENCE_ROWS(role)                                                \
	"INSERT INTO precedence (credential, principal, role, rank, store)"  \
	" SELECT ?1, id, '" role "', ?2, ?3 FROM principal"                  \
	" WHERE " role " = 1"

#define CREDENTIAL_COLUMNS                                                   \
	"SELECT name, service, account, format, state, generation,"          \
	" fingerprint FROM credential"
#define STORE_COLUMNS "SELECT id, kind, path, device, inode FROM store"
#define PRINCIPAL_COLUMNS                                                    \
	"SELECT id, what, honours, reader, writer FROM principal"
/* Rows are read from their table and never from an index: the seal is over
 * the tables, and an edited index can answer otherwise. */
#define STORE_TABLE_COLUMNS STORE_COLUMNS " NOT INDEXED"
/* The slot has no place in the seal. */
#define JOURNAL_COLUMNS(more)                                                \
	"SELECT operation, nonce, step, from_generation, to_generation, at," \
	" credential" more " FROM journal"
#define EVENT_COLUMNS "SELECT seq, at, what, detail, prev FROM event"

static const char *const texts[CK_ST_COUNT] = {
	[CK_ST_BEGIN] = "BEGIN IMMEDIATE",
	[CK_ST_BEGIN_READ] = "BEGIN",
	[CK_ST_COMMIT] = "COMMIT",
	[CK_ST_ROLLBACK] = "ROLLBACK",
	[CK_ST_SAVE] = "SAVEPOINT one",
	[CK_ST_RELEASE] = "RELEASE one",
	[CK_ST_UNDO] = "ROLLBACK TO one",

	[CK_ST_CREDENTIAL_GET] = CREDENTIAL_COLUMNS " WHERE name = ?1",
	[CK_ST_CREDENTIAL_UPDATE] = "UPDATE credential SET service = ?2,"
	    " account = ?3, format = ?4, state = ?5, generation = ?6,"
	    " fingerprint = ?7 WHERE name = ?1",
	[CK_ST_CREDENTIAL_INSERT] = "INSERT INTO credential (name, service,"
	    " account, format, state, generation, fingerprint)"
	    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[CK_ST_CREDENTIAL_EACH] = CREDENTIAL_COLUMNS " ORDER BY name",

	[CK_ST_STORE_GET] = STORE_COLUMNS " WHERE id = ?1",
	[CK_ST_STORE_FIND] = STORE_TABLE_COLUMNS " WHERE kind = ?1 AND path = ?2",
	[CK_ST_STORE_KIND] = STORE_TABLE_COLUMNS " WHERE kind = ?1 ORDER BY id",
	[CK_ST_STORE_UPDATE] = "UPDATE store SET path = ?2, device = ?3,"
	    " inode = ?4 WHERE id = ?1",
	[CK_ST_STORE_INSERT] = "INSERT INTO store (kind, path, device, inode)"
	    " VALUES (?1, ?2, ?3, ?4)",
	[CK_ST_STORE_DELETE] = "DELETE FROM store WHERE id = ?1",
	[CK_ST_STORE_EACH] = STORE_COLUMNS " ORDER BY id",

	[CK_ST_PRINCIPAL_GET] = PRINCIPAL_COLUMNS " WHERE id = ?1",
	[CK_ST_PRINCIPAL_EACH] = PRINCIPAL_COLUMNS " ORDER BY id",
	[CK_ST_PRINCIPAL_HONOURS] = "UPDATE principal SET honours = ?2"
	    " WHERE id = ?1",

	[CK_ST_PRECEDENCE_CLEAR] = "DELETE FROM precedence"
	    " WHERE credential = ?1",
	[CK_ST_PRECEDENCE_READERS] = PRECEDENCE_ROWS("reader"),
	[CK_ST_PRECEDENCE_WRITERS] = PRECEDENCE_ROWS("writer"),
	[CK_ST_PRECEDENCE_EACH] = "SELECT q.credential, q.principal, q.role,"
	    " q.rank, p.honours, s.id, s.kind, s.path, s.device, s.inode"
	    " FROM precedence q NOT INDEXED JOIN principal p ON p.id = q.principal"
	    " JOIN store s ON s.id = q.store"
	    " WHERE (?1 IS NULL OR q.credential = ?1)"
	    " AND (?2 IS NULL OR q.principal = ?2)"
	    " ORDER BY q.credential, q.principal, q.role, q.rank",

	[CK_ST_PROTECTED_ADD] = "INSERT INTO protected (path, kind, deny, why)"
	    " VALUES (?1, ?2, ?3, ?4) ON CONFLICT (path) DO UPDATE SET"
	    " kind = ?2, deny = ?3, why = ?4",
	[CK_ST_PROTECTED_REMOVE] = "DELETE FROM protected WHERE path = ?1",
	[CK_ST_PROTECTED_EACH] = "SELECT path, kind, deny, why FROM protected"
	    " ORDER BY path",

	[CK_ST_JOURNAL_GET] = JOURNAL_COLUMNS(", slot"),
	[CK_ST_JOURNAL_OPEN] = "INSERT INTO journal (slot, operation, nonce,"
	    " step, from_generation, to_generation, at, credential)"
	    " VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[CK_ST_JOURNAL_STEP] = "UPDATE journal SET step = ?2"
	    " WHERE nonce = ?1",
	[CK_ST_JOURNAL_CLOSE] = "DELETE FROM journal WHERE nonce = ?1",

	[CK_ST_EVENT_LAST] = EVENT_COLUMNS " ORDER BY seq DESC LIMIT 1",
	[CK_ST_EVENT_INSERT] = "INSERT INTO event (seq, at, what, detail, prev)"
	    " VALUES (?1, ?2, ?3, ?4, ?5)",
	[CK_ST_EVENT_EACH] = EVENT_COLUMNS " ORDER BY seq",

	[CK_ST_SETTING_GET] = "SELECT value FROM setting WHERE name = ?1",
	[CK_ST_SETTING_PUT] = "INSERT INTO setting (name, value)"
	    " VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2",

	[CK_ST_SEAL_GET] = "SELECT mac FROM seal WHERE generation = ?1",
	[CK_ST_SEAL_PUT] = "INSERT INTO seal (generation, mac) VALUES (?1, ?2)"
	    " ON CONFLICT (generation) DO UPDATE SET mac = ?2",
	[CK_ST_SEAL_CLEAR] = "DELETE FROM seal",
	[CK_ST_SEAL_DROP] = "DELETE FROM seal WHERE generation <> ?1"
	    " AND generation <> ?1 - 1",

	/* What the seal covers, column by column in the published order. */
	[CK_ST_ALL_CREDENTIAL] = CREDENTIAL_COLUMNS " ORDER BY name",
	[CK_ST_ALL_STORE] = STORE_COLUMNS " ORDER BY id",
	[CK_ST_ALL_PRINCIPAL] = PRINCIPAL_COLUMNS " ORDER BY id",
	[CK_ST_ALL_PRECEDENCE] = "SELECT credential, principal, role, rank,"
	    " store FROM precedence NOT INDEXED"
	    " ORDER BY credential, principal, role, rank",
	[CK_ST_ALL_PROTECTED] = "SELECT path, kind, deny, why FROM protected"
	    " ORDER BY path",
	[CK_ST_ALL_JOURNAL] = JOURNAL_COLUMNS(""),
	[CK_ST_ALL_SETTING] = "SELECT name, value FROM setting ORDER BY name"
};

ck_err
ck_rec_prepare(struct ck_records *rec, enum ck_rec_st st,
    struct ck_fail *fail)
{
	int rc;

	if (rec->stmts[st] != NULL)
		return CK_OK;
	rc = sqlite3_prepare_v3(rec->db, texts[st], -1,
	    SQLITE_PREPARE_PERSISTENT, &rec->stmts[st], NULL);
	if (rc == SQLITE_OK)
		return CK_OK;
	return ck_rec_fail_text(rec->db, rec->path, rc, "read the schema",
	    fail);
}

/* SQLite ends a transaction by itself after some errors.  A caller that went
 * on would then change row after row, each for good. */
static ck_err
transaction_alive(struct ck_records *rec, struct ck_fail *fail)
{
	if (rec->in_tx && sqlite3_get_autocommit(rec->db))
		return ck_fail_set(fail, CK_INTERNAL, rec->path,
		    "the transaction was undone after an earlier error");
	return CK_OK;
}

static int
bind_one(sqlite3_stmt *stmt, int i, const struct ck_rec_value *v)
{
	switch (v->type) {
	case CK_V_TEXT:
		return sqlite3_bind_text(stmt, i, v->p, -1, SQLITE_STATIC);
	case CK_V_NUMBER:
		return sqlite3_bind_int64(stmt, i, v->number);
	case CK_V_BLOB:
		return sqlite3_bind_blob64(stmt, i, v->p, v->n, SQLITE_STATIC);
	case CK_V_NULL:
		return sqlite3_bind_null(stmt, i);
	}
	return SQLITE_MISUSE;
}

/* Prepared, idle, with its values; the caller calls finish(). */
static ck_err
start(struct ck_records *rec, enum ck_rec_st st,
    const struct ck_rec_value *values, sqlite3_stmt **ret,
    struct ck_fail *fail)
{
	sqlite3_stmt *stmt;
	int n, rc;
	ck_err r;

	if ((r = transaction_alive(rec, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_prepare(rec, st, fail)) != CK_OK)
		return r;
	ck_rec_clock_start(rec);
	stmt = rec->stmts[st];
	if (sqlite3_stmt_busy(stmt))
		return ck_fail_set(fail, CK_INTERNAL, rec->path,
		    "a callback called the function it was called from");
	n = sqlite3_bind_parameter_count(stmt);
	for (int i = 0; i < n; i++) {
		rc = bind_one(stmt, i + 1, &values[i]);
		if (rc != SQLITE_OK) {
			(void)sqlite3_clear_bindings(stmt);
			return ck_rec_fail(rec->db, rec->path, rc,
			    "give a value", fail);
		}
	}
	*ret = stmt;
	return CK_OK;
}

static int
step(sqlite3_stmt *stmt, int *ret_sys)
{
	int rc;

	errno = 0;
	rc = sqlite3_step(stmt);
	*ret_sys = errno;
	/* SQLite prepares again when the schema was changed; the one that is
	 * there now has not been compared with ours. */
	if (sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_REPREPARE, 0) > 0)
		return SQLITE_SCHEMA;
	return rc;
}

static void
finish(sqlite3_stmt *stmt)
{
	(void)sqlite3_reset(stmt);
	(void)sqlite3_clear_bindings(stmt);
}

ck_err
ck_rec_all(struct ck_records *rec, enum ck_rec_st st,
    const struct ck_rec_value *values, ck_rec_row_fn fn, void *arg,
    struct ck_fail *fail)
{
	struct ck_rec_row row = { rec, NULL, fail, CK_OK };
	int rc, sys = 0;
	ck_err r;

	if ((r = start(rec, st, values, &row.stmt, fail)) != CK_OK)
		return r;
	while ((rc = step(row.stmt, &sys)) == SQLITE_ROW) {
		if ((r = fn(&row, arg)) != CK_OK)
			goto out;
	}
	if (rc != SQLITE_DONE)
		r = ck_rec_fail_step(rec->db, rec->path, rc, sys,
		    "read the records", fail);
out:
	finish(row.stmt);
	return r;
}

/* Counts, and passes the first row on. */
struct once {
	ck_rec_row_fn fn;
	void *arg;
	int rows;
};

static ck_err
first_row(struct ck_rec_row *row, void *arg)
{
	struct once *once = arg;

	if (once->rows++ > 0)
		return ck_rec_damaged(row->rec->path, row->fail,
		    "two rows where one is allowed");
	return once->fn(row, once->arg);
}

ck_err
ck_rec_one(struct ck_records *rec, enum ck_rec_st st,
    const struct ck_rec_value *values, ck_rec_row_fn fn, void *arg,
    const char *what, const char *key, struct ck_fail *fail)
{
	struct once once = { fn, arg, 0 };
	ck_err r;

	if ((r = ck_rec_all(rec, st, values, first_row, &once, fail)) != CK_OK)
		return r;
	if (once.rows == 0)
		return ck_fail_set(fail, CK_ABSENT, rec->path,
		    "the records have no %s%s%s", what,
		    key[0] == '\0' ? "" : " ", key);
	return CK_OK;
}

ck_err
ck_rec_change(struct ck_records *rec, enum ck_rec_st st,
    const struct ck_rec_value *values, int *ret_rows, struct ck_fail *fail)
{
	sqlite3_stmt *stmt = NULL;
	int rc, sys = 0;
	ck_err r;

	if ((r = start(rec, st, values, &stmt, fail)) != CK_OK)
		return r;
	rc = step(stmt, &sys);
	if (rc != SQLITE_DONE)
		r = ck_rec_fail_step(rec->db, rec->path, rc, sys,
		    "change the records", fail);
	else if (ret_rows != NULL)
		*ret_rows = sqlite3_changes(rec->db);
	finish(stmt);
	return r;
}

bool
ck_rec_run_quietly(struct ck_records *rec, enum ck_rec_st st)
{
	int rc = sqlite3_step(rec->stmts[st]);

	(void)sqlite3_reset(rec->stmts[st]);
	return rc == SQLITE_DONE;
}

void
ck_rec_finalize(struct ck_records *rec)
{
	for (int i = 0; i < CK_ST_COUNT; i++) {
		(void)sqlite3_finalize(rec->stmts[i]);
		rec->stmts[i] = NULL;
	}
}
