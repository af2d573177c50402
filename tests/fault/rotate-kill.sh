#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# rotate is killed, or told of an error, at a call that changes something; get
# gives the old or the new value, and the next rotate settles what was begun
# and mints at most once more; see tests/lib/sweep.sh.  scripts/crash-sweep
# tries every call.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"

i_need
s_ready rotate file
s_sweep kill 20
s_sweep EIO 7
s_sweep ENOSPC 7
