#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# Every operation is stopped, by a kill, an error or a power cut, at calls that
# change something on disk; see tests/lib/sweep.sh for what has to hold then.
# scripts/crash-sweep tries every call, with CK_SWEEP_VERB, CK_SWEEP_BROKER and
# CK_SWEEP_FAULT (only these) and CK_SWEEP_MOST (points of each, 0: every one).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"

i_need
most=${CK_SWEEP_MOST:-1}
for verb in ${CK_SWEEP_VERB:-$(s_verbs)}; do
	if ! s_built "$verb"; then
		echo "# not built: $verb"
		continue
	fi
	for broker in ${CK_SWEEP_BROKER:-file keychain}; do
		s_ready "$verb" "$broker"
		t_result $? "$verb, broker $broker: can be prepared"
		# A sample takes two of the errors with each broker.
		case $broker in
		file) errors='EIO ENOSPC' ;;
		*) errors='EINTR EACCES' ;;
		esac
		# shellcheck disable=SC2086  # words
		for fault in ${CK_SWEEP_FAULT:-kill $errors power}; do
			s_sweep "$fault" "$most"
		done
	done
done
