/* SPDX-License-Identifier: Apache-2.0 */
/* The first existing store decides; see resolve.h. */
#include "custody/resolve.h"

#include <string.h>

#include "custody/advice.h"
#include "custody/broker.h"
#include "custody/dedicated.h"
#include "custody/inside.h"
#include "custody/preflight.h"
#include "custody/seal.h"
#include "custody/view.h"

/* How often others may come between two looks of ours. */
#define LOOKS_MAX 32

/* Which transaction of the records a look saw. */
struct look {
	uint64_t generation;
	char nonce[33];                  /* of the open operation, or "" */
};

static ck_err
look_at(struct ck_records *rec, const struct ck_place *p, struct look *ret,
    struct ck_fail *fail)
{
	struct ck_rec_credential row;
	struct ck_rec_journal j;
	ck_err r;

	memset(ret, 0, sizeof(*ret));
	if ((r = ck_records_credential_get(rec, p->credential, &row,
	    fail)) != CK_OK)
		return r;
	ret->generation = row.generation;
	r = ck_records_journal_get(rec, &j, fail);
	if (r == CK_OK)
		memcpy(ret->nonce, j.nonce, sizeof(ret->nonce));
	return r == CK_ABSENT ? CK_OK : r;
}

static bool
is_same(const struct look *a, const struct look *b)
{
	return a->generation == b->generation &&
	    strcmp(a->nonce, b->nonce) == 0;
}

/* What was read from the dedicated keychain and beside its password. */
struct opened {
	struct ck_secret value, key;
	struct ck_anchor anchor;
};

#define OPENED_INIT { CK_SECRET_INIT, CK_SECRET_INIT, CK_ANCHOR_INIT }

static void
opened_wipe(struct opened *o)
{
	ck_secret_wipe(&o->value);
	ck_secret_wipe(&o->key);
}

/* Compare with one snapshot of the records.  *ret_looked: *ret_seen tells
 * which. */
static ck_err
compare(const struct ck_place *p, struct ck_records *rec,
    const struct opened *o, struct look *ret_seen, bool *ret_looked,
    struct ck_fail *fail)
{
	ck_err r;

	*ret_looked = false;
	if ((r = ck_records_begin(rec, fail)) != CK_OK)
		return r;
	*ret_looked = look_at(rec, p, ret_seen, NULL) == CK_OK;
	if ((r = ck_seal_check(p, rec, &o->key, &o->anchor,
	    fail)) == CK_OK && o->value.p != NULL)
		r = ck_seal_value(p, rec, &o->key, &o->value, fail);
	ck_records_rollback(rec);
	return r;
}

/*
 * Value, anchor and records must tell of the same generation.  They lie in
 * three files: a rotation may finish after the one was read and before the
 * other.  When two looks at the records see no rotation between them, they do
 * not fit.
 */
static ck_err
from_dedicated(const struct ck_place *p, struct ck_records *rec,
    struct ck_secret *ret, struct ck_fail *fail)
{
	struct opened o = OPENED_INIT;
	struct look seen, before;
	bool looked, again = false;
	ck_err r = CK_DAMAGED;

	memset(&seen, 0, sizeof(seen));
	memset(&before, 0, sizeof(before));
	for (int i = 0; i < LOOKS_MAX && r == CK_DAMAGED; i++) {
		opened_wipe(&o);
		if ((r = ck_dedicated_look_at(p, NULL, &o.value, &o.key,
		    &o.anchor, fail)) != CK_OK)
			break;
		r = compare(p, rec, &o, &seen, &looked, fail);
		if (!looked || (again && is_same(&seen, &before)))
			break;
		before = seen;
		again = true;
	}
	if (r == CK_OK)
		ck_secret_move(ret, &o.value);
	opened_wipe(&o);
	return r;
}

static ck_err
from_broker(const struct ck_place *p, struct ck_secret *ret,
    struct ck_fail *fail)
{
	struct ck_secret value = CK_SECRET_INIT;
	ck_err r;

	if ((r = ck_broker_read(p, &value, fail)) != CK_OK) {
		if (r == CK_ABSENT)
			ck_advise_absent(fail, p, "{migrate} then moves it "
			    "out of every worker's reach");
		return r;
	}
	if (ck_format_check(p->format, &value) != CK_OK)
		r = ck_fail_set(fail, CK_DAMAGED, p->broker,
		    "what is stored as %s / %s is not a credential of its "
		    "kind", p->service, p->account);
	else
		ck_secret_move(ret, &value);
	ck_secret_wipe(&value);
	return r;
}

