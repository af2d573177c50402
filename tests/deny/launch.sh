#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What stands open, or was prepared, before a worker starts: it is closed, or
# the launch is refused.
# shellcheck disable=SC2016  # the attempts expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
w_custody
ENTRY=$(dirname "$CK")/clankie-worker-entry
PLAN=$KEYS/worker.mounts
# A command that leaves a trace when it starts.
cat >"$T_TMP/begin" <<S
#!/bin/sh
exec "$CK" worker exec -- touch "$T_TMP/started"
S
chmod +x "$T_TMP/begin"

t_case control
rm -f "$T_TMP/started"
run "$T_TMP/begin"
expect_status 0
expect 'the command was started' test -e "$T_TMP/started"

t_case 'inherited descriptors'
run sh -c 'cat /proc/self/fd/9/operator/operator.keychain-db 9<"$1"' sh "$KEYS"
run sh -c 'exec 9<"$1"; exec "$2" below 9 operator/operator.keychain-db' \
    sh "$KEYS" "$T_TOOLS/ck-attempt"
expect_status 0
for fd in 3 9 200; do
	run bash -c "exec $fd<\"\$1\"; exec \"\$2\" worker exec -- \"\$3\" below $fd operator/operator.keychain-db" \
	    sh "$KEYS" "$CK" "$T_TOOLS/ck-attempt"
	expect_status 1
	expect_out 'Bad file descriptor'
	run bash -c "exec $fd<\"\$1\"; exec \"\$2\" worker exec -- cat /proc/self/fd/$fd" \
	    sh "$DEDICATED" "$CK"
	expect_status 1
	expect_out_empty
done
t_case 'standard descriptors'
run sh -c 'cat </dev/stdin' <"$DEDICATED"
expect_status 0
refused 19 'is open as descriptor 0' "$T_TMP/begin" <"$DEDICATED"
refused 19 'is open as descriptor 0' "$T_TMP/begin" <"$E_REAL"
refused 19 'is open as descriptor 0' "$T_TMP/begin" <"$BROKER"
refused 19 'is open as descriptor 0' "$T_TMP/begin" <"$KEYS/custody.db"
refused 19 'descriptor 0 is a directory' "$T_TMP/begin" <"$KEYS"
refused 19 'descriptor 0 is a directory' "$T_TMP/begin" <"$T_HOME"
refused 19 'descriptor 0 is a directory' "$T_TMP/begin" </
: >"$KEYS/unknown"
refused 19 'is open as descriptor 0' "$T_TMP/begin" <"$KEYS/unknown"
exec 7<"$KEYS/unknown"
rm "$KEYS/unknown"
refused 19 'is open as descriptor 0' "$T_TMP/begin" <&7
exec 7<&-
run "$CK" worker exec -- cat <"$CLANKIE/settings.json"
expect_status 0
expect_out_is "$CLANKIE/settings.json"
run sh -c '"$1" worker exec -- true >>"$2"' sh "$CK" "$CLANKIE/settings.json"
expect_status 19
run sh -c '"$1" worker exec -- true >>"$2"' sh "$CK" "$UNLOCK"
expect_status 19
w_untouched

t_case 'the working directory'
run sh -c 'cd "$1" && cat operator.keychain-db' sh "$KEYS/operator"
expect_status 0
run sh -c 'cd "$1" && "$2" worker exec -- cat operator.keychain-db' sh \
    "$KEYS/operator" "$CK"
expect_status 1
expect_err_has 'Permission denied'
run sh -c 'cd "$1" && "$2" worker exec -- cat ../.config/clankie/credentials.json' sh \
    "$KEYS" "$CK"
expect_status 1
mkdir "$KEYS/deep"
refused 19 'is the working directory' \
    sh -c 'cd "$1" && exec "$2" worker exec -- touch "$3"' sh "$KEYS/deep" \
    "$CK" "$T_TMP/started"
rmdir "$KEYS/deep"
mkdir "$T_TMP/gone"
refused 19 'the working directory has no path' \
    sh -c 'cd "$1" && rmdir "$1" && exec "$2" --plan "$3" -- touch "$4"' sh \
    "$T_TMP/gone" "$ENTRY" "$PLAN" "$T_TMP/started"

t_case 'the environment'
if t_find_tool cc; then
	cat >"$T_TMP/load.c" <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void
