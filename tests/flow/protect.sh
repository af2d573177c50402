#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# protect: further places are kept from workers, in records, rules and launch;
# what is always protected stays so, and no worker is locked out of its home.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"

refuses() { # status, words in the message, protect's words...
	code=$1 text=$2
	shift 2
	snapshot "$T_HOME"
	run "$CK" protect "$@"
	expect_status "$code"
	expect_err_has "$text"
	expect_out_empty
	expect_unchanged 'nothing was changed'
}

t_case 'before a migration'
c_home
c_broker
mkdir -m 0700 "$T_HOME/notes"
refuses 23 'no records' list
refuses 23 'no dedicated keychain' add "$T_HOME/notes"
refuses 23 'no dedicated keychain' remove "$T_HOME/notes"

t_case 'a directory'
k_custody
mkdir -m 0700 "$T_HOME/notes"
echo text >"$T_HOME/notes/file"
echo text >"$T_HOME/plain"
run "$CK" protect list
expect_status 0
expect_out_has "$KEYS  (custody directory)"
expect_out_has "$T_HOME/one/.env.local  (checkout)"
run "$CK" protect add "$T_HOME/notes"
expect_status 0
expect_out_has 'can neither read nor change it'
run "$CK" protect list --json
expect_json ok true
expect_out_has "{\"path\":\"$T_HOME/notes\",\"kind\":\"directory\",\"deny\":\"read+write\",\"why\":\"added by the owner\"}"
expect 'it is in the rules' grep -qF "\"$T_HOME/notes\"" "$KEYS/worker.sb"
expect 'it is in the mount plan' grep -qF "$T_HOME/notes" "$KEYS/worker.mounts"
run "$CK" precedence verify
expect_status 0
k_finds 0 ''
snapshot "$T_HOME"
run "$CK" protect add "$T_HOME/notes/" --json
expect_json outcome already
run "$CK" protect add "$T_HOME/one/../notes" --write-only --json
expect_json outcome already
expect_unchanged 'once is enough, and less asks for nothing'

t_case 'a file, against change alone'
run "$CK" protect add "$T_HOME/plain" --write-only
expect_status 0
expect_out_has 'cannot change it'
run "$CK" protect list
expect_out_has "write       file       $T_HOME/plain"
run "$CK" protect add "$T_HOME/plain" --json
expect_json outcome protected
run "$CK" protect list
expect_out_has "read+write  file       $T_HOME/plain"
k_finds 0 ''

t_case 'a worker, if there is one here'
if "$CK" worker exec -- true >"$T_TMP/null" 2>&1; then
	run "$CK" worker exec -- cat "$T_HOME/notes/file"
	refute 'it cannot read there' test "$status" -eq 0
	run "$CK" worker exec -- cat "$T_HOME/plain"
	refute 'nor the file' test "$status" -eq 0
	run cat "$T_HOME/notes/file"
	expect_status 0
else
	skip 'a launch' 'no worker can be confined here'
fi

t_case 'not any more'
run "$CK" protect remove "$T_HOME/notes" --json
expect_json outcome removed
refute 'it is in no rules' grep -qF "\"$T_HOME/notes\"" "$KEYS/worker.sb"
k_finds 0 ''
refuses 10 'not protected' remove "$T_HOME/notes"
run "$CK" protect remove "$T_HOME/one/.env.local"
expect_status 0
run "$CK" protect checkout "$T_HOME/one" --json
expect_json outcome protected
run "$CK" protect checkout "$T_HOME/one" --json
expect_json outcome already

t_case 'what is always protected'
for path in "$KEYS" "$BROKER" "$CLANKIE/settings.json" \
    "$T_HOME/.config/clankie-keys" "$T_HOME/.config/herdr/config.toml" \
    "$T_HOME/.local/libexec/clankie-keys"; do
	refuses 19 'always protected' remove "$path"
done

