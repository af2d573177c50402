/* SPDX-License-Identifier: Apache-2.0 */
/* The old records, as far as they can be read; see doctor_rebuild_int.h. */
#include "custody/doctor_rebuild_int.h"

#include <string.h>

#include "custody/seal.h"
#include "custody/view.h"

static ck_err
credential(void *arg, const struct ck_rec_credential *row)
{
	struct ck_old *old = arg;

	if (old->n < CK_REBUILD_ROWS_MAX)
		old->row[old->n++] = *row;
	return CK_OK;
}

static ck_err
store(void *arg, const struct ck_rec_store *row)
{
	struct ck_old *old = arg;

	if (row->kind == CK_KIND_DEDICATED)
		old->dedicated = *row;
	return CK_OK;
}

static ck_err
precedence(void *arg, const struct ck_rec_precedence *row)
{
	struct ck_old *old = arg;

	bool broker = row->store.kind == CK_KIND_LOGIN_KEYCHAIN ||
	    row->store.kind == CK_KIND_FILE_BROKER;

	for (size_t i = 0; i < old->n; i++) {
		if (strcmp(old->row[i].name, row->credential) != 0)
			continue;
		if (broker)
			old->broker[i] = row->store;
		if (row->rank == 0 && old->row[i].state ==
		    CK_STATE_DEDICATED &&
		    row->store.kind != CK_KIND_DEDICATED)
			old->astray++;
	}
	return CK_OK;
}

static ck_err
principal(void *arg, const struct ck_rec_principal *row)
{
	struct ck_old *old = arg;

	old->honours += strcmp(row->honours, "yes") == 0;
	return CK_OK;
}

static ck_err
protected(void *arg, const struct ck_rec_protected *row)
{
	struct ck_old *old = arg;

	if (old->set.n < CK_RULES_ROWS_MAX)
		old->set.row[old->set.n++] = *row;
	else
		old->set_more++;
	return CK_OK;
}

static ck_err
event(void *arg, const struct ck_rec_event *row)
{
	struct ck_old *old = arg;

	(void)row;
	old->events++;
	return CK_OK;
}

/* One table that cannot be read keeps none of the others from being read. */
static ck_err
noted(struct ck_old *old, ck_err r, const struct ck_fail *why)
{
	if (r != CK_DAMAGED)
		return r;
	if (old->whole)
		old->why = *why;
	old->whole = false;
	return CK_OK;
}

static ck_err
read_tables(struct ck_old *old, struct ck_fail *fail)
{
	struct ck_records *rec = old->rec;
	struct ck_fail why = CK_FAIL_INIT;
	ck_err r;

	if ((r = noted(old, ck_records_credential_each(rec, credential, old,
	    &why), &why)) != CK_OK ||
	    (r = noted(old, ck_records_store_each(rec, store, old, &why),
	    &why)) != CK_OK ||
	    (r = noted(old, ck_records_precedence_each(rec, NULL, NULL,
	    precedence, old, &why), &why)) != CK_OK ||
	    (r = noted(old, ck_records_principal_each(rec, principal, old,
	    &why), &why)) != CK_OK ||
	    (r = noted(old, ck_records_protected_each(rec, protected, old,
	    &why), &why)) != CK_OK ||
	    (r = noted(old, ck_records_event_each(rec, event, old, &why),
	    &why)) != CK_OK)
		goto out;
	r = ck_records_journal_get(rec, &old->journal, &why);
	old->journal_open = r == CK_OK;
	r = r == CK_ABSENT ? CK_OK : noted(old, r, &why);
out:
	if (r != CK_OK && fail != NULL)
		*fail = why;
	return r;
}

/* Opened for reading; what a crash cut short is undone first. */
static ck_err
open_old(const struct ck_place *p, int dirfd, struct ck_records **ret,
    struct ck_fail *fail)
{
	ck_err r;

	r = ck_records_open(dirfd, p->dir, CK_REC_READ, ret, fail);
	if (r == CK_READONLY &&
	    (r = ck_records_recover(dirfd, p->dir, fail)) == CK_OK)
		r = ck_records_open(dirfd, p->dir, CK_REC_READ, ret, fail);
	return r;
}

ck_err
ck_old_read(const struct ck_place *p, int dirfd, struct ck_old *ret,
    struct ck_fail *fail)
{
	struct ck_fail why = CK_FAIL_INIT;
	ck_err r;

