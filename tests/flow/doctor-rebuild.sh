#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doctor --rebuild: asks before it writes, derives what the stores hold, keeps
# the old file, and refuses what it must not guess.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"

d_rebuild() {
	if [ "$K_PW" = /dev/null ]; then
		run "$CK" doctor --rebuild "$@"
	else
		run "$CK" doctor --rebuild --login-password-fd 3 "$@" 3<"$K_PW"
	fi
}

sql() {
	sqlite3 "$KEYS/custody.db" "$@" >/dev/null 2>"$T_TMP/sql"
	expect 'sqlite3 edits' test ! -s "$T_TMP/sql"
}

# As an attacker would: without the triggers and constraints that stop him.
without_rules() {
	triggers=$(sqlite3 "$KEYS/custody.db" "SELECT sql || ';'
	    FROM sqlite_schema WHERE type = 'trigger'")
	sql "PRAGMA foreign_keys = OFF" "PRAGMA ignore_check_constraints = ON" \
	    "PRAGMA writable_schema = ON" \
	    "DELETE FROM sqlite_schema WHERE type = 'trigger'" \
	    "PRAGMA writable_schema = RESET" "$1" "$triggers"
}

asks() { # text
	snapshot "$T_HOME"
	d_rebuild
	expect_status 22
	expect_out_has "$1"
	expect_out_has 'nothing was changed'
	expect_err_has 'doctor --rebuild --confirm'
	expect_unchanged 'asking changes nothing'
	t_no_secret
}

rebuilds() { # generation, guessed
	rm -f "$T_TMP/old"
	[ ! -e "$KEYS/custody.db" ] || cp "$KEYS/custody.db" "$T_TMP/old"
	d_rebuild --confirm --json
	expect_status 0
	expect_json outcome rebuilt
	expect_json credentials.0.generation "$1"
	expect_json credentials.0.generation_guessed "$2"
	t_no_secret
	if [ -e "$T_TMP/old" ]; then
		kept=$("$T_TOOLS/ck-json" kept <"$T_OUT")
		expect_same "$T_TMP/old" "$kept"
		expect_mode 0600 "$kept"
	else
		expect_json kept null
	fi
	k_check
	expect_status 0
	k_expect ''
	k_has_not dedicated-replaced
	expect 'nothing was left' test -z "$(find "$KEYS" -name 'rebuild-*' \
	    -o -name '*.new-*' -o -name custody.db-journal)"
	expect_mode 0600 "$KEYS/custody.db"
}

rotate() {
	"$CK" rotate >/dev/null
	"$CK" get >"$T_TMP/rotated"
	sed 's/.*clankie_op_//;s/".*//' "$T_TMP/rotated" | tr -d '\n' |
	    t_write "$T_TMP/random"
	t_secret "$T_TMP/random"
}

gives() { # file
	run "$CK" get
	expect_out_is "$1"
}

refuses() { # status, text
	snapshot "$T_HOME"
	d_rebuild
	expect_status "$1"
	expect_err_has "$2"
	expect_out_empty
	d_rebuild --confirm
	expect_status "$1"
	expect_err_has "$2"
	expect_out_empty
	expect_unchanged
}

k_custody
cp -p "$KEYS/custody.db" "$T_TMP/first.db"
k_copy

t_case 'words'
for words in --confirm '--rebuild x y' '--rebuild=yes' '--rebuild --as x'; do
	# shellcheck disable=SC2086  # words
	run "$CK" doctor $words
	expect_status 2
	expect_out_empty
done
k_back 'records that hold'
refuses 19 'nothing to rebuild'

k_back 'the records are gone'
rm "$KEYS/custody.db"
asks 'there are no old records'
rebuilds 1 true
gives "$BEARER"
run "$CK" precedence explain service-startup
expect_out_has 'unknown'
refuses 19 'nothing to rebuild'
run "$CK" rotate
expect_status 0
for how in empty 'cut off' 'something else'; do
	k_back "the records are $how"
	case $how in
	empty) : >"$KEYS/custody.db" ;;
	cut*) head -c 20000 "$T_TMP/first.db" >"$KEYS/custody.db" ;;
	*) head -c 30000 /dev/urandom >"$KEYS/custody.db" ;;
	esac
	rebuilds 1 true
	gives "$BEARER"
