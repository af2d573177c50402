/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule of section 19 of the format, broken alone, is found and named. */
#include "unit.h"

#include <string.h>

#include "help_db.h"
#include "keychain/db.h"
#include "keychain/db_edit.h"
#include "keychain/db_int.h"

/* One file for the cases below: four generic passwords, two deleted. */
static void
sample(struct ck_buf *ret)
{
	static const char *const services[] = { "s0", "s1", "s2", "s3" };
	struct kc_value values[16];
	struct ck_buf file = CK_BUF_INIT;
	struct kc_db *db;

	help_new_file(168, &file);
	db = help_db_open(ck_buf_view(&file));
	HELP_OK(kc_db_begin(db, &fail));
	for (size_t i = 0; i < 4; i++) {
		help_db_generic(kc_db_relation(db, KC_REL_GENERIC), "a",
		    services[i], values);
		HELP_OK(kc_db_insert(db, KC_REL_GENERIC, values,
		    (struct ck_span){ (const uint8_t *)"data!", 5 }, NULL,
		    &fail));
	}
	ck_buf_free(&file);
	help_serialise(db, &file);
	kc_db_free(&db);
	db = help_db_open(ck_buf_view(&file));
	HELP_OK(kc_db_begin(db, &fail));
	HELP_OK(kc_db_delete(db, KC_REL_GENERIC, 1, &fail));
	HELP_OK(kc_db_delete(db, KC_REL_GENERIC, 2, &fail));
	help_serialise(db, ret);
	kc_db_free(&db);
	ck_buf_free(&file);
}

/* Places in the generic-password table of sample(): 4 slots, two of which are
 * free (1 and 2), then records 0 and 3, then the indexes. */
#define SLOT(n) (28 + 4 * (n))
#define SIZE 0x98
#define REC(i) (44 + SIZE * (i))
#define ATTR(i, col) (REC(i) + 24 + 4 * (col))
#define INDEXES (REC(2))
/* Behind the section's header: index 0 with two attributes, two entries. */
#define INDEX0 (INDEXES + 8 + 12)
#define KEY0 (INDEX0 + 28 + 16)

struct damage {
	size_t at;
	uint32_t word;
	const char *why;
};

