#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several credentials in one dedicated keychain: each with an item, a
# precedence and a way there and back of its own, and none in another's way.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

generation() { # credential
	"$CK" status "$1" --json | "$T_TOOLS/ck-json" generation
}

firsts() { # credential; the kinds of its first stores
	"$CK" precedence list | awk -v c="$1" \
	    '$1 == c && $4 == 0 { print $5 }' | sort -u | tr '\n' ' '
}

api() { # value; a file broker's entry for last
	printf '{"type":"api","key":"%s"}' "$1"
}

# The file broker has the shape of c_broker, and $API is what last is there.
c_two() {
	c_home
	c_broker
	API=$T_TMP/api.json
	printf '{"type":"api","key":"none","metadata":{"a":"b"}}' >"$API"
}

LAST='last --service other.service --account last'

t_case 'before anything is moved'
c_two
# shellcheck disable=SC2086  # words
run "$CK" get $LAST
expect_out_is "$API"

t_case 'beside a migrated one'
run "$CK" migrate
expect_status 0
# shellcheck disable=SC2086  # words
run "$CK" get $LAST
expect_status 0
expect_out_is "$API"
run "$CK" get none --service other.service --account none
expect_status 10
run "$CK" get last
expect_status 2
snapshot -d "$T_HOME"
# shellcheck disable=SC2086  # words
run "$CK" migrate $LAST --dry-run
expect_status 0
expect_out_has 'would move other.service / last'
expect_err_has 'ask the records'
expect_err_has 'menu-bar'
expect_unchanged 'a plan changes nothing'

t_case 'a second one'
# shellcheck disable=SC2086  # words
run "$CK" migrate $LAST --json
expect_status 0
expect_json outcome migrated
expect_json credential last
expect_json keychain "$DEDICATED"
expect_err_has 'ask the records'
t_no_secret
run "$CK" get last
expect_status 0
expect_out_is "$API"
run "$CK" get
expect_status 0
expect_out_is "$BEARER"
refute 'the broker has it no more' grep -q '"last"' "$BROKER"
expect 'the dedicated store is first for each' \
    [ "$(firsts last):$(firsts operator)" = 'dedicated :dedicated ' ]
run "$CK" precedence verify
expect_status 0
run "$CK" status last --json
expect_json state dedicated
expect_json keychain.items 3
expect_json others.0.credential operator
run "$CK" status
expect_out_has 'also         last: other.service / last, dedicated, generation 1'
run "$CK" status --json
expect_json rules_state match
run "$CK" check
expect_status 0
# shellcheck disable=SC2086  # words
run "$CK" migrate $LAST --json
expect_json outcome already
printf %s "$(cat "$API")" >"$T_TMP/candidate"
run "$CK" authenticate last <"$T_TMP/candidate"
expect_status 0
run "$CK" authenticate last <"$BEARER"
expect_status 1
expect 'nothing was left' c_strays

t_case 'named for people, unless they want quiet'
run "$CK" migrate one --service other.service --account provider1 --quiet
expect_status 0
expect_err_empty
run "$CK" restore one
expect_status 0

t_case 'each is rotated by itself'
run "$CK" rotate last
expect_status 14
api second >"$T_TMP/second"
run "$CK" rotate last --secret-fd 4 --json 4<"$T_TMP/second"
expect_json generation 2
run "$CK" get last
expect_out_is "$T_TMP/second"
run "$CK" get
expect_out_is "$BEARER"
run "$CK" rotate
expect_status 0
"$CK" get >"$T_TMP/bearer.2"
run "$CK" rotate --keychain
expect_status 0
run "$CK" get last
expect_out_is "$T_TMP/second"
run "$CK" get
expect_out_is "$T_TMP/bearer.2"

t_case 'back, while the other stays'
run "$CK" restore last --dry-run
expect_out_has 'the keychain stays for the other credentials'
run "$CK" restore last
expect_status 0
expect_out_has 'clankie-keys migrate last'
run "$CK" get last
expect_out_is "$T_TMP/second"
expect 'the broker has its value' grep -qF -f "$T_TMP/second" "$BROKER"
run "$CK" get
expect_out_is "$T_TMP/bearer.2"
expect 'the broker is first for the one alone' \
    [ "$(firsts last):$(firsts operator)" = 'file-broker :dedicated ' ]
run "$CK" status last --json
expect_json state broker
expect_json ok true
run "$CK" status --json
expect_json keychain.items 2
run "$CK" precedence verify
expect_status 0
run "$CK" check
expect_status 0
snapshot -d "$T_HOME"
run "$CK" restore last --json
expect_json outcome already
expect_unchanged 'a second time changes nothing'
run "$CK" migrate last --json
expect_json outcome migrated
expect 'it goes on counting' test "$(generation last)" -eq 4

