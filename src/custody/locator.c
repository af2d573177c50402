/* SPDX-License-Identifier: Apache-2.0 */
/* broker.json; see locator.h. */
#include "custody/locator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/io.h"
#include "custody/unlock_place.h"
#include "store/json.h"
#include "store/unlock.h"

/* Two paths of CK_PATH_MAX, each byte at most six when escaped. */
#define LOCATOR_MAX ((size_t)16384)

#define FILE_RULES (CK_IO_OWNER | CK_IO_PRIVATE | CK_IO_ONELINK)

struct locator {
	char keychain[CK_PATH_MAX];
	char broker[CK_PATH_MAX];
};

ck_err
ck_locator_path(const struct ck_place *p, char ret[CK_PATH_MAX],
    struct ck_fail *fail)
{
	char dir[CK_PATH_MAX];

	ck_path_parent(p->unlock, dir);
	return ck_path_join(dir, CK_LOCATOR_FILE, ret, fail);
}

static ck_err
take_all(const struct ck_json_object *o, struct locator *ret)
{
	const struct ck_json_member *m = ck_json_member(o, "version");
	ck_err r;

	if (m == NULL)
		return CK_DAMAGED;
	if (!ck_span_equal(m->value, CK_SPAN_TEXT("1")))
		return CK_UNSUPPORTED;
	if ((r = ck_json_path(o, "keychain", ret->keychain)) != CK_OK ||
	    (r = ck_json_path(o, "broker", ret->broker)) != CK_OK)
		return r;
	return o->n == 3 ? CK_OK : CK_UNSUPPORTED;
}

static ck_err
parse(const uint8_t *text, size_t n, const char *path, struct locator *ret,
    struct ck_fail *fail)
{
	struct ck_json_object o = CK_JSON_OBJECT_INIT;
	ck_err r;

	r = ck_json_scan((struct ck_span){ text, n }, path, &o, fail);
	if (r == CK_OK && (r = take_all(&o, ret)) != CK_OK)
		r = ck_fail_set(fail, r, path, r == CK_UNSUPPORTED ?
		    "was written by another version of clankie-keys" :
		    "does not say which keychain holds an unlock password");
	ck_json_object_free(&o);
	return r;
}

/* Whoever has no custody may have a directory of this name that is none of
 * ours: only what bears the file's name is judged. */
static ck_err
read_it(const char *path, struct locator *ret, struct ck_fail *fail)
{
	struct locator l;
	struct stat st;
	uint8_t *text = NULL;
	size_t n = 0;
	int dirfd = -1, fd = -1;
	ck_err r;

	if (lstat(path, &st) != 0)
		return errno == ENOENT || errno == ENOTDIR ? CK_NOSTORE :
		    ck_fail_sys(fail, errno, path, "examine it");
	if ((r = ck_unlock_open_dir(path, false, &dirfd, fail)) != CK_OK ||
	    (r = ck_io_open_file(dirfd, CK_LOCATOR_FILE, path, FILE_RULES,
	    &fd, NULL, fail)) != CK_OK ||
	    (r = ck_io_read_all(fd, LOCATOR_MAX, path, &text, &n,
	    fail)) != CK_OK)
		goto out;
	if ((r = parse(text, n, path, &l, fail)) == CK_OK)
		*ret = l;
out:
	if (r == CK_DAMAGED || r == CK_REFUSED)
		ck_fail_next(fail, "see what it is, then mv '%.200s' "
		    "'%.200s.lost'", path, path);
	free(text);
	ck_io_close(&fd);
	ck_io_close(&dirfd);
	return r;
}

ck_err
ck_locator_get(const struct ck_place *p, char ret[CK_PATH_MAX],
    struct ck_fail *fail)
{
	char path[CK_PATH_MAX];
	struct locator l;
	ck_err r;

	if ((r = ck_locator_path(p, path, fail)) != CK_OK ||
	    (r = read_it(path, &l, fail)) != CK_OK)
		return r;
	if (strcmp(l.keychain, p->keychain) != 0)
		return CK_NOSTORE;
	memcpy(ret, l.broker, sizeof(l.broker));
	return CK_OK;
}

