/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a restore; see restore_int.h. */
#include "custody/restore_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "custody/anchor.h"
#include "custody/broker.h"
#include "custody/dedicated.h"
#include "custody/joined.h"
#include "custody/locator.h"
#include "custody/rules.h"
#include "custody/seal.h"

/* An event that names the credential and its generation. */
static ck_err
tell(struct ck_restore_run *run, const char *what, struct ck_fail *fail)
{
	char detail[128];

	(void)snprintf(detail, sizeof(detail), "%s generation %llu",
	    run->v.row.name, (unsigned long long)run->v.row.generation);
	return ck_records_event(run->v.rec, what, detail, fail);
}

static ck_err
put_state(struct ck_restore_run *run, enum ck_rec_state state,
    struct ck_fail *fail)
{
	struct ck_rec_credential row = run->v.row;

	row.state = state;
	return ck_records_credential_put(run->v.rec, &row, fail);
}

/* Changes inside a transaction: all of them, or none. */
typedef ck_err changes(struct ck_restore_run *run, struct ck_fail *fail);

static ck_err
transact(struct ck_restore_run *run, changes *rows, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = rows(run, fail)) == CK_OK)
		return ck_records_commit(run->v.rec, fail);
	ck_records_rollback(run->v.rec);
	return r;
}

static ck_err
begin_rows(struct ck_restore_run *run, struct ck_fail *fail)
{
	struct ck_rec_journal j;
	ck_err r;

	memset(&j, 0, sizeof(j));
	memcpy(j.operation, CK_RESTORE_OPERATION, sizeof(CK_RESTORE_OPERATION));
	memcpy(j.nonce, run->nonce, sizeof(j.nonce));
	memcpy(j.credential, run->p->credential, sizeof(j.credential));
	j.step = run->there ? CK_RESTORE_BEGUN : CK_RESTORE_ALONE;
	j.from_generation = run->v.row.generation;
	j.to_generation = j.from_generation + 1;
	if ((r = put_state(run, CK_STATE_RESTORING, fail)) != CK_OK ||
	    (r = ck_records_journal_open(run->v.rec, &j, fail)) != CK_OK ||
	    (r = tell(run, "restore-begun", fail)) != CK_OK)
		return r;
	return ck_seal_write_key(run->v.rec, &run->key, fail);
}

ck_err
ck_restore_begin(struct ck_restore_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_view_nonce(run->nonce, fail)) != CK_OK ||
	    (r = transact(run, begin_rows, fail)) != CK_OK)
		return r;
	run->v.row.state = CK_STATE_RESTORING;
	return CK_OK;
}

static ck_err
undo_rows(struct ck_restore_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = put_state(run, CK_STATE_DEDICATED, fail)) != CK_OK ||
	    (r = ck_records_journal_close(run->v.rec, run->nonce,
	    fail)) != CK_OK ||
	    (r = tell(run, "restore-undone", fail)) != CK_OK)
		return r;
	return ck_seal_write_key(run->v.rec, &run->key, fail);
}

/* May a copy in the broker be removed: was it written by the run that was
 * interrupted, and is nobody else at the broker? */
static bool
is_ours(const struct ck_restore_run *run)
{
	return run->resumed && !run->begun &&
	    run->v.journal.step == CK_RESTORE_ALONE &&
	    ck_broker_lock_held(&run->broker_lock);
}

/* The broker is known to have no copy of ours, or has none any more. */
static bool
without_copy(struct ck_restore_run *run)
{
	struct ck_secret there = CK_SECRET_INIT;
	bool same = true;
	ck_err r;

	r = ck_broker_read(run->p, &there, NULL);
	if (r == CK_OK && ck_broker_same(run->p, &run->value, &there,
	    &same) != CK_OK)
		same = true;
	/* Also without a copy: the index may have come to name it already. */
	if ((r == CK_ABSENT || (r == CK_OK && same)) && is_ours(run)) {
		r = ck_broker_erase(run->p, &there, &run->broker_lock, NULL);
		if (r == CK_OK)
			r = CK_ABSENT;
		same = true;
	}
	ck_secret_wipe(&there);
	return r == CK_ABSENT || (r == CK_OK && !same);
}

