#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# migrate out of a file broker: one member is cut out of it, everything else
# stays byte for byte, a member that its own program would drop included.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

key_of() { # bearer's JSON into a file with the key alone
	sed 's/.*"key":"\([^"]*\)".*/\1/' "$1" | tr -d '\n' >"$2"
}

expect_custody() {
	expect_mode 0700 "$KEYS"
	expect_mode 0700 "$KEYS/operator"
	expect_mode 0600 "$DEDICATED"
	expect_mode 0600 "$KEYS/custody.db"
	expect_mode 0600 "$KEYS/worker.sb"
	expect_mode 0600 "$UNLOCK"
	expect_mode 0700 "$(dirname "$UNLOCK")"
	expect_mode 0600 "$BROKER"
	expect_mode 0700 "$CLANKIE"
	expect 'nothing else was left' c_strays
}

t_case 'bearer among ten other providers'
c_home
c_broker
key_of "$BEARER" "$T_TMP/key"
migrated=$BEARER
run "$CK" get --as service-startup
expect_status 0
expect_out_is "$BEARER"
run "$CK" get --as nobody
expect_status 2
expect_out_empty
expect_err_has 'not a reader'
run "$CK" migrate --json
expect_status 0
expect_json outcome migrated
expect_json broker_kind file-broker
expect_json broker "$BROKER"
t_no_secret
expect_same "$BROKER" "$T_TMP/broker.rest"
expect 'the malformed entry is still there' \
    grep -q '"malformed": {"type": "api", "kay": \[1, 2.50, "caf.u00e9"\]}' "$BROKER"
expect_custody
fingerprint=$("$T_TOOLS/ck-json" fingerprint <"$T_OUT")
expect 'the fingerprint is eight digits' \
    test "$(echo "$fingerprint" | tr -d '0-9a-f')${#fingerprint}" = 8

t_case 'get'
run "$CK" get
expect_status 0
expect_out_is "$BEARER"
expect_err_empty
run "$CK" get operator --as service-startup
expect_status 0
expect_out_is "$BEARER"

t_case 'get --raw'
run "$CK" get --raw
expect_status 0
expect_out_is "$BEARER"

t_case 'get --fd'
run "$CK" get --fd 5 5>"$T_TMP/got"
expect_status 0
expect_out_empty
expect_same "$T_TMP/got" "$BEARER"

t_case 'get --fd --json'
run "$CK" get --fd 5 --json 5>"$T_TMP/got"
expect_status 0
expect_json store dedicated
expect_json path "$DEDICATED"
t_no_secret
expect_same "$T_TMP/got" "$BEARER"

t_case 'get --key'
run "$CK" get --key
expect_status 0
expect_out_is "$T_TMP/key"
run "$CK" get --key --fd 5 5>"$T_TMP/got"
expect_status 0
expect_same "$T_TMP/got" "$T_TMP/key"

t_case 'get --verbose says where from, not what'
run "$CK" get --verbose --fd 5 5>"$T_TMP/got"
expect_status 0
expect_err_has "$DEDICATED"
t_no_secret

t_case 'get that makes no sense'
for words in '--json' '--fd 5 --raw' 'operator again' '--as nobody'; do
	# shellcheck disable=SC2086  # words
	run "$CK" get $words 5>"$T_TMP/got"
	expect_status 2
	expect 'nothing was delivered' test ! -s "$T_TMP/got"
	t_no_secret
done
run "$CK" get --as rotation
expect 'a principal that only writes is no reader' \
    test "$status" -eq 2 -o "$status" -eq 0

t_case 'get of a credential that was never heard of'
run "$CK" get other
expect_status 2
expect_out_empty
expect_err_has other
run "$CK" migrate other
expect_status 2
expect_err_has other

t_case 'the unlock password goes with the records'
"$T_TOOLS/ck-json" password <"$UNLOCK" | tr -d '\n' >"$T_TMP/unlock"
t_secret "$T_TMP/unlock"
run "$CK" keychain verify "$DEDICATED" --password-fd 3 --json \
    3<"$T_TMP/unlock"
expect_status 0
expect_json unlocked true
run "$CK" keychain find "$DEDICATED" --service bot.clankie.credentials \
    --account clankie_operator --password-fd 3 --out-fd 1 3<"$T_TMP/unlock"
expect_out_is "$BEARER"
t_no_secret "$KEYS/custody.db" "$KEYS/worker.sb" "$BROKER"

t_case 'get does not change anything'
snapshot -d "$T_HOME"
run "$CK" get
expect_out_is "$migrated"
run "$CK" get --key
run "$CK" get --as authenticator
expect_unchanged 'nothing changed'

for mask in 000 077 777; do
	t_case "umask $mask"
	c_home
	c_broker
	run sh -c 'umask "$1"; exec "$2" migrate' sh $mask "$CK"
	expect_status 0
	expect_same "$BROKER" "$T_TMP/broker.rest"
	expect_custody
	run sh -c 'umask "$1"; exec "$2" get' sh $mask "$CK"
	expect_status 0
	expect_out_is "$BEARER"
