/* SPDX-License-Identifier: Apache-2.0 */
/* Files made from nothing or laid out anew, against published bytes. */
#include "unit.h"

#include <openssl/sha.h>
#include <string.h>

#include "help_db.h"
#include "help_vectors.h"
#include "keychain/db.h"
#include "keychain/db_int.h"

static void
assert_sha256(const uint8_t *p, size_t n, const char *hex)
{
	uint8_t md[SHA256_DIGEST_LENGTH];
	char text[2 * SHA256_DIGEST_LENGTH + 1];

	(void)SHA256(p, n, md);
	ck_hex_encode(md, sizeof(md), text);
	assert_string_equal(text, hex);
}

/* What is laid out anew is what was read, for each healthy file. */
static void
healthy_files_are_rebuilt_byte_for_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < HELP_HEALTHY; i++) {
		struct ck_buf file = CK_BUF_INIT, out = CK_BUF_INIT;
		struct kc_db *db;

		help_vector_load(help_healthy[i], &file);
		db = help_db_open(ck_buf_view(&file));
		HELP_OK(kc_db_verify(db, &fail));
		HELP_OK(kc_db_begin(db, &fail));
		HELP_OK(kc_db_serialise(db, true, &out, &fail));
		help_same(&file, &out);
		kc_db_free(&db);
		ck_buf_free(&file);
		ck_buf_free(&out);
	}
}

/* The recipe of section 9 with the blob of a file that macOS made gives that
 * file. */
static void
recipe_gives_the_empty_file_of_macos(void **state)
{
	struct ck_buf file = CK_BUF_INIT, out = CK_BUF_INIT;
	struct kc_db *db, *made = NULL;
	struct kc_record rec;

	(void)state;
	help_vector_load(HELP_V200_EMPTY, &file);
	db = help_db_open(ck_buf_view(&file));
	HELP_OK(kc_db_record(db, KC_REL_DB_BLOB, 0, &rec, &fail));
	HELP_OK(kc_db_new(&made, &fail));
	HELP_OK(kc_db_insert(made, KC_REL_DB_BLOB, NULL, rec.data, NULL,
	    &fail));
	help_serialise(made, &out);
	help_same(&file, &out);
	kc_db_free(&made);
	kc_db_free(&db);
	ck_buf_free(&file);
	ck_buf_free(&out);
}

/* The check values of section 9, which need no file to compare with. */
static void
recipe_has_the_published_sizes_and_digests(void **state)
{
	static const struct {
		uint32_t id;
		size_t size;
	} sizes[] = {
		{ 0, 0x2dc }, { 1, 0x1564 }, { 2, 0x2f88 }, { 3, 0x28 },
		{ 0x0f, 0x178 }, { 0x10, 0x178 }, { 0x11, 0x178 },
		{ 0x80000000, 0x80 }, { 0x80000001, 0x120 },
		{ 0x80000002, 0xc0 }, { 0x80008000, 0xe8 },
	};
	struct ck_buf out = CK_BUF_INIT;
	struct kc_db *db;
	uint32_t n = 0;

	(void)state;
	help_new_file(168, &out);
	assert_int_equal(out.n, 20460);
	assert_sha256(out.p + 0x48, 0x4838 - 0x48, "e7dbdec9a9cc30bde2c0ebd1"
	    "26500783d51a827837bbfedeb049596aa6e988fd");
	assert_sha256(out.p + 0x14, 0x4f00 - 0x14, "1ab9859ed8f26bf8495d31c1"
	    "73c59d0ac98a307f6ae804fdea03d8ef06b107e8");
	db = help_db_open(ck_buf_view(&out));
	assert_int_equal(kc_db_commit(db), 1);
	assert_int_equal(db->ntables, 11);
	for (size_t i = 0; i < 11; i++) {
		assert_int_equal(db->tables[i].id, sizes[i].id);
		assert_int_equal(db->tables[i].size, sizes[i].size);
	}
	HELP_OK(kc_db_count(db, 0, &n, &fail));
	assert_int_equal(n, 11);
	HELP_OK(kc_db_count(db, 1, &n, &fail));
	assert_int_equal(n, 80);
	HELP_OK(kc_db_count(db, 2, &n, &fail));
	assert_int_equal(n, 155);
	HELP_OK(kc_db_verify(db, &fail));
	kc_db_free(&db);
	ck_buf_free(&out);
}

