/* SPDX-License-Identifier: Apache-2.0 */
/* See replay.h. */
#include "replay.h"

#include <ctype.h>
#include <err.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hexlog.h"

#define MAX_ARGS 8
#define MAX_FD 1024
#define START_UMASK 022      /* of our test scripts */

struct replay {
	struct disk *d;
	const char *root;
	size_t line;
	long pid;
	mode_t umask;
	size_t offset[MAX_FD];       /* of write(2), by descriptor */
	char *arg[MAX_ARGS];         /* of the present call */
	size_t args;
	const char *result;
	char path[2][PATH_MAX];      /* what it is about, below root */
	struct text text;            /* room for a string argument */
};

/* What a call did to the tree. */
enum did { NOTHING, CHANGED, LOST };

struct call {
	const char *name;
	enum did (*follow)(struct replay *r);
};

static const char *
arg(const struct replay *r, size_t i)
{
	return i < r->args ? r->arg[i] : "";
}

static size_t
number(const char *s)
{
	/* Modes are octal, and written so. */
	return (size_t)strtoull(s, NULL, 0);
}

/* An absolute path as one below root; false when it is elsewhere. */
static bool
below(const struct replay *r, const char *path, char ret[PATH_MAX])
{
	size_t n = strlen(r->root);

	if (strncmp(path, r->root, n) != 0 ||
	    (path[n] != '/' && path[n] != '\0'))
		return false;
	path += n + (path[n] == '/' ? 1 : 0);
	return snprintf(ret, PATH_MAX, "%s", path) < PATH_MAX;
}

/* The path of the descriptor in argument i. */
static bool
fd_path(struct replay *r, size_t i, char ret[PATH_MAX])
{
	(void)hexlog_fd(arg(r, i), &r->text);
	return below(r, (const char *)r->text.p, ret);
}

/* The path of arguments i, a directory, and i + 1, a name in it. */
static bool
at_path(struct replay *r, size_t i, char ret[PATH_MAX])
{
	char dir[PATH_MAX], whole[2 * PATH_MAX];
	const char *name;

	(void)hexlog_fd(arg(r, i), &r->text);
	(void)snprintf(dir, sizeof(dir), "%s", (const char *)r->text.p);
	if (hexlog_string(arg(r, i + 1), &r->text) == NULL)
		return false;
	name = (const char *)r->text.p;
	(void)snprintf(whole, sizeof(whole), name[0] == '/' ? "%s%s" : "%s/%s",
	    name[0] == '/' ? "" : dir, name);
	return below(r, whole, ret);
}

/* The path in argument i. */
static bool
plain_path(struct replay *r, size_t i, char ret[PATH_MAX])
{
	return hexlog_string(arg(r, i), &r->text) != NULL &&
	    below(r, (const char *)r->text.p, ret);
}

static size_t *
offset_of(struct replay *r, const char *fd)
{
	size_t n = number(fd);

	if (n >= MAX_FD)
		errx(2, "line %zu: descriptor too large", r->line);
	return &r->offset[n];
}

static mode_t
new_mode(const struct replay *r, const char *s)
{
	return (mode_t)number(s) & ~r->umask;
}

static enum did
changed(bool ok)
{
	return ok ? CHANGED : LOST;
}

/* The result names the file, whatever way led to it. */
static enum did
open_in(struct replay *r, const char *flags, const char *mode)
{
	bool create = strstr(flags, "O_CREAT") != NULL;
	bool truncate = strstr(flags, "O_TRUNC") != NULL;
	size_t size = 0;

	(void)hexlog_fd(r->result, &r->text);
	if (!below(r, (const char *)r->text.p, r->path[0]) ||
	    strstr(flags, "O_DIRECTORY") != NULL)
		return NOTHING;
	if (!disk_open(r->d, r->path[0], create, truncate,
	    new_mode(r, mode), &size))
		return create || truncate ? LOST : NOTHING;
	*offset_of(r, r->result) = strstr(flags, "O_APPEND") != NULL ?
	    size : 0;
	return create || truncate ? CHANGED : NOTHING;
}

static enum did
do_openat(struct replay *r)
{
	return open_in(r, arg(r, 2), arg(r, 3));
}

static enum did
do_open(struct replay *r)
{
	return open_in(r, arg(r, 1), arg(r, 2));
}

