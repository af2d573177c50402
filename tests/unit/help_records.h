/* SPDX-License-Identifier: Apache-2.0 */
/* A custody directory with records for the tests of src/records. */
#ifndef CK_TESTS_HELP_RECORDS_H
#define CK_TESTS_HELP_RECORDS_H

#include <sqlite3.h>
#include <stdio.h>
#include <sys/types.h>

#include "records/records.h"

struct help_records {
	char dir[CK_PATH_MAX];     /* a new 0700 directory */
	char file[CK_PATH_MAX];    /* dir/custody.db */
	int dirfd;
	struct ck_fail fail;
};

/* cmocka fixtures: *state is a struct help_records; no file is there yet. */
int help_records_setup(void **state);
int help_records_teardown(void **state);

/* Open; the test fails when that fails. */
struct ck_records *help_records_open(struct help_records *fx,
    enum ck_rec_how how);
/* Open and expect a code; the reason is in fx->fail. */
void help_records_refused(struct help_records *fx, enum ck_rec_how how,
    ck_err code);

/* A connection as another program has it: no pragma of ours. */
sqlite3 *help_records_raw(struct help_records *fx);
/* Run SQL; the result code. */
int help_records_sql(struct help_records *fx, const char *sql);
/* The same past the triggers, which stay as they are. */
int help_records_edit(struct help_records *fx, const char *sql);
/* First column of the first row as a number; -1 when there is none. */
long long help_records_count(struct help_records *fx, const char *sql);

/* Credential "operator" in state broker with its stores and precedence; the
 * numbers of the stores are 1 (broker) and 2 (dedicated). */
void help_records_fill(struct ck_records *rec);
/* ... and in state dedicated. */
void help_records_migrate(struct ck_records *rec);

/* Every row of every table but sqlite's own, as one text to compare; the
 * caller frees. */
char *help_records_dump(struct help_records *fx);

/* No file but custody.db is in the directory. */
void help_records_alone(struct help_records *fx);

/*
 * Run fn in a child and give its exit status: 0, or 1 when a HELP_CHECK failed
 * (it says where), or 255 when it died.  A child cannot use cmocka's
 * assertions.
 */
int help_records_child(int (*fn)(struct help_records *fx),
    struct help_records *fx);
/* Start a child that runs fn and then waits to be killed; returns when fn has
 * returned 0, the test fails when it does not. */
pid_t help_records_holder(int (*fn)(struct help_records *fx),
    struct help_records *fx);
void help_records_kill(pid_t pid);
#define HELP_CHECK(x) do {                                                   \
	if (!(x)) {                                                          \
		(void)dprintf(2, "%s:%d: %s\n", __FILE__, __LINE__, #x);     \
		return 1;                                                    \
	}                                                                    \
} while (0)

#endif
