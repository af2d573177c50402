#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is wrong with a custody is said by get, status and a second migrate, and
# no other store is asked in its place: a second bearer that lies in the broker
# is never given.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

T_LIMIT=2
[ "$T_SANITIZED" -eq 0 ] && [ -z "$CK_TRACED" ] || T_LIMIT=10

c_home
c_broker
cp "$BEARER" "$T_TMP/right"
run "$CK" migrate
expect_status 0
# A decoy where the bearer was.
t_bearer_json "$T_TMP/decoy"
c_broker_text "$T_TMP/decoy" | t_write "$BROKER"
cp -a "$T_HOME" "$T_TMP/whole"
"$T_TOOLS/ck-json" password <"$UNLOCK" | tr -d '\n' >"$T_TMP/unlock"
t_secret "$T_TMP/unlock"

back() { # name of the next case
	t_case "$1"
	chmod -R u+rwX "$T_HOME"
	rm -rf "$T_HOME"
	cp -a "$T_TMP/whole" "$T_HOME"
}

# get and migrate end with the status and the text, and repair nothing.
refused() { # status, text
	snapshot "$T_HOME"
	run "$CK" get
	expect_status "$1"
	expect_out_empty
	expect_err_has "$2"
	t_no_secret
	run "$CK" get --key --fd 5 5>"$T_TMP/got"
	expect_status "$1"
	expect 'nothing was delivered' test ! -s "$T_TMP/got"
	run "$CK" get --json --fd 5 5>"$T_TMP/got"
	expect_json exit "$1"
	run "$CK" migrate
	expect 'migrate is no success' test "$status" -ne 0
	expect 'and does not call it absent' test "$status" -ne 10
	expect_unchanged 'nothing changed'
	run "$CK" status
	expect 'status ends in time' test "$status" -ne 124
	t_no_secret
}

back 'as it should be'
run "$CK" get
expect_status 0
expect_out_is "$T_TMP/right"

back 'an override in the environment is not asked'
run env CLANKIE_OPERATOR_TOKEN=clankie_op_x "$CK" get
expect_status 0
expect_out_is "$T_TMP/right"
run env CLANKIE_OPERATOR_TOKEN= "$CK" status --json
expect_json environment_override true

back 'the dedicated keychain is gone'
rm "$DEDICATED"
refused 13 "$KEYS/operator"
back 'the directory of the dedicated keychain is gone'
rm -r "$KEYS/operator"
refused 23 "$DEDICATED"
back 'the custody directory is gone'
# Nothing tells of a custody any more, except the stored password.
rm -r "$KEYS"
run "$CK" migrate
expect_status 22
expect_err_has "$DEDICATED"
back 'the records are gone'
rm "$KEYS/custody.db"
refused 23 custody.db

back 'the unlock password is gone'
rm "$UNLOCK"
refused 23 "$UNLOCK"
back "the unlock password's directory is gone"
rm -r "$(dirname "$UNLOCK")"
refused 23 "$UNLOCK"
back 'another unlock password'
t_password "$T_TMP/other"
# Within the shell: in argv everybody would see them.
IFS= read -r text <"$UNLOCK"
old=$(cat "$T_TMP/unlock")
{ printf '%s' "${text%%"$old"*}" && cat "$T_TMP/other" &&
    printf '%s\n' "${text#*"$old"}"; } | t_write "$T_TMP/new"
t_write "$UNLOCK" <"$T_TMP/new"
refused 11 "$DEDICATED"
back 'the unlock password of another keychain'
sed "s|operator.keychain-db|another.keychain-db|" "$UNLOCK" |
    t_write "$T_TMP/new"
t_write "$UNLOCK" <"$T_TMP/new"
refused 19 "$UNLOCK"
for text in '' '{}' 'x' '[1]' '{"version":9}' \
    '{"version":1,"keychain":"/a","password":"short"}'; do
	back "unlock.json holds '$text'"
	printf '%s' "$text" | t_write "$UNLOCK"
	case $text in
	*9*) refused 14 "$UNLOCK" ;;
	*) refused 13 "$UNLOCK" ;;
	esac
done
back 'others may read the unlock password'
chmod 0644 "$UNLOCK"
refused 19 "$UNLOCK"
back 'others may enter its directory'
chmod 0755 "$(dirname "$UNLOCK")"
refused 19 "$(dirname "$UNLOCK")"

back 'the item is gone'
c_tamper delete --service bot.clankie.credentials \
    --account clankie_operator
refused 13 clankie_operator
back 'the item has another label'
c_tamper update --service bot.clankie.credentials \
    --account clankie_operator --label other --password-fd 3 \
    3<"$T_TMP/unlock"
refused 13 label
back 'the item holds no bearer'
printf '{"type":"api","key":"x"}' >"$T_TMP/none"
c_tamper update --service bot.clankie.credentials \
    --account clankie_operator --password-fd 3 --secret-fd 4 \
    3<"$T_TMP/unlock" 4<"$T_TMP/none"
refused 13 "$DEDICATED"
back 'the item is empty'
c_tamper update --service bot.clankie.credentials \
    --account clankie_operator --password-fd 3 --secret-fd 4 \
    3<"$T_TMP/unlock" 4</dev/null
