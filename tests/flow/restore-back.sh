#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# traced: no
#
# A restore that was stopped with a copy in the broker: the gate is closed and
# names the way out, get works, and a restore that cannot be finished is taken
# back, with the copy that it wrote and no other.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/inject.sh"

i_need

# shellcheck disable=SC2086  # words
run_ck() {
	run "$CK" "$@" $PASS 3<"$PW"
}

member() { # of status for last
	"$CK" status last --json 2>"$T_TMP/null" | "$T_TOOLS/ck-json" "$1"
}

# Restore of last, killed at the Nth of these calls; with a copy, or without.
# shellcheck disable=SC2086  # words
stop() { # call, N
	i_inject "$1:signal=KILL:when=$2" "$CK" restore last $PASS 3<"$PW"
	expect "stopped at $1 $2" [ "$(member unfinished)" = restore ]
}

gate() { # status
	run_ck check --startup
	expect_status "$1"
	[ "$1" -eq 0 ] || {
		expect_err_has restore-unfinished
		expect_err_has 'clankie-keys restore last'
	}
}

# The same JSON: a broker's file has no room for the newline behind it.
still_given() {
	run_ck get last
	expect_status 0
	[ "$("$T_TOOLS/ck-json" . <"$T_OUT")" = \
	    "$("$T_TOOLS/ck-json" . <"$T_TMP/right")" ]
	t_result $? 'get gives the value'
}

# The journal is closed, and last lies where it was.
taken_back() {
	expect 'nothing is unfinished' [ "$(member unfinished)" = null ]
	expect 'the keychain has it' [ "$(member state)" = dedicated ]
	still_given
	gate 0
	run_ck rotate
	expect_status 0
}

c_two_in_file() {
	c_home
	c_broker
	mkdir "$T_HOME/one"
	: >"$PW"
	PASS=
	run_ck migrate --checkout "$T_HOME/one"
	expect_status 0
	run_ck migrate last --service other --account last
	expect_status 0
	# With a newline, as an editor or echo ends it.
	echo '{"type":"api","key":"next"}' >"$T_TMP/right"
	run_ck rotate last --secret-fd 4 4<"$T_TMP/right"
	expect_status 0
	i_keep
}

t_case 'a file broker, before and behind its copy'
c_two_in_file
calls=$(i_points "$CK" restore last | grep -c '^renameat ')
n=0 without=0 with=0
while [ "$n" -lt "$calls" ]; do
	n=$((n + 1))
	i_back
	i_inject "renameat:signal=KILL:when=$n" "$CK" restore last
	[ "$(member unfinished)" = restore ] || continue
	still_given
	if grep -q '"next"' "$BROKER"; then
		with=$((with + 1))
		gate 21
	else
		without=$((without + 1))
		gate 0
	fi
	run_ck restore last
	expect_status 0
	gate 0
done
expect "stopped without a copy ($without)" test "$without" -gt 0
expect "and with one ($with)" test "$with" -gt 0

# The broker's file with this value of last; "none": as the migrations left it.
broker_with() {
	case $1 in
	none) cat "$T_TMP/broker.moved" ;;
	*) c_broker_text '' | sed "s/\"last\": .*/\"last\": $1/" ;;
	esac | t_write "$BROKER"
}

t_case 'another value in the broker'
for at in 1 2; do
	i_back
	cat "$BROKER" >"$T_TMP/broker.moved"
	stop renameat "$at"
	broker_with '{"key":"foreign"}'
	cat "$BROKER" >"$T_TMP/foreign"
	gate 21
	run_ck doctor
	expect_out_has '1. clankie-keys restore last'
	run_ck restore last --dry-run
	expect_status 22
	expect 'a plan takes nothing back' [ "$(member unfinished)" = restore ]
	run_ck restore last
	expect_status 22
	expect_err_has 'the restore that was begun is taken back'
	expect_same "$BROKER" "$T_TMP/foreign"
	expect 'nothing is unfinished' [ "$(member unfinished)" = null ]
	still_given
	snapshot "$T_HOME"
	run_ck restore last
	expect_status 22
	expect_unchanged 'and nothing more happens'
	broker_with none
	taken_back
	run_ck restore last
	expect_status 0
	still_given
done

t_case 'it hides nothing about another credential'
i_back
cat "$BROKER" >"$T_TMP/broker.moved"
stop renameat 1
gate 0
t_bearer_json "$T_TMP/other"
c_broker_text "$T_TMP/other" | sed 's/"last": .*/"last": {}/' |
    t_write "$BROKER"
