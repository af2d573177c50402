#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
#
# Every command against every answer a store can give.  Whatever a command is
# told, it ends within its bound and with the status of the table below; what
# does not succeed leaves everything as it was; nothing but rotate and
# reset --confirm makes a new bearer; absent (10) is said only where the broker
# was read and has none.  By default a sample, with CK_SWEEP=full all of it.
#
# The bounds, in seconds: 2 for the service's gate; 6 for what only reads
# (one wait of 5 for the records); 11 for what writes (one wait for each of the
# two locks it takes, of which no command gets to a third).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/check.sh"
. "$(dirname "$0")/../lib/box.sh"

t_find_tool sqlite3 && t_find_tool flock || skip_all 'no sqlite3 or no flock'
WORKERS=6

# Name, words, bound, "writes" or "reads", "mints" or "-".  What the program
# does not have yet is left out; what it has and is not here is tried bare.
commands() {
	cat <<'E'
migrate|migrate|11|writes|-
dry-run|migrate --dry-run|6|reads|-
get|get|6|reads|-
auth|authenticate|6|reads|-
stream|authenticate --stream|6|reads|-
rotate|rotate|11|writes|mints
check|check|11|reads|-
gate|check --startup|2|reads|-
repair|check --repair|11|writes|-
status|status|6|reads|-
list|precedence list|6|reads|-
verify|precedence verify|6|reads|-
rules|rules|6|reads|-
write|rules --write|6|writes|-
restore|restore|11|writes|-
rekey|rotate --keychain|11|writes|-
reset|reset|11|writes|-
reset!|reset --confirm|11|writes|mints
doctor|doctor|11|reads|-
E
}

# Store, answer, and the statuses of the commands, in the order of the head.
# "0:16" is either of the two, "." anything that keeps the rules above.
table() {
	cat <<'E'
store answer migrate dry-run get auth stream rotate check gate repair status list verify rules write
file present . . . . . . . . . . . . . .
file absent . . . . . . . . . . . . . .
file missing . . . . . . . . . . . . . .
file denied . . . . . . . . . . . . . .
file damaged . . . . . . . . . . . . . .
file slow . . . . . . . . . . . . . .
file busy . . . . . . . . . . . . . .
file fifo . . . . . . . . . . . . . .
file flapping . . . . . . . . . . . . . .
file full . . . . . . . . . . . . . .
file read-only . . . . . . . . . . . . . .
file-moved present . . . . . . . . . . . . . .
file-moved absent . . . . . . . . . . . . . .
file-moved missing . . . . . . . . . . . . . .
file-moved denied . . . . . . . . . . . . . .
file-moved damaged . . . . . . . . . . . . . .
file-moved slow . . . . . . . . . . . . . .
file-moved busy . . . . . . . . . . . . . .
file-moved fifo . . . . . . . . . . . . . .
file-moved flapping . . . . . . . . . . . . . .
file-moved full . . . . . . . . . . . . . .
file-moved read-only . . . . . . . . . . . . . .
login present . . . . . . . . . . . . . .
login absent . . . . . . . . . . . . . .
login missing . . . . . . . . . . . . . .
login locked . . . . . . . . . . . . . .
login denied . . . . . . . . . . . . . .
login damaged . . . . . . . . . . . . . .
login slow . . . . . . . . . . . . . .
login busy . . . . . . . . . . . . . .
login fifo . . . . . . . . . . . . . .
login flapping . . . . . . . . . . . . . .
login full . . . . . . . . . . . . . .
login read-only . . . . . . . . . . . . . .
login-moved present . . . . . . . . . . . . . .
login-moved absent . . . . . . . . . . . . . .
login-moved missing . . . . . . . . . . . . . .
login-moved locked . . . . . . . . . . . . . .
login-moved denied . . . . . . . . . . . . . .
login-moved damaged . . . . . . . . . . . . . .
login-moved slow . . . . . . . . . . . . . .
login-moved busy . . . . . . . . . . . . . .
login-moved fifo . . . . . . . . . . . . . .
login-moved flapping . . . . . . . . . . . . . .
login-moved full . . . . . . . . . . . . . .
login-moved read-only . . . . . . . . . . . . . .
dedicated absent . . . . . . . . . . . . . .
dedicated missing . . . . . . . . . . . . . .
dedicated locked . . . . . . . . . . . . . .
dedicated denied . . . . . . . . . . . . . .
dedicated damaged . . . . . . . . . . . . . .
dedicated slow . . . . . . . . . . . . . .
dedicated busy . . . . . . . . . . . . . .
dedicated fifo . . . . . . . . . . . . . .
dedicated flapping . . . . . . . . . . . . . .
dedicated full . . . . . . . . . . . . . .
dedicated read-only . . . . . . . . . . . . . .
records missing . . . . . . . . . . . . . .
records denied . . . . . . . . . . . . . .
records damaged . . . . . . . . . . . . . .
records slow . . . . . . . . . . . . . .
records busy . . . . . . . . . . . . . .
records fifo . . . . . . . . . . . . . .
records flapping . . . . . . . . . . . . . .
records full . . . . . . . . . . . . . .
records read-only . . . . . . . . . . . . . .
E
}

