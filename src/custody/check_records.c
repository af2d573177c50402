/* SPDX-License-Identifier: Apache-2.0 */
/* What the records say, and whether they hold; see check_int.h. */
#include "custody/check_int.h"

#include <stdio.h>
#include <string.h>

#include "custody/advice.h"
#include "custody/broker.h"
#include "custody/preflight.h"

/* A place's own finding says it better than the refusal that follows. */
static bool
said_already(const struct ck_check *c, const char *place)
{
	char records[CK_PATH_MAX];

	return ck_findings_error_at(c->out, place) ||
	    ck_findings_has(c->out, CK_F_UNSAFE_ANCESTOR) ||
	    (ck_path_join(c->p->dir, CK_REC_FILE, records, NULL) == CK_OK &&
	    ck_findings_error_at(c->out, records));
}

/* Why records and places could not be read together. */
static void
unread(struct ck_check *c, ck_err r, const struct ck_fail *fail)
{
	const struct ck_place *p = c->p;
	bool about_file = strcmp(fail->place, p->operator_dir) == 0 ||
	    strcmp(fail->place, p->keychain) == 0;
	enum ck_finding_code code = CK_F_RECORDS_UNREADABLE;

	if (r == CK_REFUSED && said_already(c, fail->place))
		return;
	if (about_file)
		code = r == CK_DENIED ? CK_F_DEDICATED_DENIED :
		    CK_F_DEDICATED_MISSING;
	else if (r == CK_NOSTORE)
		code = CK_F_RECORDS_MISSING;
	else if (r == CK_DAMAGED)
		code = CK_F_RECORDS_DAMAGED;
	ck_finding_fail(c->out, code, r, fail);
}

/* Nothing is in charge: never begun, or is what was there gone? */
static void
not_there(struct ck_check *c)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	/* With the keychain there it is another credential's. */
	r = c->file_there ? CK_OK :
	    ck_preflight_orphan(c->p, &c->v, &fail);
	if (r == CK_NOSTORE) {
		ck_finding_fail(c->out, CK_F_DEDICATED_MISSING, r, &fail);
		return;
	}
	if (r != CK_OK)
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
	else if (ck_view_is_moving(&c->v, c->p) &&
	    ck_view_known_operation(c->v.journal.operation))
		return;   /* the journal's own finding says it */
	if (ck_broker_read(c->p, NULL, &fail) == CK_ABSENT) {
		ck_advise_absent(&fail, c->p, "{migrate} then moves it");
		ck_finding_add(c->out, CK_F_NOT_MIGRATED, c->p->dir,
		    fail.next, "there is no %s yet: neither here nor in %.400s",
		    c->p->credential, c->p->broker);
		return;
	}
	ck_finding_add(c->out, CK_F_NOT_MIGRATED, c->p->dir, NULL,
	    "%s was not moved into a dedicated keychain: every process of "
	    "yours can read it", c->p->credential);
}

ck_err
ck_check_begin(struct ck_check *c, struct ck_fail *fail)
{
	return c->snapshot ? CK_OK : ck_records_begin(c->v.rec, fail);
}

void
ck_check_end(struct ck_check *c)
{
	if (!c->snapshot)
		ck_records_rollback(c->v.rec);
}

/* Pages, schema and events, in one snapshot. */
static void
sound(struct ck_check *c)
{
	struct ck_fail fail = CK_FAIL_INIT, chain = CK_FAIL_INIT;
	ck_err r, e = CK_OK;

	if ((r = ck_check_begin(c, &fail)) == CK_OK) {
		/* The gate is short enough to keep writers waiting. */
		c->snapshot = c->how->startup;
		r = ck_records_check(c->v.rec, &fail);
		if (r == CK_DAMAGED)
			e = ck_records_events_verify(c->v.rec, &chain);
		ck_check_end(c);
	}
	if (r == CK_OK)
		return;
	if (e == CK_DAMAGED)
		ck_finding_fail(c->out, CK_F_EVENT_CHAIN, e, &chain);
	/* The chain is the last thing looked at: another reason is another
	 * finding. */
	if (e != CK_DAMAGED || strcmp(fail.why, chain.why) != 0)
		ck_finding_fail(c->out, r == CK_DAMAGED ?
		    CK_F_RECORDS_DAMAGED : CK_F_RECORDS_UNREADABLE, r, &fail);
}

