#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# What a crash, or a look into the process, can give away.  Killed at any
# system call the program leaves no core file, whatever limit its parent set;
# and were one written all the same, the memory in it would hold no piece of the
# bearer, of the unlock password or of a login keychain's.  (Only the vector
# registers, through which the last copy went, can.)  After the last use not even
# the whole memory holds one, freed blocks and the secure heap included.
# By default a sample of the calls, with CK_SWEEP=full every one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need
mkdir "$T_TMP/cores"
every=151                            # which of the calls are in the sample

cores() {
	find "$T_TMP/cores" -type f
}

# The memory in a core: what stands before it are the registers.
memory_of() { # core
	m_at=$(readelf -lW "$1" | awk '$1 == "LOAD" { print $2; exit }')
	tail -c "+$((m_at + 1))" "$1" >"$T_TMP/memory"
}

# Injections that keep the program from closing itself: strace answers in the
# kernel's place.
left_open() { # a trace of it
	awk '
		/^prctl\(/ { p++ }
		/^prctl\(PR_SET_DUMPABLE, SUID_DUMP_DISABLE/ {
			print "-e inject=prctl:retval=0:when=" p }
		/^prlimit64\(/ { l++ }
		/^prlimit64\(0, RLIMIT_CORE, \{/ {
			print "-e inject=prlimit64:retval=0:when=" l }' "$1"
}

# Where a core file would be written, with the parent's limit raised.
crash() { # command
	rm -f "$T_TMP"/cores/*
	# The shell of its own keeps what it says of the crash to itself.
	(
		# shellcheck disable=SC3045  # where it is unknown, none are had
		ulimit -c unlimited && cd "$T_TMP/cores" &&
		    "$@" >"$T_TMP/out" 2>"$T_TMP/err"
		exit $?
	) 2>/dev/null
}

# What a command is given to read.
stdin_for() { # verb and more
	case $* in
	*--stream*) printf 'id %s\n' "$(t_hex "$T_TMP/key")" ;;
	*) cat "$T_TMP/key" ;;
	esac >"$T_TMP/stdin"
}

# Every call of a run, the number counted for its name, from the first on that
# could follow a secret: before, there is none.
points() { # command
	stdin_for "$@"
	strace -qq -o "$T_TMP/points" "$CK" "$@" <"$T_TMP/stdin" 3<"$PW" \
	    >/dev/null 2>&1
	OPEN=$(left_open "$T_TMP/points")
	i_back
	# Of one that closed itself an ordinary user sees no names.
	# shellcheck disable=SC2086  # words
	strace -qq -o "$T_TMP/points" $OPEN "$CK" "$@" <"$T_TMP/stdin" \
	    3<"$PW" >/dev/null 2>&1
	awk '{
		name = $0
		sub(/\(.*/, "", name)
		if (name !~ /^[a-z0-9_]+$/)
			next
		n[name]++
		if (/keychain-db|credentials\.json|unlock\.json/)
			on = 1
		if (on && name != "exit_group")
			print name, n[name]
	}' "$T_TMP/points"
}

crashes() { # command
	i_back
	points "$@" >"$T_TMP/all"
	i_sample "$every" <"$T_TMP/all" >"$T_TMP/sample"
	tried=0 written=0
	: >"$T_NOTE"
	while read -r call number; do
		i_back
		tried=$((tried + 1))
		# It closes itself once; a few calls tell as much as all.
		if [ "$tried" -le 2 ] || [ "${CK_SWEEP:-}" = full ]; then
			crash strace -qq -o /dev/null \
			    -e "inject=$call:signal=SEGV:when=$number" \
			    "$CK" "$@" <"$T_TMP/stdin" 3<"$PW"
			[ -z "$(cores)" ] ||
			    echo "$call $number: a core" >>"$T_NOTE"
			i_back
		fi
		# shellcheck disable=SC2086  # words
		crash strace -qq -o /dev/null $OPEN \
		    -e "inject=$call:signal=SEGV:when=$number" \
		    "$CK" "$@" <"$T_TMP/stdin" 3<"$PW"
		for core in $(cores); do
			written=$((written + 1))
			memory_of "$core"
			"$T_TOOLS/ck-scan" files "$T_SECRETS" "$T_TMP/memory" \
			    2>"$T_TMP/why" ||
			    echo "$call $number: $(cat "$T_TMP/why")" >>"$T_NOTE"
		done
	done <"$T_TMP/sample"
	[ ! -s "$T_NOTE" ]
	t_result $? "$*: $tried crashes, $written cores without a secret"
	expect "$*: most of them would leave one" \
	    test "$written" -gt "$((tried / 2))"
}

# Its memory when it is about to end, and when it waits for a line.
look() { # pid, what
	"$T_TOOLS/ck-scan" process "$T_SECRETS" "$1" >"$T_NOTE" 2>&1
	t_result $? "$2"
}

at_the_end() { # command
	i_back
	points "$@" >/dev/null
	i_back
	rm -f "$T_TMP/trace" "$T_TMP/pid"
	# shellcheck disable=SC2086,SC2016  # words; for the shell below
	strace -qq -f -o "$T_TMP/trace" $OPEN \
	    -e inject=exit_group:delay_enter=30s \
	    sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$T_TMP/pid" \
	    "$CK" "$@" <"$T_TMP/stdin" 3<"$PW" >/dev/null 2>&1 &
	tracer=$!
	until grep -q exit_group "$T_TMP/trace" 2>/dev/null; do
		kill -0 "$tracer" 2>/dev/null || break
		sleep 0.02
	done
	look "$(cat "$T_TMP/pid")" "$*: nothing at the end"
	kill -9 "$(cat "$T_TMP/pid")" "$tracer"
	wait "$tracer" 2>/dev/null
	:
}

t_case 'the means'
t_password "$T_TMP/control"
mkfifo "$T_TMP/fifo"
exec 8<>"$T_TMP/fifo"
# A program that does not close itself, and keeps a secret in its memory.
cat >"$T_TMP/careless" <<'S'
x=$(cat "$1")
echo $$ >"$3"
read -r _ <"$2"
: "$x"
S
careless() {
	rm -f "$T_TMP/pid"
	sh "$T_TMP/careless" "$T_TMP/control" "$T_TMP/fifo" "$T_TMP/pid" &
	pid=$!
	until [ -s "$T_TMP/pid" ]; do
		sleep 0.02
	done
}
crashing() {
	careless
	kill -SEGV "$pid"
	wait "$pid"
}
crash crashing
had_cores=0
if [ -n "$(cores)" ]; then
	had_cores=1
	refute 'a core that holds a secret is seen' \
	    "$T_TOOLS/ck-scan" files "$T_SECRETS" "$(cores)"
	memory_of "$(cores)"
	refute 'also in its memory alone' \
	    "$T_TOOLS/ck-scan" files "$T_SECRETS" "$T_TMP/memory"
else
	skip 'core files' "none here: $(cat /proc/sys/kernel/core_pattern)"
fi
careless
"$T_TOOLS/ck-scan" process "$T_SECRETS" "$pid" >/dev/null 2>&1
found=$?
had_memory=0
if [ "$found" -eq 2 ]; then
	skip 'memory' 'this system does not let us look into processes'
else
	had_memory=1
	expect 'memory that holds a secret is seen' test "$found" -eq 1
fi
kill "$pid"
wait "$pid" 2>/dev/null

# The commands as words, each at its crashes and at its end.
tries() {
	for words; do
		# shellcheck disable=SC2086  # words
		[ "$had_cores" -eq 0 ] || crashes $words
		# shellcheck disable=SC2086  # words
		[ "$had_memory" -eq 0 ] || at_the_end $words
	done
}

t_find_tool readelf || {
	skip 'core files' 'no readelf here'
	had_cores=0
}

t_case 'a keychain as broker'
c_home
c_login_new
t_bearer_json "$BEARER"
c_add bot.clankie.credentials clankie_operator "$BEARER"
"$T_TOOLS/ck-json" key <"$BEARER" | tr -d '\n' >"$T_TMP/key"
i_keep
given="--broker keychain:$LOGIN --login-password-fd 3"
tries "migrate $given"
# shellcheck disable=SC2119  # nothing more to say
migrate_login
expect_status 0
"$CK" keychain find "$LOGIN" --service bot.clankie.custody \
    --account operator-keychain --password-fd 3 --out-fd 4 3<"$PW" \
    4>"$T_TMP/unlock.item" >/dev/null
head -c 64 "$T_TMP/unlock.item" >"$T_TMP/unlock"
t_secret "$T_TMP/unlock"
i_keep
tries "get $given" 'rotate --login-password-fd 3'

t_case 'a file as broker'
c_home
c_broker
PW=/dev/null
"$T_TOOLS/ck-json" key <"$BEARER" | tr -d '\n' >"$T_TMP/key"
i_keep
tries migrate get
k_sandbox on
run "$CK" migrate
expect_status 0
"$T_TOOLS/ck-json" password <"$UNLOCK" | tr -d '\n' >"$T_TMP/unlock"
t_secret "$T_TMP/unlock"
i_keep
tries get authenticate 'authenticate --stream' rotate check \
    'check --startup' 'precedence verify' 'rotate --keychain' restore \
    'doctor --rebuild'

# One that stays: after a yes to the very bearer, and a no, it waits.
t_case 'a stream that waits'
i_back
run "$CK" get --key
cp "$T_OUT" "$T_TMP/key"
points authenticate --stream >/dev/null
i_back
mkfifo "$T_TMP/to" "$T_TMP/from"
rm -f "$T_TMP/pid"
# shellcheck disable=SC2086,SC2016  # words; for the shell below
strace -qq -o /dev/null $OPEN \
    sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$T_TMP/pid" \
    "$CK" authenticate --stream <"$T_TMP/to" >"$T_TMP/from" &
tracer=$!
exec 7>"$T_TMP/to" 9<"$T_TMP/from"
ask() { # file with the candidate
	printf 'id %s\n' "$(t_hex "$1")" >&7
	IFS= read -r reply <&9
	echo "$reply"
}
t_bearer "$T_TMP/wrong"
expect 'it knows the bearer' test "$(ask "$T_TMP/key")" = 'id yes'
if [ "$had_memory" -eq 1 ]; then
	look "$(cat "$T_TMP/pid")" 'nothing after a yes'
	expect 'and another' test "$(ask "$T_TMP/wrong")" = 'id no'
	look "$(cat "$T_TMP/pid")" 'nothing after a no'
	"$CK" rotate >/dev/null
	"$CK" get --key >"$T_TMP/new"
	# The prefix is in the program itself.
	cut -c12- "$T_TMP/new" | tr -d '\n' >"$T_TMP/new.part"
	t_secret "$T_TMP/new.part"
	expect 'and the new one' test "$(ask "$T_TMP/new")" = 'id yes'
	look "$(cat "$T_TMP/pid")" 'nothing after a rotation'
fi
exec 7>&-
wait "$tracer"
exec 9<&-

# What is said, and what lies on disk, at the worst moment too: a rotation that
# is killed with its journal of the records beside them.
t_case 'words and files'
i_back
: >"$T_TMP/said"
"$CK" help | awk '/^  [a-z]/ { print $1 }' >"$T_TMP/verbs"
printf '%s\n' 'precedence list' 'precedence verify' 'check --startup' \
    'authenticate --stream' 'get --fd 5' >>"$T_TMP/verbs"
talk() {
	while read -r words; do
		for more in '' --json '--verbose --json'; do
			stdin_for "$words"
			# shellcheck disable=SC2086  # words
			"$CK" $words $more <"$T_TMP/stdin" 5>/dev/null \
			    >"$T_TMP/one" 2>>"$T_TMP/said"
			case $words,$more in
			get,) ;;   # it was asked for
			*) cat "$T_TMP/one" >>"$T_TMP/said" ;;
			esac
		done
	done <"$T_TMP/verbs"
}
talk
i_back
i_points "$CK" rotate >"$T_TMP/all"
i_back
number=$(awk '$1 == "pwrite64" { n = $2 } END { print n }' "$T_TMP/all")
i_inject "pwrite64:signal=KILL:when=$number" "$CK" rotate
expect 'the journal of the records is there' test -s "$KEYS/custody.db-journal"
t_no_secret "$KEYS/custody.db" "$KEYS/custody.db-journal" "$KEYS/worker.sb"
talk
i_back
printf '{"version":1' >"$UNLOCK"
talk
i_back
printf x | dd of="$DEDICATED" conv=notrunc 2>/dev/null
talk
expect 'something was said' test "$(wc -c <"$T_TMP/said")" -gt 20000
# Those that rotate made here are in no list.
refute 'no new bearer was' grep -q 'clankie_op_[A-Za-z0-9_-]\{8\}' "$T_TMP/said"
t_no_secret "$T_TMP/said" "$KEYS/custody.db" "$KEYS/worker.sb"
