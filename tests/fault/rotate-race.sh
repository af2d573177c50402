#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# alone: yes
#
# Rotations beside one another, each killed after a while of its own, with
# readers beside them: every reader gets a whole value, no rotation ends in
# another way than done, lost, busy or killed.  CK_RACE: seconds, else 5.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

rotator() { # number
	while [ "$(date +%s)" -lt "$until" ]; do
		"$CK" rotate >"$T_TMP/null.$1" 2>"$T_TMP/err.$1" &
		pid=$!
		sleep "0.0$(od -An -N1 -tu1 /dev/urandom | tr -d ' ' |
		    sed 's/^\(..\).*/\1/')"
		kill -9 "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
		code=$?
		echo "$code" >>"$T_TMP/ends.$1"
		case $code in
		0 | 15 | 16 | 137) ;;
		*) echo "$code: $(cat "$T_TMP/err.$1")" >>"$T_TMP/odd" ;;
		esac
	done
}

reader() { # number
	while [ "$(date +%s)" -lt "$until" ]; do
		"$CK" get --key >"$T_TMP/got.$1" 2>"$T_TMP/err.r$1" ||
		    echo "get: $(cat "$T_TMP/err.r$1")" >>"$T_TMP/odd"
		[ "$(wc -c <"$T_TMP/got.$1")" -eq 54 ] ||
		    echo 'get: not a whole value' >>"$T_TMP/odd"
		echo >>"$T_TMP/reads.$1"
	done
}

c_home
c_broker
run "$CK" migrate
expect_status 0
until=$(($(date +%s) + ${CK_RACE:-5}))
for n in 1 2 3; do
	rotator "$n" 2>/dev/null &
	reader "$n" &
done
wait
echo "# $(cat "$T_TMP"/ends.* | sort | uniq -c | tr '\n' ';') reads:" \
    "$(cat "$T_TMP"/reads.* | wc -l)"
expect 'some rotations were killed' grep -qx 137 "$T_TMP/ends.1"
expect 'there were readers' test -s "$T_TMP/reads.3"
refute 'nothing odd was seen' test -s "$T_TMP/odd"
[ ! -s "$T_TMP/odd" ] || sort "$T_TMP/odd" | uniq -c | sed 's/^/# /'
run "$CK" rotate
expect_status 0
run "$CK" precedence verify
expect_status 0
run "$CK" status --json
expect_json unfinished null
expect_same "$BROKER" "$T_TMP/broker.rest"
expect 'nothing was left' c_strays