void
ck_restore_undo(struct ck_restore_run *run)
{
	if (run->v.row.state == CK_STATE_RESTORING && without_copy(run) &&
	    ck_anchor_note(run->p, &run->password, NULL, NULL,
	    NULL) == CK_OK &&
	    transact(run, undo_rows, NULL) == CK_OK)
		run->v.journal_open = false;
}

static ck_err
read_back(const struct ck_restore_run *run, struct ck_fail *fail)
{
	struct ck_secret back = CK_SECRET_INIT;
	bool same = false;
	ck_err r;

	r = ck_broker_read(run->p, &back, fail);
	if (r == CK_OK && (ck_broker_same(run->p, &run->value, &back,
	    &same) != CK_OK || !same))
		r = CK_CHANGED;
	if (r == CK_CHANGED || r == CK_ABSENT)
		r = ck_fail_set(fail, CK_CHANGED, run->p->broker,
		    "does not give back what was written: another program "
		    "wrote it at once");
	ck_secret_wipe(&back);
	return r;
}

ck_err
ck_restore_write(struct ck_restore_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_broker_put(run->p, &run->value, &run->broker_lock,
	    fail)) == CK_OK &&
	    (r = ck_broker_settle(run->p, fail)) == CK_OK)
		r = read_back(run, fail);
	if (r != CK_OK)
		ck_restore_undo(run);
	return r;
}

/* Remember the broker among the stores. */
static ck_err
broker_id(struct ck_restore_run *run, int64_t *ret, struct ck_fail *fail)
{
	struct ck_rec_store broker;

	memset(&broker, 0, sizeof(broker));
	broker.kind = run->p->broker_kind;
	memcpy(broker.path, run->p->broker, sizeof(broker.path));
	return ck_records_store_put(run->v.rec, &broker, ret, fail);
}

/* The last one takes the store with it.  Its row tells a later run, too,
 * whether others stayed. */
static ck_err
drop_store(struct ck_restore_run *run, struct ck_fail *fail)
{
	struct ck_rec_store dedicated;
	bool others = false;
	ck_err r;

	if ((r = ck_joined_others(run->p, run->v.rec, &others,
	    fail)) != CK_OK || others)
		return r;
	if ((r = ck_records_store_by_kind(run->v.rec, CK_KIND_DEDICATED,
	    &dedicated, fail)) != CK_OK)
		return r;
	return ck_records_store_remove(run->v.rec, dedicated.id, fail);
}

static ck_err
record_rows(struct ck_restore_run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	int64_t broker = 0;
	ck_err r;

	/* One more, so that what stood before can be told from this also
	 * where other credentials keep keychain and anchor. */
	run->v.row.generation++;
	if ((r = broker_id(run, &broker, fail)) != CK_OK ||
	    (r = ck_records_precedence_broker(rec, run->p->credential, broker,
	    fail)) != CK_OK ||
	    (r = put_state(run, CK_STATE_BROKER, fail)) != CK_OK ||
	    (r = drop_store(run, fail)) != CK_OK ||
	    (r = ck_records_journal_step(rec, run->nonce,
	    CK_RESTORE_RECORDED, fail)) != CK_OK ||
	    (r = tell(run, "restored", fail)) != CK_OK)
		return r;
	return ck_seal_write_key(rec, &run->key, fail);
}

ck_err
ck_restore_record(struct ck_restore_run *run, struct ck_fail *fail)
{
	const uint64_t generation = run->v.row.generation;
	ck_err r;

	if ((r = ck_anchor_note(run->p, &run->password,
	    CK_RESTORE_OPERATION, run->nonce,
	    fail)) != CK_OK)
		return r;
	if ((r = transact(run, record_rows, fail)) == CK_OK)
		run->v.row.state = CK_STATE_BROKER;
	else
		run->v.row.generation = generation;
	return r;
}

/* One item among others goes.  Its value was read under this lock, or an
 * interrupted run has removed it already. */
static ck_err
drop_item(struct ck_restore_run *run, struct ck_fail *fail)
{
	ck_err r;

	if (run->resumed && (r = ck_dedicated_tidy(run->p, fail)) != CK_OK)
		return r;
	if (run->value.p == NULL)
		return CK_OK;
	r = ck_joined_remove(run->p, &run->password, &run->value, fail);
	return r == CK_ABSENT ? CK_OK : r;
}