t_case 'the operator leaves first'
run "$CK" restore
expect_status 0
run "$CK" get
expect_out_is "$T_TMP/bearer.2"
run "$CK" get last
expect_out_is "$T_TMP/second"
expect 'the keychain stays' test -e "$DEDICATED"
run "$CK" precedence verify
expect_status 0
run "$CK" rules --write
expect_status 0
run "$CK" check
expect_status 21
expect_out_has not-migrated
refute 'its file is not missed' grep -q dedicated-missing "$T_OUT"
run "$CK" restore last
expect_status 0
refute 'the last one takes the keychain with it' test -e "$KEYS/operator"
refute 'and the unlock password' test -e "$UNLOCK"
run "$CK" get last
expect_out_is "$T_TMP/second"
run "$CK" get
expect_out_is "$T_TMP/bearer.2"

t_case 'in the other order'
# shellcheck disable=SC2086  # words
run "$CK" migrate $LAST
expect_status 0
run "$CK" get
expect_out_is "$T_TMP/bearer.2"
run "$CK" migrate --rotate
expect_status 0
run "$CK" get last
expect_out_is "$T_TMP/second"
run "$CK" get
refute 'migrate --rotate: another value' cmp -s "$T_OUT" "$T_TMP/bearer.2"
"$CK" get >"$T_TMP/bearer.3"
run "$CK" precedence verify
expect_status 0

t_case 'refused'
cp -p "$KEYS/custody.db" "$T_TMP/whole.db"
snapshot -d "$T_HOME"
run "$CK" migrate again --service other.service --account last
expect_status 19
run "$CK" migrate seal --service bot.clankie.custody --account seal-key
expect_status 2
run "$CK" migrate none --service other.service --account none
expect_status 10
run "$CK" migrate other
expect_status 2
run "$CK" migrate two --service other.service --account provider2 \
    --broker "keychain:$LOGIN"
expect_status 14
CLANKIE_OPERATOR_TOKEN=x run "$CK" migrate one --service other.service \
    --account provider1
expect_status 19
run "$CK" migrate last --service other.service --account provider1
expect_status 19
run "$CK" restore other
expect_status 23
run "$CK" restore none --service other.service --account none
expect_status 10
expect_unchanged 'nothing changed'
refuses() { # what, status; one that is in the broker cannot join
	snapshot "$T_HOME"
	run "$CK" migrate one --service other.service --account provider1
	expect_status "$2"
	expect_out_empty
	expect_unchanged "$1: nothing changed"
}
cp -p "$UNLOCK" "$T_TMP/whole.unlock"
rm "$UNLOCK"
refuses 'no unlock password' 23
cp -p "$T_TMP/whole.unlock" "$UNLOCK"
cp "$DEDICATED" "$T_TMP/whole.kc"
truncate -s 100 "$DEDICATED"
refuses 'a broken keychain' 13
# What may be in it is not looked for elsewhere.
run "$CK" get one
expect_status 13
expect_out_empty
cat "$T_TMP/whole.kc" >"$DEDICATED"

if t_find_tool sqlite3; then
	edit() { # SQL, from rows as they were, without their triggers
		cp -p "$T_TMP/whole.db" "$KEYS/custody.db"
		for trigger in $(sqlite3 "$KEYS/custody.db" "SELECT name
		    FROM sqlite_master WHERE type = 'trigger'"); do
			echo "DROP TRIGGER $trigger;"
		done >"$T_TMP/sql"
		echo "$1" >>"$T_TMP/sql"
		sqlite3 "$KEYS/custody.db" <"$T_TMP/sql" 2>"$T_TMP/sql.err"
		expect 'sqlite3 edits' test ! -s "$T_TMP/sql.err"
	}
	edit "UPDATE setting SET value = 'x'; UPDATE protected SET why = 'x'"
	refuses 'edited records' 13
	# Planted beside it: whoever edits the records must not choose.
	t_bearer_json "$T_TMP/planted"
	cp "$BROKER" "$T_TMP/broker.whole"
	{
		printf '{'
		for n in clankie_operator operator last y; do
			printf '"%s":' "$n" && cat "$T_TMP/planted" && printf ,
		done
		sed '1s/{//' "$T_TMP/broker.whole"
	} | t_write "$BROKER"
	for sql in "UPDATE credential SET state = 'broker'" \
	    "UPDATE credential SET state = 'migrating'" \
	    "DELETE FROM credential" \
	    "UPDATE credential SET state = 'broker',
	    service = 'x', account = name" \
	    "UPDATE credential SET state = 'broker' WHERE name = 'last';
	    DELETE FROM precedence WHERE credential = 'last' AND rank = 0;
	    UPDATE precedence SET rank = 0 WHERE credential = 'last';
	    INSERT INTO journal (operation, nonce, credential, step,
	    from_generation, to_generation, at) VALUES ('restore',
	    '00000000000000000000000000000000', 'last', 2, 1, 1,
	    '2024-01-01T00:00:00Z')" \
	    "DELETE FROM seal; UPDATE credential SET state = 'migrating'
	    WHERE name = 'last'; INSERT INTO journal (operation, nonce,
	    credential, step, from_generation, to_generation, at) VALUES
	    ('migrate', '00000000000000000000000000000000', 'last', 2, 1, 1,
	    '2024-01-01T00:00:00Z'); UPDATE credential SET service = 'x',
	    account = 'y', state = 'broker' WHERE name = 'operator';
	    DELETE FROM store WHERE kind = 'dedicated'"; do
		edit "$sql"
		run "$CK" get
		refute "get: $sql" test "$status" -eq 0
		expect_out_empty
		run "$CK" get last --service other.service --account last
		case $sql in
		# That moment of a migration has no seal, and the item decides.
		*"DELETE FROM seal"*)
			refute 'not what was planted' \
			    cmp -s "$T_TMP/planted" "$T_OUT"
			;;
		*)
			refute "get last: $sql" test "$status" -eq 0
			expect_out_empty
			;;
		esac
	done
	cp -p "$T_TMP/whole.db" "$KEYS/custody.db"
	t_write "$BROKER" <"$T_TMP/broker.whole"
