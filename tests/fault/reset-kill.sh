#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# reset --confirm is killed, or told of an error, at a system call that changes
# something on disk.  At that moment get gives nothing or the new bearer; once
# it gave that one, the next reset keeps it.  What was lost is kept aside, the
# broker is not touched.  By default a sample of the calls, with CK_SWEEP=full
# every one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need
second=

why() {
	echo "$*" >>"$T_NOTE"
}

field() { # name, file
	"$T_TOOLS/ck-json" "$1" <"$2"
}

# The contents of every file that may be the last copy of something.
contents() {
	find "$KEYS" "$UNLOCK_DIR" -type f \( -name '*-db' -o -name '*.json' \) \
	    -exec cksum {} + 2>/dev/null | cut -d' ' -f1,2 | sort
}

stopped() {
	got=0
	ck get >"$T_TMP/got" 2>"$T_TMP/got.err" || got=$?
	case $got in
	0)
		! cmp -s "$T_TMP/got" "$BEARER" || why 'the lost bearer is back'
		;;
	11 | 13 | 16 | 23) [ ! -s "$T_TMP/got" ] || why 'an error and a value' ;;
	*) why "get ended with $got: $(cat "$T_TMP/got.err")" ;;
	esac
	[ -z "$second" ] || ! ck get "$second" >"$T_TMP/got" 2>&1 ||
	    why "$second has a value"
	"$CK" status --json >"$T_TMP/stopped.status" || why 'no status'
	generation=$(field generation "$T_TMP/stopped.status")
	case $generation:$got in
	2:0 | 1:11 | 1:13 | 1:16 | 1:23) ;;
	*) why "generation $generation, and get ends with $got" ;;
	esac
	[ -z "$(comm -23 "$T_TMP/contents" - <<-END
	$(contents)
	END
	)" ] || why 'something that was there is gone'
	# Before anything was made, or when all was taken back.
	[ "$generation:$(field unfinished "$T_TMP/stopped.status")" != 1:null ] ||
	    [ "$(c_tree "$KEYS" | grep -v -e -journal)" = "$tree" ] ||
	    why "not as it was: $(c_tree "$KEYS" | tr '\n' ' ')"
	# A final name once given: the bearer under it, which nobody but this
	# test looks at before the reset is finished.
	rm -f "$T_TMP/installed"
	if [ ! -e "$DEDICATED" ] || ! password >"$T_TMP/unlock" 2>/dev/null ||
	    ! "$CK" keychain find "$DEDICATED" \
	    --service bot.clankie.credentials --account clankie_operator \
	    --password-fd 3 --out-fd 4 3<"$T_TMP/unlock" 4>"$T_TMP/installed" \
	    >"$T_TMP/null" 2>&1; then
		rm -f "$T_TMP/installed"
	fi
}

finished() {
	again=0
	ck reset --confirm --json >"$T_TMP/again" 2>"$T_TMP/again.err" ||
	    again=$?
	case $again in
	0) grep -qE '"outcome":"(reset|resumed)"' "$T_TMP/again" ||
	    why "second run says $(cat "$T_TMP/again")" ;;
	19) [ "$generation" = 2 ] || why 'refused, and nothing was made' ;;
	*) why "second run: $again: $(cat "$T_TMP/again.err")" ;;
	esac
	ck get >"$T_TMP/got" 2>"$T_TMP/got.err" ||
	    why "get at last: $(cat "$T_TMP/got.err")"
	! cmp -s "$T_TMP/got" "$BEARER" || why 'the lost bearer is back'
	[ -z "$second" ] || {
		second_is=0
		ck get "$second" >"$T_TMP/second" 2>&1 || second_is=$?
		[ "$second_is" -eq 10 ] || why "$second ends with $second_is"
	}
	[ ! -e "$T_TMP/installed" ] ||
	    cmp -s "$T_TMP/installed" "$T_TMP/got" ||
	    why 'a second bearer was made'
	"$CK" status --json >"$T_TMP/finished.status"
	[ "$(field generation "$T_TMP/finished.status")" = 2 ] ||
	    why 'more than one generation further'
	[ "$(field unfinished "$T_TMP/finished.status")" = null ] ||
	    why 'an operation is still open'
	[ "$(field rules_state "$T_TMP/finished.status")" = match ] ||
	    why 'the rules are not what the records give'
	ck precedence verify >"$T_TMP/verified" 2>&1 ||
	    why "verify: $(cat "$T_TMP/verified")"
	[ -z "$(comm -23 "$T_TMP/contents" - <<-END
	$(contents)
	END
	)" ] || why 'something that was there is gone at last'
	[ "$(find "$KEYS" -maxdepth 1 -name 'lost-*' | wc -l)" -eq "$dirs" ] ||
	    why "kept: $(c_tree "$KEYS" | tr '\n' ' ')"
	broker_is_same || why 'the broker was changed'
	no_strays || why "left: $(find "$T_HOME" -name '*.tmp-*' -o \
	    -name '*.sb-*' -o -name 'scratch-*' -o -name '*.lock')"
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
	contents >"$T_TMP/contents"
	tree=$(c_tree "$KEYS")
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
	grep -v '^unlink' "$T_TMP/sample" | i_sample 4 >"$T_TMP/fewer"
	for fault in EIO ENOSPC; do
		sweep "error=$fault" "$T_TMP/fewer"
	done
}