done
k_back 'a journal that belongs to the old file'
head -c 30000 /dev/urandom >"$KEYS/custody.db"
head -c 9000 /dev/urandom | t_write "$KEYS/custody.db-journal"
cp "$KEYS/custody.db-journal" "$T_TMP/old.journal"
rebuilds 1 true
gives "$BEARER"
expect_same "$T_TMP/old.journal" "$kept-journal"

t_find_tool sqlite3 || {
	skip 'edited records' 'no sqlite3 here'
	exit 0
}
k_back 'an edited row'
rotate
sql "INSERT INTO protected VALUES ('/opt/mine', 'directory', 'write', 'mine')" \
    "UPDATE protected SET deny = 'write', kind = 'file' WHERE path = '$KEYS'" \
    "DELETE FROM protected WHERE why = 'settings'"
asks 'does not fit its seal'
expect_out_has '/opt/mine (mine; from the old records)'
expect_out_has "do not keep workers from $CLANKIE/settings.json"
expect_out_has 'that 8 principals ask the records'
rebuilds 2 false
gives "$T_TMP/rotated"
expect_json_row() { # path, kind, deny
	expect "protected: $1" test "$(sqlite3 "$KEYS/custody.db" \
	    "SELECT kind || ' ' || deny FROM protected WHERE path = '$1'")" \
	    = "$2"
}
expect_json_row /opt/mine 'directory write'
expect_json_row "$KEYS" 'directory read+write'
expect_json_row "$T_HOME/one/.env.local" 'file read+write'
expect 'an event tells of it' test "$(sqlite3 "$KEYS/custody.db" \
    'SELECT what FROM event')" = rebuilt
k_back 'records of an earlier day'
rotate
cat "$T_TMP/first.db" >"$KEYS/custody.db"
asks 'tell of another value'
rebuilds 2 true
gives "$T_TMP/rotated"
k_back 'a precedence without its rules'
without_rules "UPDATE OR REPLACE precedence SET store = (SELECT id FROM store
    WHERE kind = 'file-broker') WHERE principal = 'authenticator' AND rank = 0"
asks '1 reader or writer asked another store first'
rebuilds 1 false
gives "$BEARER"
k_back 'an event that was edited'
without_rules "UPDATE event SET detail = 'x' WHERE seq = 1"
rebuilds 1 false
k_back 'a generation that nobody reached'
sql 'UPDATE credential SET generation = 9223372036854775807'
rebuilds 1 true
run "$CK" rotate
expect_status 0
k_back 'a forged operation'
sql "INSERT INTO journal (operation, nonce, credential, step,
    from_generation, to_generation, at) VALUES ('rotate',
    '00000000000000000000000000000000', 'operator', 1, 0, 1,
    strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))"
asks 'that a rotate of operator was not finished, if that is true'
rebuilds 1 false
k_back 'a credential that is not in the keychain'
sql "INSERT INTO credential VALUES ('other', 's', 'a', 'opaque', 'broker',
    7, '')" "INSERT INTO credential VALUES ('gone', 's', 'b', 'opaque',
    'migrating', 1, '')"
asks 'the credential gone: the old records say migrating'
rebuilds 1 false
expect 'the one of the broker is as it was' test "$(sqlite3 \
    "$KEYS/custody.db" "SELECT name, state, generation FROM credential
    WHERE name <> 'operator'")" = 'other|broker|7'
k_back 'a broker that somebody else chose'
without_rules "UPDATE store SET path = '/tmp/attacker.json' WHERE
    kind = 'file-broker'"
asks '/tmp/attacker.json (file-broker)'
expect_out_has 'broker (old records)'
run "$CK" doctor --rebuild --broker "file:$BROKER" --confirm --json
expect_status 0
expect_json credentials.0.broker "$BROKER"
expect_json credentials.0.broker_from 'command line'
k_check
expect_status 0
k_back 'paths from which no rules can be made'
sql "INSERT INTO protected VALUES ('/', 'directory', 'read+write', 'all')"
asks 'no rules can be made from them'
rebuilds 1 false
refute 'it is not among them' grep -q '"path":"/"' "$T_OUT"
k_back 'more paths than there is room for'
sql "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
    WHERE i < 200) INSERT INTO protected SELECT '/opt/' || i, 'file', 'write',
    'x' FROM n"
