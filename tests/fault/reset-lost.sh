#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# traced: no
#
# A reset is killed, and then something is lost again, or the old password is
# put back: the next reset ends with a bearer that was never seen, or says what
# to move, and after that does.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"

i_need

# shellcheck disable=SC2086  # words
again() { # what happened then
	status=0
	"$CK" reset --confirm $S_PASS 3<"$PW" >"$T_OUT" 2>"$T_ERR" || status=$?
	if [ "$status" -eq 22 ] &&
	    grep -q 'move it out of' "$T_ERR"; then
		mv "$KEYS/operator" "$T_HOME/moved"
		status=0
		"$CK" reset --confirm $S_PASS 3<"$PW" >"$T_OUT" 2>"$T_ERR" ||
		    status=$?
	fi
	# 19: nothing is lost any more, and everything is as it was.
	case $status in
	0) ;;
	19) grep -q 'nothing is lost' "$T_ERR" || why "$1: $(cat "$T_ERR")" ;;
	*) why "$1: reset ends with $status: $(cat "$T_ERR")" ;;
	esac
	code=0
	s_get >"$T_TMP/value" 2>"$T_TMP/got.err" || code=$?
	[ "$code" -eq 0 ] || why "$1: get: $code: $(cat "$T_TMP/got.err")"
	[ "$status" -ne 0 ] || ! cmp -s "$T_TMP/value" "$BEARER" ||
	    why "$1: the old value came back"
	[ "$(s_status unfinished)" = null ] || why "$1: it is still open"
	s_custody
}

lose_password() {
	if [ "$S_STORE" = file ]; then
		rm -f "$UNLOCK"
	else
		"$CK" keychain delete "$LOGIN" --service bot.clankie.custody \
		    --account operator-keychain --password-fd 3 3<"$PW" \
		    >"$T_TMP/null" 2>&1
	fi
}

lose_keychain() {
	rm -f "$DEDICATED"
}

s_ready_lost() {
	S_WORDS="reset --confirm $S_PASS"
	s_migrated || return 1
	[ "$S_STORE" != file ] || cp -p "$UNLOCK" "$T_TMP/old.unlock"
	lose_password
}

# As it was before it was lost.
put_password_back() {
	[ "$S_STORE" = file ] || return 1
	cp -p "$T_TMP/old.unlock" "$UNLOCK"
}

# shellcheck disable=SC2086  # words
each() { # broker, most
	s_ready lost "$1" || not_ok 'it can begin'
	i_back
	s_points >"$T_TMP/all" || why "points: $(cat "$T_ERR")"
	grep -E '^(rename|fsync|fdatasync|unlink|mkdir)' "$T_TMP/all" |
	    s_spread "$2" >"$T_TMP/points"
	while read -r call number <&9; do
		for what in lose_password lose_keychain put_password_back; do
			i_back
			: >"$T_NOTE"
			i_inject "$call:signal=KILL:when=$number" "$CK" \
			    $S_WORDS 3<"$PW"
			"$what" || continue
			again "$what"
			bad=0
			[ ! -s "$T_NOTE" ] || bad=1
			t_result "$bad" "$1: $call $number, $what"
		done
	done 9<"$T_TMP/points"
}

t_case 'a reset that was killed'
each file "${CK_POINTS:-6}"
each keychain "${CK_POINTS:-6}"