helps() { # word; the usage of a verb, or fails
	"$CK" help "$1" 2>/dev/null | sed -n 1p
}

# The commands that this program has, in the form of commands().
present() {
	commands | while IFS='|' read -r name words bound kind mints; do
		usage=$(helps "${words%% *}")
		case $usage in
		"usage: clankie-keys ${words%% *}"*) ;;
		*) continue ;;
		esac
		for word in $words; do
			case $word in
			--*)
				case $usage in
				*"$word"*) ;;
				*) continue 2 ;;
				esac
				;;
			esac
		done
		echo "$name|$words|$bound|$kind|$mints"
	done
	"$CK" help | awk '/^  [a-z]/ { print $1 }' | while read -r verb; do
		case $verb in
		keychain | worker | envelope | boundary) ;;  # no store of ours
		*)
			commands | cut -d'|' -f2 | grep -q "^$verb\( \|\$\)" ||
			    echo "$verb|$verb|11|writes|-"
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

# Keep a lock until release(), or for some seconds.  The holder lives as long
# as its standard input, and says when it has the lock.
hold() { # seconds, command
	rm -f "$W/in"
	mkfifo "$W/in"
	: >"$W/held"
	hold_for=$1
	shift
	"$@" <"$W/in" >"$W/held" 2>/dev/null &
	holder=$!
	(
		printf 'BEGIN EXCLUSIVE;\n.print held\n'
		exec sleep "$hold_for"
	) >"$W/in" 2>/dev/null &
	feeder=$!
	until [ -s "$W/held" ]; do
		sleep 0.02
	done
}

hold_lock() { # seconds
	case $store in
	*.json)
		mkdir "$store.lock"
		(exec sleep "$1") &
		feeder=$!
		(sleep "$1" && rmdir "$store.lock") 2>/dev/null &
		holder=$!
		;;
	*.db) hold "$1" sqlite3 "$store" ;;
	*) hold "$1" flock "$(dirname "$store")"/.fl* cat ;;
	esac
}

# The same bytes under another inode, again and again.
flap() {
	cp -p "$store" "$W/flap"
	while :; do
		cp -p "$W/flap" "$W/flap.new" && mv "$W/flap.new" "$store"
	done &
	holder=$!
}

release() {
	for r_pid in $feeder $holder; do
		kill "$r_pid" 2>/dev/null
		wait "$r_pid" 2>/dev/null
	done
	feeder='' holder=''
	rm -rf "$BROKER.lock"
}

cut_off() {
	head -c "$(($(wc -c <"$store") / 3))" "$store" >"$W/cut"
	cat "$W/cut" >"$store"
}

# The item, not the file; for the records both are one.
without_item() {
	case $store in
	"$BROKER") cat "$W/rest" >"$BROKER" ;;
	"$LOGIN") "$CK" keychain delete "$LOGIN" --account "$1" --service "$2" ;;
	"$DEDICATED")
		cp "$DEDICATED" "$W/tampered"
		"$CK" keychain delete "$W/tampered" --account "$1" --service "$2"
		cat "$W/tampered" >"$DEDICATED"
		;;
	esac >/dev/null 2>&1
}

# Another password than the stored one, of the same shape.
wrong_unlock() {
	{ printf '{"version":1,"keychain":"%s","password":"' "$DEDICATED" &&
	    cat "$W/wrong" &&
	    printf '","generation":1,"signature":""}'; } >"$UNLOCK"
}

