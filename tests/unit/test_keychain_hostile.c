/* SPDX-License-Identifier: Apache-2.0 */
/* Files that were prepared by somebody else: what they must not get us to
 * write, and what survives although we do not understand it. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help_db.h"
#include "help_kc.h"
#include "help_vectors.h"
#include "keychain/blob.h"

static struct ck_span
view(const struct ck_buf *b)
{
	return ck_buf_view(b);
}

/* Replace the data of one record, and of another if given, in the file. */
static void
plant(const struct kct *fx, const struct kc_record *rec,
    struct ck_span data, const struct kc_record *rec2, struct ck_span data2)
{
	struct kc_value values[64];
	struct ck_buf bytes = CK_BUF_INIT;
	struct kc_record r = *rec;
	struct kc *kc = kct_open(fx, NULL);
	struct kc_db *db = kc_db(kc);

	HELP_OK(kc_db_begin(db, &fail));
	for (int i = 0; i < (rec2 == NULL ? 1 : 2); i++) {
		HELP_OK(kc_db_record(db, r.relation, r.number, &r, &fail));
		HELP_OK(kc_db_values(db, &r, values, &fail));
		HELP_OK(kc_db_update(db, r.relation, r.number, values,
		    i == 0 ? data : data2, &fail));
		if (rec2 != NULL)
			r = *rec2;
	}
	HELP_OK(kc_db_serialise(db, false, &bytes, &fail));
	kc_close(&kc);
	kct_put(fx->path, view(&bytes), 0600);
	ck_buf_free(&bytes);
}

/*
 * Somebody without the password puts a key of their own, in the clear, in
 * place of an item's key, and data under that key in place of the item's.
 */
static void
key_in_the_clear_planted_for_an_item_is_damaged(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret mine = kct_text("0123456789abcdef01234567");
	struct ck_secret evil = kct_text("evil"), out = CK_SECRET_INIT;
	struct ck_buf data = CK_BUF_INIT, blob = CK_BUF_INIT, before;
	struct kc_keys none = KC_KEYS_INIT;
	struct kc_record rec, key;
	struct kc_key_blob kb;
	uint8_t label[KC_LABEL_BYTES], iv[8] = { 0 };
	struct kc *kc;

	kct_copy(fx, HELP_V100);
	kc = kct_open(fx, NULL);
	rec = kct_find(kc, "test_service", "test_account");
	memcpy(label, rec.data.p, sizeof(label));
	HELP_OK(kc_item_key(kc, &rec, &key, &fail));
	HELP_OK(kc_key_blob_parse(key.data, "key", &kb, &fail));
	kb.cleartext = true;
	kb.header.key_class = 0;
	kb.wrapped[0] = kb.wrapped[2] = kb.wrapped[3] = 0;
	kb.wrapped[1] = 1;
	memset(kb.iv, 0, sizeof(kb.iv));
	HELP_OK(kc_key_blob_encode(&kb, &none, &mine, NULL, &blob));
	HELP_OK(kc_item_data_encode(label, iv, &mine, &evil, &data));
	kc_close(&kc);
	plant(fx, &rec, view(&data), &key, view(&blob));

	kct_get(fx->path, &before);
	kc = kct_open_write(fx, KCT_PASSWORD);
	rec = kct_find(kc, "test_service", "test_account");
	assert_int_equal(kc_item_secret(kc, &rec, &out, NULL), CK_DAMAGED);
	assert_null(out.p);
	assert_int_equal(kc_set_secret(kc, &rec, &evil, KCT_NOW, NULL),
	    CK_DAMAGED);
	kc_close(&kc);
	kct_same(fx->path, &before);
	ck_buf_free(&before);
	ck_buf_free(&blob);
	ck_buf_free(&data);
	ck_secret_wipe(&mine);
	ck_secret_wipe(&evil);
}

/* The key of one item under the label of another. */
static void
key_of_another_item_does_not_open_this_one(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret out = CK_SECRET_INIT;
	struct kc_record a, b, ka, kb;
	struct ck_buf blob = CK_BUF_INIT;
	struct kc *kc = kct_new(fx, KC_BLOB_V200, "one");
	ck_err r;

	kct_add(kc, "s", "a", "secret of a", 11);
	kct_add(kc, "s", "b", "secret of b", 11);
	kct_commit(&kc);
	kc = kct_open(fx, NULL);
	a = kct_find(kc, "s", "a");
	b = kct_find(kc, "s", "b");
	HELP_OK(kc_item_key(kc, &a, &ka, &fail));
	HELP_OK(kc_item_key(kc, &b, &kb, &fail));
	ck_buf_span(&blob, kb.data);
	kc_close(&kc);
	plant(fx, &ka, view(&blob), NULL, view(&blob));
	kc = kct_open(fx, "one");
	a = kct_find(kc, "s", "a");
	/* The digest belongs to the other item's attributes. */
	r = kc_item_secret(kc, &a, &out, NULL);
	assert_int_equal(r, CK_DAMAGED);
	assert_null(out.p);
	kc_close(&kc);
	ck_buf_free(&blob);
}

