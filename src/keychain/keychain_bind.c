/* SPDX-License-Identifier: Apache-2.0 */
/* Tying bytes to one keychain; see keychain.h. */
#include "keychain/kc_int.h"

#include "base/hash.h"

/* The signing key also makes the format's own MACs, which are HMAC-SHA1 over
 * blobs that begin with their magic number; another hash and a beginning that
 * is none keep the two apart. */
static const char domain[] = "clankie-keys: bound to this keychain";

ck_err
kc_bind(struct kc *kc, struct ck_span what, uint8_t ret[KC_BIND_BYTES],
    struct ck_fail *fail)
{
	const struct ck_secret *sign = &kc->keys.sign;
	struct ck_hmac *h = NULL;
	ck_err r;

	if ((r = kc_need_keys(kc, fail)) != CK_OK)
		return r;
	if ((r = ck_hmac_new(CK_SHA256, (struct ck_span){ sign->p, sign->n },
	    &h)) != CK_OK)
		return ck_fail_set(fail, r, kc->path, "no secure memory");
	ck_hmac_add(h, domain, sizeof(domain));
	ck_hmac_add(h, what.p, what.n);
	ck_hmac_end(h, ret);
	ck_hmac_free(&h);
	return CK_OK;
}

bool
kc_item_is_encrypted(const struct kc_record *item)
{
	struct ck_span label;

	return kc_item_data_label(item->data, &label);
}
