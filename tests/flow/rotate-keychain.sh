#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# rotate --keychain: new file, new keys, new password, everything in it as it
# was, with readers and a stream beside it, and what it refuses.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

unlock_file() {
	"$T_TOOLS/ck-json" password <"$UNLOCK"
}

unlock_item() {
	"$CK" keychain find "$LOGIN" --service bot.clankie.custody \
	    --account operator-keychain --password-fd 3 --out-fd 1 3<"$PW" |
	    head -c 64
}

# Everything about the items that is not a secret, dates included.
# Our own item is bound to its file and therefore written anew.
items() {
	"$CK" keychain list "$DEDICATED" --json | tr '{' '\n' |
	    sed 's/"signature":"[0-9a-f]*"//; s/"commit":[0-9]*//
	    /"seal-key"/s/"modified":"[^"]*"//'
}

status_field() {
	"$CK" status --json | "$T_TOOLS/ck-json" "$1"
}

signature() {
	"$CK" status --json | sed -n 's/.*"signature":"\([0-9a-f]*\)".*/\1/p'
}

opens() { # file with a password
	"$CK" keychain find "$DEDICATED" --service bot.clankie.credentials \
	    --account clankie_operator --password-fd 3 --out-fd 4 3<"$1" \
	    4>"$T_TMP/opened"
}

# What a replacement must leave as it was, and what must be another.
remember() {
	items >"$T_TMP/items.then"
	signature >"$T_TMP/signature.then"
	status_field fingerprint >"$T_TMP/print.then"
	status_field generation >"$T_TMP/generation.then"
	c_tree "$KEYS" >"$T_TMP/tree.then"
	cp "$DEDICATED" "$T_TMP/old.kc"
	"$1" >"$T_TMP/unlock.then"
	t_secret "$T_TMP/unlock.then"
}

replaced() { # how the password is read; arguments of get
	how=$1
	shift
	items >"$T_TMP/items.now"
	expect_same "$T_TMP/items.now" "$T_TMP/items.then"
	signature >"$T_TMP/signature.now"
	refute 'another file' cmp -s "$T_TMP/signature.now" \
	    "$T_TMP/signature.then"
	status_field fingerprint >"$T_TMP/print.now"
	expect_same "$T_TMP/print.now" "$T_TMP/print.then"
	status_field generation >"$T_TMP/generation.now"
	expect_same "$T_TMP/generation.now" "$T_TMP/generation.then"
	c_tree "$KEYS" >"$T_TMP/tree.now"
	expect_same "$T_TMP/tree.now" "$T_TMP/tree.then"
	"$how" >"$T_TMP/unlock.now"
	t_secret "$T_TMP/unlock.now"
	refute 'another password' cmp -s "$T_TMP/unlock.now" \
	    "$T_TMP/unlock.then"
	refute 'the old password does not open it' opens "$T_TMP/unlock.then"
	expect 'the new one does' opens "$T_TMP/unlock.now"
	cp "$DEDICATED" "$T_TMP/new.kc"
	cp "$T_TMP/old.kc" "$T_TMP/probe.kc"
	refute 'it does not open the old file' "$CK" keychain verify \
	    "$T_TMP/probe.kc" --password-fd 3 3<"$T_TMP/unlock.now"
	run "$CK" get "$@" 3<"$PW"
	expect_out_is "$BEARER"
	run "$CK" precedence verify "$@" 3<"$PW"
	expect_status 0
	expect_mode 0700 "$KEYS/operator"
	expect_mode 0600 "$DEDICATED"
	expect 'nothing was left' c_strays
}

t_case 'before the migration'
c_home
: >"$PW"
run "$CK" rotate --keychain
expect_status 23
expect_out_empty
expect_err_has 'clankie-keys migrate'
c_broker
snapshot -d "$T_HOME"
run "$CK" rotate --keychain
expect_status 23
expect_unchanged 'nothing changed'

t_case 'file broker'
run "$CK" migrate
expect_status 0
remember unlock_file
run "$CK" rotate --keychain
expect_status 0
expect_err_empty
expect_out_has '2 items as before'
cp "$T_OUT" "$T_TMP/said"
replaced unlock_file
t_no_secret "$T_TMP/said" "$KEYS/custody.db" "$KEYS/worker.sb"
refute 'nothing is pending' grep -q pending "$UNLOCK"
expect_same "$BROKER" "$T_TMP/broker.rest"
remember unlock_file
run "$CK" rotate --keychain --json
expect_status 0
expect_json outcome keychain-rotated
expect_json items 2
expect_json generation 1
expect_json fingerprint "$(cat "$T_TMP/print.then")"
replaced unlock_file
run "$CK" status --json
expect_json unfinished null
run "$CK" rotate --json
expect_status 0
expect_json generation 2
"$CK" get >"$BEARER"
remember unlock_file
run "$CK" rotate --keychain
expect_status 0
replaced unlock_file

