#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Full disks, read-only file systems, size limits, and locks that others keep.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/box.sh"

# What happens inside: make it as it is to be, then migrate, then get.
cat >"$T_TMP/inside" <<'S'
fill=$1
keep=$2
shift 2
if [ -d "$T_TMP/content" ]; then
	cp -a "$T_TMP/content/." "$keep"
fi
if [ -n "$fill" ]; then
	cat /dev/zero >"$fill/fill" 2>"$T_TMP/null"
fi
"$T_TOOLS/ck-snapshot" -d "$HOME" >"$T_TMP/in.before"
"$CK" migrate "$@" 3<"$PW" >"$T_TMP/in.out" 2>"$T_TMP/in.err"
echo $? >"$T_TMP/in.status"
"$T_TOOLS/ck-snapshot" -d "$HOME" >"$T_TMP/in.after"
"$CK" get "$@" 3<"$PW" >"$T_TMP/in.got" 2>"$T_TMP/in.got.err"
S

inside() { # how to mount; --; fill, keep, arguments of migrate
	rm -f "$T_TMP"/in.*
	export T_TMP T_TOOLS CK PW
	box "$@" 2>"$T_TMP/box.err" || cat "$T_TMP/box.err" >&2
	cp "$T_TMP/in.out" "$T_OUT"
	cp "$T_TMP/in.err" "$T_ERR"
	status=$(cat "$T_TMP/in.status")
}

expect_as_before() { # status, text
	expect_status "$1"
	expect_err_has "$2"
	expect_out_empty
	expect_same "$T_TMP/in.before" "$T_TMP/in.after"
	expect_same "$T_TMP/in.got" "$BEARER"
	t_no_secret
}

boxed() {
	status=0
	box "$@" >"$T_OUT" 2>"$T_ERR" || status=$?
}

content() { # directory whose content is brought in
	rm -rf "$T_TMP/content"
	cp -a "$1" "$T_TMP/content"
}

if can_box; then
	t_case "the broker's disk is full"
	c_home
	c_broker
	: >"$PW"
	content "$CLANKIE"
	inside --size 65536 --tmpfs "$CLANKIE" -- \
	    sh "$T_TMP/inside" "$CLANKIE" "$CLANKIE"
	expect_as_before 17 "$CLANKIE"

	t_case 'the disk of the home is full'
	content "$T_HOME"
	inside --size 524288 --tmpfs "$T_HOME" -- \
	    sh "$T_TMP/inside" '' "$T_HOME"
	expect_as_before 17 "$T_HOME"
	inside --size 4194304 --tmpfs "$T_HOME" -- \
	    sh "$T_TMP/inside" "$T_HOME" "$T_HOME"
	expect_as_before 17 "$T_HOME"

	t_case "the unlock password's disk is full"
	rm -rf "$T_TMP/content"
	mkdir -m 0700 "$(dirname "$UNLOCK")"
	inside --size 65536 --tmpfs "$(dirname "$UNLOCK")" \
	    --chmod 0700 "$(dirname "$UNLOCK")" -- \
	    sh "$T_TMP/inside" "$(dirname "$UNLOCK")" ''
	expect_as_before 17 "$(dirname "$UNLOCK")"
	rmdir "$(dirname "$UNLOCK")"

	t_case 'the broker is on a read-only file system'
	inside --ro-bind "$CLANKIE" "$CLANKIE" -- sh "$T_TMP/inside" '' ''
	expect_as_before 18 "$CLANKIE"
	t_case 'the home is on a read-only file system'
	inside --ro-bind "$T_HOME" "$T_HOME" -- sh "$T_TMP/inside" '' ''
	expect_as_before 18 "$T_HOME"
	t_case 'the configuration is on a read-only file system'
	inside --ro-bind "$T_HOME/.config" "$T_HOME/.config" \
	    --bind "$CLANKIE" "$CLANKIE" -- sh "$T_TMP/inside" '' ''
	expect_as_before 18 "$T_HOME/.config"

	t_case 'room enough'
	content "$T_HOME"
	inside --size 4194304 --tmpfs "$T_HOME" -- \
	    sh "$T_TMP/inside" '' "$T_HOME"
	expect_status 0
	expect_same "$T_TMP/in.got" "$BEARER"

	t_case "the login keychain's disk is full"
	c_home
	c_login_new
	t_bearer_json "$BEARER"
	c_add bot.clankie.credentials clankie_operator "$BEARER"
	content "$(dirname "$LOGIN")"
	inside --size 65536 --tmpfs "$(dirname "$LOGIN")" -- \
	    sh "$T_TMP/inside" "$(dirname "$LOGIN")" "$(dirname "$LOGIN")" \
	    --broker "keychain:$LOGIN" --login-password-fd 3
	expect_as_before 17 "$(dirname "$LOGIN")"
	t_case 'the login keychain is on a read-only file system'
	rm -rf "$T_TMP/content"
	inside --ro-bind "$(dirname "$LOGIN")" "$(dirname "$LOGIN")" -- \
	    sh "$T_TMP/inside" '' '' \
	    --broker "keychain:$LOGIN" --login-password-fd 3
	expect_as_before 18 "$(dirname "$LOGIN")"

	t_case 'migrated, then everything became read-only'
	c_home
	c_broker
	run "$CK" migrate
	expect_status 0
	for words in get status 'status --json' 'precedence list' rules migrate \
	    'migrate --dry-run'; do
		# shellcheck disable=SC2086  # words
		boxed --ro-bind "$T_HOME" "$T_HOME" -- "$CK" $words
		expect_status 0
	done
	boxed --ro-bind "$T_HOME" "$T_HOME" -- "$CK" get
	expect_out_is "$BEARER"
	echo ';' >>"$KEYS/worker.sb"
	boxed --ro-bind "$T_HOME" "$T_HOME" -- "$CK" rules --write
	expect_status 18
	run "$CK" rules --write
	expect_status 0
