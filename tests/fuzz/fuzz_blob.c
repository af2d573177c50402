/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs, item data and ACLs from hostile bytes.  A MAC stops nearly every
 * mutated blob, so that whatever parses is also sealed anew with fixed keys:
 * the unwrapping behind the MAC sees the fuzzer's bytes too.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/secret.h"
#include "keychain/acl.h"
#include "keychain/blob.h"
#include "keychain/blob_frame.h"

/* Holds in every build, unlike assert(). */
#define MUST(x) do { if (!(x)) abort(); } while (0)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct kc_keys keys;
static struct ck_secret master;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	MUST(ck_secret_heap_init((size_t)1 << 24, NULL) == CK_OK);
	MUST(ck_secret_alloc(KC_ENCRYPT_BYTES, &keys.encrypt) == CK_OK);
	MUST(ck_secret_alloc(KC_SIGN_BYTES, &keys.sign) == CK_OK);
	MUST(ck_secret_alloc(0, &keys.private_acl) == CK_OK);
	MUST(ck_secret_alloc(KC_MASTER_BYTES, &master) == CK_OK);
	return 0;
}

static void
fuzz_db(struct ck_span in)
{
	struct kc_keys got = KC_KEYS_INIT;
	struct kc_db_blob blob, again;
	struct ck_buf b = CK_BUF_INIT;

	if (kc_db_blob_parse(in, "fuzz", &blob, NULL) != CK_OK)
		return;
	MUST(kc_db_blob_open(&blob, &master, &got) == CK_LOCKED);
	MUST(got.sign.p == NULL && got.encrypt.p == NULL);
	MUST(kc_db_blob_encode(&blob, &master, &keys, &b) == CK_OK);
	MUST(kc_db_blob_parse(ck_buf_view(&b), "fuzz", &again, NULL) ==
	    CK_OK);
	MUST(kc_db_blob_open(&again, &master, &got) == CK_OK);
	MUST(ck_span_equal(again.public_acl, blob.public_acl));
	/* All but the lengths and what is encrypted stays. */
	MUST(memcmp(b.p + 16, in.p + 16, 56) == 0);
	kc_keys_wipe(&got);
	ck_buf_free(&b);
}

static void
fuzz_key_open(const struct kc_key_blob *blob)
{
	struct ck_secret key = CK_SECRET_INIT, acl = CK_SECRET_INIT;
	struct kc_key_blob again;
	struct ck_buf b = CK_BUF_INIT;

	if (kc_key_blob_open(blob, &keys, &key, &acl) != CK_OK) {
		MUST(key.p == NULL && acl.p == NULL);
		return;
	}
	MUST(kc_key_blob_encode(blob, &keys, &key, &acl, &b) == CK_OK);
	MUST(kc_key_blob_parse(ck_buf_view(&b), "fuzz", &again, NULL) ==
	    CK_OK);
	MUST(kc_key_blob_check(&again, &keys) == CK_OK);
	ck_buf_free(&b);
	ck_secret_wipe(&acl);
	ck_secret_wipe(&key);
}

static void
fuzz_key(struct ck_span in)
{
	struct ck_secret key = CK_SECRET_INIT;
	struct kc_key_blob blob, sealed;
	struct ck_buf b = CK_BUF_INIT;

	if (kc_key_blob_parse(in, "fuzz", &blob, NULL) != CK_OK)
		return;
	fuzz_key_open(&blob);
	if (blob.cleartext) {
		MUST(kc_item_key_open(&blob, &keys, &key) == CK_DAMAGED);
		MUST(kc_key_blob_reseal(&blob, &keys, blob.public_acl, &b) ==
		    CK_OK);
		MUST(ck_span_equal(ck_buf_view(&b), blob.whole));
		ck_buf_free(&b);
		return;
	}
	ck_buf_span(&b, blob.whole);
	MUST(kc_frame_sign(&b, blob.version, KC_KEY_FIXED, &keys.sign) ==
	    CK_OK);
	MUST(kc_key_blob_parse(ck_buf_view(&b), "fuzz", &sealed, NULL) ==
	    CK_OK);
	fuzz_key_open(&sealed);
	if (kc_item_key_open(&sealed, &keys, &key) == CK_OK)
		MUST(key.n == KC_ITEM_KEY_BYTES);
	ck_secret_wipe(&key);
	ck_buf_free(&b);
}

