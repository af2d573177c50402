/* SPDX-License-Identifier: Apache-2.0 */
/* Removing what a killed writer left, and nothing else. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/path.h"

#define FORM "f" CK_IO_TEMP
static const char *const left_form = FORM;

struct fixture {
	char dir[CK_PATH_MAX];
	int dirfd;
};

static int
setup(void **state)
{
	struct fixture *fx = calloc(1, sizeof(*fx));

	if (fx == NULL)
		return -1;
	(void)snprintf(fx->dir, sizeof(fx->dir), "/tmp/ck-sweep-XXXXXX");
	if (mkdtemp(fx->dir) == NULL)
		return -1;
	fx->dirfd = open(fx->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = fx;
	return fx->dirfd < 0;
}

static int
teardown(void **state)
{
	struct fixture *fx = *state;
	char cmd[CK_PATH_MAX + 32];

	(void)close(fx->dirfd);
	(void)snprintf(cmd, sizeof(cmd), "rm -rf '%s'", fx->dir);
	if (system(cmd) != 0)
		return -1;
	free(fx);
	return 0;
}

static void
make(const struct fixture *fx, const char *name)
{
	int fd = openat(fx->dirfd, name, O_WRONLY | O_CREAT | O_EXCL |
	    O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	(void)close(fd);
}

static bool
there(const struct fixture *fx, const char *name)
{
	struct stat st;

	return fstatat(fx->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void
left_temporaries_go_and_other_names_stay(void **state)
{
	static const char *const stay[] = { "f", "f.tmp", "f.tmp-",
		"f.tmp-xyz", "f.tmp-0123abcd.old", "g.tmp-0123abcd",
		"f.sb-0123abcd-012345", "f.12.0123abcd.tmp", "f.tmp-4711",
		"f.tmp-2026-11-30", "f.tmp-0123ABCD", "f.tmp-0123abc",
		"f.tmp-0123abcde", "f.tmp-0123-bcd", "f.tmp-########" };
	const struct fixture *fx = *state;
	size_t n = 9;

	for (size_t i = 0; i < sizeof(stay) / sizeof(stay[0]); i++)
		make(fx, stay[i]);
	make(fx, "f.tmp-0123abcd");
	make(fx, "f.tmp-00000000");
	assert_int_equal(ck_io_left(fx->dirfd, &left_form, 1, "f", &n,
	    NULL), CK_OK);
	assert_int_equal(n, 2);
	assert_true(there(fx, "f.tmp-0123abcd"));
	assert_int_equal(ck_io_sweep(fx->dirfd, FORM, "f", NULL), CK_OK);
	assert_int_equal(ck_io_left(fx->dirfd, &left_form, 1, "f", &n,
	    NULL), CK_OK);
	assert_int_equal(n, 0);
	assert_false(there(fx, "f.tmp-0123abcd"));
	assert_false(there(fx, "f.tmp-00000000"));
	for (size_t i = 0; i < sizeof(stay) / sizeof(stay[0]); i++)
		assert_true(there(fx, stay[i]));
}

static void
links_and_directories_of_such_a_name_stay(void **state)
{
	const struct fixture *fx = *state;

	make(fx, "f");
	assert_int_equal(symlinkat("f", fx->dirfd, "f.tmp-00000001"), 0);
	assert_int_equal(mkdirat(fx->dirfd, "f.tmp-00000002", 0700), 0);
	assert_int_equal(mkfifoat(fx->dirfd, "f.tmp-00000003", 0600), 0);
	assert_int_equal(ck_io_sweep(fx->dirfd, FORM, "f", NULL), CK_OK);
	assert_true(there(fx, "f"));
	assert_true(there(fx, "f.tmp-00000001"));
	assert_true(there(fx, "f.tmp-00000002"));
	assert_true(there(fx, "f.tmp-00000003"));
}

static void
each_form_is_counted_by_itself(void **state)
{
	static const char other[] = "g" CK_IO_TEMP;
	static const char *const forms[] = { left_form, other, "h" };
	const struct fixture *fx = *state;
	size_t n[3] = { 9, 9, 9 };

	make(fx, "f.tmp-0123abcd");
	make(fx, "g.tmp-0123abcd");
	make(fx, "g.tmp-00000000");
	assert_int_equal(ck_io_left(fx->dirfd, forms, 3, "f", n, NULL), CK_OK);
	assert_int_equal(n[0], 1);
	assert_int_equal(n[1], 2);
	assert_int_equal(n[2], 0);
}

/* Somebody gave it a second name: to him it is worth keeping. */
static void
a_file_with_two_names_stays(void **state)
{
	const struct fixture *fx = *state;
	size_t n = 9;

	make(fx, "f.tmp-0123abcd");
	assert_int_equal(linkat(fx->dirfd, "f.tmp-0123abcd", fx->dirfd, "kept",
	    0), 0);
	assert_int_equal(ck_io_left(fx->dirfd, &left_form, 1, "f", &n,
	    NULL), CK_OK);
	assert_int_equal(n, 0);
	assert_int_equal(ck_io_replace(fx->dirfd, "f", NULL, "x", 1, 0600,
	    NULL), CK_OK);
	assert_true(there(fx, "f.tmp-0123abcd"));
}

static void
a_keychains_temporaries_have_two_groups_of_digits(void **state)
{
	static const char form[] = "k" CK_IO_TEMP_APPLE;

	(void)state;
	assert_true(ck_io_is_left("k.sb-0123abcd-012345", form));
	assert_false(ck_io_is_left("k.sb-0123abcd-01234", form));
	assert_false(ck_io_is_left("k.sb-0123abcd0-12345", form));
	assert_false(ck_io_is_left("k.sb-0123abcd-0123456", form));
	assert_false(ck_io_is_left("k.sb-", form));
	assert_false(ck_io_is_left("", form));
}

static void
a_directory_that_refuses_is_an_error(void **state)
{
	const struct fixture *fx = *state;
	struct ck_fail fail = CK_FAIL_INIT;

	if (geteuid() == 0) {
		print_message("SKIP: root is refused nothing\n");
		skip();
	}
	make(fx, "f.tmp-00000001");
	assert_int_equal(fchmod(fx->dirfd, 0500), 0);
	assert_int_equal(ck_io_sweep(fx->dirfd, FORM, "f", &fail),
	    CK_DENIED);
	assert_int_equal(fail.code, CK_DENIED);
	assert_true(there(fx, "f.tmp-00000001"));
	assert_int_equal(fchmod(fx->dirfd, 0700), 0);
}

static void
replace_removes_what_an_earlier_one_left(void **state)
{
	const struct fixture *fx = *state;

	make(fx, "f.tmp-0123abcd");
	make(fx, "g.tmp-0123abcd");
	assert_int_equal(ck_io_replace(fx->dirfd, "f", NULL, "x", 1, 0600,
	    NULL), CK_OK);
	assert_true(there(fx, "f"));
	assert_false(there(fx, "f.tmp-0123abcd"));
	assert_true(there(fx, "g.tmp-0123abcd"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    left_temporaries_go_and_other_names_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    links_and_directories_of_such_a_name_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    each_form_is_counted_by_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_file_with_two_names_stays, setup, teardown),
		cmocka_unit_test(
		    a_keychains_temporaries_have_two_groups_of_digits),
		cmocka_unit_test_setup_teardown(
		    a_directory_that_refuses_is_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    replace_removes_what_an_earlier_one_left, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
