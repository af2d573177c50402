#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The custody, or a part of it, is gone or is not what it was: nothing of that
# is ever "absent", "already done" or a reason to ask a weaker store.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

moved() { # a home whose bearer was migrated out of the file broker
	c_home
	c_broker
	run "$CK" migrate
	expect_status 0
}

# A bearer that a program which does not ask the records would make.
decoy() {
	t_bearer_json "$T_TMP/decoy"
	c_broker_text "$T_TMP/decoy" | t_write "$BROKER"
}

expect_no_answer() { # status
	run "$CK" get --fd 1
	expect_status "$1"
	expect_out_empty
}

t_case 'the custody directory is gone'
moved
mv "$KEYS" "$T_HOME/gone"
expect_no_answer 23
expect_err_has 'no other store is asked'
run "$CK" status
expect_out_has 'next: an unlock password is stored'
run "$CK" status --json
expect_json ok false
decoy
expect_no_answer 23
mv "$T_HOME/gone" "$KEYS"
run "$CK" get --fd 1
expect_status 0
expect_out_is "$BEARER"

t_case 'keychain and records are gone'
moved
rm -r "$KEYS/operator" "$KEYS/custody.db"
decoy
expect_no_answer 23

t_case 'the custody lies elsewhere and nobody said so'
c_home
c_broker
run "$CK" migrate --home "$T_HOME/.alt"
expect_status 0
expect_no_answer 23
expect_err_has --home
run "$CK" get --home "$T_HOME/.alt" --fd 1
expect_status 0
expect_out_is "$BEARER"

t_case 'the keychain of a keychain broker is gone'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
migrate_login --json
expect_status 0
rm -r "$KEYS"
get_login --fd 1
expect_status 23
expect_out_empty

t_case 'a second migrate'
for part in operator operator/operator.keychain-db; do
	moved
	rm -r "${KEYS:?}/$part"
	run "$CK" migrate
	refute "it is not fine without $part" [ "$status" -eq 0 ]
	refute "and not absent without $part" [ "$status" -eq 10 ]
done
moved
rm "$UNLOCK"
run "$CK" migrate
expect_status 23
run "$CK" status
expect_out_has 'next: the unlock password is missing'
moved
: >"$DEDICATED"
run "$CK" migrate
expect_status 13
moved
cp "$KEYS/worker.sb" "$T_TMP/rules"
rm "$KEYS/worker.sb"
run "$CK" migrate
expect_status 0
expect_same "$KEYS/worker.sb" "$T_TMP/rules"

t_case 'the operator directory is not what it was'
moved
chmod 0777 "$KEYS/operator"
expect_no_answer 19
expect_err_has 'chmod go='
moved
mv "$KEYS/operator" "$T_HOME/outside"
ln -s "$T_HOME/outside" "$KEYS/operator"
expect_no_answer 19
expect_err_has 'symbolic link'

t_case 'something beside the records that SQLite would open'
for name in custody.db-journal custody.db-wal; do
	moved
	mkfifo -m 0600 "$KEYS/$name"
	T_LIMIT=3
	expect_no_answer 19
	run "$CK" status --json
	expect_json ok false
	expect_json records refused
	T_LIMIT=20
done

t_case 'records that protect nothing any more'
if t_find_tool sqlite3; then
	moved
	cp "$KEYS/worker.sb" "$T_TMP/rules"
	sqlite3 "$KEYS/custody.db" 'delete from protected'
	run "$CK" status --json
	expect_json rules_state match
	run "$CK" rules
	expect_out_has "(subpath \"$KEYS\")"
	expect_out_has "(literal \"$BROKER\")"
else
	skip 'emptied records' 'no sqlite3'
fi

t_case 'a worker pane changes nothing'
moved
CLANKIE_WORKER_PANE=1
export CLANKIE_WORKER_PANE
snapshot "$T_HOME"
run "$CK" rules --write
expect_status 19
run "$CK" keychain delete "$DEDICATED" --service bot.clankie.credentials \
    --account clankie_operator
expect_status 19
t_password "$T_TMP/pw"
run "$CK" keychain create "$T_HOME/z.keychain-db" --password-fd 3 \
    3<"$T_TMP/pw"
expect_status 19
expect_unchanged 'nothing changed'
unset CLANKIE_WORKER_PANE

t_case 'the keychain verb does not touch the custody'
for words in 'delete --service bot.clankie.credentials --account clankie_operator' \
    'delete --service bot.clankie.custody --account seal-key'; do
	# shellcheck disable=SC2086  # words
	run "$CK" keychain ${words%% *} "$DEDICATED" ${words#* }
	expect_status 19
	expect_err_has 'the only copy'
done
ln -s "$DEDICATED" "$T_TMP/link"
run "$CK" keychain delete "$T_TMP/link" --account clankie_operator \
    --service bot.clankie.credentials
expect_status 19
expect_unchanged 'nothing changed'
run "$CK" get --fd 1
expect_out_is "$BEARER"

t_case 'a broker that no edit could be proved in'
for odd in 1e999 '"\ud800"'; do
	c_home
	c_broker
	printf '{"a":%s,"clankie_operator":' "$odd" >"$T_TMP/odd"
	{ cat "$T_TMP/odd" "$BEARER" && echo '}'; } | t_write "$BROKER"
	snapshot "$T_HOME"
	run "$CK" migrate --dry-run
	expect_status 14
	run "$CK" migrate
	expect_status 14
	expect_unchanged 'nothing changed'
done
