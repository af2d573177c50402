/* SPDX-License-Identifier: Apache-2.0 */
/* The face of login.h on our own engine: any system, no prompts ever. */
#include "store/login.h"

#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/io.h"
#include "keychain/blob.h"
#include "keychain/keychain.h"

/* A login keychain is a private file of its owner with one name. */
#define LOGIN_RULES (CK_IO_OWNER | CK_IO_NOWRITE | CK_IO_ONELINK)

ck_err
ck_login_status(const struct ck_login *login, struct ck_login_status *ret,
    struct ck_fail *fail)
{
	struct ck_login_status st;
	struct kc *kc = NULL;
	struct kc_info info;
	ck_err r;

	memset(&st, 0, sizeof(st));
	r = kc_open(login->path, LOGIN_RULES, &kc, fail);
	if (r != CK_OK)
		return r;
	kc_info(kc, &info);
	r = kc_db_count(kc_db(kc), KC_REL_GENERIC, &st.items, fail);
	if (r == CK_OK) {
		memcpy(st.path, kc_path(kc), strlen(kc_path(kc)) + 1);
		st.device = (uint64_t)kc_stat(kc)->st_dev;
		st.inode = (uint64_t)kc_stat(kc)->st_ino;
		st.mode = kc_stat(kc)->st_mode & 07777;
		st.version = info.version;
		st.idle_timeout = info.idle_timeout;
		st.lock_on_sleep = info.lock_on_sleep;
		ck_hex_encode(info.signature, sizeof(info.signature),
		    st.signature);
		*ret = st;
	}
	kc_close(&kc);
	return r;
}

static ck_err
unlock(struct kc *kc, const struct ck_login *login, struct ck_fail *fail)
{
	if (login->password != NULL)
		return kc_unlock(kc, login->password, fail);
	(void)ck_fail_set(fail, CK_LOCKED, kc_path(kc),
	    "is locked and no password was given");
	ck_fail_next(fail, "give its password with --login-password-fd N");
	return CK_LOCKED;
}

static ck_err
find(struct kc *kc, const char *service, const char *account,
    struct kc_record *ret, struct ck_fail *fail)
{
	ck_err r;

	r = kc_find(kc, CK_SPAN_TEXT(service), CK_SPAN_TEXT(account), ret,
	    fail);
	if (r == CK_ABSENT)
		return ck_fail_set(fail, r, kc_path(kc),
		    "has no item %s / %s", service, account);
	/* Whoever can write the file can put an item in the clear there; no
	 * system that knows the password does. */
	if (r == CK_OK && !kc_item_is_encrypted(ret))
		r = ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
		    "holds %s / %s in the clear: it was put there without the "
		    "password", service, account);
	return r;
}

ck_err
ck_login_find(const struct ck_login *login, const char *service,
    const char *account, struct ck_secret *ret, struct ck_fail *fail)
{
	struct kc *kc = NULL;
	struct kc_record rec;
	ck_err r;

	r = kc_open(login->path, LOGIN_RULES, &kc, fail);
	if (r != CK_OK)
		return r;
	if ((r = find(kc, service, account, &rec, fail)) != CK_OK)
		goto out;
	if (ret == NULL)
		goto out;
	if ((r = unlock(kc, login, fail)) != CK_OK)
		goto out;
	r = kc_item_secret(kc, &rec, ret, fail);
out:
	kc_close(&kc);
	return r;
}

static void
fill(struct kc_new_item *ret, const struct ck_login_item *item)
{
	memset(ret, 0, sizeof(*ret));
	ret->service = CK_SPAN_TEXT(item->service);
	ret->account = CK_SPAN_TEXT(item->account);
	if (item->label != NULL)
		ret->label = CK_SPAN_TEXT(item->label);
	ret->access = KC_ACCESS_ANY;
	ret->now = ck_clock_wall();
}

ck_err
ck_login_add(const struct ck_login *login, const struct ck_login_item *item,
    struct ck_fail *fail)
{
	struct kc *kc = NULL;
	struct kc_new_item new;
	ck_err r;