asks 'protected paths, which are more than the rules can hold'
d_rebuild --confirm
expect_status 0
run "$CK" precedence verify
expect_status 0

k_back 'a second name that a killed run left'
sql "UPDATE protected SET why = 'x' WHERE why = 'settings'"
ln "$KEYS/custody.db" \
    "$KEYS/custody.db.before-0123456789abcdef0123456789abcdef"
mkdir -m 0700 "$KEYS/rebuild-0123456789abcdef0123456789abcdef"
: | t_write "$KEYS/rebuild-0123456789abcdef0123456789abcdef/custody.db"
d_rebuild --confirm
expect_status 0
refute 'it is gone' \
    test -e "$KEYS/custody.db.before-0123456789abcdef0123456789abcdef"
refute 'the directory too' \
    test -e "$KEYS/rebuild-0123456789abcdef0123456789abcdef"
k_check
k_expect ''
gives "$BEARER"
k_back 'a file of that name that is another one'
sql "UPDATE protected SET why = 'x' WHERE why = 'settings'"
echo mine | t_write "$KEYS/custody.db.before-0123456789abcdef0123456789abcdef"
d_rebuild --confirm
expect_status 0
expect 'it is kept' grep -qx mine \
    "$KEYS/custody.db.before-0123456789abcdef0123456789abcdef"

# What must not be guessed, or cannot be.
spoil() {
	sql "UPDATE protected SET why = 'x' WHERE why = 'settings'"
}
k_back 'the keychain is gone'
spoil
rm -r "$KEYS/operator"
refuses 23 'can only be derived from it'
k_back 'the unlock password is gone'
spoil
rm "$UNLOCK"
refuses 23 'the unlock password is missing'
k_back 'another unlock password'
spoil
t_password "$T_TMP/other"
IFS= read -r text <"$UNLOCK"
old=$(cat "$T_TMP/unlock")
{ printf '%s' "${text%%"$old"*}" && cat "$T_TMP/other" &&
    printf '%s\n' "${text#*"$old"}"; } | t_write "$T_TMP/new"
cat "$T_TMP/new" >"$UNLOCK"
refuses 11 'do not belong together'
k_back 'the keychain is damaged'
spoil
head -c 9000 "$DEDICATED" >"$T_TMP/cut"
cat "$T_TMP/cut" >"$DEDICATED"
refuses 13 "$DEDICATED"
k_back 'the item is gone'
spoil
c_tamper delete --service bot.clankie.credentials --account clankie_operator
refuses 13 'no item of a credential'
k_back 'the seal key is gone'
spoil
c_tamper delete --service bot.clankie.custody --account seal-key
refuses 13 'seal-key'
k_back 'the item holds no bearer'
spoil
printf '{"type":"api","key":"x"}' >"$T_TMP/none"
c_tamper update --service bot.clankie.credentials \
    --account clankie_operator --password-fd 3 --secret-fd 4 \
    3<"$T_TMP/unlock" 4<"$T_TMP/none"
refuses 13 'not a credential of its kind'
k_back 'a newer program wrote the records'
sqlite3 "$KEYS/custody.db" 'PRAGMA user_version = 99'
refuses 14 'newer clankie-keys'
k_back 'records that are open to others'
spoil
chmod 0640 "$KEYS/custody.db"
refuses 19 "$KEYS/custody.db"
k_back 'records with a second name'
spoil
ln "$KEYS/custody.db" "$T_HOME/second"
refuses 19 "$KEYS/custody.db"
k_back 'a worker pane'
spoil
CLANKIE_WORKER_PANE=1
export CLANKIE_WORKER_PANE
refuses 19 'worker pane'
unset CLANKIE_WORKER_PANE
t_case 'an override'
CLANKIE_OPERATOR_TOKEN=''
export CLANKIE_OPERATOR_TOKEN
refuses 19 CLANKIE_OPERATOR_TOKEN
unset CLANKIE_OPERATOR_TOKEN
t_case 'the custody is being changed'
if t_find_tool flock; then
	flock "$KEYS" "$CK" doctor --rebuild --confirm >"$T_OUT" 2>"$T_ERR"
	status=$?
	expect_status 16
	expect_unchanged
