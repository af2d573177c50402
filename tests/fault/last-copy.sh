#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# traced: no
#
# migrate and restore are killed, and then the dedicated keychain is lost: what
# the broker has may be the last copy, and no step of doctor's removes it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"

i_need

# shellcheck disable=SC2086  # words
each() { # verb, broker, most
	s_ready "$1" "$2" || not_ok 'it can begin'
	i_back
	s_points >"$T_TMP/all" || why "points: $(cat "$T_ERR")"
	grep -E '^(rename|fsync|fdatasync)' "$T_TMP/all" | s_spread "$3" \
	    >"$T_TMP/points"
	kept=0
	while read -r call number <&9; do
		i_back
		: >"$T_NOTE"
		i_inject "$call:signal=KILL:when=$number" "$CK" $S_WORDS 3<"$PW"
		rm -f "$DEDICATED"
		[ -n "$(s_broker_copy)" ] || continue
		kept=$((kept + 1))
		run "$CK" doctor $S_PASS --json 3<"$PW"
		expect_out_has '"findings"'
		bad=0
		! grep -qE 'jq --arg|keychain delete|delete-generic' "$T_OUT" ||
		    bad=1
		why "$(cat "$T_OUT")"
		t_result "$bad" "$1, $2: $call $number"
	done 9<"$T_TMP/points"
	expect "$1, $2: there were such points" [ "$kept" -gt 0 ]
}

t_case 'the copy that is left'
for verb in migrate restore; do
	for broker in file keychain; do
		each "$verb" "$broker" "${CK_POINTS:-6}"
	done
done
