#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# worker shell: whoever starts a link under the name of a shell gets what the
# real shell would have given him, and it is a worker.
# traced: no
# What is started never has a secret.
# shellcheck disable=SC2016  # the shells expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
if [ "$(id -u)" -eq 0 ]; then
	run "$CK" worker shell
	expect_status 20
	exit 0
fi
w_need
w_custody
run "$CK" worker install-shell --shell "$(command -v bash)"
expect_status 0
LINKS=$T_HOME/.local/libexec/clankie-keys
PLAN=$KEYS/worker.mounts

# A program started under a name of our choice.
as() { # path, argv0, argument...
	as_path=$1 as_name=$2
	shift 2
	bash -c 'p=$1 n=$2; shift 2; exec -a "$n" "$p" "$@"' bash "$as_path" "$as_name" "$@"
}

t_case 'a worker'
run "$LINKS/bash" -c 'cat "$1"' sh "$DEDICATED"
expect_status 1
expect_err_has 'Permission denied'
run "$LINKS/bash" -c 'echo x >"$1/zsh"' sh "$LINKS"
refute 'its own links are read-only' test "$status" -eq 0
run "$LINKS/zsh" -c 'echo "$CLANKIE_WORKER_PANE.${CLANKIE_OPERATOR_TOKEN-unset}."'
expect_out '1..'
run sh -c 'echo $$; exec "$1" -c "echo \$\$"' sh "$LINKS/fish"
expect 'the same process' [ "$(sed -n 1p "$T_OUT")" = "$(sed -n 2p "$T_OUT")" ]
run "$LINKS/bash" -c 'readlink /proc/$$/exe; cat /proc/$$/comm; true'
expect 'which is the shell by every name' \
    [ "$(sed -n '1s|.*/||p;2p' "$T_OUT" | tr '\n' ' ')" = 'bash bash ' ]

t_case SHELL
for value in unset "$LINKS/bash" "$LINKS/zsh" /usr/bin/fish /no/such ''; do
	if [ "$value" = unset ]; then
		run env -u SHELL "$LINKS/bash" -c 'echo "$SHELL"'
	else
		run env SHELL="$value" "$LINKS/bash" -c 'echo "$SHELL"'
	fi
	expect_out "$(command -v bash)"
done
run "$LINKS/bash" -c '"$SHELL" -c "echo nested"'
expect_out nested
run "$LINKS/bash" -c '"$1" -c true' sh "$LINKS/bash"
expect_status 71

t_case 'another custody'
run env CLANKIE_KEYS_HOME="$T_TMP/other" "$LINKS/bash" -c 'cat "$1"' sh "$DEDICATED"
expect_status 1
expect_err_has 'Permission denied'

t_case 'failures start nothing'
cp "$PLAN" "$T_TMP/plan"
echo x >>"$PLAN"
refused 20 'rules --write' "$LINKS/bash" -c "touch $T_TMP/started"
cp "$T_TMP/plan" "$PLAN"
mv "$LINKS/clankie-keys" "$T_TMP/program"
refused 20 install-shell "$LINKS/bash" -c "touch $T_TMP/started"
cp "$T_TMP/program" "$LINKS/clankie-keys"
chmod 0777 "$LINKS/clankie-keys"
refused 19 'changed by somebody' "$LINKS/bash" -c "touch $T_TMP/started"
chmod 0755 "$LINKS/clankie-keys"
run "$LINKS/bash" -c true
expect_status 0
