/* SPDX-License-Identifier: Apache-2.0 */
/* The log is that of strace -f -xx -y -v: one line per call. */
#include "trace.h"

#include <ctype.h>
#include <err.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "hexlog.h"

#define MAX_FDS 8

struct process {
	struct process *next;
	long pid;
	bool subject;        /* ours, or started by ours; never undone */
	char name[64];       /* base name of the program */
	int fd[MAX_FDS];     /* descriptors the command line asked to use */
	size_t fds;
	char *pending;       /* text of a call that has not returned yet */
};

struct judge {
	const struct trace_rules *rules;
	const struct patterns *patterns;
	struct process *live;
	struct trace_result result;
};

static bool
listed(const char *const *list, const char *word)
{
	for (size_t i = 0; i < TRACE_MAX_WORDS && list[i] != NULL; i++) {
		if (strcmp(list[i], word) == 0)
			return true;
	}
	return false;
}

static struct process *
process_get(struct judge *j, long pid, bool *ret_new)
{
	struct process *p;

	*ret_new = false;
	for (p = j->live; p != NULL; p = p->next) {
		if (p->pid == pid)
			return p;
	}
	if ((p = calloc(1, sizeof(*p))) == NULL)
		err(2, "trace");
	p->pid = pid;
	p->next = j->live;
	j->live = p;
	*ret_new = true;
	return p;
}

static void
process_end(struct judge *j, struct process *p)
{
	struct process **at = &j->live;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	free(p->pending);
	free(p);
}

static void
finding(struct judge *j, const struct process *p, const char *what,
    const char *where, const char *how)
{
	(void)fprintf(stderr, "%s[%ld]: %s%s%s%s: %s\n",
	    p->name[0] != '\0' ? p->name : "(before exec)", p->pid, what,
	    where[0] != '\0' ? " (" : "", where, where[0] != '\0' ? ")" : "",
	    how);
	j->result.findings++;
}

static bool
write_allowed(const struct judge *j, const struct process *p, int fd,
    const struct text *path)
{
	for (size_t i = 0; i < p->fds; i++) {
		if (p->fd[i] == fd)
			return true;
	}
	for (size_t i = 0; i < TRACE_MAX_WORDS; i++) {
		const char *glob = j->rules->path[i];

		if (glob == NULL)
			break;
		if (path->p[0] == '/' &&
		    fnmatch(glob, (const char *)path->p, 0) == 0)
			return true;
	}
	return false;
}

/* What this command line lets its process write secrets to. */
static void
learn_arguments(const struct judge *j, struct process *p, const char *args,
    struct text *t)
{
	bool named = false, takes_value = false, answers = false;
	const char *const end = strchr(args, ']');

	p->fds = 0;
	while (p->fds < MAX_FDS - 1 && (args = hexlog_string(args, t)) != NULL &&
	    (end == NULL || args <= end)) {
		const char *word = (const char *)t->p;
		const char *value = NULL;

		if (takes_value)
			value = word;
		else if (strncmp(word, "--fd=", 5) == 0)
			value = word + 5;
		else if (strncmp(word, "--out-fd=", 9) == 0)
			value = word + 9;
		takes_value = strcmp(word, "--fd") == 0 ||
		    strcmp(word, "--out-fd") == 0;
		answers = answers || listed(j->rules->verb, word);
		if (value == NULL)
			continue;
		p->fd[p->fds++] = (int)strtol(value, NULL, 10);
		named = true;
	}
	if (answers && !named)
		p->fd[p->fds++] = STDOUT_FILENO;
}

/* The program of p is now the one an execve or execveat named. */
static void
become(struct judge *j, struct process *p, const char *args,
    const char *argv, struct text *t)
{
	const char *base;

	/* An empty path means the descriptor that execveat was given. */
	if (hexlog_string(args, t) == NULL || t->n == 0)
		(void)hexlog_fd(args, t);
	base = strrchr((const char *)t->p, '/');
	base = base != NULL ? base + 1 : (const char *)t->p;
	(void)snprintf(p->name, sizeof(p->name), "%s", base);
	p->fds = 0;
	if (!listed(j->rules->subject, p->name))
		return;
	p->subject = true;
	j->result.subjects++;
	if (argv != NULL)
		learn_arguments(j, p, argv, t);
}

/* execve(PATH, [ARGV], [ENVIRON]) = 0, of any process. */
static void
judge_exec(struct judge *j, struct process *p, const char *args,
    const char *result, struct text *t)
{
	const char *part[3] = { args, strchr(args, '['), NULL };
	static const char *const what[] = { "path", "argument", "environment" };
	const char *how, *s;

	if (part[1] != NULL)
		part[2] = strstr(part[1], "], [");
	for (int i = 0; i < 3; i++) {
		if (part[i] == NULL && result[0] == '0')
			finding(j, p, "execve", what[i], "could not be seen");
	}
	for (s = args; (s = hexlog_string(s, t)) != NULL;) {
		int i = part[1] == NULL || s < part[1] ? 0 :
		    part[2] == NULL || s <= part[2] ? 1 : 2;

		how = patterns_find(j->patterns, t->p, t->n);
		if (how != NULL || t->cut)
			finding(j, p, "execve", what[i],
			    how != NULL ? how : "too long to be seen");
	}
	if (result[0] == '0')
		become(j, p, args, part[1], t);
}

static bool
is_write(const char *call)
{
	static const char *const writes[] = { "write", "writev", "pwrite64",
	    "pwritev", "pwritev2", "sendto", "sendmsg", "sendmmsg" };

	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		if (strcmp(call, writes[i]) == 0)
			return true;
	}
	return false;
}

