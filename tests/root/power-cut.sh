#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# The power cuts of tests/fault/crash-sweep.sh: only root sees which files a
# process means that nobody may trace.
cd "$(dirname "$0")/../fault" || exit 1
[ "$(id -u)" -eq 0 ] || {
	echo '1..0 # SKIP not root'
	exit 0
}
CK_SWEEP_FAULT=power exec sh ./crash-sweep.sh
