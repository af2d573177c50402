/* SPDX-License-Identifier: Apache-2.0 */
/* The records as a file: whose it is, what is in it, who holds it. */
#include "unit.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "help_records.h"
#include "records/records_int.h"

#define NOBODY 65534   /* somebody without root's privileges */

static void
make(struct help_records *fx)
{
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);

	help_records_fill(rec);
	ck_records_close(&rec);
}

static void
in_every_way_refused(struct help_records *fx, ck_err code)
{
	help_records_refused(fx, CK_REC_READ, code);
	help_records_refused(fx, CK_REC_WRITE, code);
	help_records_refused(fx, CK_REC_CREATE, code);
}

static void
new_records_are_0600_whatever_the_umask(void **state)
{
	static const mode_t masks[] = { 0, 022, 077, 0777 };
	struct help_records *fx = *state;
	struct ck_records *rec;
	struct stat st;
	mode_t old = umask(0);

	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		(void)umask(masks[i]);
		rec = help_records_open(fx, CK_REC_CREATE);
		help_records_fill(rec);
		ck_records_close(&rec);
		assert_int_equal(stat(fx->file, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		help_records_alone(fx);
		assert_int_equal(unlink(fx->file), 0);
	}
	(void)umask(old);
}

static void
leave(const struct help_records *fx, const char *name)
{
	int fd = openat(fx->dirfd, name, O_WRONLY | O_CREAT | O_EXCL |
	    O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "left", 4), 4);
	(void)close(fd);
}

static void
what_killed_processes_left_is_no_part_of_new_records(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec;

	leave(fx, CK_REC_FILE "-journal");
	leave(fx, CK_REC_FILE ".new-0000000000004711");
	rec = help_records_open(fx, CK_REC_CREATE);
	help_records_fill(rec);
	assert_int_equal(ck_records_check(rec, &fx->fail), CK_OK);
	ck_records_close(&rec);
	help_records_alone(fx);
}

static void
removed_records_are_gone_with_their_journal(void **state)
{
	struct help_records *fx = *state;

	make(fx);
	leave(fx, CK_REC_FILE "-journal");
	assert_int_equal(ck_records_remove(fx->dirfd, fx->dir, &fx->fail),
	    CK_OK);
	assert_int_equal(access(fx->file, F_OK), -1);
	assert_int_equal(faccessat(fx->dirfd, CK_REC_FILE "-journal", F_OK,
	    0), -1);
	/* Nothing to remove is fine. */
	assert_int_equal(ck_records_remove(fx->dirfd, fx->dir, &fx->fail),
	    CK_OK);
}

static void
file_that_is_not_ours_alone_is_refused(void **state)
{
	static const mode_t modes[] = { 0660, 0606, 0640, 0604, 0610 };
	struct help_records *fx = *state;
	char other[CK_PATH_MAX];

	make(fx);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(fx->file, modes[i]), 0);
		in_every_way_refused(fx, CK_REFUSED);
		assert_non_null(strstr(fx->fail.next, "chmod"));
	}
	assert_int_equal(chmod(fx->file, 0600), 0);
	assert_int_equal(ck_path_join(fx->dir, "other", other, NULL), CK_OK);
	assert_int_equal(link(fx->file, other), 0);
	in_every_way_refused(fx, CK_REFUSED);
	assert_int_equal(unlink(fx->file), 0);
	assert_int_equal(symlink(other, fx->file), 0);
	in_every_way_refused(fx, CK_REFUSED);
	assert_int_equal(unlink(fx->file), 0);
	assert_int_equal(symlink("/nowhere/at/all", fx->file), 0);
	in_every_way_refused(fx, CK_REFUSED);
	assert_int_equal(unlink(fx->file), 0);
	assert_int_equal(mkfifo(fx->file, 0600), 0);
	in_every_way_refused(fx, CK_REFUSED);
	assert_int_equal(unlink(fx->file), 0);
	assert_int_equal(mkdir(fx->file, 0700), 0);
	in_every_way_refused(fx, CK_REFUSED);
}

static void
somebody_elses_file_is_refused(void **state)
{
	struct help_records *fx = *state;

	if (geteuid() != 0) {
		print_message("SKIP: needs root to give a file away\n");
		skip();
	}
	make(fx);
	assert_int_equal(chown(fx->file, NOBODY, NOBODY), 0);
	in_every_way_refused(fx, CK_REFUSED);
}

static void
directory_that_is_not_the_checked_one_is_changed(void **state)
{
	struct help_records *fx = *state;
	int right = fx->dirfd;

	make(fx);
	fx->dirfd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fx->dirfd >= 0);
	in_every_way_refused(fx, CK_CHANGED);
	(void)close(fx->dirfd);
	fx->dirfd = right;
}