static enum did
do_read(struct replay *r)
{
	if (fd_path(r, 0, r->path[0]))
		*offset_of(r, arg(r, 0)) += number(r->result);
	return NOTHING;
}

static enum did
do_lseek(struct replay *r)
{
	if (fd_path(r, 0, r->path[0]))
		*offset_of(r, arg(r, 0)) = number(r->result);
	return NOTHING;
}

static enum did
write_at(struct replay *r, size_t offset)
{
	size_t n = number(r->result);

	if (!fd_path(r, 0, r->path[0]))
		return NOTHING;
	if (hexlog_string(arg(r, 1), &r->text) == NULL || r->text.cut ||
	    n > r->text.n)
		return LOST;
	return changed(disk_write(r->d, r->path[0], offset, r->text.p, n));
}

static enum did
do_write(struct replay *r)
{
	size_t *offset;
	enum did did;

	if (!fd_path(r, 0, r->path[0]))
		return NOTHING;
	offset = offset_of(r, arg(r, 0));
	if ((did = write_at(r, *offset)) == CHANGED)
		*offset += number(r->result);
	return did;
}

static enum did
do_pwrite(struct replay *r)
{
	return write_at(r, number(arg(r, 3)));
}

static enum did
do_ftruncate(struct replay *r)
{
	return !fd_path(r, 0, r->path[0]) ? NOTHING :
	    changed(disk_truncate(r->d, r->path[0], number(arg(r, 1))));
}

static enum did
do_fsync(struct replay *r)
{
	return !fd_path(r, 0, r->path[0]) ? NOTHING :
	    changed(disk_sync(r->d, r->path[0]));
}

static enum did
do_fchmod(struct replay *r)
{
	return !fd_path(r, 0, r->path[0]) ? NOTHING :
	    changed(disk_chmod(r->d, r->path[0], (mode_t)number(arg(r, 1))));
}

static enum did
do_chmod(struct replay *r)
{
	return !plain_path(r, 0, r->path[0]) ? NOTHING :
	    changed(disk_chmod(r->d, r->path[0], (mode_t)number(arg(r, 1))));
}

static enum did
do_mkdir(struct replay *r)
{
	return !plain_path(r, 0, r->path[0]) ? NOTHING :
	    changed(disk_mkdir(r->d, r->path[0], new_mode(r, arg(r, 1))));
}

static enum did
do_mkdirat(struct replay *r)
{
	return !at_path(r, 0, r->path[0]) ? NOTHING :
	    changed(disk_mkdir(r->d, r->path[0], new_mode(r, arg(r, 2))));
}

static enum did
do_unlink(struct replay *r)
{
	return !plain_path(r, 0, r->path[0]) ? NOTHING :
	    changed(disk_unlink(r->d, r->path[0]));
}

static enum did
do_unlinkat(struct replay *r)
{
	return !at_path(r, 0, r->path[0]) ? NOTHING :
	    changed(disk_unlink(r->d, r->path[0]));
}

/* From one place to another; when only one of them is ours we cannot know. */
static enum did
move(struct replay *r, bool from, bool to,
    bool (*how)(struct disk *, const char *, const char *))
{
	if (!from && !to)
		return NOTHING;
	return changed(from && to && how(r->d, r->path[0], r->path[1]));
}

static enum did
do_rename(struct replay *r)
{
	return move(r, plain_path(r, 0, r->path[0]),
	    plain_path(r, 1, r->path[1]), disk_rename);
}

static enum did
do_renameat(struct replay *r)
{
	return move(r, at_path(r, 0, r->path[0]), at_path(r, 2, r->path[1]),
	    strstr(arg(r, 4), "RENAME_EXCHANGE") != NULL ? disk_exchange :
	    disk_rename);
}

static enum did
do_linkat(struct replay *r)
{
	return move(r, at_path(r, 0, r->path[0]), at_path(r, 2, r->path[1]),
	    disk_link);
}

/* Only what writes to the file without a call of its own matters. */
static enum did
do_mmap(struct replay *r)
{
	return strstr(arg(r, 2), "PROT_WRITE") != NULL &&
	    strstr(arg(r, 3), "MAP_SHARED") != NULL &&
	    fd_path(r, 4, r->path[0]) ? LOST : NOTHING;
}

static enum did
do_umask(struct replay *r)
{
	r->umask = (mode_t)number(arg(r, 0));
	return NOTHING;
}

