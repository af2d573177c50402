#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check where the broker is a keychain: what needs its password is never called
# fine without it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"

c_home
k_sandbox on
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
printf '["clankie_operator","other"]' >"$T_TMP/index"
c_add bot.clankie.credentials __index__ "$T_TMP/index"
migrate_login --service-honours-precedence
expect_status 0
k_copy

k_back 'without the password'
k_finds 21 dedicated-locked
k_back 'with the password'
K_PW=$PW
k_finds 0 ''
k_check
refute 'all of it was checked' grep -q "$LOGIN: is locked" "$T_OUT"
expect_out_has 'the unlock password among them'
k_back 'a wrong password'
t_password "$T_TMP/wrong"
K_PW=$T_TMP/wrong
k_finds 21 dedicated-locked
K_PW=$PW

k_back 'the unlock password is gone'
"$CK" keychain delete "$LOGIN" --service bot.clankie.custody \
    --account operator-keychain
k_finds 21 unlock-missing
K_PW=/dev/null
k_finds 21 unlock-missing
K_PW=$PW
k_back 'another unlock password'
t_password "$T_TMP/other"
"$CK" keychain update "$LOGIN" --service bot.clankie.custody \
    --account operator-keychain --password-fd 3 --secret-fd 4 \
    3<"$PW" 4<"$T_TMP/other"
k_finds 21 unlock-wrong
k_back 'the login keychain has a bearer again'
t_bearer_json "$T_TMP/decoy"
c_add bot.clankie.credentials clankie_operator "$T_TMP/decoy"
k_finds 21 second-bearer-login
K_PW=/dev/null
k_finds 21 'second-bearer-login dedicated-locked'
K_PW=$PW
k_back 'the file broker has one'
(umask 077 && mkdir -p "$CLANKIE")
c_broker_text "$T_TMP/decoy" | t_write "$BROKER"
k_finds 21 second-bearer-file
k_back 'the login keychain is gone'
rm "$LOGIN"
k_check
expect_status 21
k_has unlock-unreadable
k_gate 21
k_back 'the login keychain is open to others'
chmod 0666 "$LOGIN"
k_finds 21 unsafe-mode
k_back 'a FIFO in place of the login keychain'
rm "$LOGIN"
mkfifo -m 0600 "$LOGIN"
k_finds 21 wrong-type

k_back 'an index that names what is gone'
"$CK" keychain update "$LOGIN" --service bot.clankie.credentials \
    --account __index__ --password-fd 3 --secret-fd 4 3<"$PW" 4<"$T_TMP/index"
k_finds 0 stale-index
K_PW=/dev/null
k_finds 21 dedicated-locked
K_PW=$PW
k_check --repair
expect_status 0
expect_out_has 'repaired stale-index'
k_expect ''
run "$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
    --account __index__ --password-fd 3 --out-fd 1 3<"$PW"
expect_status 0
expect 'the other entry stayed' test "$(cat "$T_OUT")" = '["other"]'
k_back 'an index that is no list'
printf 'nonsense' >"$T_TMP/none"
"$CK" keychain update "$LOGIN" --service bot.clankie.credentials \
    --account __index__ --password-fd 3 --secret-fd 4 3<"$PW" 4<"$T_TMP/none"
k_finds 21 not-judged
