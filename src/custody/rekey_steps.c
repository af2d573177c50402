/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of replacing the keychain; see rekey_int.h. */
#include "custody/rekey_int.h"

#include <errno.h>
#include <string.h>

#include "base/io.h"
#include "custody/pending.h"
#include "custody/seal.h"
#include "store/login.h"
#include "store/unlock.h"

/* What is done for every credential that lies in the keychain. */
struct every {
	struct ck_rekey_run *run;
	const char *path;                /* a new file to prove, or NULL */
	struct ck_fail *fail;
};

static ck_err
fits_records(void *arg, const struct ck_rec_credential *row)
{
	const struct every *e = arg;
	struct ck_rekey_run *run = e->run;
	struct ck_secret value = CK_SECRET_INIT;
	struct ck_place at;
	ck_err r;

	if (row->state != CK_STATE_DEDICATED)
		return CK_OK;
	if ((r = ck_place_of_row(run->p, row, &at, e->fail)) != CK_OK)
		return r;
	if ((r = ck_dedicated_read(&at, &run->password, &value,
	    e->fail)) == CK_OK)
		r = ck_seal_value(&at, run->v.rec, &run->key, &value,
		    e->fail);
	ck_secret_wipe(&value);
	return r;
}

ck_err
ck_rekey_read(struct ck_rekey_run *run, struct ck_fail *fail)
{
	struct every e = { run, NULL, fail };
	struct ck_anchor anchor;
	ck_err r;

	if ((r = ck_dedicated_look_at(run->p, &run->password, NULL, &run->key,
	    &anchor, fail)) != CK_OK ||
	    (r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = ck_seal_check(run->p, run->v.rec, &run->key, &anchor,
	    fail)) == CK_OK)
		r = ck_records_credential_each(run->v.rec, fits_records, &e,
		    fail);
	ck_records_rollback(run->v.rec);
	return r;
}

static ck_err
begin_rows(struct ck_rekey_run *run, struct ck_fail *fail)
{
	struct ck_rec_journal j;
	ck_err r;

	memset(&j, 0, sizeof(j));
	memcpy(j.operation, CK_REKEY_OPERATION, sizeof(CK_REKEY_OPERATION));
	memcpy(j.nonce, run->nonce, sizeof(j.nonce));
	j.step = CK_REKEY_BEGUN;
	j.from_generation = run->v.row.generation;
	j.to_generation = run->v.row.generation;
	if ((r = ck_records_journal_open(run->v.rec, &j, fail)) != CK_OK)
		return r;
	return ck_seal_write_key(run->v.rec, &run->key, fail);
}

ck_err
ck_rekey_begin(struct ck_rekey_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_view_nonce(run->nonce, fail)) != CK_OK ||
	    (r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = begin_rows(run, fail)) == CK_OK)
		return ck_records_commit(run->v.rec, fail);
	ck_records_rollback(run->v.rec);
	return r;
}

ck_err
ck_rekey_password(struct ck_rekey_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_unlock_make(&run->next)) != CK_OK)
		return ck_fail_set(fail, r, NULL,
		    "no unlock password can be made");
	return ck_pending_put(run->p, &run->next, fail);
}

static ck_err
same_key(const struct ck_rekey_run *run, const char *path,
    struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT;
	struct ck_place at = *run->p;
	ck_err r;

	memcpy(at.keychain, path, sizeof(at.keychain));
	if ((r = ck_dedicated_read_both(&at, &run->next, NULL, &key,
	    fail)) == CK_OK && !ck_secret_equal(&key, &run->key))
		r = ck_fail_set(fail, CK_DAMAGED, path,
		    "does not give back the seal key that was written");
	ck_secret_wipe(&key);
	return r;
}

/* The value of the installed file is that of the new one. */
static ck_err
prove_one(void *arg, const struct ck_rec_credential *row)
{
	const struct every *e = arg;
	struct ck_rekey_run *run = e->run;
	struct ck_secret value = CK_SECRET_INIT;
	struct ck_place at;
	ck_err r;

	if (row->state != CK_STATE_DEDICATED)
		return CK_OK;
	if ((r = ck_place_of_row(run->p, row, &at, e->fail)) != CK_OK)
		return r;
	if ((r = ck_dedicated_read(&at, &run->password, &value,
	    e->fail)) == CK_OK)
		r = ck_dedicated_prove(&at, e->path, &run->next, &value,
		    e->fail);
	ck_secret_wipe(&value);
	return r;
}

ck_err
ck_rekey_build(struct ck_rekey_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	char path[CK_PATH_MAX];
	struct every e = { run, path, fail };
	ck_err r;

	if (lstat(p->keychain, &run->old) != 0)
		return ck_fail_sys(fail, errno, p->keychain, "examine it");
	if ((r = ck_dedicated_scratch(p, run->nonce, path, fail)) != CK_OK ||
	    (r = ck_dedicated_renew(p, run->v.dirfd, run->nonce,
	    &run->password, &run->next, fail)) != CK_OK ||
	    (r = ck_records_credential_each(run->v.rec, prove_one, &e,
	    fail)) != CK_OK)
		return r;
	return same_key(run, path, fail);
}

