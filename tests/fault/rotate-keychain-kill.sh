#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# rotate --keychain is killed, or told of an error, at a system call that
# changes something on disk.  At that moment and ever after get gives the one
# value there is; the next rotate --keychain finishes or undoes and then does
# it all.  Afterwards no old file, old password or scratch is left.  By default
# a sample of the calls, with CK_SWEEP=full every one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need

why() {
	echo "$*" >>"$T_NOTE"
}

field() { # name, file
	"$T_TOOLS/ck-json" "$1" <"$2"
}

signature_now() {
	"$CK" status --json | sed -n 's/.*"signature":"\([0-9a-f]*\)".*/\1/p'
}

holds() { # when
	ck get >"$T_TMP/got" 2>"$T_TMP/got.err" ||
	    why "$1: get ended with $?: $(cat "$T_TMP/got.err")"
	cmp -s "$T_TMP/got" "$BEARER" || why "$1: get gives something else"
	"$T_TOOLS/ck-json" key <"$BEARER" | tr -d '\n' >"$T_TMP/candidate"
	ck authenticate <"$T_TMP/candidate" >/dev/null 2>&1 ||
	    why "$1: authenticate says $?"
	ck precedence verify >"$T_TMP/verified" 2>&1 ||
	    why "$1: verify: $(cat "$T_TMP/verified")"
	"$CK" status --json >"$T_TMP/$1.status" || why "$1: no status"
	[ "$(field generation "$T_TMP/$1.status")" = 1 ] ||
	    why "$1: another generation"
}

stopped() {
	holds stopped
	[ "$(field unfinished "$T_TMP/stopped.status")" = null ] && return
	beside=0
	ck rotate >"$T_TMP/other" 2>&1 || beside=$?
	[ "$beside" -eq 16 ] || why "rotate beside an open one: $beside"
	grep -qF 'clankie-keys rotate --keychain' "$T_TMP/other" ||
	    why 'busy without the step that helps'
}

finished() {
	at_stop=$(signature_now)
	ck rotate --keychain --json >"$T_TMP/again" 2>"$T_TMP/again.err" ||
	    why "second run: $(cat "$T_TMP/again.err")"
	holds finished
	case $(field outcome "$T_TMP/again") in
	resumed)
		[ "$(signature_now)" = "$at_stop" ] ||
		    why 'resumed, and yet another file'
		;;
	keychain-rotated)
		[ "$(signature_now)" != "$at_stop" ] || why 'the same file'
		;;
	*) why "second run says $(cat "$T_TMP/again")" ;;
	esac
	[ "$(signature_now)" != "$signature" ] || why 'the first file is back'
	[ "$(field unfinished "$T_TMP/finished.status")" = null ] ||
	    why 'an operation is still open'
	password >"$T_TMP/unlock" || why 'no unlock password'
	"$CK" keychain verify "$DEDICATED" --password-fd 3 3<"$T_TMP/unlock" \
	    >/dev/null 2>&1 || why 'the keychain does not verify'
	! cmp -s "$T_TMP/unlock" "$T_TMP/unlock.then" || why 'the old password'
	! pending || why 'a password is still pending'
	[ "$(c_tree "$KEYS")" = "$tree" ] ||
	    why "left: $(c_tree "$KEYS" | tr '\n' ' ')"
	no_strays || why "left: $(find "$T_HOME" -name '*.tmp-*' -o -name '*.sb-*')"
}

sweep() { # signal=KILL or error=NAME; which of the calls
	fault=$1 cases=0 hit=0
	while read -r call number; do
		i_back
		: >"$T_NOTE"
		inject "$call:$fault:when=$number"
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

sweeps() { # sampled from the frequent calls, from the others
	signature=$(signature_now)
	tree=$(c_tree "$KEYS")
	password >"$T_TMP/unlock.then"
	i_keep
	points >"$T_TMP/all"
	expect 'there are calls to be killed at' \
	    test "$(wc -l <"$T_TMP/all")" -gt 60
	{
		grep -vE '^(pwrite64|fdatasync) ' "$T_TMP/all" | i_sample "$2"
		grep -E '^(pwrite64|fdatasync) ' "$T_TMP/all" | i_sample "$1"
	} >"$T_TMP/sample"
	sweep signal=KILL "$T_TMP/sample"
	# A temporary file that cannot be removed stays, by design.
	grep -v '^unlink' "$T_TMP/sample" | i_sample 5 >"$T_TMP/fewer"
	for fault in EIO ENOSPC; do
		sweep "error=$fault" "$T_TMP/fewer"
	done
}

t_case 'file broker'
c_home
c_broker
"$CK" migrate >"$T_TMP/null"
ck() {
	"$CK" "$@"
}
inject() {
	i_inject "$1" "$CK" rotate --keychain
}
points() {
	i_points "$CK" rotate --keychain
}
password() {
	"$T_TOOLS/ck-json" password <"$UNLOCK"
}
pending() {
	grep -q pending "$UNLOCK"
}
no_strays() {
	c_strays
}
sweeps 19 3

t_case 'login keychain'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
migrate_login --json
ck() {
	ck_verb=$1
	shift
	if [ "$ck_verb" = authenticate ]; then
		# The candidate is on standard input.
		"$CK" authenticate --login-password-fd 3 "$@" 3<"$PW"
	else
		"$CK" "$ck_verb" "$@" --login-password-fd 3 3<"$PW"
	fi
}
inject() {
	i_inject "$1" "$CK" rotate --keychain --login-password-fd 3 3<"$PW"
}
points() {
	i_points "$CK" rotate --keychain --login-password-fd 3 3<"$PW"
}
password() {
	"$CK" keychain find "$LOGIN" --service bot.clankie.custody \
	    --account operator-keychain --password-fd 3 --out-fd 1 3<"$PW"
}
pending() {
	"$CK" keychain find "$LOGIN" --service bot.clankie.custody \
	    --account operator-keychain-pending >/dev/null 2>&1
}
# Beside a keychain macOS uses the same names for its temporary files, so a
# killed writer's stay there.
no_strays() {
	[ -z "$(find "$T_HOME" -name '*.tmp-*' -o -name 'scratch-*' \
	    -o -name '*-journal' -o -name '*.new-*')" ]
}
sweeps 37 5
