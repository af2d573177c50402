/* SPDX-License-Identifier: Apache-2.0 */
#include "help_login.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "help_db.h"
#include "help_kc.h"
#include "store/login.h"

/* A place in a directory of its own, with its password and a wrong one. */
struct place {
	struct kct *kct;
	struct ck_secret password, wrong;
	struct ck_login login;
};

static int
setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	void *kct = NULL;

	*state = p;
	if (p == NULL || kct_setup(&kct) != 0)
		return -1;
	p->kct = kct;
	p->password = kct_text("the right one");
	p->wrong = kct_text("the wrong one");
	p->login.path = p->kct->path;
	p->login.password = &p->password;
	p->login.wait_ms = 1000;
	return 0;
}

static int
teardown(void **state)
{
	struct place *p = *state;
	void *kct = p->kct;

	ck_secret_wipe(&p->password);
	ck_secret_wipe(&p->wrong);
	free(p);
	return kct_teardown(&kct);
}

/* The place with items ("s1", "a", "one") and ("s2", "a", "two"). */
static void
make(const struct place *p)
{
	struct ck_secret one = kct_text("one"), two = kct_text("two");
	const struct ck_login_item items[] = {
		{ "s1", "a", NULL, &one }, { "s2", "a", "a label", &two },
	};

	HELP_OK(ck_login_create(&p->login, 60, items, 2, &fail));
	ck_secret_wipe(&one);
	ck_secret_wipe(&two);
}

static void
holds(const struct ck_login *login, const char *service, const char *want)
{
	struct ck_secret got = CK_SECRET_INIT;

	HELP_OK(ck_login_find(login, service, "a", &got, &fail));
	assert_int_equal(got.n, strlen(want));
	assert_memory_equal(got.p, want, got.n);
	ck_secret_wipe(&got);
}

static void
both_are_there(const struct place *p)
{
	holds(&p->login, "s1", "one");
	holds(&p->login, "s2", "two");
}

static void
created_file_is_private_and_says_how_it_locks(void **state)
{
	const struct place *p = *state;
	struct ck_login_status st;
	const struct ck_login no_password = { p->login.path, NULL, 0 };
	struct stat fs;
	mode_t old = umask(0);

	make(p);
	(void)umask(old);
	memset(&st, 0, sizeof(st));
	HELP_OK(ck_login_status(&no_password, &st, &fail));
	assert_int_equal(stat(p->login.path, &fs), 0);
	assert_string_equal(st.path, p->login.path);
	assert_int_equal(st.device, fs.st_dev);
	assert_int_equal(st.inode, fs.st_ino);
	assert_int_equal(st.mode, 0600);
	assert_int_equal(fs.st_mode & 07777, 0600);
	assert_int_equal(st.idle_timeout, 60);
	assert_true(st.lock_on_sleep);
	assert_int_equal(st.version, 0x100);
	assert_int_equal(st.items, 2);
	assert_int_equal(strlen(st.signature), 32);
	both_are_there(p);
}

static void
create_on_an_existing_path_is_refused_and_keeps_it(void **state)
{
	const struct place *p = *state;
	struct ck_buf before;
	struct ck_fail why = CK_FAIL_INIT;

	make(p);
	kct_get(p->login.path, &before);
	assert_int_equal(ck_login_create(&p->login, 60, NULL, 0, &why),
	    CK_REFUSED);
	assert_true(why.why[0] != '\0');
	kct_same(p->login.path, &before);
	ck_buf_free(&before);
}

static void
create_that_is_refused_leaves_nothing(void **state)
{
	const struct place *p = *state;
	struct ck_login login = p->login;
	struct ck_secret s = kct_text("Kk3-value");
	struct ck_fail why = CK_FAIL_INIT;
	const struct ck_login_item twice[] = {
		{ "s", "a", NULL, &s }, { "s", "a", NULL, &s },
	};
	char path[CK_PATH_MAX];

	assert_int_equal(ck_login_create(&login, 60, twice, 2, &why),
	    CK_REFUSED);
	kct_silent(&why, "Kk3");
	login.path = path;
	assert_int_equal(ck_path_join(p->kct->dir, "Login.keychain-db", path,
	    NULL), CK_OK);
	assert_int_equal(ck_login_create(&login, 60, twice, 1, &why),
	    CK_REFUSED);
	assert_int_equal(ck_path_join(p->kct->dir, "no/place", path, NULL),
	    CK_OK);
	assert_int_equal(ck_login_create(&login, 60, twice, 1, &why),
	    CK_NOSTORE);
	login = p->login;
	login.password = NULL;
	assert_int_equal(ck_login_create(&login, 60, twice, 1, &why),
	    CK_USAGE);
	assert_int_equal(kct_entries(p->kct->dir), 0);
	ck_secret_wipe(&s);
}

