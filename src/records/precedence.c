/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who consults which store, in which order; see records.h.  The rules about
 * it are in schema.c, where they hold for every program.
 */
#include "records_int.h"

static ck_err
expect_kind(struct ck_records *rec, int64_t id, bool dedicated,
    struct ck_fail *fail)
{
	struct ck_rec_store s = { 0 };
	ck_err r;

	if ((r = ck_records_store_get(rec, id, &s, fail)) != CK_OK)
		return r;
	if ((s.kind == CK_KIND_DEDICATED) != dedicated)
		return ck_fail_set(fail, CK_REFUSED, s.path,
		    "is recorded as %s and cannot be %s store",
		    ck_rec_kind_name(s.kind),
		    dedicated ? "the dedicated" : "a broker");
	return CK_OK;
}

static ck_err
insert(struct ck_records *rec, enum ck_rec_st st, const char *credential,
    int rank, int64_t store, struct ck_fail *fail)
{
	return ck_rec_change(rec, st, CK_VALUES(CK_V_T(credential),
	    CK_V_I(rank), CK_V_I(store)), NULL, fail);
}

/* Everybody gets first; readers get second behind it unless it is 0. */
static ck_err
replace(struct ck_records *rec, const char *credential, int64_t first,
    int64_t second, struct ck_fail *fail)
{
	struct ck_rec_credential c = { 0 };
	ck_err r;

	if ((r = ck_records_credential_get(rec, credential, &c,
	    fail)) != CK_OK)
		return r;
	if ((r = ck_rec_change(rec, CK_ST_PRECEDENCE_CLEAR,
	    CK_VALUES(CK_V_T(credential)), NULL, fail)) != CK_OK)
		return r;
	if ((r = insert(rec, CK_ST_PRECEDENCE_READERS, credential, 0, first,
	    fail)) != CK_OK)
		return r;
	if (second != 0 && (r = insert(rec, CK_ST_PRECEDENCE_READERS,
	    credential, 1, second, fail)) != CK_OK)
		return r;
	return insert(rec, CK_ST_PRECEDENCE_WRITERS, credential, 0, first,
	    fail);
}

ck_err
ck_records_precedence_dedicated(struct ck_records *rec,
    const char *credential, int64_t dedicated_id, int64_t broker_id,
    struct ck_fail *fail)
{
	bool own = false;
	ck_err r;

	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = expect_kind(rec, dedicated_id, true, fail);
	if (r == CK_OK)
		r = expect_kind(rec, broker_id, false, fail);
	if (r == CK_OK)
		r = replace(rec, credential, dedicated_id, broker_id, fail);
	return ck_rec_leave(rec, own, r, fail);
}

ck_err
ck_records_precedence_broker(struct ck_records *rec, const char *credential,
    int64_t broker_id, struct ck_fail *fail)
{
	bool own = false;
	ck_err r;

	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = expect_kind(rec, broker_id, false, fail);
	if (r == CK_OK)
		r = replace(rec, credential, broker_id, 0, fail);
	return ck_rec_leave(rec, own, r, fail);
}

struct each {
	ck_rec_precedence_cb cb;
	void *arg;
};

static ck_err
pass(struct ck_rec_row *row, void *arg)
{
	const struct each *each = arg;
	struct ck_rec_precedence p = { 0 };

	ck_rec_text(row, 0, p.credential, sizeof(p.credential));
	ck_rec_text(row, 1, p.principal, sizeof(p.principal));
	ck_rec_text(row, 2, p.role, sizeof(p.role));
	p.rank = (int)ck_rec_number(row, 3);
	ck_rec_text(row, 4, p.honours, sizeof(p.honours));
	ck_rec_read_store(row, 5, &p.store);
	return row->r == CK_OK ? each->cb(each->arg, &p) : row->r;
}

ck_err
ck_records_precedence_each(struct ck_records *rec, const char *credential,
    const char *principal, ck_rec_precedence_cb cb, void *arg,
    struct ck_fail *fail)
{
	struct each each = { cb, arg };

	return ck_rec_all(rec, CK_ST_PRECEDENCE_EACH, CK_VALUES(
	    credential == NULL ? CK_V_0 : CK_V_T(credential),
	    principal == NULL ? CK_V_0 : CK_V_T(principal)), pass, &each,
	    fail);
}
