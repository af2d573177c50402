/* SPDX-License-Identifier: Apache-2.0 */
/* Reading keychain files: opening, relations, records, values, look-ups. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "help_db.h"
#include "help_vectors.h"
#include "keychain/db.h"
#include "keychain/db_int.h"

/* A nameless file with these bytes. */
static int
temporary(const void *p, size_t n)
{
	char path[] = "/tmp/ck-db-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	(void)unlink(path);
	assert_int_equal(ck_io_write_all(fd, p, n, path, NULL), CK_OK);
	return fd;
}

/* Every record and value of every relation; the number of records. */
static size_t
read_all(struct kc_db *db)
{
	struct kc_value values[KC_ATTRS_MAX];
	struct kc_record rec;
	size_t total = 0;

	for (size_t n = 0; n < kc_db_relation_count(db); n++) {
		const struct kc_relation *rel = kc_db_relation_at(db, n);
		uint32_t number = 0, count = 0, seen = 0;
		ck_err r;

		HELP_OK(kc_db_count(db, rel->id, &count, &fail));
		while ((r = kc_db_next(db, rel->id, &number, &rec, NULL)) ==
		    CK_OK) {
			seen++;
			assert_int_equal(rec.relation, rel->id);
			assert_int_equal(rec.number, number - 1);
			HELP_OK(kc_db_values(db, &rec, values, &fail));
		}
		assert_int_equal(r, CK_ABSENT);
		assert_int_equal(seen, count);
		total += seen;
	}
	return total;
}

static void
healthy_files_can_be_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < HELP_HEALTHY; i++) {
		struct kc_db *db = help_db_vector(help_healthy[i]);

		assert_true(read_all(db) >= 11 + 80 + 155 + 1);
		assert_null(kc_db_relation_at(db, kc_db_relation_count(db)));
		for (size_t n = 1; n < kc_db_relation_count(db); n++)
			assert_true(kc_db_relation_at(db, n - 1)->id <
			    kc_db_relation_at(db, n)->id);
		kc_db_free(&db);
		assert_null(db);
		kc_db_free(&db);
	}
}

/* A descriptor and the same bytes in memory give the same records. */
static void
descriptor_and_bytes_agree(void **state)
{
	struct ck_buf file = CK_BUF_INIT;
	struct kc_db *a, *b = NULL;
	struct kc_record ra, rb;
	uint32_t na = 0, nb = 0;
	int fd;

	(void)state;
	help_vector_load(HELP_V100_CERTS, &file);
	fd = temporary(file.p, file.n);
	a = help_db_open(ck_buf_view(&file));
	HELP_OK(kc_db_open_fd(fd, "file", &b, &fail));
	assert_int_equal(kc_db_commit(a), 72);
	assert_int_equal(kc_db_commit(b), 72);
	while (kc_db_next(a, KC_REL_SYMMETRIC_KEY, &na, &ra, NULL) == CK_OK) {
		HELP_OK(kc_db_next(b, KC_REL_SYMMETRIC_KEY, &nb, &rb, &fail));
		assert_int_equal(ra.raw.n, rb.raw.n);
		assert_memory_equal(ra.raw.p, rb.raw.p, ra.raw.n);
	}
	assert_true(na > 5);
	kc_db_free(&a);
	kc_db_free(&b);
	ck_io_close(&fd);
	ck_buf_free(&file);
}

/* The item of the worked example, section 18. */
static void
worked_example_reads_as_published(void **state)
{
	struct kc_db *db = help_db_vector(HELP_ONE_V100);
	struct kc_record rec;
	struct kc_value v;

	(void)state;
	HELP_OK(kc_db_record(db, KC_REL_GENERIC, 0, &rec, &fail));
	assert_int_equal(rec.created, 2);
	assert_int_equal(rec.version, 0);
	assert_int_equal(rec.data.n, 36);
	assert_memory_equal(rec.data.p, "ssgp\x80\x81", 6);
	HELP_OK(kc_db_value(db, &rec, KC_ATTR_ACCOUNT, &v, &fail));
	assert_true(v.present);
	assert_int_equal(v.bytes.n, 4);
	assert_memory_equal(v.bytes.p, "acct", 4);
	HELP_OK(kc_db_value(db, &rec, KC_ATTR_CREATED, &v, &fail));
	assert_int_equal(v.bytes.n, 16);
	assert_memory_equal(v.bytes.p, "20240102030405Z", 16);
	HELP_OK(kc_db_value(db, &rec, KC_ATTR_KIND, &v, &fail));
	assert_false(v.present);
	HELP_OK(kc_db_record(db, KC_REL_SYMMETRIC_KEY, 0, &rec, &fail));
	HELP_OK(kc_db_value(db, &rec, 10, &v, &fail));
	assert_int_equal(v.word, 192);
	/* Present and empty is not absent. */
	HELP_OK(kc_db_value(db, &rec, 7, &v, &fail));
	assert_true(v.present);
	assert_int_equal(v.bytes.n, 0);
	kc_db_free(&db);
}

