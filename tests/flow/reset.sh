#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# reset --confirm: what is lost is given up for a new bearer and kept aside;
# it refuses where nothing is lost, and nothing happens without --confirm.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

UNLOCK_ITEM='--service bot.clankie.custody --account operator-keychain'

unlock_file() {
	"$T_TOOLS/ck-json" password <"$UNLOCK"
}

unlock_item() {
	# shellcheck disable=SC2086  # words
	"$CK" keychain find "$LOGIN" $UNLOCK_ITEM --password-fd 3 --out-fd 1 \
	    3<"$PW"
}

# A migrated home with the file broker, as it was the first time.
again() {
	chmod -R u+rwX "$T_HOME"
	rm -rf "$T_HOME"
	cp -a "$T_TMP/migrated" "$T_HOME"
}

lose() { # what
	case $1 in
	file) rm "$DEDICATED" ;;
	directory) rm -r "$KEYS/operator" ;;
	password) rm "$UNLOCK" ;;
	password-directory) rm -r "$T_HOME/.config/clankie-keys" ;;
	password-damaged) printf '{' >"$UNLOCK" ;;
	both) rm -r "$KEYS/operator" "$UNLOCK" ;;
	match) cp "$T_TMP/another.kc" "$DEDICATED" ;;
	content) truncate -s 100 "$DEDICATED" ;;
	item) c_tamper delete --service bot.clankie.credentials \
	    --account clankie_operator --password-fd 3 3<"$T_TMP/unlock.then" ;;
	seal-key) c_tamper delete --service bot.clankie.custody \
	    --account seal-key --password-fd 3 3<"$T_TMP/unlock.then" ;;
	esac
}

code_of() {
	case $1 in
	file | directory | both) echo keychain-missing ;;
	match) echo password-wrong ;;
	content | item | seal-key) echo keychain-damaged ;;
	*) echo password-missing ;;
	esac
}

t_case 'before the migration'
c_home
run "$CK" reset --confirm
expect_status 23
expect_out_empty
c_broker
snapshot -d "$T_HOME"
run "$CK" reset --confirm
expect_status 23
expect_unchanged 'nothing changed'

t_case 'nothing is lost'
run "$CK" migrate
expect_status 0
"$CK" rotate >"$T_TMP/null"
"$CK" get >"$BEARER"
unlock_file >"$T_TMP/unlock.then"
t_secret "$T_TMP/unlock.then"
cp -a "$T_HOME" "$T_TMP/migrated"
snapshot -d "$T_HOME"
for arg in --confirm --quiet; do
	run "$CK" reset $arg
	expect_status 19
	expect_out_empty
	expect_err_has 'nothing is lost'
	expect_err_has '(clankie-keys rotate)'
done
expect_unchanged 'nothing changed'

t_case 'a context that refuses'
rm "$UNLOCK"
snapshot -d "$T_HOME"
CLANKIE_OPERATOR_TOKEN=x run "$CK" reset --confirm
expect_status 19
CLANKIE_WORKER_PANE=1 run "$CK" reset --confirm
expect_status 19
expect_out_empty
expect_unchanged 'nothing changed'

# Another keychain with the same items, under another password.
again
"$CK" rotate --keychain >"$T_TMP/null"
cp "$DEDICATED" "$T_TMP/another.kc"

