#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# authenticate says yes to the credential and to nothing else, before and after
# the migration, and its stream follows every change of the store at once.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

c_home
key() { # JSON file, output
	"$T_TOOLS/ck-json" key <"$1" | tr -d '\n' | t_write "$2"
}

ask() { # candidate file, further arguments
	a_file=$1
	shift
	run "$CK" authenticate "$@" <"$a_file"
}

t_case 'nothing is stored'
printf x >"$T_TMP/x"
ask "$T_TMP/x"
refute 'it is no answer' test "$status" -le 1
expect_out_empty

c_broker
key "$BEARER" "$T_TMP/old"
t_bearer "$T_TMP/wrong"
both() {
	ask "$T_TMP/old"
	expect_status 0
	expect_out_empty
	expect_err_empty
	for b_file in "$T_TMP/wrong" "$BEARER" /dev/null; do
		ask "$b_file"
		expect_status 1
		expect_out_empty
	done
	ask "$T_TMP/old" --json
	expect_out '{"ok":true,"match":true}'
	ask "$T_TMP/wrong" --json
	expect_status 1
	expect_out '{"ok":true,"match":false}'
	run env "CLANKIE_OPERATOR_TOKEN=x" "$CK" authenticate <"$T_TMP/x"
	expect_status 1
	t_no_secret
}
t_case 'before the migration'
snapshot "$T_HOME"
both
expect_unchanged 'asking changes nothing'
"$CK" migrate >/dev/null 2>&1
t_case 'after the migration'
snapshot "$T_HOME"
both
expect_unchanged 'asking changes nothing'

t_case 'command line'
ask "$T_TMP/old" --stream --json
expect_status 2
run "$CK" authenticate 0<&-
refute 'closed input is no answer' test "$status" -le 1

t_case 'malformed lines'
{
	printf 'a %s\n' "$(t_hex "$T_TMP/old")"
	printf 'b %s\nc \n' "$(t_hex "$T_TMP/wrong")"
	printf 'd\n\n e 00\nf 0\ng xx\nh  00\ni 00 \n\000 00\n%065d 00\n' 1
	printf 'j 00\r\n'
	# A candidate whose ID, space or digits were forgotten.
	t_hex "$T_TMP/old" && printf '\n'
	printf '%s 00\n' "$(t_hex "$T_TMP/old" | cut -c1-60)"
	cat "$T_TMP/old" && printf '\n'
	cat "$T_TMP/old" && printf ' \n'
	printf 'long ' && head -c 1048576 /dev/zero | tr '\0' a && printf '\n'
	printf 'k %s\nl %s' "$(t_hex "$T_TMP/old")" "$(t_hex "$T_TMP/old")"
} | t_write "$T_TMP/lines"
cat >"$T_TMP/want.lines" <<'EOF'
a yes
b no
c no
- error usage
- error usage
- error usage
f error usage
g error usage
h error usage
i error usage
- error usage
- error usage
j error usage
- error usage
- error usage
- error usage
- error usage
long error usage
k yes
l error usage
EOF
ask "$T_TMP/lines" --stream
expect_status 0
expect_out_is "$T_TMP/want.lines"
t_no_secret

t_case 'garbage'
head -c 300000 /dev/urandom >"$T_TMP/garbage"
ask "$T_TMP/garbage" --stream
expect_status 0
refute 'no yes' grep -aq ' yes$' "$T_OUT"

t_case 'nobody reads the answers'
run sh -c '"$1" authenticate --stream <"$2" >&-' - "$CK" "$T_TMP/lines"
expect_status 25

# One process from here on, spoken to line by line.
mkfifo "$T_TMP/to" "$T_TMP/from"
"$CK" authenticate --stream <"$T_TMP/to" >"$T_TMP/from" &
pid=$!
exec 8>"$T_TMP/to" 9<"$T_TMP/from"
say() { # candidate file, expected reply
	printf 'id %s\n' "$(t_hex "$1")" >&8
	IFS= read -r reply <&9
	echo "reply: $reply" >"$T_NOTE"
	[ "$reply" = "id $2" ]
	t_result $? "reply is $2"
}
is_error() {
	printf 'id %s\n' "$(t_hex "$1")" >&8
	IFS= read -r reply <&9
	expect "reply is error $2" test "$reply" = "id error $2"
}
t_case 'rotation'
say "$T_TMP/old" yes
t_bearer_json "$T_TMP/new.json"
key "$T_TMP/new.json" "$T_TMP/new"
"$CK" rotate --secret-fd 3 3<"$T_TMP/new.json" >/dev/null
say "$T_TMP/old" no
say "$T_TMP/new" yes
say /dev/null no
t_case 'the store is moved away and back'
mv "$KEYS/operator" "$KEYS/away"
is_error "$T_TMP/new" no-store
is_error "$T_TMP/old" no-store
mv "$KEYS/away" "$KEYS/operator"
say "$T_TMP/new" yes
say "$T_TMP/old" no
t_case 'the keychain is no keychain any more'
cp -p "$DEDICATED" "$T_TMP/whole"
printf x | dd of="$DEDICATED" conv=notrunc 2>/dev/null
is_error "$T_TMP/new" unsupported
mv "$T_TMP/whole" "$DEDICATED"
say "$T_TMP/new" yes

