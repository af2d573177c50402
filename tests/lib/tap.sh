# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# What flow, fault and deny scripts share.  A script starts with
#
#	. "$(dirname "$0")/../lib/tap.sh"
#
# prints one TAP line a check through the functions below and needs no plan:
# the last line, 1..N, is printed when the script ends.  A script that dies
# before its end prints no plan, which scripts/test counts as a failure.
#
#	t_case TEXT             what the next checks are about
#	run COMMAND...          run it, at most $T_LIMIT seconds (20); sets $status,
#	                        and the files $T_OUT and $T_ERR
#	expect_status N         its exit status
#	expect_out TEXT         standard output is TEXT and a newline
#	expect_out_empty        nothing on standard output
#	expect_out_is FILE      standard output is exactly that file
#	expect_out_has TEXT     standard output contains TEXT
#	expect_err_has TEXT     standard error contains TEXT
#	expect_err_empty        nothing on standard error
#	expect_json PATH VALUE  standard output is JSON with VALUE there (ck-json)
#	expect_same FILE FILE   two files are equal; shows lengths and digests only
#	expect_mode MODE PATH   permission bits, as in 0600
#	expect NAME COMMAND...  the command succeeds (test, grep -q, ...)
#	refute NAME COMMAND...  the command fails
#	snapshot [-b|-d] PATH...  remember everything at and below the paths
#	expect_unchanged        it is all still so (see tests/tools/ck-snapshot.c)
#	skip NAME REASON        a visible skip
#	skip_all REASON         the whole script is skipped; ends it
#	t_home                  fresh home, mode 0700, exported as HOME and $T_HOME
#	t_bearer FILE           a bearer made now, in a 0600 file, without newline
#	t_bearer_json FILE      the same inside {"type":"api","key":...}
#	t_password FILE         64 hex digits made now, without newline
#	t_secret FILE           the content of FILE (8 bytes or more) is a secret
#	t_no_secret [FILE...]   no piece of any secret is in the files, or below
#	                        the directories; default: $T_OUT and $T_ERR
#	t_vector NAME FILE      a writable 0600 copy of a test vector; fails (1)
#	                        when there are no vectors: then call skip
#	t_find_tool NAME        fails when the command is missing: then call skip
#
# $CK is the program, $VECTORS the vectors (or empty), $T_TMP a directory that
# is removed at the end, $T_SANITIZED is 1 under AddressSanitizer, $CK_TRACED
# is 1 under scripts/secrets-trace.
#
# Secrets are made while the tests run and never printed: a failing check
# shows output only when it holds no piece of a secret.  Register secrets that
# are random; common text would be found everywhere.

set -u
umask 022
LC_ALL=C
export LC_ALL
exec </dev/null

T_ROOT=$(cd "$(dirname "$0")/../.." && pwd)
T_COUNT=0
T_FAILED=0
T_CASE=''
T_DONE=''
T_LIMIT=${T_LIMIT:-20}
CK_TRACED=${CK_TRACED:-}
T_TMP=$(mktemp -d "${TMPDIR:-/tmp}/ck-flow.XXXXXX") || exit 1
T_TMP=$(cd "$T_TMP" && pwd -P)
chmod 0700 "$T_TMP"
T_OUT=$T_TMP/stdout
T_ERR=$T_TMP/stderr
T_NOTE=$T_TMP/note
T_WHY=''
: >"$T_OUT"
: >"$T_ERR"
: >"$T_NOTE"
# A traced run hands in the list, so that it can look for the same secrets.
T_SECRETS=${CK_TRACE_SECRETS:-$T_TMP/secrets}
[ -e "$T_SECRETS" ] || (umask 077 && : >"$T_SECRETS")
status=0

t_end() {
	t_status=$?
	trap - EXIT
	chmod -R u+rwX "$T_TMP" 2>/dev/null
	rm -rf "$T_TMP"
	if [ -n "$T_DONE" ]; then
		exit 0
	fi
	if [ "$t_status" -ne 0 ]; then
		echo "Bail out! the script ended with status $t_status"
		exit "$t_status"
	fi
	echo "1..$T_COUNT"
	# Without a number exit would return the status from before the trap.
	if [ "$T_FAILED" -ne 0 ]; then
		exit 1
	fi
	exit 0
}
trap t_end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

t_find_built() { # path below a build directory
	for t_build in gcc release clang debug; do
		if [ -x "$T_ROOT/build/$t_build/$1" ]; then
			echo "$T_ROOT/build/$t_build/$1"
			return 0
		fi
	done
	echo "Bail out! $1 is not built (run ./scripts/test)" >&2
	return 1
}

