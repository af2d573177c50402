#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# keychain list and find, for people and as JSON: pinned by files in
# fixtures/keychain, complete without a password, and harmless to a terminal
# whatever the names are.
# shellcheck disable=SC2119  # kc_new takes options, or none
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/keychain.sh"

FIXTURES=$T_ROOT/fixtures/keychain

# Output names the file, which is somewhere else each time.
without_path() {
	sed "s|$KC|FILE|" "$T_OUT" >"$T_TMP/shown"
}

for name in v100-passwords-identities-certs v200-genp-inet-keys; do
	t_case "$name"
	case $name in
	v100*) file=$name.keychain ;;
	*) file=$name.keychain-db ;;
	esac
	if ! t_vector "$file" "$KC"; then
		skip 'list' 'no vectors here'
		continue
	fi
	snapshot "$T_HOME"
	run "$CK" keychain list "$KC" --json
	expect_status 0
	expect_err_empty
	without_path
	expect_same "$T_TMP/shown" "$FIXTURES/$name.json"
	run "$CK" keychain list "$KC"
	expect_status 0
	without_path
	expect_same "$T_TMP/shown" "$FIXTURES/$name.txt"
	run "$CK" keychain find "$KC" --service test_service \
	    --account test_account --json
	expect_status 0
	cp "$T_OUT" "$T_TMP/found"
	run "$CK" keychain list "$KC" --json
	expect 'find says what list says' grep -qF \
	    "$(sed 's/^{"ok":true,"item":\(.*\)}$/\1/' "$T_TMP/found")" "$T_OUT"
	expect_json items.0.class public-key
	# Unlocked it says the same.
	cp "$T_OUT" "$T_TMP/locked"
	printf password | t_write "$T_TMP/pw"
	run "$CK" keychain list "$KC" --json --password-fd 3 3<"$T_TMP/pw"
	expect_out_is "$T_TMP/locked"
	if t_find_tool jq; then
		expect 'jq reads it' jq -e '.items | length > 0' "$T_OUT"
		expect 'dates are ISO 8601' jq -e '[.items[] | select(.created)
		    | .created, .modified | fromdateiso8601] | length > 3' \
		    "$T_OUT"
	else
		skip 'jq reads it' 'no jq here'
	fi
	expect_unchanged 'looking changed nothing'
done

t_case 'a file that only can be read'
kc_new
t_bearer "$T_TMP/one"
kc_add s a "$T_TMP/one"
chmod 0400 "$KC"
rm -f "$T_HOME"/.fl*
chmod 0500 "$T_HOME"
snapshot "$T_HOME"
run "$CK" keychain list "$KC"
expect_status 0
expect_out_has 'service           s'
kc_get s a
expect_same "$GOT" "$T_TMP/one"
kc_verify
expect_status 0
expect_unchanged
chmod 0700 "$T_HOME"

t_case 'pinned JSON of the other commands'
rm -f "$KC"
printed() { # what is printed is this, with FILE for the path
	without_path
	printf '%s\n' "$1" >"$T_TMP/want"
	expect_same "$T_TMP/shown" "$T_TMP/want"
}
kc_new --json
printed '{"ok":true,"path":"FILE","done":"created"}'
kc_add s a "$T_TMP/one" --json
printed '{"ok":true,"path":"FILE","done":"added"}'
run "$CK" keychain update "$KC" --service s --account a --label l \
    --password-fd 3 --json 3<"$PW"
printed '{"ok":true,"path":"FILE","done":"updated"}'
run "$CK" keychain passwd "$KC" --password-fd 3 --new-password-fd 4 --json \
    3<"$PW" 4<"$PW"
printed '{"ok":true,"path":"FILE","done":"password changed"}'
run "$CK" keychain verify "$KC" --password-fd 3 --json 3<"$PW"
sed 's/"signature":"[0-9a-f]\{32\}"/"signature":"S"/' "$T_OUT" >"$T_TMP/x"
cp "$T_TMP/x" "$T_OUT"
printed '{"ok":true,"path":"FILE","version":256,"commit":4,"idle_timeout":300,"lock_on_sleep":true,"signature":"S","unlocked":true,"keys_checked":1}'
run "$CK" keychain delete "$KC" --service s --account a --json
printed '{"ok":true,"path":"FILE","done":"deleted"}'
run "$CK" keychain delete "$KC" --service s --account a --json
expect_status 10
printed '{"ok":false,"code":"absent","exit":10,"place":"FILE","message":"has no such item","next":""}'

no_control() { # but line ends in the file
	tr -d '\n' <"$1" >"$T_TMP/flat"
	refute 'no control character' grep -q '[[:cntrl:]]' "$T_TMP/flat"
}

