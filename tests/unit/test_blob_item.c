/* SPDX-License-Identifier: Apache-2.0 */
/* Item data, labels, and the primitives they rest on. */
#include "unit.h"

#include <string.h>

#include "help_blob.h"
#include "keychain/blob.h"
#include "keychain/crypto.h"

struct item {
	uint8_t label[KC_LABEL_BYTES];
	uint8_t iv[8];
	struct ck_secret key;
};

static struct item
example_item(void)
{
	struct item i = { { 's', 's', 'g', 'p' }, { 0 }, CK_SECRET_INIT };

	help_fill(0x80, i.label + 4, 16);
	help_fill(0xc0, i.iv, sizeof(i.iv));
	i.key = help_range(0x90, KC_ITEM_KEY_BYTES);
	return i;
}

static void
example_is_encoded_to_the_byte(void **state)
{
	struct item item = example_item();
	struct ck_secret secret = help_secret_text("s3cret");
	struct ck_buf out = CK_BUF_INIT;
	uint8_t want[36];

	(void)state;
	help_hex("73736770808182838485868788898a8b8c8d8e8f"
	    "c0c1c2c3c4c5c6c7687baf69ffb11b48", want, sizeof(want));
	assert_int_equal(kc_item_data_encode(item.label, item.iv, &item.key,
	    &secret, &out), CK_OK);
	assert_int_equal(out.n, sizeof(want));
	assert_memory_equal(out.p, want, sizeof(want));
	ck_buf_free(&out);
	ck_secret_wipe(&secret);
	ck_secret_wipe(&item.key);
}

/* Every secret of every vector: its key found by label, opened, decrypted,
 * listed in MANIFEST.md, encoded again to the same bytes. */
static void
every_item_of_the_vectors_opens_and_is_encoded_identically(void **state)
{
	size_t items = 0, empty = 0;

	(void)state;
	for (size_t i = 0; i < HELP_VECTORS; i++) {
		struct help_file f;

		help_load(&help_vectors[i], &f);
		for (size_t k = 0; k < f.nkeys; k++) {
			const struct kc_relation *rel;
			struct ck_secret key = CK_SECRET_INIT;
			struct ck_secret secret = CK_SECRET_INIT;
			struct ck_buf out = CK_BUF_INIT;
			struct ck_span data;
			size_t at;

			data = help_item_of(&f, &f.key[k], &at, &rel);
			if (data.n == 0)
				continue;
			assert_int_equal(kc_item_key_open(&f.key[k].blob,
			    &f.keys, &key), CK_OK);
			assert_int_equal(kc_item_data_open(data, &key,
			    &secret), CK_OK);
			if (secret.n == 0)
				empty++;
			else
				assert_true(help_manifest_names(
				    (struct ck_span){ secret.p, secret.n }));
			assert_int_equal(kc_item_data_encode(data.p,
			    data.p + KC_LABEL_BYTES, &key, &secret, &out),
			    CK_OK);
			assert_int_equal(out.n, data.n);
			assert_memory_equal(out.p, data.p, out.n);
			items++;
			ck_buf_free(&out);
			ck_secret_wipe(&secret);
			ck_secret_wipe(&key);
		}
		help_free(&f);
	}
	assert_int_equal(items, 11);
	assert_int_equal(empty, 1);
}

static void
empty_secret_has_28_bytes_and_both_forms_open(void **state)
{
	struct item item = example_item();
	struct ck_secret empty = help_blob_secret("", 0), got = CK_SECRET_INIT;
	struct ck_secret block = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;

	(void)state;
	assert_int_equal(kc_item_data_encode(item.label, item.iv, &item.key,
	    &empty, &out), CK_OK);
	assert_int_equal(out.n, 28);
	assert_int_equal(kc_item_data_open(ck_buf_view(&out), &item.key,
	    &got), CK_OK);
	assert_non_null(got.p);
	assert_int_equal(got.n, 0);
	ck_secret_wipe(&got);
	assert_int_equal(kc_cbc_encrypt(&item.key, item.iv, &empty, &block),
	    CK_OK);
	assert_int_equal(block.n, 8);
	ck_buf_bytes(&out, block.p, block.n);
	assert_int_equal(kc_item_data_open(ck_buf_view(&out), &item.key,
	    &got), CK_OK);
	assert_non_null(got.p);
	assert_int_equal(got.n, 0);
	ck_secret_wipe(&got);
	ck_secret_wipe(&block);
	ck_secret_wipe(&empty);
	ck_secret_wipe(&item.key);
	ck_buf_free(&out);
}

