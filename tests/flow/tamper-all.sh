#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# traced: no
#
# Every column of the records, the keychain and its neighbours, edited or put
# in another's place without the unlock password, and with all that the file
# itself checks left in order: check finds it, get gives nothing.  And what
# somebody can do who has that password.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"
. "$(dirname "$0")/../lib/records.sh"

t_find_tool sqlite3 || skip_all 'no sqlite3 here'

# Another value that the column may have, so that the file's own rules are no
# help; a column that is not named here gets one more, or a letter more.
other_value() { # table, column, type
	case $1.$2 in
	credential.format) echo "'opaque'" ;;
	credential.state) echo "'restoring'" ;;
	*.fingerprint | *.prev) echo "replace(hex(zeroblob(32)), '0', 'a')" ;;
	*.nonce) echo "replace(hex(zeroblob(16)), '0', 'a')" ;;
	*.at) echo "'2024-01-01T00:00:00Z'" ;;
	journal.operation) echo "'restore'" ;;
	precedence.role) echo "CASE role WHEN 'reader' THEN 'writer' ELSE 'reader' END" ;;
	principal.honours) echo "'yes'" ;;
	principal.reader | principal.writer) echo "1 - $2" ;;
	protected.kind) echo "CASE kind WHEN 'file' THEN 'directory' ELSE 'file' END" ;;
	protected.deny) echo "CASE deny WHEN 'write' THEN 'read+write' ELSE 'write' END" ;;
	store.kind) echo "'dotenv'" ;;
	*)
		case $3 in
		INTEGER) echo "$2 + 1" ;;
		BLOB) echo "zeroblob(length($2))" ;;
		*) echo "$2 || 'x'" ;;
		esac
		;;
	esac
}

rows() { # table
	sqlite3 -readonly "$KEYS/custody.db" "SELECT count(*) FROM $1"
}

back() {
	cat "$T_TMP/$1.db" >"$KEYS/custody.db"
}

# Nothing is given to anybody, and nothing is built on it.
refused() { # what
	run "$CK" get
	expect "$1: get refuses" test "$status" -eq 13
	expect "$1: and gives nothing" test ! -s "$T_OUT"
	keep
	run "$CK" authenticate <"$T_TMP/key"
	expect "$1: authenticate answers neither yes nor no" test "$status" -gt 10
	keep
	run "$CK" check
	expect "$1: check finds it" test "$status" -eq 21
	keep
	run "$CK" check --startup --as service-startup
	expect "$1: the gate is shut" test "$status" -eq 21
	keep
}

keep() {
	cat "$T_OUT" "$T_ERR" >>"$T_TMP/said"
}

k_custody
"$CK" get --key >"$T_TMP/key"
cp "$KEYS/custody.db" "$T_TMP/quiet.db"
# Where each command takes long, one column of each table.
full=1
[ "$T_SANITIZED" -eq 0 ] && [ -z "$CK_TRACED" ] || full=0
r_columns | awk -v full="$full" 'full || !seen[$1]++' >"$T_TMP/columns"

# A rotation that is killed while it waits for the keychain's lock leaves what
# the other tables have rows for only then.
t_case 'an open rotation'
if t_find_tool flock; then
	mkfifo "$T_TMP/held" "$T_TMP/end"
	# shellcheck disable=SC2016  # for the shell below
	flock "$KEYS"/operator/.fl* sh -c 'echo >"$1"; cat "$2"' sh \
	    "$T_TMP/held" "$T_TMP/end" >/dev/null &
	holder=$!
	read -r _ <"$T_TMP/held"
	"$CK" rotate >/dev/null 2>&1 &
	pid=$!
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ "$(rows journal 2>/dev/null)" != 1 ] || break
		sleep 0.1
	done
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	echo >"$T_TMP/end"
	wait "$holder"
	expect 'it is under way' test "$(rows journal)" -eq 1
	run "$CK" get
	expect_status 0
	cp "$KEYS/custody.db" "$T_TMP/open.db"
else
	skip 'an open rotation' 'no flock here'
fi

t_case 'each column'
: >"$T_TMP/guarded"
while read -r table column type key; do
	case $table in
	seal) order=DESC ;;   # an older one is not asked for
	*) order=ASC ;;
	esac
	back quiet
	[ "$(rows "$table")" -gt 0 ] || [ ! -e "$T_TMP/open.db" ] || back open
	if [ "$(rows "$table")" -eq 0 ]; then
		skip "$table.$column" 'no row to edit'
		continue
	fi
	first=$(echo "$key" | sed "s/,/ $order, /g; s/\$/ $order/")
	new=$(other_value "$table" "$column" "$type")
	edit="UPDATE OR REPLACE $table SET $column = $new
	    WHERE ($key) = (SELECT $key FROM $table ORDER BY $first LIMIT 1)
	    AND $column IS NOT $new"
	if r_plain "$edit"; then
		ok "$table.$column: is another one"
	else
		echo "$table.$column" >>"$T_TMP/guarded"
		expect "$table.$column: is another one" r_edit "$edit"
	fi
	refused "$table.$column"
	cp "$KEYS/custody.db" "$T_TMP/edited.db"
	run "$CK" rotate
	expect "$table.$column: rotate refuses" test "$status" -ne 0
	expect_same "$KEYS/custody.db" "$T_TMP/edited.db"
done <"$T_TMP/columns"
back quiet
run "$CK" get --key
expect_out_is "$T_TMP/key"
run "$CK" check
expect_status 0
echo "# triggers or constraints had to be taken away first for:" \
    "$(tr '\n' ' ' <"$T_TMP/guarded")"
