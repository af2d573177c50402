/* SPDX-License-Identifier: Apache-2.0 */
/* Reading keychain files: opening, relations, records, values, look-ups. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "help_vectors.h"
#include "keychain/db.h"
#include "keychain/db_int.h"

static struct kc_db *
open_vector(const char *name)
{
	struct ck_buf file = CK_BUF_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc_db *db = NULL;
	ck_err r;

	help_vector_load(name, &file);
	r = kc_db_open_bytes(ck_buf_view(&file), name, &db, &fail);
	if (r != CK_OK)
		print_error("%s: %s\n", fail.place, fail.why);
	assert_int_equal(r, CK_OK);
	ck_buf_free(&file);
	return db;
}

/* Every healthy file opens, and every record and value of it can be read. */
static void
healthy_files_can_be_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < HELP_HEALTHY; i++) {
		struct kc_db *db = open_vector(help_healthy[i]);

		assert_true(kc_db_relation_count(db) >= 11);
		for (size_t n = 0; n < kc_db_relation_count(db); n++) {
			const struct kc_relation *rel =
			    kc_db_relation_at(db, n);
			uint32_t number = 0, count = 0, seen = 0;
			struct kc_value values[KC_ATTRS_MAX];
			struct kc_record rec;
			ck_err r;

			assert_int_equal(kc_db_count(db, rel->id, &count,
			    NULL), CK_OK);
			while ((r = kc_db_next(db, rel->id, &number, &rec,
			    NULL)) == CK_OK) {
				seen++;
				assert_int_equal(rec.relation, rel->id);
				assert_int_equal(rec.number, number - 1);
				assert_int_equal(kc_db_values(db, &rec,
				    values, NULL), CK_OK);
			}
			assert_int_equal(r, CK_ABSENT);
			assert_int_equal(seen, count);
		}
		assert_null(kc_db_relation_at(db,
		    kc_db_relation_count(db)));
		kc_db_free(&db);
		assert_null(db);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy_files_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
