/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the migration; see migrate_int.h and design section 8. */
#include "custody/migrate_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "custody/amend.h"
#include "custody/anchor.h"
#include "custody/locator.h"
#include "custody/rules.h"
#include "custody/seal.h"
#include "store/unlock.h"

/* The rows that stand before anything is changed. */
static ck_err
begin_rows(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	struct ck_place *p = run->p;
	struct ck_rec_credential c;
	struct ck_rec_store broker;
	struct ck_rec_journal j;
	ck_err r;

	memset(&c, 0, sizeof(c));
	memset(&broker, 0, sizeof(broker));
	memset(&j, 0, sizeof(j));
	memcpy(c.name, p->credential, sizeof(c.name));
	memcpy(c.service, p->service, sizeof(c.service));
	memcpy(c.account, p->account, sizeof(c.account));
	memcpy(c.format, ck_format_name(p->format),
	    strlen(ck_format_name(p->format)) + 1);
	c.state = CK_STATE_MIGRATING;
	/* One that was here before, and restored, goes on counting. */
	j.from_generation = run->v.known ? run->v.row.generation : 0;
	c.generation = j.to_generation = j.from_generation + 1;
	broker.kind = p->broker_kind;
	memcpy(broker.path, p->broker, sizeof(broker.path));
	memcpy(j.operation, CK_MIGRATE_OPERATION, sizeof(CK_MIGRATE_OPERATION));
	memcpy(j.nonce, run->nonce, sizeof(j.nonce));
	memcpy(j.credential, p->credential, sizeof(j.credential));
	j.step = CK_STEP_BEGUN;
	if ((r = ck_records_credential_put(rec, &c, fail)) != CK_OK ||
	    (r = ck_records_store_put(rec, &broker, &run->broker_id,
	    fail)) != CK_OK ||
	    (r = ck_records_precedence_broker(rec, p->credential,
	    run->broker_id, fail)) != CK_OK ||
	    (r = ck_records_journal_open(rec, &j, fail)) != CK_OK)
		return r;
	r = ck_records_event(rec, "migrate-begun", p->broker, fail);
	return r == CK_OK && run->joins ?
	    ck_seal_write_key(rec, &run->key, fail) : r;
}

/* Step 1, end: the journal row, without which nothing is touched. */
ck_err
ck_migrate_begin(struct ck_migrate_run *run, struct ck_fail *fail)
{
	ck_err r;

	if (run->resumed)
		return CK_OK;
	if ((r = ck_view_nonce(run->nonce, fail)) != CK_OK)
		return r;
	if (run->v.rec == NULL) {
		run->made_records = true;
		r = ck_records_open(run->v.dirfd, run->p->dir, CK_REC_CREATE,
		    &run->v.rec, fail);
		if (r != CK_OK)
			return r;
	}
	if ((r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = begin_rows(run, fail)) == CK_OK)
		return ck_records_commit(run->v.rec, fail);
	ck_records_rollback(run->v.rec);
	return r;
}

/* Step 2: the unlock password, stored before anything needs it. */
ck_err
ck_migrate_password(struct ck_migrate_run *run, struct ck_fail *fail)
{
	char note[CK_ANCHOR_NOTE_SIZE];
	struct ck_place *p = run->p;
	ck_err r;

	/* An interrupted run may have stored one that nothing uses yet; the
	 * preflight has seen to it that no other one is there. */
	r = ck_unlock_place_get(p, &run->password, fail);
	if (r == CK_NOSTORE) {
		if ((r = ck_unlock_make(&run->password)) != CK_OK)
			return ck_fail_set(fail, r, NULL,
			    "no unlock password can be made");
		run->made_password = true;
		ck_migrate_note_dirs(run);
		if ((r = ck_anchor_note_of(CK_MIGRATE_OPERATION,
		    p->credential, run->nonce, note, fail)) == CK_OK &&
		    (r = ck_locator_put(p, fail)) == CK_OK)
			r = ck_unlock_place_put(p, &run->password, note,
			    fail);
	}
	if (r != CK_OK)
		return r;
	return ck_records_journal_step(run->v.rec, run->nonce, CK_STEP_PASSWORD,
	    fail);
}

/* Step 3: the complete keychain under a name nobody reads. */
ck_err
ck_migrate_build(struct ck_migrate_run *run, struct ck_fail *fail)
{
	char scratch[CK_PATH_MAX];
	struct ck_place *p = run->p;
	ck_err r;

	if ((r = ck_dedicated_build(p, run->v.dirfd, run->nonce,
	    &run->password, &run->pf.value, fail)) != CK_OK)
		return r;
	if ((r = ck_path_format(scratch, fail, "%s/" CK_SCRATCH_PREFIX "%s/"
	    CK_KEYCHAIN_FILE, p->dir, run->nonce)) != CK_OK)
		return r;
	if ((r = ck_dedicated_prove(p, scratch, &run->password,
	    &run->pf.value, fail)) != CK_OK)
		return r;
	return ck_records_journal_step(run->v.rec, run->nonce, CK_STEP_BUILT,
	    fail);
}

