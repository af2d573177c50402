#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# traced: no
#
# boundary verify proves the boundary here, says FAIL where there is none or a
# wrong one, touches nothing of the owner's and leaves nothing behind.
# shellcheck disable=SC2016  # the worker expands its own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
TMPDIR=$T_TMP/trials
mkdir -m 0700 "$TMPDIR"
export TMPDIR
verdicts() { # verdict: how many
	grep -c "^$1 " "$T_OUT"
}
trials() {
	find "$TMPDIR" "$KEYS" -maxdepth 1 -name 'clankie-keys-verify*'
}
nothing_left() {
	expect 'nothing is left of the trial' [ -z "$(trials)" ]
}
no_bearer() {
	refute 'no bearer is in the output' grep -q clankie_op_ "$T_OUT" "$T_ERR"
}

t_case 'the whole proof'
c_home
c_broker
run "$CK" migrate
expect_status 0
run "$CK" status
expect_out_has 'proved       never: clankie-keys boundary verify'
snapshot "$T_HOME"
T_LIMIT=60 run "$CK" boundary verify
expect_status 0
expect_out_has 'PASS: 1'
t_why "$(grep -v '^PASS ' "$T_OUT")"
expect 'at least 100 attempts passed' [ "$(verdicts PASS)" -ge 100 ]
expect 'none got through' [ "$(verdicts FAIL)" -eq 0 ]
expect 'all could be judged' \
    [ "$(verdicts INDETERMINATE)$(verdicts UNTRUSTED)" = 00 ]
no_bearer
nothing_left
NOTE=$KEYS/boundary-verified.json
expect_mode 0600 "$NOTE"
expect 'the note is what was found' \
    [ "$("$T_TOOLS/ck-json" verdict <"$NOTE")" = PASS ]
mv "$NOTE" "$T_TMP/proof"
expect_unchanged 'the owner has what he had'
cp -p "$T_TMP/proof" "$NOTE"
run "$CK" status
expect_out_has 'proved       PASS on 20'
refute 'by what runs here now' grep -q 'which are others now' "$T_OUT"
run "$CK" status --json
expect_json proved.verdict PASS
run "$CK" check
refute 'the note is no stranger' grep -q foreign-file "$T_OUT"
t_case 'the note of another kernel'
sed 's/"kernel":"[^"]*"/"kernel":"Linux 1.0 pdp11"/' "$NOTE" >"$T_TMP/other"
cat "$T_TMP/other" >"$NOTE"
run "$CK" status
expect_out_has 'which are others now: clankie-keys boundary verify'
t_case 'a note that is none'
echo '{' >"$NOTE"
run "$CK" status
expect_status 0
expect_out_has 'proved       not known'
rm "$NOTE"

t_case 'without a boundary'
T_LIMIT=60 run "$CK" boundary verify --without-boundary
expect_status 21
expect_out_has 'FAIL: 0 passed, 1'
expect_err_has 'got through'
expect 'at least 100 attempts got through' [ "$(verdicts FAIL)" -ge 100 ]
expect 'none was refused' [ "$(verdicts PASS)" -eq 0 ]
refute 'that is no proof to be kept' test -e "$NOTE"
nothing_left

t_case 'one attempt'
run "$CK" boundary verify --only read-keychain --json
expect_status 0
expect_json verdict PASS
expect_json count.PASS 1
expect_out_has '"id":"read-keychain","text":"read the dedicated keychain","verdict":"PASS","control":"worked","inside":"refused","rotated":"refused","refused_by":"Permission denied"}'
for key in ok without_boundary at version kernel libcrypto entry_sha256 why; do
	expect_out_has "\"$key\":"
done
refute 'that is no proof to be kept' test -e "$NOTE"
run "$CK" boundary verify --only nothing
expect_status 2
for words in '' nonsense 'verify x' 'verify --only' 'attempt read-keychain' \
    "attempt read-keychain $T_HOME 1"; do
	# shellcheck disable=SC2086  # words
	run "$CK" boundary $words
	t_why "$words: $status"
	[ "$status" -eq 2 ] || [ "$status" -eq 19 ]
	t_result $? "$words is refused"
done
expect_unchanged 'the owner still has what he had'

# Copies of the program beside another entry.
t_case 'an entry that makes no boundary'
mkdir "$T_TMP/bin"
cp "$CK" "$T_TMP/bin/clankie-keys"
cat >"$T_TMP/bin/clankie-worker-entry" <<'S'
#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
exec 7>&-
exec "$@"
S
chmod 0755 "$T_TMP/bin/clankie-worker-entry"
run "$T_TMP/bin/clankie-keys" boundary verify --only read-keychain
expect_status 21
expect_out_has 'FAIL: 0 passed, 1 failed'
nothing_left
t_case 'an entry that says no to everything'
cat >"$T_TMP/bin/clankie-worker-entry" <<'S'
#!/bin/sh
exit 1
S
run "$T_TMP/bin/clankie-keys" boundary verify --only read-keychain
expect_status 20
expect_out_has 'UNTRUSTED     read-keychain'
nothing_left
t_case 'no entry at all'
rm "$T_TMP/bin/clankie-worker-entry"
run "$T_TMP/bin/clankie-keys" boundary verify
expect_status 20
expect_out_has 'UNTRUSTED     read-keychain'
expect 'nothing is said to have passed' [ "$(verdicts PASS)" -eq 0 ]
nothing_left

t_case 'stopped'
# A shell starts it with INT and QUIT ignored.
for signal in TERM HUP PIPE; do
	"$CK" boundary verify >"$T_OUT" 2>"$T_ERR" &
	pid=$!
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ -z "$(trials)" ] || break
		sleep 0.05
	done
	sleep 0.2
	kill -s "$signal" "$pid"
	status=0
	wait "$pid" || status=$?
	expect "$signal: it says so" [ "$status" -eq 20 ]
	nothing_left
	expect "$signal: nor a process" [ -z "$(find /proc/[0-9]*/cwd \
	    -maxdepth 0 -lname "$KEYS/*" 2>/dev/null)" ]
done
t_case 'a reader that goes away'
"$CK" boundary verify 2>"$T_ERR" | head -n 1 >"$T_OUT"
nothing_left

# A worker would make the attempts that run outside follow its links.
t_case 'no worker sees the trial'
echo '{"fleet":{"workerSandbox":true}}' | t_write "$CLANKIE/settings.json"
"$CK" worker exec -- sh -c 'while [ ! -e "$HOME/stop" ]; do
    find "$TMPDIR" "$HOME" -name "clankie-keys-verify*" 2>/dev/null
done >"$HOME/seen"' &
pid=$!
run "$CK" boundary verify --only read-keychain
expect_status 0
touch "$T_HOME/stop"
wait "$pid"
expect 'none of its names was seen' test ! -s "$T_HOME/seen"
t_case 'without a custody'
c_home
run "$CK" boundary verify --only read-keychain
expect_status 0
nothing_left
refute 'none was made' test -e "$KEYS"
t_case 'a place that is not ours'
mkdir "$T_TMP/open"
chmod 0777 "$T_TMP/open"
run env TMPDIR="$T_TMP/open" "$CK" boundary verify
expect_status 19
expect 'nothing was made there' [ -z "$(ls -A "$T_TMP/open")" ]
run env TMPDIR="$T_TMP/missing" "$CK" boundary verify
refute 'a missing one is refused' test "$status" -eq 0
