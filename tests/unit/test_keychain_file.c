/* SPDX-License-Identifier: Apache-2.0 */
/* Keychain files as files: made, locked, replaced, their password and
 * settings, and what is left when that fails. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "help_db.h"
#include "help_kc.h"
#include "help_vectors.h"
#include "keychain/blob.h"

static const struct kc_new_file plain = { KC_BLOB_V100, 300, true, 0600 };

static ck_err
create(const char *path, struct kc **ret, struct ck_fail *why)
{
	struct ck_secret s = kct_text("Xy7-password");
	ck_err r;

	r = kc_create(path, &plain, &s, 0, ret, why);
	ck_secret_wipe(&s);
	if (r != CK_OK)
		kct_silent(why, "Xy7");
	return r;
}

static void
wrong(struct kc *kc, const char *password)
{
	struct ck_secret s = kct_text(password);

	assert_int_equal(kc_unlock(kc, &s, NULL), CK_LOCKED);
	ck_secret_wipe(&s);
}

static void
new_file_is_complete_and_has_exactly_its_mode(void **state)
{
	static const mode_t masks[] = { 0, 077, 022, 0777 };
	static const mode_t modes[] = { 0600, 0644, 0400 };
	const struct kct *fx = *state;
	struct kc_new_file how = { KC_BLOB_V100, 7, false, 0600 };
	struct ck_secret s = kct_text("one");
	struct kc_info info;
	struct stat st;
	mode_t old;
	struct kc *kc = NULL;

	for (size_t i = 0; i < 24; i++) {
		how.version = i % 2 == 0 ? KC_BLOB_V100 : KC_BLOB_V200;
		how.mode = modes[i / 2 % 3];
		(void)unlink(fx->path);
		old = umask(masks[i / 6]);
		HELP_OK(kc_create(fx->path, &how, &s, 0, &kc, &fail));
		assert_true(kc_is_unlocked(kc));
		/* Nothing has that name before the commit. */
		assert_int_equal(stat(fx->path, &st), -1);
		kct_add(kc, "s", "a", "secret", 6);
		kct_commit(&kc);
		(void)umask(old);
		assert_int_equal(stat(fx->path, &st), 0);
		assert_int_equal(st.st_mode & 07777, how.mode);
		kct_reads(fx, "one", "s", "a", "secret");
		kc = kct_open(fx, NULL);
		kc_info(kc, &info);
		assert_int_equal(info.version, how.version);
		assert_int_equal(info.idle_timeout, 7);
		assert_false(info.lock_on_sleep);
		assert_int_equal(info.commit, 1);
		wrong(kc, "two");
		kc_close(&kc);
	}
	/* The keychain and the lock file that stays beside it. */
	assert_int_equal(kct_entries(fx->dir), 2);
	ck_secret_wipe(&s);
}

static void
two_new_files_share_no_signature_and_no_key(void **state)
{
	const struct kct *fx = *state;
	struct kc_info a, b;
	struct ck_buf x, y;
	struct kc *kc = kct_new(fx, KC_BLOB_V100, "one");

	kc_info(kc, &a);
	kct_commit(&kc);
	kct_get(fx->path, &x);
	(void)unlink(fx->path);
	kc = kct_new(fx, KC_BLOB_V100, "one");
	kc_info(kc, &b);
	kct_commit(&kc);
	kct_get(fx->path, &y);
	assert_memory_not_equal(a.signature, b.signature, 16);
	assert_int_equal(x.n, y.n);
	assert_memory_not_equal(x.p, y.p, x.n);
	ck_buf_free(&x);
	ck_buf_free(&y);
}

static void
empty_password_is_one(void **state)
{
	const struct kct *fx = *state;
	struct kc *kc = kct_new(fx, KC_BLOB_V200, "");

	kct_add(kc, "s", "a", "v", 1);
	kct_commit(&kc);
	kct_reads(fx, "", "s", "a", "v");
	kc = kct_open(fx, NULL);
	wrong(kc, "x");
	kc_close(&kc);
}