static void
foreign_newer_and_unknown_databases_are_told_apart(void **state)
{
	struct help_records *fx = *state;

	make(fx);
	assert_int_equal(help_records_sql(fx, "PRAGMA user_version = 2"),
	    SQLITE_OK);
	in_every_way_refused(fx, CK_UNSUPPORTED);
	assert_non_null(strstr(fx->fail.why, "newer"));
	assert_int_equal(help_records_sql(fx, "PRAGMA user_version = 0"),
	    SQLITE_OK);
	in_every_way_refused(fx, CK_DAMAGED);
	assert_int_equal(help_records_sql(fx, "PRAGMA user_version = 1;"
	    " PRAGMA application_id = 7"), SQLITE_OK);
	in_every_way_refused(fx, CK_REFUSED);
	assert_non_null(strstr(fx->fail.why, "another program"));
}

static void
wal_mode_is_refused_and_makes_no_files(void **state)
{
	struct help_records *fx = *state;

	make(fx);
	assert_int_equal(help_records_sql(fx, "PRAGMA journal_mode = WAL"),
	    SQLITE_OK);
	help_records_alone(fx);
	in_every_way_refused(fx, CK_REFUSED);
	assert_non_null(strstr(fx->fail.why, "WAL"));
	help_records_alone(fx);
}

static void
altered_schema_is_damaged_in_every_way(void **state)
{
	static const char *const alter[] = {
		"DROP TRIGGER precedence_delete",
		"CREATE TABLE zzz (x)",
		"CREATE TRIGGER aaa BEFORE DELETE ON seal BEGIN SELECT 1; END",
		"DROP VIEW reader_order",
		"CREATE INDEX i ON credential (name)",
		"PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql ="
		" (SELECT sql FROM sqlite_master WHERE name = 'seal')"
		" WHERE name = 'setting'",
		"PRAGMA writable_schema = ON; INSERT INTO sqlite_master"
		" SELECT type, 'sqlite_x', tbl_name, rootpage, 'CREATE INDEX"
		" sqlite_x ON store (kind, path)' FROM sqlite_master"
		" WHERE name = 'precedence_store'",
		"PRAGMA writable_schema = ON; INSERT INTO sqlite_master"
		" VALUES ('view', 'sqlite_schema', 'sqlite_schema', 0,"
		" 'CREATE VIEW sqlite_schema AS SELECT 1 AS name, 2 AS sql')"
	};
	struct help_records *fx = *state;

	for (size_t i = 0; i < sizeof(alter) / sizeof(alter[0]); i++) {
		make(fx);
		assert_int_equal(help_records_sql(fx, alter[i]), SQLITE_OK);
		in_every_way_refused(fx, CK_DAMAGED);
		assert_int_equal(unlink(fx->file), 0);
	}
}

/* A table that never ends would be a view; the schema tells before it is
 * asked. */
static void
endless_view_is_damaged_at_once(void **state)
{
	struct help_records *fx = *state;
	uint64_t t0;

	make(fx);
	assert_int_equal(help_records_sql(fx, "PRAGMA foreign_keys = OFF;"
	    "DROP TABLE credential; CREATE VIEW credential AS"
	    " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
	    " SELECT 'x' || i AS name, 's' AS service, 'a' AS account,"
	    " 'f' AS format, 'broker' AS state, i AS generation,"
	    " '' AS fingerprint FROM n"), SQLITE_OK);
	t0 = ck_clock_mono_ms();
	in_every_way_refused(fx, CK_DAMAGED);
	assert_true(ck_clock_mono_ms() - t0 < 3000);
}

static void
schema_altered_while_open_is_noticed(void **state)
{
	struct help_records *fx = *state;
	struct ck_rec_credential row = { .generation = 42 };
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);

	help_records_fill(rec);
	assert_int_equal(ck_records_credential_get(rec, "operator", &row,
	    NULL), CK_OK);
	assert_int_equal(help_records_sql(fx,
	    "CREATE INDEX i ON credential (name, generation)"), SQLITE_OK);
	row.generation = 42;
	assert_int_equal(ck_records_credential_get(rec, "operator", &row,
	    &fx->fail), CK_CHANGED);
	assert_int_equal(row.generation, 42);
	ck_records_close(&rec);
}

/* Larger than anything that is ever written, with the schema left whole. */
static void
overlong_value_is_damaged_and_not_loaded(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec;
	char value[64] = "as it was";

	make(fx);
	assert_int_equal(help_records_sql(fx,
	    "PRAGMA ignore_check_constraints = ON; INSERT INTO setting"
	    " VALUES ('x', hex(zeroblob(1000000)))"), SQLITE_OK);
	rec = help_records_open(fx, CK_REC_READ);
	assert_int_equal(ck_records_setting_get(rec, "x", value,
	    sizeof(value), &fx->fail), CK_DAMAGED);
	assert_string_equal(value, "as it was");
	ck_records_close(&rec);
}

