#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check: each finding is provoked by itself, and nothing else is found then;
# looking changes nothing; the gate says one line, in time, and agrees.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"

t_case 'in order'
k_custody
snapshot "$T_HOME"
run "$CK" check
expect_status 0
expect_out_has 'no error'
expect_err_empty
k_expect ''
k_has_not dedicated-replaced
k_has principal-not-honouring
k_has remaining-secrets
expect_out_has provider1
refute 'its own entry is no other' grep -q clankie_operator "$T_OUT"
run "$CK" check --json
expect_status 0
expect_json ok true
run "$CK" check --startup
expect_status 0
expect_out_empty
k_one_line
run "$CK" check --startup --as service-startup
expect_status 0
expect_out_empty
k_one_line
expect_err_has 'no error, 0 warnings'
run "$CK" check --startup --as service-startup --quiet
expect_status 0
expect_err_empty
expect_unchanged
run "$CK" check --as nobody
expect_status 21
k_expect principal-unknown
run "$CK" check --startup --as nobody
expect_status 21
k_one_line
expect_err_has principal-unknown
run "$CK" check --as api-client-script
expect_status 0
expect_out_has 'does not ask the records'
run "$CK" check --as service-startup
k_has_not principal-not-honouring
k_copy

t_case 'another file in its place'
cp -p "$DEDICATED" "$T_TMP/copy"
mv "$T_TMP/copy" "$DEDICATED"
k_has_after 0 dedicated-replaced

t_case 'not migrated'
c_home
c_broker
k_sandbox on
k_finds 21 not-migrated
t_case 'nothing there'
c_home
k_sandbox on
k_finds 21 not-migrated

k_back 'the keychain is gone'
rm "$DEDICATED"
k_finds 21 dedicated-missing
k_back 'its directory is gone'
rm -r "$KEYS/operator"
k_finds 21 dedicated-missing
k_back 'the custody is gone'
rm -r "$KEYS"
k_finds 21 dedicated-missing
k_back 'the keychain is cut off'
head -c 9000 "$DEDICATED" >"$T_TMP/cut"
cat "$T_TMP/cut" >"$DEDICATED"
k_finds 21 dedicated-damaged
k_back 'the keychain is something else'
head -c 20000 /dev/urandom >"$T_TMP/cut"
cat "$T_TMP/cut" >"$DEDICATED"
k_finds 21 dedicated-damaged
k_back 'the keychain is empty'
: >"$DEDICATED"
k_finds 21 dedicated-damaged
if [ "$(id -u)" -ne 0 ]; then
	k_back 'the keychain is denied'
	chmod 0000 "$DEDICATED"
	k_has_after 21 dedicated-denied
	k_back 'its directory is denied'
	chmod 0000 "$KEYS/operator"
	k_has_after 21 dedicated-denied
	k_back 'the records are denied'
	chmod 0000 "$KEYS/custody.db"
	k_finds 21 records-unreadable
	k_back 'the unlock password is denied'
	chmod 0000 "$UNLOCK"
	k_finds 21 unlock-unreadable
	k_back 'the broker is denied'
	chmod 0000 "$BROKER"
	k_finds 21 not-judged
else
	skip denied 'root is refused nothing'
fi
k_back 'the item has another label'
c_tamper update --service bot.clankie.credentials \
    --account clankie_operator --label other --password-fd 3 \
    3<"$T_TMP/unlock"
k_finds 21 item-attributes-changed
k_back 'the item is gone'
c_tamper delete --service bot.clankie.credentials --account clankie_operator
k_finds 21 item-attributes-changed
k_back 'the seal key is gone'
c_tamper delete --service bot.clankie.custody --account seal-key
k_finds 21 item-attributes-changed
k_back 'the item holds no bearer'
printf '{"type":"api","key":"x"}' >"$T_TMP/none"
c_tamper update --service bot.clankie.credentials \
    --account clankie_operator --password-fd 3 --secret-fd 4 \
    3<"$T_TMP/unlock" 4<"$T_TMP/none"
