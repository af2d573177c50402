/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flow of a rotation; see rotate.h.  The journal row goes first, with the
 * fingerprint of what is about to be written: whatever dies, the value that
 * lies in the keychain then tells which generation holds.
 */
#include "custody/rotate_int.h"

#include <string.h>

#include "base/io.h"
#include "custody/advice.h"
#include "custody/anchor.h"
#include "custody/broker.h"
#include "custody/preflight.h"
#include "custody/seal.h"

static void
run_init(struct ck_rotate_run *run, struct ck_place *p,
    const struct ck_rotate_how *how)
{
	const struct ck_view v = CK_VIEW_INIT;

	memset(run, 0, sizeof(*run));
	run->p = p;
	run->how = how;
	run->v = v;
	run->lockfd = -1;
}

static void
run_done(struct ck_rotate_run *run)
{
	ck_secret_wipe(&run->next);
	ck_secret_wipe(&run->now);
	ck_secret_wipe(&run->key);
	ck_secret_wipe(&run->password);
	ck_view_close(&run->v);
	ck_io_close(&run->lockfd);
}

/* Only what lies in the dedicated keychain, with nothing else unfinished. */
static ck_err
can_rotate(const struct ck_view *v, const struct ck_place *p,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_view_unhindered(v, p, CK_ROTATE_OPERATION, fail)) != CK_OK)
		return r;
	if (!v->known || v->row.state != CK_STATE_DEDICATED) {
		(void)ck_fail_set(fail, CK_NOSTORE, p->keychain,
		    "does not hold %s: only a migrated credential is rotated",
		    p->credential);
		ck_advise(fail, p, "{migrate}");
		return CK_NOSTORE;
	}
	if (v->dedicated)
		return CK_OK;
	(void)ck_fail_set(fail, CK_NOSTORE, p->keychain,
	    "the records say the credential is here, but the file is missing");
	ck_advise(fail, p, "put it back from a backup; if it is lost for "
	    "good: {reset}");
	return CK_NOSTORE;
}

/* The next step when a value could not go back. */
static const char form[] = "give it in the form that the broker holds, "
    "{\"type\":\"api\",\"key\":\"...\"}: restore has to be able to put it back";

/* What can be said about the new value before it is needed. */
static ck_err
value_fits(const struct ck_place *p, const struct ck_secret *value,
    struct ck_fail *fail)
{
	ck_err r;

	if (value == NULL && p->format != CK_FORMAT_OPERATOR_BEARER) {
		(void)ck_fail_set(fail, CK_UNSUPPORTED, p->credential,
		    "cannot be minted here: its new value comes from whoever "
		    "issues it");
		ck_advise(fail, p, "{rotate}");
		return CK_UNSUPPORTED;
	}
	if (value == NULL)
		return CK_OK;
	if (ck_format_check(p->format, value) != CK_OK)
		return ck_fail_set(fail, CK_USAGE, p->credential,
		    "the given value does not have the form of this "
		    "credential");
	/* There is a way back for every value. */
	if ((r = ck_broker_could_hold(p, value, fail)) == CK_UNSUPPORTED)
		ck_fail_next(fail, "%s", form);
	return r;
}

/* The lock, and everything again under it. */
static ck_err
take_lock(struct ck_rotate_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_view_lock(run->p, &run->v, &run->lockfd, fail)) != CK_OK)
		return r;
	return can_rotate(&run->v, run->p, fail);
}

static ck_err
is_at(const struct ck_rotate_run *run, uint64_t generation,
    struct ck_fail *fail)
{
	if (run->v.row.generation == generation)
		return CK_OK;
	(void)ck_fail_set(fail, CK_CHANGED, run->p->credential,
	    "is at generation %llu and not at %llu; nothing was written",
	    (unsigned long long)run->v.row.generation,
	    (unsigned long long)generation);
	ck_advise(fail, run->p, "{get} gives the present value");
	return CK_CHANGED;
}

