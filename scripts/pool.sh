# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# Jobs that run beside one another and are reported in order; read by
# scripts/test.
#
#	pool_open DIR       an empty pool, its files in the new directory DIR
#	pool_add WORD...    one job: a function and its arguments, which are words
#	                    without spaces
#	pool_run LANES      run them, at most LANES at a time; shows the output of
#	                    each in the order of pool_add, and sets $pool_passed,
#	                    $pool_failed and $pool_skipped
#	pool_stop           begin no more of them; wait for those that run
#
# A job runs in a shell of its own, with nothing on standard input, and says
# what came of it in its last line: "COUNT PASSED FAILED SKIPPED".  A job that
# does not get so far counts as one failure.

pool_dir='' pool_lanes=''

pool_open() {
	pool_dir=$1
	mkdir "$pool_dir"
	: >"$pool_dir/queue"
}

pool_add() {
	echo "$*" >>"$pool_dir/queue"
}

# Each lane walks through the whole queue; mkdir decides who takes a job.
pool_lane() {
	pool_n=0
	while read -r pool_job; do
		pool_n=$((pool_n + 1))
		[ ! -e "$pool_dir/stop" ] || return 0
		mkdir "$pool_dir/$pool_n" 2>/dev/null || continue
		# No "||" behind it: that would switch off set -e inside.
		set +e
		(
			set -e
			# shellcheck disable=SC2086  # words
			$pool_job
		) </dev/null >"$pool_dir/$pool_n/out" 2>&1
		set -e
		: >"$pool_dir/$pool_n/done"
	done <"$pool_dir/queue"
}

pool_busy() {
	for pool_pid in $pool_lanes; do
		! kill -0 "$pool_pid" 2>/dev/null || return 0
	done
	return 1
}

pool_report() { # number, words of the job
	pool_out=$pool_dir/$1/out
	[ -e "$pool_out" ] || pool_out=/dev/null
	grep -v '^COUNT ' "$pool_out" || true
	pool_counts=$(tail -n 1 "$pool_out" |
	    sed -n 's/^COUNT \([0-9]* [0-9]* [0-9]*\)$/\1/p')
	if [ -z "$pool_counts" ] || [ ! -e "$pool_dir/$1/done" ]; then
		echo "   not ok $2: ended early"
		pool_counts='0 1 0'
	fi
	# shellcheck disable=SC2086  # three numbers
	set -- $pool_counts
	pool_passed=$((pool_passed + $1)) pool_failed=$((pool_failed + $2))
	pool_skipped=$((pool_skipped + $3))
}

pool_run() { # lanes
	pool_passed=0 pool_failed=0 pool_skipped=0 pool_lanes=''
	pool_left=$1
	while [ "$pool_left" -gt 0 ]; do
		pool_lane &
		pool_lanes="$pool_lanes $!"
		pool_left=$((pool_left - 1))
	done
	pool_at=0
	while read -r pool_words; do
		pool_at=$((pool_at + 1))
		# When every lane has ended there is nothing to wait for.
		while [ ! -e "$pool_dir/$pool_at/done" ] && pool_busy; do
			sleep 0.2
		done
		pool_report "$pool_at" "$pool_words"
	done <"$pool_dir/queue"
	wait
	pool_lanes=''
}

pool_stop() {
	[ -n "$pool_dir" ] || return 0
	: >"$pool_dir/stop"
	wait
}
