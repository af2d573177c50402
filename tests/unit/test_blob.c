/* SPDX-License-Identifier: Apache-2.0 */
/* The DbBlob: known values, real files, wrong passwords, damage. */
#include "unit.h"

#include <openssl/evp.h>

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "help_blob.h"
#include "keychain/acl.h"
#include "keychain/blob.h"
#include "keychain/blob_frame.h"
#include "keychain/crypto.h"

/* The DbBlob fields of the worked example. */
static struct kc_db_blob
example_blob(uint32_t version, struct ck_buf *acl)
{
	struct kc_db_blob b;

	memset(&b, 0, sizeof(b));
	kc_acl_open(acl);
	b.version = version;
	help_fill(0x40, b.signature, sizeof(b.signature));
	b.idle_timeout = 300;
	b.lock_on_sleep = 1;
	help_fill(0x50, b.salt, sizeof(b.salt));
	help_fill(0x70, b.iv, sizeof(b.iv));
	b.public_acl = ck_buf_view(acl);
	return b;
}

static struct ck_secret
example_master(void)
{
	struct ck_secret password = help_secret_text("example");
	struct ck_secret master = CK_SECRET_INIT;
	uint8_t salt[20];

	help_fill(0x50, salt, sizeof(salt));
	assert_int_equal(kc_master_key(&password, salt, &master), CK_OK);
	ck_secret_wipe(&password);
	return master;
}

static void
master_key_of_the_example(void **state)
{
	struct ck_secret master = example_master();
	uint8_t want[KC_MASTER_BYTES];

	(void)state;
	help_hex("505bf5ff569c20bd4145da0ede478d3192e8b2e92f4ef7ce", want,
	    sizeof(want));
	assert_int_equal(master.n, sizeof(want));
	assert_true(memcmp(master.p, want, sizeof(want)) == 0);
	ck_secret_wipe(&master);
}

/* Ours and libcrypto's: around the length of a block, where the key of an HMAC
 * begins to be hashed, and up to the longest. */
static void
master_key_is_that_of_libcrypto(void **state)
{
	static const size_t lengths[] = { 1, 20, 63, 64, 65, 127, 128, 129,
		CK_SECRET_MAX };
	uint8_t salt[20], want[KC_MASTER_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct ck_secret password = CK_SECRET_INIT;
		struct ck_secret master = CK_SECRET_INIT;

		help_fill((uint8_t)i, salt, sizeof(salt));
		assert_int_equal(ck_secret_random(lengths[i], &password),
		    CK_OK);
		assert_int_equal(PKCS5_PBKDF2_HMAC((const char *)password.p,
		    (int)password.n, salt, sizeof(salt), 1000, EVP_sha1(),
		    sizeof(want), want), 1);
		assert_int_equal(kc_master_key(&password, salt, &master),
		    CK_OK);
		assert_memory_equal(master.p, want, sizeof(want));
		ck_secret_wipe(&master);
		ck_secret_wipe(&password);
	}
}

/* PBKDF2 of an empty password and a salt of zeros, computed elsewhere. */
static void
master_key_of_an_empty_password_exists(void **state)
{
	struct ck_secret none = CK_SECRET_INIT, empty = help_blob_secret("", 0);
	struct ck_secret master = CK_SECRET_INIT;
	uint8_t salt[20] = { 0 }, want[KC_MASTER_BYTES];

	(void)state;
	help_hex("3dc848a55ab493d06cb7bd921394cf59ec8dd7a90bed298a", want,
	    sizeof(want));
	assert_int_equal(kc_master_key(&none, salt, &master), CK_LOCKED);
	assert_null(master.p);
	assert_int_equal(kc_master_key(&empty, salt, &master), CK_OK);
	assert_true(memcmp(master.p, want, sizeof(want)) == 0);
	ck_secret_wipe(&master);
	ck_secret_wipe(&empty);
}

static void
master_key_of_an_endless_password_is_refused(void **state)
{
	struct ck_secret s = CK_SECRET_INIT, master = CK_SECRET_INIT;
	uint8_t salt[20] = { 0 };

	(void)state;
	assert_int_equal(ck_secret_alloc(CK_SECRET_MAX + 1, &s), CK_OK);
	assert_int_equal(kc_master_key(&s, salt, &master), CK_REFUSED);
	assert_null(master.p);
	ck_secret_wipe(&s);
}

