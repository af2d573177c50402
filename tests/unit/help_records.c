/* SPDX-License-Identifier: Apache-2.0 */
/* See help_records.h. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "help_records.h"

int
help_records_setup(void **state)
{
	struct help_records *fx = calloc(1, sizeof(*fx));
	char temp[] = "/tmp/ck-records-XXXXXX";

	*state = fx;
	if (fx == NULL || mkdtemp(temp) == NULL ||
	    ck_path_canonical(temp, fx->dir, NULL) != CK_OK ||
	    ck_path_join(fx->dir, CK_REC_FILE, fx->file, NULL) != CK_OK)
		return -1;
	fx->dirfd = open(fx->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fx->dirfd < 0;
}

int
help_records_teardown(void **state)
{
	struct help_records *fx = *state;
	char cmd[CK_PATH_MAX + 16];

	(void)close(fx->dirfd);
	(void)chmod(fx->dir, 0700);
	(void)snprintf(cmd, sizeof(cmd), "rm -rf '%s'", fx->dir);
	if (system(cmd) != 0)
		return -1;
	free(fx);
	return 0;
}

struct ck_records *
help_records_open(struct help_records *fx, enum ck_rec_how how)
{
	struct ck_records *rec = NULL;
	ck_err r = ck_records_open(fx->dirfd, fx->dir, how, &rec, &fx->fail);

	if (r != CK_OK)
		print_error("%s: %s\n", fx->fail.place, fx->fail.why);
	assert_int_equal(r, CK_OK);
	assert_non_null(rec);
	return rec;
}

void
help_records_refused(struct help_records *fx, enum ck_rec_how how,
    ck_err code)
{
	struct ck_records *rec = NULL;
	ck_err r;

	memset(&fx->fail, 0, sizeof(fx->fail));
	r = ck_records_open(fx->dirfd, fx->dir, how, &rec, &fx->fail);
	if (r != code)
		print_error("%s: %s: %s\n", ck_err_code(r), fx->fail.place,
		    fx->fail.why);
	assert_int_equal(r, code);
	assert_null(rec);
	assert_int_equal(fx->fail.code, code);
	assert_true(fx->fail.why[0] != '\0');
	assert_true(fx->fail.place[0] == '/');
}

sqlite3 *
help_records_raw(struct help_records *fx)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open_v2(fx->file, &db,
	    SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	return db;
}

int
help_records_sql(struct help_records *fx, const char *sql)
{
	sqlite3 *db = help_records_raw(fx);
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);

	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return rc;
}

int
help_records_edit(struct help_records *fx, const char *sql)
{
	sqlite3 *db = help_records_raw(fx);
	int rc, on = 1;

	assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER,
	    0, &on), SQLITE_OK);
	assert_int_equal(on, 0);
	rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return rc;
}

long long
help_records_count(struct help_records *fx, const char *sql)
{
	sqlite3 *db = help_records_raw(fx);
	sqlite3_stmt *stmt = NULL;
	long long n = -1;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL),
	    SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return n;
}

static const struct ck_rec_credential operator = {
	.name = "operator",
	.service = "bot.clankie.credentials",
	.account = "clankie_operator",
	.format = "api-json",
	.state = CK_STATE_BROKER,
	.generation = 1
};

void
help_records_fill(struct ck_records *rec)
{
	struct ck_rec_store broker = { 0, CK_KIND_FILE_BROKER,
	    "/home/u/.config/broker.json", 1, 2 };
	struct ck_rec_store dedicated = { 0, CK_KIND_DEDICATED,
	    "/home/u/.clankie-keys/operator/operator.keychain-db", 3, 4 };
	int64_t id = 0;

	assert_int_equal(ck_records_credential_put(rec, &operator, NULL),
	    CK_OK);
	assert_int_equal(ck_records_store_put(rec, &broker, &id, NULL),
	    CK_OK);
	assert_int_equal(id, 1);
	assert_int_equal(ck_records_store_put(rec, &dedicated, &id, NULL),
	    CK_OK);
	assert_int_equal(id, 2);
	assert_int_equal(ck_records_precedence_broker(rec, "operator", 1,
	    NULL), CK_OK);
}

void
help_records_migrate(struct ck_records *rec)
{
	struct ck_rec_credential c = operator;

	help_records_fill(rec);
	c.state = CK_STATE_MIGRATING;
	assert_int_equal(ck_records_credential_put(rec, &c, NULL), CK_OK);
	assert_int_equal(ck_records_begin(rec, NULL), CK_OK);
	assert_int_equal(ck_records_precedence_dedicated(rec, "operator", 2,
	    1, NULL), CK_OK);
	c.state = CK_STATE_DEDICATED;
	assert_int_equal(ck_records_credential_put(rec, &c, NULL), CK_OK);
	assert_int_equal(ck_records_commit(rec, NULL), CK_OK);
}

static void
dump_table(sqlite3 *db, const char *table, struct ck_buf *b)
{
	sqlite3_stmt *stmt = NULL;
	char sql[128];

	(void)snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY 1, 2",
	    table);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL),
	    SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		ck_buf_format(b, "%s", table);
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			ck_buf_format(b, "|%s",
			    (const char *)sqlite3_column_text(stmt, i));
		ck_buf_format(b, "\n");
	}
	assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
}

char *
help_records_dump(struct help_records *fx)
{
	static const char *const names[] = { "credential", "store",
	    "principal", "precedence", "protected", "journal", "event",
	    "setting", "seal" };
	sqlite3 *db = help_records_raw(fx);
	struct ck_buf b = CK_BUF_INIT;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		dump_table(db, names[i], &b);
	ck_buf_bytes(&b, "", 1);
	assert_int_equal(ck_buf_ok(&b), CK_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return (char *)b.p;
}

void
help_records_alone(struct help_records *fx)
{
	DIR *d = opendir(fx->dir);
	const struct dirent *e;
	int others = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0 ||
		    strcmp(e->d_name, CK_REC_FILE) == 0)
			continue;
		print_error("left behind: %s\n", e->d_name);
		others++;
	}
	(void)closedir(d);
	assert_int_equal(others, 0);
}

int
help_records_child(int (*fn)(struct help_records *fx),
    struct help_records *fx)
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn(fx));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

pid_t
help_records_holder(int (*fn)(struct help_records *fx),
    struct help_records *fx)
{
	int ends[2];
	char said = 'n';
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(ends[0]);
		said = fn(fx) == 0 ? 'y' : 'n';
		if (write(ends[1], &said, 1) == 1)
			(void)pause();
		_exit(1);
	}
	(void)close(ends[1]);
	assert_int_equal(read(ends[0], &said, 1), 1);
	(void)close(ends[0]);
	assert_int_equal(said, 'y');
	return pid;
}

void
help_records_kill(pid_t pid)
{
	int status = 0;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}
