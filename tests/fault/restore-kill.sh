#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# restore is killed, or told of an error, at a system call that changes
# something on disk.  At that moment get gives the value, every copy is equal
# and the records name one place; the next restore finishes, and a migrate
# afterwards finds nothing in its way.  By default a sample of the calls, with
# CK_SWEEP=full every one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need

why() {
	echo "$*" >>"$T_NOTE"
}

gives() { # when
	get_any >"$T_TMP/got" 2>"$T_TMP/got.err" ||
	    why "$1: get ended with $?: $(cat "$T_TMP/got.err")"
	cmp -s "$T_TMP/got" "$BEARER" || why "$1: get gives something else"
}

# One recorded place, and it exists.
places_agree() { # when
	t_find_tool sqlite3 || return 0
	firsts=$(sqlite3 -readonly "$KEYS/custody.db" "SELECT
	    group_concat(DISTINCT kind) FROM reader_order WHERE rank = 0" 2>&1)
	case $firsts in
	dedicated) [ -e "$DEDICATED" ] || why "$1: recorded, and no file" ;;
	"$KIND") in_broker || why "$1: recorded, and not in the broker" ;;
	*) why "$1: recorded places: $firsts" ;;
	esac
}

stopped() {
	gives 'at that moment'
	places_agree 'at that moment'
	[ -e "$DEDICATED" ] || in_broker || why 'in neither place'
	# As a stranger reads it, without our help.
	in_broker || return 0
	broker_value | cmp -s - "$BEARER" || why 'the broker has another value'
	[ "$("$CK" status --json | tee "$T_TMP/status" |
	    "$T_TOOLS/ck-json" unfinished)" = restore ] ||
	    [ "$("$T_TOOLS/ck-json" state <"$T_TMP/status")" = broker ] ||
	    why 'a copy in the broker, and nothing says so'
}

finished() {
	"$CK" restore --json "$@" 3<"$PW" >"$T_TMP/again" 2>"$T_TMP/again.err" ||
	    why "second restore: $(cat "$T_TMP/again.err")"
	grep -qE '"outcome":"(restored|resumed|already)"' "$T_TMP/again" ||
	    why "second restore says $(cat "$T_TMP/again")"
	gives 'afterwards'
	places_agree 'afterwards'
	broker_value | cmp -s - "$BEARER" || why 'not in the broker'
	[ "$("$CK" status --json | "$T_TOOLS/ck-json" unfinished)" = null ] ||
	    why 'an operation is still open'
	left=$(cd "$KEYS" && find . ! -name '.fl*' | sort | tr '\n' ' ')
	[ "$left" = '. ./custody.db ./lock ./worker.mounts ./worker.sb ' ] || why "left: $left"
	! unlock_there || why 'the unlock password is still there'
	# Beside a keychain macOS uses the same names; a killed writer's stay.
	strays=$(find "$T_HOME" -name '*.tmp-*' -o -name '*-journal' \
	    -o -name '*.new-*')
	[ -z "$strays" ] || why "left: $strays"
	"$CK" migrate --json "$@" 3<"$PW" >"$T_TMP/again" \
	    2>"$T_TMP/again.err" || why "migrate: $(cat "$T_TMP/again.err")"
	gives 'migrated again'
}

sweep() { # signal=KILL or error=NAME; points; arguments of restore
	fault=$1 points=$2 cases=0 hit=0
	shift 2
	while read -r call number; do
		i_back
		: >"$T_NOTE"
		i_inject "$call:$fault:when=$number" "$CK" restore "$@" 3<"$PW"
		[ "$status" -eq 0 ] || hit=$((hit + 1))
		cases=$((cases + 1))
		if [ "$fault" != signal=KILL ] && [ "$status" -ne 0 ]; then
			grep -q '^clankie-keys: ' "$T_ERR" ||
			    why "status $status without a word"
			[ "$status" -ne 10 ] || why 'absent'
		fi
		stopped
		finished "$@"
		[ ! -s "$T_NOTE" ]
		t_result $? "$fault at $call $number"
	done <"$points"
	echo "# $fault: $cases points, $hit of them fatal"
}

sweeps() { # every how manyth; arguments of restore
	every=$1
	shift
	i_keep
	i_points "$CK" restore "$@" 3<"$PW" >"$T_TMP/all"
	expect 'a restore has calls to be killed at' \
	    test "$(wc -l <"$T_TMP/all")" -gt 60
	{
		grep -vE '^(pwrite64|fdatasync) ' "$T_TMP/all" |
		    i_sample "$every"
		grep -E '^(pwrite64|fdatasync) ' "$T_TMP/all" |
		    i_sample $((every * 6))
	} >"$T_TMP/sample"
	sweep signal=KILL "$T_TMP/sample" "$@"
	# A temporary file that cannot be removed stays, by design.
	{
		grep -vE '^(unlink|fsync)' "$T_TMP/sample" | i_sample 4
		grep '^fsync ' "$T_TMP/all"
	} >"$T_TMP/fewer"
	sweep error=EIO "$T_TMP/fewer" "$@"
	sweep error=ENOSPC "$T_TMP/fewer" "$@"
}

t_case 'file broker'
c_home
c_broker
: >"$PW"
KIND=file-broker
get_any() {
	"$CK" get
}
in_broker() {
	grep -q '"clankie_operator"' "$BROKER"
}
broker_value() {
	sed -n 's/^  "clankie_operator": \({[^}]*}\).*/\1/p' "$BROKER" |
	    tr -d '\n'
}
unlock_there() {
	[ -e "$UNLOCK" ] || [ -e "$(dirname "$UNLOCK")" ]
}
"$CK" migrate >"$T_TMP/null"
sweeps 2

t_case 'file broker, stopped twice'
# Recorded and not yet renamed; renamed; the password is gone.
for first in 'renameat2 1' 'unlinkat 3' 'unlinkat 4'; do
	c_home
	c_broker
	"$CK" migrate >"$T_TMP/null"
	i_inject "${first% *}:signal=KILL:when=${first#* }" "$CK" restore
	expect "killed before $first" test "$status" -eq 137
	i_keep
	i_points "$CK" restore >"$T_TMP/all"
	grep -v '^pwrite64 ' "$T_TMP/all" | i_sample 5 >"$T_TMP/sample"
	expect 'there is something left to do' test -s "$T_TMP/sample"
	sweep signal=KILL "$T_TMP/sample"
done

t_case 'login keychain'
c_home
c_login_new
t_bearer_json "$BEARER"
printf '["clankie_operator","zulu"]' >"$T_TMP/index"
c_add bot.clankie.credentials clankie_operator "$BEARER"
c_add bot.clankie.credentials __index__ "$T_TMP/index"
KIND=login-keychain
get_any() {
	"$CK" get --login-password-fd 3 3<"$PW"
}
in_broker() {
	"$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
	    --account clankie_operator >"$T_TMP/null" 2>&1
}
broker_value() {
	"$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
	    --account clankie_operator --password-fd 3 --out-fd 1 3<"$PW"
}
unlock_there() {
	"$CK" keychain find "$LOGIN" --service bot.clankie.custody \
	    --account operator-keychain >"$T_TMP/null" 2>&1
}
"$CK" migrate --broker "keychain:$LOGIN" --login-password-fd 3 3<"$PW" \
    >"$T_TMP/null"
sweeps 3 --login-password-fd 3
