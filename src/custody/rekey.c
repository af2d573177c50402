/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of replacing the keychain; see rekey.h. */
#include "custody/rekey_int.h"

#include <string.h>

#include "base/io.h"
#include "custody/advice.h"
#include "custody/preflight.h"
#include "store/login.h"

static void
run_init(struct ck_rekey_run *run, struct ck_place *p)
{
	const struct ck_view v = CK_VIEW_INIT;

	memset(run, 0, sizeof(*run));
	run->p = p;
	run->v = v;
	run->lockfd = -1;
}

static void
run_done(struct ck_rekey_run *run)
{
	ck_secret_wipe(&run->key);
	ck_secret_wipe(&run->next);
	ck_secret_wipe(&run->password);
	ck_view_close(&run->v);
	ck_io_close(&run->lockfd);
}

static ck_err
first_moved(void *arg, const struct ck_rec_credential *row)
{
	char *name = arg;

	if (name[0] == '\0' && row->state == CK_STATE_DEDICATED)
		memcpy(name, row->name, sizeof(row->name));
	return CK_OK;
}

/* The keychain is found by what it holds, which may be another credential
 * than the operator's bearer. */
static ck_err
look(struct ck_rekey_run *run, struct ck_fail *fail)
{
	char name[sizeof(run->v.row.name)] = "";
	ck_err r;

	if ((r = ck_view_open(run->p, CK_REC_READ, &run->v, fail)) != CK_OK ||
	    run->v.rec == NULL || (run->v.known &&
	    run->v.row.state == CK_STATE_DEDICATED))
		return r;
	if ((r = ck_records_credential_each(run->v.rec, first_moved, name,
	    fail)) != CK_OK || name[0] == '\0')
		return r;
	memcpy(run->p->credential, name, sizeof(run->p->credential));
	ck_view_close(&run->v);
	return ck_view_open(run->p, CK_REC_READ, &run->v, fail);
}

/* A migrated keychain with nothing else unfinished. */
static ck_err
can_rekey(const struct ck_view *v, const struct ck_place *p,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_view_unhindered(v, p, CK_REKEY_OPERATION, fail)) != CK_OK)
		return r;
	if (!v->known || v->row.state != CK_STATE_DEDICATED) {
		(void)ck_fail_set(fail, CK_NOSTORE, p->keychain,
		    "there is no dedicated keychain yet");
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

/* The new file, as far as everything can still be undone. */
static ck_err
bring_in(struct ck_rekey_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_rekey_password(run, fail)) != CK_OK ||
	    (r = ck_rekey_build(run, fail)) != CK_OK)
		return r;
	return ck_rekey_exchange(run, fail);
}

static ck_err
carry_out(struct ck_rekey_run *run, struct ck_fail *fail)
{
	const struct ck_login old = { run->p->keychain, &run->password,
	    CK_WAIT_MS };
	bool landed = true;
	ck_err r;

	/* Before anything is changed, and again when it is done. */
	if ((r = ck_dedicated_alone(run->p, fail)) != CK_OK ||
	    (r = ck_login_can_renew(&old, fail)) != CK_OK ||
	    (r = ck_rekey_begin(run, fail)) != CK_OK)
		return r;
	run->v.journal_open = true;
	memset(&run->v.journal, 0, sizeof(run->v.journal));
	if ((r = bring_in(run, fail)) == CK_OK)
		r = ck_rekey_finish(run, fail);
	else if (ck_rekey_landed(run, &landed, NULL) == CK_OK && !landed)
		/* What cannot be undone now is left to the next call. */
		(void)!ck_rekey_undo(run, NULL);
	if (r != CK_OK && run->v.journal_open && fail != NULL)
		ck_advise(fail, run->p, "{" CK_REKEY_OPERATION "} again "
		    "settles what was begun; everything can be read "
		    "meanwhile");
	return r;
}

/* An interrupted run: finished if its file has the name, else undone. */
static ck_err
settle(struct ck_rekey_run *run, bool *ret_landed, struct ck_fail *fail)
{
	bool landed = false;
	ck_err r;

	memcpy(run->nonce, run->v.journal.nonce, sizeof(run->nonce));
	if ((r = ck_rekey_landed(run, &landed, fail)) != CK_OK)
		return r;
	*ret_landed = landed;
	if (!landed)
		return ck_rekey_undo(run, fail);
	if ((r = ck_secret_copy(run->password.p, run->password.n,
	    &run->next)) != CK_OK)
		return ck_fail_set(fail, r, NULL, "no secure memory");
	return ck_rekey_finish(run, fail);
}

static ck_err
rekey_locked(struct ck_rekey_run *run, enum ck_rekey_end *ret,
    struct ck_fail *fail)
{
	bool landed = false;
	ck_err r;

	if ((r = ck_rekey_read(run, fail)) != CK_OK)
		return r;
	if (run->v.journal_open && (r = settle(run, &landed, fail)) != CK_OK) {
		if (fail != NULL && fail->next[0] == '\0')
			ck_advise(fail, run->p, "{" CK_REKEY_OPERATION "}");
		return r;
	}
	*ret = landed ? CK_REKEY_RESUMED : CK_REKEYED;
	return landed ? CK_OK : carry_out(run, fail);
}

static ck_err
report(const struct ck_rekey_run *run, enum ck_rekey_end end,
    struct ck_rekey_report *ret, struct ck_fail *fail)
{
	const struct ck_login login = { run->p->keychain, NULL, CK_WAIT_MS };
	struct ck_login_status st;
	ck_err r;

	if ((r = ck_login_status(&login, &st, fail)) != CK_OK)
		return r;
	memset(ret, 0, sizeof(*ret));
	ret->end = end;
	ret->items = st.items;
	ret->generation = run->v.row.generation;
	memcpy(ret->keychain, run->p->keychain, sizeof(ret->keychain));
	memcpy(ret->signature, st.signature, sizeof(ret->signature));
	memcpy(ret->fingerprint, run->v.row.fingerprint,
	    sizeof(ret->fingerprint));
	return CK_OK;
}

ck_err
ck_rekey(struct ck_place *p, struct ck_rekey_report *ret,
    struct ck_fail *fail)
{
	enum ck_rekey_end end = CK_REKEYED;
	struct ck_rekey_run run;
	ck_err r;

	run_init(&run, p);
	if ((r = ck_preflight_context(p, CK_REKEY_OPERATION, fail)) != CK_OK ||
	    (r = ck_preflight_selftest(fail)) != CK_OK ||
	    (r = look(&run, fail)) != CK_OK ||
	    (r = can_rekey(&run.v, p, fail)) != CK_OK)
		goto out;
	if ((r = ck_view_lock(p, &run.v, &run.lockfd, fail)) != CK_OK ||
	    (r = can_rekey(&run.v, p, fail)) != CK_OK ||
	    (r = rekey_locked(&run, &end, fail)) != CK_OK)
		goto out;
	r = report(&run, end, ret, fail);
out:
	run_done(&run);
	return r;
}
