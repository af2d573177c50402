#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What every command line tool owes its caller, whatever the verb.
. "$(dirname "$0")/../lib/tap.sh"

t_home
snapshot -d "$T_HOME"

t_case 'help'
run "$CK" --help
expect_status 0
for verb in migrate get status precedence rules keychain; do
	expect_out_has "$verb"
done
expect_err_empty

t_case 'version'
run "$CK" --version
expect_status 0
expect_out_has 'clankie-keys'
for library in OpenSSL SQLite jansson; do
	expect_out_has "$library "
done
expect_err_empty

t_case 'no verb'
run "$CK"
expect_status 2
expect_out_empty

t_case 'unknown verb'
run "$CK" frobnicate
expect_status 2
expect_out_empty
expect_err_has 'clankie-keys: '
expect_err_has 'frobnicate'

t_case 'what every verb takes, in front of it'
run "$CK" --json --home "$T_HOME/.clankie-keys" status
expect_status 0
expect_json custody "$T_HOME/.clankie-keys"
run "$CK" "--home=$T_HOME/.clankie-keys" --json status
expect_json ok true
run "$CK" --json --help status
expect_status 0
expect_out_has 'usage: clankie-keys status'
for words in '--frobnicate status' '--fd=1 get' '--home'; do
	# shellcheck disable=SC2086  # words
	run "$CK" $words
	expect_status 2
	expect_out_empty
done

for words in '--json help' '--help --json' '--quiet --help' \
    'help precedence honours'; do
	# shellcheck disable=SC2086  # words
	run "$CK" $words
	expect_status 0
	expect_out_has 'usage: clankie-keys'
done
run "$CK" --json --version
expect_status 0
expect_out_has 'clankie-keys'
run "$CK" --fd=1 get
expect_err_has 'stand behind it'

t_case 'help for one word of a command'
for words in 'help keychain add' 'keychain add --help'; do
	# shellcheck disable=SC2086  # words
	run "$CK" $words
	expect_status 0
	expect_out_has 'usage: clankie-keys keychain add FILE --service S'
done
t_case 'help for what does not exist'
for words in 'help frobnicate' '--help frobnicate' 'help keychain frobnicate' \
    'keychain frobnicate --help' 'help status frobnicate'; do
	# shellcheck disable=SC2086  # words
	run "$CK" $words
	expect_status 2
	expect_out_empty
	expect_err_has 'frobnicate'
done
run "$CK" status frobnicate
expect_status 2
expect_out_empty
expect_err_has 'is no credential that the records know'

t_case 'unknown option'
run "$CK" status --frobnicate
expect_status 2
expect_out_empty
expect_err_has 'frobnicate'

t_case 'option without its value'
run "$CK" get --fd
expect_status 2
expect_out_empty

t_case 'descriptor that is not a number'
run "$CK" get --fd one
expect_status 2
expect_out_empty

t_case 'descriptor that is not open'
run "$CK" keychain find "$T_HOME/none" --service s --account a \
    --password-fd 77 --out-fd 1
refute 'refused' [ "$status" -eq 0 ]
refute 'not taken for absent' [ "$status" -eq 10 ]
expect_out_empty

t_case 'help with standard input and error closed'
run sh -c '"$1" --help <&- 2>&-' sh "$CK"
expect_status 0
expect_out_has 'migrate'

t_case 'standard output closed'
run sh -c '"$1" --help >&-' sh "$CK"
refute 'is no success' [ "$status" -eq 0 ]

t_case 'everything closed'
run sh -c '"$1" frobnicate <&- >&- 2>&-' sh "$CK"
expect_status 2

t_case 'full device as standard output'
if [ -c /dev/full ]; then
	for word in --help --version; do
		run sh -c '"$1" "$2" >/dev/full' sh "$CK" "$word"
		refute "$word is no success" [ "$status" -eq 0 ]
		refute "$word is not taken for absent" [ "$status" -eq 10 ]
	done
else
	skip 'is no success' 'no /dev/full here'
fi

t_case 'empty environment'
run env -i "$CK" --version
expect_status 0
run env -i "$CK" --help
expect_status 0

t_case 'no terminal and no session'
if t_find_tool setsid; then
	run setsid -w "$CK" --version
	expect_status 0
else
	skip 'exit status 0' 'no setsid here'
fi

# A HOME that cannot be one is not used; then the password database answers,
# which may lead to a real custody, so nothing here asks for a secret.
for home in '' relative "$T_HOME/missing" /; do
	t_case "HOME='$home'"
	run env HOME="$home" "$CK" status
	refute 'status does not crash' [ "$status" -gt 71 ]
	refute 'is not a usage error' [ "$status" -eq 2 ]
	refute 'HOME is not used' \
	    grep -qE "(^|[^/[:alnum:]])${home%/}/\.clankie-keys" "$T_OUT"
done

t_case 'whole script'
expect_unchanged 'nothing appeared in the home'
