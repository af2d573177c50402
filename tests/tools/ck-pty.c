/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-pty SCRIPT PROGRAM ARGV0 [ARGUMENT...]
 *
 * Runs PROGRAM as a terminal multiplexer does: in a session of its own with a
 * new terminal of 24 by 80, and does what the lines of SCRIPT say:
 *
 *	type TEXT       TEXT and a carriage return
 *	key C           Control-C
 *	wait TEXT       until TEXT is shown, behind what was waited for before
 *	size ROWS COLS  the window becomes that
 *	alone NAME      what an agent is started in: the foreground group
 *	                becomes the child's own, with no other process in it, and
 *	                the child is called NAME
 *	busy            until another group is in the foreground
 *	idle            until the child's is again
 *	end STATUS      until the child ends: exit status, or 128 and the signal
 *
 * Waits end after 10 s.  Exit status 1, with the line and the last that was
 * shown on standard error, when something is not so.
 */
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 10000

static char shown[1 << 16];
static size_t nshown, waited_for;
static int terminal;
static pid_t child;

static long
now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Take in what is shown; false when the terminal is closed. */
static bool
look(int ms)
{
	struct pollfd p = { terminal, POLLIN, 0 };
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return true;
	if (nshown + 1 >= sizeof(shown))
		errx(2, "more is shown than fits");
	n = read(terminal, shown + nshown, sizeof(shown) - 1 - nshown);
	if (n <= 0)
		return false;
	nshown += (size_t)n;
	shown[nshown] = '\0';
	return true;
}

static bool
wait_text(const char *text)
{
	long until = now_ms() + WAIT_MS;
	bool open = true;
	char *at;

	while ((at = strstr(shown + waited_for, text)) == NULL) {
		if (!open || now_ms() > until)
			return false;
		open = look(50);
	}
	waited_for = (size_t)(at - shown) + strlen(text);
	return true;
}

static bool
put(const char *text, size_t n)
{
	return write(terminal, text, n) == (ssize_t)n;
}

static bool
wait_front(bool ours)
{
	long until = now_ms() + WAIT_MS;

	while ((tcgetpgrp(terminal) == child) != ours) {
		if (now_ms() > until)
			return false;
		(void)look(20);
	}
	return true;
}

/* The parent and the group of a process, from /proc/PID/stat. */
static bool
stat_of(const char *pid, long *ret_parent, long *ret_group)
{
	char path[64], text[1024], *at;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	if ((fd = open(path, O_RDONLY)) < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	text[n < 0 ? 0 : n] = '\0';
	/* Behind the name: the state, one letter, and the two. */
	if ((at = strrchr(text, ')')) == NULL || strlen(at) < 5)
		return false;
	*ret_parent = strtol(at + 4, &at, 10);
	*ret_group = strtol(at, NULL, 10);
	return true;
}

static bool
is_called(const char *name)
{
	char path[64], text[4096], *base;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)child);
	if ((fd = open(path, O_RDONLY)) < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	text[n < 0 ? 0 : n] = '\0';
	base = strrchr(text, '/') != NULL ? strrchr(text, '/') + 1 : text;
	return strcmp(base + (base[0] == '-'), name) == 0;
}

/* The processes of the child's group; too many when one is not the child. */
static long
members(void)
{
	const struct dirent *entry;
	long parent, group, n = 0;
	DIR *proc;

	if ((proc = opendir("/proc")) == NULL)
		err(2, "/proc");
	while ((entry = readdir(proc)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    stat_of(entry->d_name, &parent, &group) &&
		    group == (long)child)
			n += parent == (long)getpid() ? 1 : 1000;
	(void)closedir(proc);
	return n;
}

/* Shells start programs of their own for a moment, for their prompt. */
static bool
alone(const char *name)
{
	long until = now_ms() + WAIT_MS;

	while (!wait_front(true) || !is_called(name) || members() != 1) {
		if (now_ms() > until)
			return false;
		(void)look(20);
	}
	return true;
}

static bool
ended(int wanted)
{
	long until = now_ms() + WAIT_MS;
	int status;

	while (waitpid(child, &status, WNOHANG) == 0) {
		if (now_ms() > until)
			return false;
		(void)look(20);
	}
	return (WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status)) == wanted;
}

