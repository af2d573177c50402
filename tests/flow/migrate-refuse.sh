#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What migrate refuses: each with its own status and sentence, at once, and
# with every store and the whole home as they were, lock files included.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

# Nothing here waits for anything.
T_LIMIT=2
[ "$T_SANITIZED" -eq 0 ] && [ -z "$CK_TRACED" ] || T_LIMIT=10

# refused STATUS TEXT COMMAND...: afterwards nothing has changed.
refused() {
	want=$1 text=$2
	shift 2
	snapshot -d "$T_HOME"
	run "$@"
	expect_status "$want"
	expect_out_empty
	expect_err_has "$text"
	expect_unchanged 'nothing changed'
	t_no_secret
}

# The same with the login keychain as broker.
refused_login() { # status, text, further arguments
	want=$1 text=$2
	shift 2
	snapshot -d "$T_HOME"
	migrate_login "$@"
	expect_status "$want"
	expect_out_empty
	expect_err_has "$text"
	expect_unchanged 'nothing changed'
	t_no_secret
}

login_with_bearer() {
	c_home
	c_login_new
	t_bearer_json "$BEARER"
	c_add bot.clankie.credentials clankie_operator "$BEARER"
}

t_password "$T_TMP/some.password"

t_case 'no broker at all'
c_home
refused 10 clankie_operator "$CK" migrate

t_case 'a broker without the bearer'
c_home
c_broker
t_write "$BROKER" <"$T_TMP/broker.rest"
refused 10 "$BROKER" "$CK" migrate
run "$CK" migrate --json
expect_status 10
expect_json code absent
expect_json exit 10
expect_json ok false

t_case 'a login keychain without the bearer'
c_home
c_login_new
refused_login 10 "$LOGIN"

t_case 'an installed Clankie'
for sign in Library/LaunchAgents/bot.clankie.autostart.plist \
    .local/state/clankie/one-service.json .clankie/events.jsonl \
    .clankie/herdr; do
	c_home
	c_broker
	(umask 077 && mkdir -p "$(dirname "$T_HOME/$sign")")
	echo x >"$T_HOME/$sign"
	refused 22 "$T_HOME/$sign" "$CK" migrate
	expect_err_has --service-honours-precedence
done
run "$CK" migrate --service-honours-precedence
expect_status 0
run "$CK" get
expect_out_is "$BEARER"
run "$CK" precedence explain service-startup
expect_out_has 'asks the records: yes'
run "$CK" migrate
expect_status 0

t_case 'two different copies, login keychain and file broker'
login_with_bearer
c_broker
refused_login 22 "$LOGIN"
expect_err_has "$BROKER"

t_case 'a copy in the other broker only'
c_home
c_login_new
c_broker
refused_login 22 "$BROKER"
expect_err_has "$LOGIN"

t_case 'another copy in a checkout'
c_home
c_broker
mkdir "$T_HOME/work"
t_bearer "$T_TMP/other"
{ printf 'A=b\nCLANKIE_OPERATOR_TOKEN=' && cat "$T_TMP/other" && echo; } |
    t_write "$T_HOME/work/.env.local"
refused 22 "$T_HOME/work/.env.local" "$CK" migrate \
    --checkout "$T_HOME/work"
expect_err_has "$BROKER"

t_case 'the same copy in a checkout'
{ printf 'TOKEN="' && sed 's/.*"key":"//;s/".*//' "$BEARER" | tr -d '\n' &&
    echo '"'; } | t_write "$T_HOME/work/.env.local"
refused 22 "$T_HOME/work/.env.local" "$CK" migrate \
    --checkout "$T_HOME/work"
expect_err_has "$BROKER"

t_case 'an override in the environment'
c_home
c_broker
refused 19 CLANKIE_OPERATOR_TOKEN env CLANKIE_OPERATOR_TOKEN=x "$CK" migrate
refused 19 CLANKIE_OPERATOR_TOKEN env CLANKIE_OPERATOR_TOKEN= "$CK" migrate
refused 19 CLANKIE_OPERATOR_TOKEN \
    env CLANKIE_OPERATOR_TOKEN= "$CK" migrate --dry-run

