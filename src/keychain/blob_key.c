/* SPDX-License-Identifier: Apache-2.0 */
/*
 * KeyBlob: a wrapped key with its header and ACL (docs/keychain-format.md,
 * section 12).  Nothing is unwrapped before the MAC was found right.
 */
#include "blob.h"

#include <string.h>

#include "blob_frame.h"
#include "crypto.h"

#define HEADER_VERSION 2
#define CLASS_PUBLIC 0
#define CLASS_SESSION 2
#define ALGORITHM_3DES 17
#define MAC_AT (KC_KEY_FIXED - KC_MAC_BYTES)

/* The module that made the key, in print order. */
static const uint8_t csp_guid[16] = {
	0x87, 0x19, 0x1c, 0xa2, 0x0f, 0xc9, 0x11, 0xd4,
	0x84, 0x9a, 0x00, 0x05, 0x02, 0xb5, 0x21, 0x22
};

/* IV of the outer pass of the wrap. */
static const uint8_t outer_iv[KC_IV_BYTES] = {
	0x4a, 0xdd, 0xa2, 0x2c, 0x79, 0xe8, 0x21, 0x05
};

/* Stands in place of the MAC of a public key; without the NUL. */
static const char cleartext_mark[KC_MAC_BYTES + 1] = "Cleartext public key";

/* Wrapped, "Apple custom", 3DES, CBC with padding and IV. */
static const uint32_t wrapped_words[4] = { 3, 100, 17, 6 };

const struct kc_key_header kc_item_key_header = {
	.version = HEADER_VERSION,
	.blob_type = 2,
	.format = 0,
	.algorithm = ALGORITHM_3DES,
	.key_class = CLASS_SESSION,
	.bits = 192,
	.attributes = 0x59,
	.usage = 3
};

/* The header at offset 24; the caller has checked the length. */
static void
header_read(const uint8_t *p, struct kc_key_header *ret)
{
	ret->version = ck_get_be32(p + 24);
	ret->blob_type = ck_get_be32(p + 44);
	ret->format = ck_get_be32(p + 48);
	ret->algorithm = ck_get_be32(p + 52);
	ret->key_class = ck_get_be32(p + 56);
	ret->bits = ck_get_be32(p + 60);
	ret->attributes = ck_get_be32(p + 64);
	ret->usage = ck_get_be32(p + 68);
	memcpy(ret->start, p + 72, sizeof(ret->start));
	memcpy(ret->end, p + 80, sizeof(ret->end));
	ret->wrap_algorithm = ck_get_be32(p + 88);
	ret->wrap_mode = ck_get_be32(p + 92);
	ret->reserved = ck_get_be32(p + 96);
}

static void
header_write(const struct kc_key_header *h, struct ck_buf *b)
{
	ck_buf_u32(b, h->version);
	ck_buf_bytes(b, csp_guid, sizeof(csp_guid));
	ck_buf_u32(b, h->blob_type);
	ck_buf_u32(b, h->format);
	ck_buf_u32(b, h->algorithm);
	ck_buf_u32(b, h->key_class);
	ck_buf_u32(b, h->bits);
	ck_buf_u32(b, h->attributes);
	ck_buf_u32(b, h->usage);
	ck_buf_bytes(b, h->start, sizeof(h->start));
	ck_buf_bytes(b, h->end, sizeof(h->end));
	ck_buf_u32(b, h->wrap_algorithm);
	ck_buf_u32(b, h->wrap_mode);
	ck_buf_u32(b, h->reserved);
}

/* Whether the fields make a key that this program can open. */
static ck_err
judge(const struct kc_key_blob *k, const char *shown, struct ck_fail *fail)
{
	const uint8_t *p = k->whole.p;

	if (k->header.version != HEADER_VERSION ||
	    memcmp(p + 28, csp_guid, sizeof(csp_guid)) != 0)
		return ck_fail_set(fail, CK_UNSUPPORTED, shown,
		    "a key was made by another module than Apple's CSP");
	if (k->cleartext && k->header.key_class != CLASS_PUBLIC)
		return ck_fail_set(fail, CK_DAMAGED, shown,
		    "a key that is not public is stored in the clear");
	if (k->crypto.n == 0 ||
	    (!k->cleartext && k->crypto.n % KC_BLOCK_BYTES != 0))
		return ck_fail_set(fail, CK_DAMAGED, shown,
		    "a wrapped key is no whole number of cipher blocks");
	if (!k->cleartext &&
	    memcmp(k->wrapped, wrapped_words, sizeof(wrapped_words)) != 0)
		return ck_fail_set(fail, CK_UNSUPPORTED, shown,
		    "a key is wrapped in an unknown way (%u, %u, %u, %u)",
		    (unsigned int)k->wrapped[0], (unsigned int)k->wrapped[1],
		    (unsigned int)k->wrapped[2], (unsigned int)k->wrapped[3]);
	return CK_OK;
}

ck_err
kc_key_blob_parse(struct ck_span data, const char *shown,
    struct kc_key_blob *ret, struct ck_fail *fail)
{
	struct kc_key_blob k;
	struct kc_frame f;
	ck_err r;

