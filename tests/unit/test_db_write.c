/* SPDX-License-Identifier: Apache-2.0 */
/* Writing keychain files: the recipe, transactions, layout. */
#include "unit.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help_db.h"
#include "help_vectors.h"
#include "keychain/db.h"
#include "keychain/db_int.h"

static void
assert_same(const struct ck_buf *a, const struct ck_buf *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->p, b->p, a->n);
}

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
		assert_same(&file, &out);
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
	assert_same(&file, &out);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy_files_are_rebuilt_byte_for_byte),
		cmocka_unit_test(recipe_gives_the_empty_file_of_macos),
		cmocka_unit_test(recipe_has_the_published_sizes_and_digests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
