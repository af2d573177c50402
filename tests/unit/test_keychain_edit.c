/* SPDX-License-Identifier: Apache-2.0 */
/* Adding, changing and deleting items, in files of both blob versions. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help_db.h"
#include "help_kc.h"
#include "help_vectors.h"
#include "keychain/blob.h"

#define LATER (KCT_NOW + 86400)
#define ATTR_SERVER 0x73727672U

static const uint32_t versions[] = { KC_BLOB_V100, KC_BLOB_V200 };

static void
start(const struct kct *fx, uint32_t version)
{
	struct kc *kc;

	(void)remove(fx->path);
	kc = kct_new(fx, version, "one");
	kct_commit(&kc);
}

static void
assert_date(struct kc *kc, const struct kc_record *rec, uint32_t attr,
    int64_t want)
{
	struct kc_value v;
	int64_t when = 0;

	HELP_OK(kc_db_value(kc_db(kc), rec, attr, &v, &fail));
	assert_true(v.present && kc_date_parse(v.bytes, &when));
	assert_int_equal(when, want);
}

static uint32_t
counter(const struct kct *fx)
{
	struct kc *kc = kct_open(fx, NULL);
	struct kc_info info;

	kc_info(kc, &info);
	kc_close(&kc);
	return info.commit;
}

static void
added_secrets_of_every_size_come_back_exactly(void **state)
{
	static const size_t sizes[] = {
		0, 1, 7, 8, 9, 15, 16, 1023, 1024, 2048, 4095, 4096, 4097,
		65536, 1 << 20
	};
	enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
	const struct kct *fx = *state;
	uint8_t *bytes = malloc(1 << 20);
	struct kc_record rec;
	char name[32];
	struct kc *kc;

	assert_non_null(bytes);
	for (size_t i = 0; i < 1 << 20; i++)
		bytes[i] = (uint8_t)(i * 7 + (i >> 8));
	for (size_t v = 0; v < 2; v++) {
		start(fx, versions[v]);
		kc = kct_open_write(fx, "one");
		for (size_t i = 0; i < SIZES; i++) {
			(void)snprintf(name, sizeof(name), "s%zu", sizes[i]);
			kct_add(kc, name, "a", bytes, sizes[i]);
		}
		kct_commit(&kc);
		assert_int_equal(counter(fx), 2);
		kct_reads(fx, "one", NULL, NULL, NULL);
		kc = kct_open(fx, "one");
		for (size_t i = 0; i < SIZES; i++) {
			(void)snprintf(name, sizeof(name), "s%zu", sizes[i]);
			rec = kct_find(kc, name, "a");
			kct_secret_is(kc, &rec, bytes, sizes[i]);
		}
		kc_close(&kc);
	}
	free(bytes);
}

static void
added_item_has_the_attributes_it_was_given(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret s = kct_text("value");
	struct kc_new_item item;
	struct kc_acl_info info;
	struct kc_record rec;
	struct kc *kc;

	memset(&item, 0, sizeof(item));
	item.service = CK_SPAN_TEXT("svc");
	item.account = CK_SPAN_TEXT("acct");
	item.label = CK_SPAN_TEXT("a label");
	item.comment = CK_SPAN_TEXT("a comment");
	item.kind = CK_SPAN_TEXT("a kind");
	item.access = KC_ACCESS_NONE;
	item.now = KCT_NOW;
	for (size_t v = 0; v < 2; v++) {
		start(fx, versions[v]);
		kc = kct_open_write(fx, "one");
		HELP_OK(kc_add(kc, &item, &s, &fail));
		kct_add(kc, "plain", "", "x", 1);
		kct_add(kc, "", "only account", "x", 1);
		kct_commit(&kc);
		kc = kct_open(fx, NULL);
		rec = kct_find(kc, "svc", "acct");
		kct_attr(kc, &rec, KC_ATTR_LABEL, "a label");
		kct_attr(kc, &rec, KC_ATTR_COMMENT, "a comment");
		kct_attr(kc, &rec, KC_ATTR_KIND, "a kind");
		kct_attr(kc, &rec, KC_ATTR_ALIAS, NULL);
		kct_attr(kc, &rec, KC_ATTR_GENERIC, NULL);
		assert_date(kc, &rec, KC_ATTR_CREATED, KCT_NOW);
		assert_date(kc, &rec, KC_ATTR_MODIFIED, KCT_NOW);
		HELP_OK(kc_item_access(kc, &rec, &info, &fail));
		assert_int_equal(info.access, KC_ACCESS_NONE);
		assert_int_equal(info.has_digest, v == 1);
		assert_int_equal(info.has_partitions, v == 1);
		rec = kct_find(kc, "plain", "");
		kct_attr(kc, &rec, KC_ATTR_LABEL, "plain");
		kct_attr(kc, &rec, KC_ATTR_COMMENT, NULL);
		HELP_OK(kc_item_access(kc, &rec, &info, &fail));
		assert_int_equal(info.access, KC_ACCESS_ANY);
		rec = kct_find(kc, "", "only account");
		kct_attr(kc, &rec, KC_ATTR_LABEL, "only account");
		kc_close(&kc);
	}
	ck_secret_wipe(&s);
}

static void
names_of_any_bytes_are_different_items(void **state)
{
	static const char u[] = "\xe2\x80\xae" "evil\xe2\x80\xac";
	const struct kct *fx = *state;
	char longest[300];
	const struct ck_span names[] = {
		{ (const uint8_t *)"", 0 }, { (const uint8_t *)"\0", 1 },
		{ (const uint8_t *)"\0\0", 2 }, { (const uint8_t *)"a\nb", 3 },
		{ (const uint8_t *)"a\rb", 3 }, { (const uint8_t *)"a\0b", 3 },
		{ (const uint8_t *)"a\0c", 3 }, { (const uint8_t *)"\xff", 1 },
		{ (const uint8_t *)u, sizeof(u) - 1 },
		{ (const uint8_t *)longest, sizeof(longest) },
	};
	enum { NAMES = sizeof(names) / sizeof(names[0]) };
	struct kc_new_item item;
	struct kc_record rec;
	struct ck_secret s;
	struct kc *kc;

	for (size_t i = 0; i < sizeof(longest); i++)
		longest[i] = "\xc3\xa9"[i % 2];
	memset(&item, 0, sizeof(item));
	item.now = KCT_NOW;
	start(fx, KC_BLOB_V200);
	kc = kct_open_write(fx, "one");
	for (size_t i = 0; i < NAMES * NAMES; i++) {
		item.service = names[i / NAMES];
		item.account = names[i % NAMES];
		s = kct_secret(&i, sizeof(i));
		HELP_OK(kc_add(kc, &item, &s, &fail));
		ck_secret_wipe(&s);
	}
	kct_commit(&kc);
	kct_reads(fx, "one", NULL, NULL, NULL);
	kc = kct_open(fx, "one");
	for (size_t i = 0; i < NAMES * NAMES; i++) {
		HELP_OK(kc_find(kc, names[i / NAMES], names[i % NAMES], &rec,
		    &fail));
		kct_secret_is(kc, &rec, &i, sizeof(i));
	}
	kc_close(&kc);
}

/* Add to each file that exists already; what was there stays readable. */
static void
adding_to_every_healthy_file_keeps_the_rest(void **state)
{
	const struct kct *fx = *state;
	const char *pw;
	uint32_t before, gen, gen2, keys, keys2;
	struct kc *kc;

	for (size_t i = 0; i < HELP_HEALTHY; i++) {
		pw = i < 4 ? KCT_PASSWORD : KCT_EXAMPLE;
		kct_copy(fx, help_healthy[i]);
		before = counter(fx);
		kc = kct_open_write(fx, pw);
		HELP_OK(kc_db_count(kc_db(kc), KC_REL_GENERIC, &gen, &fail));
		HELP_OK(kc_db_count(kc_db(kc), KC_REL_SYMMETRIC_KEY, &keys,
		    &fail));
		kct_add(kc, "new service", "new account", "new", 3);
		kct_commit(&kc);
		assert_int_equal(counter(fx), before + 1);
		kct_reads(fx, pw, "new service", "new account", "new");
		if (i != 2)
			kct_reads(fx, pw, i < 4 ? "test_service" : "svc",
			    i < 4 ? "test_account" : "acct",
			    i == 1 ? "test_password" : i < 4 ? "data" :
			    "s3cret");
		kc = kct_open(fx, NULL);
		HELP_OK(kc_db_count(kc_db(kc), KC_REL_GENERIC, &gen2, &fail));
		HELP_OK(kc_db_count(kc_db(kc), KC_REL_SYMMETRIC_KEY, &keys2,
		    &fail));
		assert_int_equal(gen2, gen + 1);
		assert_int_equal(keys2, keys + 1);
		kc_close(&kc);
	}
}

