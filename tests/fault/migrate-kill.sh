#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# migrate is killed in front of most of the calls that change something, and
# killed or told of an error once more when it goes on; tests/lib/sweep.sh says
# what has to hold.  scripts/crash-sweep tries every call.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"

i_need
s_ready migrate file
s_sweep kill 75
s_ready migrate keychain
s_sweep kill 40

# The keychain is built, has its name, or is all that is left.
for S_FIRST in 'renameat2 3' 'renameat 2' 'renameat 3'; do
	s_ready migrate_again file
	expect "killed before $S_FIRST" test "$(s_status unfinished)" = migrate
	s_sweep kill 7
	s_sweep EIO 7
done