t_case 'a command line that makes no sense'
snapshot -d "$T_HOME"
for more in operator --if-generation=2 --service=s --account=a; do
	run "$CK" rotate --keychain "$more"
	expect_status 2
done
run "$CK" rotate --keychain --secret-fd 3 3<"$BEARER"
expect_status 2
expect_unchanged 'nothing changed'

t_case 'a context that refuses'
CLANKIE_OPERATOR_TOKEN=x run "$CK" rotate --keychain
expect_status 19
expect_out_empty
CLANKIE_OPERATOR_TOKEN='' run "$CK" rotate --keychain
expect_status 19
CLANKIE_WORKER_PANE=1 run "$CK" rotate --keychain
expect_status 19
expect_unchanged 'nothing changed'

t_case 'a store that is broken'
for what in "rm $DEDICATED" "truncate -s 100 $DEDICATED" "rm $UNLOCK" \
    "cp $T_TMP/old.kc $DEDICATED"; do
	cp -p "$UNLOCK" "$T_TMP/whole.unlock"
	cp -p "$DEDICATED" "$T_TMP/whole.kc"
	$what
	snapshot -d "$T_HOME"
	run "$CK" rotate --keychain
	refute "$what: refused" test "$status" -eq 0
	refute "$what: not absent" test "$status" -eq 10
	expect_unchanged
	cat "$T_TMP/whole.kc" >"$DEDICATED"
	chmod 600 "$DEDICATED"
	cp -p "$T_TMP/whole.unlock" "$UNLOCK"
done
run "$CK" get
expect_out_is "$BEARER"

t_case 'what others put beside the file'
: >"$KEYS/operator/note"
snapshot -d "$T_HOME"
run "$CK" rotate --keychain
expect_status 14
expect_err_has note
expect_unchanged 'nothing changed'
rm "$KEYS/operator/note"

t_case 'what others put into the file'
printf 'foreign-%s' "$$" >"$T_TMP/foreign"
unlock_file >"$T_TMP/unlock"
cp "$DEDICATED" "$T_TMP/tampered"
"$CK" keychain add "$T_TMP/tampered" --service example --account foreign \
    --label 'A label' --comment 'a comment' --password-fd 3 --secret-fd 4 \
    3<"$T_TMP/unlock" 4<"$T_TMP/foreign"
cat "$T_TMP/tampered" >"$DEDICATED"
remember unlock_file
run "$CK" rotate --keychain --json
expect_status 0
expect_json items 3
replaced unlock_file
run "$CK" keychain find "$DEDICATED" --service example --account foreign \
    --password-fd 3 --out-fd 1 3<"$T_TMP/unlock.now"
expect_out_is "$T_TMP/foreign"

t_case 'another operation is open'
if t_find_tool strace && strace -o /dev/null true 2>/dev/null &&
    [ -z "$CK_TRACED" ]; then
	. "$T_ROOT/tests/lib/inject.sh"
	i_keep
	i_inject 'renameat:signal=KILL:when=1' "$CK" rotate
	expect 'rotate was killed' test "$(status_field unfinished)" = rotate
	snapshot -d "$T_HOME"
	run "$CK" rotate --keychain
	expect_status 16
	expect_err_has 'clankie-keys rotate operator'
	expect_unchanged 'nothing changed'
	i_back

	t_case 'a file system that cannot exchange'
	for errno in EINVAL ENOSYS EOPNOTSUPP; do
		snapshot "$DEDICATED" "$BROKER" "$T_HOME/.config/clankie"
		i_inject "renameat2:error=$errno:when=2" "$CK" rotate \
		    --keychain
		expect_status 14
		expect_err_has 'exchange'
		expect_unchanged 'the keychain is as it was'
		refute 'nothing is pending' grep -q pending "$UNLOCK"
		expect 'nothing was left' c_strays
		run "$CK" status --json
		expect_json unfinished null
		run "$CK" get
		expect_out_is "$BEARER"
	done

	t_case 'while one is open'
	i_inject 'renameat2:signal=KILL:when=2' "$CK" rotate --keychain
	run "$CK" status
	expect_out_has \
	    'next: finish the interrupted rotate --keychain: clankie-keys rotate --keychain'
	for verb in rotate migrate; do
		run "$CK" $verb
		expect_status 16
		expect_err_has '(clankie-keys rotate --keychain)'
	done
	run "$CK" get
	expect_out_is "$BEARER"
	run "$CK" precedence verify
	expect_status 0
	run "$CK" rotate --keychain --json
	expect_status 0
	expect_json outcome keychain-rotated
