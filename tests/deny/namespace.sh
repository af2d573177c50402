#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker makes namespaces of its own, where it has every capability, and
# tries to take the masks away.
# shellcheck disable=SC2016  # the attempts expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
w_custody

# Its root may open what stands in the mask, which is empty.
inner() { # name, shell text that may fail, before the keychain is read
	steals "$1" 'unshare -Urm sh -c '\''K=$1 LOOT=$2 A=$3 D=$HOME/.clankie-keys; '"$2"'
	    cat "$K" >"$LOOT"; test -s "$LOOT"'\'' sh "$K" "$LOOT" "$A" 2>/dev/null'
}

t_case 'an inner user namespace'
inner 'as its root' ':'
inner 'umount' 'umount "$D"'
inner 'umount, lazily' '"$A" detach "$D"'
inner 'umount of every mount below the home' \
    'for m in $(awk "{ print \$5 }" /proc/self/mountinfo | sort -r); do
	    umount "$m"; umount -l "$m"; done'
inner 'umount of the home' '"$A" detach "$HOME"'
inner 'bind of the directory over itself' 'mount --bind "$D" "$D"'
inner 'bind of the home' \
    'mkdir -p m; mount --bind "$HOME" m && K=m/.clankie-keys/operator/operator.keychain-db'
inner 'recursive bind of the home' \
    'mkdir -p m; mount --rbind "$HOME" m && K=m/.clankie-keys/operator/operator.keychain-db'
inner 'recursive bind of the root' \
    'mkdir -p m; mount --rbind / m && { umount -l "m$D"; K=m$K; }'
inner 'move of the mask' 'mkdir -p m; mount --move "$D" m'
inner 'an overlay over the home' 'mkdir -p u w
    mount -t overlay -o "lowerdir=$HOME,upperdir=u,workdir=w" overlay "$HOME"'
inner 'a private copy' 'mount --make-rprivate /; umount "$D"'
inner 'modes' 'chmod -R 0777 "$D"; chmod 0777 "$K"'
inner 'a tree that is cloned' \
    '! "$A" clone "$HOME" ".clankie-keys/operator/operator.keychain-db" || echo got >"$LOOT"'
inner 'remount' '"$A" writable "$D"; chmod 0777 "$D" "$K"'
inner 'another root' 'mkdir -p m; mount --rbind / m; pivot_root m m/mnt; chroot m'
steals 'two levels' 'unshare -Urm unshare -Urm sh -c '\''umount -l "$HOME/.clankie-keys"
    cat "$1" >"$2"; test -s "$2"'\'' sh "$K" "$LOOT" 2>/dev/null'
if t_find_tool bwrap; then
	steals 'an inner sandbox' 'bwrap --dev-bind / / cat "$K" >"$LOOT"'
	steals 'an inner sandbox that binds the home elsewhere' \
	    'bwrap --dev-bind / / --bind "$HOME" /mnt cat /mnt/.clankie-keys/operator/operator.keychain-db >"$LOOT"'
fi
breaks 'writable settings' 'unshare -Urm sh -c '\''umount "$1" 2>/dev/null
    "$2" writable "$1" >/dev/null; echo x >>"$1"'\'' sh "$S" "$A"'
breaks 'a settings file that is not there' 'unshare -Urm sh -c '\''umount -l "$1" 2>/dev/null
    rm -f "$1"; test ! -e "$1"'\'' sh "$S"'
w_untouched

t_case 'another boundary inside'
printf 'clankie-keys worker mounts 1\nuser %s\nend 0\n' "$(id -u)" >"$T_TMP/empty"
steals 'an empty plan' \
    '"$(dirname "$CK")/clankie-worker-entry" --plan "'"$T_TMP"'/empty" -- cat "$K" >"$LOOT"'

t_case terminal
if "$T_TOOLS/ck-attempt" tiocsti >/dev/null; then
	breaks 'typing into the terminal' '"$A" tiocsti'
	breaks 'the same in an inner namespace' 'unshare -Ur "$A" tiocsti'
else
	skip 'typing into the terminal' 'this kernel does not allow it to anybody'
fi

t_case signals
if "$T_TOOLS/ck-attempt" scopes >/dev/null; then
	run "$T_TOOLS/ck-attempt" signal "$W_PID"
	expect_status 0
	w_in sh -c '"$A" signal "$PID"'
	expect_status 1
	expect_out 'Operation not permitted'
	w_in unshare -Ur sh -c '"$A" signal "$PID"'
	expect_status 1
	w_in sh -c 'sleep 9 & kill $! && wait $!; echo $?'
	expect_out 143
else
	skip 'a process outside' 'this kernel keeps no signals in'
fi

t_case privileges
w_in grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status
expect_status 0
expect 'no capability is left' \
    [ "$(grep -c '^Cap.*:[[:space:]]0000000000000000$' "$T_OUT")" -eq 5 ]
expect 'no new privileges, and a filter' \
    [ "$(grep -cE '^(NoNewPrivs:	1|Seccomp:	2)$' "$T_OUT")" -eq 2 ]
w_in sh -c 'ls /proc/self/fd | wc -l'
# 0, 1, 2 and the directory that ls reads.
expect_out 4
