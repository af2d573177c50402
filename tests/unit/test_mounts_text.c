/* SPDX-License-Identifier: Apache-2.0 */
/* worker.mounts as text: one spelling, read back whole or not at all. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boundary/mounts.h"

#define FIRST CK_MOUNTS_FIRST "\n"
#define HEAD FIRST "user 1000\n"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char whole[] = HEAD
    "bind dir - 65024 12 /h/.config\n"
    "read file - - - /h/.config/a\\040b\n"
    "mask dir 0100 - - /h/k\n"
    "name dir 0500 - - /h/k/d\n"
    "back file - - - /h/k/d/x\n"
    "name file 0000 - - /h/k/e\n"
    "mask dir 0500 18446744073709551615 1 /h/k-2\n"
    "shut file - - - /h/s\n"
    "end 8\n";

static struct ck_mounts plan;

static ck_err
reads(const char *text, size_t n)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	plan.n = 99;
	r = ck_mounts_read(text, n, "shown", &plan, &fail);
	assert_int_equal(fail.code, r);
	if (r != CK_OK) {
		assert_string_equal(fail.place, "shown");
		assert_int_equal(plan.n, 0);
	}
	return r;
}

static void
whole_plan_is_read_and_written_again(void **state)
{
	struct ck_buf b = CK_BUF_INIT;

	(void)state;
	assert_int_equal(reads(whole, sizeof(whole) - 1), CK_OK);
	assert_int_equal(plan.n, 8);
	assert_int_equal(plan.user, 1000);
	assert_string_equal(plan.step[1].path, "/h/.config/a b");
	assert_false(plan.step[2].known);
	assert_int_equal(plan.step[3].mode, 0500);
	assert_true(plan.step[6].known);
	assert_true(plan.step[6].device == ~0ULL);
	ck_mounts_write(&plan, &b);
	assert_int_equal(b.n, sizeof(whole) - 1);
	assert_memory_equal(b.p, whole, b.n);
	ck_buf_free(&b);
	assert_int_equal(reads(HEAD "end 0\n", strlen(HEAD "end 0\n")),
	    CK_OK);
	assert_int_equal(plan.n, 0);
}

static void
shortened_plan_is_damaged(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(whole) - 1; n++)
		assert_int_equal(reads(whole, n), n < sizeof(FIRST) - 1 ?
		    CK_UNSUPPORTED : CK_DAMAGED);
}

/* Every single byte, changed to others, makes another plan or none. */
static void
changed_byte_is_never_overlooked(void **state)
{
	static const char to[] = " \n\\/.-0719axZ\t\r\x7f";
	char text[sizeof(whole)];
	struct ck_buf b = CK_BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(whole) - 1; i++)
		for (size_t k = 0; k < sizeof(to); k++) {
			memcpy(text, whole, sizeof(whole));
			text[i] = to[k];
			if (text[i] == whole[i] || ck_mounts_read(text,
			    sizeof(whole) - 1, "", &plan, NULL) != CK_OK)
				continue;
			b.n = 0;
			ck_mounts_write(&plan, &b);
			assert_int_equal(b.n, sizeof(whole) - 1);
			assert_memory_equal(b.p, text, b.n);
		}
	ck_buf_free(&b);
}