static const struct damage damages[] = {
	/* table */
	{ 8, 3, "3 records but 2 numbers" },
	{ 8, 5, "5 records but 4 record numbers" },
	{ 12, 48, "not behind the numbers" },
	{ 16, 40, "out of place" },
	{ 16, REC(2) - 4, "impossible size" },
	{ 16, REC(2) + 2, "out of place" },
	{ 16, 0xfffffffc, "out of place" },
	{ 24, 0, "do not fit" },
	{ 24, 3, "not behind the numbers" },
	{ 24, 0x40000007, "do not fit" },
	/* slots and the free list */
	{ 20, 0, "starts at" },
	{ 20, SLOT(2), "starts at" },
	{ 20, SLOT(0) | 1, "starts at" },
	{ 20, SLOT(9) | 1, "starts at" },
	{ SLOT(1), SLOT(2) | 1, "broken at 1" },      /* a loop */
	{ SLOT(2), 0, "broken at 2" },                /* too short */
	{ SLOT(2), SLOT(0) | 1, "broken at 2" },      /* a used slot */
	{ SLOT(1), REC(0), "" },                      /* twice the same */
	{ SLOT(0), REC(1), "not where number 0" },
	{ SLOT(0), REC(0) + 4, "not where number 0" },
	{ SLOT(0), 0, "broken at" },
	/* records */
	{ REC(0), 0, "impossible size" },
	{ REC(0), 20, "impossible size" },
	{ REC(0), SIZE + 1, "impossible size" },
	{ REC(0), SIZE + 4, "" },
	{ REC(1), SIZE - 4, "" },
	{ REC(1), SIZE + 4, "impossible size" },
	{ REC(1), 0xfffffffc, "impossible size" },
	{ REC(0) + 4, 1, "not where number 1" },
	{ REC(0) + 4, 9, "not where number 9" },
	{ REC(0) + 16, SIZE - 24 - 64 + 1, "data" },
	{ REC(0) + 16, 0xffffffff, "data" },
	{ REC(0) + 16, 21, "overlap" },
	/* attributes of a record */
	{ ATTR(0, 0), 21, "broken" },
	{ ATTR(0, 0), SIZE | 1, "broken" },
	{ ATTR(0, 0), 0xfffffffd, "broken" },
	{ ATTR(0, 7), 0x63, "broken" },               /* not aligned */
	{ ATTR(0, 7), 0x60, "broken" },               /* 'data' of them */
	{ ATTR(0, 2), 0x81, "overlap" },
	{ ATTR(0, 14), 0, "lacks" },
	/* indexes */
	{ INDEXES, 0, "do not end where it ends" },
	{ INDEXES + 4, 2, "2 indexes, 3 are described" },
	{ INDEXES + 8, INDEX0 + 4, "" },
	{ INDEXES + 12, 0xfffffffc, "out of place" },
	{ INDEX0, 0, "impossible size" },
	{ INDEX0 + 4, 3, "not as its description" },
	{ INDEX0 + 8, 0, "not as its description" },
	{ INDEX0 + 12, 0, "not as its description" },
	{ INDEX0 + 12, 3, "not as its description" },
	{ INDEX0 + 16, KC_ATTR_SERVICE, "other attributes" },
	{ INDEX0 + 24, 1, "" },
	{ INDEX0 + 24, 0x20000001, "impossible size" },
	{ INDEX0 + 28, KEY0 + 20, "not stored in order" },
	{ INDEX0 + 28, 0, "out of place" },
	{ INDEX0 + 28, 0xfffffffc, "out of place" },
	{ INDEX0 + 36, 1, "not there" },
	{ INDEX0 + 36, 9, "not there" },
	{ INDEX0 + 36, 3, "another key than its record" },
	{ KEY0, 12, "" },
	{ KEY0, 20, "" },
	{ KEY0, 15, "too long" },
	{ KEY0, 0xfffffffc, "too long" },
	{ KEY0 + 4, 2, "another key than its record" },
	{ KEY0 + 4, 0xffffffff, "broken key" },
	{ KEY0 + 16, 0x73310000, "another key than its record" },
};

static ck_err
verify(const struct ck_buf *file, struct ck_fail *fail)
{
	struct kc_db *db = NULL;
	ck_err r;

	r = kc_db_open_bytes(ck_buf_view(file), "f", &db, fail);
	if (r == CK_OK)
		r = kc_db_verify(db, fail);
	kc_db_free(&db);
	return r;
}

/* Each rule of section 19 broken alone is found, with its own words. */
static void
each_broken_rule_is_named(void **state)
{
	struct ck_buf file = CK_BUF_INIT;
	struct ck_fail fail;
	struct kc_db *db;
	size_t base;

	(void)state;
	sample(&file);
	db = help_db_open(ck_buf_view(&file));
	base = kc_table_find(db, KC_REL_GENERIC)->at;
	assert_int_equal(kc_table_find(db, KC_REL_GENERIC)->index_at,
	    INDEXES);
	assert_int_equal(kc_table_find(db, KC_REL_GENERIC)->free_head,
	    SLOT(2) | 1);
	kc_db_free(&db);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		const struct damage *d = &damages[i];
		uint32_t was = ck_get_be32(file.p + base + d->at);

		assert_int_not_equal(was, d->word);
		ck_put_be32(file.p + base + d->at, d->word);
		fail = (struct ck_fail)CK_FAIL_INIT;
		if (verify(&file, &fail) != CK_DAMAGED ||
		    strstr(fail.why, d->why) == NULL ||
		    strstr(fail.why, "table 0x80000000") == NULL)
			fail_msg("case %zu: '%s' instead of '%s'", i,
			    fail.why, d->why);
		assert_int_equal(help_exercise(ck_buf_view(&file)), CK_DAMAGED);
		ck_put_be32(file.p + base + d->at, was);
	}
	assert_int_equal(verify(&file, NULL), CK_OK);
	ck_buf_free(&file);
}

