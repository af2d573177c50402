#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# traced: no, since other scripts do the same things one by one
#
# Every command against every answer a store can give.  Whatever a command is
# told, it ends within its bound and with the status of the table below; what
# does not succeed leaves everything as it was; nothing but rotate and
# reset --confirm makes a new bearer; absent (10) is said only where the broker
# was read and has none.  By default a sample, with CK_SWEEP=full all of it.
#
# The bounds, in seconds: 2 for the service's gate; 7 for what only reads, which
# waits at most once, 5 seconds for the records; 12 for what writes, which waits
# at most twice, for a lock and for the records.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"
. "$(dirname "$0")/../lib/box.sh"
. "$(dirname "$0")/../lib/answers.sh"

for tool in sqlite3 flock; do
	t_find_tool "$tool" || skip_all "no $tool here"
done
WORKERS=6

# Name, words, bound, "writes" or "reads", "mints" or "-".  What the program
# does not have yet is left out; what it has and is not here is tried bare.
commands() {
	cat <<'E'
migrate|migrate|12|writes|-
dry-run|migrate --dry-run|7|reads|-
get|get|7|reads|-
auth|authenticate|7|reads|-
stream|authenticate --stream|7|reads|-
rotate|rotate|12|writes|mints
check|check|12|reads|-
gate|check --startup|2|reads|-
repair|check --repair|12|writes|-
status|status|7|reads|-
list|precedence list|7|reads|-
verify|precedence verify|7|reads|-
rules|rules|7|reads|-
write|rules --write|7|writes|-
restore|restore|12|writes|-
rekey|rotate --keychain|12|writes|-
reset|reset|12|writes|-
reset!|reset --confirm|12|writes|mints
doctor|doctor|12|reads|-
rebuild|doctor --rebuild|12|reads|-
rebuild!|doctor --rebuild --confirm|12|writes|-
uninstall|doctor --uninstall|12|reads|-
back|restore --dry-run|7|reads|-
E
}

