/* SPDX-License-Identifier: Apache-2.0 */
/* The login port on our own engine: the common contract, real keychains, and
 * the search list. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "help_db.h"
#include "help_kc.h"
#include "help_login.h"
#include "help_vectors.h"
#include "store/login.h"

static void
item_of_a_real_login_keychain_can_be_moved_out(void **state)
{
	static const char *const vectors[] = { HELP_V100, HELP_V200 };
	const struct kct *fx = *state;
	struct ck_secret pw = kct_text(KCT_PASSWORD), got = CK_SECRET_INIT;
	const struct ck_login login = { fx->path, &pw, 0 };
	struct ck_login_status st;

	for (size_t i = 0; i < 2; i++) {
		kct_copy(fx, vectors[i]);
		HELP_OK(ck_login_status(&login, &st, &fail));
		assert_int_equal(st.version, i == 0 ? 0x100 : 0x200);
		assert_int_equal(st.items, 1);
		HELP_OK(ck_login_find(&login, "test_service", "test_account",
		    &got, &fail));
		assert_true(got.n == 4 && memcmp(got.p, "data", 4) == 0);
		HELP_OK(ck_login_delete(&login, "test_service",
		    "test_account", &got, &fail));
		ck_secret_wipe(&got);
		assert_int_equal(ck_login_find(&login, "test_service",
		    "test_account", &got, NULL), CK_ABSENT);
		kct_reads(fx, KCT_PASSWORD, NULL, NULL, NULL);
	}
	ck_secret_wipe(&pw);
}

static void
changes_wait_for_the_lock_file_and_reads_do_not(void **state)
{
	const struct kct *fx = *state;
	struct ck_secret pw = kct_text(KCT_PASSWORD), got = CK_SECRET_INIT;
	const struct ck_login login = { fx->path, &pw, 50 };
	const struct ck_login_item item = { "new", "a", NULL, &pw };
	char name[KC_LOCK_NAME_SIZE], path[CK_PATH_MAX];
	struct ck_buf before;
	int fd;

	kct_copy(fx, HELP_V100);
	kct_get(fx->path, &before);
	kc_lock_name("test.keychain", name);
	assert_int_equal(ck_path_join(fx->dir, name, path, NULL), CK_OK);
	fd = open(path, O_RDONLY | O_CREAT, 0444);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(ck_login_add(&login, &item, NULL), CK_BUSY);
	HELP_OK(ck_login_find(&login, "test_service", "test_account", &got,
	    &fail));
	assert_int_equal(ck_login_delete(&login, "test_service",
	    "test_account", &got, NULL), CK_BUSY);
	assert_int_equal(close(fd), 0);
	kct_same(fx->path, &before);
	ck_buf_free(&before);
	ck_secret_wipe(&got);
	ck_secret_wipe(&pw);
}

/* --- the search list --- */

struct seen {
	char text[4096];
	size_t calls;
	ck_err answer;
};

static ck_err
see(void *arg, const char *path)
{
	struct seen *seen = arg;

	(void)strncat(seen->text, path,
	    sizeof(seen->text) - strlen(seen->text) - 1);
	(void)strncat(seen->text, "|",
	    sizeof(seen->text) - strlen(seen->text) - 1);
	seen->calls++;
	return seen->answer;
}

static void
write_list(const struct kct *fx, const char *text, size_t n)
{
	char path[CK_PATH_MAX];
	struct ck_span bytes = { (const uint8_t *)text, n };

	assert_int_equal(ck_path_join(fx->dir, "Library", path, NULL), CK_OK);
	(void)mkdir(path, 0700);
	assert_int_equal(ck_path_join(fx->dir, "Library/Preferences", path,
	    NULL), CK_OK);
	(void)mkdir(path, 0700);
	assert_int_equal(ck_path_join(fx->dir,
	    "Library/Preferences/com.apple.security.plist", path, NULL),
	    CK_OK);
	kct_put(path, bytes, 0600);
}

static const char list[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<plist version=\"1.0\">\n<dict>\n\t<key>DLDBSearchList</key>\n"
    "\t<array>\n\t\t<dict>\n\t\t\t<key>DbName</key>\n"
    "\t\t\t<string>~/Library/Keychains/login.keychain</string>\n"
    "\t\t\t<key>GUID</key>\n\t\t\t<string>{87191ca0}</string>\n"
    "\t\t</dict>\n\t\t<dict>\n\t\t\t<key>DbName</key>\n"
    "\t\t\t<string>/a &amp; b/&lt;&quot;x&quot;&gt;.keychain</string>\n"
    "\t\t</dict>\n\t</array>\n</dict>\n</plist>\n";

static void
search_list_names_every_keychain(void **state)
{
	const struct kct *fx = *state;
	struct seen seen = { "", 0, CK_OK };
	char want[2 * CK_PATH_MAX];

	write_list(fx, list, sizeof(list) - 1);
	HELP_OK(ck_login_search_list(fx->dir, see, &seen, &fail));
	(void)snprintf(want, sizeof(want), "%s/Library/Keychains/"
	    "login.keychain|/a & b/<\"x\">.keychain|", fx->dir);
	assert_string_equal(seen.text, want);
	/* An answer other than CK_OK ends it. */
	seen.calls = 0;
	seen.answer = CK_DECIDE;
	assert_int_equal(ck_login_search_list(fx->dir, see, &seen, NULL),
	    CK_DECIDE);
	assert_int_equal(seen.calls, 1);
}

static void
missing_search_list_is_empty(void **state)
{
	const struct kct *fx = *state;
	struct seen seen = { "", 0, CK_OK };

	HELP_OK(ck_login_search_list(fx->dir, see, &seen, &fail));
	assert_int_equal(seen.calls, 0);
	assert_int_equal(kct_entries(fx->dir), 0);
}

static void
search_list_that_cannot_be_read_is_never_empty(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		ck_err code;
	} lists[] = {
		{ "", 0, CK_DAMAGED },
		{ "no list at all", 14, CK_DAMAGED },
		{ "bplist00\321\001", 10, CK_UNSUPPORTED },
		{ "<plist><key>DbName</key><string>/x", 34, CK_DAMAGED },
		{ "<plist><key>DbName</key><data>/x</data>", 39, CK_DAMAGED },
		{ "<plist>\0</plist>", 16, CK_DAMAGED },
	};
	const struct kct *fx = *state;
	struct seen seen = { "", 0, CK_OK };
	struct ck_fail why = CK_FAIL_INIT;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		write_list(fx, lists[i].text, lists[i].n);
		assert_int_equal(ck_login_search_list(fx->dir, see, &seen,
		    &why), lists[i].code);
		assert_non_null(strstr(why.place, "com.apple.security"));
	}
	assert_int_equal(seen.calls, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, kct_setup, kct_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(item_of_a_real_login_keychain_can_be_moved_out),
		T(changes_wait_for_the_lock_file_and_reads_do_not),
		T(search_list_names_every_keychain),
		T(missing_search_list_is_empty),
		T(search_list_that_cannot_be_read_is_never_empty),
	};
	int failed = help_login_contract("login_file");

	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
