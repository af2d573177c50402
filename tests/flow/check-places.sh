#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What check finds about places: modes, links, types, file systems, what was
# left behind, and second bearers wherever they may lie.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"

k_custody
k_copy
k_back 'in order'
k_finds 0 ''

k_back 'a directory above is open'
chmod 0777 "$T_HOME"
k_has_after 21 unsafe-ancestor
k_back 'the one above broker and unlock password is'
chmod 0777 "$T_HOME/.config"
k_has_after 21 unsafe-ancestor
k_back 'in order again'
for path in .clankie-keys .clankie-keys/operator \
    .clankie-keys/operator/operator.keychain-db .clankie-keys/custody.db \
    .config/clankie-keys .config/clankie-keys/unlock.json \
    .config/clankie/credentials.json; do
	k_back "$path is open"
	chmod g+r "$T_HOME/$path"
	k_finds 21 unsafe-mode
	run "$CK" check
	expect_out_has "chmod go= '$T_HOME/$path'"
done
k_back 'the rules are open'
chmod 0666 "$KEYS/worker.sb"
k_finds 21 unsafe-mode
k_back 'rules that others may read'
chmod 0644 "$KEYS/worker.sb"
k_finds 0 ''
for path in .clankie-keys/operator/operator.keychain-db \
    .clankie-keys/custody.db .clankie-keys/worker.sb \
    .clankie-keys/worker.mounts \
    .config/clankie-keys/unlock.json .config/clankie/credentials.json; do
	k_back "$path has a second name"
	ln "$T_HOME/$path" "$T_HOME/second"
	k_finds 21 extra-link
	k_back "$path is a symbolic link"
	mv "$T_HOME/$path" "$T_HOME/elsewhere"
	ln -s "$T_HOME/elsewhere" "$T_HOME/$path"
	# Where it leads would have to be protected, too.
	case $path in
	*/credentials.json) k_finds 21 'symlink rules-differ' ;;
	*) k_finds 21 symlink ;;
	esac
	k_back "$path is a directory"
	rm "$T_HOME/$path"
	mkdir -m 0700 "$T_HOME/$path"
	k_finds 21 wrong-type
	k_back "$path is a FIFO"
	rm "$T_HOME/$path"
	mkfifo -m 0600 "$T_HOME/$path"
	k_finds 21 wrong-type
done
k_back 'the directory of the keychain is a symbolic link'
mv "$KEYS/operator" "$T_HOME/elsewhere"
ln -s "$T_HOME/elsewhere" "$KEYS/operator"
k_finds 21 symlink

t_case 'a synced folder'
c_home
c_broker
k_sandbox on
mkdir "$T_HOME/Dropbox"
run "$CK" migrate --home "$T_HOME/Dropbox/keys"
expect_status 0
run "$CK" check --home "$T_HOME/Dropbox/keys"
expect_status 0
k_expect synced-folder
k_back 'a second custody'
run "$CK" check --home "$T_HOME/other"
expect_status 21
k_has second-custody
run "$CK" get --home "$T_HOME/other" --fd 1
expect_status 19
expect_out_empty
for name in .clankie-keys/custody.db.new-0000000000004711 \
    .clankie-keys/worker.sb.tmp-0123abcd \
    .clankie-keys/worker.mounts.tmp-0123abcd \
    .clankie-keys/operator/operator.keychain-db.sb-0123abcd-012345 \
    .config/clankie-keys/unlock.json.tmp-0123abcd; do
	k_back "$name was left"
	: | t_write "$T_HOME/$name"
	k_finds 0 leftover-temporary
done
k_back 'names that are nobody'\''s leftovers'
: | t_write "$KEYS/worker.sb.tmp-notes"
: | t_write "$KEYS/other"
k_finds 0 foreign-file

k_back 'the broker has a bearer again'
t_bearer_json "$T_TMP/decoy"
c_broker_text "$T_TMP/decoy" | t_write "$T_TMP/new"
cat "$T_TMP/new" >"$BROKER"
k_finds 21 second-bearer-file
k_back 'under another name nobody asks for it'
"$T_TOOLS/ck-json" key <"$T_TMP/decoy" | tr -d '\n' >"$T_TMP/decoy.key"
{ printf '{"old":{"was":"' && cat "$T_TMP/decoy.key" && echo '"}}'; } \
    >"$T_TMP/named"
cat "$T_TMP/named" >"$BROKER"
k_finds 0 bearer-other-name
run "$CK" check
expect_out_has 'operator bearer as old'
k_back 'so has the file that the environment names'
mkdir -m 0700 "$T_HOME/named"
c_broker_text "$T_TMP/decoy" | t_write "$T_HOME/named/credentials.json"
CLANKIE_CREDENTIALS_FILE=$T_HOME/named/credentials.json
export CLANKIE_CREDENTIALS_FILE
k_finds 21 second-bearer-file
unset CLANKIE_CREDENTIALS_FILE
k_back 'the broker is no JSON'
echo nonsense >"$BROKER"
k_finds 21 not-judged
k_back 'the broker holds nothing else'
echo '{}' >"$BROKER"
k_finds 0 ''
run "$CK" check
k_has_not remaining-secrets
k_back 'a checkout has one'
t_bearer "$T_TMP/decoy.key"
{ printf 'A=' && cat "$T_TMP/decoy.key"; } >"$T_HOME/one/.env.local"
k_finds 21 second-bearer-dotenv
k_back 'a checkout has something else'
echo 'A=b' >"$T_HOME/one/.env.local"
k_finds 0 ''
k_back 'a checkout cannot be read'
mkfifo "$T_HOME/one/.env.local"
k_finds 21 not-judged
k_back 'a link in place of the unlock password directory'
mv "$T_HOME/.config/clankie-keys" "$T_HOME/elsewhere"
ln -s "$T_HOME/elsewhere" "$T_HOME/.config/clankie-keys"
k_check
expect_status 21
k_has symlink
expect_out_has "$T_HOME/.config/clankie-keys: is a symbolic link"
rm "$T_HOME/.config/clankie-keys"
rm -r "$T_HOME/elsewhere"
k_back 'a file in the custody directory'
: | t_write "$KEYS/strange"
k_finds 0 foreign-file
k_back 'a second copy of the keychain beside it'
cp "$DEDICATED" "$KEYS/operator/copy.keychain-db"
k_finds 0 foreign-file
k_back 'many of them'
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do mkdir "$KEYS/operator/s$n"; done
k_finds 0 foreign-file
expect 'they are not all named' \
    [ "$(grep -c 'foreign-file' "$T_OUT")" -le 9 ]