	if ((r = kc_frame_parse(data, KC_KEY_FIXED, "key blob", shown, &f,
	    fail)) != CK_OK)
		return r;
	k.version = f.version;
	memcpy(k.iv, data.p + 16, sizeof(k.iv));
	header_read(data.p, &k.header);
	for (size_t i = 0; i < 4; i++)
		k.wrapped[i] = ck_get_be32(data.p + 100 + 4 * i);
	memcpy(k.mac, data.p + MAC_AT, sizeof(k.mac));
	k.cleartext = memcmp(k.mac, cleartext_mark, sizeof(k.mac)) == 0;
	k.public_acl = f.acl;
	k.crypto = f.crypto;
	k.whole = f.whole;
	if ((r = judge(&k, shown, fail)) != CK_OK)
		return r;
	*ret = k;
	return CK_OK;
}

ck_err
kc_key_blob_check(const struct kc_key_blob *blob, const struct kc_keys *keys)
{
	if (blob->cleartext)
		return blob->header.key_class == CLASS_PUBLIC ? CK_OK :
		    CK_DAMAGED;
	return kc_frame_check(blob->whole, blob->version, KC_KEY_FIXED,
	    &keys->sign);
}

static void
reverse(struct ck_secret *s)
{
	for (size_t i = 0; i < s->n / 2; i++) {
		uint8_t x = s->p[i];

		s->p[i] = s->p[s->n - 1 - i];
		s->p[s->n - 1 - i] = x;
	}
}

/* Section 12.2: a pass under the fixed IV, the bytes in reverse order, a pass
 * under the IV that is then in front.  *ret is the length of the private ACL,
 * the private ACL and the key. */
static ck_err
unwrap(const struct ck_secret *encrypt, struct ck_span crypto,
    struct ck_secret *ret)
{
	struct ck_secret outer = CK_SECRET_INIT;
	struct ck_span rest;
	ck_err r;

	if ((r = kc_cbc_decrypt(encrypt, outer_iv, crypto, &outer)) != CK_OK)
		goto out;
	if (outer.n <= KC_IV_BYTES) {
		r = CK_DAMAGED;
		goto out;
	}
	reverse(&outer);
	rest.p = outer.p + KC_IV_BYTES;
	rest.n = outer.n - KC_IV_BYTES;
	r = kc_cbc_decrypt(encrypt, outer.p, rest, ret);
out:
	ck_secret_wipe(&outer);
	return r;
}

static ck_err
wrap(const struct ck_secret *encrypt, const uint8_t iv[KC_IV_BYTES],
    const struct ck_secret *key, const struct ck_secret *private_acl,
    struct ck_secret *ret)
{
	struct ck_secret plain = CK_SECRET_INIT, inner = CK_SECRET_INIT;
	struct ck_secret joined = CK_SECRET_INIT;
	size_t acl = private_acl == NULL ? 0 : private_acl->n, n;
	ck_err r;

	if (acl > UINT32_MAX - 4 || !ck_size_add(4 + acl, key->n, &n))
		return CK_REFUSED;
	if ((r = ck_secret_alloc(n, &plain)) != CK_OK)
		goto out;
	ck_put_be32(plain.p, (uint32_t)acl);
	if (acl > 0)
		memcpy(plain.p + 4, private_acl->p, acl);
	if (key->n > 0)
		memcpy(plain.p + 4 + acl, key->p, key->n);
	if ((r = kc_cbc_encrypt(encrypt, iv, &plain, &inner)) != CK_OK)
		goto out;
	if ((r = ck_secret_alloc(KC_IV_BYTES + inner.n, &joined)) != CK_OK)
		goto out;
	memcpy(joined.p, iv, KC_IV_BYTES);
	memcpy(joined.p + KC_IV_BYTES, inner.p, inner.n);
	reverse(&joined);
	r = kc_cbc_encrypt(encrypt, outer_iv, &joined, ret);
out:
	ck_secret_wipe(&joined);
	ck_secret_wipe(&inner);
	ck_secret_wipe(&plain);
	return r;
}

/* The unwrapped bytes cut into private ACL and key. */
static ck_err
split(const struct ck_secret *plain, struct ck_secret *ret_key,
    struct ck_secret *ret_acl)
{
	struct ck_secret acl = CK_SECRET_INIT;
	uint32_t n;
	ck_err r;

	if (plain->n < 4)
		return CK_DAMAGED;
	n = ck_get_be32(plain->p);
	if (n > plain->n - 4)
		return CK_DAMAGED;
	if ((r = ck_secret_copy(plain->p + 4, n, &acl)) != CK_OK)
		goto out;
	if ((r = ck_secret_copy(plain->p + 4 + n, plain->n - 4 - n,
	    ret_key)) != CK_OK)
		goto out;
	ck_secret_move(ret_acl, &acl);
out:
	ck_secret_wipe(&acl);
	return r;
}

