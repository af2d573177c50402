/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory, files and disk space that fail at every possible point: a call
 * that fails says why and leaves the records as they were.
 */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "help_records.h"
#include "help_vfs.h"
#include "records/records_int.h"

/* Whatever SQLite says, it never says that something is absent. */
static void
result_codes_have_their_own_words(void **state)
{
	static const struct {
		int rc, sys;
		ck_err want;
	} list[] = {
		{ SQLITE_OK, 0, CK_OK },
		{ SQLITE_BUSY, 0, CK_BUSY },
		{ SQLITE_BUSY_RECOVERY, 0, CK_BUSY },
		{ SQLITE_LOCKED, 0, CK_BUSY },
		{ SQLITE_NOMEM, 0, CK_NOMEM },
		{ SQLITE_IOERR_NOMEM, EIO, CK_NOMEM },
		{ SQLITE_READONLY, 0, CK_READONLY },
		{ SQLITE_READONLY_ROLLBACK, 0, CK_READONLY },
		{ SQLITE_READONLY_DBMOVED, 0, CK_CHANGED },
		{ SQLITE_CORRUPT, 0, CK_DAMAGED },
		{ SQLITE_CORRUPT_INDEX, 0, CK_DAMAGED },
		{ SQLITE_NOTADB, 0, CK_DAMAGED },
		/* What SQLite makes of EIO. */
		{ SQLITE_IOERR_CORRUPTFS, 0, CK_IO },
		{ SQLITE_FULL, 0, CK_NOSPACE },
		{ SQLITE_IOERR_WRITE, ENOSPC, CK_NOSPACE },
		{ SQLITE_IOERR_WRITE, EFBIG, CK_NOSPACE },
		{ SQLITE_IOERR_WRITE, EROFS, CK_READONLY },
		{ SQLITE_IOERR_WRITE, EIO, CK_IO },
		{ SQLITE_IOERR_SHORT_READ, 0, CK_IO },
		{ SQLITE_CANTOPEN, EACCES, CK_DENIED },
		{ SQLITE_CANTOPEN, ENOENT, CK_IO },
		{ SQLITE_CANTOPEN_SYMLINK, 0, CK_REFUSED },
		{ SQLITE_CONSTRAINT_TRIGGER, 0, CK_REFUSED },
		{ SQLITE_PERM, 0, CK_DENIED },
		{ SQLITE_NOLFS, 0, CK_UNSUPPORTED },
		{ SQLITE_MISUSE, 0, CK_INTERNAL },
		{ 99, 0, CK_INTERNAL }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		assert_int_equal(ck_rec_map(list[i].rc, list[i].sys),
		    list[i].want);
	for (int rc = 0; rc < 256 * 64; rc++) {
		for (int sys = 0; sys < 200; sys++) {
			ck_err r = ck_rec_map(rc, sys);

			assert_true(r != CK_ABSENT && r != CK_NOSTORE &&
			    r != CK_NO);
		}
	}
}

static void
make(struct help_records *fx)
{
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_rec_credential c;

	help_records_fill(rec);
	assert_int_equal(ck_records_credential_get(rec, "operator", &c,
	    NULL), CK_OK);
	c.state = CK_STATE_MIGRATING;
	assert_int_equal(ck_records_credential_put(rec, &c, NULL), CK_OK);
	ck_records_close(&rec);
}

/* What migrate does in its one transaction, and more. */
static ck_err
change(struct ck_records *rec, struct ck_fail *fail)
{
	static const struct ck_rec_protected path = {
		"/home/u/.clankie-keys", true, true, "custody" };
	static const struct ck_rec_journal journal = { .operation = "migrate",
	    .nonce = "0123456789abcdef0123456789abcdef" };
	static const uint8_t mac[CK_REC_MAC_SIZE] = { 1 };
	struct ck_rec_credential c;
	ck_err r;

	if ((r = ck_records_begin(rec, fail)) != CK_OK)
		return r;
	if ((r = ck_records_journal_open(rec, &journal, fail)) != CK_OK)
		goto out;
	if ((r = ck_records_precedence_dedicated(rec, "operator", 2, 1,
	    fail)) != CK_OK)
		goto out;
	if ((r = ck_records_credential_get(rec, "operator", &c,
	    fail)) != CK_OK)
		goto out;
	c.state = CK_STATE_DEDICATED;
	if ((r = ck_records_credential_put(rec, &c, fail)) != CK_OK)
		goto out;
	if ((r = ck_records_protected_add(rec, &path, fail)) != CK_OK)
		goto out;
	if ((r = ck_records_setting_put(rec, "worker.sandbox", "on",
	    fail)) != CK_OK)
		goto out;
	if ((r = ck_records_seal_put(rec, 1, mac, fail)) != CK_OK)
		goto out;
	if ((r = ck_records_event(rec, "migrated", "operator",
	    fail)) != CK_OK)
		goto out;
	r = ck_records_commit(rec, fail);
out:
	ck_records_rollback(rec);
	return r;
}

static ck_err
open_and_change(struct help_records *fx)
{
	struct ck_records *rec = NULL;
	ck_err r = ck_records_open(fx->dirfd, fx->dir, CK_REC_WRITE, &rec,
	    &fx->fail);

	if (r == CK_OK)
		r = change(rec, &fx->fail);
	ck_records_close(&rec);
	return r;
}

static void
unchanged(struct help_records *fx, const char *before)
{
	char *after = help_records_dump(fx);

	assert_string_equal(before, after);
	free(after);
	help_records_alone(fx);
}

/* Every request while the statements are prepared, then every eleventh. */
static void
change_without_memory_changes_nothing(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec;
	unsigned long n = 1;
	char *before;
	ck_err r;

	make(fx);
	before = help_records_dump(fx);
	for (;; n += n < 200 ? 1 : 11) {
		rec = help_records_open(fx, CK_REC_WRITE);
		help_memory_fail(n);
		r = change(rec, &fx->fail);
		help_memory_fail(0);
		ck_records_close(&rec);
		if (r == CK_OK)
			break;
		assert_int_equal(r, CK_NOMEM);
		assert_int_equal(fx->fail.code, CK_NOMEM);
		assert_true(help_memory_fired());
		unchanged(fx, before);
	}
	/* It ran out of requests and not of luck. */
	assert_true(n > 100);
	free(before);
}

static void
open_without_memory_opens_nothing(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec;
	unsigned long n = 1;
	ck_err r;

	make(fx);
	for (;; n += 3) {
		rec = NULL;
		help_memory_fail(n);
		r = ck_records_open(fx->dirfd, fx->dir, CK_REC_WRITE, &rec,
		    &fx->fail);
		help_memory_fail(0);
		if (r == CK_OK)
			break;
		assert_int_equal(r, CK_NOMEM);
		assert_null(rec);
	}
	ck_records_close(&rec);
	assert_true(n > 100);
}

static void
read_without_memory_leaves_the_output(void **state)
{
	struct help_records *fx = *state;
	struct ck_rec_credential c, was;
	struct ck_records *rec = NULL;
	unsigned long n = 1;
	ck_err r;

	make(fx);
	memset(&c, 'x', sizeof(c));
	was = c;
	for (;; n++) {
		help_memory_fail(n);
		r = ck_records_open(fx->dirfd, fx->dir, CK_REC_READ, &rec,
		    &fx->fail);
		if (r == CK_OK)
			r = ck_records_credential_get(rec, "operator", &c,
			    &fx->fail);
		help_memory_fail(0);
		ck_records_close(&rec);
		if (r == CK_OK)
			break;
		assert_int_equal(r, CK_NOMEM);
		assert_memory_equal(&c, &was, sizeof(c));
	}
	assert_string_equal(c.name, "operator");
	assert_true(n > 20);
}

static void
create_without_memory_leaves_no_file(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = NULL;
	struct stat st;
	unsigned long n = 1;
	ck_err r;

	for (;; n += 31) {
		help_memory_fail(n);
		r = ck_records_open(fx->dirfd, fx->dir, CK_REC_CREATE, &rec,
		    &fx->fail);
		help_memory_fail(0);
		if (r == CK_OK)
			break;
		assert_int_equal(r, CK_NOMEM);
		help_records_alone(fx);
		/* All of it or nothing: a later fault comes after the
		 * renaming. */
		if (stat(fx->file, &st) == 0) {
			rec = help_records_open(fx, CK_REC_READ);
			assert_int_equal(ck_records_check(rec, &fx->fail),
			    CK_OK);
			ck_records_close(&rec);
			assert_int_equal(unlink(fx->file), 0);
		}
	}
	ck_records_close(&rec);
}

/* Each write, sync, truncation, deletion, opening: once, and from then on. */
static void
every_failing_write_changes_nothing(void **state)
{
	static const struct {
		int rc;
		ck_err want;
	} kinds[] = {
		{ SQLITE_FULL, CK_NOSPACE },
		{ SQLITE_IOERR_WRITE, CK_IO }
	};
	struct help_records *fx = *state;
	char *before, *old;
	size_t done = 0;
	ck_err r;

	make(fx);
	before = help_records_dump(fx);
	for (unsigned int i = 0; i < 4; i++) {
		for (unsigned long n = 1;; n++) {
			help_file_fail(n, kinds[i / 2].rc, i % 2 == 1);
			r = open_and_change(fx);
			help_file_fail(0, 0, false);
			if (r == CK_OK)
				break;
			assert_true(help_file_fired());
			if (r != CK_DENIED && r != CK_IO)
				assert_int_equal(r, kinds[i / 2].want);
			/* What could not be undone at once is undone by the
			 * next one who writes. */
			assert_int_equal(ck_records_recover(fx->dirfd,
			    fx->dir, &fx->fail), CK_OK);
			unchanged(fx, before);
			done++;
		}
		old = before;
		assert_int_equal(unlink(fx->file), 0);
		make(fx);
		before = help_records_dump(fx);
		free(old);
	}
	assert_true(done > 40);
	free(before);
}

static void
every_failing_read_is_typed_and_changes_nothing(void **state)
{
	static const struct {
		int rc;
		ck_err want;
	} kinds[] = {
		{ SQLITE_IOERR_READ, CK_IO },
		{ SQLITE_IOERR_CORRUPTFS, CK_IO }
	};
	struct help_records *fx = *state;
	char *before;
	ck_err r;

	make(fx);
	before = help_records_dump(fx);
	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned long n = 1;; n++) {
			help_read_fail(n, kinds[i].rc);
			r = open_and_change(fx);
			help_read_fail(0, 0);
			if (r == CK_OK)
				break;
			assert_int_equal(r, kinds[i].want);
			unchanged(fx, before);
		}
		assert_int_equal(unlink(fx->file), 0);
		make(fx);
	}
	free(before);
}

