#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is mounted while a worker runs does not get to it: neither a file system
# of its owner's, which docs/boundary.md says, nor one over or below a mask.
# shellcheck disable=SC2016  # the shells expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

[ "$(id -u)" -eq 0 ] || skip_all 'not root'
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
mkdir -p "$T_HOME/work/disk"
echo before >"$T_HOME/work/disk/here"
chown -R $USER_ID:$USER_ID "$T_HOME"

# In a mount namespace whose root is shared, as a system's is.
cat >"$T_TMP/script" <<'S'
set -u
user() { setpriv --reuid "$USER_ID" --regid "$USER_ID" --clear-groups "$@"; }
mount --make-rshared / || exit 9
user "$CK" migrate >/dev/null 2>&1 || exit 8
user "$CK" worker exec -- sh -c 'echo up >"$HOME/work/up"
    while [ ! -e "$HOME/work/go" ]; do sleep 0.05; done
    cat "$HOME/work/disk/here"; cat "$1"; ls "$2/later"; cat "$3"' sh \
    "$KEYS/operator/operator.keychain-db" "$KEYS/later" "$BROKER" \
    >"$SAID" 2>&1 &
worker=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ ! -e "$HOME/work/up" ] || break
	sleep 0.2
done
own="mode=0700,uid=$USER_ID,gid=$USER_ID"
mount -t tmpfs -o "$own" later "$HOME/work/disk" &&
    echo new >"$HOME/work/disk/here" &&
    mount -t tmpfs -o "$own" later "$KEYS" &&
    mkdir -p "$KEYS/operator" "$KEYS/later/in" &&
    echo shown >"$KEYS/operator/operator.keychain-db" &&
    mount -t tmpfs -o "$own" later "${BROKER%/*}" && echo shown >"$BROKER" &&
    chmod -R a+rX "$KEYS" "${BROKER%/*}" || exit 7
cat "$HOME/work/disk/here" "$KEYS/operator/operator.keychain-db" "$BROKER"
touch "$HOME/work/go"
wait $worker
S
run env USER_ID=$USER_ID CK="$CK" KEYS="$KEYS" BROKER="$BROKER" \
    SAID="$T_TMP/said" HOME="$T_HOME" timeout 15 unshare -m sh "$T_TMP/script"
# The status of ls, and of cat, inside.
expect_status 1
expect 'outside there is what was mounted' \
    [ "$(tr '\n' ' ' <"$T_OUT")" = 'new shown shown ' ]
expect 'the worker has the directory as it was' \
    [ "$(head -n 1 "$T_TMP/said")" = before ]
expect 'and nothing behind its masks' \
    [ "$(grep -c 'Permission denied' "$T_TMP/said")" -eq 2 ]
refute 'in no line' grep -qE 'shown|in$' "$T_TMP/said"
t_no_secret "$T_TMP/said"
