/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records and keychain against the anchor, which lies with the unlock password
 * (design 6): whoever puts both back to an earlier day has to put back the
 * unlock password's place too, and for that to read it.
 *
 * Records, keychain and anchor are three places, and an operation changes them
 * one after the other.  Before the first change that the others do not have
 * yet it notes itself in the anchor, and when all of them fit again it
 * takes the note out, before its journal row is closed.  So rows that tell of
 * an open operation excuse nothing by themselves: a copy of them put back
 * later meets an anchor that does not know the nonce any more.
 */
#ifndef CK_CUSTODY_ANCHOR_H
#define CK_CUSTODY_ANCHOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/secret.h"
#include "custody/place.h"
#include "custody/unlock_place.h"
#include "records/records.h"

/* The sum of the generations of all credentials, each without the step that a
 * migration under way has counted beforehand.  It never goes down. */
CK_MUST_USE ck_err ck_anchor_generation(struct ck_records *rec,
    uint64_t *ret, struct ck_fail *fail);

/* 64 hex digits and a zero. */
#define CK_ANCHOR_PRINT_SIZE 65
/* SHA-256 over name, service, account and keyed fingerprint of each credential
 * that the keychain holds, by name: it stands for one set of values. */
CK_MUST_USE ck_err ck_anchor_print(struct ck_records *rec,
    char ret[CK_ANCHOR_PRINT_SIZE], struct ck_fail *fail);
/* The same of rows in the order of their names. */
CK_MUST_USE ck_err ck_anchor_print_rows(
    const struct ck_rec_credential *const *row, size_t n,
    char ret[CK_ANCHOR_PRINT_SIZE], struct ck_fail *fail);

/* 32 hex digits and a zero. */
#define CK_ANCHOR_NOTE_SIZE 33
/*
 * What stands in the anchor while an operation is under way: a digest of its
 * name, its credential and its nonce.  The nonce alone would not do: it can be
 * read in the records, and given to a row of another operation.  CK_INTERNAL.
 */
CK_MUST_USE ck_err ck_anchor_note_of(const char *operation,
    const char *credential, const char *nonce, char ret[CK_ANCHOR_NOTE_SIZE],
    struct ck_fail *fail);

/* Is the open operation the one that noted itself? */
bool ck_anchor_is_noted(const struct ck_anchor *anchor,
    const struct ck_rec_journal *j);

/*
 * Inside an open transaction.  CK_DAMAGED: the records are of an earlier or a
 * later day.  What the operation that noted itself may have changed on one
 * side only is no difference.
 */
CK_MUST_USE ck_err ck_anchor_check(const struct ck_place *p,
    struct ck_records *rec, const struct ck_anchor *anchor,
    struct ck_fail *fail);

/* Could it be moved: is the place of the unlock password writable, with room
 * for a second copy?  Codes of ck_broker_writable(). */
CK_MUST_USE ck_err ck_anchor_writable(const struct ck_place *p,
    struct ck_fail *fail);

/* Put it right for the records as they stand, plus more rotations, and for
 * the keychain that has its final name.  operation, of p's credential, and its
 * nonce: the one that is not at its end with this; NULL when none is. */
CK_MUST_USE ck_err ck_anchor_write(const struct ck_place *p,
    struct ck_records *rec, const struct ck_secret *password, uint64_t more,
    const char *operation, const char *nonce, struct ck_fail *fail);

/* Nothing but the note, before the first one-sided change. */
CK_MUST_USE ck_err ck_anchor_note(const struct ck_place *p,
    const struct ck_secret *password, const char *operation,
    const char *nonce, struct ck_fail *fail);

/* The keychain is about to go: from here the operation explains that it is
 * missing. */
CK_MUST_USE ck_err ck_anchor_lift(const struct ck_place *p,
    const struct ck_secret *password, const char *operation,
    const char *nonce, struct ck_fail *fail);

#endif
