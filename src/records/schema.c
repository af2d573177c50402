/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema, its rules and the principals; docs/records.md explains it.
 *
 * The rules are triggers and CHECKs, so that they hold for every program that
 * writes the file and not only for this one.  RAISE(ABORT) is not softened by
 * OR REPLACE or OR IGNORE, but OR REPLACE deletes rows without their delete
 * triggers: therefore the insert triggers refuse every row that is there
 * already.  Foreign keys are off by default elsewhere; what matters is
 * checked by triggers as well.
 */
#include "records_int.h"

#include <string.h>

/* Text of at most max bytes, without NUL, control characters and bearers. */
#define TEXT(column, max)                                                    \
	" CHECK (length(CAST(" column " AS BLOB)) <= " max                   \
	" AND instr(" column ", char(0)) = 0"                                \
	" AND instr(" column ", 'clankie_op_') = 0"                          \
	" AND " column " NOT GLOB"                                           \
	" '*[' || char(1) || '-' || char(31) || char(127) || ']*')"
#define NAME(column)                                                         \
	" CHECK (" column " NOT GLOB '*[^A-Za-z0-9._-]*' AND " column " <> '')" \
	TEXT(column, "63")
#define PATH(column)                                                         \
	" CHECK (substr(" column ", 1, 1) = '/')" TEXT(column, "1023")
#define HEX(column) " CHECK (" column " NOT GLOB '*[^0-9a-f]*')"
#define TIME(column)                                                         \
	" CHECK (" column " GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]" \
	"T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]Z')"
#define ABORT(text) " SELECT RAISE(ABORT, '" text "')"

/* The rules of a credential's state, for a row that is about to be. */
#define STATE_RULES                                                          \
	ABORT("a reader or writer of a dedicated credential does not have "  \
	    "the dedicated store first")                                     \
	" WHERE NEW.state = 'dedicated' AND EXISTS (SELECT 1 FROM principal p" \
	"  JOIN (SELECT 'reader' AS role UNION ALL SELECT 'writer') r"       \
	"  WHERE CASE r.role WHEN 'reader' THEN p.reader ELSE p.writer END = 1" \
	"  AND NOT EXISTS (SELECT 1 FROM precedence q"                       \
	"   JOIN store s ON s.id = q.store"                                  \
	"   WHERE q.credential = NEW.name AND q.principal = p.id"            \
	"   AND q.role = r.role AND q.rank = 0 AND s.kind = 'dedicated'));"  \
	ABORT("a credential in the broker still has a dedicated store in "   \
	    "its precedence")                                                \
	" WHERE NEW.state = 'broker' AND EXISTS (SELECT 1 FROM precedence q" \
	"  JOIN store s ON s.id = q.store"                                   \
	"  WHERE q.credential = NEW.name AND s.kind = 'dedicated');"