static void
what_is_no_plan_is_refused(void **state)
{
	static const struct {
		const char *text;
		ck_err want;
	} bad[] = {
		{ "", CK_UNSUPPORTED },
		{ "clankie-keys worker mounts 2\nuser 1\nend 0\n",
		    CK_UNSUPPORTED },
		{ FIRST "end 0\n", CK_DAMAGED },
		{ FIRST "user 01\nend 0\n", CK_DAMAGED },
		{ FIRST "user -1\nend 0\n", CK_DAMAGED },
		{ FIRST "user 4294967296\nend 0\n", CK_DAMAGED },
		{ HEAD "end 1\n", CK_DAMAGED },
		{ HEAD "end 0\n\n", CK_DAMAGED },
		{ HEAD "end 0\nend 0\n", CK_DAMAGED },
		{ HEAD "\nend 0\n", CK_DAMAGED },
		{ HEAD "# comment\nend 0\n", CK_DAMAGED },
		{ HEAD "link file - - - /a\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - - /a\r\nend 1\n", CK_DAMAGED },
		{ HEAD "bind  dir - - - /a\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - - /a \nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - - a\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - - /\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - - /a/\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - - /a//b\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - - /a/../b\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - - /a/.\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - - /\\141\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - - /a\\\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - - /a\\000\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - - /a\\777\nend 1\n", CK_DAMAGED },
		{ HEAD "bind file - - - /a\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir 0100 - - /a\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - 1 - /a\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - - 1 /a\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - 01 1 /a\nend 1\n", CK_DAMAGED },
		{ HEAD "bind dir - 18446744073709551616 1 /a\nend 1\n",
		    CK_DAMAGED },
		{ HEAD "mask dir 100 - - /a\nend 1\n", CK_DAMAGED },
		{ HEAD "mask dir 4700 - - /a\nend 1\n", CK_DAMAGED },
		{ HEAD "mask dir - - - /a\nend 1\n", CK_DAMAGED },
		{ HEAD "mask file 0100 - - /a\nend 1\n", CK_DAMAGED },
		{ HEAD "shut dir - - - /a\nend 1\n", CK_DAMAGED },
		{ HEAD "read file - 1 1 /a\nend 1\n", CK_DAMAGED },
		{ HEAD "name file 0000 - - /a\nend 1\n", CK_DAMAGED },
		{ HEAD "mask dir 0100 - - /a\nname file 0000 - - /ab\n"
		    "end 2\n", CK_DAMAGED },
		{ HEAD "mask dir 0100 - - /a\nmask dir 0100 - - /b\n"
		    "back file - - - /a/x\nend 3\n", CK_DAMAGED },
		{ HEAD "bind dir - - - /b\nbind dir - - - /a\nend 2\n",
		    CK_DAMAGED },
		{ HEAD "bind dir - - - /a\nbind dir - - - /a\nend 2\n",
		    CK_DAMAGED },
		{ HEAD "mask dir 0100 - - /b\nbind dir - - - /a\nend 2\n",
		    CK_DAMAGED },
		{ HEAD "shut file - - - /b\nmask dir 0100 - - /c\nend 2\n",
		    CK_DAMAGED },
		{ HEAD "bind dir - - - /a-b\nbind dir - - - /a/b\nend 2\n",
		    CK_DAMAGED },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		if (reads(bad[i].text, strlen(bad[i].text)) != bad[i].want)
			fail_msg("accepted: %s", bad[i].text);
}

static void
nul_inside_is_no_end(void **state)
{
	static const char text[] = HEAD "bind dir - - - /a\0b\nend 1\n";

	(void)state;
	assert_int_equal(reads(text, sizeof(text) - 1), CK_DAMAGED);
}

static void
too_long_and_too_many_are_refused(void **state)
{
	struct ck_buf b = CK_BUF_INIT;

	(void)state;
	ck_buf_text(&b, HEAD "bind dir - - - /");
	for (size_t i = 0; i < CK_PATH_MAX - 1; i++)
		ck_buf_text(&b, "a");
	ck_buf_text(&b, "\nend 1\n");
	assert_int_equal(reads((char *)b.p, b.n), CK_DAMAGED);
	b.n = 0;
	ck_buf_text(&b, HEAD);
	for (size_t i = 0; i <= CK_MOUNTS_MAX; i++)
		ck_buf_format(&b, "shut file - - - /%04zu\n", i);
	ck_buf_format(&b, "end %d\n", CK_MOUNTS_MAX + 1);
	assert_int_equal(reads((char *)b.p, b.n), CK_REFUSED);
	ck_buf_free(&b);
}

/* As the kernel writes paths into mountinfo, and the other control bytes. */
static void
odd_bytes_stand_as_octal(void **state)
{
	struct ck_mount m = { .step = CK_MOUNT_SHUT,
		.path = "/a b\t\n\\\x01\x7f\xC3\xA9\"'" };
	struct ck_buf b = CK_BUF_INIT;
	char line[CK_MOUNT_LINE_MAX];
	size_t n = ck_mount_line(&m, line);

	(void)state;
	assert_int_equal(n, strlen(line));
	assert_string_equal(line, "shut file - - - "
	    "/a\\040b\\011\\012\\134\\001\\177\xC3\xA9\"'\n");
	ck_buf_format(&b, HEAD "%send 1\n", line);
	assert_int_equal(reads((char *)b.p, b.n), CK_OK);
	assert_string_equal(plan.step[0].path, m.path);
	ck_buf_free(&b);
}

static void
directory_comes_before_what_is_below(void **state)
{
	(void)state;
	assert_true(ck_mount_path_compare("/a", "/a/b") < 0);
	assert_true(ck_mount_path_compare("/a/b", "/a-b") < 0);
	assert_true(ck_mount_path_compare("/a\x01", "/a/b") > 0);
	assert_true(ck_mount_path_compare("/a", "/b") < 0);
	assert_true(ck_mount_path_compare("/\xC3", "/z") > 0);
	assert_int_equal(ck_mount_path_compare("/a/b", "/a/b"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_plan_is_read_and_written_again),
		cmocka_unit_test(shortened_plan_is_damaged),
		cmocka_unit_test(changed_byte_is_never_overlooked),
		cmocka_unit_test(what_is_no_plan_is_refused),
		cmocka_unit_test(nul_inside_is_no_end),
		cmocka_unit_test(too_long_and_too_many_are_refused),
		cmocka_unit_test(odd_bytes_stand_as_octal),
		cmocka_unit_test(directory_comes_before_what_is_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
