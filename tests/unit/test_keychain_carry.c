/* SPDX-License-Identifier: Apache-2.0 */
/* Items of one file carried into a new one, in files of both versions. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "help_db.h"
#include "help_kc.h"
#include "help_vectors.h"
#include "keychain/blob.h"
#include "store/login.h"

#define COMMENT "a comment"

static const uint32_t versions[] = { KC_BLOB_V100, KC_BLOB_V200 };

/* A file with two items, one of them restricted and commented. */
static void
start(const struct kct *fx, uint32_t version)
{
	const struct kc_new_item item = {
		.service = CK_SPAN_TEXT("service"),
		.account = CK_SPAN_TEXT("account"),
		.label = CK_SPAN_TEXT("label"),
		.comment = CK_SPAN_TEXT(COMMENT),
		.access = KC_ACCESS_NONE,
		.now = KCT_NOW,
	};
	struct ck_secret secret = kct_text("commented");
	struct kc *kc;

	(void)remove(fx->path);
	kc = kct_new(fx, version, "one");
	kct_add(kc, "plain", "a", "first", 5);
	HELP_OK(kc_add(kc, &item, &secret, &fail));
	kct_commit(&kc);
	ck_secret_wipe(&secret);
}

static void
second_path(const struct kct *fx, char ret[CK_PATH_MAX])
{
	HELP_OK(ck_path_join(fx->dir, "second.keychain", ret, &fail));
	(void)remove(ret);
}

static struct kc *
open_at(const char *path, const char *password)
{
	struct ck_secret secret = kct_text(password);
	struct kc *kc = NULL;

	HELP_OK(kc_open(path, 0, &kc, &fail));
	HELP_OK(kc_unlock(kc, &secret, &fail));
	ck_secret_wipe(&secret);
	return kc;
}

static ck_err
renew(const char *from, const char *password, const char *to,
    struct ck_fail *fail)
{
	struct ck_secret old = kct_text(password), new = kct_text("two");
	const struct ck_login a = { from, &old, 100 }, b = { to, &new, 100 };
	ck_err r = ck_login_renew(&a, &b, 60, fail);

	ck_secret_wipe(&old);
	ck_secret_wipe(&new);
	return r;
}

static void
carried_items_keep_everything_but_keys(void **state)
{
	const struct kct *fx = *state;
	char path[CK_PATH_MAX];
	struct kc_info before, after;
	struct kc_record x, y;
	struct ck_buf ax, ay;
	struct kc *a, *b;

	for (size_t v = 0; v < 2; v++) {
		start(fx, versions[v]);
		second_path(fx, path);
		HELP_OK(renew(fx->path, "one", path, &fail));
		a = kct_open(fx, "one");
		b = open_at(path, "two");
		HELP_OK(kc_same_items(a, b, &fail));
		kc_info(a, &before);
		kc_info(b, &after);
		assert_int_equal(after.version, before.version);
		assert_memory_not_equal(after.signature, before.signature, 16);
		x = kct_find(a, "service", "account");
		y = kct_find(b, "service", "account");
		kct_attr(b, &y, KC_ATTR_COMMENT, COMMENT);
		kct_attr(b, &y, KC_ATTR_LABEL, "label");
		kct_secret_is(b, &y, "commented", 9);
		/* 20 bytes of label that the item shares with its key only */
		assert_memory_not_equal(x.data.p, y.data.p, KC_LABEL_BYTES);
		kct_acl(a, &x, &ax);
		kct_acl(b, &y, &ay);
		assert_true(ck_span_equal(ck_buf_view(&ax), ck_buf_view(&ay)));
		ck_buf_free(&ax);
		ck_buf_free(&ay);
		kc_close(&a);
		kc_close(&b);
	}
}

static void
old_password_does_not_open_the_new_file(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret old = kct_text("one");
	char path[CK_PATH_MAX];
	struct kc *kc = NULL;

	start(fx, KC_BLOB_V100);
	second_path(fx, path);
	HELP_OK(renew(fx->path, "one", path, &fail));
	HELP_OK(kc_open(path, 0, &kc, &fail));
	assert_int_equal(kc_unlock(kc, &old, NULL), CK_LOCKED);
	kc_close(&kc);
	ck_secret_wipe(&old);
}

/* The comparison would not prove anything if it could not fail. */
static void
another_secret_attribute_or_number_is_not_the_same(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret secret = kct_text("other");
	char path[CK_PATH_MAX];
	struct kc_record rec;
	struct kc *a, *b;

	for (int what = 0; what < 3; what++) {
		start(fx, KC_BLOB_V100);
		second_path(fx, path);
		HELP_OK(renew(fx->path, "one", path, &fail));
		a = kct_open_write(fx, "one");
		rec = kct_find(a, "plain", "a");
		if (what == 0)
			HELP_OK(kc_set_secret(a, &rec, &secret, KCT_NOW,
			    &fail));
		else if (what == 1)
			HELP_OK(kc_set_attribute(a, &rec, KC_ATTR_LABEL,
			    CK_SPAN_TEXT("else"), KCT_NOW, &fail));
		else
			kct_add(a, "third", "a", "x", 1);
		kct_commit(&a);
		a = kct_open(fx, "one");
		b = open_at(path, "two");
		assert_int_equal(kc_same_items(a, b, NULL), CK_DAMAGED);
		kc_close(&a);
		kc_close(&b);
	}
	ck_secret_wipe(&secret);
}

static void
file_with_other_records_is_refused_and_nothing_is_made(void **state)
{
	const struct kct *fx = *state;
	struct ck_fail why = CK_FAIL_INIT;
	char path[CK_PATH_MAX];
	struct ck_buf before;

	kct_copy(fx, HELP_V100);
	second_path(fx, path);
	kct_get(fx->path, &before);
	assert_int_equal(renew(fx->path, KCT_PASSWORD, path, &why),
	    CK_UNSUPPORTED);
	assert_non_null(strstr(why.why, "cannot be carried"));
	kct_same(fx->path, &before);
	assert_false(kct_exists(fx->dir, "second.keychain"));
	ck_buf_free(&before);
}

static void
wrong_password_or_existing_file_is_refused(void **state)
{
	const struct kct *fx = *state;
	char path[CK_PATH_MAX];
	struct ck_buf before;

	start(fx, KC_BLOB_V100);
	second_path(fx, path);
	assert_int_equal(renew(fx->path, "wrong", path, NULL), CK_LOCKED);
	assert_false(kct_exists(fx->dir, "second.keychain"));
	HELP_OK(renew(fx->path, "one", path, &fail));
	kct_get(path, &before);
	assert_int_equal(renew(fx->path, "one", path, NULL), CK_REFUSED);
	kct_same(path, &before);
	ck_buf_free(&before);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, kct_setup, kct_teardown)
	const struct CMUnitTest tests[] = {
		T(carried_items_keep_everything_but_keys),
		T(old_password_does_not_open_the_new_file),
		T(another_secret_attribute_or_number_is_not_the_same),
		T(file_with_other_records_is_refused_and_nothing_is_made),
		T(wrong_password_or_existing_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
