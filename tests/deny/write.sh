#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker changes, replaces or links what is protected.
# shellcheck disable=SC2016  # the attempts expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
w_custody

t_case write
for what in K B S U E; do
	breaks "append to \$$what" "echo x >>\"\$$what\""
	breaks "truncate \$$what" ": >\"\$$what\""
	breaks "remove \$$what" "rm -f \"\$$what\""
	breaks "move \$$what away" "mv \"\$$what\" \"\$X\""
	breaks "put another file over \$$what" \
	    "echo x >\"\$X\"; mv -f \"\$X\" \"\$$what\""
	breaks "hard link of \$$what" "ln \"\$$what\" \"\$X\""
	breaks "mode of \$$what" "chmod 0666 \"\$$what\""
	breaks "times of \$$what" "touch -d 2001-01-01 \"\$$what\""
done
breaks 'write without truncating' '"$A" write "$K"'
breaks 'swap the keychain' 'echo x >"$X"; "$A" exchange "$K" "$X"'
breaks 'swap .env.local' 'echo x >"$X"; "$A" exchange "$E" "$X"'
breaks 'swap the settings' 'echo x >"$X"; "$A" exchange "$S" "$X"'
breaks 'an attribute of the settings' '"$A" xattr "$S"'
breaks 'edit the plan' 'sed -i /mask/d "$HOME/.clankie-keys/worker.mounts"'
breaks 'edit the records' 'echo x >>"$HOME/.clankie-keys/custody.db"'
for dir in .clankie-keys .clankie-keys/operator .config/clankie \
    .config/clankie-keys; do
	breaks "a file in $dir" "\"\$A\" create \"\$HOME/$dir/x\""
	breaks "a directory in $dir" "mkdir \"\$HOME/$dir/x\""
	breaks "mode of $dir" "chmod 0777 \"\$HOME/$dir\""
done
breaks 'the lock of the broker' 'mkdir "$B.lock"'
w_untouched
