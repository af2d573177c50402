#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker reads what is protected, in every way that works without the
# boundary, and before and after a rotation.
# shellcheck disable=SC2016  # the attempts expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need

t_case before
w_custody
steals 'cat the keychain' 'cat "$K" >"$LOOT"'
steals 'cat the records' 'cat "$HOME/.clankie-keys/custody.db" >"$LOOT"'
steals 'cat the broker' 'cat "$B" >"$LOOT"'
steals 'cat .env.local' 'cat "$E" >"$LOOT"'
steals 'cat the rules' 'cat "$HOME/.clankie-keys/worker.mounts" >"$LOOT"'
steals 'list the custody directory' 'ls "$HOME/.clankie-keys" >"$LOOT"'
steals 'dd' 'dd if="$K" of="$LOOT" 2>/dev/null'
steals 'cp' 'cp "$K" "$LOOT"'
steals 'cp -a of the directory' \
    'cp -a "$HOME/.clankie-keys" "$X"; cat "$X/operator/"* >"$LOOT"'
steals 'tar' 'tar -C "$HOME" -cf "$X" .clankie-keys && mv "$X" "$LOOT"'
steals 'mmap' '"$A" map "$K"; echo mapped >"$LOOT"'
steals 'perl' 'perl -e '\''open(F, "<", shift) or exit 1; print <F>'\'' "$K" >"$LOOT"'
steals 'through dots' 'cat "$HOME/.config/../.clankie-keys/./operator/../operator/operator.keychain-db" >"$LOOT"'
steals 'from its directory' 'cd "$HOME/.clankie-keys/operator"; cat operator.keychain-db >"$LOOT"'
steals 'through a symbolic link' 'ln -s "$K" "$X"; cat "$X" >"$LOOT"'
steals 'through a link to its directory' 'ln -s "$HOME/.clankie-keys" "$X"; cat "$X"/*/*.keychain-db >"$LOOT"'
steals 'through /proc/self/root' 'cat "/proc/self/root$K" >"$LOOT"'
steals 'through /proc/self/cwd' 'cd "$HOME"; cat "/proc/self/cwd/.clankie-keys/operator/operator.keychain-db" >"$LOOT"'
steals 'as standard input' 'cat <"$K" >"$LOOT"'
steals 'after a double fork' 'setsid sh -c "cat \"$K\" >\"$LOOT\"" & wait; test -s "$LOOT"'
steals 'get' 'HOME=$REAL; "$CK" get --fd 3 3>"$LOOT"; test -s "$LOOT"'
steals 'an outside root directory' 'cat "/proc/$PID/root$K" >"$LOOT"'
steals 'an outside working directory' 'ls "/proc/$PID/cwd/" >"$LOOT"'
steals 'an outside descriptor' 'cat "/proc/$PID/fd/8" >"$LOOT"'
steals 'an outside directory descriptor' 'cat "/proc/$PID/fd/9/operator/operator.keychain-db" >"$LOOT"'
steals 'an outside environment' 'cat "/proc/$PID/environ" >"$LOOT"'
steals 'an outside memory map' 'cat "/proc/$PID/maps" >"$LOOT"'
steals 'outside memory' '"$A" memory "$PID"; echo open >"$LOOT"'
steals 'ptrace of an outside process' '"$A" ptrace "$PID"; echo attached >"$LOOT"'
w_untouched

t_case 'after a rotation'
run env HOME="$W_HOME" "$CK" rotate
expect_status 0
run env HOME="$W_HOME" "$CK" rotate
expect_status 0
w_start
steals 'cat the keychain' 'cat "$K" >"$LOOT"'
steals 'cat the records' 'cat "$HOME/.clankie-keys/custody.db" >"$LOOT"'
steals 'cat .env.local' 'cat "$E" >"$LOOT"'
steals 'list the custody directory' 'ls "$HOME/.clankie-keys" >"$LOOT"'
steals 'an outside descriptor' 'cat "/proc/$PID/fd/8" >"$LOOT"'
steals 'get' 'HOME=$REAL; "$CK" get --fd 3 3>"$LOOT"; test -s "$LOOT"'
w_untouched

t_case 'what exists is seen to exist'
for path in .clankie-keys .clankie-keys/operator \
    .clankie-keys/operator/operator.keychain-db .clankie-keys/custody.db \
    .config/clankie/credentials.json src/app/.env.local \
    .config/clankie-keys/unlock.json .config/clankie/settings.json; do
	w_in test -e "$W_HOME/$path"
	expect_status 0
done
w_in cat "$W_HOME/.config/clankie/settings.json"
expect_out '{"fleet":{"workerSandbox":true}}'
