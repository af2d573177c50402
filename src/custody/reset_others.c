/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reset gives up beside the credential it is about; see reset_int.h.
 * One unlock password opens the keychain, so that what is lost for one of them
 * is lost for all.  What cannot be made here goes back to its broker, which is
 * where its owner brings it anew.
 */
#include "custody/reset_int.h"

#include <stdio.h>
#include <string.h>

#include "custody/advice.h"
#include "custody/broker.h"
#include "custody/dedicated.h"
#include "custody/joined.h"

/* The rows that lie in the keychain, or are on a way there or back. */
struct others {
	const char *kept;                /* the one that gets a new value */
	size_t n;
	struct ck_rec_credential first;
	struct ck_reset_names names;
};

static ck_err
count(void *arg, const struct ck_rec_credential *row)
{
	struct others *o = arg;

	if (row->state == CK_STATE_BROKER ||
	    (o->kept != NULL && strcmp(row->name, o->kept) == 0))
		return CK_OK;
	if (o->n == 0)
		o->first = *row;
	if (o->n < CK_RESET_NAMES)
		memcpy(o->names.name[o->n], row->name, sizeof(row->name));
	o->names.n = ++o->n;
	return CK_OK;
}

static ck_err
look(const struct ck_reset_run *run, const char *kept, struct others *ret,
    struct ck_fail *fail)
{
	memset(ret, 0, sizeof(*ret));
	ret->kept = kept;
	return ck_records_credential_each(run->v.rec, count, ret, fail);
}

ck_err
ck_reset_any(const struct ck_reset_run *run, struct ck_rec_credential *ret,
    struct ck_fail *fail)
{
	struct others o;
	ck_err r;

	if ((r = look(run, NULL, &o, fail)) != CK_OK)
		return r;
	if (o.n == 0)
		return ck_fail_set(fail, CK_ABSENT, run->p->dir,
		    "the records know no migrated credential");
	*ret = o.first;
	return CK_OK;
}

/* The credential whose value is made here, if it is one that can be. */
static const char *
minted(const struct ck_reset_run *run)
{
	return run->mint ? run->p->credential : NULL;
}

struct beside {
	const struct ck_reset_run *run;
	bool bearer;
};

static ck_err
operator_row(void *arg, const struct ck_rec_credential *row)
{
	struct beside *b = arg;

	if (row->state != CK_STATE_BROKER &&
	    strcmp(row->name, b->run->p->credential) != 0 &&
	    strcmp(row->format, ck_format_name(CK_FORMAT_OPERATOR_BEARER)) == 0)
		b->bearer = true;
	return CK_OK;
}

ck_err
ck_reset_others(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct others o;
	ck_err r;

	run->mint = run->p->format == CK_FORMAT_OPERATOR_BEARER && !run->keeps;
	if ((r = look(run, run->keeps ? run->p->credential : minted(run), &o,
	    fail)) == CK_OK)
		run->others = o.names;
	return r;
}

void
ck_reset_names_text(const struct ck_reset_names *names, char *ret, size_t n)
{
	size_t shown = names->n < CK_RESET_NAMES ? names->n : CK_RESET_NAMES;
	size_t at = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < shown; i++) {
		/* Room for this name and for what says that more follow. */
		if (at + sizeof(names->name[i]) + 32 > n) {
			shown = i;
			break;
		}
		at += (size_t)snprintf(ret + at, n - at, "%s%s",
		    i == 0 ? "" : ", ", names->name[i]);
	}
	if (shown < names->n)
		(void)snprintf(ret + at, n - at, " and %zu more",
		    names->n - shown);
}

struct each {
	struct ck_reset_run *run;
	struct ck_fail *fail;
};

/* It is not lost with another one's item. */
static ck_err
unreadable(void *arg, const struct ck_rec_credential *row)
{
	struct each *e = arg;
	struct ck_place at;
	struct ck_secret value = CK_SECRET_INIT, key = CK_SECRET_INIT;
	ck_err r;

	if (row->state == CK_STATE_BROKER ||
	    strcmp(row->name, e->run->p->credential) == 0)
		return CK_OK;
	if ((r = ck_place_of_row(e->run->p, row, &at, e->fail)) != CK_OK)
		return r;
	r = ck_dedicated_look(&at, NULL, &value, &key, NULL);
	ck_secret_wipe(&value);
	ck_secret_wipe(&key);
	if (r != CK_OK)
		return CK_OK;
	(void)ck_fail_set(e->fail, CK_DECIDE, at.keychain,
	    "does not give %s any more, but still holds %s, which would be "
	    "given up with it", e->run->p->credential, row->name);
	ck_advise(e->fail, &at, "{restore}");
	return CK_DECIDE;
}