while read -r table column _; do
	case $table.$column in
	event.* | precedence.* | credential.name | journal.operation)
		expect "$table.$column: the file itself refuses" \
		    grep -qx "$table.$column" "$T_TMP/guarded" ;;
	esac
done <"$T_TMP/columns"

# Two custodies of the same home, at different times, make the swaps possible.
t_case 'the keychain of another custody'
back quiet
k_copy
home=$T_HOME
cp "$T_TMP/unlock" "$T_TMP/password"
k_custody
other_keys=$KEYS
other_unlock=$UNLOCK
T_HOME=$home

get_is() { # status
	run "$CK" get
	expect_status "$1"
	expect_out_empty
	t_no_secret
	run "$CK" get --key --fd 5 5>"$T_TMP/got"
	expect_status "$1"
	expect 'nothing was delivered' test ! -s "$T_TMP/got"
}

k_back 'the keychain of another custody'
cat "$other_keys/operator/operator.keychain-db" >"$DEDICATED"
k_finds 21 unlock-wrong
get_is 11
k_back 'the directory of another custody'
rm -r "$KEYS/operator"
cp -a "$other_keys/operator" "$KEYS/operator"
k_finds 21 unlock-wrong
get_is 11
k_back 'another custody, with its unlock password'
cat "$other_keys/operator/operator.keychain-db" >"$DEDICATED"
{ printf '{"version":1,"keychain":"%s","password":"' "$DEDICATED" &&
    "$T_TOOLS/ck-json" password <"$other_unlock" | tr -d '\n' &&
    printf '","generation":1,"signature":""}'; } >"$UNLOCK"
k_has_after 21 seal-broken
get_is 13
k_back 'the records of another custody'
cat "$other_keys/custody.db" >"$KEYS/custody.db"
k_has_after 21 seal-broken
get_is 13

OPERATOR='bot.clankie.credentials clankie_operator'
SEAL='bot.clankie.custody seal-key'
k_back 'two items that change names'
# shellcheck disable=SC2086  # words
expect 'they do' "$T_TOOLS/ck-tamper" swap "$DEDICATED" $OPERATOR $SEAL
k_finds 21 dedicated-damaged
get_is 13
# shellcheck disable=SC2086  # words
expect 'and back' "$T_TOOLS/ck-tamper" swap "$DEDICATED" $OPERATOR $SEAL
k_finds 0 ''
run "$CK" get --key
expect_out_is "$T_TMP/key"
k_back 'an item that takes the name of the credential'
t_bearer_json "$T_TMP/decoy"
c_tamper add --service s --account a --label 'clankie-keys: operator' \
    --password-fd 3 --secret-fd 4 3<"$T_TMP/password" 4<"$T_TMP/decoy"
run "$CK" get --key
expect_out_is "$T_TMP/key"
# shellcheck disable=SC2086  # words
expect 'it does' "$T_TOOLS/ck-tamper" swap "$DEDICATED" $OPERATOR s a
k_finds 21 generation-behind
get_is 13
for names in "$OPERATOR" "$SEAL"; do
	k_back "another label for $names"
	# shellcheck disable=SC2086  # words
	expect 'it has' "$T_TOOLS/ck-tamper" label "$DEDICATED" $names x
	k_finds 21 item-attributes-changed
	get_is 13
done

k_back 'CLANKIE_KEYS_HOME in the environment'
snapshot "$T_HOME"
mkdir -m 0700 "$T_TMP/empty"
for dir in "$T_TMP/empty" "$T_TMP/none" "$other_keys"; do
	CLANKIE_KEYS_HOME=$dir
	export CLANKIE_KEYS_HOME
	get_is 19
	run "$CK" authenticate <"$T_TMP/key"
	expect_status 19
	for words in rotate migrate 'rules --write'; do
		# shellcheck disable=SC2086  # words
		run "$CK" $words
		expect_status 19
	done
	run "$CK" check
	expect_status 21
	k_has second-custody
	k_gate 21
	unset CLANKIE_KEYS_HOME
done
expect_unchanged 'nothing of this custody changed'

k_back 'a bearer planted in both brokers'
t_bearer_json "$T_TMP/decoy"
c_broker_text "$T_TMP/decoy" | t_write "$T_TMP/new"
cat "$T_TMP/new" >"$BROKER"
c_login_new
c_add bot.clankie.credentials clankie_operator "$T_TMP/decoy"
k_has_after 21 second-bearer-file
run "$CK" get --key
expect_out_is "$T_TMP/key"
for broker in "keychain:$LOGIN" "file:$T_TMP/elsewhere.json"; do
	run "$CK" get --broker "$broker" --login-password-fd 3 3<"$PW"
	expect_status 19
	expect_out_empty
done

# The limit that docs/records.md states.  The seal is no defence against this.
k_back 'a program that has the unlock password'
r_edit "UPDATE principal SET honours = 'yes'"
k_has_after 21 seal-broken
get_is 13
mv "$UNLOCK" "$T_TMP/away"
refute 'without the password it can seal nothing' "$T_TOOLS/ck-tamper" reseal
mv "$T_TMP/away" "$UNLOCK"
get_is 13
expect 'with it, it makes a seal that fits' "$T_TOOLS/ck-tamper" reseal
run "$CK" check
expect_status 0
k_has_not principal-not-honouring
k_has_not seal-broken
run "$CK" get --key
expect_out_is "$T_TMP/key"
run "$CK" precedence verify
expect_status 0

t_case 'whole script'
t_no_secret "$T_TMP/said" "$KEYS/custody.db"