static void
check_example(uint32_t version, const char *mac)
{
	static const char crypto[] =
	    "03c7d29aa44a5915944669cdf6244b9e15819e1c69603c1879ef7614b9a28515"
	    "b8734e88fefd8b47c9eb8c52a3b37bee";
	struct ck_buf acl = CK_BUF_INIT, out = CK_BUF_INIT;
	struct kc_db_blob blob = example_blob(version, &acl);
	struct ck_secret master = example_master();
	struct kc_keys keys = help_example_keys();
	uint8_t want[48];

	assert_int_equal(kc_db_blob_encode(&blob, &master, &keys, &out),
	    CK_OK);
	assert_int_equal(out.n, 0xa8);
	assert_int_equal(ck_get_be32(out.p), 0xfade0711);
	assert_int_equal(ck_get_be32(out.p + 4), version);
	assert_int_equal(ck_get_be32(out.p + 8), 0x78);
	assert_int_equal(ck_get_be32(out.p + 12), 0xa8);
	help_hex(mac, want, 20);
	assert_memory_equal(out.p + 72, want, 20);
	assert_memory_equal(out.p + 92, acl.p, acl.n);
	help_hex(crypto, want, 48);
	assert_memory_equal(out.p + 120, want, 48);
	ck_buf_free(&out);
	ck_buf_free(&acl);
	kc_keys_wipe(&keys);
	ck_secret_wipe(&master);
}

static void
example_is_encoded_to_the_byte(void **state)
{
	(void)state;
	check_example(KC_BLOB_V100,
	    "9755e23f44d90495724fe36dc8099b8f31c30591");
	check_example(KC_BLOB_V200,
	    "6a150ad5ecab00b5d794b35f45c8daf7a02e647e");
}

/* Rebuilt from the values that MANIFEST.md lists, not from the file. */
static void
real_empty_keychain_blob_is_rebuilt(void **state)
{
	static const char name[] = "v200-empty.keychain-db";
	struct help_file f;
	struct ck_buf acl = CK_BUF_INIT, out = CK_BUF_INIT;
	struct kc_db_blob blob = example_blob(KC_BLOB_V200, &acl);
	struct kc_keys keys = help_example_keys();
	struct ck_secret master = help_range(0, KC_MASTER_BYTES);

	(void)state;
	help_load(&help_vectors[2], &f);
	help_manifest_hex(name, "master ", master.p, master.n);
	help_manifest_hex(name, "encryption", keys.encrypt.p, 24);
	help_manifest_hex(name, "signing", keys.sign.p, 20);
	help_manifest_hex(name, "randomSignature", blob.signature, 16);
	help_manifest_hex(name, "salt", blob.salt, 20);
	help_manifest_hex(name, ", IV", blob.iv, 8);
	assert_int_equal(kc_db_blob_encode(&blob, &master, &keys, &out),
	    CK_OK);
	assert_int_equal(out.n, f.db.whole.n);
	assert_memory_equal(out.p, f.db.whole.p, out.n);
	ck_buf_free(&out);
	ck_buf_free(&acl);
	kc_keys_wipe(&keys);
	ck_secret_wipe(&master);
	help_free(&f);
}

static struct ck_secret
master_of(const struct help_vector *v, const struct help_file *f)
{
	struct ck_secret password = help_secret_text(v->password);
	struct ck_secret master = CK_SECRET_INIT;

	assert_int_equal(kc_master_key(&password, f->db.salt, &master), CK_OK);
	ck_secret_wipe(&password);
	return master;
}

static void
every_vector_is_encoded_identically(void **state)
{
	(void)state;
	for (size_t i = 0; i < HELP_VECTORS; i++) {
		struct ck_secret master;
		struct ck_buf out = CK_BUF_INIT;
		struct help_file f;

		help_load(&help_vectors[i], &f);
		master = master_of(&help_vectors[i], &f);
		assert_int_equal(kc_db_blob_encode(&f.db, &master, &f.keys,
		    &out), CK_OK);
		assert_int_equal(out.n, f.db.whole.n);
		assert_memory_equal(out.p, f.db.whole.p, out.n);
		ck_buf_free(&out);
		ck_secret_wipe(&master);
		help_free(&f);
	}
}

