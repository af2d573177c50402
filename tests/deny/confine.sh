#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# traced: no
#
# boundary confine against the escapes of integration.md 13.3, each beside a
# control that works without it; and what it refuses to start.
# shellcheck disable=SC2016  # the texts are for the shell inside
# The home must not lie in /tmp, which is another one inside.
TMPDIR=/var/tmp
export TMPDIR
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/envelope.sh"

v_need
c_home
c_broker
WS=$T_HOME/ws OUT=$T_HOME/out
mkdir -p "$WS/control" "$OUT" "$T_HOME/.aws"
echo secret >"$T_HOME/.aws/credentials"
echo secret >"$OUT/key"
echo outside >"$OUT/file"
echo rule >"$WS/control/rule"
"$CK" migrate >"$T_TMP/null" 2>"$T_TMP/null"

set_options() {
	OPTIONS="--workspace $WS --protect $WS/control"
}
set_options
# shellcheck disable=SC2086  # words
in_box() { # shell text
	run "$CK" boundary confine $OPTIONS -- sh -c "WS='$WS' OUT='$OUT'; $1"
}
# It works outside, and inside it does not.
escapes() { # what, shell text
	status=0
	env WS="$WS" OUT="$OUT" sh -c "$2" >"$T_OUT" 2>&1 || status=$?
	expect "the control: $1" [ "$status" -eq 0 ]
	in_box "echo began; $2"
	expect_out_has began
	expect "refused: $1" [ "$status" -ne 0 ]
	! grep -q secret "$T_OUT"
	t_result $? "nothing secret came out: $1"
}

t_case 'what is granted works'
in_box 'echo new >"$WS/new" && cat "$WS/new" "$OUT/file" && test "$PWD" = "$WS"'
expect_status 0
expect_out_has outside
in_box 'exit 9'
expect_status 9

t_case '1: writing outside'
escapes 'a new file' 'echo x >"$OUT/made" && rm "$OUT/made"'
escapes 'a file that is there' 'echo outside >"$OUT/file"'
escapes 'a mode' 'chmod 600 "$OUT/file"'
escapes 'a link' 'ln -f "$OUT/file" "$OUT/l" && rm "$OUT/l"'

t_case '2: credentials'
escapes 'a usual one' 'cat "$HOME/.aws/credentials"'
escapes 'the custody' 'ls "$HOME/.clankie-keys/operator"'
escapes 'the broker' 'cat "$HOME/.config/clankie/credentials.json"'
escapes 'the unlock password' 'cat "$HOME/.config/clankie-keys/unlock.json"'
in_box 'cat "$OUT/key"'
expect_out secret
OPTIONS="$OPTIONS --exclude $OUT/key"
escapes 'an excluded file' 'cat "$OUT/key"'
escapes 'in a user namespace' 'unshare -Urm sh -c "cat $OUT/key"'
escapes 'with its mask taken off' \
    'unshare -Urm sh -c "umount $OUT/key 2>/dev/null; cat $OUT/key" && cat "$OUT/key"'
set_options

t_case '2: one that comes later'
in_box '(i=0; while [ $i -lt 60 ] && [ ! -e "$WS/go" ]; do sleep 0.05; i=$((i+1)); done
    cat "$HOME/.ssh/id" "$HOME/.kube/config"; echo looked)' &
box=$!
sleep 0.4
mkdir "$T_HOME/.ssh" "$T_HOME/.kube"
echo secret >"$T_HOME/.ssh/id"
echo secret >"$T_HOME/.kube/config"
: >"$WS/go"
wait "$box"
grep -q looked "$T_OUT"
t_result $? 'it looked'
! grep -q secret "$T_OUT"
t_result $? 'and did not see what came meanwhile'
rm -r "$T_HOME/.ssh" "$T_HOME/.kube" "$WS/go"

t_case '3: the network'
if t_find_tool perl; then
	perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0) || die;
	    bind(S, sockaddr_in(0, INADDR_LOOPBACK)) || die; listen(S, 9);
	    print +(sockaddr_in(getsockname(S)))[0], "\n"; close STDOUT;
	    sleep 60' >"$T_TMP/port" &
	server=$!
	# shellcheck disable=SC2086  # words
	trap 'kill $server 2>/dev/null; t_end' EXIT
	while [ ! -s "$T_TMP/port" ]; do sleep 0.02; done
	connect="perl -MSocket -e 'socket(S, AF_INET, SOCK_STREAM, 0) || exit 9;
	    connect(S, sockaddr_in($(cat "$T_TMP/port"), INADDR_LOOPBACK)) ||
	    exit 7'"
	escapes 'a connection' "$connect"
	OPTIONS="$OPTIONS --network host"
	in_box "$connect"
	expect_status 0
	set_options
else
	skip 'a connection' 'no perl here'
fi

