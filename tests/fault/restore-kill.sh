#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# restore is killed, or told of an error, at a call that changes something, and
# killed once more when it goes on; afterwards a migrate finds nothing in its
# way; tests/lib/sweep.sh says what else has to hold.  scripts/crash-sweep tries
# every call.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"

i_need
s_ready restore file
s_sweep kill 24
s_sweep EIO 6
s_sweep EIO 6 fsync
s_sweep ENOSPC 6
s_ready restore keychain
s_sweep kill 18
s_sweep EIO 6
s_sweep ENOSPC 6

# The broker's file has its name, and the disk was not asked to keep it.
S_FIRST='fsync 2'
s_ready restore_again file
expect "killed before $S_FIRST" test "$(s_status unfinished)" = restore
s_sweep power 8

# Recorded and not yet renamed; renamed; the password is gone.
for S_FIRST in 'renameat2 1' 'unlinkat 3' 'unlinkat 4'; do
	s_ready restore_again file
	expect "killed before $S_FIRST" test "$(s_status unfinished)" = restore
	s_sweep kill 5
done