/* Calls that move bytes without showing them to us. */
static bool
is_hidden(const char *call)
{
	static const char *const hidden[] = { "sendfile", "splice", "vmsplice",
	    "tee", "copy_file_range", "process_vm_writev", "io_uring_setup" };

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (strcmp(call, hidden[i]) == 0)
			return true;
	}
	return false;
}

/* Any other traced call of ours: no string in it may hold a secret, except
 * what is written where it belongs. */
static void
judge_call(struct judge *j, struct process *p, const char *call,
    const char *args, const char *result, struct text *t)
{
	bool moved = isdigit((unsigned char)result[0]) && result[0] != '0';
	bool write = is_write(call);
	char where[256];
	const char *how;
	int fd;

	j->result.looked_at++;
	fd = hexlog_fd(args, t);
	(void)snprintf(where, sizeof(where), "%d %s", fd, (char *)t->p);
	if (write && write_allowed(j, p, fd, t))
		return;
	if (moved && is_hidden(call))
		finding(j, p, call, where, "could not be seen");
	if (moved && write && (strchr(args, '"') == NULL ||
	    strstr(args, "iov_base=0x") != NULL))
		finding(j, p, call, where, "could not be seen");
	while ((args = hexlog_string(args, t)) != NULL) {
		how = patterns_find(j->patterns, t->p, t->n);
		if (how != NULL || t->cut)
			finding(j, p, call, where,
			    how != NULL ? how : "too long to be seen");
	}
}

/* A child of ours is ours. */
static void
adopt(struct judge *j, const struct process *parent, const char *result)
{
	struct process *child;
	bool fresh;

	if (!parent->subject || !isdigit((unsigned char)result[0]))
		return;
	child = process_get(j, strtol(result, NULL, 10), &fresh);
	if (!child->subject)
		memcpy(child->fd, parent->fd, sizeof(child->fd));
	if (!child->subject)
		child->fds = parent->fds;
	child->subject = true;
}

static bool
is_fork(const char *call)
{
	return strcmp(call, "clone") == 0 || strcmp(call, "clone3") == 0 ||
	    strcmp(call, "fork") == 0 || strcmp(call, "vfork") == 0;
}

/* line is "name(arguments) = result". */
static void
judge_line(struct judge *j, struct process *p, char *line)
{
	char *args = strchr(line, '('), *s, *result = NULL;
	struct text t = { NULL, 0, false };

	if (args == NULL)
		return;
	*args++ = '\0';
	/* The last " = " belongs to the result: strings are in hex. */
	for (s = args; (s = strstr(s, " = ")) != NULL; s += 3)
		result = s + 3;
	if ((t.p = malloc(strlen(args) + 1)) == NULL)
		err(2, "trace");
	if (strncmp(line, "execve", 6) == 0)
		judge_exec(j, p, args, result != NULL ? result : "?", &t);
	else if (is_fork(line))
		adopt(j, p, result != NULL ? result : "?");
	else if (p->subject)
		judge_call(j, p, line, args, result != NULL ? result : "?", &t);
	free(t.p);
}

/* vfork and posix_spawn run the child before the parent's line is complete;
 * a process that turns up meanwhile is taken to be that child. */
static bool
somebody_forks(const struct judge *j)
{
	for (const struct process *p = j->live; p != NULL; p = p->next) {
		if (p->subject && p->pending != NULL &&
		    (strncmp(p->pending, "clone", 5) == 0 ||
		    strncmp(p->pending, "vfork", 5) == 0))
			return true;
	}
	return false;
}

/* "name(arguments <unfinished ...>" now, "<... name resumed>rest" later. */
static char *
join(struct process *p, char *line)
{
	char *rest = strstr(line, " resumed>");
	char *whole = NULL;

	if (p->pending == NULL || rest == NULL)
		return NULL;
	rest += strlen(" resumed>");
	if (asprintf(&whole, "%s%s", p->pending, rest) < 0)
		err(2, "trace");
	free(p->pending);
	p->pending = NULL;
	return whole;
}

static void
judge_row(struct judge *j, char *row)
{
	char *line, *cut, *whole;
	struct process *p;
	bool fresh;
	long pid = strtol(row, &line, 10);

	if (line == row)
		return;
	row[strcspn(row, "\n")] = '\0';
	line += strspn(line, " ");
	p = process_get(j, pid, &fresh);
	if (fresh && somebody_forks(j))
		p->subject = true;
	if (strncmp(line, "---", 3) == 0)
		return;
	if (strncmp(line, "+++", 3) == 0) {
		/* Killed in the middle of a call: it may have worked. */
		if (p->pending != NULL)
			judge_line(j, p, p->pending);
		process_end(j, p);
		return;
	}
	if (strncmp(line, "<...", 4) == 0) {
		if ((whole = join(p, line)) != NULL)
			judge_line(j, p, whole);
		free(whole);
		return;
	}
	if ((cut = strstr(line, " <unfinished ...>")) == NULL) {
		judge_line(j, p, line);
		return;
	}
	*cut = '\0';
	free(p->pending);
	if ((p->pending = strdup(line)) == NULL)
		err(2, "trace");
}

struct trace_result
trace_judge(const char *log, const struct trace_rules *r,
    const struct patterns *p)
{
	struct judge j = { r, p, NULL, { 0, 0, 0 } };
	FILE *in = fopen(log, "re");
	char *row = NULL;
	size_t room = 0;

	if (in == NULL)
		err(2, "%s", log);
	while (getline(&row, &room, in) > 0)
		judge_row(&j, row);
	if (ferror(in))
		err(2, "%s", log);
	while (j.live != NULL) {
		if (j.live->pending != NULL)
			judge_line(&j, j.live, j.live->pending);
		process_end(&j, j.live);
	}
	free(row);
	(void)fclose(in);
	return j.result;
}