/* An update of such an item would give the false attributes a digest. */
static void
forged_attributes_are_not_sealed_by_a_change(void **state)
{
	static const char old[] = "test_generic";
	const struct kct *fx = *state;
	struct ck_secret s = kct_text("x");
	struct kc_record rec;
	struct ck_buf bytes;
	size_t hits = 0;
	struct kc *kc;

	help_vector_load(HELP_V200, &bytes);
	/* The label, where it lies in the record: behind a length word and
	 * not in the prompt of the access list. */
	for (size_t i = 4; i + sizeof(old) <= bytes.n; i++)
		if (memcmp(bytes.p + i, old, sizeof(old) - 1) == 0 &&
		    ck_get_be32(bytes.p + i - 4) == sizeof(old) - 1) {
			bytes.p[i] = 'T';
			hits++;
		}
	assert_int_equal(hits, 1);
	kct_put(fx->path, view(&bytes), 0600);
	kc = kct_open_write(fx, KCT_PASSWORD);
	rec = kct_find(kc, "test_service", "test_account");
	kct_attr(kc, &rec, KC_ATTR_LABEL, "Test_generic");
	assert_int_equal(kc_set_attribute(kc, &rec, KC_ATTR_COMMENT,
	    CK_SPAN_TEXT("new"), KCT_NOW, NULL), CK_DAMAGED);
	assert_int_equal(kc_set_secret(kc, &rec, &s, KCT_NOW, NULL),
	    CK_DAMAGED);
	kc_close(&kc);
	kct_same(fx->path, &bytes);
	ck_buf_free(&bytes);
	ck_secret_wipe(&s);
}

/* The standard access list with n programs, which kc_acl_item() would not
 * build (section 14). */
static void
many_programs(size_t n, struct ck_buf *out)
{
	static const char prompt[] = "\1\1\0\0\1\1\0\0svc";
	static const uint32_t rights[] = { 24, 28, 37, 38, 59, 115 };
	char path[32];

	ck_buf_u32(out, 0);
	ck_buf_u32(out, 0x7b);
	ck_buf_u32(out, 1);
	ck_buf_u32(out, 1);
	ck_buf_bytes(out, prompt, sizeof(prompt));
	ck_buf_align4(out);
	ck_buf_u32(out, 1);
	ck_buf_u32(out, 0);
	ck_buf_u32(out, 0x7b);
	ck_buf_u32(out, (uint32_t)n + 1);
	ck_buf_u32(out, 1);
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "/usr/bin/program%zu", i);
		ck_buf_u32(out, 0x74);
		ck_buf_u32(out, 1);
		ck_buf_u32(out, 20);
		ck_buf_zeros(out, 20);
		ck_buf_u32(out, (uint32_t)strlen(path) + 1);
		ck_buf_bytes(out, path, strlen(path) + 1);
		ck_buf_align4(out);
	}
	ck_buf_bytes(out, prompt, sizeof(prompt));
	ck_buf_align4(out);
	ck_buf_u32(out, 0);           /* tag "" */
	ck_buf_u32(out, 0);           /* not every right, but these: */
	ck_buf_u32(out, 6);
	for (size_t i = 0; i < 6; i++)
		ck_buf_u32(out, rights[i]);
	assert_int_equal(ck_buf_ok(out), CK_OK);
}

