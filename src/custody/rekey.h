/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new dedicated keychain: new file, new file keys, new unlock password, and
 * everything the old one held.  No credential gets another value: fingerprints,
 * generations and the seal's key stay.
 *
 * The new file is made and proved beside the old one, and its password stored
 * beside the old one's (custody/pending.h), before the two directories change
 * names in one step.  Whatever dies, one of the two stored passwords opens the
 * file that has the name, and which of them it is tells how far this came.
 */
#ifndef CK_CUSTODY_REKEY_H
#define CK_CUSTODY_REKEY_H

#include <stdint.h>

#include "base/err.h"
#include "custody/dedicated.h"
#include "custody/place.h"

#define CK_REKEY_OPERATION "rotate --keychain"

enum ck_rekey_end {
	CK_REKEYED,
	CK_REKEY_RESUMED        /* one that was interrupted came to its end */
};

struct ck_rekey_report {
	enum ck_rekey_end end;
	char keychain[CK_PATH_MAX];
	char signature[33];     /* of the new file, hex */
	uint32_t items;
	uint64_t generation;    /* of p's credential, as it was */
	char fingerprint[CK_FINGERPRINT_SIZE];
};

/*
 * Replace the keychain.  p may name a credential that the records do not know:
 * then it becomes the one that they do.  A failure before the new file has the
 * name leaves everything as it was; afterwards, or when even that fails, the
 * journal stays open, everything can be read, and the next call finishes or
 * undoes.
 *
 * CK_NOSTORE: nothing was migrated, or the file is missing.  CK_UNSUPPORTED:
 * the keychain holds something that cannot be carried, or the file system
 * cannot exchange two directories.  CK_BUSY: another operation is open.
 * CK_CHANGED: something else wrote the old file meanwhile.  CK_REFUSED: a
 * worker pane or an environment override.
 */
CK_MUST_USE ck_err ck_rekey(struct ck_place *p, struct ck_rekey_report *ret,
    struct ck_fail *fail);

#endif
