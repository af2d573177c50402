#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# A second credential on its way into the dedicated keychain, or out of it
# while the first one stays, is killed or told of an error at a system call
# that changes something on disk.  At that moment get gives both values, the
# records fit their seal and name one place for each; the same command again
# finishes.  By default a sample of the calls, with CK_SWEEP=full every one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need

why() {
	echo "$*" >>"$T_NOTE"
}

# shellcheck disable=SC2086  # words
gives() { # when
	"$CK" get $PASS 3<"$PW" >"$T_TMP/got" 2>"$T_TMP/got.err" ||
	    why "$1: get ended with $?: $(cat "$T_TMP/got.err")"
	cmp -s "$T_TMP/got" "$BEARER" || why "$1: get gives something else"
	"$CK" get $SECOND $PASS 3<"$PW" >"$T_TMP/got" 2>"$T_TMP/got.err" ||
	    why "$1: get second: $?: $(cat "$T_TMP/got.err")"
	cmp -s "$T_TMP/got" "$API" || why "$1: get second: something else"
	"$CK" precedence verify $PASS 3<"$PW" >"$T_TMP/verified" 2>&1 ||
	    why "$1: verify: $(cat "$T_TMP/verified")"
}

in_keychain() {
	"$CK" keychain find "$DEDICATED" --service "$SERVICE" --account last \
	    >"$T_TMP/null" 2>&1
}

# One recorded place for each, and it exists.
places_agree() { # when
	"$CK" precedence list | awk '$4 == 0 { print $1, $5 }' | sort -u \
	    >"$T_TMP/firsts"
	grep -qx 'operator dedicated' "$T_TMP/firsts" ||
	    why "$1: the first one is not in its place"
	case $(sed -n 's/^second //p' "$T_TMP/firsts" | tr '\n' ' ') in
	'dedicated ') in_keychain || why "$1: recorded, and no item" ;;
	"$KIND " | '') in_broker || why "$1: recorded, and not in the broker" ;;
	*) why "$1: recorded: $(tr '\n' ' ' <"$T_TMP/firsts")" ;;
	esac
}

stopped() {
	gives 'at that moment'
	places_agree 'at that moment'
	in_keychain || in_broker || why 'in neither place'
	if in_keychain && in_broker; then
		case $("$CK" status --json | "$T_TOOLS/ck-json" unfinished) in
		migrate | restore) ;;
		*) why 'two copies, and nothing says so' ;;
		esac
	fi
}

# shellcheck disable=SC2086  # words
finished() { # the command's words
	"$CK" "$@" --json 3<"$PW" >"$T_TMP/again" 2>"$T_TMP/again.err" ||
	    why "again: $(cat "$T_TMP/again.err")"
	grep -qE '"outcome":"(migrated|restored|resumed|already)"' \
	    "$T_TMP/again" || why "again: $(cat "$T_TMP/again")"
	gives 'afterwards'
	places_agree 'afterwards'
	[ "$1:$(in_keychain && echo in)" = migrate:in ] ||
	    [ "$1:$(in_broker && echo in)" = restore:in ] ||
	    why 'it is not where it was sent'
	! in_keychain || ! in_broker || why 'it is in both places'
	[ "$("$CK" status --json | "$T_TOOLS/ck-json" unfinished)" = null ] ||
	    why 'an operation is still open'
	[ "$("$CK" status --json | "$T_TOOLS/ck-json" rules_state)" = match ] ||
	    why 'the rules are not what the records give'
	strays=$(find "$T_HOME" -name '*.tmp-*' -o -name '*-journal' \
	    -o -name '*.new-*' -o -name 'restored-*' -o -name 'scratch-*')
	[ -z "$strays" ] || why "left: $strays"
	[ "$1" = restore ] || "$CK" restore second $PASS 3<"$PW" \
	    >"$T_TMP/null" 2>"$T_TMP/again.err" ||
	    why "and back: $(cat "$T_TMP/again.err")"
	[ "$1" = migrate ] || "$CK" migrate second $PASS 3<"$PW" \
	    >"$T_TMP/null" 2>"$T_TMP/again.err" ||
	    why "and forth: $(cat "$T_TMP/again.err")"
	gives 'and back again'
}

sweep() { # signal=KILL or error=NAME; points; the command's words
	fault=$1 points=$2 cases=0 hit=0
	shift 2
	while read -r call number; do
		i_back
		: >"$T_NOTE"
		i_inject "$call:$fault:when=$number" "$CK" "$@" 3<"$PW"
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
		t_result $? "$1: $fault at $call $number"
	done <"$points"
	echo "# $1 $fault: $cases points, $hit of them fatal"
}

sweeps() { # every how manyth; the command's words
	every=$1
	shift
	i_keep
	i_points "$CK" "$@" 3<"$PW" >"$T_TMP/all"
	expect "$1: there are calls to be killed at" \
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
		grep -vE '^(unlink|fsync)' "$T_TMP/sample" | i_sample 6
		grep '^fsync ' "$T_TMP/all"
	} >"$T_TMP/fewer"
	sweep error=EIO "$T_TMP/fewer" "$@"
	i_sample 3 <"$T_TMP/fewer" >"$T_TMP/sample"
	sweep error=ENOSPC "$T_TMP/sample" "$@"
}

# shellcheck disable=SC2086  # words
both() { # every how manyth
	"$CK" migrate $BROKERED $PASS 3<"$PW" >"$T_TMP/null" 2>&1
	sweeps "$1" migrate $SECOND $PASS
	i_back
	"$CK" migrate $SECOND $PASS 3<"$PW" >"$T_TMP/null" 2>&1
	sweeps "$1" restore second $PASS
}

t_case 'file broker'
c_home
c_broker
API=$T_TMP/api.json
printf '{"type":"api","key":"none","metadata":{"a":"b"}}' >"$API"
: >"$PW"
KIND=file-broker SERVICE=other.service PASS='' BROKERED=''
SECOND="second --service $SERVICE --account last"
in_broker() {
	grep -q '"last"' "$BROKER"
}
both 4

t_case 'login keychain'
c_home
c_login_new
t_bearer_json "$BEARER"
printf '["clankie_operator","last","zulu"]' >"$T_TMP/index"
SERVICE=bot.clankie.credentials KIND=login-keychain
c_add "$SERVICE" clankie_operator "$BEARER"
c_add "$SERVICE" last "$API"
c_add "$SERVICE" __index__ "$T_TMP/index"
PASS='--login-password-fd 3' BROKERED="--broker keychain:$LOGIN"
SECOND="second --service $SERVICE --account last"
in_broker() {
	"$CK" keychain find "$LOGIN" --service "$SERVICE" --account last \
	    >"$T_TMP/null" 2>&1
}
both 8
