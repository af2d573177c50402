#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doctor --uninstall: says where every bearer lies and what leads back, removes
# nothing that could be lost and nothing that is not ours.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"

mkdir "$T_TMP/bin"
ln -s "$CK" "$T_TMP/bin/clankie-keys"
PATH=$T_TMP/bin:$PATH

d_uninstall() {
	run "$CK" doctor --uninstall "$@"
}

blocked() { # what is named
	snapshot "$T_HOME"
	d_uninstall
	expect_status 22
	expect_out_has "$1"
	t_no_secret
	d_uninstall --confirm
	expect_status 22
	expect_out_has "$1"
	expect_err_has 'nothing was removed'
	t_no_secret
	expect_unchanged 'nothing was removed'
}

leaves() { # the names that stay below the home
	d_uninstall --confirm
	expect_status 0
	t_no_secret
	c_tree "$T_HOME" >"$T_TMP/tree.now"
	diff "$1" "$T_TMP/tree.now" >"$T_NOTE"
	t_result $? 'the home is as it was before'
	snapshot "$T_HOME"
	d_uninstall
	expect_status 0
	d_uninstall --confirm
	expect_status 0
	expect_unchanged 'a second one changes nothing'
}

t_case 'words'
c_home
for words in '--uninstall --rebuild' '--uninstall --rebuild --confirm' \
    '--uninstall=1'; do
	# shellcheck disable=SC2086  # words
	run "$CK" doctor $words
	expect_status 2
	expect_out_empty
done
t_case 'nothing there'
snapshot "$T_HOME"
d_uninstall
expect_status 0
expect_out_has 'nothing of ours'
d_uninstall --confirm
expect_status 0
expect_unchanged

t_case 'migrated'
c_home
c_broker
k_sandbox on
mkdir "$T_HOME/one"
c_tree "$T_HOME" >"$T_TMP/tree.before"
run "$CK" migrate --checkout "$T_HOME/one" --service-honours-precedence
expect_status 0
blocked "$DEDICATED holds the credential operator"
expect_out_has "$UNLOCK holds the unlock password"
expect_out_has 'clankie-keys restore operator'
expect_err_has 'clankie-keys restore operator'
expect_out_has 'service-startup asks the records'
expect_out_has 'turns on fleet.workerSandbox'
k_copy
t_case 'restored'
d_uninstall
sed -n '/^first run/,/^[^ ]/s/^  //p' "$T_OUT" | sort -u >"$T_TMP/run"
expect 'one command' test "$(wc -l <"$T_TMP/run")" -eq 1
sh -eu "$T_TMP/run" >/dev/null 2>&1
snapshot "$T_HOME"
d_uninstall
expect_status 22
expect_err_has 'doctor --uninstall --confirm'
expect_out_has "$BROKER (file-broker): bot.clankie.credentials / clankie_operator; every process of this user can read it"
expect_out_has 'copy custody.db first'
expect_out_has "$KEYS, if it is empty then"
refute 'nothing is in the way' grep -q 'in the way' "$T_OUT"
expect_unchanged 'looking changes nothing'
cp "$BROKER" "$T_TMP/broker.back"
rm -rf "$T_TMP/restored"
cp -a "$T_HOME" "$T_TMP/restored"
leaves "$T_TMP/tree.before"
expect_same "$T_TMP/broker.back" "$BROKER"
run "$CK" get
expect_status 0
expect_out_is "$BEARER"

again() { # next case, from after the restore
	t_case "$1"
	rm -rf "$T_HOME"
	cp -a "$T_TMP/restored" "$T_HOME"
}

