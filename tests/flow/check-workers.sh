#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check and doctor about workers: what runs without a boundary, what would make
# such, a plan that is not of this day, and a switch that was turned off.
# traced: no
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
w_custody
CONFIG=$T_HOME/.config/herdr/config.toml
mkdir -p "$T_HOME/.config/herdr"

finds() { # code, place
	run "$CK" check --json
	expect_out_has "\"code\":\"$1\""
	expect_out_has "$2"
}

misses() { # code
	run "$CK" check --json
	refute "no $1" grep -q "\"code\":\"$1\"" "$T_OUT"
}

# Other processes of this user are none of the script's business.
named() { # code, process
	tr '{' '\n' <"$T_OUT" | grep "\"process $2\"" |
	    grep -q "\"code\":\"$1\""
}

t_case processes
PIDS=
trap 'kill $PIDS "$W_PID" 2>/dev/null; t_end' EXIT
start() { # command...
	"$@" >/dev/null 2>&1 &
	PID=$!
	PIDS="$PIDS $PID"
}
start "$CK" worker exec -- sleep 30
confined=$PID
start env CLANKIE_WORKER_PANE=1 sh -c 'sleep 30; :'
marked=$PID
start env HERDR_PANE_ID=1 sleep 30
pane=$PID
start env HERDR_PANE_ID=1 \
    HERDR_SOCKET_PATH="$T_HOME/.clankie/herdr/herdr.sock" sleep 30
hire=$PID
sleep 0.3
child=$(pgrep -P "$marked" || true)
run "$CK" check --json
expect_status 0
expect 'a marked one' named worker-unconfined "$marked"
expect 'a pane' named pane-unconfined "$pane"
expect 'a pane of the hires' named worker-unconfined "$hire"
for pid in $confined $child; do
	refute "not process $pid" named worker-unconfined "$pid"
done
run "$CK" doctor
expect_out_has "kill $marked"
run "$CK" check --startup --json
refute 'the gate does not look' grep -q unconfined "$T_OUT"
# shellcheck disable=SC2086  # words
kill $PIDS $child
PIDS=

t_case Herdr
misses panes-restored
: >"$CONFIG"
finds panes-restored "$CONFIG"
printf '[session]\nresume_agents_on_restore = false\n' >"$CONFIG"
misses panes-restored
printf '[terminal]\ndefault_shell = "%s/.local/libexec/clankie-keys/zsh"\n' \
    "$T_HOME" >"$CONFIG"
finds wrapper-server-wide "$CONFIG"
misses panes-restored
printf '[terminal]\ndefault_shell = "zsh\n' >"$CONFIG"
finds not-checked "$CONFIG"
rm -r "$T_HOME/.config/herdr"

t_case 'a server for hires'
misses wrapper-missing
mkdir -p "$T_HOME/.clankie/herdr"
finds wrapper-missing "$T_HOME/.clankie/herdr"
run "$CK" doctor
expect_out_has 'worker install-shell'
rm -r "$T_HOME/.clankie"

t_case 'a plan of another day'
misses plan-stale
mv "$T_HOME/src/app" "$T_HOME/away"
cp -a "$T_HOME/away" "$T_HOME/src/app"
rm -r "$T_HOME/away"
finds plan-stale worker.mounts
expect_status 0
run "$CK" doctor
expect_out_has 'rules --write'
run "$CK" rules --write
expect_status 0
misses plan-stale

t_case 'the switch'
misses sandbox-off
misses sandbox-turned-off
echo '{}' >"$CLANKIE/settings.json"
finds sandbox-turned-off "$CLANKIE/settings.json"
run "$CK" doctor
expect_out_has 'worker sandbox follow'
run "$CK" worker sandbox follow
misses sandbox-turned-off
finds sandbox-off 'does not set'
run "$CK" worker sandbox on
misses sandbox-off
echo '{"fleet":{"workerSandbox":true}}' >"$CLANKIE/settings.json"
run "$CK" worker sandbox off
finds sandbox-off 'your word is off'
start env CLANKIE_WORKER_PANE=1 sleep 30
run "$CK" check --json
refute 'no worker is to be confined' named worker-unconfined "$PID"