/* Entries of an index exchanged: right keys, wrong order.  Look-ups then miss
 * what a scan shows, and a write is refused. */
static void
index_out_of_order_is_refused_for_writing(void **state)
{
	struct ck_buf file = CK_BUF_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc_db *db;
	uint8_t *p, key[20];
	size_t base;

	(void)state;
	sample(&file);
	db = help_db_open(ck_buf_view(&file));
	base = kc_table_find(db, KC_REL_GENERIC)->at;
	kc_db_free(&db);
	p = file.p + base;
	memcpy(key, p + KEY0, sizeof(key));
	memmove(p + KEY0, p + KEY0 + sizeof(key), sizeof(key));
	memcpy(p + KEY0 + sizeof(key), key, sizeof(key));
	ck_put_be32(p + INDEX0 + 36, 3);
	ck_put_be32(p + INDEX0 + 40, 0);
	db = help_db_open(ck_buf_view(&file));
	assert_int_equal(kc_db_begin(db, &fail), CK_DAMAGED);
	assert_non_null(strstr(fail.why, "out of order"));
	kc_db_free(&db);
	/* The same record twice. */
	memcpy(p + KEY0 + sizeof(key), p + KEY0, sizeof(key));
	ck_put_be32(p + INDEX0 + 40, 3);
	assert_int_equal(verify(&file, &fail), CK_DAMAGED);
	assert_non_null(strstr(fail.why, "same record"));
	ck_buf_free(&file);
}

/* The same keys in two records, all of it consistent: only uniqueness says
 * no. */
static void
duplicate_unique_key_is_damaged(void **state)
{
	struct ck_buf file = CK_BUF_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc_db *db;
	uint8_t *p;

	(void)state;
	sample(&file);
	db = help_db_open(ck_buf_view(&file));
	p = file.p + kc_table_find(db, KC_REL_GENERIC)->at;
	kc_db_free(&db);
	/* "s3" becomes "s0" wherever it is. */
	for (size_t i = REC(1); i < KEY0 + 400 && p + i + 4 <=
	    file.p + file.n; i++)
		if (memcmp(p + i, "s3\0\0", 4) == 0)
			p[i + 1] = '0';
	assert_int_equal(verify(&file, &fail), CK_DAMAGED);
	assert_non_null(strstr(fail.why, "same key as the one before"));
	ck_buf_free(&file);
}

/* Add to a word of the table. */
static void
bump(uint8_t *table, size_t at)
{
	ck_put_be32(table + at, ck_get_be32(table + at) + 4);
}

/*
 * Four bytes more at a place of the generic-password table, with every size
 * and offset put right as far as the file is concerned: what is left is the
 * gap alone.
 */
static void
with_gap(size_t place, struct ck_buf *ret)
{
	struct ck_buf file = CK_BUF_INIT;
	struct kc_db *db;
	uint8_t *p;
	size_t base, at, entry;

	sample(&file);
	db = help_db_open(ck_buf_view(&file));
	base = kc_table_find(db, KC_REL_GENERIC)->at;
	kc_db_free(&db);
	p = file.p + base;
	for (size_t i = 0; i < 3; i++) {
		at = ck_get_be32(p + INDEXES + 8 + 4 * i);
		entry = at + 16 + 4 * ck_get_be32(p + at + 12) + 4;
		for (size_t n = 0; n < 2; n++)
			if (ck_get_be32(p + entry + 4 * n) >= place)
				bump(p, entry + 4 * n);
		if (place > at && place <= at + ck_get_be32(p + at))
			bump(p, at);
		if (at >= place)
			bump(p, INDEXES + 8 + 4 * i);
	}
	if (place > INDEXES)
		bump(p, INDEXES);
	else
		bump(p, 16);
	bump(p, 0);
	/* The tables behind it are 8, 9 and 10 of the array. */
	for (size_t i = 8; i < 11; i++)
		bump(file.p, 0x1c + 4 * i);
	bump(file.p, KC_SCHEMA_AT);
	*ret = (struct ck_buf)CK_BUF_INIT;
	ck_buf_bytes(ret, file.p, base + place);
	ck_buf_zeros(ret, 4);
	ck_buf_bytes(ret, file.p + base + place, file.n - base - place);
	ck_buf_free(&file);
}

