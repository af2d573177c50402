#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The surroundings a service, a remote login or an enemy gives the program:
# no environment, no home, no terminal, closed descriptors, programs of the same
# name in front, a wrong clock.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

migrated() {
	c_home
	c_broker
	run "$CK" migrate
	expect_status 0
}

t_case 'nothing but HOME'
c_home
c_broker
run env -i HOME="$T_HOME" "$CK" migrate
expect_status 0
run env -i HOME="$T_HOME" "$CK" get
expect_status 0
expect_out_is "$BEARER"
run env -i HOME="$T_HOME" "$CK" status
expect_status 0
expect_out_has "$KEYS"

# Without a usable HOME the password database answers.  What it names may be a
# real custody: it is asked where it lies and nothing else.
t_case 'the home of the password database'
real=$(awk -F: -v id="$(id -u)" '$3 == id { print $6; exit }' /etc/passwd)
if [ -n "$real" ] && [ -d "$real" ] && [ -O "$real" ]; then
	real=$(cd "$real" && pwd -P)
	for home in '' relative "$T_HOME/missing"; do
		run env HOME="$home" "$CK" status --json
		case $status in
		0) expect_json custody "$real/.clankie-keys" ;;
		*) expect "status $status is a refusal of its own" \
		    test "$status" -ge 11 -a "$status" -le 25 ;;
		esac
	done
	run env -i "$CK" status --json
	expect 'and with no environment at all' test "$status" -ne 2
else
	skip 'HOME from the password database' 'it has no home for this user'
fi
t_case 'a home that is a file'
: >"$T_TMP/file"
run env HOME="$T_TMP/file" "$CK" status --json
refute 'it is not used' grep -q "$T_TMP/file" "$T_OUT"

t_case 'empty variables count as not set'
run env XDG_CONFIG_HOME= XDG_STATE_HOME= CLANKIE_KEYS_HOME= \
    CLANKIE_CREDENTIALS_FILE= CLANKIE_SETTINGS_FILE= CLANKIE_STATE= \
    CLANKIE_WORKER_PANE= "$CK" status --json
expect_status 0
expect_json custody "$KEYS"
expect_json settings "$CLANKIE/settings.json"
t_case 'relative paths in variables'
for name in XDG_CONFIG_HOME CLANKIE_KEYS_HOME CLANKIE_CREDENTIALS_FILE; do
	run env "$name=relative/path" "$CK" status
	expect_status 19
	expect_err_has absolute
done

t_case 'standard input closed'
migrated
run sh -c 'exec "$@" <&-' sh "$CK" get
expect_status 0
expect_out_is "$BEARER"
t_case 'standard error closed'
run sh -c 'exec "$@" 2>&-' sh "$CK" get --verbose
expect_status 0
expect_out_is "$BEARER"
t_case 'standard output closed'
run sh -c 'exec "$@" >&-' sh "$CK" get
expect_status 2
expect_out_empty
run sh -c 'exec "$@" >&-' sh "$CK" get --fd 5 5>"$T_TMP/got"
expect_status 0
expect_same "$T_TMP/got" "$BEARER"
t_case 'everything closed'
run sh -c 'exec "$@" <&- >&- 2>&-' sh "$CK" get --fd 5 5>"$T_TMP/got"
expect_status 0
expect_same "$T_TMP/got" "$BEARER"
c_home
c_broker
cp "$T_TMP/broker.rest" "$T_TMP/rest"
run sh -c 'exec "$@" <&- >&- 2>&-' sh "$CK" migrate
expect 'a report that nobody gets is no success' test "$status" -eq 25
expect_same "$BROKER" "$T_TMP/rest"
run "$CK" get
expect_out_is "$BEARER"
expect 'no file of ours was taken for a standard stream' \
    test "$("$CK" status --json | "$T_TOOLS/ck-json" unfinished)" = null
t_case 'a password from a closed descriptor'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
run sh -c 'exec "$@" <&-' sh "$CK" migrate --broker "keychain:$LOGIN" \
    --login-password-fd 0
expect 'is no empty password' test "$status" -ne 0 -a "$status" -ne 11

t_case 'no session and no terminal'
if t_find_tool setsid; then
	c_home
	c_broker
	run setsid -w "$CK" migrate
	expect_status 0
	run setsid -w "$CK" get
	expect_status 0
	expect_out_is "$BEARER"
	run setsid -w "$CK" status
	expect_status 0
else
	skip 'setsid' 'no setsid here'
fi

t_case 'a terminal'
migrated
if t_find_tool script && script -qec true /dev/null >/dev/null 2>&1; then
	run script -qec "'$CK' get" /dev/null
	expect_status 19
	expect_out_has --raw
	t_no_secret
	run script -qec "'$CK' get --fd 1" /dev/null
	expect_status 19
	t_no_secret
	run script -qec "'$CK' get --key --fd 2" /dev/null
	expect_status 19
	t_no_secret
	if [ -z "$CK_TRACED" ]; then
		run script -qec "'$CK' get --raw" /dev/null
		expect_status 0
		expect 'it was asked for' grep -qFf "$BEARER" "$T_OUT"
	fi
	"$T_TOOLS/ck-json" password <"$UNLOCK" >"$T_TMP/unlock"
	run script -qec "'$CK' keychain find '$DEDICATED' --service \
	    bot.clankie.credentials --account clankie_operator \
	    --password-fd 3 --out-fd 1 3<'$T_TMP/unlock'" /dev/null
	expect_status 19
	t_no_secret
	run script -qec "'$CK' get --fd 5 5>'$T_TMP/got'" /dev/null
	expect_status 0
	expect_same "$T_TMP/got" "$BEARER"
	t_no_secret
	run script -qec "'$CK' status && '$CK' migrate" /dev/null
	expect_status 0
	t_no_secret
