/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, preparing and removing an envelope; see envelope.h. */
#include "custody/envelope.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/rand.h>

#include "base/io.h"
#include "base/platform.h"
#include "custody/inside.h"

#define RECORD_MAX ((size_t)1 << 20)
#define FILE_RULES (CK_IO_OWNER | CK_IO_PRIVATE | CK_IO_ONELINK)
/* Beside the control directory: on its way there, and on its way out. */
#define NEW_FORM ".new-########"
#define OLD_FORM ".old-########"

static const char probe_text[] =
    "The service in the launch envelope must not be able to read this file.\n"
    "It proves so before it says that an OS boundary is around it.\n";

static ck_err
control_file(int dirfd, const struct ck_envelope *e, const char *name,
    uint8_t **ret, size_t *ret_n, struct ck_fail *fail)
{
	char shown[CK_PATH_MAX];
	int fd = -1;
	ck_err r;

	if ((r = ck_path_join(e->control, name, shown, fail)) != CK_OK ||
	    (r = ck_io_open_file(dirfd, name, shown, FILE_RULES, &fd, NULL,
	    fail)) != CK_OK)
		return r;
	r = ck_io_read_all(fd, RECORD_MAX, shown, ret, ret_n, fail);
	ck_io_close(&fd);
	return r;
}

static ck_err
half_written(const struct ck_envelope *e, const char *what,
    struct ck_fail *fail)
{
	(void)ck_fail_set(fail, CK_DAMAGED, e->control,
	    "is an envelope that was not finished: it has no %s", what);
	ck_fail_next(fail, "clankie-keys envelope remove, then prepare it "
	    "again");
	return CK_DAMAGED;
}

ck_err
ck_envelope_load(const struct ck_place *p, struct ck_envelope *ret,
    struct ck_fail *fail)
{
	uint8_t *text = NULL;
	size_t n = 0;
	int dirfd = -1;
	ck_err r;

	memcpy(ret->control, p->envelope, sizeof(ret->control));
	r = ck_io_open_dir(AT_FDCWD, p->envelope, p->envelope,
	    CK_IO_OWNER | CK_IO_PRIVATE, &dirfd, NULL, fail);
	if (r == CK_NOSTORE)
		return ck_fail_set(fail, CK_ABSENT, p->envelope,
		    "is not there: no envelope is prepared");
	if (r != CK_OK)
		return r;
	r = control_file(dirfd, ret, CK_ENVELOPE_RECORD, &text, &n, fail);
	if (r == CK_NOSTORE)
		r = half_written(ret, CK_ENVELOPE_RECORD, fail);
	else if (r == CK_OK)
		r = ck_envelope_parse((struct ck_span){ text, n },
		    ret->control, ret, fail);
	free(text);
	ck_io_close(&dirfd);
	return r;
}

static ck_err
not_intact(const struct ck_envelope *e, const char *what,
    struct ck_fail *fail)
{
	(void)ck_fail_set(fail, CK_NOENFORCE, e->control, "%s", what);
	ck_fail_next(fail, "clankie-keys envelope remove, then prepare it "
	    "again");
	return CK_NOENFORCE;
}

static ck_err
profile_is_ours(int dirfd, const struct ck_envelope *e, struct ck_fail *fail)
{
	struct ck_buf wanted = CK_BUF_INIT;
	uint8_t *text = NULL;
	size_t n = 0;
	ck_err r;

	if ((r = ck_envelope_seatbelt(e, &wanted, fail)) != CK_OK)
		goto out;
	r = control_file(dirfd, e, CK_ENVELOPE_PROFILE, &text, &n, fail);
	if (r == CK_NOSTORE)
		r = half_written(e, CK_ENVELOPE_PROFILE, fail);
	else if (r == CK_OK && (n != wanted.n ||
	    memcmp(text, wanted.p, n) != 0))
		r = not_intact(e, "has a profile that is not the one its "
		    "record gives", fail);
out:
	free(text);
	ck_buf_free(&wanted);
	return r;
}

