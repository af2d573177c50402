/* SPDX-License-Identifier: Apache-2.0 */
/* Broken keychain files: nothing read out of bounds, nothing endless. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "help_db.h"
#include "help_vectors.h"
#include "keychain/db.h"
#include "keychain/db_int.h"

/* Copies so that an access one byte behind the end is seen. */
static ck_err
exercise(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n == 0 ? 1 : n);
	ck_err r;

	assert_non_null(copy);
	memcpy(copy, p, n);
	r = help_exercise((struct ck_span){ copy, n });
	free(copy);
	return r;
}

static void
fuzzed_file_is_damaged(void **state)
{
	struct ck_buf file = CK_BUF_INIT;

	(void)state;
	help_vector_load(HELP_CORRUPT, &file);
	assert_int_equal(exercise(file.p, file.n), CK_DAMAGED);
	/* With the size it claims to have it is damaged inside, too. */
	ck_put_be32(file.p + KC_SCHEMA_AT, (uint32_t)file.n - 24);
	assert_int_equal(exercise(file.p, file.n), CK_DAMAGED);
	ck_buf_free(&file);
}

/* A small file cut at each length, as it is and with its size put right. */
static void
each_truncation_is_damaged(void **state)
{
	struct ck_buf file = CK_BUF_INIT;

	(void)state;
	help_new_file(168, &file);
	for (size_t n = 0; n < file.n; n++) {
		assert_int_equal(exercise(file.p, n), CK_DAMAGED);
		if (n < KC_FILE_MIN)
			continue;
		ck_put_be32(file.p + KC_SCHEMA_AT, (uint32_t)n - 24);
		assert_int_equal(exercise(file.p, n), CK_DAMAGED);
		ck_put_be32(file.p + KC_SCHEMA_AT, (uint32_t)file.n - 24);
	}
	assert_int_equal(exercise(file.p, file.n), CK_OK);
	ck_buf_free(&file);
}

static uint32_t seed = 1;

static uint32_t
rnd(uint32_t below)
{
	seed = seed * 1664525U + 1013904223U;
	return (seed >> 8) % below;
}

/* Each byte of a file with one item, changed by one bit or wholly; of the long
 * meta tables, which are all alike, every third. */
static void
each_changed_byte_is_survived(void **state)
{
	struct ck_buf file = CK_BUF_INIT;
	size_t refused = 0, tried = 0;

	(void)state;
	help_many(1, &file);
	for (size_t i = 0; i < file.n; i += i >= 0x48 && i < 0x4838 ? 3 : 1) {
		uint8_t was = file.p[i];

		file.p[i] ^= (uint8_t)(i % 2 == 0 ? 1U << rnd(8) : 0xff);
		refused += exercise(file.p, file.n) != CK_OK;
		tried++;
		file.p[i] = was;
	}
	/* Most bytes are structure; the rest is text and blobs. */
	assert_true(refused > tried / 2);
	assert_true(refused < tried);
	ck_buf_free(&file);
}

/* A word that is likely to hurt. */
static uint32_t
nasty(const struct ck_buf *file)
{
	static const uint32_t words[] = { 0, 1, 3, 4, 28, 29, 0x7fffffff,
	    0x80000000, 0xffffffff, 0xfffffffc, 0x40000000, 0x3fffffff };
	uint32_t dice = rnd(24);

	if (dice < 12)
		return words[dice];
	if (dice < 18)
		return rnd((uint32_t)file->n) & ~3U;
	return rnd(64);
}

static void
many_changed_words_are_survived(void **state)
{
	static const char *const names[] = { HELP_V100_CERTS, HELP_V200 };

	(void)state;
	for (size_t f = 0; f < 2; f++) {
		struct ck_buf file = CK_BUF_INIT, work = CK_BUF_INIT;

		help_vector_load(names[f], &file);
		for (size_t i = 0; i < 1500; i++) {
			uint32_t n = 1 + rnd(4);

			work.n = 0;
			ck_buf_span(&work, ck_buf_view(&file));
			while (n-- > 0)
				ck_put_be32(work.p + 4 *
				    rnd((uint32_t)file.n / 4), nasty(&file));
			(void)exercise(work.p, work.n);
		}
		ck_buf_free(&file);
		ck_buf_free(&work);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fuzzed_file_is_damaged),
		cmocka_unit_test(each_truncation_is_damaged),
		cmocka_unit_test(each_changed_byte_is_survived),
		cmocka_unit_test(many_changed_words_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
