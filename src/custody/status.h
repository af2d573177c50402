/* SPDX-License-Identifier: Apache-2.0 */
/* What is known without asking a broker, a password or a person. */
#ifndef CK_CUSTODY_STATUS_H
#define CK_CUSTODY_STATUS_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "custody/launch.h"
#include "custody/place.h"
#include "custody/view.h"
#include "store/login.h"
#include "store/settings.h"

/* Other credentials that are shown; there may be more of them. */
enum { CK_STATUS_OTHERS = 32 };

struct ck_status {
	/* CK_OK, or why the records could not be read with the places: what
	 * they would tell is then left empty. */
	ck_err view_err;
	struct ck_fail view_fail;
	bool nothing;                    /* the broker, which is in charge, is
	                                  * known to hold no such credential */
	bool rules_there;
	bool custody;                    /* the directory exists */
	bool records;
	bool known;                      /* the credential has a row */
	struct ck_rec_credential row;
	struct ck_rec_credential other[CK_STATUS_OTHERS];
	size_t others;                   /* their number, all of them */
	bool journal_open;
	struct ck_rec_journal journal;
	bool keychain;                   /* ... exists, for whichever */
	bool in_charge;                  /* the dedicated keychain decides */
	ck_err file_err;                 /* CK_OK: file holds what it says */
	struct ck_fail file_fail;
	struct ck_login_status file;
	bool settings_changed;           /* auto-lock is not what was set */
	bool unlock_known;               /* broker a file: unlock.json asked */
	bool unlock_there;
	ck_err list_err;                 /* search list: CK_REFUSED = on it */
	ck_err rules_err;
	bool rules_match;                /* as the records give them */
	ck_err sandbox_err;
	enum ck_worker_sandbox sandbox;
	enum ck_word word;               /* the owner's about the sandbox, as the
	                                  * records say without their seal */
	bool seen;                       /* the sandbox was on at a launch */
	bool strict;                     /* helpers outside are closed, too */
	struct ck_buf edges, gaps;       /* of ck_rules_notes() */
	bool override;                   /* environment override is set */
	bool heap_locked;
};

/* Gather.  Fails only where the question is wrong: CK_USAGE for a name that the
 * records do not know, CK_REFUSED for names or a broker that are not the
 * recorded ones.  Everything else becomes part of the answer. */
CK_MUST_USE ck_err ck_status(struct ck_place *p, struct ck_status *ret,
    struct ck_fail *fail);
void ck_status_done(struct ck_status *s);

#endif
