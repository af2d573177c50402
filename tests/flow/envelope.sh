#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# traced: no
#
# Preparing, showing and removing a launch envelope, and every reason not to:
# each has a sentence of its own and changes nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/envelope.sh"

v_need
v_home
c_broker
"$CK" migrate >"$T_TMP/null" 2>"$T_TMP/null"

# Nothing in the home is another than before.
refuses() { # status, text, arguments of prepare
	refused=$1 text=$2
	shift 2
	snapshot "$T_HOME"
	run "$CK" envelope prepare "$@"
	expect_status "$refused"
	expect_out_empty
	expect_err_has "$text"
	expect_unchanged 'nothing was changed'
}
usual() { # status, text, more arguments
	usual_status=$1 usual_text=$2
	shift 2
	refuses "$usual_status" "$usual_text" --level shell --runtime "$RT" "$@"
}

t_case 'none'
run "$CK" envelope status
expect_status 0
expect_out_has 'ordinary full access'
run "$CK" envelope status --json
expect_json state none
run "$CK" envelope remove
expect_status 10
run "$CK" envelope launch -- sh -c 'echo plain; exit 5'
expect_status 5
expect_out plain
run "$CK" envelope launch -- /nowhere/program
expect_status 127
run "$CK" envelope launch
expect_status 2
run "$CK" envelope prove
expect_status 20
expect_out service-preference
run "$CK" envelope
expect_status 2
run "$CK" envelope frobnicate
expect_status 2

t_case 'refused: words'
refuses 2 '--level, --runtime and --workspace' --runtime "$RT" --workspace "$WS"
refuses 20 'screen access lies outside' --level screen --runtime "$RT" \
    --workspace "$WS"
refuses 2 'is no level' --level root --runtime "$RT" --workspace "$WS"

t_case 'refused: workspaces'
usual 19 'is everything' --workspace /
usual 19 'it is the home' --workspace "$T_HOME"
usual 19 'contains the home' --workspace "${T_HOME%/*}"
usual 19 'is not there' --workspace "$T_HOME/nothing"
usual 19 'contains the broker' --workspace "$CLANKIE"
usual 19 'contains the custody' --workspace "$KEYS"
usual 19 'lies in the custody' --workspace "$KEYS/operator"
usual 19 'contains the unlock password' --workspace "$T_HOME/.config/clankie-keys"
usual 19 'is no directory' --workspace "$WS/file"
ln -s "$WS" "$T_HOME/link"
usual 19 'symbolic link' --workspace "$T_HOME/link"
rm "$T_HOME/link"
mkdir "$WS/sub"
usual 19 'overlaps' --workspace "$WS" --workspace "$WS/sub"
usual 19 'overlaps' --workspace "$RT"
usual 19 'overlaps' --workspace "$WS" --private-home "$WS/home"

t_case 'refused: the runtime'
refuses 19 'has no bin/node' --level shell --runtime "$OUT" --workspace "$WS"
refuses 19 'is not there' --level shell --runtime "$T_HOME/no" \
    --runtime-file "$RT/bin/node" --workspace "$WS"
ln "$RT/bin/node" "$T_HOME/second"
usual 19 'has 2 hard links' --workspace "$WS"
rm "$T_HOME/second"
usual 19 'lies in the workspace' --workspace "$WS" --runtime-file "$WS/file"

t_case 'refused: a private home'
long=$T_HOME/a-private-home-with-a-very-long-name-that-no-socket-below-it-fits
usual 19 'sockets' --workspace "$WS" --private-home "$long"
usual 19 'contains the custody' --workspace "$WS" --private-home "$KEYS"
mkdir "$T_HOME/elsewhere"
ln -s "$T_HOME/elsewhere" "$CLANKIE/local-sandbox-home"
usual 19 'symbolic link' --workspace "$WS"
rm "$CLANKIE/local-sandbox-home"

t_case 'refused: settings with secrets'
cp "$CLANKIE/settings.json" "$T_TMP/settings"
echo '{"voice":{"apiKey":"abc"}}' >"$CLANKIE/settings.json"
usual 19 'apiKey' --workspace "$WS"
t_bearer "$T_TMP/decoy"
{ printf '{"note":"' && cat "$T_TMP/decoy" && printf '"}'; } \
    >"$CLANKIE/settings.json"
usual 19 'looks like a secret' --workspace "$WS"
t_no_secret
echo 'nonsense' >"$CLANKIE/settings.json"
usual 13 'is no JSON object' --workspace "$WS"
cat "$T_TMP/settings" >"$CLANKIE/settings.json"

t_case 'prepared'
snapshot "$KEYS" "$BROKER" "$CLANKIE/settings.json" "$WS" "$RT" "$OUT"
v_prepare
expect_status 0
expect_out_has 'Still yours to do'
expect_unchanged 'originals, stores and workspaces are as they were'
expect 'closed to others' [ "$(stat -c %a "$CONTROL" "$CONTROL"/* | sort -u |
    tr '\n' ' ')" = '600 700 ' ]
settings=$PRIVATE/config/clankie/settings.json
expect 'the copy is bundled' grep -q '"runtime": "bundled"' "$settings"
expect 'and has the level' grep -q '"local": "workers"' "$settings"
run "$CK" envelope status
expect_status 0
expect_out_has 'envelope     prepared'
expect_out_has "workspace    $WS"
expect_out_has "owner's proof is open"
cp "$CONTROL/profile.sb" "$T_TMP/profile"

t_case 'several at once make one'
"$CK" envelope remove >"$T_TMP/null"
for i in 1 2 3 4 5 6; do
	{
		"$CK" envelope prepare --level workers --runtime "$RT" \
		    --workspace "$WS" >"$T_TMP/null" 2>&1
		echo $? >"$T_TMP/ended.$i"
	} &