static void
existing_name_is_refused_and_kept(void **state)
{
	const struct kct *fx = *state;
	struct ck_fail why = CK_FAIL_INIT;
	struct kc *kc = NULL;
	struct ck_buf text = CK_BUF_INIT;

	ck_buf_text(&text, "mine");
	kct_put(fx->path, ck_buf_view(&text), 0600);
	assert_int_equal(create(fx->path, &kc, &why), CK_REFUSED);
	kct_same(fx->path, &text);
	assert_int_equal(unlink(fx->path), 0);
	assert_int_equal(symlink("nowhere", fx->path), 0);
	assert_int_equal(create(fx->path, &kc, &why), CK_REFUSED);
	assert_int_equal(unlink(fx->path), 0);
	assert_int_equal(mkdir(fx->path, 0700), 0);
	assert_int_equal(create(fx->path, &kc, &why), CK_REFUSED);
	assert_null(kc);
	assert_int_equal(kct_entries(fx->dir), 1);
	ck_buf_free(&text);
}

static void
name_taken_before_the_commit_is_refused_and_kept(void **state)
{
	const struct kct *fx = *state;
	struct ck_fail why = CK_FAIL_INIT;
	struct ck_buf text = CK_BUF_INIT;
	struct kc *kc = kct_new(fx, KC_BLOB_V100, "one");

	ck_buf_text(&text, "somebody was quicker");
	kct_put(fx->path, ck_buf_view(&text), 0600);
	assert_int_equal(kc_commit(kc, &why), CK_REFUSED);
	kc_close(&kc);
	kct_same(fx->path, &text);
	assert_int_equal(kct_entries(fx->dir), 1);
	ck_buf_free(&text);
}

static void
file_that_was_not_committed_leaves_nothing(void **state)
{
	const struct kct *fx = *state;
	struct kc *kc = kct_new(fx, KC_BLOB_V100, "one");

	kct_add(kc, "s", "a", "v", 1);
	kc_close(&kc);
	assert_int_equal(kct_entries(fx->dir), 0);
}

static void
names_of_login_keychains_are_refused_in_any_case(void **state)
{
	static const char *const names[] = {
		"login.keychain", "login.keychain-db", "LOGIN.KEYCHAIN",
		"Login.Keychain-db", "login.keychain2", "my-login.keychain.x",
	};
	const struct kct *fx = *state;
	struct ck_fail why = CK_FAIL_INIT;
	char dir[CK_PATH_MAX], path[CK_PATH_MAX], link[CK_PATH_MAX];
	struct kc *kc = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(ck_path_join(fx->dir, names[i], path, NULL),
		    CK_OK);
		assert_int_equal(create(path, &kc, &why), CK_REFUSED);
		assert_non_null(strstr(why.why, "login.keychain"));
		assert_true(why.next[0] != '\0');
	}
	assert_int_equal(kct_entries(fx->dir), 0);
	/* In the way to it, and behind a link. */
	assert_int_equal(ck_path_join(fx->dir, "Login.keychains", dir, NULL),
	    CK_OK);
	assert_int_equal(ck_path_join(dir, "innocent", path, NULL), CK_OK);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(create(path, &kc, &why), CK_REFUSED);
	assert_int_equal(ck_path_join(fx->dir, "link", link, NULL), CK_OK);
	assert_int_equal(symlink(dir, link), 0);
	assert_int_equal(ck_path_join(link, "innocent", path, NULL), CK_OK);
	assert_int_equal(create(path, &kc, &why), CK_REFUSED);
	assert_int_equal(kct_entries(dir), 0);
	assert_null(kc);
}

static void
place_that_cannot_hold_a_file_is_refused(void **state)
{
	const struct kct *fx = *state;
	struct ck_fail why = CK_FAIL_INIT;
	char path[CK_PATH_MAX], name[256];
	struct kc *kc = NULL;

	assert_int_equal(ck_path_join(fx->dir, "no/such/place", path, NULL),
	    CK_OK);
	assert_int_equal(create(path, &kc, &why), CK_NOSTORE);
	assert_int_equal(create("test.keychain", &kc, &why), CK_REFUSED);
	assert_int_equal(create("", &kc, &why), CK_REFUSED);
	assert_int_equal(create("/", &kc, &why), CK_REFUSED);
	assert_int_equal(ck_path_join(fx->dir, "..", path, NULL), CK_OK);
	assert_int_equal(create(path, &kc, &why), CK_REFUSED);
	assert_null(kc);
	/* A name that has room for itself but not for a temporary file. */
	memset(name, 'n', 255);
	name[255] = '\0';
	assert_int_equal(ck_path_join(fx->dir, name, path, NULL), CK_OK);
	assert_int_equal(create(path, &kc, &why), CK_OK);
	assert_int_equal(kc_commit(kc, &why), CK_REFUSED);
	kc_close(&kc);
	assert_int_equal(kct_entries(fx->dir), 0);
}