/* Neither the MAC nor anything under it may lose a bit unnoticed. */
static void
every_flipped_bit_is_detected(void **state)
{
	(void)state;
	for (size_t i = 0; i < HELP_VECTORS; i++) {
		struct help_file f;
		struct ck_secret master;
		uint8_t copy[256];

		help_load(&help_vectors[i], &f);
		master = master_of(&help_vectors[i], &f);
		assert_true(f.db.whole.n <= sizeof(copy));
		memcpy(copy, f.db.whole.p, f.db.whole.n);
		for (size_t bit = 0; bit < 8 * f.db.whole.n; bit++) {
			struct ck_span in = { copy, f.db.whole.n };
			struct kc_keys keys = KC_KEYS_INIT;
			struct kc_db_blob blob;
			ck_err r;

			copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
			r = kc_db_blob_parse(in, "test", &blob, NULL);
			if (r == CK_OK)
				r = kc_db_blob_open(&blob, &master, &keys);
			assert_true(r == CK_DAMAGED || r == CK_UNSUPPORTED ||
			    r == CK_LOCKED);
			/* Behind the lengths only the MAC can tell. */
			if (bit / 8 >= 16)
				assert_int_equal(r, CK_LOCKED);
			assert_null(keys.encrypt.p);
			assert_null(keys.sign.p);
			copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		ck_secret_wipe(&master);
		help_free(&f);
	}
}

static void
ten_thousand_wrong_passwords_are_locked(void **state)
{
	struct kc_keys keys = KC_KEYS_INIT;
	struct help_file f;

	(void)state;
	help_load(&help_vectors[0], &f);
	for (int i = 0; i < 10000; i++) {
		struct ck_secret password = CK_SECRET_INIT;
		struct ck_secret master = CK_SECRET_INIT;

		assert_int_equal(ck_secret_random(9, &password), CK_OK);
		assert_int_equal(kc_master_key(&password, f.db.salt,
		    &master), CK_OK);
		assert_int_equal(kc_db_blob_open(&f.db, &master, &keys),
		    CK_LOCKED);
		assert_null(keys.encrypt.p);
		assert_null(keys.sign.p);
		assert_null(keys.private_acl.p);
		ck_secret_wipe(&master);
		ck_secret_wipe(&password);
	}
	help_free(&f);
}

/* Wrong keys whose padding happens to be right, and long enough: it must be
 * the MAC that stops them. */
static void
wrong_keys_with_valid_padding_are_locked(void **state)
{
	struct kc_keys keys = KC_KEYS_INIT;
	struct help_file f;
	int padded = 0;

	(void)state;
	help_load(&help_vectors[0], &f);
	while (padded < 40) {
		struct ck_secret master = CK_SECRET_INIT;
		struct ck_secret plain = CK_SECRET_INIT;

		assert_int_equal(ck_secret_random(KC_MASTER_BYTES, &master),
		    CK_OK);
		if (kc_cbc_decrypt(&master, f.db.iv, f.db.crypto,
		    &plain) == CK_OK) {
			padded += plain.n >= 44;
			assert_int_equal(kc_db_blob_open(&f.db, &master,
			    &keys), CK_LOCKED);
			assert_null(keys.sign.p);
		}
		ck_secret_wipe(&plain);
		ck_secret_wipe(&master);
	}
	help_free(&f);
}

/* A right key over a plaintext that lacks the last byte of the signing key. */
static void
plaintext_one_byte_short_is_locked(void **state)
{
	struct ck_buf acl = CK_BUF_INIT, out = CK_BUF_INIT;
	struct kc_db_blob blob = example_blob(KC_BLOB_V200, &acl), parsed;
	struct ck_secret master = example_master(), plain = help_range(0, 43);
	struct ck_secret crypto = CK_SECRET_INIT;
	struct kc_keys keys = help_example_keys(), got = KC_KEYS_INIT;

	(void)state;
	assert_int_equal(kc_db_blob_encode(&blob, &master, &keys, &out),
	    CK_OK);
	assert_int_equal(kc_cbc_encrypt(&master, blob.iv, &plain, &crypto),
	    CK_OK);
	memcpy(out.p + 120, crypto.p, crypto.n);
	assert_int_equal(kc_db_blob_parse(ck_buf_view(&out), "test", &parsed,
	    NULL), CK_OK);
	assert_int_equal(kc_db_blob_open(&parsed, &master, &got), CK_LOCKED);
	assert_null(got.encrypt.p);
	ck_secret_wipe(&crypto);
	ck_secret_wipe(&plain);
	ck_secret_wipe(&master);
	kc_keys_wipe(&keys);
	ck_buf_free(&out);
	ck_buf_free(&acl);
}

static void
missing_or_short_master_is_locked(void **state)
{
	struct ck_buf acl = CK_BUF_INIT, out = CK_BUF_INIT;
	struct kc_db_blob blob = example_blob(KC_BLOB_V200, &acl), parsed;
	struct ck_secret master = example_master(), none = CK_SECRET_INIT;
	struct kc_keys keys = help_example_keys(), got = KC_KEYS_INIT;

	(void)state;
	assert_int_equal(kc_db_blob_encode(&blob, &master, &keys, &out),
	    CK_OK);
	assert_int_equal(kc_db_blob_parse(ck_buf_view(&out), "test", &parsed,
	    NULL), CK_OK);
	assert_int_equal(kc_db_blob_open(&parsed, &none, &got), CK_LOCKED);
	master.n--;
	assert_int_equal(kc_db_blob_open(&parsed, &master, &got), CK_LOCKED);
	assert_null(got.encrypt.p);
	master.n++;
	assert_int_equal(kc_db_blob_open(&parsed, &master, &got), CK_OK);
	assert_true(ck_secret_equal(&got.encrypt, &keys.encrypt));
	assert_true(ck_secret_equal(&got.sign, &keys.sign));
	kc_keys_wipe(&got);
	kc_keys_wipe(&keys);
	ck_secret_wipe(&master);
	ck_buf_free(&out);
	ck_buf_free(&acl);
}

/* Pad bytes, sequence, settings and a private ACL come back as they were. */
static void
unusual_fields_survive_a_round_trip(void **state)
{
	static const uint32_t versions[] = { KC_BLOB_V100, KC_BLOB_V101,
	    KC_BLOB_V200 };
	struct ck_buf acl = CK_BUF_INIT;
	struct kc_db_blob blob = example_blob(0, &acl), parsed;
	struct kc_keys keys = KC_KEYS_INIT, got = KC_KEYS_INIT;
	struct ck_secret master = example_master();

	(void)state;
	assert_int_equal(kc_keys_random(&keys), CK_OK);
	ck_secret_wipe(&keys.private_acl);
	keys.private_acl = help_range(0x90, 13);
	help_fill(0x7f, blob.pad, sizeof(blob.pad));
	blob.sequence = 0x01020304;
	blob.idle_timeout = 0x7fffffff;
	blob.lock_on_sleep = 0;
	for (size_t i = 0; i < 3; i++) {
		struct ck_buf out = CK_BUF_INIT;

		ck_buf_text(&out, "in front");
		blob.version = versions[i];
		assert_int_equal(kc_db_blob_encode(&blob, &master, &keys,
		    &out), CK_OK);
		ck_buf_text(&out, "behind");
		assert_int_equal(kc_db_blob_parse((struct ck_span){
		    out.p + 8, out.n - 8 }, "test", &parsed, NULL), CK_OK);
		assert_int_equal(parsed.whole.n, out.n - 14);
		assert_memory_equal(parsed.pad, blob.pad, 3);
		assert_int_equal(parsed.sequence, blob.sequence);
		assert_int_equal(parsed.idle_timeout, 0x7fffffff);
		assert_int_equal(parsed.lock_on_sleep, 0);
		assert_int_equal(kc_db_blob_open(&parsed, &master, &got),
		    CK_OK);
		assert_true(ck_secret_equal(&got.private_acl,
		    &keys.private_acl));
		kc_keys_wipe(&got);
		ck_buf_free(&out);
	}
	ck_secret_wipe(&master);
	kc_keys_wipe(&keys);
	ck_buf_free(&acl);
}

struct bad {
	size_t at;             /* the word to replace; SIZE_MAX: cut to word */
	uint32_t word;
	ck_err want;
};

static void
damaged_structure_is_refused_and_output_unchanged(void **state)
{
	static const struct bad bad[] = {
		{ SIZE_MAX, 0, CK_DAMAGED }, { SIZE_MAX, 91, CK_DAMAGED },
		{ SIZE_MAX, 0xa7, CK_DAMAGED }, { 0, 0xfade0712, CK_DAMAGED },
		{ 4, 0, CK_UNSUPPORTED }, { 4, 0x300, CK_UNSUPPORTED },
		{ 4, 0xffffffff, CK_UNSUPPORTED }, { 8, 91, CK_DAMAGED },
		{ 8, 0, CK_DAMAGED }, { 8, 0xffffffff, CK_DAMAGED },
		{ 8, 0xa8, CK_DAMAGED }, { 8, 0xa9, CK_DAMAGED },
		{ 8, 0x79, CK_DAMAGED }, { 12, 0xa9, CK_DAMAGED },
		{ 12, 0, CK_DAMAGED }, { 12, 0x77, CK_DAMAGED },
		{ 12, 0xa7, CK_DAMAGED }, { 12, 0xffffffff, CK_DAMAGED }
	};
	struct ck_buf acl = CK_BUF_INIT, out = CK_BUF_INIT;
	struct kc_db_blob blob = example_blob(KC_BLOB_V100, &acl);
	struct ck_secret master = example_master();
	struct kc_keys keys = help_example_keys();

	(void)state;
	assert_int_equal(kc_db_blob_encode(&blob, &master, &keys, &out),
	    CK_OK);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ck_fail fail = CK_FAIL_INIT;
		struct kc_db_blob got, before;
		struct ck_span in = { NULL, out.n };
		uint8_t *copy = malloc(out.n);

		assert_non_null(copy);
		memcpy(copy, out.p, out.n);
		if (bad[i].at == SIZE_MAX)
			in.n = bad[i].word;
		else
			ck_put_be32(copy + bad[i].at, bad[i].word);
		in.p = copy;
		memset(&got, 0x5a, sizeof(got));
		before = got;
		assert_int_equal(kc_db_blob_parse(in, "some file", &got,
		    &fail), bad[i].want);
		assert_memory_equal(&got, &before, sizeof(got));
		assert_string_equal(fail.place, "some file");
		assert_string_not_equal(fail.why, "");
		free(copy);
	}
	ck_buf_free(&out);
	ck_buf_free(&acl);
	kc_keys_wipe(&keys);
	ck_secret_wipe(&master);
}

