#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# restore: back into the broker, with the same value at every moment, and
# forth again; what is refused changes nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

unlock_file() {
	"$T_TOOLS/ck-json" password <"$UNLOCK"
}

generation() {
	"$CK" status --json | "$T_TOOLS/ck-json" generation
}

sql() {
	sqlite3 -readonly "$KEYS/custody.db" "$1"
}

# Nothing of the credential is left in our custody.
expect_given_back() {
	expect 'below the custody directory lies what belongs there' \
	    [ "$(c_tree "$KEYS" | grep -v '/\.fl[0-9A-F]*$' |
	    tr '\n' ' ')" = '. ./custody.db ./worker.mounts ./worker.sb ' ]
	refute 'the unlock password is gone' test -e "$UNLOCK"
	refute 'and its directory' test -e "$(dirname "$UNLOCK")"
	expect 'nothing was left' c_strays
	run "$CK" status --json
	expect_json state broker
	expect_json unfinished null
	t_find_tool sqlite3 || return
	expect 'the broker is the one recorded place' [ "$(sql \
	    'SELECT DISTINCT path FROM reader_order')" = "$1" ]
	expect 'no dedicated store, no seal, no fingerprint' [ "$(sql \
	    "SELECT (SELECT count(*) FROM store WHERE kind = 'dedicated') ||
	    (SELECT count(*) FROM seal) ||
	    (SELECT fingerprint FROM credential)")" = 00 ]
}

t_case 'nothing anywhere'
c_home
run "$CK" restore
expect_status 10
expect_out_empty

t_case 'before the migration'
c_broker
snapshot -d "$T_HOME"
run "$CK" restore
expect_status 0
expect_out_has 'already in the broker'
run "$CK" restore --json
expect_json outcome already
expect_unchanged 'nothing changed'

t_case 'file broker'
run "$CK" migrate
expect_status 0
cp "$KEYS/worker.sb" "$T_TMP/worker.then"
snapshot -d "$T_HOME"
run "$CK" restore --dry-run
expect_status 0
expect_out_has 'nothing was changed'
expect_unchanged 'a plan changes nothing'
run "$CK" restore
expect_status 0
expect_err_empty
expect_out_has "broker       $BROKER"
expect_out_has 'Every process of this user can read this credential again'
expect_out_has 'clankie-keys migrate'
t_no_secret
expect_given_back "$BROKER"
expect_mode 0600 "$BROKER"
expect_same "$KEYS/worker.sb" "$T_TMP/worker.then"
run "$CK" get
expect_status 0
expect_out_is "$BEARER"
run "$CK" precedence verify
expect_status 23
snapshot -d "$T_HOME"
run "$CK" restore --json
expect_json outcome already
run "$CK" rotate
expect_status 23
expect_unchanged 'a second time changes nothing'

t_case 'and forth again'
run "$CK" migrate --json
expect_status 0
expect_json outcome migrated
expect 'it goes on counting' test "$(generation)" -eq 3
run "$CK" get
expect_out_is "$BEARER"
# Every foreign member is as it was, byte for byte.
expect_same "$BROKER" "$T_TMP/broker.rest"
run "$CK" precedence verify
expect_status 0
run "$CK" rotate
expect_status 0
"$CK" get >"$T_TMP/third"
run "$CK" restore --json
expect_status 0
expect_json outcome restored
expect_json broker_kind file-broker
expect_json rules_cover_broker true
expect 'the broker has the present value' grep -qF -f "$T_TMP/third" "$BROKER"
expect_given_back "$BROKER"
run "$CK" migrate --rotate --json
expect_json outcome migrated
run "$CK" get
refute 'migrate --rotate makes another value' cmp -s "$T_OUT" "$T_TMP/third"
expect 'one generation each' test "$(generation)" -eq 7
run "$CK" migrate --rotate --json
expect_json outcome already
expect 'and no more' test "$(generation)" -eq 7

t_case 'out of a keychain that was replaced'
"$CK" get >"$T_TMP/third"
run "$CK" rotate --keychain
expect_status 0
run "$CK" restore
expect_status 0
expect_given_back "$BROKER"
run "$CK" get
expect_out_is "$T_TMP/third"
run "$CK" migrate
expect_status 0