	r = kc_open_write(login->path, LOGIN_RULES, login->wait_ms, &kc,
	    fail);
	if (r != CK_OK)
		return r;
	fill(&new, item);
	if ((r = unlock(kc, login, fail)) == CK_OK &&
	    (r = kc_add(kc, &new, item->value, fail)) == CK_OK)
		r = kc_commit(kc, fail);
	kc_close(&kc);
	return r;
}

/* The item under the lock, if its value is still the expected one. */
static ck_err
expect(struct kc *kc, const struct ck_login *login, const char *service,
    const char *account, const struct ck_secret *expected,
    struct kc_record *ret, struct ck_fail *fail)
{
	struct ck_secret now = CK_SECRET_INIT;
	ck_err r;

	if ((r = find(kc, service, account, ret, fail)) != CK_OK ||
	    (r = unlock(kc, login, fail)) != CK_OK || expected == NULL)
		return r;
	if ((r = kc_item_secret(kc, ret, &now, fail)) != CK_OK)
		return r;
	if (!ck_secret_equal(&now, expected))
		r = ck_fail_set(fail, CK_CHANGED, kc_path(kc),
		    "the item %s / %s was changed meanwhile", service,
		    account);
	ck_secret_wipe(&now);
	return r;
}

ck_err
ck_login_update_if(const struct ck_login *login,
    const struct ck_login_item *item, const struct ck_secret *expected,
    ck_login_still *still, void *arg, struct ck_fail *fail)
{
	struct kc *kc = NULL;
	struct kc_record rec;
	ck_err r;

	r = kc_open_write(login->path, LOGIN_RULES, login->wait_ms, &kc,
	    fail);
	if (r != CK_OK)
		return r;
	if ((r = expect(kc, login, item->service, item->account, expected,
	    &rec, fail)) == CK_OK &&
	    (r = kc_set_secret(kc, &rec, item->value, ck_clock_wall(),
	    fail)) == CK_OK &&
	    (still == NULL || (r = still(arg, fail)) == CK_OK))
		r = kc_commit(kc, fail);
	kc_close(&kc);
	return r;
}

ck_err
ck_login_update(const struct ck_login *login,
    const struct ck_login_item *item, const struct ck_secret *expected,
    struct ck_fail *fail)
{
	return ck_login_update_if(login, item, expected, NULL, NULL, fail);
}

ck_err
ck_login_delete(const struct ck_login *login, const char *service,
    const char *account, const struct ck_secret *expected,
    struct ck_fail *fail)
{
	struct kc *kc = NULL;
	struct kc_record rec;
	ck_err r;

	r = kc_open_write(login->path, LOGIN_RULES, login->wait_ms, &kc,
	    fail);
	if (r != CK_OK)
		return r;
	if ((r = expect(kc, login, service, account, expected, &rec,
	    fail)) == CK_OK &&
	    (r = kc_delete(kc, &rec, fail)) == CK_OK)
		r = kc_commit(kc, fail);
	kc_close(&kc);
	return r;
}

ck_err
ck_login_create(const struct ck_login *login, uint32_t idle,
    const struct ck_login_item *items, size_t nitems, struct ck_fail *fail)
{
	const struct kc_new_file how = { KC_BLOB_V100, idle, true, 0600 };
	struct kc *kc = NULL;
	struct kc_new_item new;
	ck_err r;

	if (login->password == NULL)
		return ck_fail_set(fail, CK_USAGE, login->path,
		    "cannot be made without a password");
	r = kc_create(login->path, &how, login->password, login->wait_ms, &kc,
	    fail);
	for (size_t i = 0; r == CK_OK && i < nitems; i++) {
		fill(&new, &items[i]);
		r = kc_add(kc, &new, items[i].value, fail);
	}
	if (r == CK_OK)
		r = kc_commit(kc, fail);
	kc_close(&kc);
	return r;
}
