#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# keychain with files that are none, words that are wrong and places where it
# must not write: each has its own exit status and leaves everything alone.
# shellcheck disable=SC2119  # kc_new takes options, or none
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/keychain.sh"

T_LIMIT=2
[ "$T_SANITIZED" -eq 0 ] || T_LIMIT=10

# R30.  Each in a directory of its own, to see that nothing appears beside it.
odd=$T_HOME/odd
mkdir "$odd"
t_bearer "$T_TMP/one"
refuse() { # name, exit status, text; $odd/file was made
	t_case "$1"
	snapshot "$odd"
	run "$CK" keychain list "$odd/file"
	expect_status "$2"
	expect_err_has "$3"
	expect_out_empty
	for verb in list verify find; do
		if [ "$verb" = find ]; then
			set -- "$1" "$2" "$3" --service s --account a
		fi
		KC_NAME=$1 KC_STATUS=$2 KC_TEXT=$3
		shift 3
		run "$CK" keychain "$verb" "$odd/file" --json --password-fd 3 \
		    "$@" 3<"$PW"
		set -- "$KC_NAME" "$KC_STATUS" "$KC_TEXT"
		expect_status "$2"
		expect_json exit "$2"
		expect_json ok false
	done
	KC=$odd/file
	kc_add s a "$T_TMP/one"
	expect_status "$2"
	kc_update s a "$T_TMP/one"
	expect_status "$2"
	kc_delete s a
	expect_status "$2"
	run "$CK" keychain passwd "$KC" --password-fd 3 --new-password-fd 4 \
	    3<"$PW" 4<"$T_TMP/one"
	expect_status "$2"
	t_no_secret
	expect_unchanged 'nothing changed and nothing appeared'
	rm -rf "$odd/file"
}

refuse 'no file' 23 'cannot open it'
: >"$odd/file"
refuse 'empty file' 13 'empty'
printf 'kych and fourteen+.' >"$odd/file"
refuse '19 bytes' 13 ''
printf 'SQLite format 3\000' >"$odd/file"
head -c 8192 /dev/zero >>"$odd/file"
refuse 'SQLite' 14 'SQLite'
printf '\211PNG\r\n\032\n\000\000\000\rIHDR\000\000\000\001' >"$odd/file"
head -c 500 /dev/zero >>"$odd/file"
refuse 'PNG' 14 ''
head -c 65536 /dev/urandom >"$odd/file"
refuse 'noise' 14 ''
mkdir "$odd/file"
refuse 'directory' 19 'a directory'
mkfifo "$odd/file"
refuse 'FIFO' 19 'a FIFO'
ln -s /dev/zero "$odd/file"
refuse 'link to /dev/zero' 19 'a symbolic link'
ln -s nowhere "$odd/file"
refuse 'dangling link' 19 'a symbolic link'
# Not through ck-snapshot's digests: it would read them.
if truncate -s 4G "$odd/file" 2>/dev/null; then
	t_case '4 GiB of nothing'
	run "$CK" keychain list "$odd/file"
	expect_status 14
	kc_add s a "$T_TMP/one"
	expect_status 14
	if t_vector v100-genp-inet-keys.keychain "$odd/file"; then
		truncate -s 4G "$odd/file"
		run "$CK" keychain list "$odd/file"
		expect_status 14
		expect_err_has 'larger'
	fi
	expect 'nothing appeared' [ "$(ls -A "$odd")" = file ]
	rm -f "$odd/file"
else
	skip '4 GiB of nothing' 'no such file can be made here'
fi
t_case 'a device'
run "$CK" keychain list /dev/zero
expect_status 19
expect_err_has 'a device'
if t_vector corrupt-fuzzed.keychain "$odd/file"; then
	refuse 'fuzzed keychain' 13 ''
fi
KC=$T_HOME/test.keychain

# R31
t_case 'wrong password, damage and absence differ'
kc_new
kc_add s a "$T_TMP/one" --label zebra-label
t_password "$T_TMP/wrong"
run "$CK" keychain find "$KC" --service s --account a --password-fd 3 \
    --out-fd 4 3<"$T_TMP/wrong" 4>"$GOT"
expect_status 11
t_no_secret
refute 'nothing came out' [ -s "$GOT" ]
run "$CK" keychain verify "$KC" --password-fd 3 --json 3<"$T_TMP/wrong"
expect_status 11
expect_json code locked
run "$CK" keychain find "$KC" --service s --account b --password-fd 3 \
    3<"$T_TMP/wrong"
expect_status 11
run "$CK" keychain find "$KC" --service s --account a --out-fd 4 4>"$GOT"
expect_status 11
expect_err_has '--password-fd'
size=$(wc -c <"$KC")
head -c "$((size - 4))" "$KC" >"$odd/file"
run "$CK" keychain verify "$odd/file"
expect_status 13
# The label is first in the access list of the key, which is authenticated.
cp "$KC" "$odd/file"
at=$(grep -abo zebra-label "$KC" | head -n 1 | cut -d: -f1)
printf Z | dd of="$odd/file" bs=1 seek="$at" conv=notrunc 2>/dev/null
run "$CK" keychain verify "$odd/file"
expect_status 0
expect_out_has 'no key was checked'
run "$CK" keychain verify "$odd/file" --password-fd 3 3<"$PW"
expect_status 13
expect_out_empty
rm -f "$odd/file"

