/* SPDX-License-Identifier: Apache-2.0 */
/* Resolving the names of design section 4; see place.h. */
#include "custody/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "boundary/mounts.h"
#include "custody/advice.h"
#include "custody/inside.h"

/* How often others may replace the directory between two looks of ours. */
#define LOOKS_MAX 32

static const char *
or_null(const char *s)
{
	return s != NULL && s[0] != '\0' ? s : NULL;
}

/* Canonical parent, last component kept as it is: whether it is a link is
 * decided when it is opened. */
static ck_err
keep_last(const char *path, char ret[CK_PATH_MAX], struct ck_fail *fail)
{
	char parent[CK_PATH_MAX], real[CK_PATH_MAX], trimmed[CK_PATH_MAX];
	const char *base;
	size_t n = strlen(path);
	ck_err r;

	if (path[0] != '/' || n >= sizeof(trimmed))
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is not an absolute path");
	memcpy(trimmed, path, n + 1);
	while (n > 1 && trimmed[n - 1] == '/')
		trimmed[--n] = '\0';
	base = ck_path_base(trimmed);
	if (base[0] == '\0' || strcmp(base, ".") == 0 ||
	    strcmp(base, "..") == 0)
		return ck_fail_set(fail, CK_REFUSED, path,
		    "does not name a file or directory");
	ck_path_parent(trimmed, parent);
	if ((r = ck_path_canonical(parent, real, fail)) != CK_OK)
		return r;
	return ck_path_join(real, base, ret, fail);
}

/* Names that macOS would treat in its own way (design 4, format 17). */
static ck_err
custody_name_allowed(const char *path, const char *home,
    struct ck_fail *fail)
{
	if (ck_path_contains_nocase(path, "login.keychain"))
		return ck_fail_set(fail, CK_REFUSED, path,
		    "contains \"login.keychain\": macOS takes any keychain "
		    "below for a login keychain and may bind it to the machine");
	if (ck_path_contains_nocase(path, "/Library/Keychains"))
		return ck_fail_set(fail, CK_REFUSED, path,
		    "lies under Library/Keychains, which workers must be able "
		    "to use; the dedicated keychain needs a place of its own");
	if (ck_path_under(home, path))
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is your home directory or contains it; custody needs a "
		    "directory of its own");
	return CK_OK;
}

/* Law 5: one custody.  Another one at the default place is never ignored. */
ck_err
ck_place_second(const struct ck_place *p, struct ck_fail *fail)
{
	static const char *const signs[] = { CK_REC_FILE, CK_OPERATOR_DIR };
	char other[CK_PATH_MAX], sign[CK_PATH_MAX];
	struct stat st;
	ck_err r;

	if ((r = ck_path_join(p->home, ".clankie-keys", other, fail)) != CK_OK)
		return r;
	if (strcmp(other, p->dir) == 0)
		return CK_OK;
	for (size_t i = 0; i < 2; i++) {
		if ((r = ck_path_join(other, signs[i], sign, fail)) != CK_OK)
			return r;
		if (lstat(sign, &st) != 0 && (errno == ENOENT ||
		    errno == ENOTDIR))
			continue;
		(void)ck_fail_set(fail, CK_REFUSED, other,
		    "holds a custody already, and another one was named (%s)",
		    p->dir);
		ck_fail_next(fail, "leave --home and CLANKIE_KEYS_HOME away");
		return CK_REFUSED;
	}
	return CK_OK;
}

static ck_err
custody_paths(struct ck_place *p, const struct ck_say *say,
    struct ck_fail *fail)
{
	char path[CK_PATH_MAX];
	ck_err r;

