/* SPDX-License-Identifier: Apache-2.0 */
/* The attribute digest, and exchanging it inside ACLs. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "help_blob.h"
#include "keychain/acl.h"
#include "keychain/acl_wire.h"

static void
set(struct kc_value *v, const struct kc_relation *rel, uint32_t attr,
    const char *text)
{
	for (size_t i = 0; i < rel->nattrs; i++)
		if (rel->attrs[i].id == attr)
			v[i] = (struct kc_value){ true, 0,
			    CK_SPAN_TEXT(text) };
}

/* The item of section 15.2 with other texts; NULL leaves one out. */
static void
generic_digest(const char *comment, const char *label, const char *account,
    uint8_t ret[KC_DIGEST_BYTES])
{
	struct kc_value v[16] = { { false, 0, CK_SPAN_NONE } };

	/* Dates take no part, whatever they are. */
	set(v, &help_generic, KC_ATTR_CREATED, "20240102030405Z");
	set(v, &help_generic, KC_ATTR_MODIFIED, label);
	if (comment != NULL)
		set(v, &help_generic, KC_ATTR_COMMENT, comment);
	set(v, &help_generic, KC_ATTR_LABEL, label);
	set(v, &help_generic, KC_ATTR_ACCOUNT, account);
	set(v, &help_generic, KC_ATTR_SERVICE, "test_service");
	assert_int_equal(kc_attr_digest(&help_generic, v, ret), CK_OK);
}

/* Compare first and last bytes with the hex texts. */
static void
check_ends(const uint8_t digest[KC_DIGEST_BYTES], const char *first,
    const char *last)
{
	uint8_t want[KC_DIGEST_BYTES];
	size_t a = strlen(first) / 2, b = strlen(last) / 2;

	help_hex(first, want, a);
	assert_memory_equal(digest, want, a);
	help_hex(last, want, b);
	assert_memory_equal(digest + KC_DIGEST_BYTES - b, want, b);
}

static void
example_and_regression_constants_are_met(void **state)
{
	uint8_t d[KC_DIGEST_BYTES];

	(void)state;
	generic_digest("a comment", "test_generic", "test_account", d);
	check_ends(d, "6ba8d9f77ddba54d9373b11ae5c8f7b5"
	    "5a5e81da27e05e86723eeceb0a9a8e0c", "");
	generic_digest("a comment", "test_label", "test_account", d);
	check_ends(d, "265438ea", "3ffce4");
	generic_digest("a comment", "evil_application", "test_account", d);
	check_ends(d, "d2aa97b3", "27f8cc");
	generic_digest("a modification", "a label modification",
	    "a account modification", d);
	check_ends(d, "7b7be2fd", "80b8c9f5");
}

static void
empty_value_differs_from_none(void **state)
{
	uint8_t a[KC_DIGEST_BYTES], b[KC_DIGEST_BYTES];

	(void)state;
	generic_digest("", "test_label", "test_account", a);
	generic_digest(NULL, "test_label", "test_account", b);
	assert_memory_not_equal(a, b, sizeof(a));
}

/* SHA-256 of 31 00. */
static void
record_without_attributes_has_a_digest(void **state)
{
	struct kc_relation rel = { 0, CK_SPAN_NONE, NULL, 0 };
	uint8_t d[KC_DIGEST_BYTES];

	(void)state;
	assert_int_equal(kc_attr_digest(&rel, NULL, d), CK_OK);
	check_ends(d, "e79e418e48623569d75e2a7b09ae88ed"
	    "9b77b126a445b9ff9dc6989a08efa079", "");
}

/* Lengths of one, two, three and four bytes; words of both signs; formats
 * that are left out.  The digests were computed elsewhere. */