t_case 'a worker pane'
refused 19 'worker pane' env CLANKIE_WORKER_PANE=1 "$CK" migrate
refused 19 'worker pane' env CLANKIE_WORKER_PANE=0 "$CK" migrate

t_case "somebody else's home"
if [ "$(id -u)" -eq 0 ]; then
	c_home
	c_broker
	chown -R 65534 "$T_HOME"
	refused 19 'sudo' "$CK" migrate
	refute 'nothing of root is there' \
	    [ -n "$(find "$T_HOME" -user 0)" ]
else
	# What root itself is refused is in tests/root.
	snapshot -d "$T_HOME"
	run env HOME=/ "$CK" migrate
	expect_status 19
	expect_err_has 'belongs to'
	expect_unchanged 'nothing changed'
fi

t_case 'locked: no password'
login_with_bearer
refused 11 "$LOGIN" "$CK" migrate --broker "keychain:$LOGIN"
expect_err_has --login-password-fd

t_case 'locked: wrong password'
cp "$PW" "$T_TMP/right"
cp "$T_TMP/some.password" "$PW"
refused_login 11 "$LOGIN"
echo >"$PW"
refused_login 11 "$LOGIN"
t_case 'no password behind the descriptor'
: >"$PW"
refused_login 2 'descriptor 3'

t_case 'unreadable'
if [ "$(id -u)" -ne 0 ]; then
	login_with_bearer
	chmod 0000 "$LOGIN"
	snapshot -d "$LOGIN"
	migrate_login
	expect_status 12
	expect_err_has "$LOGIN"
	expect_unchanged 'the file is as it was'
	refute 'no custody appeared' [ -e "$KEYS" ]
	chmod 0600 "$LOGIN"
	chmod 0500 "$(dirname "$LOGIN")"
	refused_login 12 "$(dirname "$LOGIN")"
	chmod 0700 "$(dirname "$LOGIN")"
	c_home
	c_broker
	chmod 0000 "$BROKER"
	run "$CK" migrate
	expect_status 12
	expect_err_has "$BROKER"
	chmod 0600 "$BROKER"
	chmod 0500 "$CLANKIE"
	refused 12 "$CLANKIE" "$CK" migrate
	chmod 0700 "$CLANKIE"
	chmod 0500 "$T_HOME"
	refused 12 "$T_HOME" "$CK" migrate
	chmod 0700 "$T_HOME"
else
	skip 'exit status 12' 'root is refused nothing'
fi

# What is no keychain, under the login keychain's name.
odd() { # name; makes $LOGIN
	c_home
	echo >"$PW"
	(umask 077 && mkdir -p "$(dirname "$LOGIN")")
	t_case "login keychain: $1"
}
odd missing
refused_login 23 "$LOGIN"
odd 'no directory'
rmdir "$(dirname "$LOGIN")"
refused_login 23 "$LOGIN"
odd 'an SQLite file'
if t_find_tool sqlite3; then
	sqlite3 "$LOGIN" 'CREATE TABLE genp (x)'
	chmod 0600 "$LOGIN"
	refused_login 14 SQLite
else
	skip 'exit status 14' 'no sqlite3 here'
fi
odd 'a picture'
{ printf '\211PNG\r\n\032\n' && head -c 5000 /dev/urandom; } |
    t_write "$LOGIN"
refused_login 14 "$LOGIN"
odd 'a directory'
mkdir "$LOGIN"
refused_login 19 'is a directory'
odd 'a FIFO'
mkfifo "$LOGIN"
chmod 0600 "$LOGIN"
refused_login 19 'is a FIFO'
odd 'a symbolic link'
: >"$T_HOME/elsewhere"
ln -s "$T_HOME/elsewhere" "$LOGIN"
refused_login 19 'is a symbolic link'
odd 'a device'
LOGIN=/dev/zero
refused_login 19 '/dev/zero'
odd '19 bytes'
printf 'kych\0\001\0\0\0\0\0\020\0\0\0\024\0\0\0' | t_write "$LOGIN"
refused_login 13 "$LOGIN"
odd 'empty'
: | t_write "$LOGIN"
refused_login 13 "$LOGIN"
odd '4 GiB, sparse'
if printf 'kych\0\001\0\0\0\0\0\020\0\0\0\024\0\0\0\0' | t_write "$LOGIN" &&
    truncate -s 4G "$LOGIN" 2>/dev/null; then
	refused_login 14 "$LOGIN"