static void
adding_an_existing_item_is_refused(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret s = kct_text("Zx9-not-in-text");
	struct ck_fail why = CK_FAIL_INIT;
	struct kc_new_item item;
	struct ck_buf before;
	struct kc *kc;

	memset(&item, 0, sizeof(item));
	item.service = CK_SPAN_TEXT("test_service");
	item.account = CK_SPAN_TEXT("test_account");
	item.now = KCT_NOW;
	kct_copy(fx, HELP_V200);
	kct_get(fx->path, &before);
	kc = kct_open_write(fx, KCT_PASSWORD);
	assert_int_equal(kc_add(kc, &item, &s, &why), CK_REFUSED);
	assert_int_equal(why.code, CK_REFUSED);
	assert_true(why.next[0] != '\0');
	kct_silent(&why, "not-in-text");
	kc_close(&kc);
	kct_same(fx->path, &before);
	/* Twice in one step is the same. */
	kc = kct_open_write(fx, KCT_PASSWORD);
	item.account = CK_SPAN_TEXT("twice");
	HELP_OK(kc_add(kc, &item, &s, &fail));
	assert_int_equal(kc_add(kc, &item, &s, &why), CK_REFUSED);
	kct_commit(&kc);
	kct_reads(fx, KCT_PASSWORD, "test_service", "twice",
	    "Zx9-not-in-text");
	ck_secret_wipe(&s);
	ck_buf_free(&before);
}