done

t_case 'no directory of the configuration but the broker'
c_home
(umask 077 && mkdir -p "$T_HOME/elsewhere/deep")
BROKER=$T_HOME/elsewhere/deep/credentials.json
CLANKIE=$T_HOME/elsewhere/deep
c_broker
run env CLANKIE_CREDENTIALS_FILE="$BROKER" "$CK" migrate
expect_status 0
expect_same "$BROKER" "$T_TMP/broker.rest"
run "$CK" get
expect_status 0
expect_out_is "$BEARER"
expect_custody

t_case '--broker file:'
c_home
(umask 077 && mkdir -p "$T_HOME/elsewhere")
BROKER=$T_HOME/elsewhere/other.json
CLANKIE=$T_HOME/elsewhere
c_broker
run "$CK" migrate --broker "file:$BROKER"
expect_status 0
expect_same "$BROKER" "$T_TMP/broker.rest"
run "$CK" get
expect_out_is "$BEARER"

t_case 'a bearer with more members, 22 KB of them'
c_home
c_broker
{
	key_of "$BEARER" "$T_TMP/key"
	printf '{ "key" : "' && cat "$T_TMP/key" &&
	    printf '", "metadata": {"a": "' && head -c 22000 /dev/zero |
	    tr '\0' x && printf '"}, "type":"api" }'
} | t_write "$T_TMP/large"
c_broker_text "$T_TMP/large" | t_write "$BROKER"
run "$CK" migrate
expect_status 0
expect_same "$BROKER" "$T_TMP/broker.rest"
run "$CK" get
expect_out_is "$T_TMP/large"
run "$CK" get --key
expect_out_is "$T_TMP/key"

padded() { # bytes of padding
	printf '{"pad":"' && head -c "$1" /dev/zero | tr '\0' x &&
	    printf '","clankie_operator":' && cat "$BEARER" && echo '}'
}

t_case 'the largest broker that is edited'
c_home
c_broker
padded 524100 | t_write "$BROKER"
run "$CK" migrate
expect_status 0
run "$CK" get
expect_status 0
expect_out_is "$BEARER"
expect 'the padding is still there' test "$(wc -c <"$BROKER")" -gt 524100

t_case 'a broker that is too large to be edited'
c_home
c_broker
padded 1040000 | t_write "$BROKER"
snapshot -d "$T_HOME"
run "$CK" migrate
expect_status 14
expect_err_has "$BROKER"
run "$CK" get
expect_status 0
expect_out_is "$BEARER"
expect_unchanged 'nothing changed'

t_case 'an item of 1 MiB comes out again'
c_home
c_login_new
head -c 1048576 /dev/urandom >"$T_TMP/large"
c_add some thing "$T_TMP/large"
get_login --service some --account thing
expect_status 0
expect_out_is "$T_TMP/large"
migrate_login --service some --account thing
expect_status 0
get_login
expect_status 0
expect_out_is "$T_TMP/large"

t_case 'nothing but the bearer in the broker'
c_home
c_broker
{ printf '{"clankie_operator":' && cat "$BEARER" && echo '}'; } |
    t_write "$BROKER"
run "$CK" migrate
expect_status 0
expect 'an empty object is left' test "$(tr -d ' \n' <"$BROKER")" = '{}'
run "$CK" get
expect_out_is "$BEARER"

t_case 'the home is a symbolic link'
c_home
c_broker
ln -s "$T_HOME" "$T_TMP/link"
run env HOME="$T_TMP/link" "$CK" migrate
expect_status 0
run "$CK" get
expect_out_is "$BEARER"
run env HOME="$T_TMP/link" "$CK" get
expect_out_is "$BEARER"

t_case 'a home with odd letters in its name'
t_home
odd="$T_HOME/it's \"an\" odd \\home ä"
mkdir -m 0700 "$odd"
HOME=$odd
T_HOME=$odd
KEYS=$odd/.clankie-keys
DEDICATED=$KEYS/operator/operator.keychain-db
CLANKIE=$odd/.config/clankie
BROKER=$CLANKIE/credentials.json
c_broker
run "$CK" migrate --json
expect_status 0
expect_json keychain "$DEDICATED"
run "$CK" get
expect_out_is "$BEARER"
run "$CK" status --json
expect_json rules_state match

t_case 'the broker wrote again behind the migration'
c_home
c_broker
run "$CK" migrate
expect_status 0
t_bearer_json "$T_TMP/second"
c_broker_text "$T_TMP/second" | t_write "$BROKER"
snapshot -d "$T_HOME"
run "$CK" migrate
expect_status 22
expect_err_has "$BROKER"
expect_err_has "$DEDICATED"
run "$CK" get
expect_status 0
expect_out_is "$BEARER"
expect_unchanged 'no store changed'
