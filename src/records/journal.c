/* SPDX-License-Identifier: Apache-2.0 */
/* The operation under way; see records.h. */
#include "records_int.h"

#include <limits.h>
#include <string.h>

static ck_err
take(struct ck_rec_row *row, void *arg)
{
	struct ck_rec_journal *ret = arg;
	int64_t slot = ck_rec_number(row, 7);

	ck_rec_text(row, 0, ret->operation, sizeof(ret->operation));
	ck_rec_text(row, 1, ret->nonce, sizeof(ret->nonce));
	ret->step = (int)ck_rec_number(row, 2);
	ret->from_generation = (uint64_t)ck_rec_number(row, 3);
	ret->to_generation = (uint64_t)ck_rec_number(row, 4);
	ck_rec_text(row, 5, ret->at, sizeof(ret->at));
	ck_rec_text(row, 6, ret->credential, sizeof(ret->credential));
	/* The file has a constraint for it, which SQLite leaves out when it
	 * only reads, and the seal leaves it out too. */
	if (row->r == CK_OK && slot != 1)
		return ck_rec_damaged(row->rec->path, row->fail,
		    "the open operation has another slot than 1");
	return row->r;
}

ck_err
ck_records_journal_get(struct ck_records *rec, struct ck_rec_journal *ret,
    struct ck_fail *fail)
{
	struct ck_rec_journal j = { 0 };
	ck_err r;

	r = ck_rec_one(rec, CK_ST_JOURNAL_GET, NULL, take, &j,
	    "open operation", "", fail);
	if (r == CK_OK)
		*ret = j;
	return r;
}

static ck_err
check(const struct ck_records *rec, const struct ck_rec_journal *j,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_rec_check_text(rec, "an operation", j->operation,
	    sizeof(j->operation), false, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_check_text(rec, "the nonce of an operation",
	    j->nonce, sizeof(j->nonce), false, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_check_text(rec, "the credential of an operation",
	    j->credential, sizeof(j->credential), true, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_check_generation(rec, j->from_generation,
	    fail)) != CK_OK)
		return r;
	return ck_rec_check_generation(rec, j->to_generation, fail);
}

static ck_err
none_open(struct ck_records *rec, struct ck_fail *fail)
{
	struct ck_rec_journal now = { 0 };
	struct ck_fail why = CK_FAIL_INIT;
	ck_err r = ck_records_journal_get(rec, &now, &why);

	if (r == CK_ABSENT)
		return CK_OK;
	if (r != CK_OK) {
		if (fail != NULL)
			*fail = why;
		return r;
	}
	(void)ck_fail_set(fail, CK_BUSY, rec->path,
	    "%s of %s is open since %s, at step %d", now.operation,
	    now.credential[0] == '\0' ? "the keychain" : now.credential,
	    now.at, now.step);
	ck_fail_next(fail, "run clankie-keys %s again to finish it",
	    now.operation);
	return CK_BUSY;
}

ck_err
ck_records_journal_open(struct ck_records *rec,
    const struct ck_rec_journal *j, struct ck_fail *fail)
{
	char at[CK_CLOCK_ISO_SIZE];
	bool own = false;
	ck_err r;

	if ((r = check(rec, j, fail)) != CK_OK)
		return r;
	ck_clock_iso(ck_clock_wall(), at);
	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = none_open(rec, fail);
	if (r == CK_OK)
		r = ck_rec_change(rec, CK_ST_JOURNAL_OPEN, CK_VALUES(
		    CK_V_T(j->operation), CK_V_T(j->nonce), CK_V_I(j->step),
		    CK_V_I(j->from_generation), CK_V_I(j->to_generation),
		    CK_V_T(at), CK_V_T(j->credential)), NULL, fail);
	return ck_rec_leave(rec, own, r, fail);
}

/* A change of the one row, which must be the one with this nonce. */
static ck_err
change_open(struct ck_records *rec, enum ck_rec_st st,
    const struct ck_rec_value *values, struct ck_fail *fail)
{
	bool own = false;
	int rows = 0;
	ck_err r;

	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = ck_rec_change(rec, st, values, &rows, fail);
	if (r == CK_OK && rows == 0)
		r = ck_fail_set(fail, CK_CHANGED, rec->path,
		    "this operation is not the open one any more");
	return ck_rec_leave(rec, own, r, fail);
}

ck_err
ck_records_journal_step(struct ck_records *rec, const char *nonce, int step,
    struct ck_fail *fail)
{
	return change_open(rec, CK_ST_JOURNAL_STEP, CK_VALUES(CK_V_T(nonce),
	    CK_V_I(step)), fail);
}

ck_err
ck_records_journal_close(struct ck_records *rec, const char *nonce,
    struct ck_fail *fail)
{
	return change_open(rec, CK_ST_JOURNAL_CLOSE,
	    CK_VALUES(CK_V_T(nonce)), fail);
}
