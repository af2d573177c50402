/* SPDX-License-Identifier: Apache-2.0 */
/* Reading keychain files through keychain.h: what is in files made by macOS,
 * who gets it, and what a refusal leaves behind. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/clock.h"
#include "help_db.h"
#include "help_kc.h"
#include "help_vectors.h"

#define CODE(a, b, c, d) \
	((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | \
	(uint32_t)(d))
#define ATTR_SERVER CODE('s', 'r', 'v', 'r')
#define ATTR_PROTOCOL CODE('p', 't', 'c', 'l')
#define ATTR_AUTH CODE('a', 't', 'y', 'p')
#define ATTR_PATH CODE('p', 'a', 't', 'h')
#define ATTR_DOMAIN CODE('s', 'd', 'm', 'n')
#define ATTR_PORT CODE('p', 'o', 'r', 't')
/* In key relations. */
#define KEY_NAME 1U
#define KEY_LABEL 6U

/* The tables of MANIFEST.md; dates as `grep` finds them in the files. */
static const struct want {
	const char *vector, *password;
	uint32_t relation;
	enum kc_access access;
	const char *service, *account, *label, *comment, *secret, *date;
} items[] = {
	{ HELP_V100, KCT_PASSWORD, KC_REL_GENERIC, KC_ACCESS_TRUSTED,
	    "test_service", "test_account", "test_generic", NULL, "data",
	    "2015-10-22T00:20:05Z" },
	{ HELP_V100, KCT_PASSWORD, KC_REL_INTERNET, KC_ACCESS_TRUSTED,
	    "test_service", "test_account", "test_internet", NULL, "data",
	    "2015-10-22T00:20:05Z" },
	{ HELP_V100_CERTS, KCT_PASSWORD, KC_REL_GENERIC, KC_ACCESS_ANY,
	    "test_service", "test_account", "test_service",
	    "another useful comment", "test_password",
	    "2016-04-08T18:51:06Z" },
	{ HELP_V100_CERTS, KCT_PASSWORD, KC_REL_GENERIC, KC_ACCESS_TRUSTED,
	    "test_service_restrictive_acl", "test_account",
	    "test_service_restrictive_acl", "another useful comment",
	    "test_password", "2016-04-08T18:51:17Z" },
	{ HELP_V100_CERTS, KCT_PASSWORD, KC_REL_GENERIC, KC_ACCESS_TRUSTED,
	    "nobody@apple.com", "test_smime ", "nobody@apple.com", NULL, "",
	    "2016-04-11T21:51:15Z" },
	{ HELP_V100_CERTS, KCT_PASSWORD, KC_REL_INTERNET, KC_ACCESS_ANY,
	    "test_service", "test_account", "test_service", "a useful comment",
	    "test_password", "2016-04-08T18:49:43Z" },
	{ HELP_V100_CERTS, KCT_PASSWORD, KC_REL_INTERNET, KC_ACCESS_NONE,
	    "test_service_restrictive_acl", "test_account",
	    "test_service_restrictive_acl", "a useful comment",
	    "test_password", "2016-04-08T18:49:34Z" },
	{ HELP_V200, KCT_PASSWORD, KC_REL_GENERIC, KC_ACCESS_TRUSTED,
	    "test_service", "test_account", "test_generic", "a comment",
	    "data", "2016-02-16T02:06:27Z" },
	{ HELP_V200, KCT_PASSWORD, KC_REL_INTERNET, KC_ACCESS_TRUSTED,
	    "test_service", "test_account", "test_internet", "a comment",
	    "data", "2016-02-16T02:06:27Z" },
	{ HELP_ONE_V100, KCT_EXAMPLE, KC_REL_GENERIC, KC_ACCESS_ANY,
	    "svc", "acct", "svc", NULL, "s3cret", "2024-01-02T03:04:05Z" },
	{ HELP_ONE_V200, KCT_EXAMPLE, KC_REL_GENERIC, KC_ACCESS_ANY,
	    "svc", "acct", "svc", NULL, "s3cret", "2024-01-02T03:04:05Z" },
};

static struct kc_record
item_record(struct kc *kc, const struct want *w)
{
	struct kc_record rec;

	if (w->relation == KC_REL_GENERIC)
		return kct_find(kc, w->service, w->account);
	rec = kct_find_by(kc, w->relation, ATTR_SERVER, w->service);
	kct_attr(kc, &rec, KC_ATTR_ACCOUNT, w->account);
	return rec;
}