static void
statement_ends_when_its_time_is_over(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec;
	char *said = NULL;
	int rc;

	make(fx);
	rec = help_records_open(fx, CK_REC_READ);
	rec->until = ck_clock_mono_ms() + 50;
	rc = sqlite3_exec(rec->db, "WITH RECURSIVE n (i) AS (SELECT 1"
	    " UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", NULL,
	    NULL, &said);
	assert_int_equal(rc, SQLITE_INTERRUPT);
	sqlite3_free(said);
	assert_int_equal(ck_rec_fail(rec->db, rec->path, rc, "read",
	    &fx->fail), CK_BUSY);
	assert_non_null(strstr(fx->fail.why, "15 seconds"));
	ck_records_close(&rec);
}

static uint8_t *
load(struct help_records *fx, size_t *ret_n)
{
	int fd = open(fx->file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *p;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	p = malloc((size_t)st.st_size);
	assert_non_null(p);
	assert_int_equal(read(fd, p, (size_t)st.st_size), st.st_size);
	(void)close(fd);
	*ret_n = (size_t)st.st_size;
	return p;
}

static void
store_bytes(struct help_records *fx, const uint8_t *p, size_t n)
{
	int fd = open(fx->file, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), (ssize_t)n);
	(void)close(fd);
}

/* Not even CREATE takes any of these for a beginning. */
static void
empty_short_and_zeroed_files_are_damaged(void **state)
{
	struct help_records *fx = *state;
	uint8_t *p, *zero;
	size_t n = 0;

	make(fx);
	p = load(fx, &n);
	for (size_t keep = 0; keep < n; keep += keep < 100 ? 33 : 4096) {
		store_bytes(fx, p, keep);
		in_every_way_refused(fx, CK_DAMAGED);
		assert_non_null(strstr(fx->fail.why, "records damaged"));
		assert_non_null(strstr(fx->fail.next, "backup"));
	}
	store_bytes(fx, p, n - 1);
	in_every_way_refused(fx, CK_DAMAGED);
	zero = calloc(1, n);
	assert_non_null(zero);
	store_bytes(fx, zero, n);
	in_every_way_refused(fx, CK_DAMAGED);
	free(zero);
	free(p);
	help_records_alone(fx);
}

static ck_err
judge_all(struct help_records *fx)
{
	struct ck_records *rec = NULL;
	ck_err r = ck_records_open(fx->dirfd, fx->dir, CK_REC_READ, &rec,
	    &fx->fail);

	if (r == CK_OK)
		r = ck_records_check(rec, &fx->fail);
	ck_records_close(&rec);
	return r;
}

static void
every_overwritten_page_is_damage(void **state)
{
	struct help_records *fx = *state;
	size_t n = 0;
	uint8_t *p, *bad;

	make(fx);
	p = load(fx, &n);
	bad = malloc(n);
	assert_non_null(bad);
	for (size_t page = 0; page < n; page += 4096) {
		memcpy(bad, p, n);
		memset(bad + page + (page == 0 ? 100 : 0), 0xff, 512);
		store_bytes(fx, bad, n);
		assert_int_equal(judge_all(fx), CK_DAMAGED);
	}
	free(bad);
	free(p);
}

/* A flipped bit is found or does not matter, and never looks like absent. */
static void
no_flipped_byte_looks_absent(void **state)
{
	struct help_records *fx = *state;
	size_t n = 0;
	uint8_t *p;
	ck_err r;

	make(fx);
	p = load(fx, &n);
	for (size_t i = 0; i < n; i += i < 120 ? 1 : 197) {
		p[i] ^= 0x41;
		store_bytes(fx, p, n);
		p[i] ^= 0x41;
		r = judge_all(fx);
		if (r != CK_OK && r != CK_DAMAGED && r != CK_REFUSED &&
		    r != CK_UNSUPPORTED)
			fail_msg("byte %zu: %s: %s", i, ck_err_code(r),
			    fx->fail.why);
	}
	free(p);
	help_records_alone(fx);
}

/* Changes that are on their way to the file when the process ends. */
static int
die_while_writing(struct help_records *fx)
{
	sqlite3 *db = NULL;

	HELP_CHECK(sqlite3_open(fx->file, &db) == SQLITE_OK);
	HELP_CHECK(sqlite3_exec(db, "PRAGMA cache_size = 1; BEGIN IMMEDIATE;"
	    " UPDATE store SET inode = 99; WITH n(i) AS (SELECT 1 UNION ALL"
	    " SELECT i + 1 FROM n WHERE i < 3000)"
	    " INSERT INTO setting SELECT 's' || i, hex(zeroblob(200))"
	    " FROM n", NULL, NULL, NULL) == SQLITE_OK);
	return 0;
}