with_file() {
	c_home
	c_broker
	UNLOCK_DIR=$T_HOME/.config/clankie-keys
	"$CK" migrate >"$T_TMP/null" 2>"$T_TMP/null"
}
ck() {
	"$CK" "$@"
}
inject() {
	i_inject "$1" "$CK" reset --confirm
}
points() {
	i_points "$CK" reset --confirm
}
password() {
	"$T_TOOLS/ck-json" password <"$UNLOCK"
}
broker_is_same() {
	cmp -s "$BROKER" "$T_TMP/broker.rest"
}
# The broker's lock stays when nothing was left to do; the next clankie-keys
# takes it at once, others after a minute.
no_strays() {
	if [ "$again" -eq 19 ]; then
		find "$T_HOME" -name '*.lock' -type d -exec rmdir {} +
	fi
	c_strays
}

# Beside another credential, which goes back to the broker without a value: at
# no moment it has one.
t_case 'password lost'
with_file
"$CK" migrate last --service other.service --account last --quiet >"$T_TMP/null"
cp "$BROKER" "$T_TMP/broker.rest"
rm "$UNLOCK"
second=last
dirs=1
sweeps 23 3
second=

t_case 'keychain lost'
with_file
rm -r "$KEYS/operator"
dirs=0
sweeps 37 8

t_case 'login keychain, password wrong'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
migrate_login --json
UNLOCK_DIR=$T_HOME
"$CK" get --login-password-fd 3 >"$T_TMP/null" 3<"$PW"
cp "$DEDICATED" "$T_TMP/old.kc"
"$CK" rotate --keychain --login-password-fd 3 >"$T_TMP/null" 3<"$PW"
cat "$T_TMP/old.kc" >"$DEDICATED"
dirs=1
ck() {
	ck_verb=$1
	shift
	"$CK" "$ck_verb" "$@" --login-password-fd 3 3<"$PW"
}
inject() {
	i_inject "$1" "$CK" reset --confirm --login-password-fd 3 3<"$PW"
}
points() {
	i_points "$CK" reset --confirm --login-password-fd 3 3<"$PW"
}
password() {
	"$CK" keychain find "$LOGIN" --service bot.clankie.custody \
	    --account operator-keychain --password-fd 3 --out-fd 1 3<"$PW" |
	    head -c 64
}
# The broker holds the passwords, the lost one too, and nothing else.
broker_is_same() {
	"$CK" keychain verify "$LOGIN" --password-fd 3 3<"$PW" >"$T_TMP/null" &&
	    [ "$("$CK" keychain list "$LOGIN" --json |
	    grep -o '"account":"operator-keychain-lost-[0-9a-f]*"' |
	    sort -u | wc -l)" -eq 1 ] &&
	    ! "$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
	    --account clankie_operator >"$T_TMP/null" 2>&1
}
# The login keychain itself changes; the dedicated one that is kept does not.
contents() {
	find "$KEYS" -type f -name '*-db' -exec cksum {} + 2>/dev/null |
	    cut -d' ' -f1,2 | sort
}
# Beside a keychain macOS uses the same names for its temporary files.
no_strays() {
	[ -z "$(find "$T_HOME" -name '*.tmp-*' -o -name 'scratch-*' \
	    -o -name '*-journal' -o -name '*.new-*')" ]
}
sweeps 41 5
