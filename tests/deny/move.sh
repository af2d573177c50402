#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker moves a directory on the way to what is protected, or removes it.
# shellcheck disable=SC2016  # the attempts expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
w_custody

t_case move
for dir in .clankie-keys .clankie-keys/operator .config .config/clankie \
    .config/clankie-keys src src/app; do
	breaks "$dir away" "mv \"\$HOME/$dir\" \"\$HOME/away\""
	breaks "$dir beside itself" "mv \"\$HOME/$dir\" \"\$HOME/$dir-2\""
	breaks "$dir swapped" \
	    "mkdir \"\$HOME/twin\"; \"\$A\" exchange \"\$HOME/$dir\" \"\$HOME/twin\""
	rmdir "$W_HOME/twin" 2>/dev/null
done
breaks 'remove everything' \
    'rm -rf "$HOME/.clankie-keys"; test ! -e "$HOME/.clankie-keys"'
breaks 'the home' 'mv "$HOME" "$HOME-2" && mv "$HOME-2" "$HOME"'
w_untouched
