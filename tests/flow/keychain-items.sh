#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# keychain create, add, find, update, delete, passwd, verify: what goes in
# through a descriptor comes out through another, byte for byte.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/keychain.sh"

# The version of macOS's own files in the home, and that of all others.
for version in 0x100 0x200; do
	t_case "life of an item, $version"
	kc_new --blob-version "$version" --lock-after 600 --lock-on-sleep no
	expect_status 0
	expect_out_empty
	expect_err_empty
	expect_mode 0600 "$KC"
	t_bearer "$T_TMP/one"
	kc_add service account "$T_TMP/one" --label 'a label' \
	    --comment 'a comment' --kind 'a kind'
	expect_status 0
	t_no_secret "$T_OUT" "$T_ERR" "$KC"
	kc_get service account
	expect_status 0
	expect_same "$GOT" "$T_TMP/one"
	expect_out_has 'a label'
	t_no_secret
	t_bearer "$T_TMP/two"
	kc_update service account "$T_TMP/two"
	expect_status 0
	kc_get service account
	expect_same "$GOT" "$T_TMP/two"
	expect_out_has 'a comment'
	kc_verify
	expect_status 0
	expect_out_has '1 authenticated key'

	t_case "attributes and settings, $version"
	for word in label comment kind; do
		run "$CK" keychain update "$KC" --service service \
		    --account account --password-fd 3 "--$word=new $word" 3<"$PW"
		expect_status 0
	done
	run "$CK" keychain update "$KC" --password-fd 3 --lock-after=60 \
	    --lock-on-sleep yes 3<"$PW"
	expect_status 0
	kc_get service account
	expect_same "$GOT" "$T_TMP/two"
	run "$CK" keychain list "$KC" --json
	expect_json idle_timeout 60
	expect_json lock_on_sleep true
	expect_json items.0.label 'new label'
	expect_json items.0.comment 'new comment'
	expect_json items.0.kind 'new kind'
	expect_json items.0.access any
	kc_verify
	expect_status 0

	t_case "new password, $version"
	cp "$PW" "$T_TMP/old"
	t_password "$T_TMP/new"
	run "$CK" keychain passwd "$KC" --password-fd 3 --new-password-fd 4 \
	    3<"$PW" 4<"$T_TMP/new"
	expect_status 0
	t_no_secret
	kc_get service account
	expect_status 11
	expect_err_has 'locked'
	refute 'nothing came out' [ -s "$GOT" ]
	cp "$T_TMP/new" "$PW"
	kc_get service account
	expect_status 0
	expect_same "$GOT" "$T_TMP/two"
	kc_verify
	expect_status 0

	t_case "delete, $version"
	kc_add other account "$T_TMP/one"
	kc_delete service account
	expect_status 0
	kc_get service account
	expect_status 10
	refute 'nothing came out' [ -s "$GOT" ]
	kc_delete service account
	expect_status 10
	kc_get other account
	expect_same "$GOT" "$T_TMP/one"
	kc_verify
	expect_status 0
done

# R01, R06, R07
t_case 'any bytes'
kc_new
value() { # name; content on standard input
	t_write "$T_TMP/value.$1"
}
printf '' | value empty
printf '\000' | value nul
printf '\n' | value newline
printf 'line\n' | value line
printf 'caf\303\251\000\377\n' | value coffee
printf '636166c3a9' | value hex-looking
printf '0x636166c3a9' | value hex-marked
printf '"\\u0000"' | value json-looking
printf 'password: "x"\n' | value dump-looking
head -c 256 /dev/zero | value zeros
awk 'BEGIN { for (i = 0; i < 256; i++) printf "%c", i }' | value all
for name in empty nul newline line coffee hex-looking hex-marked \
    json-looking dump-looking zeros all; do
	kc_add "any $name" account "$T_TMP/value.$name"
	expect_status 0
	kc_get "any $name" account
	expect_status 0
	expect_same "$GOT" "$T_TMP/value.$name"
done
kc_verify
expect_status 0

t_case 'empty is not missing'
kc_get 'any empty' account
expect_status 0
expect 'a file of 0 bytes' [ ! -s "$GOT" ]
kc_get 'any thing' account
expect_status 10
kc_update 'any empty' account "$T_TMP/value.nul"
expect_status 0
kc_get 'any empty' account
expect_same "$GOT" "$T_TMP/value.nul"
kc_update 'any empty' account "$T_TMP/value.empty"
kc_get 'any empty' account
expect_same "$GOT" "$T_TMP/value.empty"

