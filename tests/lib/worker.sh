# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# For the scripts about the worker's boundary; read behind custody.sh.
#
#	w_need                skips the whole script where no boundary is possible
#	w_custody             a custody with two checkouts, one with .env.local;
#	                      two more homes like it: $W_TWIN, never confined, and
#	                      $W_FRESH, from which the twin is made anew
#	w_start               the attempts begin anew from what the home is now
#	w_in COMMAND...       run it inside, in $W_DIR, with HOME the real home
#	w_out COMMAND...      the same without the boundary, in the twin
#	steals NAME TEXT      the shell text TEXT writes what it got to $LOOT: in
#	                      the twin it gets something, inside nothing
#	breaks NAME TEXT      TEXT changes something: it succeeds in the twin, and
#	                      inside it fails and changes nothing protected
#	w_untouched           nothing protected changed since w_custody
#	refused STATUS TEXT COMMAND...   the launch itself is refused
#
# The shell texts run with set -e and -u; $HOME, $K (the keychain), $B (the
# broker), $S (the settings), $U (the unlock password), $E (.env.local), $A
# (ck-attempt), $CK, $LOOT and $X (a path that does not exist) are set; $REAL is
# the real home, also in the twin; $PID is an outside process of the user that
# has the keychain open as 8 and its directory as 9.
# shellcheck disable=SC2016,SC2034,SC2153,SC2154  # others set or use them

w_need() {
	if [ "$(id -u)" -eq 0 ]; then
		skip_all 'root is not confined'
	fi
	if ! [ -x "$(dirname "$CK")/clankie-worker-entry" ]; then
		skip_all 'there is no worker entry here'
	fi
	if ! unshare -Urm true 2>/dev/null; then
		skip_all 'user namespaces are not allowed here'
	fi
}

w_custody() {
	c_home
	c_broker
	echo '{"fleet":{"workerSandbox":true}}' >"$CLANKIE/settings.json"
	mkdir -p "$T_HOME/src/app" "$T_HOME/src/other" "$T_HOME/work"
	t_password "$T_TMP/env.secret"
	{ printf 'KEY=' && cat "$T_TMP/env.secret" && echo; } |
	    t_write "$T_HOME/src/app/.env.local"
	run "$CK" migrate --checkout "$T_HOME/src/app" \
	    --checkout "$T_HOME/src/other"
	expect_status 0
	# The first launch writes down that the switch is on.
	"$CK" worker exec -- true
	W_HOME=$T_HOME
	W_FRESH=$T_TMP/fresh
	W_TWIN=$T_TMP/twin
	W_LOOT=$T_TMP/loot
	w_start
}

w_start() {
	rm -rf "$W_FRESH"
	cp -a "$W_HOME" "$W_FRESH"
	w_twin
	w_hold
	: >"$T_TMP/said"
	snapshot "$KEYS" "$W_HOME/.config" "$E_REAL"
}

# The outside process.
w_hold() {
	E_REAL=$T_HOME/src/app/.env.local
	[ -z "${W_PID:-}" ] || kill "$W_PID" 2>/dev/null
	sleep 600 8<"$DEDICATED" 9<"$KEYS" >/dev/null 2>&1 &
	W_PID=$!
	trap 'kill "$W_PID" 2>/dev/null; t_end' EXIT
}

w_words='set -eu
K=$HOME/.clankie-keys/operator/operator.keychain-db
B=$HOME/.config/clankie/credentials.json
S=$HOME/.config/clankie/settings.json
U=$HOME/.config/clankie-keys/unlock.json
E=$HOME/src/app/.env.local
X=$HOME/work/x
cd "$HOME/work"
'

w_env() { # home, command...
	W_AS=$1
	shift
	rm -rf "$W_LOOT"
	run env HOME="$W_AS" REAL="$W_HOME" CK="$CK" LOOT="$W_LOOT" A="$T_TOOLS/ck-attempt" \
	    PID="$W_PID" "$@"
}

w_in() {
	w_env "$W_HOME" "$CK" worker exec -- "$@"
}

w_out() {
	w_env "$W_TWIN" "$@"
}

w_twin() {
	rm -rf "$W_TWIN"
	cp -a "$W_FRESH" "$W_TWIN"
}

w_tidy() {
	rm -rf "$W_HOME/work" "$W_TWIN/work"
	mkdir "$W_HOME/work" "$W_TWIN/work"
}

w_looted() {
	[ -s "$W_LOOT" ]
}

# The paired control first: an attempt that fails anyway proves nothing.
steals() { # name, shell text
	w_tidy
	w_out sh -c "$w_words$2"
	t_why "the attempt got nothing even without a boundary"
	[ "$status" -eq 0 ] && w_looted
	t_result $? "$1: control"
	w_in sh -c "$w_words$2"
	t_why "it worked (status $status)"
	! w_looted && [ "$status" -ne 0 ]
	t_result $? "$1"
	cat "$T_OUT" "$T_ERR" >>"$T_TMP/said"
}

breaks() { # name, shell text
	w_twin
	w_tidy
	w_out sh -c "$w_words$2"
	t_why "the attempt fails even without a boundary"
	[ "$status" -eq 0 ]
	t_result $? "$1: control"
	w_in sh -c "$w_words$2"
	t_why "it worked"
	[ "$status" -ne 0 ]
	t_result $? "$1"
}

w_untouched() {
	expect_unchanged 'what is protected is as it was'
	t_no_secret "$T_TMP/said"
}

refused() { # status, text, command...
	w_want=$1 w_text=$2
	shift 2
	rm -f "$T_TMP/started"
	run "$@"
	expect_status "$w_want"
	expect_err_has "$w_text"
	refute 'nothing was started' test -e "$T_TMP/started"
}