static void
long_values_and_words_are_encoded_minimally(void **state)
{
	static const struct kc_attr attrs[] = {
		{ 0x61626364, 2, KC_BLOB, CK_SPAN_NONE },
		{ 0x65666768, 2, KC_SINT32, CK_SPAN_NONE },
		{ 0x696a6b6c, 2, KC_REAL, CK_SPAN_NONE },
		{ 0x6d6e6f70, 2, KC_MULTI, CK_SPAN_NONE },
		{ 0x71727374, 2, KC_BIGNUM, CK_SPAN_NONE }
	};
	static const struct { size_t n; const char *want; } rows[] = {
		{ 0, "308cd4c6b4cb87277ecc9716764da8f6"
		    "539606c3574835c1a36cf542ec036275" },
		{ 113, "522874cd422e400fe7790927e6d75185"
		    "98a3d4b2311ae9d147251de37a66a82d" },
		{ 114, "0680d19415cfbb7b35a955334a0fc501"
		    "89763637b22512457b8a5bc17a6c6b6c" },
		{ 127, "6b60037765848cfd76adc6d31012eed0"
		    "ce7a6f83c4f9f4b6d5321c9a0fd2fbef" },
		{ 128, "5cc8beaead042eccf16c5e771ecfe3d6"
		    "d961f8deb271891550397b48daabc24d" },
		{ 239, "af1e172347d5574ff11eedefc9b8c6ad"
		    "165d4a09470f013c53ec6a8411232f92" },
		{ 240, "5ea0e71f7999ee3304e0df277615de3e"
		    "b08c780f3e01874d8bf1076380d121d4" },
		{ 255, "9fd77bbd13d677cc1e38d457ab1d292a"
		    "571c8077eb9d6cad6aa123e19abf888c" },
		{ 256, "45c9e73a8686588b2718f638d334b980"
		    "b03f1b463f05f7b45fcd2a84c449489d" },
		{ 65535, "ba2dbe53546cf06b355cac58bfbef972"
		    "d272e53bb531ce250faaa329eb5c13db" },
		{ 65536, "cffdbfc3366f5b53044773fbd7b1d783"
		    "e993a467bbe7ff42853cd327106ce4f1" },
		{ 70000, "94ef82f70cb07c6cf3179acbfbba9d2a"
		    "d796c3dff8325b13d38a6f4218e9f385" }
	};
	struct kc_relation rel = { 0, CK_SPAN_NONE, attrs, 5 };
	struct kc_value v[5] = { { true, 0, CK_SPAN_NONE } };
	uint8_t d[KC_DIGEST_BYTES], *p = calloc(1, 70000);

	(void)state;
	assert_non_null(p);
	for (size_t i = 0; i < 70000; i++)
		p[i] = (uint8_t)(i * 7);
	for (size_t i = 1; i < 5; i++)
		v[i] = (struct kc_value){ true, 0xfffffffe, { p, 8 } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		v[0].bytes = (struct ck_span){ p, rows[i].n };
		assert_int_equal(kc_attr_digest(&rel, v, d), CK_OK);
		check_ends(d, rows[i].want, "");
	}
	free(p);
}

/* The five digests that macOS wrote: two of items, three of keys. */
static void
real_digests_are_computed_again(void **state)
{
	struct help_file f;
	size_t items = 0, keys = 0;

	(void)state;
	help_load(&help_vectors[3], &f);
	for (size_t k = 0; k < f.nkeys; k++) {
		const struct kc_relation *rel = NULL;
		struct kc_value v[27];
		struct kc_acl_info info;
		uint8_t d[KC_DIGEST_BYTES];
		size_t at = 0;

		if (help_item_of(&f, &f.key[k], &at, &rel).n > 0) {
			items++;
		} else {
			rel = &help_key_relation;
			at = f.key[k].at;
			keys++;
		}
		help_values(&f, at, rel, v);
		assert_int_equal(kc_attr_digest(rel, v, d), CK_OK);
		kc_acl_inspect(f.key[k].blob.public_acl, &info);
		assert_true(info.has_digest);
		assert_memory_equal(d, info.digest, sizeof(d));
	}
	assert_int_equal(items, 2);
	assert_int_equal(keys, 3);
	help_free(&f);
}