static void
encode_without_keys_or_version_leaves_output(void **state)
{
	struct ck_buf acl = CK_BUF_INIT, out = CK_BUF_INIT;
	struct kc_db_blob blob = example_blob(0x300, &acl);
	struct ck_secret master = example_master(), none = CK_SECRET_INIT;
	struct kc_keys keys = help_example_keys(), empty = KC_KEYS_INIT;

	(void)state;
	ck_buf_text(&out, "before");
	assert_int_equal(kc_db_blob_encode(&blob, &master, &keys, &out),
	    CK_UNSUPPORTED);
	blob.version = KC_BLOB_V200;
	assert_int_equal(kc_db_blob_encode(&blob, &none, &keys, &out),
	    CK_LOCKED);
	assert_int_equal(kc_db_blob_encode(&blob, &master, &empty, &out),
	    CK_LOCKED);
	keys.sign.n--;
	assert_int_equal(kc_db_blob_encode(&blob, &master, &keys, &out),
	    CK_DAMAGED);
	assert_int_equal(out.n, 6);
	assert_false(out.failed);
	ck_buf_free(&out);
	ck_buf_free(&acl);
	kc_keys_wipe(&keys);
	ck_secret_wipe(&master);
}

/* Full secure memory at any point is told apart from a wrong key. */
static void
full_secure_memory_is_not_locked(void **state)
{
	void *small[32], *big[64];
	size_t nbig = 0, freed = 0;
	struct kc_keys keys = KC_KEYS_INIT;
	struct help_file f;
	struct ck_secret master;
	ck_err r;

	(void)state;
	help_load(&help_vectors[3], &f);
	master = master_of(&help_vectors[3], &f);
	for (size_t i = 0; i < 32; i++)
		assert_non_null(small[i] = OPENSSL_secure_malloc(32));
	for (size_t n = (size_t)1 << 24; n >= 32; n /= 2)
		while (nbig < 64 &&
		    (big[nbig] = OPENSSL_secure_malloc(n)) != NULL)
			nbig++;
	while ((r = kc_db_blob_open(&f.db, &master, &keys)) != CK_OK) {
		assert_int_equal(r, CK_NOMEM);
		assert_null(keys.encrypt.p);
		assert_null(keys.sign.p);
		assert_true(freed < 32);
		OPENSSL_secure_free(small[freed++]);
	}
	assert_true(freed > 2);
	kc_keys_wipe(&keys);
	while (freed < 32)
		OPENSSL_secure_free(small[freed++]);
	while (nbig > 0)
		OPENSSL_secure_free(big[--nbig]);
	ck_secret_wipe(&master);
	help_free(&f);
}

