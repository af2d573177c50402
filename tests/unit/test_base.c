/* SPDX-License-Identifier: Apache-2.0 */
/* The base module: errors, secrets, bytes, paths, files. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/path.h"
#include "base/platform.h"
#include "base/secret.h"

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
	(void)snprintf(fx->dir, sizeof(fx->dir), "/tmp/ck-base-XXXXXX");
	if (mkdtemp(fx->dir) == NULL)
		return -1;
	fx->dirfd = open(fx->dir, O_RDONLY | O_DIRECTORY);
	*state = fx;
	return fx->dirfd < 0;
}

static int
teardown(void **state)
{
	struct fixture *fx = *state;
	char cmd[CK_PATH_MAX + 16];

	(void)close(fx->dirfd);
	(void)snprintf(cmd, sizeof(cmd), "rm -rf '%s'", fx->dir);
	if (system(cmd) != 0)
		return -1;
	free(fx);
	return 0;
}

/* Each code has its own status, and only one of them is 10. */
static void
codes_have_distinct_statuses(void **state)
{
	(void)state;
	for (int a = 0; a < CK_ERR_COUNT; a++)
		for (int b = 0; b < a; b++) {
			assert_int_not_equal(ck_err_exit((ck_err)a),
			    ck_err_exit((ck_err)b));
			assert_string_not_equal(ck_err_code((ck_err)a),
			    ck_err_code((ck_err)b));
		}
	assert_int_equal(ck_err_exit(CK_ERR_COUNT), 70);
}

/* No errno at all may be read as "absent". */
static void
no_errno_means_absent(void **state)
{
	(void)state;
	for (int e = 0; e < 200; e++)
		assert_int_not_equal(ck_err_from_errno(e), CK_ABSENT);
	assert_int_equal(ck_err_from_errno(ENOENT), CK_NOSTORE);
	assert_int_equal(ck_err_from_errno(EPERM), CK_DENIED);
}

static void
empty_secret_differs_from_none(void **state)
{
	struct ck_secret a = CK_SECRET_INIT, b = CK_SECRET_INIT;

	(void)state;
	assert_int_equal(ck_secret_alloc(0, &a), CK_OK);
	assert_non_null(a.p);
	assert_false(ck_secret_equal(&a, &b));
	assert_int_equal(ck_secret_alloc(0, &b), CK_OK);
	assert_true(ck_secret_equal(&a, &b));
	ck_secret_wipe(&a);
	ck_secret_wipe(&b);
	assert_null(a.p);
}

static void
secret_read_refuses_more_than_max(void **state)
{
	struct ck_secret s = CK_SECRET_INIT;
	struct ck_fail f = CK_FAIL_INIT;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "12345", 5), 5);
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(ck_secret_read_fd(fds[0], 4, &s, &f), CK_USAGE);
	assert_null(s.p);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(ck_secret_read_fd(fds[0], 4, &s, &f), CK_USAGE);
}

/* A whole file in one piece, or a reason and nothing. */
static void
secret_file_is_read_whole_or_not_at_all(void **state)
{
	struct fixture *fx = *state;
	struct ck_secret s = CK_SECRET_INIT;
	struct ck_fail f = CK_FAIL_INIT;
	int fd = openat(fx->dirfd, "f", O_RDWR | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ck_secret_read_file(fd, 4, "f", &s, &f), CK_OK);
	assert_non_null(s.p);
	assert_int_equal(s.n, 0);
	ck_secret_wipe(&s);
	assert_int_equal(write(fd, "12345", 5), 5);
	assert_int_equal(ck_secret_read_file(fd, 4, "f", &s, &f),
	    CK_UNSUPPORTED);
	assert_null(s.p);
	assert_int_equal(ck_secret_read_file(fd, 5, "f", &s, &f), CK_OK);
	assert_int_equal(s.n, 5);
	assert_memory_equal(s.p, "12345", 5);
	ck_secret_wipe(&s);
	assert_int_equal(close(fd), 0);
	assert_int_equal(ck_secret_read_file(fd, 5, "f", &s, &f), CK_IO);
	assert_null(s.p);
}

