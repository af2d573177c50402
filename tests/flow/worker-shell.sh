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

for home in "$T_TMP/other" / '' relative; do
	mkdir -p "$T_TMP/other"
	run env HOME="$home" "$LINKS/bash" -c 'echo "$HOME"; cat "$1"' sh "$DEDICATED"
	expect_status 1
	expect 'HOME is passed on' [ "$(cat "$T_OUT")" = "$home" ]
	expect_err_has 'Permission denied'
done
run sh -c 'cd "$1" && ./bash -c "cat \"\$0\"" "$2"' sh "$LINKS" "$DEDICATED"
expect_err_has 'Permission denied'
printf '#!%s/bash\ncat "%s"\n' "$LINKS" "$DEDICATED" >"$T_HOME/work/script"
chmod 0755 "$T_HOME/work/script"
run "$T_HOME/work/script"
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

t_case 'which shell it is'
shell_of_user=$(getent passwd "$(id -u)" | cut -d: -f7)
run "$CK" worker install-shell --remove
run "$CK" worker install-shell
expect_status 0
run "$LINKS/zsh" -c 'readlink "/proc/$$/exe"; echo "$SHELL $0"'
expect 'of the password database, whatever the link is called' \
    [ "$(cat "$T_OUT")" = "$(readlink -f "$shell_of_user")
$shell_of_user $shell_of_user" ]
printf '#!/bin/sh\nexec "%s/sh" "$@"\n' "$LINKS" >"$T_TMP/wrapper"
chmod 0755 "$T_TMP/wrapper"
run "$CK" worker install-shell --shell "$T_TMP/wrapper"
expect_status 0
refused 71 'boundary already' "$LINKS/sh" -c "touch $T_TMP/started"
run "$CK" worker sandbox off
expect_status 0
run "$LINKS/sh" -c "touch $T_TMP/started"
expect_status 22
expect_err_has 'leads back'
refute 'without a boundary it ends, too' test -e "$T_TMP/started"
run "$CK" worker sandbox on
expect_status 0
for shell in "$LINKS/sh" "$LINKS/clankie-worker-entry" /etc/passwd; do
	run "$CK" worker install-shell --shell "$shell"
	refute "--shell $shell" test "$status" -eq 0
done
run "$CK" worker shell -- -c 'echo x'
expect_status 71
run "$CK" worker install-shell --shell "$(command -v bash)"
run "$CK" worker shell -- -c 'echo "$0 $*"' a 'b c'
expect_out 'a b c'
run "$CK" worker shell --login -- -c 'shopt login_shell; exit 9'
expect_status 9
expect_out_has on

# The matrix: every name it can be called by, every form of arguments, SHELL in
# four ways; the same words go to the real shell, and everything that comes
# back must be the same.
cat >"$T_TMP/matrix" <<'M'
# program, its path as argv[0], its name, the shell's own command, which
export LC_ALL=C HOME
program=$1 path=$2 name=$3 say=$4 links=$5 i=0
seen='sh -c "tr \"\\\\0\" \" \" </proc/\$PPID/cmdline; grep -E \"^Sig[BI]\" /proc/self/status"'
all="$say; $seen; exit 7"
one() { # argument...
	for as in "$path" "$name" "-$name" -other other; do
		i=$((i + 1))
		case $((i % 4)) in
		0) unset SHELL ;;
		1) export SHELL=/no/such/shell ;;
		2) export SHELL="$links/$name" ;;
		3) export SHELL=/usr/bin/fish ;;
		esac
		echo "== $as: $1 ($((i % 4)))"
		(exec -a "$as" "$program" "$@")
		echo "status $?"
	done 2>&1
}
echo "$all" >"$HOME/script"
one -c "$all" zero 'a  b' ''
one -l -c "$all" zero -c
one -ilc "$all"
one -c 'kill -TERM $$; sleep 1'
i=0
one <"$HOME/script"
[ "$name" = bash ] || exit 0
one -i -c "$all"
one "$HOME/script" a b
one -c 'exit 0'
one -c 'exec no-such-program'
one --no-such-option
M
matrix() { # name, command of its own, how many ways
	real=$(command -v "$1") || {
		skip "$1" 'it is not here'
		return 0
	}
	"$CK" worker install-shell --shell "$real" >/dev/null
	mkdir -p "$T_HOME/.config/fish"
	run bash "$T_TMP/matrix" "$real" "$real" "$1" "$2" "$LINKS"
	sed 's/group ([0-9]*)/group (N)/' "$T_OUT" >"$T_TMP/real"
	run bash "$T_TMP/matrix" "$LINKS/$1" "$LINKS/$1" "$1" "$2" "$LINKS"
	sed "s|^== $LINKS/$1:|== $real:|; s/group ([0-9]*)/group (N)/" "$T_OUT" >"$T_TMP/link"
	expect "$1: all ways are in it" [ "$(grep -c '^==' "$T_TMP/real")" -ge "$3" ]
	expect "$1: status 7 and 143 are" grep -qxE 'status (7|143)' "$T_TMP/real"
	diff "$T_TMP/real" "$T_TMP/link" >"$T_NOTE"
	t_result $? "$1: all of them as the real shell"
}
# To our program they are all the same.
[ "$T_SANITIZED" -eq 0 ] || exit 0
t_case matrix
matrix bash 'shopt login_shell; echo "$0 $- $# $*"' 50
matrix sh 'echo "$0 $- $# $*"' 25
matrix zsh 'echo "$0 $- $# $*"; [[ -o login ]]; echo $?' 25
matrix fish 'status is-login; echo $status; echo (count $argv) $argv' 25
