/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-leak HOW FILE [ARGUMENT...]
 *
 * Misbehaves on purpose with the content of FILE, hardened as the real program
 * is, so that tests/harness/secrets-trace.sh can prove that scripts/
 * secrets-trace sees it.  Never installed.
 */
#include <err.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/platform.h"

extern char **environ;

static char secret[256];

static void
put(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) == -1)
		err(9, "write");
}

static void
spawn(const char *argument)
{
	char program[] = "/bin/true", word[sizeof(secret)];
	char *const argv[] = { program, word, NULL };
	pid_t pid;

	(void)snprintf(word, sizeof(word), "%s", argument);
	if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != 0)
		errx(9, "posix_spawn");
	(void)waitpid(pid, NULL, 0);
}

static void
put_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd == -1)
		err(9, "open");
	put(fd, secret);
	(void)close(fd);
}

static void
put_hex(void)
{
	char hex[2 * sizeof(secret) + 1];

	ck_hex_encode((const uint8_t *)secret, strlen(secret), hex);
	put(STDOUT_FILENO, hex);
}

static void
put_vector(void)
{
	char before[] = "token: ";
	struct iovec v[] = { { before, strlen(before) },
	    { secret, strlen(secret) } };

	if (writev(STDERR_FILENO, v, 2) == -1)
		err(9, "writev");
}

static void
put_child(void)
{
	pid_t pid = fork();

	if (pid == -1)
		err(9, "fork");
	if (pid == 0) {
		put(STDOUT_FILENO, secret);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

static void
leak(const char *how)
{
	if (strcmp(how, "argument") == 0)
		spawn(secret);
	else if (strcmp(how, "environment") == 0 &&
	    setenv("LEAK", secret, 1) == 0)
		spawn("x");
	else if (strcmp(how, "output") == 0 || strcmp(how, "get") == 0)
		put(STDOUT_FILENO, secret);
	else if (strcmp(how, "error") == 0)
		put_vector();
	else if (strcmp(how, "child") == 0)
		put_child();
	else if (strcmp(how, "file") == 0)
		put_file("custody.db");
	else if (strcmp(how, "store") == 0)
		put_file("unlock.json.tmp-1");
	else if (strcmp(how, "name") == 0)
		(void)access(secret, F_OK);
	else if (strcmp(how, "piece") == 0)
		(void)!write(STDOUT_FILENO, secret + 20, 8);
	else if (strcmp(how, "hex") == 0)
		put_hex();
	else if (strcmp(how, "find") == 0)
		put(7, secret);
	else if (strcmp(how, "fail") == 0)
		exit(9);
}

int
main(int argc, char **argv)
{
	FILE *in;

	if (argc < 3)
		errx(2, "usage: ck-leak HOW FILE [ARGUMENT...]");
	if (ck_platform_harden() != CK_OK)
		errx(9, "not hardened");
	if ((in = fopen(argv[2], "re")) == NULL ||
	    fread(secret, 1, sizeof(secret) - 1, in) == 0)
		err(9, "%s", argv[2]);
	(void)fclose(in);
	leak(argv[1]);
	return 0;
}