static void
secret_read_returns_every_byte(void **state)
{
	struct ck_secret s = CK_SECRET_INIT;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "a\0b\n", 4), 4);
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(ck_secret_read_fd(fds[0], 4, &s, NULL), CK_OK);
	assert_int_equal(s.n, 4);
	assert_memory_equal(s.p, "a\0b\n", 4);
	ck_secret_wipe(&s);
	assert_int_equal(close(fds[0]), 0);
}

/* A writer that says nothing, and a reader that takes nothing. */
static void
secret_descriptors_that_stall_are_left_in_time(void **state)
{
	struct ck_secret s = CK_SECRET_INIT, big = CK_SECRET_INIT;
	struct ck_fail f = CK_FAIL_INIT;
	uint64_t begun;
	int fds[2];

	(void)state;
	ck_secret_stall(50);
	assert_int_equal(pipe(fds), 0);
	begun = ck_clock_mono_ms();
	assert_int_equal(ck_secret_read_fd(fds[0], 4, &s, &f), CK_BUSY);
	assert_null(s.p);
	assert_non_null(strstr(f.why, "gave nothing"));
	assert_int_equal(write(fds[1], "123", 3), 3);
	assert_int_equal(ck_secret_read_fd(fds[0], 4, &s, &f), CK_BUSY);
	assert_null(s.p);
	assert_int_equal(ck_secret_alloc(256 * 1024, &big), CK_OK);
	assert_int_equal(ck_secret_write_fd(fds[1], &big, &f), CK_BUSY);
	assert_non_null(strstr(f.why, "took nothing"));
	assert_in_range(ck_clock_mono_ms() - begun, 150, 5000);
	ck_secret_wipe(&big);
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(close(fds[0]), 0);
	ck_secret_stall(CK_SECRET_STALL_MS);
}

/* Whoever goes on, however slowly, is waited for. */
static void
secret_descriptors_that_are_slow_are_waited_for(void **state)
{
	struct timespec pause = { 0, 60000000 };
	struct ck_secret s = CK_SECRET_INIT;
	int fds[2];
	pid_t pid;

	(void)state;
	ck_secret_stall(1000);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < 4; i++) {
			(void)nanosleep(&pause, NULL);
			(void)!write(fds[1], "x", 1);
		}
		_exit(0);
	}
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(ck_secret_read_fd(fds[0], 8, &s, NULL), CK_OK);
	assert_int_equal(s.n, 4);
	assert_memory_equal(s.p, "xxxx", 4);
	ck_secret_wipe(&s);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	ck_secret_stall(CK_SECRET_STALL_MS);
}

/* The sanitizer would see arithmetic on NULL. */
static void
cursor_over_nothing_gives_nothing(void **state)
{
	struct ck_cursor c = { CK_SPAN_NONE, 0 };
	struct ck_span s = { (const uint8_t *)"x", 1 };
	uint32_t v = 7;

	(void)state;
	assert_int_equal(ck_take_align4(&c), CK_OK);
	assert_int_equal(ck_take_u32(&c, &v), CK_DAMAGED);
	assert_int_equal(v, 7);
	assert_int_equal(ck_take_bytes(&c, 0, &s), CK_OK);
	assert_null(s.p);
	assert_int_equal(s.n, 0);
}

static void
cursor_stops_at_the_end_and_stays(void **state)
{
	const uint8_t in[] = { 0, 0, 1, 0, 'a', 'b' };
	struct ck_cursor c = { { in, sizeof(in) }, 0 };
	struct ck_span s = CK_SPAN_NONE;
	uint32_t v = 7;

	(void)state;
	assert_int_equal(ck_take_u32(&c, &v), CK_OK);
	assert_int_equal(v, 256);
	assert_int_equal(ck_take_u32(&c, &v), CK_DAMAGED);
	assert_int_equal(v, 256);
	assert_int_equal(c.at, 4);
	assert_int_equal(ck_take_cstring(&c, &s), CK_DAMAGED);
	assert_null(s.p);
	assert_int_equal(ck_take_bytes(&c, SIZE_MAX, &s), CK_DAMAGED);
	assert_int_equal(ck_take_bytes(&c, 2, &s), CK_OK);
}

