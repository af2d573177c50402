/* SPDX-License-Identifier: Apache-2.0 */
/* What the table layer does not understand survives a write. */
#include "unit.h"

#include <string.h>

#include "help_db.h"
#include "keychain/db.h"
#include "keychain/db_int.h"

#define FOREIGN 0x80001234U

static void
put_item(struct kc_db *db, const char *service)
{
	struct kc_value values[16];

	help_db_generic(kc_db_relation(db, KC_REL_GENERIC), "a", service,
	    values);
	HELP_OK(kc_db_insert(db, KC_REL_GENERIC, values,
	    (struct ck_span){ (const uint8_t *)"xyz", 3 }, NULL, &fail));
}

/* A table without meta rows, its content no table at all. */
static void
unknown_table_is_kept_byte_for_byte(void **state)
{
	static const uint8_t body[] = "what this is nobody can tell, not even "
	    "how long the records of it are...";
	struct ck_span span = { body, 68 };
	struct ck_buf file = CK_BUF_INIT, more = CK_BUF_INIT,
	    out = CK_BUF_INIT;
	struct kc_record rec;
	const struct kc_table *t;
	struct kc_db *db;
	uint32_t n = 0;

	(void)state;
	help_new_file(168, &file);
	help_add_table(&file, FOREIGN, span, &more);
	assert_int_equal(help_exercise(ck_buf_view(&more)), CK_OK);
	db = help_db_open(ck_buf_view(&more));
	assert_null(kc_db_relation(db, FOREIGN));
	assert_int_equal(kc_db_relation_count(db), 11);
	assert_int_equal(kc_db_next(db, FOREIGN, &n, &rec, NULL),
	    CK_UNSUPPORTED);
	assert_int_equal(kc_db_record(db, FOREIGN, 0, &rec, NULL),
	    CK_UNSUPPORTED);
	assert_int_equal(kc_db_count(db, FOREIGN, &n, NULL), CK_UNSUPPORTED);
	HELP_OK(kc_db_begin(db, &fail));
	assert_int_equal(kc_db_delete(db, FOREIGN, 0, NULL), CK_UNSUPPORTED);
	put_item(db, "s");
	help_serialise(db, &out);
	kc_db_free(&db);
	db = help_db_open(ck_buf_view(&out));
	HELP_OK(kc_db_verify(db, &fail));
	t = kc_table_find(db, FOREIGN);
	assert_non_null(t);
	assert_int_equal(t->size, 76);
	assert_memory_equal(kc_table_at(db, t, 8), body, 68);
	kc_db_free(&db);
	ck_buf_free(&file);
	ck_buf_free(&more);
	ck_buf_free(&out);
}

/* Offset of the record with that number in the file. */
static size_t
record_place(struct kc_db *db, uint32_t relation, uint32_t number)
{
	const struct kc_table *t = kc_table_find(db, relation);

	return t->at + kc_table_u32(db, t, 28 + 4 * (size_t)number);
}

/* Padding that is not zero, in data, values and keys, and a semantic word:
 * read, and carried over by a write to the same table. */
