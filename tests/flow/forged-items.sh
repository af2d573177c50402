#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What others can put into the dedicated keychain without its password is not
# believed: items in the clear, and data encrypted without the key.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

SEAL='bot.clankie.custody seal-key'
ITEM='bot.clankie.credentials clankie_operator'

forge() { # plain or block, item, file with the bytes
	# shellcheck disable=SC2086  # words
	"$T_TOOLS/ck-forge" "$1" "$DEDICATED" $2 <"$3" 2>"$T_NOTE"
	t_result $? "$1 data can be put there"
}

# With a key that the forger chose the seal can be made to fit; so nothing but
# the item itself is in the way.
sealed() { # file with the value, file with the key
	"$T_TOOLS/ck-forge" seal "$1" <"$2" 2>"$T_NOTE"
	t_result $? 'the records are sealed under that key'
}

refused() {
	snapshot "$T_HOME"
	run "$CK" get
	expect_status 13
	expect_out_empty
	run sh -c '"$1" get --key 2>&1 | "$1" authenticate' sh "$CK"
	expect_status 13
	run sh -c '"$1" authenticate <"$2"' sh "$CK" "$T_TMP/chosen.key"
	expect_status 13
	run "$CK" precedence verify
	expect_status 13
	for words in check 'check --startup' 'check --repair'; do
		# shellcheck disable=SC2086  # words
		run "$CK" $words
		expect_status 21
	done
	for words in rotate 'rotate --keychain' restore; do
		# shellcheck disable=SC2086  # words
		run "$CK" $words
		expect_status 13
	done
	expect_unchanged 'and nothing was changed'
}

back() {
	t_case "$1"
	cat "$T_TMP/file" >"$DEDICATED"
	cat "$T_TMP/records" >"$KEYS/custody.db"
}

c_home
c_broker
run "$CK" migrate
expect_status 0
"$CK" rotate >"$T_TMP/null"
cat "$DEDICATED" >"$T_TMP/file"
cat "$KEYS/custody.db" >"$T_TMP/records"
"$CK" get >"$T_TMP/now"
t_bearer "$T_TMP/chosen.key"
{ printf '{"type":"api","key":"' && cat "$T_TMP/chosen.key" &&
    printf '"}'; } >"$T_TMP/chosen"
head -c 32 /dev/urandom >"$T_TMP/key"
head -c 64 /dev/urandom >"$T_TMP/longkey"
printf 7bytes. >"$T_TMP/short"
: >"$T_TMP/none"

back 'both items in the clear'
forge plain "$ITEM" "$T_TMP/chosen"
forge plain "$SEAL" "$T_TMP/key"
sealed "$T_TMP/chosen" "$T_TMP/key"
refused
back 'the value in the clear'
forge plain "$ITEM" "$T_TMP/now"
refused
back 'the seal key in the clear'
forge plain "$SEAL" "$T_TMP/key"
sealed "$T_TMP/now" "$T_TMP/key"
refused
back 'a seal key of the right length in the clear'
forge plain "$SEAL" "$T_TMP/longkey"
head -c 32 "$T_TMP/longkey" >"$T_TMP/half"
sealed "$T_TMP/now" "$T_TMP/half"
refused
for key in short none; do
	back "a $key key made from a block of padding"
	forge block "$SEAL" "$T_TMP/$key"
	sealed "$T_TMP/now" "$T_TMP/$key"
	refused
done

back 'as it was'
run "$CK" get
expect_status 0
expect_out_is "$T_TMP/now"

t_case 'an unlock password in the clear, in a login keychain'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
# shellcheck disable=SC2119  # nothing more to say
migrate_login
expect_status 0
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$T_TMP/planted"
"$T_TOOLS/ck-forge" plain "$LOGIN" bot.clankie.custody operator-keychain \
    <"$T_TMP/planted"
snapshot "$T_HOME"
for words in 'get --raw' rotate 'precedence verify'; do
	# shellcheck disable=SC2086  # words
	run "$CK" $words --login-password-fd 3 3<"$PW"
	expect_status 13
done
run "$CK" check --startup --login-password-fd 3 3<"$PW"
expect_status 21
expect_unchanged 'nothing was changed'