# Store, answer, and the statuses of the commands, in the order of the head.
# "0:16" is either of the two, "." anything that keeps the rules above, "-" is
# not tried: where the keychain's directory is a file system of its own, nobody
# can rename it.
table() {
	cat <<'E'
store       answer    migrate dry-run  get auth stream rotate check gate repair status list verify rules write
file        present         0       0    0    0      0     23    21   21     21      0   23     23     0    23
file        absent         10      10   10   10     10     23    21   21     21      0   23     23     0    23
file        missing        10      10   10   10     10     23    21   21     21      0   23     23     0    23
file        denied         12      12   12   12     12     23    21   21     21      0   23     23     0    23
file        damaged        13      13   13   13     13     23    21   21     21      0   23     23     0    23
file        slow            0       0    0    0      0     23    21   21     21      0   23     23     0    23
file        busy           16       0    0    0      0     23    21   21     21      0   23     23     0    23
file        fifo           19      19   19   19     19     23    21   21     21      0   23     23     0    23
file        flapping     0:15    0:15 0:15 0:15   0:15     23    21   21     21      0   23     23     0    23
file        full           17      17    0    0      0     23    21   21     21      0   23     23     0    23
file        read-only      18      18    0    0      0     23    21   21     21      0   23     23     0    23
file-moved  present         0       0    0    0      0      0     0    0      0      0    0      0     0     0
file-moved  absent          0       0    0    0      0      0     0    0      0      0    0      0     0     0
file-moved  missing         0       0    0    0      0      0     0    0      0      0    0      0     0     0
file-moved  denied          0       0    0    0      0      0    21   21     21      0    0      0     0     0
file-moved  damaged         0       0    0    0      0      0    21   21     21      0    0      0     0     0
file-moved  slow            0       0    0    0      0      0     0    0      0      0    0      0     0     0
file-moved  busy            0       0    0    0      0      0     0    0      0      0    0      0     0     0
file-moved  fifo            0       0    0    0      0      0    21   21     21      0    0      0     0     0
file-moved  flapping     0:15    0:15 0:15 0:15   0:15   0:15  0:21 0:21   0:21      0    0   0:15     0     0
file-moved  full            0       0    0    0      0      0     0    0      0      0    0      0     0     0
file-moved  read-only       0       0    0    0      0      0     0    0      0      0    0      0     0     0
login       present         0       0    0    0      0     23    21   21     21      0   23     23     0    23
login       absent         10      10   10   10     10     23    21   21     21      0   23     23     0    23
login       missing        23      23   23   23     23     23    21   21     21      0   23     23     0    23
login       locked         11      11   11   11     11     23    21   21     21      0   23     23     0    23
login       denied         12      12   12   12     12     23    21   21     21      0   23     23     0    23
login       damaged        13      13   13   13     13     23    21   21     21      0   23     23     0    23
login       slow            0       0    0    0      0     23    21   21     21      0   23     23     0    23
login       busy           16       0    0    0      0     23    21   21     21      0   23     23     0    23
login       fifo           19      19   19   19     19     23    21   21     21      0   23     23     0    23
login       flapping  0:15:23    0:15 0:15 0:15   0:15     23    21   21     21      0   23     23     0    23
login       full           17      17    0    0      0     23    21   21     21      0   23     23     0    23
login       read-only      18      18    0    0      0     23    21   21     21      0   23     23     0    23
login-moved present         0       0    0    0      0      0     0    0      0      0    0      0     0     0
login-moved absent         23      23   23   23     23     23    21   21     21      0    0     23     0     0
login-moved missing        23      23   23   23     23     23    21   21     21      0    0     23     0     0
login-moved locked          0       0   11   11     11     11     0    0     21      0    0     11     0     0
login-moved denied         12      12   12   12     12     12    21   21     21      0    0     12     0     0
login-moved damaged        13      13   13   13     13     13    21   21     21      0    0     13     0     0
login-moved slow            0       0    0    0      0      0     0    0      0      0    0      0     0     0
login-moved busy            0       0    0    0      0      0     0    0      0      0    0      0     0     0
login-moved fifo           19      19   19   19     19     19    21   21     21      0    0     19     0     0
login-moved flapping     0:15    0:15 0:15 0:15   0:15   0:15  0:21 0:21   0:21      0    0   0:15     0     0
login-moved full            0       0    0    0      0      0     0    0      0      0    0      0     0     0
login-moved read-only       0       0    0    0      0      0     0    0      0      0    0      0     0     0
dedicated   absent         13      13   13   13     13     13    21   21     21      0    0     13     0     0
dedicated   missing        13      13   13   13     13     13    21   21     21      0   13     13    13    13
dedicated   locked         11      11   11   11     11     11    21   21     21      0    0     11     0     0
dedicated   denied         12      12   12   12     12     12    21   21     21      0    0     12     0     0
dedicated   damaged        13      13   13   13     13     13    21   21     21      0    0     13     0     0
dedicated   slow            0       0    0    0      0      0     0    0      0      0    0      0     0     0
dedicated   busy            0       0    0    0      0     16     0    0      0      0    0      0     0     0
dedicated   fifo           19      19   19   19     19     19    21   21     21      0    0     19     0     0
dedicated   flapping     0:15    0:15 0:15 0:15   0:15   0:15  0:21 0:21   0:21      0    0   0:15     0     0
dedicated   full            0       0    0    0      0     17     0    0      0      0    0      0     0     0
dedicated   read-only       0       0    0    0      0     18     0    0      0      0    0      0     0     0
records     missing        23      23   23   23     23     23    21   21     21      0   23     23    23    23
records     denied         12      12   12   12     12     12    21   21     21      0   12     12    12    12
records     damaged        13      13   13   13     13     13    21   21     21      0   13     13    13    13
records     slow            0       0    0    0      0      0     0 0:21      0      0    0      0     0     0
records     busy           16      16   16   16     16     16    21   21     21      0   16     16    16    16
records     fifo           19      19   19   19     19     19    21   21     21      0   19     19    19    19
records     flapping     0:15    0:15 0:15 0:15   0:15   0:15  0:21 0:21   0:21      0 0:15   0:15  0:15  0:15
records     full            0       0    0    0      0     17     0    0     21      0    0      0     0     0
records     read-only       0       0    0    0      0     18     0    0     21      0    0      0     0     0

store       answer    restore back rekey reset reset! doctor rebuild rebuild! uninstall
file        present         0    0    23    23     23     21      23       23         0
file        absent         10   10    23    23     23     21      23       23         0
file        missing        10   10    23    23     23     21      23       23         0
file        denied         12   12    23    23     23     21      23       23         0
file        damaged        13   13    23    23     23     21      23       23         0
file        slow            0    0    23    23     23     21      23       23         0
file        busy            0    0    23    23     23     21      23       23         0
file        fifo           19   19    23    23     23     21      23       23         0
file        flapping        .    0    23    23     23   0:21      23       23         0
file        full            0    0    23    23     23     21      23       23         0
file        read-only       0    0    23    23     23     21      23       23         0
file-moved  present         0    0     0    19     19      0      19       19        22
file-moved  absent          0    0     0    19     19      0      19       19        22
file-moved  missing         0    0     0    19     19      0      19       19        22
file-moved  denied         12   12     0    19     19     21      19       19        22
file-moved  damaged        13   13     0    19     19     21      19       19        22
file-moved  slow            0    0     0    19     19      0      19       19        22
file-moved  busy           16    0     0    19     19      0      19       19        22
file-moved  fifo           19   19     0    19     19     21      19       19        22
file-moved  flapping        .    0     .    19     19   0:21      19       19        22
file-moved  full           17   17     0    19     19      0      19       19        22
file-moved  read-only      18   18     0    19     19      0      19       19        22
login       present         0    0    23    23     23     21      23       23         0
login       absent         10   10    23    23     23     21      23       23         0
login       missing        23   23    23    23     23     21      23       23         0
login       locked          0    0    23    23     23     21      23       23         0
login       denied         12   12    23    23     23     21      23       23        12
login       damaged        13   13    23    23     23     21      23       23        13
login       slow            0    0    23    23     23     21      23       23         0
login       busy            0    0    23    23     23     21      23       23         0
login       fifo           19   19    23    23     23     21      23       23        19
login       flapping        .    0    23    23     23   0:21      23       23         0
login       full            0    0    23    23     23     21      23       23         0
login       read-only       0    0    23    23     23     21      23       23         0
login-moved present         0    0     0    19     19      0      19       19        22
login-moved absent         23   23    23    22      0     21      23       23        22
login-moved missing        23   23    23    23     23     21      23       23        22
login-moved locked         11   11    11    11     11      0      11       11        22
login-moved denied         12   12    12    12     12     21      12       12        12
login-moved damaged        13   13    13    13     13     21      13       13        13
login-moved slow            0    0     0    19     19      0      19       19        22
login-moved busy           16    0    16    19     19      0      19       19        22
login-moved fifo           19   19    19    19     19     21      19       19        19
login-moved flapping        .    0     .    19      .   0:21       .        .        22
login-moved full           17   17    17    19     19      0      19       19        22
login-moved read-only      18   18    18    19     19      0      19       19        22
dedicated   absent         13   13    13    22      0     21      13       13        22
dedicated   missing        13   13    13    22      0     21      13       13        22
dedicated   locked         11   11    11    22      0     21      11       11        22
dedicated   denied         12   12    12    12     12     21      12       12        22
dedicated   damaged        13   13    13    22      0     21      13       13        22
dedicated   slow            0    0     0    19     19      0      19       19        22
dedicated   busy            0    0    16    19     19      0      19       19        22
dedicated   fifo           19   19    19    19     19     21      19       19        22
dedicated   flapping        .    0     .    19      .   0:21       .        .        22
dedicated   full            -    0     .    19     19      0      19       19        22
dedicated   read-only       -    0     .    19     19      0      19       19        22
records     missing        23   23    23    23     23     21      22        0        22
records     denied         12   12    12    12     12     21      12       12        12
records     damaged        13   13    13    13     13     21      22        0        22
records     slow            0    0     0    19     19   0:21      19       19        22
records     busy           16   16    16    16     16     21      16       16        16
records     fifo           19   19    19    19     19     21      19       19        19
records     flapping        .    .     .    19      .   0:21       .        .         .
records     full           17    0    17    19     19      0      19       19        22
records     read-only      18   18    18    19     19      0      19       19        22
E
}

