#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sanitized: no
# traced: no, since what reads here is another program
#
# docs/records.md promises that programs in other languages can read the
# records: its example for Node runs as it stands there, with node:sqlite where
# Node has it, and with better-sqlite3 from npm, which is what most programs
# use.  CK_NODE_MODULES names a node_modules that has it; else npm fetches it
# into a scratch directory.  Where npm finds no built one, making it takes
# minutes and is done with CK_SWEEP=full only.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"

t_find_tool node || skip_all 'no node here'
[ -r "$T_ROOT/docs/records.md" ] || skip_all 'the documents are not here'

fetch() {
	t_find_tool npm || return
	mkdir -p "$T_TMP/npm/cache" && cd "$T_TMP/npm" || return
	npm_config_cache=$T_TMP/npm/cache
	export npm_config_cache
	"$T_TIMEOUT" 120 npm install --ignore-scripts --no-audit --no-fund \
	    better-sqlite3@12 >"$T_TMP/npm.log" 2>&1 || return
	cd node_modules/better-sqlite3 || return
	"$T_TIMEOUT" 60 ../.bin/prebuild-install >>"$T_TMP/npm.log" 2>&1 &&
	    return
	[ "${CK_SWEEP:-}" = full ] && "$T_TIMEOUT" 600 npm run install \
	    >>"$T_TMP/npm.log" 2>&1
}

# The example, its first line aside, which says where the class comes from.
# shellcheck disable=SC2016  # Markdown's quotes
sed -n '/^```js$/,/^```$/p' "$T_ROOT/docs/records.md" | sed '/^```/d' \
    >"$T_TMP/example"
expect 'the document has an example' grep -q reader_order "$T_TMP/example"
made_of() { # where the class comes from
	cat <<E
const home = process.argv[2];
$1
E
	sed 1d "$T_TMP/example"
	cat <<'E'
console.log(store.kind + ' ' + store.path);
for (const r of db.prepare('SELECT * FROM reader_order').all())
	console.log([r.credential, r.principal, r.role, r.rank, r.kind, r.path].join(' '));
try {
	db.exec("UPDATE principal SET honours = 'yes'");
	console.log('written');
} catch (e) {
	console.log('refused');
}
E
}

c_home
c_broker
run "$CK" migrate
expect_status 0
run "$CK" rotate
expect_status 0
echo "dedicated $DEDICATED" >"$T_TMP/answer"
run "$CK" precedence list --json
number=0
while "$T_TOOLS/ck-json" "precedence.$number" <"$T_OUT" >"$T_TMP/one"; do
	for name in credential principal role rank store path; do
		"$T_TOOLS/ck-json" "$name" <"$T_TMP/one"
	done | tr '\n' ' ' | sed 's/ $//'
	echo
	number=$((number + 1))
done >>"$T_TMP/answer"
echo refused >>"$T_TMP/answer"
expect 'there are rows to be read' test "$number" -gt 12

reads() { # name, where the class comes from
	t_case "$1"
	made_of "$2" >"$T_TMP/reader.js"
	snapshot "$T_HOME"
	run node "$T_TMP/reader.js" "$T_HOME"
	expect_status 0
	sed 1d "$T_OUT" | grep -v refused | sort >"$T_TMP/rows.got"
	sed 1d "$T_TMP/answer" | grep -v refused | sort >"$T_TMP/rows.want"
	expect_same "$T_TMP/rows.got" "$T_TMP/rows.want"
	expect 'the store is the dedicated one' \
	    test "$(sed 1q "$T_OUT")" = "$(sed 1q "$T_TMP/answer")"
	expect 'and nothing can be written' \
	    test "$(sed -n '$p' "$T_OUT")" = refused
	expect_unchanged 'reading changes nothing'
	# A rotation in between is seen, and is not disturbed.
	run "$CK" rotate
	expect_status 0
	run node "$T_TMP/reader.js" "$T_HOME"
	expect_status 0
	cp "$KEYS/custody.db" "$T_TMP/whole.db"
	head -c 20000 "$T_TMP/whole.db" >"$KEYS/custody.db"
	run node "$T_TMP/reader.js" "$T_HOME"
	refute 'cut off records are no answer' test "$status" -eq 0
	cat "$T_TMP/whole.db" >"$KEYS/custody.db"
}

if node -e 'require("node:sqlite")' 2>/dev/null; then
	reads node:sqlite "$(sed 1q "$T_TMP/example")"
else
	skip node:sqlite "Node $(node --version) has none"
fi

modules=${CK_NODE_MODULES:-}
here=$(pwd)
[ -n "$modules" ] || ! fetch || modules=$T_TMP/npm/node_modules
cd "$here" || exit 1
if [ -n "$modules" ]; then
	reads better-sqlite3 "const Database = require('$modules/better-sqlite3');
class DatabaseSync extends Database {
	constructor(path, { readOnly }) {
		super(path, { readonly: readOnly, fileMustExist: true });
	}
}"
else
	skip better-sqlite3 'npm cannot have it here without building it'
fi
