#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The owner rotates, and replaces what is protected by rename, while a worker
# tries to read it all the time.
# shellcheck disable=SC2016  # the attempts expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
w_custody
STOP=$W_HOME/work/stop

# Reads until it is told to stop; whatever it gets is appended to $LOOT.
poll='rounds=0
touch "$HOME/work/begun"
while [ ! -e "$HOME/work/stop" ]; do
	for path in "$K" "$B" "$HOME/.clankie-keys/custody.db" "$S.new" "$B.new" \
	    "$HOME/.clankie-keys/operator/"* "$HOME/.clankie-keys/"*; do
		cat "$path" >>"$LOOT" 2>/dev/null || :
	done
	ls "$HOME/.clankie-keys" "$HOME/.clankie-keys/operator" >>"$LOOT" 2>/dev/null || :
	rounds=$((rounds + 1))
done
echo "$rounds"'

start() { # command to start it with...
	rm -f "$W_LOOT" "$W_HOME/work/begun" "$STOP"
	HOME="$W_HOME" LOOT="$W_LOOT" "$@" sh -c "$w_words$poll" \
	    >"$T_TMP/rounds" 2>"$T_TMP/poll.err" &
	W_POLL=$!
	# Five seconds.
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ ! -e "$W_HOME/work/begun" ] || return 0
		sleep 0.5
	done
	return 1
}

stop() {
	sleep 0.2
	touch "$STOP"
	wait "$W_POLL"
	W_STATUS=$?
}

swap() { # file: the same content under a new inode, by rename
	cp -p "$1" "$1.new" && mv "$1.new" "$1"
}

t_case control
expect 'the loop begins' start env
swap "$DEDICATED"
stop
expect 'without a boundary it reads all the time' test -s "$W_LOOT"

t_case 'while it runs'
expect 'the loop begins' start "$CK" worker exec --
for _ in 1 2; do
	run "$CK" rotate
	expect_status 0
	for path in "$DEDICATED" "$BROKER" "$KEYS/custody.db" "$UNLOCK"; do
		expect "$(basename "$path") was replaced" swap "$path"
	done
done
run "$CK" rotate
expect_status 0
run "$CK" rules --write
expect_status 0
stop
expect 'the loop ended by itself' test "$W_STATUS" -eq 0
expect 'it tried more than once' test "$(cat "$T_TMP/rounds")" -gt 1
expect 'it got nothing' test ! -s "$W_LOOT"

t_case settings
settled='while [ ! -e "$HOME/work/stop" ]; do sleep 0.05; done
cat "$S" >"$LOOT"; ! echo x >>"$S"; ! rm -f "$S"; ! touch "$S.new"'
poll="touch \"\$HOME/work/begun\"; $settled"
expect 'a worker begins' start "$CK" worker exec --
echo '{"fleet":{"workerSandbox":true},"new":1}' >"$CLANKIE/settings.json.new"
mv "$CLANKIE/settings.json.new" "$CLANKIE/settings.json"
stop
expect 'it reads settings, and can change none' test "$W_STATUS" -eq 0
expect 'they are those from its start' \
    test "$(cat "$W_LOOT")" = '{"fleet":{"workerSandbox":true}}'
expect 'the owner has his own' grep -q new "$CLANKIE/settings.json"

# A single file: what docs/boundary.md says of it.
t_case '.env.local'
poll='touch "$HOME/work/begun"
while [ ! -e "$HOME/work/stop" ]; do sleep 0.05; done
! cat "$E" >"$LOOT"'
expect 'a worker begins' start "$CK" worker exec --
t_password "$T_TMP/env.new"
cat "$T_TMP/env.new" >"$E_REAL"
stop
expect 'written in place it stays closed' test "$W_STATUS" -eq 0
run "$CK" rules --format mounts
expect_err_has ".env.local: is closed as a single file: replaced by rename"
expect 'a worker begins' start "$CK" worker exec --
swap "$E_REAL"
stop
refute 'replaced by rename it is open, as the rules say' test "$W_STATUS" -eq 0
rm -f "$W_LOOT"
w_in cat "$E_REAL"
expect_status 1
expect_out_empty

# In order of strength: a link into a masked directory.
t_case '.env.local as a link'
mv "$E_REAL" "$KEYS/env"
ln -s "$KEYS/env" "$E_REAL"
expect 'a worker begins' start "$CK" worker exec --
swap "$KEYS/env"
stop
expect 'replaced by rename it stays closed' test "$W_STATUS" -eq 0
expect 'and nothing was read' test ! -s "$W_LOOT"
t_no_secret "$T_TMP/poll.err"