static void
assert_date(struct kc *kc, const struct kc_record *rec, uint32_t attr,
    const char *want)
{
	char iso[CK_CLOCK_ISO_SIZE];
	struct kc_value v;
	int64_t when = 0;

	HELP_OK(kc_db_value(kc_db(kc), rec, attr, &v, &fail));
	assert_true(v.present);
	assert_true(kc_date_parse(v.bytes, &when));
	ck_clock_iso(when, iso);
	assert_string_equal(iso, want);
}

static void
every_item_of_the_manifest_is_returned_exactly(void **state)
{
	const struct kct *fx = *state;
	struct kc_acl_info info;
	struct kc_record rec;
	struct kc *kc;

	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		const struct want *w = &items[i];

		kct_copy(fx, w->vector);
		kc = kct_open(fx, w->password);
		rec = item_record(kc, w);
		kct_attr(kc, &rec, KC_ATTR_ACCOUNT, w->account);
		kct_attr(kc, &rec, KC_ATTR_LABEL, w->label);
		kct_attr(kc, &rec, KC_ATTR_COMMENT, w->comment);
		assert_date(kc, &rec, KC_ATTR_CREATED, w->date);
		assert_date(kc, &rec, KC_ATTR_MODIFIED, w->date);
		kct_secret_is(kc, &rec, w->secret, strlen(w->secret));
		HELP_OK(kc_item_access(kc, &rec, &info, &fail));
		assert_true(info.understood);
		assert_int_equal(info.access, w->access);
		kc_close(&kc);
	}
}

static void
internet_passwords_have_their_own_attributes(void **state)
{
	const struct kct *fx = *state;
	struct kc_record rec;
	struct kc_value v;
	struct kc *kc;

	kct_copy(fx, HELP_V100);
	kc = kct_open(fx, NULL);
	rec = kct_find_by(kc, KC_REL_INTERNET, ATTR_SERVER, "test_service");
	kct_attr(kc, &rec, ATTR_AUTH, "dflt");
	kct_attr(kc, &rec, ATTR_PATH, "");
	kct_attr(kc, &rec, ATTR_DOMAIN, "");
	HELP_OK(kc_db_value(kc_db(kc), &rec, ATTR_PROTOCOL, &v, &fail));
	assert_true(v.present && v.word == 0);
	HELP_OK(kc_db_value(kc_db(kc), &rec, ATTR_PORT, &v, &fail));
	assert_true(v.present && v.word == 0);
	kc_close(&kc);
	kct_copy(fx, HELP_V100_CERTS);
	kc = kct_open(fx, NULL);
	rec = kct_find_by(kc, KC_REL_INTERNET, ATTR_SERVER, "test_service");
	HELP_OK(kc_db_value(kc_db(kc), &rec, ATTR_PROTOCOL, &v, &fail));
	assert_true(v.present && v.word == CODE('h', 't', 'p', 's'));
	rec = kct_find(kc, "nobody@apple.com", "test_smime ");
	HELP_OK(kc_db_value(kc_db(kc), &rec, KC_ATTR_CREATOR, &v, &fail));
	assert_true(v.present && v.word == CODE('a', 'a', 'p', 'l'));
	HELP_OK(kc_db_value(kc_db(kc), &rec, KC_ATTR_TYPE, &v, &fail));
	assert_true(v.present && v.word == CODE('i', 'p', 'r', 'f'));
	kc_close(&kc);
}

static void
aes_keys_of_the_manifest_are_returned_exactly(void **state)
{
	static const struct {
		const char *vector, *name, *label, *hex;
	} keys[] = {
		{ HELP_V100, "test_key", "test_application",
		    "db561fe2f86e233b7d368bfa82777c3a" },
		{ HELP_V100_CERTS, "test_key", "test_application",
		    "7a8e0cd12f47aa2b4bcca928db2cf698" },
		{ HELP_V100_CERTS, "test_key_restrictive_acl",
		    "restrictive_application",
		    "ea0d63a80c60a30355dc85997c1a6dc3" },
		{ HELP_V200, "test_key", "test_application",
		    "eb057389d59c241334aac0f2aed1274e" },
	};
	const struct kct *fx = *state;
	struct ck_secret raw = CK_SECRET_INIT;
	struct kc_record rec;
	char hex[33];
	struct kc *kc;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		kct_copy(fx, keys[i].vector);
		kc = kct_open(fx, KCT_PASSWORD);
		rec = kct_find_by(kc, KC_REL_SYMMETRIC_KEY, KEY_NAME,
		    keys[i].name);
		kct_attr(kc, &rec, KEY_LABEL, keys[i].label);
		HELP_OK(kc_key_raw(kc, &rec, &raw, &fail));
		assert_int_equal(raw.n, 16);
		ck_hex_encode(raw.p, raw.n, hex);
		assert_string_equal(hex, keys[i].hex);
		ck_secret_wipe(&raw);
		kc_close(&kc);
	}
}

