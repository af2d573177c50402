/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a rotation; see rotate_int.h. */
#include "custody/rotate_int.h"

#include <stdio.h>
#include <string.h>

#include "custody/anchor.h"
#include "custody/seal.h"
#include "store/login.h"

ck_err
ck_rotate_read(struct ck_rotate_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_seal_open(run->p, run->v.rec, &run->password, &run->now,
	    &run->key, fail)) != CK_OK)
		return r;
	return ck_dedicated_print(&run->key, &run->now, run->now_print, fail);
}

/* Changes inside a transaction: all of them, or none. */
typedef ck_err changes(struct ck_rotate_run *run, struct ck_fail *fail);

static ck_err
transact(struct ck_rotate_run *run, changes *rows, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	ck_err r;

	if ((r = ck_records_begin(rec, fail)) != CK_OK)
		return r;
	if ((r = rows(run, fail)) == CK_OK &&
	    (r = ck_seal_write_key(rec, &run->key, fail)) == CK_OK)
		return ck_records_commit(rec, fail);
	ck_records_rollback(rec);
	return r;
}

static ck_err
tell(struct ck_rotate_run *run, const char *event, struct ck_fail *fail)
{
	const struct ck_rec_credential *row = &run->v.row;
	char detail[128];

	(void)snprintf(detail, sizeof(detail), "%s generation %llu",
	    row->name, (unsigned long long)row->generation);
	return ck_records_event(run->v.rec, event, detail, fail);
}

/* What the keychain holds now, at the next generation. */
static ck_err
record_rows(struct ck_rotate_run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	ck_err r;

	if ((r = ck_records_credential_put(rec, &run->v.row, fail)) != CK_OK ||
	    (r = ck_view_note_file(run->p, rec, fail)) != CK_OK ||
	    (r = ck_records_journal_step(rec, run->nonce, CK_ROTATE_RECORDED,
	    fail)) != CK_OK)
		return r;
	return tell(run, run->landed ? "rotate-resumed" : "rotated", fail);
}

static ck_err
record(struct ck_rotate_run *run, const char *print, struct ck_fail *fail)
{
	const struct ck_rec_credential before = run->v.row;
	struct ck_rec_credential *row = &run->v.row;
	ck_err r;

	row->generation++;
	memcpy(row->fingerprint, print, sizeof(row->fingerprint));
	if ((r = transact(run, record_rows, fail)) != CK_OK)
		*row = before;
	return r;
}

static ck_err
close_rows(struct ck_rotate_run *run, struct ck_fail *fail)
{
	return ck_records_journal_close(run->v.rec, run->nonce, fail);
}

static ck_err
undo_rows(struct ck_rotate_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_view_note_file(run->p, run->v.rec, fail)) != CK_OK ||
	    (r = close_rows(run, fail)) != CK_OK)
		return r;
	return tell(run, "rotate-undone", fail);
}

/* The anchor for the records as they are; then nothing is excused any more,
 * and the journal row ends in one way or the other. */
static ck_err
end_with(struct ck_rotate_run *run, changes *rows, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_anchor_write(run->p, run->v.rec, &run->password, 0, NULL, NULL,
	    fail)) != CK_OK ||
	    (r = transact(run, rows, fail)) != CK_OK)
		return r;
	run->v.journal_open = false;
	return CK_OK;
}

ck_err
ck_rotate_settle(struct ck_rotate_run *run, bool *ret_landed,
    struct ck_fail *fail)
{
	const struct ck_rec_journal *j = &run->v.journal;
	bool recorded = j->step >= CK_ROTATE_RECORDED;
	ck_err r;

	run->landed = recorded ||
	    strcmp(run->now_print, run->v.row.fingerprint) != 0;
	memcpy(run->nonce, j->nonce, sizeof(run->nonce));
	if ((r = ck_dedicated_tidy(run->p, fail)) != CK_OK ||
	    (r = ck_dedicated_prove(run->p, run->p->keychain, &run->password,
	    &run->now, fail)) != CK_OK)
		return r;
	if (run->landed && !recorded &&
	    (r = record(run, run->now_print, fail)) != CK_OK)
		return r;
	if ((r = end_with(run, run->landed ? close_rows : undo_rows,
	    fail)) == CK_OK)
		*ret_landed = run->landed;
	return r;
}

