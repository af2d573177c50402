#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A real Codex app-server with full access, as Clankie starts one: it answers,
# its commands work, and what is protected stays closed to it and to them.
# traced: no
# sanitized: no
# (it is about another program.)  $CK_CODEX, or a codex in PATH; it is never
# fetched, and needs no network.
# shellcheck disable=SC2016  # the worker expands it
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
CODEX=${CK_CODEX:-$(command -v codex || true)}
[ -x "$CODEX" ] || skip_all 'no codex here (CK_CODEX names one)'
w_need
w_custody
CODEX_HOME=$T_HOME/.codex
export CODEX_HOME
mkdir -m 0700 "$CODEX_HOME"
echo note >"$T_HOME/work/note"

# One request a line, as its protocol wants it; the answers of one session.
ask() { # method and parameters, as JSON members
	a_id=1
	{
		echo '{"id":1,"method":"initialize","params":{"clientInfo":{"name":"test","title":"test","version":"1"}}}'
		echo '{"method":"initialized"}'
		for a_what; do
			a_id=$((a_id + 1))
			echo "{\"id\":$a_id,$a_what}"
		done
	} >"$T_TMP/requests"
	mkfifo "$T_TMP/pipe" 2>/dev/null
	: >"$T_TMP/answers"
	a_start >"$T_TMP/answers" 2>"$T_TMP/server" <"$T_TMP/pipe" &
	a_pid=$!
	exec 6>"$T_TMP/pipe"
	cat "$T_TMP/requests" >&6
	a_wait=0
	until grep -q "\"id\":${a_id}[,}]" "$T_TMP/answers" || [ "$a_wait" -ge 100 ]; do
		a_wait=$((a_wait + 1))
		sleep 0.1
	done
	exec 6>&-
	wait "$a_pid"
}

command_exec() { # words, as JSON strings
	echo "\"method\":\"command/exec\",\"params\":{\"command\":[$1],\"sandboxPolicy\":{\"type\":\"dangerFullAccess\"}}"
}

answer() { # id
	grep "\"id\":${1}[,}]" "$T_TMP/answers"
}

has() { # id, text
	answer "$1" >"$T_OUT"
	: >"$T_ERR"
	expect_out_has "$2"
}

E_REAL=$T_HOME/src/app/.env.local
set -- "$(command_exec "\"cat\",\"$T_HOME/work/note\"")"
for path in "$E_REAL" "$DEDICATED" "$BROKER" "$KEYS/custody.db"; do
	set -- "$@" "$(command_exec "\"sha256sum\",\"$path\"")" \
	    "\"method\":\"fs/readFile\",\"params\":{\"path\":\"$path\"}"
done
set -- "$@" "$(command_exec "\"sh\",\"-c\",\"echo x >>$CLANKIE/settings.json || mv $KEYS $T_HOME/work/k\"")" \
    "$(command_exec '"sh","-c","echo $CLANKIE_WORKER_PANE,${CLANKIE_OPERATOR_TOKEN-unset}"')"

t_case 'control: without a boundary'
a_start() {
	exec "$CODEX" -c sandbox_mode=danger-full-access app-server
}
ask "$1" "$2" "$3" "$4"
has 1 '"result"'
has 2 note
has 3 '"exitCode":0'
answer 4 >"$T_OUT"
expect 'it reads a file by itself' grep -q '"result"' "$T_OUT"
has 5 '"exitCode":0'

t_case 'worker codex'
a_start() {
	exec env CLANKIE_OPERATOR_TOKEN=x "$CK" worker codex --program "$CODEX" -- \
	    -c sandbox_mode=danger-full-access app-server
}
run "$CK" worker codex --explain --json -- -c sandbox_mode=danger-full-access \
    app-server
expect_json answer full
ask "$@"
has 1 '"userAgent"'
has 2 note
for id in 3 5 7 9; do
	has "$id" '"exitCode":1'
	has "$id" 'Permission denied'
	answer "$((id + 1))" >"$T_OUT"
	expect 'nor does it read it itself' grep -q '"error"' "$T_OUT"
	refute 'as if it were not there' grep -qi 'not found\|No such' "$T_OUT"
done
has 11 '"exitCode":1'
has 12 '"1,'
w_untouched
t_no_secret "$T_TMP/answers" "$T_TMP/server"