for what in file directory password password-directory password-damaged both \
    match content item seal-key; do
	t_case "$what lost"
	again
	lose "$what"
	snapshot -d "$T_HOME"
	run "$CK" reset
	expect_status 22
	expect_out_empty
	expect_err_has 'reset --confirm'
	expect_err_has 'nothing was changed'
	expect_unchanged 'nothing changed without --confirm'
	# Whatever was there is somewhere afterwards.
	find "$KEYS/operator" "$T_HOME/.config/clankie-keys" -type f -size +0 \
	    -exec cksum {} + 2>"$T_TMP/null" | cut -d' ' -f1,2 |
	    sort >"$T_TMP/there"
	run "$CK" reset --confirm --json
	expect_status 0
	expect_json outcome reset
	expect_json lost "$(code_of "$what")"
	expect_json generation 3
	cp "$T_OUT" "$T_TMP/said"
	find "$KEYS" "$T_HOME/.config/clankie-keys" -type f -exec cksum {} + |
	    cut -d' ' -f1,2 | sort >"$T_TMP/kept"
	expect 'what was there is kept' \
	    [ -z "$(comm -23 "$T_TMP/there" "$T_TMP/kept")" ]
	run "$CK" get
	expect_status 0
	refute 'it is another bearer' cmp -s "$T_OUT" "$BEARER"
	"$CK" get --key | cut -c12- >"$T_TMP/key"
	t_secret "$T_TMP/key"
	run "$CK" precedence verify
	expect_status 0
	run "$CK" status --json
	expect_json ok true
	expect_json state dedicated
	expect_json generation 3
	expect_json unfinished null
	expect_json rules_state match
	unlock_file >"$T_TMP/unlock"
	t_secret "$T_TMP/unlock"
	refute 'another password' cmp -s "$T_TMP/unlock" "$T_TMP/unlock.then"
	run "$CK" keychain verify "$DEDICATED" --password-fd 3 \
	    3<"$T_TMP/unlock"
	expect_status 0
	expect_same "$BROKER" "$T_TMP/broker.rest"
	t_no_secret "$T_TMP/said" "$KEYS/custody.db" "$KEYS/worker.sb"
	expect 'nothing was left' c_strays
	run "$CK" reset --confirm
	expect_status 19
done

t_case 'where it is kept'
again
cp "$T_TMP/another.kc" "$DEDICATED"
cp "$UNLOCK" "$T_TMP/unlock.json"
run "$CK" reset --confirm
expect_status 0
expect_out_has 'does not open it'
kept=$(sed -n 's/^kept aside *//p' "$T_OUT")
expect_mode 0700 "$kept"
expect_same "$kept/operator.keychain-db" "$T_TMP/another.kc"
kept=$(sed -n 's/^  *\(\/.*unlock.lost-.*\)/\1/p' "$T_OUT")
expect_mode 0600 "$kept"
expect_same "$kept" "$T_TMP/unlock.json"
expect_err_empty
# A later rotation or replacement does not touch it.
"$CK" rotate >"$T_TMP/null"
"$CK" rotate --keychain >"$T_TMP/null"
expect_same "$kept" "$T_TMP/unlock.json"
t_case 'and again'
rm "$UNLOCK"
run "$CK" reset --confirm --json
expect_status 0
expect_json generation 5
expect_json kept_password null
expect 'two are kept' test "$(find "$KEYS" -name 'lost-*' | wc -l)" -eq 2

t_case 'what is no loss'
again
rm "$KEYS/custody.db"
snapshot -d "$T_HOME"
run "$CK" reset --confirm
expect_status 23
expect_err_has custody.db
expect_unchanged 'records missing'
again
chmod 0644 "$DEDICATED"
snapshot -d "$T_HOME"
run "$CK" reset --confirm
expect_status 19
expect_err_has mode
expect_unchanged 'wrong mode'
again
printf 'not a keychain at all, but long enough to be one' >"$DEDICATED"
snapshot -d "$T_HOME"
run "$CK" reset --confirm
expect_status 14
expect_unchanged 'something else in its place'

t_case 'the broker holds a bearer'
again
rm "$UNLOCK"
t_bearer_json "$T_TMP/second"
c_broker_text "$T_TMP/second" | t_write "$BROKER"
snapshot -d "$T_HOME"
for arg in --confirm --quiet; do
	run "$CK" reset $arg
	expect_status 22
	expect_err_has "$BROKER"
done
expect_unchanged 'nothing changed'
printf '{' >"$BROKER"
snapshot -d "$T_HOME"
run "$CK" reset --confirm
expect_status 13
expect_unchanged 'nothing changed beside a broken broker'