# Make the store answer so.  Sets $boxed to the options of a box, $fill to the
# directory to fill in it, $given to 0 when the password is not given.
answer() { # store, answer
	boxed='' fill='' given=1
	case $2 in
	present) ;;
	absent)
		case $1 in
		login-moved) without_item operator-keychain bot.clankie.custody ;;
		*) without_item clankie_operator bot.clankie.credentials ;;
		esac
		;;
	missing) rm "$store" ;;
	locked)
		given=0
		[ "$1" != dedicated ] || wrong_unlock
		;;
	denied) chmod 0000 "$store" ;;
	damaged) cut_off ;;
	slow) hold_lock 1 ;;
	busy) hold_lock 60 ;;
	fifo)
		mv "$store" "$W/away"
		mkfifo -m 0600 "$store"
		;;
	flapping) flap ;;
	full)
		fill=$(dirname "$store")
		rm -rf "$W/content"
		cp -a "$fill" "$W/content"
		boxed="--size 1048576 --tmpfs $fill --chmod 0700 $fill"
		;;
	read-only)
		boxed="--ro-bind $(dirname "$store") $(dirname "$store")"
		;;
	esac
}

undo() { # answer
	release
	case $1 in
	denied) chmod 0600 "$store" ;;
	fifo)
		rm -f "$store"
		mv "$W/away" "$store"
		;;
	esac
}

# Inside of a box or not: the home before, the command, the home after.  A full
# disk is full after its content was brought in.
cat >"$T_TMP/inside" <<'S'
w=$1 fill=$2 bound=$3
shift 3
if [ -n "$fill" ]; then
	cp -a "$w/content/." "$fill"
	cat /dev/zero >"$fill/fill" 2>/dev/null
fi
look() {
	"$T_TOOLS/ck-snapshot" -b "$HOME" |
	    grep -v '/\.fl[0-9A-F]*$\|\.clankie-keys/lock$' >"$w/$1"
}
[ -e "$w/before" ] || look before
start=$(date +%s%N)
status=0
"$T_TIMEOUT" -k 1 "$bound" "$@" 3<"$w/password" <"$w/stdin" \
    >"$w/out" 2>"$w/err" || status=$?
echo "$((($(date +%s%N) - start) / 1000000))" >"$w/ms"
echo "$status" >"$w/status"
look after
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

# Run it in the home that is prepared.
perform() { # name, words, bound, store
	usage=$(helps "${2%% *}")
	# shellcheck disable=SC2086  # words
	set -- "$1" "$3" "$4" $2
	p_name=$1 p_bound=$2 p_store=$3
	shift 3
	case $usage,$p_store in
	*--broker*,login) set -- "$@" --broker "keychain:$LOGIN" ;;
	esac
	case $usage,$p_store,$given,$p_name in
	*,list) ;;
	*--login-password-fd*,login*,1,*) set -- "$@" --login-password-fd 3 ;;
	esac
	cp "$PW" "$W/password"
	case $p_name in
	stream) printf 'id %s\n' "$(t_hex "$W/key")" >"$W/stdin" ;;
	*) cp "$W/key" "$W/stdin" ;;
	esac
	rm -f "$W/status" "$W/after"
	if [ -z "$boxed" ]; then
		sh "$T_TMP/inside" "$W" '' "$p_bound" "$CK" "$@"
	else
		# shellcheck disable=SC2086  # words
		box $boxed -- sh "$T_TMP/inside" "$W" "$fill" "$p_bound" \
		    "$CK" "$@" 2>"$W/box.err"
	fi
	status=$(cat "$W/status" 2>/dev/null || echo none)
	case $p_name in
	stream) status=$(stream_status) ;;
	get) [ "$status" -ne 0 ] || cp "$W/out" "$W/given" ;;
	esac
}

wrong() { # what
	printf '%s; ' "$1" >>"$W/wrong.is"
}