/* Every call on a place in this state gives this code, and changes nothing. */
static void
all_give(const struct place *p, ck_err want)
{
	struct ck_secret s = kct_text("Kk3-value"), out = CK_SECRET_INIT;
	const struct ck_login_item item = { "s1", "a", NULL, &s };
	struct ck_login_status st, same;
	struct ck_fail why = CK_FAIL_INIT;

	memset(&st, 0x77, sizeof(st));
	same = st;
	assert_int_equal(ck_login_status(&p->login, &st, &why), want);
	assert_memory_equal(&st, &same, sizeof(st));
	assert_int_equal(why.code, want);
	assert_true(why.place[0] != '\0' && why.why[0] != '\0');
	assert_int_equal(ck_login_find(&p->login, "s1", "a", &out, &why),
	    want);
	assert_int_equal(ck_login_find(&p->login, "s1", "a", NULL, &why),
	    want);
	assert_null(out.p);
	assert_int_equal(ck_login_add(&p->login, &item, &why), want);
	assert_int_equal(ck_login_update(&p->login, &item, NULL, &why), want);
	assert_int_equal(ck_login_delete(&p->login, "s1", "a", &s, &why),
	    want);
	kct_silent(&why, "Kk3");
	kct_silent(&why, "right one");
	ck_secret_wipe(&s);
}

static void
missing_file_is_a_missing_store(void **state)
{
	const struct place *p = *state;

	all_give(p, CK_NOSTORE);
	assert_int_equal(kct_entries(p->kct->dir), 0);
}

static void
what_is_no_keychain_is_never_absent(void **state)
{
	static const struct {
		const char *text;
		ck_err code;
	} files[] = {
		{ "", CK_DAMAGED },
		{ "kych, and then no more", CK_DAMAGED },
		{ "SQLite format 3\0 and so on, for a hundred bytes. Lorem ipsum "
		    "dolor sit amet, consectetur adipiscing elit, sed do "
		    "eiusmod tempor incididunt.", CK_UNSUPPORTED },
	};
	const struct place *p = *state;
	struct ck_buf bytes;

	for (size_t i = 0; i < 3; i++) {
		bytes = (struct ck_buf)CK_BUF_INIT;
		ck_buf_text(&bytes, files[i].text);
		if (i == 2)
			ck_buf_zeros(&bytes, 100);
		kct_put(p->login.path, ck_buf_view(&bytes), 0600);
		all_give(p, files[i].code);
		kct_same(p->login.path, &bytes);
		ck_buf_free(&bytes);
	}
	assert_int_equal(kct_entries(p->kct->dir), 1);
}

static void
file_that_is_not_ours_alone_is_refused(void **state)
{
	const struct place *p = *state;
	char other[CK_PATH_MAX];
	struct ck_buf before;

	make(p);
	kct_get(p->login.path, &before);
	assert_int_equal(ck_path_join(p->kct->dir, "other", other, NULL),
	    CK_OK);
	assert_int_equal(link(p->login.path, other), 0);
	all_give(p, CK_REFUSED);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(chmod(p->login.path, 0620), 0);
	all_give(p, CK_REFUSED);
	assert_int_equal(chmod(p->login.path, 0602), 0);
	all_give(p, CK_REFUSED);
	assert_int_equal(chmod(p->login.path, 0600), 0);
	kct_same(p->login.path, &before);
	assert_int_equal(rename(p->login.path, other), 0);
	assert_int_equal(symlink("other", p->login.path), 0);
	all_give(p, CK_REFUSED);
	assert_int_equal(unlink(p->login.path), 0);
	assert_int_equal(mkdir(p->login.path, 0700), 0);
	all_give(p, CK_REFUSED);
	kct_same(other, &before);
	ck_buf_free(&before);
}

