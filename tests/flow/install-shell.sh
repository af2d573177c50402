#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# worker install-shell: links that lead to the entry, where workers cannot change
# them; nothing of somebody else's is touched; --remove takes them away.
# traced: no
# It copies programs whole, which is more than a trace shows.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
c_home
snapshot -d "$T_HOME"
for words in '--shell' '--remove --shell /bin/sh' 'zsh' '--no'; do
	# shellcheck disable=SC2086  # words
	run "$CK" worker install-shell $words
	expect_status 2
done
if [ "$(id -u)" -eq 0 ]; then
	run "$CK" worker install-shell
	expect_status 20
	expect_err_has 'ordinary user'
	expect_unchanged
	exit 0
fi
run "$CK" worker install-shell
expect_status 23
expect_err_has migrate
expect_unchanged
c_broker
run "$CK" migrate
expect_status 0
LINKS=$T_HOME/.local/libexec/clankie-keys
ENTRY=$LINKS/clankie-worker-entry

t_case 'what is refused'
snapshot "$KEYS" "$T_HOME"
run env CLANKIE_WORKER_PANE=1 "$CK" worker install-shell
expect_status 19
for shell in relative /no/such/shell /etc/passwd /bin; do
	run "$CK" worker install-shell --shell "$shell"
	refute "--shell $shell" test "$status" -eq 0
done
expect_unchanged
sleep 20 &
env CLANKIE_WORKER_PANE=1 sleep 20 &
worker=$!
sleep 0.1
run "$CK" worker install-shell
expect_status 16
expect_err_has "process $worker"
kill "$worker"
wait "$worker" 2>/dev/null
expect_unchanged 'not while a worker runs that could change it'

t_case 'another custody'
run env CLANKIE_KEYS_HOME="$T_TMP/custody" "$CK" worker install-shell
refute 'a second one' test "$status" -eq 0
(umask 077 && mkdir -p "$T_TMP/h2")
run env HOME="$T_TMP/h2" "$CK" --home "$T_TMP/h2/keys" worker install-shell
expect_status 19
expect_err_has 'where the links look'
expect_unchanged

t_case foreign
for kind in file link dir fifo; do
	mkdir -p "$LINKS"
	case $kind in
	file) echo mine >"$LINKS/fish" ;;
	link) ln -s /bin/true "$LINKS/fish" ;;
	dir) mkdir "$LINKS/fish" ;;
	fifo) mkfifo "$LINKS/fish" ;;
	esac
	snapshot "$T_HOME"
	run "$CK" worker install-shell
	expect_status 19
	expect_err_has fish
	expect_unchanged "a $kind"
	rm -rf "$T_HOME/.local"
done
for name in clankie-worker-entry clankie-keys; do
	mkdir -p "$LINKS"
	echo mine >"$LINKS/$name"
	snapshot "$T_HOME"
	run "$CK" worker install-shell
	expect_status 19
	expect_unchanged "a program $name"
	rm -rf "$T_HOME/.local"
done
mkdir -p "$LINKS"
chmod 0777 "$LINKS"
run "$CK" worker install-shell
expect_status 19
rm -rf "$T_HOME/.local"
mkdir "$T_TMP/else"
ln -s "$T_TMP/else" "$T_HOME/.local"
run "$CK" worker install-shell
expect_status 19
expect 'nothing is made behind a link' [ -z "$(ls "$T_TMP/else")" ]
rm "$T_HOME/.local"

t_case installed
run "$CK" worker install-shell
expect_status 0
expect_out_has "SHELL=$LINKS/"
expect_out_has 'your own too'
for name in zsh bash fish sh; do
	expect "$name leads to the entry" [ "$(readlink "$LINKS/$name")" = "$ENTRY" ]
done
expect_mode 0755 "$ENTRY"
expect_mode 0755 "$LINKS"
expect_mode 0600 "$T_HOME/.config/herdr/config.toml"
refute 'an empty configuration of Herdr' test -s "$T_HOME/.config/herdr/config.toml"
expect_out_has 'herdr/config.toml was made'
expect_same "$(dirname "$CK")/clankie-worker-entry" "$ENTRY"
expect_same "$CK" "$LINKS/clankie-keys"
run "$CK" get
expect_status 0
expect_out_is "$BEARER"
run "$CK" check
expect_status 0
refute 'check has nothing against rules or records' \
    grep -qE '^(error|warning) *(rules|seal|record|unknown)' "$T_OUT"
