/* SPDX-License-Identifier: Apache-2.0 */
/* The KeyBlob: known values, real keys, damage, forgeries. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "help_blob.h"
#include "keychain/acl.h"
#include "keychain/blob.h"
#include "keychain/blob_frame.h"
#include "keychain/crypto.h"

/* A key blob of the example's keys around the bytes given as wrapped key,
 * with a right MAC: for damage that lies behind the MAC. */
static void
sealed_around(struct ck_span crypto, struct ck_buf *out)
{
	struct kc_keys keys = help_example_keys();
	struct ck_secret key = help_range(0x90, 24);
	struct kc_key_blob blob;

	blob = help_example_key_blob(KC_BLOB_V200,
	    (struct ck_span)CK_SPAN_NONE);
	assert_int_equal(kc_key_blob_encode(&blob, &keys, &key, NULL, out),
	    CK_OK);
	out->n = KC_KEY_FIXED;
	ck_buf_span(out, crypto);
	ck_put_be32(out->p + 12, (uint32_t)out->n);
	assert_int_equal(kc_frame_sign(out, KC_BLOB_V200, KC_KEY_FIXED,
	    &keys.sign), CK_OK);
	ck_secret_wipe(&key);
	kc_keys_wipe(&keys);
}

static void
check_example(uint32_t version, struct ck_span acl, size_t size,
    const char *mac)
{
	static const char wrapped[] =
	    "e7731b68619b4d11d1cac9cd34aa5a35e6c4572f4b5ed29b4d4c7db7bc2a1660"
	    "55aaf7c673c836b710d1ecffc7873d67";
	static const char head[] =
	    "b0b1b2b3b4b5b6b70000000287191ca20fc911d4849a000502b5212200000002"
	    "000000000000001100000002000000c000000059000000030000000000000000"
	    "0000000000000000000000000000000000000000"
	    "00000003000000640000001100000006";
	struct kc_key_blob blob = help_example_key_blob(version, acl), parsed;
	struct kc_keys keys = help_example_keys();
	struct ck_secret key = help_range(0x90, 24), got = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;
	uint8_t want[100];

	assert_int_equal(kc_key_blob_encode(&blob, &keys, &key, NULL, &out),
	    CK_OK);
	assert_int_equal(out.n, size);
	help_hex(head, want, 100);
	assert_memory_equal(out.p + 16, want, 100);
	help_hex(mac, want, 20);
	assert_memory_equal(out.p + 116, want, 20);
	assert_memory_equal(out.p + 136, acl.p, acl.n);
	help_hex(wrapped, want, 48);
	assert_memory_equal(out.p + 136 + acl.n, want, 48);
	assert_int_equal(kc_key_blob_parse(ck_buf_view(&out), "test", &parsed,
	    NULL), CK_OK);
	assert_int_equal(kc_item_key_open(&parsed, &keys, &got), CK_OK);
	assert_true(ck_secret_equal(&got, &key));
	ck_secret_wipe(&got);
	ck_secret_wipe(&key);
	kc_keys_wipe(&keys);
	ck_buf_free(&out);
}

static void
example_is_encoded_to_the_byte(void **state)
{
	static const char *const ids[] = { "apple-tool:", "apple:" };
	struct ck_buf acl = CK_BUF_INIT;
	uint8_t digest[KC_DIGEST_BYTES];

	(void)state;
	assert_int_equal(kc_acl_item(CK_SPAN_TEXT("svc"), KC_ACCESS_ANY, NULL,
	    0, NULL, NULL, 0, &acl), CK_OK);
	assert_int_equal(acl.n, 148);
	check_example(KC_BLOB_V100, ck_buf_view(&acl), 332,
	    "e99a365e0751e56089c5c4ebaf65cecb18b6afa7");
	ck_buf_free(&acl);
	help_hex("37372567bd71b2075f7cd4e051551bb0"
	    "d46f0560ee04a5cd42e78d17a7410caa", digest, sizeof(digest));
	assert_int_equal(kc_acl_item(CK_SPAN_TEXT("svc"), KC_ACCESS_ANY, NULL,
	    0, digest, ids, 2, &acl), CK_OK);
	assert_int_equal(acl.n, 548);
	check_example(KC_BLOB_V200, ck_buf_view(&acl), 732,
	    "bde94d3602bb3e4ff4eaad11d0f2cd2a52dc52da");
	ck_buf_free(&acl);
}

