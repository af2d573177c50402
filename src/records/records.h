/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records: which credential lies where, who consults which store and in
 * which order, what is protected, which operation is under way, and what was
 * done.  One SQLite file, custody.db, in the custody directory; its schema is
 * a published contract (docs/records.md).  No secret is ever stored in it.
 *
 * Only src/records knows SQLite.  A handle belongs to one thread.  Text in
 * the structures below ends in NUL; on the way in it must fit and have no
 * control character and no bearer in it, else CK_REFUSED.  Outputs are written
 * on success only.
 *
 * Codes that every function here may give, besides those it names:
 * CK_BUSY        another process kept the records for more than
 *                CK_REC_WAIT_MS, or reading took more than CK_REC_RUN_MS
 * CK_DAMAGED     the file is no sound database, or a row is not what the
 *                schema allows
 * CK_CHANGED     the file was replaced, or its schema altered, while it was
 *                open
 * CK_REFUSED     a value, or a constraint or trigger of the schema, says no
 * CK_READONLY    a change through a CK_REC_READ handle, or on a read-only
 *                file system
 * CK_DENIED, CK_NOSPACE, CK_NOMEM, CK_IO, CK_INTERNAL
 *
 * CK_ABSENT is about a row and never about a credential: "the records have no
 * such row" does not say that no bearer exists anywhere.
 */
#ifndef CK_RECORDS_RECORDS_H
#define CK_RECORDS_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/path.h"

#define CK_REC_FILE "custody.db"
/* What it is called while it is made, for ck_io_sweep(). */
#define CK_REC_NEW CK_REC_FILE ".new-################"

/* Marks of the file: "ckey", and the version of the schema. */
#define CK_REC_APPLICATION_ID 0x636b6579
#define CK_REC_VERSION 1

/* Longest wait for another process, in milliseconds. */
#define CK_REC_WAIT_MS 5000
/* Longest time that one statement runs, that wait included. */
#define CK_REC_RUN_MS 15000
/* Longest value in a row, in bytes; ours have 1,535 at most. */
#define CK_REC_VALUE_MAX (1 << 20)

struct ck_records;

enum ck_rec_how {
	CK_REC_READ,    /* never writes; fine in a read-only directory */
	CK_REC_WRITE,
	CK_REC_CREATE   /* make the file if it is missing, then as WRITE */
};

/* Once, before the first use, in a program of which one thread uses records:
 * SQLite then takes no locks of its own and keeps no count of its memory. */
void ck_records_init(void);
/* The version of SQLite that is used; static text. */
const char *ck_records_engine(void);

/*
 * Open custody.db.  dirfd is the opened and checked custody directory, dir
 * its canonical path (CK_CHANGED when they are two directories).  The file
 * must be a regular file of the caller with one link and no bit for group or
 * others, else CK_REFUSED.
 *
 * CK_NOSTORE     the file is missing (not with CK_REC_CREATE)
 * CK_DAMAGED     empty, truncated, overwritten; or the schema is not exactly
 *                the one of its version
 * CK_REFUSED     a database of another program (application_id), or one that
 *                was switched to WAL mode
 * CK_UNSUPPORTED written by a newer clankie-keys (user_version)
 * CK_READONLY    CK_REC_READ: a change was cut short by a crash and has to be
 *                undone first: ck_records_recover().  CK_REC_WRITE: the file
 *                cannot be written.
 *
 * CK_REC_CREATE builds the file under another name and renames it into place
 * complete, 0600 whatever the umask, with the schema and the principals; the
 * caller holds the custody lock.  An empty custody.db is therefore damage and
 * never a beginning.
 */
CK_MUST_USE ck_err ck_records_open(int dirfd, const char *dir,
    enum ck_rec_how how, struct ck_records **ret, struct ck_fail *fail);

/* Undo what a crash cut short, and clear its journal away.  CK_OK also when
 * there was nothing to undo.  Codes as for CK_REC_WRITE. */
CK_MUST_USE ck_err ck_records_recover(int dirfd, const char *dir,
    struct ck_fail *fail);

/* Take back a CK_REC_CREATE: the file and SQLite's journal go.  The caller
 * holds the custody lock and has closed the records. */
