/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the lock of keychain files: what opens them, what does not, and
 * what can be seen without. */
#include "unit.h"

#include <string.h>

#include <openssl/rand.h>

#include "base/clock.h"
#include "help_db.h"
#include "help_kc.h"
#include "help_vectors.h"

static void
unlock_key_file_opens_its_keychain_and_no_other(void **state)
{
	const struct kct *fx = *state;
	struct ck_fail fail = CK_FAIL_INIT;
	struct ck_secret key, half;
	struct kc_record rec;
	struct ck_buf bytes;
	struct kc *kc;

	help_vector_load("v200-genp-inet-keys.unlock-key.bin", &bytes);
	key = kct_secret(bytes.p, bytes.n);
	kct_copy(fx, HELP_V200);
	kc = kct_open(fx, NULL);
	assert_int_equal(kc_unlock_keyfile(kc, &key, &fail), CK_OK);
	rec = kct_find(kc, "test_service", "test_account");
	kct_secret_is(kc, &rec, "data", 4);
	kc_close(&kc);

	kct_copy(fx, HELP_V100);
	kc = kct_open(fx, NULL);
	assert_int_equal(kc_unlock_keyfile(kc, &key, &fail), CK_REFUSED);
	assert_false(kc_is_unlocked(kc));
	kc_close(&kc);

	kct_copy(fx, HELP_V200);
	kc = kct_open(fx, NULL);
	half = kct_secret(bytes.p, bytes.n - 1);
	assert_int_equal(kc_unlock_keyfile(kc, &half, &fail), CK_DAMAGED);
	key.p[8] ^= 2;   /* of the master key; bit 0 is DES parity */
	assert_int_equal(kc_unlock_keyfile(kc, &key, &fail), CK_LOCKED);
	assert_false(kc_is_unlocked(kc));
	kc_close(&kc);
	ck_secret_wipe(&key);
	ck_secret_wipe(&half);
	ck_buf_free(&bytes);
}

static void
ten_thousand_wrong_passwords_are_locked_and_never_open(void **state)
{
	const struct kct *fx = *state;
	uint64_t start = ck_clock_mono_ms();
	struct ck_secret wrong;
	uint8_t text[40];
	struct kc *kc;
	int tries = 0;

	for (size_t i = 0; i < HELP_HEALTHY; i++) {
		kct_copy(fx, help_healthy[i]);
		kc = kct_open(fx, NULL);
		for (int j = 0; j < 1700 && tries < 10000; j++, tries++) {
			assert_int_equal(RAND_bytes(text, 40), 1);
			wrong = kct_secret(text, (size_t)(j % 40));
			assert_int_equal(kc_unlock(kc, &wrong, NULL),
			    CK_LOCKED);
			ck_secret_wipe(&wrong);
			assert_false(kc_is_unlocked(kc));
		}
		kc_close(&kc);
	}
	assert_int_equal(tries, 10000);
	assert_true(ck_clock_mono_ms() - start < 120000);
}

static void
passwords_that_are_nearly_right_are_locked(void **state)
{
	static const char *const near[] = {
		"", "Password", "password ", " password", "passwor",
		"passwordd", "password\n", "drowssap"
	};
	const struct kct *fx = *state;
	struct ck_fail fail = CK_FAIL_INIT;
	struct ck_secret wrong;
	struct kc *kc;

	kct_copy(fx, HELP_V200);
	kc = kct_open(fx, NULL);
	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
		wrong = kct_text(near[i]);
		assert_int_equal(kc_unlock(kc, &wrong, &fail), CK_LOCKED);
		ck_secret_wipe(&wrong);
	}
	kc_close(&kc);
}

static void
wrong_password_text_is_not_in_the_reason(void **state)
{
	const struct kct *fx = *state;
	struct ck_fail fail = CK_FAIL_INIT;
	struct ck_secret wrong;
	struct kc *kc;

	kct_copy(fx, HELP_V100);
	kc = kct_open(fx, NULL);
	wrong = kct_text("Xq7-unlikely");
	assert_int_equal(kc_unlock(kc, &wrong, &fail), CK_LOCKED);
	assert_int_equal(fail.code, CK_LOCKED);
	assert_string_equal(fail.place, fx->path);
	kct_silent(&fail, "unlikely");
	assert_string_equal(fail.next, "");
	ck_secret_wipe(&wrong);
	kc_close(&kc);
}

static void
locked_login_keychain_tells_of_keys_bound_to_the_machine(void **state)
{
	struct kct fx = *(struct kct *)*state;
	struct ck_fail fail = CK_FAIL_INIT;
	struct ck_secret wrong = kct_text("wrong");
	struct kc *kc;

	assert_int_equal(ck_path_join(fx.dir, "Login.keychain-db", fx.path,
	    NULL), CK_OK);
	kct_copy(&fx, HELP_V200);
	kc = kct_open(&fx, NULL);
	assert_int_equal(kc_unlock(kc, &wrong, &fail), CK_LOCKED);
	assert_non_null(strstr(fail.next, "bound to its Mac"));
	ck_secret_wipe(&wrong);
	kc_close(&kc);
	/* A normal file of that name still opens. */
	kct_reads(&fx, KCT_PASSWORD, "test_service", "test_account", "data");
}

static void
wrong_password_after_the_right_one_changes_nothing(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret wrong = kct_text("wrong");
	struct kc_record rec;
	struct kc *kc;

	kct_copy(fx, HELP_V200);
	kc = kct_open(fx, KCT_PASSWORD);
	assert_int_equal(kc_unlock(kc, &wrong, NULL), CK_LOCKED);
	assert_true(kc_is_unlocked(kc));
	rec = kct_find(kc, "test_service", "test_account");
	kct_secret_is(kc, &rec, "data", 4);
	ck_secret_wipe(&wrong);
	kc_close(&kc);
}

static void
locked_file_lists_but_gives_no_secret(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret out = CK_SECRET_INIT;
	struct kc_acl_info info;
	struct kc_record rec;
	struct kc *kc;

	kct_copy(fx, HELP_V100_CERTS);
	kc = kct_open(fx, NULL);
	rec = kct_find(kc, "test_service", "test_account");
	kct_attr(kc, &rec, KC_ATTR_LABEL, "test_service");
	HELP_OK(kc_item_access(kc, &rec, &info, &fail));
	assert_int_equal(kc_item_secret(kc, &rec, &out, NULL), CK_LOCKED);
	assert_null(out.p);
	rec = kct_find_by(kc, KC_REL_SYMMETRIC_KEY, 1, "test_key");
	assert_int_equal(kc_key_raw(kc, &rec, &out, NULL), CK_LOCKED);
	assert_null(out.p);
	kc_close(&kc);
}

#define T(f) cmocka_unit_test_setup_teardown(f, kct_setup, kct_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(unlock_key_file_opens_its_keychain_and_no_other),
		T(ten_thousand_wrong_passwords_are_locked_and_never_open),
		T(passwords_that_are_nearly_right_are_locked),
		T(wrong_password_text_is_not_in_the_reason),
		T(locked_login_keychain_tells_of_keys_bound_to_the_machine),
		T(wrong_password_after_the_right_one_changes_nothing),
		T(locked_file_lists_but_gives_no_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
