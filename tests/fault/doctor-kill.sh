#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# doctor --rebuild --confirm and doctor --uninstall --confirm killed, or told of
# an error, at each call that changes something on the disk.  custody.db is the
# old file or the new one and never something between, the old one is never
# lost; nothing but what is ours goes; the next run finishes.  CK_SWEEP=full
# takes every call, else a sample.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need
t_find_tool sqlite3 || skip_all 'no sqlite3 here'

why() {
	echo "$*" >>"$T_NOTE"
}

stopped() {
	if ! cmp -s "$KEYS/custody.db" "$T_TMP/old.db"; then
		"$CK" precedence verify >"$T_TMP/verified" 2>&1 ||
		    why "neither old nor new: $(cat "$T_TMP/verified")"
	fi
	find "$KEYS" -name 'custody.db*' -exec cmp -s {} "$T_TMP/old.db" \; \
	    -print | grep -q . || why 'the old records are lost'
	cmp -s "$DEDICATED" "$T_TMP/keychain" || why 'the keychain was changed'
}

finished() {
	"$CK" doctor --rebuild --confirm >"$T_TMP/again" 2>&1
	again=$?
	# 19: it was complete but for the rules.
	case $again in
	0) ;;
	19) "$CK" check --repair >"$T_TMP/again" 2>&1 || why "repair: $?" ;;
	*) why "the second run ended with $again: $(cat "$T_TMP/again")" ;;
	esac
	"$CK" get >"$T_TMP/got" 2>"$T_TMP/got.err" ||
	    why "get: $(cat "$T_TMP/got.err")"
	cmp -s "$T_TMP/got" "$BEARER" || why 'another value'
	run "$CK" check
	[ "$status" -eq 0 ] || why "check ends with $status"
	# A fallen-back run sees the copied keychain as another file only
	# until it has written.
	k_codes | grep -vxF -f "$T_TMP/always" | grep . >"$T_TMP/codes" &&
	    why "found: $(tr '\n' ' ' <"$T_TMP/codes")"
	[ "$(find "$KEYS" -name 'custody.db.before-*' -exec \
	    cmp -s {} "$T_TMP/old.db" \; -print | wc -l)" -eq 1 ] ||
	    why "kept: $(c_tree "$KEYS" | tr '\n' ' ')"
	left=$(c_tree "$KEYS" | grep -vE '^\./(custody\.db|operator|operator/operator\.keychain-db|operator/\.fl[0-9A-F]{8}|worker\.(sb|mounts)|custody\.db\.before-[0-9a-f]{32})$' |
	    grep -vx .)
	[ -z "$left" ] || why "left: $left"
}

gone() {
	"$CK" doctor --uninstall --confirm >"$T_TMP/again" 2>&1 ||
	    why "the second run: $(cat "$T_TMP/again")"
	c_tree "$T_HOME" | diff "$T_TMP/tree.before" - >"$T_TMP/diff" ||
	    why "the home: $(tr '\n' ' ' <"$T_TMP/diff")"
	cmp -s "$BROKER" "$T_TMP/broker.back" || why 'the broker was changed'
}

sweep() { # signal=KILL or error=NAME; which of the calls; the command
	fault=$1 cases=0 hit=0 calls=$2
	shift 2
	while read -r call number; do
		i_back
		: >"$T_NOTE"
		i_inject "$call:$fault:when=$number" "$CK" doctor "$@" --confirm
		[ "$status" -eq 0 ] || hit=$((hit + 1))
		cases=$((cases + 1))
		if [ "$fault" != signal=KILL ] && [ "$status" -ne 0 ]; then
			grep -q '^clankie-keys: ' "$T_ERR" ||
			    why "status $status without a word"
			[ "$status" -ne 10 ] || why 'absent'
		fi
		case $1 in
		--rebuild)
			stopped
			finished
			;;
		*) gone ;;
		esac
		[ ! -s "$T_NOTE" ]
		t_result $? "$fault at $call $number"
	done <"$calls"
	echo "# $fault: $cases points, $hit of them fatal"
}

c_home
c_broker
k_sandbox on
c_tree "$T_HOME" >"$T_TMP/tree.before"
"$CK" migrate >/dev/null
"$CK" restore >/dev/null 2>&1
cp "$BROKER" "$T_TMP/broker.back"
: | t_write "$KEYS/worker.sb.tmp-0123abcd"
i_keep
i_points "$CK" doctor --uninstall --confirm | i_sample 2 >"$T_TMP/out.calls"
expect 'there are calls to be killed at' \
    test "$(wc -l <"$T_TMP/out.calls")" -gt 4
t_case 'uninstall killed'
sweep signal=KILL "$T_TMP/out.calls" --uninstall
t_case 'uninstall told EIO'
sweep error=EIO "$T_TMP/out.calls" --uninstall

k_custody
# shellcheck disable=SC2086  # words
printf '%s\n' $K_ALWAYS >"$T_TMP/always"
sqlite3 "$KEYS/custody.db" "DELETE FROM protected WHERE why = 'settings'"
cp "$KEYS/custody.db" "$T_TMP/old.db"
cp "$DEDICATED" "$T_TMP/keychain"
i_keep
i_points "$CK" doctor --rebuild --confirm >"$T_TMP/all"
expect 'there are calls to be killed at' \
    test "$(wc -l <"$T_TMP/all")" -gt 25
{
	grep -vE '^pwrite64 ' "$T_TMP/all" | i_sample 2
	grep '^pwrite64 ' "$T_TMP/all" | i_sample 8
} >"$T_TMP/sample"
t_case 'killed'
sweep signal=KILL "$T_TMP/sample" --rebuild
# A file that cannot be removed stays, by design.
grep -v '^unlink' "$T_TMP/sample" | i_sample 4 >"$T_TMP/fewer"
for fault in EIO ENOSPC; do
	t_case "told $fault"
	sweep "error=$fault" "$T_TMP/fewer" --rebuild
done
