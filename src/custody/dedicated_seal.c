/* SPDX-License-Identifier: Apache-2.0 */
/* The item that holds the seal key; see dedicated_int.h. */
#include "custody/dedicated_int.h"

#include <string.h>

#include <openssl/crypto.h>

#include "store/login.h"

#define KEY_BYTES 32
#define ITEM_BYTES (KEY_BYTES + KC_BIND_BYTES)

/* The label that an item without one gets: its service. */
#define ITEM_LABEL CK_OWN_SERVICE

ck_err
ck_dedicated_seal_find(struct kc *kc, struct kc_record *ret,
    struct ck_fail *fail)
{
	return ck_dedicated_item(kc, CK_OWN_SERVICE, CK_SEAL_ACCOUNT,
	    ITEM_LABEL, ret, fail);
}

ck_err
ck_dedicated_seal_read(struct kc *kc, struct ck_secret *ret,
    struct ck_fail *fail)
{
	struct ck_secret item = CK_SECRET_INIT;
	uint8_t mac[KC_BIND_BYTES];
	struct kc_record rec;
	ck_err r;

	if ((r = ck_dedicated_seal_find(kc, &rec, fail)) != CK_OK ||
	    (r = kc_item_secret(kc, &rec, &item, fail)) != CK_OK)
		return r;
	if (item.n != ITEM_BYTES) {
		r = ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
		    "holds a seal key that was not made for it");
		goto out;
	}
	if ((r = kc_bind(kc, (struct ck_span){ item.p, KEY_BYTES }, mac,
	    fail)) != CK_OK)
		goto out;
	if (CRYPTO_memcmp(mac, item.p + KEY_BYTES, sizeof(mac)) != 0) {
		r = ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
		    "holds a seal key that was not made for it");
		goto out;
	}
	if ((r = ck_secret_copy(item.p, KEY_BYTES, ret)) != CK_OK)
		r = ck_fail_set(fail, r, NULL, "no secure memory");
out:
	ck_secret_wipe(&item);
	return r;
}

/* What the item of this keychain has to hold for a key. */
static ck_err
item_of(const char *path, const struct ck_secret *password,
    const uint8_t *key, struct ck_secret *ret, struct ck_fail *fail)
{
	struct ck_secret item = CK_SECRET_INIT;
	struct kc *kc = NULL;
	ck_err r;

	if ((r = ck_dedicated_open(path, password, &kc, fail)) != CK_OK)
		return r;
	if ((r = ck_secret_alloc(ITEM_BYTES, &item)) != CK_OK) {
		r = ck_fail_set(fail, r, NULL, "no secure memory");
		goto out;
	}
	memcpy(item.p, key, KEY_BYTES);
	if ((r = kc_bind(kc, (struct ck_span){ item.p, KEY_BYTES },
	    item.p + KEY_BYTES, fail)) == CK_OK)
		ck_secret_move(ret, &item);
out:
	ck_secret_wipe(&item);
	kc_close(&kc);
	return r;
}

ck_err
ck_dedicated_seal_add(const char *path, const struct ck_secret *password,
    struct ck_fail *fail)
{
	const struct ck_login login = { path, password, CK_WAIT_MS };
	struct ck_secret key = CK_SECRET_INIT, item = CK_SECRET_INIT;
	const struct ck_login_item add = { CK_OWN_SERVICE, CK_SEAL_ACCOUNT,
	    NULL, &item };
	ck_err r;

	if ((r = ck_secret_random(KEY_BYTES, &key)) != CK_OK)
		return ck_fail_set(fail, r, NULL, "no seal key can be made");
	if ((r = item_of(path, password, key.p, &item, fail)) == CK_OK)
		r = ck_login_add(&login, &add, fail);
	ck_secret_wipe(&item);
	ck_secret_wipe(&key);
	return r;
}

ck_err
ck_dedicated_seal_rebind(const char *path, const struct ck_secret *password,
    struct ck_fail *fail)
{
	const struct ck_login login = { path, password, CK_WAIT_MS };
	struct ck_secret old = CK_SECRET_INIT, item = CK_SECRET_INIT;
	const struct ck_login_item update = { CK_OWN_SERVICE, CK_SEAL_ACCOUNT,
	    NULL, &item };
	ck_err r;

	if ((r = ck_login_find(&login, CK_OWN_SERVICE, CK_SEAL_ACCOUNT, &old,
	    fail)) != CK_OK)
		goto out;
	if (old.n != ITEM_BYTES)
		r = ck_fail_set(fail, CK_DAMAGED, path,
		    "was given a seal key of a wrong size");
	else if ((r = item_of(path, password, old.p, &item, fail)) == CK_OK)
		r = ck_login_update(&login, &update, &old, fail);
out:
	ck_secret_wipe(&item);
	ck_secret_wipe(&old);
	return r;
}
