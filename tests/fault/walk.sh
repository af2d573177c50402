#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# traced: no
#
# A walk: commands in an order that nobody thought of, most of them killed or
# told of an error at a random call, so that one operation meets what another
# one left half done, and what goes on is killed again.  After each step get
# gives the value in force, and no value that was replaced ever comes back.
# CK_SEED is where they begin ("random" for one of its own), CK_WALK the number
# of steps of each, CK_TURNS a list: one pair of walks for each of its numbers.
# shellcheck disable=SC2086,SC2094  # words; the plan is only read
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"

i_need
SEED=${CK_SEED:-7}
[ "$SEED" != random ] || SEED=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
STEPS=${CK_WALK:-30}

# "words|what strace is to inject", one a step.
plan() { # seed
	awk -v seed="$1" -v steps="$STEPS" '
	function pick(list, n, part) {
		n = split(list, part, "|")
		return part[1 + int(rand() * n)]
	}
	BEGIN {
		srand(seed)
		verbs = "migrate|migrate|rotate|rotate|rotate --keychain|" \
		    "rotate --keychain|restore|reset --confirm|" \
		    "check --repair|protect add NOTES|protect remove NOTES|" \
		    "migrate second|migrate second|restore second|finish|" \
		    "finish|finish|settle|lose records|lose password"
		split("openat 120 pwrite64 60 fsync 25 write 15 unlinkat 10 " \
		    "fchmod 10 renameat2 6 renameat2 4 mkdirat 3 linkat 3", call)
		for (i = 0; i < steps; i++) {
			k = 2 * int(rand() * 10) + 1
			where = "when=" 1 + int(rand() * call[k + 1])
			how = rand() < 0.7 ? "signal=KILL" : \
			    "error=" pick("EIO|ENOSPC|EACCES|EINTR")
			print pick(verbs) "|" (rand() < 0.75 ? \
			    call[k] ":" how ":" where : "")
		}
		print "settle|"
	}'
}

s_ready_walk() {
	S_WORDS=''
	s_ready_migrate_second && "$CK" migrate $S_SECOND $S_PASS 3<"$PW" \
	    >"$T_TMP/null" 2>&1 && mkdir -m 0700 "$T_HOME/notes" &&
	    (umask 077 && mkdir -p "$CLANKIE") && echo '{"fleet":{"workerSandbox":true}}' |
	    t_write "$CLANKIE/settings.json"
}

# The words of a step, for this home; nothing when it makes no sense now.
words_of() { # step
	case $1 in
	finish)
		w_open=$(s_status unfinished)
		case $w_open in
		'' | null) ;;
		*) w_of=$(s_sql 'SELECT credential FROM journal')
		   echo "$w_open $w_of $S_PASS" ;;
		esac ;;
	*' second') echo "${1% second} $S_SECOND $S_PASS" ;;
	*NOTES) echo "${1%NOTES}$T_HOME/notes $S_PASS" ;;
	migrate) echo "migrate $S_LOGIN" ;;
	lose*) ;;
	*) echo "$1 $S_PASS" ;;
	esac
}

# What the keychain held is lost with its password; the records are not.
lose() { # what
	[ "$(s_status unfinished)" = null ] && [ -z "$LOST" ] &&
	    [ "$(s_status state)" = dedicated ] || return 0
	case $1 in
	records)
		rm "$KEYS/custody.db"
		LOST=records
		"$CK" doctor --rebuild --confirm $S_LOGIN 3<"$PW" \
		    >"$T_TMP/null" 2>"$T_TMP/rebuilt" ||
		    why "rebuild: $(cat "$T_TMP/rebuilt")"
		LOST='' ;;
	password)
		if [ "$S_STORE" = file ]; then
			rm "$UNLOCK"
		else
			"$CK" keychain delete "$LOGIN" \
			    --service bot.clankie.custody \
			    --account operator-keychain >"$T_TMP/null"
		fi
		LOST=password ;;
	esac
}

key_of() { # file
	"$T_TOOLS/ck-json" key <"$1" 2>/dev/null
}

