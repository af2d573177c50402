#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doctor: for each finding that can be mended the damage is done, the command
# that doctor gives is run as it is, and check proves that the finding is gone.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"

mkdir "$T_TMP/bin"
ln -s "$CK" "$T_TMP/bin/clankie-keys"
PATH=$T_TMP/bin:$PATH

d_doctor() {
	if [ "$K_PW" = /dev/null ]; then
		run "$CK" doctor "$@"
	else
		run "$CK" doctor --login-password-fd 3 "$@" 3<"$K_PW"
	fi
}

# The member of the first finding with this code, into $T_TMP/MEMBER.
d_member() { # code, member
	i=0
	rm -f "$T_TMP/$2"
	while "$T_TOOLS/ck-json" "findings.$i.code" <"$T_OUT" >"$T_TMP/code" &&
	    [ "$(cat "$T_TMP/code")" != "$1" ]; do
		i=$((i + 1))
	done
	"$T_TOOLS/ck-json" "findings.$i.$2" <"$T_OUT" >"$T_TMP/$2" ||
	    : >"$T_TMP/$2"
}

# What only the owner can name is named here; nothing else is changed.
d_cure() { # code
	d_member "$1" command
	sed -e "s|BACKUP-KEYCHAIN|$T_TMP/backup.keychain|;s|BACKUP-UNLOCK|$T_TMP/backup.unlock|" \
	    -e "s|BACKUP|$T_TMP/backup|;s|PASSWORD-FILE|$PW|" \
	    -e "s|find / -xdev|find $T_TMP -xdev|" \
	    "$T_TMP/command" >"$T_TMP/run"
	yes | sh -eu "$T_TMP/run" >"$T_OUT" 2>"$T_ERR"
	status=$?
	t_why "$(cat "$T_TMP/run")"
	[ "$status" -eq 0 ] && [ -s "$T_TMP/run" ]
	t_result $? "$1: $(sed "s|$T_TMP||g" "$T_TMP/run")"
	k_check
	k_has_not "$1"
}

mends() { # code
	snapshot "$T_HOME"
	d_doctor --json
	t_no_secret
	expect_unchanged 'doctor changes nothing'
	d_cure "$1"
}

in_order() {
	k_check
	expect_status 0
	run "$CK" get
	expect_out_is "$BEARER"
}

k_custody
cp -p "$DEDICATED" "$T_TMP/backup.keychain"
cp -p "$UNLOCK" "$T_TMP/backup.unlock"
cp -p "$KEYS/custody.db" "$T_TMP/backup.records"
k_copy

t_case 'in order'
run "$CK" check --repair
d_doctor
expect_status 0
expect_out_has '4 readers and writers'
expect_out_has ' menu-bar '
expect_out_has 'precedence honours PRINCIPAL yes'
d_doctor --verbose
expect_out_has 'menu-bar: does not ask the records'
t_case 'words'
for words in 'a b' --nonsense --repair '--broker x'; do
	# shellcheck disable=SC2086  # words
	run "$CK" doctor $words
	expect_status 2
	expect_out_empty
done

for path in .clankie-keys .clankie-keys/operator \
    .clankie-keys/operator/operator.keychain-db .clankie-keys/custody.db \
    .config/clankie-keys .config/clankie-keys/unlock.json \
    .config/clankie/credentials.json; do
	k_back "$path is open"
	chmod g+r "$T_HOME/$path"
	mends unsafe-mode
	in_order
done
k_back 'on the search list'
k_search_list "$DEDICATED"
d_doctor --json
d_member on-search-list command
expect 'the list never becomes empty' test "$(cat "$T_TMP/command")" = null
# shellcheck disable=SC2088  # macOS expands it
k_search_list '~/Library/Keychains/a b</string></dict><dict>
<key>DbName</key><string>'"${DEDICATED%-db}"
cat >"$T_TMP/bin/security" <<-'END'
	#!/bin/sh
	[ "$1 $2 $3 $4 $#" = 'list-keychains -d user -s 5' ] || exit 1
	sed "/operator.keychain/d;s|~/.*a b|$5|" \
	    "$HOME/Library/Preferences/com.apple.security.plist" >"$HOME/new"
	mv "$HOME/new" "$HOME/Library/Preferences/com.apple.security.plist"
