/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DbBlob and the keys it holds (docs/keychain-format.md, section 11).
 * The recovered signing key proves the master key: nothing else does.
 */
#include "blob.h"

#include <string.h>

#include "blob_frame.h"
#include "crypto.h"

#define UNLOCK_FILE_BYTES 48
#define KEYS_BYTES (KC_ENCRYPT_BYTES + KC_SIGN_BYTES)

void
kc_keys_wipe(struct kc_keys *k)
{
	ck_secret_wipe(&k->private_acl);
	ck_secret_wipe(&k->sign);
	ck_secret_wipe(&k->encrypt);
}

static void
keys_move(struct kc_keys *to, struct kc_keys *from)
{
	ck_secret_move(&to->encrypt, &from->encrypt);
	ck_secret_move(&to->sign, &from->sign);
	ck_secret_move(&to->private_acl, &from->private_acl);
}

ck_err
kc_keys_random(struct kc_keys *ret)
{
	struct kc_keys k = KC_KEYS_INIT;
	ck_err r;

	if ((r = ck_secret_random(KC_ENCRYPT_BYTES, &k.encrypt)) != CK_OK)
		goto out;
	if ((r = ck_secret_random(KC_SIGN_BYTES, &k.sign)) != CK_OK)
		goto out;
	if ((r = ck_secret_alloc(0, &k.private_acl)) != CK_OK)
		goto out;
	keys_move(ret, &k);
out:
	kc_keys_wipe(&k);
	return r;
}

ck_err
kc_db_blob_parse(struct ck_span data, const char *shown,
    struct kc_db_blob *ret, struct ck_fail *fail)
{
	struct kc_frame f;
	ck_err r;

	if ((r = kc_frame_parse(data, KC_DB_FIXED, "database blob", shown, &f,
	    fail)) != CK_OK)
		return r;
	if (f.crypto.n == 0 || f.crypto.n % KC_BLOCK_BYTES != 0)
		return ck_fail_set(fail, CK_DAMAGED, shown,
		    "the encrypted part of the database blob is no whole "
		    "number of cipher blocks");
	ret->version = f.version;
	memcpy(ret->signature, data.p + 16, sizeof(ret->signature));
	ret->sequence = ck_get_be32(data.p + 32);
	ret->idle_timeout = ck_get_be32(data.p + 36);
	ret->lock_on_sleep = data.p[40];
	memcpy(ret->pad, data.p + 41, sizeof(ret->pad));
	memcpy(ret->salt, data.p + 44, sizeof(ret->salt));
	memcpy(ret->iv, data.p + 64, sizeof(ret->iv));
	memcpy(ret->mac, data.p + 72, sizeof(ret->mac));
	ret->public_acl = f.acl;
	ret->crypto = f.crypto;
	ret->whole = f.whole;
	return CK_OK;
}

/* Cut the decrypted part into the keys; CK_DAMAGED when it is too short. */
static ck_err
keys_split(const struct ck_secret *plain, struct kc_keys *ret)
{
	struct kc_keys k = KC_KEYS_INIT;
	ck_err r;

	if (plain->n < KEYS_BYTES)
		return CK_DAMAGED;
	if ((r = ck_secret_copy(plain->p, KC_ENCRYPT_BYTES,
	    &k.encrypt)) != CK_OK)
		goto out;
	if ((r = ck_secret_copy(plain->p + KC_ENCRYPT_BYTES, KC_SIGN_BYTES,
	    &k.sign)) != CK_OK)
		goto out;
	if ((r = ck_secret_copy(plain->p + KEYS_BYTES, plain->n - KEYS_BYTES,
	    &k.private_acl)) != CK_OK)
		goto out;
	keys_move(ret, &k);
out:
	kc_keys_wipe(&k);
	return r;
}

ck_err
kc_db_blob_open(const struct kc_db_blob *blob, const struct ck_secret *master,
    struct kc_keys *ret)
{
	struct ck_secret plain = CK_SECRET_INIT;
	struct kc_keys k = KC_KEYS_INIT;
	ck_err r;