LOCK=$(cd "$KEYS/operator" && echo .fl*)
: >"$T_TMP/target"
for kind in FIFO directory link hard-link; do
	k_back "Apple's lock is a $kind"
	rm -f "$KEYS/operator/$LOCK"
	case $kind in
	FIFO) mkfifo -m 0600 "$KEYS/operator/$LOCK"; code=wrong-type ;;
	directory) mkdir -m 0700 "$KEYS/operator/$LOCK"; code=wrong-type ;;
	link)
		ln -s "$T_TMP/target" "$KEYS/operator/$LOCK"
		code=symlink
		;;
	hard-link)
		: | t_write "$T_HOME/other-name"
		ln "$T_HOME/other-name" "$KEYS/operator/$LOCK"
		code=extra-link
		;;
	esac
	k_finds 21 "$code"
	run "$CK" get
	expect_status 0
	[ "$kind" != hard-link ] || continue
	snapshot "$T_HOME"
	run "$CK" rotate
	refute 'a writer refuses, in time' [ "$status" -eq 0 ]
	run "$CK" get
	expect_status 0
	expect_same "$T_TMP/target" /dev/null
done
k_back 'FIFOs with names of ours'
for name in worker.sb.tmp-0123abcd scratch-00112233445566778899aabbccddeeff \
    restored-00112233445566778899aabbccddeeff; do
	mkfifo -m 0600 "$KEYS/$name"
done
k_finds 0 foreign-file
k_check
for name in worker.sb.tmp scratch restored; do
	expect_out_has "$KEYS/$name-"
done
k_back 'the journal of the records is a FIFO'
mkfifo -m 0600 "$KEYS/custody.db-journal"
k_has_after 21 wrong-type
run "$CK" get
refute 'get does not give anything then' [ "$status" -eq 0 ]
k_back 'nobody reads what the gate says'
if [ -z "$CK_TRACED" ]; then
	mkfifo "$T_TMP/full"
	# Opened both ways it never ends; what is written first fills it.
	exec 8<>"$T_TMP/full"
	dd if=/dev/zero of="$T_TMP/full" bs=4096 oflag=nonblock \
	    >"$T_TMP/null" 2>&1
	began=$(date +%s)
	"$CK" check --startup 2>&8 >"$T_TMP/null"
	status=$?
	expect_status 21
	expect 'it ends all the same' test $(($(date +%s) - began)) -le 3
	exec 8>&-
fi
for value in x ''; do
	k_back "an override '$value' is set"
	CLANKIE_OPERATOR_TOKEN=$value
	export CLANKIE_OPERATOR_TOKEN
	k_finds 21 environment-override
	unset CLANKIE_OPERATOR_TOKEN
done

k_back 'a process that has the override'
if [ -r /proc/self/environ ] && [ -z "$CK_TRACED" ]; then
	# A value that would be a secret, and is never shown.
	t_bearer "$T_TMP/override"
	mkfifo "$T_TMP/end"
	(
		CLANKIE_OPERATOR_TOKEN=$(cat "$T_TMP/override")
		export CLANKIE_OPERATOR_TOKEN
		exec cat "$T_TMP/end" >/dev/null
	) &
	pid=$!
	# Opening for writing ends when cat has opened for reading.
	exec 9>"$T_TMP/end"
	run "$CK" check
	expect_status 0
	k_has service-environment
	expect_out_has "process $pid: "
	t_no_secret
	run "$CK" check --json
	expect_status 0
	t_no_secret
	k_gate 0
	exec 9>&-
	wait "$pid"
	run "$CK" check
	refute 'gone with the process' grep -q "process $pid: " "$T_OUT"

	t_case 'a worker from before the migration'
	worker() {
		CLANKIE_WORKER_PANE=1 cat "$T_TMP/end" >"$T_TMP/null" &
		pid=$!
		exec 9>"$T_TMP/end"
	}
	c_home
	c_broker
	worker
	old=$pid
	# Dates of processes and events are whole seconds.
	sleep 2
	run "$CK" migrate
	run "$CK" check
	expect_status 0
	k_has worker-before-migration
	expect_out_has "process $old: is a worker"
	exec 9>&-
	wait "$old"
	sleep 2
	worker
	run "$CK" check
	refute 'one from after it is none' grep -q "process $pid: " "$T_OUT"
	exec 9>&-
	wait "$pid"
else
	skip found 'no /proc here, or every environment is watched'
fi
