#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# traced: no
#
# envelope prepare and remove are killed, or told of an error, at each call that
# changes something on disk.  What is there then is a valid envelope, none, or
# one that launch refuses and status explains; and the next remove and prepare
# work.  CK_POINTS: how many calls, spread over all; 0: every one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"
. "$(dirname "$0")/../lib/envelope.sh"

v_need
i_need

# Not one process of the service is ever started without what was prepared.
launches() {
	status=0
	"$CK" envelope launch -- "$RT/bin/node" -c \
	    "cat '$OUT/file' 2>/dev/null; echo started" >"$T_OUT" 2>"$T_ERR" ||
	    status=$?
}

stopped() {
	state=$("$CK" envelope status --json | "$T_TOOLS/ck-json" state)
	launches
	case $state in
	none) grep -q outside "$T_OUT" || why "none, and launch: $(cat "$T_ERR")" ;;
	prepared)
		if ! grep -q started "$T_OUT" || grep -q outside "$T_OUT"; then
			why "prepared, and launch: $status $(cat "$T_ERR" "$T_OUT")"
		fi
		;;
	refused)
		if [ "$status" -eq 0 ] || [ -s "$T_OUT" ]; then
			why "refused, and launch: $status $(cat "$T_OUT")"
		fi
		;;
	*) why "state: $state" ;;
	esac
}

# Whatever is there goes, and a new one comes about.
again() {
	run "$CK" envelope remove
	case $status in
	0 | 10) ;;
	*) why "remove: $status $(cat "$T_ERR")" ;;
	esac
	[ -z "$(find "$CLANKIE" -maxdepth 1 -name 'local-sandbox*' \
	    ! -name local-sandbox-home)" ] || why "left: $(ls "$CLANKIE")"
	# shellcheck disable=SC2119  # no more arguments
	v_prepare
	[ "$status" -eq 0 ] || why "prepare: $status $(cat "$T_ERR")"
	stopped
	[ "$state" = prepared ] || why "then it is $state"
}

sweep() { # name, words of the command
	name=$1
	shift
	i_points "$CK" envelope "$@" >"$T_TMP/all" || why "points: $(cat "$T_ERR")"
	i_back
	s_spread "${CK_POINTS:-12}" <"$T_TMP/all" >"$T_TMP/points"
	expect "$name changes something" [ "$(wc -l <"$T_TMP/all")" -gt 3 ]
	while read -r call number <&9; do
		for fault in signal=KILL error=EIO; do
			i_back
			: >"$T_NOTE"
			i_inject "$call:$fault:when=$number" "$CK" envelope "$@"
			stopped
			[ "$status" -ne 10 ] || why 'absent'
			again
			bad=0
			[ ! -s "$T_NOTE" ] || bad=1
			t_result "$bad" "$name: $fault at $call $number"
		done
	done 9<"$T_TMP/points"
}

v_home
t_case 'prepare is stopped'
i_keep
sweep prepare prepare --level workers --runtime "$RT" --workspace "$WS"
t_case 'remove is stopped'
i_back
# shellcheck disable=SC2119  # no more arguments
v_prepare
i_keep
sweep remove remove