/* The value to come: the given one, if it is another one, or a new one. */
static ck_err
make_next(struct ck_rotate_run *run, struct ck_fail *fail)
{
	const struct ck_secret *value = run->how->value;
	bool same = false;
	ck_err r;

	if (value == NULL) {
		if ((r = ck_bearer_mint(&run->next)) != CK_OK)
			return ck_fail_set(fail, r, NULL,
			    "no bearer can be made");
		return CK_OK;
	}
	if ((r = ck_format_same(run->p->format, value, &run->now,
	    &same)) != CK_OK || same)
		return ck_fail_set(fail, r == CK_OK ? CK_REFUSED : r,
		    run->p->credential, "the given value is the present one");
	if ((r = ck_broker_may_follow(run->p, value, &run->now,
	    fail)) != CK_OK) {
		ck_fail_next(fail, "%s", form);
		return r;
	}
	if ((r = ck_secret_copy(value->p, value->n, &run->next)) != CK_OK)
		return ck_fail_set(fail, r, NULL, "no memory");
	return CK_OK;
}

static ck_err
carry_out(struct ck_rotate_run *run, struct ck_fail *fail)
{
	ck_err r;

	/* What would stop it half-way is asked before anything is changed. */
	if ((r = ck_anchor_writable(run->p, fail)) != CK_OK ||
	    (r = make_next(run, fail)) != CK_OK ||
	    (r = ck_rotate_begin(run, fail)) != CK_OK)
		return r;
	run->v.journal_open = true;
	if ((r = ck_rotate_write(run, fail)) == CK_OK)
		r = ck_rotate_finish(run, fail);
	if (r != CK_OK && run->v.journal_open && fail != NULL)
		ck_advise(fail, run->p, "{rotate} again settles what was "
		    "begun; the credential can be read meanwhile");
	return r;
}

/* After an interrupted rotation came to its end: is that all that was asked?
 * A given value, or a generation that was already seen, asks for more. */
static bool
is_enough(const struct ck_rotate_run *run)
{
	bool same = false;

	if (run->how->value != NULL)
		return ck_format_same(run->p->format, run->how->value,
		    &run->now, &same) == CK_OK && same;
	return !run->how->if_generation ||
	    run->how->generation != run->v.row.generation;
}

static ck_err
rotate_locked(struct ck_rotate_run *run, enum ck_rotate_end *ret,
    struct ck_fail *fail)
{
	bool landed = false;
	ck_err r;

	if ((r = ck_rotate_read(run, fail)) != CK_OK)
		return r;
	if (run->v.journal_open &&
	    (r = ck_rotate_settle(run, &landed, fail)) != CK_OK)
		return r;
	if (landed && is_enough(run)) {
		/* The generation that was meant is the one before. */
		if (run->how->if_generation &&
		    (r = is_at(run, run->how->generation + 1, fail)) != CK_OK)
			return r;
		*ret = CK_ROTATE_RESUMED;
		return CK_OK;
	}
	if (landed)
		run->seen++;
	/* Somebody who rotated while we waited has done what was asked. */
	if ((r = is_at(run, run->how->if_generation ? run->how->generation :
	    run->seen, fail)) != CK_OK)
		return r;
	*ret = CK_ROTATED;
	return carry_out(run, fail);
}

ck_err
ck_rotate(struct ck_place *p, const struct ck_rotate_how *how,
    struct ck_rotate_report *ret, struct ck_fail *fail)
{
	enum ck_rotate_end end = CK_ROTATED;
	struct ck_rotate_run run;
	ck_err r;

	run_init(&run, p, how);
	if ((r = ck_preflight_context(p, CK_ROTATE_OPERATION, fail)) != CK_OK ||
	    (r = ck_preflight_selftest(fail)) != CK_OK ||
	    (r = ck_view_open(p, CK_REC_READ, &run.v, fail)) != CK_OK ||
	    (r = can_rotate(&run.v, p, fail)) != CK_OK ||
	    (r = value_fits(p, how->value, fail)) != CK_OK)
		goto out;
	run.seen = run.v.row.generation;
	if ((r = take_lock(&run, fail)) != CK_OK ||
	    (r = rotate_locked(&run, &end, fail)) != CK_OK)
		goto out;
	memset(ret, 0, sizeof(*ret));
	ret->end = end;
	ret->generation = run.v.row.generation;
	memcpy(ret->fingerprint, run.v.row.fingerprint,
	    sizeof(ret->fingerprint));
	memcpy(ret->keychain, p->keychain, sizeof(ret->keychain));
out:
	run_done(&run);
	return r;
}