/* A gap would be lost when the table is laid out anew. */
static void
gaps_are_damaged(void **state)
{
	static const struct damage cases[] = {
		{ INDEXES, 0, "4 bytes between records and indexes" },
		{ INDEX0, 0, "out of place" },
		{ KEY0, 0, "not stored in order" },
		{ KEY0 + 40, 0, "4 bytes behind its keys" },
	};
	struct ck_fail fail = CK_FAIL_INIT;
	struct ck_buf file = CK_BUF_INIT;
	struct kc_db *db;
	size_t at;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		with_gap(cases[i].at, &file);
		if (verify(&file, &fail) != CK_DAMAGED ||
		    strstr(fail.why, cases[i].why) == NULL)
			fail_msg("case %zu: '%s' instead of '%s'", i,
			    fail.why, cases[i].why);
		ck_buf_free(&file);
	}
	/* Behind an index section without indexes, in the last table. */
	help_new_file(168, &file);
	db = help_db_open(ck_buf_view(&file));
	at = kc_table_find(db, KC_REL_DB_BLOB)->at;
	kc_db_free(&db);
	ck_buf_zeros(&file, 4);
	bump(file.p, KC_SCHEMA_AT);
	bump(file.p, at);
	bump(file.p, at + ck_get_be32(file.p + at + 16));
	assert_int_equal(verify(&file, &fail), CK_DAMAGED);
	assert_non_null(strstr(fail.why, "4 bytes behind its indexes"));
	ck_buf_free(&file);
}

/* A key with more in it than its values. */
static void
overlong_key_is_damaged(void **state)
{
	struct ck_buf file = CK_BUF_INIT, out = CK_BUF_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc_entry *e;
	struct kc_table *t;
	uint8_t key[24] = { 0 };
	struct kc_db *db;

	(void)state;
	sample(&file);
	db = help_db_open(ck_buf_view(&file));
	assert_int_equal(kc_db_begin(db, &fail), CK_OK);
	assert_int_equal(kc_db_delete(db, KC_REL_GENERIC, 3, &fail), CK_OK);
	t = kc_table_find(db, KC_REL_GENERIC);
	e = &t->edit->indexes[0].main.e[0];
	assert_int_equal(e->n, 16);
	memcpy(key, e->key, 16);
	e->key = key;
	e->n = 20;
	help_serialise(db, &out);
	kc_db_free(&db);
	assert_int_equal(verify(&out, &fail), CK_DAMAGED);
	assert_non_null(strstr(fail.why, "too long"));
	ck_buf_free(&file);
	ck_buf_free(&out);
}

/* An index that leaves a record out, and is fine otherwise. */
static void
missing_entry_is_damaged(void **state)
{
	struct ck_buf file = CK_BUF_INIT, out = CK_BUF_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc_db *db;

	(void)state;
	sample(&file);
	db = help_db_open(ck_buf_view(&file));
	assert_int_equal(kc_db_begin(db, &fail), CK_OK);
	assert_int_equal(kc_db_delete(db, KC_REL_GENERIC, 3, &fail), CK_OK);
	kc_table_find(db, KC_REL_GENERIC)->edit->indexes[2].main.n = 0;
	help_serialise(db, &out);
	kc_db_free(&db);
	assert_int_equal(verify(&out, &fail), CK_DAMAGED);
	assert_non_null(strstr(fail.why, "0 entries instead of 1"));
	ck_buf_free(&file);
	ck_buf_free(&out);
}

/* Reading without verifying: a number that leads to another record, and a
 * slot that is neither free nor a place of records. */
