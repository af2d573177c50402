# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# An operation that is stopped at every call that changes something on disk;
# read behind custody.sh and inject.sh.  sweep_verbs.sh knows the operations.
#
#	s_ready VERB BROKER  a home in which it can run, with a "file" or a
#	                     "keychain" as broker; it is kept (i_keep)
#	s_sweep FAULT MOST [CALLS]   stop it: kill, EIO, ENOSPC, EINTR, EACCES or
#	                     power; at most MOST points, spread over all, 0: every
#	                     one; only at calls whose name begins so
#
# After each stop law 3 has to hold: get gives a value that may be, exactly one
# place is recorded, every other copy is equal.  Then the same command is run
# again and has to finish.
# shellcheck disable=SC2154  # status is set by i_inject

. "$(dirname "$0")/../lib/sweep_verbs.sh"
s_turn=0

why() {
	echo "$*" >>"$T_NOTE"
}

# What the program is told of the broker before it is recorded, and later.
s_ready() {
	S_VERB=$1 S_STORE=$2
	S_VALUES=old S_AGAIN=0
	c_home
	if [ "$S_STORE" = file ]; then
		c_broker
		: >"$PW"
		S_LOGIN='' S_PASS=''
	else
		c_login_new >/dev/null
		t_bearer_json "$BEARER"
		printf '["clankie_operator","zulu"]' >"$T_TMP/index"
		c_add bot.clankie.credentials clankie_operator "$BEARER" \
		    >/dev/null
		c_add bot.clankie.credentials __index__ "$T_TMP/index" \
		    >/dev/null
		S_PASS='--login-password-fd 3'
		S_LOGIN="--broker keychain:$LOGIN $S_PASS"
	fi
	S_BEGUN=''
	"s_ready_$S_VERB" || return 1
	i_keep
	"$T_TOOLS/ck-snapshot" -b "$T_HOME" >"$T_TMP/before"
	s_strays >"$T_TMP/strays"
}

# shellcheck disable=SC2086  # words
s_migrated() {
	"$CK" migrate $S_LOGIN 3<"$PW" >"$T_TMP/null" 2>"$T_TMP/null"
}

# The command; with a fault, or seen by a tracer.
# shellcheck disable=SC2086  # words
s_run() { # what to inject
	i_inject "$1" "$CK" $S_WORDS 3<"$PW"
}

# shellcheck disable=SC2086  # words
s_points() {
	i_points "$CK" $S_WORDS 3<"$PW"
}

# shellcheck disable=SC2086  # words
s_cuts() {
	[ -n "$S_BEGUN" ] || i_record ''
	i_cuts "$CK" $S_WORDS 3<"$PW"
}

# shellcheck disable=SC2086  # words
s_get() {
	"$CK" get $S_LOGIN 3<"$PW"
}

s_status() { # member
	"$CK" status --json 2>/dev/null | "$T_TOOLS/ck-json" "$1"
}

s_sql() {
	sqlite3 -readonly "$KEYS/custody.db" "$1" 2>&1
}

# A keychain's item has more behind the password.
s_unlock_password() {
	if [ "$S_STORE" = file ]; then
		"$T_TOOLS/ck-json" password <"$UNLOCK"
	else
		"$CK" keychain find "$LOGIN" --service bot.clankie.custody \
		    --account operator-keychain --password-fd 3 --out-fd 1 \
		    3<"$PW" | cut -c1-64 | tr -d '\n'
	fi 2>/dev/null
}

s_broker_copy() {
	if [ "$S_STORE" = file ]; then
		"$T_TOOLS/ck-json" clankie_operator <"$BROKER"
	else
		"$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
		    --account clankie_operator --password-fd 3 --out-fd 1 \
		    3<"$PW" | "$T_TOOLS/ck-json" .
	fi 2>/dev/null
}

s_dedicated_copy() {
	s_unlock_password >"$T_TMP/unlock" &&
	    "$CK" keychain find "$DEDICATED" --service \
	    bot.clankie.credentials --account clankie_operator \
	    --password-fd 3 --out-fd 1 3<"$T_TMP/unlock" 2>/dev/null |
	    "$T_TOOLS/ck-json" . 2>/dev/null
}

