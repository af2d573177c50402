/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the table credential; see records.h. */
#include "records_int.h"

#include <string.h>

static const char *const states[] = {
	[CK_STATE_BROKER] = "broker",
	[CK_STATE_MIGRATING] = "migrating",
	[CK_STATE_DEDICATED] = "dedicated",
	[CK_STATE_RESTORING] = "restoring"
};
#define STATES (sizeof(states) / sizeof(states[0]))

const char *
ck_rec_state_name(enum ck_rec_state state)
{
	return (size_t)state < STATES ? states[state] : "unknown";
}

static ck_err
read_row(struct ck_rec_row *row, struct ck_rec_credential *ret)
{
	ck_rec_text(row, 0, ret->name, sizeof(ret->name));
	ck_rec_text(row, 1, ret->service, sizeof(ret->service));
	ck_rec_text(row, 2, ret->account, sizeof(ret->account));
	ck_rec_text(row, 3, ret->format, sizeof(ret->format));
	ret->state = (enum ck_rec_state)ck_rec_choice(row, 4, states, STATES);
	ret->generation = (uint64_t)ck_rec_number(row, 5);
	ck_rec_text(row, 6, ret->fingerprint, sizeof(ret->fingerprint));
	return row->r;
}

static ck_err
take(struct ck_rec_row *row, void *arg)
{
	return read_row(row, arg);
}

ck_err
ck_records_credential_get(struct ck_records *rec, const char *name,
    struct ck_rec_credential *ret, struct ck_fail *fail)
{
	struct ck_rec_credential c = { 0 };
	ck_err r;

	r = ck_rec_one(rec, CK_ST_CREDENTIAL_GET, CK_VALUES(CK_V_T(name)),
	    take, &c, "credential", name, fail);
	if (r == CK_OK)
		*ret = c;
	return r;
}

static ck_err
check(const struct ck_records *rec, const struct ck_rec_credential *c,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_rec_check_text(rec, "the name of a credential", c->name,
	    sizeof(c->name), false, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_check_text(rec, "a service", c->service,
	    sizeof(c->service), true, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_check_text(rec, "an account", c->account,
	    sizeof(c->account), true, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_check_text(rec, "a format", c->format,
	    sizeof(c->format), true, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_check_text(rec, "a fingerprint", c->fingerprint,
	    sizeof(c->fingerprint), true, fail)) != CK_OK)
		return r;
	if ((size_t)c->state >= STATES)
		return ck_fail_set(fail, CK_REFUSED, rec->path,
		    "a credential has no state %d", (int)c->state);
	return ck_rec_check_generation(rec, c->generation, fail);
}

ck_err
ck_records_credential_put(struct ck_records *rec,
    const struct ck_rec_credential *c, struct ck_fail *fail)
{
	const struct ck_rec_value values[] = {
		CK_V_T(c->name), CK_V_T(c->service), CK_V_T(c->account),
		CK_V_T(c->format), CK_V_T(ck_rec_state_name(c->state)),
		CK_V_I(c->generation), CK_V_T(c->fingerprint)
	};
	bool own = false;
	int rows = 0;
	ck_err r;

	if ((r = check(rec, c, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = ck_rec_change(rec, CK_ST_CREDENTIAL_UPDATE, values, &rows, fail);
	if (r == CK_OK && rows == 0)
		r = ck_rec_change(rec, CK_ST_CREDENTIAL_INSERT, values, NULL,
		    fail);
	return ck_rec_leave(rec, own, r, fail);
}

struct each {
	ck_rec_credential_cb cb;
	void *arg;
};

static ck_err
pass(struct ck_rec_row *row, void *arg)
{
	const struct each *each = arg;
	struct ck_rec_credential c = { 0 };
	ck_err r = read_row(row, &c);

	return r == CK_OK ? each->cb(each->arg, &c) : r;
}

ck_err
ck_records_credential_each(struct ck_records *rec, ck_rec_credential_cb cb,
    void *arg, struct ck_fail *fail)
{
	struct each each = { cb, arg };

	return ck_rec_all(rec, CK_ST_CREDENTIAL_EACH, NULL, pass, &each, fail);
}