static void
changes_of_a_locked_file_are_locked(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret s = kct_text("value");
	struct kc_new_item item;
	struct kc_record rec;
	struct ck_buf before;
	struct kc *kc;

	memset(&item, 0, sizeof(item));
	kct_copy(fx, HELP_V200);
	kct_get(fx->path, &before);
	kc = kct_open_write(fx, NULL);
	rec = kct_find(kc, "test_service", "test_account");
	assert_int_equal(kc_add(kc, &item, &s, NULL), CK_LOCKED);
	assert_int_equal(kc_set_secret(kc, &rec, &s, KCT_NOW, NULL),
	    CK_LOCKED);
	assert_int_equal(kc_set_attribute(kc, &rec, KC_ATTR_LABEL,
	    CK_SPAN_TEXT("x"), KCT_NOW, NULL), CK_LOCKED);
	assert_int_equal(kc_set_password(kc, &s, NULL), CK_LOCKED);
	assert_int_equal(kc_set_settings(kc, 1, true, NULL), CK_LOCKED);
	kc_close(&kc);
	kct_same(fx->path, &before);
	ck_buf_free(&before);
	ck_secret_wipe(&s);
}

/* Every item of the real files: new secret, everything around it kept. */
static void
update_item(const struct kct *fx, const char *vector, uint32_t relation,
    uint32_t attr, const char *name)
{
	struct ck_secret s = kct_text("a new value\n");
	struct ck_buf acl, acl2;
	struct kc_record rec;
	struct kc_value cdat, cdat2;
	uint8_t label[KC_LABEL_BYTES], created[16];
	uint32_t number;
	struct kc *kc;

	kct_copy(fx, vector);
	kc = kct_open_write(fx, KCT_PASSWORD);
	rec = kct_find_by(kc, relation, attr, name);
	kct_acl(kc, &rec, &acl);
	HELP_OK(kc_db_value(kc_db(kc), &rec, KC_ATTR_CREATED, &cdat, &fail));
	memcpy(created, cdat.bytes.p, 16);
	memcpy(label, rec.data.p, sizeof(label));
	number = rec.number;
	HELP_OK(kc_set_secret(kc, &rec, &s, LATER, &fail));
	kct_commit(&kc);

	kct_reads(fx, KCT_PASSWORD, NULL, NULL, NULL);
	kc = kct_open(fx, KCT_PASSWORD);
	rec = kct_find_by(kc, relation, attr, name);
	kct_secret_is(kc, &rec, s.p, s.n);
	assert_int_equal(rec.number, number);
	/* Neither label nor IV nor key is used twice. */
	assert_memory_not_equal(rec.data.p, label, sizeof(label));
	assert_date(kc, &rec, KC_ATTR_MODIFIED, LATER);
	HELP_OK(kc_db_value(kc_db(kc), &rec, KC_ATTR_CREATED, &cdat2, &fail));
	assert_memory_equal(cdat2.bytes.p, created, 16);
	kct_acl(kc, &rec, &acl2);
	assert_true(ck_span_equal(ck_buf_view(&acl), ck_buf_view(&acl2)));
	kc_close(&kc);
	ck_buf_free(&acl);
	ck_buf_free(&acl2);
	ck_secret_wipe(&s);
}