static void
refused_as(const void *p, size_t n, ck_err code, const char *word)
{
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc_db *db = NULL;

	assert_int_equal(kc_db_open_bytes((struct ck_span){ p, n }, "f", &db,
	    &fail), code);
	assert_null(db);
	assert_int_equal(fail.code, code);
	assert_string_equal(fail.place, "f");
	if (strstr(fail.why, word) == NULL)
		fail_msg("'%s' does not say '%s'", fail.why, word);
}

/* Each kind of wrong file has its own answer, and none is "absent". */
static void
other_files_are_refused_by_kind(void **state)
{
	static const char sqlite[64] = "SQLite format 3";
	static const char text[] = "This is a text, and it is long enough.";
	static const char magic[31] = "kych";
	struct ck_buf file = CK_BUF_INIT;

	(void)state;
	refused_as("", 0, CK_DAMAGED, "empty");
	refused_as("xxxx", 4, CK_DAMAGED, "short");
	refused_as(magic, 4, CK_DAMAGED, "short");
	refused_as(magic, sizeof(magic), CK_DAMAGED, "short");
	refused_as(sqlite, sizeof(sqlite), CK_UNSUPPORTED, "SQLite");
	refused_as(text, sizeof(text), CK_UNSUPPORTED,
	    "is not a keychain file");
	help_new_file(168, &file);
	ck_buf_zeros(&file, 4);
	refused_as(file.p, file.n, CK_DAMAGED, "bytes long");
	refused_as(file.p, file.n - 8, CK_DAMAGED, "bytes long");
	file.p[5] = 2;
	refused_as(file.p, file.n - 4, CK_UNSUPPORTED, "version 0x00020000");
	ck_buf_free(&file);
}

static void
too_large_a_file_is_unsupported(void **state)
{
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc_db *db = NULL;
	int fd = temporary("kych", 4);

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)KC_FILE_MAX + 1), 0);
	assert_int_equal(kc_db_open_fd(fd, "f", &db, &fail), CK_UNSUPPORTED);
	assert_null(db);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(kc_db_open_fd(fd, "f", &db, &fail), CK_DAMAGED);
	assert_null(db);
	ck_io_close(&fd);
	assert_int_equal(kc_db_open_fd(-1, "f", &db, &fail), CK_IO);
}

/* The source gives what lies inside, loads each block once, and no more. */
static void
source_is_bounded_and_lazy(void **state)
{
	struct kc_src src = KC_SRC_INIT;
	size_t n = 3 * KC_BLOCK + 100;
	uint8_t *p = malloc(n);
	int fd;

	(void)state;
	assert_non_null(p);
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 31 >> 3);
	fd = temporary(p, n);
	assert_int_equal(kc_src_from_fd(fd, n, "f", &src, NULL), CK_OK);
	assert_int_equal(kc_src_need(&src, n, 1, NULL), CK_DAMAGED);
	assert_int_equal(kc_src_need(&src, n + 1, 0, NULL), CK_DAMAGED);
	assert_int_equal(kc_src_need(&src, 1, SIZE_MAX, NULL), CK_DAMAGED);
	assert_int_equal(kc_src_need(&src, n, 0, NULL), CK_OK);
	assert_int_equal(src.loaded, 0);
	assert_int_equal(kc_src_need(&src, KC_BLOCK - 1, 1, NULL), CK_OK);
	assert_int_equal(src.loaded, 1);
	assert_int_equal(kc_src_need(&src, n - 1, 1, NULL), CK_OK);
	assert_int_equal(src.loaded, 2);
	assert_memory_equal(src.p, p, KC_BLOCK);
	assert_memory_equal(src.p + 3 * KC_BLOCK, p + 3 * KC_BLOCK, 100);
	assert_int_equal(kc_src_need(&src, 0, n, NULL), CK_OK);
	assert_int_equal(src.loaded, 4);
	assert_memory_equal(src.p, p, n);
	kc_src_free(&src);
	ck_io_close(&fd);
	free(p);
}

