/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flow of a restore; see restore.h.  As long as the keychain has its name
 * it decides, also when the records name the broker already: both hold the
 * same value by then, and the seal is still there to prove the records.
 */
#include "custody/restore_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "custody/advice.h"
#include "custody/broker.h"
#include "custody/joined.h"
#include "custody/preflight.h"
#include "custody/rules.h"
#include "custody/seal.h"

static void
run_init(struct ck_restore_run *run, struct ck_place *p)
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
run_done(struct ck_restore_run *run)
{
	ck_secret_wipe(&run->value);
	ck_secret_wipe(&run->key);
	ck_secret_wipe(&run->password);
	ck_view_close(&run->v);
	ck_broker_lock_release(&run->broker_lock);
	ck_io_close(&run->lockfd);
}

/* Nothing of it is in our custody, and nothing is under way. */
static bool
all_done(const struct ck_view *v)
{
	return !v->journal_open && !ck_view_is_dedicated(v);
}

/* An interrupted run has come past the keychain's name. */
static bool
is_retired(const struct ck_view *v)
{
	return v->journal_open && !ck_view_is_dedicated(v);
}

/* Only what lies in the dedicated keychain, with nothing else unfinished. */
static ck_err
can_restore(struct ck_restore_run *run, struct ck_fail *fail)
{
	const struct ck_view *v = &run->v;
	const struct ck_place *p = run->p;
	ck_err r;

	if ((r = ck_view_unhindered(v, p, CK_RESTORE_OPERATION,
	    fail)) != CK_OK)
		return r;
	run->resumed = v->journal_open;
	if (run->resumed)
		memcpy(run->nonce, v->journal.nonce, sizeof(run->nonce));
	if (all_done(v) || is_retired(v))
		return CK_OK;
	if (!v->known)
		return ck_fail_set(fail, CK_NOSTORE, p->keychain,
		    "holds another credential; the records know no %s",
		    p->credential);
	if (!v->dedicated) {
		(void)ck_fail_set(fail, CK_NOSTORE, p->keychain,
		    "the records say the credential is here, but the file is "
		    "missing");
		ck_advise(fail, p, "put it back from a backup; if it is lost "
		    "for good: {reset}");
		return CK_NOSTORE;
	}
	if (v->row.state != CK_STATE_BROKER || run->resumed)
		return CK_OK;
	(void)ck_fail_set(fail, CK_DAMAGED, p->keychain,
	    "is there although the records say that %s lies in the broker",
	    p->credential);
	ck_fail_next(fail, "a file that was put back after a restore: move "
	    "%s away", p->operator_dir);
	return CK_DAMAGED;
}

/* What one place holds, if anything, must be what is going there; *ret_there:
 * it is. */
static ck_err
agrees(const struct ck_restore_run *run, const struct ck_place *where,
    bool *ret_there, struct ck_fail *fail)
{
	struct ck_secret other = CK_SECRET_INIT;
	bool same = false;
	ck_err r;

	r = ck_broker_read(where, &other, fail);
	if (r == CK_OK && (ck_broker_same(where, &run->value, &other,
	    &same) != CK_OK || !same)) {
		(void)ck_fail_set(fail, CK_DECIDE, where->broker,
		    "holds another value of this credential than %.400s",
		    run->p->keychain);
		ck_fail_next(fail, "decide which one is right; a wrong one in "
		    "the broker is removed with the program that wrote it");
		r = CK_DECIDE;
	}
	ck_secret_wipe(&other);
	if (r != CK_OK && r != CK_ABSENT)
		return r;
	*ret_there = r == CK_OK;
	return CK_OK;
}

/* Would the broker take the value, which it does not hold yet?  What older
 * programs let in has a way on, too. */
static ck_err
takes(const struct ck_restore_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_broker_could_hold(run->p, &run->value,
	    fail)) == CK_UNSUPPORTED)
		ck_advise(fail, run->p, "{get} still gives it; {rotate} with "
		    "the value in the form {\"type\":\"api\",\"key\":\"...\"}, "
		    "then {restore}");
	if (r != CK_OK)
		return r;
	return ck_broker_puttable(run->p, &run->value, fail);
}

/* The broker and, when that is a keychain, the file broker beside it. */
static ck_err
broker_ready(struct ck_restore_run *run, struct ck_fail *fail)
{
	struct ck_place other = *run->p;
	bool there;
	ck_err r;

	if ((r = agrees(run, run->p, &run->there, fail)) != CK_OK)
		return r;
	if (other.broker_kind == CK_KIND_LOGIN_KEYCHAIN) {
		other.broker_kind = CK_KIND_FILE_BROKER;
		memcpy(other.broker, other.file_broker, sizeof(other.broker));
		if ((r = agrees(run, &other, &there, fail)) != CK_OK)
			return r;
	}
	return run->there ? CK_OK : takes(run, fail);
}

/* A row alone does not say that the keychain was put out of its name by us:
 * the anchor does, which went first; and beside others, the seal. */
static ck_err
may_clear_away(struct ck_restore_run *run, struct ck_fail *fail)
{
	return run->v.dedicated ?
	    ck_seal_records(run->p, run->v.rec, fail) :
	    ck_preflight_orphan(run->p, &run->v, fail);
}

/* Everything that can be known before a change, under the custody lock. */
static ck_err
preflight(struct ck_restore_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = can_restore(run, fail)) != CK_OK || all_done(&run->v))
		return r;
	if (is_retired(&run->v))
		return may_clear_away(run, fail);
	if ((r = ck_seal_open(run->p, run->v.rec, &run->password, &run->value,
	    &run->key, fail)) != CK_OK)
		return r;
	/* A resumed run that is refused is taken back, under every lock. */
	return run->resumed && !run->dry_run ? CK_OK :
	    broker_ready(run, fail);
}