/* Our own programs wait for the custody lock; others are told apart. */
static ck_err
still_old(const struct ck_rekey_run *run, struct ck_fail *fail)
{
	const struct stat *old = &run->old;
	struct stat st;

	if (lstat(run->p->keychain, &st) != 0)
		return ck_fail_sys(fail, errno, run->p->keychain,
		    "examine it");
	if (st.st_dev == old->st_dev && st.st_ino == old->st_ino &&
	    st.st_size == old->st_size && st.st_mtime == old->st_mtime)
		return CK_OK;
	return ck_fail_set(fail, CK_CHANGED, run->p->keychain,
	    "was written by another program while its items were carried "
	    "over");
}

ck_err
ck_rekey_exchange(struct ck_rekey_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = still_old(run, fail)) != CK_OK)
		return r;
	return ck_dedicated_exchange(run->p, run->v.dirfd, run->nonce, fail);
}

ck_err
ck_rekey_landed(const struct ck_rekey_run *run, bool *ret,
    struct ck_fail *fail)
{
	struct ck_secret pending = CK_SECRET_INIT, opens = CK_SECRET_INIT;
	struct ck_fail none = CK_FAIL_INIT;
	ck_err r;

	/* Both are read again: they may be newer than what the run knows. */
	if ((r = ck_dedicated_look(run->p, &opens, NULL, NULL,
	    fail)) != CK_OK)
		return r;
	r = ck_pending_get(run->p, &pending, &none);
	if (r == CK_OK)
		*ret = ck_secret_equal(&pending, &opens);
	else if (r == CK_NOSTORE)
		*ret = run->v.journal.step >= CK_REKEY_INSTALLED;
	else if (fail != NULL)
		*fail = none;
	ck_secret_wipe(&pending);
	ck_secret_wipe(&opens);
	return r == CK_NOSTORE ? CK_OK : r;
}

static ck_err
installed_rows(struct ck_rekey_run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	ck_err r;

	if ((r = ck_view_note_file(run->p, rec, fail)) != CK_OK ||
	    (r = ck_records_journal_step(rec, run->nonce, CK_REKEY_INSTALLED,
	    fail)) != CK_OK)
		return r;
	return ck_seal_write_key(rec, &run->key, fail);
}

static ck_err
closed_rows(struct ck_rekey_run *run, const char *event,
    struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	ck_err r;

	if ((r = ck_records_journal_close(rec, run->nonce, fail)) != CK_OK ||
	    (r = ck_records_event(rec, event, run->p->keychain,
	    fail)) != CK_OK)
		return r;
	return ck_seal_write_key(rec, &run->key, fail);
}

static ck_err
record_installed(struct ck_rekey_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = installed_rows(run, fail)) == CK_OK)
		return ck_records_commit(run->v.rec, fail);
	ck_records_rollback(run->v.rec);
	return r;
}

static ck_err
record_closed(struct ck_rekey_run *run, const char *event,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = closed_rows(run, event, fail)) != CK_OK) {
		ck_records_rollback(run->v.rec);
		return r;
	}
	if ((r = ck_records_commit(run->v.rec, fail)) == CK_OK)
		run->v.journal_open = false;
	return r;
}

/* As a stranger would: the stored password opens the installed file, and all
 * of it is in order. */
static ck_err
prove_installed(struct ck_rekey_run *run, struct ck_fail *fail)
{
	struct every e = { run, run->p->keychain, fail };
	ck_err r;

	ck_secret_wipe(&run->password);
	if ((r = ck_dedicated_look(run->p, &run->password, NULL, NULL,
	    fail)) != CK_OK)
		return r;
	if (!ck_secret_equal(&run->password, &run->next))
		return ck_fail_set(fail, CK_CHANGED, run->p->keychain,
		    "is opened by another password than was stored for it");
	return ck_records_credential_each(run->v.rec, prove_one, &e, fail);
}

ck_err
ck_rekey_finish(struct ck_rekey_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	const struct ck_login login = { p->keychain, NULL, CK_WAIT_MS };
	struct ck_login_status st;
	ck_err r;

	/* A killed run may not have come to this; nothing that follows may
	 * reach the disk before the new name does. */
	if ((r = ck_io_sync(run->v.dirfd, p->dir, fail)) != CK_OK ||
	    (r = record_installed(run, fail)) != CK_OK ||
	    (r = ck_login_status(&login, &st, fail)) != CK_OK ||
	    (r = ck_pending_promote(p, &run->next, st.signature,
	    fail)) != CK_OK ||
	    (r = prove_installed(run, fail)) != CK_OK ||
	    (r = ck_dedicated_discard(p, run->v.dirfd, CK_SCRATCH_PREFIX,
	    run->nonce, fail)) != CK_OK)
		return r;
	return record_closed(run, "keychain-rotated", fail);
}

ck_err
ck_rekey_undo(struct ck_rekey_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_dedicated_discard(run->p, run->v.dirfd, CK_SCRATCH_PREFIX,
	    run->nonce, fail)) != CK_OK ||
	    (r = ck_pending_drop(run->p, fail)) != CK_OK)
		return r;
	return record_closed(run, "keychain-rotate-undone", fail);
}
