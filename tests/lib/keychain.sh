# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# For flow scripts about the keychain verb; read after tap.sh.
#
#	$KC                        the keychain file the functions work on
#	$PW                        file with its password
#	kc_new [OPTION...]         make $KC anew
#	kc_add SERVICE ACCOUNT FILE [OPTION...]   add; the file is the secret
#	kc_update SERVICE ACCOUNT FILE            give it a new secret
#	kc_get SERVICE ACCOUNT     its secret into $GOT
#	kc_delete SERVICE ACCOUNT
#	kc_verify                  everything, with the password
#
# Each runs the program through run, so that expect_status and the others say
# what came of it.

t_home
KC=$T_HOME/test.keychain
PW=$T_TMP/password
GOT=$T_TMP/got
t_password "$PW"

kc_new() {
	rm -f "$KC"
	run "$CK" keychain create "$KC" --password-fd 3 "$@" 3<"$PW"
}

kc_add() {
	kc_service=$1 kc_account=$2 kc_secret=$3
	shift 3
	run "$CK" keychain add "$KC" --service "$kc_service" \
	    --account "$kc_account" --password-fd 3 --secret-fd 4 "$@" \
	    3<"$PW" 4<"$kc_secret"
}

kc_update() {
	run "$CK" keychain update "$KC" --service "$1" --account "$2" \
	    --password-fd 3 --secret-fd 4 3<"$PW" 4<"$3"
}

kc_get() {
	rm -f "$GOT"
	run "$CK" keychain find "$KC" --service "$1" --account "$2" \
	    --password-fd 3 --out-fd 4 3<"$PW" 4>"$GOT"
}

kc_delete() {
	run "$CK" keychain delete "$KC" --service "$1" --account "$2"
}

kc_verify() {
	run "$CK" keychain verify "$KC" --password-fd 3 3<"$PW"
}