static void
odd_padding_and_words_are_kept(void **state)
{
	struct ck_buf file = CK_BUF_INIT, two = CK_BUF_INIT;
	struct kc_index_view ix;
	struct kc_entry e;
	struct kc_record rec;
	struct kc_value v;
	struct kc_db *db;
	uint8_t old[256];
	size_t at, n, key;

	(void)state;
	help_new_file(168, &file);
	db = help_db_open(ck_buf_view(&file));
	HELP_OK(kc_db_begin(db, &fail));
	put_item(db, "abc");
	ck_buf_free(&file);
	help_serialise(db, &file);
	kc_db_free(&db);
	db = help_db_open(ck_buf_view(&file));
	at = record_place(db, KC_REL_GENERIC, 0);
	HELP_OK(kc_db_record(db, KC_REL_GENERIC, 0, &rec, &fail));
	n = rec.raw.n;
	HELP_OK(kc_index_open(db, kc_table_find(db, KC_REL_GENERIC), 0, &ix,
	    &fail));
	HELP_OK(kc_index_entry(db, kc_table_find(db, KC_REL_GENERIC), &ix, 0,
	    &e, &fail));
	key = (size_t)(e.key - db->src.p) + e.n - 1;
	kc_db_free(&db);
	/* Behind "xyz", behind "abc" at the record's and the key's end. */
	file.p[at + 24 + 4 * 16 + 3] = 0x11;
	file.p[at + n - 1] = 0x22;
	file.p[key] = 0x33;
	file.p[at + KC_REC_SEMANTIC + 3] = 0x44;
	memcpy(old, file.p + at, n);
	assert_int_equal(help_exercise(ck_buf_view(&file)), CK_OK);
	db = help_db_open(ck_buf_view(&file));
	HELP_OK(kc_db_begin(db, &fail));
	put_item(db, "abd");
	help_serialise(db, &two);
	kc_db_free(&db);
	db = help_db_open(ck_buf_view(&two));
	HELP_OK(kc_db_record(db, KC_REL_GENERIC, 0, &rec, &fail));
	assert_int_equal(rec.raw.n, n);
	assert_memory_equal(rec.raw.p, old, n);
	HELP_OK(kc_db_value(db, &rec, KC_ATTR_SERVICE, &v, &fail));
	assert_memory_equal(v.bytes.p, "abc", 3);
	HELP_OK(kc_index_open(db, kc_table_find(db, KC_REL_GENERIC), 0, &ix,
	    &fail));
	HELP_OK(kc_index_entry(db, kc_table_find(db, KC_REL_GENERIC), &ix, 0,
	    &e, &fail));
	assert_int_equal(e.key[e.n - 1], 0x33);
	kc_db_free(&db);
	ck_buf_free(&file);
	ck_buf_free(&two);
}

/* A date that is none may be kept by an update, not made by one. */
static void
odd_date_may_stay_but_not_come(void **state)
{
	struct ck_buf file = CK_BUF_INIT;
	struct kc_value values[16];
	struct ck_span none = CK_SPAN_NONE;
	struct kc_record rec;
	struct kc_db *db;
	size_t at;

	(void)state;
	help_new_file(168, &file);
	db = help_db_open(ck_buf_view(&file));
	HELP_OK(kc_db_begin(db, &fail));
	put_item(db, "abc");
	ck_buf_free(&file);
	help_serialise(db, &file);
	kc_db_free(&db);
	db = help_db_open(ck_buf_view(&file));
	at = record_place(db, KC_REL_GENERIC, 0);
	kc_db_free(&db);
	/* cdat is the first value, behind four bytes of data. */
	memcpy(file.p + at + 24 + 4 * 16 + 4, "0000", 4);
	memcpy(file.p + at + 24 + 4 * 16 + 8, "0000", 4);
	db = help_db_open(ck_buf_view(&file));
	HELP_OK(kc_db_begin(db, &fail));
	HELP_OK(kc_db_record(db, KC_REL_GENERIC, 0, &rec, &fail));
	HELP_OK(kc_db_values(db, &rec, values, &fail));
	assert_memory_equal(values[0].bytes.p, "00000000030405Z", 16);
	values[1] = values[0];
	assert_int_equal(kc_db_update(db, KC_REL_GENERIC, 0, values, none,
	    NULL), CK_USAGE);
	values[1] = help_bytes("20250102030405Z", 16);
	HELP_OK(kc_db_update(db, KC_REL_GENERIC, 0, values, none, &fail));
	kc_db_free(&db);
	ck_buf_free(&file);
}

/* Several values of one attribute: the first is read, the record survives a
 * write to its table and may be deleted, but not updated. */
