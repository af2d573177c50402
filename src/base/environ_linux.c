/* SPDX-License-Identifier: Apache-2.0 */
/* Linux half of environ.h: /proc/PID/environ, name by name. */
#include "environ.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "secret.h"

#define PIECE 4096

/* How far the text since the last NUL is NAME and its equals sign, or all of
 * NAME=VALUE. */
struct matcher {
	const char *name;
	bool whole;               /* it has its value */
	size_t len;
	size_t at;
	bool off;                 /* this variable is another one */
};

static bool
feed(struct matcher *m, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '\0') {
			if (m->whole && !m->off && m->at == m->len)
				return true;
			m->at = 0;
			m->off = false;
		} else if (!m->off && !m->whole && m->at == m->len &&
		    p[i] == '=') {
			return true;
		} else if (!m->off && m->at < m->len &&
		    p[i] == (uint8_t)m->name[m->at]) {
			m->at++;
		} else {
			m->off = true;
		}
	}
	return false;
}

/* *ret_seen false: it is hidden from us.  A process that ends meanwhile has
 * nothing any more. */
static bool
has(int procfd, const char *pid, const char *name, struct ck_secret *piece,
    bool *ret_seen)
{
	struct matcher m = { name, strchr(name, '=') != NULL, strlen(name), 0,
		false };
	bool found = false;
	ssize_t n = -1;
	int dir, fd = -1;

	dir = openat(procfd, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		fd = openat(dir, "environ", O_RDONLY | O_CLOEXEC);
	*ret_seen = fd >= 0 || (errno != EACCES && errno != EPERM);
	while (fd >= 0 && !found && (n = read(fd, piece->p, piece->n)) > 0)
		found = feed(&m, piece->p, (size_t)n);
	if (fd >= 0 && n < 0 && (errno == EACCES || errno == EPERM))
		*ret_seen = false;
	ck_io_close(&fd);
	ck_io_close(&dir);
	return found;
}

/* A process of ours; those that hide themselves belong to root in /proc. */
static bool
is_ours(int procfd, const char *entry)
{
	struct stat st;

	return entry[strspn(entry, "0123456789")] == '\0' &&
	    strtol(entry, NULL, 10) != (long)getpid() &&
	    fstatat(procfd, entry, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_uid == geteuid();
}

/* Words of /proc/PID/stat (proc(5)), counted from 1. */
enum { STAT_PARENT = 4, STAT_STARTED = 22 };

/* The second word is the program's name in parentheses and may hold anything;
 * NULL: there is no such word. */
static const char *
stat_word(const char *text, int word)
{
	const char *p = strrchr(text, ')');

	for (int at = 3; p != NULL && at <= word; at++)
		p = strchr(p + 1, ' ');
	return p;
}

/* From clock ticks after the system's start. */
static int64_t
start_of(const char *ticks_text)
{
	struct timespec boot, wall;
	unsigned long long ticks;
	long hz = sysconf(_SC_CLK_TCK);

	if (ticks_text == NULL || hz <= 0 ||
	    (ticks = strtoull(ticks_text, NULL, 10)) == 0)
		return 0;
	if (clock_gettime(CLOCK_BOOTTIME, &boot) != 0 ||
	    clock_gettime(CLOCK_REALTIME, &wall) != 0)
		return 0;
	return wall.tv_sec - boot.tv_sec +
	    (int64_t)(ticks / (unsigned long long)hz);
}

static void
describe(int procfd, const char *pid, struct ck_environ_process *ret)
{
	char path[64], text[1024];
	const char *parent;
	ssize_t n = -1;
	int fd;

	ret->pid = (pid_t)strtol(pid, NULL, 10);
	ret->parent = 0;
	ret->started = 0;
	(void)snprintf(path, sizeof(path), "%.20s/stat", pid);
	fd = openat(procfd, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, sizeof(text) - 1);
	ck_io_close(&fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	if ((parent = stat_word(text, STAT_PARENT)) != NULL)
		ret->parent = (pid_t)strtol(parent, NULL, 10);
	ret->started = start_of(stat_word(text, STAT_STARTED));
}

ck_err
ck_environ_scan(const char *name, const char *unless, ck_environ_cb cb,
    void *arg, size_t *ret_unseen, struct ck_fail *fail)
{
	struct ck_environ_process process;
	struct ck_secret piece = CK_SECRET_INIT;
	const struct dirent *entry;
	size_t unseen = 0;
	bool seen;
	DIR *proc;

	if ((proc = opendir("/proc")) == NULL)
		return ck_fail_set(fail, CK_UNSUPPORTED, "/proc",
		    "does not show the processes");
	if (ck_secret_alloc(PIECE, &piece) != CK_OK) {
		(void)closedir(proc);
		return ck_fail_set(fail, CK_NOMEM, NULL, "no secure memory");
	}
	while ((entry = readdir(proc)) != NULL) {
		if (!is_ours(dirfd(proc), entry->d_name))
			continue;
		if (has(dirfd(proc), entry->d_name, name, &piece, &seen)) {
			if (unless != NULL && has(dirfd(proc), entry->d_name,
			    unless, &piece, &seen))
				continue;
			describe(dirfd(proc), entry->d_name, &process);
			cb(arg, &process);
		} else if (!seen) {
			unseen++;
		}
	}
	(void)closedir(proc);
	ck_secret_wipe(&piece);
	*ret_unseen = unseen;
	return CK_OK;
}

bool
ck_environ_has(pid_t pid, const char *variable)
{
	struct ck_secret piece = CK_SECRET_INIT;
	bool found = false, seen;
	char name[24];
	int proc;

	if (ck_secret_alloc(PIECE, &piece) != CK_OK)
		return false;
	proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(name, sizeof(name), "%ld", (long)pid);
	if (proc >= 0)
		found = has(proc, name, variable, &piece, &seen);
	ck_io_close(&proc);
	ck_secret_wipe(&piece);
	return found;
}

bool
ck_environ_same_mounts(pid_t pid)
{
	char path[40];
	struct stat theirs, ours;

	(void)snprintf(path, sizeof(path), "/proc/%ld/ns/mnt", (long)pid);
	return stat(path, &theirs) == 0 &&
	    stat("/proc/self/ns/mnt", &ours) == 0 &&
	    theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}
