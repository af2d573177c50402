/* SPDX-License-Identifier: Apache-2.0 */
/* A custody directory with records for the tests of src/records. */
#ifndef CK_TESTS_HELP_RECORDS_H
#define CK_TESTS_HELP_RECORDS_H

#include <sqlite3.h>

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

#endif
