#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# traced: no
#
# A launch envelope, with real processes: what is granted works, everything
# else is refused to the service, its children and those it leaves behind.
# shellcheck disable=SC2016  # the texts are for the shell inside
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/envelope.sh"

v_need
v_home
c_broker
ln -s "$OUT" "$WS/before"
t_find_tool perl || skip_all 'no perl here'
# Sockets that somebody listens on outside.
mkdir "$T_TMP/sockets"
listen() { # address, as Perl has it
	perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) || die;
	    bind(S, pack("S a*", AF_UNIX, eval $ARGV[0])) || die;
	    listen(S, 9) || die; print "ready\n"; close STDOUT; sleep 120' "$1" \
	    >"$T_TMP/ready" 2>/dev/null &
	V_PIDS="${V_PIDS:-} $!"
	while [ ! -s "$T_TMP/ready" ]; do sleep 0.02; done
	: >"$T_TMP/ready"
}
trap 'kill $V_PIDS 2>/dev/null; t_end' EXIT
ABSTRACT="ck-envelope-$$"
listen "\"$T_TMP/sockets/path\""
listen "\"\\0$ABSTRACT\""
connects='perl -MSocket -e '\''socket(S, AF_UNIX, SOCK_STREAM, 0) || exit 9;
    connect(S, pack("S a*", AF_UNIX, eval $ARGV[0])) || exit 7; exit 0'\'' '
expect 'the control: the path socket answers outside' \
    sh -c "$connects '\"$T_TMP/sockets/path\"'"
expect 'the control: so does the abstract one' \
    sh -c "$connects '\"\\0$ABSTRACT\"'"

# shellcheck disable=SC2119  # no more arguments
v_prepare
expect_status 0
snapshot "$CONTROL" "$CLANKIE/settings.json" "$BROKER" "$OUT"

t_case 'what is granted works'
v_in 'cat "$WS/file" && echo new >"$WS/new" && cat "$WS/new" &&
    echo x >"$PRIVATE/s/x" && mv "$PRIVATE/s/x" "$WS/moved" && ls / >/dev/null &&
    cat /etc/passwd >/dev/null && ls "$RT/bin" && cd "$WS" && mkdir d && rmdir d'
expect_status 0
expect_out_has inside
expect_out_has new
v_in 'exit 7'
expect_status 7
v_in 'kill -9 $$'
expect_status 137

t_case 'what is outside is not'
denied() { # what, shell text that would print what it got
	v_in "echo began; $2"
	expect_out_has began
	expect_out_has_not outside
	expect_out_has_not got
}
expect_out_has_not() {
	! grep -q "$1" "$T_OUT"
	t_result $? "no \"$1\" on standard output"
}
denied 'a file' 'cat "$OUT/file"'
denied 'through a link from before' 'cat "$WS/before/file"'
denied 'through a link made inside' 'ln -s "$OUT" "$WS/in"; cat "$WS/in/file"'
rm -f "$WS/in"
denied 'a child' 'sh -c "cat $OUT/file"'
denied 'a grandchild' 'sh -c "sh -c \"cat $OUT/file\"; true"'
denied 'in a session of its own' 'setsid -w cat "$OUT/file"'
denied 'the broker' "cat '$BROKER'"
denied 'the settings' "cat '$CLANKIE/settings.json'"
denied 'by /proc' 'for p in /proc/[0-9]*; do cat "$p/root/$OUT/file" \
    "$p/cwd/../out/file"; done; cat /proc/1/fd/*/file'
denied 'by a mount' 'unshare -Urm sh -c "mount --bind / /; cat $OUT/file"'
denied 'by bubblewrap' 'bwrap --dev-bind / / cat "$OUT/file"'
denied 'a write outside' 'echo got >"$OUT/new"; cat "$OUT/new"'
denied 'a link into the workspace' 'ln "$OUT/file" "$WS/l" && cat "$WS/l"'
for try in 'ln "$RT/bin/node" "$WS/n"' 'echo x >"$RT/new"' \
    'chmod 0777 "$RT/bin/node"' 'mv "$RT/bin/node" "$WS/n"'; do
	v_in "$try"
	expect "the runtime stays as it is: $try" [ "$status" -ne 0 ]
done
expect 'nothing was made outside' [ ! -e "$OUT/new" ]
run "$CK" envelope launch -- node -c 'cat /proc/self/fd/9/file' 9<"$OUT"
expect_out_has_not outside
run "$CK" envelope launch -- node -c 'true' <"$OUT"
expect_status 20

t_case 'what outlives the service is refused the same'
v_in '(setsid sh -c "sleep 0.4; cat $OUT/file >$WS/late 2>&1
    cat $CONTROL/refusal-probe >>$WS/late 2>&1; echo end >>$WS/late" \
    >/dev/null 2>&1 &); exit 0'
expect_status 0
i=0
while [ $i -lt 100 ] && ! grep -q end "$WS/late" 2>/dev/null; do
	sleep 0.05
	i=$((i + 1))
done
expect 'it went on after the service' grep -q end "$WS/late"
expect 'and got nothing' [ "$(grep -c -e '^outside' -e boundary "$WS/late")" -eq 0 ]

