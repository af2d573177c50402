/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the file itself refuses, whoever writes it: SQL as another program
 * sends it, with foreign keys off as SQLite has them by default.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help_records.h"

#define BEARER_LIKE "clankie_" "op_" "x"

struct attempt {
	const char *sql;
	const char *why;      /* part of SQLite's message */
};

/* Each attempt fails, for its reason, and changes nothing. */
static void
all_refused(struct help_records *fx, const struct attempt *a, size_t n)
{
	char *before = help_records_dump(fx), *after;

	for (size_t i = 0; i < n; i++) {
		sqlite3 *db = help_records_raw(fx);
		char *text = NULL;
		int rc = sqlite3_exec(db, a[i].sql, NULL, NULL, &text);

		if (rc != SQLITE_CONSTRAINT || text == NULL ||
		    strstr(text, a[i].why) == NULL)
			fail_msg("%s: %d %s", a[i].sql, rc,
			    text == NULL ? "" : text);
		sqlite3_free(text);
		assert_int_equal(sqlite3_close(db), SQLITE_OK);
		after = help_records_dump(fx);
		assert_string_equal(before, after);
		free(after);
	}
	free(before);
}
#define ALL_REFUSED(fx, list)                                                \
	all_refused(fx, list, sizeof(list) / sizeof((list)[0]))

#define ROW(principal, role, rank, store)                                    \
	"('operator','" principal "','" role "'," rank "," store ")"
#define INTO "INTO precedence VALUES "

static void
broken_precedence_of_a_dedicated_credential_is_refused(void **state)
{
	static const struct attempt list[] = {
		{ "DELETE FROM precedence", "keeps its first store" },
		{ "DELETE FROM precedence WHERE principal = 'tui'",
		    "keeps its first store" },
		{ "UPDATE precedence SET store = 1 WHERE rank = 0",
		    "never edited" },
		{ "UPDATE OR REPLACE precedence SET rank = 0 WHERE rank = 1",
		    "never edited" },
		{ "REPLACE " INTO ROW("tui", "reader", "0", "1"),
		    "there already" },
		{ "REPLACE " INTO ROW("tui", "reader", "1", "2"),
		    "there already" },
		{ "REPLACE " INTO ROW("tui", "reader", "2", "2"),
		    "there already" },
		{ "INSERT " INTO ROW("cli", "writer", "1", "1"),
		    "rank = 0" },
		{ "INSERT OR IGNORE " INTO ROW("cli", "writer", "0", "1"),
		    "there already" },
		{ "INSERT " INTO ROW("cli", "writer", "0", "1"),
		    "there already" },
		{ "INSERT " INTO ROW("tui", "writer", "0", "2"),
		    "does not have this role" },
		{ "INSERT " INTO ROW("tui", "reader", "3", "9"),
		    "rank before this one" },
		{ "UPDATE store SET kind = 'dotenv' WHERE id = 2",
		    "its kind" },
		{ "UPDATE store SET id = 5 WHERE id = 2", "its number" },
		{ "DELETE FROM store WHERE id = 2", "place in a precedence" },
		{ "DELETE FROM store WHERE id = 1", "place in a precedence" },
		{ "REPLACE INTO store VALUES (2, 'dotenv', '/x', 0, 0)",
		    "recorded already" },
		{ "REPLACE INTO store SELECT 7, kind, path, 0, 0 FROM store"
		    " WHERE id = 2", "recorded already" },
		{ "INSERT INTO store VALUES (7, 'dedicated', '/x', 0, 0)",
		    "dedicated store is recorded" },
		{ "UPDATE credential SET state = 'broker'",
		    "still has a dedicated store" },
		{ "REPLACE INTO credential SELECT name, service, account,"
		    " format, 'broker', 0, '' FROM credential",
		    "still has a dedicated store" },
		{ "UPDATE credential SET name = 'x'", "keeps its name" },
		{ "DELETE FROM credential", "still has a precedence" },
		{ "INSERT INTO credential VALUES"
		    " ('x', 's', 'a', 'f', 'dedicated', 0, '')",
		    "dedicated store first" },
		{ "DELETE FROM principal WHERE id = 'tui'",
		    "still has a precedence" },
		{ "UPDATE principal SET reader = 0, writer = 1"
		    " WHERE id = 'tui'", "its roles" },
		{ "REPLACE INTO principal VALUES ('tui', '', 'yes', 0, 1)",
		    "recorded already" }
	};
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);

	help_records_migrate(rec);
	ck_records_close(&rec);
	ALL_REFUSED(fx, list);
}

/* Of the way in: no state without its precedence, no precedence without its
 * state, whatever is missing. */
