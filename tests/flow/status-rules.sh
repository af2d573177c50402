#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# status, precedence and rules: what they print is pinned by the files in
# fixtures/cli (made anew with CK_GOLDEN=write), and none of them asks a broker
# or a password.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

GOLDEN=$T_ROOT/fixtures/cli

# Paths, random values and what the machine allows are not part of the shape.
normal() {
	sed -e "s|$T_HOME|@HOME@|g" -e 's/"fingerprint":"[0-9a-f]\{8\}"/"fingerprint":"@PRINT@"/' \
	    -e 's/fingerprint \( *\)[0-9a-f]\{8\}$/fingerprint \1@PRINT@/' \
	    -e 's/"signature":"[0-9a-f]\{32\}"/"signature":"@SIGNATURE@"/' \
	    -e 's/^memory .*/memory       @MEMORY@/' \
	    -e '/^helper /d' -e '/^exception    EXDEV/{/@HOME@/!d;}' \
	    -e 's/"helpers":\[[^]]*\]/"helpers":"@HELPERS@"/' \
	    -e 's/"edges":\[[^]]*\]/"edges":"@EDGES@"/' \
	    -e 's/"memory_locked":[a-z]*/"memory_locked":"@MEMORY@"/' "$1"
}

# The rules without their regular expressions, whose pieces depend on how long
# the home's name is, and without the directories above the home.
normal_rules() {
	normal "$1" | grep -v '(regex ' | awk -v home="$T_HOME" '
		match($0, /"[^"]*"/) {
			path = substr($0, RSTART + 1, RLENGTH - 2)
			sub(/^\/System\/Volumes\/Data/, "", path)
			if (path != "" && path != "/" &&
			    index(home "/", path "/") == 1)
				next
		}
		{ print }'
}

# Without what is about the directories above the home.
normal_below() {
	normal "$1" | grep -v "^--bind /"
}

normal_json() {
	normal "$1" | sed -e 's/},{/},\n{/g' -e 's/\[{/[\n{/' |
	    awk -v data=/System/Volumes/Data '
		/"part":"ancestor"/ && !/"path":"[^"]*@HOME@/ { next }
		{ print }'
}

expect_golden() { # name; how to make it normal
	"${2:-normal}" "$T_OUT" >"$T_TMP/$1"
	if [ "${CK_GOLDEN:-}" = write ]; then
		cp "$T_TMP/$1" "$GOLDEN/$1"
	fi
	if cmp -s "$GOLDEN/$1" "$T_TMP/$1"; then
		ok "as fixtures/cli/$1"
	else
		diff "$GOLDEN/$1" "$T_TMP/$1" >"$T_NOTE" 2>&1
		not_ok "as fixtures/cli/$1"
		: >"$T_NOTE"
	fi
}

t_case 'nothing there'
c_home
snapshot -d "$T_HOME"
run "$CK" status
expect_status 0
expect_golden status-before.txt
run "$CK" status --json
expect_status 0
expect_golden status-before.json
run "$CK" precedence list
expect_status 23
expect_out_empty
run "$CK" rules --write
expect_status 23
expect_out_empty
run "$CK" rules
expect_status 0
expect_golden rules-before.sb normal_rules
expect_unchanged 'nothing appeared'

t_case 'migrated'
c_broker
run "$CK" migrate
expect_status 0
expect_golden migrate.txt
snapshot -d "$T_HOME"
run "$CK" status
expect_status 0
expect_golden status.txt
run "$CK" status --json
expect_status 0
expect_golden status.json
run "$CK" migrate --json
expect_status 0
expect_golden migrate-again.json
run "$CK" precedence list
expect_status 0
expect_golden precedence.txt
run "$CK" precedence list --json
expect_status 0
expect_json ok true
expect_json precedence.0.credential operator
expect_json precedence.0.rank 0
expect_json precedence.0.store dedicated
expect_json precedence.0.path "$DEDICATED"
run "$CK" precedence explain service-startup
expect_status 0
expect_golden precedence-explain.txt
run "$CK" precedence explain rotation --json
expect_status 0
expect_golden precedence-explain.json
for words in '' 'explain' 'explain nobody' 'list again' 'verify me'; do
	# shellcheck disable=SC2086  # words
	run "$CK" precedence $words
	expect_status 2
	expect_out_empty