static void
asking_whether_an_item_is_there_needs_no_password(void **state)
{
	const struct place *p = *state;
	struct ck_login login = p->login;
	struct ck_fail why = CK_FAIL_INIT;

	make(p);
	login.password = NULL;
	HELP_OK(ck_login_find(&login, "s1", "a", NULL, &fail));
	assert_int_equal(ck_login_find(&login, "s1", "b", NULL, &why),
	    CK_ABSENT);
	assert_int_equal(ck_login_find(&login, "s", "a", NULL, &why),
	    CK_ABSENT);
	assert_int_equal(ck_login_find(&login, "", "", NULL, &why),
	    CK_ABSENT);
	login.password = &p->wrong;
	HELP_OK(ck_login_find(&login, "s1", "a", NULL, &fail));
}

static void
without_the_password_everything_else_is_locked(void **state)
{
	const struct place *p = *state;
	struct ck_login login = p->login;
	struct ck_secret s = kct_text("one"), out = CK_SECRET_INIT;
	const struct ck_login_item item = { "s1", "a", NULL, &s };
	const struct ck_login_item new = { "s3", "a", NULL, &s };
	struct ck_fail why = CK_FAIL_INIT;
	struct ck_buf before;

	make(p);
	kct_get(p->login.path, &before);
	for (int i = 0; i < 2; i++) {
		login.password = i == 0 ? NULL : &p->wrong;
		assert_int_equal(ck_login_find(&login, "s1", "a", &out, &why),
		    CK_LOCKED);
		kct_silent(&why, "wrong one");
		assert_true(i == 1 || why.next[0] != '\0');
		assert_int_equal(ck_login_add(&login, &new, &why), CK_LOCKED);
		assert_int_equal(ck_login_update(&login, &item, &s, &why),
		    CK_LOCKED);
		assert_int_equal(ck_login_update(&login, &item, NULL, &why),
		    CK_LOCKED);
		assert_int_equal(ck_login_delete(&login, "s1", "a", &s, &why),
		    CK_LOCKED);
		assert_null(out.p);
	}
	kct_same(p->login.path, &before);
	ck_buf_free(&before);
	ck_secret_wipe(&s);
}

static void
absent_item_is_absent_and_nothing_changes(void **state)
{
	const struct place *p = *state;
	struct ck_secret s = kct_text("one"), out = CK_SECRET_INIT;
	const struct ck_login_item item = { "s9", "a", NULL, &s };
	struct ck_fail why = CK_FAIL_INIT;
	struct ck_buf before;

	make(p);
	kct_get(p->login.path, &before);
	assert_int_equal(ck_login_find(&p->login, "s9", "a", &out, &why),
	    CK_ABSENT);
	assert_null(out.p);
	assert_int_equal(ck_login_update(&p->login, &item, NULL, &why),
	    CK_ABSENT);
	assert_int_equal(ck_login_update(&p->login, &item, &s, &why),
	    CK_ABSENT);
	assert_int_equal(ck_login_delete(&p->login, "s9", "a", &s, &why),
	    CK_ABSENT);
	kct_same(p->login.path, &before);
	ck_buf_free(&before);
	ck_secret_wipe(&s);
}

static void
added_item_is_found_beside_the_others(void **state)
{
	const struct place *p = *state;
	struct ck_secret s = kct_text("three");
	const struct ck_login_item item = { "s3", "a", "label", &s };
	struct ck_login_status st;

	make(p);
	HELP_OK(ck_login_add(&p->login, &item, &fail));
	holds(&p->login, "s3", "three");
	both_are_there(p);
	HELP_OK(ck_login_status(&p->login, &st, &fail));
	assert_int_equal(st.items, 3);
	assert_int_equal(st.mode, 0600);
	ck_secret_wipe(&s);
}

static void
adding_an_existing_item_is_refused_and_keeps_it(void **state)
{
	const struct place *p = *state;
	struct ck_secret s = kct_text("Kk3-other");
	const struct ck_login_item item = { "s1", "a", NULL, &s };
	struct ck_fail why = CK_FAIL_INIT;
	struct ck_buf before;

	make(p);
	kct_get(p->login.path, &before);
	assert_int_equal(ck_login_add(&p->login, &item, &why), CK_REFUSED);
	kct_silent(&why, "Kk3");
	kct_same(p->login.path, &before);
	ck_buf_free(&before);
	ck_secret_wipe(&s);
}