again 'what is not ours'
echo mine >"$KEYS/notes"
echo old | t_write "$KEYS/custody.db.before-0123456789abcdef0123456789abcdef"
mkdir -p "$T_HOME/.config/clankie-keys/mine"
: | t_write "$KEYS/worker.sb.tmp-0123abcd"
: | t_write "$T_HOME/.config/clankie-keys/unlock.json.tmp-0123abcd"
mkdir -m 0700 "$KEYS/rebuild-0123456789abcdef0123456789abcdef"
echo '. clankie-keys' >"$T_HOME/.profile"
d_uninstall
expect_out_has "$T_HOME/.profile names clankie-keys"
d_uninstall --confirm
expect_status 0
expect_out_has "$KEYS/notes"
expect_out_has 'records from before a rebuild'
expect_out_has "$T_HOME/.config/clankie-keys/mine"
c_tree "$KEYS" >"$T_TMP/tree.now"
printf '.\n./custody.db.before-0123456789abcdef0123456789abcdef\n./notes\n' \
    >"$T_TMP/want"
expect_same "$T_TMP/want" "$T_TMP/tree.now"
expect 'the other directory stays' test -d "$T_HOME/.config/clankie-keys/mine"
refute 'what was left goes' \
    test -e "$T_HOME/.config/clankie-keys/unlock.json.tmp-0123abcd"
again 'a keychain that was put aside'
cp "$T_TMP/whole/.clankie-keys/operator/operator.keychain-db" "$KEYS/aside"
blocked "$KEYS/aside may hold a copy"
again 'a directory that an operation left'
mkdir -m 0700 "$KEYS/restored-0123456789abcdef0123456789abcdef"
blocked 'restored-0123456789abcdef0123456789abcdef may hold a copy'
again 'what a reset kept'
mkdir -m 0700 "$KEYS/lost-0123456789abcdef0123456789abcdef"
blocked 'lost-0123456789abcdef0123456789abcdef may hold a copy'
rmdir "$KEYS/lost-0123456789abcdef0123456789abcdef"
(umask 077 && mkdir -p "$T_HOME/.config/clankie-keys")
echo x | t_write "$T_HOME/.config/clankie-keys/unlock.lost-0123.json"
blocked 'an unlock password that a reset kept'
again 'an unlock password alone'
(umask 077 && mkdir -p "$T_HOME/.config/clankie-keys")
cp -p "$T_TMP/whole/.config/clankie-keys/unlock.json" "$UNLOCK"
blocked "$UNLOCK holds the unlock password"
rm -r "$KEYS"
blocked "$UNLOCK holds the unlock password"
again 'records that were damaged'
: >"$KEYS/custody.db"
d_uninstall
expect_out_has 'the records do not say more'
leaves "$T_TMP/tree.before"
again 'a second copy'
cp "$BEARER" "$T_HOME/one/.env.local"
d_uninstall
expect_out_has "$T_HOME/one/.env.local (dotenv)"
again 'a worker pane'
snapshot "$T_HOME"
run env CLANKIE_WORKER_PANE=1 "$CK" doctor --uninstall --confirm
expect_status 19
expect_out_empty
expect_unchanged
run env CLANKIE_OPERATOR_TOKEN= "$CK" doctor --uninstall
expect_out_has 'CLANKIE_OPERATOR_TOKEN in this environment'
t_case 'the custody is being changed'
if t_find_tool flock; then
	flock "$KEYS" "$CK" doctor --uninstall --confirm >"$T_OUT" \
	    2>"$T_ERR"
	status=$?
	expect_status 16
	expect_unchanged
else
	skip busy 'no flock here'
fi

k_back 'the keychain is gone'
rm -r "$KEYS/operator" "$UNLOCK"
blocked 'the records say that operator is in'
k_back 'the keychain is nonsense'
echo nonsense >"$DEDICATED"
rm "$UNLOCK"
blocked "$DEDICATED is there"
k_back 'the file of the keychain is gone'
rm "$DEDICATED" "$UNLOCK"
blocked "$DEDICATED is there"
k_back 'the records are gone'
rm "$KEYS/custody.db"
blocked 'holds the credential operator'
if t_find_tool strace && strace -o /dev/null true 2>/dev/null; then
	k_back 'an operation that was not finished'
	strace -f -qq -o /dev/null -e inject=renameat:signal=KILL:when=1 \
	    "$CK" rotate >/dev/null 2>&1
	blocked 'an earlier rotate was not finished (clankie-keys rotate operator)'