t_case 'what nobody means'
ln -s "$T_HOME/notes" "$T_HOME/link"
mkfifo "$T_HOME/fifo"
refuses 19 'holds your home' add "$T_HOME"
refuses 19 'holds your home' add "$(dirname "$T_HOME")"
refuses 19 'holds your home' add /
refuses 19 'every program needs' add /usr
refuses 19 'symbolic link' add "$T_HOME/link"
refuses 14 'neither a file nor a directory' add "$T_HOME/fifo"
refuses 23 'does not exist' add "$T_HOME/none"
refuses 23 'no directory' checkout "$T_HOME/none"
refuses 2 'list, add and a path' add
refuses 2 'list, add and a path' nonsense "$T_HOME/notes"
refuses 2 'goes with add' remove "$T_HOME/notes" --write-only

t_case 'the rule that decides'
explains() { # decision, operation, path, word of the rule
	run "$CK" rules explain "$3" --op "$2"
	expect_status 0
	expect_out_has "$1 "
	expect_out_has "rule         $1"
	expect_out_has "$4"
	run "$CK" rules explain "$3" --op "$2" --json
	expect_json decision "$1"
	expect_json operation "$2"
	expect_json rule.effect "$1"
}
snapshot "$T_HOME"
explains deny file-read-data "$DEDICATED" '(custody directory)'
explains allow file-read-metadata "$DEDICATED" everything
explains deny file-read-data "$BROKER" '(file broker)'
explains deny file-write-data "$CLANKIE/settings.json" '(settings)'
explains allow file-read-data "$CLANKIE/settings.json" everything
explains deny file-write-unlink "$T_HOME/.config" 'exactly'
explains deny file-read-data "$T_HOME/plain" '(added by the owner)'
explains allow file-write-data "$T_HOME/none/yet" everything
for words in "explain $T_HOME/plain" "explain --op file-read-data" \
    "--op file-read-data" "explain $T_HOME/plain --op nonsense" \
    "explain $T_HOME/plain --op fork" "nonsense $T_HOME/plain" \
    "explain $T_HOME/plain --op file-read-data --write"; do
	# shellcheck disable=SC2086  # words
	run "$CK" rules $words
	expect_status 2
	expect_out_empty
done
run "$CK" rules --format json
expect_json format json
expect_json rules.0.filter none
expect_json rules.0.effect allow
expect_out_has "\"path\":\"$KEYS\""
expect_out_has '"part":"ancestor"'
expect_unchanged 'asking changes nothing'

t_case 'edited records are not sealed again'
k_copy
if t_find_tool sqlite3; then
	k_back 'edited records are not sealed again'
	sqlite3 "$KEYS/custody.db" "DELETE FROM protected WHERE why = 'checkout'"
	refuses 13 'seal' add "$T_HOME/notes"
	k_back 'a row that somebody else wrote is not there already'
	sqlite3 "$KEYS/custody.db" "INSERT INTO protected (path, kind, deny, why)
	    VALUES ('$T_HOME/notes', 'directory', 'read+write', 'by the owner')"
	refuses 13 'seal' add "$T_HOME/notes"
else
	skip 'edited records' 'no sqlite3'
fi
k_back 'without the unlock password'
rm "$UNLOCK"
refuses 23 'unlock password' add "$T_HOME/notes"
k_back 'in a worker'
run env CLANKIE_WORKER_PANE=1 "$CK" protect add "$T_HOME/notes"
expect_status 19

k_back 'rules that a killed run left behind'
"$CK" protect add "$T_HOME/notes" >"$T_TMP/null"
cat "$T_TMP/whole/.clankie-keys/worker.sb" >"$KEYS/worker.sb"
run "$CK" protect add "$T_HOME/notes" --json
expect_json outcome already
expect 'the same call finishes it' \
    grep -qF "\"$T_HOME/notes\"" "$KEYS/worker.sb"

t_case 'whole script'
t_no_secret "$KEYS/custody.db"
