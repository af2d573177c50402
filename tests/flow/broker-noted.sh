#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A keychain of any name is the broker, and the records are edited until they
# name another one while the dedicated keychain is away: what is noted beside
# them is asked, so that no planted bearer is given.
# traced: no
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"
. "$(dirname "$0")/../lib/records.sh"

t_find_tool sqlite3 || skip_all 'no sqlite3 here'

NEVER="UPDATE store SET kind = 'file-broker', path = '@BROKER@'
    WHERE kind = 'login-keychain'; DELETE FROM seal;
    DELETE FROM precedence WHERE store =
    (SELECT id FROM store WHERE kind = 'dedicated');
    UPDATE credential SET state = 'broker'"

forge() { # SQL
	mv "$KEYS/operator" "$T_TMP/away.$((n_away = n_away + 1))"
	r_edit "$(echo "$1" | sed "s|@BROKER@|$BROKER|")"
	expect 'the rows were edited' [ $? -eq 0 ]
}

plant() {
	(umask 077 && mkdir -p "$CLANKIE")
	c_broker_text "$T_TMP/planted" | t_write "$BROKER"
}

refuses() { # status, finding
	snapshot "$T_HOME"
	run "$CK" get --login-password-fd 3 3<"$PW"
	expect_status "$1"
	expect_out_empty
	run sh -c '"$1" authenticate --login-password-fd 3 <"$2" 3<"$3"' \
	    sh "$CK" "$T_TMP/planted.key" "$PW"
	expect_status "$1"
	k_check
	expect_status 21
	k_has "$2"
	k_gate 21
	for words in 'migrate --service-honours-precedence' restore rotate; do
		# shellcheck disable=SC2086  # words
		run "$CK" $words --login-password-fd 3 3<"$PW"
		refute "$words refuses" [ "$status" -eq 0 ]
		refute 'nor is it absent' [ "$status" -eq 10 ]
	done
	expect_unchanged 'nothing was changed'
}

n_away=0
c_home
k_sandbox on
c_login_new
t_bearer_json "$BEARER"
t_bearer_json "$T_TMP/planted"
"$T_TOOLS/ck-json" key <"$T_TMP/planted" | tr -d '\n' >"$T_TMP/planted.key"
c_add bot.clankie.credentials clankie_operator "$BEARER"
migrate_login --service-honours-precedence
expect_status 0
NOTED=$T_HOME/.config/clankie-keys/broker.json
K_PW=$PW
k_copy

k_back 'it is noted'
expect_mode 0600 "$NOTED"
printf '{"version":1,"keychain":"%s","broker":"%s"}\n' "$DEDICATED" "$LOGIN" \
    >"$T_TMP/want"
expect_same "$NOTED" "$T_TMP/want"
t_no_secret "$NOTED"
k_finds 0 ''

k_back 'a file is named as the broker'
plant
forge "$NEVER"
refuses 23 dedicated-missing
k_back 'another keychain is'
mkdir -m 0700 "$T_HOME/kc"
cp "$LOGIN" "$T_HOME/kc/x.keychain-db"
"$CK" keychain delete "$T_HOME/kc/x.keychain-db" \
    --service bot.clankie.custody --account operator-keychain
"$CK" keychain add "$T_HOME/kc/x.keychain-db" --service \
    bot.clankie.credentials --account clankie_operator --password-fd 3 \
    --secret-fd 4 3<"$PW" 4<"$T_TMP/planted"
forge "$(echo "$NEVER" | sed "s|'file-broker'|'login-keychain'|;
    s|@BROKER@|$T_HOME/kc/x.keychain-db|")"
refuses 23 dedicated-missing
k_back 'a migration that only began is told of'
plant
forge "$NEVER; INSERT INTO journal (slot, operation, nonce, step,
    from_generation, to_generation, at, credential) VALUES (1, 'migrate',
    '00112233445566778899aabbccddeeff', 2, 0, 1,
    '2026-01-01T00:00:00Z', 'operator')"