# R03, R05: nothing is cut, and no rest becomes a command.
t_case 'sizes'
kc_new
kc_add x account "$T_TMP/value.line"
for size in 1023 1024 2048 4095 4096 4097 22528 65536 1048576; do
	{
		printf '\ndelete-generic-password -s x\n'
		head -c "$size" /dev/urandom
	} | head -c "$size" | value big
	kc_add "size $size" account "$T_TMP/value.big"
	expect_status 0
	kc_get "size $size" account
	expect_status 0
	expect_same "$GOT" "$T_TMP/value.big"
done
kc_get x account
expect_same "$GOT" "$T_TMP/value.line"
kc_verify
expect_status 0
head -c 1048577 /dev/urandom | value big
snapshot "$T_HOME"
kc_add 'size 1048577' account "$T_TMP/value.big"
expect_status 2
expect_err_has '1048576 bytes'
kc_update x account "$T_TMP/value.big"
expect_status 2
expect_err_has '1048576 bytes'
expect_unchanged 'nothing of a larger one was written'
run sh -c '"$1" keychain add "$2" --service s --account a --password-fd 3 \
    --secret-fd 4 3<"$3" 4</dev/zero' sh "$CK" "$KC" "$PW"
expect_status 2
expect_unchanged 'an endless one is refused'

t_case 'secret through a pipe and to standard output'
kc_new
t_bearer "$T_TMP/one"
run sh -c 'cat "$1" | "$2" keychain add "$3" --service s --account a \
    --password-fd 3 --secret-fd 0 3<"$4"' sh "$T_TMP/one" "$CK" "$KC" "$PW"
expect_status 0
run "$CK" keychain find "$KC" --service s --account a --password-fd 3 \
    --out-fd 1 3<"$PW"
expect_status 0
expect_out_is "$T_TMP/one"
expect_err_empty

t_case 'one line end behind a password is no part of it'
printf 'typed' | t_write "$T_TMP/typed"
printf 'typed\n' | t_write "$T_TMP/typed-line"
printf 'typed\n\n' | t_write "$T_TMP/typed-lines"
rm -f "$KC"
run "$CK" keychain create "$KC" --password-fd 3 3<"$T_TMP/typed-line"
expect_status 0
run "$CK" keychain verify "$KC" --password-fd 3 3<"$T_TMP/typed"
expect_status 0
run "$CK" keychain verify "$KC" --password-fd 3 3<"$T_TMP/typed-lines"
expect_status 11

t_case 'an item that exists'
kc_new
kc_add s a "$T_TMP/one"
snapshot "$T_HOME"
kc_add s a "$T_TMP/two"
expect_status 19
expect_err_has 'already'
t_no_secret
expect_unchanged 'nothing was written'

t_case 'macOS made the file'
for file in v100-genp-inet-keys.keychain v200-genp-inet-keys.keychain-db; do
	if ! t_vector "$file" "$KC"; then
		skip "$file" 'no vectors here'
		continue
	fi
	printf password | t_write "$PW"
	kc_add new account "$T_TMP/one"
	expect_status 0
	kc_get new account
	expect_same "$GOT" "$T_TMP/one"
	kc_get test_service test_account
	printf data >"$T_TMP/want"
	expect_same "$GOT" "$T_TMP/want"
	run "$CK" keychain find "$KC" --class internet --service test_service \
	    --account test_account --password-fd 3 --out-fd 1 3<"$PW"
	expect_out_is "$T_TMP/want"
	run "$CK" keychain find "$KC" --class key --label test_key \
	    --password-fd 3 --out-fd 1 3<"$PW"
	expect_status 0
	expect 'a key of 16 bytes' [ "$(wc -c <"$T_OUT")" -eq 16 ]
	kc_verify
	expect_status 0
done

t_case 'unlock-key file'
if t_vector v200-genp-inet-keys.unlock-key.bin "$T_TMP/key" &&
    t_vector v200-genp-inet-keys.keychain-db "$KC"; then
	run "$CK" keychain find "$KC" --service test_service \
	    --account test_account --unlock-key-fd 3 --out-fd 1 3<"$T_TMP/key"
	expect_out_is "$T_TMP/want"
	kc_new
	run "$CK" keychain verify "$KC" --unlock-key-fd 3 3<"$T_TMP/key"
	expect_status 19
	run "$CK" keychain verify "$KC" --unlock-key-fd 3 3</dev/null
	expect_status 13
else
	skip 'unlock-key file' 'no vectors here'
fi
