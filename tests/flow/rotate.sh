#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rotate: a new value in the dedicated keychain and nowhere else, with readers
# and other rotations beside it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

unlock_file() {
	"$T_TOOLS/ck-json" password <"$UNLOCK"
}

# The access list of the credential's item.
access() {
	unlock_file >"$T_TMP/unlock"
	"$CK" keychain find "$DEDICATED" --service bot.clankie.credentials \
	    --account clankie_operator --json |
	    sed -n 's/.*\("access.*\)/\1/p'
}

generation() {
	"$CK" status --json | "$T_TOOLS/ck-json" generation
}

t_case 'before the migration'
c_home
run "$CK" rotate
expect_status 23
expect_out_empty
expect_err_has 'clankie-keys migrate'
c_broker
snapshot -d "$T_HOME"
run "$CK" rotate
expect_status 23
expect_unchanged 'nothing changed'

t_case 'file broker'
run "$CK" migrate
expect_status 0
cp "$BROKER" "$T_TMP/broker.then"
unlock_file >"$T_TMP/unlock.old"
access >"$T_TMP/access.then"
run "$CK" rotate
expect_status 0
expect_out_has 'generation   2'
expect_err_empty
cp "$T_OUT" "$T_TMP/said"
run "$CK" get
expect_status 0
refute 'it is another value' cmp -s "$T_OUT" "$BEARER"
# The prefix is no secret, and is in the names of the item.
"$CK" get --key | cut -c12- >"$T_TMP/second"
t_secret "$T_TMP/second"
t_no_secret "$T_TMP/said" "$KEYS/custody.db" "$KEYS/worker.sb"
expect_same "$BROKER" "$T_TMP/broker.then"
unlock_file >"$T_TMP/unlock.now"
expect_same "$T_TMP/unlock.now" "$T_TMP/unlock.old"
expect 'the anchor goes with it' test \
    "$("$T_TOOLS/ck-json" generation <"$UNLOCK")" -eq 2
access >"$T_TMP/access.now"
expect "there is an access list" test -s "$T_TMP/access.now"
expect_same "$T_TMP/access.now" "$T_TMP/access.then"
unlock_file >"$T_TMP/unlock"
run "$CK" keychain verify "$DEDICATED" --password-fd 3 3<"$T_TMP/unlock"
expect_status 0
"$CK" keychain find "$DEDICATED" --service bot.clankie.credentials \
    --account clankie_operator --password-fd 3 --out-fd 1 \
    3<"$T_TMP/unlock" >"$T_TMP/stored"
run "$CK" get
expect_out_is "$T_TMP/stored"
expect_mode 0600 "$DEDICATED"
run "$CK" rotate --json
expect_status 0
expect_json outcome rotated
expect_json generation 3
expect 'nothing was left' c_strays
run "$CK" status --json
expect_json generation 3
expect_json unfinished null
run "$CK" precedence verify
expect_status 0

t_case 'the generation decides'
snapshot -d "$T_HOME"
run "$CK" rotate --if-generation 2
expect_status 15
expect_out_empty
expect_err_has 'generation 3'
expect_unchanged 'nothing changed'
for bad in '' -1 x 1x 99999999999999999999; do
	run "$CK" rotate "--if-generation=$bad"
	expect_status 2
done
expect_unchanged 'nothing changed by odd ones'
run "$CK" rotate --if-generation 3 --json
expect_status 0
expect_json generation 4

t_case 'a context that refuses'
snapshot -d "$T_HOME"
CLANKIE_OPERATOR_TOKEN=x run "$CK" rotate
expect_status 19
expect_out_empty
CLANKIE_OPERATOR_TOKEN='' run "$CK" rotate
expect_status 19
CLANKIE_WORKER_PANE=1 run "$CK" rotate
expect_status 19
expect_unchanged 'nothing changed'

t_case 'a given value'
t_bearer_json "$T_TMP/given"
run "$CK" rotate --secret-fd 4 --json 4<"$T_TMP/given"
expect_status 0
expect_json generation 5
run "$CK" get
expect_out_is "$T_TMP/given"
snapshot -d "$T_HOME"
run "$CK" rotate --secret-fd 4 4<"$T_TMP/given"
expect_status 19
printf 'no bearer' >"$T_TMP/wrong"
run "$CK" rotate --secret-fd 4 4<"$T_TMP/wrong"
expect_status 2
expect_unchanged 'nothing changed'

t_case 'a store that is broken'
cp "$DEDICATED" "$T_TMP/whole.kc"
snapshot -d "$T_HOME"
for what in "rm $DEDICATED" "truncate -s 100 $DEDICATED" "rm $UNLOCK"; do
	cp -p "$UNLOCK" "$T_TMP/whole.unlock"
	$what
	run "$CK" rotate
	refute "$what: refused" test "$status" -eq 0
	refute "$what: not absent" test "$status" -eq 10
	expect_out_empty
	cat "$T_TMP/whole.kc" >"$DEDICATED"
	chmod 600 "$DEDICATED"
	cp -p "$T_TMP/whole.unlock" "$UNLOCK"
done
run "$CK" get
expect_out_is "$T_TMP/given"
run "$CK" rotate --json
expect_status 0
expect_json generation 6

t_case 'a report that cannot be written'
c_home
c_broker
"$CK" migrate >"$T_TMP/null" 2>&1
if [ -c /dev/full ]; then
	run sh -c '"$1" rotate >/dev/full' sh "$CK"
	expect_status 17
	expect_err_has 'was carried out, and only its report is missing'
	run "$CK" status --json
	expect_json generation 2
