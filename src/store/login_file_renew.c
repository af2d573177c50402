/* SPDX-License-Identifier: Apache-2.0 */
/* A keychain with new keys for the items of another; see login.h. */
#include "store/login.h"

#include "base/io.h"
#include "keychain/keychain.h"

/* Our own file, in a directory of ours. */
#define RENEW_RULES (CK_IO_OWNER | CK_IO_PRIVATE | CK_IO_ONELINK)

/* Open the old file and see that all of it can be carried. */
static ck_err
open_old(const struct ck_login *from, bool locked, struct kc **ret,
    struct ck_fail *fail)
{
	struct kc *kc = NULL;
	ck_err r;

	r = locked ? kc_open_write(from->path, RENEW_RULES, from->wait_ms,
	    &kc, fail) : kc_open(from->path, RENEW_RULES, &kc, fail);
	if (r != CK_OK)
		return r;
	if (from->password == NULL)
		r = ck_fail_set(fail, CK_LOCKED, from->path,
		    "is locked and no password was given");
	else
		r = kc_unlock(kc, from->password, fail);
	if (r == CK_OK)
		r = kc_can_carry(kc, fail);
	if (r == CK_OK)
		*ret = kc;
	else
		kc_close(&kc);
	return r;
}

/* The new file, of the old one's version, so that the items keep their form. */
static ck_err
make_new(struct kc *old, const struct ck_login *to, uint32_t idle,
    struct ck_fail *fail)
{
	struct kc_new_file how = { 0, idle, true, 0600 };
	struct kc *new = NULL;
	struct kc_record item;
	struct kc_info info;
	uint32_t number = 0;
	ck_err r;

	kc_info(old, &info);
	how.version = info.version;
	if ((r = kc_create(to->path, &how, to->password, to->wait_ms, &new,
	    fail)) != CK_OK)
		return r;
	while ((r = kc_db_next(kc_db(old), KC_REL_GENERIC, &number, &item,
	    fail)) == CK_OK)
		if ((r = kc_carry(old, &item, new, fail)) != CK_OK)
			break;
	if (r == CK_ABSENT)
		r = kc_commit(new, fail);
	kc_close(&new);
	return r;
}

static ck_err
prove_new(struct kc *old, const struct ck_login *to, struct ck_fail *fail)
{
	struct kc *new = NULL;
	size_t keys;
	ck_err r;

	if ((r = kc_open(to->path, RENEW_RULES, &new, fail)) != CK_OK)
		return r;
	if ((r = kc_unlock(new, to->password, fail)) == CK_OK &&
	    (r = kc_verify(new, &keys, fail)) == CK_OK)
		r = kc_same_items(old, new, fail);
	kc_close(&new);
	return r;
}

ck_err
ck_login_renew(const struct ck_login *from, const struct ck_login *to,
    uint32_t idle, struct ck_fail *fail)
{
	struct kc *old = NULL;
	ck_err r;

	if (to->password == NULL)
		return ck_fail_set(fail, CK_USAGE, to->path,
		    "cannot be made without a password");
	if ((r = open_old(from, true, &old, fail)) != CK_OK)
		return r;
	if ((r = make_new(old, to, idle, fail)) == CK_OK)
		r = prove_new(old, to, fail);
	kc_close(&old);
	return r;
}

ck_err
ck_login_can_renew(const struct ck_login *from, struct ck_fail *fail)
{
	struct kc *old = NULL;
	ck_err r;

	if ((r = open_old(from, false, &old, fail)) == CK_OK)
		kc_close(&old);
	return r;
}
