#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# migrate more than once: after itself, beside itself, and only on paper.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

t_case 'twice, file broker'
c_home
c_broker
run "$CK" migrate --json
expect_status 0
expect_json outcome migrated
first=$("$T_TOOLS/ck-json" fingerprint <"$T_OUT")
snapshot -d "$T_HOME"
run "$CK" migrate --json
expect_status 0
expect_json outcome already
expect_json fingerprint "$first"
expect_json rotate_advised false
expect_unchanged 'nothing changed'
run "$CK" migrate
expect_status 0
expect_out_has 'nothing was changed'
run "$CK" migrate --dry-run --json
expect_status 0
expect_json outcome already
expect_unchanged 'nothing changed by three'

t_case 'twice, login keychain'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
migrate_login --json
expect_status 0
expect_json outcome migrated
first=$("$T_TOOLS/ck-json" fingerprint <"$T_OUT")
snapshot -d "$T_HOME"
migrate_login --json
expect_status 0
expect_json outcome already
expect_json fingerprint "$first"
# The broker is recorded; whether an item is there needs no password.
run "$CK" migrate --json
expect_status 0
expect_json outcome already
expect_unchanged 'nothing changed'

t_case 'the login keychain has a bearer again'
c_add bot.clankie.credentials clankie_operator "$BEARER"
snapshot -d "$T_HOME"
migrate_login
expect_status 22
expect_err_has "$LOGIN"
run "$CK" migrate
expect_status 22
expect_unchanged 'nothing changed'

t_case 'the other kind of broker has a bearer'
"$CK" keychain delete "$LOGIN" --service bot.clankie.credentials \
    --account clankie_operator
c_broker
snapshot -d "$T_HOME"
run "$CK" migrate
expect_status 22
expect_err_has "$BROKER"
expect_unchanged 'nothing changed'

t_case 'dry run, nothing there'
c_home
snapshot -d "$T_HOME"
run "$CK" migrate --dry-run
expect_status 10
expect_out_empty
expect_unchanged 'nothing changed'

t_case 'dry run, file broker'
c_home
c_broker
snapshot -d "$T_HOME"
run "$CK" migrate --dry-run
expect_status 0
expect_out_has "$BROKER"
expect_out_has "$DEDICATED"
expect_out_has "$UNLOCK"
expect_out_has 'nothing was changed'
t_no_secret
run "$CK" migrate --dry-run --json
expect_status 0
expect_json outcome planned
expect_json fingerprint null
expect_json rotate_advised false
expect_unchanged 'nothing changed'

t_case 'dry run, login keychain'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
snapshot -d "$T_HOME"
migrate_login --dry-run --json
expect_status 0
expect_json outcome planned
expect_json broker_kind login-keychain
expect_unchanged 'nothing changed'

# A loaded machine must not make the last in the row wait longer than the
# lock's bound.
n=20
[ "$T_SANITIZED" -eq 0 ] && [ -z "$CK_TRACED" ] || n=6

parallel() { # how often; the arguments of migrate
	count=$1
	shift
	i=0
	while [ "$i" -lt "$count" ]; do
		{
			"$CK" migrate --json "$@" 3<"$PW" >"$T_TMP/par.$i.out" \
			    2>"$T_TMP/par.$i.err"
			echo $? >"$T_TMP/par.$i.status"
		} &
		i=$((i + 1))
	done
	wait
}

expect_parallel() {
	i=0 bad=0 made=0
	: >"$T_TMP/prints"
	while [ "$i" -lt "$n" ]; do
		if [ "$(cat "$T_TMP/par.$i.status")" -ne 0 ]; then
			bad=$((bad + 1))
			cat "$T_TMP/par.$i.err" >&2
		fi
		"$T_TOOLS/ck-json" fingerprint <"$T_TMP/par.$i.out" \
		    >>"$T_TMP/prints"
		! grep -q '"outcome":"migrated"' "$T_TMP/par.$i.out" ||
		    made=$((made + 1))
		i=$((i + 1))
	done
	expect 'all succeed' test "$bad" -eq 0
	expect 'exactly one did the work' test "$made" -eq 1
	expect 'all report the same fingerprint' \
	    test "$(sort -u "$T_TMP/prints" | wc -l)" -eq 1
	expect 'and each reports one' \
	    test "$(wc -l <"$T_TMP/prints")" -eq "$n"
	expect 'nothing was left' c_strays
}

