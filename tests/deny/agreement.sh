#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One table of 10,000 (path, operation) cases, four readings: the evaluator, the
# emitted profile run as Scheme in both models of rule order, the mount plan
# read as data, and the kernel inside the worker entry with that plan.  Every
# difference has a name and a count in fixtures/boundary/agreement.txt, made
# anew with CK_GOLDEN=write; one without a name fails.
# sanitized: no
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
seed=${CK_SEED:-4}
GOLDEN=$T_ROOT/fixtures/boundary/agreement.txt
ENTRY=$(dirname "$CK")/clankie-worker-entry
OUT=$T_TMP/out
mkdir "$OUT" "$T_TMP/r"
echo "# seed $seed"

t_case 'the cases are made'
run "$T_TOOLS/ck-agree" make "$seed" "$T_TMP/r" "$OUT"
expect_status 0

t_case 'the profile as Scheme'
if t_find_tool tinyscheme; then
	# Two at a time.
	for n in 00 01 02 03; do
		{
			cat "$T_ROOT/tests/scheme/prelude.scm" "$OUT/scheme.$n"
			echo '(display "the end")(newline)'
		} >"$OUT/program.$n"
		tinyscheme -1 "$OUT/program.$n" >"$OUT/said.$n" 2>&1 &
		[ $((${n#0} % 2)) -eq 0 ] || wait
	done
	for n in 00 01 02 03; do
		echo 'the end' >>"$OUT/answers.$n"
		diff "$OUT/answers.$n" "$OUT/said.$n" >"$T_NOTE"
		t_result $? "program $n and the evaluator, both models"
	done
	cases=$(cat "$OUT"/answers.* | tr ' ' '\n' | grep -c '^[ad][ad]$')
	expect "$cases cases are compared" test "$cases" -eq 10000
else
	skip 'program and evaluator' 'no tinyscheme here'
fi

t_case 'the plan and the kernel'
failed=0
for calls in "$OUT"/calls.*; do
	n=${calls##*.}
	"$T_TOOLS/ck-agree" try "$calls" >"$OUT/outside.$n" || failed=$((failed + 1))
	"$ENTRY" --plan "$OUT/plan.$n" -- "$T_TOOLS/ck-agree" try "$calls" \
	    >"$OUT/inside.$n" || failed=$((failed + 1))
done
expect 'all are tried, outside and inside' test "$failed" -eq 0
compare() {
	run "$T_TOOLS/ck-agree" compare "$seed" "$T_TMP/r" "$OUT"
	grep '^#' "$T_OUT"
	grep -v '^#' "$T_OUT" >"$T_TMP/table"
}
compare
expect_status 0
# The counts are those of one seed; another one (CK_SEED) shows its own.
if [ "$seed" -ne 4 ]; then
	GOLDEN=$T_TMP/golden
	cp "$T_TMP/table" "$GOLDEN"
	sed 's/^/# /' "$GOLDEN"
fi
[ "${CK_GOLDEN:-}" != write ] || cp "$T_TMP/table" "$GOLDEN"
expect_same "$GOLDEN" "$T_TMP/table"

t_case 'bubblewrap with the same plan'
if t_find_tool bwrap && bwrap --dev-bind / / true 2>/dev/null; then
	mkdir "$T_TMP/kept"
	cp "$OUT"/inside.* "$T_TMP/kept"
	failed=0
	for calls in "$OUT"/calls.*; do
		n=${calls##*.}
		bwrap --args 3 -- "$T_TOOLS/ck-agree" try "$calls" 3<"$OUT/bwrap.$n" \
		    >"$OUT/inside.$n" || failed=$((failed + 1))
	done
	expect 'all are tried' test "$failed" -eq 0
	compare
	expect_status 0
	expect_same "$GOLDEN" "$T_TMP/table"
	cp "$T_TMP/kept"/* "$OUT"
else
	skip 'bubblewrap with the same plan' 'no bwrap here'
fi

# A table that cannot fail would say nothing.
t_case 'plans without a kind of step'
for broken in "$OUT"/plan.*; do
	grep -q '^shut' "$broken" || continue
	n=${broken##*.}
	sed -e '/^shut/d' -e '/^end/d' "$broken" >"$T_TMP/plan"
	echo "end $(($(wc -l <"$T_TMP/plan") - 2))" >>"$T_TMP/plan"
	cp "$T_TMP/plan" "$broken"
	"$ENTRY" --plan "$broken" -- "$T_TOOLS/ck-agree" try "$OUT/calls.$n" \
	    >"$OUT/inside.$n"
done
compare
expect_status 1
expect_err_has 'unexplained, the policy denies, the plan says 0'
t_case 'a kernel that does less than the plan'
cp "$OUT/outside.$n" "$OUT/inside.$n"
compare
expect_status 1
expect_err_has 'the kernel 0 outside and 0 inside'
