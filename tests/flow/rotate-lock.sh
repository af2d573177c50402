#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two writers never change one custody, whatever is removed from it meanwhile.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

t_find_tool flock || skip_all 'no flock here'
t_find_tool sqlite3 || skip_all 'no sqlite3 here'

generation() {
	"$CK" status --json | "$T_TOOLS/ck-json" generation
}

ask() { # SQL
	sqlite3 -cmd '.timeout 3000' "$KEYS/custody.db" "$1"
}

# Keep the lock of the keychain's writers, so that a rotation waits inside.
keep_keychain() { # seconds
	flock "$KEYS"/operator/.fl* sleep "$1" &
	sleep 0.2
}

# Until the rotation has opened its journal: then it has every other lock.
wait_inside() {
	tries=20
	while [ $tries -gt 0 ]; do
		[ "$(ask 'SELECT count(*) FROM journal')" != 1 ] || return 0
		sleep 0.05
		tries=$((tries - 1))
	done
	return 1
}

t_case 'the lock'
c_home
c_broker
"$CK" migrate >"$T_TMP/null"
refute 'migrate makes no file for it' test -e "$KEYS/lock"
run "$CK" rotate
expect_status 0
refute 'nor does rotate' test -e "$KEYS/lock"

t_case 'a second writer'
before=$(generation)
keep_keychain 3
"$CK" rotate >"$T_TMP/one" 2>&1 &
one=$!
expect 'the first one is inside' wait_inside
# Whatever is no record and no keychain.
find "$KEYS" -type f ! -name 'custody.db*' ! -name 'operator.keychain-db' \
    ! -name '.fl*' -exec rm {} +
run "$CK" rotate
expect_status 15
wait "$one"
expect 'the first one succeeds' test $? -eq 0
expect 'one generation further' test "$(generation)" -eq $((before + 1))
run "$CK" get
expect_status 0
run "$CK" precedence verify
expect_status 0
wait

t_case 'the operation is closed meanwhile'
cp "$KEYS/custody.db" "$T_TMP/records.then"
cp "$DEDICATED" "$T_TMP/keychain.then"
keep_keychain 2
"$CK" rotate >"$T_TMP/one" 2>&1 &
one=$!
expect 'the rotation is inside' wait_inside
expect 'its row goes' ask 'DELETE FROM journal'
wait "$one"
expect 'it sees that' test $? -eq 15
expect 'and says so' grep -q 'has ended this rotation' "$T_TMP/one"
expect_same "$DEDICATED" "$T_TMP/keychain.then"
cat "$T_TMP/records.then" >"$KEYS/custody.db"
run "$CK" get
expect_status 0
wait
