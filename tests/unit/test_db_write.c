/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions: numbers, order, refusals, what is written. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "help_db.h"
#include "help_vectors.h"
#include "keychain/db.h"
#include "keychain/db_int.h"

/* A keychain under change: each step is a commit. */
struct work {
	struct kc_db *db;
	struct ck_buf file;
};

static struct work
work_start(void)
{
	struct work w = { NULL, CK_BUF_INIT };

	help_new_file(168, &w.file);
	w.db = help_db_open(ck_buf_view(&w.file));
	HELP_OK(kc_db_begin(w.db, &fail));
	return w;
}

static void
work_commit(struct work *w)
{
	ck_buf_free(&w->file);
	help_serialise(w->db, &w->file);
	kc_db_free(&w->db);
	w->db = help_db_open(ck_buf_view(&w->file));
	HELP_OK(kc_db_begin(w->db, &fail));
}

static void
work_end(struct work *w)
{
	kc_db_free(&w->db);
	ck_buf_free(&w->file);
}

static ck_err
put(struct work *w, const char *account, const char *service,
    uint32_t *ret_number)
{
	struct kc_value values[16];

	help_db_generic(kc_db_relation(w->db, KC_REL_GENERIC), account, service,
	    values);
	return kc_db_insert(w->db, KC_REL_GENERIC, values,
	    (struct ck_span)CK_SPAN_NONE, ret_number, NULL);
}

static ck_err
change(struct work *w, uint32_t number, const char *account,
    const char *service)
{
	struct kc_value values[16];

	help_db_generic(kc_db_relation(w->db, KC_REL_GENERIC), account, service,
	    values);
	return kc_db_update(w->db, KC_REL_GENERIC, number, values,
	    (struct ck_span)CK_SPAN_NONE, NULL);
}

static void
put_at(struct work *w, const char *service, uint32_t want)
{
	uint32_t number = 77;

	assert_int_equal(put(w, "a", service, &number), CK_OK);
	assert_int_equal(number, want);
}

static void
drop(struct work *w, uint32_t number)
{
	HELP_OK(kc_db_delete(w->db, KC_REL_GENERIC, number, &fail));
}

/* Slot count, free-list head, number of records; then the record numbers in
 * physical order, one digit each. */
static void
assert_table(const struct work *w, uint32_t slots, uint32_t head,
    const char *order)
{
	const struct kc_table *t = kc_table_find(w->db, KC_REL_GENERIC);
	struct kc_scan scan;
	struct kc_record rec;

	assert_int_equal(t->slots, slots);
	assert_int_equal(t->free_head, head);
	assert_int_equal(t->records, strlen(order));
	kc_scan_start(t, &scan);
	for (; *order != '\0'; order++) {
		HELP_OK(kc_scan_next(w->db, t, &scan, &rec, &fail));
		assert_int_equal(rec.number, *order - '0');
	}
}

/* Record numbers of the index at that position, one digit each. */
static void
assert_index(const struct work *w, size_t i, const char *order)
{
	const struct kc_table *t = kc_table_find(w->db, KC_REL_GENERIC);
	struct kc_index_view ix;
	struct kc_entry e;

	HELP_OK(kc_index_open(w->db, t, i, &ix, &fail));
	assert_int_equal(ix.entries, strlen(order));
	for (uint32_t n = 0; n < ix.entries; n++) {
		HELP_OK(kc_index_entry(w->db, t, &ix, n, &e, &fail));
		assert_int_equal(e.number, order[n] - '0');
	}
}

/* Slot n is at 28 + 4 n; a list head is that plus 1. */
#define HEAD(n) (29U + 4U * (n))

