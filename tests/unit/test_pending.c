/* SPDX-License-Identifier: Apache-2.0 */
/* The pending unlock password, and reading beside a keychain's replacement. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "custody/broker.h"
#include "custody/dedicated.h"
#include "custody/pending.h"
#include "help_db.h"
#include "help_kc.h"
#include "store/login.h"
#include "store/unlock.h"

static const char nonce[] = "00112233445566778899aabbccddeeff";

struct fixture {
	struct kct *kct;
	struct ck_place p;
	struct ck_secret value, login, old, new;
	int dirfd;
};

/* A custody whose keychain old opens; the broker is a file. */
static int
setup(void **state)
{
	struct fixture *fx = test_calloc(1, sizeof(*fx));
	void *kct = NULL;

	if (kct_setup(&kct) != 0)
		return -1;
	fx->kct = kct;
	memcpy(fx->p.dir, fx->kct->dir, sizeof(fx->p.dir));
	memcpy(fx->p.credential, "operator", 9);
	memcpy(fx->p.service, "a service", 10);
	memcpy(fx->p.account, "an account", 11);
	fx->p.broker_kind = CK_KIND_FILE_BROKER;
	HELP_OK(ck_path_join(fx->p.dir, CK_OPERATOR_DIR, fx->p.operator_dir,
	    &fail));
	HELP_OK(ck_path_join(fx->p.operator_dir, CK_KEYCHAIN_FILE,
	    fx->p.keychain, &fail));
	HELP_OK(ck_path_join(fx->p.dir, "unlock/unlock.json", fx->p.unlock,
	    &fail));
	HELP_OK(ck_io_open_dir(AT_FDCWD, fx->p.dir, NULL, 0, &fx->dirfd, NULL,
	    &fail));
	assert_int_equal(ck_unlock_make(&fx->old), CK_OK);
	assert_int_equal(ck_unlock_make(&fx->new), CK_OK);
	assert_int_equal(ck_bearer_mint(&fx->value), CK_OK);
	HELP_OK(ck_dedicated_build(&fx->p, fx->dirfd, nonce, &fx->old,
	    &fx->value, &fail));
	HELP_OK(ck_dedicated_install(&fx->p, fx->dirfd, nonce, &fail));
	*state = fx;
	return 0;
}

/* The same with a keychain as broker. */
static int
setup_keychain(void **state)
{
	struct fixture *fx;
	struct ck_login login;

	if (setup(state) != 0)
		return -1;
	fx = *state;
	fx->login = kct_text("one");
	fx->p.broker_kind = CK_KIND_LOGIN_KEYCHAIN;
	memcpy(fx->p.broker, fx->kct->path, sizeof(fx->p.broker));
	fx->p.login_password = &fx->login;
	login = (struct ck_login){ fx->p.broker, &fx->login, 100 };
	HELP_OK(ck_login_create(&login, 60, NULL, 0, &fail));
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *fx = *state;
	void *kct = fx->kct;

	ck_io_close(&fx->dirfd);
	ck_secret_wipe(&fx->value);
	ck_secret_wipe(&fx->login);
	ck_secret_wipe(&fx->old);
	ck_secret_wipe(&fx->new);
	test_free(fx);
	return kct_teardown(&kct);
}

static void
assert_stored(const struct fixture *fx, const struct ck_secret *now,
    const struct ck_secret *pending)
{
	struct ck_secret s = CK_SECRET_INIT;

	HELP_OK(ck_unlock_place_get(&fx->p, &s, &fail));
	assert_true(ck_secret_equal(&s, now));
	ck_secret_wipe(&s);
	assert_int_equal(ck_pending_get(&fx->p, &s, NULL),
	    pending == NULL ? CK_NOSTORE : CK_OK);
	if (pending != NULL)
		assert_true(ck_secret_equal(&s, pending));
	ck_secret_wipe(&s);
}

static void
pending_password_follows_the_old_one(void **state)
{
	struct fixture *fx = *state;

	HELP_OK(ck_unlock_place_put(&fx->p, &fx->old, "", &fail));
	assert_stored(fx, &fx->old, NULL);
	HELP_OK(ck_pending_put(&fx->p, &fx->new, &fail));
	HELP_OK(ck_pending_put(&fx->p, &fx->new, &fail));
	assert_stored(fx, &fx->old, &fx->new);
	HELP_OK(ck_pending_promote(&fx->p, &fx->new, "", &fail));
	assert_stored(fx, &fx->new, NULL);
	HELP_OK(ck_pending_promote(&fx->p, &fx->new, "", &fail));
	assert_stored(fx, &fx->new, NULL);
}

