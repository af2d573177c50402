#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/secrets-trace finds planted leaks, and nothing where there is none.
# shellcheck disable=SC2016  # nested scripts expand their own parameters
CK=${CK:-/bin/true}
export CK
. "$(dirname "$0")/../lib/tap.sh"

t_find_tool strace || skip_all 'no strace here'
[ -z "$CK_TRACED" ] || skip_all 'strace cannot trace itself'
strace -f -o /dev/null true 2>/dev/null ||
    skip_all 'this system does not let us trace'
T_LIMIT=120

# A program of the right name that misbehaves on demand.
mkdir "$T_TMP/bin"
fake=$T_TMP/bin/clankie-keys
cp "$T_TOOLS/ck-leak" "$fake"
cd "$T_TMP" || exit 1

# The secrets of this script must not mix with those of an outer run.
T_SECRETS=$T_TMP/planted
CK_TRACE_SECRETS=$T_SECRETS
export CK_TRACE_SECRETS
(umask 077 && : >"$T_SECRETS")
secret=$T_TMP/bearer
t_bearer "$secret"

# LeakSanitizer cannot work in a traced process.
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS

trace() {
	run "$T_ROOT/scripts/secrets-trace" "$@"
}

leak_is_found() { # how, words of the finding
	t_case "leak by $1"
	trace "$fake" "$1" "$secret"
	expect_status 1
	grep -F '[' "$T_ERR" >"$T_TMP/findings"
	mv "$T_TMP/findings" "$T_OUT"
	expect_out_has "$2"
}

leak_is_found argument 'execve (argument): as it is'
leak_is_found environment 'execve (environment): as it is'
leak_is_found output 'write (1 '
leak_is_found error 'writev (2 '
leak_is_found child 'write (1 '
leak_is_found file '/custody.db): as it is'
leak_is_found name 'as it is'
leak_is_found piece 'write (1 '
leak_is_found hex 'in hex'

t_case 'leak beside an answer'
trace "$fake" output "$secret" --out-fd 7
expect_status 1
trace "$fake" get "$secret" --fd 3
expect_status 1

t_case 'leak by a helper of the test'
trace sh -c 'LEAK=$(cat "$2") /bin/true; "$1" nothing "$2"' sh "$fake" "$secret"
expect_status 1
expect_err_has 'execve (environment)'

t_case 'no leak'
for how in nothing store get; do
	trace "$fake" $how "$secret"
	expect_status 0
done
trace sh -c '"$1" find "$2" --out-fd 7 7>/dev/null' sh "$fake" "$secret"
expect_status 0
trace sh -c '"$1" find "$2" --out-fd=7 7>/dev/null' sh "$fake" "$secret"
expect_status 0
trace -p '*/custody.db' "$fake" file "$secret"
expect_status 0

t_case 'secrets handled by the test itself'
trace sh -c 'cat "$2" >copy; "$1" nothing "$2"' sh "$fake" "$secret"
expect_status 0

t_case 'failing command'
trace "$fake" fail "$secret"
expect_status 3

# Lines as strace prints them for memory that it may not read, for strings that
# are longer than it shows, and for a child that runs before vfork returns.
program='execve("\x2f\x63\x6c\x61\x6e\x6b\x69\x65\x2d\x6b\x65\x79\x73", ["\x78"], []) = 0'
log_is_refused() { # what, lines
	t_case "$1"
	printf '7 %s\n' "$program" >log
	cat >>log
	run "$T_TOOLS/ck-scan" trace "$T_SECRETS" log -s clankie-keys
	expect_status 1
}
log_is_refused 'memory that cannot be read' <<'S'
7 write(1<pipe:[1]>, 0x7ffc0, 54) = 54
S
log_is_refused 'vector that cannot be read' <<'S'
7 writev(1<pipe:[1]>, [{iov_base=0x7ffc0, iov_len=54}], 1) = 54
S
log_is_refused 'string that is cut off' <<'S'
7 write(1<pipe:[1]>, "\x41\x42"..., 54) = 54
S
log_is_refused 'copy inside the kernel' <<'S'
7 sendfile(1<pipe:[1]>, 3<\x2f\x61>, NULL, 54) = 54
S
log_is_refused 'killed in the middle of a write' <<S
7 write(1<pipe:[1]>, "$(t_hex "$secret" | sed 's/../\\x&/g')", 54 <unfinished ...>
7 +++ killed by SIGKILL +++
S
log_is_refused 'child that runs before vfork returns' <<S
7 vfork( <unfinished ...>
8 write(1<pipe:[1]>, "$(t_hex "$secret" | sed 's/../\\x&/g')", 54) = 54
7 <... vfork resumed>) = 8
S

t_case 'nothing to prove'
trace true
expect_status 2
: >"$T_SECRETS"
trace "$fake" nothing "$secret"
expect_status 2
