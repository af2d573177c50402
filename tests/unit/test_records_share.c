/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes with the same records: waiting, dying, writing at once. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "help_records.h"

#define EACH 40       /* events of each writer */

static void
make(struct help_records *fx)
{
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);

	help_records_fill(rec);
	ck_records_close(&rec);
}

static int
hold(struct help_records *fx, const char *how)
{
	sqlite3 *db = NULL;

	HELP_CHECK(sqlite3_open(fx->file, &db) == SQLITE_OK);
	HELP_CHECK(sqlite3_exec(db, how, NULL, NULL, NULL) == SQLITE_OK);
	return 0;   /* and keeps it until it is killed */
}

static int
hold_exclusively(struct help_records *fx)
{
	return hold(fx, "BEGIN EXCLUSIVE");
}

static int
hold_for_writing(struct help_records *fx)
{
	return hold(fx, "BEGIN IMMEDIATE;"
	    " UPDATE principal SET honours = 'no'");
}

static void
exclusive_holder_makes_readers_busy_within_the_bound(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec;
	uint64_t start, took;
	pid_t pid;

	make(fx);
	pid = help_records_holder(hold_exclusively, fx);
	start = ck_clock_mono_ms();
	help_records_refused(fx, CK_REC_READ, CK_BUSY);
	took = ck_clock_mono_ms() - start;
	assert_true(took >= CK_REC_WAIT_MS - 1000);
	assert_true(took < CK_REC_WAIT_MS + 2000);
	/* A lock dies with its process. */
	help_records_kill(pid);
	start = ck_clock_mono_ms();
	rec = help_records_open(fx, CK_REC_READ);
	assert_true(ck_clock_mono_ms() - start < 1000);
	ck_records_close(&rec);
	help_records_alone(fx);
}

static void
writing_holder_lets_readers_in_and_makes_writers_busy(void **state)
{
	struct help_records *fx = *state;
	struct ck_rec_principal p;
	struct ck_records *rec;
	uint64_t start;
	pid_t pid;

	make(fx);
	pid = help_records_holder(hold_for_writing, fx);
	start = ck_clock_mono_ms();
	rec = help_records_open(fx, CK_REC_READ);
	assert_int_equal(ck_records_principal_get(rec, "tui", &p, &fx->fail),
	    CK_OK);
	assert_string_equal(p.honours, "unknown");
	assert_true(ck_clock_mono_ms() - start < 1000);
	ck_records_close(&rec);
	rec = help_records_open(fx, CK_REC_WRITE);
	assert_int_equal(ck_records_begin(rec, &fx->fail), CK_BUSY);
	assert_true(fx->fail.next[0] != '\0');
	assert_true(ck_clock_mono_ms() - start < CK_REC_WAIT_MS + 3000);
	help_records_kill(pid);
	assert_int_equal(ck_records_begin(rec, &fx->fail), CK_OK);
	assert_int_equal(ck_records_commit(rec, &fx->fail), CK_OK);
	assert_int_equal(ck_records_principal_get(rec, "tui", &p, &fx->fail),
	    CK_OK);
	assert_string_equal(p.honours, "unknown");
	ck_records_close(&rec);
}

/* A snapshot does not change under its reader. */
static int
write_one(struct help_records *fx)
{
	struct ck_records *rec = NULL;

	HELP_CHECK(ck_records_open(fx->dirfd, fx->dir, CK_REC_WRITE, &rec,
	    &fx->fail) == CK_OK);
	HELP_CHECK(ck_records_event(rec, "one", "", &fx->fail) == CK_OK);
	ck_records_close(&rec);
	return 0;
}

static int
write_one_busy(struct help_records *fx)
{
	struct ck_records *rec = NULL;

	HELP_CHECK(ck_records_open(fx->dirfd, fx->dir, CK_REC_WRITE, &rec,
	    &fx->fail) == CK_OK);
	HELP_CHECK(ck_records_event(rec, "one", "", &fx->fail) == CK_BUSY);
	ck_records_close(&rec);
	return 0;
}

static ck_err
count_event(void *arg, const struct ck_rec_event *e)
{
	(void)e;
	++*(int *)arg;
	return CK_OK;
}

static void
reader_in_a_transaction_has_a_snapshot(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec;
	int n = 0;

	make(fx);
	rec = help_records_open(fx, CK_REC_READ);
	assert_int_equal(ck_records_begin(rec, &fx->fail), CK_OK);
	assert_int_equal(ck_records_event_each(rec, count_event, &n,
	    &fx->fail), CK_OK);
	assert_int_equal(help_records_child(write_one_busy, fx), 0);
	assert_int_equal(ck_records_event_each(rec, count_event, &n,
	    &fx->fail), CK_OK);
	assert_int_equal(n, 0);
	assert_int_equal(ck_records_commit(rec, &fx->fail), CK_OK);
	assert_int_equal(help_records_child(write_one, fx), 0);
	assert_int_equal(ck_records_event_each(rec, count_event, &n,
	    &fx->fail), CK_OK);
	assert_int_equal(n, 1);
	ck_records_close(&rec);
	help_records_alone(fx);
}

