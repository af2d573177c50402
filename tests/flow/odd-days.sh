#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# traced: no
# sanitized: no
#
# What env.sh tries with migrate and get, for the commands that come after: a
# clock that is wrong or jumps, no home, no environment, no descriptors, odd
# umasks, programs of the same name in front, a broker with very many items.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"

key_of() { # output
	"$CK" get --key >"$1"
}

# In this order each can do its work; the last one goes back.
WORDS='rotate
rotate --keychain
check --repair
rules --write
check
check --startup
precedence verify
precedence list
doctor
status
authenticate
restore'

# Every one of them under a prefix, in a migrated home; each must be done.
all_done() { # command
	echo "$WORDS" >"$T_TMP/words"
	while read -r words; do
		[ "$words" != authenticate ] || key_of "$T_TMP/key"
		[ "$words" != restore ] || key_of "$T_TMP/last"
		status=none
		# shellcheck disable=SC2086  # words
		run "$@" "$CK" $words <"$T_TMP/key"
		t_why "$words ended with $status"
		[ "$status" = 0 ]
		t_result $? "$words is done"
		t_no_secret
	done <"$T_TMP/words"
	run "$CK" get --key
	expect_status 0
	expect_out_is "$T_TMP/last"
	refute 'the bearer is a new one' cmp -s "$T_TMP/oldest" "$T_TMP/last"
}

t_case 'as usual'
k_custody
key_of "$T_TMP/oldest"
cp "$T_TMP/oldest" "$T_TMP/key"
k_copy
all_done env

t_case 'nothing but HOME'
k_back 'nothing but HOME'
all_done env -i HOME="$T_HOME"

k_back 'programs of the same name in front'
mkdir "$T_TMP/evil"
for name in security sh bash env openssl sqlite3 bwrap sandbox-exec plutil \
    sudo ps launchctl getent lsof fuser; do
	printf '#!/bin/sh\necho "%s" >>"%s"\n' "$name" "$T_TMP/ran" \
	    >"$T_TMP/evil/$name"
	chmod 0755 "$T_TMP/evil/$name"
done
all_done /usr/bin/env PATH="$T_TMP/evil" SHELL="$T_TMP/evil/sh"
refute 'none of them ran' test -e "$T_TMP/ran"

if t_find_tool setsid; then
	k_back 'no session and no terminal'
	all_done setsid -w
else
	skip 'no session' 'no setsid here'
fi

t_case 'a stack that is too small'
c_home
c_broker
snapshot "$T_HOME"
for words in migrate get check 'rules --write'; do
	# shellcheck disable=SC2086  # words
	run sh -c 'ulimit -s 64 && exec "$@"' sh "$CK" $words
	expect_status 24
	expect_out_empty
	expect_err_has 'ulimit -s'
done
expect_unchanged
run sh -c 'ulimit -s 512 && exec "$@"' sh "$CK" migrate
expect_status 0
run sh -c 'ulimit -s 512 && exec "$@"' sh "$CK" get
expect_status 0
expect_out_is "$BEARER"

# What is made is closed to others, and open to its owner, whatever the umask.
for mask in 000 077 777; do
	t_case "umask $mask"
	c_home
	c_broker
	k_sandbox on
	for words in migrate rotate 'rotate --keychain' 'rules --write'; do
		# shellcheck disable=SC2016,SC2086  # for the shell below; words
		run sh -c 'umask "$1" && shift && exec "$@"' sh "$mask" \
		    "$CK" $words
		expect_status 0
	done
	find "$KEYS" "$(dirname "$UNLOCK")" -type d ! -perm 0700 -o \
	    -type f -perm /077 ! -name worker.sb >"$T_NOTE"
	[ ! -s "$T_NOTE" ]
	t_result $? 'nothing is open to others'
	expect_mode 0600 "$DEDICATED"
	expect_mode 0600 "$KEYS/custody.db"
	expect_mode 0600 "$UNLOCK"
	run "$CK" check
	expect_status 0
	# shellcheck disable=SC2016  # for the shell below
	run sh -c 'umask "$1" && shift && exec "$@"' sh "$mask" "$CK" restore
	expect_status 0
	expect_mode 0600 "$BROKER"
done

# Nobody gets the report, so that it is no success; what was done holds.
k_back 'everything closed'
for words in rotate 'rotate --keychain' check 'check --startup' \
    'check --repair' 'rules --write' 'precedence verify' doctor status \
    restore; do
	key_of "$T_TMP/before"
	# shellcheck disable=SC2016,SC2086  # for the shell below; words
	run sh -c 'exec "$@" <&- >&- 2>&-' sh "$CK" $words
	case $words,$status in
	*,0 | *,25) ok "$words ends with $status" ;;
	*)
		t_why "$words ended with $status"
		t_result 1 "$words ends with 0 or 25"
		;;
	esac
	key_of "$T_TMP/after"
	case $words in
	rotate) refute 'a new bearer' cmp -s "$T_TMP/before" "$T_TMP/after" ;;
	*) expect "the bearer after $words" cmp "$T_TMP/before" "$T_TMP/after" ;;
	esac
	run "$CK" status --json
	expect_json unfinished null
