#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# alone: yes
#
# 8 rotate, 8 read, 4 check, at the same time, many of them killed at a random
# moment: no torn value, no lost rotation, no second bearer, every reader gets
# a value of its time; see tests/tools/ck-race.c.  CK_RACE: how many rotations
# are begun, else 150; the complete race has 10000.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

figure() { # its name
	sed -n "s/^rounds.* $1 \([0-9]*\).*/\1/p" "$T_TMP/figures"
}

c_home
c_broker
run "$CK" migrate
expect_status 0
T_LIMIT=7200
run "$T_TOOLS/ck-race" "$CK" "${CK_RACE:-150}"
T_LIMIT=20
expect_status 0
t_no_secret
cp "$T_OUT" "$T_TMP/figures"
sed 's/^/# /' "$T_TMP/figures"
for what in rotated lost killed reads checks; do
	expect "there were some: $what" test "$(figure "$what")" -gt 0
done
run "$CK" keychain list "$DEDICATED" --json
expect_status 0
grep -o '"account":"clankie_operator"' "$T_OUT" >"$T_TMP/items"
expect 'one bearer in the keychain' test "$(wc -l <"$T_TMP/items")" -eq 1
expect 'one keychain' \
    test "$(find "$T_HOME" -name '*.keychain-db*' | wc -l)" -eq 1
run "$CK" precedence verify
expect_status 0
run "$CK" status --json
expect_json unfinished null
expect 'nothing was left' c_strays
expect_same "$BROKER" "$T_TMP/broker.rest"
