/* SPDX-License-Identifier: Apache-2.0 */
/* Tying bytes to one keychain; see keychain.h. */
#include "keychain/kc_int.h"

#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

/* The signing key also makes the format's own MACs, which are HMAC-SHA1 over
 * blobs that begin with their magic number; another hash and a beginning that
 * is none keep the two apart. */
static const char domain[] = "clankie-keys: bound to this keychain";

ck_err
kc_bind(struct kc *kc, struct ck_span what, uint8_t ret[KC_BIND_BYTES],
    struct ck_fail *fail)
{
	const struct ck_secret *sign = &kc->keys.sign;
	struct ck_secret text = CK_SECRET_INIT;
	unsigned int n = 0;
	ck_err r;

	if ((r = kc_need_keys(kc, fail)) != CK_OK)
		return r;
	if ((r = ck_secret_alloc(sizeof(domain) + what.n, &text)) != CK_OK)
		return ck_fail_set(fail, r, kc->path, "no secure memory");
	memcpy(text.p, domain, sizeof(domain));
	if (what.n > 0)
		memcpy(text.p + sizeof(domain), what.p, what.n);
	if (HMAC(EVP_sha256(), sign->p, (int)sign->n, text.p, text.n, ret,
	    &n) == NULL || n != KC_BIND_BYTES)
		r = ck_fail_set(fail, CK_INTERNAL, kc->path,
		    "a MAC cannot be computed");
	ck_secret_wipe(&text);
	return r;
}

bool
kc_item_is_encrypted(const struct kc_record *item)
{
	struct ck_span label;

	return kc_item_data_label(item->data, &label);
}