ck_err
ck_envelope_intact(const struct ck_envelope *e, struct ck_fail *fail)
{
	uint8_t *text = NULL;
	size_t n = 0;
	int dirfd = -1;
	ck_err r;

	if ((r = ck_io_open_dir(AT_FDCWD, e->control, e->control,
	    CK_IO_OWNER | CK_IO_PRIVATE, &dirfd, NULL, fail)) != CK_OK)
		return r;
	if ((r = profile_is_ours(dirfd, e, fail)) != CK_OK)
		goto out;
	r = control_file(dirfd, e, CK_ENVELOPE_PROBE, &text, &n, fail);
	if (r == CK_NOSTORE)
		r = half_written(e, CK_ENVELOPE_PROBE, fail);
	else if (r == CK_OK && n == 0)
		r = not_intact(e, "has an empty probe", fail);
out:
	free(text);
	ck_io_close(&dirfd);
	return r;
}

static ck_err
outside(const struct ck_place *p, struct ck_fail *fail)
{
	enum ck_inside inside = CK_INSIDE_NOTHING;
	ck_err r;

	if ((r = ck_inside(p, &inside, fail)) != CK_OK ||
	    inside == CK_INSIDE_NOTHING)
		return r;
	(void)ck_fail_set(fail, CK_NESTED, NULL,
	    "an envelope is prepared and removed from outside of every "
	    "boundary, and this is inside of one");
	ck_fail_next(fail, "run it in a terminal of your own");
	return CK_NESTED;
}

/* One prepare or remove at a time, by the directory that both write in. */
static ck_err
lock_beside(const struct ck_place *p, int *ret_lock, struct ck_fail *fail)
{
	char parent[CK_PATH_MAX];
	int fd = -1;
	ck_err r;

	ck_path_parent(p->envelope, parent);
	if ((r = ck_io_open_dir(AT_FDCWD, parent, parent,
	    CK_IO_OWNER | CK_IO_NOWRITE, &fd, NULL, fail)) == CK_OK)
		r = ck_io_lock_dir(fd, parent, CK_WAIT_MS, ret_lock, fail);
	ck_io_close(&fd);
	return r;
}

static ck_err
random_hex(size_t n, char *ret, struct ck_fail *fail)
{
	uint8_t raw[16];

	if (RAND_bytes(raw, sizeof(raw)) != 1)
		return ck_fail_set(fail, CK_IO, NULL,
		    "the system's random generator failed");
	ck_hex_encode(raw, n, ret);
	return CK_OK;
}

/* Version 4 of RFC 9562. */
static ck_err
new_id(char ret[CK_ENVELOPE_ID_SIZE], struct ck_fail *fail)
{
	char hex[33];
	ck_err r;

	if ((r = random_hex(16, hex, fail)) != CK_OK)
		return r;
	hex[12] = '4';
	hex[16] = "89ab"[hex[16] & 3];
	(void)snprintf(ret, CK_ENVELOPE_ID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s",
	    hex, hex + 8, hex + 12, hex + 16, hex + 20);
	return CK_OK;
}

/* The record comes last, and never over another one. */
static ck_err
fill(int dirfd, const struct ck_envelope *e, struct ck_fail *fail)
{
	struct ck_buf record = CK_BUF_INIT, profile = CK_BUF_INIT;
	ck_err r;

	if ((r = ck_envelope_seatbelt(e, &profile, fail)) != CK_OK ||
	    (r = ck_envelope_write(e, &record, fail)) != CK_OK ||
	    (r = ck_io_replace_how(dirfd, CK_ENVELOPE_PROFILE, e->control,
	    profile.p, profile.n, 0600, (gid_t)-1, CK_IO_NEW, fail)) != CK_OK ||
	    (r = ck_io_replace_how(dirfd, CK_ENVELOPE_PROBE, e->control,
	    probe_text, sizeof(probe_text) - 1, 0600, (gid_t)-1, CK_IO_NEW,
	    fail)) != CK_OK)
		goto out;
	r = ck_io_replace_how(dirfd, CK_ENVELOPE_RECORD, e->control, record.p,
	    record.n, 0600, (gid_t)-1, CK_IO_NEW, fail);
out:
	ck_buf_free(&profile);
	ck_buf_free(&record);
	return r;
}

static bool
is_of_envelope(const char *name)
{
	static const char record[] = CK_ENVELOPE_RECORD CK_IO_TEMP;
	static const char profile[] = CK_ENVELOPE_PROFILE CK_IO_TEMP;
	static const char probe[] = CK_ENVELOPE_PROBE CK_IO_TEMP;
	static const char launch[] = CK_ENVELOPE_LAUNCH CK_IO_TEMP;

	return strcmp(name, CK_ENVELOPE_RECORD) == 0 ||
	    strcmp(name, CK_ENVELOPE_PROFILE) == 0 ||
	    strcmp(name, CK_ENVELOPE_PROBE) == 0 ||
	    strcmp(name, CK_ENVELOPE_LAUNCH) == 0 ||
	    ck_io_is_left(name, record) || ck_io_is_left(name, profile) ||
	    ck_io_is_left(name, probe) || ck_io_is_left(name, launch);
}