/*
 * Does a way back that is not at its end have a copy in the broker, where
 * every process can read it?  CK_ABSENT: it has none.  The row may be of
 * another credential than the one that is checked, and has its own broker.
 */
static ck_err
exposed(struct ck_check *c, struct ck_place *where)
{
	const struct ck_rec_journal *j = &c->v.journal;
	struct ck_view v = CK_VIEW_INIT;
	ck_err r = CK_OK;
	bool known = c->v.known;

	*where = *c->p;
	if (strcmp(j->operation, "restore") != 0)
		return CK_ABSENT;
	if (!ck_view_is_moving(&c->v, c->p)) {
		memcpy(where->credential, j->credential,
		    sizeof(where->credential));
		where->names_said = false;
		where->broker_said = false;
		r = ck_view_open(where, CK_REC_READ, &v, NULL);
		known = v.known;
		ck_view_close(&v);
	}
	if (r == CK_OK)
		r = known ? ck_broker_read(where, NULL, NULL) : CK_ABSENT;
	return r;
}

static void
journal(struct ck_check *c)
{
	const struct ck_rec_journal *j = &c->v.journal;
	bool whole = j->credential[0] == '\0';
	char next[CK_ADVICE_SIZE] = "";
	struct ck_place where;
	ck_err copy;

	if (!c->v.journal_open)
		return;
	if (ck_view_known_operation(j->operation))
		ck_advice_finish(c->p, j, next);
	if ((copy = exposed(c, &where)) != CK_ABSENT)
		ck_finding_add(c->out, CK_F_RESTORE_UNFINISHED, where.broker,
		    next, "%s %s, which every process of yours can then "
		    "read: its restore, begun %s, is under way or was "
		    "interrupted at step %d", copy == CK_OK ? "holds" :
		    "may hold", j->credential, j->at, j->step);
	else
		ck_finding_add(c->out, CK_F_JOURNAL_OPEN, c->p->dir, next,
		    "%s%s%s, begun %s, is under way or was interrupted at "
		    "step %d", j->operation, whole ? "" : " of ",
		    j->credential, j->at, j->step);
}

/* Whether a principal has rows of rank 0, by what they do. */
struct first {
	char principal[64];
	bool reads, writes;
};

/* More principals than the schema has; of the rest nothing is judged. */
enum { FIRST_MAX = 64 };

struct ranks {
	struct ck_check *c;
	const char *credential;
	struct first of[FIRST_MAX];
	size_t n;
};

/* Its place in the list, made when it has none; NULL: there is no room. */
static struct first *
first_of(struct ranks *k, const char *principal)
{
	for (size_t i = 0; i < k->n; i++)
		if (strcmp(k->of[i].principal, principal) == 0)
			return &k->of[i];
	if (k->n == FIRST_MAX ||
	    strlen(principal) >= sizeof(k->of[0].principal))
		return NULL;
	memcpy(k->of[k->n].principal, principal, strlen(principal) + 1);
	return &k->of[k->n++];
}

static bool
is_asked_about(const struct ck_check *c, const char *principal)
{
	return c->how->principal == NULL ||
	    strcmp(c->how->principal, principal) == 0;
}