/* Section 3.2 by hand. */
static void
numbers_and_slots_follow_the_free_list(void **state)
{
	struct work w = work_start();

	(void)state;
	assert_table(&w, 1, HEAD(0), "");
	put_at(&w, "s0", 0);
	put_at(&w, "s1", 1);
	put_at(&w, "s2", 2);
	put_at(&w, "s3", 3);
	put_at(&w, "s4", 4);
	work_commit(&w);
	assert_table(&w, 5, 0, "01234");
	/* Two in the middle: both stay as slots, the higher one is first. */
	drop(&w, 1);
	drop(&w, 3);
	work_commit(&w);
	assert_table(&w, 5, HEAD(3), "024");
	assert_int_equal(kc_table_u32(w.db, kc_table_find(w.db,
	    KC_REL_GENERIC), 28 + 4 * 3), HEAD(1));
	/* The tail goes now; 3 was free before and stays. */
	drop(&w, 4);
	work_commit(&w);
	assert_table(&w, 4, HEAD(3), "02");
	/* From the list on disk; what is freed meanwhile is not reused. */
	drop(&w, 0);
	put_at(&w, "s5", 3);
	put_at(&w, "s6", 1);
	put_at(&w, "s7", 4);
	work_commit(&w);
	assert_table(&w, 5, HEAD(0), "2134");
	/* A tail of several goes at once, down to one slot. */
	drop(&w, 2);
	drop(&w, 1);
	drop(&w, 3);
	drop(&w, 4);
	work_commit(&w);
	assert_table(&w, 1, HEAD(0), "");
	work_end(&w);
}

/* Trimming stops at what was inserted, and a record that came and went in one
 * transaction trims nothing. */
static void
trimming_stops_at_new_records(void **state)
{
	struct work w = work_start();

	(void)state;
	put_at(&w, "s0", 0);
	put_at(&w, "s1", 1);
	put_at(&w, "s2", 2);
	put_at(&w, "s3", 3);
	work_commit(&w);
	drop(&w, 2);
	work_commit(&w);
	assert_table(&w, 4, HEAD(2), "013");
	put_at(&w, "s4", 2);
	drop(&w, 3);
	work_commit(&w);
	assert_table(&w, 3, 0, "012");
	put_at(&w, "s5", 3);
	drop(&w, 3);
	work_commit(&w);
	assert_table(&w, 3, 0, "012");
	/* Nor when it took a free number at the end. */
	drop(&w, 1);
	work_commit(&w);
	drop(&w, 2);
	work_commit(&w);
	assert_table(&w, 2, HEAD(1), "0");
	put_at(&w, "s5", 1);
	drop(&w, 1);
	work_commit(&w);
	assert_table(&w, 2, HEAD(1), "0");
	put_at(&w, "s1", 1);
	put_at(&w, "s4", 2);
	work_commit(&w);
	assert_table(&w, 3, 0, "012");
	/* An update of the last counts as put: nothing is cut. */
	assert_int_equal(change(&w, 2, "a", "x"), CK_OK);
	drop(&w, 1);
	work_commit(&w);
	assert_table(&w, 3, HEAD(1), "02");
	/* And one that is updated, then deleted, is cut. */
	assert_int_equal(change(&w, 2, "a", "y"), CK_OK);
	drop(&w, 2);
	assert_int_equal(change(&w, 2, "a", "z"), CK_ABSENT);
	assert_int_equal(kc_db_delete(w.db, KC_REL_GENERIC, 2, NULL),
	    CK_ABSENT);
	work_commit(&w);
	assert_table(&w, 2, HEAD(1), "0");
	work_end(&w);
}

static void
updated_records_move_and_count_versions(void **state)
{
	struct work w = work_start();
	struct kc_record rec;

	(void)state;
	put_at(&w, "s0", 0);
	put_at(&w, "s1", 1);
	put_at(&w, "s2", 2);
	work_commit(&w);
	assert_int_equal(change(&w, 1, "a", "t"), CK_OK);
	assert_int_equal(change(&w, 1, "a", "u"), CK_OK);
	put_at(&w, "s3", 3);
	work_commit(&w);
	assert_table(&w, 4, 0, "0213");
	HELP_OK(kc_db_record(w.db, KC_REL_GENERIC, 1, &rec, &fail));
	assert_int_equal(rec.created, 2);
	assert_int_equal(rec.version, 2);
	HELP_OK(kc_db_record(w.db, KC_REL_GENERIC, 3, &rec, &fail));
	assert_int_equal(rec.created, 3);
	assert_int_equal(rec.version, 0);
	assert_int_equal(kc_db_commit(w.db), 3);
	work_end(&w);
}

