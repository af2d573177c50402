#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The switch: off is said and not silent, on is confined or refused, and once on
# only the owner turns it off.
# traced: no
# shellcheck disable=SC2016  # the commands expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need

turn() { # true, false, or other JSON; none: no such key
	mkdir -p "$CLANKIE"
	if [ $# -eq 0 ]; then
		echo '{"schemaVersion":1}' >"$CLANKIE/settings.json"
	else
		echo "{\"fleet\":{\"workerSandbox\":$1}}" >"$CLANKIE/settings.json"
	fi
}

# What a worker finds: the marker, and whether it can read the broker.
FINDS='echo "$CLANKIE_WORKER_PANE,${CLANKIE_OPERATOR_TOKEN-unset}"
    if cat "$HOME/.config/clankie/credentials.json" >/dev/null 2>&1
    then echo open; else echo closed; fi'

launch() {
	run "$CK" worker exec -- sh -c "$FINDS"
}

is_confined() {
	expect_status 0
	expect_out_is "$T_TMP/confined"
	expect_err_empty
}

is_open() {
	expect_status 0
	expect_out_is "$T_TMP/open"
	expect_err_has 'this worker is not confined'
}

sandbox() { # word
	run "$CK" worker sandbox "$@" --json
}

printf '1,\nclosed\n' >"$T_TMP/confined"
printf '1,\nopen\n' >"$T_TMP/open"

t_case 'off, without a custody'
c_home
c_broker
snapshot -d "$T_HOME"
launch
is_open
run "$CK" worker exec --quiet -- sh -c "$FINDS"
expect_out_is "$T_TMP/open"
for code in 0 1 20 126 127 255; do
	run "$CK" worker exec -- sh -c "exit $code"
	expect_status "$code"
done
run "$CK" worker exec -- /no/such/command
expect_status 127
run "$CK" worker exec -- /etc/passwd
expect_status 126
run bash -c '"$1" worker exec --status-fd 5 -- /no/such 5>"$2"' sh "$CK" "$T_TMP/st"
expect 'it is reported' test "$(cat "$T_TMP/st")" = '127 not-found'
run bash -c '"$1" worker exec --status-fd 5 -- sh -c "echo x >&5" 5>"$2"' sh "$CK" "$T_TMP/st"
refute 'the descriptor is not inherited' test -s "$T_TMP/st"
run sh -c 'echo $$; exec "$1" worker exec -- sh -c "echo \$\$"' sh "$CK"
expect 'one process' [ "$(sed -n 1p "$T_OUT")" = "$(sed -n 2p "$T_OUT")" ]
run sh -c 'umask 027; ulimit -n 99; "$1" worker exec -- sh -c "umask; ulimit -n"' sh "$CK"
expect 'umask and limits as they are' [ "$(tr '\n' ' ' <"$T_OUT")" = '0027 99 ' ]
expect_unchanged
run "$CK" worker sandbox on
expect_status 23
expect_unchanged

t_case 'off, with a custody'
run "$CK" migrate
expect_status 0
launch
is_open
turn false
launch
is_open
sandbox
expect_json worker_sandbox off
expect_json launch unconfined

t_case 'a switch that cannot be read'
for text in '"yes"' 1 null; do
	turn "$text"
	launch
	expect_status 13
	expect_out_empty
	sandbox
	expect_json worker_sandbox unknown
	expect_json launch refused
done
turn true
chmod 0666 "$CLANKIE/settings.json"
launch
expect_status 19
chmod 0600 "$CLANKIE/settings.json"

t_case on
launch
is_confined
sandbox
expect_json seen_on true
expect_json word follow
expect_json inside nothing
expect_json launch confined
snapshot "$KEYS"
launch
is_confined
expect_unchanged 'what is known is not recorded again'

run sh -c 'trap "" CHLD; exec "$1" worker exec -- sh -c "$2"' sh "$CK" "$FINDS"
is_confined
run bash -c '"$1" worker exec --status-fd 5 --login-password-fd 6 -- /no/such 5>"$2" 6<<<x' sh "$CK" "$T_TMP/st"
expect_status 127
expect 'it is reported' test "$(cat "$T_TMP/st")" = '127 not-found'

t_case 'the environment turns nothing off'
mkdir -p "$T_TMP/config/clankie"
echo '{}' >"$T_TMP/config/clankie/settings.json"
run env CLANKIE_SETTINGS_FILE="$T_TMP/config/clankie/settings.json" \
    "$CK" worker exec -- sh -c "$FINDS"
is_confined
run env CLANKIE_SETTINGS_FILE="$T_TMP/none" "$CK" worker exec -- sh -c "$FINDS"
is_confined
run env CLANKIE_WORKER_PANE=1 CLANKIE_LOCAL_SANDBOX="$T_TMP" HERDR_ENV=1 \
    "$CK" worker exec -- sh -c "$FINDS"
is_confined
if t_find_tool cc; then
	mkdir "$T_TMP/away"
	cat >"$T_TMP/own.c" <<'C'
#include <pwd.h>
#include <stdlib.h>
struct passwd *
getpwuid(uid_t uid)
{
	static struct passwd pw;
	pw.pw_uid = uid;
	pw.pw_name = "me";
	pw.pw_dir = getenv("OWN");
	pw.pw_shell = "/bin/sh";
	return &pw;
}
C
	cc -shared -fPIC -o "$T_TMP/own.so" "$T_TMP/own.c"
	run env LD_PRELOAD="$T_TMP/own.so" OWN="$T_HOME" "$CK" worker exec -- \
	    sh -c "$FINDS"
	is_confined
	refused 19 'HOME is another' env LD_PRELOAD="$T_TMP/own.so" \
	    OWN="$T_HOME" HOME="$T_TMP/away" "$CK" worker exec -- \
	    touch "$T_TMP/started"
else
	skip 'another HOME' 'no compiler here'
fi

t_case 'off again'
turn false
launch
expect_status 22
expect_out_empty
expect_err_has 'worker sandbox follow'
run bash -c '"$1" worker exec --status-fd 5 -- true 5>"$2"' sh "$CK" "$T_TMP/st"
expect 'the refusal is reported' test "$(cat "$T_TMP/st")" = '22 decide'
turn
launch
expect_status 22
rm "$CLANKIE/settings.json"
launch
expect_status 22
sandbox
expect_json launch refused
expect_json code decide

t_case 'the word of the owner'
sandbox no
expect_status 2
sandbox ''
expect_status 2
snapshot "$KEYS"
run env CLANKIE_WORKER_PANE=1 "$CK" worker sandbox off
expect_status 19
expect_unchanged
sandbox follow
expect_status 0
expect_json seen_on false
launch
is_open
turn true
launch
is_confined
sandbox off
expect_status 0
expect_json word off
launch
is_open
sandbox on
expect_status 0
launch
is_confined
turn '"yes"'
launch
is_confined
rm "$CLANKIE/settings.json"
launch
is_confined
run "$CK" check --json
refute 'the records fit their seal' grep -q seal-broken "$T_OUT"

t_case 'a word that is not the owner'\''s'
if t_find_tool sqlite3; then
	cp "$KEYS/custody.db" "$T_TMP/custody.db"
	for sql in "UPDATE setting SET value = 'off' WHERE name = 'worker.sandbox'" \
	    "DELETE FROM setting WHERE name LIKE 'worker.sandbox%'"; do
		run sqlite3 "$KEYS/custody.db" "$sql"
		expect_status 0
		launch
		expect_status 13
		expect_out_empty
		sandbox off
		expect_status 13
		cat "$T_TMP/custody.db" >"$KEYS/custody.db"
	done
else
	skip 'edited rows' 'no sqlite3 here'
fi

t_case 'inside already'
run "$CK" worker exec -- "$CK" worker exec -- true
expect_status 71
run "$CK" worker exec -- "$CK" worker sandbox
expect_status 0
expect_out_has 'inside       worker'
sandbox follow
chmod 0100 "$KEYS"
launch
refute 'a mode is no mask' [ "$status" -eq 71 ]
expect_out_empty
chmod 0700 "$KEYS"
ENVELOPE=$CLANKIE/local-sandbox
mkdir -m 0700 "$ENVELOPE"
echo '{}' >"$ENVELOPE/envelope.json"
echo probe >"$ENVELOPE/refusal-probe"
turn true
launch
is_confined
chmod 0000 "$ENVELOPE/refusal-probe"
launch
is_confined
if t_find_tool bwrap && bwrap --dev-bind / / true 2>/dev/null; then
	in_envelope() {
		run bwrap --dev-bind / / --ro-bind "$ENVELOPE/refusal-probe" \
		    "$ENVELOPE/refusal-probe" --ro-bind "$ENVELOPE/envelope.json" \
		    "$ENVELOPE/envelope.json" -- "$@"
	}
	# A real one is in tests/deny/envelope.sh.
	in_envelope "$CK" worker exec -- sh -c "$FINDS"
	refute 'a probe without a mode is none' cmp -s "$T_OUT" "$T_TMP/open"
	chmod 0600 "$ENVELOPE/refusal-probe"
	in_envelope "$CK" worker exec -- sh -c "$FINDS"
	refute 'a probe that can be read is none' [ "$status" -eq 0 ]
	expect_out_empty
else
	skip 'an envelope' 'no bwrap here'
fi
t_no_secret
