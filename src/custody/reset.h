/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving up a bearer whose keychain or unlock password is lost, and making a
 * new one.  Besides rotate this alone mints.  Nothing is deleted: the old
 * keychain and a password that opens nothing are kept aside.
 */
#ifndef CK_CUSTODY_RESET_H
#define CK_CUSTODY_RESET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "custody/dedicated.h"
#include "custody/place.h"

enum ck_lost {
	CK_LOST_NOTHING,
	CK_LOST_FILE,            /* no keychain under its name */
	CK_LOST_PASSWORD,        /* none is stored that could be read */
	CK_LOST_MATCH,           /* the stored one does not open the keychain */
	CK_LOST_CONTENT          /* opened, but the credential is not in it */
};

/* Credentials that had to be given up with it and cannot be made here: the
 * first of them by name, and their number. */
enum { CK_RESET_NAMES = 32 };
struct ck_reset_names {
	char name[CK_RESET_NAMES][64];
	size_t n;
};

struct ck_reset_report {
	bool resumed;            /* an interrupted one was finished */
	enum ck_lost lost;       /* CK_LOST_NOTHING when resumed */
	bool minted;             /* a new bearer was made */
	bool broker_kept;        /* the broker's copy is in charge instead */
	struct ck_reset_names others;   /* back in the broker, without value;
	                          * none when resumed after that */
	char kept[CK_PATH_MAX];  /* directory with the old file, or "" */
	char kept_password[CK_PATH_MAX];   /* file or item account, or "" */
	char keychain[CK_PATH_MAX];     /* "" when none was made */
	char rules[CK_PATH_MAX];
	uint64_t generation;
	char fingerprint[CK_FINGERPRINT_SIZE];
};

/* Names with commas between, cut to n bytes with what says so. */
void ck_reset_names_text(const struct ck_reset_names *names, char *ret,
    size_t n);

/* For people: what is lost, a sentence fragment; never NULL. */
const char *ck_lost_text(enum ck_lost lost);
/* For JSON; never NULL. */
const char *ck_lost_name(enum ck_lost lost);

/*
 * Reset p's credential, and with it all that the lost keychain held: the
 * operator's bearer is made anew, every other credential goes back to its
 * broker without a value, for its owner to bring it again.  A migrate or
 * restore of it that was not finished may have it in the broker, too: nothing
 * is made then, and the broker is in charge again.
 *
 * A failure before the new keychain has its name takes everything back;
 * afterwards, or after an interruption, the journal stays open and the next
 * call finishes.  A bearer that came to the final name is the one that holds:
 * no second one is made for it.
 *
 * CK_DECIDE: not confirmed (ret->lost and the reason say what would be given
 * up, nothing was changed), a broker holds a value of one of them, or another
 * credential can still be read.  CK_REFUSED: nothing is lost; a worker pane; an
 * environment override.  CK_UNSUPPORTED: p's credential cannot be minted, and
 * the operator's bearer lies beside it.  CK_NOSTORE: nothing was
 * migrated, or the records are missing.  Whatever else keeps the keychain from
 * being read (CK_LOCKED broker, CK_DENIED, CK_IO, ...) is no loss and comes
 * back as it is.
 */
CK_MUST_USE ck_err ck_reset(struct ck_place *p, bool confirmed,
    struct ck_reset_report *ret, struct ck_fail *fail);

#endif
