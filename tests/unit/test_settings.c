/* SPDX-License-Identifier: Apache-2.0 */
/* fleet.workerSandbox: only a readable "false" is off. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "help_store.h"
#include "store/settings.h"

/* A value no answer has, to see that a failure leaves the output alone. */
#define UNTOUCHED ((enum ck_worker_sandbox)77)

static void
assert_answer(const struct help_store *fx, const char *text, ck_err want,
    enum ck_worker_sandbox answer)
{
	enum ck_worker_sandbox got = UNTOUCHED;
	struct ck_fail f = CK_FAIL_INIT;
	ck_err r;

	if (text != NULL)
		hs_write(fx->path, text, strlen(text), 0600);
	r = ck_settings_worker_sandbox(fx->path, &got, &f);
	if (r != want)
		print_error("%s\n", text == NULL ? "no text" : text);
	assert_int_equal(r, want);
	assert_int_equal(got, answer);
	if (want != CK_OK) {
		assert_int_equal(f.code, want);
		assert_string_equal(f.place, fx->path);
	}
	if (text != NULL)
		hs_assert_file(fx->path, text, strlen(text));
}

static void
readable_settings_are_on_off_or_absent(void **state)
{
	struct help_store *fx = *state;

	assert_answer(fx, NULL, CK_OK, CK_SANDBOX_ABSENT);
	assert_answer(fx, "{}", CK_OK, CK_SANDBOX_ABSENT);
	assert_answer(fx, "{\"schemaVersion\":1,\"fleet\":{}}", CK_OK,
	    CK_SANDBOX_ABSENT);
	assert_answer(fx, "{\"workerSandbox\":true}", CK_OK,
	    CK_SANDBOX_ABSENT);
	assert_answer(fx, "{\"fleet\":{\"size\":{\"workerSandbox\":true}}}",
	    CK_OK, CK_SANDBOX_ABSENT);
	assert_answer(fx, "{\"fleet\":{\"workerSandbox\":true}}\n", CK_OK,
	    CK_SANDBOX_ON);
	assert_answer(fx, "{\"x\":[1],\"fleet\" : { \"notes\":\"\", "
	    "\"worker\\u0053andbox\" : false } }", CK_OK, CK_SANDBOX_OFF);
}

static void
what_cannot_be_understood_is_damaged_and_never_off(void **state)
{
	static const char *const texts[] = {
		"", "null", "[]", "{", "{\"fleet\":null}", "{\"fleet\":[]}",
		"{\"fleet\":true}", "{\"fleet\":{\"workerSandbox\":null}}",
		"{\"fleet\":{\"workerSandbox\":0}}",
		"{\"fleet\":{\"workerSandbox\":\"false\"}}",
		"{\"fleet\":{\"workerSandbox\":{}}}",
		"{\"fleet\":{\"workerSandbox\":false}",
		"{\"fleet\":{\"workerSandbox\":false,\"workerSandbox\":true}}",
		"{\"fleet\":{\"workerSandbox\":false},\"fleet\":{}}",
		"{\"fleet\":{\"workerSandbox\":False}}",
		"{\"fleet\":{\"workerSandbox\":false}} //",
	};
	struct help_store *fx = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_answer(fx, texts[i], CK_DAMAGED, UNTOUCHED);
}

static void
unsafe_or_unreadable_files_have_their_own_error(void **state)
{
	struct help_store *fx = *state;
	static const char text[] = "{\"fleet\":{\"workerSandbox\":false}}";
	char other[CK_PATH_MAX];

	assert_int_equal(mkdir(fx->path, 0700), 0);
	assert_answer(fx, NULL, CK_REFUSED, UNTOUCHED);
	assert_int_equal(rmdir(fx->path), 0);
	assert_int_equal(mkfifo(fx->path, 0600), 0);
	assert_answer(fx, NULL, CK_REFUSED, UNTOUCHED);
	assert_int_equal(unlink(fx->path), 0);
	assert_int_equal(ck_path_join(fx->dir, "other", other, NULL), CK_OK);
	hs_write(other, text, strlen(text), 0600);
	assert_int_equal(symlink(other, fx->path), 0);
	assert_answer(fx, NULL, CK_REFUSED, UNTOUCHED);
	assert_int_equal(unlink(fx->path), 0);
	assert_answer(fx, text, CK_OK, CK_SANDBOX_OFF);
	assert_int_equal(chmod(fx->path, 0644), 0);
	assert_answer(fx, NULL, CK_OK, CK_SANDBOX_OFF);
	assert_int_equal(chmod(fx->path, 0620), 0);
	assert_answer(fx, NULL, CK_REFUSED, UNTOUCHED);
	assert_int_equal(chmod(fx->path, 0600), 0);
	assert_int_equal(truncate(fx->path, (off_t)CK_SETTINGS_MAX + 1), 0);
	assert_answer(fx, NULL, CK_UNSUPPORTED, UNTOUCHED);
	if (geteuid() != 0) {
		assert_int_equal(chmod(fx->path, 0), 0);
		assert_answer(fx, NULL, CK_DENIED, UNTOUCHED);
	} else {
		print_message("SKIP: root is denied nothing\n");
	}
}

#define WITH_FX(f) \
    cmocka_unit_test_setup_teardown(f, help_store_setup, help_store_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FX(readable_settings_are_on_off_or_absent),
		WITH_FX(what_cannot_be_understood_is_damaged_and_never_off),
		WITH_FX(unsafe_or_unreadable_files_have_their_own_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
