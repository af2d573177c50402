/* SPDX-License-Identifier: Apache-2.0 */
/* Shared inside src/records; nobody else includes it or sees SQLite. */
#ifndef CK_RECORDS_INT_H
#define CK_RECORDS_INT_H

#include <sqlite3.h>

#include "records.h"

/* Every statement there is; the texts are in stmt.c. */
enum ck_rec_st {
	CK_ST_BEGIN, CK_ST_BEGIN_READ, CK_ST_COMMIT, CK_ST_ROLLBACK,
	CK_ST_SAVE, CK_ST_RELEASE, CK_ST_UNDO,
	CK_ST_CREDENTIAL_GET, CK_ST_CREDENTIAL_UPDATE,
	CK_ST_CREDENTIAL_INSERT, CK_ST_CREDENTIAL_EACH,
	CK_ST_STORE_GET, CK_ST_STORE_FIND, CK_ST_STORE_KIND,
	CK_ST_STORE_UPDATE, CK_ST_STORE_INSERT, CK_ST_STORE_DELETE,
	CK_ST_STORE_EACH,
	CK_ST_PRINCIPAL_GET, CK_ST_PRINCIPAL_EACH, CK_ST_PRINCIPAL_HONOURS,
	CK_ST_PRECEDENCE_CLEAR, CK_ST_PRECEDENCE_READERS,
	CK_ST_PRECEDENCE_WRITERS, CK_ST_PRECEDENCE_EACH,
	CK_ST_PROTECTED_ADD, CK_ST_PROTECTED_REMOVE, CK_ST_PROTECTED_EACH,
	CK_ST_JOURNAL_GET, CK_ST_JOURNAL_OPEN, CK_ST_JOURNAL_STEP,
	CK_ST_JOURNAL_CLOSE,
	CK_ST_EVENT_LAST, CK_ST_EVENT_INSERT, CK_ST_EVENT_EACH,
	CK_ST_SETTING_GET, CK_ST_SETTING_PUT,
	CK_ST_SEAL_GET, CK_ST_SEAL_PUT, CK_ST_SEAL_DROP, CK_ST_SEAL_CLEAR,
	CK_ST_ALL_CREDENTIAL, CK_ST_ALL_STORE, CK_ST_ALL_PRINCIPAL,
	CK_ST_ALL_PRECEDENCE, CK_ST_ALL_PROTECTED, CK_ST_ALL_JOURNAL,
	CK_ST_ALL_SETTING,
	CK_ST_COUNT
};

#define CK_REC_TEXT_OF(x) #x
#define CK_REC_TEXT(x) CK_REC_TEXT_OF(x)
#define CK_REC_SET_ID                                                        \
	"PRAGMA application_id = " CK_REC_TEXT(CK_REC_APPLICATION_ID)
#define CK_REC_SET_VERSION                                                   \
	"PRAGMA user_version = " CK_REC_TEXT(CK_REC_VERSION)

struct ck_records {
	sqlite3 *db;
	enum ck_rec_how how;
	uint64_t until;          /* when the running statement is ended */
	bool in_tx;              /* between begin and commit or rollback */
	char path[CK_PATH_MAX];  /* of the file, for messages */
	sqlite3_stmt *stmts[CK_ST_COUNT];   /* prepared at first use */
};

/* ---- map.c: what SQLite says, in our words ---- */

/* The code for an extended result code; sys is the errno behind it or 0. */
ck_err ck_rec_map(int rc, int sys);
/* Record why a call on db failed with rc.  doing says what was tried. */
ck_err ck_rec_fail(sqlite3 *db, const char *path, int rc, const char *doing,
    struct ck_fail *fail);
/* The same after a step that left errno at sys, which was 0 before it. */
ck_err ck_rec_fail_step(sqlite3 *db, const char *path, int rc, int sys,
    const char *doing, struct ck_fail *fail);
/* The same for SQL whose text is constant and right for our schema: an error
 * in it means that the file has another one, CK_DAMAGED. */
ck_err ck_rec_fail_text(sqlite3 *db, const char *path, int rc,
    const char *doing, struct ck_fail *fail);
/* Before db is called damaged: the code and errno of a call on its file that
 * failed, CK_OK when none did. */
ck_err ck_rec_unread(sqlite3 *db, const char *path, const char *doing,
    struct ck_fail *fail);
/* CK_DAMAGED with the step that goes with it. */
ck_err ck_rec_damaged(const char *path, struct ck_fail *fail,
    const char *fmt, ...) CK_PRINTF(3, 4);

/* ---- stmt.c: statements, values, rows ---- */

enum ck_rec_type { CK_V_TEXT, CK_V_NUMBER, CK_V_BLOB, CK_V_NULL };

/* A value to bind; text and bytes live until the call returns. */
struct ck_rec_value {
	enum ck_rec_type type;
	const void *p;
	size_t n;            /* bytes, CK_V_BLOB only */
	int64_t number;
};

#define CK_V_T(s) ((struct ck_rec_value){ CK_V_TEXT, (s), 0, 0 })
#define CK_V_I(i) ((struct ck_rec_value){ CK_V_NUMBER, NULL, 0, (int64_t)(i) })
#define CK_V_B(b, k) ((struct ck_rec_value){ CK_V_BLOB, (b), (k), 0 })
#define CK_V_0 ((struct ck_rec_value){ CK_V_NULL, NULL, 0, 0 })
/* The values of one statement, in the order of its parameters. */
#define CK_VALUES(...) ((const struct ck_rec_value[]){ __VA_ARGS__ })