/*
 * A restore that was stopped before the keychain went has recorded the broker,
 * and any program may have written another value there since: then the one
 * in the keychain is not the credential any more.
 */
static ck_err
not_overtaken(const struct ck_place *p, const struct ck_view *v,
    const struct ck_secret *value, struct ck_fail *fail)
{
	struct ck_secret there = CK_SECRET_INIT;
	char command[CK_ADVICE_SIZE];
	bool same = false;
	ck_err r;

	if (!v->known || v->row.state != CK_STATE_BROKER || !v->journal_open ||
	    strcmp(v->journal.credential, p->credential) != 0)
		return CK_OK;
	r = ck_broker_read(p, &there, fail);
	if (r == CK_OK)
		r = ck_broker_same(p, value, &there, &same);
	ck_secret_wipe(&there);
	if (r == CK_ABSENT || (r == CK_OK && same))
		return CK_OK;
	if (r != CK_OK && r != CK_DAMAGED)
		return r;
	ck_advice_finish(p, &v->journal, command);
	(void)ck_fail_set(fail, CK_DECIDE, p->broker,
	    "was given another value of %s while an unfinished %s had "
	    "recorded it", p->credential, v->journal.operation);
	ck_fail_next(fail, "decide which one is right, then %s", command);
	return CK_DECIDE;
}

static ck_err
reader_known(const struct ck_view *v, const char *reader,
    struct ck_fail *fail)
{
	struct ck_rec_principal who;
	ck_err r = CK_OK;

	if (reader == NULL)
		return CK_OK;
	who.reader = v->rec == NULL && ck_records_reader_at_first(reader);
	if (v->rec != NULL)
		r = ck_records_principal_get(v->rec, reader, &who, fail);
	if (r == CK_ABSENT || (r == CK_OK && !who.reader))
		return ck_fail_set(fail, CK_USAGE, reader,
		    "is not a reader that the records know");
	return r;
}

/* Another credential's keychain is not asked for this one.  A row that was
 * taken away or renamed is another matter: the seal tells. */
static ck_err
credential_known(const struct ck_view *v, const struct ck_place *p,
    struct ck_fail *fail)
{
	struct opened o = OPENED_INIT;
	struct look seen;
	bool looked;
	ck_err r = CK_OK;

	if (v->known || v->rec == NULL || !ck_view_is_dedicated(v))
		return CK_OK;
	/* What cannot be looked into may hold it. */
	if ((r = ck_dedicated_look_at(p, NULL, NULL, &o.key, &o.anchor,
	    fail)) == CK_OK)
		r = compare(p, v->rec, &o, &seen, &looked, fail);
	opened_wipe(&o);
	if (r != CK_OK)
		return r;
	return ck_fail_set(fail, CK_USAGE, p->credential,
	    "is no credential that the records know");
}

/* The keychain is there and the records say that this credential is not in
 * it.  Both can be edited to say so, except for the seal. */
static ck_err
beside_the_keychain(const struct ck_place *p, struct ck_records *rec,
    struct ck_fail *fail)
{
	struct opened o = OPENED_INIT;
	struct look seen, before;
	bool looked, again = false;
	ck_err r = CK_DAMAGED;

	memset(&before, 0, sizeof(before));
	memset(&seen, 0, sizeof(seen));
	for (int i = 0; i < LOOKS_MAX && r == CK_DAMAGED; i++) {
		opened_wipe(&o);
		if ((r = ck_dedicated_look_at(p, NULL, NULL, &o.key,
		    &o.anchor, fail)) != CK_OK)
			break;
		r = compare(p, rec, &o, &seen, &looked, fail);
		if (again && (!looked || is_same(&seen, &before)))
			break;
		before = seen;
		again = true;
	}
	opened_wipe(&o);
	return r;
}

/* Where things stood when a try began. */
struct scene {
	bool seen;                       /* they could be looked at */
	bool file, item, known;
	enum ck_rec_state state;
	uint64_t generation;
	char nonce[33];                  /* of the open operation, or "" */
};

static struct scene
scene_of(const struct ck_view *v)
{
	struct scene ret;

	memset(&ret, 0, sizeof(ret));
	ret.seen = true;
	ret.file = v->dedicated;
	ret.item = v->item;
	ret.known = v->known;
	if (v->known) {
		ret.state = v->row.state;
		ret.generation = v->row.generation;
	}
	if (v->journal_open)
		memcpy(ret.nonce, v->journal.nonce, sizeof(ret.nonce));
	return ret;
}