# Whatever a reading consults may take the answer away, and give it back.
refuses() { # case, command, command that undoes it
	t_case "$1"
	eval "$2"
	printf 'id %s\n' "$(t_hex "$T_TMP/new")" >&8
	IFS= read -r reply <&9
	expect 'no yes any more' test "${reply#id error }" != "$reply"
	run "$CK" authenticate <"$T_TMP/new"
	expect 'as when asked once' test "$status" -gt 1
	eval "$3"
	say "$T_TMP/new" yes
}
# shellcheck disable=SC2016  # the commands are evaluated later
take_away() {
	if t_find_tool sqlite3; then
		cp "$KEYS/custody.db" "$T_TMP/records"
		refuses 'an edited record' 'sqlite3 "$KEYS/custody.db" \
		    "UPDATE setting SET value = 0 WHERE name = \"worker.sandbox\";
		    UPDATE protected SET why = 1"' \
		    'cat "$T_TMP/records" >"$KEYS/custody.db"'
	else
		skip 'an edited record' 'no sqlite3 here'
	fi
	refuses 'no records' 'mv "$KEYS/custody.db" "$KEYS/away"' \
	    'mv "$KEYS/away" "$KEYS/custody.db"'
	refuses 'no password' 'mv "$UNLOCK" "$UNLOCK.away"' \
	    'mv "$UNLOCK.away" "$UNLOCK"'
	refuses 'a password that others can read' 'chmod 0644 "$UNLOCK"' \
	    'chmod 0600 "$UNLOCK"'
	refuses 'a directory of the password that others can write' \
	    'chmod 0777 "$(dirname "$UNLOCK")"' 'chmod 0700 "$(dirname "$UNLOCK")"'
	refuses 'a custody directory that others can write' 'chmod 0777 "$KEYS"' \
	    'chmod 0700 "$KEYS"'
	refuses 'a custody directory behind a link' \
	    'mv "$KEYS" "$KEYS.away" && ln -s "$KEYS.away" "$KEYS"' \
	    'rm "$KEYS" && mv "$KEYS.away" "$KEYS"'
	refuses 'a keychain directory that others can write' \
	    'chmod 0755 "$KEYS/operator"' 'chmod 0700 "$KEYS/operator"'
	refuses 'a second name of the records' 'ln "$KEYS/custody.db" "$T_TMP/second"' \
	    'rm "$T_TMP/second"'
}
take_away

# The records name the broker, and the keychain is not gone yet.
# shellcheck disable=SC2016  # the commands are evaluated later
overtaken() {
	strace -f -qq -o "$T_TMP/overtaken.trace" \
	    -e inject=renameat2:signal=KILL:when=1 "$CK" restore \
	    >"$T_TMP/null" 2>&1
	run "$CK" status --json
	expect_json unfinished restore
	say "$T_TMP/new" yes
	cp -p "$BROKER" "$T_TMP/broker"
	t_bearer_json "$T_TMP/later.json"
	c_broker_text "$T_TMP/later.json" >"$T_TMP/later"
	refuses 'another value in the broker that a killed restore recorded' \
	    'cat "$T_TMP/later" >"$BROKER"' 'cat "$T_TMP/broker" >"$BROKER"'
	cat "$T_TMP/later" >"$BROKER"
	snapshot "$T_HOME"
	run "$CK" get
	expect_status 22
	expect_out_empty
	expect_err_has 'clankie-keys restore'
	expect_unchanged
	cat "$T_TMP/broker" >"$BROKER"
	run "$CK" restore
	expect_status 0
	say "$T_TMP/new" yes
	say "$T_TMP/old" no
}
if [ -z "$CK_TRACED" ] && t_find_tool strace &&
    strace -o /dev/null true 2>"$T_TMP/null"; then
	overtaken
else
	skip 'a restore that was killed' 'no strace here, or it is in use'
fi

t_case 'the end'
exec 8>&-
wait "$pid"
expect 'it ends with its input' test $? -eq 0
exec 9<&-

t_case 'a keychain as broker'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
key "$BEARER" "$T_TMP/old"
login_ask() { # candidate
	run "$CK" authenticate --broker "keychain:$LOGIN" \
	    --login-password-fd 3 3<"$PW" <"$1"
}
for when in before after; do
	login_ask "$T_TMP/old"
	expect_status 0
	login_ask "$T_TMP/wrong"
	expect_status 1
	ask "$T_TMP/old" --broker "keychain:$LOGIN"
	expect "$when: without the password it is no answer" test "$status" -gt 1
	[ "$when" = after ] || migrate_login --json
done

t_case 'an opaque credential'
c_home
c_login_new
printf '\001any bytes\n' | t_write "$T_TMP/opaque"
printf '\001any bytes' | t_write "$T_TMP/shorter"
c_add other.service me "$T_TMP/opaque"
other() { # candidate
	run "$CK" authenticate other --service other.service --account me \
	    --broker "keychain:$LOGIN" --login-password-fd 3 3<"$PW" <"$1"
}
other "$T_TMP/opaque"
expect_status 0
other "$T_TMP/shorter"
expect_status 1

t_case 'no candidate, and a store that cannot be read'
c_home
c_broker
"$CK" migrate >"$T_TMP/null" 2>&1
run sh -c '"$1" authenticate </dev/null' sh "$CK"
expect_status 1
rm "$UNLOCK"
run sh -c '"$1" authenticate </dev/null' sh "$CK"
expect_status 23