static void
round_trip(const struct ck_secret *secret)
{
	struct item item = example_item();
	struct ck_secret got = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;

	ck_buf_text(&out, "x");
	assert_int_equal(kc_item_data_encode(item.label, item.iv, &item.key,
	    secret, &out), CK_OK);
	assert_int_equal(out.n, 1 + 28 + secret->n / 8 * 8 + 8);
	assert_int_equal(kc_item_data_open((struct ck_span){ out.p + 1,
	    out.n - 1 }, &item.key, &got), CK_OK);
	assert_true(ck_secret_equal(&got, secret));
	ck_secret_wipe(&got);
	ck_secret_wipe(&item.key);
	ck_buf_free(&out);
}

static void
secrets_of_any_bytes_and_sizes_come_back(void **state)
{
	struct ck_secret s;

	(void)state;
	for (size_t n = 1; n <= 65; n++) {
		s = help_range(0, n);
		round_trip(&s);
		ck_secret_wipe(&s);
	}
	s = help_blob_secret("a\0b\nc\n", 6);
	round_trip(&s);
	ck_secret_wipe(&s);
	s = help_blob_secret("\0\0\0\0\0\0\0\0", 8);
	round_trip(&s);
	ck_secret_wipe(&s);
	/* Looks like padding all over. */
	s = help_blob_secret("\1\1\1\1\1\1\1\1\1", 9);
	round_trip(&s);
	ck_secret_wipe(&s);
	assert_int_equal(ck_secret_random(CK_SECRET_MAX, &s), CK_OK);
	round_trip(&s);
	ck_secret_wipe(&s);
}

static void
data_of_a_bad_length_is_damaged(void **state)
{
	struct item item = example_item();
	struct ck_secret secret = help_range(0, 20), got = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;

	(void)state;
	assert_int_equal(kc_item_data_encode(item.label, item.iv, &item.key,
	    &secret, &out), CK_OK);
	for (size_t n = 0; n < out.n; n++) {
		if (n == 28)
			continue;
		assert_int_equal(kc_item_data_open((struct ck_span){ out.p,
		    n }, &item.key, &got), CK_DAMAGED);
		assert_null(got.p);
	}
	out.p[3] ^= 1;
	assert_int_equal(kc_item_data_open(ck_buf_view(&out), &item.key,
	    &got), CK_DAMAGED);
	assert_null(got.p);
	ck_secret_wipe(&secret);
	ck_secret_wipe(&item.key);
	ck_buf_free(&out);
}

/* Every last block but those that end in right padding. */
static void
bad_padding_is_damaged(void **state)
{
	struct item item = example_item();
	struct ck_secret plain = help_range(0x40, 8);
	struct ck_secret block = CK_SECRET_INIT, got = CK_SECRET_INIT;

	(void)state;
	for (unsigned int pad = 0; pad < 256; pad++)
		for (unsigned int wrong = 0; wrong <= 8; wrong++) {
			bool good = pad >= 1 && pad <= 8;

			help_fill(0x40, plain.p, 8);
			for (unsigned int i = 0; good && i < pad; i++)
				plain.p[7 - i] = (uint8_t)pad;
			plain.p[7] = (uint8_t)pad;
			/* Byte number wrong from the end, 0 none. */
			if (wrong > 0 && wrong < 8)
				plain.p[7 - wrong] ^= 0x80;
			good = good && !(wrong > 0 && wrong < pad);
			assert_int_equal(kc_cbc_encrypt(&item.key, item.iv,
			    &plain, &block), CK_OK);
			assert_int_equal(kc_cbc_decrypt(&item.key, item.iv,
			    (struct ck_span){ block.p, 8 }, &got),
			    good ? CK_OK : CK_DAMAGED);
			if (good)
				assert_int_equal(got.n, 8 - pad);
			else
				assert_null(got.p);
			ck_secret_wipe(&got);
			ck_secret_wipe(&block);
		}
	ck_secret_wipe(&plain);
	ck_secret_wipe(&item.key);
}

/* Consistent all through, but longer than a block; and no block at all. */
static void
padding_longer_than_a_block_is_damaged(void **state)
{
	struct item item = example_item();
	struct ck_secret plain = help_range(0, 16);
	struct ck_secret cipher = CK_SECRET_INIT, got = CK_SECRET_INIT;

	(void)state;
	for (int pad = 9; pad < 256; pad++) {
		memset(plain.p, pad, plain.n);
		assert_int_equal(kc_cbc_encrypt(&item.key, item.iv, &plain,
		    &cipher), CK_OK);
		assert_int_equal(kc_cbc_decrypt(&item.key, item.iv,
		    (struct ck_span){ cipher.p, 16 }, &got), CK_DAMAGED);
		assert_null(got.p);
		ck_secret_wipe(&cipher);
	}
	assert_int_equal(kc_cbc_decrypt(&item.key, item.iv,
	    (struct ck_span)CK_SPAN_NONE, &got), CK_DAMAGED);
	assert_null(got.p);
	ck_secret_wipe(&plain);
	ck_secret_wipe(&item.key);
}

