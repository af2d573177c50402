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

static ck_err
close_rows(struct ck_rotate_run *run, const struct ck_rec_credential *row,
    const char *event, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	char detail[128];
	ck_err r;

	(void)snprintf(detail, sizeof(detail), "%s generation %llu",
	    row->name, (unsigned long long)row->generation);
	if ((r = ck_records_credential_put(rec, row, fail)) != CK_OK ||
	    (r = ck_view_note_file(run->p, rec, fail)) != CK_OK ||
	    (r = ck_records_journal_close(rec, run->nonce, fail)) != CK_OK ||
	    (r = ck_records_event(rec, event, detail, fail)) != CK_OK)
		return r;
	return ck_seal_write_key(rec, &run->key, fail);
}

/* Close the journal at a generation, with its fingerprint. */
static ck_err
close_at(struct ck_rotate_run *run, uint64_t generation, const char *print,
    const char *event, struct ck_fail *fail)
{
	struct ck_rec_credential row = run->v.row;
	ck_err r;

	row.generation = generation;
	memcpy(row.fingerprint, print, sizeof(row.fingerprint));
	if ((r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = close_rows(run, &row, event, fail)) != CK_OK) {
		ck_records_rollback(run->v.rec);
		return r;
	}
	if ((r = ck_records_commit(run->v.rec, fail)) != CK_OK)
		return r;
	run->v.row = row;
	run->v.journal_open = false;
	return CK_OK;
}

ck_err
ck_rotate_settle(struct ck_rotate_run *run, bool *ret_landed,
    struct ck_fail *fail)
{
	const struct ck_rec_journal *j = &run->v.journal;
	bool landed = strcmp(run->now_print, run->v.row.fingerprint) != 0;
	ck_err r;

	memcpy(run->nonce, j->nonce, sizeof(run->nonce));
	if ((r = ck_dedicated_tidy(run->p, fail)) != CK_OK ||
	    (r = ck_dedicated_prove(run->p, run->p->keychain, &run->password,
	    &run->now, fail)) != CK_OK)
		return r;
	/* While the journal is open the anchor may be at either generation. */
	if ((r = ck_anchor_write(run->p, run->v.rec, &run->password,
	    landed ? 1 : 0, fail)) != CK_OK)
		return r;
	if (landed)
		r = close_at(run, j->to_generation, run->now_print,
		    "rotate-resumed", fail);
	else
		r = close_at(run, j->from_generation,
		    run->v.row.fingerprint, "rotate-undone", fail);
	if (r == CK_OK)
		*ret_landed = landed;
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
	j.from_generation = run->v.row.generation;
	j.to_generation = j.from_generation + 1;
	if ((r = ck_records_credential_get(rec, run->p->credential, &row,
	    fail)) != CK_OK)
		return r;
	if (row.generation != j.from_generation)
		return ck_fail_set(fail, CK_CHANGED, run->p->credential,
		    "is at another generation meanwhile; nothing was written");
	if ((r = ck_records_journal_open(rec, &j, fail)) != CK_OK ||
	    (r = ck_records_setting_put(rec, CK_SEAL_NEXT_SETTING,
	    run->next_print, fail)) != CK_OK)
		return r;
	return ck_seal_write_key(rec, &run->key, fail);
}

ck_err
ck_rotate_begin(struct ck_rotate_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_view_nonce(run->nonce, fail)) != CK_OK ||
	    (r = ck_dedicated_print(&run->key, &run->next, run->next_print,
	    fail)) != CK_OK ||
	    (r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = begin_rows(run, fail)) == CK_OK)
		return ck_records_commit(run->v.rec, fail);
	ck_records_rollback(run->v.rec);
	return r;
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
	return ck_anchor_write(run->p, run->v.rec, &run->password, 1, fail);
}

/* What cannot be taken back now, or is not known, stays open for the next
 * rotation: both generations are valid until then. */
static void
take_back(struct ck_rotate_run *run)
{
	if (is_unwritten(run) && is_still_open(run, NULL) == CK_OK &&
	    ck_anchor_write(run->p, run->v.rec, &run->password, 0,
	    NULL) == CK_OK)
		(void)close_at(run, run->v.row.generation,
		    run->v.row.fingerprint, "rotate-undone", NULL);
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
	return close_at(run, run->v.row.generation + 1, run->next_print,
	    "rotated", fail);
}
