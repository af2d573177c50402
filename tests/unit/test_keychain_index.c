/* SPDX-License-Identifier: Apache-2.0 */
/* Finding when indexes are wrong: a hit may come from an index, "absent" only
 * from the records. */
#include "unit.h"

#include <string.h>

#include "help_db.h"
#include "help_kc.h"
#include "help_vectors.h"

#define SCHEMA 0x14U

/* Offset in the file of the table of a relation (section 3). */
static size_t
table_at(const struct ck_buf *file, uint32_t relation)
{
	uint32_t count = ck_get_be32(file->p + SCHEMA + 4);

	for (uint32_t i = 0; i < count; i++) {
		size_t at = SCHEMA +
		    ck_get_be32(file->p + SCHEMA + 8 + 4 * (size_t)i);

		if (ck_get_be32(file->p + at + 4) == relation)
			return at;
	}
	fail_msg("no table 0x%08x", (unsigned int)relation);
	return 0;
}

enum harm {
	REVERSED,        /* entries in descending order */
	LYING,           /* each key with the number of the next record */
	EMPTY,           /* no entry */
	WILD             /* record numbers that do not exist */
};

/* Harm every index of a table (section 6.1). */
static void
harm_indexes(struct ck_buf *file, uint32_t relation, enum harm how)
{
	uint8_t *table = file->p + table_at(file, relation);
	uint8_t *section = table + ck_get_be32(table + 16);
	uint32_t count = ck_get_be32(section + 4);

	assert_true(count > 0);
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *index = table +
		    ck_get_be32(section + 8 + 4 * (size_t)i);
		uint8_t *e = index + 16 + 4 * ck_get_be32(index + 12);
		uint32_t n = ck_get_be32(e);
		uint8_t *keys = e + 4, *numbers = e + 4 + 4 * (size_t)n;
		uint32_t k[16], r[16];

		assert_true(n > 1 && n <= 16);
		for (uint32_t j = 0; j < n; j++) {
			k[j] = ck_get_be32(keys + 4 * (size_t)j);
			r[j] = ck_get_be32(numbers + 4 * (size_t)j);
		}
		if (how == EMPTY)
			ck_put_be32(e, 0);
		for (uint32_t j = 0; j < n && how != EMPTY; j++) {
			uint32_t from = how == REVERSED ? n - 1 - j : j;

			ck_put_be32(keys + 4 * (size_t)j, k[from]);
			if (how == LYING)
				from = (j + 1) % n;
			ck_put_be32(numbers + 4 * (size_t)j,
			    how == WILD ? 0x00ffffffU : r[from]);
		}
	}
}

static const struct {
	const char *service, *account, *secret;
} items[] = {
	{ "test_service", "test_account", "test_password" },
	{ "test_service_restrictive_acl", "test_account", "test_password" },
	{ "nobody@apple.com", "test_smime ", "" },
};

static void
harmed(const struct kct *fx, uint32_t relation, enum harm how)
{
	struct ck_buf bytes;

	help_vector_load(HELP_V100_CERTS, &bytes);
	harm_indexes(&bytes, relation, how);
	kct_put(fx->path, ck_buf_view(&bytes), 0600);
	ck_buf_free(&bytes);
}

static void
every_item_is_found_whatever_the_indexes_say(void **state)
{
	const struct kct *fx = *state;
	struct kc_record rec;
	struct kc *kc;

	for (int how = REVERSED; how <= WILD; how++) {
		harmed(fx, KC_REL_GENERIC, (enum harm)how);
		kc = kct_open(fx, KCT_PASSWORD);
		for (size_t i = 0; i < 3; i++) {
			rec = kct_find(kc, items[i].service,
			    items[i].account);
			kct_attr(kc, &rec, KC_ATTR_SERVICE, items[i].service);
			kct_secret_is(kc, &rec, items[i].secret,
			    strlen(items[i].secret));
		}
		assert_int_equal(kc_find(kc, CK_SPAN_TEXT("test_service"),
		    CK_SPAN_TEXT("nobody"), &rec, NULL), CK_ABSENT);
		kc_close(&kc);
	}
}

static void
every_key_is_found_whatever_the_indexes_say(void **state)
{
	const struct kct *fx = *state;
	struct kc_record rec;
	struct kc *kc;

	for (int how = REVERSED; how <= WILD; how++) {
		harmed(fx, KC_REL_SYMMETRIC_KEY, (enum harm)how);
		kc = kct_open(fx, KCT_PASSWORD);
		for (size_t i = 0; i < 3; i++) {
			rec = kct_find(kc, items[i].service,
			    items[i].account);
			kct_secret_is(kc, &rec, items[i].secret,
			    strlen(items[i].secret));
		}
		kc_close(&kc);
	}
}

