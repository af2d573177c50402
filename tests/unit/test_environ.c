/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes have a variable: found by its whole name, whatever the
 * value, and never by what only looks like it. */
#include "unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/environ.h"
#include "base/secret.h"

#define NAME "CK_TEST_ENVIRON_NAME"
#define UNLESS "CK_TEST_ENVIRON_UNLESS"

static int
setup(void **state)
{
	(void)state;
	return ck_secret_heap_init((size_t)1 << 16, NULL) != CK_OK;
}

/* A child that has these two variables and waits for its input to end. */
static pid_t
start(char *first, char *variable, int *ret_pipe)
{
	char program[] = "cat";
	char *argv[] = { program, NULL };
	char *envp[] = { first, variable, NULL };
	int in[2], ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(ready), 0);
	if ((pid = fork()) == 0) {
		(void)dup2(in[0], 0);
		(void)dup2(ready[1], 1);
		(void)close(in[1]);
		(void)close(ready[0]);
		(void)execve("/bin/cat", argv, envp);
		_exit(127);
	}
	assert_true(pid > 0);
	(void)close(in[0]);
	(void)close(ready[1]);
	/* What it gives back shows that it runs with its own environment. */
	assert_int_equal(write(in[1], "x", 1), 1);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void)close(ready[0]);
	*ret_pipe = in[1];
	return pid;
}

struct looked_for {
	pid_t pid;
	bool found;
	int64_t started;
};

static void
compare(void *arg, const struct ck_environ_process *process)
{
	struct looked_for *l = arg;

	if (process->pid != l->pid)
		return;
	l->found = true;
	l->started = process->started;
}

/* Found; and then it began just now, whatever its name is. */
static bool
scan_has(pid_t pid)
{
	struct looked_for l = { pid, false, 0 };
	int64_t now = ck_clock_wall();
	size_t unseen = 0;

	assert_int_equal(ck_environ_scan(NAME, UNLESS, compare, &l, &unseen,
	    NULL), CK_OK);
	if (l.found)
		assert_true(l.started >= now - 120 && l.started <= now + 2);
	return l.found;
}

/* The variable behind another one of n bytes. */
static bool
found_behind(size_t n, const char *variable)
{
	char *copy = strdup(variable), *first = malloc(n + 1);
	int in = -1, status;
	pid_t pid;
	bool ret;

	assert_non_null(copy);
	assert_non_null(first);
	memset(first, 'a', n);
	first[1] = '=';
	first[n] = '\0';
	pid = start(first, copy, &in);
	ret = scan_has(pid);
	(void)close(in);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	free(copy);
	free(first);
	return ret;
}

static void
a_set_variable_is_found(void **state)
{
	(void)state;
	assert_true(found_behind(8, NAME "=value"));
	assert_true(found_behind(8, NAME "="));
}

static void
another_name_is_not_found(void **state)
{
	(void)state;
	assert_false(found_behind(8, NAME "_MORE=value"));
	assert_false(found_behind(8, "X" NAME "=value"));
	assert_false(found_behind(8, "OTHER=" NAME "=value"));
	assert_false(found_behind(8, NAME));
}

/* Whichever of the two stands first. */
static void
one_with_the_excluding_variable_is_not_found(void **state)
{
	static const char *const pair[2] = { NAME "=value", UNLESS "=1" };
	char *first, *second;
	pid_t pid;
	int in = -1, status;

	(void)state;
	for (int i = 0; i < 2; i++) {
		first = strdup(pair[i]);
		second = strdup(pair[1 - i]);
		assert_non_null(first);
		assert_non_null(second);
		pid = start(first, second, &in);
		assert_false(scan_has(pid));
		(void)close(in);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		free(first);
		free(second);
	}
	assert_true(found_behind(8, NAME "=value"));
}

static void
only_the_whole_variable_is_it(void **state)
{
	char first[] = "A=1", *copy = strdup(NAME "=value");
	int in = -1, status;
	pid_t pid;

	(void)state;
	assert_non_null(copy);
	pid = start(first, copy, &in);
	assert_true(ck_environ_has(pid, NAME "=value"));
	assert_true(ck_environ_has(pid, "A=1"));
	assert_false(ck_environ_has(pid, NAME "=val"));
	assert_false(ck_environ_has(pid, NAME "=value2"));
	assert_false(ck_environ_has(pid, "B=1"));
	assert_false(ck_environ_has(pid, "A="));
	(void)close(in);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_false(ck_environ_has(pid, "A=1"));
	free(copy);
}

/* The name lies across two pieces of the reading. */
static void
a_name_behind_a_long_variable_is_found(void **state)
{
	(void)state;
	for (size_t n = 4096 - sizeof(NAME) - 2; n < 4096 + 2; n++)
		assert_true(found_behind(n, NAME "=value"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_variable_is_found),
		cmocka_unit_test(another_name_is_not_found),
		cmocka_unit_test(a_name_behind_a_long_variable_is_found),
		cmocka_unit_test(only_the_whole_variable_is_it),
		cmocka_unit_test(one_with_the_excluding_variable_is_not_found),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
