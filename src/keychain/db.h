/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table layer of a keychain file: tables, records, values, indexes and
 * the commit, as docs/keychain-format.md sections 1 to 10 give them.  Knows
 * nothing of passwords; record data is opaque here.  Tables, relations,
 * attributes and padding it does not understand survive byte for byte.
 *
 * Reading is lazy: opening reads the header, the table array and the meta
 * tables; a record is read (pread, never mmap, so that a shrinking file is an
 * error and not a signal) and bounds-checked when it is asked for.  Writing
 * verifies the whole file first.
 *
 * Reads always show the file as it was opened; what a transaction changed is
 * seen by opening what kc_db_serialise() made.
 */
#ifndef KC_DB_H
#define KC_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

/* Largest file that is read, 1 GiB: beyond anything a keychain grows to. */
#define KC_FILE_MAX ((size_t)1 << 30)

/* Relations (section 8). */
#define KC_REL_SCHEMA_INFO       0x00000000U
#define KC_REL_SCHEMA_INDEXES    0x00000001U
#define KC_REL_SCHEMA_ATTRIBUTES 0x00000002U
#define KC_REL_SCHEMA_PARSING    0x00000003U
#define KC_REL_PUBLIC_KEY        0x0000000fU
#define KC_REL_PRIVATE_KEY       0x00000010U
#define KC_REL_SYMMETRIC_KEY     0x00000011U
#define KC_REL_GENERIC           0x80000000U
#define KC_REL_INTERNET          0x80000001U
#define KC_REL_APPLESHARE        0x80000002U
#define KC_REL_CERTIFICATE       0x80001000U
#define KC_REL_DB_BLOB           0x80008000U

/* Attribute formats (section 5). */
enum kc_format {
	KC_STRING = 0, KC_SINT32 = 1, KC_UINT32 = 2, KC_BIGNUM = 3,
	KC_REAL = 4, KC_DATE = 5, KC_BLOB = 6, KC_MULTI = 7, KC_COMPLEX = 8
};

/* Attribute ids of password records that this program uses (section 8.1). */
#define KC_ATTR_CREATED  0x63646174U  /* cdat */
#define KC_ATTR_MODIFIED 0x6d646174U  /* mdat */
#define KC_ATTR_KIND     0x64657363U  /* desc */
#define KC_ATTR_COMMENT  0x69636d74U  /* icmt */
#define KC_ATTR_CREATOR  0x63727472U  /* crtr */
#define KC_ATTR_TYPE     0x74797065U  /* type */
#define KC_ATTR_LABEL    7U           /* PrintName */
#define KC_ATTR_ALIAS    8U
#define KC_ATTR_ACCOUNT  0x61636374U  /* acct */
#define KC_ATTR_SERVICE  0x73766365U  /* svce */
#define KC_ATTR_GENERIC  0x67656e61U  /* gena */

struct kc_attr {
	uint32_t id;
	uint32_t name_format;    /* 0 string, 1 OID, 2 integer */
	uint32_t format;         /* enum kc_format */
	struct ck_span name;     /* n == 0 when there is none */
};

/* Attributes in the physical order of their meta rows = record order. */
struct kc_relation {
	uint32_t id;
	struct ck_span name;
	const struct kc_attr *attrs;
	size_t nattrs;
};

/*
 * One attribute value.  Absent (NULL) differs from present and empty.
 * word: UINT32 and SINT32 (two's complement).  bytes: STRING, BLOB, BIG_NUM,
 * DATE (16 bytes), REAL (8 bytes), MULTI (the words, big-endian).  Spans of
 * values that are read point into the database and die with it.
 */
struct kc_value {
	bool present;
	uint32_t word;
	struct ck_span bytes;
};

struct kc_record {
	uint32_t relation;
	uint32_t number;
	uint32_t created;        /* commit counter of the insert */
	uint32_t version;
	struct ck_span data;
	struct ck_span raw;      /* the whole record as stored */
};

struct kc_db;                    /* opaque */

/*
 * Open a keychain by descriptor (read with pread; the descriptor must stay
 * open as long as the object) or from bytes (copied).  shown is the path for
 * messages.  CK_UNSUPPORTED: another kind of file (SQLite is named), another
 * format version, or larger than KC_FILE_MAX.  CK_DAMAGED: a keychain, but
 * broken (too short, empty, sizes that do not fit).  CK_CHANGED, CK_IO,
 * CK_NOMEM.
 */
CK_MUST_USE ck_err kc_db_open_fd(int fd, const char *shown,
    struct kc_db **ret, struct ck_fail *fail);
CK_MUST_USE ck_err kc_db_open_bytes(struct ck_span in, const char *shown,
    struct kc_db **ret, struct ck_fail *fail);

/* An empty keychain as section 9 builds it, without the DbBlob record: the
 * caller inserts that into KC_REL_DB_BLOB (values may be NULL, it has no
 * attributes) and serialises.  It is in a write transaction already; what that
 * inserts belongs to the first commit. */
CK_MUST_USE ck_err kc_db_new(struct kc_db **ret, struct ck_fail *fail);

/* NULL is fine. */
void kc_db_free(struct kc_db **db);

uint32_t kc_db_commit(const struct kc_db *db);   /* commit counter */

/* Relations by ascending id; a table without meta rows is not listed. */
size_t kc_db_relation_count(const struct kc_db *db);
const struct kc_relation *kc_db_relation_at(const struct kc_db *db, size_t i);
/* NULL when the file has no such relation. */
const struct kc_relation *kc_db_relation(const struct kc_db *db, uint32_t id);
/* Index of attribute id in rel->attrs; rel->nattrs when it has none. */
size_t kc_relation_column(const struct kc_relation *rel, uint32_t attr);

