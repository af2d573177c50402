/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a reset; see reset_int.h. */
#include "custody/reset_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "custody/advice.h"
#include "custody/broker.h"
#include "custody/anchor.h"
#include "custody/locator.h"
#include "custody/rules.h"
#include "custody/seal.h"
#include "store/unlock.h"

static ck_err
begin_rows(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	struct ck_rec_journal j;
	ck_err r;

	/* What was open can never be finished: it needs the lost key. */
	if (run->taken_over && (r = ck_records_journal_close(rec,
	    run->v.journal.nonce, fail)) != CK_OK)
		return r;
	memset(&j, 0, sizeof(j));
	memcpy(j.operation, CK_RESET_OPERATION, sizeof(CK_RESET_OPERATION));
	memcpy(j.nonce, run->nonce, sizeof(j.nonce));
	memcpy(j.credential, run->p->credential, sizeof(j.credential));
	j.step = CK_RESET_BEGUN;
	j.from_generation = run->v.row.generation;
	j.to_generation = j.from_generation + (run->keeps ? 0 : 1);
	return ck_records_journal_open(rec, &j, fail);
}

/* This row and nothing else, so that without it the records fit the old seal
 * again: see ck_reset_withdraw(). */
ck_err
ck_reset_begin(struct ck_reset_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_view_nonce(run->nonce, fail)) != CK_OK ||
	    (r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = begin_rows(run, fail)) != CK_OK) {
		ck_records_rollback(run->v.rec);
		return r;
	}
	if ((r = ck_records_commit(run->v.rec, fail)) == CK_OK)
		run->v.journal_open = true;
	return r;
}

/* Is the password beside this anchor one that this reset stored? */
static bool
is_noted(const struct ck_reset_run *run, const struct ck_anchor *anchor)
{
	char note[CK_ANCHOR_NOTE_SIZE];

	return ck_anchor_note_of(CK_RESET_OPERATION, run->p->credential,
	    run->nonce, note, NULL) == CK_OK &&
	    strcmp(anchor->operation, note) == 0;
}

/* It may open what is kept aside, so nobody is asked to remove it. */
static ck_err
not_our_password(const struct ck_reset_run *run, struct ck_fail *fail)
{
	const struct ck_place *p = run->p;

	if (p->broker_kind == CK_KIND_LOGIN_KEYCHAIN) {
		(void)ck_fail_set(fail, CK_DECIDE, p->broker, "got an item "
		    CK_OWN_SERVICE " / " CK_UNLOCK_ACCOUNT " while a reset "
		    "was under way, and not by it");
		ck_advise(fail, p, "keep its value if it opens what the reset "
		    "kept aside, remove that one item, then {"
		    CK_RESET_OPERATION "}");
		return CK_DECIDE;
	}
	(void)ck_fail_set(fail, CK_DECIDE, p->unlock, "was stored while a "
	    "reset was under way, and not by it");
	ck_advise(fail, p, "mv '%.400s' '%.400s.kept'; then {"
	    CK_RESET_OPERATION "}", p->unlock, p->unlock);
	return CK_DECIDE;
}

/* A new password, unless an interrupted run stored one. */
static ck_err
make_password(struct ck_reset_run *run, struct ck_fail *fail)
{
	char note[CK_ANCHOR_NOTE_SIZE];
	struct ck_anchor anchor;
	ck_err r;

	r = ck_unlock_place_read(run->p, &run->password, &anchor, fail);
	if (r == CK_OK && !is_noted(run, &anchor))
		return not_our_password(run, fail);
	if (r != CK_NOSTORE)
		return r;
	if ((r = ck_unlock_make(&run->password)) != CK_OK)
		return ck_fail_set(fail, r, NULL,
		    "no unlock password can be made");
	if ((r = ck_locator_put(run->p, fail)) != CK_OK)
		return r;
	if ((r = ck_anchor_note_of(CK_RESET_OPERATION, run->p->credential,
	    run->nonce, note, fail)) != CK_OK)
		return r;
	return ck_unlock_place_put(run->p, &run->password, note, fail);
}

/* The complete new keychain, with a bearer that nobody has seen. */
static ck_err
build(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct ck_secret value = CK_SECRET_INIT;
	struct ck_place *p = run->p;
	char path[CK_PATH_MAX];
	ck_err r;

	if ((r = ck_bearer_mint(&value)) != CK_OK)
		return ck_fail_set(fail, r, NULL, "no bearer can be made");
	if ((r = ck_dedicated_build(p, run->v.dirfd, run->nonce,
	    &run->password, &value, fail)) == CK_OK &&
	    (r = ck_dedicated_scratch(p, run->nonce, path, fail)) == CK_OK)
		r = ck_dedicated_prove(p, path, &run->password, &value, fail);
	ck_secret_wipe(&value);
	return r;
}

