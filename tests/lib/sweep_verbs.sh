# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# The operations that sweep.sh stops.
#
#	s_verbs              every one, one a line
#	s_built VERB         fails when this program does not have it
#	s_ready_VERB         in a fresh home: what has to be there, and S_WORDS,
#	                     the command
#	s_stopped_VERB       what holds at the stop besides law 3 (may be missing)
#	s_done_VERB          and when the command was run again (may be missing)
#
# The last two call why for what does not hold.  $S_LOGIN are the words that
# name a login keychain before it is recorded, $S_PASS those for later.
#
#	S_VALUES             "old": get gives the value; "new": or another one;
#	                     "lost": or says that it cannot
#	S_AGAIN              exit statuses that the second run may have
# shellcheck disable=SC2034,SC2154  # sweep.sh uses and sets them

s_verbs() {
	printf '%s\n' migrate migrate_again migrate_second rotate \
	    rotate_keychain restore restore_again restore_second reset repair \
	    checkout protect
}

s_has_verb() {
	"$CK" --help | grep -q "^  $1 "
}

s_has_option() { # verb, option
	s_has_verb "$1" && "$CK" "$1" --help | grep -q -e "$2"
}

s_built() {
	case $1 in
	*_again | *_second) s_has_verb "${1%_*}" ;;
	rotate_keychain) s_has_option rotate '--keychain' ;;
	repair) s_has_option check '--repair' ;;
	checkout) s_has_option migrate '--checkout' ;;
	*) s_has_verb "$1" ;;
	esac
}

s_ready_migrate() {
	S_WORDS="migrate $S_LOGIN"
}

s_ready_rotate() {
	S_WORDS="rotate $S_PASS"
	S_VALUES=new
	s_migrated
}

s_ready_repair() {
	S_WORDS="check --repair $S_PASS"
	s_migrated && rm "$KEYS/worker.sb"
}

# A checkout of a custody that is there: one transaction and the rules.
s_ready_checkout() {
	S_WORDS="migrate --checkout $T_HOME/one $S_PASS"
	s_migrated && mkdir "$T_HOME/one"
}

s_done_checkout() {
	grep -qF "$T_HOME/one/.env.local" "$KEYS/worker.sb" ||
	    why 'the rules do not have it'
	[ "$(s_status rules_state)" = match ] ||
	    why 'the rules are not what the records give'
}

s_ready_protect() {
	S_WORDS="protect add $T_HOME/notes $S_PASS"
	s_migrated && mkdir -m 0700 "$T_HOME/notes"
}

s_stopped_rotate() {
	cp "$T_TMP/value" "$T_TMP/value.stopped"
	s_generation=$(s_status generation)
	case $s_generation in
	1 | 2) ;;
	*) why "generation $s_generation after one rotation" ;;
	esac
	if [ "$s_generation" -eq 2 ]; then
		! cmp -s "$T_TMP/value" "$BEARER" ||
		    why 'the records are ahead of the keychain'
	elif ! cmp -s "$T_TMP/value" "$BEARER"; then
		[ "$(s_status unfinished)" = rotate ] ||
		    why 'a new value and no open operation'
	fi
}

# The next rotation finishes the interrupted one, or is one of its own.
s_done_rotate() {
	s_to=$("$T_TOOLS/ck-json" generation <"$T_TMP/again")
	[ "$s_to" = "$(s_status generation)" ] ||
	    why 'rotate and status name two generations'
	case $("$T_TOOLS/ck-json" outcome <"$T_TMP/again") in
	resumed)
		cmp -s "$T_TMP/value.stopped" "$T_TMP/value" ||
		    why 'resumed, and yet another value'
		case $s_generation:$s_to in
		1:2 | 2:2) ;;
		*) why 'resumed at a wrong generation' ;;
		esac
		;;
	rotated)
		! cmp -s "$T_TMP/value.stopped" "$T_TMP/value" ||
		    why 'rotated, and yet the same value'
		[ "$s_to" -eq $((s_generation + 1)) ] ||
		    why 'rotated by more than one'
		[ "$s_generation" -eq 2 ] ||
		    cmp -s "$T_TMP/value.stopped" "$BEARER" ||
		    why 'a value that was in force was replaced unsaid'
		;;
	*) why "the second rotate says $(cat "$T_TMP/again")" ;;
	esac
}

s_done_migrate() {
	grep -qE '"outcome":"(migrated|resumed|already)"' "$T_TMP/again" ||
	    why "the second migrate says $(cat "$T_TMP/again")"
	[ "$(s_status rules_state)" = match ] ||
	    why 'the rules are not what the records give'
}

s_done_repair() {
	[ -e "$KEYS/worker.sb" ] || why 'the rules were not made again'
}

s_done_protect() {
	[ "$(s_sql "SELECT count(*) FROM protected
	    WHERE path = '$T_HOME/notes'")" -ge 1 ] || why 'it is not protected'
	[ "$(s_status rules_state)" = match ] ||
	    why 'the rules are not what the records give'
}

