/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the records and the places say at this moment, read together: the
 * ground every operation starts from.
 */
#ifndef CK_CUSTODY_VIEW_H
#define CK_CUSTODY_VIEW_H

#include <stdbool.h>

#include "base/err.h"
#include "custody/place.h"
#include "records/records.h"

struct ck_view {
	int dirfd;                       /* -1: no custody directory */
	struct ck_records *rec;          /* NULL: no records */
	bool known;                      /* row holds the credential's row */
	struct ck_rec_credential row;
	bool journal_open;
	struct ck_rec_journal journal;
	bool dedicated;                  /* the file has its final name */
	bool item;                       /* ... and, as far as can be seen, the
	                                  * credential's item is in it */
	bool hollow;                     /* its directory is there without it */
};

#define CK_VIEW_INIT { .dirfd = -1 }

/*
 * Read it all; how is for the records (a missing file is no error unless the
 * dedicated keychain is there without it).  Service, account, format and
 * broker in p become the recorded ones; CK_REFUSED when the command line said
 * otherwise.  A credential without a row, and no broker said, goes by the
 * broker of those that are in the dedicated keychain.
 */
CK_MUST_USE ck_err ck_view_open(struct ck_place *p, enum ck_rec_how how,
    struct ck_view *ret, struct ck_fail *fail);
/* The same for reset: a directory that has lost its keychain is no error but
 * ret->hollow. */
CK_MUST_USE ck_err ck_view_open_lost(struct ck_place *p, enum ck_rec_how how,
    struct ck_view *ret, struct ck_fail *fail);
void ck_view_close(struct ck_view *v);

/* Take the custody lock, then look again, for writing.  The lock is held until
 * *ret_lock is closed.  CK_BUSY: another clankie-keys keeps it. */
CK_MUST_USE ck_err ck_view_lock(struct ck_place *p, struct ck_view *v,
    int *ret_lock, struct ck_fail *fail);

/* The dedicated keychain is in charge of the credential (law 2): its item is
 * in the file, or the records say so. */
bool ck_view_is_dedicated(const struct ck_view *v);

/* A name for an operation that begins: 32 random hex digits.  CK_IO. */
CK_MUST_USE ck_err ck_view_nonce(char ret[33], struct ck_fail *fail);

/* Into the records: which file bears the dedicated keychain's name now.
 * Inside a transaction.  CK_CHANGED when none does. */
CK_MUST_USE ck_err ck_view_note_file(const struct ck_place *p,
    struct ck_records *rec, struct ck_fail *fail);

/* The command that finishes an open operation: its name, and its credential
 * unless it is about the keychain as a whole. */
#define CK_VIEW_COMMAND_SIZE 112
void ck_view_command(const struct ck_rec_journal *j,
    char ret[CK_VIEW_COMMAND_SIZE]);

/* Is it the name of an operation that a command of ours finishes?  What else
 * stands in the journal was written by a newer program, or by nobody who
 * should. */
bool ck_view_known_operation(const char *operation);

/* An operation on p's credential, or on the keychain as a whole, is open. */
bool ck_view_is_moving(const struct ck_view *v, const struct ck_place *p);

/* CK_BUSY when an operation is open that is not this one of p's credential or
 * of the whole keychain; the next step is to finish that one. */
CK_MUST_USE ck_err ck_view_unhindered(const struct ck_view *v,
    const struct ck_place *p, const char *operation, struct ck_fail *fail);

#endif