done
run "$CK" rules
expect_status 0
expect_golden rules.sb normal_rules
expect_out_is "$KEYS/worker.sb"
run "$CK" rules --format seatbelt
expect_out_is "$KEYS/worker.sb"
run "$CK" rules --format mounts
expect_status 0
expect_out_is "$KEYS/worker.mounts"
expect_err_has '.config/herdr/config.toml: is not there'
run "$CK" rules --format mounts --quiet
expect_out_is "$KEYS/worker.mounts"
expect_err_empty
run "$CK" rules --format mounts --json
expect_status 0
expect_json format mounts
expect_json path "$KEYS/worker.mounts"
"$T_TOOLS/ck-json" text <"$T_OUT" >"$T_TMP/text"
expect 'the plan of --json is that of the file' \
    test "$(cat "$T_TMP/text")" = "$(cat "$KEYS/worker.mounts" && echo)"
run "$CK" rules --format bwrap
expect_status 0
expect_golden rules.bwrap normal_below
expect_err_has 'bwrap: nothing is proved at the launch'
run "$CK" rules --format json
expect_status 0
expect_golden rules.json normal_json
for line in 'mask dir 0100 [0-9]* [0-9]* '"$KEYS" \
    'name file 0000 - - '"$DEDICATED" \
    'mask dir 0500 [0-9]* [0-9]* '"$CLANKIE" \
    'name file 0000 - - '"$BROKER" \
    'back file - - - '"$CLANKIE/settings.json" \
    'read dir - [0-9]* [0-9]* '"$T_HOME/.config/clankie-keys"; do
	expect "a line $(echo "$line" | sed "s|$T_HOME|~|")" \
	    grep -qx "$line" "$KEYS/worker.mounts"
done
expect_mode 0600 "$KEYS/worker.mounts"
run "$CK" rules --format nonsense
expect_status 14
expect_out_empty
run "$CK" rules --json
expect_status 0
expect_json format seatbelt
expect_json path "$KEYS/worker.sb"
expect_json written false
"$T_TOOLS/ck-json" text <"$T_OUT" >"$T_TMP/text"
{ cat "$KEYS/worker.sb" && echo; } >"$T_TMP/want.text"
expect 'the text of --json is that of the file' \
    test "$(cat "$T_TMP/text")" = "$(cat "$T_TMP/want.text")"
run "$CK" rules --write
expect_status 0
expect_out_has "written      $KEYS/worker.sb"
expect_out_has "$KEYS/worker.mounts"
expect 'and nothing else' test "$(wc -l <"$T_OUT")" -eq 2
expect_unchanged 'rules that are right are not written again'

t_case 'no broker and no password is asked'
cp -p "$UNLOCK" "$T_TMP/unlock.kept"
rm "$UNLOCK"
mkfifo -m 0600 "$UNLOCK"
rm "$BROKER"
mkfifo -m 0600 "$BROKER"
for words in status 'status --json' 'precedence list' rules \
    'rules --format mounts' --version --help; do
	# shellcheck disable=SC2086  # words
	run "$CK" $words
	expect_status 0
done
run "$CK" status
expect_golden status.txt
t_case 'what is written needs records that are proved'
snapshot "$T_HOME"
run "$CK" rules --write
expect_status 19
expect_unchanged 'nothing was written'
rm "$UNLOCK"
cp -p "$T_TMP/unlock.kept" "$UNLOCK"

t_case 'rules that were edited'
cp "$KEYS/worker.sb" "$T_TMP/rules"
for edit in 's/subpath/literal/' 's/^(deny/(allow/' 1d; do
	cp "$T_TMP/rules" "$KEYS/worker.sb"
	sed "$edit" "$T_TMP/rules" >"$KEYS/worker.sb"
	run "$CK" status --json
	expect_status 0
	expect_json rules_state differ
	run "$CK" status
	expect_out_has '(differ)'
	expect_out_has 'rules --write'
	run "$CK" rules --write
	expect_status 0
	expect_same "$T_TMP/rules" "$KEYS/worker.sb"
	expect_mode 0600 "$KEYS/worker.sb"
	run "$CK" status --json
	expect_json rules_state match