/* Sealed by the new keychain, and fits the anchor. */
static ck_err
is_sealed(struct ck_reset_run *run, bool *ret, struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT;
	struct ck_anchor anchor;
	ck_err r;

	if ((r = ck_dedicated_look_at(run->p, NULL, NULL, &key, &anchor,
	    fail)) == CK_OK &&
	    (r = ck_records_begin(run->v.rec, fail)) == CK_OK) {
		r = ck_seal_check(run->p, run->v.rec, &key, &anchor, fail);
		ck_records_rollback(run->v.rec);
	}
	ck_secret_wipe(&key);
	*ret = r == CK_OK;
	return r == CK_DAMAGED || r == CK_BUSY || r == CK_LOCKED ? CK_OK : r;
}

ck_err
ck_reset_is_ours(struct ck_reset_run *run, bool *ret, struct ck_fail *fail)
{
	struct ck_anchor anchor;
	ck_err r;

	*ret = false;
	if (run->v.journal.step >= CK_RESET_INSTALLED)
		return is_sealed(run, ret, fail);
	r = ck_unlock_place_read(run->p, NULL, &anchor, fail);
	if (r == CK_OK)
		*ret = is_noted(run, &anchor);
	return r == CK_NOSTORE ? CK_OK : r;
}

ck_err
ck_reset_is_foreign(struct ck_reset_run *run, bool *ret,
    struct ck_fail *fail)
{
	struct ck_anchor anchor;
	ck_err r;

	*ret = false;
	r = ck_unlock_place_read(run->p, NULL, &anchor, fail);
	if (r == CK_OK)
		*ret = !is_noted(run, &anchor);
	return r == CK_NOSTORE ? CK_OK : r;
}

static ck_err
put_back(const struct ck_reset_run *run, struct ck_fail *fail)
{
	char command[CK_ADVICE_SIZE];
	struct ck_rec_journal j;

	memset(&j, 0, sizeof(j));
	memcpy(j.operation, CK_RESET_OPERATION, sizeof(CK_RESET_OPERATION));
	memcpy(j.credential, run->p->credential, sizeof(j.credential));
	ck_advice_finish(run->p, &j, command);
	(void)ck_fail_set(fail, CK_DECIDE, run->p->operator_dir,
	    "was put back while a reset was under way");
	ck_fail_next(fail, "move it out of %s, then %s", run->p->dir, command);
	return CK_DECIDE;
}

/* A keychain with the final name is either the one that an interrupted run
 * made, which then is the one, or an old one that somebody put back. */
static ck_err
must_be_ours(struct ck_reset_run *run, struct ck_fail *fail)
{
	char print[CK_FINGERPRINT_SIZE];
	bool ours = false;
	ck_err r;

	if ((r = ck_reset_is_ours(run, &ours, fail)) != CK_OK)
		return r;
	r = ck_dedicated_fingerprint(run->p, &run->password, print, fail);
	if (r == CK_OK && ours && strcmp(print, run->v.row.fingerprint) != 0)
		return CK_OK;
	return r == CK_OK || r == CK_LOCKED ? put_back(run, fail) : r;
}

ck_err
ck_reset_install(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	bool there = false;
	ck_err r;

	if ((r = make_password(run, fail)) != CK_OK ||
	    (r = ck_place_dedicated(p, &there, fail)) != CK_OK)
		return r;
	if (there) {
		run->installed = true;
		if ((r = must_be_ours(run, fail)) != CK_OK)
			return r;
		return ck_io_sync(run->v.dirfd, p->dir, fail);
	}
	if ((r = build(run, fail)) != CK_OK)
		return r;
	r = ck_dedicated_install(p, run->v.dirfd, run->nonce, fail);
	/* It may have its name although the disk did not confirm it: then
	 * nothing is taken back any more. */
	if (r == CK_OK || ck_place_dedicated(p, &run->installed, NULL) != CK_OK)
		run->installed = true;
	return r;
}

/* The rows could be read by nobody's seal until now: whatever they leave out,
 * the places that are always protected are in. */
