# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# For the scripts about the launch envelope; read behind custody.sh.
#
#	v_need             skips the whole script where no envelope is possible
#	v_home             a home with settings, a runtime ($RT), a workspace ($WS)
#	                   and a file outside ($OUT); its control directory is
#	                   $CONTROL, its private home $PRIVATE
#	v_prepare ARG...   prepare the usual one, with more arguments
#	v_in TEXT          run shell TEXT in the envelope; $RT $WS $OUT $PRIVATE
#	                   and $CONTROL are known to it
# shellcheck disable=SC2034,SC2154  # others set or use them

v_need() {
	if [ "$(id -u)" -eq 0 ]; then
		skip_all 'root is not confined'
	fi
	t_find_tool bwrap || skip_all 'no bwrap here'
	if ! unshare -Urm true 2>/dev/null; then
		skip_all 'user namespaces are not allowed here'
	fi
}

v_home() {
	c_home
	RT=$T_HOME/rt WS=$T_HOME/ws OUT=$T_HOME/out
	mkdir -p "$RT/bin" "$WS" "$OUT" "$CLANKIE"
	CONTROL=$CLANKIE/local-sandbox PRIVATE=$CLANKIE/local-sandbox-home
	# A shell is the runtime's program: what it can do a node can.
	cp /bin/sh "$RT/bin/node"
	cp "$CK" "$RT/bin"
	echo 'outside' >"$OUT/file"
	echo 'inside' >"$WS/file"
	echo '{"fleet":{"workerSandbox":true},"herdr":{"runtime":"external"}}' \
	    >"$CLANKIE/settings.json"
}

v_prepare() {
	run "$CK" envelope prepare --level workers --runtime "$RT" \
	    --workspace "$WS" "$@"
}

v_in() {
	run "$CK" envelope launch ${V_PROVISION:+--provision "$V_PROVISION"} -- \
	    node -c "RT='$RT' WS='$WS' OUT='$OUT' PRIVATE='$PRIVATE'
	    CONTROL='$CONTROL'; $1"
}