# Which value is in force, and was it to be expected?
judge() { # words
	w_code=0
	s_get >"$T_TMP/value" 2>"$T_TMP/got.err" || w_code=$?
	if [ "$w_code" -ne 0 ]; then
		[ -n "$LOST" ] || why "get: $w_code: $(cat "$T_TMP/got.err")"
		return
	fi
	w_key=$(key_of "$T_TMP/value")
	if [ "$w_key" != "$(cat "$T_TMP/now")" ]; then
		! grep -qxF -e "$w_key" "$T_TMP/retired" ||
		    why 'a value that was replaced is back'
		case $1 in
		rotate' '* | reset*) ;;
		*) why "another value behind $1" ;;
		esac
		cat "$T_TMP/now" >>"$T_TMP/retired"
		echo "$w_key" >"$T_TMP/now"
		[ -z "$LOST" ] || GONE=1
		LOST=''
	elif [ "$LOST" = password ]; then
		why 'what was lost is still there'
	fi
	s_places "$1"
	s_copies "$1"
	[ -n "$GONE" ] || second "$1"
	# With no credential in it there is neither a keychain nor a seal.
	[ ! -e "$DEDICATED" ] ||
	    "$CK" precedence verify $S_PASS 3<"$PW" >"$T_TMP/verified" 2>&1 ||
	    why "$1: precedence verify: $(cat "$T_TMP/verified")"
}

# The other credential never changes, wherever it is.
second() { # words
	w_where=$S_PASS
	# Records that were made again know only what was in the keychain.
	[ "$(s_sql "SELECT count(*) FROM credential
	    WHERE name = 'second'")" = 1 ] || w_where=$S_LOGIN
	"$CK" get $S_SECOND $w_where 3<"$PW" >"$T_TMP/got" \
	    2>"$T_TMP/got.err" || why "$1: second: $(cat "$T_TMP/got.err")"
	cmp -s "$T_TMP/got" "$S_API" || why "$1: second: something else"
}

# Whatever is open comes to its end, and then everything is in order.
settle() {
	for _ in 1 2 3; do
		w_words=$(words_of finish)
		[ -n "$w_words" ] || break
		"$CK" $w_words 3<"$PW" >"$T_TMP/null" 2>"$T_TMP/finished" ||
		    why "$w_words: $(cat "$T_TMP/finished")"
		judge "$w_words "
	done
	if [ "$LOST" = password ]; then
		"$CK" reset --confirm $S_PASS 3<"$PW" >"$T_TMP/null" \
		    2>"$T_TMP/finished" ||
		    why "reset: $(cat "$T_TMP/finished")"
		judge 'reset '
		[ -z "$LOST" ] || why 'a reset, and still lost'
	fi
	# What nobody removes before somebody writes there again.
	"$CK" check --repair $S_PASS 3<"$PW" >"$T_TMP/null" 2>&1
	[ "$(s_status unfinished)" = null ] || why 'an operation is still open'
	[ "$(s_status state)" = dedicated ] ||
	    [ "$(s_status state)" = null ] || return 0
	[ "$(s_status state)" = null ] || {
		"$CK" precedence verify $S_PASS 3<"$PW" >"$T_TMP/verified" 2>&1 ||
		    why "precedence verify: $(cat "$T_TMP/verified")"
		"$CK" check --startup $S_PASS 3<"$PW" >"$T_TMP/null" \
		    2>"$T_TMP/gate" || why "the gate: $(cat "$T_TMP/gate")"
	}
	# A journal with an empty head is none for SQLite, which removes it
	# when the records are next written.
	s_left=$(s_strays |
	    grep -vE '\.lock$|/\.config/.*\.tmp-|\.sb-|custody\.db-journal$')
	[ -z "$s_left" ] || why "left: $s_left"
}

walk() { # store, seed
	t_case "seed $2, broker $1"
	LOST='' GONE=''
	s_ready walk "$1" || not_ok 'it can begin'
	key_of "$BEARER" >"$T_TMP/now"
	: >"$T_TMP/retired"
	plan "$2" >"$T_TMP/plan"
	w_n=0
	while IFS='|' read -r w_step w_inject <&9; do
		w_n=$((w_n + 1))
		: >"$T_NOTE"
		w_words=$(words_of "$w_step")
		case $w_step in
		settle) settle ;;
		lose*) lose "${w_step#lose }" ;;
		*)
			[ -n "$w_words" ] || continue
			status=0
			if [ -n "$w_inject" ]; then
				i_inject "$w_inject" "$CK" $w_words 3<"$PW"
			else
				"$CK" $w_words 3<"$PW" >"$T_OUT" 2>"$T_ERR" ||
				    status=$?
			fi
			[ "$status" -ne 70 ] || why "$(cat "$T_ERR")" ;;
		esac
		case $w_step in
		settle) ;;
		lose*) judge "$w_step" ;;
		*) judge "$w_words " ;;
		esac
		w_bad=0
		[ ! -s "$T_NOTE" ] || {
			w_bad=1
			why "$(sed -n "1,${w_n}p" "$T_TMP/plan")"
		}
		t_result "$w_bad" "$w_n: $w_step, $w_inject"
		[ "$w_bad" -eq 0 ] || return 0
	done 9<"$T_TMP/plan"
}

for turn in ${CK_TURNS:-0}; do
	walk file $((SEED + turn))
	walk keychain $((SEED + turn))
done