static const char *const schema[] = {
"CREATE TABLE credential ("
" name TEXT PRIMARY KEY NOT NULL" NAME("name") ","
" service TEXT NOT NULL" TEXT("service", "255") ","
" account TEXT NOT NULL" TEXT("account", "255") ","
" format TEXT NOT NULL" TEXT("format", "31") ","
" state TEXT NOT NULL CHECK (state IN"
"  ('broker', 'migrating', 'dedicated', 'restoring')),"
" generation INTEGER NOT NULL CHECK (generation >= 0),"
" fingerprint TEXT NOT NULL DEFAULT ''" HEX("fingerprint")
    TEXT("fingerprint", "64")
") STRICT, WITHOUT ROWID",

"CREATE TABLE store ("
" id INTEGER PRIMARY KEY NOT NULL CHECK (id > 0),"
" kind TEXT NOT NULL CHECK (kind IN"
"  ('dedicated', 'login-keychain', 'file-broker', 'dotenv')),"
" path TEXT NOT NULL" PATH("path") ","
" device INTEGER NOT NULL,"
" inode INTEGER NOT NULL,"
" UNIQUE (kind, path)"
") STRICT",
"CREATE UNIQUE INDEX store_one_dedicated ON store (kind)"
" WHERE kind = 'dedicated'",

"CREATE TABLE principal ("
" id TEXT PRIMARY KEY NOT NULL" NAME("id") ","
" what TEXT NOT NULL" TEXT("what", "255") ","
" honours TEXT NOT NULL DEFAULT 'unknown'"
"  CHECK (honours IN ('yes', 'no', 'unknown')),"
" reader INTEGER NOT NULL CHECK (reader IN (0, 1)),"
" writer INTEGER NOT NULL CHECK (writer IN (0, 1)),"
" CHECK (reader + writer > 0)"
") STRICT, WITHOUT ROWID",

"CREATE TABLE precedence ("
" credential TEXT NOT NULL REFERENCES credential (name),"
" principal TEXT NOT NULL REFERENCES principal (id),"
" role TEXT NOT NULL CHECK (role IN ('reader', 'writer')),"
" rank INTEGER NOT NULL CHECK (rank BETWEEN 0 AND 7),"
" store INTEGER NOT NULL REFERENCES store (id),"
" PRIMARY KEY (credential, principal, role, rank),"
" UNIQUE (credential, principal, role, store),"
" CHECK (role = 'reader' OR rank = 0)"
") STRICT, WITHOUT ROWID",
"CREATE INDEX precedence_store ON precedence (store)",

"CREATE TABLE protected ("
" path TEXT PRIMARY KEY NOT NULL" PATH("path") ","
" kind TEXT NOT NULL CHECK (kind IN ('directory', 'file')),"
" deny TEXT NOT NULL CHECK (deny IN ('read+write', 'write')),"
" why TEXT NOT NULL" TEXT("why", "127")
") STRICT, WITHOUT ROWID",

"CREATE TABLE journal ("
" slot INTEGER PRIMARY KEY NOT NULL CHECK (slot = 1),"
" operation TEXT NOT NULL CHECK (operation <> '')" TEXT("operation", "31") ","
" nonce TEXT NOT NULL CHECK (length(nonce) = 32)" HEX("nonce") ","
" step INTEGER NOT NULL CHECK (step BETWEEN 0 AND 1000000),"
" from_generation INTEGER NOT NULL CHECK (from_generation >= 0),"
" to_generation INTEGER NOT NULL CHECK (to_generation >= 0),"
" at TEXT NOT NULL" TIME("at") ","
" credential TEXT NOT NULL" TEXT("credential", "63")
") STRICT",

"CREATE TABLE event ("
" seq INTEGER PRIMARY KEY NOT NULL CHECK (seq > 0),"
" at TEXT NOT NULL" TIME("at") ","
" what TEXT NOT NULL CHECK (what <> '')" TEXT("what", "63") ","
" detail TEXT NOT NULL" TEXT("detail", "1535") ","
" prev TEXT NOT NULL CHECK (length(prev) = 64)" HEX("prev")
") STRICT",

"CREATE TABLE setting ("
" name TEXT PRIMARY KEY NOT NULL" NAME("name") ","
" value TEXT NOT NULL" TEXT("value", "1023")
") STRICT, WITHOUT ROWID",

"CREATE TABLE seal ("
" generation INTEGER PRIMARY KEY NOT NULL CHECK (generation >= 0),"
" mac BLOB NOT NULL CHECK (length(mac) = 32)"
") STRICT",

"CREATE VIEW reader_order"
" (credential, principal, role, rank, kind, path, decides) AS"
" SELECT q.credential, q.principal, q.role, q.rank, s.kind, s.path,"
"  q.rank = 0"
" FROM precedence q JOIN store s ON s.id = q.store"
" ORDER BY q.credential, q.principal, q.role, q.rank",

"CREATE TRIGGER precedence_insert BEFORE INSERT ON precedence BEGIN"
ABORT("this rank or this store is there already")
" WHERE EXISTS (SELECT 1 FROM precedence q"
"  WHERE q.credential = NEW.credential AND q.principal = NEW.principal"
"  AND q.role = NEW.role AND (q.rank = NEW.rank OR q.store = NEW.store));"
ABORT("the rank before this one is missing")
" WHERE NEW.rank > 0 AND NOT EXISTS (SELECT 1 FROM precedence q"
"  WHERE q.credential = NEW.credential AND q.principal = NEW.principal"
"  AND q.role = NEW.role AND q.rank = NEW.rank - 1);"
ABORT("the principal does not have this role")
" WHERE (SELECT CASE NEW.role WHEN 'reader' THEN reader ELSE writer END"
"  FROM principal WHERE id = NEW.principal) IS NOT 1;"
ABORT("there is no such credential or store")
" WHERE NOT EXISTS (SELECT 1 FROM credential WHERE name = NEW.credential)"
"  OR NOT EXISTS (SELECT 1 FROM store WHERE id = NEW.store);"
ABORT("a dedicated credential has the dedicated store first")
" WHERE NEW.rank = 0"
"  AND (SELECT state FROM credential WHERE name = NEW.credential)"
"   = 'dedicated'"
"  AND (SELECT kind FROM store WHERE id = NEW.store) <> 'dedicated';"
ABORT("a credential in state broker has no dedicated store; state migrating "
    "comes first")
" WHERE (SELECT state FROM credential WHERE name = NEW.credential) = 'broker'"
"  AND (SELECT kind FROM store WHERE id = NEW.store) = 'dedicated';"
"END",

"CREATE TRIGGER precedence_update BEFORE UPDATE ON precedence BEGIN"
ABORT("precedence rows are replaced and never edited") ";"
"END",

"CREATE TRIGGER precedence_delete BEFORE DELETE ON precedence"
" WHEN OLD.rank = 0 AND (SELECT state FROM credential"
"  WHERE name = OLD.credential) = 'dedicated'"
" BEGIN"
ABORT("a dedicated credential keeps its first store; state restoring comes "
    "first") ";"
"END",

/* What stood behind rank 0 goes with it, so that no order has a gap. */
"CREATE TRIGGER precedence_deleted AFTER DELETE ON precedence"
" WHEN OLD.rank = 0 BEGIN"
" DELETE FROM precedence WHERE credential = OLD.credential"
"  AND principal = OLD.principal AND role = OLD.role;"
"END",

"CREATE TRIGGER credential_insert BEFORE INSERT ON credential BEGIN"
STATE_RULES
"END",
"CREATE TRIGGER credential_update BEFORE UPDATE ON credential BEGIN"
ABORT("a credential keeps its name") " WHERE NEW.name <> OLD.name;"
STATE_RULES
"END",
"CREATE TRIGGER credential_delete BEFORE DELETE ON credential"
" WHEN EXISTS (SELECT 1 FROM precedence WHERE credential = OLD.name) BEGIN"
ABORT("the credential still has a precedence") ";"
"END",

"CREATE TRIGGER store_insert BEFORE INSERT ON store BEGIN"
ABORT("this store is recorded already")
" WHERE EXISTS (SELECT 1 FROM store s WHERE s.id = NEW.id"
"  OR (s.kind = NEW.kind AND s.path = NEW.path));"
ABORT("a dedicated store is recorded already")
" WHERE NEW.kind = 'dedicated'"
"  AND EXISTS (SELECT 1 FROM store WHERE kind = 'dedicated');"
"END",
"CREATE TRIGGER store_update BEFORE UPDATE ON store BEGIN"
ABORT("a store keeps its number and its kind")
" WHERE NEW.id <> OLD.id OR NEW.kind <> OLD.kind;"
ABORT("this store is recorded already")
" WHERE EXISTS (SELECT 1 FROM store s WHERE s.id <> OLD.id"
"  AND s.kind = NEW.kind AND s.path = NEW.path);"
"END",
"CREATE TRIGGER store_delete BEFORE DELETE ON store"
" WHEN EXISTS (SELECT 1 FROM precedence WHERE store = OLD.id) BEGIN"
ABORT("the store still has a place in a precedence") ";"
"END",

"CREATE TRIGGER principal_insert BEFORE INSERT ON principal"
" WHEN EXISTS (SELECT 1 FROM principal WHERE id = NEW.id) BEGIN"
ABORT("this principal is recorded already") ";"
"END",
/* One that appears later finds its place in every dedicated credential. */
"CREATE TRIGGER principal_inserted AFTER INSERT ON principal BEGIN"
" INSERT INTO precedence (credential, principal, role, rank, store)"
"  SELECT c.name, NEW.id, r.role, 0, s.id FROM credential c"
"  JOIN (SELECT 'reader' AS role UNION ALL SELECT 'writer') r"
"  JOIN store s ON s.kind = 'dedicated'"
"  WHERE c.state = 'dedicated'"
"  AND CASE r.role WHEN 'reader' THEN NEW.reader ELSE NEW.writer END = 1;"
"END",
"CREATE TRIGGER principal_update BEFORE UPDATE ON principal"
" WHEN NEW.id <> OLD.id OR NEW.reader <> OLD.reader"
"  OR NEW.writer <> OLD.writer BEGIN"
ABORT("a principal keeps its name and its roles") ";"
"END",
"CREATE TRIGGER principal_delete BEFORE DELETE ON principal"
" WHEN EXISTS (SELECT 1 FROM precedence WHERE principal = OLD.id) BEGIN"
ABORT("the principal still has a precedence") ";"
"END",

"CREATE TRIGGER journal_insert BEFORE INSERT ON journal"
" WHEN EXISTS (SELECT 1 FROM journal) BEGIN"
ABORT("an operation is open already") ";"
"END",
"CREATE TRIGGER journal_update BEFORE UPDATE ON journal"
" WHEN (NEW.slot, NEW.operation, NEW.nonce, NEW.from_generation,"
"  NEW.to_generation, NEW.at, NEW.credential) IS NOT"
"  (OLD.slot, OLD.operation, OLD.nonce, OLD.from_generation,"
"  OLD.to_generation, OLD.at, OLD.credential) BEGIN"
ABORT("only the step of an open operation changes") ";"
"END",

"CREATE TRIGGER event_insert BEFORE INSERT ON event"
" WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM event) BEGIN"
ABORT("events are only appended") ";"
"END",
"CREATE TRIGGER event_update BEFORE UPDATE ON event BEGIN"
ABORT("events are only appended") ";"
"END",
"CREATE TRIGGER event_delete BEFORE DELETE ON event BEGIN"
ABORT("events are only appended") ";"
"END"
};
#define SCHEMA (sizeof(schema) / sizeof(schema[0]))

