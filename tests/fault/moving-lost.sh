#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# traced: no
#
# migrate and restore are killed, and then keychain, its directory or its
# unlock password is lost, while the broker still has the bearer: get, or the
# way that reset shows, leads back to that bearer, and none is made.  A reset
# that is killed on that way is finished by the next one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"

i_need

lose_password() {
	if [ "$S_STORE" = file ]; then
		rm -f "$UNLOCK"
	else
		"$CK" keychain delete "$LOGIN" --service bot.clankie.custody \
		    --account operator-keychain --password-fd 3 3<"$PW" \
		    >"$T_TMP/null" 2>&1 || :
	fi
}

lose_keychain() {
	rm -f "$DEDICATED"
}

lose_directory() {
	rm -rf "$KEYS/operator"
}

has_the_bearer() { # when
	code=0
	s_get >"$T_TMP/value" 2>"$T_TMP/got.err" || code=$?
	[ "$code" -eq 0 ] || why "$1: get: $code: $(cat "$T_TMP/got.err")"
	cmp -s "$T_TMP/value" "$BEARER" || why "$1: another value"
}

# shellcheck disable=SC2086  # words
reset() { # --confirm, or nothing
	status=0
	"$CK" reset "$@" $S_PASS 3<"$PW" >"$T_OUT" 2>"$T_ERR" || status=$?
}

# What was lost is given up only when the owner says so, who is told what then
# holds.
leads_back() { # what is lost
	code=0
	s_get >"$T_TMP/value" 2>"$T_TMP/got.err" || code=$?
	case $code in
	0)
		cmp -s "$T_TMP/value" "$BEARER" || why "$1: another value"
		return
		;;
	1[1-9] | 2[0-5]) [ ! -s "$T_TMP/value" ] || why "$1: error and value" ;;
	*) why "$1: get ends with $code: $(cat "$T_TMP/got.err")" ;;
	esac
	"$T_TOOLS/ck-snapshot" -b "$T_HOME" >"$T_TMP/asked"
	reset
	[ "$status" -eq 22 ] || why "$1: reset: $status: $(cat "$T_ERR")"
	grep -q 'its copy, which every program of yours could change' "$T_ERR" ||
	    why "$1: reset does not say so: $(cat "$T_ERR")"
	"$T_TOOLS/ck-snapshot" -b "$T_HOME" | cmp -s - "$T_TMP/asked" ||
	    why "$1: reset changed something"
	reset --confirm
	[ "$status" -eq 0 ] || why "$1: --confirm: $status: $(cat "$T_ERR")"
	grep -q '^in charge' "$T_OUT" || why "$1: says $(cat "$T_OUT")"
	finished "$1"
}

finished() {
	has_the_bearer "$1"
	[ "$(s_status unfinished)" = null ] || why "$1: it is still open"
	[ "$(s_status state)" = broker ] || why "$1: the broker is not in charge"
	# A temporary file may have the last copy of the password.
	! s_strays | grep -v -e '\.lock$' -e '\.tmp-[0-9a-f]*$' \
	    >"$T_TMP/left" || why "$1: left $(cat "$T_TMP/left")"
}

stop_at() { # call, number
	i_back
	: >"$T_NOTE"
	# shellcheck disable=SC2086  # words
	i_inject "$1:signal=KILL:when=$2" "$CK" $S_WORDS 3<"$PW"
}

# Once it went through, the next move is as every other.
# shellcheck disable=SC2086  # words
moves_again() {
	"$CK" migrate $S_LOGIN 3<"$PW" >"$T_OUT" 2>"$T_ERR" ||
	    why "migrate again: $(cat "$T_ERR")"
	has_the_bearer 'moved again'
	s_custody
}

each() { # verb, broker, most
	s_ready "$1" "$2" || not_ok 'it can begin'
	[ "$2" != keychain ] || S_LOGIN="--broker keychain:$LOGIN $S_PASS"
	i_back
	s_points >"$T_TMP/all" || why "points: $(cat "$T_ERR")"
	grep -E '^(rename|fsync|fdatasync)' "$T_TMP/all" | s_spread "$3" \
	    >"$T_TMP/points"
	kept=0
	while read -r call number <&9; do
		for what in lose_password lose_keychain lose_directory; do
			stop_at "$call" "$number"
			"$what"
			[ -n "$(s_broker_copy)" ] || continue
			kept=$((kept + 1))
			leads_back "$what"
			[ "$code" -eq 0 ] || moves_again
			bad=0
			[ ! -s "$T_NOTE" ] || bad=1
			t_result "$bad" "$1, $2: $call $number, $what"
		done
	done 9<"$T_TMP/points"
	expect "$1, $2: there were such points" [ "$kept" -gt 0 ]
}

t_case 'lost while it moved'
for verb in migrate restore; do
	for broker in file keychain; do
		each "$verb" "$broker" "${CK_POINTS:-5}"
	done
done

# The bearer that get gives meanwhile is that one, or there is an error.
killed() { # call, number
	i_back
	: >"$T_NOTE"
	i_inject "$1:signal=KILL:when=$2" "$CK" reset --confirm
	code=0
	s_get >"$T_TMP/value" 2>"$T_TMP/got.err" || code=$?
	case $code in
	0) cmp -s "$T_TMP/value" "$BEARER" || why 'stopped: another value' ;;
	1[1-9] | 2[0-5]) ;;
	*) why "stopped: get ends with $code: $(cat "$T_TMP/got.err")" ;;
	esac
	reset --confirm
	case $status in
	0) ;;
	23) grep -q 'only a migrated credential' "$T_ERR" ||
	    why "again: $(cat "$T_ERR")" ;;
	*) why "again: $status: $(cat "$T_ERR")" ;;
	esac
	finished again
	bad=0
	[ ! -s "$T_NOTE" ] || bad=1
	t_result "$bad" "$verb, $loss: reset is killed at $1 $2"
}

resets() { # verb, what is lost
	verb=$1 loss=$2
	s_ready "$1" file || not_ok 'it can begin'
	i_back
	s_points >"$T_TMP/all" || why "points: $(cat "$T_ERR")"
	# Some point at which get needs what is lost.
	grep -E '^(rename|fsync|fdatasync)' "$T_TMP/all" |
	    sort -R --random-source="$0" >"$T_TMP/points"
	while read -r call number <&9; do
		stop_at "$call" "$number"
		"$2"
		[ -z "$(s_broker_copy)" ] || s_get >"$T_TMP/value" \
		    2>"$T_TMP/got.err" || break
	done 9<"$T_TMP/points"
	expect 'there is something to give up' [ -n "$(s_broker_copy)" ]
	i_keep
	i_points "$CK" reset --confirm >"$T_TMP/all" || why 'no points'
	s_spread "${CK_POINTS:-12}" <"$T_TMP/all" >"$T_TMP/points"
	while read -r call number <&9; do
		killed "$call" "$number"
	done 9<"$T_TMP/points"
}

t_case 'and the reset is killed'
resets migrate lose_password
resets migrate lose_directory
resets restore lose_keychain