helps() { # word; the usage of a verb, or fails
	"$CK" help "$1" 2>/dev/null | sed -n 1p
}

# The commands that this program has, in the form of commands().
present() {
	commands | while read -r line; do
		argv=$(echo "$line" | cut -d'|' -f2)
		usage=$(helps "${argv%% *}")
		case $usage in
		"usage: clankie-keys ${argv%% *}"*) ;;
		*) continue ;;
		esac
		for word in $argv; do
			case $word in
			--*)
				case $usage in
				*"$word"*) ;;
				*) continue 2 ;;
				esac
				;;
			esac
		done
		echo "$line"
	done
	"$CK" help | awk '/^  [a-z]/ { print $1 }' | while read -r verb; do
		case $verb in
		keychain | worker | envelope | boundary) ;;  # no store of ours
		*)
			commands | cut -d'|' -f2 | grep -q "^$verb\( \|\$\)" ||
			    echo "$verb|$verb|12|writes|-"
			;;
		esac
	done
}

# A home with its four beginnings, for one worker: stores are recorded with
# their paths, so that each needs a home of its own.
worker_home() { # number
	c_home
	W=$T_TMP/w$1
	mkdir "$W"
	PW=$W/pw
	BEARER=$W/bearer
	k_sandbox on
	cp -a "$T_HOME" "$W/empty"
	c_broker
	cp "$T_TMP/broker.rest" "$W/rest"
	cp "$BROKER" "$W/orig"
	cp -a "$T_HOME" "$W/file-before"
	"$CK" migrate --service-honours-precedence >/dev/null 2>&1
	"$CK" get --key >"$W/key"
	cp -a "$T_HOME" "$W/file-after"
	rm -rf "$T_HOME"
	cp -a "$W/empty" "$T_HOME"
	c_login_new
	c_add bot.clankie.credentials clankie_operator "$BEARER"
	cp -a "$T_HOME" "$W/login-before"
	migrate_login --service-honours-precedence
	cp -a "$T_HOME" "$W/login-after"
	t_password "$W/wrong"
	chmod -R u+rwX "$W"
}