/* A line editor that prepares its terminal reads the size and writes it back
 * (readline's set_winsize), and so undoes a change that comes in between: the
 * size counts as set when it has stayed for a while. */
static bool
resize(const char *words)
{
	struct winsize size = { 0, 0, 0, 0 }, now;
	long until = now_ms() + WAIT_MS;
	int stayed = 0;
	char *rest;

	size.ws_row = (unsigned short)strtoul(words, &rest, 10);
	size.ws_col = (unsigned short)strtoul(rest, NULL, 10);
	if (ioctl(terminal, TIOCSWINSZ, &size) != 0)
		return false;
	while (stayed < 5 && now_ms() < until) {
		(void)look(20);
		if (ioctl(terminal, TIOCGWINSZ, &now) != 0)
			return false;
		if (now.ws_row == size.ws_row && now.ws_col == size.ws_col)
			stayed++;
		else if (stayed = 0, ioctl(terminal, TIOCSWINSZ, &size) != 0)
			return false;
	}
	return stayed == 5;
}

static bool
step(const char *line)
{
	size_t n = strcspn(line, " ");
	const char *rest = line + n + (line[n] == ' ');
	char key;

	if (strncmp(line, "type ", 5) == 0)
		return put(rest, strlen(rest)) && put("\r", 1);
	if (strncmp(line, "key ", 4) == 0) {
		key = (char)(rest[0] & 0x1f);
		return put(&key, 1);
	}
	if (strncmp(line, "wait ", 5) == 0)
		return wait_text(rest);
	if (strncmp(line, "size ", 5) == 0)
		return resize(rest);
	if (strncmp(line, "alone ", 6) == 0)
		return alone(rest);
	if (strcmp(line, "busy") == 0 || strcmp(line, "idle") == 0)
		return wait_front(line[0] == 'i');
	if (strncmp(line, "end ", 4) == 0)
		return ended((int)strtol(rest, NULL, 10));
	errx(2, "no such step: %s", line);
}

static void
start(char **argv)
{
	const struct winsize size = { 24, 80, 0, 0 };
	const char *name;
	int fd;

	terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0 || grantpt(terminal) != 0 ||
	    unlockpt(terminal) != 0 || (name = ptsname(terminal)) == NULL)
		err(2, "no terminal");
	(void)ioctl(terminal, TIOCSWINSZ, &size);
	if ((child = fork()) < 0)
		err(2, "fork");
	if (child > 0)
		return;
	if (setsid() < 0 || (fd = open(name, O_RDWR)) < 0 ||
	    ioctl(fd, TIOCSCTTY, 0) != 0 || dup2(fd, 0) < 0 ||
	    dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		_exit(125);
	if (fd > 2)
		(void)close(fd);
	(void)execv(argv[0], argv + 1);
	_exit(126);
}

int
main(int argc, char **argv)
{
	char line[4096];
	FILE *script;
	int number = 0;

	if (argc < 4)
		errx(2, "usage: ck-pty SCRIPT PROGRAM ARGV0 [ARGUMENT...]");
	if ((script = fopen(argv[1], "re")) == NULL)
		err(2, "%s", argv[1]);
	start(argv + 2);
	while (fgets(line, sizeof(line), script) != NULL) {
		number++;
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '\0' || step(line))
			continue;
		if (tcgetpgrp(terminal) > 0)
			(void)kill(-tcgetpgrp(terminal), SIGKILL);
		(void)kill(child, SIGKILL);
		errx(1, "line %d: %s\nshown:\n%s", number, line,
		    shown + (nshown > 2000 ? nshown - 2000 : 0));
	}
	(void)fclose(script);
	(void)kill(child, SIGKILL);
	return 0;
}
