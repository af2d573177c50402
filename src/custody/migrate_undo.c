/* SPDX-License-Identifier: Apache-2.0 */
/* Taking back what a migration did before its keychain had its name. */
#include "custody/migrate_int.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "custody/anchor.h"
#include "custody/locator.h"
#include "custody/seal.h"

/* The directories that unlock.json needs, outermost first. */
static void
unlock_dirs(const struct ck_place *p, char ret[2][CK_PATH_MAX])
{
	ck_path_parent(p->unlock, ret[1]);
	ck_path_parent(ret[1], ret[0]);
}

void
ck_migrate_note_dirs(struct ck_migrate_run *run)
{
	char dir[2][CK_PATH_MAX];
	struct stat st;

	unlock_dirs(run->p, dir);
	for (int i = 0; i < 2; i++)
		run->made_unlock_dir[i] = lstat(dir[i], &st) != 0;
}

static void
undo_unlock_dirs(struct ck_migrate_run *run)
{
	char dir[2][CK_PATH_MAX];

	unlock_dirs(run->p, dir);
	for (int i = 1; i >= 0; i--)
		if (run->made_unlock_dir[i])
			(void)rmdir(dir[i]);
}

/* What is not empty stays: somebody else uses it by now.  So does one that
 * somebody has locked, who is about to use it. */
void
ck_migrate_undo_dir(struct ck_migrate_run *run)
{
	int lock = -1;

	if (!run->made_dir || (run->lockfd < 0 &&
	    ck_io_lock_dir(run->v.dirfd, run->p->dir, 0, &lock,
	    NULL) != CK_OK))
		return;
	(void)rmdir(run->p->dir);
	ck_io_close(&lock);
}

/* The rows as they were: the broker is in charge, nothing is under way. */
static void
undo_rows(struct ck_migrate_run *run)
{
	struct ck_records *rec = run->v.rec;
	struct ck_rec_credential row;
	struct ck_rec_journal j;

	if (ck_records_begin(rec, NULL) != CK_OK)
		return;
	if (ck_records_credential_get(rec, run->p->credential, &row,
	    NULL) == CK_OK && ck_records_journal_get(rec, &j, NULL) == CK_OK) {
		row.state = CK_STATE_BROKER;
		row.generation = j.from_generation;
		if (ck_records_credential_put(rec, &row, NULL) == CK_OK &&
		    ck_records_journal_close(rec, run->nonce,
		    NULL) == CK_OK &&
		    ck_records_event(rec, "migrate-undone", run->p->broker,
		    NULL) == CK_OK &&
		    (!run->joins || ck_seal_write_key(rec, &run->key,
		    NULL) == CK_OK) &&
		    ck_records_commit(rec, NULL) == CK_OK)
			return;
	}
	/* The journal stays open: the next run takes back or finishes. */
	ck_records_rollback(rec);
}

void
ck_migrate_undo(struct ck_migrate_run *run)
{
	struct ck_place *p = run->p;
	bool there = true;
	ck_err r;

	if (run->nonce[0] != '\0' &&
	    ck_dedicated_discard(p, run->v.dirfd, CK_SCRATCH_PREFIX,
	    run->nonce, NULL) != CK_OK)
		return;
	/* What an interrupted run left stays for the next one, and so does the
	 * open journal that says so. */
	if (run->resumed)
		return;
	/* Looking needs no lock, so that a lock that kept us from storing the
	 * password does not keep us from going back. */
	if (run->made_password && run->password.p != NULL &&
	    (ck_unlock_place_exists(p, &there, NULL) != CK_OK || there)) {
		r = ck_unlock_place_remove(p, &run->password, NULL);
		/* With the journal open the next run uses it. */
		if (r != CK_OK && r != CK_NOSTORE && r != CK_ABSENT)
			return;
	}
	if (run->made_password && ck_locator_remove(p, NULL) != CK_OK)
		return;
	undo_unlock_dirs(run);
	if (run->made_records) {
		ck_records_close(&run->v.rec);
		if (ck_records_remove(run->v.dirfd, p->dir, NULL) != CK_OK)
			return;
	} else if (run->v.rec != NULL) {
		/* With the journal open the note does no harm. */
		if (run->joins && run->password.p != NULL &&
		    ck_anchor_note(p, &run->password, NULL, NULL, NULL) != CK_OK)
			return;
		undo_rows(run);
	}
	ck_migrate_undo_dir(run);
}
