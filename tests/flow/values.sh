#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# traced: no
#
# Whatever a value looks like: it is refused while everything is as it was, or
# there is a way back that gives it to the same reader again.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

API='{"type":"api","key":"a-first-value"}'

values() { # DIR; one file each
	mkdir "$1"
	printf '%s' "$API" | sed 's/first/next/' >"$1/object"
	printf '%s\n' "$(cat "$1/object")" >"$1/newline"
	printf '%s\r\n\n' "$(cat "$1/object")" >"$1/newlines"
	printf '  %s\t' "$(cat "$1/object")" >"$1/spaces"
	printf '{ "type" : "api",\n  "key" : "spread" }\n' >"$1/spread"
	printf '{"type":"api","key":"\\u00e4\\"\\\\\\/\\u2028"}' >"$1/escapes"
	printf '{"type":"api","key":"\303\244 \342\202\254"}' >"$1/utf8"
	printf '{"a":{"b":[1,2.5,-0,1e5,null,true]},"":""}' >"$1/nested"
	printf '{}' >"$1/empty-object"
	printf '{"type":"api","key":"%065536d"}' 7 >"$1/large"
	printf '{"key":"\\ud800"}' >"$1/half-surrogate"
	printf '{"key":"\\ud83d\\ude00"}' >"$1/surrogates"
	printf '{"key":1e999}' >"$1/huge-number"
	printf '{"key":"a","key":"b"}' >"$1/twice"
	printf '{"key":"a"' >"$1/cut"
	printf '{"key":"a"} x' >"$1/behind"
	printf '{"key":"a"}\0' >"$1/nul-behind"
	printf '{"key":"\\u0000"}' >"$1/nul-escape"
	printf '{"key":"\377"}' >"$1/bad-utf8"
	printf '\357\273\277{"key":"a"}' >"$1/byte-order-mark"
	printf '["a"]' >"$1/array"
	printf '"text"' >"$1/string"
	printf 'null' >"$1/null"
	printf 'ghp_plain' >"$1/plain"
	printf 'ghp_plain\n' >"$1/plain-newline"
	printf '"text"\n' >"$1/string-newline"
	printf '17' >"$1/number"
	printf ' [ ]' >"$1/space-array"
	printf 'true' >"$1/true"
	printf '\r\n' >"$1/only-crlf"
	printf 'ghp_plain\r\n' >"$1/plain-crlf"
	printf "%s" "{'key':'a'}" >"$1/single-quotes"
	printf '{"key":"a",}' >"$1/comma"
	printf 'x' >"$1/byte"
	printf '%0400000d' 7 >"$1/digits"
	printf '\n' >"$1/only-newline"
	printf ' ' >"$1/only-space"
	printf 'a\0b' >"$1/nul"
	printf '\001\002\377' >"$1/bytes"
	: >"$1/nothing"
	awk 'BEGIN { for (i = 0; i < 600; i++) printf "{\"a\":"
	    printf "1"; for (i = 0; i < 600; i++) printf "}" }' >"$1/deep"
}

# The same bytes, or the same JSON.
means() { # file, file
	cmp -s "$1" "$2" || {
		"$T_TOOLS/ck-json" . <"$1" >"$T_TMP/one" 2>/dev/null &&
		    "$T_TOOLS/ck-json" . <"$2" >"$T_TMP/two" 2>/dev/null &&
		    cmp -s "$T_TMP/one" "$T_TMP/two"
	}
}

# shellcheck disable=SC2086  # words
ck() { # into standard output; the broker's password with it
	"$CK" "$@" $PASS 3<"$PW"
}

# shellcheck disable=SC2086  # words
run_ck() {
	run "$CK" "$@" $PASS 3<"$PW"
}