static void
wrong_slot_is_damaged_when_read(void **state)
{
	static const uint32_t words[] = { REC(1), REC(0) + 4, REC(2),
	    SLOT(1) | 3, SLOT(9) | 1, 0xfffffffd, 0xfffffffc };
	struct ck_buf file = CK_BUF_INIT;
	struct kc_record rec = { .number = 77 };
	struct kc_db *db;
	uint32_t number;
	size_t base;

	(void)state;
	sample(&file);
	db = help_db_open(ck_buf_view(&file));
	base = kc_table_find(db, KC_REL_GENERIC)->at;
	kc_db_free(&db);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		ck_put_be32(file.p + base + SLOT(0), words[i]);
		db = help_db_open(ck_buf_view(&file));
		number = 0;
		assert_int_equal(kc_db_record(db, KC_REL_GENERIC, 0, &rec,
		    NULL), CK_DAMAGED);
		assert_int_equal(kc_db_next(db, KC_REL_GENERIC, &number,
		    &rec, NULL), CK_DAMAGED);
		assert_int_equal(number, 0);
		assert_int_equal(rec.number, 77);
		kc_db_free(&db);
	}
	ck_buf_free(&file);
}

/* A word of the file header, the table array or a meta row. */
static void
header_and_array_damage_is_found(void **state)
{
	static const struct damage cases[] = {
		{ 12, 24, "out of place" },
		{ 0x14, 0x54b0, "bytes long" },
		{ 0x18, 10, "table 0 is at" },
		{ 0x18, 0x40000001, "do not fit" },
		{ 0x18, 5000, "do not fit" },
		{ 0x1c, 0x38, "table 0 is at" },
		{ 0x20, 0x34, "table 1 is at" },
		{ 0x48, 24, "impossible size" },
		{ 0x48, 0x2e0, "table 1 is at" },
		{ 0x48, 0xfffffffc, "impossible size" },
		{ 0x4c, 1, "twice there or out of order" },
	};
	struct ck_buf file = CK_BUF_INIT;
	struct ck_fail fail = CK_FAIL_INIT;

	(void)state;
	help_new_file(168, &file);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t was = ck_get_be32(file.p + cases[i].at);

		ck_put_be32(file.p + cases[i].at, cases[i].word);
		if (verify(&file, &fail) != CK_DAMAGED ||
		    strstr(fail.why, cases[i].why) == NULL)
			fail_msg("case %zu: '%s' instead of '%s'", i,
			    fail.why, cases[i].why);
		ck_put_be32(file.p + cases[i].at, was);
	}
	ck_buf_free(&file);
}

/* Put word at column col (0 or 1 word wide values) of a row of a meta table
 * that has old there; the first such row. */
static void
set_row(struct ck_buf *file, uint32_t meta, size_t col, uint32_t of,
    uint32_t old, uint32_t word)
{
	struct kc_db *db = help_db_open(ck_buf_view(file));
	struct kc_value values[8];
	struct kc_record rec;
	uint32_t number = 0;

	while (kc_db_next(db, meta, &number, &rec, NULL) == CK_OK) {
		HELP_OK(kc_db_values(db, &rec, values, &fail));
		if (values[0].word != of || values[col].word != old)
			continue;
		ck_put_be32(file->p + (rec.raw.p - db->src.p) +
		    (ck_get_be32(rec.raw.p + 24 + 4 * col) ^ 1), word);
		kc_db_free(&db);
		return;
	}
	fail_msg("no such row");
}

static void
meta_row_damage_is_found(void **state)
{
	static const struct {
		uint32_t meta;
		size_t col;
		uint32_t of, old, word;
		const char *why;
	} cases[] = {
		{ 0, 0, 0x11, 0x11, 0x12, "is missing" },
		{ 0, 0, 0x11, 0x11, 0x10, "described twice" },
		{ 0, 0, 0x11, 0x11, 2, "has no name" },
		{ 0, 0, 0x80008000, 0x80008000, 2, "blob is missing" },
		{ 2, 5, 0x11, 6, 8, "format 8" },
		{ 2, 5, 0x11, 6, 9, "format 9" },
		{ 2, 1, 0x11, 5, 4, "there twice" },
		{ 2, 2, 0x80000000, 2, 0, "has no name" },
		{ 2, 0, 0x11, 0x11, 0x1234, "is missing" },
		{ 1, 0, 0x11, 0x11, 0x1234, "is missing" },
		{ 1, 2, 0x11, 6, 99, "does not exist" },
		{ 1, 3, 0x11, 0, 1, "unique and not unique" },
		{ 1, 3, 0x11, 0, 7, "makes no sense" },
		{ 1, 1, 0x11, 3, 77, "not as its description" },
		{ 1, 2, 0x11, 18, 19, "other attributes" },
	};
	struct ck_fail fail = CK_FAIL_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ck_buf file = CK_BUF_INIT;

		help_new_file(168, &file);
		set_row(&file, cases[i].meta, cases[i].col, cases[i].of,
		    cases[i].old, cases[i].word);
		if (verify(&file, &fail) != CK_DAMAGED ||
		    strstr(fail.why, cases[i].why) == NULL)
			fail_msg("case %zu: '%s' instead of '%s'", i,
			    fail.why, cases[i].why);
		ck_buf_free(&file);
	}
}