/* Look, and with unlinking remove, what is in a control directory. */
static ck_err
each_file(int parent, const char *name, const char *shown, bool unlinking,
    struct ck_fail *fail)
{
	const struct dirent *entry;
	DIR *dir = NULL;
	int fd = -1, sys = 0;
	ck_err r;

	if ((r = ck_io_open_dir(parent, name, shown, CK_IO_OWNER, &fd, NULL,
	    fail)) != CK_OK)
		return r;
	if ((dir = fdopendir(fd)) == NULL) {
		sys = errno;
		ck_io_close(&fd);
		return ck_fail_sys(fail, sys, shown, "list it");
	}
	while (r == CK_OK && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if (!is_of_envelope(entry->d_name))
			r = ck_fail_set(fail, CK_REFUSED, shown,
			    "holds %.200s, which is not of an envelope: move "
			    "it away first", entry->d_name);
		else if (unlinking && unlinkat(fd, entry->d_name, 0) != 0)
			r = ck_fail_sys(fail, errno, shown, "remove a file");
	}
	(void)closedir(dir);
	return r;
}

static ck_err
take_down(int parent, const char *name, const char *shown,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = each_file(parent, name, shown, true, fail)) != CK_OK)
		return r;
	if (unlinkat(parent, name, AT_REMOVEDIR) != 0)
		return ck_fail_sys(fail, errno, shown, "remove it");
	return ck_io_sync(parent, shown, fail);
}

/* The directory the control directory lies in, and a name beside that. */
static ck_err
beside(const struct ck_place *p, const char *infix, int *ret_fd,
    char ret[CK_PATH_MAX], struct ck_fail *fail)
{
	char parent[CK_PATH_MAX], hex[9];
	ck_err r;

	ck_path_parent(p->envelope, parent);
	if ((r = random_hex(4, hex, fail)) != CK_OK ||
	    (r = ck_path_format(ret, fail, "%s%s%s",
	    ck_path_base(p->envelope), infix, hex)) != CK_OK)
		return r;
	return ck_io_open_dir(AT_FDCWD, parent, parent,
	    CK_IO_OWNER | CK_IO_NOWRITE, ret_fd, NULL, fail);
}

static ck_err
there_already(const struct ck_place *p, struct ck_fail *fail)
{
	(void)ck_fail_set(fail, CK_REFUSED, p->envelope,
	    "is there: an envelope was prepared already");
	ck_fail_next(fail, "clankie-keys envelope status; clankie-keys "
	    "envelope remove");
	return CK_REFUSED;
}

/* Complete under another name, then in its place by one rename. */
static ck_err
install(const struct ck_place *p, const struct ck_envelope *e,
    struct ck_fail *fail)
{
	char name[CK_PATH_MAX];
	int parent = -1, dirfd = -1, sys;
	ck_err r;

	if ((r = beside(p, ".new-", &parent, name, fail)) != CK_OK ||
	    (r = ck_io_make_dir(parent, name, p->envelope, 0700,
	    fail)) != CK_OK)
		goto out;
	if ((r = ck_io_open_dir(parent, name, p->envelope,
	    CK_IO_OWNER | CK_IO_PRIVATE, &dirfd, NULL, fail)) == CK_OK &&
	    (r = fill(dirfd, e, fail)) == CK_OK) {
		sys = ck_platform_rename_new(parent, name, parent,
		    ck_path_base(p->envelope));
		if (sys == EEXIST || sys == ENOTEMPTY)
			r = there_already(p, fail);
		else if (sys != 0)
			r = ck_fail_sys(fail, sys, p->envelope,
			    "take it into place");
		else if ((r = ck_io_sync(parent, p->envelope, fail)) == CK_OK)
			goto out;
	}
	if (r != CK_OK)
		(void)!take_down(parent, name, p->envelope, NULL);
out:
	ck_io_close(&dirfd);
	ck_io_close(&parent);
	return r;
}