static void
new_secret_keeps_access_list_creation_and_place(void **state)
{
	static const struct {
		const char *vector;
		uint32_t relation, attr;
		const char *name;
	} items[] = {
		{ HELP_V100, KC_REL_GENERIC, KC_ATTR_SERVICE, "test_service" },
		{ HELP_V100, KC_REL_INTERNET, ATTR_SERVER, "test_service" },
		{ HELP_V100_CERTS, KC_REL_GENERIC, KC_ATTR_SERVICE,
		    "test_service" },
		{ HELP_V100_CERTS, KC_REL_GENERIC, KC_ATTR_SERVICE,
		    "test_service_restrictive_acl" },
		{ HELP_V100_CERTS, KC_REL_GENERIC, KC_ATTR_SERVICE,
		    "nobody@apple.com" },
		{ HELP_V100_CERTS, KC_REL_INTERNET, ATTR_SERVER,
		    "test_service_restrictive_acl" },
		{ HELP_V200, KC_REL_GENERIC, KC_ATTR_SERVICE, "test_service" },
		{ HELP_V200, KC_REL_INTERNET, ATTR_SERVER, "test_service" },
	};

	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		update_item(*state, items[i].vector, items[i].relation,
		    items[i].attr, items[i].name);
}

static void
new_label_changes_nothing_of_the_access_list_but_the_digest(void **state)
{
	static const char *const vectors[] = { HELP_V100, HELP_V200 };
	const struct kct *fx = *state;
	struct ck_buf acl, acl2;
	struct kc_record rec;
	size_t first, last;
	struct kc *kc;

	for (size_t v = 0; v < 2; v++) {
		kct_copy(fx, vectors[v]);
		kc = kct_open_write(fx, KCT_PASSWORD);
		rec = kct_find(kc, "test_service", "test_account");
		kct_acl(kc, &rec, &acl);
		HELP_OK(kc_set_attribute(kc, &rec, KC_ATTR_LABEL,
		    CK_SPAN_TEXT("a label modification"), LATER, &fail));
		kct_commit(&kc);
		kct_reads(fx, KCT_PASSWORD, "test_service", "test_account",
		    "data");
		kc = kct_open(fx, KCT_PASSWORD);
		rec = kct_find(kc, "test_service", "test_account");
		kct_attr(kc, &rec, KC_ATTR_LABEL, "a label modification");
		assert_date(kc, &rec, KC_ATTR_MODIFIED, LATER);
		kct_acl(kc, &rec, &acl2);
		assert_int_equal(acl.n, acl2.n);
		first = acl.n;
		last = 0;
		for (size_t i = 0; i < acl.n; i++)
			if (acl.p[i] != acl2.p[i]) {
				first = i < first ? i : first;
				last = i;
			}
		assert_true(v == 0 ? first == acl.n :
		    first < last && last - first < KC_DIGEST_BYTES);
		kc_close(&kc);
		ck_buf_free(&acl);
		ck_buf_free(&acl2);
	}
}

