#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# rotate is killed, or told of an error, at a system call that changes
# something on disk.  At that moment get gives the old or the new value and
# nothing else; the next rotate settles what was begun and mints at most once
# more.  By default a sample of the calls, with CK_SWEEP=full every one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need

why() {
	echo "$*" >>"$T_NOTE"
}

print_of() { # a status or rotate report
	"$T_TOOLS/ck-json" fingerprint <"$1"
}

number_of() {
	"$T_TOOLS/ck-json" generation <"$1"
}

# What holds now: its generation, and a value that get gives.
look() { # name
	"$CK" get >"$T_TMP/$1.value" 2>"$T_TMP/got.err" ||
	    why "$1: get ended with $?: $(cat "$T_TMP/got.err")"
	"$CK" status --json >"$T_TMP/$1.status"
}

stopped() {
	look stopped
	generation=$(number_of "$T_TMP/stopped.status")
	case $generation in
	1 | 2) ;;
	*) why "generation $generation after one rotation" ;;
	esac
	if [ "$generation" -eq 2 ]; then
		! cmp -s "$T_TMP/stopped.value" "$BEARER" ||
		    why 'the records are ahead of the keychain'
	elif ! cmp -s "$T_TMP/stopped.value" "$BEARER"; then
		[ "$("$T_TOOLS/ck-json" unfinished <"$T_TMP/stopped.status")" \
		    = rotate ] || why 'a new value and no open operation'
	fi
}

finished() {
	"$CK" rotate --json >"$T_TMP/again" 2>"$T_TMP/again.err" ||
	    why "second rotate: $(cat "$T_TMP/again.err")"
	look finished
	[ "$(number_of "$T_TMP/again")" = \
	    "$(number_of "$T_TMP/finished.status")" ] ||
	    why 'rotate and status name two generations'
	case $("$T_TOOLS/ck-json" outcome <"$T_TMP/again") in
	resumed)
		cmp -s "$T_TMP/stopped.value" "$T_TMP/finished.value" ||
		    why 'resumed, and yet another value'
		[ "$generation:$(number_of "$T_TMP/again")" = 1:2 ] ||
		    why 'resumed at a wrong generation'
		;;
	rotated)
		! cmp -s "$T_TMP/stopped.value" "$T_TMP/finished.value" ||
		    why 'rotated, and yet the same value'
		[ "$(number_of "$T_TMP/again")" -eq $((generation + 1)) ] ||
		    why 'rotated by more than one'
		[ "$generation" -eq 2 ] ||
		    cmp -s "$T_TMP/stopped.value" "$BEARER" ||
		    why 'a value that was in force was replaced unsaid'
		;;
	*) why "second rotate says $(cat "$T_TMP/again")" ;;
	esac
	[ "$("$T_TOOLS/ck-json" unfinished <"$T_TMP/finished.status")" = null ] ||
	    why 'an operation is still open'
	"$CK" precedence verify >"$T_TMP/verified" 2>&1 ||
	    why "verify: $(cat "$T_TMP/verified")"
	"$T_TOOLS/ck-json" password <"$UNLOCK" >"$T_TMP/unlock"
	"$CK" keychain verify "$DEDICATED" --password-fd 3 3<"$T_TMP/unlock" \
	    >"$T_TMP/verified" 2>&1 || why 'the keychain does not verify'
	cmp -s "$BROKER" "$T_TMP/broker.rest" || why 'the broker was changed'
	c_strays || why "left: $(c_tree "$KEYS" | tr '\n' ' ')"
}

sweep() { # signal=KILL or error=NAME; which of the calls
	fault=$1 cases=0 hit=0
	while read -r call number; do
		i_back
		: >"$T_NOTE"
		i_inject "$call:$fault:when=$number" "$CK" rotate
		[ "$status" -eq 0 ] || hit=$((hit + 1))
		cases=$((cases + 1))
		if [ "$fault" != signal=KILL ] && [ "$status" -ne 0 ]; then
			grep -q '^clankie-keys: ' "$T_ERR" ||
			    why "status $status without a word"
			[ "$status" -ne 10 ] || why 'absent'
		fi
		stopped
		finished
		[ ! -s "$T_NOTE" ]
		t_result $? "$fault at $call $number"
	done <"$2"
	echo "# $fault: $cases points, $hit of them fatal"
}

c_home
c_broker
"$CK" migrate >"$T_TMP/null"
i_keep
i_points "$CK" rotate >"$T_TMP/all"
expect 'a rotation has calls to be killed at' \
    test "$(wc -l <"$T_TMP/all")" -gt 30
{
	grep -vE '^pwrite64 ' "$T_TMP/all" | i_sample 2
	grep '^pwrite64 ' "$T_TMP/all" | i_sample 6
} >"$T_TMP/sample"
t_case 'killed'
sweep signal=KILL "$T_TMP/sample"
# A temporary file that cannot be removed stays, by design.
grep -v '^unlink' "$T_TMP/sample" | i_sample 3 >"$T_TMP/fewer"
for fault in EIO ENOSPC; do
	t_case "told $fault"
	sweep "error=$fault" "$T_TMP/fewer"
done