else
	skip 'exit status 17' 'no /dev/full here'
fi

t_case 'login keychain'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
migrate_login --rotate --json
expect_status 0
expect_json outcome migrated
expect_json rotate_advised false
"$CK" keychain list "$LOGIN" --json >"$T_TMP/login.then"
get_login operator
expect_status 0
refute 'migrate --rotate: another value' cmp -s "$T_OUT" "$BEARER"
run "$CK" rotate
expect_status 11
run "$CK" rotate --login-password-fd 3 --json 3<"$PW"
expect_status 0
expect_json generation 3
"$CK" keychain list "$LOGIN" --json >"$T_TMP/login.now"
for at in "then" now; do
	# The anchor is beside the unlock password, in its item.
	sed 's/"modified":"[^"]*"//g; s/"commit":[0-9]*//' \
	    "$T_TMP/login.$at" >"$T_TMP/login.$at.same"
done
expect_same "$T_TMP/login.now.same" "$T_TMP/login.then.same"
run "$CK" precedence verify --login-password-fd 3 3<"$PW"
expect_status 0
migrate_login --rotate --json
expect_status 0
expect_json outcome already
run "$CK" status --json
expect_json generation 3

t_case 'a credential of another kind'
c_home
c_login_new
printf 'opaque-%s' "$$" >"$T_TMP/api"
c_add example.service api "$T_TMP/api"
migrate_login api --service example.service --account api --rotate
expect_status 14
migrate_login api --service example.service --account api
expect_status 0
run "$CK" rotate api --login-password-fd 3 3<"$PW"
expect_status 14
expect_err_has 'secret-fd'
printf 'opaque-second-%s' "$$" >"$T_TMP/api"
run "$CK" rotate api --login-password-fd 3 --secret-fd 4 3<"$PW" \
    4<"$T_TMP/api"
expect_status 0
run "$CK" get api --login-password-fd 3 3<"$PW"
expect_out_is "$T_TMP/api"

t_case 'readers beside 50 rotations'
c_home
c_broker
run "$CK" migrate
expect_status 0
rounds=50
[ "$T_SANITIZED" -eq 0 ] && [ -z "$CK_TRACED" ] || rounds=8
mkdir "$T_TMP/values"
"$CK" get >"$T_TMP/values/1"
rm -f "$T_TMP/stop"
for reader in 1 2; do
	mkdir "$T_TMP/seen.$reader"
	{
		n=0
		while [ ! -e "$T_TMP/stop" ]; do
			n=$((n + 1))
			"$CK" get >"$T_TMP/seen.$reader/$n" \
			    2>"$T_TMP/seen.err.$reader" ||
			    cat "$T_TMP/seen.err.$reader" >>"$T_TMP/unseen"
		done
	} &
done
n=1 bad=0
while [ "$n" -le "$rounds" ]; do
	n=$((n + 1))
	"$CK" rotate >"$T_TMP/null" || bad=$((bad + 1))
	"$CK" get >"$T_TMP/values/$n"
done
: >"$T_TMP/stop"
wait
expect 'each rotation succeeded' test "$bad" -eq 0
expect 'the generation counts them' test "$(generation)" -eq $((rounds + 1))
expect 'each made another value' test "$(cat "$T_TMP"/values/* |
    tr '}' '\n' | sort -u | wc -l)" -eq $((rounds + 1))
expect 'there were readers' test -e "$T_TMP/seen.2/3"
refute 'each of them got a value' test -s "$T_TMP/unseen"
[ ! -s "$T_TMP/unseen" ] || sed 's/^/# /' "$T_TMP/unseen"
for f in "$T_TMP"/values/*; do cksum <"$f"; done | sort -u >"$T_TMP/known"
for f in "$T_TMP"/seen.?/*; do cksum <"$f"; done | sort -u >"$T_TMP/got"
expect 'and only values that were stored' \
    [ -z "$(comm -13 "$T_TMP/known" "$T_TMP/got")" ]
expect 'nothing was left' c_strays

t_case '8 at the same time'
for round in 1 2 3; do
	before=$(generation)
	for i in 1 2 3 4 5 6 7 8; do
		{
			"$CK" rotate --json >"$T_TMP/par.$i" 2>"$T_TMP/par.err.$i"
			echo $? >"$T_TMP/par.status.$i"
		} &
	done
	wait
	won=$(grep -lx 0 "$T_TMP"/par.status.* | wc -l)
	lost=$(grep -lx 15 "$T_TMP"/par.status.* | wc -l)
	expect "round $round: each wins or is told that it lost" \
	    test $((won + lost)) -eq 8
	expect "round $round: one wins" test "$won" -ge 1
	expect "round $round: each success has a generation of its own" \
	    test "$(cat "$T_TMP"/par.[1-8] | grep -o '"generation":[0-9]*' |
	    sort -u | wc -l)" -eq "$won"
	expect "round $round: and none is lost" \
	    test "$(generation)" -eq $((before + won))
	run "$CK" precedence verify
	expect_status 0
done

t_case '8 for one generation'
at=$(generation)
for i in 1 2 3 4 5 6 7 8; do
	{
		"$CK" rotate --if-generation "$at" >"$T_TMP/null" 2>&1
		echo $? >"$T_TMP/par.status.$i"
	} &
done
wait
expect 'exactly one wins' \
    test "$(grep -lx 0 "$T_TMP"/par.status.* | wc -l)" -eq 1
expect 'seven are told' \
    test "$(grep -lx 15 "$T_TMP"/par.status.* | wc -l)" -eq 7
expect 'one generation further' test "$(generation)" -eq $((at + 1))