CK=${CK:-$(t_find_built clankie-keys)} || exit 1
T_TOOLS=${T_TOOLS:-$(dirname "$(t_find_built tests/tools/ck-scan)")} || exit 1
VECTORS=${CLANKIE_KEYS_VECTORS:-$T_ROOT/../shared/vectors}
[ -d "$VECTORS" ] || VECTORS=
T_SANITIZED=${T_SANITIZED:-0}
for t_tool in timeout gtimeout; do
	T_TIMEOUT=$(command -v $t_tool) && break
done
if [ -z "$T_TIMEOUT" ]; then
	echo 'Bail out! timeout(1) of GNU coreutils is missing' >&2
	exit 1
fi
# Nothing of the caller's may reach the program.
for t_name in $(env | sed -n 's/^\(CLANKIE_[A-Z0-9_]*\)=.*/\1/p') \
    XDG_CONFIG_HOME XDG_RUNTIME_DIR; do
	unset "$t_name"
done

# $T_NAME: the case and the check, in one line of TAP.  Most checks pass, and
# there are thousands: nothing is started for those.
t_name() {
	T_NAME=${T_CASE:+$T_CASE: }$1
	case $T_NAME in
	*'
'* | *'#'*) T_NAME=$(printf '%s' "$T_NAME" | tr '\n#' '  ') ;;
	esac
}

ok() {
	T_COUNT=$((T_COUNT + 1))
	t_name "$1"
	printf '%s\n' "ok $T_COUNT - $T_NAME"
}

# What t_why was told, and the further lines of the failure in $T_NOTE.
not_ok() {
	T_COUNT=$((T_COUNT + 1))
	T_FAILED=$((T_FAILED + 1))
	t_name "$1"
	printf '%s\n' "not ok $T_COUNT - $T_NAME"
	{
		[ -z "$T_WHY" ] || t_explain "$T_WHY"
		cat "$T_NOTE"
	} | sed 's/^/# /'
}

t_result() { # status, name
	if [ "$1" -eq 0 ]; then
		ok "$2"
	else
		not_ok "$2"
	fi
	T_WHY=''
	: >"$T_NOTE"
}

skip() {
	T_COUNT=$((T_COUNT + 1))
	t_name "$1"
	printf '%s\n' "ok $T_COUNT - $T_NAME # SKIP $2"
}

skip_all() {
	echo "1..0 # SKIP $1"
	T_DONE=1
	exit 0
}

t_case() {
	T_CASE=$1
}

t_digest() {
	if [ ! -e "$1" ]; then
		echo "$1: missing"
		return
	fi
	printf '%s: %s bytes, sha256 ' "$1" "$(wc -c <"$1" | tr -d ' ')"
	if command -v sha256sum >/dev/null; then
		sha256sum <"$1" | cut -c1-64
	else
		shasum -a 256 <"$1" | cut -c1-64
	fi
}

# A file for people, unless it is long, binary or holds a secret.
t_show() { # name, file
	echo "$1:"
	if [ "$(wc -c <"$2")" -gt 4000 ] || LC_ALL=C grep -q '[^[:print:][:space:]]' "$2"; then
		t_digest "$2"
	elif [ -s "$T_SECRETS" ] && ! "$T_TOOLS/ck-scan" files "$T_SECRETS" "$2" 2>/dev/null; then
		t_digest "$2"
	else
		sed 's/^/  /' "$2"
	fi
}

t_explain() { # what was expected
	echo "$1"
	t_show 'standard output' "$T_OUT"
	t_show 'standard error' "$T_ERR"
	[ "$status" -ne 124 ] || echo "(status 124: stopped after $T_LIMIT s)"
}

# The next result, should it be a failure, is explained with this and with
# what the last run printed.
t_why() { # what was expected
	T_WHY=$1
}

run() {
	status=0
	"$T_TIMEOUT" -k 2 "$T_LIMIT" "$@" >"$T_OUT" 2>"$T_ERR" || status=$?
}

expect_status() {
	t_why "exit status $status, expected $1"
	[ "$status" -eq "$1" ]
	t_result $? "exit status $1"
}

expect_out() {
	printf '%s\n' "$1" >"$T_TMP/want"
	t_why "standard output, expected: $1"
	cmp -s "$T_TMP/want" "$T_OUT"
	t_result $? 'standard output as expected'
}

expect_out_empty() {
	t_why 'standard output, expected nothing'
	[ ! -s "$T_OUT" ]
	t_result $? 'nothing on standard output'
}

expect_out_is() {
	if cmp -s "$1" "$T_OUT"; then
		t_result 0 'standard output byte for byte'
		return
	fi
	t_why "standard output differs from $(t_digest "$1")"
	t_result 1 'standard output byte for byte'
}

expect_out_has() {
	t_why "standard output lacks: $1"
	grep -qF -e "$1" "$T_OUT"
	t_result $? "standard output has '$1'"
}

expect_err_has() {
	t_why "standard error lacks: $1"
	grep -qF -e "$1" "$T_ERR"
	t_result $? "standard error has '$1'"
}

