#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# rotate --keychain is killed, or told of an error, at a call that changes
# something.  At that moment and ever after get gives the one value there is;
# the next run finishes or undoes and then does it all, and no old file, old
# password or scratch is left; see tests/lib/sweep.sh.  scripts/crash-sweep tries
# every call.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"

i_need
s_ready rotate_keychain file
s_sweep kill 22
s_sweep EIO 5
s_sweep ENOSPC 5
s_ready rotate_keychain keychain
s_sweep kill 14
s_sweep EIO 4
s_sweep ENOSPC 4
