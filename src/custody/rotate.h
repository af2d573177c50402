/* SPDX-License-Identifier: Apache-2.0 */
/* A new value in the place of the old one, in the dedicated keychain only. */
#ifndef CK_CUSTODY_ROTATE_H
#define CK_CUSTODY_ROTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/secret.h"
#include "custody/dedicated.h"
#include "custody/place.h"

struct ck_rotate_how {
	const struct ck_secret *value;   /* NULL: mint one; borrowed */
	bool if_generation;              /* only when it is this one */
	uint64_t generation;
};

enum ck_rotate_end {
	CK_ROTATED,
	CK_ROTATE_RESUMED                /* an interrupted one was finished */
};

struct ck_rotate_report {
	enum ck_rotate_end end;
	uint64_t generation;             /* the one that holds now */
	char fingerprint[CK_FINGERPRINT_SIZE];
	char keychain[CK_PATH_MAX];
};

/*
 * Rotate.  A rotation that was interrupted is settled first: when its value
 * had come into the keychain it is finished and reported, and nothing further
 * is made unless how names a value or generation that asks for it.
 *
 * CK_NOSTORE      the credential was not migrated
 * CK_CHANGED      the generation is not the one named, or another rotation
 *                 came between our look and our lock; nothing was written
 * CK_REFUSED      environment override, worker pane
 * CK_UNSUPPORTED  no value given for a format that none can be minted for
 * CK_USAGE        the given value does not fit the format
 * CK_BUSY         another operation is unfinished, or at work
 * CK_DAMAGED      records and keychain do not fit
 *
 * Errors up to the write leave everything as it was; behind it the journal
 * stays open and the next rotation finishes.
 */
CK_MUST_USE ck_err ck_rotate(struct ck_place *p,
    const struct ck_rotate_how *how, struct ck_rotate_report *ret,
    struct ck_fail *fail);

#endif
