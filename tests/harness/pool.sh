#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pool of scripts/test runs every job once, two at a time, reports in
# order, and counts a job that ends early as a failure.
CK=${CK:-/bin/true}
export CK
. "$(dirname "$0")/../lib/tap.sh"

# A script of its own with the pool; the jobs are functions on standard input.
pool() { # lanes, jobs
	lanes=$1
	shift
	{
		echo 'set -eu'
		echo ". '$T_ROOT/scripts/pool.sh'"
		cat
		echo 'pool_open pool'
		for words; do
			echo "pool_add $words"
		done
		echo "pool_run $lanes"
		# shellcheck disable=SC2016  # for that script to expand
		echo 'echo "sums $pool_passed $pool_failed $pool_skipped"'
	} >"$T_TMP/script"
	rm -rf "$T_TMP/pool"
	run sh "$T_TMP/script"
}
cd "$T_TMP" || exit 1

t_case 'two jobs'
pool 2 'slow 1' 'quick 2' <<'S'
slow() { while [ ! -e quick.done ]; do sleep 0.05; done
	echo "slow $1"; echo 'COUNT 1 0 2'; }
quick() { echo "quick $1"; : >quick.done; echo 'COUNT 3 4 0'; }
S
expect_status 0
expect_out "slow 1
quick 2
sums 4 4 2"

t_case 'one lane'
pool 1 'only a' 'only b' 'only c' <<'S'
only() { mkdir busy; sleep 0.1; rmdir busy; echo "$1"; echo 'COUNT 1 0 0'; }
S
expect_status 0
expect_out "a
b
c
sums 3 0 0"

t_case 'more lanes than jobs'
pool 5 'only a' <<'S'
only() { echo "$1" >>seen; echo 'COUNT 1 0 0'; }
S
expect_status 0
expect 'it ran once' test "$(cat seen)" = a

t_case 'jobs that end early'
pool 2 silent false 'dies' 'fine' 'killed' 'talks' <<'S'
silent() { :; }
dies() { echo 'before'; exit 0; }
fine() { echo 'COUNT 2 0 0'; }
killed() { sh -c 'kill -9 $PPID'; echo 'COUNT 9 0 0'; }
talks() { echo 'COUNT 9 0 0'; echo 'and more'; }
S
expect_status 0
for word in silent false dies killed talks; do
	expect_out_has "not ok $word: ended early"
done
expect_out_has 'before'
expect_out_has 'sums 2 5 0'

t_case 'a command that fails in a job'
pool 2 'half' <<'S'
half() { false; echo 'COUNT 1 0 0'; }
S
expect_out_has 'sums 0 1 0'

t_case 'a lane that is killed'
# Its job has no result; the other lane does the rest.
if ! t_find_tool ps; then
	skip 'ended early' 'no ps here'
else
	pool 2 'murder' 'fine' 'fine' <<'S'
murder() { sh -c 'kill -9 $(ps -o ppid= -p $PPID)'; sleep 0.5; }
fine() { echo 'COUNT 1 0 0'; }
S
	expect_out_has 'not ok murder: ended early'
	expect_out_has 'sums 2 1 0'
fi

t_case 'no job'
pool 2 </dev/null
expect_status 0
expect_out 'sums 0 0 0'
