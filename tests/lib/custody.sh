# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# What the scripts about migrate, get and status share; read behind tap.sh.
#
#	c_home                a fresh home; sets the paths below
#	c_login VECTOR        a login keychain from a vector, with its password
#	c_login_new           a login keychain made now, with the password $PW
#	c_add S A FILE        an item into it, its value from FILE
#	c_broker              a file broker: an operator bearer among ten others,
#	                      one of them malformed; the bearer's JSON in $BEARER
#	migrate_login ARG...  run migrate with that login keychain
#	get_login ARG...      run get with it, the value on standard output
#	c_tamper VERB ARG...  keychain VERB on the dedicated file, as a program
#	                      would that does not ask us
#	c_tree DIR            the names of everything below
#	c_strays              fails when a temporary, scratch or lock was left
#
# $KEYS is the custody directory, $DEDICATED the dedicated keychain, $LOGIN the
# login keychain, $PW the file with its password, $BROKER the file broker.
# shellcheck disable=SC2034  # the scripts use them

c_home() {
	t_home
	KEYS=$T_HOME/.clankie-keys
	DEDICATED=$KEYS/operator/operator.keychain-db
	# Not login.keychain: macOS treats that name in its own way.
	LOGIN=$T_HOME/Library/Keychains/user.keychain-db
	CLANKIE=$T_HOME/.config/clankie
	BROKER=$CLANKIE/credentials.json
	UNLOCK=$T_HOME/.config/clankie-keys/unlock.json
	PW=$T_TMP/login.password
	BEARER=$T_TMP/bearer.json
}

c_login() {
	(umask 077 && mkdir -p "$T_HOME/Library/Keychains")
	printf password >"$PW"
	t_vector "$1" "$LOGIN"
}

c_login_new() {
	(umask 077 && mkdir -p "$T_HOME/Library/Keychains")
	t_password "$PW"
	"$CK" keychain create "$LOGIN" --password-fd 3 3<"$PW"
}

c_add() {
	"$CK" keychain add "$LOGIN" --service "$1" --account "$2" \
	    --password-fd 3 --secret-fd 4 3<"$PW" 4<"$3"
}

# The shape that Clankie's broker writes, and one entry that it would drop.
c_broker_text() { # file with the bearer's JSON, or nothing
	echo '{'
	for c_n in 1 2 3 4; do
		printf '  "provider%d": {\n    "type": "api",\n    "key": "none-%d"\n  },\n' \
		    "$c_n" "$c_n"
	done
	printf '  "oauth": {"type": "oauth", "access": "a", "refresh": "r", "expires": 0},\n'
	printf '  "wellknown": { "type" : "wellknown","key":"k", "token":"t" },\n'
	printf '  "malformed": {"type": "api", "kay": [1, 2.50, "caf\\u00e9"]},\n'
	if [ -n "$1" ]; then
		printf '  "clankie_operator": ' && cat "$1" && printf ',\n'
	fi
	for c_n in 8 9; do
		printf '  "https://host/%d": {"type":"api","key":"none"},\n' "$c_n"
	done
	printf '  "last": {"type":"api","key":"none","metadata":{"a":"b"}}\n}\n'
}

c_broker() {
	(umask 077 && mkdir -p "$CLANKIE")
	t_bearer_json "$BEARER"
	c_broker_text "$BEARER" | t_write "$BROKER"
	# What is to be left: the same text without the member.
	c_broker_text '' | t_write "$T_TMP/broker.rest"
}

migrate_login() {
	run "$CK" migrate --broker "keychain:$LOGIN" --login-password-fd 3 \
	    "$@" 3<"$PW"
}

get_login() {
	run "$CK" get --broker "keychain:$LOGIN" --login-password-fd 3 \
	    "$@" 3<"$PW"
}

# On a copy elsewhere, since our own program refuses to touch the file itself.
c_tamper() { # verb, options
	c_verb=$1
	shift
	cp "$DEDICATED" "$T_TMP/tampered" || return
	"$CK" keychain "$c_verb" "$T_TMP/tampered" "$@" || return
	cat "$T_TMP/tampered" >"$DEDICATED"
}

c_tree() {
	(cd "$1" && find . | sort)
}

c_strays() {
	[ -z "$(find "$T_HOME" -name '*.tmp-*' -o -name '*.sb-*' \
	    -o -name 'scratch-*' -o -name '*-journal' -o -name '*.new-*' \
	    -o -name '*.lock')" ]
}