else
	skip 'interrupted ones' 'no strace here'
fi

t_case 'login keychain'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
migrate_login
expect_status 0
remember unlock_item
run "$CK" rotate --keychain
expect_status 11
run "$CK" rotate --keychain --login-password-fd 3 --json 3<"$PW"
expect_status 0
expect_json items 2
replaced unlock_item --login-password-fd 3
refute 'nothing is pending' "$CK" keychain find "$LOGIN" \
    --service bot.clankie.custody --account operator-keychain-pending
run "$CK" keychain verify "$LOGIN" --password-fd 3 3<"$PW"
expect_status 0

t_case 'a credential of another kind'
c_home
c_login_new
printf 'opaque-%s' "$$" >"$T_TMP/api"
c_add example.service api "$T_TMP/api"
migrate_login api --service example.service --account api
expect_status 0
run "$CK" rotate --keychain --login-password-fd 3 --json 3<"$PW"
expect_status 0
expect_json credential api
run "$CK" get api --login-password-fd 3 3<"$PW"
expect_out_is "$T_TMP/api"

t_case 'readers and a stream beside it'
c_home
c_broker
run "$CK" migrate
expect_status 0
rounds=12
[ "$T_SANITIZED" -eq 0 ] && [ -z "$CK_TRACED" ] || rounds=4
rm -f "$T_TMP/stop"
for reader in get status verify; do
	{
		n=0
		while [ ! -e "$T_TMP/stop" ]; do
			n=$((n + 1))
			case $reader in
			get)
				"$CK" get >"$T_TMP/got.$reader" \
				    2>>"$T_TMP/unseen" || echo "get $?"
				cmp -s "$T_TMP/got.$reader" "$BEARER" ||
				    echo "get: another value"
				;;
			status)
				"$CK" status --json >"$T_TMP/got.$reader" \
				    2>>"$T_TMP/unseen" || echo "status $?"
				grep -q '"code":"ok"' "$T_TMP/got.$reader" ||
				    echo "status: the file is not in order"
				;;
			verify)
				"$CK" precedence verify >"$T_TMP/got.$reader" \
				    2>>"$T_TMP/unseen" || echo "verify $?"
				;;
			esac >>"$T_TMP/unseen"
		done
		echo "$n" >"$T_TMP/count.$reader"
	} &
done
key=$("$T_TOOLS/ck-json" key <"$BEARER" | tr -d '\n' | od -An -v -tx1 |
    tr -d ' \n')
mkfifo "$T_TMP/asks"
"$CK" authenticate --stream <"$T_TMP/asks" >"$T_TMP/answers" \
    2>"$T_TMP/answers.err" &
exec 5>"$T_TMP/asks"
n=0 bad=0
while [ "$n" -lt "$rounds" ]; do
	n=$((n + 1))
	"$CK" rotate --keychain >"$T_TMP/null" 2>"$T_TMP/why" ||
	    { bad=$((bad + 1)) && sed 's/^/# /' "$T_TMP/why"; }
	echo "right$n $key" >&5
	echo "wrong$n 00$key" >&5
done
exec 5>&-
: >"$T_TMP/stop"
wait
expect 'each replacement succeeded' test "$bad" -eq 0
expect 'there were readers' test "$(cat "$T_TMP/count.get")" -ge 3
refute 'each of them got what there is' test -s "$T_TMP/unseen"
[ ! -s "$T_TMP/unseen" ] || sort "$T_TMP/unseen" | uniq -c | sed 's/^/# /'
expect 'every right candidate was told yes' \
    test "$(grep -c '^right[0-9]* yes$' "$T_TMP/answers")" -eq "$rounds"
expect 'every wrong one no' \
    test "$(grep -c '^wrong[0-9]* no$' "$T_TMP/answers")" -eq "$rounds"
expect 'nothing was left' c_strays
run "$CK" status --json
expect_json generation 1

t_case '4 at the same time'
for i in 1 2 3 4; do
	{
		"$CK" rotate --keychain >"$T_TMP/null" 2>"$T_TMP/par.err.$i"
		echo $? >"$T_TMP/par.status.$i"
	} &
done
wait
expect 'each succeeds, one after the other' \
    test "$(cat "$T_TMP"/par.status.* | sort -u)" = 0
run "$CK" get
expect_out_is "$BEARER"
expect 'nothing was left' c_strays