/* Equal keys keep their order; who is updated goes last, also when the update
 * is refused (section 6.4). */
static void
equal_keys_keep_the_order_of_insertion(void **state)
{
	struct work w = work_start();

	(void)state;
	put_at(&w, "s3", 0);
	put_at(&w, "s1", 1);
	put_at(&w, "s2", 2);
	work_commit(&w);
	assert_index(&w, 0, "120");
	assert_index(&w, 1, "012");
	assert_int_equal(change(&w, 0, "a", "s3"), CK_OK);
	work_commit(&w);
	assert_index(&w, 1, "120");
	assert_int_equal(change(&w, 1, "a", "s2"), CK_REFUSED);
	put_at(&w, "s0", 3);
	work_commit(&w);
	assert_index(&w, 0, "3120");
	assert_index(&w, 1, "2013");
	assert_table(&w, 4, 0, "1203");
	/* Refused twice, then deleted: no entry may stay behind. */
	assert_int_equal(change(&w, 2, "a", "s3"), CK_REFUSED);
	assert_int_equal(change(&w, 2, "a", "s3"), CK_REFUSED);
	drop(&w, 2);
	work_commit(&w);
	assert_index(&w, 1, "013");
	work_end(&w);
}

/* A taken key is refused, leaves the file as it was, and the number it was
 * to have stays unused. */
static void
taken_key_is_refused_and_changes_nothing(void **state)
{
	struct work w = work_start();
	struct ck_buf out = CK_BUF_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc_value values[16];
	uint32_t number = 77;

	(void)state;
	put_at(&w, "s0", 0);
	put_at(&w, "s1", 1);
	work_commit(&w);
	assert_int_equal(put(&w, "a", "s1", &number), CK_REFUSED);
	assert_int_equal(number, 77);
	assert_int_equal(change(&w, 0, "a", "s1"), CK_REFUSED);
	help_db_generic(kc_db_relation(w.db, KC_REL_GENERIC), "a", "s1", values);
	assert_int_equal(kc_db_insert(w.db, KC_REL_GENERIC, values,
	    (struct ck_span)CK_SPAN_NONE, &number, &fail), CK_REFUSED);
	assert_non_null(strstr(fail.why, "same key"));
	help_serialise(w.db, &out);
	help_same(&w.file, &out);
	ck_buf_free(&out);
	/* 2 and 3 are gone for this transaction. */
	put_at(&w, "s2", 4);
	work_commit(&w);
	assert_table(&w, 5, HEAD(3), "014");
	/* A key that was given up can be taken at once. */
	drop(&w, 1);
	put_at(&w, "s1", 3);
	assert_int_equal(change(&w, 3, "a", "s9"), CK_OK);
	put_at(&w, "s1", 2);
	work_commit(&w);
	assert_table(&w, 5, HEAD(1), "0423");
	work_end(&w);
}

