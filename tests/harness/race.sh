#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ck-race sees what must not be, and nothing where all is well.
CK=${CK:-/bin/true}
export CK
. "$(dirname "$0")/../lib/tap.sh"

t_find_tool flock || skip_all 'no flock here'

# A stand-in that keeps "generation value" in one file and misbehaves on
# demand; its values are nobody's secrets.
cat >"$T_TMP/fake" <<'S'
#!/bin/sh
# Slow, so that others see a generation that stays for a while.
n=0
while [ "$1:$FAKE_HOW" = rotate:other ] && [ "$n" -lt 200 ] &&
    [ "$(wc -l <"$FAKE/reads")" -lt 20 ]; do
	sleep 0.05
	n=$((n + 1))
done
exec 9>"$FAKE/lock"
flock 9
read -r generation value <"$FAKE/state"
case $1:$FAKE_HOW in
rotate:lost) exit 15 ;;
rotate:twice)
	printf '{"outcome":"rotated","generation":7}\n'
	;;
rotate:*)
	generation=$((generation + 1))
	echo "$generation $(printf 'clankie_op_%043d' "$generation")" \
	    >"$FAKE/next"
	mv "$FAKE/next" "$FAKE/state"
	printf '{"outcome":"rotated","generation":%d}\n' "$generation"
	;;
status:back) printf '{"generation":1,"unfinished":null}\n' ;;
status:*) printf '{"generation":%d,"unfinished":null}\n' "$generation" ;;
get:torn) printf 'clankie_op_%042d' "$generation" ;;
get:stale) printf 'clankie_op_%043d' 1 ;;
get:other)
	printf 'clankie_op_%043d' "$$"
	echo >>"$FAKE/reads"
	;;
get:absent)
	echo 'not here' >&2
	exit 10
	;;
get:*) printf %s "$value" ;;
check:finds)
	printf '{"findings":[{"code":"second-bearer-file","severity":"error"}]}\n'
	exit 21
	;;
check:cut)
	printf '{"findings":[{"code":"not-judged","severity":"error"}]}\n'
	exit 21
	;;
precedence:broken) exit 13 ;;
esac
S
chmod +x "$T_TMP/fake"
FAKE=$T_TMP
export FAKE FAKE_HOW

race() { # how the stand-in misbehaves, rotations
	FAKE_HOW=$1
	t_case "$1"
	: >"$T_TMP/reads"
	echo "1 $(printf 'clankie_op_%043d' 1)" >"$T_TMP/state"
	run "$T_TOOLS/ck-race" "$T_TMP/fake" "$2"
}

race well 60
expect_status 0
expect_out_has 'violations 0'
race cut 60
expect_status 0

found() { # how, what is said
	race "$1" "${3:-60}"
	expect_status 1
	grep '^violation: ' "$T_OUT" >"$T_TMP/said"
	expect "said: $2" grep -q -e "$2" "$T_TMP/said"
}
found twice 'two rotations are generation 7'
found lost 'the last rotation did not end'
found back '^violation: generation 1 after [0-9]* was reported'
found torn 'get gave no whole value'
found stale 'was got when it was'
found other 'has none of its own' 16
found absent 'get ended with 10: not here'
found finds 'check finds second-bearer-file'
found broken 'precedence verify ended with 13'