refused 13 "$DEDICATED"
back 'the dedicated keychain is cut off'
head -c 9000 "$DEDICATED" | t_write "$T_TMP/new"
t_write "$DEDICATED" <"$T_TMP/new"
refused 13 "$DEDICATED"
back 'the dedicated keychain is empty'
: | t_write "$DEDICATED"
refused 13 "$DEDICATED"
back 'the dedicated keychain is something else'
head -c 20000 /dev/urandom | t_write "$DEDICATED"
refused 14 "$DEDICATED"
back 'the dedicated keychain is another one'
"$CK" keychain create "$T_TMP/another" --password-fd 3 3<"$T_TMP/other"
cat "$T_TMP/another" >"$DEDICATED"
rm "$T_TMP/another"
refused 11 "$DEDICATED"
back 'the dedicated keychain is a directory'
rm "$DEDICATED"
mkdir "$DEDICATED"
refused 19 'is a directory'
back 'the dedicated keychain is a FIFO'
rm "$DEDICATED"
mkfifo -m 0600 "$DEDICATED"
refused 19 'is a FIFO'
back 'the dedicated keychain is a symbolic link'
mv "$DEDICATED" "$T_HOME/elsewhere"
ln -s "$T_HOME/elsewhere" "$DEDICATED"
refused 19 'is a symbolic link'
back 'the dedicated keychain has two names'
ln "$DEDICATED" "$T_HOME/second"
refused 19 'hard links'
back 'others may read the dedicated keychain'
chmod 0640 "$DEDICATED"
refused 19 "$DEDICATED"
back 'others may enter the custody directory'
chmod 0755 "$KEYS"
refused 19 "$KEYS"
if [ "$(id -u)" -ne 0 ]; then
	back 'the dedicated keychain is denied'
	chmod 0000 "$DEDICATED"
	run "$CK" get
	expect_status 12
	expect_out_empty
	back 'its directory is denied'
	chmod 0000 "$KEYS/operator"
	run "$CK" get
	expect_status 12
	expect_out_empty
	back 'the records are denied'
	chmod 0000 "$KEYS/custody.db"
	run "$CK" get
	expect_status 12
	expect_out_empty
	back 'the unlock password is denied'
	chmod 0000 "$UNLOCK"
	run "$CK" get
	expect_status 12
	expect_out_empty
	expect_err_has "$UNLOCK"
else
	skip 'denied' 'root is refused nothing'
fi

back 'the records are empty'
: | t_write "$KEYS/custody.db"
refused 13 custody.db
back 'the records are zeros'
head -c 73728 /dev/zero | t_write "$KEYS/custody.db"
refused 13 custody.db
back 'the records are cut off'
head -c 20000 "$KEYS/custody.db" | t_write "$T_TMP/new"
t_write "$KEYS/custody.db" <"$T_TMP/new"
refused 13 custody.db
if t_find_tool sqlite3; then
	back 'the records are of another program'
	sqlite3 "$KEYS/custody.db" 'PRAGMA application_id = 1'
	refused 19 custody.db
	back 'the records are newer'
	sqlite3 "$KEYS/custody.db" 'PRAGMA user_version = 99'
	refused 14 custody.db
	back 'the records use WAL'
	sqlite3 "$KEYS/custody.db" 'PRAGMA journal_mode = WAL' >"$T_TMP/null"
	refused 19 WAL
fi
right_or_none() {
	[ ! -s "$T_OUT" ] || cmp -s "$T_OUT" "$T_TMP/right"
}

# Bytes here and there; whatever is then said, it is not the decoy.
for offset in 100 5000 20500 36900 50000 60000; do
	back "a byte of the records is changed at $offset"
	printf '\377' | dd of="$KEYS/custody.db" bs=1 seek="$offset" \
	    conv=notrunc 2>"$T_TMP/null"
	run "$CK" get
	expect 'ends in time' test "$status" -ne 124
	expect 'does not call it absent' test "$status" -ne 10
	expect 'the right bearer or none' right_or_none
done
for offset in 0 22 400 9000 16000 20000 21500 22500; do
	back "a byte of the keychain is changed at $offset"
	printf '\377' | dd of="$DEDICATED" bs=1 seek="$offset" conv=notrunc \
	    2>"$T_TMP/null"
	run "$CK" get
	expect 'ends in time' test "$status" -ne 124
	expect 'does not call it absent' test "$status" -ne 10
	expect 'the right bearer or none' right_or_none
done

t_case 'the unlock password is in a locked login keychain'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
migrate_login --quiet
expect_status 0
run "$CK" get
expect_status 11
expect_err_has "$LOGIN"
run "$CK" status
expect_status 0
run "$CK" keychain list "$LOGIN"
expect_status 0
expect_out_has operator-keychain
t_case 'the unlock password is gone from the login keychain'
"$CK" keychain delete "$LOGIN" --service bot.clankie.custody \
    --account operator-keychain
snapshot "$T_HOME"
get_login --raw
expect_status 23
expect_err_has operator-keychain
expect_unchanged 'nothing changed'
t_case 'the login keychain is gone'
rm "$LOGIN"
get_login --raw
expect_status 23
expect_err_has "$LOGIN"
# What cannot be looked into may hold it.
t_case 'another credential, while the keychain cannot be opened'
c_home
c_broker
run "$CK" get last --service bot.clankie.credentials --account last --raw
expect_status 0
"$CK" migrate >"$T_TMP/null" 2>&1
run "$CK" get last --service bot.clankie.credentials --account last --raw
expect_status 0
rm "$UNLOCK"
run "$CK" get last --service bot.clankie.credentials --account last --raw
expect_status 23
expect_err_has 'unlock password'
expect_out_empty