/* No byte more than the file has now: the disk is full. */
static int
change_on_a_full_disk(struct help_records *fx)
{
	struct ck_records *rec = NULL;
	struct rlimit limit;
	struct stat st;
	char value[1000];
	ck_err r = CK_OK;

	HELP_CHECK(stat(fx->file, &st) == 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	limit.rlim_cur = limit.rlim_max = (rlim_t)st.st_size;
	HELP_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	memset(value, 'v', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	HELP_CHECK(ck_records_open(fx->dirfd, fx->dir, CK_REC_WRITE, &rec,
	    &fx->fail) == CK_OK);
	HELP_CHECK(ck_records_begin(rec, &fx->fail) == CK_OK);
	for (int i = 0; i < 200 && r == CK_OK; i++)
		r = ck_records_event(rec, "fill", value, &fx->fail);
	if (r == CK_OK)
		r = ck_records_commit(rec, &fx->fail);
	ck_records_rollback(rec);
	HELP_CHECK(r == CK_NOSPACE);
	HELP_CHECK(strstr(fx->fail.next, "space") != NULL);
	/* What fits still works. */
	HELP_CHECK(ck_records_principal_honours(rec, "tui", "unknown",
	    &fx->fail) == CK_OK);
	ck_records_close(&rec);
	return 0;
}

static int
create_on_a_full_disk(struct help_records *fx)
{
	struct rlimit limit = { 4096, 4096 };
	struct ck_records *rec = NULL;

	(void)signal(SIGXFSZ, SIG_IGN);
	HELP_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	HELP_CHECK(ck_records_open(fx->dirfd, fx->dir, CK_REC_CREATE, &rec,
	    &fx->fail) == CK_NOSPACE);
	HELP_CHECK(access(fx->file, F_OK) != 0);
	return 0;
}

static void
full_disk_is_no_space_and_changes_nothing(void **state)
{
	struct help_records *fx = *state;
	char *before;

	assert_int_equal(help_records_child(create_on_a_full_disk, fx), 0);
	help_records_alone(fx);
	make(fx);
	before = help_records_dump(fx);
	assert_int_equal(help_records_child(change_on_a_full_disk, fx), 0);
	unchanged(fx, before);
	free(before);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, help_records_setup,       \
	    help_records_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(result_codes_have_their_own_words),
		CASE(change_without_memory_changes_nothing),
		CASE(open_without_memory_opens_nothing),
		CASE(read_without_memory_leaves_the_output),
		CASE(create_without_memory_leaves_no_file),
		CASE(every_failing_write_changes_nothing),
		CASE(every_failing_read_is_typed_and_changes_nothing),
		CASE(full_disk_is_no_space_and_changes_nothing)
	};

	help_vfs_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