else
	skip 'full and read-only file systems' 'no bwrap here, or as root'
fi

t_case 'a limit for the size of files'
c_home
c_broker
snapshot "$T_HOME"
# 40 blocks are 20 or 40 KiB, less than the records have.
run sh -c 'ulimit -f 40; exec "$@"' sh "$CK" migrate
expect_status 17
expect_out_empty
expect_unchanged 'nothing changed'
run "$CK" get
expect_out_is "$BEARER"

t_case 'a directory that may be read only'
if [ "$(id -u)" -ne 0 ]; then
	c_home
	c_broker
	run "$CK" migrate
	expect_status 0
	echo ';' >>"$KEYS/worker.sb"
	chmod 0500 "$KEYS"
	snapshot -d "$T_HOME"
	run "$CK" get
	expect_status 0
	expect_out_is "$BEARER"
	run "$CK" status --json
	expect_status 0
	expect_json rules_state differ
	run "$CK" rules --write
	expect_status 12
	expect_err_has "$KEYS"
	expect_unchanged 'nothing changed'
	chmod 0700 "$KEYS"
else
	skip 'exit status 12' 'root is refused nothing'
fi

# Four who wait for five seconds, at the same time.
t_case 'busy'
if t_find_tool flock && t_find_tool sqlite3; then
	c_home
	c_broker
	mkdir -m 0700 "$KEYS"
	first=$T_HOME
	# Until it is killed: what follows takes as long as the machine is busy.
	(exec 9<"$KEYS" && flock 9 && exec sleep 60) &
	holder=$!
	c_home
	c_broker
	mkdir "$BROKER.lock"
	second=$T_HOME
	c_home
	c_login_new
	t_bearer_json "$BEARER"
	c_add bot.clankie.credentials clankie_operator "$BEARER"
	(exec 9<"$(echo "$(dirname "$LOGIN")"/.fl*)" && flock 9 &&
	    exec sleep 60) &
	keeper=$!
	fourth=$T_HOME
	login=$LOGIN
	c_home
	c_broker
	run "$CK" migrate
	expect_status 0
	third=$T_HOME
	bearer=$T_TMP/bearer.third
	cp "$BEARER" "$bearer"
	printf 'BEGIN EXCLUSIVE;\n.shell sleep 8\n' |
	    sqlite3 "$KEYS/custody.db" &
	sleep 0.3
	(HOME=$first && "$CK" migrate) >"$T_TMP/w1" 2>&1 &
	one=$!
	(HOME=$second && "$CK" migrate) >"$T_TMP/w2" 2>&1 &
	two=$!
	(HOME=$fourth && "$CK" migrate --broker "keychain:$login" \
	    --login-password-fd 3 3<"$PW") >"$T_TMP/w4" 2>&1 &
	four=$!
	T_LIMIT=7
	HOME=$third
	run "$CK" get
	expect_status 16
	expect_out_empty
	wait "$one"
	expect 'the custody lock: 16' test $? -eq 16
	expect 'and it says so' grep -q 'another clankie-keys' "$T_TMP/w1"
	wait "$two"
	expect 'the lock of another broker: 16' test $? -eq 16
	expect 'and it says until when' grep -q 'ends by itself' "$T_TMP/w2"
	expect "the other broker's lock is still there" \
	    test -d "$second/.config/clankie/credentials.json.lock"
	refute 'no custody was left' test -e "$second/.clankie-keys"
	wait "$four"
	expect 'the lock of a keychain: 16' test $? -eq 16
	refute 'and going back needs no lock' test -e "$fourth/.clankie-keys"
	kill "$keeper" "$holder"
	wait
	run "$CK" get
	expect_status 0
	expect_out_is "$bearer"
	# A stale one is taken over.
	HOME=$second
	touch -d '2 minutes ago' "$second/.config/clankie/credentials.json.lock"
	run "$CK" migrate
	expect_status 0
	t_case 'a lock with a time that is to come'
	mkdir "$second/.config/clankie/credentials.json.lock"
	touch -d '2 minutes' "$second/.config/clankie/credentials.json.lock"
	run "$CK" restore
	expect_status 0
	refute 'and it is gone' \
	    test -e "$second/.config/clankie/credentials.json.lock"
else
	skip 'busy' 'no flock or sqlite3 here'
fi