static ck_err
rank(void *arg, const struct ck_rec_precedence *row)
{
	struct ranks *k = arg;
	struct ck_check *c = k->c;
	bool reader = strcmp(row->role, "reader") == 0;
	struct first *first;

	if (row->rank != 0 || !is_asked_about(c, row->principal))
		return CK_OK;
	if ((first = first_of(k, row->principal)) != NULL) {
		first->reads = first->reads || reader;
		first->writes = first->writes || !reader;
	}
	if (row->store.kind == CK_KIND_DEDICATED &&
	    strcmp(row->store.path, c->p->keychain) == 0)
		return CK_OK;
	ck_finding_add(c->out, CK_F_PRECEDENCE, row->principal, NULL,
	    "as %s of %s asks %.300s (%s) first, and not the dedicated "
	    "keychain", row->role, k->credential, row->store.path,
	    ck_rec_kind_name(row->store.kind));
	return CK_OK;
}

/* Whom one principal asks first for one credential. */
static ck_err
first_store(void *arg, const struct ck_rec_principal *row)
{
	struct ranks *k = arg;
	const struct first *first;

	if (!is_asked_about(k->c, row->id))
		return CK_OK;
	first = first_of(k, row->id);
	if (first == NULL || first->reads != row->reader ||
	    first->writes != row->writer)
		ck_finding_add(k->c->out, CK_F_PRECEDENCE, row->id, NULL,
		    "has no first store for what it %s of %s",
		    first == NULL || first->reads != row->reader ? "reads" :
		    "writes", k->credential);
	return CK_OK;
}

static ck_err
credential(void *arg, const struct ck_rec_credential *row)
{
	struct ranks k = { .c = arg, .credential = row->name, .n = 0 };
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	if (row->state != CK_STATE_DEDICATED)
		return CK_OK;
	memset(k.of, 0, sizeof(k.of));
	if ((r = ck_records_precedence_each(k.c->v.rec, row->name, NULL, rank,
	    &k, &fail)) != CK_OK) {
		ck_finding_fail(k.c->out, CK_F_NOT_JUDGED, r, &fail);
		return CK_OK;
	}
	return ck_records_principal_each(k.c->v.rec, first_store, &k, NULL);
}

static ck_err
honours(void *arg, const struct ck_rec_principal *row)
{
	struct ck_check *c = arg;

	if (is_asked_about(c, row->id) && strcmp(row->honours, "yes") != 0)
		ck_finding_add(c->out, CK_F_PRINCIPAL_NOT_HONOURING, row->id,
		    NULL, "%s ask the records, and may read or make another "
		    "bearer: %s", strcmp(row->honours, "no") == 0 ?
		    "does not" : "is not known to", row->what);
	return CK_OK;
}

static void
principals(struct ck_check *c)
{
	struct ck_rec_principal who;
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r = CK_OK;

	if (c->how->principal != NULL)
		r = ck_records_principal_get(c->v.rec, c->how->principal, &who,
		    &fail);
	if (r == CK_ABSENT) {
		ck_finding_add(c->out, CK_F_PRINCIPAL_UNKNOWN,
		    c->how->principal, NULL,
		    "is not a principal that the records know");
		return;
	}
	if (r == CK_OK && c->in_charge)
		r = ck_records_credential_each(c->v.rec, credential, c, &fail);
	if (r == CK_OK && c->in_charge && c->v.known &&
	    c->v.row.state == CK_STATE_DEDICATED)
		r = ck_records_principal_each(c->v.rec, honours, c, &fail);
	if (r != CK_OK)
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
}

void
ck_check_records(struct ck_check *c)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	if ((r = ck_view_open(c->p, CK_REC_READ, &c->v, &fail)) != CK_OK) {
		unread(c, r, &fail);
		/* What is there is in charge, whatever the records are. */
		c->in_charge = ck_place_dedicated(c->p, &c->file_there,
		    NULL) != CK_OK || c->file_there;
		return;
	}
	c->viewed = true;
	c->file_there = c->v.dedicated;
	c->in_charge = ck_view_is_dedicated(&c->v);
	if (c->v.rec != NULL) {
		sound(c);
		journal(c);
		principals(c);
	}
	if (!c->in_charge)
		not_there(c);
}