/* A pair is a pair when OpenSSL says that the two halves fit. */
static void
assert_pair(struct kc *kc, const char *name)
{
	struct kc_record pub, prv;
	struct ck_secret a = CK_SECRET_INIT, b = CK_SECRET_INIT;
	const unsigned char *pa, *pb;
	EVP_PKEY *ka, *kb;

	pub = kct_find_by(kc, KC_REL_PUBLIC_KEY, KEY_NAME, name);
	prv = kct_find_by(kc, KC_REL_PRIVATE_KEY, KEY_NAME, name);
	HELP_OK(kc_key_raw(kc, &pub, &a, &fail));
	HELP_OK(kc_key_raw(kc, &prv, &b, &fail));
	pa = a.p;
	pb = b.p;
	ka = d2i_PublicKey(EVP_PKEY_RSA, NULL, &pa, (long)a.n);
	kb = d2i_AutoPrivateKey(NULL, &pb, (long)b.n);
	assert_non_null(ka);
	assert_non_null(kb);
	assert_int_equal(EVP_PKEY_eq(ka, kb), 1);
	EVP_PKEY_free(ka);
	EVP_PKEY_free(kb);
	ck_secret_wipe(&a);
	ck_secret_wipe(&b);
}

static void
rsa_pairs_fit_together(void **state)
{
	const struct kct *fx = *state;
	struct kc *kc;

	kct_copy(fx, HELP_V100);
	kc = kct_open(fx, KCT_PASSWORD);
	assert_pair(kc, "test_key");
	kc_close(&kc);
	kct_copy(fx, HELP_V100_CERTS);
	kc = kct_open(fx, KCT_PASSWORD);
	assert_pair(kc, "test_smime");
	assert_pair(kc, "test_codesigning");
	kc_close(&kc);
	kct_copy(fx, HELP_V200);
	kc = kct_open(fx, KCT_PASSWORD);
	assert_pair(kc, "test_key");
	kc_close(&kc);
}

static void
every_healthy_file_verifies_locked_and_unlocked(void **state)
{
	/* One for each item, AES key and private key. */
	static const size_t keys[HELP_HEALTHY] = { 4, 9, 0, 4, 1, 1 };
	const struct kct *fx = *state;
	size_t locked, open;
	struct kc *kc;

	for (size_t i = 0; i < HELP_HEALTHY; i++) {
		kct_copy(fx, help_healthy[i]);
		kc = kct_open(fx, NULL);
		locked = open = 99;
		HELP_OK(kc_verify(kc, &locked, &fail));
		assert_int_equal(locked, 0);
		kc_close(&kc);
		kc = kct_open(fx, i < 4 ? KCT_PASSWORD : KCT_EXAMPLE);
		HELP_OK(kc_verify(kc, &open, &fail));
		assert_int_equal(open, keys[i]);
		kc_close(&kc);
	}
}

static void
settings_and_signature_are_those_of_the_manifest(void **state)
{
	static const struct {
		const char *vector;
		uint32_t version, commit, idle;
		bool sleep;
	} files[] = {
		{ HELP_V100, 0x100, 15, 300, true },
		{ HELP_V100_CERTS, 0x100, 72, 0x7fffffff, false },
		{ HELP_V200_EMPTY, 0x200, 1, 300, true },
		{ HELP_V200, 0x200, 21, 300, true },
	};
	const struct kct *fx = *state;
	struct kc_info info;
	char hex[33];
	struct kc *kc;

	for (size_t i = 0; i < 4; i++) {
		kct_copy(fx, files[i].vector);
		kc = kct_open(fx, NULL);
		kc_info(kc, &info);
		assert_int_equal(info.version, files[i].version);
		assert_int_equal(info.commit, files[i].commit);
		assert_int_equal(info.idle_timeout, files[i].idle);
		assert_int_equal(info.lock_on_sleep, files[i].sleep);
		if (i == 3) {
			ck_hex_encode(info.signature, 16, hex);
			assert_string_equal(hex,
			    "b6687eb70a4afa2d87916bd9fc82ea3c");
		}
		kc_close(&kc);
	}
}

