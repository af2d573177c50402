/* SPDX-License-Identifier: Apache-2.0 */
/* One sealed change of rows beside the credentials; see amend.h. */
#include "custody/amend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "custody/advice.h"
#include "custody/dedicated.h"
#include "custody/preflight.h"
#include "custody/rules.h"
#include "custody/seal.h"
#include "custody/view.h"
#include "store/dotenv.h"

#define WHY_CHECKOUT "checkout"

struct run {
	struct ck_place *p;
	const struct ck_amend_how *how;
	struct ck_amend_report *report;
	struct ck_view v;
	int lockfd;
	struct ck_secret key;            /* of the seal */
	struct ck_anchor anchor;
	struct ck_rules_set *wanted;     /* rows of the checkouts */
	struct ck_rules_set *recorded;
};

const char *const *
ck_amend_promised(size_t *ret_n)
{
	static const char *const promised[] = {
		"service-startup", "authenticator", "dormant-body",
		"launcher", "tui", "cli", "headless", "rotation"
	};

	*ret_n = sizeof(promised) / sizeof(promised[0]);
	return promised;
}

/* A custody with nothing under way. */
static ck_err
can_amend(const struct run *run, struct ck_fail *fail)
{
	char finish[CK_ADVICE_SIZE];
	const struct ck_view *v = &run->v;

	if (v->rec == NULL || !v->dedicated) {
		(void)ck_fail_set(fail, CK_NOSTORE, run->p->dir,
		    "there is no dedicated keychain whose records could be "
		    "changed");
		ck_advise(fail, run->p, "{migrate}");
		return CK_NOSTORE;
	}
	if (!v->journal_open)
		return CK_OK;
	ck_advice_finish(run->p, &v->journal, finish);
	(void)ck_fail_set(fail, CK_BUSY, run->p->dir,
	    "an earlier %s was not finished", v->journal.operation);
	ck_fail_next(fail, "%s", finish);
	return CK_BUSY;
}

static bool
has_row(const struct ck_rules_set *set, const struct ck_rec_protected *row)
{
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->row[i].path, row->path) == 0)
			return true;
	return false;
}

/* Is as much kept from workers as the row asks? */
static bool
has_as_much(const struct ck_rules_set *set, const struct ck_rec_protected *row)
{
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->row[i].path, row->path) == 0)
			return set->row[i].deny_read >= row->deny_read &&
			    set->row[i].directory >= row->directory;
	return false;
}

/* What was said path by path, behind the checkouts. */
static ck_err
compare_said(struct run *run, struct ck_fail *fail)
{
	const struct ck_amend_how *how = run->how;
	struct ck_rules_set *want = run->wanted;

	for (size_t i = 0; i < how->nrows; i++) {
		if (has_as_much(run->recorded, &how->rows[i])) {
			run->report->there++;
			continue;
		}
		if (want->n == CK_RULES_ROWS_MAX)
			return ck_fail_set(fail, CK_REFUSED,
			    how->rows[i].path, "is one path too many");
		want->row[want->n++] = how->rows[i];
		run->report->added++;
	}
	if (how->remove == NULL)
		return CK_OK;
	for (size_t i = 0; i < run->recorded->n; i++)
		if (strcmp(run->recorded->row[i].path, how->remove) == 0) {
			run->report->removed++;
			return CK_OK;
		}
	(void)ck_fail_set(fail, CK_ABSENT, how->remove,
	    "is not protected by a path of its own");
	ck_advise(fail, run->p, "{protect list}");
	return CK_ABSENT;
}