done
t_case 'a plan that was edited'
cp "$KEYS/worker.mounts" "$T_TMP/plan"
for edit in 1d '/^mask/d' 's/^mask/bind/' 's/ 0100 / 0700 /' '/^end/d'; do
	sed "$edit" "$T_TMP/plan" >"$KEYS/worker.mounts"
	run "$CK" status --json
	expect_json rules_state differ
	run "$CK" rules --write
	expect_status 0
	expect_same "$T_TMP/plan" "$KEYS/worker.mounts"
done
t_case 'a plan of other directories'
mv "$CLANKIE" "$T_HOME/away"
cp -a "$T_HOME/away" "$CLANKIE"
run "$CK" status --json
expect_json rules_state match
run "$CK" rules --write
expect_status 0
refute 'it was written again' cmp -s "$T_TMP/plan" "$KEYS/worker.mounts"
rm -rf "$CLANKIE"
mv "$T_HOME/away" "$CLANKIE"
run "$CK" rules --write
expect_same "$T_TMP/plan" "$KEYS/worker.mounts"
t_case 'rules that are gone'
rm "$KEYS/worker.sb"
run "$CK" status --json
expect_json rules_state differ
run "$CK" rules --write
expect_status 0
expect_same "$T_TMP/rules" "$KEYS/worker.sb"
t_case 'rules that lead elsewhere'
mv "$KEYS/worker.sb" "$T_HOME/elsewhere"
ln -s "$T_HOME/elsewhere" "$KEYS/worker.sb"
run "$CK" status --json
expect_status 0
expect_json rules_state unknown
run "$CK" rules --write
expect_status 19
expect_err_has "$KEYS/worker.sb"
expect_same "$T_TMP/rules" "$T_HOME/elsewhere"
rm "$KEYS/worker.sb"
t_case 'rules that others may write'
cp "$T_TMP/rules" "$KEYS/worker.sb"
chmod 0666 "$KEYS/worker.sb"
run "$CK" status --json
expect_json rules_state unknown
run "$CK" rules --write
expect_status 19
chmod 0600 "$KEYS/worker.sb"

t_case 'checkouts'
mkdir -p "$T_HOME/one" "$T_HOME/two words"
run "$CK" rules --write --checkout "$T_HOME/one"
expect_status 2
c_home
c_broker
mkdir -p "$T_HOME/one" "$T_HOME/two words"
run "$CK" rules --checkout "$T_HOME/one"
expect_status 0
expect_out_has "(literal \"$T_HOME/one/.env.local\")"
run "$CK" migrate --checkout "$T_HOME/one" --checkout "$T_HOME/two words"
expect_status 0
run "$CK" rules
expect_out_has "(literal \"$T_HOME/one/.env.local\")"
expect_out_has "(literal \"$T_HOME/two words/.env.local\")"

t_case 'the worker sandbox'
for setting in '{"fleet":{"workerSandbox":true}}:on' \
    '{"fleet":{"workerSandbox":false}}:off' '{"fleet":{}}:absent' \
    '{}:absent' '{"fleet":{"workerSandbox":"yes"}}:unknown' \
    'nonsense:unknown'; do
	echo "${setting%:*}" >"$CLANKIE/settings.json"
	run "$CK" status --json
	expect_status 0
	expect_json worker_sandbox "${setting##*:}"
	run "$CK" status
	case $setting in
	*:on) refute 'nothing is left to do' grep -q 'next:' "$T_OUT" ;;
	*) expect_out_has 'until then nothing is protected' ;;
	esac
	expect 'the settings were not touched' \
	    test "$(cat "$CLANKIE/settings.json")" = "${setting%:*}"
done

t_case 'settings of the dedicated keychain that somebody changed'
"$T_TOOLS/ck-json" password <"$UNLOCK" | tr -d '\n' >"$T_TMP/unlock"
t_secret "$T_TMP/unlock"
expect 'the file was changed' c_tamper update --lock-after 300 \
    --lock-on-sleep no --password-fd 3 3<"$T_TMP/unlock"
run "$CK" status --json
expect_status 0
expect_json keychain.settings_changed true
run "$CK" status
expect_out_has 'not what was set'
run "$CK" get
expect_status 0
expect_out_is "$BEARER"