/* MANIFEST.md: the derived negative test. */
static void
zeroed_partition_keys_open_and_list_but_give_no_secret(void **state)
{
	static const char mark[] = "<key>Partitions</key>";
	const struct kct *fx = *state;
	struct ck_secret out = CK_SECRET_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	struct ck_buf bytes;
	struct kc_record gen, inet, key;
	size_t hits = 0, keys = 99;
	struct kc *kc;

	help_vector_load(HELP_V200, &bytes);
	for (size_t i = 0; i + sizeof(mark) <= bytes.n; i++) {
		if (memcmp(bytes.p + i, mark, sizeof(mark) - 1) != 0)
			continue;
		bytes.p[i] = 0;
		hits++;
	}
	assert_int_equal(hits, 5);
	kct_put(fx->path, ck_buf_view(&bytes), 0600);
	ck_buf_free(&bytes);
	kc = kct_open(fx, KCT_PASSWORD);
	gen = kct_find(kc, "test_service", "test_account");
	inet = kct_find_by(kc, KC_REL_INTERNET, ATTR_SERVER, "test_service");
	key = kct_find_by(kc, KC_REL_SYMMETRIC_KEY, KEY_NAME, "test_key");
	kct_attr(kc, &gen, KC_ATTR_LABEL, "test_generic");
	kct_attr(kc, &inet, KC_ATTR_LABEL, "test_internet");
	assert_int_equal(kc_item_secret(kc, &gen, &out, &fail), CK_DAMAGED);
	assert_int_equal(kc_item_secret(kc, &inet, &out, &fail), CK_DAMAGED);
	assert_int_equal(kc_key_raw(kc, &key, &out, &fail), CK_DAMAGED);
	assert_null(out.p);
	assert_int_equal(kc_verify(kc, &keys, &fail), CK_DAMAGED);
	assert_int_equal(keys, 99);
	kc_close(&kc);
}

static void
fuzzed_file_is_refused_as_damaged(void **state)
{
	const struct kct *fx = *state;
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc *kc = NULL;

	kct_copy(fx, HELP_CORRUPT);
	assert_int_equal(kc_open(fx->path, 0, &kc, &fail), CK_DAMAGED);
	assert_null(kc);
	assert_string_equal(fail.place, fx->path);
	assert_int_equal(kc_open_write(fx->path, 0, 0, &kc, &fail),
	    CK_DAMAGED);
	assert_null(kc);
	/* Looking at it for a change left no lock file either. */
	assert_int_equal(kct_entries(fx->dir), 1);
}

static void
attribute_of_a_v200_item_changed_by_hand_is_damaged(void **state)
{
	static const char old[] = "a comment";
	const struct kct *fx = *state;
	struct ck_secret out = CK_SECRET_INIT;
	struct kc_record rec;
	struct ck_buf bytes;
	size_t hits = 0;
	struct kc *kc;

	help_vector_load(HELP_V200, &bytes);
	for (size_t i = 0; i + sizeof(old) <= bytes.n; i++)
		if (memcmp(bytes.p + i, old, sizeof(old) - 1) == 0) {
			bytes.p[i] = 'A';
			hits++;
		}
	assert_int_equal(hits, 2);
	kct_put(fx->path, ck_buf_view(&bytes), 0600);
	ck_buf_free(&bytes);
	kc = kct_open(fx, KCT_PASSWORD);
	rec = kct_find(kc, "test_service", "test_account");
	kct_attr(kc, &rec, KC_ATTR_COMMENT, "A comment");
	assert_int_equal(kc_item_secret(kc, &rec, &out, NULL), CK_DAMAGED);
	assert_null(out.p);
	kc_close(&kc);
}

static void
reading_leaves_nothing_behind(void **state)
{
	static const struct timeval old[2] = {
		{ 1000000, 0 }, { 1000000, 0 }
	};
	const struct kct *fx = *state;
	struct stat file, now;
	struct ck_buf before;
	struct kc_record rec;
	size_t keys = 0;
	struct kc *kc;

	kct_copy(fx, HELP_V200);
	assert_int_equal(chmod(fx->path, 0400), 0);
	assert_int_equal(chmod(fx->dir, 0500), 0);
	kct_get(fx->path, &before);
	/* So long ago that every change would show. */
	assert_int_equal(utimes(fx->path, old), 0);
	assert_int_equal(utimes(fx->dir, old), 0);
	assert_int_equal(stat(fx->path, &file), 0);
	kc = kct_open(fx, KCT_PASSWORD);
	rec = kct_find(kc, "test_service", "test_account");
	kct_secret_is(kc, &rec, "data", 4);
	HELP_OK(kc_verify(kc, &keys, &fail));
	assert_int_equal(kct_entries(fx->dir), 1);
	kc_close(&kc);
	kct_same(fx->path, &before);
	assert_int_equal(kct_entries(fx->dir), 1);
	assert_int_equal(stat(fx->dir, &now), 0);
	assert_int_equal(now.st_mtime, 1000000);
	assert_int_equal(stat(fx->path, &now), 0);
	assert_int_equal(now.st_mtime, 1000000);
	assert_int_equal(now.st_ino, file.st_ino);
	ck_buf_free(&before);
}