static bool
same_scene(const struct scene *a, const struct scene *b)
{
	return a->file == b->file && a->item == b->item &&
	    a->known == b->known && a->state == b->state &&
	    a->generation == b->generation &&
	    strcmp(a->nonce, b->nonce) == 0;
}

/* One try, from one look at records and places. */
static ck_err
resolve_once(struct ck_place *p, const char *reader, struct ck_secret *ret,
    struct ck_resolved *ret_where, struct scene *ret_scene,
    struct ck_fail *fail)
{
	char command[CK_ADVICE_SIZE];
	struct ck_secret value = CK_SECRET_INIT;
	struct ck_view v = CK_VIEW_INIT;
	ck_err r;

	memset(ret_where, 0, sizeof(*ret_where));
	memset(ret_scene, 0, sizeof(*ret_scene));
	if ((r = ck_view_open(p, CK_REC_READ, &v, fail)) != CK_OK)
		return r;
	*ret_scene = scene_of(&v);
	if ((r = reader_known(&v, reader, fail)) != CK_OK ||
	    (r = credential_known(&v, p, fail)) != CK_OK)
		goto out;
	if (!ck_view_is_dedicated(&v)) {
		ret_where->kind = p->broker_kind;
		memcpy(ret_where->path, p->broker, sizeof(ret_where->path));
		if (v.dedicated)
			r = beside_the_keychain(p, v.rec, fail);
		else
			r = ck_preflight_orphan(p, &v, fail);
		if (r == CK_OK)
			r = from_broker(p, ret, fail);
		goto out;
	}
	ret_where->kind = CK_KIND_DEDICATED;
	memcpy(ret_where->path, p->keychain, sizeof(ret_where->path));
	if (v.dedicated) {
		if ((r = from_dedicated(p, v.rec, &value, fail)) == CK_OK &&
		    (r = not_overtaken(p, &v, &value, fail)) == CK_OK)
			ck_secret_move(ret, &value);
		ck_secret_wipe(&value);
		goto out;
	}
	r = ck_fail_set(fail, CK_NOSTORE, p->keychain,
	    "the records say the credential is here, but the file is "
	    "missing");
	ck_advise(fail, p, "put it back from a backup; no other store is "
	    "asked in its place.  If it is lost for good: {reset}");
	if (v.journal_open) {
		ck_advice_finish(p, &v.journal, command);
		ck_fail_next(fail, "%s", command);
	}
out:
	ck_view_close(&v);
	return r;
}

/*
 * Is r no answer, because others moved the credential between our look at the
 * places and our reading?  A migration that began just now has stored its
 * password, one that ended has emptied the broker, a restore the keychain.
 * *ret_again tells; what is to be said otherwise is the result.
 */
static ck_err
moved(struct ck_place *p, const struct ck_resolved *where,
    const struct scene *then, ck_err r, bool *ret_again, struct ck_fail *fail)
{
	struct ck_view v = CK_VIEW_INIT;
	struct ck_fail late = CK_FAIL_INIT;
	struct scene now;
	ck_err seen;

	if ((seen = ck_view_open(p, CK_REC_READ, &v, &late)) == CK_OK) {
		now = scene_of(&v);
		*ret_again = !same_scene(&now, then);
	}
	ck_view_close(&v);
	/* Absent is said only of what was looked at in the end, too. */
	if (seen == CK_OK || r != CK_ABSENT ||
	    where->kind == CK_KIND_DEDICATED)
		return r;
	if (fail != NULL)
		*fail = late;
	return seen;
}

ck_err
ck_resolve(struct ck_place *p, const char *reader, struct ck_secret *ret,
    struct ck_resolved *ret_where, struct ck_fail *fail)
{
	struct ck_resolved where;
	struct scene then;
	bool again = true;
	ck_err r = CK_INTERNAL;

	for (int i = 0; i < LOOKS_MAX && again; i++) {
		r = resolve_once(p, reader, ret, &where, &then, fail);
		/* A writer that is killed leaves records that only an opening
		 * mends, at any time between our opening them and our looking
		 * into them. */
		again = r == CK_READONLY;
		/* Nobody waits twice for the same lock. */
		if (r != CK_OK && r != CK_BUSY && then.seen && !again)
			r = moved(p, &where, &then, r, &again, fail);
	}
	if (r != CK_OK)
		return ck_inside_absent(p, r, fail);
	memcpy(where.service, p->service, sizeof(where.service));
	memcpy(where.account, p->account, sizeof(where.account));
	if (ret_where != NULL)
		*ret_where = where;
	return CK_OK;
}