	if (or_null(say->keys_home) != NULL)
		r = ck_path_format(path, fail, "%s", say->keys_home);
	else
		r = ck_path_join(p->home, ".clankie-keys", path, fail);
	if (r != CK_OK || (r = keep_last(path, p->dir, fail)) != CK_OK)
		return r;
	if ((r = custody_name_allowed(path, p->home, fail)) != CK_OK ||
	    (r = custody_name_allowed(p->dir, p->home, fail)) != CK_OK ||
	    (!say->second_later && (r = ck_place_second(p, fail)) != CK_OK))
		return r;
	if ((r = ck_path_join(p->dir, CK_OPERATOR_DIR, p->operator_dir,
	    fail)) != CK_OK)
		return r;
	if ((r = ck_path_join(p->operator_dir, CK_KEYCHAIN_FILE, p->keychain,
	    fail)) != CK_OK ||
	    (r = ck_path_join(p->dir, CK_RULES_FILE, p->rules, fail)) != CK_OK ||
	    (r = ck_path_join(p->dir, CK_MOUNTS_FILE, p->mounts,
	    fail)) != CK_OK)
		return r;
	return ck_path_join(p->dir, CK_REC_FILE, p->records, fail);
}

/* said when it is set, else home/rest. */
static ck_err
said_or(const char *said, const char *home, const char *rest,
    char ret[CK_PATH_MAX], struct ck_fail *fail)
{
	char path[CK_PATH_MAX];
	ck_err r;

	if (or_null(said) != NULL)
		return keep_last(said, ret, fail);
	if ((r = ck_path_join(home, rest, path, fail)) != CK_OK)
		return r;
	return keep_last(path, ret, fail);
}

static ck_err
config_paths(struct ck_place *p, const struct ck_say *say,
    struct ck_fail *fail)
{
	char parent[CK_PATH_MAX];
	ck_err r;

	if ((r = said_or(say->xdg_config, p->home, ".config", p->config,
	    fail)) != CK_OK ||
	    (r = said_or(say->xdg_state, p->home, ".local/state", p->state,
	    fail)) != CK_OK ||
	    (r = said_or(say->clankie_state, p->home, ".clankie",
	    p->clankie_state, fail)) != CK_OK ||
	    (r = said_or(say->settings_file, p->config,
	    "clankie/settings.json", p->settings, fail)) != CK_OK ||
	    (r = said_or(NULL, p->config, "clankie-keys/unlock.json",
	    p->unlock, fail)) != CK_OK ||
	    (r = said_or(say->credentials_file, p->config,
	    "clankie/credentials.json", p->file_broker, fail)) != CK_OK)
		return r;
	ck_path_parent(p->settings, parent);
	if ((r = said_or(say->local_sandbox, parent, "local-sandbox",
	    p->envelope, fail)) != CK_OK)
		return r;
	/* Its directory has to be masked for workers, and the home cannot. */
	ck_path_parent(p->file_broker, parent);
	if (strcmp(parent, p->home) == 0)
		return ck_fail_set(fail, CK_REFUSED, p->file_broker,
		    "lies directly in the home directory, which no rule can "
		    "close to workers");
	return CK_OK;
}

/* The general broker: what was said, else the platform's (design 4). */
static ck_err
broker_path(struct ck_place *p, const struct ck_say *say,
    struct ck_fail *fail)
{
	const char *said = say->broker;

	if (said == NULL) {
		p->broker_kind = CK_KIND_FILE_BROKER;
		memcpy(p->broker, p->file_broker, sizeof(p->broker));
		return CK_OK;
	}
	p->broker_said = true;
	if (strncmp(said, "keychain:/", 10) == 0) {
		p->broker_kind = CK_KIND_LOGIN_KEYCHAIN;
		return keep_last(said + 9, p->broker, fail);
	}
	if (strncmp(said, "file:/", 6) == 0) {
		p->broker_kind = CK_KIND_FILE_BROKER;
		return keep_last(said + 5, p->broker, fail);
	}
	return ck_fail_set(fail, CK_USAGE, said,
	    "is no broker: keychain:/PATH or file:/PATH");
}

