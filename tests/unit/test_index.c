/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a keychain broker: one account in, one out, the rest as it
 * was. */
#include "unit.h"

#include <string.h>

#include "help_store.h"
#include "store/index.h"
#include "store/json.h"

typedef ck_err edit(const struct ck_secret *index, const char *account,
    bool *ret_changed, struct ck_secret *ret);

/* want NULL: nothing to change. */
static void
assert_edit(edit *how, const char *text, const char *want)
{
	struct ck_secret index = hs_secret(text), out = CK_SECRET_INIT;
	bool changed = want == NULL;

	assert_int_equal(how(&index, "middle", &changed, &out), CK_OK);
	assert_int_equal(changed, want != NULL);
	if (want == NULL)
		assert_null(out.p);
	else
		assert_true(hs_is(&out, want));
	ck_secret_wipe(&index);
	ck_secret_wipe(&out);
}

static void
an_account_goes_in_front_of_the_first_greater(void **state)
{
	(void)state;
	assert_edit(ck_index_with, "[]", "[\"middle\"]");
	assert_edit(ck_index_with, "[\"a\",\"z\"]",
	    "[\"a\",\"middle\",\"z\"]");
	assert_edit(ck_index_with, " [ \"z\" ] ", "[\"middle\",\"z\"]");
	assert_edit(ck_index_with, "[\"a\"]", "[\"a\",\"middle\"]");
	assert_edit(ck_index_with, "[\"middl\",\"middle2\"]",
	    "[\"middl\",\"middle\",\"middle2\"]");
	/* One that its owner does not keep sorted keeps its order. */
	assert_edit(ck_index_with, "[\"z\",\"a\"]",
	    "[\"middle\",\"z\",\"a\"]");
}

static void
an_account_that_is_named_changes_nothing(void **state)
{
	(void)state;
	assert_edit(ck_index_with, "[\"a\",\"middle\",\"z\"]", NULL);
	assert_edit(ck_index_with, "[\"z\",\"middle\"]", NULL);
	assert_edit(ck_index_without, "[]", NULL);
	assert_edit(ck_index_without, "[\"Middle\"]", NULL);
}

static void
every_entry_of_an_account_goes(void **state)
{
	(void)state;
	assert_edit(ck_index_without, "[\"middle\"]", "[]");
	assert_edit(ck_index_without,
	    "[\"middle\",\"z\",\"middle\",\"a\"]", "[\"z\",\"a\"]");
}

static void
what_is_no_array_of_strings_is_damaged(void **state)
{
	static const char *const texts[] = { "", "x", "{}", "\"middle\"",
		"[1]", "[\"a\",null]", "[[\"middle\"]]", "[\"a\"", "[\"a\"]x" };
	edit *const hows[] = { ck_index_with, ck_index_without };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (size_t k = 0; k < 2; k++) {
			struct ck_secret index = hs_secret(texts[i]);
			struct ck_secret out = CK_SECRET_INIT;
			bool changed = true;

			assert_int_equal(hows[k](&index, "middle", &changed,
			    &out), CK_DAMAGED);
			assert_true(changed);
			assert_null(out.p);
			ck_secret_wipe(&index);
		}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, help_store_setup, \
    help_store_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_account_goes_in_front_of_the_first_greater),
		TEST(an_account_that_is_named_changes_nothing),
		TEST(every_entry_of_an_account_goes),
		TEST(what_is_no_array_of_strings_is_damaged),
	};

	ck_json_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