static void
file_with_wrong_indexes_is_not_written(void **state)
{
	static const uint32_t tables[] = {
		KC_REL_GENERIC, KC_REL_SYMMETRIC_KEY
	};
	const struct kct *fx = *state;
	struct ck_fail why = CK_FAIL_INIT;
	struct kc_record rec;
	struct ck_buf before;
	size_t keys = 99;
	struct kc *kc;

	for (int how = REVERSED; how <= WILD; how++)
		for (size_t i = 0; i < 2; i++) {
			harmed(fx, tables[i], (enum harm)how);
			kct_get(fx->path, &before);
			kc = kct_open_write(fx, KCT_PASSWORD);
			assert_int_equal(kc_verify(kc, &keys, &why),
			    CK_DAMAGED);
			assert_int_equal(keys, 99);
			rec = kct_find(kc, "test_service", "test_account");
			assert_int_equal(kc_delete(kc, &rec, &why),
			    CK_DAMAGED);
			assert_int_equal(kc_commit(kc, &why), CK_DAMAGED);
			kc_close(&kc);
			kct_same(fx->path, &before);
			ck_buf_free(&before);
		}
}

/* A record that cannot be read might be the one that was asked for. */
static void
damaged_record_is_never_taken_for_absent(void **state)
{
	const struct kct *fx = *state;
	struct ck_fail why = CK_FAIL_INIT;
	struct kc_record rec;
	struct ck_buf bytes;
	size_t table, record;
	struct kc *kc;

	help_vector_load(HELP_V100_CERTS, &bytes);
	table = table_at(&bytes, KC_REL_GENERIC);
	record = table + ck_get_be32(bytes.p + table + 12);
	/* Column 14, svce, points behind the record. */
	ck_put_be32(bytes.p + record + 24 + 4 * 14, 0x00fffff1U);
	kct_put(fx->path, ck_buf_view(&bytes), 0600);
	ck_buf_free(&bytes);
	kc = kct_open(fx, KCT_PASSWORD);
	assert_int_equal(kc_find(kc, CK_SPAN_TEXT("not there"),
	    CK_SPAN_TEXT("at all"), &rec, &why), CK_DAMAGED);
	/* The others are still readable. */
	rec = kct_find(kc, "nobody@apple.com", "test_smime ");
	kct_secret_is(kc, &rec, "", 0);
	kc_close(&kc);
}

/* A "zombie": the first half of a deletion on an old macOS. */
static void
make_zombie(const struct kct *fx)
{
	struct ck_buf bytes = CK_BUF_INIT;
	struct kc_record rec, key;
	struct kc *kc;

	kct_copy(fx, HELP_V100_CERTS);
	kc = kct_open(fx, NULL);
	rec = kct_find(kc, "test_service", "test_account");
	HELP_OK(kc_item_key(kc, &rec, &key, &fail));
	HELP_OK(kc_db_begin(kc_db(kc), &fail));
	HELP_OK(kc_db_delete(kc_db(kc), key.relation, key.number, &fail));
	HELP_OK(kc_db_serialise(kc_db(kc), false, &bytes, &fail));
	kc_close(&kc);
	kct_put(fx->path, ck_buf_view(&bytes), 0600);
	ck_buf_free(&bytes);
}

static void
item_without_its_key_is_damaged_and_can_only_be_deleted(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret out = CK_SECRET_INIT, value = kct_text("x");
	struct kc_record rec;
	struct kc *kc;
	size_t keys = 0;

	make_zombie(fx);
	kc = kct_open_write(fx, KCT_PASSWORD);
	rec = kct_find(kc, "test_service", "test_account");
	assert_int_equal(kc_item_secret(kc, &rec, &out, NULL), CK_DAMAGED);
	assert_null(out.p);
	assert_int_equal(kc_verify(kc, &keys, NULL), CK_DAMAGED);
	assert_int_equal(kc_set_secret(kc, &rec, &value, KCT_NOW, NULL),
	    CK_DAMAGED);
	HELP_OK(kc_delete(kc, &rec, &fail));
	kct_commit(&kc);
	kct_reads(fx, KCT_PASSWORD, "nobody@apple.com", "test_smime ", "");
	kc = kct_open(fx, KCT_PASSWORD);
	assert_int_equal(kc_find(kc, CK_SPAN_TEXT("test_service"),
	    CK_SPAN_TEXT("test_account"), &rec, NULL), CK_ABSENT);
	kc_close(&kc);
	ck_secret_wipe(&value);
}

#define T(f) cmocka_unit_test_setup_teardown(f, kct_setup, kct_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_item_is_found_whatever_the_indexes_say),
		T(every_key_is_found_whatever_the_indexes_say),
		T(file_with_wrong_indexes_is_not_written),
		T(damaged_record_is_never_taken_for_absent),
		T(item_without_its_key_is_damaged_and_can_only_be_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