	r = open_old(p, dirfd, &ret->rec, &why);
	ret->there = r != CK_NOSTORE;
	ret->whole = r == CK_OK;
	if (r == CK_NOSTORE || r == CK_DAMAGED) {
		ret->why = why;
		return CK_OK;
	}
	if (r != CK_OK) {
		if (fail != NULL)
			*fail = why;
		return r;
	}
	if ((r = ck_records_begin(ret->rec, &why)) == CK_OK) {
		r = read_tables(ret, &why);
		ck_records_rollback(ret->rec);
	} else {
		r = noted(ret, r, &why);
	}
	if (r != CK_OK && fail != NULL)
		*fail = why;
	return r;
}

void
ck_old_done(struct ck_old *old)
{
	ck_records_close(&old->rec);
}

const struct ck_rec_credential *
ck_old_row(const struct ck_old *old, const char *name)
{
	for (size_t i = 0; i < old->n; i++)
		if (strcmp(old->row[i].name, name) == 0)
			return &old->row[i];
	return NULL;
}

const struct ck_rec_store *
ck_old_broker(const struct ck_old *old, const char *name)
{
	for (size_t i = 0; i < old->n; i++)
		if (strcmp(old->row[i].name, name) == 0 &&
		    old->broker[i].id != 0)
			return &old->broker[i];
	return NULL;
}

static bool
has_item(const struct ck_items *items, const char *name)
{
	for (size_t i = 0; i < items->n; i++)
		if (strcmp(items->at[i].name, name) == 0)
			return true;
	return false;
}

/* Every item has its row and every row that should its item. */
static bool
fits(const struct ck_place *p, const struct ck_old *old,
    const struct ck_items *items)
{
	if (strcmp(old->dedicated.path, p->keychain) != 0 || old->astray > 0)
		return false;
	for (size_t i = 0; i < items->n; i++) {
		const struct ck_rec_credential *c = &items->at[i];
		const struct ck_rec_credential *row = ck_old_row(old, c->name);

		if (row == NULL || row->state != CK_STATE_DEDICATED ||
		    strcmp(row->service, c->service) != 0 ||
		    strcmp(row->account, c->account) != 0 ||
		    strcmp(row->format, c->format) != 0 ||
		    strcmp(row->fingerprint, c->fingerprint) != 0)
			return false;
	}
	for (size_t i = 0; i < old->n; i++)
		if (old->row[i].state != CK_STATE_BROKER &&
		    !has_item(items, old->row[i].name))
			return false;
	return true;
}

/* The seal, and all that needs no key, in one snapshot. */
static ck_err
sealed(const struct ck_place *p, struct ck_old *old,
    const struct ck_secret *key, bool *ret, struct ck_fail *fail)
{
	struct ck_fail why = CK_FAIL_INIT;
	struct ck_anchor anchor;
	ck_err r;

	if ((r = ck_unlock_place_read(p, NULL, &anchor, &why)) == CK_OK &&
	    (r = ck_records_begin(old->rec, &why)) == CK_OK) {
		if ((r = ck_records_check(old->rec, &why)) == CK_OK)
			r = ck_seal_check(p, old->rec, key, &anchor, &why);
		ck_records_rollback(old->rec);
	}
	*ret = r == CK_OK;
	if (r == CK_DAMAGED && old->whole)
		old->why = why;
	if (r == CK_OK || r == CK_DAMAGED)
		return CK_OK;
	if (fail != NULL)
		*fail = why;
	return r;
}

ck_err
ck_old_holds(const struct ck_place *p, struct ck_old *old,
    const struct ck_items *items, const struct ck_secret *key, bool *ret,
    struct ck_fail *fail)
{
	struct ck_view v = CK_VIEW_INIT;
	bool whole = false;
	ck_err r;

	*ret = false;
	if (old->rec == NULL || !old->whole)
		return CK_OK;
	if ((r = sealed(p, old, key, &whole, fail)) != CK_OK || !whole)
		return r;
	/* What it would be given back to is still to be asked. */
	v.journal_open = old->journal_open;
	v.journal = old->journal;
	if ((r = ck_view_unhindered(&v, p, "doctor", fail)) != CK_OK)
		return r;
	*ret = fits(p, old, items);
	return CK_OK;
}

