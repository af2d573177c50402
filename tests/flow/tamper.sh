#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records of which somebody added, took away or took back rows, without the
# dedicated keychain: get refuses and gives nothing.  tamper-all.sh has the
# columns.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/records.sh"

t_find_tool sqlite3 || skip_all 'no sqlite3 here'

back() {
	cp "$T_TMP/whole.db" "$KEYS/custody.db"
}

t_case 'migrated'
c_home
c_broker
run "$CK" migrate --rotate
expect_status 0
run "$CK" get
expect_status 0
cp "$T_OUT" "$T_TMP/new.json"
# The prefix is no secret, and is in the names of the item.
"$CK" get --key | cut -c12- >"$T_TMP/new.key"
t_secret "$T_TMP/new.key"
cp "$KEYS/custody.db" "$T_TMP/whole.db"

t_case 'rows'
for change in 'DELETE FROM credential' 'DELETE FROM precedence' \
    'DELETE FROM store' 'DELETE FROM principal' 'DELETE FROM protected' \
    'DELETE FROM setting' 'DELETE FROM seal' \
    'DELETE FROM event WHERE seq = (SELECT max(seq) FROM event)' \
    "INSERT INTO setting VALUES ('a', 'b')" \
    "UPDATE credential SET state = 'broker'" \
    "UPDATE credential SET state = 'migrating'" \
    "UPDATE credential SET generation = 1"; do
	back
	expect "$change: sqlite3 edits" r_edit "$change"
	run "$CK" get
	expect_status 13
	expect_out_empty
	t_no_secret
done

t_case 'a forged unfinished operation'
for operation in migrate rotate restore; do
	back
	r_plain "INSERT INTO journal (operation, nonce, credential, step,
	    from_generation, to_generation, at) VALUES ('$operation',
	    '00000000000000000000000000000000', 'operator', 1, 2, 3,
	    '2024-01-01T00:00:00Z')"
	run "$CK" get
	expect_status 13
	expect_out_empty
done
back
run "$CK" get
expect_status 0
expect_out_is "$T_TMP/new.json"

t_case 'an event in the middle'
r_edit "UPDATE event SET detail = 'x' WHERE seq = 2"
run "$CK" precedence verify
expect_status 13
expect_out_has 'NOT WHAT WAS WRITTEN'
back
run "$CK" precedence verify
expect_status 0
expect_out_has 'fits'

t_case 'verify shows an edited row'
r_edit "UPDATE protected SET why = 'x'"
run "$CK" precedence verify
expect_status 13
expect_out_has 'DOES NOT FIT'
run "$CK" precedence verify --json
expect_status 13
expect_json ok false
expect_json code damaged
run "$CK" rotate
expect_status 13
back

t_case 'old records beside a newer keychain'
run "$CK" rotate
expect_status 0
back
run "$CK" get
expect_status 13
expect_out_empty
expect_err_has 'another day'
run "$CK" rotate
expect_status 13
expect_out_empty

t_case 'an old keychain beside newer records'
c_home
c_broker
run "$CK" migrate
expect_status 0
cp "$DEDICATED" "$T_TMP/old.keychain"
run "$CK" rotate
expect_status 0
cp "$T_TMP/old.keychain" "$DEDICATED"
run "$CK" get
expect_status 13
expect_out_empty
t_no_secret