END
chmod +x "$T_TMP/bin/security"
mends on-search-list
expect 'the other one is kept' grep -qF "$HOME/Library/Keychains/a b" \
    "$HOME/Library/Preferences/com.apple.security.plist"
k_back 'the rules are open'
chmod 0666 "$KEYS/worker.sb"
mends unsafe-mode
expect_mode 0644 "$KEYS/worker.sb"
k_back 'a directory above is open'
chmod 0777 "$T_HOME"
mends unsafe-ancestor
for path in .clankie-keys/operator/operator.keychain-db \
    .config/clankie-keys/unlock.json; do
	k_back "$path has a second name"
	ln "$T_HOME/$path" "$T_HOME/second"
	mends extra-link
	refute 'the other name is gone' test -e "$T_HOME/second"
	in_order
	k_back "$path is a symbolic link"
	mv "$T_HOME/$path" "$T_HOME/elsewhere"
	ln -s "$T_HOME/elsewhere" "$T_HOME/$path"
	mends symlink
	in_order
done
k_back 'its directory is a symbolic link'
mv "$KEYS/operator" "$T_HOME/elsewhere"
ln -s "$T_HOME/elsewhere" "$KEYS/operator"
mends symlink
in_order
k_back 'the rules are a directory'
rm "$KEYS/worker.sb"
mkdir -m 0700 "$KEYS/worker.sb"
mends wrong-type
mends rules-missing
in_order

if [ "$(id -u)" -ne 0 ]; then
	k_back 'the keychain is denied'
	chmod 0000 "$DEDICATED"
	mends dedicated-denied
	in_order
	k_back 'its directory is denied'
	chmod 0000 "$KEYS/operator"
	mends dedicated-denied
	in_order
	k_back 'the records are denied'
	chmod 0000 "$KEYS/custody.db"
	mends records-unreadable
	in_order
	k_back 'the unlock password is denied'
	chmod 0000 "$UNLOCK"
	mends unlock-unreadable
	in_order
	k_back 'the broker is denied'
	chmod 0000 "$BROKER"
	mends not-judged
	in_order
	k_back 'the settings are denied'
	chmod 0000 "$CLANKIE/settings.json"
	mends sandbox-unknown
else
	skip denied 'root is refused nothing'
fi

k_back 'the keychain is gone'
cp "$T_TMP/backup.keychain" "$T_TMP/backup"
rm -r "$KEYS/operator"
mends dedicated-missing
mends dedicated-replaced
in_order
k_back 'the keychain is something else'
echo nonsense >"$DEDICATED"
mends dedicated-damaged
in_order
expect 'the damaged one was kept' test -s "$KEYS/operator.keychain-db.aside-1"
k_back 'the item is gone'
c_tamper delete --service bot.clankie.credentials --account clankie_operator
mends item-attributes-changed
in_order
k_back 'the unlock password is gone'
cp "$T_TMP/backup.unlock" "$T_TMP/backup"
rm -r "$T_HOME/.config/clankie-keys"
mends unlock-missing
in_order
k_back 'the unlock password is nonsense'
echo nonsense >"$UNLOCK"
mends unlock-unreadable
in_order
k_back 'another unlock password'
t_password "$T_TMP/other"
IFS= read -r text <"$UNLOCK"
old=$(cat "$T_TMP/unlock")
{ printf '%s' "${text%%"$old"*}" && cat "$T_TMP/other" &&
    printf '%s\n' "${text#*"$old"}"; } | t_write "$T_TMP/new"
cat "$T_TMP/new" >"$UNLOCK"
mends unlock-wrong
in_order
k_back 'the settings of the keychain were changed'
c_tamper update --lock-after 300 --password-fd 3 3<"$T_TMP/unlock"
mends settings-changed
in_order
k_back 'left'
: | t_write "$KEYS/worker.sb.tmp-0123abcd"
mends leftover-temporary
k_back 'a keychain that was left'
cp -a "$KEYS/operator" "$KEYS/scratch-0123456789abcdef0123456789abcdef"
mends leftover-keychain
in_order
k_back 'rules that were edited'
echo '(allow default)' >>"$KEYS/worker.sb"
mends rules-differ
in_order
cp "$T_TMP/backup.records" "$T_TMP/backup"