else
	skip 'not finished' 'no strace here'
fi
k_back 'the item is gone'
c_tamper delete --service bot.clankie.credentials --account clankie_operator
blocked 'which has no item of it'
k_back 'several credentials'
run "$CK" migrate last --service other.service --account last \
    --service-honours-precedence
expect_status 0
blocked 'holds the credential last'
expect_out_has 'clankie-keys restore last'
expect_out_has 'clankie-keys restore operator'
d_uninstall
sed -n '/^first run/,/^[^ ]/s/^  //p' "$T_OUT" | sort -u >"$T_TMP/run"
sh -eu "$T_TMP/run" >/dev/null 2>&1
d_uninstall --confirm
expect_status 0
expect_out_has 'other.service / last; every process'
expect_out_has 'bot.clankie.credentials / clankie_operator; every process'
refute 'nothing of ours is left' test -e "$KEYS"

k_back JSON
d_uninstall --json
expect_status 22
k_golden doctor-uninstall.json

t_case 'a keychain is the broker'
c_home
(umask 077 && mkdir "$T_HOME/.config")
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
c_tree "$T_HOME" >"$T_TMP/tree.before"
migrate_login --service-honours-precedence
expect_status 0
blocked "$LOGIN holds the unlock password"
expect_out_has \
    'clankie-keys restore operator --login-password-fd 3 3<PASSWORD-FILE'
run "$CK" restore --login-password-fd 3 3<"$PW"
expect_status 0
cp "$LOGIN" "$T_TMP/login.was"
d_uninstall
expect_out_has "$LOGIN (login-keychain): "
leaves "$T_TMP/tree.before"
expect_same "$T_TMP/login.was" "$LOGIN"
printf left >"$T_TMP/left"
c_add bot.clankie.custody operator-keychain-lost-0123 "$T_TMP/left"
run "$CK" doctor --uninstall --broker "keychain:$LOGIN"
expect_status 22
expect_out_has '(item bot.clankie.custody / operator-keychain-lost-0123)'

k_back 'what a reset kept'
rm -r "$KEYS/operator"
run "$CK" reset --confirm
expect_status 0
rm "$UNLOCK"
run "$CK" reset --confirm
expect_status 0
run "$CK" restore
expect_status 0
d_uninstall --confirm
expect_status 22
expect_err_has '(mv '
expect_err_has ' BACKUP-DIRECTORY)'
mkdir "$T_TMP/kept"
sed -n "/^first run/,/^[^ ]/s/^  //p" "$T_OUT" |
    sed "s|BACKUP-DIRECTORY|'$T_TMP/kept'|" >"$T_TMP/run"
expect 'both are named' test "$(wc -l <"$T_TMP/run")" -eq 2
sh -eu "$T_TMP/run"
d_uninstall --confirm
expect_status 0
refute 'nothing of ours is left' test -e "$KEYS"
expect 'and nothing kept is lost' test "$(find "$T_TMP/kept" -type f \
    ! -name '.fl*' | wc -l)" -eq 2

k_back 'somebody else put a file where a rebuild works'
run "$CK" restore
expect_status 0
mkdir -m 0700 "$KEYS/rebuild-0123456789abcdef0123456789abcdef"
: >"$KEYS/rebuild-0123456789abcdef0123456789abcdef/notes"
d_uninstall --confirm
expect_status 19
expect_err_has 'holds a file that no rebuild has put there'
expect_err_has 'move it away'
expect 'nothing was removed' test -e "$KEYS/custody.db"
rm "$KEYS/rebuild-0123456789abcdef0123456789abcdef/notes"
d_uninstall --confirm
expect_status 0
