/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of a reset; see reset.h. */
#include "custody/reset_int.h"

#include <string.h>

#include "base/io.h"
#include "custody/advice.h"
#include "custody/broker.h"
#include "custody/dedicated.h"
#include "custody/preflight.h"
#include "custody/seal.h"

static void
run_init(struct ck_reset_run *run, struct ck_place *p)
{
	const struct ck_view v = CK_VIEW_INIT;
	const struct ck_broker_lock lock = CK_BROKER_LOCK_INIT;

	memset(run, 0, sizeof(*run));
	run->p = p;
	run->v = v;
	run->broker_lock = lock;
	run->lockfd = -1;
}

static void
run_done(struct ck_reset_run *run)
{
	ck_secret_wipe(&run->password);
	ck_view_close(&run->v);
	ck_broker_lock_release(&run->broker_lock);
	ck_io_close(&run->lockfd);
}

/* Not this one; but what of the others? */
static void
lost_beside(const struct ck_reset_run *run, struct ck_fail *fail)
{
	struct ck_place at = *run->p;
	struct ck_rec_credential row;
	bool any = run->v.rec != NULL &&
	    ck_reset_any(run, &row, NULL) == CK_OK;

	if (any)
		memcpy(at.credential, row.name, sizeof(at.credential));
	ck_advise(fail, &at, any ? "{reset}" : "{status}");
}

/* Is there anything to be given up? */
static ck_err
can_reset(struct ck_reset_run *run, struct ck_fail *fail)
{
	const struct ck_view *v = &run->v;
	struct ck_place *p = run->p;
	ck_err r;

	if (v->rec != NULL && v->known &&
	    (r = ck_reset_broker_has(run, &run->keeps, fail)) != CK_OK)
		return r;
	if (v->rec == NULL || !v->known || (!run->keeps &&
	    v->row.state != CK_STATE_DEDICATED &&
	    v->row.state != CK_STATE_RESTORING)) {
		(void)ck_fail_set(fail, CK_NOSTORE, p->keychain,
		    "does not hold %s: only a migrated credential can be lost",
		    p->credential);
		lost_beside(run, fail);
		return CK_NOSTORE;
	}
	run->resumed = v->journal_open &&
	    strcmp(v->journal.operation, CK_RESET_OPERATION) == 0 &&
	    strcmp(v->journal.credential, p->credential) == 0;
	run->taken_over = v->journal_open && !run->resumed;
	if (run->resumed)
		memcpy(run->nonce, v->journal.nonce, sizeof(run->nonce));
	return ck_reset_others(run, fail);
}

static ck_err
nothing_lost(const struct ck_reset_run *run, struct ck_fail *fail)
{
	ck_err r;

	/* What keeps the credential from being read is that one, then. */
	if (run->taken_over && (r = ck_view_unhindered(&run->v, run->p,
	    CK_RESET_OPERATION, fail)) != CK_OK)
		return r;
	(void)ck_fail_set(fail, CK_REFUSED, run->p->keychain,
	    "is opened by the stored unlock password and holds %s: nothing is "
	    "lost", run->p->credential);
	ck_advise(fail, run->p, "{rotate}");
	return CK_REFUSED;
}

/* No value of what is given up, in a broker or, of the others, in the
 * keychain itself. */
static ck_err
none_elsewhere(struct ck_reset_run *run, struct ck_fail *fail)
{
	ck_err r = ck_reset_no_other(run->p, run->keeps, fail);

	return r == CK_OK ? ck_reset_others_lost(run, fail) : r;
}

/* What an interrupted reset had made is lost as well: a reset of its own, with
 * names of its own for what it keeps aside. */
static void
begin_over(struct ck_reset_run *run)
{
	run->resumed = false;
	run->taken_over = true;
	run->over_again = true;
}

/* The row says that the old ones are kept aside, and no keychain is there.  A
 * password that is not of this reset is kept aside, too: it may open what
 * somebody took away. */
static ck_err
goes_on_without(struct ck_reset_run *run, struct ck_fail *fail)
{
	bool foreign = false;
	ck_err r;

	if ((r = ck_reset_is_foreign(run, &foreign, fail)) != CK_OK)
		return r;
	if (foreign || run->v.hollow)
		begin_over(run);
	return none_elsewhere(run, fail);
}

/* Everything that is asked before a change, and again under the locks. */
static ck_err
preflight(struct ck_reset_run *run, struct ck_fail *fail)
{
	bool ours = false;
	ck_err r;

	if ((r = can_reset(run, fail)) != CK_OK)
		return r;
	/* What is kept aside already is given up; a bearer is still to be made
	 * unless the new keychain is there.  A row that nothing but itself
	 * tells of is no reason to give up anything. */
	if (run->resumed && run->v.journal.step >= CK_RESET_ASIDE) {
		if (!run->v.dedicated &&
		    run->v.journal.step < CK_RESET_INSTALLED)
			return goes_on_without(run, fail);
		if (run->v.dedicated &&
		    (((r = ck_reset_is_ours(run, &ours, fail)) != CK_OK &&
		    r != CK_NOSTORE) || ours))
			return r;
	}
	if ((r = ck_reset_judge(run->p, &run->v, &run->lost, fail)) != CK_OK)
		return r;
	if (run->lost != CK_LOST_NOTHING) {
		/* The new ones had taken the place of the old ones, and are
		 * lost in their turn; or what is there now is of neither. */
		if (run->resumed && run->v.journal.step >= CK_RESET_ASIDE)
			begin_over(run);
		return none_elsewhere(run, fail);
	}
	if (run->resumed && run->lockfd >= 0 &&
	    (r = ck_reset_withdraw(run, fail)) != CK_OK)
		return r;
	return run->resumed && run->lockfd < 0 ? CK_OK :
	    nothing_lost(run, fail);
}

