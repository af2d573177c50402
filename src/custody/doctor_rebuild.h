/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that are missing, damaged or do not hold, made again from what the
 * stores hold, while the dedicated keychain can be opened.  Nothing is minted
 * and no broker is touched.
 */
#ifndef CK_CUSTODY_DOCTOR_REBUILD_H
#define CK_CUSTODY_DOCTOR_REBUILD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "custody/lines.h"
#include "custody/place.h"
#include "custody/rules.h"
#include "records/records.h"

/* A credential that the new records have. */
struct ck_rebuild_row {
	struct ck_rec_credential c;
	bool has_item;                /* else kept from the old records */
	bool guessed;                 /* its generation */
	enum ck_rec_kind broker_kind;
	char broker[CK_PATH_MAX];
	const char *broker_from;      /* "command line", "old records",
	                               * "default" */
};

enum { CK_REBUILD_ROWS_MAX = 16 };
struct ck_rebuild {
	struct ck_rebuild_row row[CK_REBUILD_ROWS_MAX];
	size_t n;
	struct ck_rules_set set;      /* what is protected */
	bool from_old[CK_RULES_ROWS_MAX];
	struct ck_lines differ;       /* what the old records said otherwise */
	struct ck_lines lost;         /* what cannot be known any more */
	char kept[CK_PATH_MAX];       /* the old records now, or "" */
	/* The keychain holds other values than were noted with its unlock
	 * password: somebody put it back to another day. */
	bool earlier;
};

/*
 * Derive, and with confirm write, under the custody's lock.  The old file is
 * kept beside the new one as custody.db.before-NONCE.  *ret is written on
 * success only; p's broker becomes the one that is recorded.
 *
 * accept_earlier: also from a keychain of another day than the anchor.
 *
 * CK_DECIDE   to be written, and the keychain is of another day
 * CK_REFUSED  the records hold; a worker pane; an override is set
 * CK_BUSY     records that hold tell of an operation that is not finished
 * CK_NOSTORE  no custody, keychain or unlock password is there
 * CK_LOCKED, CK_DAMAGED, CK_DENIED  the keychain cannot be opened
 * CK_UNSUPPORTED  a newer clankie-keys wrote the records
 * and the codes of ck_records_open(), but for a file that is missing or
 * damaged.  After a failure the old records have their name, unless
 * the reason says otherwise.
 */
CK_MUST_USE ck_err ck_doctor_rebuild(struct ck_place *p, bool confirm,
    bool accept_earlier, struct ck_rebuild *ret, struct ck_fail *fail);

#endif