if t_find_tool jq; then
	k_back 'the sandbox is off'
	echo '{"a":1.50,"fleet":{"workerSandbox":false,"b":{}}}' \
	    >"$CLANKIE/settings.json"
	mends sandbox-off
	expect 'the rest is kept' grep -q '"b": {}' "$CLANKIE/settings.json"
	k_back 'the broker has a bearer again'
	t_bearer_json "$T_TMP/decoy"
	c_broker_text "$T_TMP/decoy" | t_write "$T_TMP/new"
	cat "$T_TMP/new" >"$BROKER"
	mends second-bearer-file
	in_order
	expect 'the other entries are kept' grep -q provider4 "$BROKER"
	expect_mode 0600 "$BROKER"
	# Then it may be the last copy.
	k_back 'the broker has a bearer, and the keychain is lost'
	cat "$T_TMP/new" >"$BROKER"
	rm "$DEDICATED"
	run "$CK" doctor
	expect_out_has 'keep it: it may be the last copy'
	refute 'nothing removes it' grep -q 'jq --arg' "$T_OUT"
else
	skip 'edited JSON' 'no jq here'
fi
k_back 'there are no settings'
rm -r "$CLANKIE/settings.json"
mends sandbox-off
k_back 'a checkout has one'
t_bearer "$T_TMP/decoy.key"
{ echo 'A=b' && printf 'T=' && cat "$T_TMP/decoy.key"; } \
    >"$T_HOME/one/.env.local"
mends second-bearer-dotenv
expect 'the other line is kept' grep -qx 'A=b' "$T_HOME/one/.env.local"
run "$CK" status --json
expect_json generation 2

k_back 'the override is set'
CLANKIE_OPERATOR_TOKEN=x
export CLANKIE_OPERATOR_TOKEN
d_doctor --json
d_member environment-override command
# In this shell, as its owner would.
eval "$(cat "$T_TMP/command")"
expect 'it is unset' test -z "${CLANKIE_OPERATOR_TOKEN+set}"
k_check
k_has_not environment-override
k_back 'not migrated'
rm -r "$KEYS" "$T_HOME/.config/clankie-keys"
c_broker_text "$BEARER" | t_write "$BROKER"
mends not-migrated
in_order

k_back 'the records are gone'
rm "$KEYS/custody.db"
mends records-missing
in_order
k_back 'the records are damaged'
: >"$KEYS/custody.db"
mends records-damaged
in_order
k_back 'records of an earlier day'
run "$CK" rotate
"$CK" get >"$T_TMP/rotated"
cat "$T_TMP/backup.records" >"$KEYS/custody.db"
mends generation-behind
run "$CK" get
expect_out_is "$T_TMP/rotated"
if t_find_tool sqlite3; then
	k_back 'edited records'
	sqlite3 "$KEYS/custody.db" "UPDATE protected SET why = 'x'
	    WHERE why = 'settings'"
	mends seal-broken
	in_order
	for edit in 'UPDATE event SET detail = 1 WHERE seq = 1' \
	    "DELETE FROM precedence WHERE principal = 'launcher'"; do
		k_back "$edit"
		sqlite3 "$KEYS/custody.db" "SELECT sql || ';' FROM sqlite_schema
		    WHERE type = 'trigger'" >"$T_TMP/triggers.sql"
		sqlite3 "$KEYS/custody.db" "SELECT 'DROP TRIGGER ' || name || ';'
		    FROM sqlite_schema WHERE type = 'trigger'" >"$T_TMP/drop.sql"
		{ cat "$T_TMP/drop.sql" && echo "$edit;" &&
		    cat "$T_TMP/triggers.sql"; } | sqlite3 "$KEYS/custody.db"
		case $edit in
		UPDATE*) mends event-chain-broken ;;
		*) mends precedence-not-first ;;
		esac
		in_order
	done
	k_back 'another journal mode'
	sqlite3 "$KEYS/custody.db" 'PRAGMA journal_mode=WAL' >/dev/null
	mends records-unreadable
	in_order
	k_back 'a name that would be run'
	sqlite3 "$KEYS/custody.db" "INSERT INTO journal (operation, nonce,
	    credential, step, from_generation, to_generation, at) VALUES
	    ('rotate', '00000000000000000000000000000000',
	    '\$(touch \$HOME/run);x', 1, 0, 1,
	    strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))"
	d_doctor --json
	d_member journal-open command
	sh "$T_TMP/command" >/dev/null 2>&1
	refute 'it is only a name' test -e "$T_HOME/run"