ck_err
kc_key_blob_open(const struct kc_key_blob *blob, const struct kc_keys *keys,
    struct ck_secret *ret_key, struct ck_secret *ret_private_acl)
{
	struct ck_secret plain = CK_SECRET_INIT, key = CK_SECRET_INIT;
	struct ck_secret acl = CK_SECRET_INIT;
	ck_err r;

	if ((r = kc_key_blob_check(blob, keys)) != CK_OK)
		goto out;
	if (blob->cleartext) {
		if ((r = ck_secret_alloc(0, &acl)) != CK_OK)
			goto out;
		r = ck_secret_copy(blob->crypto.p, blob->crypto.n, &key);
	} else {
		if ((r = unwrap(&keys->encrypt, blob->crypto,
		    &plain)) != CK_OK)
			goto out;
		r = split(&plain, &key, &acl);
	}
	if (r != CK_OK)
		goto out;
	ck_secret_move(ret_key, &key);
	if (ret_private_acl != NULL)
		ck_secret_move(ret_private_acl, &acl);
out:
	ck_secret_wipe(&acl);
	ck_secret_wipe(&key);
	ck_secret_wipe(&plain);
	return r;
}

ck_err
kc_item_key_open(const struct kc_key_blob *blob, const struct kc_keys *keys,
    struct ck_secret *ret_key)
{
	struct ck_secret key = CK_SECRET_INIT;
	ck_err r;

	/* A key in the clear has no MAC: whoever can write the file could
	 * plant one here and choose what the item seems to hold. */
	if (blob->cleartext || blob->header.key_class != CLASS_SESSION ||
	    blob->header.algorithm != ALGORITHM_3DES)
		return CK_DAMAGED;
	if ((r = kc_key_blob_open(blob, keys, &key, NULL)) != CK_OK)
		goto out;
	if ((r = kc_key_fits(&key, KC_ITEM_KEY_BYTES)) != CK_OK)
		goto out;
	ck_secret_move(ret_key, &key);
out:
	ck_secret_wipe(&key);
	return r;
}

/* The blob around crypto, which is the wrapped or the public key. */
static ck_err
assemble(const struct kc_key_blob *blob, const struct ck_secret *crypto,
    struct ck_buf *b)
{
	const uint32_t *words = blob->cleartext ? blob->wrapped : wrapped_words;
	ck_err r;

	if ((r = kc_frame_begin(b, blob->version, KC_KEY_FIXED,
	    blob->public_acl.n, crypto->n)) != CK_OK)
		return r;
	ck_buf_bytes(b, blob->iv, sizeof(blob->iv));
	header_write(&blob->header, b);
	for (size_t i = 0; i < 4; i++)
		ck_buf_u32(b, words[i]);
	ck_buf_bytes(b, cleartext_mark, KC_MAC_BYTES);
	ck_buf_span(b, blob->public_acl);
	ck_buf_bytes(b, crypto->p, crypto->n);
	return CK_OK;
}

ck_err
kc_key_blob_encode(const struct kc_key_blob *blob, const struct kc_keys *keys,
    const struct ck_secret *key, const struct ck_secret *private_acl,
    struct ck_buf *out)
{
	struct ck_secret crypto = CK_SECRET_INIT;
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	if (key->p == NULL)
		return CK_LOCKED;
	if (blob->cleartext && (blob->header.key_class != CLASS_PUBLIC ||
	    (private_acl != NULL && private_acl->n > 0)))
		return CK_REFUSED;
	if (blob->cleartext)
		r = ck_secret_copy(key->p, key->n, &crypto);
	else
		r = wrap(&keys->encrypt, blob->iv, key, private_acl, &crypto);
	if (r != CK_OK)
		goto out;
	if ((r = assemble(blob, &crypto, &b)) != CK_OK)
		goto out;
	if (!blob->cleartext && (r = kc_frame_sign(&b, blob->version,
	    KC_KEY_FIXED, &keys->sign)) != CK_OK)
		goto out;
	r = kc_frame_append(out, &b);
out:
	ck_buf_free(&b);
	ck_secret_wipe(&crypto);
	return r;
}

ck_err
kc_key_blob_reseal(const struct kc_key_blob *blob, const struct kc_keys *keys,
    struct ck_span new_acl, struct ck_buf *out)
{
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	/* A blob with a wrong MAC must not get a right one from us. */
	if ((r = kc_key_blob_check(blob, keys)) != CK_OK)
		goto out;
	if ((r = kc_frame_begin(&b, blob->version, KC_KEY_FIXED, new_acl.n,
	    blob->crypto.n)) != CK_OK)
		goto out;
	ck_buf_bytes(&b, blob->whole.p + b.n, KC_KEY_FIXED - b.n);
	ck_buf_span(&b, new_acl);
	ck_buf_span(&b, blob->crypto);
	if (!blob->cleartext && (r = kc_frame_sign(&b, blob->version,
	    KC_KEY_FIXED, &keys->sign)) != CK_OK)
		goto out;
	r = kc_frame_append(out, &b);
out:
	ck_buf_free(&b);
	return r;
}
