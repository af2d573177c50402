#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# traced: no
#
# Every command that a next step names is run as it is, and what that names
# then, until the credential can be read again: no two of them send their
# reader back and forth, and none lacks an option that it needs.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

# The command in the last line of standard error, or doctor's first step; N is
# the descriptor on which everything is given here.
next_command() {
	case $1 in
	*' doctor' | *' doctor --login'*)
		sed -n 's/^ *1\. \(clankie-keys .*\)/\1/p' "$T_OUT"
		;;
	*) sed -n '$s/.*\(clankie-keys [a-z][^();,]*\).*/\1/p' "$T_ERR" ;;
	esac | sed -e 's/ \(would\|says\|again\|then\|gives\|writes\|names\).*//' \
	    -e 's/ 3<PASSWORD-FILE//' -e 's/-fd N/-fd 3/' \
	    -e "s|keychain:PATH|keychain:$LOGIN|"
}

# Run a command and then what it names, at most six of them.
follow() {
	command="clankie-keys $*" seen=
	steps=0
	while [ "$steps" -lt 6 ]; do
		steps=$((steps + 1))
		# shellcheck disable=SC2086  # words
		run "$CK" ${command#clankie-keys } 3<"$PW"
		seen="$seen
$command"
		[ "$status" -ne 0 ] || break
		command=$(next_command "$command")
		[ -n "$command" ] || break
		! printf '%s\n' "$seen" | grep -qxF -e "$command" || break
	done
	echo "# $(printf %s "$seen" | sed 's/clankie-keys //' | tr '\n' '>')"
	t_why "it goes in a circle, or ends without help: $seen: $command"
	[ "$status" -eq 0 ]
	t_result $? "$1 leads to an end"
}

again() {
	chmod -R u+rwX "$T_HOME"
	rm -rf "$T_HOME"
	cp -a "$T_TMP/whole" "$T_HOME"
}

lose() { # what
	case $1 in
	password) rm "$UNLOCK" ;;
	item) "$CK" keychain delete "$LOGIN" --service bot.clankie.custody \
	    --account operator-keychain ;;
	keychain) rm "$DEDICATED" ;;
	directory) rm -r "$KEYS/operator" ;;
	cut) truncate -s 100 "$DEDICATED" ;;
	records) rm "$KEYS/custody.db" ;;
	records-cut) truncate -s 100 "$KEYS/custody.db" ;;
	seal) sqlite3 "$KEYS/custody.db" \
	    "DELETE FROM protected WHERE why = 'settings'" ;;
	rules) rm "$KEYS/worker.sb" ;;
	esac
}

# get, check and status each name a way out of it.
leads_out() { # what, options
	what=$1
	shift
	for verb in get check; do
		again
		lose "$what"
		case $what:$verb in rules:get) continue ;; esac
		t_case "$what, $verb"
		follow "$verb" "$@"
		run "$CK" get "$@" 3<"$PW"
		expect_status 0
		run "$CK" precedence verify "$@" 3<"$PW"
		expect_status 0
	done
	again
	lose "$what"
	run "$CK" status --json
	expect_status 0
}

t_case 'nothing anywhere'
c_home
PW=/dev/null
for verb in get migrate; do
	run "$CK" "$verb"
	expect_status 10
	expect_err_has '"clankie_operator": {"type":"api","key":"..."}'
	expect_err_has "$BROKER"
done
run "$CK" check --json
expect_status 21
expect_json findings.0.code not-migrated
expect 'and so says check' grep -qF 'put it there' "$T_OUT"
# As it says.
c_broker
follow check

t_case 'two credentials in a file broker'
run "$CK" migrate last --service other.service --account last --quiet
expect_status 0
cp -a "$T_HOME" "$T_TMP/whole"
for what in password keychain directory cut records records-cut rules; do
	leads_out "$what"
done
if t_find_tool sqlite3; then
	leads_out seal
	again
	lose seal
	follow precedence verify
	again
	lose seal
	follow rules --write
else
	skip 'an edited row' 'no sqlite3 here'
fi
t_case 'a lost custody directory'
again
rm -r "$KEYS"
run "$CK" get
expect_status 23
expect_err_has "mv '$UNLOCK'"
mv "$UNLOCK" "$UNLOCK.lost"
c_broker
follow migrate

t_case 'two credentials in a keychain broker'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
c_add example.service one "$BEARER"
migrate_login --quiet
migrate_login one --service example.service --account one --quiet
expect_status 0
rm -rf "$T_TMP/whole"
cp -a "$T_HOME" "$T_TMP/whole"
for what in item directory records rules; do
	leads_out "$what" --login-password-fd 3
done
t_case 'what needs a password names its option'
again
for words in 'check' 'check --startup' 'rotate one' \
    'rules --write' 'precedence verify' 'precedence honours tui yes'; do
	# shellcheck disable=SC2086  # words
	run "$CK" $words
	refute "$words: refused" test "$status" -eq 0
	expect_err_has '--login-password-fd N'
done
run "$CK" rotate one --login-password-fd 3 3<"$PW"
expect_status 14
expect_err_has '(clankie-keys rotate one --secret-fd N --login-password-fd N)'
lose item
run "$CK" doctor --uninstall --confirm
expect_status 22
lose directory
follow doctor --uninstall --confirm