/* n rows of a meta table added to a new file by the back door. */
static void
with_rows(uint32_t meta, uint32_t n, struct ck_buf *ret)
{
	struct kc_value row[6] = { { false, 0, CK_SPAN_NONE } };
	struct ck_span none = CK_SPAN_NONE;
	struct kc_db *db = NULL;
	struct kc_table *t;

	HELP_OK(kc_db_new(&db, &fail));
	HELP_OK(kc_db_insert(db, KC_REL_DB_BLOB, NULL, none, NULL, &fail));
	t = kc_table_find(db, meta);
	HELP_OK(kc_edit_open(db, t, &fail));
	row[0] = help_word(KC_REL_GENERIC);
	for (uint32_t i = 0; i < n; i++) {
		/* An attribute i, or a part of index i: attribute 7. */
		row[1] = help_word(meta == KC_REL_SCHEMA_ATTRIBUTES ?
		    0x1000 + i : 0x1000 + i % 200);
		row[2] = help_word(meta == KC_REL_SCHEMA_ATTRIBUTES ? 2 : 7);
		if (meta == KC_REL_SCHEMA_INDEXES)
			row[3] = help_word(1);
		row[5 - (meta == KC_REL_SCHEMA_INDEXES)] = help_word(2);
		HELP_OK(kc_insert(db, t, row, none, NULL, &fail));
	}
	help_serialise(db, ret);
	kc_db_free(&db);
}

/* More of them than anything has is refused and overruns nothing. */
static void
too_many_attributes_or_indexes_are_unsupported(void **state)
{
	struct ck_buf file = CK_BUF_INIT;
	struct ck_fail fail = CK_FAIL_INIT;

	(void)state;
	with_rows(KC_REL_SCHEMA_ATTRIBUTES, KC_ATTRS_MAX - 16, &file);
	assert_int_equal(verify(&file, &fail), CK_OK);
	ck_buf_free(&file);
	with_rows(KC_REL_SCHEMA_ATTRIBUTES, KC_ATTRS_MAX - 15, &file);
	assert_int_equal(help_exercise(ck_buf_view(&file)), CK_UNSUPPORTED);
	assert_int_equal(verify(&file, &fail), CK_UNSUPPORTED);
	assert_non_null(strstr(fail.why, "more than 256 attributes"));
	ck_buf_free(&file);
	with_rows(KC_REL_SCHEMA_INDEXES, KC_INDEXES_MAX - 2, &file);
	assert_int_equal(verify(&file, &fail), CK_UNSUPPORTED);
	assert_non_null(strstr(fail.why, "more than 64 indexes"));
	ck_buf_free(&file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_broken_rule_is_named),
		cmocka_unit_test(index_out_of_order_is_refused_for_writing),
		cmocka_unit_test(duplicate_unique_key_is_damaged),
		cmocka_unit_test(gaps_are_damaged),
		cmocka_unit_test(overlong_key_is_damaged),
		cmocka_unit_test(missing_entry_is_damaged),
		cmocka_unit_test(wrong_slot_is_damaged_when_read),
		cmocka_unit_test(header_and_array_damage_is_found),
		cmocka_unit_test(meta_row_damage_is_found),
		cmocka_unit_test(too_many_attributes_or_indexes_are_unsupported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