static void
new_password_replaces_the_old_one_and_nothing_else(void **state)
{
	static const char *const vectors[] = { HELP_V100, HELP_V200 };
	const struct kct *fx = *state;
	struct ck_secret s = kct_text("another one");
	struct kc_info before, after;
	struct kc *kc;

	for (size_t v = 0; v < 2; v++) {
		kct_copy(fx, vectors[v]);
		kc = kct_open_write(fx, KCT_PASSWORD);
		kc_info(kc, &before);
		HELP_OK(kc_set_password(kc, &s, &fail));
		kct_commit(&kc);
		kc = kct_open(fx, NULL);
		wrong(kc, KCT_PASSWORD);
		kc_info(kc, &after);
		assert_memory_equal(before.signature, after.signature, 16);
		assert_int_equal(after.commit, before.commit + 1);
		assert_int_equal(after.version, before.version);
		assert_int_equal(after.idle_timeout, before.idle_timeout);
		assert_int_equal(after.lock_on_sleep, before.lock_on_sleep);
		kc_close(&kc);
		kct_reads(fx, "another one", "test_service", "test_account",
		    "data");
	}
	ck_secret_wipe(&s);
}

static void
old_unlock_key_does_not_open_after_a_new_password(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret s = kct_text("another one"), key;
	struct ck_buf bytes;
	struct kc *kc;

	help_vector_load("v200-genp-inet-keys.unlock-key.bin", &bytes);
	key = kct_secret(bytes.p, bytes.n);
	kct_copy(fx, HELP_V200);
	kc = kct_open_write(fx, KCT_PASSWORD);
	HELP_OK(kc_set_password(kc, &s, &fail));
	kct_commit(&kc);
	kc = kct_open(fx, NULL);
	assert_int_equal(kc_unlock_keyfile(kc, &key, NULL), CK_LOCKED);
	kc_close(&kc);
	ck_buf_free(&bytes);
	ck_secret_wipe(&key);
	ck_secret_wipe(&s);
}

static void
settings_and_password_of_one_step_both_hold(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret s = kct_text("two");
	struct kc_info info;
	struct kc *kc;

	/* Of a file that is being made, too. */
	kc = kct_new(fx, KC_BLOB_V100, "one");
	kct_add(kc, "s", "a", "v", 1);
	HELP_OK(kc_set_settings(kc, 0x7fffffff, false, &fail));
	HELP_OK(kc_set_password(kc, &s, &fail));
	kct_commit(&kc);
	kct_reads(fx, "two", "s", "a", "v");
	kc = kct_open_write(fx, "two");
	kc_info(kc, &info);
	assert_int_equal(info.idle_timeout, 0x7fffffff);
	assert_false(info.lock_on_sleep);
	ck_secret_wipe(&s);
	s = kct_text("three");
	HELP_OK(kc_set_password(kc, &s, &fail));
	HELP_OK(kc_set_settings(kc, 0, true, &fail));
	kct_commit(&kc);
	kct_reads(fx, "three", "s", "a", "v");
	kc = kct_open(fx, NULL);
	kc_info(kc, &info);
	assert_int_equal(info.idle_timeout, 0);
	assert_true(info.lock_on_sleep);
	assert_int_equal(info.commit, 2);
	wrong(kc, "two");
	kc_close(&kc);
	ck_secret_wipe(&s);
}

/* Take the lock of fx->path as another program would. */
static int
hold_lock(const struct kct *fx)
{
	char name[KC_LOCK_NAME_SIZE], path[CK_PATH_MAX];
	int fd;

	kc_lock_name("test.keychain", name);
	assert_int_equal(ck_path_join(fx->dir, name, path, NULL), CK_OK);
	fd = open(path, O_RDONLY | O_CREAT, 0444);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	return fd;
}

