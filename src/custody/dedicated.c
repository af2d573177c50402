/* SPDX-License-Identifier: Apache-2.0 */
/* Making, proving, installing and reading the dedicated keychain. */
#include "custody/dedicated_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/platform.h"
#include "custody/advice.h"
#include "keychain/keychain.h"
#include "store/login.h"

#define ITEM_LABEL_FORMAT CK_ITEM_LABEL "%s"

static ck_err
aside_names(const struct ck_place *p, const char *prefix, const char *nonce,
    char name[CK_PATH_MAX], char path[CK_PATH_MAX], struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_path_format(name, fail, "%s%s", prefix, nonce)) != CK_OK)
		return r;
	return ck_path_join(p->dir, name, path, fail);
}

ck_err
ck_dedicated_scratch(const struct ck_place *p, const char *nonce,
    char ret[CK_PATH_MAX], struct ck_fail *fail)
{
	char name[CK_PATH_MAX], path[CK_PATH_MAX];
	ck_err r;

	if ((r = aside_names(p, CK_SCRATCH_PREFIX, nonce, name, path,
	    fail)) != CK_OK)
		return r;
	return ck_path_join(path, CK_KEYCHAIN_FILE, ret, fail);
}

ck_err
ck_dedicated_discard(const struct ck_place *p, int dirfd, const char *prefix,
    const char *nonce, struct ck_fail *fail)
{
	char name[CK_PATH_MAX], path[CK_PATH_MAX];
	struct dirent *entry;
	DIR *dir;
	int fd = -1, sys = 0;
	ck_err r;

	if ((r = aside_names(p, prefix, nonce, name, path,
	    fail)) != CK_OK)
		return r;
	r = ck_io_open_dir(dirfd, name, path, CK_IO_OWNER, &fd, NULL, fail);
	if (r == CK_NOSTORE)
		return CK_OK;
	if (r != CK_OK)
		return r;
	if ((dir = fdopendir(fd)) == NULL) {
		sys = errno;
		ck_io_close(&fd);
		return ck_fail_sys(fail, sys, path, "list it");
	}
	/* Only files that this program or the engine put there: flat. */
	while (sys == 0 && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, entry->d_name, 0) != 0)
			sys = errno;
	}
	(void)closedir(dir);
	if (sys == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) != 0)
		sys = errno;
	if (sys != 0)
		return ck_fail_sys(fail, sys, path, "remove it");
	return ck_io_sync(dirfd, p->dir, fail);
}

void
ck_dedicated_label(const struct ck_place *p,
    char ret[CK_DEDICATED_LABEL_SIZE])
{
	(void)snprintf(ret, CK_DEDICATED_LABEL_SIZE, ITEM_LABEL_FORMAT,
	    p->credential);
}

ck_err
ck_dedicated_build(const struct ck_place *p, int dirfd, const char *nonce,
    const struct ck_secret *password, const struct ck_secret *value,
    struct ck_fail *fail)
{
	char name[CK_PATH_MAX], path[CK_PATH_MAX], file[CK_PATH_MAX];
	char label[CK_DEDICATED_LABEL_SIZE];
	const struct ck_login login = { file, password, CK_WAIT_MS };
	const struct ck_login_item item = { p->service, p->account, label,
	    value };
	int fd = -1;
	ck_err r;

	if ((r = aside_names(p, CK_SCRATCH_PREFIX, nonce, name, path,
	    fail)) != CK_OK ||
	    (r = ck_path_join(path, CK_KEYCHAIN_FILE, file, fail)) != CK_OK ||
	    (r = ck_dedicated_discard(p, dirfd, CK_SCRATCH_PREFIX, nonce,
	    fail)) != CK_OK)
		return r;
	ck_dedicated_label(p, label);
	if ((r = ck_io_make_dir(dirfd, name, path, 0700, fail)) != CK_OK ||
	    (r = ck_login_create(&login, CK_DEDICATED_IDLE, &item, 1,
	    fail)) != CK_OK ||
	    (r = ck_dedicated_seal_add(file, password, fail)) != CK_OK)
		return r;
	/* The rename that follows must not reach the disk before this. */
	if ((r = ck_io_open_dir(dirfd, name, path, CK_DEDICATED_RULES, &fd, NULL,
	    fail)) == CK_OK)
		r = ck_io_sync(fd, path, fail);
	ck_io_close(&fd);
	return r;
}

ck_err
ck_dedicated_unlock(struct kc *kc, const struct ck_secret *password,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = kc_unlock(kc, password, fail)) != CK_LOCKED)
		return r;
	(void)ck_fail_set(fail, r, kc_path(kc),
	    "is not opened by the stored unlock password: the two do not "
	    "belong together");
	ck_advise(fail, NULL, "{status} shows where the unlock password lies; "
	    "if the right one is lost for good: {reset}");
	return r;
}

