#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records whose schema was edited answer nothing, whoever asks and at once.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

t_find_tool sqlite3 || skip_all 'no sqlite3 here'

ENDLESS='WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)'

refused() { # case, SQL
	t_case "$1"
	cat "$T_TMP/kept" >"$KEYS/custody.db"
	sqlite3 "$KEYS/custody.db" "$2" >"$T_TMP/null" 2>"$T_TMP/sql"
	expect 'sqlite3 edits' test ! -s "$T_TMP/sql"
	run "$CK" get
	expect_status 13
	expect_out_empty
	expect_err_has 'records damaged'
	run "$CK" authenticate <"$T_TMP/key"
	expect_status 13
	run "$CK" precedence verify
	expect_status 13
	run "$CK" check --startup
	expect_status 21
	expect_err_has records-damaged
}

c_home
c_broker
"$CK" migrate >"$T_TMP/null"
"$CK" get --key >"$T_TMP/key"
cp "$KEYS/custody.db" "$T_TMP/kept"
T_LIMIT=5

# The index still holds the row of yesterday.
refused 'an index that answers in the place of its table' \
    'CREATE INDEX i ON credential (name, service, account, format, state,
	generation, fingerprint)'
refused 'one under a name that SQLite keeps for itself' \
    "PRAGMA writable_schema = ON; INSERT INTO sqlite_master
	SELECT type, 'sqlite_x', 'store', rootpage,
	'CREATE INDEX sqlite_x ON store (kind, path)'
	FROM sqlite_master WHERE name = 'precedence_store'"
refused 'a table that is an endless view' \
    "PRAGMA foreign_keys = OFF; DROP TABLE journal; CREATE VIEW journal AS
	$ENDLESS SELECT i AS slot, 'rotate' AS operation, '' AS nonce,
	0 AS step, 0 AS from_generation, 0 AS to_generation, '' AS at,
	'' AS credential FROM n"
refused 'the list of tables itself' \
    "PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES ('view',
	'sqlite_schema', 'sqlite_schema', 0, 'CREATE VIEW sqlite_schema AS
	$ENDLESS SELECT i AS name, i AS sql FROM n')"
refused 'a default of a gigabyte' \
    "ALTER TABLE setting ADD COLUMN more BLOB DEFAULT (zeroblob(1000000000))"
refused 'one part twice in the place of another' \
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql =
	(SELECT sql FROM sqlite_master WHERE name = 'event_update')
	WHERE name = 'event_delete'"

t_case 'what the owner may do'
cat "$T_TMP/kept" >"$KEYS/custody.db"
sqlite3 "$KEYS/custody.db" 'VACUUM; ANALYZE; REINDEX'
run "$CK" get --key
expect_status 0
expect_out_is "$T_TMP/key"
run "$CK" check --startup
expect_status 0

# A wrong answer of a stock index, which the seal does not cover.
t_case 'an index of ours that was edited'
cat "$T_TMP/kept" >"$KEYS/custody.db"
sqlite3 "$KEYS/custody.db" "PRAGMA writable_schema = ON;
    UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master
	WHERE name = 'precedence_store') WHERE name = 'store_one_dedicated'" \
    2>"$T_TMP/sql"
expect 'sqlite3 edits' test ! -s "$T_TMP/sql"
run "$CK" get --key
expect_status 0
expect_out_is "$T_TMP/key"
run "$CK" check
expect_status 21
expect_out_has records-damaged

t_case 'an edited name steers no terminal'
c_home
c_broker
"$CK" migrate >"$T_TMP/null" 2>&1
esc=$(printf '\033')
sqlite3 "$KEYS/custody.db" "PRAGMA ignore_check_constraints = ON;
    UPDATE principal SET what = 'a' || char(10) || char(27) || '[2Jb'
    WHERE id = 'cli'" >"$T_TMP/null" 2>&1
run "$CK" precedence explain cli
refute 'no escape sequence is printed' grep -q "$esc" "$T_OUT"
refute 'and no line of its own' grep -q '^.\[2Jb' "$T_OUT"
