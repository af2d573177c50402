# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# File systems of our own, through bwrap(1); read behind custody.sh.
#
#	can_box              fails where there are none: then call skip
#	box OPTION... -- COMMAND...   run it with what the options mount

# A root of our own: in a user namespace the real one belongs to nobody, and
# the program does not trust directories of strangers.
box() { # bwrap options, --, command
	set -- --bind "$T_TMP" "$T_TMP" "$@"
	for b_dir in /lib /lib64 /bin; do
		if [ -L "$b_dir" ]; then
			set -- --symlink "usr$b_dir" "$b_dir" "$@"
		elif [ -d "$b_dir" ]; then
			set -- --ro-bind "$b_dir" "$b_dir" "$@"
		fi
	done
	bwrap --die-with-parent --unshare-user --ro-bind /usr /usr \
	    --ro-bind /etc /etc --dev /dev --proc /proc \
	    --ro-bind "$(dirname "$CK")" "$(dirname "$CK")" \
	    --ro-bind "$T_TOOLS" "$T_TOOLS" "$@"
}

can_box() {
	t_find_tool bwrap && [ "$(id -u)" -ne 0 ] && t_home && : >"$T_TMP/pw" &&
	    box -- true 2>/dev/null
}
