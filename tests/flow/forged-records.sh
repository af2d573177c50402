#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rows that somebody writes into the records do not make another value, weaker
# rules or an open gate; nor do records and keychain of an earlier day.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"

t_find_tool sqlite3 || skip_all 'no sqlite3 here'

# Past the triggers, which stand again afterwards as they were.
edit() { # SQL
	sqlite3 "$KEYS/custody.db" "SELECT sql || ';' FROM sqlite_schema
	    WHERE type = 'trigger'" >"$T_TMP/triggers"
	sqlite3 "$KEYS/custody.db" "SELECT 'DROP TRIGGER ' || name || ';'
	    FROM sqlite_schema WHERE type = 'trigger'" >"$T_TMP/drop"
	{
		echo 'BEGIN;'
		cat "$T_TMP/drop"
		echo "$1;"
		cat "$T_TMP/triggers"
		echo 'COMMIT;'
	} | sqlite3 "$KEYS/custody.db" >"$T_TMP/sql" 2>&1
	expect 'the rows were edited' test ! -s "$T_TMP/sql"
}

journal() { # operation
	echo "INSERT INTO journal (slot, operation, nonce, step,
	    from_generation, to_generation, at, credential) VALUES (1, '$1',
	    '00112233445566778899aabbccddeeff', 2, 0, 1,
	    '2026-01-01T00:00:00Z', 'operator');"
}

# The state of a migration that has only begun, as rows can tell it.
BEGUN="DELETE FROM seal; DELETE FROM precedence WHERE rank = 0 AND store =
    (SELECT id FROM store WHERE kind = 'dedicated');
    UPDATE credential SET state = 'migrating';"
NEVER="DELETE FROM seal; DELETE FROM precedence WHERE store =
    (SELECT id FROM store WHERE kind = 'dedicated');
    UPDATE credential SET state = 'broker';"

refuses() { # status of get
	snapshot "$T_HOME"
	run "$CK" get
	expect_status "$1"
	expect_out_empty
	run sh -c '"$1" authenticate <"$2"' sh "$CK" "$T_TMP/first.key"
	expect_status "$1"
	k_check
	expect_status 21
	k_gate 21
	for words in 'precedence verify' 'rules --write' rotate \
	    'migrate --service-honours-precedence' restore; do
		# shellcheck disable=SC2086  # words
		run "$CK" $words
		refute "$words refuses" [ "$status" -eq 0 ]
	done
	expect_unchanged 'nothing was changed'
}

planted() {
	t_bearer_json "$T_TMP/planted"
	c_broker_text "$T_TMP/planted" | t_write "$BROKER"
}

k_custody
"$CK" get --key >"$T_TMP/first.key"
cat "$DEDICATED" >"$T_TMP/first.keychain"
cat "$KEYS/custody.db" >"$T_TMP/first.db"
"$CK" rotate >"$T_TMP/null"
k_copy

for operation in migrate restore 'reset --confirm' 'rotate --keychain' nonsense; do
	k_back "a forged $operation, the keychain moved away"
	mv "$KEYS/operator" "$T_TMP/away"
	edit "$BEGUN $(journal "$operation")"
	planted
	refuses 23
	mv "$T_TMP/away" "$KEYS/operator"
	k_back "a forged $operation of a credential in the broker"
	mv "$KEYS/operator" "$T_TMP/away"
	edit "$NEVER $(journal "$operation")"
	planted
	refuses 23
	mv "$T_TMP/away" "$KEYS/operator"
done

k_back 'a forged migration excuses no missing seal'
edit "$BEGUN $(journal migrate)"
refuses 13
k_back 'nor an older keychain'
cat "$T_TMP/first.keychain" >"$DEDICATED"
edit "$BEGUN $(journal migrate)"
refuses 13
k_back 'a credential that is said to be in the broker'
edit "$NEVER"
planted
refuses 13
k_back 'the same, with its item renamed in the keychain'
"$T_TOOLS/ck-tamper" label "$DEDICATED" bot.clankie.credentials \
    clankie_operator other