static void
state_without_its_precedence_is_refused(void **state)
{
	static const struct attempt list[] = {
		{ "UPDATE credential SET state = 'dedicated'",
		    "dedicated store first" },
		{ "INSERT " INTO ROW("tui", "reader", "1", "2"),
		    "state migrating comes first" },
		{ "INSERT " INTO ROW("nobody", "reader", "0", "1"),
		    "does not have this role" },
		{ "INSERT INTO precedence VALUES"
		    " ('x', 'tui', 'reader', 0, 1)",
		    "no such credential or store" },
		{ "INSERT " INTO ROW("tui", "reader", "1", "9"),
		    "no such credential or store" },
		{ "BEGIN; UPDATE credential SET state = 'migrating';"
		    " DELETE FROM precedence;"
		    " INSERT INTO precedence SELECT 'operator', id, 'reader',"
		    "  0, 2 FROM principal WHERE reader;"
		    " UPDATE credential SET state = 'dedicated'",
		    "dedicated store first" },
		{ "BEGIN; UPDATE credential SET state = 'migrating';"
		    " DELETE FROM precedence;"
		    " INSERT INTO precedence SELECT 'operator', id, 'reader',"
		    "  0, 2 FROM principal WHERE reader;"
		    " INSERT INTO precedence SELECT 'operator', id, 'writer',"
		    "  0, CASE id WHEN 'cli' THEN 1 ELSE 2 END FROM principal"
		    "  WHERE writer;"
		    " UPDATE credential SET state = 'dedicated'",
		    "dedicated store first" }
	};
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);

	help_records_fill(rec);
	ck_records_close(&rec);
	ALL_REFUSED(fx, list);
}

static void
principal_that_appears_later_gets_the_dedicated_store(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);

	help_records_migrate(rec);
	ck_records_close(&rec);
	assert_int_equal(help_records_sql(fx, "INSERT INTO principal VALUES"
	    " ('later', '', 'unknown', 1, 1)"), SQLITE_OK);
	assert_int_equal(help_records_count(fx, "SELECT count(*) FROM"
	    " reader_order WHERE principal = 'later' AND decides"
	    " AND kind = 'dedicated'"), 2);
}

static void
rows_that_make_no_sense_are_refused(void **state)
{
	static const struct attempt list[] = {
		{ "INSERT INTO credential VALUES"
		    " ('', 's', 'a', 'f', 'broker', 0, '')", "CHECK" },
		{ "INSERT INTO credential VALUES"
		    " ('a b', 's', 'a', 'f', 'broker', 0, '')", "CHECK" },
		{ "INSERT INTO credential VALUES"
		    " ('x', 's' || char(0) || 't', 'a', 'f', 'broker', 0,"
		    " '')", "CHECK" },
		{ "INSERT INTO credential VALUES"
		    " ('x', 's' || char(10), 'a', 'f', 'broker', 0, '')",
		    "CHECK" },
		{ "INSERT INTO credential VALUES"
		    " ('x', 's', hex(zeroblob(200)), 'f', 'broker', 0, '')",
		    "CHECK" },
		{ "INSERT INTO credential VALUES"
		    " ('x', 's', 'a', 'f', 'somewhere', 0, '')", "CHECK" },
		{ "INSERT INTO credential VALUES"
		    " ('x', 's', 'a', 'f', 'broker', -1, '')", "CHECK" },
		{ "INSERT INTO credential VALUES"
		    " ('x', 's', 'a', 'f', 'broker', 'one', '')", "store" },
		{ "INSERT INTO credential VALUES"
		    " ('x', 's', 'a', 'f', 'broker', 0, 'XY')", "CHECK" },
		{ "INSERT INTO store VALUES (7, 'usb-stick', '/x', 0, 0)",
		    "CHECK" },
		{ "INSERT INTO store VALUES (7, 'dotenv', 'x', 0, 0)",
		    "CHECK" },
		{ "INSERT INTO principal VALUES ('x', '', 'perhaps', 1, 0)",
		    "CHECK" },
		{ "INSERT INTO principal VALUES ('x', '', 'yes', 0, 0)",
		    "CHECK" },
		{ "INSERT INTO protected VALUES ('x', 'file', 'write', '')",
		    "CHECK" },
		{ "INSERT INTO protected VALUES ('/x', 'pipe', 'write', '')",
		    "CHECK" },
		{ "INSERT INTO protected VALUES ('/x', 'file', 'read', '')",
		    "CHECK" },
		{ "INSERT INTO journal VALUES (2, 'migrate',"
		    " lower(hex(zeroblob(16))), 0, 0, 0,"
		    " '2024-01-02T03:04:05Z', '')", "CHECK" },
		{ "INSERT INTO journal VALUES (1, 'migrate', 'short', 0, 0,"
		    " 0, '2024-01-02T03:04:05Z', '')", "CHECK" },
		{ "INSERT INTO journal VALUES (1, 'migrate',"
		    " lower(hex(zeroblob(16))), 0, 0, 0, 'yesterday', '')",
		    "CHECK" },
		{ "INSERT INTO seal VALUES (0, zeroblob(31))", "CHECK" },
		{ "INSERT INTO setting VALUES ('x', '" BEARER_LIKE "')",
		    "CHECK" },
		{ "INSERT INTO event VALUES (1, '2024-01-02T03:04:05Z', 'e',"
		    " '" BEARER_LIKE "', lower(hex(zeroblob(32))))",
		    "CHECK" },
		{ "INSERT INTO event VALUES (2, '2024-01-02T03:04:05Z', 'e',"
		    " '', lower(hex(zeroblob(32))))", "only appended" }
	};
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);

	ck_records_close(&rec);
	ALL_REFUSED(fx, list);
}