t_case 'a context that refuses'
snapshot -d "$T_HOME"
CLANKIE_OPERATOR_TOKEN=x run "$CK" restore
expect_status 19
expect_out_empty
CLANKIE_OPERATOR_TOKEN='' run "$CK" restore
expect_status 19
CLANKIE_WORKER_PANE=1 run "$CK" restore
expect_status 19
run "$CK" restore --broker "file:$BROKER.other"
expect_status 19
run "$CK" restore other
expect_status 23
expect_unchanged 'nothing changed'

t_case 'another value in the broker'
t_bearer_json "$T_TMP/other"
c_broker_text "$T_TMP/other" | t_write "$BROKER"
snapshot "$T_HOME"
run "$CK" restore
expect_status 22
expect_out_empty
expect_err_has "$BROKER"
expect_err_has "$DEDICATED"
expect_unchanged 'nothing changed'
t_case 'the same value in the broker'
"$CK" get >"$T_TMP/now"
c_broker_text "$T_TMP/now" | t_write "$BROKER"
cp "$BROKER" "$T_TMP/broker.now"
run "$CK" restore
expect_status 0
expect_same "$BROKER" "$T_TMP/broker.now"
run "$CK" migrate
expect_status 0
expect_same "$BROKER" "$T_TMP/broker.rest"

t_case 'a store that is broken'
cp "$DEDICATED" "$T_TMP/whole.kc"
cp -p "$UNLOCK" "$T_TMP/whole.unlock"
cp -p "$BROKER" "$T_TMP/whole.broker"
cp -p "$KEYS/custody.db" "$T_TMP/whole.db"
for what in "13:rm $DEDICATED" "23:rm -r $KEYS/operator" "13:truncate -s 100 $DEDICATED" \
    "23:rm $UNLOCK" "13:truncate -s 9 $UNLOCK" "19:chmod 644 $UNLOCK" \
    "13:truncate -s 9 $BROKER" "19:chmod 644 $BROKER" "23:rm $KEYS/custody.db" \
    "13:truncate -s 0 $KEYS/custody.db"; do
	${what#*:}
	snapshot "$T_HOME"
	run "$CK" restore
	expect_status "${what%%:*}"
	expect_out_empty
	expect_unchanged "${what#*:}: nothing changed"
	[ -d "$KEYS/operator" ] || mkdir -m 700 "$KEYS/operator"
	cat "$T_TMP/whole.kc" >"$DEDICATED"
	chmod 600 "$DEDICATED"
	cp -p "$T_TMP/whole.unlock" "$UNLOCK"
	cp -p "$T_TMP/whole.broker" "$BROKER"
	cp -p "$T_TMP/whole.db" "$KEYS/custody.db"
done
if t_find_tool sqlite3; then
	sqlite3 "$KEYS/custody.db" "UPDATE protected SET why = 'x'"
	snapshot "$T_HOME"
	run "$CK" restore
	expect_status 13
	expect_unchanged 'edited records: nothing changed'
	cp -p "$T_TMP/whole.db" "$KEYS/custody.db"
	sqlite3 "$KEYS/custody.db" "INSERT INTO journal (operation, nonce,
	    credential, step, from_generation, to_generation, at) VALUES
	    ('rotate', '00000000000000000000000000000000', 'operator', 1, 1, 2,
	    '2024-01-01T00:00:00Z')"
	snapshot "$T_HOME"
	run "$CK" restore
	expect_status 16
	expect_err_has 'clankie-keys rotate operator'
	expect_unchanged 'an open rotation: nothing changed'
	# The sealed records decide, and not a row that anybody can write.
	cp -p "$T_TMP/whole.db" "$KEYS/custody.db"
	sqlite3 "$KEYS/custody.db" "UPDATE credential SET state = 'restoring';
	    DELETE FROM precedence; UPDATE credential SET state = 'broker';
	    INSERT INTO journal (operation, nonce,
	    credential, step, from_generation, to_generation, at) VALUES
	    ('restore', '00000000000000000000000000000000', 'operator', 2, 1, 1,
	    '2024-01-01T00:00:00Z')"
	c_broker_text "$T_TMP/other" | t_write "$BROKER"
	snapshot "$T_HOME"
	run "$CK" get
	expect_status 13
	expect_out_empty
	run "$CK" restore
	expect_status 13
	expect_unchanged 'a forged restore: nothing changed'
	cp -p "$T_TMP/whole.db" "$KEYS/custody.db"
	cp -p "$T_TMP/whole.broker" "$BROKER"