static ck_err
copy_name(char *to, size_t size, const char *said, const char *usual,
    const char *what, struct ck_fail *fail)
{
	const char *name = said != NULL ? said : usual;
	size_t n = strlen(name);

	if (n == 0 || n >= size)
		return ck_fail_set(fail, CK_USAGE, NULL,
		    "the %s must have 1 to %zu bytes", what, size - 1);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return ck_fail_set(fail, CK_USAGE, NULL,
			    "the %s must not hold control characters", what);
	memcpy(to, name, n + 1);
	return CK_OK;
}

static ck_err
credential_names(struct ck_place *p, const struct ck_say *say,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = copy_name(p->credential, sizeof(p->credential),
	    say->credential, CK_OPERATOR_NAME, "credential", fail)) != CK_OK ||
	    (r = copy_name(p->service, sizeof(p->service), say->service,
	    CK_OPERATOR_SERVICE, "service", fail)) != CK_OK ||
	    (r = copy_name(p->account, sizeof(p->account), say->account,
	    CK_OPERATOR_ACCOUNT, "account", fail)) != CK_OK)
		return r;
	/* Only the operator's own item has a shape we know. */
	p->names_said = say->service != NULL || say->account != NULL;
	p->format = strcmp(p->service, CK_OPERATOR_SERVICE) == 0 &&
	    strcmp(p->account, CK_OPERATOR_ACCOUNT) == 0 ?
	    CK_FORMAT_OPERATOR_BEARER : CK_FORMAT_OPAQUE;
	return CK_OK;
}

ck_err
ck_place_resolve(const struct ck_say *say, struct ck_place *ret,
    struct ck_fail *fail)
{
	struct ck_place p;
	ck_err r;

	memset(&p, 0, sizeof(p));
	p.operator_override = say->operator_override;
	p.worker_marked = say->worker_marked;
	p.login_password = say->login_password;
	if ((r = ck_path_home(say->home, p.home, fail)) != CK_OK ||
	    (r = custody_paths(&p, say, fail)) != CK_OK ||
	    (r = config_paths(&p, say, fail)) != CK_OK ||
	    (r = broker_path(&p, say, fail)) != CK_OK ||
	    (r = credential_names(&p, say, fail)) != CK_OK)
		return r;
	*ret = p;
	return CK_OK;
}

ck_err
ck_place_outside(const struct ck_place *p, struct ck_fail *fail)
{
	enum ck_inside inside = CK_INSIDE_WORKER;
	struct stat st;

	/* The mode is looked at first, for it is had for nothing. */
	if (lstat(p->dir, &st) != 0 ||
	    (st.st_mode & 07777) != CK_MOUNT_MODE_CLOSED ||
	    (ck_inside(p, &inside, NULL) == CK_OK &&
	    inside != CK_INSIDE_WORKER))
		return CK_OK;
	(void)ck_fail_set(fail, CK_NESTED, p->dir,
	    "is masked: this is inside a worker's boundary");
	ck_fail_next(fail, "run it in a terminal of your own");
	return CK_NESTED;
}

ck_err
ck_place_open_dir(const struct ck_place *p, int *ret_fd,
    struct ck_fail *fail)
{
	ck_err r;

	/* There nothing else is what it seems. */
	if ((r = ck_place_outside(p, fail)) != CK_OK ||
	    (r = ck_path_chain_safe(p->dir, fail)) != CK_OK)
		return r;
	r = ck_io_open_dir(AT_FDCWD, p->dir, p->dir,
	    CK_IO_OWNER | CK_IO_PRIVATE, ret_fd, NULL, fail);
	if (r == CK_NOSTORE)
		(void)ck_fail_set(fail, r, p->dir,
		    "there is no custody yet");
	return r;
}

/* The dedicated file in its directory, held open: *ret_moved when that was
 * replaced by another one (rotate --keychain) while we looked. */