static void
label_of_a_v100_item_needs_no_password(void **state)
{
	const struct kct *fx = *state;
	struct kc_record rec;
	struct kc *kc;

	kct_copy(fx, HELP_V100);
	kc = kct_open_write(fx, NULL);
	rec = kct_find(kc, "test_service", "test_account");
	HELP_OK(kc_set_attribute(kc, &rec, KC_ATTR_COMMENT, CK_SPAN_TEXT(""),
	    LATER, &fail));
	kct_commit(&kc);
	kct_reads(fx, KCT_PASSWORD, "test_service", "test_account", "data");
	kc = kct_open(fx, NULL);
	rec = kct_find(kc, "test_service", "test_account");
	kct_attr(kc, &rec, KC_ATTR_COMMENT, "");
	kc_close(&kc);
}

static void
attribute_that_cannot_be_set_is_refused(void **state)
{
	const struct kct *fx = *state;
	const struct ck_span x = { (const uint8_t *)"xxxx", 4 };
	struct kc_record rec;
	struct ck_buf before;
	struct kc *kc;

	start(fx, KC_BLOB_V200);
	kc = kct_open_write(fx, "one");
	kct_add(kc, "s", "a", "1", 1);
	kct_add(kc, "s", "b", "2", 1);
	kct_commit(&kc);
	kct_get(fx->path, &before);
	kc = kct_open_write(fx, "one");
	rec = kct_find(kc, "s", "b");
	assert_int_equal(kc_set_attribute(kc, &rec, KC_ATTR_CREATOR, x,
	    LATER, NULL), CK_UNSUPPORTED);
	assert_int_equal(kc_set_attribute(kc, &rec, KC_ATTR_CREATED, x,
	    LATER, NULL), CK_UNSUPPORTED);
	assert_int_equal(kc_set_attribute(kc, &rec, 0x6e6f6e65U, x, LATER,
	    NULL), CK_UNSUPPORTED);
	/* The name of another item. */
	assert_int_equal(kc_set_attribute(kc, &rec, KC_ATTR_ACCOUNT,
	    CK_SPAN_TEXT("a"), LATER, NULL), CK_REFUSED);
	kc_close(&kc);
	kct_same(fx->path, &before);
	kct_reads(fx, "one", "s", "b", "2");
	ck_buf_free(&before);
}

static void
deleted_item_takes_its_key_and_nothing_else(void **state)
{
	const struct kct *fx = *state;
	uint32_t gen, keys;
	struct kc_record rec;
	struct kc *kc;

	kct_copy(fx, HELP_V100_CERTS);
	kc = kct_open_write(fx, NULL);
	rec = kct_find(kc, "test_service", "test_account");
	HELP_OK(kc_delete(kc, &rec, &fail));
	kct_commit(&kc);
	assert_int_equal(counter(fx), 73);
	kct_reads(fx, KCT_PASSWORD, "test_service_restrictive_acl",
	    "test_account", "test_password");
	kc = kct_open(fx, KCT_PASSWORD);
	assert_int_equal(kc_find(kc, CK_SPAN_TEXT("test_service"),
	    CK_SPAN_TEXT("test_account"), &rec, NULL), CK_ABSENT);
	HELP_OK(kc_db_count(kc_db(kc), KC_REL_GENERIC, &gen, &fail));
	HELP_OK(kc_db_count(kc_db(kc), KC_REL_SYMMETRIC_KEY, &keys, &fail));
	assert_int_equal(gen, 2);
	assert_int_equal(keys, 6);
	kc_close(&kc);
}