else
	skip 'a terminal' 'no script(1) of util-linux here'
fi

t_case 'a full device as standard output'
if [ -c /dev/full ]; then
	for words in get 'get --raw' status 'status --json' rules \
	    'precedence list' migrate; do
		# shellcheck disable=SC2086,SC2016  # words; for the shell below
		run sh -c 'exec "$@" >/dev/full' sh "$CK" $words
		expect_status 17
	done
	run "$CK" get --fd 5 5>/dev/full
	expect_status 17
	c_home
	c_broker
	# shellcheck disable=SC2016  # for the shell below
	run sh -c 'exec "$@" >/dev/full' sh "$CK" migrate
	expect_status 17
	run "$CK" get
	expect_status 0
	expect_out_is "$BEARER"
else
	skip 'exit status 17' 'no /dev/full here'
fi
t_case 'nobody reads'
# shellcheck disable=SC2016  # for the shell below
run sh -c '{ "$1" get; echo $? >"$2"; } | :' sh "$CK" "$T_TMP/code"
expect 'is not taken for absent' test "$(cat "$T_TMP/code")" -ne 10

t_case 'programs of the same name in front'
c_home
c_broker
mkdir "$T_TMP/evil"
for name in security sh bash env openssl sqlite3 bwrap sandbox-exec plutil \
    sudo ps launchctl getent; do
	printf '#!/bin/sh\necho "%s" >>"%s"\n' "$name" "$T_TMP/ran" \
	    >"$T_TMP/evil/$name"
	chmod 0755 "$T_TMP/evil/$name"
done
for words in 'migrate --dry-run' migrate get status 'precedence list' \
    'rules --write'; do
	# shellcheck disable=SC2086  # words
	run /usr/bin/env PATH="$T_TMP/evil" SHELL="$T_TMP/evil/sh" \
	    "$CK" $words
	expect_status 0
done
refute 'none of them ran' test -e "$T_TMP/ran"
for path in /nonexistent '' .; do
	run /usr/bin/env PATH="$path" "$CK" get
	expect_status 0
	expect_out_is "$BEARER"
done

t_case 'configuration of the libraries'
printf 'openssl_conf = i\n[i]\nproviders = p\n[p]\nevil = e\n[e]\nmodule = %s\nactivate = 1\n' \
    "$T_TMP/evil/libevil.so" >"$T_TMP/openssl.cnf"
for value in "OPENSSL_CONF=$T_TMP/openssl.cnf" 'OPENSSL_CONF=/nonexistent' \
    "OPENSSL_MODULES=$T_TMP/evil" 'SQLITE_TMPDIR=/nonexistent' \
    'TMPDIR=/nonexistent' 'LC_ALL=xx_XX.UTF-8' 'TZ=:/etc/passwd'; do
	c_home
	c_broker
	run env "$value" "$CK" migrate
	expect_status 0
	run env "$value" "$CK" get
	expect_status 0
	expect_out_is "$BEARER"
done

t_case 'a wrong clock'
# Its own idea of file times changes from call to call.
NO_FAKE_STAT=1
export NO_FAKE_STAT
if t_find_tool faketime && [ "$T_SANITIZED" -eq 0 ] &&
    faketime -f -1d true 2>/dev/null; then
	for clock in '-50y' '+50y' '-80y' '+80y' '@1970-01-01 00:00:00' \
	    '@2038-01-19 03:14:08' '@1901-01-01 00:00:00'; do
		c_home
		c_broker
		run faketime -f "$clock" "$CK" migrate
		expect_status 0
		run "$CK" get
		expect_status 0
		expect_out_is "$BEARER"
		run faketime -f "$clock" "$CK" get
		expect_status 0
		expect_out_is "$BEARER"
		run "$CK" status
		expect_status 0
		run "$CK" keychain list "$DEDICATED" --json
		expect_status 0
		created=$("$T_TOOLS/ck-json" items.0.created <"$T_OUT")
		case $created in
		19[7-9][0-9]-* | 20[0-6][0-9]-*)
			ok 'its date is one that keychains can hold'
			;;
		*)
			echo "created $created" >"$T_NOTE"
			not_ok 'its date is one that keychains can hold'
			;;
		esac
	done
	refute 'the clock was indeed a wrong one' \
	    test "${created%%-*}" = "$(date +%Y)"
	# Migrated in the future, read and migrated again in the past.
	c_home
	c_broker
	run faketime -f +50y "$CK" migrate
	expect_status 0
	run faketime -f -50y "$CK" migrate
	expect_status 0
	run faketime -f -50y "$CK" get
	expect_out_is "$BEARER"
else
	skip 'a wrong clock' 'no faketime here, or with sanitizers'
fi