	if ((r = kc_cbc_decrypt(master, blob->iv, blob->crypto,
	    &plain)) != CK_OK)
		goto out;
	if ((r = keys_split(&plain, &k)) != CK_OK)
		goto out;
	/* One wrong key in 256 comes this far. */
	if ((r = kc_frame_check(blob->whole, blob->version, KC_DB_FIXED,
	    &k.sign)) != CK_OK)
		goto out;
	keys_move(ret, &k);
out:
	kc_keys_wipe(&k);
	ck_secret_wipe(&plain);
	/* Padding, length and MAC all ask for another key in one voice.  A
	 * difference in time remains; whoever could measure it has the file
	 * and tries keys without us. */
	return r == CK_DAMAGED ? CK_LOCKED : r;
}

/* The plaintext of the encrypted part. */
static ck_err
keys_join(const struct kc_keys *keys, struct ck_secret *ret)
{
	struct ck_secret s = CK_SECRET_INIT;
	size_t n;
	ck_err r;

	if ((r = kc_key_fits(&keys->encrypt, KC_ENCRYPT_BYTES)) != CK_OK)
		return r;
	if ((r = kc_key_fits(&keys->sign, KC_SIGN_BYTES)) != CK_OK)
		return r;
	if (!ck_size_add(KEYS_BYTES, keys->private_acl.n, &n))
		return CK_NOMEM;
	if ((r = ck_secret_alloc(n, &s)) != CK_OK)
		return r;
	memcpy(s.p, keys->encrypt.p, KC_ENCRYPT_BYTES);
	memcpy(s.p + KC_ENCRYPT_BYTES, keys->sign.p, KC_SIGN_BYTES);
	if (keys->private_acl.n > 0)
		memcpy(s.p + KEYS_BYTES, keys->private_acl.p,
		    keys->private_acl.n);
	ck_secret_move(ret, &s);
	return CK_OK;
}

ck_err
kc_db_blob_encode(const struct kc_db_blob *blob,
    const struct ck_secret *master, const struct kc_keys *keys,
    struct ck_buf *out)
{
	struct ck_secret plain = CK_SECRET_INIT, crypto = CK_SECRET_INIT;
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	if ((r = keys_join(keys, &plain)) != CK_OK)
		goto out;
	if ((r = kc_cbc_encrypt(master, blob->iv, &plain, &crypto)) != CK_OK)
		goto out;
	if ((r = kc_frame_begin(&b, blob->version, KC_DB_FIXED,
	    blob->public_acl.n, crypto.n)) != CK_OK)
		goto out;
	ck_buf_bytes(&b, blob->signature, sizeof(blob->signature));
	ck_buf_u32(&b, blob->sequence);
	ck_buf_u32(&b, blob->idle_timeout);
	ck_buf_bytes(&b, &blob->lock_on_sleep, 1);
	ck_buf_bytes(&b, blob->pad, sizeof(blob->pad));
	ck_buf_bytes(&b, blob->salt, sizeof(blob->salt));
	ck_buf_bytes(&b, blob->iv, sizeof(blob->iv));
	ck_buf_zeros(&b, KC_MAC_BYTES);
	ck_buf_span(&b, blob->public_acl);
	ck_buf_bytes(&b, crypto.p, crypto.n);
	if ((r = kc_frame_sign(&b, blob->version, KC_DB_FIXED,
	    &keys->sign)) != CK_OK)
		goto out;
	r = kc_frame_append(out, &b);
out:
	ck_buf_free(&b);
	ck_secret_wipe(&crypto);
	ck_secret_wipe(&plain);
	return r;
}

ck_err
kc_unlock_key_parse(const struct ck_secret *file, uint8_t ret_signature[16],
    struct ck_secret *ret_master)
{
	ck_err r;

	if (file->p == NULL || file->n != UNLOCK_FILE_BYTES ||
	    ck_get_be32(file->p) != KC_BLOB_MAGIC)
		return CK_DAMAGED;
	if ((r = ck_secret_copy(file->p + 8, KC_MASTER_BYTES,
	    ret_master)) != CK_OK)
		return r;
	memcpy(ret_signature, file->p + 8 + KC_MASTER_BYTES, 16);
	return CK_OK;
}
