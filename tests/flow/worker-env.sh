#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The environment of a worker: bearers are there and empty, set before or not;
# a marker says that it is one; everything else is as it was.
# traced: no
# It puts bearers into environments on purpose.
# shellcheck disable=SC2016  # the children expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
LISTED='CLANKIE_OPERATOR_TOKEN CLANKIE_CAPTAIN_TOKEN
CLANKIE_ACTIVITY_PRODUCER_TOKEN CLANKIE_PLAY_VOICE_TOKEN
CLANKIE_WORLD_CREDENTIAL CLANKIE_RUNNER_TOKEN CLANKIE_WORKER_TOKEN
DISCORD_BOT_TOKEN DISCORD_USER_TOKEN SWARM_SESSION_CAPABILITY'
# Set in the worker of $T_OUT, a line NAME=VALUE each, and empty.
empties() { # name...
	for name; do
		expect "$name is empty" grep -qx "$name=" "$T_OUT"
		refute "$name has no value" grep -q "^$name=." "$T_OUT"
	done
}
t_bearer "$T_TMP/bearer"
t_password "$T_TMP/key"
# A service that has all of it; it starts what follows.
SERVICE=$T_TMP/service
cat >"$SERVICE" <<'S'
#!/bin/sh
export HERDR_PANE_ID=p1 HERDR_SOCKET_PATH=/s CLANKIE_STATE="$HOME/st" \
    CLANKIE_CONTROL_PLANE_URL=http://x CLANKIE_CODEX_A=1 CLANKIE_SEAT_B=2 \
    CLANKIE_CONVERSATION_ID=c CLANKIE_VOICE_TOKEN_LIMIT=9 AWS_REGION=r
T=$(dirname "$0")
CLANKIE_CAPTAIN_TOKEN=$(cat "$T/bearer")
CLANKIE_NEW_SECRET=$CLANKIE_CAPTAIN_TOKEN DISCORD_BOT_TOKEN=$CLANKIE_CAPTAIN_TOKEN
OPENAI_API_KEY=$(cat "$T/key")
export CLANKIE_CAPTAIN_TOKEN CLANKIE_NEW_SECRET DISCORD_BOT_TOKEN OPENAI_API_KEY
exec "$@"
S
chmod +x "$SERVICE"
LINK='HERDR_PANE_ID=p1 HERDR_SOCKET_PATH=/s CLANKIE_CONTROL_PLANE_URL=http://x
CLANKIE_CODEX_A=1 CLANKIE_SEAT_B=2 CLANKIE_CONVERSATION_ID=c
CLANKIE_VOICE_TOKEN_LIMIT=9'

t_case 'shown'
c_home
snapshot -d "$T_HOME"
run "$SERVICE" "$CK" worker env
expect_status 0
expect_err_empty
expect 'the marker' grep -q '^set    CLANKIE_WORKER_PANE=1  ' "$T_OUT"
for name in $LISTED CLANKIE_NEW_SECRET; do
	expect "$name" grep -q "^empty  $name  " "$T_OUT"
done
expect 'a key stays' grep -q '^keep   OPENAI_API_KEY  ' "$T_OUT"
refute 'a limit is no bearer' grep -q TOKEN_LIMIT "$T_OUT"
run "$SERVICE" "$CK" worker env --provider-keys blank --keep OPENAI_API_KEY
expect 'a key is taken away' grep -q '^empty  AWS_REGION  ' "$T_OUT"
expect 'but the excepted' grep -q '^keep   OPENAI_API_KEY  ' "$T_OUT"
run "$SERVICE" "$CK" worker env --json
expect_json ok true
expect_json provider_keys keep
expect_json variables.0.name CLANKIE_WORKER_PANE
expect_json variables.1.value ''
expect_unchanged
t_no_secret

run "$CK" worker env --marker "M=$(printf '\033[2J')"
refute 'a value is shown as it can be' grep -q "$(printf '\033')" "$T_OUT"

t_case 'for a shell'
run sh -c 'CLANKIE_NEW_SECRET=x; export CLANKIE_NEW_SECRET
    eval "$("$1" worker env --format sh)" && env' sh "$CK"
expect_status 0
# shellcheck disable=SC2086  # names
empties $LISTED CLANKIE_NEW_SECRET
expect 'the marker' grep -qx CLANKIE_WORKER_PANE=1 "$T_OUT"
# The only words that go on to it are names and ours.
run env 'CLANKIE_$(touch x)_TOKEN=1' "$CK" worker env --format sh
expect_status 20
expect_out_empty
run "$CK" worker env --format sh --marker "M=it's \\ \$x"
printf '%s' "$(tail -n +2 "$T_OUT" | head -n 1)" >"$T_TMP/line"
expect 'a quoted value' [ "$(sh -c '. "$1"; printf %s "$M"' sh "$T_TMP/line")" = "it's \\ \$x" ]
if t_find_tool fish; then
	cat >"$T_TMP/words.fish" <<'F'