/* A file cut short behind our back is an error, not a signal. */
static void
shrinking_file_is_changed(void **state)
{
	struct ck_buf file = CK_BUF_INIT;
	struct kc_db *db = NULL;
	struct kc_record rec = { .number = 77 };
	uint32_t number = 0;
	int fd;

	(void)state;
	help_vector_load(HELP_V100_CERTS, &file);
	fd = temporary(file.p, file.n);
	HELP_OK(kc_db_open_fd(fd, "f", &db, &fail));
	assert_int_equal(kc_db_blocks(db), 3);
	kc_db_free(&db);
	/* Damage that opening cannot see: the file ends within the blocks
	 * that nobody has asked for.  So make one that has such blocks. */
	ck_buf_free(&file);
	help_many(400, &file);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(ck_io_write_all(fd, file.p, file.n, "f", NULL),
	    CK_OK);
	HELP_OK(kc_db_open_fd(fd, "f", &db, &fail));
	assert_int_equal(ftruncate(fd, 65536), 0);
	number = 390;
	assert_int_equal(kc_db_next(db, KC_REL_SYMMETRIC_KEY, &number, &rec,
	    NULL), CK_CHANGED);
	assert_int_equal(number, 390);
	assert_int_equal(rec.number, 77);
	assert_int_equal(kc_db_verify(db, NULL), CK_CHANGED);
	assert_int_equal(kc_db_begin(db, NULL), CK_CHANGED);
	kc_db_free(&db);
	ck_io_close(&fd);
	ck_buf_free(&file);
}

static void
what_is_not_there_is_absent_or_unsupported(void **state)
{
	struct ck_buf file = CK_BUF_INIT;
	struct kc_db *db;
	struct kc_record rec = { .number = 77 };
	struct kc_value v = { true, 5, CK_SPAN_NONE };
	uint32_t n = 9, at = 0;

	(void)state;
	help_new_file(168, &file);
	db = help_db_open(ck_buf_view(&file));
	assert_int_equal(kc_db_record(db, KC_REL_GENERIC, 0, &rec, NULL),
	    CK_ABSENT);
	assert_int_equal(kc_db_record(db, KC_REL_DB_BLOB, 1, &rec, NULL),
	    CK_ABSENT);
	assert_int_equal(kc_db_record(db, KC_REL_DB_BLOB, UINT32_MAX, &rec,
	    NULL), CK_ABSENT);
	assert_int_equal(kc_db_next(db, KC_REL_CERTIFICATE, &at, &rec, NULL),
	    CK_ABSENT);
	assert_int_equal(rec.number, 77);
	assert_int_equal(at, 0);
	assert_null(kc_db_relation(db, KC_REL_CERTIFICATE));
	HELP_OK(kc_db_count(db, KC_REL_CERTIFICATE, &n, &fail));
	assert_int_equal(n, 0);
	HELP_OK(kc_db_record(db, KC_REL_DB_BLOB, 0, &rec, &fail));
	assert_int_equal(kc_db_value(db, &rec, KC_ATTR_LABEL, &v, NULL),
	    CK_UNSUPPORTED);
	assert_int_equal(v.word, 5);
	kc_db_free(&db);
	ck_buf_free(&file);
}

/* Each record of a file is found through each index it must be in. */
static void
each_record_is_found_through_each_index(void **state)
{
	size_t tried = 0;

	(void)state;
	for (size_t f = 0; f < HELP_HEALTHY; f++) {
		struct kc_db *db = help_db_vector(help_healthy[f]);

		for (size_t n = 0; n < db->ntables; n++) {
			const struct kc_table *t = &db->tables[n];
			struct kc_record rec;
			uint32_t number = 0;

			while (kc_db_next(db, t->id, &number, &rec, NULL) ==
			    CK_OK)
				tried += help_find(db, t, &rec);
		}
		kc_db_free(&db);
	}
	assert_true(tried > 200);
}