# What holds after every cell.
rules() { # name, kind, mints, store, answer, expected
	ms=$(cat "$W/ms")
	case $status in
	124 | 137) wrong "did not end within its bound" ;;
	0 | 1 | 2 | 1[0-9] | 2[0-5]) ;;
	*) wrong "ended with $status, which is in no table" ;;
	esac
	case $6 in
	.) ;;
	*)
		case ":$6:" in
		*":$status:"*) ;;
		*) wrong "ended with $status and not with $6" ;;
		esac
		;;
	esac
	case $status,$4,$5 in
	10,file,absent | 10,file,missing | 10,login,absent) ;;
	10,*) wrong 'called it absent' ;;
	0,*)
		[ "$2" = writes ] || cmp -s "$W/before" "$W/after" ||
		    wrong 'only reads, and changed something'
		;;
	*)
		cmp -s "$W/before" "$W/after" ||
		    wrong "changed something: $(diff "$W/before" "$W/after" |
		    sed -n 's/^[<>].* //p' | sort -u | tr '\n' ' ')"
		;;
	esac
	[ "$1" != get ] || [ "$status" -ne 0 ] || cmp -s "$W/given" "$BEARER" ||
	    wrong 'gave something else'
	[ ! -f "$BROKER" ] || cmp -s "$BROKER" "$W/orig" ||
	    cmp -s "$BROKER" "$W/rest" || [ "$4,$5" = file,damaged ] ||
	    [ "$4,$5" = file-moved,damaged ] || wrong 'another broker text'
	case $5 in
	absent | missing | damaged) return ;;
	esac
	# The store answers again: what is the bearer now?
	[ "$4,$5" != dedicated,locked ] ||
	    cp "$W/file-after/.config/clankie-keys/unlock.json" "$UNLOCK"
	set -- "$1" "$3" "$4"
	p_mints=$2
	set -- get --key
	case $store in
	"$LOGIN") set -- "$@" --broker "keychain:$LOGIN" --login-password-fd 3 ;;
	esac
	"$CK" "$@" 3<"$PW" >"$W/got" 2>>"$W/err" || wrong 'get fails afterwards'
	if [ "$status" -eq 0 ] && [ "$p_mints" = mints ]; then
		! cmp -s "$W/got" "$W/key" || wrong 'minted nothing'
	elif [ "$status" -ne 24 ]; then
		cmp -s "$W/got" "$W/key" || wrong 'the bearer is another one'
	fi
}

cell() { # store, answer, expected, name, words, bound, kind, mints
	case $1 in
	file) base=file-before store=$BROKER ;;
	file-moved) base=file-after store=$BROKER ;;
	login) base=login-before store=$LOGIN ;;
	login-moved) base=login-after store=$LOGIN ;;
	dedicated) base=file-after store=$DEDICATED ;;
	records) base=file-after store=$KEYS/custody.db ;;
	esac
	rm -rf "$T_HOME"
	cp -a "$W/$base" "$T_HOME"
	rm -f "$W/before" "$W/wrong.is"
	case $2 in
	denied)
		"$T_TOOLS/ck-snapshot" -b "$T_HOME" |
		    grep -v '/\.fl[0-9A-F]*$\|\.clankie-keys/lock$' >"$W/before"
		;;
	esac
	answer "$1" "$2"
	perform "$4" "$5" "$6" "$1"
	undo "$2"
	[ "$2" != denied ] || "$T_TOOLS/ck-snapshot" -b "$T_HOME" |
	    grep -v '/\.fl[0-9A-F]*$\|\.clankie-keys/lock$' >"$W/after"
	rules "$4" "$7" "$8" "$1" "$2" "$3"
	cat "$W/err" >>"$W/said"
	[ "$4" = get ] || cat "$W/out" >>"$W/said"
	echo "$1|$2|$4|$status|$ms|$(cat "$W/wrong.is" 2>/dev/null)" >>"$W/results"
}

worker() { # number
	feeder='' holder=''
	: >"$W/results"
	while IFS='|' read -r place how expected name words bound kind mints; do
		cell "$place" "$how" "$expected" "$name" "$words" "$bound" \
		    "$kind" "$mints"
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
	NR == 1 { for (i = 3; i <= NF; i++) column[$i] = i; next }
	/^$/ { next }
	only != "" && only != $1 "|" $2 { next }
	$2 == "denied" && !denied { next }
	($2 == "full" || $2 == "read-only") && !boxes { next }
	{
		row++
		for (i = 1; i <= n; i++) {
			split(all[i], part, "|")
			at = column[part[1]]
			if (full == "full" || (row + 3 * i) % 8 == 0)
				print $1 "|" $2 "|" (at ? $at : ".") "|" all[i]
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