static void
fuzz_item(struct ck_span in)
{
	struct ck_secret secret = CK_SECRET_INIT;
	struct ck_buf b = CK_BUF_INIT;
	struct ck_span label;

	if (kc_item_data_open(in, &master, &secret) != CK_OK) {
		MUST(secret.p == NULL);
		return;
	}
	MUST(kc_item_data_label(in, &label));
	MUST(kc_item_data_encode(label.p, in.p + KC_LABEL_BYTES, &master,
	    &secret, &b) == CK_OK);
	/* One padded block and no block both mean an empty secret. */
	if (secret.n > 0)
		MUST(ck_span_equal(ck_buf_view(&b), in));
	else
		MUST(b.n == KC_LABEL_BYTES + 8);
	ck_secret_wipe(&secret);
	ck_buf_free(&b);
}

static void
fuzz_unlock_file(struct ck_span in)
{
	struct ck_secret file = CK_SECRET_INIT, got = CK_SECRET_INIT;
	uint8_t signature[16];

	MUST(ck_secret_copy(in.p, in.n, &file) == CK_OK);
	if (kc_unlock_key_parse(&file, signature, &got) == CK_OK)
		MUST(in.n == 48 && got.n == KC_MASTER_BYTES);
	ck_secret_wipe(&got);
	ck_secret_wipe(&file);
}

static void
fuzz_acl(struct ck_span in)
{
	static const uint8_t fresh[KC_DIGEST_BYTES] = { 0x5a, 1 };
	struct kc_acl_info before, after;
	struct ck_buf b = CK_BUF_INIT;

	kc_acl_inspect(in, &before);
	MUST(before.ntrusted <= KC_ACL_TRUSTED_MAX);
	MUST(before.understood || before.access == KC_ACCESS_UNKNOWN);
	if (kc_acl_set_digest(in, fresh, &b) != CK_OK) {
		MUST(b.n == 0 && !before.understood);
		return;
	}
	MUST(b.n == in.n);
	kc_acl_inspect(ck_buf_view(&b), &after);
	MUST(after.understood == before.understood);
	MUST(after.has_digest == before.has_digest);
	MUST(after.access == before.access);
	if (after.has_digest) {
		MUST(memcmp(after.digest, fresh, sizeof(fresh)) == 0);
		b.n = 0;
		MUST(kc_acl_set_digest(in, before.digest, &b) == CK_OK);
	}
	if (before.understood)
		MUST(ck_span_equal(ck_buf_view(&b), in));
	ck_buf_free(&b);
}

/* An ACL with these bytes as label and as path reads back as built. */
static void
fuzz_build(struct ck_span in)
{
	struct kc_trusted t = { NULL, { 0 }, CK_SPAN_NONE };
	struct kc_acl_info info;
	struct ck_buf b = CK_BUF_INIT, path = CK_BUF_INIT;

	ck_buf_text(&path, "/");
	ck_buf_span(&path, in);
	ck_buf_zeros(&path, 1);
	MUST(ck_buf_ok(&path) == CK_OK);
	t.path = (const char *)path.p;
	MUST(kc_acl_item(in, KC_ACCESS_TRUSTED, &t, 1, NULL, NULL, 0, &b) ==
	    CK_OK);
	kc_acl_inspect(ck_buf_view(&b), &info);
	MUST(info.understood && info.access == KC_ACCESS_TRUSTED);
	MUST(ck_span_equal(info.trusted[0], CK_SPAN_TEXT(t.path)));
	ck_buf_free(&path);
	ck_buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ck_span in = { data, size };

	/* The master key is 24 zero bytes, which a mutated blob does not fit:
	 * its MAC would have to be right. */
	fuzz_db(in);
	fuzz_key(in);
	fuzz_item(in);
	fuzz_unlock_file(in);
	fuzz_acl(in);
	fuzz_build(in);
	return 0;
}