/* Through open and encode, and through reseal with the ACL it has. */
static void
check_identity(const struct help_file *f, const struct kc_key_blob *blob)
{
	struct ck_secret key = CK_SECRET_INIT, acl = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;

	assert_int_equal(kc_key_blob_check(blob, &f->keys), CK_OK);
	assert_int_equal(kc_key_blob_open(blob, &f->keys, &key, &acl), CK_OK);
	assert_int_equal(acl.n, 0);
	assert_int_equal(kc_key_blob_encode(blob, &f->keys, &key, &acl, &out),
	    CK_OK);
	assert_int_equal(out.n, blob->whole.n);
	assert_memory_equal(out.p, blob->whole.p, out.n);
	assert_int_equal(kc_key_blob_reseal(blob, &f->keys, blob->public_acl,
	    &out), CK_OK);
	assert_int_equal(out.n, 2 * blob->whole.n);
	assert_memory_equal(out.p + blob->whole.n, blob->whole.p,
	    blob->whole.n);
	ck_buf_free(&out);
	ck_secret_wipe(&acl);
	ck_secret_wipe(&key);
}

static void
every_key_of_the_vectors_is_encoded_identically(void **state)
{
	size_t clear = 0, encrypted = 0;

	(void)state;
	for (size_t i = 0; i < HELP_VECTORS; i++) {
		struct help_file f;

		help_load(&help_vectors[i], &f);
		for (size_t k = 0; k < f.nkeys; k++) {
			check_identity(&f, &f.key[k].blob);
			if (f.key[k].blob.cleartext)
				clear++;
			else
				encrypted++;
		}
		help_free(&f);
	}
	assert_int_equal(clear, 4);
	assert_int_equal(encrypted, 19);
}

/* The AES keys are listed in MANIFEST.md. */
static void
aes_keys_of_the_vectors_are_the_listed_ones(void **state)
{
	int seen = 0;

	(void)state;
	for (size_t i = 0; i < HELP_REAL; i++) {
		struct help_file f;

		help_load(&help_vectors[i], &f);
		for (size_t k = 0; k < f.nkeys; k++) {
			struct ck_secret key = CK_SECRET_INIT;
			struct ck_secret hex = CK_SECRET_INIT;

			if (f.key[k].blob.header.algorithm != 0x80000001)
				continue;
			seen++;
			assert_int_equal(kc_key_blob_open(&f.key[k].blob,
			    &f.keys, &key, NULL), CK_OK);
			assert_int_equal(key.n, 16);
			assert_int_equal(ck_secret_hex(&key, &hex), CK_OK);
			assert_true(help_manifest_names((struct ck_span){
			    hex.p, hex.n }));
			ck_secret_wipe(&hex);
			ck_secret_wipe(&key);
		}
		help_free(&f);
	}
	assert_int_equal(seen, 4);
}