bool
ck_migrate_promised(const char *principal)
{
	size_t n;
	const char *const *promised = ck_amend_promised(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(promised[i], principal) == 0)
			return true;
	return false;
}

static ck_err
honour(struct ck_records *rec, struct ck_fail *fail)
{
	size_t n;
	const char *const *promised = ck_amend_promised(&n);
	ck_err r = CK_OK;

	for (size_t i = 0; r == CK_OK && i < n; i++)
		r = ck_records_principal_honours(rec, promised[i], "yes",
		    fail);
	return r;
}

static ck_err
protect(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_rules_set *set = calloc(1, sizeof(*set));
	ck_err r;

	if (set == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	r = ck_rules_defaults(run->p, run->how->checkouts,
	    run->how->ncheckouts, set, fail);
	for (size_t i = 0; r == CK_OK && i < set->n; i++)
		r = ck_records_protected_add(run->v.rec, &set->row[i], fail);
	free(set);
	return r;
}

/* The rows that make the dedicated keychain first for everybody. */
static ck_err
installed_rows(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	struct ck_place *p = run->p;
	struct ck_rec_credential c;
	struct ck_rec_store broker, dedicated;
	struct stat st;
	int64_t id;
	ck_err r;

	memset(&broker, 0, sizeof(broker));
	memset(&dedicated, 0, sizeof(dedicated));
	if (lstat(p->keychain, &st) != 0)
		return ck_fail_set(fail, CK_CHANGED, p->keychain,
		    "disappeared while it was taken into place");
	broker.kind = p->broker_kind;
	memcpy(broker.path, p->broker, sizeof(broker.path));
	dedicated.kind = CK_KIND_DEDICATED;
	memcpy(dedicated.path, p->keychain, sizeof(dedicated.path));
	dedicated.device = (uint64_t)st.st_dev;
	dedicated.inode = (uint64_t)st.st_ino;
	if ((r = ck_records_credential_get(rec, p->credential, &c,
	    fail)) != CK_OK)
		return r;
	if ((r = ck_dedicated_fingerprint(p, &run->password, c.fingerprint,
	    fail)) != CK_OK ||
	    (r = ck_records_store_put(rec, &broker, &run->broker_id,
	    fail)) != CK_OK ||
	    (r = ck_records_store_put(rec, &dedicated, &id, fail)) != CK_OK ||
	    (r = ck_records_precedence_dedicated(rec, p->credential, id,
	    run->broker_id, fail)) != CK_OK)
		return r;
	c.state = CK_STATE_DEDICATED;
	if ((r = ck_records_credential_put(rec, &c, fail)) != CK_OK ||
	    (r = protect(run, fail)) != CK_OK)
		return r;
	if (run->how->honours && (r = honour(rec, fail)) != CK_OK)
		return r;
	if ((r = ck_records_journal_step(rec, run->nonce, CK_STEP_INSTALLED,
	    fail)) != CK_OK ||
	    (r = ck_records_event(rec, "migrated", p->keychain,
	    fail)) != CK_OK)
		return r;
	return ck_seal_write(p, rec, &run->password, fail);
}

/* Step 4: the name, then the records in one transaction. */
ck_err
ck_migrate_install(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	ck_err r;

	if (!run->in_place) {
		r = ck_dedicated_install(run->p, run->v.dirfd, run->nonce,
		    fail);
		/* It may have its name although the disk did not confirm it:
		 * then nothing is taken back any more. */
		if (r == CK_OK || ck_place_dedicated(run->p, &run->in_place,
		    NULL) != CK_OK)
			run->in_place = true;
		if (r != CK_OK)
			return r;
	}
	/* An interrupted run may have come as far as this transaction. */
	if (!run->v.known || run->v.row.state != CK_STATE_DEDICATED) {
		if ((r = ck_records_begin(rec, fail)) != CK_OK)
			return r;
		if ((r = installed_rows(run, fail)) != CK_OK) {
			ck_records_rollback(rec);
			return r;
		}
		if ((r = ck_records_commit(rec, fail)) != CK_OK)
			return r;
	}
	return ck_anchor_write(run->p, rec, &run->password, 0, NULL, NULL,
	    fail);
}

/* The keychain has its name: a step is a change of sealed records. */
static ck_err
sealed_step(struct ck_migrate_run *run, int step,
    struct ck_fail *fail)
{
	struct ck_records *rec = run->v.rec;
	ck_err r;

	if ((r = ck_records_begin(rec, fail)) != CK_OK)
		return r;
	if ((r = ck_records_journal_step(rec, run->nonce, step,
	    fail)) == CK_OK &&
	    (r = ck_seal_write(run->p, rec, &run->password, fail)) == CK_OK)
		return ck_records_commit(rec, fail);
	ck_records_rollback(rec);
	return r;
}

/* A copy still there must be what was moved; its exact bytes go to *ret. */
static ck_err
read_copy(struct ck_migrate_run *run, const struct ck_place *where,
    struct ck_secret *ret, struct ck_fail *fail)
{
	struct ck_secret moved = CK_SECRET_INIT, copy = CK_SECRET_INIT;
	bool same = false;
	ck_err r;

	if ((r = ck_broker_read(where, &copy, fail)) != CK_OK)
		return r;
	if ((r = ck_dedicated_read(run->p, &run->password, &moved,
	    fail)) != CK_OK)
		goto out;
	if (ck_broker_same(where, &moved, &copy, &same) != CK_OK ||
	    !same) {
		r = ck_fail_set(fail, CK_DECIDE, where->broker,
		    "now holds another value than %.400s", run->p->keychain);
		ck_fail_next(fail, "something wrote it meanwhile; decide "
		    "which value is right");
		goto out;
	}
	ck_secret_move(ret, &copy);
out:
	ck_secret_wipe(&copy);
	ck_secret_wipe(&moved);
	return r;
}

/* Erase one copy; that it is gone already is fine. */
static ck_err
erase_copy(struct ck_migrate_run *run, const struct ck_place *where,
    struct ck_broker_lock *lock, struct ck_fail *fail)
{
	struct ck_secret copy = CK_SECRET_INIT;
	ck_err r;

	r = read_copy(run, where, &copy, fail);
	/* Absent: an interrupted run erased it, but may not have come to the
	 * index. */
	if (r == CK_OK || r == CK_ABSENT)
		r = ck_broker_erase(where, &copy, lock, fail);
	ck_secret_wipe(&copy);
	return r == CK_ABSENT ? CK_OK : r;
}

/* Step 6: the old copies, each compared again under its lock. */
ck_err
ck_migrate_erase(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_place other = *run->p;
	ck_err r;

	if ((r = erase_copy(run, run->p, &run->broker_lock, fail)) != CK_OK)
		return r;
	if (run->p->broker_kind == CK_KIND_LOGIN_KEYCHAIN) {
		other.broker_kind = CK_KIND_FILE_BROKER;
		memcpy(other.broker, other.file_broker, sizeof(other.broker));
		if ((r = erase_copy(run, &other, NULL, fail)) != CK_OK)
			return r;
	}
	return sealed_step(run, CK_STEP_ERASED, fail);
}

/* Step 5: the rules, written, evaluated against the records, read back. */
ck_err
ck_migrate_rules(struct ck_migrate_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_rules_write(run->p, run->v.dirfd, run->v.rec,
	    fail)) != CK_OK)
		return r;
	return sealed_step(run, CK_STEP_RULES, fail);
}