static enum did
do_nothing(struct replay *r)
{
	(void)r;
	return NOTHING;
}

static const struct call calls[] = {
	{ "open", do_open }, { "openat", do_openat },
	{ "read", do_read }, { "lseek", do_lseek },
	{ "write", do_write }, { "pwrite64", do_pwrite },
	{ "ftruncate", do_ftruncate }, { "fsync", do_fsync },
	{ "fdatasync", do_fsync }, { "fchmod", do_fchmod },
	{ "chmod", do_chmod }, { "mkdir", do_mkdir },
	{ "mkdirat", do_mkdirat }, { "unlink", do_unlink },
	{ "rmdir", do_unlink }, { "unlinkat", do_unlinkat },
	{ "rename", do_rename }, { "renameat", do_renameat },
	{ "renameat2", do_renameat }, { "linkat", do_linkat },
	{ "mmap", do_mmap }, { "umask", do_umask },
	{ "utimensat", do_nothing },
};

/* A call that is not in the table may do what it likes elsewhere. */
static enum did
do_unknown(struct replay *r)
{
	for (size_t i = 0; i < r->args; i++) {
		if (fd_path(r, i, r->path[0]) || at_path(r, i, r->path[0]) ||
		    plain_path(r, i, r->path[0]))
			return LOST;
	}
	return NOTHING;
}

/* "a, b, c": strings are in hex and hold no comma. */
static void
split(struct replay *r, char *args)
{
	for (r->args = 0; args != NULL && r->args < MAX_ARGS; r->args++) {
		r->arg[r->args] = args;
		if ((args = strstr(args, ", ")) != NULL) {
			*args = '\0';
			args += 2;
		}
	}
}

/* "name(arguments) = result": the name, or NULL when it failed. */
static const char *
take_call(struct replay *r, char *line)
{
	char *args = strchr(line, '('), *result = NULL, *s;

	if (args == NULL || line[0] == '<')
		errx(2, "line %zu: not one whole call", r->line);
	/* Killed in front of it; else its other half will be met. */
	if (strstr(line, "<unfinished ...>") != NULL)
		return NULL;
	*args++ = '\0';
	for (s = args; (s = strstr(s, " = ")) != NULL; s += 3)
		result = s;
	if (result == NULL || !isdigit((unsigned char)result[3]))
		return NULL;
	*result = '\0';
	r->result = result + 3;
	split(r, args);
	return line;
}

/* Returns what the line did, with its name in *ret_name. */
static enum did
follow(struct replay *r, char *row, const char **ret_name)
{
	char *line;
	long pid = strtol(row, &line, 10);

	row[strcspn(row, "\n")] = '\0';
	line += strspn(line, " ");
	if (strncmp(line, "---", 3) == 0)
		return NOTHING;
	/* Another may follow: a log can be that of two runs. */
	if (strncmp(line, "+++", 3) == 0) {
		r->pid = 0;
		r->umask = START_UMASK;
		return NOTHING;
	}
	if (r->pid == 0)
		r->pid = pid;
	if (pid != r->pid)
		errx(2, "line %zu: another process", r->line);
	if ((*ret_name = take_call(r, line)) == NULL)
		return NOTHING;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, *ret_name) == 0)
			return calls[i].follow(r);
	}
	return do_unknown(r);
}

void
replay(const char *log, const char *root, struct disk *d, replay_step *step,
    void *step_arg)
{
	struct replay r = { .d = d, .root = root, .umask = START_UMASK };
	char *row = NULL, what[PATH_MAX + 32];
	const char *name = "";
	size_t room = 0;
	ssize_t got;
	bool more = true;
	enum did did;
	FILE *in = fopen(log, "re");

	if (in == NULL)
		err(2, "%s", log);
	while (more && (got = getline(&row, &room, in)) > 0) {
		r.line++;
		if ((r.text.p = realloc(r.text.p, (size_t)got + 1)) == NULL)
			err(2, "replay");
		did = follow(&r, row, &name);
		if (did == LOST)
			errx(2, "line %zu: cannot follow %s", r.line, name);
		if (did == NOTHING)
			continue;
		(void)snprintf(what, sizeof(what), "%s %s", name,
		    r.path[0][0] != '\0' ? r.path[0] : ".");
		more = step(step_arg, d, what);
	}
	if (ferror(in))
		err(2, "%s", log);
	free(r.text.p);
	free(row);
	(void)fclose(in);
}