static void
shorter_span_sorts_first_when_equal(void **state)
{
	(void)state;
	assert_true(ck_span_compare(CK_SPAN_TEXT("a"), CK_SPAN_TEXT("ab")) < 0);
	assert_true(ck_span_compare(CK_SPAN_TEXT(""), CK_SPAN_TEXT("a")) < 0);
	assert_true(ck_span_compare(CK_SPAN_TEXT("\xff"),
	    CK_SPAN_TEXT("a")) > 0);
}

static void
hex_refuses_odd_and_foreign_digits(void **state)
{
	uint8_t b[2] = { 9, 9 };

	(void)state;
	assert_int_equal(ck_hex_decode("0aFf", b, 2), CK_OK);
	assert_int_equal(b[1], 0xff);
	assert_int_equal(ck_hex_decode("0aF", b, 2), CK_USAGE);
	assert_int_equal(ck_hex_decode("0aFg", b, 2), CK_USAGE);
	assert_int_equal(ck_hex_decode("0aFf0", b, 2), CK_USAGE);
}

static void
canonical_resolves_links_and_keeps_missing_rest(void **state)
{
	struct fixture *fx = *state;
	char in[CK_PATH_MAX], want[CK_PATH_MAX], got[CK_PATH_MAX] = "same";

	assert_int_equal(mkdirat(fx->dirfd, "real", 0700), 0);
	assert_int_equal(symlinkat("real", fx->dirfd, "link"), 0);
	assert_int_equal(symlinkat("nowhere", fx->dirfd, "dangling"), 0);
	assert_int_equal(ck_path_format(in, NULL, "%s/link//a/b", fx->dir),
	    CK_OK);
	assert_int_equal(ck_path_format(want, NULL, "%s/real/a/b", fx->dir),
	    CK_OK);
	assert_int_equal(ck_path_canonical(in, got, NULL), CK_OK);
	assert_string_equal(got, want);
	assert_int_equal(ck_path_format(in, NULL, "%s/dangling/x", fx->dir),
	    CK_OK);
	assert_int_equal(ck_path_canonical(in, got, NULL), CK_REFUSED);
	assert_string_equal(got, want);
	assert_int_equal(ck_path_format(in, NULL, "%s/none/../x", fx->dir),
	    CK_OK);
	assert_int_equal(ck_path_canonical(in, got, NULL), CK_REFUSED);
	assert_int_equal(ck_path_canonical("x", got, NULL), CK_REFUSED);
	assert_int_equal(ck_path_canonical("", got, NULL), CK_REFUSED);
}

static void
under_compares_whole_components(void **state)
{
	(void)state;
	assert_true(ck_path_under("/a/b", "/a"));
	assert_true(ck_path_under("/a", "/a"));
	assert_false(ck_path_under("/ab", "/a"));
	assert_true(ck_path_under("/a", "/"));
	assert_true(ck_path_contains_nocase("/x/LOGIN.keychain2", "login.keychain"));
	assert_false(ck_path_contains_nocase("/x/log", "login"));
}

