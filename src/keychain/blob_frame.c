/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of DbBlob and KeyBlob; see blob_frame.h. */
#include "blob_frame.h"

#include <string.h>

#include <openssl/crypto.h>

#include "blob.h"
#include "crypto.h"

ck_err
kc_frame_version(uint32_t version)
{
	switch (version) {
	case KC_BLOB_V100:
	case KC_BLOB_V101:
	case KC_BLOB_V200:
		return CK_OK;
	default:
		return CK_UNSUPPORTED;
	}
}

ck_err
kc_frame_parse(struct ck_span data, size_t fixed, const char *what,
    const char *shown, struct kc_frame *ret, struct ck_fail *fail)
{
	uint32_t version, start, total;

	if (data.n < fixed)
		return ck_fail_set(fail, CK_DAMAGED, shown,
		    "the %s is shorter than its %zu fixed bytes", what, fixed);
	if (ck_get_be32(data.p) != KC_BLOB_MAGIC)
		return ck_fail_set(fail, CK_DAMAGED, shown,
		    "the %s does not start with its magic number", what);
	version = ck_get_be32(data.p + 4);
	if (kc_frame_version(version) != CK_OK)
		return ck_fail_set(fail, CK_UNSUPPORTED, shown,
		    "the %s has the unknown blob version 0x%x", what,
		    (unsigned int)version);
	start = ck_get_be32(data.p + 8);
	total = ck_get_be32(data.p + 12);
	if (start < fixed || start > total || total > data.n)
		return ck_fail_set(fail, CK_DAMAGED, shown,
		    "the lengths of the %s do not fit together", what);
	ret->version = version;
	ret->acl = (struct ck_span){ data.p + fixed, start - fixed };
	ret->crypto = (struct ck_span){ data.p + start, total - start };
	ret->whole = (struct ck_span){ data.p, total };
	return CK_OK;
}

ck_err
kc_frame_begin(struct ck_buf *b, uint32_t version, size_t fixed, size_t acl,
    size_t crypto)
{
	size_t start, total;

	if (kc_frame_version(version) != CK_OK)
		return CK_UNSUPPORTED;
	if (!ck_size_add(fixed, acl, &start) ||
	    !ck_size_add(start, crypto, &total) || total > UINT32_MAX)
		return CK_REFUSED;
	ck_buf_reserve(b, total);
	ck_buf_u32(b, KC_BLOB_MAGIC);
	ck_buf_u32(b, version);
	ck_buf_u32(b, (uint32_t)start);
	ck_buf_u32(b, (uint32_t)total);
	return CK_OK;
}

/* The two authenticated chunks: all but the MAC itself. */
static ck_err
frame_mac(struct ck_span whole, uint32_t version, size_t fixed,
    const struct ck_secret *sign, uint8_t ret[KC_MAC_BYTES])
{
	struct ck_span a = { whole.p, fixed - KC_MAC_BYTES };
	struct ck_span b = { whole.p + fixed, whole.n - fixed };

	return kc_mac(version, sign, a, b, ret);
}

ck_err
kc_frame_sign(struct ck_buf *b, uint32_t version, size_t fixed,
    const struct ck_secret *sign)
{
	ck_err r;

	if ((r = ck_buf_ok(b)) != CK_OK)
		return r;
	return frame_mac(ck_buf_view(b), version, fixed, sign,
	    b->p + fixed - KC_MAC_BYTES);
}

ck_err
kc_frame_check(struct ck_span whole, uint32_t version, size_t fixed,
    const struct ck_secret *sign)
{
	uint8_t mac[KC_MAC_BYTES];
	ck_err r;

	if ((r = frame_mac(whole, version, fixed, sign, mac)) != CK_OK)
		return r;
	if (CRYPTO_memcmp(mac, whole.p + fixed - KC_MAC_BYTES,
	    sizeof(mac)) != 0)
		r = CK_DAMAGED;
	/* The right MAC of a forged blob would make the forgery perfect. */
	OPENSSL_cleanse(mac, sizeof(mac));
	return r;
}

ck_err
kc_frame_append(struct ck_buf *out, const struct ck_buf *b)
{
	ck_err r;

	if ((r = ck_buf_ok(b)) != CK_OK)
		return r;
	ck_buf_bytes(out, b->p, b->n);
	return ck_buf_ok(out);
}