ck_err
ck_restore_retire(struct ck_restore_run *run, struct ck_fail *fail)
{
	struct ck_rec_store dedicated;
	ck_err r;

	r = ck_records_store_by_kind(run->v.rec, CK_KIND_DEDICATED,
	    &dedicated, fail);
	if (r != CK_OK && r != CK_ABSENT)
		return r;
	run->shared = r == CK_OK;
	/* Before the file goes, so that its absence is explained. */
	if (!run->shared && run->password.p != NULL &&
	    (r = ck_anchor_lift(run->p, &run->password,
	    CK_RESTORE_OPERATION, run->nonce,
	    fail)) != CK_OK)
		return r;
	r = run->shared ? drop_item(run, fail) : ck_dedicated_retire(run->p,
	    run->v.dirfd, run->nonce, fail);
	if (r == CK_OK)
		run->v.item = false;
	return r;
}

/* The directory that was made for unlock.json, unless something lies in it. */
static ck_err
forget_directory(const struct ck_place *p, struct ck_fail *fail)
{
	char dir[CK_PATH_MAX];

	ck_path_parent(p->unlock, dir);
	if (rmdir(dir) == 0 || errno == ENOENT || errno == ENOTEMPTY ||
	    errno == EEXIST || errno == ENOTDIR)
		return CK_OK;
	return ck_fail_sys(fail, errno, dir, "remove it");
}

/* Without it the keychain aside is noise; so it goes first. */
static ck_err
forget_password(struct ck_restore_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	ck_err r;

	ck_secret_wipe(&run->password);
	r = ck_unlock_place_get(p, &run->password, fail);
	if (r == CK_OK)
		r = ck_unlock_place_remove(p, &run->password, fail);
	if ((r != CK_OK && r != CK_NOSTORE) ||
	    (r = ck_locator_remove(p, fail)) != CK_OK)
		return r;
	return forget_directory(p, fail);
}

/* The fingerprint of a value that is not there any more, and the seals of a
 * keychain that is not. */
static ck_err
finish_rows(struct ck_restore_run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	ck_err r;

	memset(run->v.row.fingerprint, 0, sizeof(run->v.row.fingerprint));
	if ((r = put_state(run, CK_STATE_BROKER, fail)) != CK_OK ||
	    (r = ck_records_journal_close(rec, run->nonce, fail)) != CK_OK ||
	    (r = tell(run, "restore-finished", fail)) != CK_OK)
		return r;
	if (!run->shared)
		return ck_records_seal_clear(rec, fail);
	if ((r = ck_view_note_file(run->p, rec, fail)) != CK_OK)
		return r;
	return ck_seal_write_key(rec, &run->key, fail);
}

/* What stays for the others is sealed again, if it was in order. */
static ck_err
get_key(struct ck_restore_run *run, struct ck_fail *fail)
{
	struct ck_anchor anchor;
	ck_err r;

	if (run->key.p != NULL)
		return CK_OK;
	ck_secret_wipe(&run->password);
	if ((r = ck_dedicated_look_at(run->p, &run->password, NULL, &run->key,
	    &anchor, fail)) != CK_OK ||
	    (r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	r = ck_seal_check(run->p, run->v.rec, &run->key, &anchor, fail);
	ck_records_rollback(run->v.rec);
	return r;
}

/* Nobody is left who needs the keychain. */
static ck_err
clear_away(struct ck_restore_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = forget_password(run, fail)) != CK_OK)
		return r;
	return ck_dedicated_discard(run->p, run->v.dirfd, CK_RESTORED_PREFIX,
	    run->nonce, fail);
}

ck_err
ck_restore_finish(struct ck_restore_run *run, struct ck_fail *fail)
{
	ck_err r;

	if (!run->shared)
		r = clear_away(run, fail);
	else if ((r = get_key(run, fail)) == CK_OK)
		r = ck_anchor_write(run->p, run->v.rec, &run->password, 0,
		    NULL, NULL, fail);
	if (r != CK_OK || (r = ck_rules_write(run->p, run->v.dirfd,
	    run->v.rec, fail)) != CK_OK)
		return r;
	return transact(run, finish_rows, fail);
}
