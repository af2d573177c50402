/* SPDX-License-Identifier: Apache-2.0 */
/* What authenticate remembers, and when it reads again.  The file broker
 * before a migration serves as the store. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "custody/authenticate.h"
#include "help_store.h"

struct here {
	struct help_store *store;
	struct ck_place place;
	struct ck_auth auth;
	char *bearer;
};

static void
put(const char *path, const char *bearer)
{
	char text[512], fresh[CK_PATH_MAX];

	(void)snprintf(fresh, sizeof(fresh), "%.1000s.new", path);
	(void)snprintf(text, sizeof(text), "{\"clankie_operator\":%s}", bearer);
	hs_write(fresh, text, strlen(text), 0600);
	assert_int_equal(rename(fresh, path), 0);
}

static void
start(void **state, struct here *h)
{
	struct ck_say say = { 0 };
	char home[CK_PATH_MAX], broker[CK_PATH_MAX + 16];

	h->store = *state;
	assert_int_equal(ck_path_canonical(h->store->dir, home, NULL), CK_OK);
	(void)snprintf(broker, sizeof(broker), "file:%s/b/store", home);
	(void)snprintf(h->store->path, sizeof(h->store->path), "%.1000s/b/store",
	    home);
	say.home = home;
	say.broker = broker;
	(void)snprintf(broker, sizeof(broker), "%s/b", home);
	assert_int_equal(mkdir(broker, 0700), 0);
	(void)snprintf(broker, sizeof(broker), "file:%s/b/store", home);
	assert_int_equal(ck_place_resolve(&say, &h->place, NULL), CK_OK);
	h->bearer = hs_bearer();
	put(h->store->path, h->bearer);
	assert_int_equal(ck_auth_open(&h->place, &h->auth, NULL), CK_OK);
}

static void
finish(struct here *h)
{
	char dir[CK_PATH_MAX];

	ck_auth_close(&h->auth);
	free(h->bearer);
	(void)unlink(h->store->path);
	ck_path_parent(h->store->path, dir);
	assert_int_equal(rmdir(dir), 0);
}

/* The key inside a bearer's value, in a request read together with others. */
static ck_err
ask_along(struct here *h, const char *bearer)
{
	const char *key = strstr(bearer, CK_BEARER_PREFIX);

	assert_non_null(key);
	return ck_auth_ask(&h->auth, (const uint8_t *)key, CK_BEARER_KEY_SIZE,
	    NULL);
}

/* A request that arrived by itself. */
static ck_err
ask(struct here *h, const char *bearer)
{
	ck_auth_batch(&h->auth);
	return ask_along(h, bearer);
}

static void
only_the_key_is_the_credential(void **state)
{
	struct here h;
	char *other = hs_bearer();

	start(state, &h);
	assert_int_equal(ask(&h, h.bearer), CK_OK);
	assert_int_equal(ask(&h, other), CK_NO);
	assert_int_equal(ck_auth_ask(&h.auth, (const uint8_t *)h.bearer,
	    strlen(h.bearer), NULL), CK_NO);
	assert_int_equal(ck_auth_ask(&h.auth, NULL, 0, NULL), CK_NO);
	free(other);
	finish(&h);
}

static void
a_replaced_store_answers_at_once(void **state)
{
	struct here h;
	char *other = hs_bearer();

	start(state, &h);
	assert_int_equal(ask(&h, h.bearer), CK_OK);
	put(h.store->path, other);
	assert_int_equal(ask(&h, h.bearer), CK_NO);
	assert_int_equal(ask(&h, other), CK_OK);
	free(other);
	finish(&h);
}

static void
a_lost_store_is_an_error_until_it_is_back(void **state)
{
	struct here h;
	ck_err r;

	start(state, &h);
	assert_int_equal(ask(&h, h.bearer), CK_OK);
	assert_int_equal(unlink(h.store->path), 0);
	r = ask(&h, h.bearer);
	assert_true(r != CK_OK && r != CK_NO);
	assert_null(h.auth.digest.p);
	put(h.store->path, h.bearer);
	/* Requests that were read together share the failure. */
	assert_int_equal(ask_along(&h, h.bearer), r);
	assert_int_equal(ask(&h, h.bearer), CK_OK);
	finish(&h);
}

static void
a_custody_that_others_can_write_is_no_answer(void **state)
{
	struct here h;

	start(state, &h);
	assert_int_equal(ask(&h, h.bearer), CK_OK);
	assert_int_equal(mkdir(h.place.dir, 0777), 0);
	assert_int_equal(chmod(h.place.dir, 0777), 0);
	assert_int_equal(ask(&h, h.bearer), CK_REFUSED);
	assert_null(h.auth.digest.p);
	assert_int_equal(rmdir(h.place.dir), 0);
	assert_int_equal(ask(&h, h.bearer), CK_OK);
	finish(&h);
}

static void
a_dedicated_keychain_that_appears_decides(void **state)
{
	struct here h;
	ck_err r;

	start(state, &h);
	assert_int_equal(ask(&h, h.bearer), CK_OK);
	assert_int_equal(mkdir(h.place.dir, 0700), 0);
	assert_int_equal(mkdir(h.place.operator_dir, 0700), 0);
	hs_write(h.place.keychain, "x", 1, 0600);
	r = ask(&h, h.bearer);
	assert_true(r != CK_OK && r != CK_NO);
	assert_int_equal(unlink(h.place.keychain), 0);
	assert_int_equal(rmdir(h.place.operator_dir), 0);
	assert_int_equal(rmdir(h.place.dir), 0);
	finish(&h);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, help_store_setup, \
    help_store_teardown)
	const struct CMUnitTest tests[] = {
		T(only_the_key_is_the_credential),
		T(a_replaced_store_answers_at_once),
		T(a_lost_store_is_an_error_until_it_is_back),
		T(a_custody_that_others_can_write_is_no_answer),
		T(a_dedicated_keychain_that_appears_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
