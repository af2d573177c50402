#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Helpers outside: a worker reaches their sockets, which is the way out that the
# documents tell of; with worker.strict it reaches its own pane's alone.
# traced: no
# shellcheck disable=SC2016,SC2154  # the attempts expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
w_custody
A=$T_TOOLS/ck-attempt
UID_=$(id -u)
XDG_RUNTIME_DIR=$T_TMP/run
TMUX_TMPDIR=$T_TMP/t
HERDR_SOCKET_PATH=$T_HOME/.config/herdr/sessions/own/herdr.sock
SSH_AUTH_SOCK=$T_TMP/agent
DOCKER_HOST=unix://$T_TMP/docker
export XDG_RUNTIME_DIR TMUX_TMPDIR HERDR_SOCKET_PATH SSH_AUTH_SOCK DOCKER_HOST
unset TMUX DBUS_SESSION_BUS_ADDRESS
TMUX_DIR=$TMUX_TMPDIR/tmux-$UID_
CLOSED="$XDG_RUNTIME_DIR/bus $XDG_RUNTIME_DIR/docker.sock
    $XDG_RUNTIME_DIR/systemd/private $XDG_RUNTIME_DIR/podman/podman.sock
    $TMUX_DIR/default $TMUX_DIR/other $T_TMP/docker
    $T_HOME/.config/herdr/herdr.sock $T_HOME/.config/herdr/herdr-client.sock
    $T_HOME/.config/herdr/sessions/other/herdr.sock
    $T_HOME/.clankie/herdr/herdr.sock"
OPEN="$HERDR_SOCKET_PATH $SSH_AUTH_SOCK"
PIDS=
trap 'kill $PIDS "$W_PID" 2>/dev/null; t_end' EXIT
for path in $CLOSED $OPEN; do
	mkdir -p "$(dirname "$path")"
	chmod 0700 "$(dirname "$path")"
	"$A" listen "$path" &
	PIDS="$PIDS $!"
done
for path in $CLOSED $OPEN; do
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ ! -S "$path" ] || break
		sleep 0.05
	done
done

reaches() { # 0 or 1, path...
	r_want=$1
	shift
	for r_path; do
		run "$CK" worker exec -- "$A" connect "$r_path"
		t_why "status $status, wanted $r_want"
		[ "$status" -eq "$r_want" ]
		t_result $? "$r_path: $r_want"
	done
}

t_case 'they are open'
# shellcheck disable=SC2086  # words
reaches 0 $CLOSED $OPEN
run "$CK" status --json
for path in $CLOSED $OPEN; do
	expect_out_has "\"path\":\"$path\""
done

t_case strict
run "$CK" worker sandbox --strict maybe
expect_status 2
run env CLANKIE_WORKER_PANE=1 "$CK" worker sandbox --strict on
expect_status 19
run "$CK" worker sandbox --strict on --json
expect_status 0
expect_json strict true
run "$CK" status --json
expect_json worker_strict true
expect_out_has "{\"kind\":\"dbus\",\"path\":\"$XDG_RUNTIME_DIR/bus\",\"own\":false,\"closed\":true}"
expect_out_has "\"path\":\"$HERDR_SOCKET_PATH\",\"own\":true,\"closed\":false"
expect_out_has "{\"kind\":\"agent\",\"path\":\"$SSH_AUTH_SOCK\",\"own\":false,\"closed\":false}"
# shellcheck disable=SC2086  # words
reaches 1 $CLOSED
# shellcheck disable=SC2086  # words
reaches 0 $OPEN
run "$CK" worker exec -- sh -c 'cd "$1" && mv .config/herdr work/h && "$2" connect work/h/herdr.sock' sh "$T_HOME" "$A"
refute 'nor under another name' test "$status" -eq 0
[ ! -e "$T_HOME/work/h" ] || mv "$T_HOME/work/h" "$T_HOME/.config/herdr"
run "$CK" worker exec -- sh -c 'rm "$1/.config/herdr/herdr.sock"; : >"$2/x"; ls "$2"' sh "$T_HOME" "$TMUX_DIR"
refute 'nor can it be replaced' test "$status" -eq 0
expect 'it is there outside' test -S "$T_HOME/.config/herdr/herdr.sock"
"$A" listen "$TMUX_DIR/later" &
PIDS="$PIDS $!"
run "$CK" worker exec -- sh -c 'echo; read x' </dev/null
TMUX=$TMUX_DIR/other,1,0
export TMUX
t_case 'a pane of tmux'
reaches 0 "$TMUX_DIR/other"
reaches 1 "$TMUX_DIR/default" "$TMUX_DIR/later"
unset TMUX

t_case 'a real one'
if t_find_tool tmux; then
	steal() {
		rm -f "$T_HOME/work/stolen"
		run "$CK" worker exec -- tmux -S "$TMUX_DIR/real" new-window \
		    "cp '$T_HOME/src/app/.env.local' '$T_HOME/work/stolen'; tmux -S '$TMUX_DIR/real' wait-for -S stolen"
		[ "$status" -ne 0 ] || "$T_TIMEOUT" 5 tmux -S "$TMUX_DIR/real" wait-for stolen
	}
	tmux -S "$TMUX_DIR/real" -f /dev/null new-session -d 'sleep 60'
	steal
	refute 'it starts nothing for a worker' test -s "$T_HOME/work/stolen"
	"$CK" worker sandbox --strict off >/dev/null
	steal
	expect 'control: open, it does' test -s "$T_HOME/work/stolen"
	tmux -S "$TMUX_DIR/real" kill-server
else
	skip 'a server of tmux' 'no tmux here'
fi