# R11: one record in, one record out.
t_case 'names that would like to be something else'
kc_new
esc=$(printf '\033')
n=0
name() { # printf format of the name, what people see
	# shellcheck disable=SC2059  # a format
	want=$(printf "$1")
	printf '%s\n' "$want" >"$T_TMP/want"
	kc_add "$want" "$want" "$T_TMP/one" --label "$want" --comment "$want"
	expect_status 0
	kc_get "$want" "$want"
	expect_same "$GOT" "$T_TMP/one"
	run "$CK" keychain list "$KC" --json
	# Not with expect_json, which would print them.
	for member in service account label comment; do
		"$T_TOOLS/ck-json" "items.$n.$member" <"$T_OUT" >"$T_TMP/have"
		expect_same "$T_TMP/have" "$T_TMP/want"
	done
	run "$CK" keychain list "$KC"
	expect_out_has "  service           $2"
	run "$CK" keychain find "$KC" --service "$want" --account "not $want"
	expect_status 10
	n=$((n + 1))
}
name 'a\nservice           forged' 'a\x0aservice'
name 'a\rb' 'a\x0db'
name '\033[2J\033]0;title\007' '\x1b[2J\x1b]0;title\x07'
name '\302\233[2J' '\xc2\x9b[2J'
name '\342\200\256gpj.exe\342\200\254' '\xe2\x80\xaegpj.exe\xe2\x80\xac'
name 'a\342\200\213b' 'a\xe2\x80\x8bb'
name '\330\234x' '\xd8\x9cx'
name '\357\273\277x' '\xef\xbb\xbfx'
name 'a\\x0ab' 'a\\x0ab'
name '"},{"service":"x' '"},{"service":"x'
name 'caf\303\251 \360\237\224\221' "$(printf 'caf\303\251 \360\237\224\221')"
name "$(awk 'BEGIN { for (i = 0; i < 150; i++) printf "\\303\\251" }')" \
    "$(awk 'BEGIN { for (i = 0; i < 150; i++) printf "%c%c", 195, 169 }')"
name 'tab\there' 'tab\x09here'
run "$CK" keychain list "$KC"
expect "each of $n is one record" [ "$(grep -c '^generic ' "$T_OUT")" -eq "$n" ]
expect 'each has one service' \
    [ "$(grep -c '^  service  ' "$T_OUT")" -eq "$n" ]
no_control "$T_OUT"
run "$CK" keychain list "$KC" --json
expect_json "items.$((n - 1)).number" $((n - 1))
expect 'one line' [ "$(wc -l <"$T_OUT")" -eq 1 ]
no_control "$T_OUT"

t_case 'names that are no text'
kc_new
bad=$(printf 'a\377\376b')
kc_add "$bad" 'a' "$T_TMP/one"
expect_status 0
run "$CK" keychain list "$KC" --json
expect_json items.0.service_hex 61fffe62
expect_json items.0.account a
run "$CK" keychain list "$KC"
expect_out_has 'a\xff\xfeb'
kc_get "$bad" a
expect_same "$GOT" "$T_TMP/one"

t_case 'a reason that quotes such names'
run "$CK" keychain list "$T_HOME/${esc}[31mred$bad" --json
expect_status 23
expect_err_has '\x1b[31mreda\xff\xfeb'
expect_json code no-store
no_control "$T_ERR"

t_case 'a path that would like to be something else'
KC="$T_HOME/x${esc}[31m.keychain"
kc_new
expect_status 0
run "$CK" keychain list "$KC"
expect_out_has 'x\x1b[31m.keychain'
KC=$T_HOME/test.keychain

t_case 'access lists'
kc_new
kc_add any a "$T_TMP/one"
kc_add none a "$T_TMP/one" --always-ask
kc_add some a "$T_TMP/one" --trust /usr/bin/security --trust '/a b/"c"'
run "$CK" keychain list "$KC" --json
expect_json items.0.access any
expect_json items.1.access none
expect_json items.2.access trusted
expect_json items.2.trusted.0.path /usr/bin/security
expect_json items.2.trusted.1.path '/a b/"c"'
set --
i=0
while [ "$i" -lt 32 ]; do
	set -- "$@" --trust "/bin/program$i"
	i=$((i + 1))
done
kc_add most a "$T_TMP/one" "$@"
expect_status 0
run "$CK" keychain list "$KC"
expect_out_has '  trusts            /bin/program31'
kc_get most a
expect_same "$GOT" "$T_TMP/one"
kc_verify
expect_status 0
