/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the worker entry that need no kernel: its environment and the
 * reading of mountinfo.  What it does to a process is in tests/deny. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boundary/mountinfo.h"
#include "worker/worker.h"

static void
only_listed_variables_are_scrubbed(void **state)
{
	static char a[] = "A=1", ld[] = "LD_PRELOAD=x", ldx[] = "LD=2",
	    env[] = "ENV=x", envx[] = "ENVIRONMENT=3", empty[] = "ENV=",
	    bash[] = "BASH_ENV=x", tun[] = "GLIBC_TUNABLES=x",
	    bare[] = "LD_", odd[] = "=4", last[] = "Z=LD_PRELOAD=5";
	char *list[] = { ld, a, ldx, env, envx, empty, bash, tun, bare, odd,
		last, NULL };

	(void)state;
	wk_environment_scrub(list);
	assert_ptr_equal(list[0], a);
	assert_ptr_equal(list[1], ldx);
	assert_ptr_equal(list[2], envx);
	assert_ptr_equal(list[3], odd);
	assert_ptr_equal(list[4], last);
	assert_null(list[5]);
	list[0] = ld;
	list[1] = NULL;
	wk_environment_scrub(list);
	assert_null(list[0]);
	wk_environment_scrub(list);
	assert_null(list[0]);
}

static void
name_is(const char *executed, const char *argv0, const char *name)
{
	const char *got = wk_shell_link(executed, argv0);

	if (name == NULL)
		assert_null(got);
	else
		assert_string_equal(got == NULL ? "none" : got, name);
}

/* The kernel's path first, and what the caller says only where it tells
 * nothing. */
static void
only_names_of_shells_are_one(void **state)
{
	(void)state;
	name_is("/l/zsh", "/l/zsh", "/l/zsh");
	name_is("/l/zsh", "-zsh", "/l/zsh");
	name_is("/l/zsh", "-bash", "/l/zsh");
	name_is("/l/fish", "other", "/l/fish");
	name_is("zsh", "", "zsh");
	name_is("/l/clankie-worker-entry", "zsh", NULL);
	name_is("/l/clankie-worker-entry", "-bash", NULL);
	name_is("/home/o/script", "/l/sh", "/l/sh");
	name_is("/home/o/script", "-/l/sh", "/l/sh");
	name_is("/dev/fd/3", "-bash", "bash");
	name_is("", "-fish", "fish");
	name_is("", "--fish", NULL);
	name_is("", "", NULL);
	name_is("", "-", NULL);
	name_is("/l/zsh/", "x", NULL);
	name_is("/l/mksh", "mksh", NULL);
	name_is("/l/zsh2", "zsh.", NULL);
}

static bool
parses(const char *text, struct ck_mountinfo *ret)
{
	char copy[4096];

	(void)snprintf(copy, sizeof(copy), "%s", text);
	return ck_mountinfo_parse(copy, ret);
}

static void
line_gives_its_words(void **state)
{
	struct ck_mountinfo l;

	(void)state;
	memset(&l, 0, sizeof(l));
	assert_true(parses("36 35 98:0 /r\\040t /p\\134\\011 rw,ro2 master:1 "
	    "shared:2 - ext3 /dev/root rw", &l));
	assert_int_equal(l.id, 36);
	assert_string_equal(l.device, "98:0");
	assert_string_equal(l.root, "/r t");
	assert_string_equal(l.point, "/p\\\t");
	assert_false(l.read_only);
	assert_string_equal(l.type, "ext3");
	assert_true(parses("36 35 0:39 / /p ro,nosuid - tmpfs tmpfs rw", &l));
	assert_true(l.read_only);
	assert_string_equal(l.type, "tmpfs");
	assert_true(parses("36 35 0:39 / /p ro - fuse.x y", &l));
	assert_true(l.read_only);
	assert_true(parses("36 35 0:39 / /p rox - x", &l));
	assert_false(l.read_only);
}

static void
line_of_another_form_is_refused(void **state)
{
	static const char *const bad[] = { "", "36", "36 35", "36 35 98:0",
		"36 35 98:0 /", "36 35 98:0 / /p", "36 35 98:0 / /p rw",
		"36 35 98:0 / /p rw shared:1", "36 35 98:0 / /p rw -" };
	struct ck_mountinfo l;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(parses(bad[i], &l));
}

/* What is too long for a path of ours is none of ours. */
static void
long_point_is_empty(void **state)
{
	char text[3000];
	struct ck_mountinfo l;

	(void)state;
	(void)snprintf(text, sizeof(text), "36 35 98:0 / /%0*d rw - x y",
	    CK_PATH_MAX, 0);
	assert_true(parses(text, &l));
	assert_string_equal(l.point, "");
	assert_string_equal(l.root, "/");
}

/* A list of lines, from a file in place of the kernel's. */
static size_t
lines_of(const char *text, size_t n, ck_err *ret)
{
	char path[] = "/tmp/ck-list.XXXXXX";
	static struct ck_mountlist l;
	static struct ck_mountinfo line;
	bool more = true;
	size_t count = 0;

	l.n = l.at = 0;
	l.fd = mkstemp(path);
	assert_true(l.fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(write(l.fd, text, n), n);
	assert_int_equal(lseek(l.fd, 0, SEEK_SET), 0);
	while ((*ret = ck_mountlist_next(&l, &line, &more, NULL)) == CK_OK && more)
		count++;
	ck_mountlist_close(&l);
	return count;
}

static void
long_lists_are_read_whole(void **state)
{
	static char text[400000];
	size_t n = 0;
	ck_err r = CK_OK;

	(void)state;
	for (int i = 0; i < 5000; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "%d 1 0:1 / /some/where/%d rw,relatime - ext4 x rw\n", i,
		    i);
	assert_int_equal(lines_of(text, n, &r), 5000);
	assert_int_equal(r, CK_OK);
	/* Without its last newline it ends in the middle of a line. */
	assert_int_equal(lines_of(text, n - 1, &r), 4999);
	assert_int_equal(r, CK_NOENFORCE);
	assert_int_equal(lines_of(text, 0, &r), 0);
	assert_int_equal(r, CK_OK);
	memset(text, 'x', 20000);
	text[20000] = '\n';
	assert_int_equal(lines_of(text, 20001, &r), 0);
	assert_int_equal(r, CK_NOENFORCE);
}

static void
kernels_own_list_is_read(void **state)
{
	static struct ck_mountlist l;
	static struct ck_mountinfo line;
	bool more = true, root = false;
	ck_err r;

	(void)state;
	assert_int_equal(ck_mountlist_open(&l, NULL), CK_OK);
	while ((r = ck_mountlist_next(&l, &line, &more, NULL)) == CK_OK && more)
		root = root || strcmp(line.point, "/") == 0;
	ck_mountlist_close(&l);
	assert_int_equal(r, CK_OK);
	assert_true(root);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_names_of_shells_are_one),
		cmocka_unit_test(only_listed_variables_are_scrubbed),
		cmocka_unit_test(line_gives_its_words),
		cmocka_unit_test(line_of_another_form_is_refused),
		cmocka_unit_test(long_point_is_empty),
		cmocka_unit_test(long_lists_are_read_whole),
		cmocka_unit_test(kernels_own_list_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
