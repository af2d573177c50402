/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the table principal; see records.h. */
#include "records_int.h"

#include <string.h>

static ck_err
read_row(struct ck_rec_row *row, struct ck_rec_principal *ret)
{
	ck_rec_text(row, 0, ret->id, sizeof(ret->id));
	ck_rec_text(row, 1, ret->what, sizeof(ret->what));
	ck_rec_text(row, 2, ret->honours, sizeof(ret->honours));
	ret->reader = ck_rec_number(row, 3) != 0;
	ret->writer = ck_rec_number(row, 4) != 0;
	return row->r;
}

static ck_err
take(struct ck_rec_row *row, void *arg)
{
	return read_row(row, arg);
}

ck_err
ck_records_principal_get(struct ck_records *rec, const char *id,
    struct ck_rec_principal *ret, struct ck_fail *fail)
{
	struct ck_rec_principal p = { 0 };
	ck_err r;

	r = ck_rec_one(rec, CK_ST_PRINCIPAL_GET, CK_VALUES(CK_V_T(id)), take,
	    &p, "principal", id, fail);
	if (r == CK_OK)
		*ret = p;
	return r;
}

ck_err
ck_records_principal_honours(struct ck_records *rec, const char *id,
    const char *honours, struct ck_fail *fail)
{
	bool own = false;
	int rows = 0;
	ck_err r;

	if (strcmp(honours, "yes") != 0 && strcmp(honours, "no") != 0 &&
	    strcmp(honours, "unknown") != 0)
		return ck_fail_set(fail, CK_REFUSED, rec->path,
		    "a principal honours the records: yes, no or unknown");
	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = ck_rec_change(rec, CK_ST_PRINCIPAL_HONOURS, CK_VALUES(CK_V_T(id),
	    CK_V_T(honours)), &rows, fail);
	if (r == CK_OK && rows == 0)
		r = ck_fail_set(fail, CK_ABSENT, rec->path,
		    "the records have no principal %s", id);
	return ck_rec_leave(rec, own, r, fail);
}

struct each {
	ck_rec_principal_cb cb;
	void *arg;
};

static ck_err
pass(struct ck_rec_row *row, void *arg)
{
	const struct each *each = arg;
	struct ck_rec_principal p = { 0 };
	ck_err r = read_row(row, &p);

	return r == CK_OK ? each->cb(each->arg, &p) : r;
}

ck_err
ck_records_principal_each(struct ck_records *rec, ck_rec_principal_cb cb,
    void *arg, struct ck_fail *fail)
{
	struct each each = { cb, arg };

	return ck_rec_all(rec, CK_ST_PRINCIPAL_EACH, NULL, pass, &each, fail);
}