static const struct {
	const char *id;
	int reader, writer;
	const char *honours;
	const char *what;
} principals[] = {
	{ "service-startup", 1, 1, "unknown",
	    "the service at its start; mints on the first one "
	    "(apps/clankie/src/index.ts)" },
	{ "authenticator", 1, 0, "unknown",
	    "checks each request to the service "
	    "(apps/clankie/src/operator-auth.ts)" },
	{ "dormant-body", 1, 0, "unknown",
	    "the service's dormant body, as ADR 0296 calls it; uses the "
	    "service's general broker" },
	{ "supervisor-probe", 1, 0, "unknown",
	    "health probes of the service supervisor; the bearer is passed "
	    "in" },
	{ "launcher", 1, 1, "unknown",
	    "the launcher; mints before an interactive start "
	    "(apps/tui/bin/clankie.ts)" },
	{ "tui", 1, 0, "unknown",
	    "the terminal interface; reads once (apps/tui/src/index.ts)" },
	{ "cli", 1, 1, "unknown",
	    "one-shot commands; one of them writes "
	    "(apps/tui/bin/operator-request.ts, apps/tui/src/command)" },
	{ "headless", 1, 1, "unknown",
	    "health and headless commands "
	    "(apps/tui/bin/headless-captain.ts)" },
	{ "rotation", 1, 1, "unknown",
	    "rotation of the operator bearer "
	    "(apps/tui/bin/headless-captain.ts)" },
	{ "local-sandbox-launch", 1, 0, "unknown",
	    "launch of a service in an envelope (ADR 0257); the launcher "
	    "passes the bearer on" },
	{ "api-client-script", 1, 0, "no",
	    "writes an API client's workspace; reads the login keychain past "
	    "the broker (apps/clankie/scripts/setup-yaak.py)" },
	{ "menu-bar", 1, 0, "no",
	    "the menu-bar application; reads the login keychain past the "
	    "broker (account clankie_captain)" }
};