else
	skip 'exit status 14' 'no sparse file of 4 GiB here'
fi
if [ -n "$VECTORS" ]; then
	odd 'what a fuzzer made'
	t_vector corrupt-fuzzed.keychain "$LOGIN"
	refused_login 13 "$LOGIN"
	odd 'one key too few'
	c_login v100-passwords-identities-certs.keychain
	head -c 40000 "$LOGIN" | t_write "$T_TMP/short"
	t_write "$LOGIN" <"$T_TMP/short"
	refused_login 13 "$LOGIN" --service test_service \
	    --account test_account
else
	skip 'damaged keychains' 'no test vectors here'
fi

t_case 'a login keychain with two names'
login_with_bearer
ln "$LOGIN" "$T_HOME/second"
refused_login 19 'hard links'
rm "$T_HOME/second"
t_case 'a login keychain that others may write'
chmod 0620 "$LOGIN"
refused_login 19 'chmod go-w'

# The file broker, under the same conditions.
odd_broker() { # name
	c_home
	(umask 077 && mkdir -p "$CLANKIE")
	t_case "file broker: $1"
}
odd_broker 'a directory'
mkdir "$BROKER"
refused 19 'is a directory' "$CK" migrate
odd_broker 'a FIFO'
mkfifo -m 0600 "$BROKER"
refused 19 'is a FIFO' "$CK" migrate
odd_broker 'not JSON'
echo 'clankie_operator' | t_write "$BROKER"
refused 13 "$BROKER" "$CK" migrate
odd_broker 'empty'
: | t_write "$BROKER"
refused 13 "$BROKER" "$CK" migrate
odd_broker 'a list'
echo '["clankie_operator"]' | t_write "$BROKER"
refused 13 "$BROKER" "$CK" migrate
odd_broker 'cut off'
c_broker
head -c 300 "$BROKER" | t_write "$T_TMP/short"
t_write "$BROKER" <"$T_TMP/short"
refused 13 "$BROKER" "$CK" migrate
for value in '""' '{}' 'null' '{"type":"api","key":""}' \
    '{"type":"api","key":"clankie_op_short"}'; do
	odd_broker "the bearer is $value"
	printf '{"clankie_operator":%s}' "$value" | t_write "$BROKER"
	refused 13 "$BROKER" "$CK" migrate
done
odd_broker 'the bearer twice'
t_bearer_json "$BEARER"
{ printf '{"clankie_operator":' && cat "$BEARER" &&
    printf ',"clankie_operator":' && cat "$BEARER" && printf '}'; } |
    t_write "$BROKER"
refused 13 "$BROKER" "$CK" migrate
odd_broker 'readable by others'
c_broker
chmod 0644 "$BROKER"
refused 19 "$BROKER" "$CK" migrate
odd_broker 'two names'
c_broker
ln "$BROKER" "$T_HOME/second"
refused 19 'hard links' "$CK" migrate
odd_broker 'a symbolic link'
c_broker
mv "$BROKER" "$T_HOME/moved"
ln -s "$T_HOME/moved" "$BROKER"
refused 19 'is a symbolic link' "$CK" migrate
odd_broker 'directly in the home'
c_broker
mv "$BROKER" "$T_HOME/credentials.json"
refused 19 'directly in the home' \
    env CLANKIE_CREDENTIALS_FILE="$T_HOME/credentials.json" "$CK" migrate

t_case 'a place for the dedicated keychain that macOS treats in its own way'
c_home
c_broker
mkdir -p "$T_HOME/Library/Keychains" "$T_HOME/x"
for dir in Library/Keychains/mine Library/Keychains library/KEYCHAINS/mine \
    x/../Library/Keychains/mine; do
	refused 19 Library/Keychains "$CK" migrate --home "$T_HOME/$dir"
	refused 19 Library/Keychains \
	    env CLANKIE_KEYS_HOME="$T_HOME/$dir" "$CK" migrate