# The home as it is: every name, mode and byte, and of the records the rows.
# Lock files stay by design; a writer that goes back leaves an event, a new seal
# over it, and the print of the value that did not come to be.
cat >"$T_TMP/look" <<'S'
records=$HOME/.clankie-keys/custody.db
{
	"$T_TOOLS/ck-snapshot" -b "$HOME" |
	    grep -v '/\.fl[0-9A-F]*$\|/credential-locks$\|\.clankie-keys/lock$' |
	    grep -vF "$records"
	if [ -f "$records" ]; then
		sqlite3 -readonly "$records" .dump 2>/dev/null |
		    grep -v '^INSERT INTO \(event\|seal\) \|rotate\.fingerprint' |
		    sed '/^INSERT INTO store /s/,[0-9]*,[0-9]*);$//'
	else
		ls -ld "$records" 2>&1
	fi
} >"$1"
S

# Inside of a box or not: the home before, the command, the home after.  A full
# disk is full after its content was brought in.
cat >"$T_TMP/inside" <<'S'
w=$1 fill=$2 bound=$3
shift 3
if [ -n "$fill" ]; then
	cp -a "$w/content/." "$fill"
	cat /dev/zero >"$fill/fill" 2>/dev/null
fi
[ -z "$fill" ] || sh "$T_TMP/look" "$w/before"
start=$(date +%s%N)
status=0
"$T_TIMEOUT" -k 1 "$bound" "$@" 3<"$w/password" <"$w/stdin" \
    >"$w/out" 2>"$w/err" || status=$?
echo "$((($(date +%s%N) - start) / 1000000))" >"$w/ms"
echo "$status" >"$w/status"
[ -z "$fill" ] || sh "$T_TMP/look" "$w/after"
S

# A reply of the stream has the status in its words.
stream_status() {
	case $(cat "$W/out") in
	'id yes') echo 0 ;;
	'id no') echo 1 ;;
	'id error no-store') echo 23 ;;
	'id error absent') echo 10 ;;
	'id error locked') echo 11 ;;
	'id error denied') echo 12 ;;
	'id error damaged') echo 13 ;;
	'id error unsupported') echo 14 ;;
	'id error changed') echo 15 ;;
	'id error busy') echo 16 ;;
	'id error read-only') echo 18 ;;
	'id error refused') echo 19 ;;
	*) cat "$W/status" ;;
	esac
}