there_and_back() { # name of the value
	value=$T_TMP/values/$1
	run_ck rotate last --secret-fd 4 4<"$value"
	if [ "$status" -ne 0 ]; then
		refused=$((refused + 1))
		expect "$1: refused with a code of its own" \
		    [ "$status" = 14 -o "$status" = 2 ]
		expect_unchanged "$1: refused, and nothing was changed"
		return
	fi
	taken=$((taken + 1))
	ck get last >"$T_TMP/got"
	expect "$1: get gives the very bytes" cmp -s "$T_TMP/got" "$value"
	run_ck restore last
	expect "$1: restored" test "$status" -eq 0
	ck get last >"$T_TMP/got"
	expect "$1: the broker gives the same" means "$T_TMP/got" "$value"
	run_ck migrate last
	expect "$1: and moved again" test "$status" -eq 0
	snapshot "$T_HOME"
}

each_value() {
	taken=0 refused=0
	snapshot "$T_HOME"
	for value in "$T_TMP/values"/*; do
		there_and_back "${value##*/}"
	done
}

values "$T_TMP/values"
printf '%s' "$API" >"$T_TMP/api"

t_case 'beside a file broker'
c_home
c_broker
: >"$PW"
PASS=''
run_ck migrate
expect_status 0
run_ck migrate last --service other --account last
expect_status 0
each_value
expect "JSON objects go there and back ($taken)" test "$taken" -ge 10
expect "what is none is refused ($refused)" test "$refused" -ge 15

# Whatever the broker's file holds: what was taken out goes back as it was
# spelled there.
t_case 'out of a file broker and back'
odd() { # text of the value of last
	c_home
	c_broker
	sed '/"last": /d' "$BROKER" >"$T_TMP/odd"
	printf '%s\n' "  \"last\": $1
}" | cat "$T_TMP/odd" - | sed '/^}$/{$!d;}' | t_write "$BROKER"
	snapshot "$T_HOME"
	ck get last --service other --account last >"$T_TMP/was"
	printf '%s' "$1" >"$T_TMP/text"
	expect "$1: get gives its bytes" cmp -s "$T_TMP/was" "$T_TMP/text"
	run_ck migrate last --service other --account last
}
for text in '"plain"' '-17.50' null true '[ "a",{}]' '{ "key" :"a" }' \
    '"caf\u00e9\/"' '{"type":"api","key":"","":[1,2.50,-0]}'; do
	odd "$text"
	expect_status 0
	ck get last >"$T_TMP/got"
	expect "$text: the same in the keychain" cmp -s "$T_TMP/got" "$T_TMP/was"
	run_ck restore last
	expect_status 0
	ck get last >"$T_TMP/got"
	expect "$text: and in the broker" cmp -s "$T_TMP/got" "$T_TMP/was"
done
for text in '{"key":"\ud800"}' '"\udc00"' 1e999; do
	odd "$text"
	expect_status 14
	expect_unchanged "$text: cannot be proved, so nothing was changed"
done
odd '"plain"'
snapshot "$T_HOME"
printf 17 >"$T_TMP/text"
run_ck rotate last --secret-fd 4 4<"$T_TMP/text"
expect_status 14
expect_err_has '{"type":"api","key":"..."}'
expect_unchanged 'the broker would drop a number for a text'
printf '"text"' >"$T_TMP/text"
run_ck rotate last --secret-fd 4 4<"$T_TMP/text"
expect_status 0
run_ck restore last
expect_status 0
ck get last >"$T_TMP/got"
expect 'a text follows a text' cmp -s "$T_TMP/got" "$T_TMP/text"

t_case 'beside a keychain, which holds bytes'
c_home
c_login_new >"$T_TMP/null"
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER" >"$T_TMP/null"
c_add other last "$T_TMP/api" >"$T_TMP/null"
PASS='--login-password-fd 3'
run_ck migrate --broker "keychain:$LOGIN"
expect_status 0
run_ck migrate last --service other --account last
expect_status 0
each_value
expect "everything goes there and back ($taken)" test "$taken" -ge 38

t_case 'a name that the records do not know'
run "$CK" get nobody
expect_status 11
run_ck get nobody
expect_status 2