/* A file is judged by its name as by its descriptor. */
static void
file_judged_by_name_is_refused_as_if_opened(void **state)
{
	const struct fixture *fx = *state;
	struct stat st = { .st_ino = 77 };
	int fd;

	assert_int_equal(ck_io_judge_file(fx->dirfd, "gone", NULL, 0, &st,
	    NULL), CK_NOSTORE);
	assert_int_equal(mkfifoat(fx->dirfd, "fifo", 0600), 0);
	assert_int_equal(ck_io_judge_file(fx->dirfd, "fifo", NULL, 0, &st,
	    NULL), CK_REFUSED);
	assert_int_equal(symlinkat("/etc/passwd", fx->dirfd, "ln"), 0);
	assert_int_equal(ck_io_judge_file(fx->dirfd, "ln", NULL, 0, &st,
	    NULL), CK_REFUSED);
	fd = openat(fx->dirfd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0620), 0);
	assert_int_equal(ck_io_judge_file(fx->dirfd, "f", NULL, CK_IO_NOWRITE,
	    &st, NULL), CK_REFUSED);
	assert_int_equal(st.st_ino, 77);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(ck_io_judge_file(fx->dirfd, "f", NULL, CK_IO_OWNER |
	    CK_IO_PRIVATE | CK_IO_ONELINK, &st, NULL), CK_OK);
	assert_int_equal(linkat(fx->dirfd, "f", fx->dirfd, "g", 0), 0);
	assert_int_equal(ck_io_judge_file(fx->dirfd, "f", NULL,
	    CK_IO_ONELINK, &st, NULL), CK_REFUSED);
	(void)close(fd);
}

static void
fifo_and_link_are_refused_without_waiting(void **state)
{
	struct fixture *fx = *state;
	struct ck_fail f = CK_FAIL_INIT;
	int fd = -7;

	assert_int_equal(mkfifoat(fx->dirfd, "fifo", 0600), 0);
	assert_int_equal(ck_io_open_file(fx->dirfd, "fifo", NULL, 0, &fd, NULL,
	    &f), CK_REFUSED);
	assert_non_null(strstr(f.why, "FIFO"));
	assert_int_equal(symlinkat("x", fx->dirfd, "ln"), 0);
	assert_int_equal(ck_io_open_file(fx->dirfd, "ln", NULL, 0, &fd, NULL,
	    &f), CK_REFUSED);
	assert_non_null(strstr(f.why, "symbolic link"));
	assert_int_equal(ck_io_open_file(fx->dirfd, ".", NULL, 0, &fd, NULL,
	    &f), CK_REFUSED);
	assert_int_equal(ck_io_open_file(fx->dirfd, "gone", NULL, 0, &fd, NULL,
	    &f), CK_NOSTORE);
	assert_int_equal(fd, -7);
}

