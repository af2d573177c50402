#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# A second credential on its way into the dedicated keychain, or out of it
# while the operator's stays, is killed or told of an error at a call that
# changes something; tests/lib/sweep.sh and sweep_verbs.sh say what has to
# hold for both of them then.  scripts/crash-sweep tries every call.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"

i_need
for broker in file keychain; do
	for verb in migrate_second restore_second; do
		s_ready "$verb" "$broker"
		t_result $? "$verb, broker $broker: can be prepared"
		s_sweep kill 10
		s_sweep EIO 3
		s_sweep EIO 5 fsync
		s_sweep ENOSPC 3
	done
done
