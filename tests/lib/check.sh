# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# For the scripts about check; read behind custody.sh.
#
#	k_custody             a custody in which nothing is to be found
#	k_copy                remember the home
#	k_back NAME           bring it back; NAME is the next case
#	k_sandbox on|off      fleet.workerSandbox in the settings
#	k_search_list PATH    a keychain search list with this one
#	k_check ARG...        run check, with K_PW for a login keychain
#	k_expect CODES        the last output has these findings and no other
#	k_has CODE            it has this one
#	k_finds STATUS CODES  check finds these; looking changes nothing, and the
#	                      gate says one line, in time, and agrees
#	k_has_after STATUS CODE       the same for one among others
#	k_one_line            standard error is one line
#	k_golden NAME         the last output is fixtures/cli/NAME, the home as
#	                      @HOME@; CK_GOLDEN=write makes it so
#
# What k_expect leaves out is always there, and has checks of its own:
# principals that go past the records, other secrets of the broker, what other
# processes hide or hold, and, in a copy, that keychain and directories are
# others.

K_ALWAYS='principal-not-honouring remaining-secrets not-checked
    service-environment worker-before-migration worker-unconfined
    pane-unconfined dedicated-replaced plan-stale'
K_PW=/dev/null

k_custody() {
	c_home
	c_broker
	k_sandbox on
	mkdir "$T_HOME/one"
	run "$CK" migrate --checkout "$T_HOME/one" --service-honours-precedence
	expect_status 0
	"$T_TOOLS/ck-json" password <"$UNLOCK" | tr -d '\n' >"$T_TMP/unlock"
	t_secret "$T_TMP/unlock"
}

k_copy() {
	K_HOME=$T_HOME
	rm -rf "$T_TMP/whole"
	cp -a "$K_HOME" "$T_TMP/whole"
	rm -rf "$T_TMP/first"
}

# shellcheck disable=SC2034  # the scripts use them
k_back() {
	t_case "$1"
	T_HOME=$K_HOME
	HOME=$K_HOME
	KEYS=$T_HOME/.clankie-keys
	DEDICATED=$KEYS/operator/operator.keychain-db
	LOGIN=$T_HOME/Library/Keychains/user.keychain-db
	CLANKIE=$T_HOME/.config/clankie
	BROKER=$CLANKIE/credentials.json
	UNLOCK=$T_HOME/.config/clankie-keys/unlock.json
	chmod -R u+rwX "$T_HOME"
	# The first one stays, so that no copy is given its inodes again.
	if [ -e "$T_TMP/first" ]; then
		rm -rf "$T_HOME"
	else
		mv "$T_HOME" "$T_TMP/first"
	fi
	cp -a "$T_TMP/whole" "$T_HOME"
}

k_sandbox() {
	(umask 077 && mkdir -p "$T_HOME/.config/clankie")
	case $1 in
	on) echo '{"fleet":{"workerSandbox":true}}' ;;
	off) echo '{"fleet":{"workerSandbox":false}}' ;;
	esac >"$T_HOME/.config/clankie/settings.json"
}

k_search_list() {
	mkdir -p "$T_HOME/Library/Preferences"
	printf '<?xml version="1.0"?><plist version="1.0"><dict><key>DLDBSearchList</key><array><dict><key>DbName</key>
<string>%s</string></dict></array></dict></plist>\n' "$1" \
	    >"$T_HOME/Library/Preferences/com.apple.security.plist"
}

k_check() {
	if [ "$K_PW" = /dev/null ]; then
		run "$CK" check "$@"
	else
		run "$CK" check --login-password-fd 3 "$@" 3<"$K_PW"
	fi
}

k_codes() {
	sed -n 's/^\(error\|warning\|info\)  *\([a-z-]*\)$/\2/p' "$T_OUT" |
	    sort -u
}

k_expect() {
	# shellcheck disable=SC2086  # words
	printf '%s\n' $K_ALWAYS >"$T_TMP/always"
	# shellcheck disable=SC2086  # words
	printf '%s\n' $1 | sort -u | sed '/^$/d' >"$T_TMP/want.codes"
	k_codes | grep -vxF -f "$T_TMP/always" >"$T_TMP/codes"
	t_why "findings other than: ${1:-none}"
	cmp -s "$T_TMP/want.codes" "$T_TMP/codes"
	t_result $? "finds ${1:-nothing}"
}

k_has() {
	t_why "no finding $1"
	k_codes | grep -qxF -e "$1"
	t_result $? "finds $1"
}

k_has_not() {
	t_why "a finding $1"
	! k_codes | grep -qxF -e "$1"
	t_result $? "does not find $1"
}

k_one_line() {
	t_why 'standard error is not one line'
	[ "$(wc -l <"$T_ERR")" -eq 1 ]
	t_result $? 'one line'
}

k_golden() {
	sed -e "s|$T_HOME|@HOME@|g" "$T_OUT" >"$T_TMP/$1"
	if [ "${CK_GOLDEN:-}" = write ]; then
		cp "$T_TMP/$1" "$T_ROOT/fixtures/cli/$1"
	fi
	diff "$T_ROOT/fixtures/cli/$1" "$T_TMP/$1" >"$T_NOTE" 2>&1
	t_result $? "as fixtures/cli/$1"
}

# The gate: $1 is the status that it must have too.
# shellcheck disable=SC2154  # status is set by run
k_gate() {
	k_limit=$T_LIMIT
	[ "$T_SANITIZED" -ne 0 ] || [ -n "$CK_TRACED" ] || T_LIMIT=2
	k_check --startup --as service-startup
	T_LIMIT=$k_limit
	t_why "the gate ends with $status, expected $1"
	[ "$status" -eq "$1" ]
	t_result $? "the gate ends with $1, in time"
	expect_out_empty
	k_one_line
}

k_has_after() { # status, code
	snapshot "$T_HOME"
	k_check
	expect_status "$1"
	k_has "$2"
	k_gate "$1"
	expect_unchanged 'looking changes nothing'
	t_no_secret
}

k_finds() { # status, codes
	snapshot "$T_HOME"
	k_check
	expect_status "$1"
	k_expect "$2"
	t_no_secret
	k_gate "$1"
	expect_unchanged 'looking changes nothing'
	t_no_secret
}