else
	skip 'odd records' 'no sqlite3 here'
fi
k_back 'an interrupted rotation'
if t_find_tool strace && strace -o /dev/null true 2>/dev/null; then
	strace -f -qq -o /dev/null -e inject=renameat:signal=KILL:when=1 \
	    "$CK" rotate >/dev/null 2>&1
	mends journal-open
	k_check
	expect_status 0
else
	skip 'interrupted' 'no strace here'
fi

k_back 'findings in their order'
chmod 0777 "$KEYS/worker.sb"
chmod 0644 "$UNLOCK"
: | t_write "$KEYS/custody.db.new-0000000000004711"
echo '(allow default)' >>"$KEYS/worker.sb"
k_sandbox off
d_doctor
expect_status 21
expect_err_has '2 errors to mend'
sed -n 's/^ *[0-9]*\. //p' "$T_OUT" | grep -v ': ' >"$T_TMP/steps"
printf '%s\n' "chmod go-w $KEYS/worker.sb" "chmod go= $UNLOCK" \
    'clankie-keys check --repair' >"$T_TMP/want"
head -n 3 "$T_TMP/steps" >"$T_TMP/steps.now"
expect_same "$T_TMP/want" "$T_TMP/steps.now"
expect 'a step is there once' test "$(grep -c -- --repair "$T_TMP/steps")" -eq 1
sh -eu "$T_TMP/steps.now" >/dev/null
k_check
expect_status 0
k_expect sandbox-off

t_case 'JSON'
if t_find_tool jq; then
	c_home
	c_broker
	k_sandbox off
	run "$CK" migrate --service-honours-precedence
	rm "$KEYS/worker.sb"
	chmod 0644 "$UNLOCK"
	d_doctor --json
	expect_status 21
	# What other processes hide is not the same everywhere.
	cp "$T_OUT" "$T_TMP/whole.json"
	jq -c 'del(.findings[], .steps[] | select(.code == "not-checked" or
	    .code == "service-environment"))' "$T_TMP/whole.json" >"$T_OUT"
	k_golden doctor.json
else
	skip 'JSON' 'no jq here'
fi

t_case 'a keychain is the broker'
c_home
k_sandbox on
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
printf '["clankie_operator","other"]' >"$T_TMP/index"
c_add bot.clankie.credentials __index__ "$T_TMP/index"
migrate_login --service-honours-precedence
expect_status 0
k_copy
k_back 'an index that names what is gone'
"$CK" keychain update "$LOGIN" --service bot.clankie.credentials \
    --account __index__ --password-fd 3 --secret-fd 4 3<"$PW" 4<"$T_TMP/index"
K_PW=$PW
mends stale-index
k_back 'the login keychain has a bearer again'
t_bearer_json "$T_TMP/decoy"
c_add bot.clankie.credentials clankie_operator "$T_TMP/decoy"
mends second-bearer-login
k_back 'without its password'
K_PW=/dev/null
d_doctor --json
d_member dedicated-locked command
expect 'with the password' \
    grep -qx 'clankie-keys doctor --login-password-fd 3 3<PASSWORD-FILE' \
    "$T_TMP/command"

# The paths that break a careless command line.
for name in 'a b' "it's" 'a"b' "\$(touch X)" 'a;b' 'a\b' 'ä' 'a[b]*' '-x' \
    "$(printf 'a\342\200\256b')"; do
	t_case "below $(printf %s "$name" | tr -c '[:print:]' '?')"
	t_home
	mkdir -m 0700 "$T_HOME/$name"
	HOME=$T_HOME/$name
	T_HOME=$HOME
	CLANKIE=$HOME/.config/clankie
	BROKER=$CLANKIE/credentials.json
	KEYS=$HOME/.clankie-keys
	c_broker
	run "$CK" migrate
	expect_status 0
	chmod 0640 "$KEYS/custody.db"
	run "$CK" doctor
	sed -n 's/^         run: \(.*custody\.db.*\)/\1/p' "$T_OUT" >"$T_TMP/run"
	expect 'there is a command' test "$(wc -l <"$T_TMP/run")" -eq 1
	sh "$T_TMP/run"
	expect_mode 0600 "$KEYS/custody.db"
done
t_case 'whole script'
refute 'nothing was run by a name' test -e X