t_case 'a dedicated keychain that cannot be read'
chmod 0640 "$DEDICATED"
run "$CK" status --json
expect_status 0
expect_json keychain.code refused
chmod 0600 "$DEDICATED"
run "$CK" status --json
expect_json keychain.code ok

t_case 'an open journal'
# A migration that cannot write its rules stays open behind the moment from
# which the dedicated keychain decides.
c_home
c_broker
mkdir -m 700 "$KEYS" "$KEYS/worker.sb"
run "$CK" migrate
refute 'the rules cannot be written' test "$status" -eq 0
expect_err_has 'worker.sb'
run "$CK" status --json
expect_json unfinished migrate
run "$CK" status
expect_out_has 'finish the interrupted migrate'
run "$CK" get
expect_out_is "$BEARER"
rmdir "$KEYS/worker.sb"
run "$CK" migrate --json
expect_status 0
expect_json outcome resumed
run "$CK" status --json
expect_json unfinished null

t_case 'a forged journal row'
if t_find_tool sqlite3; then
	sqlite3 "$KEYS/custody.db" "INSERT INTO journal
	    (operation, nonce, credential, step, from_generation,
	    to_generation, at) SELECT 'migrate',
	    '00000000000000000000000000000000', 'operator', 5, 0, 1,
	    strftime('%Y-%m-%dT%H:%M:%SZ', 'now')" 2>"$T_TMP/sql"
	expect 'a row was made' test ! -s "$T_TMP/sql"
	run "$CK" get
	expect_status 13
	expect_out_empty
	expect_err_has 'seal'
else
	skip 'a forged journal row' 'no sqlite3 here'
fi

t_case 'records that tell nothing'
c_home
c_broker
run "$CK" migrate
expect_status 0
cp -a "$T_HOME" "$T_TMP/whole"
for how in missing cut open hollow; do
	rm -rf "$T_HOME"
	cp -a "$T_TMP/whole" "$T_HOME"
	case $how in
	missing) rm "$KEYS/custody.db" ;;
	cut) truncate -s 100 "$KEYS/custody.db" ;;
	open) chmod 0644 "$KEYS/custody.db" ;;
	hollow) rm "$DEDICATED" ;;
	esac
	snapshot "$T_HOME"
	run "$CK" status --json
	expect_status 0
	expect_json ok false
	expect_json decided_by dedicated
	case $how in
	missing) expect_json records no-store ;;
	cut) expect_json records damaged ;;
	open) expect_json records refused ;;
	hollow)
		expect_json records ok
		expect_json keychain.code no-store
		expect_json generation 1
		;;
	esac
	run "$CK" status
	expect_status 0
	expect_out_has 'broker       '
	expect_out_has 'next: '
	expect_unchanged "$how: nothing was changed"
done
run "$CK" status --broker "file:$T_HOME/other.json"
expect_status 19
expect_out_empty

t_case 'restored'
c_home
c_broker
run "$CK" migrate
expect_status 0
run "$CK" restore --dry-run
expect_golden restore-plan.txt
run "$CK" restore
expect_golden restore.txt
run "$CK" restore --json
expect_golden restore-again.json
run "$CK" status
expect_golden status-restored.txt

t_case 'whole script'
t_no_secret "$KEYS/custody.db" "$KEYS/worker.sb" "$KEYS/worker.mounts"

# As /tmp and /var are on macOS: the rules have the place it leads to.
t_case 'a home with an odd name, and behind a symbolic link'
odd=$T_TMP/"o'd \"q\" b\\s é"
mkdir -m 0700 "$odd" "$odd/.clankie-keys"
ln -s "$odd" "$T_TMP/way"
for format in seatbelt mounts bwrap json; do
	run env HOME="$odd" "$CK" rules --format $format
	expect_status 0
	cp "$T_OUT" "$T_TMP/straight"
	run env HOME="$T_TMP/way" "$CK" rules --format $format
	expect_status 0
	expect_out_is "$T_TMP/straight"
	refute "$format does not name the link" grep -qF "$T_TMP/way" "$T_OUT"
	run env HOME="$T_TMP/../${T_TMP##*/}/./way/" "$CK" rules --format $format
	expect_out_is "$T_TMP/straight"
done