k_finds 21 dedicated-damaged
k_back 'its settings were changed'
c_tamper update --lock-after 300 --lock-on-sleep no --password-fd 3 \
    3<"$T_TMP/unlock"
k_finds 0 settings-changed

k_back 'on the search list'
k_search_list "$DEDICATED"
k_finds 21 on-search-list
k_back 'another keychain on the search list'
k_search_list "$T_HOME/Library/Keychains/other.keychain-db"
k_finds 0 ''
k_back 'a search list that cannot be read'
mkdir -p "$T_HOME/Library/Preferences"
printf 'bplist00xx' >"$T_HOME/Library/Preferences/com.apple.security.plist"
k_finds 21 not-judged

k_back 'the unlock password is gone'
rm "$UNLOCK"
k_finds 21 unlock-missing
k_back 'another unlock password'
t_password "$T_TMP/other"
IFS= read -r text <"$UNLOCK"
old=$(cat "$T_TMP/unlock")
{ printf '%s' "${text%%"$old"*}" && cat "$T_TMP/other" &&
    printf '%s\n' "${text#*"$old"}"; } | t_write "$T_TMP/new"
cat "$T_TMP/new" >"$UNLOCK"
k_finds 21 unlock-wrong
for text in '' '{}' '{"version":9}'; do
	k_back "unlock.json holds '$text'"
	printf '%s' "$text" >"$UNLOCK"
	k_finds 21 unlock-unreadable
done
k_back 'the unlock password of another keychain'
sed 's|operator.keychain-db|another.keychain-db|' "$UNLOCK" |
    t_write "$T_TMP/new"
cat "$T_TMP/new" >"$UNLOCK"
k_finds 21 unlock-unreadable

k_back 'rules that were edited'
sed 1d "$KEYS/worker.sb" >"$T_TMP/new"
cat "$T_TMP/new" >"$KEYS/worker.sb"
k_finds 21 rules-differ
k_back 'rules that are gone'
rm "$KEYS/worker.sb"
k_finds 21 rules-missing
k_back 'a mount plan that was edited'
sed '/^mask /d' "$KEYS/worker.mounts" >"$T_TMP/new"
cat "$T_TMP/new" >"$KEYS/worker.mounts"
k_finds 21 rules-differ
k_back 'a mount plan that is gone'
rm "$KEYS/worker.mounts"
k_finds 21 rules-missing
k_back 'the sandbox is off'
k_sandbox off
k_finds 0 sandbox-off
k_back 'the sandbox is not set'
rm "$CLANKIE/settings.json"
k_finds 0 sandbox-off
k_back 'the settings are nonsense'
echo nonsense >"$CLANKIE/settings.json"
k_finds 0 sandbox-unknown
k_back 'settings that are a FIFO'
rm "$CLANKIE/settings.json"
mkfifo -m 0600 "$CLANKIE/settings.json"
k_finds 0 sandbox-unknown

# The service reads them, too.
t_case 'another credential of the same keychain'
c_home
c_broker
k_sandbox on
run "$CK" migrate --service-honours-precedence
run "$CK" migrate last --service other.service --account last
expect_status 0
"$T_TOOLS/ck-json" password <"$UNLOCK" | tr -d '\n' >"$T_TMP/second.unlock"
t_secret "$T_TMP/second.unlock"
printf '{"type":"api","key":"other"}' >"$T_TMP/other"
k_copy
k_finds 0 ''
k_back 'its value was replaced by who has the password'
c_tamper update --service other.service --account last --password-fd 3 \
    --secret-fd 4 3<"$T_TMP/second.unlock" 4<"$T_TMP/other" >"$T_TMP/null"
run "$CK" get last
expect_status 13
run "$CK" get
expect_status 0
k_finds 21 generation-behind
k_back 'its label was changed'
"$T_TOOLS/ck-tamper" label "$DEDICATED" other.service last else
run "$CK" get last
expect_status 13
k_finds 21 item-attributes-changed
k_back 'its item is gone'
c_tamper delete --service other.service --account last >"$T_TMP/null"
run "$CK" get last
expect_status 13
k_finds 21 item-attributes-changed

t_case 'whole script'
t_no_secret "$KEYS/custody.db"