/* Under the lock. */
static ck_err
prepare(const struct ck_place *p, struct ck_envelope *e,
    struct ck_envelope_report *ret, struct ck_fail *fail)
{
	struct ck_envelope_report report = { false, false };
	size_t left;
	ck_err r;

	if ((r = new_id(e->id, fail)) != CK_OK ||
	    (r = ck_envelope_leftovers(p, true, &left, fail)) != CK_OK ||
	    (r = ck_envelope_make_home(p, e, &report, fail)) != CK_OK ||
	    (r = install(p, e, fail)) != CK_OK)
		return r;
	*ret = report;
	return CK_OK;
}

ck_err
ck_envelope_prepare(const struct ck_place *p, struct ck_envelope *e,
    struct ck_envelope_report *ret, struct ck_fail *fail)
{
	struct stat st;
	int lock = -1;
	ck_err r;

	memcpy(e->control, p->envelope, sizeof(e->control));
	if ((r = outside(p, fail)) != CK_OK)
		return r;
	if (lstat(p->envelope, &st) == 0)
		return there_already(p, fail);
	if (errno != ENOENT)
		return ck_fail_sys(fail, errno, p->envelope, "examine it");
	if ((r = ck_path_chain_safe(p->envelope, fail)) != CK_OK ||
	    (r = ck_envelope_check(p, e, fail)) != CK_OK ||
	    (r = lock_beside(p, &lock, fail)) != CK_OK)
		return r;
	r = prepare(p, e, ret, fail);
	ck_io_close(&lock);
	return r;
}

/* Under the lock. */
static ck_err
take_away(const struct ck_place *p, struct ck_fail *fail)
{
	char name[CK_PATH_MAX];
	size_t left = 0;
	int parent = -1, sys;
	ck_err r;

	if ((r = ck_envelope_leftovers(p, true, &left, fail)) != CK_OK ||
	    (r = beside(p, ".old-", &parent, name, fail)) != CK_OK)
		return r;
	r = each_file(parent, ck_path_base(p->envelope), p->envelope, false,
	    fail);
	if (r == CK_NOSTORE)
		r = left > 0 ? CK_OK : ck_fail_set(fail, CK_ABSENT,
		    p->envelope, "is not there: no envelope is prepared");
	else if (r == CK_OK) {
		/* From here on the next launch is the ordinary one. */
		sys = ck_platform_rename_new(parent,
		    ck_path_base(p->envelope), parent, name);
		r = sys != 0 ? ck_fail_sys(fail, sys, p->envelope,
		    "take it out of its place") :
		    ck_io_sync(parent, p->envelope, fail);
		if (r == CK_OK)
			r = take_down(parent, name, p->envelope, fail);
	}
	ck_io_close(&parent);
	return r;
}

ck_err
ck_envelope_remove(const struct ck_place *p, struct ck_fail *fail)
{
	int lock = -1;
	ck_err r;

	if ((r = outside(p, fail)) != CK_OK)
		return r;
	r = lock_beside(p, &lock, fail);
	if (r == CK_NOSTORE)
		return ck_fail_set(fail, CK_ABSENT, p->envelope,
		    "is not there: no envelope is prepared");
	if (r == CK_OK)
		r = take_away(p, fail);
	ck_io_close(&lock);
	return r;
}

ck_err
ck_envelope_leftovers(const struct ck_place *p, bool remove, size_t *ret,
    struct ck_fail *fail)
{
	char parent[CK_PATH_MAX], form[2][CK_PATH_MAX];
	const struct dirent *entry;
	DIR *dir;
	ck_err r;

	*ret = 0;
	ck_path_parent(p->envelope, parent);
	if ((r = ck_path_format(form[0], fail, "%s" NEW_FORM,
	    ck_path_base(p->envelope))) != CK_OK ||
	    (r = ck_path_format(form[1], fail, "%s" OLD_FORM,
	    ck_path_base(p->envelope))) != CK_OK)
		return r;
	if ((dir = opendir(parent)) == NULL)
		return errno == ENOENT ? CK_OK : ck_fail_sys(fail, errno,
		    parent, "list it");
	while (r == CK_OK && (entry = readdir(dir)) != NULL) {
		if (!ck_io_is_left(entry->d_name, form[0]) &&
		    !ck_io_is_left(entry->d_name, form[1]))
			continue;
		++*ret;
		if (remove)
			r = take_down(dirfd(dir), entry->d_name, parent, fail);
	}
	(void)closedir(dir);
	return r;
}