static void
lock_held_elsewhere_is_busy_within_the_bound(void **state)
{
	const struct kct *fx = *state;
	struct ck_fail why = CK_FAIL_INIT;
	struct kc *kc = NULL;
	uint64_t start;
	int fd;

	kct_copy(fx, HELP_V200);
	fd = hold_lock(fx);
	assert_int_equal(kc_open_write(fx->path, 0, 0, &kc, &why), CK_BUSY);
	start = ck_clock_mono_ms();
	assert_int_equal(kc_open_write(fx->path, 0, 200, &kc, &why),
	    CK_BUSY);
	assert_true(ck_clock_mono_ms() - start >= 200);
	assert_true(ck_clock_mono_ms() - start < 2000);
	assert_null(kc);
	/* Readers do not care. */
	kct_reads(fx, KCT_PASSWORD, "test_service", "test_account", "data");
	assert_int_equal(unlink(fx->path), 0);
	assert_int_equal(create(fx->path, &kc, &why), CK_BUSY);
	assert_null(kc);
	assert_int_equal(kct_entries(fx->dir), 1);
	assert_int_equal(close(fd), 0);
	assert_int_equal(create(fx->path, &kc, &why), CK_OK);
	kct_commit(&kc);
}

static void
writer_holds_the_lock_until_it_closes(void **state)
{
	const struct kct *fx = *state;
	struct kc *kc, *other = NULL;

	kct_copy(fx, HELP_V200);
	kc = kct_open_write(fx, KCT_PASSWORD);
	assert_int_equal(kc_open_write(fx->path, 0, 0, &other, NULL),
	    CK_BUSY);
	kct_add(kc, "s", "a", "v", 1);
	HELP_OK(kc_commit(kc, &fail));
	assert_int_equal(kc_open_write(fx->path, 0, 0, &other, NULL),
	    CK_BUSY);
	kc_close(&kc);
	HELP_OK(kc_open_write(fx->path, 0, 0, &other, &fail));
	kc_close(&other);
}

static void
second_commit_of_one_object_is_an_internal_error(void **state)
{
	const struct kct *fx = *state;
	struct ck_buf once;
	struct kc *kc;

	kct_copy(fx, HELP_V200);
	kc = kct_open_write(fx, KCT_PASSWORD);
	kct_add(kc, "s", "a", "v", 1);
	HELP_OK(kc_commit(kc, &fail));
	kct_get(fx->path, &once);
	assert_int_equal(kc_commit(kc, NULL), CK_INTERNAL);
	kc_close(&kc);
	kct_same(fx->path, &once);
	ck_buf_free(&once);
}

enum meddling { REPLACED, REMOVED, IN_PLACE, GROWN };

static void
file_changed_between_open_and_commit_stays_so(void **state)
{
	const struct kct *fx = *state;
	struct ck_fail why = CK_FAIL_INIT;
	char other[CK_PATH_MAX];
	struct ck_buf bytes;
	struct kc *kc;

	assert_int_equal(ck_path_join(fx->dir, "other", other, NULL), CK_OK);
	for (int how = REPLACED; how <= GROWN; how++) {
		kct_copy(fx, HELP_V200);
		kct_get(fx->path, &bytes);
		kc = kct_open_write(fx, KCT_PASSWORD);
		kct_add(kc, "s", "a", "v", 1);
		/* Same size and same second, another commit counter. */
		bytes.p[bytes.n - 1]++;
		if (how == GROWN)
			ck_buf_zeros(&bytes, 4);
		if (how == REPLACED) {
			kct_put(other, ck_buf_view(&bytes), 0600);
			assert_int_equal(rename(other, fx->path), 0);
		} else if (how == REMOVED) {
			assert_int_equal(unlink(fx->path), 0);
		} else {
			kct_put(fx->path, ck_buf_view(&bytes), 0600);
		}
		assert_int_equal(kc_commit(kc, &why), CK_CHANGED);
		kc_close(&kc);
		if (how == REMOVED)
			assert_false(kct_exists(fx->dir, "test.keychain"));
		else
			kct_same(fx->path, &bytes);
		ck_buf_free(&bytes);
	}
	assert_int_equal(kct_entries(fx->dir), 2);
}