static void
item_key_missing_or_of_another_size_leaves_outputs(void **state)
{
	struct item item = example_item();
	struct ck_secret none = CK_SECRET_INIT, got = CK_SECRET_INIT;
	struct ck_secret secret = help_range(0, 5), empty;
	struct ck_buf out = CK_BUF_INIT;

	(void)state;
	empty = help_blob_secret("", 0);
	assert_int_equal(kc_item_data_encode(item.label, item.iv, &none,
	    &secret, &out), CK_LOCKED);
	assert_int_equal(kc_item_data_encode(item.label, item.iv, &none,
	    &empty, &out), CK_LOCKED);
	assert_int_equal(kc_item_data_encode(item.label, item.iv, &item.key,
	    &none, &out), CK_LOCKED);
	item.key.n--;
	assert_int_equal(kc_item_data_encode(item.label, item.iv, &item.key,
	    &secret, &out), CK_DAMAGED);
	item.key.n++;
	item.label[0] = 'S';
	assert_int_equal(kc_item_data_encode(item.label, item.iv, &item.key,
	    &secret, &out), CK_REFUSED);
	assert_int_equal(out.n, 0);
	item.label[0] = 's';
	assert_int_equal(kc_item_data_encode(item.label, item.iv, &item.key,
	    &secret, &out), CK_OK);
	assert_int_equal(kc_item_data_open(ck_buf_view(&out), &none, &got),
	    CK_LOCKED);
	item.key.n--;
	assert_int_equal(kc_item_data_open(ck_buf_view(&out), &item.key,
	    &got), CK_DAMAGED);
	assert_null(got.p);
	ck_buf_free(&out);
	ck_secret_wipe(&empty);
	ck_secret_wipe(&secret);
	ck_secret_wipe(&item.key);
}

static void
label_is_told_only_of_item_data(void **state)
{
	static const uint8_t data[29] = "ssgp0123456789abcdef";
	struct ck_span label = { data, 1 };

	(void)state;
	assert_false(kc_item_data_label((struct ck_span){ data, 27 },
	    &label));
	assert_false(kc_item_data_label((struct ck_span){ data + 1, 28 },
	    &label));
	assert_false(kc_item_data_label((struct ck_span){ NULL, 0 },
	    &label));
	assert_int_equal(label.n, 1);
	assert_true(kc_item_data_label((struct ck_span){ data, 28 },
	    &label));
	assert_int_equal(label.n, KC_LABEL_BYTES);
	assert_ptr_equal(label.p, data);
}

/* The ordinary value was computed elsewhere.  Where the text is cut means
 * nothing to it, and the variant of version 0x100 gives another one. */
static void
mac_variants_differ_on_two_chunks(void **state)
{
	static const char text[] = "what do ya want for nothing?";
	struct ck_secret sign = help_range(0x20, KC_SIGN_BYTES);
	struct ck_span a = { (const uint8_t *)text, 10 };
	struct ck_span b = { (const uint8_t *)text + 10, sizeof(text) - 11 };
	struct ck_span all = { (const uint8_t *)text, sizeof(text) - 1 };
	struct ck_span none = { (const uint8_t *)text, 0 };
	uint8_t one[20], two[20], old[20], want[20];

	(void)state;
	help_hex("1ca9205e51891976241783ba133a28b31c78b02b", want, 20);
	assert_int_equal(kc_mac(KC_BLOB_V200, &sign, all, none, one), CK_OK);
	assert_int_equal(kc_mac(KC_BLOB_V101, &sign, a, b, two), CK_OK);
	assert_int_equal(kc_mac(KC_BLOB_V100, &sign, a, b, old), CK_OK);
	assert_memory_equal(one, two, 20);
	assert_memory_equal(one, want, 20);
	assert_memory_not_equal(one, old, 20);
	sign.n--;
	memset(one, 7, sizeof(one));
	assert_int_equal(kc_mac(KC_BLOB_V100, &sign, a, b, one), CK_DAMAGED);
	assert_int_equal(one[0], 7);
	ck_secret_wipe(&sign);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example_is_encoded_to_the_byte),
		cmocka_unit_test(
		    every_item_of_the_vectors_opens_and_is_encoded_identically),
		cmocka_unit_test(empty_secret_has_28_bytes_and_both_forms_open),
		cmocka_unit_test(secrets_of_any_bytes_and_sizes_come_back),
		cmocka_unit_test(data_of_a_bad_length_is_damaged),
		cmocka_unit_test(bad_padding_is_damaged),
		cmocka_unit_test(padding_longer_than_a_block_is_damaged),
		cmocka_unit_test(
		    item_key_missing_or_of_another_size_leaves_outputs),
		cmocka_unit_test(label_is_told_only_of_item_data),
		cmocka_unit_test(mac_variants_differ_on_two_chunks),
	};

	return cmocka_run_group_tests(tests, help_heap, NULL);
}
