#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check --repair does what it says and nothing else; the JSON and the table of
# codes are pinned.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"

# Everything but the named files is as it was before the repair.
only_changed() {
	t_tree_now >"$T_TMP/tree.now"
	diff "$T_TMP/tree" "$T_TMP/tree.now" | sed -n 's/^[<>] .* //p' |
	    sort -u >"$T_TMP/changed"
	# shellcheck disable=SC2086  # words
	printf '%s\n' $1 | sed '/^$/d' | sort -u >"$T_TMP/want.changed"
	diff "$T_TMP/want.changed" "$T_TMP/changed" >"$T_NOTE"
	t_result $? "changed: ${1:-nothing}"
}
t_tree_now() {
	(cd "$T_HOME" && find . ! -type d -exec cksum {} + | sort -k3)
}
repair() { # status
	t_tree_now >"$T_TMP/tree"
	run "$CK" check --repair
	expect_status "$1"
	t_no_secret
}

k_custody
k_copy
t_case 'nothing to mend'
repair 0
only_changed ''
refute 'nothing is called mended' grep -q '^repaired' "$T_OUT"

k_back 'which file the keychain is'
run "$CK" check
k_has dedicated-replaced
repair 0
expect_out_has 'repaired dedicated-replaced'
k_has_not dedicated-replaced
only_changed ./.clankie-keys/custody.db
run "$CK" precedence verify
expect_status 0
run "$CK" get
expect_out_is "$BEARER"
repair 0
only_changed ''
k_copy_noted() {
	cat "$KEYS/custody.db" >"$T_TMP/noted.db"
}
k_copy_noted

# A copy's directories are others, which no finding says and a writer sets
# right.
run "$CK" rules --write
expect_status 0
for how in 'worker.sb edited' 'worker.sb gone' 'worker.mounts edited' \
    'worker.mounts gone'; do
	t_case "rules: $how"
	file=${how% *}
	cp -p "$KEYS/$file" "$T_TMP/rules"
	if [ "${how#* }" = edited ]; then
		echo '(allow default)' >>"$KEYS/$file"
	else
		rm "$KEYS/$file"
	fi
	repair 0
	expect_out_has 'repaired rules-'
	expect_out_has 'written from the records'
	k_expect ''
	only_changed "./.clankie-keys/$file"
	expect_same "$T_TMP/rules" "$KEYS/$file"
	expect_mode 0600 "$KEYS/$file"
done

t_case 'what was left'
for name in .clankie-keys/custody.db.new-0000000000004711 \
    .clankie-keys/worker.sb.tmp-0123abcd \
    .clankie-keys/worker.mounts.tmp-0123abcd \
    .clankie-keys/operator/operator.keychain-db.sb-0123abcd-012345 \
    .config/clankie-keys/unlock.json.tmp-0123abcd; do
	: | t_write "$T_HOME/$name"
done
# Whose names only look like it.
others="$KEYS/worker.sb.tmp-notes $KEYS/custody.db.new-2026-11-30
    $KEYS/custody.db.new-20261130 $KEYS/custody.db.tmp-2026 $UNLOCK.tmp-01-02
    $KEYS/worker.sb.tmp-ABCDEF01 $KEYS/worker.sb.tmp-0123abcd.bak"
for name in $others; do
	: | t_write "$name"
done
repair 0
expect_out_has 'repaired leftover-temporary'
k_expect foreign-file
only_changed './.clankie-keys/custody.db.new-0000000000004711
./.clankie-keys/worker.mounts.tmp-0123abcd
./.clankie-keys/worker.sb.tmp-0123abcd
./.clankie-keys/operator/operator.keychain-db.sb-0123abcd-012345
./.config/clankie-keys/unlock.json.tmp-0123abcd'
for name in $others; do
	expect "$(basename "$name") stays" test -e "$name"
	rm -f "$name"
done

t_case 'a keychain that lies aside'
nonce=0123456789abcdef0123456789abcdef
for prefix in scratch- restored-; do
	cp -a "$KEYS/operator" "$KEYS/$prefix$nonce"
	rm -f "$KEYS/$prefix$nonce"/.fl*
done
: | t_write "$KEYS/scratch-notes"
mkdir "$KEYS/lost-$nonce"
run "$CK" check
expect_status 0
k_expect 'foreign-file leftover-keychain'
repair 0
expect_out_has 'repaired leftover-keychain'
k_expect foreign-file
only_changed "./.clankie-keys/restored-$nonce/operator.keychain-db
./.clankie-keys/scratch-$nonce/operator.keychain-db"
refute 'the directories too are gone' test -e "$KEYS/scratch-$nonce"
rm "$KEYS/scratch-notes"
rmdir "$KEYS/lost-$nonce"
t_case 'it stays when the keychain cannot be read'
cp -a "$KEYS/operator" "$KEYS/scratch-$nonce"
mv "$UNLOCK" "$T_TMP/unlock.aside"
repair 21
k_has leftover-keychain
k_has repair-failed
only_changed ''
mv "$T_TMP/unlock.aside" "$UNLOCK"
rm -r "$KEYS/scratch-$nonce"