ck_err
ck_dedicated_open(const char *path, const struct ck_secret *password,
    struct kc **ret, struct ck_fail *fail)
{
	struct kc *kc = NULL;
	ck_err r;

	if ((r = kc_open(path, CK_DEDICATED_RULES, &kc, fail)) != CK_OK)
		return r;
	if ((r = ck_dedicated_unlock(kc, password, fail)) != CK_OK) {
		kc_close(&kc);
		return r;
	}
	*ret = kc;
	return CK_OK;
}

/* The label is the one attribute by which the item was not found; version
 * 0x100 authenticates none. */
static ck_err
is_ours(struct kc *kc, const struct kc_record *rec, const char *label,
    const char *service, const char *account, struct ck_fail *fail)
{
	struct kc_value v;
	ck_err r;

	if (!kc_item_is_encrypted(rec))
		return ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
		    "holds %s / %s in the clear: it was not put there by "
		    "clankie-keys", service, account);
	if ((r = kc_db_value(kc_db(kc), rec, KC_ATTR_LABEL, &v,
	    fail)) != CK_OK)
		return r;
	if (!v.present || !ck_span_equal(v.bytes, CK_SPAN_TEXT(label)))
		return ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
		    "the label of the item %s / %s is not the one that was "
		    "written", service, account);
	return CK_OK;
}

ck_err
ck_dedicated_item(struct kc *kc, const char *service, const char *account,
    const char *label, struct kc_record *ret, struct ck_fail *fail)
{
	ck_err r;

	r = kc_find(kc, CK_SPAN_TEXT(service), CK_SPAN_TEXT(account), ret,
	    fail);
	if (r == CK_ABSENT)
		return ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
		    "has lost its item %s / %s", service, account);
	return r != CK_OK ? r : is_ours(kc, ret, label, service, account,
	    fail);
}

/* The credential's own item. */
static ck_err
find_item(const struct ck_place *p, struct kc *kc, struct kc_record *ret,
    struct ck_fail *fail)
{
	char label[CK_DEDICATED_LABEL_SIZE];

	ck_dedicated_label(p, label);
	return ck_dedicated_item(kc, p->service, p->account, label, ret,
	    fail);
}

static ck_err
read_item(const struct ck_place *p, struct kc *kc, struct ck_secret *ret,
    struct ck_fail *fail)
{
	struct ck_secret value = CK_SECRET_INIT;
	struct kc_record rec;
	ck_err r;

	if ((r = find_item(p, kc, &rec, fail)) != CK_OK ||
	    (r = kc_item_secret(kc, &rec, &value, fail)) != CK_OK)
		return r;
	if ((r = ck_format_check(p->format, &value)) != CK_OK)
		r = ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
		    "what is stored as %s / %s is not a credential of its "
		    "kind", p->service, p->account);
	if (r == CK_OK)
		ck_secret_move(ret, &value);
	ck_secret_wipe(&value);
	return r;
}

ck_err
ck_dedicated_prove(const struct ck_place *p, const char *path,
    const struct ck_secret *password, const struct ck_secret *expected,
    struct ck_fail *fail)
{
	struct ck_secret value = CK_SECRET_INIT;
	struct kc *kc = NULL;
	size_t keys = 0;
	ck_err r;

	if ((r = ck_dedicated_open(path, password, &kc, fail)) != CK_OK)
		return r;
	if ((r = kc_verify(kc, &keys, fail)) != CK_OK ||
	    (r = read_item(p, kc, &value, fail)) != CK_OK)
		goto out;
	if (expected != NULL && !ck_secret_equal(&value, expected))
		r = ck_fail_set(fail, CK_DAMAGED, path,
		    "does not give back what was written");
out:
	ck_secret_wipe(&value);
	kc_close(&kc);
	return r;
}

ck_err
ck_dedicated_install(const struct ck_place *p, int dirfd, const char *nonce,
    struct ck_fail *fail)
{
	char name[CK_PATH_MAX], path[CK_PATH_MAX];
	int sys;
	ck_err r;

	if ((r = aside_names(p, CK_SCRATCH_PREFIX, nonce, name, path,
	    fail)) != CK_OK)
		return r;
	sys = ck_platform_rename_new(dirfd, name, dirfd, CK_OPERATOR_DIR);
	if (sys == EEXIST || sys == ENOTEMPTY)
		return ck_fail_set(fail, CK_REFUSED, p->operator_dir,
		    "exists already");
	if (sys != 0)
		return ck_fail_sys(fail, sys, p->operator_dir,
		    "take the new keychain into place");
	return ck_io_sync(dirfd, p->dir, fail);
}