t_case 'helpers outside'
if t_find_tool perl; then
	mkdir -p "$T_HOME/.config/herdr"
	bus=$T_HOME/bus herdr=$T_HOME/.config/herdr/herdr.sock
	for socket in "$bus" "$herdr"; do
		perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) || die;
		    bind(S, sockaddr_un($ARGV[0])) || die; listen(S, 9) || die;
		    open(F, ">", $ARGV[1]); close F; close STDOUT; sleep 60' \
		    "$socket" "$T_TMP/ready" &
		server="$server $!"
		while [ ! -e "$T_TMP/ready" ]; do sleep 0.02; done
		rm "$T_TMP/ready"
	done
	DBUS_SESSION_BUS_ADDRESS=unix:path=$bus
	export DBUS_SESSION_BUS_ADDRESS
	for socket in "$bus" "$herdr"; do
		for network in deny host; do
			OPTIONS="$OPTIONS --network $network"
			escapes "a socket of a helper, network $network" \
			    "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) ||
			    exit 9; connect(S, sockaddr_un(\$ARGV[0])) || exit 7' \
			    '$socket'"
			set_options
		done
	done
	unset DBUS_SESSION_BUS_ADDRESS
fi

t_case '4: privileges'
in_box 'grep -q "^NoNewPrivs:.1$" /proc/self/status && grep -q "^CapEff:.0*$" /proc/self/status'
expect_status 0
in_box 'cp /bin/sh "$WS/sh" && chmod u+s "$WS/sh" && "$WS/sh" -p -c "id -u"'
expect_out "$(id -u)"

t_case '5: processor time'
busy='while :; do :; done'
status=0
timeout 2 sh -c "$busy" || status=$?
expect 'the control: it goes on for two seconds' [ "$status" -eq 124 ]
OPTIONS="$OPTIONS --cpu-max 1"
in_box "$busy"
expect_status 152
set_options

t_case '6: processes'
forks='i=0; while [ $i -lt 12 ]; do sleep 1 & i=$((i+1)); done; wait'
in_box "$forks"
expect_status 0
OPTIONS="$OPTIONS --nproc-max 6"
in_box "$forks"
expect 'the limit stops it' [ "$status" -ne 0 ]
expect 'and was the cause' grep -qi -e fork -e 'resource' "$T_ERR"
set_options

t_case '8: the control plane'
cp -a "$WS/control" "$T_TMP/control"
for try in 'echo x >"$WS/control/rule"' 'echo x >"$WS/control/new"' \
    'rm "$WS/control/rule"' 'mv "$WS/control/rule" "$WS/r"' \
    'mv "$WS/control" "$WS/c"' 'ln "$WS/control/rule" "$WS/l"' \
    'chmod 0 "$WS/control"' 'rm -r "$WS/control"'; do
	in_box "$try"
	expect "refused: $try" [ "$status" -ne 0 ]
done
expect 'it is as it was' diff -r "$WS/control" "$T_TMP/control"
mkdir -p "$WS/a/b/control"
OPTIONS="--workspace $WS --protect $WS/a/b/control"
in_box 'mv "$WS/a" "$WS/x"'
expect 'nor is a directory on the way moved' [ "$status" -ne 0 ]
in_box 'mv "$WS/a/b" "$WS/x"'
expect 'nor the next' [ "$status" -ne 0 ]
in_box 'echo x >"$WS/a/b/file" && rm "$WS/a/b/file"'
expect_status 0
set_options

t_case 'the environment'
CLANKIE_OPERATOR_TOKEN=secret OTHER=here
export CLANKIE_OPERATOR_TOKEN OTHER
in_box 'env; cat /proc/1/environ | tr "\0" "\n"'
! grep -q -e secret -e OTHER "$T_OUT"
t_result $? 'nothing passes that was not named'
OPTIONS="$OPTIONS --env-allow OTHER"
in_box 'echo "$OTHER"'
expect_out here
run "$CK" boundary confine --workspace "$WS" --env-allow OTHER --check -- true
expect_status 0
expect_out_has 'OTHER="$OTHER"'
! grep -q here "$T_OUT"
t_result $? 'and --check does not show its value'
unset CLANKIE_OPERATOR_TOKEN OTHER
set_options

t_case 'what --check prints is what runs'
run "$CK" boundary confine --workspace "$WS" --check -- sh -c 'echo "$PWD" "it'\''s"'
line=$(cat "$T_OUT")
expect 'run by a shell it does the same' \
    [ "$(sh -c "$line")" = "$WS it's" ]

# Nothing is started.
refuses() { # status, text, options
	refused=$1 text=$2
	shift 2
	run "$CK" boundary confine "$@" -- echo started
	expect_status "$refused"
	expect_out_empty
	expect_err_has "$text"
}
t_case 'refused'
refuses 2 "needs a value" --workspace
refuses 2 'deny or host' --workspace "$WS" --network proxy
refuses 19 'the home is in it' --workspace "$T_HOME"
refuses 19 'the home is in it' --workspace /
refuses 19 'is no directory' --workspace "$OUT/file"
refuses 19 'is no directory' --workspace "$T_HOME/nothing"
ln -s "$WS" "$T_HOME/link"
refuses 19 'symbolic link' --workspace "$T_HOME/link"
refuses 19 'which is masked' --workspace "$KEYS"
refuses 19 'which is masked' --workspace "$WS" --writable "$CLANKIE"
refuses 19 'is not there' --workspace "$WS" --protect "$WS/nothing"
refuses 19 'no writable root' --workspace "$WS" --protect "$OUT"
ln -s control "$WS/link"
refuses 19 'symbolic link' --workspace "$WS" --protect "$WS/link"
refuses 20 'cannot be masked' --workspace "$WS" --exclude "$WS/.env.local"
run "$CK" boundary confine --workspace "$WS"
expect_status 2