static void
three_hundred_programs_are_kept_byte_for_byte(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret s = kct_text("new value"), master = CK_SECRET_INIT;
	struct ck_secret pw = kct_text("one");
	struct ck_buf acl = CK_BUF_INIT, blob = CK_BUF_INIT, now;
	struct kc_keys keys = KC_KEYS_INIT;
	struct kc_db_blob db;
	struct kc_key_blob kb;
	struct kc_acl_info info;
	struct kc_record rec, key;
	uint32_t number = 0;
	struct kc *kc = kct_new(fx, KC_BLOB_V100, "one");

	kct_add(kc, "svc", "acct", "old value", 9);
	kct_commit(&kc);
	kc = kct_open(fx, NULL);
	HELP_OK(kc_db_next(kc_db(kc), KC_REL_DB_BLOB, &number, &rec, &fail));
	HELP_OK(kc_db_blob_parse(rec.data, "db", &db, &fail));
	HELP_OK(kc_master_key(&pw, db.salt, &master));
	HELP_OK(kc_db_blob_open(&db, &master, &keys));
	rec = kct_find(kc, "svc", "acct");
	HELP_OK(kc_item_key(kc, &rec, &key, &fail));
	HELP_OK(kc_key_blob_parse(key.data, "key", &kb, &fail));
	many_programs(300, &acl);
	HELP_OK(kc_key_blob_reseal(&kb, &keys, view(&acl), &blob));
	kc_close(&kc);
	plant(fx, &key, view(&blob), NULL, view(&blob));

	kct_reads(fx, "one", "svc", "acct", "old value");
	kc = kct_open_write(fx, "one");
	rec = kct_find(kc, "svc", "acct");
	HELP_OK(kc_item_access(kc, &rec, &info, &fail));
	assert_int_equal(info.access, KC_ACCESS_UNKNOWN);
	HELP_OK(kc_set_secret(kc, &rec, &s, KCT_NOW, &fail));
	kct_commit(&kc);
	kct_reads(fx, "one", "svc", "acct", "new value");
	kc = kct_open_write(fx, "one");
	rec = kct_find(kc, "svc", "acct");
	HELP_OK(kc_set_attribute(kc, &rec, KC_ATTR_COMMENT,
	    CK_SPAN_TEXT("a comment"), KCT_NOW, &fail));
	kct_commit(&kc);
	kct_reads(fx, "one", "svc", "acct", "new value");
	kc = kct_open(fx, "one");
	rec = kct_find(kc, "svc", "acct");
	kct_acl(kc, &rec, &now);
	assert_true(ck_span_equal(view(&acl), view(&now)));
	kc_close(&kc);
	ck_buf_free(&now);
	ck_buf_free(&acl);
	ck_buf_free(&blob);
	kc_keys_wipe(&keys);
	ck_secret_wipe(&master);
	ck_secret_wipe(&pw);
	ck_secret_wipe(&s);
}

static void
programs_that_are_trusted_are_named_again(void **state)
{
	const struct kct *fx = *state;
	struct kc_trusted trusted[KC_ACL_TRUSTED_MAX + 1];
	struct ck_secret s = kct_text("value");
	struct kc_new_item item;
	struct kc_acl_info info;
	struct kc_record rec;
	char path[KC_ACL_TRUSTED_MAX + 1][32];
	struct kc *kc = kct_new(fx, KC_BLOB_V200, "one");

	memset(trusted, 0, sizeof(trusted));
	for (size_t i = 0; i <= KC_ACL_TRUSTED_MAX; i++) {
		(void)snprintf(path[i], sizeof(path[i]), "/opt/p%zu", i);
		trusted[i].path = path[i];
	}
	memset(&item, 0, sizeof(item));
	item.service = CK_SPAN_TEXT("s");
	item.access = KC_ACCESS_TRUSTED;
	item.trusted = trusted;
	item.ntrusted = KC_ACL_TRUSTED_MAX + 1;
	assert_int_equal(kc_add(kc, &item, &s, NULL), CK_REFUSED);
	item.ntrusted = 0;
	assert_int_equal(kc_add(kc, &item, &s, NULL), CK_REFUSED);
	item.ntrusted = KC_ACL_TRUSTED_MAX;
	HELP_OK(kc_add(kc, &item, &s, &fail));
	kct_commit(&kc);
	kct_reads(fx, "one", "s", "", "value");
	kc = kct_open(fx, NULL);
	rec = kct_find(kc, "s", "");
	HELP_OK(kc_item_access(kc, &rec, &info, &fail));
	assert_int_equal(info.access, KC_ACCESS_TRUSTED);
	assert_int_equal(info.ntrusted, KC_ACL_TRUSTED_MAX);
	for (size_t i = 0; i < info.ntrusted; i++)
		assert_true(ck_span_equal(info.trusted[i],
		    CK_SPAN_TEXT(path[i])));
	kc_close(&kc);
	ck_secret_wipe(&s);
}

/*
 * A key table whose first column was declared a date takes no item key: the
 * second half of an addition fails, and the first must not be written.
 */
