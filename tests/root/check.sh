#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What only root can provoke: a file of somebody else, and a remote file system
# as far as one answer of the kernel makes it one.  Both close the gate.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"

[ "$(id -u)" -eq 0 ] || skip_all 'not root'

k_custody
k_copy
k_back 'in order'
k_finds 0 ''
for path in .clankie-keys .clankie-keys/operator \
    .clankie-keys/operator/operator.keychain-db .clankie-keys/custody.db \
    .clankie-keys/worker.sb .config/clankie-keys \
    .config/clankie-keys/unlock.json .config/clankie/credentials.json; do
	k_back "$path belongs to somebody else"
	chown 65534 "$T_HOME/$path"
	k_finds 21 unsafe-owner
done

k_back 'a remote file system'
# The first eight bytes of the answer are its type; these are NFS's.  A process
# that hides from others, as ours does, shows itself to root alone.
poke='inject=fstatfs:poke_exit=@arg2=6969000000000000'
if [ "$T_SANITIZED" -eq 0 ] && t_find_tool strace &&
    strace -o /dev/null -e trace=fstatfs -e "$poke" true 2>/dev/null; then
	run strace -o /dev/null -e trace=fstatfs -e "$poke" "$CK" check
	expect_status 21
	k_expect remote-filesystem
	run strace -o /dev/null -e trace=fstatfs -e "$poke" "$CK" check --startup
	expect_status 21
	k_one_line
else
	skip found 'no strace here that can change an answer'
fi