else
	skip 'edited records' 'no sqlite3 here'
fi
run "$CK" get
expect_out_is "$T_TMP/bearer.3"

t_case 'keychain broker'
c_home
c_login_new
t_bearer_json "$BEARER"
printf 'any bytes \001\377' >"$T_TMP/opaque"
printf '["anthropic","clankie_operator"]' >"$T_TMP/index"
c_add bot.clankie.credentials clankie_operator "$BEARER"
c_add bot.clankie.credentials anthropic "$T_TMP/opaque"
c_add bot.clankie.credentials __index__ "$T_TMP/index"
index() {
	"$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
	    --account __index__ --password-fd 3 --out-fd 1 3<"$PW"
}
with_login() {
	run "$CK" "$@" --login-password-fd 3 3<"$PW"
}
migrate_login operator
expect_status 0
# The broker of those that are there already is the usual one.
with_login get anthropic --service bot.clankie.credentials --account anthropic
expect_out_is "$T_TMP/opaque"
with_login migrate anthropic --service bot.clankie.credentials \
    --account anthropic
expect_status 0
expect 'both are out of the index' [ "$(index)" = '[]' ]
with_login get anthropic
expect_out_is "$T_TMP/opaque"
with_login get
expect_out_is "$BEARER"
run "$CK" get anthropic
expect_status 11
with_login restore
expect_status 0
with_login get anthropic
expect_out_is "$T_TMP/opaque"
with_login restore anthropic
expect_status 0
expect 'both are in the index' [ "$(index)" = '["anthropic","clankie_operator"]' ]
run "$CK" keychain find "$LOGIN" --service bot.clankie.custody \
    --account operator-keychain
expect_status 10
with_login get
expect_out_is "$BEARER"
run "$CK" keychain verify "$LOGIN" --password-fd 3 3<"$PW"
expect_status 0

t_case 'readers of both beside it'
c_two
run "$CK" migrate
rounds=8
[ "$T_SANITIZED" -eq 0 ] && [ -z "$CK_TRACED" ] || rounds=3
rm -f "$T_TMP/stop" "$T_TMP/unseen"
# shellcheck disable=SC2086  # words
reader() { # name, its value, words of get
	reader=$1 value=$2
	shift 2
	while [ ! -e "$T_TMP/stop" ]; do
		"$CK" get "$@" >"$T_TMP/seen.$reader" \
		    2>"$T_TMP/seen.err.$reader"
		cmp -s "$T_TMP/seen.$reader" "$value" ||
		    cat "$T_TMP/seen.err.$reader" >>"$T_TMP/unseen"
		echo >>"$T_TMP/reads.$reader"
	done
}
reader operator "$BEARER" &
# shellcheck disable=SC2086  # words
reader last "$API" $LAST &
n=0 bad=0
while [ "$n" -lt "$rounds" ]; do
	n=$((n + 1))
	# shellcheck disable=SC2086  # words
	"$CK" migrate $LAST >"$T_TMP/null" 2>&1 || bad=$((bad + 1))
	"$CK" restore last >"$T_TMP/null" 2>&1 || bad=$((bad + 1))
done
: >"$T_TMP/stop"
wait
expect 'each move succeeded' test "$bad" -eq 0
expect 'there were readers of both' \
    test -s "$T_TMP/reads.operator" -a -s "$T_TMP/reads.last"
refute 'each of them got its value' test -e "$T_TMP/unseen"
[ ! -e "$T_TMP/unseen" ] || sed 's/^/# /' "$T_TMP/unseen"
expect 'the generation counts the moves' \
    test "$(generation last)" -eq $((2 * rounds))

t_case 'several at the same time'
for n in 1 2 3 4; do
	{
		until "$CK" migrate "p$n" --service other.service \
		    --account "provider$n" >"$T_TMP/null.$n" 2>"$T_TMP/err.$n"; do
			grep -q 'not finished\|is changing' "$T_TMP/err.$n" ||
			    cat "$T_TMP/err.$n" >>"$T_TMP/odd"
		done
	} &
done
wait
refute 'they wait for each other and for nothing else' test -e "$T_TMP/odd"
[ ! -e "$T_TMP/odd" ] || sed 's/^/# /' "$T_TMP/odd"
run "$CK" status --json
expect_json keychain.items 6
for n in 1 2 3 4; do
	run "$CK" get "p$n"
	expect "p$n has its value" grep -qF "none-$n" "$T_OUT"
done
run "$CK" precedence verify
expect_status 0
expect 'nothing was left' c_strays
