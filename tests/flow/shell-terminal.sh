#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# worker shell in a terminal: it is the pane's child, alone in its foreground,
# and has its signals, its job control and its window sizes.
# traced: no
# sanitized: no
# What is started never has a secret, and is not our program.
# shellcheck disable=SC2016  # the shells expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
if [ "$(id -u)" -eq 0 ]; then
	skip_all 'root is not confined'
fi
w_need
w_custody
run "$CK" worker install-shell
expect_status 0
LINKS=$T_HOME/.local/libexec/clankie-keys
unset ENV
PS1='$ '
export PS1 TERM=xterm-256color
SCRIPT=$T_TMP/script
# Answers are computed, so that what is typed is not taken for them.
cat >"$T_TMP/steps" <<'S'
type echo "up$((20+2))"
wait up22
alone NAME
DENIED
type sh -c 'echo run$((1+2)); exec sleep 60'
wait run3
busy
key C
idle
type echo "interrupted$?"
wait interrupted130
alone NAME
type sh -c 'echo run$((2+2)); exec sleep 60'
wait run4
key Z
idle
type jobs %1 >/dev/null && echo "stopped$((1+1))"
wait stopped2
type fg >/dev/null && echo "fg$?"
busy
key C
idle
type echo "again$((3+4))"
wait again7
size 31 101
type stty size
wait 31 101
type sh -c 'trap "echo win$((5+5)); exit" WINCH; echo run$((2+3)); while sleep 0.05; do :; done'
wait run5
size 30 90
wait win10
idle
type sleep 0.1 &
type wait; echo "job$((6+6))"
wait job12
alone NAME
type exit 7
end 7
S
DENIED='type cat DEDICATED; echo "denied$?"
wait Permission denied
wait denied1'
pane() { # name, argv[0]
	real=$(command -v "$1") || {
		skip "$1 as $2" 'it is not here'
		return 0
	}
	"$CK" worker install-shell --shell "$real" >/dev/null
	sed "s|NAME|$1|; /^DENIED/d" "$T_TMP/steps" >"$SCRIPT.real"
	awk -v denied="$DENIED" '/^DENIED/ { print denied; next } { print }' "$T_TMP/steps" |
	    sed "s|NAME|$1|; s|DEDICATED|$DEDICATED|" >"$SCRIPT"
	# In fish, arithmetic and the status are called otherwise.
	[ "$1" != fish ] || sed -i '/^type sh/!{s/\$((\([0-9+]*\)))/$(math \1)/g; s/\$?/$status/g}' \
	    "$SCRIPT" "$SCRIPT.real"
	shift
	# The control: this is what the shell itself does.
	run "$T_TOOLS/ck-pty" "$SCRIPT.real" "$real" "$@"
	t_why "status $status"
	cat "$T_ERR" >>"$T_NOTE"
	[ "$status" -eq 0 ]
	t_result $? "$*: control"
	run "$T_TOOLS/ck-pty" "$SCRIPT" "$LINKS/$(basename "$real")" "$@"
	t_why "status $status"
	cat "$T_ERR" >>"$T_NOTE"
	[ "$status" -eq 0 ]
	t_result $? "$*"
}
t_case 'a pane'
: >"$T_HOME/.zshrc"
# Or fish makes them, in the background, when it is first started.
mkdir -p "$T_HOME/.local/share/fish/generated_completions"
pane bash bash
pane bash -bash
pane bash bash -i
pane sh -sh
pane zsh -zsh
pane fish -fish

t_case tmux
if ! t_find_tool tmux; then
	skip 'a pane of tmux' 'no tmux here'
	exit 0
fi
"$CK" worker install-shell --shell "$(command -v bash)" >/dev/null
TMUX_TMPDIR=$T_TMP
export TMUX_TMPDIR
mux() {
	tmux -L ck -f "$T_TMP/tmux.conf" "$@"
}
# Until the pane shows a text.
shows() {
	for _ in $(seq 100); do
		mux capture-pane -p | grep -qF "$1" && return 0
		sleep 0.05
	done
	mux capture-pane -p >"$T_NOTE"
	return 1
}
# The foreground group of the pane is its process, and that is alone in it.
in_front() {
	# shellcheck disable=SC2046,SC2086  # numbers
	set -- $(mux display -p '#{pane_pid} #{pid}')
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v pane="$1" -v server="$2" '
		{ sub(/^.*\) /, "") }
		$3 == pane { n++; ok = $2 == server && $6 == pane }
		END { exit !(n == 1 && ok) }'
}
echo "set -g default-shell $LINKS/bash" >"$T_TMP/tmux.conf"
mux new-session -d -x 80 -y 24
trap 'mux kill-server 2>/dev/null; kill "$W_PID" 2>/dev/null; t_end' EXIT
mux send-keys 'echo "up$((20+2))"' Enter
expect 'the shell answers' shows up22
expect 'it is the child, alone in the foreground' in_front
expect 'and called bash' [ "$(mux display -p '#{pane_current_command}')" = bash ]
mux send-keys "cat $DEDICATED; echo \"denied\$?\"" Enter
expect 'it is a worker' shows denied1
mux send-keys "sh -c 'echo run\$((1+2)); exec sleep 60'" Enter
expect 'a command runs' shows run3
mux send-keys C-c
mux send-keys 'echo "interrupted$?"' Enter
expect 'Control-C' shows interrupted130
mux send-keys "sh -c 'echo run\$((2+2)); exec sleep 60'" Enter
expect 'another runs' shows run4
mux send-keys C-z
mux send-keys 'jobs %1 >/dev/null && echo "stopped$((1+1))"' Enter
expect 'Control-Z' shows stopped2
mux send-keys 'kill -9 %1; wait; echo "gone$((3+3))"' Enter
expect 'and its end' shows gone6
mux resize-window -x 101 -y 31
mux send-keys 'clear; stty size' Enter
expect 'the size of the window' shows '31 101'
expect 'still alone in the foreground' in_front
mux send-keys 'exit' Enter
for _ in $(seq 40); do
	mux has-session 2>/dev/null || break
	sleep 0.05
done
refute 'its end is the end of the pane' mux has-session