# Run it in the home that is prepared; sets $status and $ms.
perform() {
	usage=$(helps "${words%% *}")
	# shellcheck disable=SC2086  # words
	set -- $words
	case $usage,$place in
	*--broker*,login) set -- "$@" --broker "keychain:$LOGIN" ;;
	esac
	case $usage,$place,$given,$name in
	*,list) ;;
	*--login-password-fd*,login*,1,*) set -- "$@" --login-password-fd 3 ;;
	esac
	cp "$PW" "$W/password"
	case $name in
	stream) printf 'id %s\n' "$(t_hex "$W/key")" >"$W/stdin" ;;
	*) cp "$W/key" "$W/stdin" ;;
	esac
	if [ -z "$boxed" ]; then
		sh "$T_TMP/inside" "$W" '' "$bound" "$CK" "$@"
	else
		# shellcheck disable=SC2086  # words
		box $boxed -- sh "$T_TMP/inside" "$W" "$fill" "$bound" \
		    "$CK" "$@" 2>"$W/box.err"
	fi
	status=$(cat "$W/status" 2>/dev/null || echo none)
	ms=$(cat "$W/ms" 2>/dev/null || echo 0)
	case $name in
	stream) status=$(stream_status) ;;
	get) [ "$status" -ne 0 ] || cp "$W/out" "$W/given" ;;
	esac
}

wrong() { # what
	printf '%s; ' "$1" >>"$W/wrong.is"
}

unchanged() {
	cmp -s "$W/before" "$W/after" ||
	    wrong "changed: $(diff "$W/before" "$W/after" | grep '^[<>]' |
	    cut -c1-120 | tr '\n' ' ')"
}

# The status is in its place, absent is absent, and what did not succeed, or
# only looks, changed nothing.
status_holds() {
	case $status in
	124 | 137) wrong 'did not end within its bound' ;;
	0 | 1 | 2 | 1[0-9] | 2[0-5]) ;;
	*) wrong "ended with $status, which is in no table" ;;
	esac
	case ":$expected:" in
	:.: | *":$status:"*) ;;
	*) wrong "ended with $status and not with $expected" ;;
	esac
	case $status,$place,$how in
	10,file,absent | 10,file,missing | 10,login,absent) ;;
	10,*) wrong 'called it absent' ;;
	esac
	case $status,$kind,$how in
	0,writes,*) ;;
	*,writes,flapping) ;;   # what it did, or undid, was put back meanwhile
	21,writes,*)            # it did something, and found something else
		[ "$name" = 'rebuild!' ] || unchanged
		;;
	*) unchanged ;;
	esac
}

broker_text_holds() {
	[ ! -e "$BROKER" ] || cmp -s "$BROKER" "$W/orig" ||
	    cmp -s "$BROKER" "$W/rest" ||
	    { [ "$name" = restore ] && [ "$("$T_TOOLS/ck-json" \
	    clankie_operator.key <"$BROKER")" = "$(cat "$W/key")" ]; }
}

# The broker's file has its text or that without the bearer; get gives the
# bearer there was, or a new one after a command that makes one.
bearer_holds() {
	[ "$name" != get ] || [ "$status" -ne 0 ] ||
	    cmp -s "$W/given" "$BEARER" || wrong 'gave something else'
	case $how,$place in
	damaged,file*) return ;;
	esac
	broker_text_holds || wrong 'another text in the broker'
	case $how,$mints,$status in
	*,mints,0) ;;
	absent,* | missing,* | damaged,*) return ;;
	esac
	set -- get --key
	[ "$store" != "$LOGIN" ] ||
	    set -- "$@" --broker "keychain:$LOGIN" --login-password-fd 3
	if ! "$CK" "$@" 3<"$PW" >"$W/got" 2>>"$W/err"; then
		case $how,$kind in
		flapping,writes) ;;
		*) wrong 'get fails afterwards' ;;
		esac
	elif [ "$mints,$status" = mints,0 ]; then
		! cmp -s "$W/got" "$W/key" || wrong 'made no new bearer'
	else
		cmp -s "$W/got" "$W/key" || wrong 'the bearer is another one'
	fi
}