/* Garbage in the padding and trailing bytes stay; only the digest moves. */
static void
set_digest_keeps_every_other_byte(void **state)
{
	static const uint8_t fresh[KC_DIGEST_BYTES] = { 0xaa, 0xbb };
	size_t with = 0, without = 0;

	(void)state;
	for (size_t i = 0; i < HELP_VECTORS; i++) {
		struct help_file f;

		help_load(&help_vectors[i], &f);
		for (size_t k = 0; k < f.nkeys; k++) {
			struct ck_span acl = f.key[k].blob.public_acl;
			struct kc_acl_info old, now;
			struct ck_buf b = CK_BUF_INIT;
			size_t differ = 0;

			kc_acl_inspect(acl, &old);
			assert_int_equal(kc_acl_set_digest(acl, fresh, &b),
			    CK_OK);
			assert_int_equal(b.n, acl.n);
			kc_acl_inspect(ck_buf_view(&b), &now);
			assert_int_equal(now.has_digest, old.has_digest);
			if (old.has_digest) {
				assert_memory_equal(now.digest, fresh, 32);
				with++;
			} else
				without++;
			for (size_t j = 0; j < b.n; j++)
				differ += b.p[j] != acl.p[j];
			assert_true(differ <= (old.has_digest ? 32 : 0));
			b.n = 0;
			assert_int_equal(kc_acl_set_digest(acl, old.digest,
			    &b), CK_OK);
			assert_true(ck_span_equal(ck_buf_view(&b), acl));
			ck_buf_free(&b);
		}
		help_free(&f);
	}
	assert_int_equal(with, 6);
	assert_int_equal(without, 17);
}

static void
put_digest(struct ck_buf *b, size_t n)
{
	ck_buf_u32(b, 0);
	ck_buf_u32(b, ACL_PAYLOAD);
	ck_buf_u32(b, (uint32_t)n);
	ck_buf_zeros(b, n);
	ck_buf_align4(b);
	ck_buf_text(b, ACL_INTEGRITY_TAG);
	ck_buf_zeros(b, 1);
	ck_buf_u32(b, 0);
	ck_buf_u32(b, 1);
	ck_buf_u32(b, ACL_INTEGRITY);
}

static void
put_head(struct ck_buf *b, uint32_t entries)
{
	b->n = 0;
	ck_buf_u32(b, 0);
	ck_buf_u32(b, ACL_ANY);
	ck_buf_u32(b, entries);
}

static void
refused(const struct ck_buf *acl)
{
	static const uint8_t fresh[KC_DIGEST_BYTES] = { 0xaa };
	struct ck_buf out = CK_BUF_INIT;
	struct kc_acl_info info;

	ck_buf_text(&out, "before");
	assert_int_equal(kc_acl_set_digest(ck_buf_view(acl), fresh, &out),
	    CK_UNSUPPORTED);
	assert_int_equal(out.n, 6);
	assert_false(out.failed);
	ck_buf_free(&out);
	kc_acl_inspect(ck_buf_view(acl), &info);
	assert_false(info.understood);
	assert_int_equal(info.access, KC_ACCESS_UNKNOWN);
	assert_false(info.has_digest);
}

static void
unclear_acl_is_unsupported_and_output_unchanged(void **state)
{
	struct ck_buf b = CK_BUF_INIT;

	(void)state;
	refused(&b);                       /* empty */
	put_head(&b, 2);                   /* two digests */
	put_digest(&b, 32);
	put_digest(&b, 32);
	refused(&b);
	put_head(&b, 1);                   /* a digest of another size */
	put_digest(&b, 31);
	refused(&b);
	put_head(&b, 2);                   /* an unknown subject in front */
	ck_buf_u32(&b, 0);
	ck_buf_u32(&b, 0x4f);
	put_digest(&b, 32);
	refused(&b);
	put_head(&b, 1);                   /* an entry too few */
	refused(&b);
	ck_buf_free(&b);
}

/* The entry is known; what comes after it need not be. */
static void
set_digest_needs_nothing_behind_the_entry(void **state)
{
	static const uint8_t fresh[KC_DIGEST_BYTES] = { 0xaa };
	struct ck_buf b = CK_BUF_INIT, out = CK_BUF_INIT;
	struct kc_acl_info info;

	(void)state;
	put_head(&b, 2);
	put_digest(&b, 32);
	ck_buf_u32(&b, 0);
	ck_buf_u32(&b, 0x4f);
	ck_buf_text(&b, "anything");
	assert_int_equal(kc_acl_set_digest(ck_buf_view(&b), fresh, &out),
	    CK_OK);
	assert_int_equal(out.n, b.n);
	assert_memory_equal(out.p, b.p, 24);
	assert_memory_equal(out.p + 24, fresh, 32);
	assert_memory_equal(out.p + 56, b.p + 56, b.n - 56);
	kc_acl_inspect(ck_buf_view(&out), &info);
	assert_false(info.understood);
	ck_buf_free(&out);
	ck_buf_free(&b);
}

