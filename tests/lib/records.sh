# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# Editing custody.db as somebody would who does not ask us; read behind
# custody.sh.  What sqlite3 says is left in $T_TMP/sql.
#
#	r_columns        "TABLE COLUMN TYPE KEY" of every column there is; KEY is
#	                 the table's key, joined by commas
#	r_plain SQL      one edit; fails where triggers or constraints refuse, and
#	                 when no row was changed
#	r_edit SQL       the same without them; the schema is afterwards as it
#	                 was, word for word

r_columns() {
	sqlite3 -readonly -separator ' ' "$KEYS/custody.db" "SELECT m.name,
	    c.name, c.type, (SELECT group_concat(k.name, ',')
		FROM pragma_table_info(m.name) k WHERE k.pk > 0)
	    FROM sqlite_schema m, pragma_table_info(m.name) c
	    WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%'
	    ORDER BY 1, c.cid"
}

r_plain() {
	[ "$(sqlite3 -bail -cmd "PRAGMA synchronous = OFF" "$KEYS/custody.db" "$1; SELECT changes() > 0" \
	    2>"$T_TMP/sql")" = 1 ]
}

r_edit() {
	for r_what in "'DROP TRIGGER ' || name" sql; do
		sqlite3 -readonly "$KEYS/custody.db" "SELECT $r_what || ';'
		    FROM sqlite_schema WHERE type = 'trigger'"
		[ "$r_what" = sql ] ||
		    printf '%s;\nSELECT changes() > 0;\n' "$1"
	done >"$T_TMP/edit.sql"
	[ "$(sqlite3 -bail -cmd "PRAGMA synchronous = OFF" \
	    -cmd 'PRAGMA foreign_keys = OFF' \
	    -cmd 'PRAGMA ignore_check_constraints = ON' "$KEYS/custody.db" \
	    <"$T_TMP/edit.sql" 2>"$T_TMP/sql")" = 1 ]
}