cell() {
	case $place in
	file) base=file-before store=$BROKER ;;
	file-moved) base=file-after store=$BROKER ;;
	login) base=login-before store=$LOGIN ;;
	login-moved) base=login-after store=$LOGIN ;;
	dedicated) base=file-after store=$DEDICATED ;;
	records) base=file-after store=$KEYS/custody.db ;;
	esac
	rm -rf "$T_HOME"
	cp -a "$W/$base" "$T_HOME"
	rm -f "$W/after" "$W/status" "$W/wrong.is"
	sh "$T_TMP/look" "$W/before"
	answer
	case $how in
	absent | missing | damaged) sh "$T_TMP/look" "$W/before" ;;
	esac
	perform
	# A new unlock password is not the one that was taken away.
	[ "$mints,$status" != mints,0 ] || cp "$UNLOCK" "$W/unlock" 2>/dev/null
	undo
	[ -n "$fill" ] || sh "$T_TMP/look" "$W/after"
	status_holds
	bearer_holds
	cat "$W/err" >>"$W/said"
	[ "$name" = get ] || cat "$W/out" >>"$W/said"
	echo "$place|$how|$name|$status|$ms|$(cat "$W/wrong.is" 2>/dev/null)" \
	    >>"$W/results"
}

worker() { # number
	: >"$W/results"
	while IFS='|' read -r place how expected name words bound kind mints; do
		cell
	done <"$T_TMP/cells.$1"
}

can_box && boxes=1 || boxes=0
denied=1
[ "$(id -u)" -ne 0 ] || denied=0
export T_TMP T_TOOLS T_TIMEOUT CK
present >"$T_TMP/present"
expect 'the program has the commands of the table' \
    test "$(wc -l <"$T_TMP/present")" -ge 14

# Every line of the table with every command; a sample has each line and each
# command at least once.
table | awk -v full="${CK_SWEEP:-}" -v boxes="$boxes" -v denied="$denied" \
    -v present="$T_TMP/present" -v only="${CK_ANSWER:-}" '
	BEGIN { while ((getline line <present) > 0) all[++n] = line }
	/^$/ { next }
	$1 == "store" { heads++; for (i = 3; i <= NF; i++) name[i] = $i; next }
	{
		key = $1 "|" $2
		if (heads == 1) rows[++nrows] = key
		for (i = 3; i <= NF; i++) want[key "|" name[i]] = $i
	}
	END {
		for (r = 1; r <= nrows; r++) {
			split(rows[r], is, "|")
			if (only != "" && only != rows[r] ||
			    is[2] == "denied" && !denied ||
			    (is[2] == "full" || is[2] == "read-only") && !boxes)
				continue
			for (i = 1; i <= n; i++) {
				split(all[i], part, "|")
				w = want[rows[r] "|" part[1]]
				if (w != "-" &&
				    (full == "full" || (r + 3 * i) % 8 == 0))
					print rows[r] "|" (w ? w : ".") "|" all[i]
			}
		}
	}' >"$T_TMP/cells"
[ "$boxes" -eq 1 ] || skip 'full, read-only' 'no bwrap here, or as root'
[ "$denied" -eq 1 ] || skip 'denied' 'root is refused nothing'
awk -v n="$WORKERS" -v to="$T_TMP/cells." '{ print >(to NR % n) }' \
    "$T_TMP/cells"

number=0
while [ "$number" -lt "$WORKERS" ]; do
	: >>"$T_TMP/cells.$number"
	worker_home "$number"
	(worker "$number") 2>>"$T_TMP/worker.err" &
	number=$((number + 1))
done
wait
cat "$T_TMP"/w?/results | sort >"$T_TMP/results"
while IFS='|' read -r place how name status ms why; do
	echo "$why" >"$T_NOTE"
	[ -z "$why" ]
	t_result $? "$place $how, $name: $status"
done <"$T_TMP/results"
echo "# $(wc -l <"$T_TMP/results") cells; the slowest:" "$(sort -t'|' -k5nr \
    "$T_TMP/results" | head -4 | tr '\n' ' ')"
expect 'every cell has a result' test "$(wc -l <"$T_TMP/results")" -eq \
    "$(wc -l <"$T_TMP/cells")"
t_no_secret "$T_TMP"/w?/said
