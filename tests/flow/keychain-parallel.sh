#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# alone: yes
# Many keychain commands on one file at once: nothing is lost, one wins where
# only one can, and no reader ever sees half a file.
# shellcheck disable=SC2119  # kc_new takes options, or none
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/keychain.sh"

MANY=16

# The i-th result of a command that runs beside others.
beside() { # number, command...
	beside_n=$1
	shift
	beside_status=0
	"$@" >"$T_TMP/out.$beside_n" 2>"$T_TMP/err.$beside_n" ||
	    beside_status=$?
	echo "$beside_status" >"$T_TMP/status.$beside_n"
}

add() { # number, service; the password is $PW, the secret $T_TMP/secret.N
	beside "$1" "$T_TIMEOUT" "$T_LIMIT" "$CK" keychain add "$KC" \
	    --service "$2" --account a --password-fd 3 --secret-fd 4 \
	    3<"$PW" 4<"$T_TMP/secret.$1"
}

count() { # status; how many ended with it
	cat "$T_TMP"/status.* | grep -cx "$1"
}

i=0
while [ "$i" -lt "$MANY" ]; do
	t_bearer "$T_TMP/secret.$i"
	i=$((i + 1))
done

t_case "$MANY additions of different items"
kc_new
i=0
while [ "$i" -lt "$MANY" ]; do
	add "$i" "service $i" &
	i=$((i + 1))
done
wait
expect 'all succeeded' [ "$(count 0)" -eq "$MANY" ]
run "$CK" keychain list "$KC" --json
expect_json commit $((MANY + 1))
i=0
while [ "$i" -lt "$MANY" ]; do
	kc_get "service $i" a
	expect_same "$GOT" "$T_TMP/secret.$i"
	i=$((i + 1))
done
kc_verify
expect_status 0
t_no_secret "$T_TMP"/out.* "$T_TMP"/err.*

t_case "$MANY additions of the same item"
kc_new
i=0
while [ "$i" -lt "$MANY" ]; do
	add "$i" service &
	i=$((i + 1))
done
wait
expect 'one won' [ "$(count 0)" -eq 1 ]
expect 'the others were refused' [ "$(count 19)" -eq $((MANY - 1)) ]
expect 'with the reason' [ "$(cat "$T_TMP"/err.* | grep -c already)" -eq $((MANY - 1)) ]
kc_get service a
winner=$(grep -lx 0 "$T_TMP"/status.*)
expect_same "$GOT" "$T_TMP/secret.${winner##*.}"
run "$CK" keychain list "$KC" --json
expect_json commit 2
expect 'one file and its lock' \
    [ "$(find "$T_HOME" -type f | grep -c .)" -eq 2 ]

t_case "$MANY creations of the same file"
rm -f "$KC"
i=0
while [ "$i" -lt "$MANY" ]; do
	cat "$T_TMP/secret.$i" >"$T_TMP/pw.$i"
	beside "$i" "$T_TIMEOUT" "$T_LIMIT" "$CK" keychain create "$KC" \
	    --password-fd 3 3<"$T_TMP/pw.$i" &
	i=$((i + 1))
done
wait
expect 'one won' [ "$(count 0)" -eq 1 ]
expect 'the others were refused' [ "$(count 19)" -eq $((MANY - 1)) ]
winner=$(grep -lx 0 "$T_TMP"/status.*)
run "$CK" keychain verify "$KC" --password-fd 3 3<"$T_TMP/pw.${winner##*.}"
expect_status 0

t_case 'readers beside a writer'
kc_new
{ head -c 3000 /dev/zero | tr '\0' x; } >"$T_TMP/x"
{ head -c 90000 /dev/zero | tr '\0' y; } >"$T_TMP/y"
kc_add s a "$T_TMP/x"
write_often() {
	for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		for which in y x; do
			"$CK" keychain update "$KC" --service s --account a \
			    --password-fd 3 --secret-fd 4 3<"$PW" \
			    4<"$T_TMP/$which" || echo "write $round: $?"
		done
	done >"$T_TMP/writes" 2>&1
	: >"$T_TMP/written"
}
read_often() { # number
	reads=0
	while [ ! -e "$T_TMP/written" ] || [ "$reads" -eq 0 ]; do
		"$CK" keychain find "$KC" --service s --account a \
		    --password-fd 3 --out-fd 4 3<"$PW" 4>"$T_TMP/read.$1" \
		    >/dev/null || echo "read: $?"
		cmp -s "$T_TMP/read.$1" "$T_TMP/x" ||
		    cmp -s "$T_TMP/read.$1" "$T_TMP/y" || echo 'torn'
		reads=$((reads + 1))
	done >"$T_TMP/reads.$1" 2>&1
	echo "$reads" >"$T_TMP/count.$1"
}
rm -f "$T_TMP/written"
write_often &
read_often 1 &
read_often 2 &
wait
cat "$T_TMP/writes" "$T_TMP/reads.1" "$T_TMP/reads.2" >"$T_TMP/faults"
expect 'every read was whole' [ ! -s "$T_TMP/faults" ]
head -n 3 "$T_TMP/faults" | sed 's/^/# /'
expect 'there were reads' \
    [ $(($(cat "$T_TMP/count.1") + $(cat "$T_TMP/count.2"))) -gt 2 ]
kc_get s a
expect_same "$GOT" "$T_TMP/x"
run "$CK" keychain list "$KC" --json
expect_json commit 32

t_case 'killed at any moment'
kc_new
kc_add s a "$T_TMP/secret.0"
i=0
while [ "$i" -lt 12 ]; do
	"$T_TIMEOUT" -s KILL "0.00$i" "$CK" keychain add "$KC" \
	    --service "killed $i" --account a --password-fd 3 --secret-fd 4 \
	    3<"$PW" 4<"$T_TMP/secret.1" >/dev/null 2>&1
	kc_get s a
	cmp -s "$GOT" "$T_TMP/secret.0" || echo "$i" >>"$T_TMP/lost"
	i=$((i + 1))
done
expect 'the file was always whole' [ ! -e "$T_TMP/lost" ]
kc_verify
expect_status 0
kc_add after a "$T_TMP/secret.2"
expect_status 0

t_case 'the lock is held by somebody'
if t_find_tool flock; then
	lock=$(ls -d "$T_HOME"/.fl*)
	snapshot "$T_HOME"
	# Until it says so: under a tracer it takes longer than any guess.
	sh -c 'exec 9<"$1" && flock 9 && : >"$2" && exec sleep 60' sh "$lock" \
	    "$T_TMP/held" &
	holder=$!
	while [ ! -e "$T_TMP/held" ]; do sleep 0.02; done
	start=$(date +%s)
	kc_add s b "$T_TMP/secret.0"
	expect_status 16
	expect_err_has 'lock'
	expect 'within its bound' [ $(($(date +%s) - start)) -le 8 ]
	kc_get s a
	expect_status 0
	kill "$holder"
	wait "$holder" 2>/dev/null
	expect_unchanged
else
	skip 'busy' 'no flock here'
fi