static void
replace_sets_mode_and_leaves_no_temporary(void **state)
{
	struct fixture *fx = *state;
	struct stat st;
	char cmd[CK_PATH_MAX + 64];
	mode_t old = umask(0);

	(void)umask(077);
	assert_int_equal(ck_io_replace(fx->dirfd, "f", NULL, "one", 3, 0640,
	    NULL), CK_OK);
	assert_int_equal(ck_io_replace(fx->dirfd, "f", NULL, "two!", 4, 0600,
	    NULL), CK_OK);
	(void)umask(old);
	assert_int_equal(fstatat(fx->dirfd, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 4);
	(void)snprintf(cmd, sizeof(cmd), "test \"$(ls -A '%s')\" = f", fx->dir);
	assert_int_equal(system(cmd), 0);
}

static void
second_lock_is_busy_within_its_bound(void **state)
{
	char name[CK_PROCESS_NAME_SIZE], said[64];
	struct fixture *fx = *state;
	struct ck_fail fail = CK_FAIL_INIT;
	int a = -1, b = -1;
	uint64_t t0;
	long pid;

	assert_int_equal(ck_io_lock(fx->dirfd, "l", NULL, 0600, 0, &a, NULL),
	    CK_OK);
	t0 = ck_clock_mono_ms();
	assert_int_equal(ck_io_lock(fx->dirfd, "l", NULL, 0600, 50, &b,
	    &fail), CK_BUSY);
	/* Where the system tells who it is, the reason does. */
	pid = ck_platform_lock_holder(a, name);
	assert_true(pid == 0 || pid == (long)getpid());
	(void)snprintf(said, sizeof(said), "process %ld (test_base)", pid);
	assert_non_null(strstr(fail.why, pid != 0 ? said : "another process"));
	assert_true(ck_clock_mono_ms() - t0 < 2000);
	assert_int_equal(b, -1);
	ck_io_close(&a);
	assert_int_equal(ck_io_lock(fx->dirfd, "l", NULL, 0600, 0, &b, NULL),
	    CK_OK);
	ck_io_close(&b);
}

static void
locked_directory_has_no_file_that_could_be_removed(void **state)
{
	char cmd[CK_PATH_MAX + 64], path[CK_PATH_MAX + 8], said[64];
	char name[CK_PROCESS_NAME_SIZE];
	struct fixture *fx = *state;
	struct ck_fail fail = CK_FAIL_INIT;
	int a = -1, b = -1, fd = -1;
	long pid;

	(void)snprintf(path, sizeof(path), "%s/d", fx->dir);
	assert_int_equal(mkdirat(fx->dirfd, "d", 0700), 0);
	fd = openat(fx->dirfd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ck_io_lock_dir(fd, path, 0, &a, NULL), CK_OK);
	(void)snprintf(cmd, sizeof(cmd), "test -z \"$(ls -A '%s')\"", path);
	assert_int_equal(system(cmd), 0);
	assert_int_equal(ck_io_lock_dir(fd, path, 50, &b, &fail), CK_BUSY);
	assert_int_equal(b, -1);
	pid = ck_platform_lock_holder(a, name);
	assert_true(pid == 0 || pid == (long)getpid());
	(void)snprintf(said, sizeof(said), "process %ld (test_base)", pid);
	assert_non_null(strstr(fail.why, pid != 0 ? said : "another process"));
	/* The caller's own descriptor is not what holds it. */
	ck_io_close(&a);
	assert_int_equal(ck_io_lock_dir(fd, path, 0, &b, NULL), CK_OK);
	ck_io_close(&b);
	assert_int_equal(unlinkat(fx->dirfd, "d", AT_REMOVEDIR), 0);
	assert_int_equal(ck_io_lock_dir(fd, path, 0, &b, NULL), CK_CHANGED);
	assert_int_equal(b, -1);
	ck_io_close(&fd);
}

static void
iso_dates_stay_inside_four_digit_years(void **state)
{
	char s[CK_CLOCK_ISO_SIZE];

	(void)state;
	ck_clock_iso(0, s);
	assert_string_equal(s, "1970-01-01T00:00:00Z");
	ck_clock_iso(INT64_MAX, s);
	assert_string_equal(s, "9999-12-31T23:59:59Z");
	ck_clock_iso(INT64_MIN, s);
	assert_string_equal(s, "0000-01-01T00:00:00Z");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_have_distinct_statuses),
		cmocka_unit_test(no_errno_means_absent),
		cmocka_unit_test(empty_secret_differs_from_none),
		cmocka_unit_test(secret_read_refuses_more_than_max),
		cmocka_unit_test(secret_read_returns_every_byte),
		cmocka_unit_test_setup_teardown(
		    secret_file_is_read_whole_or_not_at_all, setup, teardown),
		cmocka_unit_test(cursor_stops_at_the_end_and_stays),
		cmocka_unit_test(cursor_over_nothing_gives_nothing),
		cmocka_unit_test(shorter_span_sorts_first_when_equal),
		cmocka_unit_test(hex_refuses_odd_and_foreign_digits),
		cmocka_unit_test_setup_teardown(
		    canonical_resolves_links_and_keeps_missing_rest, setup,
		    teardown),
		cmocka_unit_test(under_compares_whole_components),
		cmocka_unit_test_setup_teardown(
		    file_judged_by_name_is_refused_as_if_opened, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    fifo_and_link_are_refused_without_waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    replace_sets_mode_and_leaves_no_temporary, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    second_lock_is_busy_within_its_bound, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    locked_directory_has_no_file_that_could_be_removed, setup,
		    teardown),
		cmocka_unit_test(
		    secret_descriptors_that_stall_are_left_in_time),
		cmocka_unit_test(
		    secret_descriptors_that_are_slow_are_waited_for),
		cmocka_unit_test(iso_dates_stay_inside_four_digit_years),
	};

	if (ck_secret_heap_init(1 << 20, NULL) != CK_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
