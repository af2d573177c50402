#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records that were edited without the keychain start no worker, and no row
# takes the usual places out of the rules.
# traced: no
# shellcheck disable=SC2016,SC2119  # the commands expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
t_find_tool sqlite3 || skip_all 'no sqlite3 here'
w_custody
cp "$KEYS/custody.db" "$T_TMP/custody.db"
cp "$KEYS/worker.mounts" "$T_TMP/worker.mounts"

edit() { # SQL
	cat "$T_TMP/custody.db" >"$KEYS/custody.db"
	run sqlite3 "$KEYS/custody.db" "$1"
	expect_status 0
}

starts_nothing() { # status, text
	refused "$1" "$2" "$CK" worker exec -- touch "$T_TMP/started"
	refused "$1" "$2" "$CK" worker shell -- -c 'touch "$0"' "$T_TMP/started"
}

t_case control
run "$CK" worker exec -- touch "$T_TMP/started"
expect_status 0
expect 'the command was started' test -e "$T_TMP/started"

t_case 'protected rows'
for sql in "DELETE FROM protected WHERE why = 'checkout'" \
    'DELETE FROM protected' \
    "DELETE FROM protected WHERE path LIKE '%.clankie-keys'" \
    "UPDATE protected SET path = '$T_HOME/work/x' WHERE path LIKE '%/app/.env.local'" \
    "UPDATE protected SET deny = 'write'" \
    "INSERT INTO protected VALUES ('$T_HOME/work/y', 'file', 'write', 'y')"; do
	edit "$sql"
	starts_nothing 13 'does not fit its seal'
	# A plan that fits the edited rows is no help.
	run "$CK" rules --write
	expect_status 13
done
t_case 'settings and stores'
for sql in "INSERT OR REPLACE INTO setting VALUES ('worker.sandbox', 'off')" \
    "INSERT OR REPLACE INTO setting VALUES ('worker.sandbox.seen', '')" \
    "INSERT OR REPLACE INTO setting VALUES ('worker.entry', '/bin/true')" \
    "INSERT OR REPLACE INTO setting VALUES ('worker.shell', '/bin/true')" \
    "UPDATE store SET path = '$T_HOME/work/b' WHERE kind = 'file-broker'"; do
	edit "$sql"
	starts_nothing 13 'changed without the keychain'
done

t_case 'the usual places'
cat "$T_TMP/custody.db" >"$KEYS/custody.db"
run "$CK" rules --format mounts
cp "$T_OUT" "$T_TMP/plan"
for sql in "DELETE FROM protected WHERE why <> 'checkout'" \
    "UPDATE protected SET deny = 'write' WHERE why <> 'checkout'" \
    "UPDATE protected SET path = path || '.old' WHERE why = 'settings'"; do
	edit "$sql"
	run "$CK" rules --format mounts
	grep -v 'settings.json.old' "$T_OUT" >"$T_TMP/got"
	sed '/^end/d' "$T_TMP/plan" >"$T_TMP/want"
	sed -i '/^end/d' "$T_TMP/got"
	expect 'they are in the plan' cmp -s "$T_TMP/want" "$T_TMP/got"
done
cat "$T_TMP/custody.db" >"$KEYS/custody.db"
run env XDG_CONFIG_HOME="$T_TMP/elsewhere" CLANKIE_SETTINGS_FILE="$T_TMP/s" \
    "$CK" rules --format mounts
expect 'the environment makes no other plan' cmp -s "$T_TMP/plan" "$T_OUT"

t_case 'another keychain'
cp "$DEDICATED" "$T_TMP/keychain"
T_HOME_REAL=$T_HOME KEYS_REAL=$KEYS DEDICATED_REAL=$DEDICATED
c_home
c_broker
run "$CK" migrate
expect_status 0
cat "$DEDICATED" >"$DEDICATED_REAL"
T_HOME=$T_HOME_REAL KEYS=$KEYS_REAL DEDICATED=$DEDICATED_REAL
HOME=$T_HOME
starts_nothing 11 'unlock password'
printf 'not a keychain' >"$DEDICATED"
starts_nothing 13 "$DEDICATED"
rm "$DEDICATED"
starts_nothing 13 'missing'
cp "$T_TMP/keychain" "$DEDICATED"
chmod 0600 "$DEDICATED"
run "$CK" worker exec -- true
expect_status 0
t_case 'no unlock password'
mv "$T_HOME/.config/clankie-keys/unlock.json" "$T_TMP/unlock.json"
run "$CK" worker exec -- touch "$T_TMP/begun"
refute 'no worker without it' [ "$status" -eq 0 ]
refute 'nothing was started' test -e "$T_TMP/begun"

t_case 'a locked broker'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
mkdir -p "$CLANKIE"
echo '{"fleet":{"workerSandbox":true}}' >"$CLANKIE/settings.json"
migrate_login
expect_status 0
starts_nothing 11 'worker exec --login-password-fd'
run "$CK" worker exec --login-password-fd 3 -- sh -c 'cat "$HOME/.clankie-keys/custody.db"; echo x <&3' 3<"$PW"
refute 'the worker is confined' [ "$status" -eq 0 ]
expect_err_has 'Permission denied'
expect_err_has '3: Bad file descriptor'
run "$CK" worker exec --login-password-fd 3 -- true 3<"$PW"
expect_status 0
run sh -c 'echo wrong | "$1" worker exec --login-password-fd 0 -- touch "$2"' sh "$CK" "$T_TMP/begun"
expect_status 11
refute 'nothing was started' test -e "$T_TMP/begun"
t_no_secret