static ck_err
look_inside(const struct ck_place *p, int dirfd, const struct stat *held,
    bool *ret, bool *ret_moved, struct ck_fail *fail)
{
	struct stat st;

	if (fstatat(dirfd, CK_KEYCHAIN_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		*ret = true;
		return CK_OK;
	}
	if (errno != ENOENT)
		return ck_fail_sys(fail, errno, p->keychain, "examine it");
	if (lstat(p->operator_dir, &st) != 0) {
		*ret_moved = errno == ENOENT;
		return *ret_moved ? CK_OK : ck_fail_sys(fail, errno,
		    p->operator_dir, "examine it");
	}
	*ret_moved = st.st_dev != held->st_dev || st.st_ino != held->st_ino;
	if (*ret_moved)
		return CK_OK;
	/* The directory takes its name only when the file is complete. */
	(void)ck_fail_set(fail, CK_DAMAGED, p->operator_dir,
	    "is there, but the dedicated keychain in it is missing");
	ck_advise(fail, p, "put %s back from a backup; if it is lost for "
	    "good: {reset}", CK_KEYCHAIN_FILE);
	return CK_DAMAGED;
}

ck_err
ck_place_dedicated(const struct ck_place *p, bool *ret,
    struct ck_fail *fail)
{
	struct stat held;
	bool moved = true;
	int fd = -1;
	ck_err r = CK_OK;

	for (int i = 0; r == CK_OK && moved && i < LOOKS_MAX; i++) {
		moved = false;
		/* The directory first: what lies in one that others can
		 * change, or behind a link, is not in our custody. */
		r = ck_io_open_dir(AT_FDCWD, p->operator_dir, p->operator_dir,
		    CK_IO_OWNER | CK_IO_PRIVATE, &fd, &held, fail);
		if (r == CK_NOSTORE) {
			*ret = false;
			return CK_OK;
		}
		if (r == CK_OK)
			r = look_inside(p, fd, &held, ret, &moved, fail);
		ck_io_close(&fd);
	}
	if (moved)
		r = ck_fail_set(fail, CK_CHANGED, p->operator_dir,
		    "is replaced again and again");
	return r;
}

/* Everything else goes by the path: the lock must be that directory's. */
static ck_err
still_named(const struct ck_place *p, int fd, struct ck_fail *fail)
{
	struct stat held, named;

	if (fstat(fd, &held) != 0 || lstat(p->dir, &named) != 0)
		return ck_fail_sys(fail, errno, p->dir, "examine it");
	if (held.st_dev != named.st_dev || held.st_ino != named.st_ino)
		return ck_fail_set(fail, CK_CHANGED, p->dir,
		    "was replaced by another directory");
	return CK_OK;
}

ck_err
ck_place_lock(const struct ck_place *p, int dirfd, int *ret_fd,
    struct ck_fail *fail)
{
	struct ck_fail why = CK_FAIL_INIT;
	int fd = -1;
	ck_err r;

	r = ck_io_lock_dir(dirfd, p->dir, CK_WAIT_MS, &fd, &why);
	if (r == CK_OK && (r = still_named(p, fd, &why)) == CK_OK) {
		*ret_fd = fd;
		return CK_OK;
	}
	ck_io_close(&fd);
	if (r == CK_BUSY) {
		(void)ck_fail_set(fail, r, p->dir,
		    "another clankie-keys is changing this custody (%s)",
		    why.why);
		ck_fail_next(fail, "wait for it to end, then try again");
	} else if (fail != NULL) {
		*fail = why;
	}
	return r;
}

ck_err
ck_place_of_row(const struct ck_place *p, const struct ck_rec_credential *row,
    struct ck_place *ret, struct ck_fail *fail)
{
	struct ck_place at = *p;

	memcpy(at.credential, row->name, sizeof(at.credential));
	memcpy(at.service, row->service, sizeof(at.service));
	memcpy(at.account, row->account, sizeof(at.account));
	if (ck_format_by_name(row->format, &at.format) != CK_OK)
		return ck_fail_set(fail, CK_DAMAGED, p->dir,
		    "the records give the credential %s an unknown format",
		    row->name);
	*ret = at;
	return CK_OK;
}
