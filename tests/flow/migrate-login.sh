#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# migrate out of a login keychain: the item is gone, everything else of that
# file is as it was, and the dedicated file is one that stands by itself.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

[ -n "$VECTORS" ] || skip_all 'no test vectors here'

tables() {
	"$T_TOOLS/ck-tables" "$1"
}

# Relations that hold items and their keys; all others must not change.
changing='^table (80000000|00000011) '

expect_only_item_left() { # file before, file after
	tables "$1" >"$T_TMP/before"
	tables "$2" >"$T_TMP/after"
	grep '^record' "$T_TMP/before" >"$T_TMP/before.rec"
	grep '^record' "$T_TMP/after" >"$T_TMP/after.rec"
	diff "$T_TMP/before.rec" "$T_TMP/after.rec" >"$T_TMP/diff"
	expect 'two records went: the item and its key' \
	    [ "$(grep -c '^< record' "$T_TMP/diff")" -eq 2 ]
	expect 'an item went' grep -q '^< record 80000000' "$T_TMP/diff"
	expect 'a key went' grep -q '^< record 00000011' "$T_TMP/diff"
	expect 'two records came: the unlock password and its key' \
	    [ "$(grep -c '^> record' "$T_TMP/diff")" -eq 2 ]
	grep '^table' "$T_TMP/before" | grep -vE "$changing" >"$T_TMP/t.before"
	grep '^table' "$T_TMP/after" | grep -vE "$changing" >"$T_TMP/t.after"
	expect 'there are tables that must not change' [ -s "$T_TMP/t.before" ]
	expect_same "$T_TMP/t.before" "$T_TMP/t.after"
}

# The unlock password as its store has it, into FILE.
stored_password() {
	"$CK" keychain find "$LOGIN" --service bot.clankie.custody \
	    --account operator-keychain --password-fd 3 --out-fd 4 \
	    3<"$PW" 4>"$1.item" >/dev/null
	# Behind it stands what it opens.
	head -c 64 "$1.item" >"$1"
}

expect_dedicated() { # service, account, file with the value
	stored_password "$T_TMP/unlock"
	t_secret "$T_TMP/unlock"
	expect 'the unlock password has 64 hex digits' \
	    grep -qxE '[0-9a-f]{64}' "$T_TMP/unlock"
	run "$CK" keychain verify "$DEDICATED" --password-fd 3 --json \
	    3<"$T_TMP/unlock"
	expect_status 0
	expect_json unlocked true
	expect_json keys_checked 2
	expect_json version 256
	expect_json idle_timeout 60
	expect_json lock_on_sleep true
	run "$CK" keychain find "$DEDICATED" --service "$1" --account "$2" \
	    --password-fd 3 --out-fd 1 3<"$T_TMP/unlock"
	expect_status 0
	expect_out_is "$3"
	run "$CK" keychain find "$DEDICATED" --service "$1" --account "$2" \
	    --password-fd 3 --out-fd 1 3<"$PW"
	expect_status 11
	expect_out_empty
	expect_mode 0600 "$DEDICATED"
	expect_mode 0700 "$KEYS/operator"
	expect_mode 0700 "$KEYS"
	# The lock file of keychain writers stays, as on macOS.
	expect 'below the custody directory lies what belongs there' \
	    [ "$(c_tree "$KEYS" | grep -v '/\.fl[0-9A-F]*$' |
	    tr '\n' ' ')" = ". ./custody.db \
./operator ./operator/operator.keychain-db ./worker.mounts ./worker.sb " ]
	expect 'nothing else was left' c_strays
}

expect_records() {
	if ! t_find_tool sqlite3; then
		skip 'records name it first' 'no sqlite3 here'
		return
	fi
	sqlite3 -readonly "$KEYS/custody.db" \
	    "SELECT principal, role FROM reader_order WHERE rank = 0
	     AND kind = 'dedicated' AND path = '$DEDICATED'
	     ORDER BY 1, 2" >"$T_TMP/first"
	sqlite3 -readonly "$KEYS/custody.db" \
	    "SELECT id, 'reader' FROM principal WHERE reader = 1 UNION ALL
	     SELECT id, 'writer' FROM principal WHERE writer = 1
	     ORDER BY 1, 2" >"$T_TMP/all"
	expect 'there are readers and writers' \
	    [ "$(wc -l <"$T_TMP/all")" -ge 10 ]
	expect_same "$T_TMP/all" "$T_TMP/first"
	expect 'no writer has a second store' [ -z "$(sqlite3 -readonly \
	    "$KEYS/custody.db" "SELECT 1 FROM reader_order WHERE role =
	    'writer' AND rank > 0")" ]
	expect 'no journal row is open' [ "$(sqlite3 -readonly \
	    "$KEYS/custody.db" 'SELECT count(*) FROM journal')" -eq 0 ]
}

t_case 'passwords, identities and certificates, version 0x100'
c_home
c_login v100-passwords-identities-certs.keychain
cp "$LOGIN" "$T_TMP/original"
printf test_password >"$T_TMP/value"
migrate_login --service test_service --account test_account --json
expect_status 0
expect_json ok true
expect_json outcome migrated
expect_json broker_kind login-keychain
expect_json broker "$LOGIN"
expect_json keychain "$DEDICATED"
expect_json rotate_advised true
expect_only_item_left "$T_TMP/original" "$LOGIN"
expect_mode 0600 "$LOGIN"
expect_dedicated test_service test_account "$T_TMP/value"
expect_records

