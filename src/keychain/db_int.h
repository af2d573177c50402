/* SPDX-License-Identifier: Apache-2.0 */
/* The table layer from inside; db.h is its face. */
#ifndef KC_DB_INT_H
#define KC_DB_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "db_src.h"
#include "keychain/db.h"

#define KC_MAGIC 0x6b796368U          /* "kych" */
#define KC_VERSION 0x00010000U
#define KC_FORMAT_COUNT 9             /* enum kc_format */

/* Offsets in the file header, and of the schema section in the file. */
enum { KC_HEAD_MAGIC = 0, KC_HEAD_VERSION = 4, KC_HEAD_AUTH = 8,
	KC_HEAD_SCHEMA = 12, KC_SCHEMA_AT = 20 };
#define KC_AUTH_AT 16
/* Offsets in the schema section. */
enum { KC_SCHEMA_SIZE = 0, KC_SCHEMA_COUNT = 4, KC_SCHEMA_TABLES = 8 };
/* Header, schema size and count, commit counter. */
#define KC_FILE_MIN ((size_t)KC_SCHEMA_AT + KC_SCHEMA_TABLES + 4)

/* Offsets in a table. */
enum { KC_TAB_SIZE = 0, KC_TAB_ID = 4, KC_TAB_RECORDS = 8,
	KC_TAB_RECORDS_AT = 12, KC_TAB_INDEX_AT = 16, KC_TAB_FREE = 20,
	KC_TAB_SLOTS = 24, KC_TAB_SLOT = 28 };
/* Offsets in a record. */
enum { KC_REC_SIZE = 0, KC_REC_NUMBER = 4, KC_REC_CREATED = 8,
	KC_REC_VERSION = 12, KC_REC_DATA = 16, KC_REC_SEMANTIC = 20,
	KC_REC_ATTRS = 24 };
/* Offsets in the index section and in an index. */
enum { KC_IXS_SIZE = 0, KC_IXS_COUNT = 4, KC_IXS_OFFSETS = 8 };
enum { KC_IX_SIZE = 0, KC_IX_ID = 4, KC_IX_UNIQUE = 8, KC_IX_KEYS = 12,
	KC_IX_ATTRS = 16 };

/*
 * Bounds on what a file may describe, far above anything real (12 tables, 27
 * attributes, 11 indexes): they keep work that is quadratic in them small.
 */
#define KC_TABLES_MAX 4096U
#define KC_ATTRS_MAX 256U
#define KC_INDEXES_MAX 64U
#define KC_KEYS_MAX 32U
#define KC_VALUES_MAX 1024U           /* values of one attribute */

struct kc_index_def {
	uint32_t id;
	bool unique;
	size_t nkeys;
	uint16_t keys[KC_KEYS_MAX];   /* columns of the relation */
};

/* One table.  Offsets below "at" are relative to it. */
struct kc_table {
	uint32_t id;
	size_t at;                    /* in the file */
	size_t size;
	uint32_t records;
	size_t records_at;
	size_t index_at;
	uint32_t free_head;
	uint32_t slots;               /* 0: a table that is not in the file */
	bool known;                   /* has meta rows; those below are set */
	struct kc_relation rel;
	struct kc_attr *attrs;        /* what rel.attrs points to */
	struct kc_index_def *defs;    /* ascending id */
	size_t ndefs;
	struct kc_edit *edit;         /* changes, NULL for none */
};

struct kc_chunk;
/* Memory that is given back all at once. */
struct kc_arena {
	struct kc_chunk *last;
	size_t used, room;
	size_t total;                 /* handed out, with what it costs */
};

struct kc_db {
	char *shown;
	struct kc_src src;
	uint32_t commit;
	uint32_t next;                /* counter of the running transaction */
	struct kc_table *tables;      /* ascending id */
	size_t ntables;
	bool writing;
	bool changed;
	struct kc_arena arena;
};

/* db.c */
/* An object with nothing in it; NULL when out of memory. */
struct kc_db *kc_db_make(const char *shown);
/* Record damage to the file or to one of its tables, or the lack of memory,
 * and give the code back: macros for the reason ck_fail_set() is one. */
void kc_damaged_note(const struct kc_db *db, struct ck_fail *fail,
    const char *fmt, ...) CK_PRINTF(3, 4);
void kc_damaged_in_note(const struct kc_db *db, const struct kc_table *t,
    struct ck_fail *fail, const char *fmt, ...) CK_PRINTF(4, 5);
#define kc_damaged(db, fail, ...)                                             \
	(kc_damaged_note((db), (fail), __VA_ARGS__), (ck_err)CK_DAMAGED)
#define kc_damaged_in(db, t, fail, ...)                                       \
	(kc_damaged_in_note((db), (t), (fail), __VA_ARGS__),                    \
	(ck_err)CK_DAMAGED)
#define kc_nomem(db, fail)                                                    \
	ck_fail_set((fail), CK_NOMEM, (db)->shown, "no memory to work on it")
