#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# A restore that was interrupted with its copy in a keychain is taken back,
# because a file broker beside it holds another value; and that is killed, or
# told of an error, at a call that changes something.  get gives the value all
# the time, and the next restore comes to the end.  CK_SWEEP=full: every call.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need

ck() {
	"$CK" "$@" --login-password-fd 3 3<"$PW"
}

member() { # of status for last
	"$CK" status last --json 2>"$T_TMP/null" | "$T_TOOLS/ck-json" "$1"
}

why() {
	echo "# $*" >>"$T_TMP/why"
}

in_login() { # account
	"$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
	    --account "$1" --password-fd 3 --out-fd 1 3<"$PW" 2>"$T_TMP/null"
}

# The value can be had, and whatever copy there is, is equal.
holds() { # after what
	ck get last >"$T_TMP/got" 2>"$T_TMP/got.err" ||
	    why "$1: get: $(cat "$T_TMP/got.err")"
	cmp -s "$T_TMP/got" "$T_TMP/right" || why "$1: another value"
	in_login last >"$T_TMP/got"
	[ ! -s "$T_TMP/got" ] || cmp -s "$T_TMP/got" "$T_TMP/right" ||
	    why "$1: another copy"
}

comes_to_its_end() { # after what
	again=0
	ck restore last >"$T_TMP/null" 2>"$T_ERR" || again=$?
	[ "$again" -eq 22 ] || why "$1: restore ends $again: $(cat "$T_ERR")"
	[ "$(member unfinished)" = null ] || why "$1: still unfinished"
	[ "$(member state)" = dedicated ] || why "$1: not in the keychain"
	holds "$1, then restore"
	[ ! -s "$T_TMP/got" ] || why "$1: the copy is still there"
	in_login __index__ >"$T_TMP/got"
	cmp -s "$T_TMP/got" "$T_TMP/index" || why "$1: the index names it"
	ck rotate >"$T_TMP/null" 2>"$T_ERR" || why "$1: rotate: $(cat "$T_ERR")"
}

c_home
c_login_new >"$T_TMP/null"
t_bearer_json "$BEARER"
printf '{"type":"api","key":"next"}' >"$T_TMP/right"
printf '["clankie_operator","last"]' >"$T_TMP/index"
c_add bot.clankie.credentials clankie_operator "$BEARER" >"$T_TMP/null"
c_add bot.clankie.credentials last "$T_TMP/right" >"$T_TMP/null"
c_add bot.clankie.credentials __index__ "$T_TMP/index" >"$T_TMP/null"
ck migrate --broker "keychain:$LOGIN" >"$T_TMP/null" 2>&1
ck migrate last --service bot.clankie.credentials --account last \
    >"$T_TMP/null" 2>&1
in_login __index__ >"$T_TMP/index"
i_inject 'renameat:signal=KILL:when=3' "$CK" restore last \
    --login-password-fd 3 3<"$PW"
(umask 077 && mkdir -p "$CLANKIE")
echo '{"last":{"key":"foreign"}}' | t_write "$BROKER"
expect 'a restore is open' [ "$(member unfinished)" = restore ]
in_login last >"$T_TMP/got"
expect_same "$T_TMP/got" "$T_TMP/right"
i_keep

nothing_wrong() { # name
	refute "$1" test -s "$T_TMP/why"
	[ ! -s "$T_TMP/why" ] || cat "$T_TMP/why"
	: >"$T_TMP/why"
}

: >"$T_TMP/why"
comes_to_its_end 'without a fault'
nothing_wrong 'without a fault it comes to its end'
i_back
# shellcheck disable=SC2034  # inject.sh reads it
I_ENDS=22
i_points "$CK" restore last --login-password-fd 3 3<"$PW" >"$T_TMP/calls"

sweep() { # fault, every Kth
	t_case "$1"
	tried=0
	i_sample "$2" <"$T_TMP/calls" >"$T_TMP/some"
	while read -r name n; do
		i_back
		case $1 in
		kill) i_inject "$name:signal=KILL:when=$n" "$CK" restore last \
		    --login-password-fd 3 3<"$PW" ;;
		*) i_inject "$name:error=$1:when=$n" "$CK" restore last \
		    --login-password-fd 3 3<"$PW" ;;
		esac
		tried=$((tried + 1))
		holds "$1 at $name $n"
		comes_to_its_end "$1 at $name $n"
	done <"$T_TMP/some"
	nothing_wrong "$tried points, and the value was there at each"
	expect 'there were points' test "$tried" -ge 4
}

sweep kill 7
sweep EIO 11