t_case 'settings that were changed'
c_tamper update --lock-after 300 --lock-on-sleep no --password-fd 3 \
    3<"$T_TMP/unlock"
repair 0
expect_out_has 'repaired settings-changed'
k_expect ''
k_has_not dedicated-replaced
only_changed './.clankie-keys/custody.db
./.clankie-keys/operator/operator.keychain-db'
run "$CK" status --json
expect_json keychain.idle_timeout 60
expect_json keychain.lock_on_sleep true
run "$CK" get
expect_out_is "$BEARER"
run "$CK" precedence verify
expect_status 0
expect 'nothing was left' c_strays

k_back 'what is not ours to mend stays'
chmod 0640 "$KEYS/custody.db"
c_broker_text "$BEARER" | t_write "$T_TMP/new"
cat "$T_TMP/new" >"$BROKER"
repair 21
k_has unsafe-mode
k_has second-bearer-file
only_changed ''
expect_mode 0640 "$KEYS/custody.db"

if t_find_tool sqlite3; then
	k_back 'nothing is made from edited records'
	sqlite3 "$KEYS/custody.db" "DELETE FROM protected WHERE why = 'settings'"
	rm "$KEYS/worker.sb"
	snapshot "$T_HOME"
	repair 21
	k_has seal-broken
	k_has rules-missing
	k_has repair-failed
	only_changed ''
	refute 'nothing is called mended' grep -q '^repaired' "$T_OUT"
	k_back 'old records are not sealed again'
	cp "$KEYS/custody.db" "$T_TMP/old.db"
	run "$CK" rotate
	cat "$T_TMP/old.db" >"$KEYS/custody.db"
	repair 21
	k_has generation-behind
	only_changed ''
else
	skip 'edited records' 'no sqlite3 here'
fi
k_back 'without the unlock password'
# What wants mending must not depend on which inodes the copy was given.
c_tamper update --lock-after 300 --password-fd 3 3<"$T_TMP/unlock"
rm "$UNLOCK"
repair 21
k_has unlock-missing
k_has repair-failed
only_changed ''

k_back 'a worker pane mends nothing'
rm "$KEYS/worker.sb"
t_tree_now >"$T_TMP/tree"
run env CLANKIE_WORKER_PANE=1 "$CK" check --repair
expect_status 19
only_changed ''
run env CLANKIE_WORKER_PANE=1 "$CK" check
expect_status 21
k_has rules-missing
t_case 'the custody is being changed'
if t_find_tool flock; then
	flock "$KEYS" "$CK" check --repair >"$T_OUT" 2>"$T_ERR"
	status=$?
	expect_status 16
	expect 'and who does is named' \
	    grep -q '(process [0-9]* (flock) holds the lock)' "$T_ERR"
	only_changed ''
else
	skip 'busy' 'no flock here'
fi
t_case 'words that do not go together'
for words in '--repair --startup' '--repair=yes' 'a b' '--as' '--nonsense'; do
	# shellcheck disable=SC2086  # words
	run "$CK" check $words
	expect_status 2
	expect_out_empty
done

t_case 'JSON'
# Without /proc's processes the list is the same everywhere.
c_home
c_broker
k_sandbox off
run "$CK" migrate --service-honours-precedence
rm "$KEYS/worker.sb"
chmod 0644 "$UNLOCK"
run "$CK" check --startup --json --as service-startup
expect_status 21
k_golden check-startup.json
chmod 0600 "$UNLOCK"
run "$CK" check --json --repair --as authenticator
expect_status 0
expect_json ok true
expect_json repaired.0.code rules-missing
expect_json repaired.0.place "$KEYS/worker.sb"
run "$CK" check --startup --json --as authenticator
expect_status 0
k_golden check-order.json

t_case 'the table of codes'
run "$CK" check --codes
expect_status 0
k_golden check-codes.txt
cp "$T_OUT" "$T_TMP/codes"
expect 'there are codes' test "$(wc -l <"$T_TMP/codes")" -gt 40
expect 'each is there once' \
    test -z "$(awk '{ print $1 }' "$T_TMP/codes" | sort | uniq -d)"
refute 'each has severity and next step' \
    grep -qvE '^[a-z][a-z-]* +(info|warning|error) +.' "$T_TMP/codes"
run "$CK" help
sed -n 's/^  \([a-z]*\) .*/\1/p' "$T_OUT" >"$T_TMP/verbs"
expect 'there are verbs' grep -qx migrate "$T_TMP/verbs"
grep -o 'clankie-keys [a-z]*' "$T_TMP/codes" | sort -u | cut -d' ' -f2 \
    >"$T_TMP/promised"
expect 'commands are promised' grep -qx check "$T_TMP/promised"
refute 'every one of them exists' grep -qvxF -f "$T_TMP/verbs" "$T_TMP/promised"