done

# Without a usable HOME the password database answers.  That may be a real
# home: only what changes nothing is tried, and the bearer goes nowhere.
k_back 'no home'
mkdir "$T_TMP/here"
cd "$T_TMP/here" || exit 1
for home in '' relative "$T_HOME/missing" /; do
	for words in 'migrate --dry-run' get check 'check --startup' \
	    'precedence verify' 'rules' doctor; do
		# shellcheck disable=SC2086  # words
		"$T_TIMEOUT" "$T_LIMIT" env HOME="$home" "$CK" $words \
		    >/dev/null 2>"$T_ERR"
		status=$?
		case $status in
		0 | 1[0-9] | 2[0-5]) ok "HOME='$home': $words ends in order" ;;
		*)
			t_why "HOME='$home': $words ended with $status"
			t_result 1 "HOME='$home': $words ends in order"
			;;
		esac
		refute 'that home is not used' grep -qF "$T_HOME" "$T_ERR"
	done
done
"$T_TIMEOUT" "$T_LIMIT" env -i "$CK" check >/dev/null 2>"$T_ERR"
refute 'no environment at all is no accident' test $? -gt 25
expect 'nothing was made in the working directory' \
    test -z "$(ls -A "$T_TMP/here")"
cd / || exit 1

# Its own idea of file times changes from call to call.
NO_FAKE_STAT=1
# No wrong clock moves the one that only counts.
DONT_FAKE_MONOTONIC=1
FAKETIME_DONT_FAKE_MONOTONIC=1
export NO_FAKE_STAT DONT_FAKE_MONOTONIC FAKETIME_DONT_FAKE_MONOTONIC
if t_find_tool faketime && [ "$T_SANITIZED" -eq 0 ] &&
    faketime -f -1d true 2>/dev/null; then
	# "i": with each question for the time it jumps by so many seconds.
	for clock in -50y +50y '@2030-01-01 00:00:00 i-86400' \
	    '@2030-01-01 00:00:00 i86400'; do
		k_back "the clock is $clock"
		all_done faketime -f "$clock"
	done
	k_back 'a jump between writing and reading'
	number=1
	for clock in +50y -50y +0 '@1970-01-01 00:00:01' +80y; do
		run faketime -f "$clock" "$CK" rotate
		expect_status 0
		number=$((number + 1))
		key_of "$T_TMP/new"
		for other in -50y +50y; do
			run faketime -f "$other" "$CK" get --key
			expect_out_is "$T_TMP/new"
			run faketime -f "$other" "$CK" authenticate <"$T_TMP/new"
			expect_status 0
		done
		run "$CK" status --json
		expect_json generation "$number"
	done
	run "$CK" check
	expect_status 0
	k_expect ''
	run "$CK" precedence verify
	expect_status 0
else
	skip 'a wrong clock' 'no faketime here, or with sanitizers'
fi

# Bounds in seconds, generous for a slow machine: what reads, the gate, and
# what writes the broker's file, once or more.
MAKE=$(dirname "$T_TOOLS")/bench/ck-bench-make
if [ -x "$MAKE" ] && [ "$T_SANITIZED" -eq 0 ] && [ -z "$CK_TRACED" ]; then
	many=10000
	[ "${CK_SWEEP:-}" != full ] || many=100000
	t_case "$many other items in the broker"
	c_home
	k_sandbox on
	(umask 077 && mkdir -p "$(dirname "$LOGIN")")
	expect 'they are made' "$MAKE" "$LOGIN" "$many"
	printf bench >"$PW"
	t_bearer_json "$BEARER"
	T_LIMIT=60
	expect 'and one more' \
	    c_add bot.clankie.credentials clankie_operator "$BEARER"
	timed() { # limit, words
		T_LIMIT=$1
		shift
		run "$CK" "$@" --login-password-fd 3 3<"$PW"
		expect_status 0
		T_LIMIT=20
	}
	timed 5 migrate --dry-run --broker "keychain:$LOGIN"
	timed 60 migrate --broker "keychain:$LOGIN"
	timed 5 get
	expect_out_is "$BEARER"
	timed 60 rotate
	timed 2 check --startup
	timed 5 check
	k_expect ''
	timed 5 precedence verify
	timed 60 rotate --keychain
	timed 60 restore
	run "$CK" keychain verify "$LOGIN" --password-fd 3 3<"$PW"
	expect_status 0
else
	skip 'very many other items' 'no ck-bench-make here, or watched'
fi