# A run that goes on behind one that was killed before a call; a power cut may
# undo what that first run did, too.
# shellcheck disable=SC2086  # words
s_killed_once() { # call and number, as i_points prints them
	S_BEGUN=1
	i_record "${1% *}:signal=KILL:when=${1#* }" "$CK" $S_WORDS 3<"$PW"
}

# Before $S_FIRST, else when the complete keychain is to be given its name.
s_ready_migrate_again() {
	S_WORDS="migrate $S_LOGIN"
	if [ -n "${S_FIRST:-}" ]; then
		s_killed_once "$S_FIRST"
		return
	fi
	i_keep
	s_call=$(s_points | grep '^renameat2 ' | tail -n 1)
	i_back
	s_killed_once "$s_call"
	[ ! -e "$DEDICATED" ] && [ -n "$(find "$KEYS" -name 'scratch-*')" ]
}

s_done_migrate_again() {
	s_done_migrate
}

s_ready_rotate_keychain() {
	S_WORDS="rotate --keychain $S_PASS"
	s_migrated
	s_signature=$(s_status keychain.signature)
	s_tree=$(c_tree "$KEYS")
	s_unlock_password >"$T_TMP/unlock.then"
}

# Everything goes on as usual; other changes wait.
# shellcheck disable=SC2086  # words
s_stopped_rotate_keychain() {
	"$T_TOOLS/ck-json" key <"$BEARER" | tr -d '\n' |
	    "$CK" authenticate $S_PASS 3<"$PW" >"$T_TMP/null" 2>&1 ||
	    why 'authenticate says no'
	"$CK" precedence verify $S_PASS 3<"$PW" >"$T_TMP/verified" 2>&1 ||
	    why "precedence verify: $(cat "$T_TMP/verified")"
	[ "$(s_status generation)" = 1 ] || why 'another generation'
	s_at_stop=$(s_status keychain.signature)
	[ "$(s_status unfinished)" != null ] || return 0
	s_code=0
	"$CK" rotate $S_PASS 3<"$PW" >"$T_TMP/null" 2>"$T_TMP/other" ||
	    s_code=$?
	[ "$s_code" -eq 16 ] || why "rotate beside an open one: $s_code"
	grep -qF 'clankie-keys rotate --keychain' "$T_TMP/other" ||
	    why 'busy without the step that helps'
}

s_done_rotate_keychain() {
	s_now=$(s_status keychain.signature)
	case $("$T_TOOLS/ck-json" outcome <"$T_TMP/again") in
	resumed)
		[ "$s_now" = "$s_at_stop" ] ||
		    why 'resumed, and yet another file'
		;;
	keychain-rotated)
		[ "$s_now" != "$s_at_stop" ] || why 'the same file'
		;;
	*) why "the second run says $(cat "$T_TMP/again")" ;;
	esac
	[ "$s_now" != "$s_signature" ] || why 'the first file is back'
	s_unlock_password >"$T_TMP/unlock"
	! cmp -s "$T_TMP/unlock" "$T_TMP/unlock.then" || why 'the old password'
	if [ "$S_STORE" = file ]; then
		! grep -q pending "$UNLOCK"
	else
		! "$CK" keychain find "$LOGIN" --service bot.clankie.custody \
		    --account operator-keychain-pending >"$T_TMP/null" 2>&1
	fi || why 'a password is still pending'
	[ "$(c_tree "$KEYS")" = "$s_tree" ] ||
	    why "left: $(c_tree "$KEYS" | tr '\n' ' ')"
}

s_ready_restore() {
	S_WORDS="restore $S_PASS"
	s_migrated
}

# Before $S_FIRST, else when the keychain is to lose its name.
s_ready_restore_again() {
	s_ready_restore || return 1
	if [ -n "${S_FIRST:-}" ]; then
		s_killed_once "$S_FIRST"
		return
	fi
	i_keep
	s_call=$(s_points | grep '^renameat2 ' | tail -n 1)
	i_back
	s_killed_once "$s_call"
	[ -e "$DEDICATED" ] && [ "$(s_status unfinished)" = restore ]
}

s_stopped_restore() {
	[ -z "$(s_broker_copy)" ] || [ "$(s_status unfinished)" = restore ] ||
	    [ "$(s_status state)" = broker ] ||
	    why 'a copy in the broker, and nothing says so'
}

s_stopped_restore_again() {
	s_stopped_restore
}

# Nothing of the custody is left but its records and rules, and the way there
# is free again.
# shellcheck disable=SC2086  # words
s_done_restore() {
	grep -qE '"outcome":"(restored|resumed|already)"' "$T_TMP/again" ||
	    why "the second restore says $(cat "$T_TMP/again")"
	[ -n "$(s_broker_copy)" ] || why 'not in the broker'
	s_left=$(cd "$KEYS" && find . ! -name '.fl*' | sort | tr '\n' ' ')
	[ "$s_left" = '. ./custody.db ./worker.mounts ./worker.sb ' ] ||
	    why "left: $s_left"
	[ -z "$(s_unlock_password)" ] || why 'the unlock password is there'
	"$CK" migrate $S_LOGIN 3<"$PW" >"$T_TMP/null" 2>"$T_TMP/again.err" ||
	    why "migrate: $(cat "$T_TMP/again.err")"
	s_law3 'migrated again'
	s_custody
}