done
for dir in login.keychain-db LOGIN.KEYCHAIN x/Login.Keychain2/y \
    my-login.keychains; do
	refused 19 'login.keychain' "$CK" migrate --home "$T_HOME/$dir"
done
t_case 'a place that leads there'
ln -s "$T_HOME/Library/Keychains" "$T_HOME/link"
refused 19 Library/Keychains "$CK" migrate --home "$T_HOME/link/mine"

t_case 'the home itself as custody directory'
refused 19 "$T_HOME" "$CK" migrate --home "$T_HOME"
refused 19 'contains it' "$CK" migrate --home "$(dirname "$T_HOME")"
t_case 'a relative custody directory'
refused 19 absolute "$CK" migrate --home keys

t_case 'a symbolic link as custody directory'
mkdir -m 0700 "$T_HOME/real"
ln -s "$T_HOME/real" "$KEYS"
refused 19 'is a symbolic link' "$CK" migrate
rm "$KEYS"
ln -s "$T_HOME/missing" "$KEYS"
refused 19 'is a symbolic link' "$CK" migrate
rm "$KEYS"
t_case 'a file as custody directory'
: >"$KEYS"
refused 19 'not a directory' "$CK" migrate
rm "$KEYS"
t_case 'a custody directory that others may write or read'
mkdir "$KEYS"
for mode in 0770 0720 0702 0750 0701; do
	chmod $mode "$KEYS"
	refused 19 'chmod go=' "$CK" migrate
done
rmdir "$KEYS"
t_case 'a custody directory below one that others may write'
mkdir "$T_HOME/shared"
chmod 0777 "$T_HOME/shared"
refused 19 "$T_HOME/shared" "$CK" migrate --home "$T_HOME/shared/keys"
t_case 'a home that others may write'
chmod 0777 "$T_HOME"
refused 19 "$T_HOME" "$CK" migrate
chmod 0700 "$T_HOME"

t_case 'a custody that is no longer whole'
mkdir -p "$KEYS/operator"
chmod 0700 "$KEYS" "$KEYS/operator"
refused 13 "$KEYS/operator" "$CK" migrate
rmdir "$KEYS/operator" "$KEYS"
t_case 'an unlock password without its keychain'
c_home
c_broker
run "$CK" migrate
mv "$KEYS" "$T_TMP/moved.away.$$"
c_broker
snapshot -d "$T_HOME"
run "$CK" migrate
expect_status 22
expect_err_has "$DEDICATED"
expect_unchanged 'nothing changed'
t_case 'a custody at the default place, and another one named'
mv "$T_TMP/moved.away.$$" "$KEYS"
refused 19 "$KEYS" "$CK" migrate --home "$T_HOME/other"

t_case 'the dedicated keychain is on the search list'
c_home
c_broker
mkdir -p "$T_HOME/Library/Preferences"
plist=$T_HOME/Library/Preferences/com.apple.security.plist
# shellcheck disable=SC2088  # as macOS writes it
for entry in "$DEDICATED" "${DEDICATED%-db}" \
    '~/.clankie-keys/operator/operator.keychain'; do
	printf '<plist><dict><key>DLDBSearchList</key><array><dict>
<key>DbName</key>
<string>~/Library/Keychains/login.keychain</string></dict><dict>
<key>DbName</key>
<string>%s</string></dict></array></dict></plist>\n' "$entry" >"$plist"
	refused 19 'search list' "$CK" migrate
done
t_case 'a search list that cannot be read'
printf 'bplist00xyz' >"$plist"
refused 14 "$plist" "$CK" migrate
printf '<plist><dict><key>DbName</key><string>/a' >"$plist"
refused 13 "$plist" "$CK" migrate
rm "$plist"
run "$CK" migrate
expect_status 0

t_case 'a command line that makes no sense'
c_home
c_broker
for words in '--broker nonsense' '--broker keychain:' \
    '--broker file:' 'operator again' '--frobnicate' 'other' \
    '--service=' '--login-password-fd 9'; do
	# shellcheck disable=SC2086  # words
	refused 2 'migrate' "$CK" migrate $words
done
