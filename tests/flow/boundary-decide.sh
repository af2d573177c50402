#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# traced: no
#
# boundary decide: the table's answer, what this machine has, and what was
# proved on it are three things, and the bearer is a fourth.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

c_home
c_broker
decide() {
	run "$CK" boundary decide "$@"
}

t_case 'words'
decide --framework codex
expect_status 2
decide --profile confined
expect_status 2
decide --framework codex --profile confind
expect_status 2
expect_out_empty
decide --framework codex --profile ''
expect_status 2
decide --framework codex --profile cooperative --token copilot-cli:sandbox
expect_status 2
run "$CK" boundary
expect_status 2

t_case 'fatal without an opt-out'
decide --framework codex --platform win32 --profile confined
expect_status 20
expect_err_has 'fail-closed'
expect_err_has '--allow-unenforced-confinement'
expect_out_has 'ADVISORY ONLY'
expect_out_has 'the bearer   can be read'
decide --framework codex --platform win32 --profile confined --json
expect_status 20
expect_json ok false
expect_json emit false
expect_out_has '"code":"privilege-profile-unenforced-host","fatal":true'

t_case 'and with it: still nothing'
decide --framework codex --platform win32 --profile confined --json \
    --allow-unenforced-confinement
expect_status 0
expect_json emit false
expect_json capable false
expect_out_has '"fatal":true'
decide --framework codex --platform win32 --profile confined \
    --allow-unenforced-confinement
expect_out_has 'there is still no boundary'

t_case 'not asked for'
decide --framework codex --platform win32 --profile cooperative --json
expect_status 0
expect_json requested false
expect_json advisory null
expect_json emit false

t_case 'this machine'
decide --framework codex --profile confined --json
expect_status 0
expect_json requested true
expect_json capable true
expect_json mechanism launcher-bwrap
expect_json evidence unverified
expect_out_has '"live":{"bwrap":'
expect_out_has '"code":"privilege-profile-linux-launcher-manual-wire","fatal":false'
decide --framework codex --profile exclusive
expect_out_has 'boundary     can be emitted; it protects nothing until it is wrapped'
expect_out_has 'the bearer   can be read by it unless'
expect_out_has 'privilege-profile-exclusive-inbound-hardening'
decide --framework codex --platform darwin --profile confined
expect_out_has 'ENFORCEMENT-UNVERIFIED'
expect_out_has 'UNCAPPED'
expect_out_has 'not looked at'

t_case 'evidence'
"$CK" migrate >"$T_TMP/null" 2>"$T_TMP/null"
kernel="$(uname -s) $(uname -r) $(uname -m)"
version=$("$CK" --version | sed -n '1s/.* //p')
proof() { # verdict, version, kernel
	printf '{"ok":true,"verdict":"%s","at":"2026-01-02T03:04:05Z","version":"%s","kernel":"%s"}\n' \
	    "$1" "$2" "$3" | t_write "$KEYS/boundary-verified.json"
	decide --framework codex --profile confined
	expect_status 0
}
proof PASS "$version" "$kernel"
expect_out_has 'evidence     engages as tested on 2026-01-02T03:04:05Z'
proof PASS 0.0.1 "$kernel"
expect_out_has 'evidence     stale'
proof PASS "$version" "Linux 1.2.3 x86_64"
expect_out_has 'evidence     stale'
proof FAIL "$version" "$kernel"
expect_out_has 'evidence     unverified: the last boundary verify'
echo nonsense | t_write "$KEYS/boundary-verified.json"
decide --framework codex --profile confined
expect_out_has 'evidence     unverified'
snapshot "$T_HOME"
decide --framework codex --profile confined
expect_unchanged 'deciding changes nothing'
