/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Next steps that work when they are copied: a command of ours in them is
 * completed with what it needs in this custody.
 */
#ifndef CK_CUSTODY_ADVICE_H
#define CK_CUSTODY_ADVICE_H

#include "base/err.h"
#include "custody/place.h"
#include "records/records.h"

#define CK_ADVICE_SIZE 512

/*
 * In the text that fmt gives, {WORDS} is a command line of ours: it becomes
 * "clankie-keys WORDS" with the credential's name, unless that is the
 * operator's, with the broker if it was said and may not be recorded, and with
 * the descriptors that it wants: --secret-fd for a value that cannot be made
 * here, --login-password-fd for a keychain broker.  p NULL:
 * nothing is added.  What does not fit is cut.
 */
void ck_advice(const struct ck_place *p, char ret[CK_ADVICE_SIZE],
    const char *fmt, ...) CK_PRINTF(3, 4);
/* The same as the next step of a recorded failure. */
void ck_advise(struct ck_fail *fail, const struct ck_place *p,
    const char *fmt, ...) CK_PRINTF(3, 4);

/* The command that finishes what is open: its name, its credential unless it
 * is about the keychain as a whole, and what it wants. */
void ck_advice_finish(const struct ck_place *p,
    const struct ck_rec_journal *j, char ret[CK_ADVICE_SIZE]);

/* How a value gets into the broker that p names, for a failure that says that
 * none is there. */
void ck_advise_absent(struct ck_fail *fail, const struct ck_place *p,
    const char *then);

#endif
