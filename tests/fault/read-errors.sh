#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# traced: no
#
# A disk that cannot be read is an input/output error (25), and never damage,
# for which a backup would be put back, or a credential that is absent.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need

# Once, or from then on.
reads() { # command
	n=3 seen=0
	while [ $n -le "${CK_POINTS:-36}" ]; do
		for form in '' '+'; do
			i_back
			i_inject "pread64:error=EIO:when=$n$form" "$@" \
			    4>"$T_TMP/given"
			[ "$status" -ne 127 ] || continue   # the loader's own
			bad=0
			case $status in
			0) ;;
			21)
				! grep -q -e damaged -e malformed "$T_OUT" \
				    "$T_ERR" || bad=1
				;;
			25) seen=$((seen + 1)) ;;
			*) bad=1 ;;
			esac
			t_why "status $status: $(cat "$T_ERR")"
			t_result "$bad" "$2: read $n$form"
		done
		n=$((n + step))
	done
}

c_home
c_broker
"$CK" migrate >"$T_TMP/null" 2>"$T_TMP/null"
i_keep

t_case 'a read fails'
step=3
reads "$CK" get --fd 4
expect 'such an error came out' [ "$seen" -gt 8 ]
step=6
reads "$CK" check --startup
reads "$CK" rotate
expect 'and of rotate' [ "$seen" -gt 4 ]
reads "$CK" precedence verify
expect 'and of precedence verify' [ "$seen" -gt 4 ]