CK_MUST_USE ck_err ck_records_remove(int dirfd, const char *dir,
    struct ck_fail *fail);

/* Rolls an open transaction back.  NULL and *rec == NULL are fine. */
void ck_records_close(struct ck_records **rec);

/*
 * Everything a doctor can ask without a key: the pages, the foreign keys, the
 * schema, the event chain.  Reads the whole file.  CK_DAMAGED says what.
 */
CK_MUST_USE ck_err ck_records_check(struct ck_records *rec,
    struct ck_fail *fail);

/*
 * A transaction: BEGIN IMMEDIATE for writing handles; for CK_REC_READ a
 * snapshot, so that several reads agree.  They do not nest (CK_INTERNAL).  A
 * single call outside of one is a transaction of its own; a call that fails
 * inside of one undoes what it did itself.  When commit fails, everything
 * since begin is undone.
 */
CK_MUST_USE ck_err ck_records_begin(struct ck_records *rec,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_records_commit(struct ck_records *rec,
    struct ck_fail *fail);
void ck_records_rollback(struct ck_records *rec);

/*
 * Rows are handed to a callback, in the order of their key, and live until it
 * returns.  A result other than CK_OK stops and is passed on.  A callback may
 * call other functions here, but not the one it is called from.
 */

/*
 * Credentials.  What the schema makes of state:
 *   broker      no precedence row names a dedicated store
 *   migrating   either
 *   dedicated   rank 0 of every reader and writer is the dedicated store
 *   restoring   either
 * so a change goes broker, migrating, dedicated, restoring, broker (or back
 * one step), and the precedence is set before the state, in one transaction.
 */
enum ck_rec_state {
	CK_STATE_BROKER,
	CK_STATE_MIGRATING,
	CK_STATE_DEDICATED,
	CK_STATE_RESTORING
};

struct ck_rec_credential {
	char name[64];          /* letters, digits, dot, dash, underscore */
	char service[256];
	char account[256];
	char format[32];
	enum ck_rec_state state;
	uint64_t generation;    /* at most INT64_MAX */
	char fingerprint[65];   /* lower-case hex digits, or empty */
};

typedef ck_err (*ck_rec_credential_cb)(void *arg,
    const struct ck_rec_credential *row);

/* CK_ABSENT: the records have no such row. */
CK_MUST_USE ck_err ck_records_credential_get(struct ck_records *rec,
    const char *name, struct ck_rec_credential *ret, struct ck_fail *fail);
/* Insert or update. */
CK_MUST_USE ck_err ck_records_credential_put(struct ck_records *rec,
    const struct ck_rec_credential *c, struct ck_fail *fail);
CK_MUST_USE ck_err ck_records_credential_each(struct ck_records *rec,
    ck_rec_credential_cb cb, void *arg, struct ck_fail *fail);
/* "broker" and so on; never NULL. */
const char *ck_rec_state_name(enum ck_rec_state state);

/* Stores: places a credential can lie. */
enum ck_rec_kind {
	CK_KIND_DEDICATED,      /* at most one row */
	CK_KIND_LOGIN_KEYCHAIN,
	CK_KIND_FILE_BROKER,
	CK_KIND_DOTENV
};

struct ck_rec_store {
	int64_t id;
	enum ck_rec_kind kind;
	char path[CK_PATH_MAX];   /* absolute, canonical */
	uint64_t device, inode;   /* 0 when not known */
};

typedef ck_err (*ck_rec_store_cb)(void *arg, const struct ck_rec_store *row);

/*
 * id 0: update the row of this kind and path, or insert one.  Otherwise
 * update path, device and inode of row id; its kind cannot change
 * (CK_REFUSED) and it must exist (CK_ABSENT).  A second dedicated store is
 * CK_REFUSED and names the recorded one.  ret_id may be NULL.
 */
CK_MUST_USE ck_err ck_records_store_put(struct ck_records *rec,
    const struct ck_rec_store *s, int64_t *ret_id, struct ck_fail *fail);
CK_MUST_USE ck_err ck_records_store_get(struct ck_records *rec, int64_t id,
    struct ck_rec_store *ret, struct ck_fail *fail);
/* CK_ABSENT: no row of this kind; CK_REFUSED: more than one. */
CK_MUST_USE ck_err ck_records_store_by_kind(struct ck_records *rec,
    enum ck_rec_kind kind, struct ck_rec_store *ret, struct ck_fail *fail);
/* CK_REFUSED while a precedence row names it, CK_ABSENT. */
CK_MUST_USE ck_err ck_records_store_remove(struct ck_records *rec,
    int64_t id, struct ck_fail *fail);
CK_MUST_USE ck_err ck_records_store_each(struct ck_records *rec,
    ck_rec_store_cb cb, void *arg, struct ck_fail *fail);
/* "dedicated", "login-keychain", ...; never NULL. */
const char *ck_rec_kind_name(enum ck_rec_kind kind);

/* Principals: the places that read or write a credential. */
struct ck_rec_principal {
	char id[64];
	char what[256];
	char honours[8];        /* yes, no, unknown: does it ask the records */
	bool reader, writer;
};

typedef ck_err (*ck_rec_principal_cb)(void *arg,
    const struct ck_rec_principal *row);

CK_MUST_USE ck_err ck_records_principal_get(struct ck_records *rec,
    const char *id, struct ck_rec_principal *ret, struct ck_fail *fail);
CK_MUST_USE ck_err ck_records_principal_each(struct ck_records *rec,
    ck_rec_principal_cb cb, void *arg, struct ck_fail *fail);
/* Is it one of the readers that new records begin with? */
bool ck_records_reader_at_first(const char *id);
/* honours: "yes", "no" or "unknown".  CK_ABSENT: no such principal. */
CK_MUST_USE ck_err ck_records_principal_honours(struct ck_records *rec,
    const char *id, const char *honours, struct ck_fail *fail);

/*
 * Precedence.  Rank 0 decides: a reader that cannot read it stops with that
 * error.  Rank 1 of a reader is what was in front before the migration, and
 * is kept only to be shown: nobody reads it while rank 0 is recorded, also
 * not when the file of rank 0 is missing, for that could bring a second
 * bearer to life.  A writer has rank 0 and nothing else.
 */
struct ck_rec_precedence {
	char credential[64];
	char principal[64];
	char role[8];           /* reader, writer */
	int rank;
	struct ck_rec_store store;
	char honours[8];
};

typedef ck_err (*ck_rec_precedence_cb)(void *arg,
    const struct ck_rec_precedence *row);

/*
 * Replace all rows of a credential (CK_ABSENT: no such row) for every
 * principal that reads or writes.  dedicated: readers get the dedicated store
 * and behind it the broker, writers the dedicated store.  broker: everybody
 * gets the broker.  In state broker only the second is possible, in state
 * dedicated neither (CK_REFUSED), in migrating and restoring both.  A store of
 * the wrong kind is CK_REFUSED, an unknown one CK_ABSENT.
 */
CK_MUST_USE ck_err ck_records_precedence_dedicated(struct ck_records *rec,
    const char *credential, int64_t dedicated_id, int64_t broker_id,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_records_precedence_broker(struct ck_records *rec,
    const char *credential, int64_t broker_id, struct ck_fail *fail);
/* credential and principal may be NULL: all.  By credential, principal, role,
 * rank.  No row is CK_OK. */
CK_MUST_USE ck_err ck_records_precedence_each(struct ck_records *rec,
    const char *credential, const char *principal, ck_rec_precedence_cb cb,
    void *arg, struct ck_fail *fail);

/* Paths that workers are kept from; the boundary rules are made from these. */
struct ck_rec_protected {
	char path[CK_PATH_MAX];   /* absolute, canonical */
	bool directory;           /* with all that is below */
	bool deny_read;           /* reading too, not only writing */
	char why[128];
};

typedef ck_err (*ck_rec_protected_cb)(void *arg,
    const struct ck_rec_protected *row);

/* Insert, or replace the row of this path. */
CK_MUST_USE ck_err ck_records_protected_add(struct ck_records *rec,
    const struct ck_rec_protected *p, struct ck_fail *fail);
/* CK_ABSENT: no such row. */
CK_MUST_USE ck_err ck_records_protected_remove(struct ck_records *rec,
    const char *path, struct ck_fail *fail);
CK_MUST_USE ck_err ck_records_protected_has(struct ck_records *rec,
    const char *path, bool *ret, struct ck_fail *fail);
CK_MUST_USE ck_err ck_records_protected_each(struct ck_records *rec,
    ck_rec_protected_cb cb, void *arg, struct ck_fail *fail);

/* The operation under way: one at most. */
struct ck_rec_journal {
	char operation[32];
	char nonce[33];           /* 32 lower-case hex digits */
	int step;                 /* 0 or more */
	uint64_t from_generation, to_generation;
	char at[CK_CLOCK_ISO_SIZE];   /* set by open, ignored on the way in */
	char credential[64];      /* may be empty */
};

/* CK_BUSY: one is open, and the reason names it. */
CK_MUST_USE ck_err ck_records_journal_open(struct ck_records *rec,
    const struct ck_rec_journal *j, struct ck_fail *fail);
/* CK_CHANGED: the open operation, if any, is not the one with this nonce. */
CK_MUST_USE ck_err ck_records_journal_step(struct ck_records *rec,
    const char *nonce, int step, struct ck_fail *fail);
CK_MUST_USE ck_err ck_records_journal_close(struct ck_records *rec,
    const char *nonce, struct ck_fail *fail);
/* CK_ABSENT: no operation is open. */
CK_MUST_USE ck_err ck_records_journal_get(struct ck_records *rec,
    struct ck_rec_journal *ret, struct ck_fail *fail);

/*
 * Events, append only, each with the SHA-256 of the one before (in hex; 64
 * zeros before the first).  Control characters in detail become '?'.
 */
struct ck_rec_event {
	uint64_t seq;             /* from 1, without gaps */
	char at[CK_CLOCK_ISO_SIZE];
	char what[64];
	char detail[1536];
	char prev[65];
};

typedef ck_err (*ck_rec_event_cb)(void *arg, const struct ck_rec_event *row);

CK_MUST_USE ck_err ck_records_event(struct ck_records *rec, const char *what,
    const char *detail, struct ck_fail *fail);
/* CK_DAMAGED names the first row that does not fit.  The last row is covered
 * by the seal alone. */
CK_MUST_USE ck_err ck_records_events_verify(struct ck_records *rec,
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_records_event_each(struct ck_records *rec,
    ck_rec_event_cb cb, void *arg, struct ck_fail *fail);

/* Settings: name like a credential's, value up to 1023 bytes.  get is
 * CK_ABSENT for no such row and CK_REFUSED when n bytes are too few. */
CK_MUST_USE ck_err ck_records_setting_get(struct ck_records *rec,
    const char *name, char *ret, size_t n, struct ck_fail *fail);
CK_MUST_USE ck_err ck_records_setting_put(struct ck_records *rec,
    const char *name, const char *value, struct ck_fail *fail);

/*
 * The seal: one MAC a generation.  put replaces the row of its generation and
 * drops all but the one before.  get is CK_ABSENT for no such row.
 */
#define CK_REC_MAC_SIZE 32
CK_MUST_USE ck_err ck_records_seal_put(struct ck_records *rec,
    uint64_t generation, const uint8_t mac[CK_REC_MAC_SIZE],
    struct ck_fail *fail);
CK_MUST_USE ck_err ck_records_seal_get(struct ck_records *rec,
    uint64_t generation, uint8_t ret_mac[CK_REC_MAC_SIZE],
    struct ck_fail *fail);
/* Drop them all: the keychain with their key is gone. */
CK_MUST_USE ck_err ck_records_seal_clear(struct ck_records *rec,
    struct ck_fail *fail);

/*
 * Feed the bytes that the seal covers, in the encoding of docs/records.md:
 * every row of every table but seal and event in a fixed order, then number
 * and hash of the last event (which cover the rest of them through the chain:
 * ck_records_events_verify()).  Call it inside a transaction.
 */
typedef ck_err (*ck_rec_bytes_cb)(void *arg, const void *bytes, size_t n);
CK_MUST_USE ck_err ck_records_canonical(struct ck_records *rec,
    ck_rec_bytes_cb cb, void *arg, struct ck_fail *fail);

#endif