/* Values of a record of one file inserted into another. */
static void
copy_record(struct kc_db *from, struct kc_db *to, uint32_t relation)
{
	struct kc_value values[KC_ATTRS_MAX];
	struct kc_record rec;
	uint32_t number = 77;

	HELP_OK(kc_db_record(from, relation, 0, &rec, &fail));
	HELP_OK(kc_db_values(from, &rec, values, &fail));
	HELP_OK(kc_db_insert(to, relation, values, rec.data, &number, &fail));
	assert_int_equal(number, 0);
}

/* Section 18: first commit the empty file, second the item and its key. */
static void
worked_example_is_replayed_byte_for_byte(void **state)
{
	static const char *const names[] = { HELP_ONE_V100, HELP_ONE_V200 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct ck_buf file = CK_BUF_INIT, out = CK_BUF_INIT;
		struct kc_db *db, *made = NULL;

		help_vector_load(names[i], &file);
		db = help_db_open(ck_buf_view(&file));
		HELP_OK(kc_db_new(&made, &fail));
		copy_record(db, made, KC_REL_DB_BLOB);
		help_serialise(made, &out);
		kc_db_free(&made);
		made = help_db_open(ck_buf_view(&out));
		ck_buf_free(&out);
		HELP_OK(kc_db_begin(made, &fail));
		copy_record(db, made, KC_REL_GENERIC);
		copy_record(db, made, KC_REL_SYMMETRIC_KEY);
		help_serialise(made, &out);
		help_same(&file, &out);
		kc_db_free(&made);
		kc_db_free(&db);
		ck_buf_free(&out);
		ck_buf_free(&file);
	}
}

/* The generic-password table of section 18, word for word, made from its
 * values and not from a file. */
static void
worked_table_has_the_published_words(void **state)
{
	static const char want[] =
	    "00000178800000000000000100000020000000d4000000000000000100000020"
	    "000000b40000000000000002000000000000002400000000"
	    "0000007d0000008d000000000000000000000000000000000000000000000"
	    "09d00000000000000000000000000000000"
	    "00000000000000a5000000ad00000000"
	    "73736770808182838485868788898a8b8c8d8e8f"
	    "c0c1c2c3c4c5c6c7687baf69ffb11b48"
	    "32303234303130323033303430355a00"
	    "32303234303130323033303430355a00"
	    "0000000373766300000000046163637400000003737663"
	    "00"
	    "000000a400000003000000e8000001200000014c"
	    "0000003800000000000000010000000261636374737663650000000"
	    "10000010c00000000"
	    "0000001000000004616363740000000373766300"
	    "0000002c000000030000000000000001616363740000000100000140"
	    "00000000000000080000000461636374"
	    "0000002c00000004000000000000000173766365000000010000016c"
	    "00000000000000080000000373766300";
	uint8_t data[36], words[0x178];
	struct ck_buf file = CK_BUF_INIT, out = CK_BUF_INIT;
	struct kc_value values[16];
	const struct kc_table *t;
	struct kc_db *db;

	(void)state;
	assert_int_equal(ck_hex_decode("73736770808182838485868788898a8b8c8d8"
	    "e8fc0c1c2c3c4c5c6c7687baf69ffb11b48", data, 36), CK_OK);
	assert_int_equal(ck_hex_decode(want, words, sizeof(words)), CK_OK);
	help_new_file(168, &file);
	db = help_db_open(ck_buf_view(&file));
	HELP_OK(kc_db_begin(db, &fail));
	help_db_generic(kc_db_relation(db, KC_REL_GENERIC), "acct", "svc",
	    values);
	HELP_OK(kc_db_insert(db, KC_REL_GENERIC, values,
	    (struct ck_span){ data, 36 }, NULL, &fail));
	help_serialise(db, &out);
	kc_db_free(&db);
	db = help_db_open(ck_buf_view(&out));
	t = kc_table_find(db, KC_REL_GENERIC);
	assert_int_equal(t->size, sizeof(words));
	assert_memory_equal(kc_table_at(db, t, 0), words, sizeof(words));
	kc_db_free(&db);
	ck_buf_free(&file);
	ck_buf_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy_files_are_rebuilt_byte_for_byte),
		cmocka_unit_test(recipe_gives_the_empty_file_of_macos),
		cmocka_unit_test(recipe_has_the_published_sizes_and_digests),
		cmocka_unit_test(worked_example_is_replayed_byte_for_byte),
		cmocka_unit_test(worked_table_has_the_published_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