ck_err
ck_dedicated_retire(const struct ck_place *p, int dirfd, const char *nonce,
    struct ck_fail *fail)
{
	char name[CK_PATH_MAX], path[CK_PATH_MAX];
	int sys;
	ck_err r;

	if ((r = aside_names(p, CK_RESTORED_PREFIX, nonce, name, path,
	    fail)) != CK_OK)
		return r;
	sys = ck_platform_rename_new(dirfd, CK_OPERATOR_DIR, dirfd, name);
	if (sys != 0 && sys != ENOENT)
		return ck_fail_sys(fail, sys, p->operator_dir,
		    "take the keychain out of its place");
	return ck_io_sync(dirfd, p->dir, fail);
}

ck_err
ck_dedicated_read_in(const struct ck_place *p, struct kc *kc,
    struct ck_secret *ret_value, struct ck_secret *ret_key,
    struct ck_fail *fail)
{
	struct ck_secret value = CK_SECRET_INIT, key = CK_SECRET_INIT;
	ck_err r = CK_OK;

	if (ret_value != NULL &&
	    (r = read_item(p, kc, &value, fail)) != CK_OK)
		goto out;
	if (ret_key != NULL &&
	    (r = ck_dedicated_seal_read(kc, &key, fail)) != CK_OK)
		goto out;
	if (ret_value != NULL)
		ck_secret_move(ret_value, &value);
	if (ret_key != NULL)
		ck_secret_move(ret_key, &key);
out:
	ck_secret_wipe(&value);
	ck_secret_wipe(&key);
	return r;
}

ck_err
ck_dedicated_read_both(const struct ck_place *p,
    const struct ck_secret *password, struct ck_secret *ret_value,
    struct ck_secret *ret_key, struct ck_fail *fail)
{
	struct kc *kc = NULL;
	ck_err r;

	if ((r = ck_dedicated_open(p->keychain, password, &kc, fail)) == CK_OK)
		r = ck_dedicated_read_in(p, kc, ret_value, ret_key, fail);
	kc_close(&kc);
	return r;
}

ck_err
ck_dedicated_read(const struct ck_place *p, const struct ck_secret *password,
    struct ck_secret *ret, struct ck_fail *fail)
{
	return ck_dedicated_read_both(p, password, ret, NULL, fail);
}

ck_err
ck_dedicated_names_in(const struct ck_place *p, struct kc *kc,
    struct ck_fail *fail)
{
	struct kc_record rec;
	ck_err r;

	if ((r = find_item(p, kc, &rec, fail)) == CK_OK)
		r = ck_dedicated_seal_find(kc, &rec, fail);
	return r;
}

ck_err
ck_dedicated_relock(const struct ck_place *p,
    const struct ck_secret *password, struct ck_fail *fail)
{
	struct kc *kc = NULL;
	ck_err r;

	if ((r = kc_open_write(p->keychain, CK_DEDICATED_RULES, CK_WAIT_MS, &kc,
	    fail)) != CK_OK)
		return r;
	if ((r = kc_unlock(kc, password, fail)) == CK_OK &&
	    (r = kc_set_settings(kc, CK_DEDICATED_IDLE, true,
	    fail)) == CK_OK)
		r = kc_commit(kc, fail);
	kc_close(&kc);
	return r;
}

ck_err
ck_dedicated_print(const struct ck_secret *key, const struct ck_secret *value,
    char ret[CK_FINGERPRINT_SIZE], struct ck_fail *fail)
{
	uint8_t md[CK_SHA256_BYTES];
	ck_err r;

	if ((r = ck_hmac(CK_SHA256, (struct ck_span){ key->p, key->n },
	    value->p, value->n, md)) != CK_OK)
		return ck_fail_set(fail, r, NULL,
		    "no secure memory for the fingerprint");
	ck_hex_encode(md, sizeof(md), ret);
	return CK_OK;
}

ck_err
ck_dedicated_fingerprint(const struct ck_place *p,
    const struct ck_secret *password, char ret[CK_FINGERPRINT_SIZE],
    struct ck_fail *fail)
{
	struct ck_secret value = CK_SECRET_INIT, key = CK_SECRET_INIT;
	ck_err r;

	if ((r = ck_dedicated_read_both(p, password, &value, &key,
	    fail)) == CK_OK)
		r = ck_dedicated_print(&key, &value, ret, fail);
	ck_secret_wipe(&value);
	ck_secret_wipe(&key);
	return r;
}