static void
unlock_key_file_opens_its_keychain(void **state)
{
	uint8_t signature[16], *p;
	struct ck_secret file, master = CK_SECRET_INIT;
	struct kc_keys keys = KC_KEYS_INIT;
	struct help_file f;
	size_t n;

	(void)state;
	p = help_blob_read("v200-genp-inet-keys.unlock-key.bin", &n);
	file = help_blob_secret(p, n);
	help_load(&help_vectors[3], &f);
	assert_int_equal(kc_unlock_key_parse(&file, signature, &master),
	    CK_OK);
	assert_memory_equal(signature, f.db.signature, 16);
	assert_int_equal(kc_db_blob_open(&f.db, &master, &keys), CK_OK);
	kc_keys_wipe(&keys);
	ck_secret_wipe(&master);
	ck_secret_wipe(&file);
	free(p);
	help_free(&f);
}

static void
unlock_key_file_of_another_kind_is_damaged(void **state)
{
	uint8_t signature[16] = { 1 };
	struct ck_secret file = help_range(0, 48), master = CK_SECRET_INIT;

	(void)state;
	assert_int_equal(kc_unlock_key_parse(&file, signature, &master),
	    CK_DAMAGED);
	ck_put_be32(file.p, KC_BLOB_MAGIC);
	file.n = 47;
	assert_int_equal(kc_unlock_key_parse(&file, signature, &master),
	    CK_DAMAGED);
	assert_null(master.p);
	assert_int_equal(signature[0], 1);
	file.n = 48;
	assert_int_equal(kc_unlock_key_parse(&file, signature, &master),
	    CK_OK);
	assert_int_equal(signature[0], 32);
	ck_secret_wipe(&master);
	ck_secret_wipe(&file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(master_key_of_the_example),
		cmocka_unit_test(master_key_is_that_of_libcrypto),
		cmocka_unit_test(master_key_of_an_empty_password_exists),
		cmocka_unit_test(master_key_of_an_endless_password_is_refused),
		cmocka_unit_test(example_is_encoded_to_the_byte),
		cmocka_unit_test(real_empty_keychain_blob_is_rebuilt),
		cmocka_unit_test(every_vector_is_encoded_identically),
		cmocka_unit_test(every_flipped_bit_is_detected),
		cmocka_unit_test(ten_thousand_wrong_passwords_are_locked),
		cmocka_unit_test(wrong_keys_with_valid_padding_are_locked),
		cmocka_unit_test(plaintext_one_byte_short_is_locked),
		cmocka_unit_test(missing_or_short_master_is_locked),
		cmocka_unit_test(unusual_fields_survive_a_round_trip),
		cmocka_unit_test(
		    damaged_structure_is_refused_and_output_unchanged),
		cmocka_unit_test(encode_without_keys_or_version_leaves_output),
		cmocka_unit_test(full_secure_memory_is_not_locked),
		cmocka_unit_test(unlock_key_file_opens_its_keychain),
		cmocka_unit_test(unlock_key_file_of_another_kind_is_damaged),
	};

	return cmocka_run_group_tests(tests, help_heap, NULL);
}