load(void)
{
	char buf[64];
	int from = open(getenv("FROM"), O_RDONLY), to;
	ssize_t n = from < 0 ? 0 : read(from, buf, sizeof(buf));

	to = open(getenv("LOOT"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (n > 0 && write(to, buf, (size_t)n) != n)
		_exit(1);
	(void)close(to);
}
C
	cc -shared -fPIC -o "$T_TMP/load.so" "$T_TMP/load.c"
	LOOT=$T_TMP/preload
	export LOOT
	run env LD_PRELOAD="$T_TMP/load.so" FROM="$DEDICATED" true
	expect 'control: a preloaded library reads it' test -s "$LOOT"
	rm -f "$LOOT"
	run env LD_PRELOAD="$T_TMP/load.so" FROM="$DEDICATED" \
	    "$ENTRY" --plan "$PLAN" -- true
	expect_status 0
	refute 'the library was loaded nowhere' test -e "$LOOT"
	# The command may preload it for its own children, behind the masks.
	run "$CK" worker exec -- env LD_PRELOAD="$T_TMP/load.so" \
	    FROM="$DEDICATED" true
	expect 'inside it reads nothing' test ! -s "$LOOT"
	unset LOOT
else
	skip 'LD_PRELOAD' 'no compiler here'
fi
echo 'touch "$T_TMP/started"' >"$T_TMP/rc"
export T_TMP
for name in LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT BASH_ENV ENV GLIBC_TUNABLES \
    GCONV_PATH MALLOC_TRACE SHELLOPTS BASHOPTS PS4; do
	run env "$name=$T_TMP/rc" "$ENTRY" --plan "$PLAN" -- env
	refute "$name is not inherited" grep -q "^$name=" "$T_OUT"
done
run env "LDX=1" "ENVY=2" "BASH_ENVX=3" "EMPTY=" "$ENTRY" --plan "$PLAN" -- env
expect 'others are' [ "$(grep -cE '^(LDX=1|ENVY=2|BASH_ENVX=3|EMPTY=)$' "$T_OUT")" -eq 4 ]

t_case 'hard links that were there before'
for path in "$DEDICATED" "$BROKER" "$E_REAL" "$CLANKIE/settings.json" \
    "$KEYS/custody.db"; do
	ln "$path" "$T_HOME/work/planted"
	expect 'control: the planted link reads it' cat "$T_HOME/work/planted"
	rm -f "$T_TMP/started"
	run "$ENTRY" --plan "$PLAN" -- touch "$T_TMP/started"
	expect_status 19
	expect_err_has '2 hard links'
	refute 'nothing was started' test -e "$T_TMP/started"
	rm "$T_HOME/work/planted"
done
ln "$PLAN" "$T_HOME/work/planted"
refused 19 'one name' "$ENTRY" --plan "$PLAN" -- touch "$T_TMP/started"
rm "$T_HOME/work/planted"

t_case 'directories that were swapped before'
for path in src/app src .config/clankie .config; do
	mv "$T_HOME/$path" "$T_HOME/away"
	cp -a "$T_HOME/away" "$T_HOME/$path"
	expect 'control: what was moved away can be read' \
	    test -n "$(find "$T_HOME/away" -type f)"
	refused 20 'another one' "$T_TMP/begin"
	expect_err_has 'rules --write'
	refused 20 'another directory' "$ENTRY" --plan "$PLAN" -- \
	    touch "$T_TMP/started"
	rm -rf "${T_HOME:?}/$path"
	mv "$T_HOME/away" "$T_HOME/$path"
	run "$T_TMP/begin"
	expect_status 0
done
# The real file has the secret, whichever name it has at the moment.
t_case 'directories that are swapped meanwhile'
mkdir -p "$T_HOME/src/twin"
echo none >"$T_HOME/src/twin/.env.local"
while [ ! -e "$T_TMP/stop" ]; do
	"$T_TOOLS/ck-attempt" exchange "$T_HOME/src/app" "$T_HOME/src/twin"
done >"$T_TMP/swaps" 2>&1 &
swapper=$!
started=0 stopped=0
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	run "$ENTRY" --plan "$PLAN" -- sh -c 'echo begun
	    cat "$1/app/.env.local" "$1/twin/.env.local"' sh "$T_HOME/src"
	cat "$T_OUT" "$T_ERR" >>"$T_TMP/raced"
	case $status in
	20) stopped=$((stopped + 1)) ;;
	*) started=$((started + 1)) ;;
	esac
done
touch "$T_TMP/stop"
wait "$swapper"
grep -q KEY= "$T_HOME/src/app/.env.local" ||
    "$T_TOOLS/ck-attempt" exchange "$T_HOME/src/app" "$T_HOME/src/twin"
echo "$started started, $stopped refused" >"$T_NOTE"
expect 'some launches met another directory' test "$stopped" -gt 0
refute 'none read the file' grep -q KEY= "$T_TMP/raced"
t_no_secret "$T_TMP/raced"
rm -r "$T_HOME/src/twin"
run "$T_TMP/begin"
expect_status 0

t_case 'symbolic links on the way'
mv "$T_HOME/src" "$T_HOME/elsewhere"
ln -s elsewhere "$T_HOME/src"
refused 20 'symbolic link' "$ENTRY" --plan "$PLAN" -- touch "$T_TMP/started"
rm "$T_HOME/src"
mv "$T_HOME/elsewhere" "$T_HOME/src"
t_case 'a protected file that is a symbolic link'
mv "$E_REAL" "$T_HOME/work/env"
ln -s "$T_HOME/work/env" "$E_REAL"
refused 20 'is not closed' "$ENTRY" --plan "$PLAN" -- touch "$T_TMP/started"
rm "$E_REAL"
mv "$T_HOME/work/env" "$KEYS/env"
ln -s "$KEYS/env" "$E_REAL"
run "$CK" worker exec -- cat "$E_REAL"
expect_status 1
expect_err_has 'No such file'
rm "$E_REAL"
mv "$KEYS/env" "$E_REAL"

t_case 'a second mount of the same file system'
if t_find_tool bwrap && bwrap --dev-bind / / true 2>/dev/null; then
	for from in "$T_HOME" "$KEYS" "$KEYS/operator" "$DEDICATED" "$CLANKIE" "$BROKER" \
	    "$T_HOME/src/app" "$UNLOCK"; do
		to=$T_HOME/work/second
		rm -rf "$to"
		if [ -d "$from" ]; then mkdir "$to"; else : >"$to"; fi
		expect 'control: it can be read there' bwrap --dev-bind / / \
		    --bind "$from" "$to" -- sh -c 'test -r "$1"' sh "$to"
		refused 20 'another way' bwrap --dev-bind / / --bind "$from" "$to" -- \
		    "$ENTRY" --plan "$PLAN" -- touch "$T_TMP/started"
	done
	mkdir -p "$T_HOME/other" "$T_HOME/work/third"
	run bwrap --dev-bind / / --bind "$T_HOME/other" "$T_HOME/work/third" -- \
	    "$ENTRY" --plan "$PLAN" -- true
	expect_status 0
else
	skip 'a second mount' 'no bwrap here'
fi