bool
ck_records_reader_at_first(const char *id)
{
	for (size_t i = 0; i < sizeof(principals) / sizeof(principals[0]); i++)
		if (strcmp(principals[i].id, id) == 0)
			return principals[i].reader == 1;
	return false;
}

static int
seed(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int rc, end;

	rc = sqlite3_prepare_v2(db, "INSERT INTO principal (id, what, honours,"
	    " reader, writer) VALUES (?1, ?2, ?3, ?4, ?5)", -1, &stmt, NULL);
	if (rc != SQLITE_OK)
		return rc;
	for (size_t i = 0; i < sizeof(principals) / sizeof(principals[0]) &&
	    rc == SQLITE_OK; i++) {
		(void)sqlite3_bind_text(stmt, 1, principals[i].id, -1,
		    SQLITE_STATIC);
		(void)sqlite3_bind_text(stmt, 2, principals[i].what, -1,
		    SQLITE_STATIC);
		(void)sqlite3_bind_text(stmt, 3, principals[i].honours, -1,
		    SQLITE_STATIC);
		(void)sqlite3_bind_int(stmt, 4, principals[i].reader);
		(void)sqlite3_bind_int(stmt, 5, principals[i].writer);
		rc = sqlite3_step(stmt);
		if (rc == SQLITE_DONE)
			rc = sqlite3_reset(stmt);
	}
	end = sqlite3_finalize(stmt);
	return rc != SQLITE_OK ? rc : end;
}

