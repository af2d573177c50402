/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encrypted data of a password item (docs/keychain-format.md, section
 * 13.1).  It carries no MAC; that its key has one is all the protection.
 */
#include "blob.h"

#include <string.h>

#include "crypto.h"

#define MARK "ssgp"
#define MARK_BYTES 4
#define FIXED (KC_LABEL_BYTES + KC_IV_BYTES)

bool
kc_item_data_label(struct ck_span data, struct ck_span *ret_label)
{
	if (data.n < FIXED || memcmp(data.p, MARK, MARK_BYTES) != 0)
		return false;
	*ret_label = (struct ck_span){ data.p, KC_LABEL_BYTES };
	return true;
}

ck_err
kc_item_data_open(struct ck_span data, const struct ck_secret *item_key,
    struct ck_secret *ret)
{
	struct ck_span label, cipher;
	ck_err r;

	if (!kc_item_data_label(data, &label))
		return CK_DAMAGED;
	if ((r = kc_key_fits(item_key, KC_ITEM_KEY_BYTES)) != CK_OK)
		return r;
	/* macOS stores an empty secret as no block at all. */
	if (data.n == FIXED)
		return ck_secret_alloc(0, ret);
	cipher.p = data.p + FIXED;
	cipher.n = data.n - FIXED;
	return kc_cbc_decrypt(item_key, data.p + KC_LABEL_BYTES, cipher, ret);
}

ck_err
kc_item_data_encode(const uint8_t label[KC_LABEL_BYTES],
    const uint8_t iv[KC_IV_BYTES], const struct ck_secret *item_key,
    const struct ck_secret *secret, struct ck_buf *out)
{
	struct ck_secret cipher = CK_SECRET_INIT;
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	if (memcmp(label, MARK, MARK_BYTES) != 0)
		return CK_REFUSED;
	if (secret->p == NULL)
		return CK_LOCKED;
	if ((r = kc_key_fits(item_key, KC_ITEM_KEY_BYTES)) != CK_OK)
		return r;
	if (secret->n > 0 && (r = kc_cbc_encrypt(item_key, iv, secret,
	    &cipher)) != CK_OK)
		goto out;
	ck_buf_bytes(&b, label, KC_LABEL_BYTES);
	ck_buf_bytes(&b, iv, KC_IV_BYTES);
	ck_buf_bytes(&b, cipher.p, cipher.n);
	if ((r = ck_buf_ok(&b)) != CK_OK)
		goto out;
	ck_buf_span(out, ck_buf_view(&b));
	r = ck_buf_ok(out);
out:
	ck_buf_free(&b);
	ck_secret_wipe(&cipher);
	return r;
}
