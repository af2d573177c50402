#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Root acting for somebody else: refused with the command to run, and nothing
# of root's is left in the other home.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

[ "$(id -u)" -eq 0 ] || skip_all 'not root'

c_home
c_broker
chown -R 65534 "$T_HOME"
for t_verb in migrate get status rules 'precedence list'; do
	t_case "$t_verb in somebody else's home"
	snapshot -d "$T_HOME"
	# shellcheck disable=SC2086  # words
	run "$CK" $t_verb
	expect_status 19
	expect_err_has 'sudo -H -u'
	expect_unchanged 'nothing changed'
	refute 'nothing of root is there' [ -n "$(find "$T_HOME" -user 0)" ]
done

t_case 'a custody of somebody else'
c_home
c_broker
run "$CK" migrate
expect_status 0
chown -R 65534 "$KEYS"
for t_verb in migrate get; do
	run "$CK" "$t_verb"
	expect_status 19
	expect_err_has 'is owned by'
done
# What can be known is said, and why the rest cannot.
run "$CK" status
expect_status 0
expect_out_has 'refused: is owned by'
run "$CK" status --json
expect_json ok false