grep -q "^read dir - [0-9]* [0-9]* $LINKS$" "$KEYS/worker.mounts"
t_result $? 'the plan is about the directory that is there now'

t_case 'what check says of it'
broken() { # name, shell text that breaks it
	cp -a "$LINKS" "$T_TMP/links"
	sh -c "cd \"\$1\" && $2" sh "$LINKS"
	run "$CK" check
	expect "$1" grep -q 'wrapper-broken' "$T_OUT"
	rm -rf "$LINKS"
	cp -a "$T_TMP/links" "$LINKS"
	rm -rf "$T_TMP/links"
}
run "$CK" check
refute 'nothing, as it is' grep -q wrapper-broken "$T_OUT"
broken 'a link that is missing' 'rm zsh'
broken 'a link to a shell' 'ln -sf /bin/sh sh'
broken 'a file in its place' 'rm bash && cp /bin/true bash'
broken 'an entry that cannot be run' 'chmod 0644 clankie-worker-entry'
broken 'an entry that others can change' 'chmod 0775 clankie-worker-entry'
broken 'an entry that is missing' 'rm clankie-worker-entry'
broken 'a program that is missing' 'rm clankie-keys'
rm "$LINKS/zsh"
run "$CK" doctor
expect_out_has 'worker install-shell'
run "$CK" worker install-shell
expect_status 0
run "$CK" check
refute 'mended' grep -q wrapper-broken "$T_OUT"

t_case again
snapshot "$KEYS" "$LINKS"
run "$CK" worker install-shell
expect_status 0
expect_out_has 'as they were'
run "$LINKS/clankie-keys" worker install-shell --json
expect_status 0
expect_json changed false
expect_json entry "$ENTRY"
expect_json server_wide false
expect_unchanged
rm "$LINKS/zsh"
run "$CK" worker install-shell --json
expect_json changed true
expect 'a missing link comes back' [ "$(readlink "$LINKS/zsh")" = "$ENTRY" ]
# An older program of ours.
echo old >"$LINKS/clankie-keys"
run "$CK" worker install-shell
expect_status 0
expect_same "$CK" "$LINKS/clankie-keys"
rm "$LINKS/sh"
ln -s /bin/sh "$LINKS/sh"
run "$CK" worker install-shell
expect_status 19
rm "$LINKS/sh"
run "$CK" worker install-shell --shell /bin/sh
expect_status 0
expect_out_has 'shell:  /bin/sh'
run "$CK" worker install-shell
expect_out_has 'shell:  /bin/sh'

t_case 'a configuration that a worker could make'
mv "$T_HOME/.config/herdr/config.toml" "$T_TMP/config.toml"
env CLANKIE_WORKER_PANE=1 sleep 20 &
worker=$!
sleep 0.1
run "$CK" worker install-shell
expect_status 16
expect_err_has "process $worker"
kill "$worker"
wait "$worker" 2>/dev/null
run "$CK" worker install-shell
expect_status 0
expect 'is made again' test -e "$T_HOME/.config/herdr/config.toml"

t_case 'the recorded entry and no other'
echo '{"fleet":{"workerSandbox":true}}' >"$CLANKIE/settings.json"
mv "$ENTRY" "$T_TMP/entry"
run "$CK" worker exec -- true
expect_status 20
expect_err_has install-shell
run "$CK" worker install-shell
expect_status 0
expect_same "$T_TMP/entry" "$ENTRY"

t_case 'a wrapper for a whole server'
printf '[terminal]\n default_shell = "%s/zsh"\n' "$LINKS" >"$T_HOME/.config/herdr/config.toml"
run "$CK" worker install-shell
expect_status 0
expect_out_has 'your own terminals in Herdr included'
run "$CK" worker install-shell --json
expect_json server_wide true
echo 'default_shell = "/bin/bash"' >"$T_HOME/.config/herdr/config.toml"
run "$CK" worker install-shell
expect_status 0
expect_out_has 'are no workers'
expect 'it stays as it is' grep -qx 'default_shell = "/bin/bash"' "$T_HOME/.config/herdr/config.toml"
rm -r "$T_HOME/.config/herdr"

t_case removed
: >"$LINKS/mine"
run "$CK" worker install-shell --remove
expect_status 0
expect 'only what is not ours is left' [ "$(ls "$LINKS")" = mine ]
run "$CK" get
expect_status 0
run "$CK" worker install-shell --remove
expect_status 0
expect_out_has 'no links'
run "$CK" check
refute 'check wants none' grep -q wrapper-broken "$T_OUT"
t_no_secret