static void
bad_requests_are_refused_and_change_nothing(void **state)
{
	struct work w = work_start();
	struct ck_buf out = CK_BUF_INIT, same = CK_BUF_INIT;
	struct kc_value values[16];
	struct kc_db *db = w.db;
	struct ck_span none = CK_SPAN_NONE;
	uint32_t number = 77;

	(void)state;
	help_db_generic(kc_db_relation(db, KC_REL_GENERIC), "a", "s", values);
	values[0] = help_bytes("20240102030405X", 16);
	assert_int_equal(kc_db_insert(db, KC_REL_GENERIC, values, none,
	    &number, NULL), CK_USAGE);
	values[0].present = false;
	assert_int_equal(kc_db_insert(db, KC_REL_CERTIFICATE, values, none,
	    &number, NULL), CK_UNSUPPORTED);
	assert_int_equal(kc_db_insert(db, KC_REL_SCHEMA_INFO, values, none,
	    &number, NULL), CK_UNSUPPORTED);
	assert_int_equal(kc_db_insert(db, KC_REL_GENERIC, values,
	    (struct ck_span){ w.file.p, KC_FILE_MAX + 1 }, &number, NULL),
	    CK_NOSPACE);
	assert_int_equal(kc_db_update(db, KC_REL_GENERIC, 0, values, none,
	    NULL), CK_ABSENT);
	assert_int_equal(kc_db_update(db, KC_REL_GENERIC, UINT32_MAX, values,
	    none, NULL), CK_ABSENT);
	assert_int_equal(kc_db_delete(db, KC_REL_GENERIC, 0, NULL),
	    CK_ABSENT);
	assert_int_equal(kc_db_begin(db, NULL), CK_INTERNAL);
	assert_int_equal(number, 77);
	help_serialise(db, &out);
	help_same(&w.file, &out);
	/* Two blobs, or none, are no keychain. */
	HELP_OK(kc_db_insert(db, KC_REL_DB_BLOB, NULL, none, NULL, &fail));
	assert_int_equal(kc_db_serialise(db, false, &same, NULL),
	    CK_INTERNAL);
	assert_int_equal(kc_db_serialise(db, true, &same, NULL),
	    CK_INTERNAL);
	assert_null(same.p);
	work_end(&w);
	w.db = help_db_open(ck_buf_view(&out));
	assert_int_equal(kc_db_insert(w.db, KC_REL_GENERIC, values, none,
	    &number, NULL), CK_INTERNAL);
	assert_int_equal(kc_db_serialise(w.db, true, &same, NULL),
	    CK_INTERNAL);
	work_end(&w);
	ck_buf_free(&out);
}

/* Of the seven attributes of its unique key only the account is given. */
static void
missing_key_attributes_get_defaults(void **state)
{
	struct work w = work_start();
	const struct kc_relation *rel =
	    kc_db_relation(w.db, KC_REL_INTERNET);
	struct kc_value values[20] = { { false, 0, CK_SPAN_NONE } }, v;
	struct kc_record rec;

	(void)state;
	values[13] = help_text("me");
	HELP_OK(kc_db_insert(w.db, KC_REL_INTERNET, values,
	    (struct ck_span)CK_SPAN_NONE, NULL, &fail));
	assert_int_equal(kc_db_insert(w.db, rel->id, values,
	    (struct ck_span)CK_SPAN_NONE, NULL, NULL), CK_REFUSED);
	work_commit(&w);
	HELP_OK(kc_db_record(w.db, KC_REL_INTERNET, 0, &rec, &fail));
	HELP_OK(kc_db_value(w.db, &rec, 0x706f7274 /* port */, &v, &fail));
	assert_true(v.present);
	assert_int_equal(v.word, 0);
	HELP_OK(kc_db_value(w.db, &rec, 0x70617468 /* path */, &v, &fail));
	assert_true(v.present);
	assert_int_equal(v.bytes.n, 0);
	HELP_OK(kc_db_value(w.db, &rec, KC_ATTR_LABEL, &v, &fail));
	assert_false(v.present);
	assert_int_equal(help_find(w.db, kc_table_find(w.db,
	    KC_REL_INTERNET), &rec), 8);
	work_end(&w);
}