get_login
expect_status 0
expect_out_is "$T_TMP/value"
run "$CK" keychain find "$LOGIN" --service test_service \
    --account test_account
expect_status 10
run "$CK" keychain verify "$LOGIN" --password-fd 3 --json 3<"$PW"
expect_status 0
expect_json unlocked true
run "$CK" keychain find "$LOGIN" --service test_service_restrictive_acl \
    --account test_account --password-fd 3 --out-fd 1 3<"$PW"
expect_out_is "$T_TMP/value"

t_case 'get without the password of the login keychain'
run "$CK" get
expect_status 11
expect_out_empty
expect_err_has --login-password-fd
t_no_secret

t_case 'get with a wrong password'
printf passwort >"$T_TMP/wrong"
run "$CK" get --login-password-fd 3 3<"$T_TMP/wrong"
expect_status 11
expect_out_empty

t_case 'the search list was not touched'
refute 'no preference file appeared' [ -e "$T_HOME/Library/Preferences" ]
run "$CK" status --json
expect_status 0
expect_json keychain.search_list absent
expect_json decided_by dedicated

t_case 'names that the records know otherwise'
snapshot -d "$T_HOME"
get_login --service test_service --account other
expect_status 19
expect_unchanged 'nothing changed'
get_login --broker "keychain:$LOGIN.other"
expect_status 19
expect_unchanged 'nothing changed'

t_case 'generic and internet passwords, version 0x200'
c_home
c_login v200-genp-inet-keys.keychain-db
cp "$LOGIN" "$T_TMP/original"
printf data >"$T_TMP/value"
migrate_login --service test_service --account test_account --json
expect_status 0
expect_json outcome migrated
expect_only_item_left "$T_TMP/original" "$LOGIN"
expect_dedicated test_service test_account "$T_TMP/value"
expect_records
get_login
expect_status 0
expect_out_is "$T_TMP/value"
# Verifying an unlocked 0x200 file recomputes the digests of its keys; the
# public key, the fifth, is not encrypted and has no MAC.
run "$CK" keychain verify "$LOGIN" --password-fd 3 --json 3<"$PW"
expect_status 0
expect_json version 512
expect_json keys_checked 4

t_case "the operator's bearer with the broker's index"
c_home
c_login_new
t_bearer_json "$BEARER"
printf '{"type":"api","key":"foreign"}' >"$T_TMP/foreign"
c_add bot.clankie.credentials clankie_operator "$BEARER"
c_add bot.clankie.credentials anthropic "$T_TMP/foreign"
printf '["anthropic","clankie_operator","zulu"]' >"$T_TMP/index"
c_add bot.clankie.credentials __index__ "$T_TMP/index"
migrate_login
expect_status 0
expect_out_has 'clankie-keys rotate'
t_no_secret
get_login
expect_status 0
expect_out_is "$BEARER"
expect_dedicated bot.clankie.credentials clankie_operator "$BEARER"
run "$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
    --account __index__ --password-fd 3 --out-fd 1 3<"$PW"
expect_status 0
printf '["anthropic","zulu"]' >"$T_TMP/index"
expect_out_is "$T_TMP/index"
run "$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
    --account anthropic --password-fd 3 --out-fd 1 3<"$PW"
expect_status 0
expect_out_is "$T_TMP/foreign"
run "$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
    --account clankie_operator
expect_status 10

t_case 'an index that is no index is left to its owner'
c_home
c_login_new
t_bearer_json "$BEARER"
printf 'not an index' >"$T_TMP/index"
c_add bot.clankie.credentials clankie_operator "$BEARER"
c_add bot.clankie.credentials __index__ "$T_TMP/index"
migrate_login
expect_status 0
run "$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
    --account __index__ --password-fd 3 --out-fd 1 3<"$PW"
expect_out_is "$T_TMP/index"

t_case 'a broker named from here and from home'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
run sh -c 'cd "$2" && exec "$1" migrate --dry-run --json \
    --broker keychain:user.keychain-db --login-password-fd 3 3<"$3"' \
    sh "$CK" "$(dirname "$LOGIN")" "$PW"
expect_status 0
expect_json broker "$LOGIN"
run "$CK" migrate --dry-run --json --login-password-fd 3 3<"$PW" \
    --broker "keychain:~/Library/Keychains/user.keychain-db"
expect_status 0
expect_json broker "$LOGIN"
run "$CK" migrate --dry-run --broker keychain:
expect_status 2
run "$CK" migrate --dry-run --broker user.keychain-db
expect_status 2

t_case 'the same bearer also in the file broker'
c_home
c_login_new
c_broker
c_add bot.clankie.credentials clankie_operator "$BEARER"
migrate_login --json
expect_status 0
expect_same "$BROKER" "$T_TMP/broker.rest"
get_login
expect_out_is "$BEARER"
expect 'nothing else was left' c_strays

t_case 'whole script'
t_no_secret "$T_HOME/.clankie-keys/custody.db" \
    "$T_HOME/.clankie-keys/worker.sb" "$T_HOME/.config"