static ck_err
begin_rows(struct ck_rotate_run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	struct ck_rec_credential row;
	struct ck_rec_journal j;
	ck_err r;

	memset(&j, 0, sizeof(j));
	memcpy(j.operation, CK_ROTATE_OPERATION, sizeof(CK_ROTATE_OPERATION));
	memcpy(j.nonce, run->nonce, sizeof(j.nonce));
	memcpy(j.credential, run->p->credential, sizeof(j.credential));
	j.step = CK_ROTATE_BEGUN;
	j.from_generation = run->v.row.generation;
	j.to_generation = j.from_generation + 1;
	if ((r = ck_records_credential_get(rec, run->p->credential, &row,
	    fail)) != CK_OK)
		return r;
	if (row.generation != j.from_generation)
		return ck_fail_set(fail, CK_CHANGED, run->p->credential,
		    "is at another generation meanwhile; nothing was written");
	if ((r = ck_records_journal_open(rec, &j, fail)) != CK_OK)
		return r;
	return ck_records_setting_put(rec, CK_SEAL_NEXT_SETTING,
	    run->next_print, fail);
}

ck_err
ck_rotate_begin(struct ck_rotate_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_view_nonce(run->nonce, fail)) != CK_OK ||
	    (r = ck_dedicated_print(&run->key, &run->next, run->next_print,
	    fail)) != CK_OK)
		return r;
	run->landed = false;
	return transact(run, begin_rows, fail);
}

/* The write failed: did it leave the keychain as it was? */
static bool
is_unwritten(const struct ck_rotate_run *run)
{
	struct ck_secret value = CK_SECRET_INIT;
	bool ret;

	ret = ck_dedicated_read(run->p, &run->password, &value,
	    NULL) == CK_OK && !ck_secret_equal(&value, &run->next);
	ck_secret_wipe(&value);
	return ret;
}

/* Whoever closed our row has recorded which value the keychain holds; another
 * one now would be known to nobody. */
static ck_err
is_still_open(const struct ck_rotate_run *run, struct ck_fail *fail)
{
	struct ck_rec_journal j;
	ck_err r;

	r = ck_records_journal_get(run->v.rec, &j, fail);
	if (r != CK_ABSENT && (r != CK_OK ||
	    strcmp(j.nonce, run->nonce) == 0))
		return r;
	return ck_fail_set(fail, CK_CHANGED, run->p->dir,
	    "another clankie-keys has ended this rotation; nothing was "
	    "written");
}

/* Under the keychain's own lock, right before it is written.  The anchor goes
 * first: its place may be busy, full or read-only, and as long as the keychain
 * was not written there is a way back. */
static ck_err
make_way(void *arg, struct ck_fail *fail)
{
	struct ck_rotate_run *run = arg;
	ck_err r;

	if ((r = is_still_open(run, fail)) != CK_OK)
		return r;
	return ck_anchor_write(run->p, run->v.rec, &run->password, 1,
	    CK_ROTATE_OPERATION, run->nonce, fail);
}

/* What cannot be taken back now, or is not known, stays open for the next
 * rotation: both generations are valid until then. */
static void
take_back(struct ck_rotate_run *run)
{
	if (is_unwritten(run) && is_still_open(run, NULL) == CK_OK)
		(void)!end_with(run, undo_rows, NULL);
}

ck_err
ck_rotate_write(struct ck_rotate_run *run, struct ck_fail *fail)
{
	const struct ck_login login = { run->p->keychain, &run->password,
	    CK_WAIT_MS };
	const struct ck_login_item item = { run->p->service, run->p->account,
	    NULL, &run->next };
	ck_err r;

	r = ck_login_update_if(&login, &item, &run->now, make_way, run, fail);
	if (r != CK_OK)
		take_back(run);
	return r;
}

ck_err
ck_rotate_finish(struct ck_rotate_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_dedicated_prove(run->p, run->p->keychain, &run->password,
	    &run->next, fail)) != CK_OK)
		return r;
	if ((r = record(run, run->next_print, fail)) != CK_OK)
		return r;
	return end_with(run, close_rows, fail);
}