static void
lock_file_has_the_name_that_macos_gives_it(void **state)
{
	static const char *const names[][2] = {
		{ "System.keychain", ".fl947E1BDB" },
		{ "apsd.keychain", ".fl043D1EDD" },
		{ "login.keychain-db", ".fl34AC2A0A" },
	};
	char name[KC_LOCK_NAME_SIZE];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		kc_lock_name(names[i][0], name);
		assert_string_equal(name, names[i][1]);
	}
}

/* A value that is no object, to see that it stays. */
static struct kc *
kc_mark(void)
{
	static char place;

	return (struct kc *)(void *)&place;
}

static void
things_that_are_no_keychain_leave_the_output_untouched(void **state)
{
	const struct kct *fx = *state;
	struct kc *mark = kc_mark(), *kc = mark;
	struct ck_fail fail = CK_FAIL_INIT;
	char path[CK_PATH_MAX];

	assert_int_equal(kc_open(fx->path, 0, &kc, &fail), CK_NOSTORE);
	assert_int_equal(kc_open("relative.keychain", 0, &kc, &fail),
	    CK_REFUSED);
	assert_int_equal(kc_open(fx->dir, 0, &kc, &fail), CK_REFUSED);
	assert_int_equal(ck_path_join(fx->dir, "no/such.keychain", path, NULL),
	    CK_OK);
	assert_int_equal(kc_open(path, 0, &kc, &fail), CK_NOSTORE);
	kct_put(fx->path, CK_SPAN_TEXT(""), 0600);
	assert_int_equal(kc_open(fx->path, 0, &kc, &fail), CK_DAMAGED);
	kct_put(fx->path, CK_SPAN_TEXT("SQLite format 3"), 0600);
	assert_true(kc_open(fx->path, 0, &kc, &fail) != CK_OK);
	kct_put(fx->path, CK_SPAN_TEXT("kych is not enough."), 0600);
	assert_int_equal(kc_open(fx->path, 0, &kc, &fail), CK_DAMAGED);
	assert_ptr_equal(kc, mark);
}

static void
absent_item_leaves_the_record_untouched(void **state)
{
	const struct kct *fx = *state;
	struct kc_record rec, before;
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc *kc;

	memset(&rec, 0x5a, sizeof(rec));
	memcpy(&before, &rec, sizeof(rec));
	for (size_t i = 0; i < HELP_HEALTHY; i++) {
		kct_copy(fx, help_healthy[i]);
		kc = kct_open(fx, NULL);
		assert_int_equal(kc_find(kc, CK_SPAN_TEXT("test_service"),
		    CK_SPAN_TEXT("somebody"), &rec, &fail), CK_ABSENT);
		assert_int_equal(kc_find(kc, CK_SPAN_TEXT("test_servicex"),
		    CK_SPAN_TEXT("test_account"), &rec, &fail), CK_ABSENT);
		assert_memory_equal(&rec, &before, sizeof(rec));
		kc_close(&kc);
	}
}

static void
closing_nothing_is_fine(void **state)
{
	struct kc *kc = NULL;

	(void)state;
	kc_close(&kc);
	assert_null(kc);
}

#define T(f) cmocka_unit_test_setup_teardown(f, kct_setup, kct_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_item_of_the_manifest_is_returned_exactly),
		T(internet_passwords_have_their_own_attributes),
		T(aes_keys_of_the_manifest_are_returned_exactly),
		T(rsa_pairs_fit_together),
		T(every_healthy_file_verifies_locked_and_unlocked),
		T(settings_and_signature_are_those_of_the_manifest),
		T(zeroed_partition_keys_open_and_list_but_give_no_secret),
		T(fuzzed_file_is_refused_as_damaged),
		T(attribute_of_a_v200_item_changed_by_hand_is_damaged),
		T(reading_leaves_nothing_behind),
		T(lock_file_has_the_name_that_macos_gives_it),
		T(things_that_are_no_keychain_leave_the_output_untouched),
		T(absent_item_leaves_the_record_untouched),
		T(closing_nothing_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