ck_err
ck_rec_schema_make(sqlite3 *db, const char *path, struct ck_fail *fail)
{
	int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	for (size_t i = 0; i < SCHEMA && rc == SQLITE_OK; i++)
		rc = sqlite3_exec(db, schema[i], NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, CK_REC_SET_ID ";" CK_REC_SET_VERSION,
		    NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = seed(db);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		return ck_rec_fail(db, path, rc, "make the records", fail);
	return CK_OK;
}

/* What SQLite makes by itself for the UNIQUE constraints above. */
static const char *const made[] = {
	"sqlite_autoindex_store_1", "sqlite_autoindex_precedence_2"
};
#define MADE (sizeof(made) / sizeof(made[0]))
#define PARTS (SCHEMA + MADE)

/* What the owner's ANALYZE adds.  It steers which way SQLite reads, not what
 * it finds. */
static const char *const extra[] = {
	"CREATE TABLE sqlite_stat1(tbl,idx,stat)",
	"CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"
};
#define EXTRA (sizeof(extra) / sizeof(extra[0]))

/* Tick the one of the texts that is said; false when none is, or was before:
 * an edited schema can hold a text twice. */
static bool
tick(const char *said, const char *const *texts, size_t n, bool *seen)
{
	for (size_t i = 0; i < n; i++) {
		if (seen[i] || strcmp(said, texts[i]) != 0)
			continue;
		seen[i] = true;
		return true;
	}
	return false;
}

/* SQLite keeps the text of a CREATE as it was.  seen is about PARTS parts, then
 * the extra ones. */
static ck_err
expect_ours(struct ck_records *rec, sqlite3_stmt *stmt, bool *seen,
    struct ck_fail *fail)
{
	const unsigned char *name = sqlite3_column_text(stmt, 0);
	const unsigned char *text = sqlite3_column_text(stmt, 1);
	bool by_itself = sqlite3_column_type(stmt, 1) == SQLITE_NULL;
	bool ours;

	if (name == NULL || (text == NULL && !by_itself))
		return ck_rec_damaged(rec->path, fail,
		    "the schema was altered (a part has no name or text)");
	if (by_itself)
		ours = tick((const char *)name, made, MADE, seen + SCHEMA);
	else
		ours = tick((const char *)text, schema, SCHEMA, seen) ||
		    tick((const char *)text, extra, EXTRA, seen + PARTS);
	if (ours)
		return CK_OK;
	return ck_rec_damaged(rec->path, fail,
	    "the schema was altered (%.64s is not ours)", (const char *)name);
}

ck_err
ck_rec_schema_same(struct ck_records *rec, struct ck_fail *fail)
{
	bool seen[PARTS + EXTRA] = { false };
	sqlite3_stmt *stmt = NULL;
	size_t there = 0;
	int rc;
	ck_err r = CK_OK;

	ck_rec_clock_start(rec);
	/* Not by its newer name, which a table of the file may bear. */
	rc = sqlite3_prepare_v2(rec->db, "SELECT name, sql"
	    " FROM main.sqlite_master", -1, &stmt, NULL);
	if (rc != SQLITE_OK) {
		r = ck_rec_fail_text(rec->db, rec->path, rc,
		    "read the schema", fail);
		goto out;
	}
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		if ((r = expect_ours(rec, stmt, seen, fail)) != CK_OK)
			goto out;
	for (size_t i = 0; i < PARTS; i++)
		there += seen[i] ? 1 : 0;
	if (rc != SQLITE_DONE)
		r = ck_rec_fail_text(rec->db, rec->path, rc,
		    "read the schema", fail);
	else if (there != PARTS)
		r = ck_rec_damaged(rec->path, fail, "the schema was altered "
		    "(%zu of its %zu parts are there)", there, PARTS);
out:
	(void)sqlite3_finalize(stmt);
	return r;
}