for round in 1 2 3; do
	t_case "$n at the same time, file broker, round $round"
	c_home
	c_broker
	: >"$PW"
	parallel "$n"
	expect_parallel
	run "$CK" get
	expect_out_is "$BEARER"
	expect_same "$BROKER" "$T_TMP/broker.rest"
done

t_case "$n at the same time, login keychain"
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
parallel "$n" --broker "keychain:$LOGIN" --login-password-fd 3
expect_parallel
get_login --raw
expect_out_is "$BEARER"
run "$CK" keychain verify "$LOGIN" --password-fd 3 3<"$PW"
expect_status 0

t_case 'readers beside a migration never see nothing'
c_home
c_broker
{
	while [ ! -e "$T_TMP/stop" ]; do
		"$CK" get >"$T_TMP/seen" 2>"$T_TMP/seen.err"
		code=$?
		if [ "$code" -ne 0 ] || ! cmp -s "$T_TMP/seen" "$BEARER"; then
			echo "$code: $(cat "$T_TMP/seen.err")" >>"$T_TMP/unseen"
		fi
		echo >>"$T_TMP/reads"
	done
} &
while [ ! -s "$T_TMP/reads" ]; do sleep 0.05; done
run "$CK" migrate
expect_status 0
sleep 0.1
: >"$T_TMP/stop"
wait
expect 'there were readers' test -s "$T_TMP/reads"
refute 'each of them got the bearer' test -s "$T_TMP/unseen"
[ ! -s "$T_TMP/unseen" ] || sed 's/^/# /' "$T_TMP/unseen"

t_case 'options that come after the move'
c_home
c_broker
mkdir "$T_HOME/one" "$T_HOME/two"
run "$CK" migrate --checkout "$T_HOME/two" --quiet
expect_status 0
printf "TOKEN='%s'\n" "$("$CK" get --key)" >"$T_HOME/one/.env.local"
snapshot "$T_HOME"
run "$CK" migrate --checkout "$T_HOME/one" --dry-run
expect_status 0
expect_out_has '1 would be added to the rules'
run "$CK" migrate --rotate --dry-run
expect_status 0
run "$CK" migrate --checkout "$T_HOME/two" --json
expect_json checkouts_added 0
run "$CK" migrate --checkout "$T_HOME/two"
expect_out_has '1 in the rules already'
run "$CK" migrate --account last
expect_status 19
run "$CK" migrate --checkout "$T_HOME/none"
expect_status 23
run env CLANKIE_WORKER_PANE=1 "$CK" migrate --checkout "$T_HOME/one"
expect_status 19
expect_unchanged 'nothing was changed'
run "$CK" check
expect_status 0
run "$CK" migrate --checkout "$T_HOME/one" --json
expect_status 0
expect_json outcome already
expect_json checkouts_added 1
for file in worker.sb worker.mounts; do
	expect "$file has it" grep -qF "$T_HOME/one" "$KEYS/$file"
done
run "$CK" check
expect_status 21
expect_out_has second-bearer-dotenv
run "$CK" precedence verify
expect_status 0
run "$CK" get
expect_out_is "$BEARER"
run "$CK" precedence explain launcher --json
expect_json precedence.0.honours unknown
run "$CK" migrate --service-honours-precedence
expect_status 0
expect_out_has '8 of the service'
run "$CK" precedence explain launcher --json
expect_json precedence.0.honours yes
rm "$T_HOME/one/.env.local"
if t_find_tool sqlite3; then
	sqlite3 "$KEYS/custody.db" "DELETE FROM protected WHERE why = 'settings'"
	mkdir "$T_HOME/three"
	snapshot "$T_HOME"
	run "$CK" migrate --checkout "$T_HOME/three"
	expect_status 13
	run "$CK" precedence honours tui no
	expect_status 13
	expect_err_has 'doctor --rebuild'
	expect_unchanged 'edited records are not sealed again'
else
	skip 'edited records' 'no sqlite3 here'
fi