edit "$NEVER UPDATE credential SET account = 'other', service = 'other'"
planted
refuses 13

k_back 'records and keychain of an earlier day'
cat "$T_TMP/first.keychain" >"$DEDICATED"
cat "$T_TMP/first.db" >"$KEYS/custody.db"
snapshot "$T_HOME"
run "$CK" get
expect_status 13
run sh -c '"$1" authenticate <"$2"' sh "$CK" "$T_TMP/first.key"
expect_status 13
k_check
expect_status 21
k_has generation-behind
k_gate 21
run "$CK" precedence verify
expect_status 13
run "$CK" rotate
expect_status 13
expect_unchanged 'nothing was changed'

t_case 'no rules from edited records'
for how in 'rules --write' 'check --repair' 'migrate --service-honours-precedence'; do
	k_back "$how"
	edit "DELETE FROM protected WHERE path LIKE '%config%'"
	snapshot "$T_HOME"
	# shellcheck disable=SC2086  # words
	run "$CK" $how
	refute 'it refuses' [ "$status" -eq 0 ]
	expect_unchanged 'nothing was changed'
	mv "$UNLOCK" "$T_TMP/unlock.away"
	# shellcheck disable=SC2086  # words
	run "$CK" $how
	refute 'also when nothing can be proved' [ "$status" -eq 0 ]
	mv "$T_TMP/unlock.away" "$UNLOCK"
done

k_back 'a broker that the records are made to name'
mkdir -m 0700 "$T_HOME/kc"
t_password "$T_TMP/pw"
"$CK" keychain create "$T_HOME/kc/x.keychain-db" --password-fd 3 3<"$T_TMP/pw" \
    >"$T_TMP/null"
edit "UPDATE store SET kind = 'login-keychain', path =
    '$T_HOME/kc/x.keychain-db' WHERE kind = 'file-broker';
    DELETE FROM protected WHERE path LIKE '%config%';
    UPDATE principal SET honours = 'yes'"
"$CK" keychain add "$T_HOME/kc/x.keychain-db" --service bot.clankie.custody \
    --account operator-keychain --password-fd 3 --secret-fd 4 3<"$T_TMP/pw" \
    4<"$T_TMP/first.key"
snapshot "$T_HOME"
run "$CK" check --repair
expect_status 21
k_gate 21
rm "$UNLOCK"
k_gate 21
run "$CK" get
expect_status 11

k_back 'a broker of the other kind, the keychain moved away'
mv "$KEYS/operator" "$T_TMP/away"
edit "$NEVER UPDATE store SET kind = 'login-keychain', path =
    '$T_HOME/kc/x.keychain-db' WHERE kind = 'file-broker'"
mkdir -m 0700 "$T_HOME/kc"
"$CK" keychain create "$T_HOME/kc/x.keychain-db" --password-fd 3 3<"$T_TMP/pw" \
    >"$T_TMP/null"
snapshot "$T_HOME"
run "$CK" get --login-password-fd 3 3<"$T_TMP/pw"
expect_status 23
run "$CK" migrate --login-password-fd 3 3<"$T_TMP/pw"
refute 'migrate does not call it absent' [ "$status" -eq 10 ]
expect_unchanged 'nothing was changed'
rm -r "$T_TMP/away"

k_back 'a forged end of a restore erases nothing'
mv "$KEYS/operator" "$KEYS/restored-00112233445566778899aabbccddeeff"
edit "$NEVER $(journal restore)"
planted
snapshot "$T_HOME"
run "$CK" restore
expect_status 23
run "$CK" get
expect_status 23
expect_unchanged 'nothing was changed'

k_back 'as it was'
run "$CK" get
expect_status 0
run "$CK" precedence verify
expect_status 0