static void
changes_through_an_object_for_reading_are_internal_errors(void **state)
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
	kc = kct_open(fx, KCT_PASSWORD);
	rec = kct_find(kc, "test_service", "test_account");
	assert_int_equal(kc_add(kc, &item, &s, NULL), CK_INTERNAL);
	assert_int_equal(kc_set_secret(kc, &rec, &s, KCT_NOW, NULL),
	    CK_INTERNAL);
	assert_int_equal(kc_delete(kc, &rec, NULL), CK_INTERNAL);
	assert_int_equal(kc_set_password(kc, &s, NULL), CK_INTERNAL);
	assert_int_equal(kc_commit(kc, NULL), CK_INTERNAL);
	kc_close(&kc);
	kct_same(fx->path, &before);
	assert_int_equal(kct_entries(fx->dir), 1);
	ck_buf_free(&before);
	ck_secret_wipe(&s);
}

static void
mode_of_the_file_survives_a_commit(void **state)
{
	static const mode_t modes[] = { 0600, 0640, 0400, 0666 };
	const struct kct *fx = *state;
	struct stat st;
	mode_t old;
	struct kc *kc;

	for (size_t i = 0; i < 4; i++) {
		kct_copy(fx, HELP_V200);
		assert_int_equal(chmod(fx->path, modes[i]), 0);
		old = umask(077);
		kc = kct_open_write(fx, KCT_PASSWORD);
		kct_add(kc, "s", "a", "v", 1);
		kct_commit(&kc);
		(void)umask(old);
		assert_int_equal(stat(fx->path, &st), 0);
		assert_int_equal(st.st_mode & 07777, modes[i]);
		assert_int_equal(unlink(fx->path), 0);
	}
}

/* Run out of space while writing: files may not grow beyond limit. */
static void
file_size_limit(rlim_t limit)
{
	struct rlimit r;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &r), 0);
	r.rlim_cur = limit == 0 ? r.rlim_max : limit;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
	assert_true(signal(SIGXFSZ, limit == 0 ? SIG_DFL : SIG_IGN) !=
	    SIG_ERR);
}

static void
full_disk_leaves_the_old_file_and_nothing_else(void **state)
{
	const struct kct *fx = *state;
	struct ck_fail why = CK_FAIL_INIT;
	struct ck_buf before;
	struct kc *kc;
	ck_err r;

	kct_copy(fx, HELP_V200);
	kct_get(fx->path, &before);
	kc = kct_open_write(fx, KCT_PASSWORD);
	kct_add(kc, "s", "a", "Qz5-secret", 10);
	file_size_limit(8192);
	r = kc_commit(kc, &why);
	file_size_limit(0);
	kc_close(&kc);
	assert_int_equal(r, CK_NOSPACE);
	kct_silent(&why, "Qz5");
	kct_same(fx->path, &before);
	assert_int_equal(kct_entries(fx->dir), 2);
	ck_buf_free(&before);
}

static void
full_disk_leaves_nothing_of_a_new_file(void **state)
{
	const struct kct *fx = *state;
	struct kc *kc = kct_new(fx, KC_BLOB_V100, "one");
	ck_err r;

	file_size_limit(1);
	r = kc_commit(kc, NULL);
	file_size_limit(0);
	kc_close(&kc);
	assert_int_equal(r, CK_NOSPACE);
	assert_int_equal(kct_entries(fx->dir), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, kct_setup, kct_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(new_file_is_complete_and_has_exactly_its_mode),
		T(two_new_files_share_no_signature_and_no_key),
		T(empty_password_is_one),
		T(existing_name_is_refused_and_kept),
		T(name_taken_before_the_commit_is_refused_and_kept),
		T(file_that_was_not_committed_leaves_nothing),
		T(names_of_login_keychains_are_refused_in_any_case),
		T(place_that_cannot_hold_a_file_is_refused),
		T(new_password_replaces_the_old_one_and_nothing_else),
		T(old_unlock_key_does_not_open_after_a_new_password),
		T(settings_and_password_of_one_step_both_hold),
		T(lock_held_elsewhere_is_busy_within_the_bound),
		T(writer_holds_the_lock_until_it_closes),
		T(second_commit_of_one_object_is_an_internal_error),
		T(file_changed_between_open_and_commit_stays_so),
		T(changes_through_an_object_for_reading_are_internal_errors),
		T(mode_of_the_file_survives_a_commit),
		T(full_disk_leaves_the_old_file_and_nothing_else),
		T(full_disk_leaves_nothing_of_a_new_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
