#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The arguments of "rules --format bwrap", given to a real bubblewrap: what is
# protected is closed, work goes on; without them the same command reads it.
# shellcheck disable=SC2016  # the attempts expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
if ! t_find_tool bwrap || ! bwrap --dev-bind / / true 2>/dev/null; then
	skip_all 'no bwrap here'
fi
w_custody
mkdir "$T_HOME/it's \"odd\""
"$CK" protect add "$T_HOME/it's \"odd\"" >/dev/null 2>&1

t_case 'the arguments'
run "$CK" rules --format bwrap
expect_status 0
for gap in 'shows as a device' 'job control' 'nothing is proved' 'child of bwrap' \
    'config.toml: is not there' '.env.local: is closed as a single file'; do
	expect_err_has "$gap"
done
args=$(cat "$T_OUT")
run "$CK" rules --format bwrap --null
expect_status 0
cp "$T_OUT" "$T_TMP/null"
eval "printf '%s\\0' $args" >"$T_TMP/words"
expect_same "$T_TMP/words" "$T_TMP/null"
run "$CK" rules --format bwrap --json
expect_json format bwrap
expect_json path null
for words in '--format mounts --null' '--format bwrap --null --json' --null; do
	# shellcheck disable=SC2086  # words
	run "$CK" rules $words
	expect_status 2
	expect_err_has 'goes with --format bwrap'
done

# The same command with nothing but the arguments added.
without() {
	run bwrap --dev-bind / / -- env HOME="$W_TWIN" LOOT="$W_LOOT" "$@"
}
with() {
	run bwrap --args 3 -- env HOME="$W_HOME" LOOT="$W_LOOT" "$@" 3<"$T_TMP/null"
}
takes() { # name, shell text
	rm -rf "$W_LOOT"
	w_tidy
	without sh -c "$w_words$2"
	t_why 'it got nothing even without the arguments'
	[ "$status" -eq 0 ] && w_looted
	t_result $? "$1: control"
	rm -rf "$W_LOOT"
	with sh -c "$w_words$2"
	t_why 'it worked'
	[ "$status" -ne 0 ] && ! w_looted
	t_result $? "$1"
	cat "$T_OUT" "$T_ERR" >>"$T_TMP/said"
}
changes() { # name, shell text
	w_twin
	w_tidy
	without sh -c "$w_words$2"
	t_why 'it fails even without the arguments'
	[ "$status" -eq 0 ]
	t_result $? "$1: control"
	with sh -c "$w_words$2"
	t_why 'it worked'
	[ "$status" -ne 0 ]
	t_result $? "$1"
}

t_case 'what is protected'
w_start
takes 'the keychain' 'cat "$K" >"$LOOT"'
takes 'the records' 'cat "$HOME/.clankie-keys/custody.db" >"$LOOT"'
takes 'the broker' 'cat "$B" >"$LOOT"'
takes .env.local 'cat "$E" >"$LOOT"'
takes 'a list of the custody directory' 'ls "$HOME/.clankie-keys" >"$LOOT"'
takes 'a directory with quotes' 'cd "$HOME/it'\''s \"odd\""; ls -a >"$LOOT"'
changes 'write the settings' 'echo x >>"$S"'
changes 'replace the settings' 'echo x >x; mv x "$S"'
changes 'write the unlock password' 'echo x >>"$U"'
changes 'remove .env.local' 'rm -f "$E"'
changes 'plant in the custody directory' 'echo x >"$HOME/.clankie-keys/x"'
for dir in .clankie-keys .config .config/clankie src src/app; do
	changes "rename $dir" "mv \"\$HOME/$dir\" \"\$HOME/away\""
done
changes 'link .env.local' 'ln "$E" x'
for path in .clankie-keys .clankie-keys/operator/operator.keychain-db \
    .config/clankie/credentials.json src/app/.env.local; do
	with test -e "$W_HOME/$path"
	expect_status 0
done
w_untouched

t_case work
with sh -c 'cd "$HOME/src/app" && echo 1 >a && mv a b && mkdir c && mv b c && cat c/b && rm -r c'
expect_status 0
expect_out 1
with cat "$W_HOME/.config/clankie/settings.json"
expect_out '{"fleet":{"workerSandbox":true}}'

t_case 'what is not there'
rm "$E_REAL"
run "$CK" rules --format bwrap
expect_err_has '.env.local: is not there'
refute 'it is not named' grep -q 'env.local' "$T_OUT"
run "$CK" rules --format bwrap --null
bwrap --args 3 -- true 3<"$T_OUT"
refute 'and bwrap makes none' test -e "$E_REAL"
