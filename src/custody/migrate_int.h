/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the migration, between its flow and its steps. */
#ifndef CK_CUSTODY_MIGRATE_INT_H
#define CK_CUSTODY_MIGRATE_INT_H

#include "custody/broker.h"
#include "custody/migrate.h"
#include "custody/preflight.h"
#include "custody/seal.h"
#include "custody/view.h"

/* The last event of a migration; its detail is "NAME generation N". */
#define CK_MIGRATED_EVENT "migrate-finished"
#define CK_MIGRATED_GENERATION "generation "

/* What the journal says has been reached. */
enum ck_migrate_step {
	CK_STEP_BEGUN = 1,      /* journal row */
	CK_STEP_PASSWORD = 2,   /* unlock password stored and read back */
	CK_STEP_BUILT = 3,      /* scratch keychain proved */
	CK_STEP_INSTALLED = 4,  /* it has its name, the records name it first */
	CK_STEP_RULES = 5,      /* rules written and read back */
	CK_STEP_ERASED = 6      /* the broker's copy is gone */
};

struct ck_migrate_run {
	struct ck_place *p;
	const struct ck_migrate_how *how;
	struct ck_view v;
	struct ck_preflight pf;
	struct ck_broker_lock broker_lock;
	struct ck_secret password;
	struct ck_secret key;           /* the seal key; when it joins */
	char nonce[33];
	int lockfd;
	bool made_dir;
	bool made_records;
	bool made_password;
	bool made_unlock_dir[2];        /* the configuration's, and ours in it */
	bool resumed;
	bool in_place;                  /* the item is in the final file */
	bool joins;                     /* other credentials are in that file */
	int64_t broker_id;
};

/* Each carries out one step of design section 8 and says so in the journal;
 * a step that was reached before is repeated without harm. */
CK_MUST_USE ck_err ck_migrate_begin(struct ck_migrate_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_migrate_password(struct ck_migrate_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_migrate_build(struct ck_migrate_run *run,
    struct ck_fail *fail);
/* In the place of the two before, into a keychain that has its name. */
CK_MUST_USE ck_err ck_migrate_join(struct ck_migrate_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_migrate_install(struct ck_migrate_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_migrate_rules(struct ck_migrate_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_migrate_erase(struct ck_migrate_run *run,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_migrate_finish(struct ck_migrate_run *run,
    struct ck_fail *fail);

/* Is this one of Clankie's own places, for which "the service honours the
 * records" speaks? */
bool ck_migrate_promised(const char *principal);

/* Could it join, as far as is known beforehand?  Password and seal key go to
 * run.  CK_UNSUPPORTED: the unlock password lies beside another broker.
 * CK_DAMAGED: records and keychain do not fit. */
CK_MUST_USE ck_err ck_migrate_may_join(struct ck_migrate_run *run,
    struct ck_fail *fail);

/* Remember which directories storing the unlock password is going to make. */
void ck_migrate_note_dirs(struct ck_migrate_run *run);
/* Before the file has its name: take back what the steps did. */
void ck_migrate_undo(struct ck_migrate_run *run);
/* Remove the custody directory if this run made it and nothing began. */
void ck_migrate_undo_dir(struct ck_migrate_run *run);

#endif