static const struct ck_rec_journal migrate = {
	.operation = "migrate",
	.nonce = "0123456789abcdef0123456789abcdef",
	.from_generation = 1,
	.to_generation = 2,
	.credential = "operator"
};

static void
one_operation_is_open_at_most(void **state)
{
	static const struct attempt list[] = {
		{ "INSERT INTO journal SELECT 2, operation, nonce, step,"
		    " from_generation, to_generation, at, credential"
		    " FROM journal", "open already" },
		{ "REPLACE INTO journal SELECT 1, 'rotate', nonce, step,"
		    " from_generation, to_generation, at, credential"
		    " FROM journal", "open already" },
		{ "UPDATE journal SET nonce = lower(hex(zeroblob(16)))",
		    "only the step" },
		{ "UPDATE journal SET step = -1", "CHECK" }
	};
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_rec_journal j = migrate, got = { .step = 42 };

	assert_int_equal(ck_records_journal_get(rec, &got, &fx->fail),
	    CK_ABSENT);
	assert_int_equal(got.step, 42);
	memcpy(j.nonce, "x", 2);
	assert_int_equal(ck_records_journal_open(rec, &j, &fx->fail),
	    CK_REFUSED);
	assert_int_equal(ck_records_journal_open(rec, &migrate, &fx->fail),
	    CK_OK);
	assert_int_equal(ck_records_journal_open(rec, &migrate, &fx->fail),
	    CK_BUSY);
	assert_non_null(strstr(fx->fail.why, "migrate of operator"));
	ALL_REFUSED(fx, list);
	assert_int_equal(ck_records_journal_step(rec, migrate.nonce, 3,
	    &fx->fail), CK_OK);
	assert_int_equal(ck_records_journal_step(rec, j.nonce, 4, &fx->fail),
	    CK_CHANGED);
	assert_int_equal(ck_records_journal_close(rec, j.nonce, &fx->fail),
	    CK_CHANGED);
	assert_int_equal(ck_records_journal_get(rec, &got, &fx->fail),
	    CK_OK);
	assert_int_equal(got.step, 3);
	assert_int_equal(got.to_generation, 2);
	assert_int_equal(strlen(got.at), CK_CLOCK_ISO_SIZE - 1);
	assert_int_equal(ck_records_journal_close(rec, migrate.nonce,
	    &fx->fail), CK_OK);
	assert_int_equal(ck_records_journal_get(rec, &got, &fx->fail),
	    CK_ABSENT);
	ck_records_close(&rec);
}

/* The seal leaves the slot out, and SQLite leaves the constraint out for a
 * handle that only reads. */
static void
an_operation_in_another_slot_is_damaged(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_rec_journal got = { .step = 42 };

	assert_int_equal(ck_records_journal_open(rec, &migrate, &fx->fail),
	    CK_OK);
	ck_records_close(&rec);
	/* A new row, since a trigger keeps the old one as it is. */
	assert_int_equal(help_records_sql(fx,
	    "PRAGMA ignore_check_constraints = ON;"
	    "CREATE TEMP TABLE kept AS SELECT * FROM journal;"
	    "DELETE FROM journal; INSERT INTO journal SELECT 2, operation,"
	    " nonce, step, from_generation, to_generation, at, credential"
	    " FROM kept"), SQLITE_OK);
	rec = help_records_open(fx, CK_REC_READ);
	assert_int_equal(ck_records_journal_get(rec, &got, &fx->fail),
	    CK_DAMAGED);
	assert_int_equal(got.step, 42);
	ck_records_close(&rec);
}

static void
events_are_only_appended(void **state)
{
	static const struct attempt list[] = {
		{ "DELETE FROM event", "only appended" },
		{ "UPDATE event SET detail = 'x' WHERE seq = 1",
		    "only appended" },
		{ "REPLACE INTO event SELECT seq, at, what, 'x', prev"
		    " FROM event WHERE seq = 3", "only appended" },
		{ "INSERT INTO event SELECT 9, at, what, 'x', prev"
		    " FROM event WHERE seq = 3", "only appended" }
	};
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);

	for (int i = 0; i < 3; i++)
		assert_int_equal(ck_records_event(rec, "step", "a\tb",
		    &fx->fail), CK_OK);
	ALL_REFUSED(fx, list);
	assert_int_equal(help_records_count(fx, "SELECT count(*) FROM event"
	    " WHERE detail = 'a?b'"), 3);
	ck_records_close(&rec);
}

