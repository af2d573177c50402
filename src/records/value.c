/* SPDX-License-Identifier: Apache-2.0 */
/* Values on their way in and out of a row; see records_int.h. */
#include "records_int.h"

#include <string.h>

/* What an operator bearer begins with.  No field has a use for it, so a
 * mistake that would put one into the records ends here. */
#define BEARER_PREFIX "clankie_op_"

static void
wrong(struct ck_rec_row *row, int column, const char *how)
{
	if (row->r != CK_OK)
		return;
	row->r = ck_rec_damaged(row->rec->path, row->fail, "column %s %s",
	    sqlite3_column_name(row->stmt, column), how);
}

/* The column has the type, and SQLite had the memory to show it. */
static bool
usable(struct ck_rec_row *row, int column, int type, const void *p)
{
	if (row->r != CK_OK)
		return false;
	if (sqlite3_column_type(row->stmt, column) != type) {
		wrong(row, column, "has another type");
		return false;
	}
	if (p == NULL && type != SQLITE_INTEGER) {
		row->r = ck_rec_fail(row->rec->db, row->rec->path,
		    SQLITE_NOMEM, "read the records", row->fail);
		return false;
	}
	return true;
}

void
ck_rec_text(struct ck_rec_row *row, int column, char *ret, size_t n)
{
	int type = sqlite3_column_type(row->stmt, column);
	const unsigned char *p = sqlite3_column_text(row->stmt, column);
	size_t len;

	if (type != SQLITE_TEXT)
		wrong(row, column, "has another type");
	if (!usable(row, column, SQLITE_TEXT, p))
		return;
	len = (size_t)sqlite3_column_bytes(row->stmt, column);
	if (len >= n || memchr(p, '\0', len) != NULL) {
		wrong(row, column, "holds what the schema does not allow");
		return;
	}
	memcpy(ret, p, len);
	ret[len] = '\0';
}

int64_t
ck_rec_number(struct ck_rec_row *row, int column)
{
	if (!usable(row, column, SQLITE_INTEGER, NULL))
		return 0;
	return sqlite3_column_int64(row->stmt, column);
}

void
ck_rec_blob(struct ck_rec_row *row, int column, uint8_t *ret, size_t n)
{
	const void *p = sqlite3_column_blob(row->stmt, column);

	if (!usable(row, column, SQLITE_BLOB, p))
		return;
	if ((size_t)sqlite3_column_bytes(row->stmt, column) != n) {
		wrong(row, column, "has another size");
		return;
	}
	memcpy(ret, p, n);
}

int
ck_rec_choice(struct ck_rec_row *row, int column, const char *const *names,
    size_t n)
{
	char text[32] = "";

	ck_rec_text(row, column, text, sizeof(text));
	for (size_t i = 0; i < n; i++) {
		if (strcmp(text, names[i]) == 0)
			return (int)i;
	}
	wrong(row, column, "holds what the schema does not allow");
	return 0;
}

ck_err
ck_rec_check_text(const struct ck_records *rec, const char *what,
    const char *value, size_t n, bool may_be_empty, struct ck_fail *fail)
{
	size_t len = strnlen(value, n);

	if (len == n)
		return ck_fail_set(fail, CK_REFUSED, rec->path,
		    "%s is longer than %zu bytes", what, n - 1);
	if (len == 0 && !may_be_empty)
		return ck_fail_set(fail, CK_REFUSED, rec->path,
		    "%s is empty", what);
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)value[i] < 0x20 || value[i] == 0x7f)
			return ck_fail_set(fail, CK_REFUSED, rec->path,
			    "%s has a control character in it", what);
	}
	if (strstr(value, BEARER_PREFIX) != NULL)
		return ck_fail_set(fail, CK_REFUSED, rec->path,
		    "%s looks like a bearer, and no bearer is recorded",
		    what);
	return CK_OK;
}

ck_err
ck_rec_check_path(const struct ck_records *rec, const char *what,
    const char *value, struct ck_fail *fail)
{
	ck_err r = ck_rec_check_text(rec, what, value, CK_PATH_MAX, false,
	    fail);

	if (r == CK_OK && value[0] != '/')
		r = ck_fail_set(fail, CK_REFUSED, rec->path,
		    "%s is not an absolute path", what);
	return r;
}

ck_err
ck_rec_check_generation(const struct ck_records *rec, uint64_t value,
    struct ck_fail *fail)
{
	if (value > INT64_MAX)
		return ck_fail_set(fail, CK_REFUSED, rec->path,
		    "a generation is larger than %lld", (long long)INT64_MAX);
	return CK_OK;
}