static void
several_values_are_kept_or_refused(void **state)
{
	struct ck_buf file = CK_BUF_INIT, out = CK_BUF_INIT;
	struct kc_value values[16], v;
	struct kc_record rec;
	struct kc_db *db;
	uint8_t old[256];
	size_t at, n;

	(void)state;
	help_new_file(168, &file);
	db = help_db_open(ck_buf_view(&file));
	HELP_OK(kc_db_begin(db, &fail));
	help_db_generic(kc_db_relation(db, KC_REL_GENERIC), "a", "s", values);
	/* 2, "one" and "two": a blob that will be read as two. */
	values[2] = help_bytes("\0\0\0\3one_\0\0\0\3two_", 16);
	HELP_OK(kc_db_insert(db, KC_REL_GENERIC, values,
	    (struct ck_span)CK_SPAN_NONE, NULL, &fail));
	ck_buf_free(&file);
	help_serialise(db, &file);
	kc_db_free(&db);
	db = help_db_open(ck_buf_view(&file));
	at = record_place(db, KC_REL_GENERIC, 0);
	HELP_OK(kc_db_record(db, KC_REL_GENERIC, 0, &rec, &fail));
	n = rec.raw.n;
	kc_db_free(&db);
	file.p[at + 24 + 4 * 2 + 3] &= 0xfe;
	ck_put_be32(file.p + at + ck_get_be32(file.p + at + 24 + 4 * 2), 2);
	memcpy(old, file.p + at, n);
	assert_int_equal(help_exercise(ck_buf_view(&file)), CK_OK);
	db = help_db_open(ck_buf_view(&file));
	HELP_OK(kc_db_begin(db, &fail));
	HELP_OK(kc_db_record(db, KC_REL_GENERIC, 0, &rec, &fail));
	HELP_OK(kc_db_value(db, &rec, KC_ATTR_KIND, &v, &fail));
	assert_int_equal(v.bytes.n, 3);
	assert_memory_equal(v.bytes.p, "one", 3);
	values[2] = help_text("kind");
	assert_int_equal(kc_db_update(db, KC_REL_GENERIC, 0, values,
	    (struct ck_span)CK_SPAN_NONE, NULL), CK_UNSUPPORTED);
	put_item(db, "t");
	help_serialise(db, &out);
	HELP_OK(kc_db_delete(db, KC_REL_GENERIC, 0, &fail));
	kc_db_free(&db);
	db = help_db_open(ck_buf_view(&out));
	HELP_OK(kc_db_record(db, KC_REL_GENERIC, 0, &rec, &fail));
	assert_int_equal(rec.raw.n, n);
	assert_memory_equal(rec.raw.p, old, n);
	kc_db_free(&db);
	ck_buf_free(&file);
	ck_buf_free(&out);
}

/* Several values of an indexed attribute: no standard relation has them, the
 * indexes could not be checked, so it is not written. */
static void
several_indexed_values_are_unsupported(void **state)
{
	struct ck_buf file = CK_BUF_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc_value values[16], v;
	struct kc_record rec;
	struct kc_db *db;
	size_t at;

	(void)state;
	help_new_file(168, &file);
	db = help_db_open(ck_buf_view(&file));
	assert_int_equal(kc_db_begin(db, &fail), CK_OK);
	help_db_generic(kc_db_relation(db, KC_REL_GENERIC), "a", "s", values);
	values[13] = help_bytes("\0\0\0\3one_\0\0\0\3two_", 16);
	assert_int_equal(kc_db_insert(db, KC_REL_GENERIC, values,
	    (struct ck_span)CK_SPAN_NONE, NULL, &fail), CK_OK);
	ck_buf_free(&file);
	help_serialise(db, &file);
	kc_db_free(&db);
	db = help_db_open(ck_buf_view(&file));
	assert_int_equal(kc_db_record(db, KC_REL_GENERIC, 0, &rec, &fail),
	    CK_OK);
	at = (size_t)(rec.raw.p - db->src.p);
	kc_db_free(&db);
	file.p[at + 24 + 4 * 13 + 3] &= 0xfe;
	ck_put_be32(file.p + at + ck_get_be32(file.p + at + 24 + 4 * 13), 2);
	db = help_db_open(ck_buf_view(&file));
	assert_int_equal(kc_db_verify(db, &fail), CK_UNSUPPORTED);
	assert_non_null(strstr(fail.why, "several values"));
	assert_int_equal(kc_db_begin(db, NULL), CK_UNSUPPORTED);
	assert_int_equal(kc_db_record(db, KC_REL_GENERIC, 0, &rec, NULL),
	    CK_OK);
	assert_int_equal(kc_db_value(db, &rec, KC_ATTR_ACCOUNT, &v, NULL),
	    CK_OK);
	assert_int_equal(v.bytes.n, 3);
	kc_db_free(&db);
	ck_buf_free(&file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_table_is_kept_byte_for_byte),
		cmocka_unit_test(odd_padding_and_words_are_kept),
		cmocka_unit_test(odd_date_may_stay_but_not_come),
		cmocka_unit_test(several_values_are_kept_or_refused),
		cmocka_unit_test(several_indexed_values_are_unsupported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
