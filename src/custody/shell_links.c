/* SPDX-License-Identifier: Apache-2.0 */
/* Links to the worker entry under the names of shells; see shell_links.h. */
#include "custody/shell_links.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/io.h"

/* Largest program that is copied. */
#define PROGRAM_MAX ((size_t)64 << 20)

static const char *const parts[] = { ".local", "libexec", "clankie-keys" };
#define PARTS (sizeof(parts) / sizeof(parts[0]))

const char *
ck_links_name(size_t i)
{
	static const char *const names[] = { "zsh", "bash", "fish", "sh" };

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

ck_err
ck_links_dir(const struct ck_place *p, char ret[CK_PATH_MAX],
    struct ck_fail *fail)
{
	return ck_path_format(ret, fail, "%s/%s/%s/%s", p->home, parts[0],
	    parts[1], parts[2]);
}

bool
ck_links_is_system(const char *path)
{
	char at[CK_PATH_MAX];
	struct stat st;

	if (ck_path_format(at, NULL, "%s", path) != CK_OK)
		return false;
	for (;;) {
		if (lstat(at, &st) != 0 || st.st_uid != 0 ||
		    (st.st_mode & 022) != 0 || S_ISLNK(st.st_mode))
			return false;
		if (strcmp(at, "/") == 0)
			return true;
		ck_path_parent(at, at);
	}
}

/* The directory, made where it is missing if make says so. */
static ck_err
open_dir(const struct ck_place *p, bool make, int *ret_fd,
    struct ck_fail *fail)
{
	char shown[CK_PATH_MAX];
	int fd = -1, next = -1;
	ck_err r;

	memcpy(shown, p->home, sizeof(shown));
	if ((r = ck_io_open_dir(AT_FDCWD, p->home, p->home, CK_IO_OWNER, &fd,
	    NULL, fail)) != CK_OK)
		return r;
	for (size_t i = 0; r == CK_OK && i < PARTS; i++) {
		if ((r = ck_path_join(shown, parts[i], shown,
		    fail)) != CK_OK ||
		    (make && (r = ck_io_make_dir(fd, parts[i], shown, 0755,
		    fail)) != CK_OK) ||
		    (r = ck_io_open_dir(fd, parts[i], shown,
		    CK_IO_OWNER | CK_IO_NOWRITE, &next, NULL, fail)) != CK_OK)
			break;
		ck_io_close(&fd);
		fd = next;
		next = -1;
	}
	if (r == CK_OK) {
		*ret_fd = fd;
		fd = -1;
	}
	ck_io_close(&fd);
	return r;
}

enum found { MISSING, CURRENT, OURS, FOREIGN };

static ck_err
foreign(const struct ck_links *links, const char *name, struct ck_fail *fail)
{
	char path[CK_PATH_MAX];

	if (ck_path_join(links->dir, name, path, NULL) != CK_OK)
		memcpy(path, links->dir, sizeof(path));
	(void)ck_fail_set(fail, CK_REFUSED, path,
	    "is there and is not ours");
	ck_fail_next(fail, "look what it is and move it away, then "
	    "clankie-keys worker install-shell");
	return CK_REFUSED;
}

static ck_err
look_link(int dirfd, const struct ck_links *links, const char *name,
    enum found *ret, struct ck_fail *fail)
{
	char to[CK_PATH_MAX];
	ssize_t n = readlinkat(dirfd, name, to, sizeof(to) - 1);

	if (n < 0 && errno != ENOENT && errno != EINVAL)
		return ck_fail_sys(fail, errno, name, "read the link");
	*ret = n < 0 && errno == ENOENT ? MISSING : FOREIGN;
	if (n < 0)
		return CK_OK;
	to[n] = '\0';
	if (strcmp(to, links->entry) == 0)
		*ret = CURRENT;
	else if (links->before[0] != '\0' && strcmp(to, links->before) == 0)
		*ret = OURS;
	return CK_OK;
}

/* A program that was read, and what is in its place. */
struct copy {
	uint8_t *bytes;
	size_t n;
	enum found found;
};

static ck_err
read_program(int dirfd, const char *name, const char *shown, uint8_t **ret,
    size_t *ret_n, struct ck_fail *fail)
{
	int fd = -1;
	ck_err r;

	if ((r = ck_io_open_file(dirfd, name, shown, CK_IO_NOWRITE, &fd, NULL,
	    fail)) != CK_OK)
		return r;
	r = ck_io_read_all(fd, PROGRAM_MAX, shown, ret, ret_n, fail);
	ck_io_close(&fd);
	return r;
}

static ck_err
look_copy(int dirfd, const struct ck_links *links, const char *from,
    const char *name, struct copy *ret, struct ck_fail *fail)
{
	uint8_t *there = NULL;
	size_t n = 0;
	ck_err r;

	if ((r = read_program(AT_FDCWD, from, from, &ret->bytes, &ret->n,
	    fail)) != CK_OK)
		return r;
	r = read_program(dirfd, name, name, &there, &n, fail);
	if (r == CK_NOSTORE)
		ret->found = MISSING;
	else if (r == CK_OK && n == ret->n &&
	    memcmp(there, ret->bytes, n) == 0)
		ret->found = CURRENT;
	else
		ret->found = r == CK_OK && links->copied ? OURS : FOREIGN;
	free(there);
	return r == CK_OK || r == CK_NOSTORE || r == CK_REFUSED ? CK_OK : r;
}

/* Everything that is there, before anything is changed. */
struct survey {
	struct copy entry, program;
	enum found link[4];
};

static ck_err
survey(int dirfd, const struct ck_links *links, struct survey *s,
    struct ck_fail *fail)
{
	ck_err r;

	s->entry.found = s->program.found = CURRENT;
	if (links->from_entry[0] != '\0' &&
	    ((r = look_copy(dirfd, links, links->from_entry, CK_LINKS_ENTRY,
	    &s->entry, fail)) != CK_OK ||
	    (r = look_copy(dirfd, links, links->from_program,
	    CK_LINKS_PROGRAM, &s->program, fail)) != CK_OK))
		return r;
	if (s->entry.found == FOREIGN)
		return foreign(links, CK_LINKS_ENTRY, fail);
	if (s->program.found == FOREIGN)
		return foreign(links, CK_LINKS_PROGRAM, fail);
	for (size_t i = 0; ck_links_name(i) != NULL; i++) {
		if ((r = look_link(dirfd, links, ck_links_name(i),
		    &s->link[i], fail)) != CK_OK)
			return r;
		if (s->link[i] == FOREIGN)
			return foreign(links, ck_links_name(i), fail);
	}
	return CK_OK;
}

static ck_err
put_copy(int dirfd, const struct copy *c, const char *name, bool *changed,
    struct ck_fail *fail)
{
	if (c->found == CURRENT)
		return CK_OK;
	*changed = true;
	return ck_io_replace(dirfd, name, name, c->bytes, c->n, 0755, fail);
}

/* A link of ours is replaced in one step, so that no pane finds none. */
static ck_err
put_link(int dirfd, const struct ck_links *links, const char *name,
    enum found found, bool *changed, struct ck_fail *fail)
{
	char temporary[16];

	if (found == CURRENT)
		return CK_OK;
	*changed = true;
	(void)snprintf(temporary, sizeof(temporary), ".%s.new", name);
	if (found == MISSING)
		return symlinkat(links->entry, dirfd, name) == 0 ? CK_OK :
		    ck_fail_sys(fail, errno, name, "make the link");
	(void)unlinkat(dirfd, temporary, 0);
	if (symlinkat(links->entry, dirfd, temporary) != 0 ||
	    renameat(dirfd, temporary, dirfd, name) != 0)
		return ck_fail_sys(fail, errno, name, "replace the link");
	return CK_OK;
}

static ck_err
drop_copies(int dirfd, size_t *removed, struct ck_fail *fail)
{
	static const char *const programs[] = { CK_LINKS_ENTRY,
		CK_LINKS_PROGRAM };

	for (size_t i = 0; i < 2; i++) {
		if (unlinkat(dirfd, programs[i], 0) == 0)
			(*removed)++;
		else if (errno != ENOENT)
			return ck_fail_sys(fail, errno, programs[i],
			    "remove it");
	}
	return CK_OK;
}

ck_err
ck_links_make(const struct ck_place *p, const struct ck_links *links,
    bool *ret_changed, struct ck_fail *fail)
{
	struct survey s;
	size_t removed = 0;
	bool changed = false;
	int fd = -1;
	ck_err r;

	memset(&s, 0, sizeof(s));
	if ((r = open_dir(p, true, &fd, fail)) != CK_OK ||
	    (r = survey(fd, links, &s, fail)) != CK_OK ||
	    (r = put_copy(fd, &s.entry, CK_LINKS_ENTRY, &changed,
	    fail)) != CK_OK ||
	    (r = put_copy(fd, &s.program, CK_LINKS_PROGRAM, &changed,
	    fail)) != CK_OK)
		goto out;
	for (size_t i = 0; ck_links_name(i) != NULL; i++)
		if ((r = put_link(fd, links, ck_links_name(i), s.link[i],
		    &changed, fail)) != CK_OK)
			goto out;
	/* No link leads to them any more. */
	if (links->copied && links->from_entry[0] == '\0' &&
	    (r = drop_copies(fd, &removed, fail)) != CK_OK)
		goto out;
	if ((r = ck_io_sync(fd, links->dir, fail)) == CK_OK)
		*ret_changed = changed || removed > 0;
out:
	free(s.entry.bytes);
	free(s.program.bytes);
	ck_io_close(&fd);
	return r;
}

ck_err
ck_links_remove(const struct ck_place *p, const struct ck_links *links,
    size_t *ret_removed, struct ck_fail *fail)
{
	enum found found = MISSING;
	size_t removed = 0;
	int fd = -1;
	ck_err r;

	r = open_dir(p, false, &fd, fail);
	if (r == CK_NOSTORE) {
		*ret_removed = 0;
		return CK_OK;
	}
	for (size_t i = 0; r == CK_OK && ck_links_name(i) != NULL; i++) {
		r = look_link(fd, links, ck_links_name(i), &found, fail);
		if (r != CK_OK || (found != CURRENT && found != OURS))
			continue;
		if (unlinkat(fd, ck_links_name(i), 0) != 0)
			r = ck_fail_sys(fail, errno, ck_links_name(i),
			    "remove the link");
		removed++;
	}
	if (r == CK_OK && links->copied)
		r = drop_copies(fd, &removed, fail);
	if (r == CK_OK && (r = ck_io_sync(fd, links->dir, fail)) == CK_OK)
		*ret_removed = removed;
	ck_io_close(&fd);
	return r;
}

ck_err
ck_links_herdr(const struct ck_place *p, struct ck_records *rec,
    bool *ret_made, struct ck_fail *fail)
{
	char dir[CK_PATH_MAX], path[CK_PATH_MAX];
	bool found = false;
	struct stat st;
	int config = -1, herdr = -1;
	ck_err r;

	if ((r = ck_path_join(p->config, "herdr", dir, fail)) != CK_OK ||
	    (r = ck_path_join(dir, "config.toml", path, fail)) != CK_OK ||
	    (r = ck_records_protected_has(rec, path, &found,
	    fail)) != CK_OK)
		return r;
	*ret_made = false;
	if (!found || lstat(path, &st) == 0)
		return CK_OK;
	if ((r = ck_io_open_dir(AT_FDCWD, p->config, p->config, CK_IO_OWNER,
	    &config, NULL, fail)) == CK_OK &&
	    (r = ck_io_make_dir(config, "herdr", dir, 0700, fail)) == CK_OK &&
	    (r = ck_io_open_dir(config, "herdr", dir, CK_IO_OWNER, &herdr,
	    NULL, fail)) == CK_OK &&
	    (r = ck_io_replace_how(herdr, "config.toml", path, "", 0, 0600,
	    (gid_t)-1, CK_IO_NEW, fail)) == CK_OK)
		*ret_made = true;
	ck_io_close(&herdr);
	ck_io_close(&config);
	return r;
}

/* As the entry judges its program, and the launch the entry. */
static const char *
fault_of(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return "is missing, so that no shell starts";
	if (!S_ISREG(st.st_mode) || access(path, X_OK) != 0)
		return "cannot be run, so that no shell starts";
	if ((st.st_uid != 0 && st.st_uid != geteuid()) ||
	    (st.st_mode & 022) != 0)
		return "could be changed by another user";
	return NULL;
}

/* The program is beside the entry, or in the bin of a package that is
 * root's. */
static const char *
fault_of_program(const char *entry, char ret_path[CK_PATH_MAX])
{
	char dir[CK_PATH_MAX];
	struct stat st;

	ck_path_parent(entry, dir);
	if (ck_path_join(dir, CK_LINKS_PROGRAM, ret_path, NULL) != CK_OK)
		return "has a path that is too long";
	if (lstat(ret_path, &st) != 0 && ck_links_is_system(entry) &&
	    ck_path_join(dir, "../../bin/" CK_LINKS_PROGRAM, ret_path,
	    NULL) != CK_OK)
		return "has a path that is too long";
	return fault_of(ret_path);
}

bool
ck_links_are_whole(const struct ck_place *p, const char *entry,
    char ret_path[CK_PATH_MAX], const char **ret_why)
{
	char dir[CK_PATH_MAX], to[CK_PATH_MAX];
	ssize_t n;

	if (ck_path_format(ret_path, NULL, "%s", entry) == CK_OK &&
	    (*ret_why = fault_of(ret_path)) != NULL)
		return false;
	if ((*ret_why = fault_of_program(entry, ret_path)) != NULL)
		return false;
	*ret_why = "is no link to the worker entry: whoever has it as SHELL "
	    "gets none, or one that is no worker";
	if (ck_links_dir(p, dir, NULL) != CK_OK)
		return false;
	for (size_t i = 0; ck_links_name(i) != NULL; i++) {
		if (ck_path_join(dir, ck_links_name(i), ret_path,
		    NULL) != CK_OK)
			return false;
		n = readlink(ret_path, to, sizeof(to) - 1);
		to[n < 0 ? 0 : n] = '\0';
		if (strcmp(to, entry) != 0)
			return false;
	}
	return true;
}
