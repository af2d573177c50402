/* SPDX-License-Identifier: Apache-2.0 */
/* Moving a credential from the general broker into the dedicated keychain,
 * step by step as design section 8 says. */
#ifndef CK_CUSTODY_MIGRATE_H
#define CK_CUSTODY_MIGRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "custody/amend.h"
#include "custody/dedicated.h"
#include "custody/place.h"
#include "store/settings.h"

struct ck_migrate_how {
	bool dry_run;                    /* say what would be done */
	bool honours;                    /* the installed Clankie asks the records */
	const char *const *checkouts;    /* canonical directories */
	size_t ncheckouts;
	/* Told, before anything moves, the readers and writers that are not
	 * known to ask the records, names with commas between; may be NULL. */
	void (*unasked)(void *arg, const char *names);
	void *arg;
};

enum ck_migrate_end {
	CK_MIGRATED,
	CK_MIGRATE_ALREADY,              /* nothing was left to do */
	CK_MIGRATE_RESUMED,              /* an interrupted run was finished */
	CK_MIGRATE_PLANNED               /* dry run */
};

struct ck_migrate_report {
	enum ck_migrate_end end;
	enum ck_rec_kind broker_kind;
	char broker[CK_PATH_MAX];
	char keychain[CK_PATH_MAX];
	char rules[CK_PATH_MAX];
	char fingerprint[CK_FINGERPRINT_SIZE];   /* "" for a plan */
	uint64_t generation;             /* of the value that was moved; a later
	                                  * one was never in the broker */
	bool sandbox_known;              /* settings.json could be read */
	enum ck_worker_sandbox sandbox;
	size_t copies;                   /* copies that were (would be) erased */
	struct ck_amend_report amended;  /* of what had been migrated before */
};

/*
 * Migrate.  A second call resumes an interrupted one or reports that all is
 * done.  Before the new keychain has its name a failure leaves every store as
 * it was; afterwards the journal stays open and the next call finishes.
 * Checkouts and promises that come with a call that finds the credential moved
 * are added to the records (custody/amend.h).
 * CK_ABSENT: nothing to move.  CK_DECIDE, CK_REFUSED and the errors of every
 * store: see custody/preflight.h.
 */
CK_MUST_USE ck_err ck_migrate(struct ck_place *p,
    const struct ck_migrate_how *how, struct ck_migrate_report *ret,
    struct ck_fail *fail);

#endif