else
	skip 'edited records' 'no sqlite3 here'
fi
cp "$BROKER" "$T_TMP/odd"
sed 's/"none-1"/1e999/' "$T_TMP/odd" | t_write "$BROKER"
snapshot "$T_HOME"
run "$CK" restore
expect_status 14
expect_unchanged 'a number nobody can represent: nothing changed'
t_write "$BROKER" <"$T_TMP/odd"

t_case 'a broker that is gone'
rm -r "$CLANKIE"
run "$CK" restore
expect_status 0
expect_mode 0700 "$CLANKIE"
expect_mode 0600 "$BROKER"
run "$CK" get
expect_out_is "$T_TMP/now"

t_case 'a keychain that came back'
mkdir -m 700 "$KEYS/operator"
t_write "$DEDICATED" <"$T_TMP/whole.kc"
snapshot "$T_HOME"
run "$CK" restore
expect_status 13
run "$CK" get
refute 'get does not choose' test "$status" -eq 0
expect_out_empty
expect_unchanged 'nothing changed'

t_case 'login keychain'
in_login() { # service, account; the value to standard output
	"$CK" keychain find "$LOGIN" --service "$1" --account "$2" \
	    --password-fd 3 --out-fd 1 3<"$PW"
}
restore_login() {
	run "$CK" restore --login-password-fd 3 "$@" 3<"$PW"
}
c_home
c_login_new
t_bearer_json "$BEARER"
printf '{"type":"api","key":"foreign"}' >"$T_TMP/foreign"
printf '["anthropic","clankie_operator","zulu"]' >"$T_TMP/index"
c_add bot.clankie.credentials clankie_operator "$BEARER"
c_add bot.clankie.credentials anthropic "$T_TMP/foreign"
c_add bot.clankie.credentials __index__ "$T_TMP/index"
migrate_login
expect_status 0
snapshot -d "$T_HOME"
run "$CK" restore
expect_status 11
expect_out_empty
expect_err_has --login-password-fd
printf passwort >"$T_TMP/wrong"
run "$CK" restore --login-password-fd 3 3<"$T_TMP/wrong"
expect_status 11
expect_unchanged 'nothing changed without its password'
restore_login
expect_status 0
expect_out_has "broker       $LOGIN (login-keychain)"
expect_out_has 'do not protect it'
t_no_secret
expect_given_back "$LOGIN"
get_login operator
expect_out_is "$BEARER"
in_login bot.clankie.credentials clankie_operator >"$T_TMP/got"
expect_same "$T_TMP/got" "$BEARER"
in_login bot.clankie.credentials __index__ >"$T_TMP/got"
expect_same "$T_TMP/got" "$T_TMP/index"
in_login bot.clankie.credentials anthropic >"$T_TMP/got"
expect_same "$T_TMP/got" "$T_TMP/foreign"
run "$CK" keychain find "$LOGIN" --service bot.clankie.custody \
    --account operator-keychain
expect_status 10
run "$CK" keychain verify "$LOGIN" --password-fd 3 3<"$PW"
expect_status 0
restore_login --json
expect_json outcome already
migrate_login --json
expect_json outcome migrated
get_login operator
expect_out_is "$BEARER"
run "$CK" rotate --keychain --login-password-fd 3 3<"$PW"
expect_status 0
restore_login --json
expect_json outcome restored
expect_json rules_cover_broker false
expect_given_back "$LOGIN"
for account in operator-keychain operator-keychain-pending; do
	run "$CK" keychain find "$LOGIN" --service bot.clankie.custody \
	    --account "$account"
	expect_status 10
done

t_case 'another value in the file broker beside it'
migrate_login
expect_status 0
c_broker
c_broker_text "$T_TMP/other" | t_write "$BROKER"
snapshot "$T_HOME"
restore_login
expect_status 22
expect_err_has "$BROKER"
expect_unchanged 'nothing changed'

t_case 'an index that is no index, and none'
for index in 'not an index' '["a",1]' ''; do
	c_home
	c_login_new
	t_bearer_json "$BEARER"
	c_add bot.clankie.credentials clankie_operator "$BEARER"
	printf '%s' "$index" >"$T_TMP/index"
	[ -z "$index" ] ||
	    c_add bot.clankie.credentials __index__ "$T_TMP/index"
	migrate_login
	restore_login
	expect_status 0
	get_login operator
	expect_out_is "$BEARER"
	in_login bot.clankie.credentials __index__ >"$T_TMP/got" 2>"$T_TMP/null"
	expect_same "$T_TMP/got" "$T_TMP/index"
