/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a transaction has changed in one table: records by number, and every
 * index as sorted runs (docs/keychain-format.md sections 3 and 6).
 *
 * An index is one large sorted run and a short one that takes new entries and
 * is merged into the large one when it is full, so that a thousand inserts do
 * not move the large one a thousand times.  Entries of records that went away
 * stay where they are and no longer count.
 */
#ifndef KC_DB_EDIT_H
#define KC_DB_EDIT_H

#include "db_int.h"

/* In kc_entry.number: made in this transaction.  Record numbers are far
 * smaller, a slot takes four bytes of at most KC_FILE_MAX. */
#define KC_FRESH 0x80000000U

struct kc_run {
	struct kc_entry *e;
	size_t n, room;
};

struct kc_index_edit {
	struct kc_run main, pend;
};

struct kc_change {
	const uint8_t *rec;     /* inserted or updated record, else NULL */
	uint32_t n;
	bool gone;              /* the record in the file is no more */
	bool stale;             /* nor do its entries in the file count */
	bool fresh;             /* has entries of this transaction */
};

struct kc_edit {
	struct kc_index_edit *indexes;   /* one for each definition */
	struct kc_change *changes;       /* by record number */
	size_t nchanges, room;           /* numbers in use or free, so far */
	uint32_t free_next;              /* rest of the free list */
};

/* The keys of one record; p is NULL where it is not in the index. */
struct kc_keys_of {
	struct ck_span key[KC_INDEXES_MAX];
};

/* NULL when out of memory.  n bytes, aligned for nothing. */
uint8_t *kc_arena_take(struct kc_arena *a, size_t n);
void kc_arena_free(struct kc_arena *a);

/* Begin to change t, whose table was verified.  Again: nothing happens. */
CK_MUST_USE ck_err kc_edit_open(struct kc_db *db, struct kc_table *t,
    struct ck_fail *fail);
void kc_edit_free(struct kc_table *t);

/* The record as it is now; n is 0 when there is none with that number. */
struct ck_span kc_edit_record(const struct kc_db *db,
    const struct kc_table *t, uint32_t number);

/* Keys of a record with these values, in the arena. */
CK_MUST_USE ck_err kc_edit_keys(struct kc_db *db, const struct kc_table *t,
    const struct kc_value *values, struct kc_keys_of *ret,
    struct ck_fail *fail);

/* Room for one more record in every index and among the numbers: what follows
 * cannot fail half-way. */
CK_MUST_USE ck_err kc_edit_reserve(struct kc_db *db, struct kc_table *t,
    struct ck_fail *fail);
/* The next record number, section 3.2; it is consumed. */
uint32_t kc_edit_number(struct kc_db *db, struct kc_table *t);
/* Does a unique index hold one of the keys?  *ret_index is its id. */
bool kc_edit_clash(const struct kc_table *t, const struct kc_keys_of *keys,
    uint32_t *ret_index);
void kc_edit_add(struct kc_table *t, const struct kc_keys_of *keys,
    uint32_t number);
/* keys are those it has now. */
void kc_edit_drop(struct kc_table *t, const struct kc_keys_of *keys,
    uint32_t number);

/* Bring both runs of every index together. */
CK_MUST_USE ck_err kc_edit_settle(struct kc_db *db, struct kc_table *t,
    struct ck_fail *fail);
/* Does the entry still count? */
bool kc_edit_live(const struct kc_edit *ed, const struct kc_entry *e);

/* db_layout.c: the table as it is to be written. */
CK_MUST_USE ck_err kc_layout_table(struct kc_db *db, struct kc_table *t,
    struct ck_buf *out, struct ck_fail *fail);
/* Header, tables and counter; out is empty. */
CK_MUST_USE ck_err kc_layout_file(struct kc_db *db, bool all, uint32_t commit,
    struct ck_buf *out, struct ck_fail *fail);

/* db_write.c: kc_db_insert() into any table whose edit is open. */
CK_MUST_USE ck_err kc_insert(struct kc_db *db, struct kc_table *t,
    const struct kc_value *values, struct ck_span data, uint32_t *ret_number,
    struct ck_fail *fail);

#endif
