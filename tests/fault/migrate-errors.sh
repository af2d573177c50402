#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# One system call of migrate fails: the command ends with the status that the
# error table has for it, get still gives the bearer, nothing is left lying
# about, and as long as the new keychain has no name nothing has changed.  By
# default a sample of calls and errors, with CK_SWEEP=full all of them.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need

why() {
	echo "$*" >>"$T_NOTE"
}

# What may be said about an errno; 0 when the call was tried again or did not
# matter.  SQLite does not always keep the errno, and opens for reading what
# it may not open for writing.
status_fits() { # errno, exit status
	case $1:$2 in
	*:0 | EIO:25 | EINTR:25 | ENOSPC:17 | EACCES:12) ;;
	ENOSPC:25 | EACCES:25 | *:18) grep -q 'custody\.db: ' "$T_ERR" ;;
	*) return 1 ;;
	esac
}

judge() { # errno
	status_fits "$1" "$status" || {
		why "status $status: $(cat "$T_ERR")"
	}
	[ "$status" -eq 0 ] || [ -s "$T_ERR" ] || why 'no message'
	"$T_TOOLS/ck-scan" files "$T_SECRETS" "$T_OUT" "$T_ERR" >/dev/null ||
	    why 'a secret in the output'
	get_any >"$T_TMP/got" 2>"$T_TMP/got.err" ||
	    why "get: $(cat "$T_TMP/got.err")"
	cmp -s "$T_TMP/got" "$BEARER" || why 'get gives something else'
	# A lock that cannot be removed stays; a dead holder's is free.
	[ "$call" != unlinkat ] || rmdir "$BROKER.lock" 2>/dev/null
	strays=$(find "$T_HOME" -name '*.tmp-*' -o -name 'scratch-*' \
	    -o -name '*-journal' -o -name '*.new-*' -o -name '*.sb-*' \
	    -o -name '*.lock')
	[ -z "$strays" ] || why "left: $strays"
	if [ ! -e "$DEDICATED" ]; then
		[ "$status" -ne 0 ] || why 'success without a keychain'
		untouched || why "changed: $(cat "$T_TMP/changed")"
	fi
}

again() {
	"$CK" migrate "$@" 3<"$PW" >/dev/null 2>"$T_TMP/again.err" ||
	    why "second migrate: $(cat "$T_TMP/again.err")"
	get_any >"$T_TMP/got" 2>&1
	cmp -s "$T_TMP/got" "$BEARER" || why 'get gives something else later'
}

sweep() { # every how manyth; arguments of migrate
	every=$1
	shift
	i_keep
	"$T_TOOLS/ck-snapshot" -b "$T_HOME" >"$T_TMP/before"
	i_points "$CK" migrate "$@" 3<"$PW" >"$T_TMP/all"
	expect 'a migration has calls that can fail' \
	    test "$(wc -l <"$T_TMP/all")" -gt 100
	{
		grep -v '^pwrite64 ' "$T_TMP/all" | i_sample "$every"
		grep '^pwrite64 ' "$T_TMP/all" | i_sample $((every * 5))
	} >"$T_TMP/sample"
	turn=0
	while read -r call number; do
		for error in EIO ENOSPC EACCES EINTR; do
			turn=$((turn + 1))
			# The errors take turns with most of the calls; what
			# makes a step final meets more of them.
			case ${CK_SWEEP:-}:$call:$error in
			full:* | *:fsync:EIO | *:rename*:EACCES) ;;
			*) [ $((turn % 5)) -eq 0 ] || continue ;;
			esac
			i_back
			: >"$T_NOTE"
			i_inject "$call:error=$error:when=$number" \
			    "$CK" migrate "$@" 3<"$PW"
			judge "$error"
			again "$@"
			[ ! -s "$T_NOTE" ]
			t_result $? "$error from $call $number"
		done
	done <"$T_TMP/sample"
}

t_case 'file broker'
c_home
c_broker
: >"$PW"
get_any() {
	"$CK" get
}
untouched() {
	"$T_TOOLS/ck-snapshot" -b "$T_HOME" |
	    diff "$T_TMP/before" - >"$T_TMP/changed"
}
if [ "$T_SANITIZED" -eq 0 ]; then
	sweep 1
else
	sweep 6
fi

t_case 'login keychain'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
get_any() {
	"$CK" get --broker "keychain:$LOGIN" --login-password-fd 3 3<"$PW"
}
# The unlock password came and went, so the file was written twice; what is in
# it is the same.
untouched() {
	"$T_TOOLS/ck-snapshot" -b "$T_HOME" | grep -vF "$LOGIN" \
	    >"$T_TMP/names"
	grep -vF "$LOGIN" "$T_TMP/before" |
	    diff - "$T_TMP/names" >"$T_TMP/changed" || return 1
	"$CK" keychain verify "$LOGIN" --password-fd 3 3<"$PW" >/dev/null &&
	    ! "$CK" keychain find "$LOGIN" --service bot.clankie.custody \
	    --account operator-keychain >/dev/null 2>&1
}
sweep 4 --broker "keychain:$LOGIN" --login-password-fd 3
