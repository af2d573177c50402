#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# migrate is killed in front of a system call that changes something on disk.
# At that moment get gives the bearer, no two places hold different ones and
# none is recorded twice; a second migrate finishes.  By default a sample of
# the calls, with CK_SWEEP=full every one of them.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need

# Beside a keychain macOS uses the same names for its temporary files, so a
# killed writer's stay there.  The broker's lock stays when nothing was left to
# do; the next clankie-keys takes it at once, others after a minute.
no_strays() {
	[ -z "$(find "$T_HOME" -name '*.tmp-*' -o -name 'scratch-*' \
	    -o -name '*-journal' -o -name '*.new-*')" ] || return 1
	grep -q '"outcome":"already"' "$T_TMP/again" ||
	    [ -z "$(find "$T_HOME" -name '*.lock')" ]
}

why() {
	echo "$*" >>"$T_NOTE"
}

gives_bearer() { # when
	get_any >"$T_TMP/got" 2>"$T_TMP/got.err" ||
	    why "$1: get ended with $?: $(cat "$T_TMP/got.err")"
	cmp -s "$T_TMP/got" "$BEARER" || why "$1: get gives something else"
}

sql() {
	sqlite3 -readonly "$KEYS/custody.db" "$1" 2>&1
}

# What the records say agrees with what is there.
places_agree() {
	[ -e "$KEYS/custody.db" ] && t_find_tool sqlite3 || return 0
	firsts=$(sql "SELECT count(DISTINCT path) FROM reader_order
	    WHERE rank = 0 AND credential = 'operator'")
	state=$(sql "SELECT state FROM credential WHERE name = 'operator'")
	case $state:$firsts in
	:0 | migrating:1 | broker:1) ;;
	dedicated:1)
		[ -e "$DEDICATED" ] || why 'records say dedicated, no file'
		;;
	*) why "state '$state' with $firsts recorded places" ;;
	esac
	[ "$(sql 'SELECT count(*) FROM journal')" -le 1 ] ||
	    why 'two operations are open'
}

stopped() {
	gives_bearer 'at the kill'
	places_agree
	if [ ! -e "$DEDICATED" ]; then
		cmp -s "$SOURCE" "$T_TMP/source" || source_lacks_nothing ||
		    why 'the broker was edited before the file had its name'
	fi
}

finished() {
	"$CK" migrate --json "$@" 3<"$PW" >"$T_TMP/again" 2>"$T_TMP/again.err" ||
	    why "second migrate: $(cat "$T_TMP/again.err")"
	grep -qE '"outcome":"(migrated|resumed|already)"' "$T_TMP/again" ||
	    why "second migrate says $(cat "$T_TMP/again")"
	gives_bearer 'afterwards'
	[ "$("$CK" status --json | "$T_TOOLS/ck-json" unfinished)" = null ] ||
	    why 'an operation is still open'
	[ "$("$CK" status --json | "$T_TOOLS/ck-json" rules_state)" = match ] ||
	    why 'the rules are not what the records give'
	unlock_password >"$T_TMP/unlock" || why 'no unlock password'
	"$CK" keychain verify "$DEDICATED" --password-fd 3 3<"$T_TMP/unlock" \
	    >/dev/null 2>&1 || why 'the dedicated keychain does not verify'
	no_strays || why "left: $(find "$T_HOME" -name '*.tmp-*' \
	    -o -name 'scratch-*' -o -name '*-journal' -o -name '*.new-*' \
	    -o -name '*.lock')"
	source_is_done || why 'the broker is not what is to be left of it'
}

sweep() { # every how manyth call of the frequent kinds; arguments of migrate
	every=$1
	shift
	i_keep
	cp "$SOURCE" "$T_TMP/source"
	i_points "$CK" migrate "$@" 3<"$PW" >"$T_TMP/all"
	expect 'a migration has calls to be killed at' \
	    test "$(wc -l <"$T_TMP/all")" -gt 100
	{
		grep -vE '^(pwrite64|fdatasync) ' "$T_TMP/all" |
		    i_sample "$every"
		grep '^fdatasync ' "$T_TMP/all" | i_sample $((every * 4))
		grep '^pwrite64 ' "$T_TMP/all" | i_sample $((every * 11))
	} >"$T_TMP/sample"
	killed=0 cases=0
	while read -r call number; do
		i_back
		: >"$T_NOTE"
		i_inject "$call:signal=KILL:when=$number" \
		    "$CK" migrate "$@" 3<"$PW"
		[ "$status" -ne 137 ] || killed=$((killed + 1))
		cases=$((cases + 1))
		stopped
		finished "$@"
		[ ! -s "$T_NOTE" ]
		t_result $? "killed before $call $number"
	done <"$T_TMP/sample"
	# Where names of temporary files differ a count may differ by a few.
	expect 'almost all of them were killed' \
	    test "$killed" -ge $((cases - 3))
}

t_case 'file broker'
c_home
c_broker
: >"$PW"
SOURCE=$BROKER
get_any() {
	"$CK" get
}
unlock_password() {
	"$T_TOOLS/ck-json" password <"$UNLOCK"
}
source_lacks_nothing() {
	false
}
source_is_done() {
	cmp -s "$BROKER" "$T_TMP/broker.rest"
}
sweep 1

t_case 'file broker, stopped twice'
# The keychain is built, has its name, or is all that is left.
for first in 'renameat2 3' 'renameat 2' 'renameat 3'; do
	c_home
	c_broker
	cp "$SOURCE" "$T_TMP/source"
	i_inject "${first% *}:signal=KILL:when=${first#* }" "$CK" migrate
	expect "killed before $first" test "$status" -eq 137
	i_keep
	i_points "$CK" migrate >"$T_TMP/all"
	for fault in signal=KILL error=EIO; do
		# A temporary file that cannot be removed stays, by design.
		skipped='^pwrite64 '
		[ "$fault" = signal=KILL ] || skipped='^(pwrite64|unlinkat) '
		grep -vE "$skipped" "$T_TMP/all" | i_sample 7 >"$T_TMP/sample"
		while read -r call number; do
			i_back
			: >"$T_NOTE"
			i_inject "$call:$fault:when=$number" "$CK" migrate
			stopped
			finished
			[ ! -s "$T_NOTE" ]
			t_result $? "before $first, then $fault at $call $number"
		done <"$T_TMP/sample"
	done
done

t_case 'login keychain'
c_home
c_login_new
t_bearer_json "$BEARER"
printf '["clankie_operator","zulu"]' >"$T_TMP/index"
c_add bot.clankie.credentials clankie_operator "$BEARER"
c_add bot.clankie.credentials __index__ "$T_TMP/index"
SOURCE=$LOGIN
# Before anything is recorded the broker has to be named.
get_any() {
	"$CK" get --broker "keychain:$LOGIN" --login-password-fd 3 3<"$PW"
}
unlock_password() {
	"$CK" keychain find "$LOGIN" --service bot.clankie.custody \
	    --account operator-keychain --password-fd 3 --out-fd 1 3<"$PW"
}
# The unlock password is added first; the bearer's item must be there.
source_lacks_nothing() {
	"$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
	    --account clankie_operator >/dev/null
}
source_is_done() {
	"$CK" keychain verify "$LOGIN" --password-fd 3 3<"$PW" >/dev/null &&
	    ! source_lacks_nothing 2>/dev/null &&
	    [ "$("$CK" keychain find "$LOGIN" --service \
	    bot.clankie.credentials --account __index__ --password-fd 3 \
	    --out-fd 1 3<"$PW")" = '["zulu"]' ]
}
sweep 2 --broker "keychain:$LOGIN" --login-password-fd 3