/* Count, and keep of the wanted rows those that are missing. */
static ck_err
compare_rows(struct run *run, struct ck_fail *fail)
{
	struct ck_rules_set *want = run->wanted;
	size_t kept = 0;
	bool found;
	ck_err r;

	want->n = 0;
	if (run->how->ncheckouts > 0 && (r = ck_rules_defaults(run->p,
	    run->how->checkouts, run->how->ncheckouts, want, fail)) != CK_OK)
		return r;
	if ((r = ck_rules_recorded(run->p, run->v.rec, run->recorded,
	    fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < want->n; i++) {
		if (strcmp(want->row[i].why, WHY_CHECKOUT) != 0)
			continue;
		found = false;
		if (ck_dotenv_find_bearer(want->row[i].path, &found, NULL,
		    NULL) == CK_OK && found)
			run->report->bearers++;
		if (has_row(run->recorded, &want->row[i]))
			run->report->there++;
		else
			want->row[kept++] = want->row[i];
	}
	want->n = kept;
	run->report->added = kept;
	return compare_said(run, fail);
}

static ck_err
compare_principals(struct run *run, struct ck_fail *fail)
{
	struct ck_rec_principal who;
	ck_err r;

	for (size_t i = 0; i < run->how->nprincipals; i++) {
		r = ck_records_principal_get(run->v.rec,
		    run->how->principals[i], &who, fail);
		if (r == CK_ABSENT) {
			(void)ck_fail_set(fail, CK_USAGE,
			    run->how->principals[i],
			    "is not a principal that the records know");
			ck_advise(fail, run->p, "{precedence list}");
			return CK_USAGE;
		}
		if (r != CK_OK)
			return r;
		if (strcmp(who.honours, run->how->honours) != 0)
			run->report->changed++;
	}
	return CK_OK;
}

/* What is to be done, from the records as they stand. */
static ck_err
compare(struct run *run, struct ck_fail *fail)
{
	ck_err r;

	memset(run->report, 0, sizeof(*run->report));
	if ((r = can_amend(run, fail)) != CK_OK ||
	    (r = compare_rows(run, fail)) != CK_OK)
		return r;
	return compare_principals(run, fail);
}

static bool
is_so(const struct run *run)
{
	return run->report->added == 0 && run->report->changed == 0 &&
	    run->report->removed == 0;
}

static ck_err
put_rows(struct run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	const struct ck_amend_how *how = run->how;
	char detail[128];
	ck_err r;

	for (size_t i = 0; i < run->wanted->n; i++)
		if ((r = ck_records_protected_add(rec, &run->wanted->row[i],
		    fail)) != CK_OK || (r = ck_records_event(rec,
		    strcmp(run->wanted->row[i].why, WHY_CHECKOUT) == 0 ?
		    "checkout-added" : "protected",
		    run->wanted->row[i].path, fail)) != CK_OK)
			return r;
	if (how->remove != NULL &&
	    (((r = ck_records_protected_remove(rec, how->remove,
	    fail)) != CK_OK && r != CK_ABSENT) ||
	    (r = ck_records_event(rec, "unprotected", how->remove,
	    fail)) != CK_OK))
		return r;
	for (size_t i = 0; i < how->nprincipals; i++) {
		(void)snprintf(detail, sizeof(detail), "%.63s %.8s",
		    how->principals[i], how->honours);
		if ((r = ck_records_principal_honours(rec, how->principals[i],
		    how->honours, fail)) != CK_OK ||
		    (r = ck_records_event(rec, "honours", detail,
		    fail)) != CK_OK)
			return r;
	}
	return CK_OK;
}

/* What is protected whatever the records say stays so; saying that it does
 * not would be a lie. */
static ck_err
is_removed(const struct run *run, struct ck_fail *fail)
{
	const char *path = run->how->remove;

	for (size_t i = 0; path != NULL && i < run->recorded->n; i++)
		if (strcmp(run->recorded->row[i].path, path) == 0)
			return ck_fail_set(fail, CK_REFUSED, path,
			    "is always protected (%s)",
			    run->recorded->row[i].why);
	return CK_OK;
}

/* Only on records that are ours, and only to what rules can be made of. */
static ck_err
change(struct run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	ck_err r;

	if ((r = ck_seal_check(run->p, rec, &run->key, &run->anchor,
	    fail)) != CK_OK ||
	    (r = put_rows(run, fail)) != CK_OK ||
	    (r = ck_rules_recorded(run->p, rec, run->recorded,
	    fail)) != CK_OK ||
	    (r = is_removed(run, fail)) != CK_OK ||
	    (r = ck_rules_possible(run->p, run->recorded, fail)) != CK_OK)
		return r;
	return ck_seal_write_key(rec, &run->key, fail);
}

static ck_err
carry_out(struct run *run, struct ck_fail *fail)
{
	struct ck_records *rec;
	ck_err r;

	if ((r = ck_view_lock(run->p, &run->v, &run->lockfd, fail)) != CK_OK ||
	    (r = compare(run, fail)) != CK_OK ||
	    (r = ck_dedicated_look_at(run->p, NULL, NULL, &run->key,
	    &run->anchor, fail)) != CK_OK)
		return r;
	rec = run->v.rec;
	if ((r = ck_records_begin(rec, fail)) != CK_OK)
		return r;
	if ((r = change(run, fail)) != CK_OK) {
		ck_records_rollback(rec);
		return r;
	}
	if ((r = ck_records_commit(rec, fail)) == CK_OK)
		r = ck_rules_write(run->p, run->v.dirfd, rec, fail);
	return r;
}

static ck_err
amend(struct run *run, struct ck_fail *fail)
{
	struct ck_fail why = CK_FAIL_INIT;
	const char *differs = NULL;
	ck_err r;

	run->wanted = calloc(1, sizeof(*run->wanted));
	run->recorded = calloc(1, sizeof(*run->recorded));
	if (run->wanted == NULL || run->recorded == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	if ((r = ck_preflight_context(run->p, run->how->operation,
	    fail)) != CK_OK ||
	    (r = ck_view_open(run->p, CK_REC_READ, &run->v, fail)) != CK_OK ||
	    (r = compare(run, fail)) != CK_OK)
		return r;
	if (run->how->dry_run)
		return CK_OK;
	/* "Already" is not said of rows that somebody else wrote, as far as
	 * that can be seen. */
	if (is_so(run) && ck_seal_records(run->p, run->v.rec,
	    &why) == CK_DAMAGED) {
		if (fail != NULL)
			*fail = why;
		return CK_DAMAGED;
	}
	/* The rules of a run that was killed behind its transaction. */
	if (is_so(run) && ((r = ck_rules_match(run->p, run->v.dirfd,
	    run->v.rec, &differs, fail)) != CK_OK || differs == NULL))
		return r;
	return carry_out(run, fail);
}

ck_err
ck_amend(struct ck_place *p, const struct ck_amend_how *how,
    struct ck_amend_report *ret, struct ck_fail *fail)
{
	struct ck_amend_report report = { 0, 0, 0, 0, 0 };
	struct run run = { p, how, &report, CK_VIEW_INIT, -1, CK_SECRET_INIT,
	    CK_ANCHOR_INIT, NULL, NULL };
	ck_err r;

	if ((r = amend(&run, fail)) == CK_OK)
		*ret = report;
	ck_secret_wipe(&run.key);
	ck_view_close(&run.v);
	ck_io_close(&run.lockfd);
	free(run.wanted);
	free(run.recorded);
	return r;
}
