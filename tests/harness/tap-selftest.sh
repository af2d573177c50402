#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The checks of tests/lib/tap.sh can fail, and fail without showing a secret.
CK=${CK:-/bin/true}
export CK
. "$(dirname "$0")/../lib/tap.sh"

# Runs a small script on the same library and keeps what it printed.
nested() {
	mkdir -p "$T_TMP/nest/tests/flow"
	ln -sfn "$T_ROOT/tests/lib" "$T_TMP/nest/tests/lib"
	{
		# shellcheck disable=SC2016  # for the nested script to expand
		echo '. "$(dirname "$0")/../lib/tap.sh"'
		cat
	} >"$T_TMP/nest/tests/flow/case.sh"
	status=0
	env CK="$CK" T_TOOLS="$T_TOOLS" sh "$T_TMP/nest/tests/flow/case.sh" \
	    >"$T_OUT" 2>"$T_ERR" || status=$?
}

t_case 'passing script'
nested <<'S'
run sh -c 'echo hello; exit 3'
expect_status 3
expect_out hello
expect_err_empty
S
expect_status 0
expect_out_has '1..3'
refute 'has no failure' grep -q '^not ok' "$T_OUT"

t_case 'each check that does not hold'
nested <<'S'
run sh -c 'echo hello; echo oops >&2; exit 3'
echo other >"$T_TMP/other"
expect_status 0
expect_out other
expect_out_empty
expect_out_has other
expect_out_is "$T_TMP/other"
expect_err_empty
expect_err_has other
expect_json a b
expect_same "$T_OUT" "$T_ERR"
expect_mode 0600 "$T_TMP"
expect what false
refute what true
t_no_secret
S
expect_status 1
expect_out_has '1..13'
refute 'is not ok' grep -q '^ok' "$T_OUT"

t_case 'script that dies'
nested <<'S'
ok 'first'
exit 7
S
expect_status 7
expect_out_has 'Bail out!'
refute 'has no plan' grep -q '^1\.\.' "$T_OUT"

t_case 'skipped script'
nested <<'S'
skip_all 'no such thing here'
S
expect_status 0
expect_out_has '1..0 # SKIP no such thing here'

t_case 'hanging command'
nested <<'S'
T_LIMIT=1
run sleep 30
expect_status 0
S
expect_status 1
expect_out_has 'stopped after 1 s'

t_case 'changed tree'
nested <<'S'
t_home
echo one >"$HOME/file"
snapshot "$HOME"
expect_unchanged same
echo two >"$HOME/file"
expect_unchanged content
snapshot "$HOME"
chmod 0600 "$HOME/file"
expect_unchanged mode
snapshot "$HOME" "$HOME/none"
ln "$HOME/file" "$HOME/none"
expect_unchanged link
S
expect_status 1
expect_out_has 'ok 1 - same'
for what in content mode link; do
	expect_out_has "- $what"
	expect "$what is seen" grep -q "^not ok .* $what" "$T_OUT"
done

t_case 'secret in the output of a failing check'
t_bearer "$T_TMP/bearer"
cp "$T_SECRETS" "$T_TMP/mine"
CK_TRACE_SECRETS=$T_TMP/mine
export CK_TRACE_SECRETS T_BEARER="$T_TMP/bearer"
nested <<'S'
run cat "$T_BEARER"
expect_status 1
expect_out_empty
expect_same "$T_BEARER" /dev/null
t_no_secret
S
expect_status 1
expect 'is noticed' grep -q '^not ok .*no piece' "$T_OUT"
expect_out_has 'sha256'
t_no_secret

t_case 'secret'
head -c 100 "$T_TMP/bearer" | tail -c 20 | head -c 8 >"$T_TMP/piece"
refute 'is found by a piece of 8 bytes' \
    "$T_TOOLS/ck-scan" files "$T_SECRETS" "$T_TMP/piece"
head -c 7 "$T_TMP/piece" >"$T_TMP/short"
expect 'is not found by fewer' \
    "$T_TOOLS/ck-scan" files "$T_SECRETS" "$T_TMP/short"
t_hex "$T_TMP/bearer" >"$T_TMP/hex"
refute 'is found in hex' \
    "$T_TOOLS/ck-scan" files "$T_SECRETS" "$T_TMP/hex"
for before in '' x xy; do
	{ printf '%s' "$before" && cat "$T_TMP/bearer"; } | base64 |
	    tr -d '\n' >"$T_TMP/base64"
	refute "is found in base64 behind '$before'" \
	    "$T_TOOLS/ck-scan" files "$T_SECRETS" "$T_TMP/base64"
done
printf 'bot.clankie.credentials clankie_operator clankie_op_' >"$T_TMP/public"
expect 'is not what everybody knows' \
    "$T_TOOLS/ck-scan" files "$T_SECRETS" "$T_TMP/public"
expect 'has the form of a bearer' \
    grep -qxE 'clankie_op_[A-Za-z0-9_-]{43}' "$T_TMP/bearer"
expect_mode 0600 "$T_TMP/bearer"
t_bearer "$T_TMP/second"
refute 'is a new one each time' cmp -s "$T_TMP/bearer" "$T_TMP/second"