done

t_case 'from a keychain that macOS made'
c_home
if c_login v100-passwords-identities-certs.keychain; then
	printf test_password >"$T_TMP/value"
	migrate_login --service test_service --account test_account
	expect_status 0
	restore_login
	expect_status 0
	expect_out_has 'clankie-keys migrate --login-password-fd N moves'
	in_login test_service test_account >"$T_TMP/got"
	expect_same "$T_TMP/got" "$T_TMP/value"
	run "$CK" keychain verify "$LOGIN" --password-fd 3 3<"$PW"
	expect_status 0
else
	skip 'a round trip' 'no test vectors here'
fi

t_case 'a value that the file broker cannot hold'
c_home
c_broker
run "$CK" migrate --service other.service --account last last
expect_status 0
printf 'no JSON' >"$T_TMP/plain"
snapshot "$T_HOME"
run "$CK" rotate last --secret-fd 4 4<"$T_TMP/plain"
expect_status 14
expect_unchanged 'nothing changed'
printf '{"type":"api","key":"again"}' >"$T_TMP/plain"
run "$CK" rotate last --secret-fd 4 4<"$T_TMP/plain"
run "$CK" restore last
expect_status 0
expect_out_has 'clankie-keys migrate last'
run "$CK" get last
expect_out_is "$T_TMP/plain"

t_case 'readers beside it'
c_home
c_broker
rounds=8
[ "$T_SANITIZED" -eq 0 ] && [ -z "$CK_TRACED" ] || rounds=3
rm -f "$T_TMP/stop" "$T_TMP/unseen"
for reader in 1 2; do
	{
		while [ ! -e "$T_TMP/stop" ]; do
			"$CK" get >"$T_TMP/seen.$reader" \
			    2>"$T_TMP/seen.err.$reader"
			cmp -s "$T_TMP/seen.$reader" "$BEARER" ||
			    cat "$T_TMP/seen.err.$reader" >>"$T_TMP/unseen"
			echo >>"$T_TMP/reads"
		done
	} &
done
# A stream that is asked all the time, by a value that never changes.
"$T_TOOLS/ck-json" key <"$BEARER" >"$T_TMP/key"
printf 'a %s\n' "$(tr -d '\n' <"$T_TMP/key" | od -An -v -tx1 |
    tr -d ' \n')" >"$T_TMP/line"
{
	while [ ! -e "$T_TMP/stop" ]; do
		cat "$T_TMP/line"
		sleep 0.01
	done
} | "$CK" authenticate --stream >"$T_TMP/answers" 2>"$T_TMP/null" &
n=0 bad=0
while [ "$n" -lt "$rounds" ]; do
	n=$((n + 1))
	"$CK" migrate >"$T_TMP/null" 2>&1 || bad=$((bad + 1))
	"$CK" restore >"$T_TMP/null" 2>&1 || bad=$((bad + 1))
done
: >"$T_TMP/stop"
wait
expect 'each move succeeded' test "$bad" -eq 0
expect 'there were readers' test "$(wc -l <"$T_TMP/reads")" -gt "$rounds"
refute 'each of them got the value' test -e "$T_TMP/unseen"
[ ! -e "$T_TMP/unseen" ] || sed 's/^/# /' "$T_TMP/unseen"
expect 'the stream said yes and nothing else' \
    [ "$(sort -u "$T_TMP/answers")" = 'a yes' ]
expect 'the generation counts the moves' test "$(generation)" -eq $((2 * rounds))

t_case '8 at the same time'
run "$CK" migrate
expect_status 0
for i in 1 2 3 4 5 6 7 8; do
	{
		"$CK" restore --json >"$T_TMP/par.$i" 2>"$T_TMP/par.err.$i"
		echo $? >"$T_TMP/par.status.$i"
	} &
done
wait
expect 'each of them succeeds' \
    test "$(grep -lx 0 "$T_TMP"/par.status.* | wc -l)" -eq 8
expect 'one does it' \
    test "$(grep -l '"outcome":"restored"' "$T_TMP"/par.[1-8] | wc -l)" -eq 1
run "$CK" get
expect_out_is "$BEARER"
expect_given_back "$BROKER"
