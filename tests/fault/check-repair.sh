#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# check --repair killed, or refused, at each call that changes something on the
# disk: the credential can be read, and the next one mends what is left.
# CK_SWEEP=full takes every call, else a sample.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need
k_custody
c_tamper update --lock-after 300 --lock-on-sleep no --password-fd 3 \
    3<"$T_TMP/unlock"
echo '(allow default)' >>"$KEYS/worker.sb"
: | t_write "$KEYS/worker.sb.tmp-0123abcd"
: | t_write "$KEYS/operator/operator.keychain-db.sb-0123abcd-012345"
i_keep

mended() { # what happened
	run "$CK" get
	expect "$1: the credential is given" cmp -s "$T_OUT" "$BEARER"
	run "$CK" precedence verify
	expect "$1: records and seal fit" test "$status" -eq 0
	run "$CK" check --repair
	expect "$1: the next one mends it" test "$status" -eq 0
	k_expect ''
	k_has_not dedicated-replaced
	expect "$1: nothing was left" c_strays
}

i_points "$CK" check --repair >"$T_TMP/calls"
expect 'there are calls' test "$(wc -l <"$T_TMP/calls")" -gt 20
k=4
[ "$T_SANITIZED" -eq 0 ] || k=12
i_sample $k <"$T_TMP/calls" >"$T_TMP/sample"
t_case 'killed'
while read -r name n; do
	i_back
	i_inject "$name:signal=KILL:when=$n" "$CK" check --repair
	mended "$name $n"
done <"$T_TMP/sample"
for error in EIO ENOSPC; do
	t_case "$error"
	while read -r name n; do
		i_back
		i_inject "$name:error=$error:when=$n" "$CK" check --repair
		expect "$name $n: it ends by itself" test "$status" -lt 124
		t_no_secret
		mended "$name $n"
	done <"$T_TMP/sample"
done
echo "# $(wc -l <"$T_TMP/sample") of $(wc -l <"$T_TMP/calls") calls, killed and failing in two ways"
