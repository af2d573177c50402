#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What one worker does to rules, plan, records, wrapper, links and settings
# changes nothing for the next one: it is denied, or the next launch finds it.
# shellcheck disable=SC2016  # the attempts expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
w_custody

t_case 'before there is a wrapper'
# A worker of today prepares one for the next.
w_in sh -c 'mkdir -p "$HOME/.local/libexec/clankie-keys" && cd "$HOME/.local/libexec/clankie-keys" &&
    printf "#!/bin/sh\ntouch \"%s\"\n" "$LOOT" >clankie-worker-entry && chmod 0755 clankie-worker-entry &&
    cp clankie-worker-entry clankie-keys && ln -s clankie-worker-entry bash'
expect_status 0
run env LOOT="$W_LOOT" "$CK" worker exec -- cat "$DEDICATED"
expect_status 1
expect_err_has 'Permission denied'
refute 'what it made is not used' test -e "$W_LOOT"
run "$CK" worker install-shell
expect_status 19
expect_err_has 'not ours'
rm -r "$T_HOME/.local"
run "$CK" worker install-shell --shell "$(command -v bash)"
expect_status 0
expect 'there is a configuration of Herdr to protect' \
    test -e "$T_HOME/.config/herdr/config.toml"
LINKS=$T_HOME/.local/libexec/clankie-keys
w_start
snapshot "$KEYS" "$W_HOME/.config" "$E_REAL" "$W_HOME/.local"

# The next worker, by both ways.
next() {
	for n_way in exec shell; do
		case $n_way in
		exec) run "$CK" worker exec -- bash -c 'id -u && cat "$1"' sh "$DEDICATED" ;;
		shell) run "$LINKS/bash" -c 'id -u && cat "$1"' sh "$DEDICATED" ;;
		esac
		[ "$(cat "$T_OUT")" = "$(id -u)" ] && grep -q 'Permission denied' "$T_ERR"
		t_result $? "the next worker, by $n_way, is one"
	done
	w_untouched
}

t_case 'rules and plan'
w_words="$w_words
P=\$HOME/.clankie-keys/worker.mounts
L=\$HOME/.local/libexec/clankie-keys
H=\$HOME/.config/herdr/config.toml
"
breaks 'emptied' ': >"$P"'
breaks 'removed' 'rm "$P"'
breaks 'written anew' 'sed /^mask/d "$P" >new && cp new "$P"'
breaks 'replaced by another' 'echo x >new && mv new "$P"'
breaks 'a link in its place' 'ln -sf /dev/null "$P"'
breaks 'the profile' 'echo "(version 1)" >"${P%mounts}sb"'
breaks 'the directory of both' 'mv "$HOME/.clankie-keys" "$HOME/old"'
next

t_case records
breaks 'removed' 'rm "$HOME/.clankie-keys/custody.db"'
breaks 'overwritten' 'echo x >"$HOME/.clankie-keys/custody.db"'
breaks 'a journal beside them' 'echo x >"$HOME/.clankie-keys/custody.db-journal"'
if t_find_tool sqlite3; then
	breaks 'another entry' 'sqlite3 "$HOME/.clankie-keys/custody.db" \
	    "DELETE FROM setting WHERE name = '\''worker.entry'\''"'
	breaks 'another protected set' 'sqlite3 "$HOME/.clankie-keys/custody.db" \
	    "DELETE FROM protected WHERE why = '\''checkout'\''"'
else
	skip 'rows' 'no sqlite3 here'
fi
next

t_case 'wrapper and links'
breaks 'a link removed' 'rm "$L/bash"'
breaks 'a link to a shell' 'ln -sfn /bin/bash "$L/bash"'
breaks 'a link over it' 'ln -s /bin/bash new && mv new "$L/bash"'
breaks 'the entry overwritten' 'cp /bin/true new && cat new >"$L/clankie-worker-entry"'
breaks 'the entry replaced' 'cp /bin/true new && mv -f new "$L/clankie-worker-entry"'
breaks 'the program replaced' 'cp /bin/true new && mv -f new "$L/clankie-keys"'
breaks 'not executable' 'chmod 0644 "$L/clankie-worker-entry"'
breaks 'writable by all' 'chmod 0777 "$L"'
breaks 'another name' 'echo x >"$L/mksh"'
breaks 'their directory moved' 'mv "$L" "$L.old"'
breaks 'the one above moved' 'mv "$HOME/.local/libexec" "$HOME/.local/old"'
breaks 'all of it moved' 'mv "$HOME/.local" "$HOME/old"'
breaks 'exchanged' 'mkdir -p "$HOME/.local/other" && "$A" exchange "$HOME/.local/other" "$HOME/.local/libexec"'
rmdir "$W_HOME/.local/other"
next

t_case settings
breaks 'switched off' 'echo "{}" >"$S"'
breaks 'replaced' 'echo "{}" >new && mv new "$S"'
breaks 'their directory moved' 'mv "$HOME/.config/clankie" "$HOME/.config/old"'
breaks 'the unlock password removed' 'rm "$U"'
breaks 'a shell for all panes' 'echo "default_shell = \"/bin/bash\"" >"$H"'
breaks 'another configuration of Herdr' 'echo x >new && mv new "$H"'
next

# Not denied, since nothing is there that a mount could lie on; found.
t_case 'found at the launch'
found() { # name, shell text, status, text
	w_tidy
	w_in sh -c "$w_words$2"
	expect_status 0
	refused "$3" "$4" "$CK" worker exec -- touch "$T_TMP/started"
	refused "$3" "$4" "$LINKS/bash" -c "touch $T_TMP/started"
	rm -rf "$T_HOME/src/other/.env.local"
	run "$CK" worker exec -- true
	expect_status 0
}
found 'a link where a file will be' \
    'ln -s "$HOME/work/x" "$HOME/src/other/.env.local" && echo x >"$HOME/work/x"' 20 'not closed'
found 'a second name of what will be protected' \
    'cd "$HOME/src/other" && echo x >f && ln f .env.local' 19 'hard links'
found 'a directory' 'mkdir "$HOME/src/other/.env.local"' 20 'is a directory now'
w_tidy
w_in sh -c 'echo "KEY=1" >"$HOME/src/other/.env.local"'
expect_status 0
run "$CK" worker exec -- cat "$T_HOME/src/other/.env.local"
expect_status 1
expect_err_has 'Permission denied'
rm "$T_HOME/src/other/.env.local"
t_case 'what another process left'
for edit in '/^mask/d' 's/^read/bind/' '/libexec/d'; do
	cp "$KEYS/worker.mounts" "$T_TMP/plan"
	sed "$edit" "$T_TMP/plan" >"$KEYS/worker.mounts"
	refused 20 'rules --write' "$CK" worker exec -- touch "$T_TMP/started"
	refused 20 'rules --write' "$LINKS/zsh" -c "touch $T_TMP/started"
	cat "$T_TMP/plan" >"$KEYS/worker.mounts"
done
for path in clankie-worker-entry clankie-keys; do
	chmod 0777 "$LINKS/$path"
	refused 19 '' "$LINKS/zsh" -c "touch $T_TMP/started"
	chmod 0755 "$LINKS/$path"
done
snapshot "$KEYS" "$W_HOME/.config" "$E_REAL" "$W_HOME/.local"
next
