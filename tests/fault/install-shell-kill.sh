#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# worker install-shell is killed, or told of an error, at a call that changes
# something: get answers, no link leads elsewhere, and the next run finishes.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
if [ "$(id -u)" -eq 0 ]; then
	skip_all 'root installs none'
fi
i_need
I_CALLS=$I_CALLS,symlinkat
c_home
c_broker
run "$CK" migrate
expect_status 0
LINKS=$T_HOME/.local/libexec/clankie-keys
i_keep

# What must be so at every moment, and when the next run is done.
holds() {
	"$CK" get >"$T_TMP/got" 2>/dev/null && cmp -s "$T_TMP/got" "$BEARER" || return 1
	for link in zsh bash fish sh; do
		[ ! -L "$LINKS/$link" ] ||
		    [ "$(readlink "$LINKS/$link")" = "$LINKS/clankie-worker-entry" ] || return 1
	done
}
finished() {
	"$CK" worker install-shell >"$T_OUT" 2>"$T_ERR" && holds && c_strays &&
	    [ -L "$LINKS/zsh" ] && [ -L "$LINKS/sh" ] &&
	    cmp -s "$CK" "$LINKS/clankie-keys" &&
	    [ "$(find "$LINKS" | wc -l)" -eq 7 ] &&
	    "$CK" precedence verify >/dev/null 2>&1
}
i_points "$CK" worker install-shell >"$T_TMP/list"
expect 'there are many points' [ "$(wc -l <"$T_TMP/list")" -gt 30 ]
for how in 'signal=KILL 9' 'error=EIO 15' 'error=ENOSPC 15'; do
	# shellcheck disable=SC2086  # two words
	set -- $how
	t_case "$1"
	points=0 bad=''
	i_sample "$2" <"$T_TMP/list" >"$T_TMP/some"
	while read -r call n; do
		i_back
		i_inject "$call:$1:when=$n" "$CK" worker install-shell
		points=$((points + 1))
		[ "$status" -ne 10 ] && holds && finished || bad="$bad $call:$n($status)"
	done <"$T_TMP/some"
	echo "$points points, wrong:$bad" >"$T_NOTE"
	[ -z "$bad" ] && [ "$points" -gt 2 ]
	t_result $? "get answers and the next run finishes, $points points"
done
t_no_secret