t_case 'only reset mints'
again
rm "$UNLOCK"
snapshot -d "$T_HOME"
for verb in get status rotate 'rotate --keychain' migrate \
    'precedence verify' reset; do
	# shellcheck disable=SC2086  # words
	run "$CK" $verb
	refute "$verb says nothing of absence" test "$status" -eq 10
done
expect_unchanged 'nothing changed'

t_case 'an operation that can never be finished'
if t_find_tool strace && strace -o /dev/null true 2>/dev/null &&
    [ -z "$CK_TRACED" ]; then
	. "$T_ROOT/tests/lib/inject.sh"
	again
	i_inject 'renameat:signal=KILL:when=1' "$CK" rotate
	run "$CK" status --json
	expect_json unfinished rotate
	run "$CK" reset --confirm
	expect_status 16
	expect_err_has '(clankie-keys rotate operator)'
	rm "$UNLOCK"
	run "$CK" reset --confirm
	expect_status 0
	run "$CK" precedence verify
	expect_status 0
	again
	i_inject 'renameat2:signal=KILL:when=2' "$CK" rotate --keychain
	rm "$UNLOCK"
	run "$CK" reset --confirm
	expect_status 0
	run "$CK" precedence verify
	expect_status 0
	expect 'both files are kept' \
	    test "$(find "$KEYS" -path '*lost-*' -name '*-db' | wc -l)" -eq 2
	expect 'nothing was left' c_strays
	# What was lost comes back before anything was moved.
	again
	mv "$UNLOCK" "$T_TMP/away"
	i_inject 'renameat2:signal=KILL:when=1' "$CK" reset --confirm
	mv "$T_TMP/away" "$UNLOCK"
	run "$CK" get
	expect_status 16
	expect_err_has '(clankie-keys reset --confirm operator)'
	run "$CK" reset --confirm
	expect_status 19
	run "$CK" get
	expect_out_is "$BEARER"
	run "$CK" precedence verify
	expect_status 0
else
	skip 'interrupted ones' 'no strace here'
fi

t_case 'login keychain'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
migrate_login --json
expect_status 0
rm -rf "$T_TMP/migrated"
cp -a "$T_HOME" "$T_TMP/migrated"
rm "$DEDICATED"
snapshot -d "$T_HOME"
run "$CK" reset --confirm
expect_status 11
expect_unchanged 'a locked broker is no loss'
unlock_item >"$T_TMP/unlock.then"
run "$CK" reset --confirm --login-password-fd 3 --json 3<"$PW"
expect_status 0
expect_json lost keychain-missing
expect_json generation 2
kept=$("$T_TOOLS/ck-json" kept_password <"$T_OUT")
"$CK" keychain find "$LOGIN" --service bot.clankie.custody --account "$kept" \
    --password-fd 3 --out-fd 1 3<"$PW" >"$T_TMP/kept"
expect_same "$T_TMP/kept" "$T_TMP/unlock.then"
get_login operator
expect_status 0
refute 'it is another bearer' cmp -s "$T_OUT" "$BEARER"
run "$CK" precedence verify --login-password-fd 3 3<"$PW"
expect_status 0
run "$CK" keychain verify "$LOGIN" --password-fd 3 3<"$PW"
expect_status 0
expect 'nothing was left' c_strays
again
# shellcheck disable=SC2086  # words
"$CK" keychain delete "$LOGIN" $UNLOCK_ITEM --password-fd 3 3<"$PW"
run "$CK" reset --confirm --login-password-fd 3 --json 3<"$PW"
expect_status 0
expect_json lost password-missing
expect_json kept_password null
again
rm "$DEDICATED"
t_bearer_json "$T_TMP/second"
c_add bot.clankie.credentials clankie_operator "$T_TMP/second"
snapshot -d "$T_HOME"
run "$CK" reset --confirm --login-password-fd 3 3<"$PW"
expect_status 22
expect_err_has "$LOGIN"
expect_unchanged 'a bearer in the broker: nothing changed'