static void
compare_row(const struct ck_rec_credential *was,
    const struct ck_rec_credential *is, struct ck_lines *l)
{
	if (strcmp(was->service, is->service) != 0 ||
	    strcmp(was->account, is->account) != 0)
		ck_line(l, "%s: the old records call it %.120s / %.120s",
		    is->name, was->service, was->account);
	if (strcmp(was->format, is->format) != 0)
		ck_line(l, "%s: the old records give it the format %s",
		    is->name, was->format);
	if (was->state != CK_STATE_DEDICATED)
		ck_line(l, "%s: the old records say %s", is->name,
		    ck_rec_state_name(was->state));
	if (strcmp(was->fingerprint, is->fingerprint) != 0)
		ck_line(l, "%s: the old records tell of another value "
		    "(fingerprint %.8s, not %.8s): if it is the keychain that "
		    "was put back from an earlier day, put the newer one back "
		    "instead", is->name,
		    was->fingerprint[0] != '\0' ? was->fingerprint : "none",
		    is->fingerprint);
}

static void
compare_protected(const struct ck_old *old, struct ck_rebuild *ret)
{
	for (size_t i = 0; i < ret->set.n; i++) {
		bool found = false;

		for (size_t j = 0; j < old->set.n && !found; j++)
			found = strcmp(old->set.row[j].path,
			    ret->set.row[i].path) == 0 &&
			    old->set.row[j].deny_read ==
			    ret->set.row[i].deny_read &&
			    old->set.row[j].directory ==
			    ret->set.row[i].directory;
		if (!found)
			ck_line(&ret->differ, "the old records do not keep "
			    "workers from %s (%s) in this way",
			    ret->set.row[i].path, ret->set.row[i].why);
	}
	if (old->set_more > 0)
		ck_line(&ret->lost, "%zu protected paths, which are more than "
		    "the rules can hold", old->set_more);
}

/* Rows of credentials that are not in the keychain. */
static void
compare_missing(const struct ck_old *old, const struct ck_items *items,
    struct ck_lines *lost)
{
	for (size_t i = 0; i < old->n; i++)
		if (old->row[i].state != CK_STATE_BROKER &&
		    !has_item(items, old->row[i].name))
			ck_line(lost, "the credential %s: the old records say "
			    "%s, and the keychain has no item of it",
			    old->row[i].name,
			    ck_rec_state_name(old->row[i].state));
}

static void
lost(const struct ck_old *old, struct ck_lines *l)
{
	if (old->rec != NULL)
		ck_line(l, "the event log: %zu event%s, in the old file only",
		    old->events, old->events == 1 ? "" : "s");
	else
		ck_line(l, "the event log");
	if (old->rec != NULL && old->honours > 0)
		ck_line(l, "that %zu principals ask the records: unknown "
		    "again", old->honours);
	else if (old->rec == NULL)
		ck_line(l, "which principals ask the records: unknown again");
	if (old->rec == NULL)
		ck_line(l, "which checkouts and further paths workers are "
		    "kept from");
	ck_line(l, "settings, which start with their defaults");
	if (old->journal_open)
		ck_line(l, "that a %s of %s was not finished, if that is true",
		    old->journal.operation, old->journal.credential);
}

void
ck_old_compare(const struct ck_place *p, const struct ck_old *old,
    const struct ck_items *items, struct ck_rebuild *ret)
{
	struct ck_lines *l = &ret->differ;

	if (!old->there)
		ck_line(l, "there are no old records");
	else if (old->why.why[0] != '\0')
		ck_line(l, "the old records: %s", old->why.why);
	if (old->rec != NULL) {
		for (size_t i = 0; i < items->n; i++) {
			const struct ck_rec_credential *row =
			    ck_old_row(old, items->at[i].name);

			if (row != NULL)
				compare_row(row, &items->at[i], l);
			else
				ck_line(l, "%s: the old records do not know "
				    "it", items->at[i].name);
		}
		if (strcmp(old->dedicated.path, p->keychain) != 0)
			ck_line(l, "the old records have the dedicated "
			    "keychain at %s",
			    old->dedicated.path[0] != '\0' ?
			    old->dedicated.path : "no place");
		if (old->astray > 0)
			ck_line(l, "%zu reader%s or writer%s asked another "
			    "store first", old->astray,
			    old->astray == 1 ? "" : "s",
			    old->astray == 1 ? "" : "s");
		compare_protected(old, ret);
		compare_missing(old, items, &ret->lost);
	}
	if (items->others > 0)
		ck_line(l, "%zu item%s in the keychain %s no credential of "
		    "ours and left alone", items->others,
		    items->others == 1 ? "" : "s",
		    items->others == 1 ? "is" : "are");
	lost(old, &ret->lost);
}