eval ($argv[1] worker env --format fish --marker $argv[2] | string collect)
env
F
	run env HOME="$T_TMP" fish -N "$T_TMP/words.fish" "$CK" "M=it's \\ x"
	expect 'and in fish' grep -qxF "M=it's \\ x" "$T_OUT"
	# shellcheck disable=SC2086  # names
	empties $LISTED
else
	skip 'and in fish' 'no fish here'
fi

t_case 'words that are refused'
for words in '--format bash' '--provider-keys no' '--keep OPENAI_API_KEY' \
    '--provider-keys blank --keep PATH' '--marker 9=1' '--marker A=' \
    '--marker =1' '--marker LD_PRELOAD=x' '--marker CLANKIE_A_TOKEN' \
    '--marker PATH=x' '--marker OPENAI_API_KEY=x' '--login-password-fd 0' \
    'more' '-- true'; do
	# shellcheck disable=SC2086  # words
	run "$CK" worker env $words
	expect_status 2
	expect_out_empty
done
run "$CK" worker env --record
expect_status 23
expect_err_has migrate
expect_unchanged

t_case 'recorded'
c_broker
run "$CK" migrate
expect_status 0
run "$CK" worker env --record --marker MY_PANE=yes --provider-keys blank \
    --keep OPENAI_API_KEY
expect_status 0
run "$CK" worker env
expect 'the second marker' grep -q '^set    MY_PANE=yes  ' "$T_OUT"
expect 'and the first' grep -q '^set    CLANKIE_WORKER_PANE=1  ' "$T_OUT"
run "$CK" get
expect_status 0
expect_out_is "$BEARER"
run "$CK" check
snapshot "$KEYS"
run "$CK" worker env --record
expect_status 0
expect_unchanged 'the same once more changes nothing'
for words in '--marker 9' '--provider-keys x'; do
	# shellcheck disable=SC2086  # words
	run "$CK" worker env --record $words
	expect_status 2
done
run env CLANKIE_WORKER_PANE=1 "$CK" worker env --record --marker X
expect_status 19
run env -u HOME "$CK" --home "$KEYS/none" worker env --record --marker X
refute 'another custody' test "$status" -eq 0
expect_unchanged

if [ "$(id -u)" -eq 0 ]; then
	exit 0
fi
w_need
echo '{"fleet":{"workerSandbox":true}}' >"$CLANKIE/settings.json"
t_case 'a real worker'
run "$SERVICE" "$CK" worker exec -- env
expect_status 0
# shellcheck disable=SC2086  # names
empties $LISTED CLANKIE_NEW_SECRET AWS_REGION
for line in $LINK CLANKIE_WORKER_PANE=1 MY_PANE=yes "CLANKIE_STATE=$T_HOME/st"; do
	expect "$line" grep -qx "$line" "$T_OUT"
done
expect 'an excepted key' grep -q '^OPENAI_API_KEY=.' "$T_OUT"
run "$SERVICE" "$CK" worker exec --provider-keys blank -- env
empties OPENAI_API_KEY
run "$SERVICE" "$CK" worker exec --provider-keys keep -- env
expect 'keys on the word of the launch' grep -qx AWS_REGION=r "$T_OUT"
run env -i HOME="$T_HOME" "$CK" worker exec -- /usr/bin/env
# shellcheck disable=SC2086  # names
empties $LISTED
expect 'nothing else came in' [ "$(grep -vc '=$' "$T_OUT")" -eq 3 ]
for words in '--provider-keys x' '--keep OPENAI_API_KEY --provider-keys keep' \
    '--provider-keys blank --keep HOME'; do
	# shellcheck disable=SC2086  # words
	run "$CK" worker exec $words -- touch "$T_TMP/started"
	expect_status 2
done
refute 'nothing was started' test -e "$T_TMP/started"

t_case 'the entry alone'
run "$SERVICE" "$(dirname "$CK")/clankie-worker-entry" --plan "$KEYS/worker.mounts" -- env
# shellcheck disable=SC2086  # names
empties $LISTED CLANKIE_NEW_SECRET
expect 'the marker' grep -qx CLANKIE_WORKER_PANE=1 "$T_OUT"

t_case 'what a worker is told'
run "$CK" worker exec -- "$CK" worker env --record --marker X
refute 'it records nothing' test "$status" -eq 0
# A worker has the override, empty, and is no finding for that.
"$CK" worker exec -- sleep 30 &
worker=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ "$(cat "/proc/$worker/comm")" != sleep ] || break
	sleep 0.1
done
run "$CK" check
refute 'check has nothing against it' grep -q "process $worker.*OPERATOR" "$T_OUT"
kill "$worker"
wait "$worker" 2>/dev/null
env CLANKIE_OPERATOR_TOKEN= sleep 30 &
other=$!
sleep 0.1
run "$CK" check
expect 'but against another process' grep -q "process $other.*OPERATOR" "$T_OUT"
kill "$other"
wait "$other" 2>/dev/null
t_no_secret