/* A certificate without SubjectKeyIdentifier is in all indexes but that. */
static void
absent_value_keeps_a_record_out_of_an_index(void **state)
{
	struct kc_db *db = help_db_vector(HELP_V100_CERTS);
	struct ck_buf out = CK_BUF_INIT;
	struct kc_value values[9] = { { false, 0, CK_SPAN_NONE } };
	const struct kc_table *t;
	struct kc_index_view ix;
	struct kc_record rec;
	uint32_t number = 0;

	(void)state;
	HELP_OK(kc_db_begin(db, &fail));
	values[0] = help_word(3);
	HELP_OK(kc_db_insert(db, KC_REL_CERTIFICATE, values,
	    (struct ck_span)CK_SPAN_NONE, &number, &fail));
	values[7] = help_text("id");
	values[0] = help_word(4);
	HELP_OK(kc_db_insert(db, KC_REL_CERTIFICATE, values,
	    (struct ck_span)CK_SPAN_NONE, NULL, &fail));
	help_serialise(db, &out);
	kc_db_free(&db);
	db = help_db_open(ck_buf_view(&out));
	HELP_OK(kc_db_verify(db, &fail));
	t = kc_table_find(db, KC_REL_CERTIFICATE);
	assert_int_equal(t->records, 5);
	assert_int_equal(t->defs[6].id, 6);
	HELP_OK(kc_index_open(db, t, 6, &ix, &fail));
	assert_int_equal(ix.entries, 1);
	HELP_OK(kc_db_record(db, t->id, number, &rec, &fail));
	/* Unique (with its defaults), and type, issuer, serial number. */
	assert_int_equal(help_find(db, t, &rec), 4);
	kc_db_free(&db);
	ck_buf_free(&out);
}

/* Thousands in one transaction: the runs are merged, and equal keys are still
 * in the order of insertion. */
static void
many_inserts_keep_equal_keys_in_order(void **state)
{
	struct work w = work_start();
	const struct kc_table *t;
	struct kc_index_view ix;
	struct kc_entry e, before = { NULL, 0, 0 };
	char account[2] = "a", service[16];

	(void)state;
	for (unsigned int i = 0; i < 4000; i++) {
		account[0] = (char)('a' + i * 5 % 7);
		(void)snprintf(service, sizeof(service), "%05u",
		    i * 1237 % 4001);
		assert_int_equal(put(&w, account, service, NULL), CK_OK);
	}
	assert_int_equal(put(&w, account, service, NULL), CK_REFUSED);
	work_commit(&w);
	t = kc_table_find(w.db, KC_REL_GENERIC);
	assert_int_equal(t->records, 4000);
	HELP_OK(kc_index_open(w.db, t, 1, &ix, &fail));
	for (uint32_t i = 0; i < ix.entries; i++) {
		HELP_OK(kc_index_entry(w.db, t, &ix, i, &e, &fail));
		if (i > 0 && e.key[4] == before.key[4])
			assert_true(e.number > before.number);
		before = e;
	}
	/* Take half of them away and check what is left. */
	for (uint32_t i = 0; i < 4000; i += 2)
		drop(&w, i);
	work_commit(&w);
	assert_int_equal(kc_table_find(w.db, KC_REL_GENERIC)->records, 2000);
	work_end(&w);
}

static void
counter_skips_zero_when_it_wraps(void **state)
{
	struct work w = work_start();

	(void)state;
	kc_db_free(&w.db);
	ck_put_be32(w.file.p + w.file.n - 4, 0xffffffff);
	w.db = help_db_open(ck_buf_view(&w.file));
	HELP_OK(kc_db_begin(w.db, &fail));
	put_at(&w, "s", 0);
	work_commit(&w);
	assert_int_equal(kc_db_commit(w.db), 1);
	work_end(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_slots_follow_the_free_list),
		cmocka_unit_test(trimming_stops_at_new_records),
		cmocka_unit_test(updated_records_move_and_count_versions),
		cmocka_unit_test(equal_keys_keep_the_order_of_insertion),
		cmocka_unit_test(taken_key_is_refused_and_changes_nothing),
		cmocka_unit_test(bad_requests_are_refused_and_change_nothing),
		cmocka_unit_test(missing_key_attributes_get_defaults),
		cmocka_unit_test(absent_value_keeps_a_record_out_of_an_index),
		cmocka_unit_test(many_inserts_keep_equal_keys_in_order),
		cmocka_unit_test(counter_skips_zero_when_it_wraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