static void
lookup_answers_miss_and_refuses_nonsense(void **state)
{
	struct kc_db *db = help_db_vector(HELP_V100);
	struct kc_value keys[3] = { help_text("test_account"),
	    help_text("test_servicf"), help_text("") };
	static const uint32_t acct[3] = { KC_ATTR_ACCOUNT, KC_ATTR_SERVICE,
	    KC_ATTR_SERVICE };
	static const uint32_t label = 6, svce = KC_ATTR_SERVICE;
	uint32_t number = 77, index = 77;
	bool hit = true;

	(void)state;
	HELP_OK(kc_db_lookup(db, KC_REL_GENERIC, 0, keys, 2, &hit, &number,
	    &fail));
	assert_false(hit);
	assert_int_equal(number, 77);
	hit = true;
	assert_int_equal(kc_db_lookup(db, KC_REL_GENERIC, 1, keys, 1, &hit,
	    &number, NULL), CK_UNSUPPORTED);
	assert_int_equal(kc_db_lookup(db, KC_REL_GENERIC, 0, keys, 3, &hit,
	    &number, NULL), CK_UNSUPPORTED);
	assert_int_equal(kc_db_lookup(db, KC_REL_GENERIC, 0, keys, 0, &hit,
	    &number, NULL), CK_UNSUPPORTED);
	assert_int_equal(kc_db_lookup(db, KC_REL_CERTIFICATE, 0, keys, 1,
	    &hit, &number, NULL), CK_UNSUPPORTED);
	keys[1].present = false;
	assert_int_equal(kc_db_lookup(db, KC_REL_GENERIC, 0, keys, 2, &hit,
	    &number, NULL), CK_USAGE);
	assert_true(hit);
	assert_int_equal(number, 77);
	HELP_OK(kc_db_index_for(db, KC_REL_GENERIC, acct, 2, &index, &fail));
	assert_int_equal(index, 0);
	HELP_OK(kc_db_index_for(db, KC_REL_GENERIC, &svce, 1, &index, &fail));
	assert_int_equal(index, 4);
	HELP_OK(kc_db_index_for(db, KC_REL_SYMMETRIC_KEY, &label, 1, &index,
	    &fail));
	assert_int_equal(index, 0);
	index = 77;
	assert_int_equal(kc_db_index_for(db, KC_REL_GENERIC, acct, 3, &index,
	    NULL), CK_ABSENT);
	assert_int_equal(kc_db_index_for(db, KC_REL_CERTIFICATE, acct, 1,
	    &index, NULL), CK_ABSENT);
	assert_int_equal(index, 77);
	kc_db_free(&db);
}

/* Opening and finding one of many reads a few blocks, not the file. */
static void
lookup_touches_few_blocks(void **state)
{
	struct ck_buf file = CK_BUF_INIT;
	struct kc_db *db = NULL;
	struct kc_value keys[2] = { help_text("account"),
	    help_text("service01357") };
	struct kc_record rec;
	struct kc_value v;
	uint32_t number = 0;
	bool hit = false;
	int fd;

	(void)state;
	help_many(6000, &file);
	assert_true(file.n / KC_BLOCK > 200);
	fd = temporary(file.p, file.n);
	HELP_OK(kc_db_open_fd(fd, "f", &db, &fail));
	/* Two for the meta tables, then one a table where they lie apart. */
	assert_true(kc_db_blocks(db) <= 12);
	HELP_OK(kc_db_lookup(db, KC_REL_GENERIC, 0, keys, 2, &hit, &number,
	    &fail));
	assert_true(hit);
	HELP_OK(kc_db_record(db, KC_REL_GENERIC, number, &rec, &fail));
	HELP_OK(kc_db_value(db, &rec, KC_ATTR_SERVICE, &v, &fail));
	assert_int_equal(v.bytes.n, 12);
	assert_memory_equal(v.bytes.p, "service01357", 12);
	/* The bound is logarithmic: at most two for each of 13 steps. */
	assert_true(kc_db_blocks(db) <= 12 + 2 * 13 + 3);
	kc_db_free(&db);
	ck_io_close(&fd);
	ck_buf_free(&file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy_files_can_be_read),
		cmocka_unit_test(descriptor_and_bytes_agree),
		cmocka_unit_test(worked_example_reads_as_published),
		cmocka_unit_test(other_files_are_refused_by_kind),
		cmocka_unit_test(too_large_a_file_is_unsupported),
		cmocka_unit_test(source_is_bounded_and_lazy),
		cmocka_unit_test(shrinking_file_is_changed),
		cmocka_unit_test(what_is_not_there_is_absent_or_unsupported),
		cmocka_unit_test(each_record_is_found_through_each_index),
		cmocka_unit_test(lookup_answers_miss_and_refuses_nonsense),
		cmocka_unit_test(lookup_touches_few_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