# What get gives is in $T_TMP/value; empty when it may say that it is lost.
s_value() {
	s_code=0
	s_get >"$T_TMP/value" 2>"$T_TMP/got.err" || s_code=$?
	case $S_VALUES:$s_code in
	*:0) ;;
	lost:1[1-9] | lost:2[0-5])
		: >"$T_TMP/value"
		return
		;;
	*) why "$1: get ended with $s_code: $(cat "$T_TMP/got.err")" ;;
	esac
	cmp -s "$T_TMP/value" "$BEARER" && return
	[ "$S_VALUES" != old ] || why "$1: get gives something else"
	"$T_TOOLS/ck-json" key <"$T_TMP/value" 2>/dev/null |
	    grep -qxE 'clankie_op_[A-Za-z0-9_-]{43}' ||
	    why "$1: get gives no bearer"
}

# A second copy has the same value.
s_copies() {
	[ -s "$T_TMP/value" ] || return 0
	"$T_TOOLS/ck-json" . <"$T_TMP/value" >"$T_TMP/compact" 2>/dev/null
	for s_where in broker dedicated; do
		"s_${s_where}_copy" >"$T_TMP/copy"
		[ ! -s "$T_TMP/copy" ] || cmp -s "$T_TMP/copy" "$T_TMP/compact" ||
		    why "$1: the copy in the $s_where is another one"
	done
}

# Exactly one place is recorded, and it is there.
s_places() {
	{ [ -e "$KEYS/custody.db" ] && t_find_tool sqlite3; } || return 0
	s_recorded=$(s_sql "SELECT ifnull((SELECT group_concat(DISTINCT kind)
	    FROM reader_order WHERE rank = 0 AND credential = 'operator'),
	    'nowhere'), (SELECT count(*) FROM journal)")
	case $s_recorded in
	'nowhere|0') ;;
	'dedicated|'[01])
		# What is lost may be on its way to where it is kept.
		[ -e "$DEDICATED" ] || [ "$S_VALUES" = lost ] ||
		    why "$1: recorded is the keychain, there is no file"
		;;
	'file-broker|'[01] | 'login-keychain|'[01])
		[ -n "$(s_broker_copy)" ] ||
		    why "$1: recorded is the broker, and it has no bearer"
		;;
	*) why "$1: recorded places, open operations: $s_recorded" ;;
	esac
}

s_law3() { # when
	s_value "$1"
	s_places "$1"
	s_copies "$1"
}

# Temporary files, scratch directories, locks.  macOS uses our names beside a
# login keychain, so that what a killed writer left there has to stay.
s_strays() {
	find "$T_HOME" -name '*.tmp-*' -o -name 'scratch-*' \
	    -o -name '*-journal' -o -name '*.new-*' -o -name '*.lock' \
	    -o \( -name '*.sb-*' ! -path "$LOGIN*" \)
}

s_has() { # function
	command -v "$1" >/dev/null
}

s_stopped() {
	s_law3 stopped
	! s_has "s_stopped_$S_VERB" || "s_stopped_$S_VERB"
}

# The broker holds everything but the bearer, as it was.
s_broker_rest() {
	if [ "$S_STORE" = file ]; then
		cmp -s "$BROKER" "$T_TMP/broker.rest"
		return
	fi
	"$CK" keychain verify "$LOGIN" --password-fd 3 3<"$PW" >/dev/null &&
	    [ -z "$(s_broker_copy)" ] &&
	    [ "$("$CK" keychain find "$LOGIN" --service \
	    bot.clankie.credentials --account __index__ --password-fd 3 \
	    --out-fd 1 3<"$PW")" = '["zulu"]' ]
}

