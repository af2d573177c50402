#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# traced: no
#
# reset --confirm when several credentials lay in the lost keychain: the bearer
# is made anew, the others go back to their broker without a value, and what
# can still be read is not given up.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

LAST='last --service other.service --account last'
API=$T_TMP/api.json

again() {
	rm -rf "$T_HOME"
	cp -a "$T_TMP/migrated" "$T_HOME"
}

value() { # file
	printf '{"type":"api","key":"%s"}' "$$-$(t_random)" >"$1"
	t_secret "$1"
}

t_random() {
	od -An -N8 -tx1 /dev/urandom | tr -d ' \n'
}

into_broker() { # account, file with its value
	{
		printf '{"%s":' "$1"
		cat "$2"
		printf '}'
	} | t_write "$BROKER"
}

t_case 'two in one keychain'
c_home
c_broker
run "$CK" migrate
# shellcheck disable=SC2086  # words
run "$CK" migrate $LAST
expect_status 0
value "$API"
run "$CK" rotate last --secret-fd 4 4<"$API"
expect_status 0
"$T_TOOLS/ck-json" password <"$UNLOCK" >"$T_TMP/unlock.then"
t_secret "$T_TMP/unlock.then"
cp -a "$T_HOME" "$T_TMP/migrated"
for name in operator last; do
	run "$CK" reset --confirm "$name"
	expect_status 19
done

for what in "$UNLOCK" "$DEDICATED" "$KEYS/operator"; do
	t_case "$(basename "$what") lost"
	again
	rm -r "$what"
	snapshot -d "$T_HOME"
	run "$CK" reset
	expect_status 22
	expect_err_has 'the bearer operator'
	expect_err_has 'last would be given up for good'
	expect_err_has '(put back'
	# The bearer must not go without a new one.
	run "$CK" reset --confirm last
	expect_status 14
	expect_err_has '(clankie-keys reset)'
	expect_unchanged 'nothing changed without --confirm'
	run "$CK" doctor --uninstall --confirm
	expect_status 22
	run "$CK" reset --confirm --json
	expect_status 0
	expect_json outcome reset
	expect_json generation 2
	expect_json given_up.0 last
	run "$CK" get
	expect_status 0
	refute 'it is another bearer' cmp -s "$T_OUT" "$BEARER"
	run "$CK" get last
	expect_status 10
	expect_out_empty
	expect_err_has 'migrate last then moves it'
	run "$CK" status last --json
	expect_json state broker
	expect_json fingerprint ''
	run "$CK" precedence verify
	expect_status 0
	run "$CK" check
	expect_status 0
	run "$CK" rotate last --secret-fd 4 4<"$API"
	expect_status 23
	expect 'nothing was left' c_strays
done

t_case 'and brought again'
value "$T_TMP/fresh"
into_broker last "$T_TMP/fresh"
run "$CK" migrate last
expect_status 0
run "$CK" get last
expect_out_is "$T_TMP/fresh"
run "$CK" status last --json
expect_json generation 3
run "$CK" precedence verify
expect_status 0

t_case 'a value of the other one in the broker'
again
rm "$UNLOCK"
into_broker last "$T_TMP/fresh"
snapshot -d "$T_HOME"
run "$CK" reset --confirm
expect_status 22
expect_err_has "$BROKER"
expect_unchanged 'nothing changed'

t_case 'only the item of the bearer is lost'
again
c_tamper delete --service bot.clankie.credentials \
    --account clankie_operator --password-fd 3 3<"$T_TMP/unlock.then"
snapshot -d "$T_HOME"
run "$CK" reset --confirm
expect_status 22
expect_err_has '(clankie-keys restore last)'
expect_unchanged 'nothing changed'
run "$CK" restore last
expect_status 0
run "$CK" reset --confirm --json
expect_status 0
expect_json given_up '[]'
run "$CK" get last
expect_out_is "$API"
run "$CK" get
expect_status 0

t_case 'only the item of the other one is lost'
again
c_tamper delete --service other.service --account last --password-fd 3 \
    3<"$T_TMP/unlock.then"
run "$CK" reset --confirm last
expect_status 22
expect_err_has '(clankie-keys restore)'
run "$CK" get
expect_out_is "$BEARER"
run "$CK" restore operator
expect_status 0
run "$CK" reset --confirm last
expect_status 0
run "$CK" get last
expect_status 10
run "$CK" get
expect_out_is "$BEARER"

t_case 'nothing that can be made here'
c_home
c_login_new
value "$API"
printf 'opaque-%s' "$(t_random)" >"$T_TMP/one"
c_add example.service one "$T_TMP/one"
c_add example.service two "$API"
migrate_login one --service example.service --account one
migrate_login two --service example.service --account two
expect_status 0
rm -rf "$T_TMP/migrated"
cp -a "$T_HOME" "$T_TMP/migrated"
rm -r "$KEYS/operator"
run "$CK" reset --login-password-fd 3 3<"$PW"
expect_status 23
expect_err_has '(clankie-keys reset one --login-password-fd N)'
run "$CK" reset one --login-password-fd 3 3<"$PW"
expect_status 22
expect_err_has 'one, two would be given up'
expect_err_has 'reset --confirm one --login-password-fd N)'
run "$CK" reset --confirm one --login-password-fd 3 --json 3<"$PW"
expect_status 0
expect_json keychain null
expect_json given_up.0 one
expect_json given_up.1 two
refute 'no keychain was made' test -e "$KEYS/operator"
for name in one two; do
	run "$CK" get "$name" --login-password-fd 3 3<"$PW"
	expect_status 10
	expect_err_has "migrate $name --login-password-fd N"
done
run "$CK" status one --json
expect_json state broker
expect_json ok true
run "$CK" check one --login-password-fd 3 3<"$PW"
expect_status 21
expect_err_has 'not-migrated'
c_add example.service one "$T_TMP/one"
run "$CK" migrate one --login-password-fd 3 3<"$PW"
expect_status 0
run "$CK" get one --login-password-fd 3 3<"$PW"
expect_out_is "$T_TMP/one"
run "$CK" precedence verify --login-password-fd 3 3<"$PW"
expect_status 0

if ! t_find_tool strace || ! strace -o /dev/null true 2>/dev/null; then
	skip 'interrupted ones' 'no strace here'
	exit
fi
. "$T_ROOT/tests/lib/inject.sh"
# Each call that changes something, of those that come after the old keychain
# was put aside.
t_case 'interrupted where nothing is made'
i=0
for call in renameat2:1 pwrite64:1 pwrite64:6 fdatasync:2 fdatasync:4 \
    unlinkat:1 unlink:1; do
	again
	rm -r "$KEYS/operator"
	i=$((i + 1))
	i_inject "${call%:*}:signal=KILL:when=${call#*:}" "$CK" reset \
	    --confirm one --login-password-fd 3 3<"$PW"
	run "$CK" get two --login-password-fd 3 3<"$PW"
	refute "$call: no value" test "$status" -eq 0
	run "$CK" reset --confirm one --login-password-fd 3 3<"$PW"
	case $status in
	0) ;;
	23) run "$CK" status one --json && expect_json state broker ;;
	*) expect_status 0 ;;
	esac
	for name in one two; do
		run "$CK" get "$name" --login-password-fd 3 3<"$PW"
		expect_status 10
	done
	run "$CK" status one --json
	expect_json unfinished null
done