/* A row being read.  The first column that is not what it must be sets r, and
 * is named; later ones leave it. */
struct ck_rec_row {
	struct ck_records *rec;
	sqlite3_stmt *stmt;
	struct ck_fail *fail;
	ck_err r;
};

/* Called for a row; a result other than CK_OK stops. */
typedef ck_err (*ck_rec_row_fn)(struct ck_rec_row *row, void *arg);

/* Run a statement for every row it gives. */
CK_MUST_USE ck_err ck_rec_all(struct ck_records *rec, enum ck_rec_st st,
    const struct ck_rec_value *values, ck_rec_row_fn fn, void *arg,
    struct ck_fail *fail);
/* The same for a statement that gives one row at most.  Without one: CK_ABSENT,
 * saying that the records have no "what" "key". */
CK_MUST_USE ck_err ck_rec_one(struct ck_records *rec, enum ck_rec_st st,
    const struct ck_rec_value *values, ck_rec_row_fn fn, void *arg,
    const char *what, const char *key, struct ck_fail *fail);
/* Run a statement that changes; *ret_rows (may be NULL) is how many rows. */
CK_MUST_USE ck_err ck_rec_change(struct ck_records *rec, enum ck_rec_st st,
    const struct ck_rec_value *values, int *ret_rows, struct ck_fail *fail);
/* Prepare it now, so that running it later needs less. */
CK_MUST_USE ck_err ck_rec_prepare(struct ck_records *rec, enum ck_rec_st st,
    struct ck_fail *fail);
/* Run a prepared statement without values; true when it did its work. */
bool ck_rec_run_quietly(struct ck_records *rec, enum ck_rec_st st);
void ck_rec_finalize(struct ck_records *rec);

/* ---- value.c ---- */

void ck_rec_text(struct ck_rec_row *row, int column, char *ret, size_t n);
int64_t ck_rec_number(struct ck_rec_row *row, int column);
void ck_rec_blob(struct ck_rec_row *row, int column, uint8_t *ret, size_t n);

/*
 * A value fits into n bytes with its NUL, has no control character and
 * nothing that looks like a bearer; empty only if allowed.  what names the
 * field; the value itself is never shown.  CK_REFUSED.
 */
CK_MUST_USE ck_err ck_rec_check_text(const struct ck_records *rec,
    const char *what, const char *value, size_t n, bool may_be_empty,
    struct ck_fail *fail);
/* The same for an absolute path. */
CK_MUST_USE ck_err ck_rec_check_path(const struct ck_records *rec,
    const char *what, const char *value, struct ck_fail *fail);
/* A number SQLite can hold as it is. */
CK_MUST_USE ck_err ck_rec_check_generation(const struct ck_records *rec,
    uint64_t value, struct ck_fail *fail);

/* The place of a name in a list of n names.  A column that has none of them
 * is damage. */
int ck_rec_choice(struct ck_rec_row *row, int column,
    const char *const *names, size_t n);

/* ---- records.c: a change of several statements ---- */

/* Its own transaction, or a savepoint in the caller's.  *ret_own says which. */
CK_MUST_USE ck_err ck_rec_enter(struct ck_records *rec, bool *ret_own,
    struct ck_fail *fail);
/* Keep it when r is CK_OK, else undo it.  Gives r, or why it was not kept. */
CK_MUST_USE ck_err ck_rec_leave(struct ck_records *rec, bool own, ck_err r,
    struct ck_fail *fail);

/* ---- schema.c ---- */

/* Make schema and principals in an empty database. */
CK_MUST_USE ck_err ck_rec_schema_make(sqlite3 *db, const char *path,
    struct ck_fail *fail);
/* The schema of the file is exactly ours: no part missing, none added, none
 * that SQLite keeps for itself.  CK_DAMAGED names what differs. */
CK_MUST_USE ck_err ck_rec_schema_same(struct ck_records *rec,
    struct ck_fail *fail);

/* ---- create.c ---- */

/* Put a complete new file into the directory, unless one is there already. */
CK_MUST_USE ck_err ck_rec_create(int dirfd, const char *path,
    struct ck_fail *fail);

/* ---- pragma.c ---- */

/* A statement begins: from now on it may take CK_REC_RUN_MS. */
void ck_rec_clock_start(struct ck_records *rec);

/* Set what this connection needs and read every setting back.  CK_UNSUPPORTED
 * names the one SQLite did not take. */
CK_MUST_USE ck_err ck_rec_pragmas(struct ck_records *rec,
    struct ck_fail *fail);
/* Read the header through SQLite's own descriptor: ours, our version or
 * older, rollback journal. */
CK_MUST_USE ck_err ck_rec_header(struct ck_records *rec,
    struct ck_fail *fail);

/* ---- store.c ---- */

/* Read a store row from five columns on. */
void ck_rec_read_store(struct ck_rec_row *row, int column,
    struct ck_rec_store *ret);

/* ---- event.c ---- */

/* Number and hash (hex) of the last event; 0 and zeros when there is none. */
CK_MUST_USE ck_err ck_rec_event_head(struct ck_records *rec,
    uint64_t *ret_seq, char ret_hash[65], struct ck_fail *fail);

#endif