static int
write_many(struct help_records *fx)
{
	struct ck_records *rec = NULL;

	HELP_CHECK(ck_records_open(fx->dirfd, fx->dir, CK_REC_WRITE, &rec,
	    &fx->fail) == CK_OK);
	for (int i = 0; i < EACH; i++)
		HELP_CHECK(ck_records_event(rec, "write", "many",
		    &fx->fail) == CK_OK);
	ck_records_close(&rec);
	return 0;
}

static void
two_writers_at_once_lose_nothing(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec;
	int status = 0, n = 0;
	pid_t pid[2];

	make(fx);
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i] == 0)
			_exit(write_many(fx));
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	rec = help_records_open(fx, CK_REC_READ);
	assert_int_equal(ck_records_check(rec, &fx->fail), CK_OK);
	assert_int_equal(ck_records_event_each(rec, count_event, &n,
	    &fx->fail), CK_OK);
	assert_int_equal(n, 2 * EACH);
	ck_records_close(&rec);
	help_records_alone(fx);
}

static int
create_one(struct help_records *fx)
{
	struct ck_records *rec = NULL;
	int lock = open(fx->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	HELP_CHECK(lock >= 0 && flock(lock, LOCK_EX) == 0);
	HELP_CHECK(ck_records_open(fx->dirfd, fx->dir, CK_REC_CREATE, &rec,
	    &fx->fail) == CK_OK);
	(void)close(lock);
	HELP_CHECK(ck_records_event(rec, "made", "", &fx->fail) == CK_OK);
	ck_records_close(&rec);
	return 0;
}

/* Under the lock that creating asks for, nobody's rows are lost. */
static void
several_creators_make_one_file(void **state)
{
	struct help_records *fx = *state;
	int status = 0;
	pid_t pid[4];

	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 4; i++) {
			pid[i] = fork();
			assert_true(pid[i] >= 0);
			if (pid[i] == 0)
				_exit(create_one(fx));
		}
		for (int i = 0; i < 4; i++) {
			assert_int_equal(waitpid(pid[i], &status, 0),
			    pid[i]);
			assert_int_equal(WEXITSTATUS(status), 0);
		}
		assert_int_equal(help_records_count(fx,
		    "SELECT count(*) FROM event"), 4);
		help_records_alone(fx);
		assert_int_equal(unlink(fx->file), 0);
	}
}

/* Two rows that are the same at every commit. */
static int
write_pairs(struct help_records *fx)
{
	struct ck_records *rec = NULL;
	char value[16];

	HELP_CHECK(ck_records_open(fx->dirfd, fx->dir, CK_REC_WRITE, &rec,
	    &fx->fail) == CK_OK);
	for (int i = 0;; i++) {
		(void)snprintf(value, sizeof(value), "%d", i);
		HELP_CHECK(ck_records_begin(rec, NULL) == CK_OK);
		HELP_CHECK(ck_records_setting_put(rec, "a", value, NULL) ==
		    CK_OK);
		HELP_CHECK(ck_records_event(rec, "pair", value, NULL) ==
		    CK_OK);
		HELP_CHECK(ck_records_setting_put(rec, "b", value, NULL) ==
		    CK_OK);
		HELP_CHECK(ck_records_commit(rec, NULL) == CK_OK);
	}
}

static void
writer_killed_at_any_time_leaves_whole_transactions(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec;
	struct timespec pause = { 0, 0 };
	pid_t pid;

	make(fx);
	for (int i = 0; i < 25; i++) {
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			_exit(write_pairs(fx));
		pause.tv_nsec = 20000000L + i * 1370000L;
		(void)nanosleep(&pause, NULL);
		help_records_kill(pid);
		assert_int_equal(ck_records_recover(fx->dirfd, fx->dir,
		    &fx->fail), CK_OK);
		help_records_alone(fx);
		rec = help_records_open(fx, CK_REC_READ);
		assert_int_equal(ck_records_check(rec, &fx->fail), CK_OK);
		ck_records_close(&rec);
		assert_int_equal(help_records_count(fx, "SELECT count(*)"
		    " FROM setting a JOIN setting b ON a.name = 'a'"
		    " AND b.name = 'b' AND a.value <> b.value"), 0);
	}
	assert_true(help_records_count(fx, "SELECT count(*) FROM event") > 0);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, help_records_setup,       \
	    help_records_teardown)
	const struct CMUnitTest tests[] = {
		CASE(exclusive_holder_makes_readers_busy_within_the_bound),
		CASE(writing_holder_lets_readers_in_and_makes_writers_busy),
		CASE(reader_in_a_transaction_has_a_snapshot),
		CASE(two_writers_at_once_lose_nothing),
		CASE(several_creators_make_one_file),
		CASE(writer_killed_at_any_time_leaves_whole_transactions)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