/* The operator's bearer must not go without a new one. */
static ck_err
no_bearer_beside(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct beside b = { run, false };
	ck_err r;

	if (run->mint)
		return CK_OK;
	r = ck_records_credential_each(run->v.rec, operator_row, &b, fail);
	if (r != CK_OK || !b.bearer)
		return r;
	(void)ck_fail_set(fail, CK_UNSUPPORTED, run->p->credential,
	    "cannot be minted here, and its keychain holds the operator's "
	    "bearer too: a reset of that one gives up all that is in it");
	ck_fail_next(fail, "clankie-keys reset%s", run->p->broker_kind ==
	    CK_KIND_LOGIN_KEYCHAIN ? " --login-password-fd N" : "");
	return CK_UNSUPPORTED;
}

/* Whoever put a value into the broker meanwhile is asked which one holds; one
 * that was on its way there or from there belongs there. */
static ck_err
not_elsewhere(void *arg, const struct ck_rec_credential *row)
{
	struct each *e = arg;
	struct ck_place at;
	ck_err r;

	if (row->state != CK_STATE_DEDICATED ||
	    strcmp(row->name, e->run->p->credential) == 0)
		return CK_OK;
	if ((r = ck_place_of_row(e->run->p, row, &at, e->fail)) != CK_OK)
		return r;
	return ck_reset_no_other(&at, false, e->fail);
}

ck_err
ck_reset_others_lost(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct each e = { run, fail };
	ck_err r = CK_OK;

	if (run->lost == CK_LOST_CONTENT)
		r = ck_records_credential_each(run->v.rec, unreadable, &e,
		    fail);
	if (r == CK_OK)
		r = no_bearer_beside(run, fail);
	return r == CK_OK ? ck_records_credential_each(run->v.rec,
	    not_elsewhere, &e, fail) : r;
}

static ck_err
broker_of(void *arg, const struct ck_rec_precedence *row)
{
	int64_t *id = arg;

	if (row->store.kind == CK_KIND_LOGIN_KEYCHAIN ||
	    row->store.kind == CK_KIND_FILE_BROKER)
		*id = row->store.id;
	return CK_OK;
}

static ck_err
broker_id(const struct ck_reset_run *run, const char *name, int64_t *ret,
    struct ck_fail *fail)
{
	struct ck_rec_store broker;
	int64_t id = 0;
	ck_err r;

	if ((r = ck_records_precedence_each(run->v.rec, name, NULL, broker_of,
	    &id, fail)) != CK_OK)
		return r;
	memset(&broker, 0, sizeof(broker));
	broker.kind = run->p->broker_kind;
	memcpy(broker.path, run->p->broker, sizeof(broker.path));
	if (id == 0 && (r = ck_records_store_put(run->v.rec, &broker, &id,
	    fail)) != CK_OK)
		return r;
	*ret = id;
	return CK_OK;
}

/* Back to the broker, as restore leaves it; a value is there only of one that
 * was on its way. */
static ck_err
release(struct ck_reset_run *run, struct ck_rec_credential *row,
    struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	char detail[128];
	int64_t broker = 0;
	ck_err r;

	if ((r = broker_id(run, row->name, &broker, fail)) != CK_OK)
		return r;
	memset(row->fingerprint, 0, sizeof(row->fingerprint));
	if (row->state == CK_STATE_DEDICATED) {
		row->state = CK_STATE_RESTORING;
		if ((r = ck_records_credential_put(rec, row, fail)) != CK_OK)
			return r;
	}
	if ((r = ck_records_precedence_broker(rec, row->name, broker,
	    fail)) != CK_OK)
		return r;
	row->state = CK_STATE_BROKER;
	if ((r = ck_records_credential_put(rec, row, fail)) != CK_OK)
		return r;
	(void)snprintf(detail, sizeof(detail), "%s generation %llu", row->name,
	    (unsigned long long)row->generation);
	return ck_records_event(rec, "given-up", detail, fail);
}

ck_err
ck_reset_release(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct others o;
	ck_err r;

	/* Each leaves the rows that are counted. */
	while ((r = look(run, minted(run), &o, fail)) == CK_OK && o.n > 0)
		if ((r = release(run, &o.first, fail)) != CK_OK)
			return r;
	return r;
}
