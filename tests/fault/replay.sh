#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# traced: no
#
# An operation is killed at a call that changes something, and the custody
# directory is copied as it stands then.  Later, when the operation has come
# to its end and the value has changed, somebody puts the copy back: get gives
# the present value or none, and no command makes the earlier one good.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"
. "$(dirname "$0")/../lib/sweep.sh"
. "$(dirname "$0")/../lib/records.sh"

i_need
WHO=operator

second_in_broker() { # value
	"$T_TOOLS/ck-json" . <"$BROKER" >"$T_TMP/compact"
	sed "s/\"key\":\"none\"/\"key\":\"$1\"/" "$T_TMP/compact" \
	    >"$T_TMP/other"
	! cmp -s "$T_TMP/compact" "$T_TMP/other" || why 'nothing to change'
	t_write "$BROKER" <"$T_TMP/other"
}

# What makes the state at the stop an old one.
later_rotate() {
	:
}

later_rotate_keychain() {
	"$CK" rotate
}

later_migrate_second() {
	printf '{"type":"api","key":"next","metadata":{"a":"b"}}' \
	    >"$T_TMP/next"
	"$CK" rotate second --secret-fd 4 4<"$T_TMP/next"
}

later_restore_second() {
	second_in_broker next
}

later_reset() {
	"$CK" rotate
}

present() {
	"$CK" get "$WHO" 2>"$T_TMP/got.err"
}

# What was in force at the stop and is not in force any more is never given.
judge() { # what was done
	present >"$T_TMP/value" || : >"$T_TMP/value"
	[ ! -s "$T_TMP/value" ] || cmp -s "$T_TMP/value" "$T_TMP/right" ||
	    ! cmp -s "$T_TMP/value" "$T_TMP/then" ||
	    why "$1: an earlier value was given"
}

put_back() {
	rm -rf "$KEYS" "$T_HOME/.config"
	cp -a "$T_TMP/copy" "$KEYS"
	cp -a "$T_TMP/config" "$T_HOME/.config"
}

# shellcheck disable=SC2086  # words
replay() {
	rm -rf "$T_TMP/copy" "$T_TMP/config"
	cp -a "$KEYS" "$T_TMP/copy"
	present >"$T_TMP/then" || : >"$T_TMP/then"
	"$CK" $S_WORDS >"$T_TMP/null" 2>"$T_TMP/again.err" ||
	    [ "$S_VERB" = reset ] || why "again: $(cat "$T_TMP/again.err")"
	"later_$S_VERB" >"$T_TMP/null" 2>"$T_TMP/again.err" ||
	    why "later: $(cat "$T_TMP/again.err")"
	present >"$T_TMP/right" || why "present: $(cat "$T_TMP/got.err")"
	cp -a "$T_HOME/.config" "$T_TMP/config"
	put_back
	judge 'put back'
	for words in "$S_WORDS" 'check --repair' 'rotate --keychain' \
	    'reset --confirm' 'doctor --rebuild --confirm'; do
		put_back
		"$CK" $words >"$T_TMP/null" 2>&1 || continue
		judge "$words"
	done
}

# The keychain of two rotations ago, while a third one is under way and the
# records are gone.
t_case 'an older keychain in the middle of a rotation'
WHO=operator
s_ready rotate file
: >"$T_NOTE"
"$CK" get >"$T_TMP/then"
cat "$DEDICATED" >"$T_TMP/older"
"$CK" rotate >"$T_TMP/null"
"$CK" get >"$T_TMP/right"
i_keep
calls=$(i_points "$CK" rotate | grep -c '^fsync ')
n=0 noted=0
while [ "$n" -lt "$calls" ]; do
	n=$((n + 1))
	i_back
	i_inject "fsync:signal=KILL:when=$n" "$CK" rotate
	grep -q '"operation"' "$UNLOCK" && noted=$((noted + 1))
	cat "$T_TMP/older" >"$DEDICATED"
	rm -f "$KEYS/custody.db" "$KEYS/custody.db-journal"
	"$CK" doctor --rebuild --confirm >"$T_TMP/null" 2>&1
	judge "doctor --rebuild at fsync $n"
done
cp "$T_NOTE" "$T_TMP/wrong"
expect "an operation was noted at some ($noted)" test "$noted" -gt 0
expect 'the older value is never given' test ! -s "$T_TMP/wrong"
sed 's/^/# /' "$T_TMP/wrong"

# Its nonce is in the records for everybody to read, and to write into a row of
# another operation, which then would be the one that was noted.
if t_find_tool sqlite3; then
	t_case 'a reset with the nonce of a rotation'
	: >"$T_NOTE"
	n=0 forged=0
	while [ "$n" -lt "$calls" ]; do
		n=$((n + 1))
		for step in 1 2 3; do
			i_back
			i_inject "fsync:signal=KILL:when=$n" "$CK" rotate
			cat "$T_TMP/older" >"$DEDICATED"
			r_edit "UPDATE journal SET operation = 'reset --confirm',
			    step = $step" || continue
			forged=$((forged + 1))
			"$CK" reset --confirm >"$T_TMP/null" 2>&1
			judge "reset at fsync $n, step $step"
		done
	done
	cp "$T_NOTE" "$T_TMP/wrong"
	expect "rows were forged ($forged)" test "$forged" -gt 4
	expect 'the older value is never given' test ! -s "$T_TMP/wrong"
	sed 's/^/# /' "$T_TMP/wrong"

	t_case 'a reset that only a row tells of, with the keychain taken away'
	nonce=00112233445566778899aabbccddeeff
	for step in 1 2 3; do
		i_back
		cp -a "$KEYS/operator" "$T_TMP/taken"
		"$T_TOOLS/ck-json" password <"$UNLOCK" >"$T_TMP/password"
		r_edit "INSERT INTO journal (slot, operation, nonce, step,
		    from_generation, to_generation, at, credential) VALUES (1,
		    'reset --confirm', '$nonce', $step, 1, 2,
		    '2026-01-01T00:00:00Z', 'operator')"
		expect 'the row was forged' test ! -s "$T_TMP/sql"
		rm -r "$KEYS/operator"
		run "$CK" reset --confirm
		expect_status 0
		expect 'the password of what was taken is kept' grep -qrF \
		    "$(cat "$T_TMP/password")" "$T_HOME/.config/clankie-keys"
		run "$CK" check --startup
		expect_status 0
		rm -r "$T_TMP/taken"
	done
else
	t_case 'a reset with the nonce of a rotation'
	skip 'rows that are forged' 'no sqlite3'
fi

for verb in rotate rotate_keychain migrate_second restore_second reset; do
	WHO=operator
	case $verb in *_second) WHO=second ;; esac
	t_case "a copy of a $verb under way is put back"
	s_ready "$verb" file
	s_points >"$T_TMP/points.all"
	most=9
	i_sample $(($(wc -l <"$T_TMP/points.all") / most + 1)) \
	    <"$T_TMP/points.all" >"$T_TMP/points.some"
	n=0
	: >"$T_NOTE"
	while read -r call at <&5; do
		i_back
		s_run "$call:signal=KILL:when=$at"
		n=$((n + 1))
		before=$(wc -l <"$T_NOTE")
		replay
		[ "$(wc -l <"$T_NOTE")" -eq "$before" ] ||
		    why "  (stopped at $call $at)"
	done 5<"$T_TMP/points.some"
	cp "$T_NOTE" "$T_TMP/wrong"
	expect "there were points to stop at ($n)" test "$n" -gt 4
	expect 'an earlier value is never given' test ! -s "$T_TMP/wrong"
	sed 's/^/# /' "$T_TMP/wrong"
done
