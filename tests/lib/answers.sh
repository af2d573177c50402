# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# The answers a store can give; read behind custody.sh.
#
#	answer       make $store, which is the $place of the table, answer $how
#	undo         what can be taken back of that
#
# $W is a directory of our own.  answer sets $boxed to the options of a box
# (lib/box.sh) in which the command must run, $fill to the directory to fill
# in it, and $given to 0 when no password is to be given.
# shellcheck disable=SC2034,SC2154  # the script uses and sets them

feeder='' holder=''

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
	cp "$UNLOCK" "$W/unlock"
	{ printf '{"version":1,"keychain":"%s","password":"' "$DEDICATED" &&
	    cat "$W/wrong" &&
	    printf '","generation":1,"signature":""}'; } >"$UNLOCK"
}

# Make the store answer so.  Sets $boxed to the options of a box, $fill to the
# directory to fill in it, $given to 0 when the password is not given.
answer() {
	boxed='' fill='' given=1
	case $how in
	present) ;;
	absent)
		case $place in
		login-moved) without_item operator-keychain bot.clankie.custody ;;
		*) without_item clankie_operator bot.clankie.credentials ;;
		esac
		;;
	missing) rm "$store" ;;
	locked)
		given=0
		[ "$place" != dedicated ] || wrong_unlock
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

# What can be taken back of it.
undo() {
	release
	case $how in
	denied) chmod 0600 "$store" ;;
	fifo)
		rm -f "$store"
		mv "$W/away" "$store"
		;;
	locked)
		[ "$place" != dedicated ] || cat "$W/unlock" >"$UNLOCK"
		;;
	esac
}