# Words.
t_case 'wrong words'
snapshot "$T_HOME"
wrong() { # exit 2 and silence for these words
	run "$CK" keychain "$@" 3<"$PW" 4<"$T_TMP/one"
	expect_status 2
	expect_out_empty
	t_no_secret
}
wrong
wrong frobnicate "$KC"
wrong list
wrong list ''
wrong list "$KC" "$KC"
wrong list "$KC" --frobnicate
wrong list "$KC" --service s
wrong list "$KC" --json=yes
wrong list "$KC" --password-fd
wrong list "$KC" --password-fd ''
wrong list "$KC" --password-fd=
wrong list "$KC" --password-fd 77
wrong list "$KC" --password-fd -1
wrong list "$KC" --password-fd 3x
wrong list "$KC" --password-fd 0x3
wrong list "$KC" --password-fd ' 3'
wrong list "$KC" --password-fd +3
wrong list "$KC" --password-fd 4294967299
wrong list "$KC" --password-fd 18446744073709551619
wrong list "$KC" --password-fd 99999999999999999999999999
wrong list "$KC" --password-fd 3 --unlock-key-fd 4
wrong find "$KC" --password-fd 3
wrong find "$KC" --service s
wrong find "$KC" --account a
wrong find "$KC" --class key
wrong find "$KC" --class frob --service s --account a
wrong find "$KC" --service s --account a --password-fd 3 --out-fd 3
wrong find "$KC" --service s --account a --password-fd 3 --out-fd 77
wrong verify "$KC" --out-fd 1
wrong create "$KC.new"
wrong create "$KC.new" --password-fd 3 --service s
wrong create "$KC.new" --password-fd 3 --blob-version 0x300
wrong create "$KC.new" --password-fd 3 --blob-version 256
wrong create "$KC.new" --password-fd 3 --lock-after -1
wrong create "$KC.new" --password-fd 3 --lock-after 2147483648
wrong create "$KC.new" --password-fd 3 --lock-after 1e9
wrong create "$KC.new" --password-fd 3 --lock-on-sleep maybe
wrong add "$KC" --service s --account b --password-fd 3
wrong add "$KC" --service s --account b --secret-fd 4
wrong add "$KC" --service s --password-fd 3 --secret-fd 4
wrong add "$KC" --service s --account b --password-fd 3 --secret-fd 3
wrong add "$KC" --service s --account b --password-fd 3 --secret-fd 4 \
    --always-ask --trust /bin/sh
wrong add "$KC" --service s --account b --password-fd 3 --secret-fd 4 --out-fd 1
wrong update "$KC" --password-fd 3
wrong update "$KC" --service s --account a --password-fd 3
wrong update "$KC" --service s --account a --password-fd 3 --secret-fd 4 --label x
wrong update "$KC" --service s --account a --password-fd 3 --secret-fd 4 --lock-after 1
wrong update "$KC" --lock-after 1
wrong update "$KC" --service s --lock-after 1 --password-fd 3
wrong delete "$KC"
wrong delete "$KC" --service s
wrong delete "$KC" --service s --account a --secret-fd 4
wrong passwd "$KC" --password-fd 3
wrong passwd "$KC" --new-password-fd 4
wrong passwd "$KC" --password-fd 3 --new-password-fd 3
expect_err_has 'usage: clankie-keys keychain passwd FILE --password-fd N'
set --
i=0
while [ "$i" -lt 33 ]; do
	set -- "$@" --trust "/bin/program$i"
	i=$((i + 1))
done
wrong add "$KC" --service s --account b --password-fd 3 --secret-fd 4 "$@"
t_case 'a secret and JSON on one descriptor'
run "$CK" keychain find "$KC" --service s --account a --password-fd 3 \
    --out-fd 1 --json 3<"$PW"
expect_status 2
expect_json code usage
expect_unchanged 'wrong words change nothing'

t_case 'descriptors that do not do'
run "$CK" keychain find "$KC" --service s --account a --password-fd 3 \
    --out-fd 4 3<"$PW" 4<"$T_TMP/one"
expect_status 2
expect_err_has 'not open for writing'
t_no_secret
run "$CK" keychain list "$KC" --password-fd 3 3>"$T_TMP/write-only"
expect_status 2
expect_err_has 'not open for reading'
run "$CK" keychain list "$KC" --password-fd 3 3<"$T_HOME"
refute 'a directory as password is no success' [ "$status" -eq 0 ]
refute 'nor absent' [ "$status" -eq 10 ]
if [ -c /dev/full ]; then
	run "$CK" keychain find "$KC" --service s --account a \
	    --password-fd 3 --out-fd 4 3<"$PW" 4>/dev/full
	expect_status 17
	run sh -c '"$1" keychain list "$2" >/dev/full' sh "$CK" "$KC"
	expect_status 17