t_case 'the control files'
for try in 'echo x >"$CONTROL/F"' 'mv "$CONTROL/F" "$WS/f"' \
    'mv "$WS/file" "$CONTROL/F"' 'rm -f "$CONTROL/F" && false' \
    'ln "$CONTROL/F" "$WS/f"' 'chmod 0777 "$CONTROL/F"' \
    'echo x >>"$CONTROL/F"' 'touch "$CONTROL/F"' 'chmod 0777 "$CONTROL"' \
    'mv "$CONTROL" "$CONTROL.old"' 'mkdir "$CONTROL/new"' 'rmdir "$CONTROL"'; do
	for file in envelope.json profile.sb refusal-probe; do
		v_in "$(echo "$try" | sed "s/F\"/$file\"/g")"
		expect "refused: $try $file" [ "$status" -ne 0 ]
	done
done
v_in 'cat "$CONTROL/envelope.json"'
expect_status 0
expect_out_has accessLevel
v_in 'cat "$CONTROL/refusal-probe" "$CONTROL/profile.sb"'
expect 'probe and profile cannot be read' [ ! -s "$T_OUT" ]
# The note of a launch is ours, and changes with each.
rm -f "$CONTROL/launch.json"
expect_unchanged 'control files, settings, broker and outside are as before'

t_case 'sockets'
v_in "$connects '\"$T_TMP/sockets/path\"'"
expect_status 7
v_in "$connects '\"\\0$ABSTRACT\"'"
expect_status 7
v_in 'perl -MSocket -e '\''socket(S, AF_UNIX, SOCK_STREAM, 0) || exit 9;
    bind(S, pack("S a*", AF_UNIX, "$ENV{XDG_RUNTIME_DIR}/s")) || exit 8;
    listen(S, 1) || exit 7; socket(C, AF_UNIX, SOCK_STREAM, 0) || exit 9;
    connect(C, pack("S a*", AF_UNIX, "$ENV{XDG_RUNTIME_DIR}/s")) || exit 6'\'
expect_status 0

t_case 'each start has sockets of its own'
v_in 'echo "$XDG_RUNTIME_DIR"; ls -A "$XDG_RUNTIME_DIR"'
first=$(cat "$T_OUT")
v_in 'echo "$XDG_RUNTIME_DIR"; ls -A "$XDG_RUNTIME_DIR"'
expect 'another directory, and an empty one' [ "$(cat "$T_OUT")" != "$first" ]
expect 'which holds nothing' [ "$(wc -l <"$T_OUT")" -eq 1 ]

t_case 'no bearer inside'
t_bearer "$T_TMP/token"
CLANKIE_OPERATOR_TOKEN=$(cat "$T_TMP/token")
CLANKIE_CAPTAIN_TOKEN=captain-$$
export CLANKIE_OPERATOR_TOKEN CLANKIE_CAPTAIN_TOKEN
v_in 'cat /proc/[0-9]*/environ | tr "\0" "\n"; env'
expect_out_has_not TOKEN
expect_out_has_not clankie_op_
V_PROVISION=CLANKIE_OPERATOR_TOKEN
v_in 'test -n "$CLANKIE_OPERATOR_TOKEN" && test -z "$CLANKIE_CAPTAIN_TOKEN"'
expect_status 0
run "$CK" envelope status --json
expect_out_has '"provisioned":["CLANKIE_OPERATOR_TOKEN"]'
unset CLANKIE_OPERATOR_TOKEN
"$T_TOOLS/ck-json" key <"$BEARER" | tr -d '\n' | sha256sum | cut -c1-64 \
    >"$T_TMP/sum"
v_in 'printf %s "$CLANKIE_OPERATOR_TOKEN" | sha256sum | cut -c1-64'
expect_same "$T_TMP/sum" "$T_OUT"
"$CK" migrate >"$T_TMP/null" 2>"$T_TMP/null"
v_in 'printf %s "$CLANKIE_OPERATOR_TOKEN" | sha256sum | cut -c1-64'
expect_same "$T_TMP/sum" "$T_OUT"
mv "$UNLOCK" "$UNLOCK.away"
v_in 'echo started'
expect_status 20
expect_out_empty
mv "$UNLOCK.away" "$UNLOCK"
V_PROVISION=
for verb in 'get --raw' 'authenticate <"$WS/file"' migrate; do
	v_in "clankie-keys $verb"
	expect_status 71
	expect_err_has 'cannot be reached from inside'
done
v_in true
run "$CK" envelope status --json
expect_out_has '"provisioned":[]'
unset CLANKIE_CAPTAIN_TOKEN

t_case 'proved from inside'
v_in 'clankie-keys envelope prove'
expect_status 0
expect_out os-sandbox
v_in 'clankie-keys envelope remove'
expect_status 71
v_in 'clankie-keys envelope launch -- node -c true'
expect_status 71

t_case 'a worker in there is blanked and not wrapped'
cp "$(dirname "$CK")/clankie-worker-entry" "$RT/bin"
v_in 'X=1 clankie-keys worker exec -- node -c "echo \$CLANKIE_WORKER_PANE; env |
    grep -c ^CLANKIE_OPERATOR_TOKEN=\$"'
expect_status 0
expect_out_has 1
rm "$RT/bin/clankie-worker-entry"

t_case 'the level is the record'\''s'
settings=$PRIVATE/config/clankie/settings.json
expect 'the private settings have it' grep -q '"local": "workers"' "$settings"
v_in "sed -i 's/\"workers\"/\"screen\"/; s/bundled/external/' '$settings'"
expect_status 0
v_in 'cat "$OUT/file"'
expect_out_has_not outside
run "$CK" envelope status --json
expect_out_has '"level":"workers"'

t_case 'after its removal nothing is bounded'
run "$CK" envelope remove
expect_status 0
run "$CK" envelope launch -- cat "$OUT/file"
expect_status 0
expect_out outside