s_done_restore_again() {
	s_done_restore
}

# What the keychain held is lost with its password.
s_ready_reset() {
	S_WORDS="reset --confirm $S_PASS"
	S_VALUES=lost
	# Once the new bearer is there nothing is lost that would allow it.
	S_AGAIN='0 19'
	s_migrated || return 1
	if [ "$S_STORE" = file ]; then
		rm "$UNLOCK"
	else
		"$CK" keychain delete "$LOGIN" --service bot.clankie.custody \
		    --account operator-keychain >"$T_TMP/null"
	fi
	s_lost >"$T_TMP/lost"
}

# Every file that may be the last copy of something.
s_lost() {
	find "$KEYS" -type f -name '*-db' -exec cksum {} + |
	    cut -d' ' -f1,2 | sort
}

s_lost_is_kept() {
	s_lost >"$T_TMP/lost.now"
	[ -z "$(comm -23 "$T_TMP/lost" "$T_TMP/lost.now")" ] ||
	    why "$1: something that was there is gone"
}

s_stopped_reset() {
	cp "$T_TMP/value" "$T_TMP/value.stopped"
	s_lost_is_kept stopped
}

s_done_reset() {
	[ -s "$T_TMP/value" ] || why 'there is still no value'
	! cmp -s "$T_TMP/value" "$BEARER" || why 'the old value came back'
	[ ! -s "$T_TMP/value.stopped" ] ||
	    cmp -s "$T_TMP/value" "$T_TMP/value.stopped" ||
	    why 'a second bearer was made'
	[ "$(s_status generation)" = 2 ] ||
	    why 'more than one generation further'
	s_lost_is_kept again
}

# A second credential beside the operator's, which law 3 is asked about.
# shellcheck disable=SC2086  # words
s_ready_migrate_second() {
	s_migrated || return 1
	S_API=$T_TMP/api.json
	printf '{"type":"api","key":"none","metadata":{"a":"b"}}' >"$S_API"
	S_SERVICE=other.service
	if [ "$S_STORE" = keychain ]; then
		S_SERVICE=bot.clankie.credentials
		c_add "$S_SERVICE" last "$S_API" >"$T_TMP/null"
	fi
	S_SECOND="second --service $S_SERVICE --account last"
	S_WORDS="migrate $S_SECOND $S_PASS"
}

# shellcheck disable=SC2086  # words
s_ready_restore_second() {
	s_ready_migrate_second || return 1
	"$CK" $S_WORDS 3<"$PW" >"$T_TMP/null" 2>"$T_TMP/null" || return 1
	S_WORDS="restore second $S_PASS"
}

s_second_in_keychain() {
	"$CK" keychain find "$DEDICATED" --service "$S_SERVICE" --account last \
	    >"$T_TMP/null" 2>&1
}

s_second_in_broker() {
	if [ "$S_STORE" = file ]; then
		grep -q '"last"' "$BROKER"
	else
		"$CK" keychain find "$LOGIN" --service "$S_SERVICE" \
		    --account last >"$T_TMP/null" 2>&1
	fi
}

# shellcheck disable=SC2086  # words
s_second() { # when
	"$CK" get $S_SECOND $S_PASS 3<"$PW" >"$T_TMP/got" \
	    2>"$T_TMP/got.err" || why "$1: second: $(cat "$T_TMP/got.err")"
	cmp -s "$T_TMP/got" "$S_API" || why "$1: second: something else"
	"$CK" precedence verify $S_PASS 3<"$PW" >"$T_TMP/verified" 2>&1 ||
	    why "$1: precedence verify: $(cat "$T_TMP/verified")"
	case $("$CK" precedence list | awk '$1 == "second" && $4 == 0 {
	    print $5 }' | sort -u | tr '\n' ' ') in
	'dedicated ') s_second_in_keychain || why "$1: recorded, and no item" ;;
	*) s_second_in_broker || why "$1: recorded, and not in the broker" ;;
	esac
}

s_stopped_migrate_second() {
	s_second stopped
	! s_second_in_broker || ! s_second_in_keychain ||
	    [ "$(s_status unfinished)" = "${S_VERB%_second}" ] ||
	    why 'two copies, and nothing says so'
}

s_stopped_restore_second() {
	s_stopped_migrate_second
}

s_done_migrate_second() {
	s_second again
	s_second_in_keychain || why 'it is not in the keychain'
	! s_second_in_broker || why 'it is still in the broker'
}

s_done_restore_second() {
	s_second again
	s_second_in_broker || why 'it is not in the broker'
	! s_second_in_keychain || why 'it is still in the keychain'
}