sed '/"last": /d; s/^\(  .*"https.*9".*\),$/\1/' "$BROKER" >"$T_TMP/text"
t_write "$BROKER" <"$T_TMP/text"
run_ck check --startup
expect_status 21
expect_err_has second-bearer-file
broker_with none
gate 0
run_ck restore operator
expect_status 16
run_ck restore last
expect_status 0

t_case 'nor that it was not moved'
c_home
c_broker
run_ck migrate last --service other --account last
expect_status 0
stop renameat 1
run_ck check --startup
expect_status 21
expect_err_has not-migrated

t_case 'another value, after the records have named the broker'
c_two_in_file
cat "$BROKER" >"$T_TMP/broker.moved"
stop renameat 3
broker_with '{"key":"foreign"}'
gate 21
# Which of the two is right is its owner's to say.
run_ck get last
expect_status 22
expect_out_empty
run_ck restore last
expect_status 22
expect 'it is not taken back' [ "$(member unfinished)" = restore ]
broker_with none
still_given
run_ck restore last
expect_status 0
still_given
gate 0

t_case 'a keychain, and another value in the file beside it'
c_home
c_login_new >"$T_TMP/null"
t_bearer_json "$BEARER"
mkdir "$T_HOME/one"
echo '{"type":"api","key":"next"}' >"$T_TMP/right"
printf '["clankie_operator","last"]' >"$T_TMP/index"
c_add bot.clankie.credentials clankie_operator "$BEARER" >"$T_TMP/null"
c_add bot.clankie.credentials last "$T_TMP/right" >"$T_TMP/null"
c_add bot.clankie.credentials __index__ "$T_TMP/index" >"$T_TMP/null"
PASS='--login-password-fd 3'
run_ck migrate --broker "keychain:$LOGIN" --checkout "$T_HOME/one"
expect_status 0
run_ck migrate last --service bot.clankie.credentials --account last
expect_status 0
in_login() { # account
	"$CK" keychain find "$LOGIN" --service bot.clankie.credentials \
	    --account "$1" --password-fd 3 --out-fd 1 3<"$PW" 2>"$T_TMP/null"
}
beside() {
	(umask 077 && mkdir -p "$CLANKIE")
	echo '{"last":{"key":"foreign"}}' | t_write "$BROKER"
}
in_login __index__ >"$T_TMP/index"
i_keep

t_case 'with a copy of ours'
stop renameat 3
in_login last >"$T_TMP/got"
expect_same "$T_TMP/got" "$T_TMP/right"
gate 21
run_ck doctor
expect_out_has '1. clankie-keys restore last --login-password-fd 3'
beside
run_ck restore last
expect_status 22
expect_err_has "$BROKER"
expect_err_has 'the restore that was begun is taken back'
in_login last >"$T_TMP/got"
refute 'the copy is gone' test -s "$T_TMP/got"
in_login __index__ >"$T_TMP/got"
expect_same "$T_TMP/got" "$T_TMP/index"
rm "$BROKER"
taken_back
run_ck restore last
expect_status 0
still_given

t_case 'named in the index and not there yet'
i_back
stop renameat 2
in_login __index__ >"$T_TMP/got"
refute 'the index names it' cmp -s "$T_TMP/got" "$T_TMP/index"
gate 0
beside
run_ck restore last
expect_status 22
in_login __index__ >"$T_TMP/got"
expect_same "$T_TMP/got" "$T_TMP/index"
rm "$BROKER"
taken_back

t_case 'with a copy that was there before'
i_back
c_add bot.clankie.credentials last "$T_TMP/right" >"$T_TMP/null"
stop renameat 1
gate 21
beside
run_ck restore last
expect_status 22
expect 'it is left open' [ "$(member unfinished)" = restore ]
in_login last >"$T_TMP/got"
expect_same "$T_TMP/got" "$T_TMP/right"
still_given
rm "$BROKER"
run_ck restore last
expect_status 0
still_given
gate 0

t_case 'a copy that cannot be removed'
i_back
stop renameat 3
beside
i_inject 'renameat:error=EIO:when=1+' "$CK" restore last \
    --login-password-fd 3 3<"$PW"
expect_status 22
expect 'it is left open' [ "$(member unfinished)" = restore ]
still_given
run_ck restore last
expect_status 22
expect_err_has 'the restore that was begun is taken back'
rm "$BROKER"
taken_back