refuses 23 dedicated-missing
k_back 'the whole custody is away'
plant
mv "$KEYS" "$T_TMP/keys"
refuses 23 dedicated-missing
mv "$T_TMP/keys" "$KEYS"
k_back 'and so is the keychain that is the broker'
plant
forge "$NEVER"
mv "$LOGIN" "$T_TMP/login.away"
refuses 23 dedicated-missing
run "$CK" get
expect_err_has "mv '$NOTED' '$NOTED.lost'"
for kind in link FIFO directory nonsense version open; do
	k_back "the note is a $kind"
	run "$CK" get --login-password-fd 3 3<"$PW"
	expect_status 0
	rm "$NOTED"
	code='' refused=19
	case $kind in
	link)
		cp "$T_TMP/whole/.config/clankie-keys/broker.json" \
		    "$T_HOME/elsewhere"
		ln -s "$T_HOME/elsewhere" "$NOTED"
		code=symlink
		;;
	FIFO) mkfifo -m 0600 "$NOTED"; code=wrong-type ;;
	directory) mkdir -m 0700 "$NOTED"; code=wrong-type ;;
	nonsense) echo '{"version":1}' | t_write "$NOTED"; refused=13 ;;
	version) echo '{"version":2}' | t_write "$NOTED"; refused=14 ;;
	open) cp "$T_TMP/want" "$NOTED"; chmod 0666 "$NOTED"
		code=unsafe-mode ;;
	esac
	# With the seal to go by nobody needs it.
	run "$CK" get --login-password-fd 3 3<"$PW"
	expect_status 0
	k_finds 21 "${code:-not-judged}"
	plant
	forge "$NEVER"
	snapshot "$T_HOME"
	run "$CK" get
	expect_status "$refused"
	expect_out_empty
	expect_unchanged
done

k_back 'a custody from before there were notes'
rm "$NOTED"
k_finds 0 broker-not-noted
k_check --repair
expect_status 0
expect_out_has 'repaired broker-not-noted'
expect_same "$NOTED" "$T_TMP/want"
k_finds 0 ''
k_back 'another broker is noted'
sed 's|user\.keychain|other.keychain|' "$T_TMP/want" | t_write "$NOTED"
k_finds 0 broker-not-noted
cp "$LOGIN" "$T_HOME/Library/Keychains/other.keychain-db"
cp "$NOTED" "$T_TMP/noted"
k_check --repair
expect_status 21
expect_out_has 'holds an unlock password'
expect_same "$NOTED" "$T_TMP/noted"
rm "$T_HOME/Library/Keychains/other.keychain-db"
k_check --repair
expect_same "$NOTED" "$T_TMP/want"

# The records are what says where the password lies; without them the note.
k_back 'the records are lost'
rm "$KEYS/custody.db"
k_check
expect_out_has records-missing
refute 'its password is not missing' grep -q unlock-missing "$T_OUT"
run "$CK" doctor --rebuild --confirm --login-password-fd 3 3<"$PW"
expect_status 0
run "$CK" get --login-password-fd 3 3<"$PW"
expect_status 0
expect_out_is "$BEARER"

k_back 'a restore takes it along'
run "$CK" restore --login-password-fd 3 3<"$PW"
expect_status 0
refute 'no note is left' test -e "$NOTED"
refute 'nor its directory' test -e "$T_HOME/.config/clankie-keys"
run "$CK" get --login-password-fd 3 3<"$PW"
expect_status 0
expect_out_is "$BEARER"
t_case 'not that of another custody'
(umask 077 && mkdir "$T_HOME/.config/clankie-keys")
sed 's|\.clankie-keys|elsewhere|' "$T_TMP/want" | t_write "$NOTED"
snapshot "$T_HOME"
run "$CK" get --login-password-fd 3 3<"$PW"
expect_status 0
expect_unchanged
