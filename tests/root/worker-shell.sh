#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# worker shell and the password database: which shell its field means, and that a
# link of ours in it does not lead around in a circle; and the links of a package
# that is root's.  Root puts another database in the place of the real one, and
# a package into /opt, for the test's processes only.
# shellcheck disable=SC2016  # the shells expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

[ "$(id -u)" -eq 0 ] || skip_all 'not root'
# Nobody has it, so no part of the database makes it up.
USER_ID=54321
unshare -m true 2>/dev/null || skip_all 'no mount namespace to be had'
setpriv --reuid $USER_ID --regid $USER_ID --clear-groups unshare -Ur true \
    2>/dev/null || skip_all 'user namespaces are not allowed here'
chmod 0711 "$T_TMP"
mkdir "$T_TMP/bin"
cp "$CK" "$(dirname "$CK")/clankie-worker-entry" "$T_TMP/bin"
chown 0:0 "$T_TMP/bin/"*
CK=$T_TMP/bin/clankie-keys
c_home
c_broker
echo '{"fleet":{"workerSandbox":true}}' >"$CLANKIE/settings.json"
chown -R $USER_ID:$USER_ID "$T_HOME"
LINKS=$T_HOME/.local/libexec/clankie-keys

# The database has this field for the user; no argument: it has no such user.
field() {
	grep -v "^[^:]*:[^:]*:$USER_ID:" /etc/passwd >"$T_TMP/passwd"
	[ $# -eq 0 ] ||
	    echo "other:x:$USER_ID:$USER_ID:other:$T_HOME:$1" >>"$T_TMP/passwd"
	chmod 0644 "$T_TMP/passwd"
}
as_other() {
	cat >"$T_TMP/start" <<S
#!/bin/sh
mount --make-rprivate / && mount --bind "$T_TMP/passwd" /etc/passwd &&
mount -t tmpfs -o mode=0755 opt /opt && mkdir -p /opt/bin /opt/libexec/clankie-keys &&
cp "$T_TMP/bin/clankie-keys" /opt/bin &&
cp "$T_TMP/bin/clankie-worker-entry" /opt/libexec/clankie-keys &&
exec setpriv --reuid $USER_ID --regid $USER_ID --clear-groups \\
    env HOME="$T_HOME" SHELL=/no/such "\$@"
S
	chmod 0755 "$T_TMP/start"
	run unshare -m "$T_TMP/start" "$@"
}
refuses() { # status, text
	as_other "$LINKS/bash" -c "touch $T_HOME/started"
	expect_status "$1"
	expect_err_has "$2"
	refute 'nothing was started' test -e "$T_HOME/started"
}

field /bin/sh
as_other "$CK" migrate
expect_status 0
as_other "$CK" worker install-shell
expect_status 0
expect_out_has 'shell:  /bin/sh'

t_case 'the field'
as_other "$LINKS/zsh" -c 'echo "$SHELL $0"; cat "$1"' sh "$DEDICATED"
expect 'the shell of the database' grep -qx '/bin/sh sh' "$T_OUT"
expect_err_has 'Permission denied'
field /bin/bash
as_other "$LINKS/zsh" -c 'echo "$SHELL"'
expect_out /bin/bash
field ''
as_other "$LINKS/bash" -c 'echo "$SHELL"'
expect_out /bin/sh
t_case 'a link of ours in it'
field "$LINKS/bash"
for link in bash sh fish; do
	as_other "$LINKS/$link" -c 'echo "$SHELL"; cat "$1"' sh "$DEDICATED"
	expect 'the shell of that name' grep -qx '/bin/bash' "$T_OUT"
	expect_err_has 'Permission denied'
done
as_other "$CK" worker install-shell
expect_status 0
expect_out_has 'shell:  /bin/bash'
field "$LINKS/clankie-worker-entry"
refuses 22 'leads back'
t_case 'no shell'
field /no/such/shell
refuses 23 /no/such/shell
field /etc/passwd
refuses 19 'no program'
field relative
refuses 19 'not absolute'
field
refuses 20 'password database'

t_case 'a package'
field /bin/bash
as_other "$CK" worker install-shell --remove
expect_status 0
as_other /opt/bin/clankie-keys worker install-shell
expect_status 0
expect 'the links lead to it' [ "$(readlink "$LINKS/zsh")" = \
    /opt/libexec/clankie-keys/clankie-worker-entry ]
expect 'and nothing is copied' [ "$(find "$LINKS" -type f | wc -l)" -eq 0 ]
as_other "$LINKS/zsh" -c 'echo "$SHELL"; cat "$1"' sh "$DEDICATED"
expect 'they start a shell' grep -qx /bin/bash "$T_OUT"
expect_err_has 'Permission denied'
as_other "$CK" worker install-shell
expect_status 0
expect 'from one to the other' [ "$(readlink "$LINKS/zsh")" = "$LINKS/clankie-worker-entry" ]
as_other /opt/bin/clankie-keys worker exec -- true
expect_status 0
as_other /opt/bin/clankie-keys worker install-shell
expect_status 0
expect 'and back' [ "$(readlink "$LINKS/sh")" = \
    /opt/libexec/clankie-keys/clankie-worker-entry ]
expect 'without the copies' [ "$(find "$LINKS" -type f | wc -l)" -eq 0 ]
as_other "$LINKS/sh" -c 'echo "$0"'
expect_out /bin/bash