static void
flip_every_bit(const struct help_file *f, const struct kc_key_blob *blob)
{
	uint8_t *copy = malloc(blob->whole.n);
	struct ck_span in = { copy, blob->whole.n };

	assert_non_null(copy);
	memcpy(copy, blob->whole.p, blob->whole.n);
	for (size_t bit = 0; bit < 8 * in.n; bit++) {
		struct ck_secret key = CK_SECRET_INIT;
		struct kc_key_blob k;
		ck_err r;

		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		r = kc_key_blob_parse(in, "test", &k, NULL);
		if (r == CK_OK) {
			assert_int_equal(kc_key_blob_check(&k, &f->keys),
			    CK_DAMAGED);
			r = kc_key_blob_open(&k, &f->keys, &key, NULL);
			assert_int_equal(r, CK_DAMAGED);
		}
		assert_true(r == CK_DAMAGED || r == CK_UNSUPPORTED);
		assert_null(key.p);
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(copy);
}

static void
every_flipped_bit_of_every_encrypted_key_is_detected(void **state)
{
	(void)state;
	for (size_t i = 0; i < HELP_VECTORS; i++) {
		struct help_file f;

		help_load(&help_vectors[i], &f);
		for (size_t k = 0; k < f.nkeys; k++)
			if (!f.key[k].blob.cleartext)
				flip_every_bit(&f, &f.key[k].blob);
		help_free(&f);
	}
}

/* MANIFEST.md's derived negative test. */
static void
edited_partition_lists_break_the_keys(void **state)
{
	static const char text[] = "<key>Partitions</key>";
	struct help_file f;
	int edits = 0, refused = 0;

	(void)state;
	help_load(&help_vectors[3], &f);
	for (size_t i = 0; i + sizeof(text) < f.n; i++)
		if (memcmp(f.p + i, text, sizeof(text) - 1) == 0) {
			f.p[i] = 0;
			edits++;
		}
	assert_int_equal(edits, 5);
	for (size_t k = 0; k < f.nkeys; k++) {
		struct ck_secret key = CK_SECRET_INIT;

		if (f.key[k].blob.cleartext)
			continue;
		assert_int_equal(kc_key_blob_open(&f.key[k].blob, &f.keys,
		    &key, NULL), CK_DAMAGED);
		assert_null(key.p);
		refused++;
	}
	assert_int_equal(refused, 4);
	help_free(&f);
}

static void
keys_that_hold_nothing_are_locked(void **state)
{
	struct kc_keys none = KC_KEYS_INIT;
	struct ck_secret key = CK_SECRET_INIT, acl = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;
	struct help_file f;

	(void)state;
	help_load(&help_vectors[4], &f);
	assert_int_equal(kc_key_blob_open(&f.key[0].blob, &none, &key, &acl),
	    CK_LOCKED);
	assert_int_equal(kc_key_blob_check(&f.key[0].blob, &none), CK_LOCKED);
	assert_int_equal(kc_key_blob_reseal(&f.key[0].blob, &none,
	    f.key[0].blob.public_acl, &out), CK_LOCKED);
	key = help_range(0, 24);
	assert_int_equal(kc_key_blob_encode(&f.key[0].blob, &none, &key, NULL,
	    &out), CK_LOCKED);
	ck_secret_wipe(&key);
	assert_int_equal(kc_key_blob_encode(&f.key[0].blob, &f.keys, &key,
	    NULL, &out), CK_LOCKED);
	assert_null(acl.p);
	assert_int_equal(out.n, 0);
	ck_buf_free(&out);
	help_free(&f);
}

static void
reseal_changes_the_acl_and_nothing_else(void **state)
{
	struct ck_buf acl = CK_BUF_INIT, out = CK_BUF_INIT;
	struct ck_secret before = CK_SECRET_INIT, after = CK_SECRET_INIT;
	struct kc_key_blob blob;
	struct help_file f;

	(void)state;
	help_load(&help_vectors[1], &f);
	assert_int_equal(kc_acl_item(CK_SPAN_TEXT("a much longer label"),
	    KC_ACCESS_NONE, NULL, 0, NULL, NULL, 0, &acl), CK_OK);
	for (size_t k = 0; k < f.nkeys; k++) {
		const struct kc_key_blob *old = &f.key[k].blob;

		out.n = 0;
		assert_int_equal(kc_key_blob_reseal(old, &f.keys,
		    ck_buf_view(&acl), &out), CK_OK);
		assert_int_equal(kc_key_blob_parse(ck_buf_view(&out), "test",
		    &blob, NULL), CK_OK);
		assert_true(ck_span_equal(blob.public_acl,
		    ck_buf_view(&acl)));
		assert_true(ck_span_equal(blob.crypto, old->crypto));
		assert_memory_equal(out.p + 16, old->whole.p + 16, 100);
		assert_int_equal(kc_key_blob_open(&blob, &f.keys, &after,
		    NULL), CK_OK);
		assert_int_equal(kc_key_blob_open(old, &f.keys, &before,
		    NULL), CK_OK);
		assert_true(ck_secret_equal(&before, &after));
		ck_secret_wipe(&before);
		ck_secret_wipe(&after);
	}
	ck_buf_free(&out);
	ck_buf_free(&acl);
	help_free(&f);
}

/* A forged ACL must not leave with a right MAC. */
static void
reseal_of_a_wrong_mac_is_damaged(void **state)
{
	struct ck_buf out = CK_BUF_INIT;
	struct help_file f;

	(void)state;
	help_load(&help_vectors[4], &f);
	f.p[f.key[0].at + KC_KEY_FIXED + 25] ^= 1;
	ck_buf_text(&out, "before");
	assert_int_equal(kc_key_blob_reseal(&f.key[0].blob, &f.keys,
	    f.key[0].blob.public_acl, &out), CK_DAMAGED);
	assert_int_equal(out.n, 6);
	ck_buf_free(&out);
	help_free(&f);
}

/* Whoever can write the file can store a "public" key of his choice. */
static void
planted_cleartext_key_is_no_item_key(void **state)
{
	struct kc_key_blob blob, parsed;
	struct kc_keys keys = help_example_keys();
	struct ck_secret key = help_range(0, 24), got = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;

	(void)state;
	blob = help_example_key_blob(KC_BLOB_V200,
	    (struct ck_span)CK_SPAN_NONE);
	blob.cleartext = true;
	assert_int_equal(kc_key_blob_encode(&blob, &keys, &key, NULL, &out),
	    CK_REFUSED);
	blob.header.key_class = 0;
	assert_int_equal(kc_key_blob_encode(&blob, &keys, &key, &key, &out),
	    CK_REFUSED);
	assert_int_equal(out.n, 0);
	assert_int_equal(kc_key_blob_encode(&blob, &keys, &key, NULL, &out),
	    CK_OK);
	assert_int_equal(kc_key_blob_parse(ck_buf_view(&out), "test", &parsed,
	    NULL), CK_OK);
	assert_int_equal(kc_item_key_open(&parsed, &keys, &got), CK_DAMAGED);
	assert_null(got.p);
	/* Said to be a session key it is refused at once. */
	ck_put_be32(out.p + 56, 2);
	assert_int_equal(kc_key_blob_parse(ck_buf_view(&out), "test", &parsed,
	    NULL), CK_DAMAGED);
	ck_buf_free(&out);
	ck_secret_wipe(&key);
	kc_keys_wipe(&keys);
}

static void
keys_of_other_kinds_are_no_item_keys(void **state)
{
	struct help_file f;
	size_t items = 0;

	(void)state;
	help_load(&help_vectors[1], &f);
	for (size_t k = 0; k < f.nkeys; k++) {
		struct ck_secret key = CK_SECRET_INIT;
		ck_err r = kc_item_key_open(&f.key[k].blob, &f.keys, &key);

		if (f.key[k].blob.header.algorithm == 17) {
			assert_int_equal(r, CK_OK);
			assert_int_equal(key.n, 24);
			items++;
		} else {
			assert_int_equal(r, CK_DAMAGED);
			assert_null(key.p);
		}
		ck_secret_wipe(&key);
	}
	assert_int_equal(items, f.nitems);
	help_free(&f);
}

/* An authenticated key of 23 bytes would read past its end in 3DES. */
static void
item_key_of_another_size_is_damaged(void **state)
{
	struct kc_key_blob blob, parsed;
	struct kc_keys keys = help_example_keys();
	struct ck_secret key = help_range(0, 23), got = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;

	(void)state;
	blob = help_example_key_blob(KC_BLOB_V100,
	    (struct ck_span)CK_SPAN_NONE);
	assert_int_equal(kc_key_blob_encode(&blob, &keys, &key, NULL, &out),
	    CK_OK);
	assert_int_equal(kc_key_blob_parse(ck_buf_view(&out), "test", &parsed,
	    NULL), CK_OK);
	assert_int_equal(kc_item_key_open(&parsed, &keys, &got), CK_DAMAGED);
	assert_null(got.p);
	ck_buf_free(&out);
	ck_secret_wipe(&key);
	kc_keys_wipe(&keys);
}

static void
private_acl_comes_back(void **state)
{
	struct kc_key_blob blob, parsed;
	struct kc_keys keys = help_example_keys();
	struct ck_secret key = help_range(0, 16), acl = help_range(0x30, 37);
	struct ck_secret got = CK_SECRET_INIT, got_acl = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;

	(void)state;
	blob = help_example_key_blob(KC_BLOB_V101, CK_SPAN_TEXT("any bytes"));
	assert_int_equal(kc_key_blob_encode(&blob, &keys, &key, &acl, &out),
	    CK_OK);
	assert_int_equal(kc_key_blob_parse(ck_buf_view(&out), "test", &parsed,
	    NULL), CK_OK);
	assert_int_equal(kc_key_blob_open(&parsed, &keys, &got, &got_acl),
	    CK_OK);
	assert_true(ck_secret_equal(&got, &key));
	assert_true(ck_secret_equal(&got_acl, &acl));
	ck_secret_wipe(&got_acl);
	ck_secret_wipe(&got);
	ck_secret_wipe(&acl);
	ck_secret_wipe(&key);
	kc_keys_wipe(&keys);
	ck_buf_free(&out);
}

/* Encrypt plain under the outer IV, as the outer pass of the wrap. */
static void
refuses_outer(const struct ck_secret *outer)
{
	static const uint8_t iv[8] = { 0x4a, 0xdd, 0xa2, 0x2c, 0x79, 0xe8,
	    0x21, 0x05 };
	struct kc_keys keys = help_example_keys();
	struct ck_secret crypto = CK_SECRET_INIT, key = CK_SECRET_INIT;
	struct ck_secret acl = CK_SECRET_INIT;
	struct ck_buf b = CK_BUF_INIT;
	struct kc_key_blob blob;

	assert_int_equal(kc_cbc_encrypt(&keys.encrypt, iv, outer, &crypto),
	    CK_OK);
	sealed_around((struct ck_span){ crypto.p, crypto.n }, &b);
	assert_int_equal(kc_key_blob_parse(ck_buf_view(&b), "test", &blob,
	    NULL), CK_OK);
	assert_int_equal(kc_key_blob_check(&blob, &keys), CK_OK);
	assert_int_equal(kc_key_blob_open(&blob, &keys, &key, &acl),
	    CK_DAMAGED);
	assert_null(key.p);
	assert_null(acl.p);
	ck_buf_free(&b);
	ck_secret_wipe(&crypto);
	kc_keys_wipe(&keys);
}

static void
refuses_inner(const struct ck_secret *inner)
{
	struct kc_keys keys = help_example_keys();
	struct ck_secret cipher = CK_SECRET_INIT, outer = CK_SECRET_INIT;
	uint8_t iv[8] = { 0 };

	assert_int_equal(kc_cbc_encrypt(&keys.encrypt, iv, inner, &cipher),
	    CK_OK);
	assert_int_equal(ck_secret_alloc(8 + cipher.n, &outer), CK_OK);
	for (size_t i = 0; i < cipher.n; i++)
		outer.p[i] = cipher.p[cipher.n - 1 - i];
	refuses_outer(&outer);
	ck_secret_wipe(&outer);
	ck_secret_wipe(&cipher);
	kc_keys_wipe(&keys);
}

/* All of these carry a right MAC: a broken writer, not a forger. */
static void
authenticated_nonsense_is_damaged(void **state)
{
	(void)state;
	for (size_t n = 0; n <= 17; n++) {
		struct ck_secret s = help_range(0xd0, n);

		refuses_outer(&s);       /* no IV, no block, bad padding */
		ck_secret_wipe(&s);
	}
	for (size_t n = 0; n < 4; n++) {
		struct ck_secret s = help_range(0, n);

		refuses_inner(&s);       /* no length word */
		ck_secret_wipe(&s);
	}
	for (uint32_t d = 7; d != 0; d = d == 7 ? 0xffffffff : 0) {
		struct ck_secret s = help_range(0, 4 + 6);

		ck_put_be32(s.p, d);     /* longer than the rest */
		refuses_inner(&s);
		ck_secret_wipe(&s);
	}
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
		{ SIZE_MAX, 0, CK_DAMAGED }, { SIZE_MAX, 135, CK_DAMAGED },
		{ SIZE_MAX, 331, CK_DAMAGED }, { 0, 0, CK_DAMAGED },
		{ 4, 0x102, CK_UNSUPPORTED }, { 8, 135, CK_DAMAGED },
		{ 8, 0x14c, CK_DAMAGED }, { 8, 0x14d, CK_DAMAGED },
		{ 8, 0x11d, CK_DAMAGED }, { 8, 0xffffffff, CK_DAMAGED },
		{ 12, 0x14d, CK_DAMAGED }, { 12, 0x14b, CK_DAMAGED },
		{ 12, 0, CK_DAMAGED }, { 24, 1, CK_UNSUPPORTED },
		{ 28, 0, CK_UNSUPPORTED }, { 40, 0, CK_UNSUPPORTED },
		{ 100, 0, CK_UNSUPPORTED }, { 104, 101, CK_UNSUPPORTED },
		{ 108, 42, CK_UNSUPPORTED }, { 112, 5, CK_UNSUPPORTED }
	};
	struct help_file f;

	(void)state;
	help_load(&help_vectors[4], &f);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ck_fail fail = CK_FAIL_INIT;
		struct kc_key_blob got, before;
		struct ck_span in = f.key[0].blob.whole;
		uint8_t *copy = malloc(in.n);

		assert_non_null(copy);
		memcpy(copy, in.p, in.n);
		if (bad[i].at == SIZE_MAX)
			in.n = bad[i].word;
		else
			ck_put_be32(copy + bad[i].at, bad[i].word);
		in.p = copy;
		memset(&got, 0x5a, sizeof(got));
		before = got;
		assert_int_equal(kc_key_blob_parse(in, "some file", &got,
		    &fail), bad[i].want);
		assert_memory_equal(&got, &before, sizeof(got));
		assert_string_equal(fail.place, "some file");
		assert_string_not_equal(fail.why, "");
		free(copy);
	}
	help_free(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example_is_encoded_to_the_byte),
		cmocka_unit_test(
		    every_key_of_the_vectors_is_encoded_identically),
		cmocka_unit_test(aes_keys_of_the_vectors_are_the_listed_ones),
		cmocka_unit_test(
		    every_flipped_bit_of_every_encrypted_key_is_detected),
		cmocka_unit_test(edited_partition_lists_break_the_keys),
		cmocka_unit_test(keys_that_hold_nothing_are_locked),
		cmocka_unit_test(reseal_changes_the_acl_and_nothing_else),
		cmocka_unit_test(reseal_of_a_wrong_mac_is_damaged),
		cmocka_unit_test(planted_cleartext_key_is_no_item_key),
		cmocka_unit_test(keys_of_other_kinds_are_no_item_keys),
		cmocka_unit_test(item_key_of_another_size_is_damaged),
		cmocka_unit_test(private_acl_comes_back),
		cmocka_unit_test(authenticated_nonsense_is_damaged),
		cmocka_unit_test(
		    damaged_structure_is_refused_and_output_unchanged),
	};

	return cmocka_run_group_tests(tests, help_heap, NULL);
}