static ck_err
take_lock(struct ck_restore_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	ck_err r;

	if ((r = ck_place_lock(p, run->v.dirfd, &run->lockfd, fail)) != CK_OK)
		return r;
	ck_view_close(&run->v);
	if ((r = ck_view_open(p, CK_REC_WRITE, &run->v, fail)) != CK_OK)
		return r;
	return preflight(run, fail);
}

/* Clankie's own lock, which an interrupted run may have left.  Where the
 * broker's directory is missing there is nothing to lock yet. */
static ck_err
take_broker_lock(struct ck_restore_run *run, struct ck_fail *fail)
{
	ck_err r = ck_broker_lock(run->p, &run->broker_lock, fail);

	return r == CK_NOSTORE &&
	    run->p->broker_kind == CK_KIND_FILE_BROKER ? CK_OK : r;
}

/* The broker has it again, and the records say so. */
static ck_err
give_back(struct ck_restore_run *run, struct ck_fail *fail)
{
	ck_err r;

	/* What the lock keeps still is looked at again. */
	if ((r = broker_ready(run, fail)) != CK_OK)
		return r;
	run->begun = true;
	if (!run->resumed && (r = ck_restore_begin(run, fail)) != CK_OK)
		return r;
	run->v.journal_open = true;
	if ((r = ck_restore_write(run, fail)) != CK_OK)
		return r;
	if (run->v.row.state == CK_STATE_BROKER)
		return CK_OK;
	return ck_restore_record(run, fail);
}

/* A run that was begun earlier is as if it had never been: that is said. */
static void
say_undone(const struct ck_restore_run *run, struct ck_fail *fail)
{
	size_t n;

	if (!run->resumed || run->v.journal_open || fail == NULL)
		return;
	n = strlen(fail->why);
	(void)snprintf(fail->why + n, sizeof(fail->why) - n, "; the restore "
	    "that was begun is taken back, and %s is where it was",
	    run->p->credential);
}

static ck_err
carry_out(struct ck_restore_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = take_broker_lock(run, fail)) == CK_OK &&
	    !is_retired(&run->v))
		r = give_back(run, fail);
	if (r != CK_OK && run->resumed && !run->begun)
		ck_restore_undo(run);
	if (r != CK_OK)
		say_undone(run, fail);
	if (r == CK_OK &&
	    (r = ck_restore_retire(run, fail)) == CK_OK)
		r = ck_restore_finish(run, fail);
	if (r != CK_OK && run->v.journal_open && fail != NULL &&
	    fail->next[0] == '\0')
		ck_advise(fail, run->p, "{restore} again finishes what was "
		    "begun; the credential can be read meanwhile");
	return r;
}

/* "Already there" is said only of something that is there. */
static ck_err
still_there(struct ck_restore_run *run, struct ck_fail *fail)
{
	ck_err r;

	if (!run->v.dedicated &&
	    (r = ck_preflight_orphan(run->p, &run->v, fail)) != CK_OK)
		return r;
	return ck_broker_read(run->p, NULL, fail);
}

/* Do the rules keep a worker from reading the broker's file? */
static ck_err
is_covered(const struct ck_restore_run *run, bool *ret, struct ck_fail *fail)
{
	struct ck_rules_set *set;
	ck_err r;

	if (run->v.rec == NULL)
		return CK_OK;
	if ((set = calloc(1, sizeof(*set))) == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	r = ck_rules_recorded(run->p, run->v.rec, set, fail);
	for (size_t i = 0; r == CK_OK && i < set->n; i++)
		if (set->row[i].deny_read &&
		    ck_path_under(run->p->broker, set->row[i].path))
			*ret = true;
	free(set);
	return r;
}

static ck_err
report(struct ck_restore_run *run, enum ck_restore_end end,
    struct ck_restore_report *ret, struct ck_fail *fail)
{
	const struct ck_place *p = run->p;
	struct ck_restore_report made;
	ck_err r;

	memset(&made, 0, sizeof(made));
	made.end = end;
	made.broker_kind = p->broker_kind;
	memcpy(made.broker, p->broker, sizeof(made.broker));
	memcpy(made.keychain, p->keychain, sizeof(made.keychain));
	memcpy(made.rules, p->rules, sizeof(made.rules));
	if (run->v.rec != NULL && (r = ck_joined_others(p, run->v.rec,
	    &made.stays, fail)) != CK_OK)
		return r;
	if ((r = is_covered(run, &made.covered, fail)) == CK_OK)
		*ret = made;
	return r;
}

ck_err
ck_restore(struct ck_place *p, bool dry_run, struct ck_restore_report *ret,
    struct ck_fail *fail)
{
	enum ck_restore_end end = CK_RESTORE_PLANNED;
	struct ck_restore_run run;
	ck_err r;

	run_init(&run, p);
	run.dry_run = dry_run;
	if ((r = ck_preflight_context(p, CK_RESTORE_OPERATION,
	    fail)) != CK_OK ||
	    (r = ck_preflight_selftest(fail)) != CK_OK ||
	    (r = ck_view_open(p, CK_REC_READ, &run.v, fail)) != CK_OK ||
	    (r = can_restore(&run, fail)) != CK_OK)
		goto out;
	if (!all_done(&run.v) && (r = take_lock(&run, fail)) != CK_OK)
		goto out;
	if (all_done(&run.v)) {
		end = CK_RESTORE_ALREADY;
		r = still_there(&run, fail);
	} else if (!dry_run) {
		end = run.resumed ? CK_RESTORE_RESUMED : CK_RESTORED;
		r = carry_out(&run, fail);
	}
	if (r == CK_OK)
		r = report(&run, end, ret, fail);
out:
	run_done(&run);
	return r;
}