/* Somebody takes the trigger away, edits, and puts it back. */
static void
edit_event(struct help_records *fx, const char *edit)
{
	sqlite3 *db = help_records_raw(fx);
	sqlite3_stmt *stmt = NULL;
	char saved[3][512], sql[128];

	static const char *const names[] = { "event_insert", "event_update",
	    "event_delete" };
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(sqlite3_prepare_v2(db, "SELECT sql FROM"
		    " sqlite_schema WHERE name = ?1", -1, &stmt, NULL),
		    SQLITE_OK);
		assert_int_equal(sqlite3_bind_text(stmt, 1, names[i], -1,
		    SQLITE_STATIC), SQLITE_OK);
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		(void)snprintf(saved[i], sizeof(saved[i]), "%s",
		    (const char *)sqlite3_column_text(stmt, 0));
		assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
		(void)snprintf(sql, sizeof(sql), "DROP TRIGGER %s", names[i]);
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL),
		    SQLITE_OK);
	}
	assert_int_equal(sqlite3_exec(db, edit, NULL, NULL, NULL),
	    SQLITE_OK);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(sqlite3_exec(db, saved[i], NULL, NULL,
		    NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void
chain_breaks(void **state, const char *edit, const char *why)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);

	for (int i = 0; i < 4; i++)
		assert_int_equal(ck_records_event(rec, "step", "x",
		    &fx->fail), CK_OK);
	assert_int_equal(ck_records_events_verify(rec, &fx->fail), CK_OK);
	ck_records_close(&rec);
	edit_event(fx, edit);
	rec = help_records_open(fx, CK_REC_WRITE);
	assert_int_equal(ck_records_events_verify(rec, &fx->fail),
	    CK_DAMAGED);
	assert_non_null(strstr(fx->fail.why, why));
	assert_int_equal(ck_records_check(rec, &fx->fail), CK_DAMAGED);
	ck_records_close(&rec);
}

static void
edited_event_breaks_the_chain(void **state)
{
	chain_breaks(state, "UPDATE event SET detail = 'y' WHERE seq = 2",
	    "event 2");
}

static void
event_taken_out_breaks_the_chain(void **state)
{
	chain_breaks(state, "DELETE FROM event WHERE seq = 2", "event 2");
}

static void
first_event_taken_out_breaks_the_chain(void **state)
{
	chain_breaks(state, "DELETE FROM event WHERE seq = 1", "event 1");
}

/* The published list; a new column is a decision and not an accident. */
static void
schema_has_the_published_columns_and_none_for_a_secret(void **state)
{
	static const char want[] =
	    "credential(name,service,account,format,state,generation,"
	    "fingerprint) event(seq,at,what,detail,prev) "
	    "journal(slot,operation,nonce,step,from_generation,"
	    "to_generation,at,credential) "
	    "precedence(credential,principal,role,rank,store) "
	    "principal(id,what,honours,reader,writer) "
	    "protected(path,kind,deny,why) "
	    "reader_order(credential,principal,role,rank,kind,path,decides) "
	    "seal(generation,mac) setting(name,value) "
	    "store(id,kind,path,device,inode)";
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db;

	ck_records_close(&rec);
	db = help_records_raw(fx);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT group_concat(t, ' ')"
	    " FROM (SELECT m.name || '(' || (SELECT group_concat(name)"
	    " FROM pragma_table_info(m.name)) || ')' AS t"
	    " FROM sqlite_schema m WHERE m.type IN ('table', 'view')"
	    " ORDER BY m.name)", -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(stmt, 0),
	    want);
	assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	/* STRICT every one of them. */
	assert_int_equal(help_records_count(fx, "SELECT count(*) FROM"
	    " pragma_table_list WHERE type = 'table' AND strict = 1"), 9);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, help_records_setup,       \
	    help_records_teardown)
	const struct CMUnitTest tests[] = {
		CASE(broken_precedence_of_a_dedicated_credential_is_refused),
		CASE(state_without_its_precedence_is_refused),
		CASE(principal_that_appears_later_gets_the_dedicated_store),
		CASE(rows_that_make_no_sense_are_refused),
		CASE(one_operation_is_open_at_most),
		CASE(an_operation_in_another_slot_is_damaged),
		CASE(events_are_only_appended),
		CASE(edited_event_breaks_the_chain),
		CASE(event_taken_out_breaks_the_chain),
		CASE(first_event_taken_out_breaks_the_chain),
		CASE(schema_has_the_published_columns_and_none_for_a_secret)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