/* Nobody can be asked any more whether it is the one that was moved. */
static void
would_keep(const struct ck_reset_run *run, const char *names,
    struct ck_fail *fail)
{
	bool others = run->others.n > 0;

	(void)ck_fail_set(fail, CK_DECIDE, run->p->keychain,
	    "%s, and %.300s still has %s from a %s that was not finished: its "
	    "copy, which every program of yours could change, would be in "
	    "charge again%s%s%s; nothing was changed",
	    ck_lost_text(run->lost), run->p->broker, run->p->credential,
	    run->v.journal.operation, others ? ", and " : "", names, others ?
	    " would be given up for good" : "");
}

static ck_err
not_confirmed(struct ck_reset_run *run, struct ck_fail *fail)
{
	char names[256];
	bool others = run->others.n > 0;

	ck_reset_names_text(&run->others, names, sizeof(names));
	if (run->keeps && !run->resumed)
		would_keep(run, names, fail);
	else if (run->resumed)
		(void)ck_fail_set(fail, CK_DECIDE, run->p->dir,
		    "an earlier reset of %s was not finished",
		    run->p->credential);
	else
		(void)ck_fail_set(fail, CK_DECIDE, run->p->keychain,
		    "%s: %s%s%s%s%s%s; nothing was changed",
		    ck_lost_text(run->lost), run->mint ? "the bearer " : "",
		    run->mint ? run->p->credential : "", run->mint ?
		    " cannot be read any more and would be given up for a new "
		    "one" : "", run->mint && others ? ", and " : "", names,
		    others ? " would be given up for good, for only whoever "
		    "issued it can give a new value" : "");
	ck_advise(fail, run->p, "put back what is missing if there is a "
	    "backup; if not: {" CK_RESET_OPERATION "}");
	return CK_DECIDE;
}

static ck_err
take_locks(struct ck_reset_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_place_lock(run->p, run->v.dirfd, &run->lockfd,
	    fail)) != CK_OK)
		return r;
	ck_view_close(&run->v);
	if ((r = ck_view_open_lost(run->p, CK_REC_WRITE, &run->v,
	    fail)) != CK_OK)
		return r;
	/* So that no other program puts a bearer there meanwhile; without the
	 * broker's directory there is nobody to wait for. */
	r = ck_broker_lock(run->p, &run->broker_lock, fail);
	if (r != CK_OK && r != CK_NOSTORE)
		return r;
	return preflight(run, fail);
}

static ck_err
carry_out(struct ck_reset_run *run, struct ck_fail *fail)
{
	int step = run->resumed ? run->v.journal.step : 0;
	ck_err r = CK_OK;

	/* Its keychain was never in place, and nobody saw the bearer in it. */
	if (run->over_again && (r = ck_dedicated_discard(run->p, run->v.dirfd,
	    CK_SCRATCH_PREFIX, run->v.journal.nonce, fail)) != CK_OK)
		return r;
	if (step < CK_RESET_BEGUN &&
	    (r = ck_reset_begin(run, fail)) != CK_OK)
		return r;
	if (step < CK_RESET_ASIDE)
		r = ck_reset_aside(run, fail);
	if (r == CK_OK && !run->mint)
		return ck_reset_leave(run, fail);
	if (r == CK_OK && step < CK_RESET_INSTALLED &&
	    (r = ck_reset_install(run, fail)) == CK_OK)
		r = ck_reset_record(run, fail);
	if (r == CK_OK)
		return ck_reset_finish(run, fail);
	if (!run->installed && !run->resumed && !run->taken_over)
		ck_reset_undo(run);
	return r;
}

static void
report(const struct ck_reset_run *run, struct ck_reset_report *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->resumed = run->resumed;
	ret->lost = run->lost;
	ret->minted = run->mint;
	ret->broker_kept = run->keeps;
	ret->others = run->others;
	if (run->mint) {
		ret->generation = run->v.row.generation;
		memcpy(ret->fingerprint, run->v.row.fingerprint,
		    sizeof(ret->fingerprint));
		memcpy(ret->keychain, run->p->keychain,
		    sizeof(ret->keychain));
	}
	memcpy(ret->rules, run->p->rules, sizeof(ret->rules));
	ck_reset_kept(run, ret);
}

ck_err
ck_reset(struct ck_place *p, bool confirmed, struct ck_reset_report *ret,
    struct ck_fail *fail)
{
	struct ck_reset_run run;
	ck_err r;

	run_init(&run, p);
	if ((r = ck_preflight_context(p, CK_RESET_OPERATION, fail)) != CK_OK ||
	    (r = ck_preflight_selftest(fail)) != CK_OK ||
	    (r = ck_view_open_lost(p, CK_REC_READ, &run.v, fail)) != CK_OK ||
	    (r = preflight(&run, fail)) != CK_OK)
		goto out;
	if (!confirmed) {
		r = not_confirmed(&run, fail);
		goto out;
	}
	if ((r = take_locks(&run, fail)) != CK_OK)
		goto out;
	if ((r = carry_out(&run, fail)) == CK_OK)
		report(&run, ret);
	else if (run.v.journal_open && fail != NULL && fail->next[0] == '\0')
		ck_advise(fail, run.p, "{" CK_RESET_OPERATION "} again "
		    "finishes what was begun");
out:
	run_done(&run);
	return r;
}