static void
dropped_password_leaves_the_old_one(void **state)
{
	struct fixture *fx = *state;

	HELP_OK(ck_unlock_place_put(&fx->p, &fx->old, "", &fail));
	HELP_OK(ck_pending_drop(&fx->p, &fail));
	HELP_OK(ck_pending_put(&fx->p, &fx->new, &fail));
	HELP_OK(ck_pending_drop(&fx->p, &fail));
	assert_stored(fx, &fx->old, NULL);
}

static void
second_pending_password_is_refused(void **state)
{
	struct fixture *fx = *state;

	HELP_OK(ck_unlock_place_put(&fx->p, &fx->old, "", &fail));
	HELP_OK(ck_pending_put(&fx->p, &fx->new, &fail));
	assert_int_equal(ck_pending_put(&fx->p, &fx->old, NULL), CK_REFUSED);
	assert_stored(fx, &fx->old, &fx->new);
}

static void
password_that_is_not_pending_is_not_promoted(void **state)
{
	struct fixture *fx = *state;
	struct ck_secret other = CK_SECRET_INIT;

	assert_int_equal(ck_unlock_make(&other), CK_OK);
	HELP_OK(ck_unlock_place_put(&fx->p, &fx->old, "", &fail));
	HELP_OK(ck_pending_put(&fx->p, &fx->new, &fail));
	assert_int_equal(ck_pending_promote(&fx->p, &other, "", NULL), CK_CHANGED);
	assert_stored(fx, &fx->old, &fx->new);
	ck_secret_wipe(&other);
}

/* Which of the two stored passwords opens the file is found out. */
static void
file_is_read_with_either_stored_password(void **state)
{
	struct fixture *fx = *state;
	struct ck_secret opens = CK_SECRET_INIT, value = CK_SECRET_INIT;

	HELP_OK(ck_unlock_place_put(&fx->p, &fx->new, "", &fail));
	assert_int_equal(ck_dedicated_look(&fx->p, &opens, &value, NULL,
	    NULL), CK_LOCKED);
	assert_null(opens.p);
	assert_null(value.p);
	HELP_OK(ck_pending_put(&fx->p, &fx->old, &fail));
	HELP_OK(ck_dedicated_look(&fx->p, &opens, &value, NULL, &fail));
	assert_true(ck_secret_equal(&opens, &fx->old));
	assert_true(ck_secret_equal(&value, &fx->value));
	ck_secret_wipe(&opens);
	ck_secret_wipe(&value);
	HELP_OK(ck_pending_promote(&fx->p, &fx->old, "", &fail));
	HELP_OK(ck_dedicated_look(&fx->p, &opens, NULL, NULL, &fail));
	assert_true(ck_secret_equal(&opens, &fx->old));
	ck_secret_wipe(&opens);
}

static void
missing_password_is_no_store(void **state)
{
	struct fixture *fx = *state;
	struct ck_secret value = CK_SECRET_INIT;

	assert_int_equal(ck_dedicated_look(&fx->p, NULL, &value, NULL, NULL),
	    CK_NOSTORE);
	assert_null(value.p);
}

/* The exchange gives the other file the name; back again it is the first. */
static void
exchanged_directory_is_the_renewed_keychain(void **state)
{
	struct fixture *fx = *state;
	struct ck_secret value = CK_SECRET_INIT;

	HELP_OK(ck_dedicated_renew(&fx->p, fx->dirfd, nonce, &fx->old,
	    &fx->new, &fail));
	HELP_OK(ck_dedicated_exchange(&fx->p, fx->dirfd, nonce, &fail));
	assert_int_equal(ck_dedicated_read(&fx->p, &fx->old, &value, NULL),
	    CK_LOCKED);
	HELP_OK(ck_dedicated_read(&fx->p, &fx->new, &value, &fail));
	assert_true(ck_secret_equal(&value, &fx->value));
	ck_secret_wipe(&value);
	HELP_OK(ck_dedicated_exchange(&fx->p, fx->dirfd, nonce, &fail));
	HELP_OK(ck_dedicated_read(&fx->p, &fx->old, &value, &fail));
	ck_secret_wipe(&value);
}

#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define ITEM_TEST(f) \
	{ #f " (keychain)", f, setup_keychain, teardown, NULL }

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST(pending_password_follows_the_old_one),
		ITEM_TEST(pending_password_follows_the_old_one),
		FILE_TEST(dropped_password_leaves_the_old_one),
		ITEM_TEST(dropped_password_leaves_the_old_one),
		FILE_TEST(second_pending_password_is_refused),
		ITEM_TEST(second_pending_password_is_refused),
		FILE_TEST(password_that_is_not_pending_is_not_promoted),
		ITEM_TEST(password_that_is_not_pending_is_not_promoted),
		FILE_TEST(file_is_read_with_either_stored_password),
		ITEM_TEST(file_is_read_with_either_stored_password),
		FILE_TEST(missing_password_is_no_store),
		ITEM_TEST(missing_password_is_no_store),
		FILE_TEST(exchanged_directory_is_the_renewed_keychain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