# What is in the dedicated keychain's hands is in order.
# shellcheck disable=SC2086  # words
s_custody() {
	"$CK" precedence verify $S_PASS 3<"$PW" >"$T_TMP/verified" 2>&1 ||
	    why "precedence verify: $(cat "$T_TMP/verified")"
	s_unlock_password >"$T_TMP/unlock" || why 'no unlock password'
	"$CK" keychain verify "$DEDICATED" --password-fd 3 3<"$T_TMP/unlock" \
	    >/dev/null 2>&1 || why 'the dedicated keychain does not verify'
	s_broker_rest || why 'the broker is not what is to be left of it'
}

# A broker's lock stays when there was nothing left to do: the next of our
# writers takes it at once, others after a minute.  A temporary file that could
# not be removed stays until somebody writes there again.
# shellcheck disable=SC2086  # words
s_again() {
	s_ended=0
	"$CK" $S_WORDS --json 3<"$PW" >"$T_TMP/again" 2>"$T_TMP/again.err" ||
	    s_ended=$?
	case " $S_AGAIN " in
	*" $s_ended "*) ;;
	*) why "again: status $s_ended: $(cat "$T_TMP/again.err")" ;;
	esac
	s_law3 again
	[ "$(s_status unfinished)" = null ] || why 'an operation is still open'
	case $S_VERB in
	restore* | *_second) ;;
	*) s_custody ;;
	esac
	! s_has "s_done_$S_VERB" || "s_done_$S_VERB"
	s_left=$(s_strays)
	if [ "$s_ended" -ne 0 ] ||
	    grep -q '"outcome":"already"' "$T_TMP/again"; then
		s_left=$(s_strays | grep -v '\.lock$')
	fi
	[ -z "$s_kept" ] ||
	    s_left=$(echo "$s_left" | grep -v '\.tmp-[0-9a-f]*$')
	[ -z "$s_left" ] || why "left: $s_left"
}

# What may be said about an errno; 0 when the call was tried again or did not
# matter.  SQLite does not always keep the errno, and opens for reading what
# it may not open for writing.
s_status_fits() { # errno, exit status
	# What could not be looked at or mended is a finding.
	[ "$S_VERB:$2" != repair:21 ] || return 0
	case $1:$2 in
	*:0 | EIO:25 | EINTR:25 | ENOSPC:17 | EACCES:12) ;;
	ENOSPC:25 | EACCES:25 | *:18) grep -q 'custody\.db: ' "$T_ERR" ;;
	*) return 1 ;;
	esac
}

# An operation that was told of an error: it says so, and leaves nothing
# lying about but what it was not allowed to remove.
s_failed() { # errno, call
	s_status_fits "$1" "$status" || why "status $status: $(cat "$T_ERR")"
	[ "$status" -eq 0 ] || grep -q '^clankie-keys: ' "$T_ERR" ||
	    why 'no message'
	"$T_TOOLS/ck-scan" files "$T_SECRETS" "$T_OUT" "$T_ERR" >/dev/null ||
	    why 'a secret in the output'
	case $2 in
	unlink* | rmdir) ;;
	*)
		s_left=$(s_strays | grep -vxFf "$T_TMP/strays")
		# What an operation that is still open needs is no stray.
		[ "$(s_status unfinished)" = null ] ||
		    s_left=$(echo "$s_left" | grep -v '/scratch-[0-9a-f]*$')
		[ -z "$s_left" ] || why "left at once: $s_left"
		;;
	esac
	if [ "$S_VERB" = migrate ] && [ ! -e "$DEDICATED" ]; then
		[ "$status" -ne 0 ] || why 'success without a keychain'
		s_untouched || why "changed: $(cat "$T_TMP/changed")"
	fi
}

# The unlock password came and went, so that a login keychain was written
# twice; what is in it is the same.
s_untouched() {
	"$T_TOOLS/ck-snapshot" -b "$T_HOME" >"$T_TMP/after"
	if [ "$S_STORE" = file ]; then
		diff "$T_TMP/before" "$T_TMP/after" >"$T_TMP/changed"
		return
	fi
	for s_file in before after; do
		grep -vF "$LOGIN" "$T_TMP/$s_file" >"$T_TMP/$s_file.rest"
	done
	diff "$T_TMP/before.rest" "$T_TMP/after.rest" >"$T_TMP/changed" &&
	    "$CK" keychain verify "$LOGIN" --password-fd 3 3<"$PW" \
	    >/dev/null &&
	    ! "$CK" keychain find "$LOGIN" --service bot.clankie.custody \
	    --account operator-keychain >/dev/null 2>&1
}