done
wait
expect 'one is told that it did, the others that it is there' \
    [ "$(cat "$T_TMP"/ended.* | sort | uniq -c | tr -s ' \n' ' ')" = ' 1 0 5 19 ' ]
run "$CK" envelope status --json
expect_json state prepared
expect_json left_behind 0

t_case 'a second one is refused'
refuses 19 'prepared already' --level portal --runtime "$RT" --workspace "$WS"

# Nothing is started, and nothing is an unrestricted start.
no_launch() { # status, text
	run "$CK" envelope launch -- node -c 'echo started'
	expect_status "$1"
	expect_out_empty
	expect_err_has "$2"
	run "$CK" envelope status --json
	expect_json state refused
}
back() {
	rm -rf "$CONTROL"
	cp -a "$T_TMP/control" "$CONTROL"
}
cp -a "$CONTROL" "$T_TMP/control"

t_case 'a launch is refused'
run "$CK" envelope launch -- node -c 'echo started'
expect_status 0
expect_out started
run "$CK" envelope launch -- /bin/sh -c 'echo started'
expect_status 20
expect_out_empty
expect_err_has 'is not of the runtime'
run "$CK" envelope launch -- sh -c 'echo started'
expect_status 127
expect_out_empty
run "$CK" envelope launch -- "$OUT/file"
expect_status 20
run "$CK" envelope launch --provision HOME -- node -c true
expect_status 2
expect_err_has 'nothing that can be provisioned'
run "$CK" envelope launch --provision CLANKIE_CAPTAIN_TOKEN -- node -c true
expect_status 2
echo '; more' >>"$CONTROL/profile.sb"
no_launch 20 'not the one its record gives'
back
rm "$CONTROL/envelope.json"
no_launch 13 'was not finished'
back
rm "$CONTROL/refusal-probe"
no_launch 13 'was not finished'
back
chmod 0 "$CONTROL/refusal-probe"
no_launch 12 refusal-probe
chmod 600 "$CONTROL/refusal-probe"
back
ln "$CONTROL/refusal-probe" "$T_HOME/probe"
no_launch 19 'hard links'
rm "$T_HOME/probe"
sed 's/"workers"/"screen"/' "$T_TMP/control/envelope.json" >"$CONTROL/envelope.json"
no_launch 13 accessLevel
back
sed 's/"version": 1/"version": 1, "more": 1/' "$T_TMP/control/envelope.json" \
    >"$CONTROL/envelope.json"
no_launch 13 'not of it'
back
sed "s|$WS|$OUT|" "$T_TMP/control/envelope.json" >"$CONTROL/envelope.json"
no_launch 20 'not the one its record gives'
back
chmod 755 "$CONTROL"
no_launch 19 mode
chmod 700 "$CONTROL"
mv "$WS" "$WS.was"
no_launch 19 'is not there'
ln -s "$OUT" "$WS"
no_launch 19 'symbolic link'
rm "$WS"
mv "$WS.was" "$WS"
ln "$RT/bin/node" "$WS/node"
no_launch 19 'hard links'
rm "$WS/node"
mv "$CONTROL" "$CONTROL.real"
ln -s "$CONTROL.real" "$CONTROL"
no_launch 19 local-sandbox
rm "$CONTROL"
mv "$CONTROL.real" "$CONTROL"
run "$CK" envelope launch -- node -c 'echo started'
expect_out started

t_case 'swapped while it is launched'
entry=$(dirname "$CK")/clankie-envelope-entry
run "$entry" --control "$CONTROL" --same "$WS" 1 1 -- true
expect_status 20
expect_err_has 'was replaced'
run "$entry" --same "$WS" 1 1 -- true
expect_status 2
run "$entry" --control "$CONTROL" -- true
expect_status 2

t_case 'a forged boundary is none'
FAKE=$T_HOME/fake
cp -a "$T_TMP/control" "$FAKE"
chmod 0 "$FAKE/refusal-probe"
CLANKIE_LOCAL_SANDBOX=$FAKE
export CLANKIE_LOCAL_SANDBOX
run "$CK" envelope prove
expect_status 20
expect_out service-preference
run "$CK" envelope prove --json
expect_json enforcement service-preference
rm -rf "$FAKE"
run "$CK" envelope prove
expect_out service-preference
run "$CK" envelope launch -- sh -c 'echo started'
expect_status 20
expect_out_empty
expect_err_has 'is named by CLANKIE_LOCAL_SANDBOX'
unset CLANKIE_LOCAL_SANDBOX
run "$CK" envelope prove
expect_out service-preference
expect_err_has 'can be read'

t_case 'removed'
echo mine >"$CONTROL/mine"
run "$CK" envelope remove
expect_status 19
expect_err_has 'not of an envelope'
rm "$CONTROL/mine"
run "$CK" envelope remove
expect_status 0
expect 'it is gone' [ ! -e "$CONTROL" ]
expect 'the private home stays' [ -d "$PRIVATE/s" ]
run "$CK" envelope launch -- sh -c 'echo plain'
expect_out plain

t_case 'the same again gives the same'
v_prepare
expect_status 0
expect 'the profile is byte for byte the same' \
    cmp -s "$CONTROL/profile.sb" "$T_TMP/profile"
expect 'a half-written one is removed' sh -c \
    "rm '$CONTROL/envelope.json' && '$CK' envelope remove >'$T_TMP/null'"
v_prepare --network
expect_status 0
expect 'the network is in the record by being left out' \
    sh -c "! grep -q network '$CONTROL/envelope.json'"
v_in true
case $status in
0) ok 'it is granted on this kernel' ;;
*)
	expect_status 20
	expect_err_has 'abstract sockets'
	;;
esac