/* Step 7: look at the result as a stranger would, then close. */
ck_err
ck_migrate_finish(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	const char *differs = NULL;
	struct ck_rec_credential row;
	char detail[128];
	ck_err r;

	if ((r = ck_dedicated_prove(p, p->keychain, &run->password, NULL,
	    fail)) != CK_OK)
		return r;
	if ((r = ck_rules_match(p, run->v.dirfd, run->v.rec, &differs,
	    fail)) != CK_OK)
		return r;
	if (differs != NULL)
		return ck_fail_set(fail, CK_CHANGED, differs,
		    "is not what the records give");
	if ((r = ck_records_credential_get(run->v.rec, p->credential, &row,
	    fail)) != CK_OK)
		return r;
	(void)snprintf(detail, sizeof(detail), "%s " CK_MIGRATED_GENERATION
	    "%llu", row.name, (unsigned long long)row.generation);
	if ((r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	if ((r = ck_records_journal_close(run->v.rec, run->nonce,
	    fail)) == CK_OK &&
	    (r = ck_records_event(run->v.rec, CK_MIGRATED_EVENT, detail,
	    fail)) == CK_OK &&
	    (r = ck_seal_write(p, run->v.rec, &run->password, fail)) == CK_OK)
		return ck_records_commit(run->v.rec, fail);
	ck_records_rollback(run->v.rec);
	return r;
}