/* R35: slots are used again, and holes are not read as records. */
static void
added_item_takes_the_place_of_a_deleted_one(void **state)
{
	const struct kct *fx = *state;
	struct kc_record rec;
	uint32_t hole, count, number = 0;
	struct kc *kc;

	start(fx, KC_BLOB_V100);
	kc = kct_open_write(fx, "one");
	kct_add(kc, "1", "a", "one", 3);
	kct_add(kc, "2", "a", "two", 3);
	kct_add(kc, "3", "a", "three", 5);
	kct_commit(&kc);
	kc = kct_open_write(fx, "one");
	rec = kct_find(kc, "2", "a");
	hole = rec.number;
	HELP_OK(kc_delete(kc, &rec, &fail));
	kct_commit(&kc);
	kc = kct_open(fx, "one");
	for (count = 0; kc_db_next(kc_db(kc), KC_REL_GENERIC, &number, &rec,
	    NULL) == CK_OK; count++)
		assert_int_not_equal(rec.number, hole);
	assert_int_equal(count, 2);
	kc_close(&kc);
	kc = kct_open_write(fx, "one");
	kct_add(kc, "4", "a", "four", 4);
	kct_commit(&kc);
	kc = kct_open(fx, "one");
	rec = kct_find(kc, "4", "a");
	assert_int_equal(rec.number, hole);
	kc_close(&kc);
	kct_reads(fx, "one", "1", "a", "one");
	kct_reads(fx, "one", "3", "a", "three");
	kct_reads(fx, "one", "4", "a", "four");
}

static void
delete_and_add_in_one_step_replaces_the_item(void **state)
{
	const struct kct *fx = *state;
	struct kc_record rec;
	struct kc *kc;

	kct_copy(fx, HELP_V200);
	kc = kct_open_write(fx, KCT_PASSWORD);
	rec = kct_find(kc, "test_service", "test_account");
	HELP_OK(kc_delete(kc, &rec, &fail));
	kct_add(kc, "test_service", "test_account", "other", 5);
	kct_commit(&kc);
	assert_int_equal(counter(fx), 22);
	kct_reads(fx, KCT_PASSWORD, "test_service", "test_account", "other");
}

static void
second_change_of_an_item_in_one_step_is_refused(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret s = kct_text("first"), t = kct_text("second");
	struct kc_record rec;
	struct kc *kc;

	kct_copy(fx, HELP_V200);
	kc = kct_open_write(fx, KCT_PASSWORD);
	rec = kct_find(kc, "test_service", "test_account");
	HELP_OK(kc_set_secret(kc, &rec, &s, LATER, &fail));
	assert_int_equal(kc_set_secret(kc, &rec, &t, LATER, NULL),
	    CK_UNSUPPORTED);
	assert_int_equal(kc_set_attribute(kc, &rec, KC_ATTR_LABEL,
	    CK_SPAN_TEXT("x"), LATER, NULL), CK_UNSUPPORTED);
	assert_int_equal(kc_delete(kc, &rec, NULL), CK_UNSUPPORTED);
	kct_commit(&kc);
	kct_reads(fx, KCT_PASSWORD, "test_service", "test_account", "first");
	ck_secret_wipe(&s);
	ck_secret_wipe(&t);
}

#define T(f) cmocka_unit_test_setup_teardown(f, kct_setup, kct_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(added_secrets_of_every_size_come_back_exactly),
		T(added_item_has_the_attributes_it_was_given),
		T(names_of_any_bytes_are_different_items),
		T(adding_to_every_healthy_file_keeps_the_rest),
		T(adding_an_existing_item_is_refused),
		T(changes_of_a_locked_file_are_locked),
		T(new_secret_keeps_access_list_creation_and_place),
		T(new_label_changes_nothing_of_the_access_list_but_the_digest),
		T(label_of_a_v100_item_needs_no_password),
		T(attribute_that_cannot_be_set_is_refused),
		T(deleted_item_takes_its_key_and_nothing_else),
		T(added_item_takes_the_place_of_a_deleted_one),
		T(delete_and_add_in_one_step_replaces_the_item),
		T(second_change_of_an_item_in_one_step_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
