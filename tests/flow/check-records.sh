#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What check finds about the records: gone, damaged, edited, put back to an
# earlier day, unfinished, kept busy.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"

# As an attacker would: without the triggers and constraints that stop him, and
# all of it back in place afterwards, word for word.
edit() {
	sqlite3 "$KEYS/custody.db" "SELECT 'DROP TRIGGER ' || name || ';'
	    FROM sqlite_schema WHERE type = 'trigger'" >"$T_TMP/drop.sql"
	sqlite3 "$KEYS/custody.db" "SELECT sql || ';'
	    FROM sqlite_schema WHERE type = 'trigger'" >"$T_TMP/back.sql"
	{
		echo 'PRAGMA foreign_keys = OFF;'
		echo 'PRAGMA ignore_check_constraints = ON;'
		cat "$T_TMP/drop.sql"
		echo "$1;"
		cat "$T_TMP/back.sql"
	} | sqlite3 "$KEYS/custody.db" >"$T_TMP/null" 2>"$T_TMP/sql"
	expect "$1: sqlite3 edits" test ! -s "$T_TMP/sql"
}

k_custody
k_copy

k_back 'the records are gone'
rm "$KEYS/custody.db"
k_finds 21 records-missing
k_back 'the records are empty'
: >"$KEYS/custody.db"
k_finds 21 records-damaged
k_back 'the records are cut off'
head -c 20000 "$KEYS/custody.db" >"$T_TMP/new"
cat "$T_TMP/new" >"$KEYS/custody.db"
k_finds 21 records-damaged

t_find_tool sqlite3 || {
	skip 'edited records' 'no sqlite3 here'
	exit 0
}
k_back 'the records are newer'
sqlite3 "$KEYS/custody.db" 'PRAGMA user_version = 99'
k_finds 21 records-unreadable
k_back 'the records are of another program'
sqlite3 "$KEYS/custody.db" 'PRAGMA application_id = 1'
k_finds 21 records-unreadable
k_back 'an edited row'
sqlite3 "$KEYS/custody.db" "UPDATE protected SET why = 'x'
    WHERE why = 'settings'"
k_finds 21 seal-broken
k_back 'another name for the credential'
edit "UPDATE credential SET name = 'other'"
k_has_after 21 seal-broken
k_back 'a protected path taken away'
sqlite3 "$KEYS/custody.db" "DELETE FROM protected WHERE why = 'settings'"
k_finds 21 seal-broken
k_back 'a schema without one of its triggers'
sqlite3 "$KEYS/custody.db" 'DROP TRIGGER event_delete'
k_finds 21 records-damaged
k_back 'an event that was edited'
edit "UPDATE event SET detail = 'x' WHERE seq = 1"
k_finds 21 event-chain-broken
k_back 'a principal that asks another store first'
edit "UPDATE OR REPLACE precedence SET store = (SELECT id FROM store
    WHERE kind = 'file-broker') WHERE principal = 'authenticator' AND rank = 0"
k_has_after 21 precedence-not-first
k_check --as authenticator
k_has precedence-not-first
k_check --as service-startup
k_has_not precedence-not-first
k_back 'a principal without a store'
edit "DELETE FROM precedence WHERE principal = 'launcher'"
k_has_after 21 precedence-not-first
k_back 'a dedicated keychain elsewhere'
edit "UPDATE store SET path = path || 'x' WHERE kind = 'dedicated'"
k_has_after 21 precedence-not-first
for operation in migrate rotate restore nonsense; do
	k_back "a forged unfinished $operation"
	sqlite3 "$KEYS/custody.db" "INSERT INTO journal (operation, nonce,
	    credential, step, from_generation, to_generation, at) VALUES
	    ('$operation', '00000000000000000000000000000000', 'operator', 1,
	    0, 1, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))" 2>"$T_TMP/sql"
	expect 'a row was made' test ! -s "$T_TMP/sql"
	k_finds 21 'journal-open seal-broken'
	run "$CK" check
	case $operation in
	migrate | rotate | restore)
		expect_out_has "clankie-keys $operation operator"
		;;
	*) refute 'no such command is promised' \
	    grep -q "clankie-keys $operation" "$T_OUT" ;;
	esac
done

k_back 'old records beside a newer keychain'
cp "$KEYS/custody.db" "$T_TMP/old.db"
run "$CK" rotate
expect_status 0
run "$CK" check
expect_status 0
k_expect ''
cat "$T_TMP/old.db" >"$KEYS/custody.db"
k_finds 21 generation-behind
k_back 'an old keychain beside newer records'
cp "$DEDICATED" "$T_TMP/old.keychain"
run "$CK" rotate
expect_status 0
cat "$T_TMP/old.keychain" >"$DEDICATED"
k_finds 21 generation-behind

# A FIFO says when the lock is held, another one ends it.
hold() {
	rm -f "$T_TMP/held" "$T_TMP/end"
	mkfifo "$T_TMP/held" "$T_TMP/end"
	{ printf 'BEGIN EXCLUSIVE;\n.shell echo held >%s\n.shell cat %s\n' \
	    "$T_TMP/held" "$T_TMP/end"; } |
	    sqlite3 "$KEYS/custody.db" >/dev/null 2>"$T_TMP/sql" &
	holder=$!
	read -r _ <"$T_TMP/held"
}

k_back 'somebody keeps the records'
hold
T_LIMIT=2
run "$CK" check --startup --as service-startup
expect_status 21
expect_out_empty
k_one_line
expect_err_has no-answer
run "$CK" check --startup --json
expect_status 21
expect_json ok false
expect_json findings.0.code no-answer
expect_json findings.0.severity error
expect_json findings.0.place ''
k_one_line
T_LIMIT=20
run "$CK" check
expect_status 21
k_has records-unreadable
echo >"$T_TMP/end"
wait "$holder"
k_gate 0

k_back 'a password that never comes'
mkfifo "$T_TMP/never"
exec 7<>"$T_TMP/never"
T_LIMIT=2
run "$CK" check --startup --login-password-fd 7
expect_status 21
k_one_line
expect_err_has no-answer
T_LIMIT=20
exec 7>&-

t_case 'whole script'
t_no_secret "$KEYS/custody.db"
