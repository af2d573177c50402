/* SPDX-License-Identifier: Apache-2.0 */
/* Into a dedicated keychain that other credentials are in already; see
 * migrate_int.h.  Every row is sealed from the first one on. */
#include "custody/migrate_int.h"

#include <string.h>

#include "custody/anchor.h"
#include "custody/joined.h"
#include "custody/seal.h"

/* One unlock password opens the file, and it lies in one place. */
static ck_err
beside_the_others(const struct ck_migrate_run *run, struct ck_fail *fail)
{
	const struct ck_place *p = run->p;
	struct ck_rec_store store;
	ck_err r;

	if ((r = ck_joined_broker(p, run->v.rec, &store, fail)) != CK_OK)
		return r == CK_ABSENT ? ck_fail_set(fail, CK_DAMAGED, p->dir,
		    "the records know no credential that is in %.300s",
		    p->keychain) : r;
	if (store.kind == p->broker_kind &&
	    (store.kind == CK_KIND_FILE_BROKER ||
	    strcmp(store.path, p->broker) == 0))
		return CK_OK;
	(void)ck_fail_set(fail, CK_UNSUPPORTED, p->broker,
	    "is not where the other credentials come from (%.300s), and the "
	    "unlock password of %.300s lies there", store.path, p->keychain);
	ck_fail_next(fail, "put %s into that broker first, with the program "
	    "that owns it", p->credential);
	return CK_UNSUPPORTED;
}

ck_err
ck_migrate_may_join(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_anchor anchor;
	ck_err r;

	ck_secret_wipe(&run->password);
	ck_secret_wipe(&run->key);
	if ((r = beside_the_others(run, fail)) != CK_OK ||
	    (r = ck_dedicated_look_at(run->p, &run->password, NULL, &run->key,
	    &anchor, fail)) != CK_OK ||
	    (r = ck_records_begin(run->v.rec, fail)) != CK_OK)
		return r;
	r = ck_seal_check(run->p, run->v.rec, &run->key, &anchor, fail);
	ck_records_rollback(run->v.rec);
	return r;
}

ck_err
ck_migrate_join(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	bool there = true;
	ck_err r;

	if (run->resumed && (r = ck_dedicated_tidy(p, fail)) != CK_OK)
		return r;
	if ((r = ck_anchor_note(p, &run->password,
	    CK_MIGRATE_OPERATION, run->nonce,
	    fail)) != CK_OK)
		return r;
	r = ck_joined_add(p, &run->password, &run->pf.value, fail);
	/* It may be there although the disk did not confirm it: then nothing
	 * is taken back any more. */
	if (r == CK_OK || ck_joined_holds(p, &there, NULL) != CK_OK || there)
		run->in_place = true;
	if (r != CK_OK)
		return r;
	return ck_dedicated_prove(p, p->keychain, &run->password,
	    &run->pf.value, fail);
}