else
	skip busy 'no flock here'
fi
t_case 'nothing there'
c_home
refuses 23 'no custody'
if t_find_tool strace && strace -o /dev/null true 2>/dev/null; then
	k_back 'an operation that was not finished'
	strace -f -qq -o /dev/null -e inject=renameat:signal=KILL:when=1 \
	    "$CK" rotate >/dev/null 2>&1
	d_rebuild --confirm
	expect_status 16
	expect_err_has 'clankie-keys rotate operator'
	run "$CK" rotate
	expect_status 0
else
	skip 'not finished' 'no strace here'
fi

k_back 'another label in the clear'
spoil
c_tamper update --service bot.clankie.credentials \
    --account clankie_operator --label 'clankie-keys: other' \
    --password-fd 3 3<"$T_TMP/unlock"
d_rebuild --json
expect_json credentials.0.name other
k_back 'a value in the clear'
spoil
printf '{"type":"api","key":"x"}' | "$T_TOOLS/ck-forge" plain "$DEDICATED" \
    bot.clankie.credentials clankie_operator
refuses 13 "$DEDICATED"

t_case 'several credentials'
c_home
k_sandbox on
c_broker
run "$CK" migrate --service-honours-precedence
run "$CK" migrate last --service other.service --account last \
    --service-honours-precedence
expect_status 0
"$CK" get last >"$T_TMP/last"
sql "UPDATE protected SET why = 'x' WHERE why = 'settings'" \
    "UPDATE credential SET generation = 3 WHERE name = 'last'"
run "$CK" doctor --rebuild --confirm --json
expect_status 0
expect_json credentials.0.name operator
expect_json credentials.0.generation 1
expect_json credentials.1.name last
expect_json credentials.1.generation 3
expect_json credentials.1.format opaque
gives "$BEARER"
run "$CK" get last
expect_out_is "$T_TMP/last"
run "$CK" precedence verify
expect_status 0
rm "$KEYS/custody.db"
run "$CK" doctor --rebuild --confirm
expect_status 0
run "$CK" get last
expect_out_is "$T_TMP/last"
run "$CK" restore last
expect_status 0
gives "$BEARER"

t_case 'JSON'
c_home
c_broker
run "$CK" migrate --service-honours-precedence
rm "$KEYS/custody.db"
run "$CK" doctor --rebuild --json
expect_status 22
"$T_TOOLS/ck-json" credentials.0.fingerprint <"$T_OUT" >"$T_TMP/print"
sed "s|$(cat "$T_TMP/print")|@PRINT@|" "$T_OUT" >"$T_TMP/out"
cp "$T_TMP/out" "$T_OUT"
k_golden doctor-rebuild.json

t_case 'a keychain is the broker'
c_home
k_sandbox on
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
migrate_login --service-honours-precedence
cp -p "$LOGIN" "$T_TMP/login.was"
sql "UPDATE protected SET why = 'x' WHERE why = 'settings'"
refuses 11 'login-password-fd'
K_PW=$PW
asks "$LOGIN (login-keychain)"
rebuilds 1 false
get_login --fd 1
expect_out_is "$BEARER"
rm "$KEYS/custody.db"
K_PW=/dev/null
# broker.json says which keychain; without it nothing does.
refuses 11 'login-password-fd'
mv "$T_HOME/.config/clankie-keys/broker.json" "$T_TMP/note.json"
refuses 23 'unlock password is missing'
run "$CK" doctor --rebuild --confirm --broker "keychain:$LOGIN" \
    --login-password-fd 3 3<"$PW"
expect_status 0
get_login --fd 1
expect_out_is "$BEARER"
expect_same "$LOGIN" "$T_TMP/login.was"

t_case 'whole script'
t_no_secret "$KEYS/custody.db"