/* NULL when there is none. */
struct kc_table *kc_table_find(const struct kc_db *db, uint32_t id);
/* Read and check the header of a table whose at and size are set. */
CK_MUST_USE ck_err kc_table_header(struct kc_db *db, struct kc_table *t,
    struct ck_fail *fail);
/* Bytes of a table; needs kc_src_need() first. */
const uint8_t *kc_table_at(const struct kc_db *db, const struct kc_table *t,
    size_t at);
uint32_t kc_table_u32(const struct kc_db *db, const struct kc_table *t,
    size_t at);
/* kc_src_need() inside a table. */
CK_MUST_USE ck_err kc_table_need(struct kc_db *db, const struct kc_table *t,
    size_t at, size_t n, struct ck_fail *fail);

/* Blocks of the file read so far; a test proves by it that look-ups are not
 * scans. */
size_t kc_db_blocks(const struct kc_db *db);

/* db_schema.c */
/* Fill relations and index definitions from the meta tables. */
CK_MUST_USE ck_err kc_schema_load(struct kc_db *db, struct ck_fail *fail);
/* Add attribute col to index id of t, making the index when new. */
CK_MUST_USE ck_err kc_schema_index(struct kc_db *db, struct kc_table *t,
    uint32_t id, bool unique, size_t col, struct ck_fail *fail);

/* db_value.c */
bool kc_format_known(uint32_t format);
/*
 * The value at the start of in and the bytes it takes, padding included.
 * false: does not fit, or the format is not known; then nothing is written.
 */
CK_MUST_USE bool kc_value_take(uint32_t format, struct ck_span in,
    struct kc_value *ret, size_t *ret_used);
/* May v, which is present, be stored?  NULL or what is wrong with it. */
const char *kc_value_refusal(uint32_t format, const struct kc_value *v);
void kc_value_put(uint32_t format, const struct kc_value *v,
    struct ck_buf *out);
/* Order of section 6.3; both present. */
int kc_value_compare(uint32_t format, const struct kc_value *a,
    const struct kc_value *b);
/* The same bytes, which is more than comparing equal. */
bool kc_value_same(uint32_t format, const struct kc_value *a,
    const struct kc_value *b);

/* db_record.c */
/* The record at offset at of t, which must end before limit. */
CK_MUST_USE ck_err kc_record_at(struct kc_db *db, const struct kc_table *t,
    size_t at, size_t limit, struct kc_record *ret, struct ck_fail *fail);
/* Linear scan in physical order. */
struct kc_scan {
	size_t at;
	uint32_t left;
};
void kc_scan_start(const struct kc_table *t, struct kc_scan *ret);
/* CK_ABSENT at the end. */
CK_MUST_USE ck_err kc_scan_next(struct kc_db *db, const struct kc_table *t,
    struct kc_scan *scan, struct kc_record *ret, struct ck_fail *fail);
/*
 * Column col of a stored record whose size was checked.  *ret_count is the
 * number of values, *ret the first, *ret_bytes what all of them take; an
 * absent value has a count of 0.  false: broken.
 */
CK_MUST_USE bool kc_raw_value(const struct kc_relation *rel,
    struct ck_span raw, size_t col, struct kc_value *ret,
    uint32_t *ret_count, size_t *ret_bytes);
/* The value in column col of a record of table t.  CK_DAMAGED: broken;
 * CK_UNSUPPORTED: of an unknown format. */
CK_MUST_USE ck_err kc_column_value(struct kc_db *db, const struct kc_table *t,
    const struct kc_record *rec, size_t col, struct kc_value *ret,
    struct ck_fail *fail);
/* Append a record; values has one entry a column. */
void kc_record_put(const struct kc_relation *rel, const struct kc_record *head,
    uint32_t semantic, const struct kc_value *values, struct ck_buf *out);

/* db_index.c */
struct kc_index_view {
	const struct kc_index_def *def;
	size_t at, end;               /* in the table */
	uint32_t entries;
	size_t offsets_at, numbers_at, keys_at;
};
struct kc_entry {
	const uint8_t *key;           /* as stored, without its size word */
	uint32_t n;
	uint32_t number;
};
/* The index section as a whole; *ret is where the first index must start. */
CK_MUST_USE ck_err kc_index_section(struct kc_db *db,
    const struct kc_table *t, size_t *ret, struct ck_fail *fail);
/* Index at position i of t's definitions. */
CK_MUST_USE ck_err kc_index_open(struct kc_db *db, const struct kc_table *t,
    size_t i, struct kc_index_view *ret, struct ck_fail *fail);
CK_MUST_USE ck_err kc_index_entry(struct kc_db *db, const struct kc_table *t,
    const struct kc_index_view *ix, uint32_t i, struct kc_entry *ret,
    struct ck_fail *fail);
/* The next value of a key: taken from *rest, which shrinks. */
CK_MUST_USE bool kc_key_take(uint32_t format, struct ck_span *rest,
    struct kc_value *ret);

#endif