/* A digest that is one of several subjects is not the record's. */
static void
digest_inside_a_threshold_is_none(void **state)
{
	struct ck_buf b = CK_BUF_INIT;
	struct kc_acl_info info;

	(void)state;
	put_head(&b, 1);
	ck_buf_u32(&b, 0);
	ck_buf_u32(&b, ACL_THRESHOLD);
	ck_buf_u32(&b, 1);
	ck_buf_u32(&b, 1);
	ck_buf_u32(&b, ACL_PAYLOAD);
	ck_buf_u32(&b, 32);
	ck_buf_zeros(&b, 32);
	ck_buf_text(&b, ACL_INTEGRITY_TAG);
	ck_buf_zeros(&b, 1);
	ck_buf_u32(&b, ACL_EVERY);
	kc_acl_inspect(ck_buf_view(&b), &info);
	assert_true(info.understood);
	assert_false(info.has_digest);
	ck_buf_free(&b);
}

/* Each byte set to values that make lengths, types and counts wild, and
 * every cut; in blocks of exact size, under the sanitizer. */
static void
mutate(struct ck_span acl)
{
	static const uint8_t values[] = { 0, 1, 2, 3, 0x20, 0x74, 0x7b, 0x7f,
	    0x80, 0xff };
	static const uint8_t fresh[KC_DIGEST_BYTES] = { 0xaa };
	struct kc_acl_info info;
	uint8_t *copy = malloc(acl.n);

	assert_non_null(copy);
	memcpy(copy, acl.p, acl.n);
	for (size_t i = 0; i < acl.n; i++) {
		for (size_t v = 0; v < sizeof(values); v++) {
			struct ck_span in = { copy, acl.n };
			struct ck_buf out = CK_BUF_INIT;

			copy[i] = values[v];
			kc_acl_inspect(in, &info);
			assert_true(info.ntrusted <= KC_ACL_TRUSTED_MAX);
			assert_true(info.understood ||
			    info.access == KC_ACCESS_UNKNOWN);
			if (kc_acl_set_digest(in, fresh, &out) == CK_OK)
				assert_int_equal(out.n, acl.n);
			else
				assert_int_equal(out.n, 0);
			ck_buf_free(&out);
		}
		copy[i] = acl.p[i];
	}
	free(copy);
	for (size_t n = 1; n < acl.n; n++) {
		copy = malloc(n);
		assert_non_null(copy);
		memcpy(copy, acl.p, n);
		kc_acl_inspect((struct ck_span){ copy, n }, &info);
		/* Real ones have up to 8 unused bytes a program. */
		if (n + 64 < acl.n)
			assert_false(info.understood);
		free(copy);
	}
}

static void
mutated_acls_are_survived(void **state)
{
	(void)state;
	for (size_t i = 0; i < HELP_VECTORS; i++) {
		struct help_file f;

		help_load(&help_vectors[i], &f);
		for (size_t k = 0; k < f.nkeys; k++)
			mutate(f.key[k].blob.public_acl);
		help_free(&f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example_and_regression_constants_are_met),
		cmocka_unit_test(empty_value_differs_from_none),
		cmocka_unit_test(record_without_attributes_has_a_digest),
		cmocka_unit_test(long_values_and_words_are_encoded_minimally),
		cmocka_unit_test(real_digests_are_computed_again),
		cmocka_unit_test(set_digest_keeps_every_other_byte),
		cmocka_unit_test(
		    unclear_acl_is_unsupported_and_output_unchanged),
		cmocka_unit_test(set_digest_needs_nothing_behind_the_entry),
		cmocka_unit_test(digest_inside_a_threshold_is_none),
		cmocka_unit_test(mutated_acls_are_survived),
	};

	return cmocka_run_group_tests(tests, help_heap, NULL);
}