s_point() { # name
	s_count=$((s_count + 1))
	if [ -s "$T_NOTE" ]; then
		s_bad=$((s_bad + 1))
		why "status: $("$CK" status --json 2>&1)"
		why "$(c_tree "$T_HOME")"
		t_result 1 "$1"
	else
		t_result 0 "$1"
	fi
}

# At most so many lines, spread evenly; 0: all.  Where it begins differs from
# call to call, so that few points of each fault are many points in all.
s_spread() { # most
	awk -v most="$1" -v turn="$s_turn" '{ line[NR] = $0 }
		END {
			step = most > 0 && NR > most ? NR / most : 1
			at = 1 + step * (turn * 0.618034 % 1)
			for (at = step > 1 ? at : 1; int(at) <= NR; at += step)
				print line[int(at)]
		}'
}

# Most calls are pages written into SQLite's files; a sample takes fewer.
s_sample() { # most
	if [ "$1" -eq 0 ]; then
		cat
	else
		awk '$1 != "pwrite64" || ++n % 6 == 1' | s_spread "$1"
	fi
}

s_sweep_calls() { # fault, what strace is to inject, most, names of calls
	i_back
	s_points >"$T_TMP/all" || why "points: $(cat "$T_ERR")"
	s_total=$(wc -l <"$T_TMP/all")
	grep "^${4:-}" "$T_TMP/all" | s_sample "$3" >"$T_TMP/points.swept"
	while read -r s_call s_number; do
		i_back
		: >"$T_NOTE"
		s_kept=''
		case $1:$s_call in
		kill:*) ;;
		*:unlink*) s_kept=1 ;;
		esac
		s_run "$s_call:$2:when=$s_number"
		[ "$status" -eq 0 ] || s_fatal=$((s_fatal + 1))
		[ "$1" = kill ] || s_failed "$1" "$s_call"
		s_stopped
		s_again
		s_point "$1 at $s_call $s_number"
	done <"$T_TMP/points.swept"
}

s_sweep_power() { # most
	i_back
	s_cuts >"$T_TMP/all" || why "cuts: $(cat "$T_ERR")"
	s_total=$(grep -vc '^#' "$T_TMP/all")
	# What is never synced shows in the last cut.
	s_last=$(awk '$2 == "cut" { n = $3 } END { print n }' "$T_TMP/all")
	{
		grep -v '^#' "$T_TMP/all" | grep -v "^[0-9]* cut $s_last " |
		    s_spread "$1"
		grep "^[0-9]* cut $s_last " "$T_TMP/all"
	} >"$T_TMP/points.swept"
	while read -r s_number s_what; do
		: >"$T_NOTE"
		s_kept=''
		i_cut "$s_number" || why 'this tree was not made'
		s_fatal=$((s_fatal + 1))
		s_stopped
		s_again
		s_point "power $s_what"
	done <"$T_TMP/points.swept"
}

s_sweep() { # fault, most, names of calls
	s_count=0 s_bad=0 s_fatal=0
	s_turn=$((s_turn + 1))
	t_case "$S_VERB, broker $S_STORE"
	: >"$T_NOTE"
	case $1 in
	kill) s_sweep_calls kill signal=KILL "$2" "${3:-}" ;;
	power) s_sweep_power "$2" ;;
	*) s_sweep_calls "$1" "error=$1" "$2" "${3:-}" ;;
	esac
	# Nothing tried, or nobody killed, would prove nothing.  Where names of
	# temporary files differ a count may differ by a few.
	[ "$s_count" -gt 0 ] || not_ok "$1: there were points to try"
	[ "$1" != kill ] || [ "$s_fatal" -ge $((s_count - 3)) ] ||
	    not_ok "$1: almost all of them were killed"
	echo "# swept $S_VERB $S_STORE $1 $s_count $s_total $s_fatal $s_bad"
}