static void
change_cut_short_is_read_only_to_readers_and_undone_by_recover(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec;
	struct ck_rec_store s;
	char journal[CK_PATH_MAX + 16];

	make(fx);
	assert_int_equal(help_records_child(die_while_writing, fx), 0);
	(void)snprintf(journal, sizeof(journal), "%s-journal", fx->file);
	assert_int_equal(access(journal, F_OK), 0);
	help_records_refused(fx, CK_REC_READ, CK_READONLY);
	assert_non_null(strstr(fx->fail.why, "cut short"));
	assert_int_equal(access(journal, F_OK), 0);

	assert_int_equal(ck_records_recover(fx->dirfd, fx->dir, &fx->fail),
	    CK_OK);
	help_records_alone(fx);
	rec = help_records_open(fx, CK_REC_READ);
	assert_int_equal(ck_records_check(rec, &fx->fail), CK_OK);
	assert_int_equal(ck_records_store_get(rec, 1, &s, &fx->fail), CK_OK);
	assert_int_equal(s.inode, 2);
	ck_records_close(&rec);
	assert_int_equal(ck_records_recover(fx->dirfd, fx->dir, &fx->fail),
	    CK_OK);
}

static int
become_nobody(void)
{
	return geteuid() != 0 ||
	    (setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 &&
	    setuid(NOBODY) == 0) ? 0 : 1;
}

static int
read_but_not_write(struct help_records *fx)
{
	struct ck_records *rec = NULL;
	struct ck_rec_credential c;
	ck_err r;

	HELP_CHECK(become_nobody() == 0);
	HELP_CHECK(ck_records_open(fx->dirfd, fx->dir, CK_REC_READ, &rec,
	    &fx->fail) == CK_OK);
	HELP_CHECK(ck_records_begin(rec, &fx->fail) == CK_OK);
	HELP_CHECK(ck_records_credential_get(rec, "operator", &c,
	    &fx->fail) == CK_OK);
	HELP_CHECK(ck_records_check(rec, &fx->fail) == CK_OK);
	HELP_CHECK(ck_records_commit(rec, &fx->fail) == CK_OK);
	HELP_CHECK(ck_records_event(rec, "e", "", &fx->fail) ==
	    CK_READONLY);
	ck_records_close(&rec);

	r = ck_records_open(fx->dirfd, fx->dir, CK_REC_WRITE, &rec,
	    &fx->fail);
	if (r == CK_OK)
		r = ck_records_event(rec, "e", "", &fx->fail);
	HELP_CHECK(r == CK_READONLY || r == CK_DENIED);
	ck_records_close(&rec);
	return 0;
}

static void
in_a_read_only_directory_reading_works_and_writing_is_typed(void **state)
{
	struct help_records *fx = *state;
	char *before, *after;

	make(fx);
	before = help_records_dump(fx);
	if (geteuid() == 0) {
		assert_int_equal(chown(fx->dir, NOBODY, NOBODY), 0);
		assert_int_equal(chown(fx->file, NOBODY, NOBODY), 0);
	}
	assert_int_equal(chmod(fx->dir, 0500), 0);
	assert_int_equal(help_records_child(read_but_not_write, fx), 0);
	help_records_alone(fx);
	assert_int_equal(chmod(fx->file, 0400), 0);
	assert_int_equal(help_records_child(read_but_not_write, fx), 0);
	help_records_alone(fx);
	if (geteuid() == 0)
		assert_int_equal(chown(fx->file, 0, 0), 0);
	after = help_records_dump(fx);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, help_records_setup,       \
	    help_records_teardown)
	const struct CMUnitTest tests[] = {
		CASE(new_records_are_0600_whatever_the_umask),
		CASE(what_killed_processes_left_is_no_part_of_new_records),
		CASE(removed_records_are_gone_with_their_journal),
		CASE(file_that_is_not_ours_alone_is_refused),
		CASE(somebody_elses_file_is_refused),
		CASE(directory_that_is_not_the_checked_one_is_changed),
		CASE(foreign_newer_and_unknown_databases_are_told_apart),
		CASE(wal_mode_is_refused_and_makes_no_files),
		CASE(altered_schema_is_damaged_in_every_way),
		CASE(endless_view_is_damaged_at_once),
		CASE(schema_altered_while_open_is_noticed),
		CASE(overlong_value_is_damaged_and_not_loaded),
		CASE(statement_ends_when_its_time_is_over),
		CASE(empty_short_and_zeroed_files_are_damaged),
		CASE(every_overwritten_page_is_damage),
		CASE(no_flipped_byte_looks_absent),
		CASE(change_cut_short_is_read_only_to_readers_and_undone_by_recover),
		CASE(in_a_read_only_directory_reading_works_and_writing_is_typed)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
