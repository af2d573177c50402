#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A call of migrate that changes something fails: the command ends with the
# status that the error table has for it, leaves nothing lying about, and as
# long as the new keychain has no name nothing has changed; tests/lib/sweep.sh
# says what else has to hold.  scripts/crash-sweep tries every call.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"

i_need
if [ "$T_SANITIZED" -eq 0 ]; then
	many=26 few=6
else
	many=6 few=3
fi
s_ready migrate file
for error in EIO ENOSPC EACCES EINTR; do
	s_sweep "$error" $many
done
# What makes a step final.
s_sweep EIO $many fsync
s_sweep EACCES $many rename
s_ready migrate keychain
for error in EIO ENOSPC EACCES EINTR; do
	s_sweep "$error" $few
done