expect_err_empty() {
	t_why 'standard error, expected nothing'
	[ ! -s "$T_ERR" ]
	t_result $? 'nothing on standard error'
}

expect_json() {
	if t_got=$("$T_TOOLS/ck-json" "$1" <"$T_OUT" 2>"$T_TMP/json") &&
	    [ "$t_got" = "$2" ]; then
		t_result 0 "JSON $1 is $2"
		return
	fi
	t_why "JSON $1 is not $2: $(cat "$T_TMP/json")"
	t_result 1 "JSON $1 is $2"
}

expect_same() {
	t_status=0
	cmp -s "$1" "$2" || {
		t_status=1
		t_digest "$1"
		t_digest "$2"
	} >"$T_NOTE"
	t_result "$t_status" "${1##*/} and ${2##*/} are equal"
}

expect_mode() {
	t_mode=$(stat -c %04a "$2" 2>/dev/null || stat -f %Mp%Lp "$2" 2>/dev/null)
	echo "mode of $2 is ${t_mode:-unknown}" >"$T_NOTE"
	[ "$t_mode" = "$1" ]
	t_result $? "mode of ${2##*/} is $1"
}

expect() {
	t_what=$1
	shift
	echo "failed: $*" >"$T_NOTE"
	"$@" >/dev/null 2>&1
	t_result $? "$t_what"
}

refute() {
	t_what=$1
	shift
	echo "worked: $*" >"$T_NOTE"
	if "$@" >/dev/null 2>&1; then
		t_result 1 "$t_what"
	else
		t_result 0 "$t_what"
	fi
}

snapshot() {
	rm -f "$T_TMP/snap.args"
	for t_arg; do
		printf '%s\n' "$t_arg" >>"$T_TMP/snap.args"
	done
	t_snapshot >"$T_TMP/snap.before" || exit 1
}

t_snapshot() (
	set --
	while IFS= read -r t_arg; do
		set -- "$@" "$t_arg"
	done <"$T_TMP/snap.args"
	"$T_TOOLS/ck-snapshot" "$@"
)

expect_unchanged() {
	t_snapshot >"$T_TMP/snap.after" || exit 1
	diff "$T_TMP/snap.before" "$T_TMP/snap.after" >"$T_NOTE"
	t_result $? "${1:-everything is as it was}"
}

t_home() {
	T_HOME=$(mktemp -d "$T_TMP/home.XXXXXX") || exit 1
	chmod 0700 "$T_HOME"
	HOME=$T_HOME
	export HOME
}

t_hex() {
	od -An -v -tx1 "$1" | tr -d ' \n'
}

t_secret() {
	if [ "$(wc -c <"$1")" -lt 8 ]; then
		echo "t_secret: fewer than 8 bytes cannot be told from chance" >&2
		exit 1
	fi
	# One write, so that parallel scripts do not mix their lines.
	printf '%s\n' "$(t_hex "$1")" >>"$T_SECRETS"
}

# Random characters of the bearer's alphabet: base64url of 32 bytes.
t_random43() {
	head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n'
}

t_write() { # file; content on standard input
	rm -f "$1"
	(umask 077 && cat >"$1")
}

t_bearer() {
	t_random43 | t_write "$T_TMP/random"
	# The prefix is public; only what follows it is the secret.
	t_secret "$T_TMP/random"
	{ printf 'clankie_op_' && cat "$T_TMP/random"; } | t_write "$1"
	rm -f "$T_TMP/random"
}

t_bearer_json() {
	t_bearer "$T_TMP/bearer.for.json"
	{
		printf '{"type":"api","key":"' &&
		    cat "$T_TMP/bearer.for.json" && printf '"}'
	} | t_write "$1"
	rm -f "$T_TMP/bearer.for.json"
}

t_password() {
	head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' | t_write "$1"
	t_secret "$1"
}

t_no_secret() {
	[ $# -gt 0 ] || set -- "$T_OUT" "$T_ERR"
	if [ ! -s "$T_SECRETS" ]; then
		echo 'no secret was registered: nothing was proved' >"$T_NOTE"
		t_result 1 'no secret'
		return
	fi
	t_shown=''
	for t_arg; do
		t_shown="$t_shown ${t_arg#"$T_TMP/"}"
		if [ -f "$t_arg" ] && [ ! -h "$t_arg" ]; then
			"$T_TOOLS/ck-scan" files "$T_SECRETS" "$t_arg"
		else
			find "$t_arg" -type f -exec \
			    "$T_TOOLS/ck-scan" files "$T_SECRETS" {} +
		fi || echo failed
	done >"$T_NOTE" 2>&1
	[ ! -s "$T_NOTE" ]
	t_result $? "no piece of a secret in$t_shown"
}

t_vector() {
	[ -n "$VECTORS" ] && [ -r "$VECTORS/$1" ] || return 1
	t_write "$2" <"$VECTORS/$1"
}

t_find_tool() {
	command -v "$1" >/dev/null
}