static void
update_of_the_expected_value_changes_it(void **state)
{
	const struct place *p = *state;
	struct ck_secret old = kct_text("one"), new = kct_text("1");
	const struct ck_login_item item = { "s1", "a", NULL, &new };
	const struct ck_login_item back = { "s1", "a", NULL, &old };

	make(p);
	HELP_OK(ck_login_update(&p->login, &item, &old, &fail));
	holds(&p->login, "s1", "1");
	holds(&p->login, "s2", "two");
	/* Whatever it is. */
	HELP_OK(ck_login_update(&p->login, &back, NULL, &fail));
	both_are_there(p);
	ck_secret_wipe(&old);
	ck_secret_wipe(&new);
}

static void
value_that_is_not_the_expected_one_is_kept(void **state)
{
	const struct place *p = *state;
	struct ck_secret other = kct_text("Kk3-other");
	const struct ck_login_item item = { "s1", "a", NULL, &other };
	struct ck_fail why = CK_FAIL_INIT;
	struct ck_buf before;

	make(p);
	kct_get(p->login.path, &before);
	assert_int_equal(ck_login_update(&p->login, &item, &other, &why),
	    CK_CHANGED);
	kct_silent(&why, "Kk3");
	assert_int_equal(ck_login_delete(&p->login, "s1", "a", &other, &why),
	    CK_CHANGED);
	kct_silent(&why, "Kk3");
	kct_same(p->login.path, &before);
	ck_buf_free(&before);
	ck_secret_wipe(&other);
}

static void
delete_of_the_expected_value_removes_only_it(void **state)
{
	const struct place *p = *state;
	struct ck_secret old = kct_text("one"), out = CK_SECRET_INIT;
	struct ck_login_status st;

	make(p);
	HELP_OK(ck_login_delete(&p->login, "s1", "a", &old, &fail));
	assert_int_equal(ck_login_find(&p->login, "s1", "a", &out, NULL),
	    CK_ABSENT);
	holds(&p->login, "s2", "two");
	HELP_OK(ck_login_status(&p->login, &st, &fail));
	assert_int_equal(st.items, 1);
	ck_secret_wipe(&old);
}

/* R01, R06, R07: empty is a value; bytes are bytes. */
static void
any_value_comes_back_exactly(void **state)
{
	static const struct {
		const char *p;
		size_t n;
	} values[] = {
		{ "", 0 }, { "\0", 1 }, { "x\n", 2 }, { "\n", 1 },
		{ "caf\303\251\000\377\n", 8 }, { "636166c3a9", 10 },
		{ "0x00", 4 },
	};
	const struct place *p = *state;
	struct ck_secret s, got = CK_SECRET_INIT;
	struct ck_login_item item = { "s1", "a", NULL, &s };

	make(p);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		s = kct_secret(values[i].p, values[i].n);
		HELP_OK(ck_login_update(&p->login, &item, NULL, &fail));
		HELP_OK(ck_login_find(&p->login, "s1", "a", &got, &fail));
		assert_non_null(got.p);
		assert_int_equal(got.n, values[i].n);
		assert_true(got.n == 0 ||
		    memcmp(got.p, values[i].p, got.n) == 0);
		ck_secret_wipe(&got);
		ck_secret_wipe(&s);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
help_login_contract(const char *adapter)
{
	const struct CMUnitTest tests[] = {
		T(created_file_is_private_and_says_how_it_locks),
		T(create_on_an_existing_path_is_refused_and_keeps_it),
		T(create_that_is_refused_leaves_nothing),
		T(missing_file_is_a_missing_store),
		T(what_is_no_keychain_is_never_absent),
		T(file_that_is_not_ours_alone_is_refused),
		T(asking_whether_an_item_is_there_needs_no_password),
		T(without_the_password_everything_else_is_locked),
		T(absent_item_is_absent_and_nothing_changes),
		T(added_item_is_found_beside_the_others),
		T(adding_an_existing_item_is_refused_and_keeps_it),
		T(update_of_the_expected_value_changes_it),
		T(value_that_is_not_the_expected_one_is_kept),
		T(delete_of_the_expected_value_removes_only_it),
		T(any_value_comes_back_exactly),
	};

	return cmocka_run_group_tests_name(adapter, tests, NULL, NULL);
}
