/* SPDX-License-Identifier: Apache-2.0 */
/* Keychain records as text and JSON, for cmd_keychain*.c. */
#ifndef CK_CLI_KC_SHOW_H
#define CK_CLI_KC_SHOW_H

#include "cli.h"
#include "keychain/keychain.h"

/*
 * Append one record.  An attribute that cannot be read is a failure, not a
 * gap; an access list that cannot be read is shown as damaged, because the
 * attributes are what a list is for.  In JSON a missing value is null, dates
 * are ISO 8601, four-character codes text or, when they are not printable, a
 * number.
 */
CK_MUST_USE ck_err show_record(struct kc *kc, const struct kc_record *rec,
    bool json, struct ck_buf *out, struct ck_fail *fail);

/* Append every record of every relation people care about, by relation id
 * and record number. */
CK_MUST_USE ck_err show_all(struct kc *kc, bool json, struct ck_buf *out,
    struct ck_fail *fail);

#endif