fi
head -c 65537 /dev/zero | t_write "$T_TMP/long"
run "$CK" keychain list "$KC" --password-fd 3 3<"$T_TMP/long"
expect_status 2
expect_err_has '65536'

# R12.  The attributes have nowhere to go when standard output is closed, and
# data that is lost is an error; no descriptor of ours ever takes its place.
t_case 'nothing on the standard descriptors'
run sh -c 'exec "$1" keychain find "$2" --service s --account a \
    --password-fd 3 --out-fd 4 3<"$3" 4>"$4" <&- >&- 2>&-' \
    sh "$CK" "$KC" "$PW" "$GOT"
expect_status 25
expect_same "$GOT" "$T_TMP/one"
t_case 'nobody reads the standard descriptors'
run sh -c 'exec "$1" keychain find "$2" --service s --account a \
    --password-fd 3 --out-fd 4 3<"$3" 4>"$4" </dev/null >/dev/null 2>&-' \
    sh "$CK" "$KC" "$PW" "$GOT"
expect_status 0
expect_same "$GOT" "$T_TMP/one"
if t_find_tool setsid; then
	run setsid -w "$CK" keychain find "$KC" --service s --account a \
	    --password-fd 3 --out-fd 4 3<"$PW" 4>"$GOT"
	expect_status 0
	expect_same "$GOT" "$T_TMP/one"
fi

# R17, R19: by any name.
t_case 'login and System keychains'
mkdir -p "$T_HOME/Library/Keychains" "$T_HOME/plain"
cp "$KC" "$T_HOME/Library/Keychains/login.keychain-db"
cp "$KC" "$T_HOME/Library/Keychains/LOGIN.Keychain"
chmod 0600 "$T_HOME/Library/Keychains/"*
ln -s ../Library/Keychains "$T_HOME/plain/dir"
ln -s ../Library/Keychains/login.keychain-db "$T_HOME/plain/link"
ln "$T_HOME/Library/Keychains/login.keychain-db" "$T_HOME/plain/hard"
snapshot "$T_HOME"
for path in "$T_HOME/Library/Keychains/login.keychain-db" \
    "$T_HOME/Library/Keychains/LOGIN.Keychain" "$T_HOME/plain/hard" \
    "$T_HOME/plain/link" "$T_HOME/plain/dir/login.keychain-db" \
    "$T_HOME/plain/../Library/Keychains/login.keychain-db"; do
	saved=$KC
	KC=$path
	kc_delete s a
	expect_status 19
	kc_add new a "$T_TMP/one"
	expect_status 19
	kc_update s a "$T_TMP/one"
	expect_status 19
	run "$CK" keychain passwd "$KC" --password-fd 3 --new-password-fd 4 \
	    3<"$PW" 4<"$T_TMP/one"
	expect_status 19
	KC=$saved
done
for path in /Library/Keychains/System.keychain \
    /library/keychains/x.keychain /System/Library/Keychains/x.keychain; do
	run "$CK" keychain delete "$path" --service s --account a
	expect_status 19
done
for name in login.keychain login.keychain-db Login.Keychain2 \
    my.LOGIN.KEYCHAIN.x; do
	run "$CK" keychain create "$T_HOME/$name" --password-fd 3 3<"$PW"
	expect_status 19
	expect_err_has 'login'
done
expect_unchanged 'none was touched'
run "$CK" keychain list "$T_HOME/Library/Keychains/login.keychain-db"
expect_status 0

t_case 'places where it cannot write'
if [ "$(id -u)" -ne 0 ]; then
	mkdir "$T_HOME/shut"
	cp "$KC" "$T_HOME/shut/k"
	chmod 0500 "$T_HOME/shut"
	snapshot "$T_HOME/shut"
	saved=$KC
	KC=$T_HOME/shut/k
	kc_add s b "$T_TMP/one"
	expect_status 12
	kc_get s a
	expect_status 0
	expect_same "$GOT" "$T_TMP/one"
	KC=$saved
	run "$CK" keychain create "$T_HOME/shut/new" --password-fd 3 3<"$PW"
	expect_status 12
	chmod 0000 "$T_HOME/shut"
	run "$CK" keychain list "$T_HOME/shut/k"
	expect_status 12
	chmod 0500 "$T_HOME/shut"
	expect_unchanged
	chmod 0700 "$T_HOME/shut"
	chmod 0000 "$T_HOME/shut/k"
	run "$CK" keychain list "$T_HOME/shut/k"
	expect_status 12
else
	skip 'denied' 'root is not denied anything'
fi
run "$CK" keychain create "$T_HOME/no/such/k" --password-fd 3 3<"$PW"
expect_status 23
run "$CK" keychain create "$KC" --password-fd 3 3<"$PW"
expect_status 19
expect_err_has 'exists'
