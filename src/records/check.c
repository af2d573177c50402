/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that can be judged without a key; see records.h. */
#include "records_int.h"

#include <string.h>

/* A pragma that lists what is wrong: sound is the text of the only row when
 * nothing is, NULL when there is no row at all then. */
static ck_err
list_empty(struct ck_records *rec, const char *text, const char *sound,
    const char *what, struct ck_fail *fail)
{
	sqlite3_stmt *stmt = NULL;
	const unsigned char *p;
	int rc;
	ck_err r = CK_OK;

	ck_rec_clock_start(rec);
	rc = sqlite3_prepare_v2(rec->db, text, -1, &stmt, NULL);
	while (rc == SQLITE_OK && r == CK_OK &&
	    (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		rc = SQLITE_OK;
		p = sqlite3_column_text(stmt, 0);
		if (p == NULL)
			r = ck_rec_fail(rec->db, rec->path, SQLITE_NOMEM,
			    "check the records", fail);
		else if ((sound == NULL || strcmp((const char *)p,
		    sound) != 0) && (r = ck_rec_unread(rec->db, rec->path,
		    "check the records", fail)) == CK_OK)
			r = ck_rec_damaged(rec->path, fail, "%s: %.160s",
			    what, (const char *)p);
	}
	if (r == CK_OK && rc != SQLITE_DONE)
		r = ck_rec_fail_text(rec->db, rec->path, rc, "check the records",
		    fail);
	(void)sqlite3_finalize(stmt);
	return r;
}

ck_err
ck_records_check(struct ck_records *rec, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_rec_schema_same(rec, fail)) != CK_OK)
		return r;
	if ((r = list_empty(rec, "PRAGMA integrity_check(1)", "ok",
	    "its pages are not sound", fail)) != CK_OK)
		return r;
	if ((r = list_empty(rec, "PRAGMA foreign_key_check", NULL,
	    "a row refers to nothing in table", fail)) != CK_OK)
		return r;
	return ck_records_events_verify(rec, fail);
}