static ck_err
protect(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct ck_rules_set *set = calloc(1, sizeof(*set));
	ck_err r;

	if (set == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	r = ck_rules_defaults(run->p, NULL, 0, set, fail);
	for (size_t i = 0; r == CK_OK && i < set->n; i++)
		r = ck_records_protected_add(run->v.rec, &set->row[i], fail);
	free(set);
	return r;
}

static ck_err
installed_rows(struct ck_reset_run *run, struct ck_rec_credential *row,
    struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	ck_err r;

	row->generation++;
	/* One that was on its way back is not any more. */
	row->state = CK_STATE_DEDICATED;
	if ((r = ck_dedicated_fingerprint(run->p, &run->password,
	    row->fingerprint, fail)) != CK_OK ||
	    (r = ck_records_credential_put(rec, row, fail)) != CK_OK ||
	    (r = protect(run, fail)) != CK_OK ||
	    (r = ck_reset_release(run, fail)) != CK_OK ||
	    (r = ck_view_note_file(run->p, rec, fail)) != CK_OK ||
	    (r = ck_records_journal_step(rec, run->nonce, CK_RESET_INSTALLED,
	    fail)) != CK_OK ||
	    (r = ck_records_event(rec, "reset", run->p->keychain,
	    fail)) != CK_OK)
		return r;
	return ck_seal_write(run->p, rec, &run->password, fail);
}

/* From here on get gives the new bearer, and the records have a seal. */
ck_err
ck_reset_record(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct ck_rec_credential row = run->v.row;
	ck_err r;

	if ((r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = installed_rows(run, &row, fail)) != CK_OK) {
		ck_records_rollback(run->v.rec);
		return r;
	}
	if ((r = ck_records_commit(run->v.rec, fail)) == CK_OK)
		run->v.row = row;
	return r;
}

static ck_err
closed_rows(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	ck_err r;

	if ((r = ck_records_journal_close(rec, run->nonce, fail)) != CK_OK ||
	    (r = ck_records_event(rec, "reset-finished", run->p->keychain,
	    fail)) != CK_OK)
		return r;
	return ck_seal_write(run->p, rec, &run->password, fail);
}

ck_err
ck_reset_finish(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	ck_err r;

	if (run->password.p == NULL &&
	    (r = ck_unlock_place_get(p, &run->password, fail)) != CK_OK)
		return r;
	if ((r = ck_dedicated_prove(p, p->keychain, &run->password, NULL,
	    fail)) != CK_OK ||
	    (r = ck_anchor_write(p, run->v.rec, &run->password, 0, NULL, NULL,
	    fail)) != CK_OK ||
	    (r = ck_rules_write(p, run->v.dirfd, run->v.rec, fail)) != CK_OK ||
	    (r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = closed_rows(run, fail)) != CK_OK) {
		ck_records_rollback(run->v.rec);
		return r;
	}
	if ((r = ck_records_commit(run->v.rec, fail)) == CK_OK)
		run->v.journal_open = false;
	return r;
}

/* No row names the keychain any more, nor is there a key for a seal. */
static ck_err
left_rows(struct ck_reset_run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	struct ck_rec_store dedicated;
	ck_err r;

	if ((r = ck_reset_release(run, fail)) != CK_OK)
		return r;
	/* A migration may not have come as far as to name it. */
	r = ck_records_store_by_kind(rec, CK_KIND_DEDICATED, &dedicated, fail);
	if (r == CK_OK)
		r = ck_records_store_remove(rec, dedicated.id, fail);
	else if (r == CK_ABSENT)
		r = CK_OK;
	if (r != CK_OK ||
	    (r = ck_records_journal_close(rec, run->nonce, fail)) != CK_OK ||
	    (r = ck_records_event(rec, "reset-finished", run->p->keychain,
	    fail)) != CK_OK)
		return r;
	return ck_records_seal_clear(rec, fail);
}

ck_err
ck_reset_leave(struct ck_reset_run *run, struct ck_fail *fail)
{
	bool there = false;
	ck_err r;

	if ((r = ck_place_dedicated(run->p, &there, fail)) != CK_OK)
		return r;
	if (there)
		return put_back(run, fail);
	if ((r = ck_rules_write(run->p, run->v.dirfd, run->v.rec,
	    fail)) != CK_OK ||
	    (r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = left_rows(run, fail)) != CK_OK) {
		ck_records_rollback(run->v.rec);
		return r;
	}
	if ((r = ck_records_commit(run->v.rec, fail)) == CK_OK)
		run->v.journal_open = false;
	return r;
}