static void
half_an_addition_is_never_written(void **state)
{
	static const uint8_t row[] = {
		0, 0, 0, 0x11, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 8,
		'K', 'e', 'y', 'C', 'l', 'a', 's', 's', 0, 0, 0, 2
	};
	const struct kct *fx = *state;
	struct ck_fail why = CK_FAIL_INIT;
	struct ck_secret s = kct_text("value");
	struct kc_new_item item;
	struct ck_buf bytes;
	size_t hits = 0;
	struct kc *kc;

	help_vector_load(HELP_V200_EMPTY, &bytes);
	for (size_t i = 0; i + sizeof(row) <= bytes.n; i++)
		if (memcmp(bytes.p + i, row, sizeof(row)) == 0) {
			bytes.p[i + sizeof(row) - 1] = KC_DATE;
			hits++;
		}
	assert_int_equal(hits, 1);
	kct_put(fx->path, view(&bytes), 0600);
	memset(&item, 0, sizeof(item));
	item.service = CK_SPAN_TEXT("s");
	item.now = KCT_NOW;
	kc = kct_open_write(fx, KCT_PASSWORD);
	assert_int_not_equal(kc_add(kc, &item, &s, &why), CK_OK);
	assert_int_not_equal(why.code, CK_ABSENT);
	assert_int_equal(kc_commit(kc, &why), CK_INTERNAL);
	kc_close(&kc);
	kct_same(fx->path, &bytes);
	ck_buf_free(&bytes);
	ck_secret_wipe(&s);
}

/* R73: whatever the clock says, macOS must accept the dates. */
static void
clock_far_off_gives_the_nearest_date(void **state)
{
	static const struct {
		int64_t now;
		const char *text;
	} clocks[] = {
		{ 0, "19700101000000Z" },
		{ -1, "19700101000000Z" },
		{ (int64_t)KCT_NOW - 1577880000, "19740101150405Z" },   /* -50 years */
		{ KCT_NOW, "20240102030405Z" },
		{ (int64_t)KCT_NOW + 1577880000, "20691231235959Z" },   /* +50 years */
		{ 951782400, "20000229000000Z" },
		{ 1709164800, "20240229000000Z" },
		{ 3155759999, "20691231235959Z" },
		{ 3155760000, "20691231235959Z" },
		{ INT64_MIN, "19700101000000Z" },
		{ INT64_MAX, "20691231235959Z" },
	};
	uint8_t date[16];

	(void)state;
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		memset(date, 0xff, sizeof(date));
		kc_date_format(clocks[i].now, date);
		assert_int_equal(date[15], 0);
		assert_string_equal((const char *)date, clocks[i].text);
	}
}

static void
text_that_is_no_date_leaves_the_output_untouched(void **state)
{
	static const char *const bad[] = {
		"20240102030405z", "20240102030405 ", "2024010203040Z5",
		"20241302030405Z", "20240002030405Z", "20240132030405Z",
		"20240100030405Z", "20240230030405Z", "20230229030405Z",
		"19000229030405Z", "20240431030405Z", "20240102240405Z",
		"20240102036005Z", "20240102030460Z", "2024-102030405Z",
		"+0240102030405Z", " 0240102030405Z",
	};
	struct ck_span date = { NULL, 16 };
	int64_t when = 4711;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		date.p = (const uint8_t *)bad[i];
		assert_false(kc_date_parse(date, &when));
	}
	date.p = (const uint8_t *)"20240102030405Z\1";
	assert_false(kc_date_parse(date, &when));
	date.p = (const uint8_t *)"20240102030405Z";
	date.n = 15;
	assert_false(kc_date_parse(date, &when));
	date.n = 0;
	assert_false(kc_date_parse(date, &when));
	assert_int_equal(when, 4711);
	date.n = 16;
	assert_true(kc_date_parse(date, &when));
	assert_int_equal(when, KCT_NOW);
	date.p = (const uint8_t *)"20000229235959Z";
	assert_true(kc_date_parse(date, &when));
	assert_int_equal(when, 951868799);
}

#define T(f) cmocka_unit_test_setup_teardown(f, kct_setup, kct_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(key_in_the_clear_planted_for_an_item_is_damaged),
		T(key_of_another_item_does_not_open_this_one),
		T(forged_attributes_are_not_sealed_by_a_change),
		T(three_hundred_programs_are_kept_byte_for_byte),
		T(programs_that_are_trusted_are_named_again),
		T(half_an_addition_is_never_written),
		T(clock_far_off_gives_the_nearest_date),
		T(text_that_is_no_date_leaves_the_output_untouched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