/* May the note of another keychain or broker be replaced? */
static ck_err
may_replace(const struct ck_place *p, const char *path,
    const struct locator *l, struct ck_fail *fail)
{
	struct ck_place other = *p;
	bool there = false;
	ck_err r;

	if (strcmp(l->keychain, p->keychain) != 0) {
		(void)ck_fail_set(fail, CK_REFUSED, path,
		    "notes where the unlock password of another keychain lies "
		    "(%.400s)", l->keychain);
		ck_fail_next(fail, "if that one is lost for good: "
		    "mv '%.200s' '%.200s.lost'", path, path);
		return CK_REFUSED;
	}
	memcpy(other.broker, l->broker, sizeof(other.broker));
	r = ck_unlock_place_exists(&other, &there, fail);
	if (r == CK_NOSTORE || (r == CK_OK && !there))
		return CK_OK;
	if (r != CK_OK)
		return r;
	(void)ck_fail_set(fail, CK_DECIDE, other.broker,
	    "is noted as the broker (%.300s) and holds an unlock password",
	    path);
	ck_fail_next(fail, "if that one is lost for good: clankie-keys "
	    "keychain delete '%.200s' --service " CK_OWN_SERVICE
	    " --account " CK_UNLOCK_ACCOUNT, other.broker);
	return CK_DECIDE;
}

static ck_err
write_it(const struct ck_place *p, const char *path, struct ck_fail *fail)
{
	struct ck_secret keychain = CK_SECRET_INIT, broker = CK_SECRET_INIT;
	struct ck_buf text = CK_BUF_INIT;
	int dirfd = -1;
	ck_err r;

	if ((r = ck_json_encode(CK_SPAN_TEXT(p->keychain),
	    &keychain)) != CK_OK ||
	    (r = ck_json_encode(CK_SPAN_TEXT(p->broker), &broker)) != CK_OK) {
		r = ck_fail_set(fail, r == CK_DAMAGED ? CK_REFUSED : r, path,
		    r == CK_DAMAGED ? "cannot name a path that is not UTF-8" :
		    "secure memory is full");
		goto out;
	}
	ck_buf_text(&text, "{\"version\":1,\"keychain\":");
	ck_buf_bytes(&text, keychain.p, keychain.n);
	ck_buf_text(&text, ",\"broker\":");
	ck_buf_bytes(&text, broker.p, broker.n);
	ck_buf_text(&text, "}\n");
	if ((r = ck_buf_ok(&text)) != CK_OK)
		r = ck_fail_set(fail, r, path, "no memory");
	else if ((r = ck_unlock_open_dir(path, true, &dirfd, fail)) == CK_OK)
		r = ck_io_replace(dirfd, CK_LOCATOR_FILE, path, text.p,
		    text.n, 0600, fail);
out:
	ck_io_close(&dirfd);
	ck_buf_free(&text);
	ck_secret_wipe(&keychain);
	ck_secret_wipe(&broker);
	return r;
}

ck_err
ck_locator_put(const struct ck_place *p, struct ck_fail *fail)
{
	char path[CK_PATH_MAX];
	struct locator l;
	ck_err r;

	if (p->broker_kind != CK_KIND_LOGIN_KEYCHAIN)
		return CK_OK;
	if ((r = ck_locator_path(p, path, fail)) != CK_OK)
		return r;
	r = read_it(path, &l, fail);
	if (r == CK_OK && strcmp(l.keychain, p->keychain) == 0 &&
	    strcmp(l.broker, p->broker) == 0)
		return CK_OK;
	if (r == CK_OK)
		r = may_replace(p, path, &l, fail);
	if (r != CK_OK && r != CK_NOSTORE)
		return r;
	return write_it(p, path, fail);
}

ck_err
ck_locator_remove(const struct ck_place *p, struct ck_fail *fail)
{
	char path[CK_PATH_MAX], broker[CK_PATH_MAX];
	int dirfd = -1;
	ck_err r;

	r = ck_locator_get(p, broker, fail);
	if (r == CK_NOSTORE)
		return CK_OK;
	if (r != CK_OK || (r = ck_locator_path(p, path, fail)) != CK_OK ||
	    (r = ck_unlock_open_dir(path, false, &dirfd, fail)) != CK_OK)
		return r;
	r = ck_io_remove(dirfd, CK_LOCATOR_FILE, path, fail);
	ck_io_close(&dirfd);
	return r == CK_NOSTORE ? CK_OK : r;
}

void
ck_locator_stand_in(struct ck_place *p)
{
	char noted[CK_PATH_MAX];

	if (p->broker_said || ck_locator_get(p, noted, NULL) != CK_OK)
		return;
	p->broker_kind = CK_KIND_LOGIN_KEYCHAIN;
	memcpy(p->broker, noted, sizeof(noted));
}