/* Every structural check of section 19, items 1 to 19, over the whole file,
 * indexes against records included.  CK_DAMAGED names the table and check;
 * CK_UNSUPPORTED: several values of an indexed attribute, which no standard
 * relation has.  A file that passes is laid out again byte for byte. */
CK_MUST_USE ck_err kc_db_verify(struct kc_db *db, struct ck_fail *fail);

/* Live records of a relation, 0 for one that does not exist. */
CK_MUST_USE ck_err kc_db_count(struct kc_db *db, uint32_t relation,
    uint32_t *ret, struct ck_fail *fail);

/* The record with that number.  CK_ABSENT when the slot is free or beyond, or
 * there is no such table.  CK_UNSUPPORTED: a table the file does not
 * describe. */
CK_MUST_USE ck_err kc_db_record(struct kc_db *db, uint32_t relation,
    uint32_t number, struct kc_record *ret, struct ck_fail *fail);

/* The first record with a number >= *number; *number is then one past it.
 * CK_ABSENT at the end, CK_UNSUPPORTED as above.  *number is untouched on
 * failure. */
CK_MUST_USE ck_err kc_db_next(struct kc_db *db, uint32_t relation,
    uint32_t *number, struct kc_record *ret, struct ck_fail *fail);

/* One value of a record, by attribute id; CK_UNSUPPORTED when the relation
 * has no such attribute, CK_DAMAGED when the value is broken.  More than one
 * value (section 4, even offset): the first. */
CK_MUST_USE ck_err kc_db_value(struct kc_db *db, const struct kc_record *rec,
    uint32_t attr, struct kc_value *ret, struct ck_fail *fail);

/* All values in record order into ret[rel->nattrs]. */
CK_MUST_USE ck_err kc_db_values(struct kc_db *db,
    const struct kc_record *rec, struct kc_value *ret, struct ck_fail *fail);

/* No attribute of a record has several values, so that those of
 * kc_db_values() are all there are.  CK_UNSUPPORTED otherwise. */
CK_MUST_USE ck_err kc_db_single(struct kc_db *db,
    const struct kc_record *rec, struct ck_fail *fail);

/*
 * Binary search in one index for entries whose first nkeys attributes equal
 * keys (in the index's attribute order).  *ret_hit tells whether one was
 * found, *ret_number the record of the first one (untouched for a miss).  A
 * miss proves nothing: an index may be out of order.  A hit is to be compared
 * with the record: an index may lie.  CK_UNSUPPORTED: no such index, or nkeys
 * is 0 or too many.  CK_USAGE: a value no record could have.  CK_DAMAGED.
 */
CK_MUST_USE ck_err kc_db_lookup(struct kc_db *db, uint32_t relation,
    uint32_t index, const struct kc_value *keys, size_t nkeys, bool *ret_hit,
    uint32_t *ret_number, struct ck_fail *fail);

/* Id of the first index whose leading attributes are attrs[n], in id order.
 * CK_ABSENT when there is none. */
CK_MUST_USE ck_err kc_db_index_for(struct kc_db *db, uint32_t relation,
    const uint32_t *attrs, size_t n, uint32_t *ret, struct ck_fail *fail);

/* Start a write transaction: verifies everything, and fails like
 * kc_db_verify().  The changes stay in memory until kc_db_serialise().
 * CK_INTERNAL when one is running. */
CK_MUST_USE ck_err kc_db_begin(struct kc_db *db, struct ck_fail *fail);

/*
 * Insert one record; values[nattrs] in record order, data may be empty.
 * Missing values of unique-key attributes get their default (empty, 0).
 * CK_REFUSED: the unique key exists (the number stays consumed, section 3.2).
 * CK_USAGE: a value does not have the form of its format.  CK_NOSPACE: all
 * changes together exceed KC_FILE_MAX.  CK_UNSUPPORTED: no such table, or one
 * of the meta tables.  values and data are copied; ret_number may be NULL.
 */
CK_MUST_USE ck_err kc_db_insert(struct kc_db *db, uint32_t relation,
    const struct kc_value *values, struct ck_span data, uint32_t *ret_number,
    struct ck_fail *fail);

/* Replace values and data of a record (record version + 1), which may be one
 * of this transaction.  CK_ABSENT, CK_REFUSED when the new unique key exists;
 * then nothing changed but the order among equal keys (section 6.4).
 * CK_UNSUPPORTED also when the record has several values of one attribute.
 * A value that stays as it was need not be valid. */
CK_MUST_USE ck_err kc_db_update(struct kc_db *db, uint32_t relation,
    uint32_t number, const struct kc_value *values, struct ck_span data,
    struct ck_fail *fail);

CK_MUST_USE ck_err kc_db_delete(struct kc_db *db, uint32_t relation,
    uint32_t number, struct ck_fail *fail);

/*
 * The new file.  With changes pending the commit counter is the next one and
 * changed tables are laid out anew; the others are copied.  Without any, it
 * is the old file.  rebuild, in a transaction without changes, lays out every
 * table anew with the counter kept (used to prove byte identity).  The
 * transaction goes on.  *ret must hold nothing; written on success only.
 * CK_REFUSED when the result would be larger than KC_FILE_MAX.  CK_INTERNAL:
 * not exactly one record in KC_REL_DB_BLOB.
 */
CK_MUST_USE ck_err kc_db_serialise(struct kc_db *db, bool rebuild,
    struct ck_buf *ret, struct ck_fail *fail);

#endif
