/* SPDX-License-Identifier: Apache-2.0 */
/* ACL blobs: built to the byte, read from real files, bounded. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "help_blob.h"
#include "keychain/acl.h"
#include "keychain/acl_wire.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
put(struct ck_buf *b, const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ck_buf_u32(b, words[i]);
}
#define PUT(b, ...) put(b, (const uint32_t[]){ __VA_ARGS__ },                \
    sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static struct kc_acl_info
inspect(const struct ck_buf *b)
{
	/* A block of exactly that size, so that a read past it is seen. */
	uint8_t *copy = malloc(b->n == 0 ? 1 : b->n);
	struct kc_acl_info info;

	assert_non_null(copy);
	if (b->n > 0)
		memcpy(copy, b->p, b->n);
	kc_acl_inspect((struct ck_span){ copy, b->n }, &info);
	free(copy);
	/* Spans that would dangle. */
	info.description.p = NULL;
	info.partitions.p = NULL;
	return info;
}

/* Entry 0 (owner any), then one entry with subject and every right. */
static void
check_subject(const uint32_t *words, size_t n, bool understood,
    enum kc_access access)
{
	struct ck_buf b = CK_BUF_INIT;
	struct kc_acl_info info;

	PUT(&b, 0, ACL_ANY, 1, 0);
	put(&b, words, n);
	PUT(&b, 0, ACL_EVERY);
	info = inspect(&b);
	assert_int_equal(info.understood, understood);
	assert_int_equal(info.access, access);
	ck_buf_free(&b);
}
#define SUBJECT(understood, access, ...)                                     \
	check_subject((const uint32_t[]){ __VA_ARGS__ },                     \
	    sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t),    \
	    understood, access)

static void
open_acl_has_its_28_bytes(void **state)
{
	struct ck_buf b = CK_BUF_INIT;
	struct kc_acl_info info;
	uint8_t want[28];

	(void)state;
	help_hex("00000000000000010000000100000000000000010000000001000000",
	    want, sizeof(want));
	kc_acl_open(&b);
	assert_int_equal(b.n, sizeof(want));
	assert_memory_equal(b.p, want, sizeof(want));
	info = inspect(&b);
	assert_true(info.understood);
	assert_int_equal(info.access, KC_ACCESS_ANY);
	assert_int_equal(info.entries, 1);
	ck_buf_free(&b);
}

static void
any_application_acl_has_its_148_bytes(void **state)
{
	static const char text[] =
	    "000000000000007b0000000100000001010100000101000073766300"
	    "00000002"
	    "000000000000007b000000020000000100000001010100000101000073766300"
	    "00000000000000000000000100000023"
	    "000000000000007b000000020000000100000001010100000101000073766300"
	    "0000000000000000"
	    "00000006000000180000001c00000025000000260000003b00000073";
	struct ck_buf b = CK_BUF_INIT;
	uint8_t want[148];

	(void)state;
	help_hex(text, want, sizeof(want));
	/* Behind one byte: alignment counts from the ACL's own start. */
	ck_buf_text(&b, "x");
	assert_int_equal(kc_acl_item(CK_SPAN_TEXT("svc"), KC_ACCESS_ANY, NULL,
	    0, NULL, NULL, 0, &b), CK_OK);
	assert_int_equal(b.n, 1 + sizeof(want));
	assert_memory_equal(b.p + 1, want, sizeof(want));
	ck_buf_free(&b);
}

/* Compare with a real ACL.  In ours, padding follows each occurrence of the
 * description, and from the second on the empty tag; it is left out. */
static void
equal_but_for_padding(const struct ck_buf *ours, struct ck_span real,
    const char *description, size_t trailing)
{
	size_t n = strlen(description), seen = 0, at;
	uint8_t *mask = calloc(1, ours->n);

	assert_non_null(mask);
	assert_int_equal(ours->n + trailing, real.n);
	for (size_t i = 0; i + n < ours->n; i++) {
		if (memcmp(ours->p + i, description, n) != 0)
			continue;
		for (at = i + n + 1; at % 4 != 0; at++)
			mask[at] = 1;
		if (++seen > 1)
			mask[at + 1] = mask[at + 2] = mask[at + 3] = 1;
	}
	assert_int_equal(seen, 3);
	for (size_t i = 0; i < ours->n; i++)
		if (!mask[i])
			assert_int_equal(ours->p[i], real.p[i]);
	free(mask);
}

static void
built_acls_equal_real_ones(void **state)
{
	static const char restricted[] = "test_service_restrictive_acl";
	static const char requirement[] =
	    "fade0c00000000300000000100000006000000020000001263"
	    "6f6d2e6170706c652e7365637572697479000000000003";
	struct kc_trusted security = { "/usr/bin/security", { 0 },
	    CK_SPAN_NONE };
	uint8_t blob[48];
	struct ck_buf b = CK_BUF_INIT;
	struct help_file f;

	(void)state;
	help_load(&help_vectors[1], &f);
	assert_int_equal(kc_acl_item(CK_SPAN_TEXT("test_service"),
	    KC_ACCESS_ANY, NULL, 0, NULL, NULL, 0, &b), CK_OK);
	equal_but_for_padding(&b, f.key[4].blob.public_acl, "test_service",
	    0);
	b.n = 0;
	assert_int_equal(kc_acl_item(CK_SPAN_TEXT(restricted),
	    KC_ACCESS_NONE, NULL, 0, NULL, NULL, 0, &b), CK_OK);
	equal_but_for_padding(&b, f.key[5].blob.public_acl, restricted, 0);
	b.n = 0;
	help_hex("9d01d267ccce6d38ee87c1cc32bbee47fa779bdf", security.hash,
	    20);
	help_hex(requirement, blob, sizeof(blob));
	security.requirement = (struct ck_span){ blob, sizeof(blob) };
	assert_int_equal(kc_acl_item(CK_SPAN_TEXT(restricted),
	    KC_ACCESS_TRUSTED, &security, 1, NULL, NULL, 0, &b), CK_OK);
	equal_but_for_padding(&b, f.key[7].blob.public_acl, restricted, 8);
	ck_buf_free(&b);
	help_free(&f);
}

static void
version_200_acl_equals_the_synthetic_one(void **state)
{
	static const char *const ids[] = { "apple-tool:", "apple:" };
	struct ck_buf b = CK_BUF_INIT;
	struct kc_acl_info info;
	struct help_file f;

	(void)state;
	help_load(&help_vectors[5], &f);
	kc_acl_inspect(f.key[0].blob.public_acl, &info);
	assert_true(info.understood);
	assert_true(info.has_digest);
	assert_int_equal(kc_acl_item(CK_SPAN_TEXT("svc"), KC_ACCESS_ANY, NULL,
	    0, info.digest, ids, 2, &b), CK_OK);
	assert_true(ck_span_equal(ck_buf_view(&b),
	    f.key[0].blob.public_acl));
	ck_buf_free(&b);
	help_free(&f);
}

/* The list of a real file, built again from its id. */
static void
partition_list_is_written_as_macos_does(void **state)
{
	static const char *const ids[] = {
		"cdhash:075adc04da287bae05713126b67afd330f7b3369"
	};
	static const char text[] =
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist "
	    "PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/"
	    "DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n"
	    "\t<key>Partitions</key>\n\t<array>\n\t\t<string>cdhash:075adc04"
	    "da287bae05713126b67afd330f7b3369</string>\n\t</array>\n</dict>\n"
	    "</plist>\n";
	uint8_t digest[KC_DIGEST_BYTES] = { 9 };
	struct kc_acl_info ours, real;
	struct ck_buf b = CK_BUF_INIT;
	struct help_file f;

	(void)state;
	help_load(&help_vectors[3], &f);
	assert_int_equal(kc_acl_item(CK_SPAN_TEXT("x"), KC_ACCESS_NONE, NULL,
	    0, digest, ids, 1, &b), CK_OK);
	kc_acl_inspect(ck_buf_view(&b), &ours);
	assert_true(ours.has_partitions);
	assert_true(ck_span_equal(ours.partitions, CK_SPAN_TEXT(text)));
	for (size_t k = 0; k < f.nkeys; k++) {
		kc_acl_inspect(f.key[k].blob.public_acl, &real);
		assert_true(real.has_partitions);
		assert_true(ck_span_equal(ours.partitions, real.partitions));
	}
	ck_buf_free(&b);
	help_free(&f);
}

/* What each ACL of the real files says, in file order. */
struct expected {
	size_t vector;
	enum kc_access access;
	size_t ntrusted;
	const char *first;           /* path of the first program */
	const char *description;     /* NULL: not compared */
};

#define SECTESTS "/Users/kmowery/Library/Developer/Xcode/DerivedData/"       \
	"Security-fkwwcnddijtngfaslvsedvgyzbou/Build/Products/Debug/sectests"
#define LOCAL "/Users/local/sectests"

static const struct expected expected[] = {
	{ 0, KC_ACCESS_ANY, 0, NULL, "" },
	{ 0, KC_ACCESS_TRUSTED, 1, SECTESTS, "<key>" },
	{ 0, KC_ACCESS_TRUSTED, 1, SECTESTS, "test_generic" },
	{ 0, KC_ACCESS_TRUSTED, 1, SECTESTS, "test_internet" },
	{ 0, KC_ACCESS_ANY, 0, NULL, "" },
	{ 1, KC_ACCESS_ANY, 0, NULL, "" },
	{ 1, KC_ACCESS_ANY, 0, NULL, "" },
	{ 1, KC_ACCESS_ANY, 0, NULL, "" },
	{ 1, KC_ACCESS_TRUSTED, 5,
	    "/System/Library/CoreServices/Certificate Assistant.app",
	    "test_codesigning" },
	{ 1, KC_ACCESS_ANY, 0, NULL, "test_service" },
	{ 1, KC_ACCESS_NONE, 0, NULL, "test_service_restrictive_acl" },
	{ 1, KC_ACCESS_ANY, 0, NULL, "test_service" },
	{ 1, KC_ACCESS_TRUSTED, 1, "/usr/bin/security",
	    "test_service_restrictive_acl" },
	{ 1, KC_ACCESS_NONE, 0, NULL, NULL },
	{ 1, KC_ACCESS_ANY, 0, NULL, NULL },
	{ 1, KC_ACCESS_TRUSTED, 1,
	    "/Applications/Utilities/Keychain Access.app",
	    "nobody@apple.com" },
	{ 3, KC_ACCESS_ANY, 0, NULL, "" },
	{ 3, KC_ACCESS_TRUSTED, 1, LOCAL, "<key>" },
	{ 3, KC_ACCESS_TRUSTED, 1, LOCAL, "test_generic" },
	{ 3, KC_ACCESS_TRUSTED, 1, LOCAL, "test_internet" },
	{ 3, KC_ACCESS_TRUSTED, 1, LOCAL, NULL }
};

static void
compare_with(const struct expected *e, struct ck_span acl)
{
	struct kc_acl_info info;

	kc_acl_inspect(acl, &info);
	assert_true(info.understood);
	assert_int_equal(info.access, e->access);
	assert_int_equal(info.ntrusted, e->ntrusted);
	if (e->first != NULL)
		assert_true(ck_span_equal(info.trusted[0],
		    CK_SPAN_TEXT(e->first)));
	if (e->description != NULL)
		assert_true(ck_span_equal(info.description,
		    CK_SPAN_TEXT(e->description)));
	assert_int_equal(info.has_digest, e->vector == 3);
	assert_int_equal(info.has_partitions, e->vector == 3);
}

static void
every_real_acl_is_understood(void **state)
{
	size_t row = 0;

	(void)state;
	for (size_t i = 0; i < HELP_REAL; i++) {
		struct kc_acl_info info;
		struct help_file f;

		help_load(&help_vectors[i], &f);
		for (size_t k = 0; k < f.nkeys; k++, row++) {
			assert_true(row < COUNT(expected));
			assert_int_equal(expected[row].vector, i);
			compare_with(&expected[row],
			    f.key[k].blob.public_acl);
		}
		kc_acl_inspect(f.db.public_acl, &info);
		assert_true(info.understood);
		assert_int_equal(info.access, KC_ACCESS_ANY);
		help_free(&f);
	}
	assert_int_equal(row, COUNT(expected));
}

static void
description_ends_at_a_nul(void **state)
{
	struct ck_buf a = CK_BUF_INIT, b = CK_BUF_INIT;
	static const uint8_t label[] = { 's', 'v', 'c', 0, 'x' };

	(void)state;
	assert_int_equal(kc_acl_item((struct ck_span){ label, 5 },
	    KC_ACCESS_ANY, NULL, 0, NULL, NULL, 0, &a), CK_OK);
	assert_int_equal(kc_acl_item(CK_SPAN_TEXT("svc"), KC_ACCESS_ANY, NULL,
	    0, NULL, NULL, 0, &b), CK_OK);
	assert_true(ck_span_equal(ck_buf_view(&a), ck_buf_view(&b)));
	ck_buf_free(&a);
	ck_buf_free(&b);
}

static void
built_acls_are_read_back(void **state)
{
	struct kc_trusted t[KC_ACL_TRUSTED_MAX];
	struct ck_buf b = CK_BUF_INIT;
	struct kc_acl_info info;

	(void)state;
	memset(t, 0, sizeof(t));
	for (size_t n = 1; n <= COUNT(t); n++) {
		t[n - 1].path = n % 2 == 0 ? "/bin/odd" : "/bin/even";
		b.n = 0;
		assert_int_equal(kc_acl_item(CK_SPAN_TEXT(""),
		    KC_ACCESS_TRUSTED, t, n, NULL, NULL, 0, &b), CK_OK);
		kc_acl_inspect(ck_buf_view(&b), &info);
		assert_true(info.understood);
		assert_int_equal(info.access, KC_ACCESS_TRUSTED);
		assert_int_equal(info.ntrusted, n);
		assert_true(ck_span_equal(info.trusted[n - 1],
		    CK_SPAN_TEXT(t[n - 1].path)));
	}
	ck_buf_free(&b);
}

static void
unusable_arguments_are_refused_and_output_unchanged(void **state)
{
	static const uint8_t digest[KC_DIGEST_BYTES] = { 1 };
	static const uint8_t code[] = { 0xfa, 0xde, 0x0c, 0, 0, 0, 0, 9 };
	static const char *const good[] = { "apple:" };
	static const char *const bad[] = { "a</string><string>b", "a&b", "",
	    "a b", "a\n", NULL };
	struct kc_trusted t = { "/bin/x", { 0 }, CK_SPAN_NONE };
	struct kc_trusted wrong[] = { { NULL, { 0 }, CK_SPAN_NONE },
	    { "", { 0 }, CK_SPAN_NONE }, { "/x", { 0 }, { code, 8 } },
	    { "/x", { 0 }, { code, 4 } } };
	struct ck_span d = CK_SPAN_TEXT("svc");
	struct ck_buf b = CK_BUF_INIT;

	(void)state;
#define REFUSED(...) assert_int_equal(kc_acl_item(d, __VA_ARGS__, &b),       \
	    CK_REFUSED)
	REFUSED(KC_ACCESS_UNKNOWN, NULL, 0, NULL, NULL, 0);
	REFUSED(KC_ACCESS_ANY, &t, 1, NULL, NULL, 0);
	REFUSED(KC_ACCESS_NONE, &t, 1, NULL, NULL, 0);
	REFUSED(KC_ACCESS_TRUSTED, &t, 0, NULL, NULL, 0);
	REFUSED(KC_ACCESS_TRUSTED, &t, KC_ACL_TRUSTED_MAX + 1, NULL, NULL, 0);
	for (size_t i = 0; i < COUNT(wrong); i++)
		REFUSED(KC_ACCESS_TRUSTED, &wrong[i], 1, NULL, NULL, 0);
	REFUSED(KC_ACCESS_ANY, NULL, 0, digest, NULL, 0);
	REFUSED(KC_ACCESS_ANY, NULL, 0, NULL, good, 1);
	REFUSED(KC_ACCESS_ANY, NULL, 0, digest, good,
	    KC_ACL_PARTITIONS_MAX + 1);
	for (size_t i = 0; i < COUNT(bad); i++)
		REFUSED(KC_ACCESS_ANY, NULL, 0, digest, &bad[i], 1);
	assert_int_equal(b.n, 0);
	assert_int_equal(kc_acl_item(d, KC_ACCESS_ANY, NULL, 0, digest, good,
	    1, &b), CK_OK);
	ck_buf_free(&b);
}

static void
subjects_are_named_by_what_they_allow(void **state)
{
	(void)state;
	SUBJECT(true, KC_ACCESS_ANY, 1);
	SUBJECT(true, KC_ACCESS_ANY, 0x7b, 1, 1, 1);
	/* A prompt alone, of both versions. */
	SUBJECT(true, KC_ACCESS_NONE, 0x01010000, 0x01010000, 0);
	SUBJECT(true, KC_ACCESS_NONE, 0x10000, 0);
	/* Both of two, and a threshold inside one, have no name. */
	SUBJECT(true, KC_ACCESS_UNKNOWN, 0x7b, 2, 2, 1, 1);
	SUBJECT(true, KC_ACCESS_UNKNOWN, 0x7b, 1, 1, 0x7b, 1, 1, 1);
	SUBJECT(true, KC_ACCESS_UNKNOWN, 0x10003, 0x01010001, 501, 20);
	SUBJECT(true, KC_ACCESS_UNKNOWN, 0x1000c, 4, 0);
}

static void
malformed_subjects_are_not_understood(void **state)
{
	(void)state;
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0);
	SUBJECT(false, KC_ACCESS_UNKNOWN, 12);
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0x4f, 0, 0);
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0x01000001);
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0x02010000, 0);
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0x02010000, 0x01010000, 0);
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0x7b, 1, 0, 1);
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0x7b, 1, 2, 1);
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0x7b, 0, 0);
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0x7b, 0xffffffff, 1, 1);
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0x1000c, 0xffffffff, 0);
	/* Code: wrong word, hash of 4 bytes, bag without a NUL. */
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0x74, 2, 20, 0, 0, 0, 0, 0, 4, 0);
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0x74, 1, 4, 0, 4, 0);
	SUBJECT(false, KC_ACCESS_UNKNOWN, 0x74, 1, 20, 0, 0, 0, 0, 0, 4,
	    0x41414141);
	SUBJECT(true, KC_ACCESS_TRUSTED, 0x74, 1, 20, 0, 0, 0, 0, 0, 4,
	    0x41414100);
}

/* levels thresholds around "any". */
static struct kc_acl_info
nested(size_t levels)
{
	struct ck_buf b = CK_BUF_INIT;
	struct kc_acl_info info;

	PUT(&b, 0, ACL_ANY, 1, 0);
	for (size_t i = 0; i < levels; i++)
		PUT(&b, ACL_THRESHOLD, 1, 1);
	PUT(&b, ACL_ANY, 0, ACL_EVERY);
	info = inspect(&b);
	ck_buf_free(&b);
	return info;
}

static void
deep_nesting_is_not_understood(void **state)
{
	(void)state;
	assert_true(nested(8).understood);
	assert_false(nested(9).understood);
	assert_false(nested(100000).understood);
}

/* One threshold with n times "any". */
static struct kc_acl_info
wide(size_t n)
{
	struct ck_buf b = CK_BUF_INIT;
	struct kc_acl_info info;

	PUT(&b, 0, ACL_ANY, 1, 0, ACL_THRESHOLD, (uint32_t)n, 1);
	for (size_t i = 0; i < n; i++)
		PUT(&b, ACL_ANY);
	PUT(&b, 0, ACL_EVERY);
	info = inspect(&b);
	ck_buf_free(&b);
	return info;
}

static void
too_many_subjects_are_not_understood(void **state)
{
	(void)state;
	assert_true(wide(4094).understood);
	assert_false(wide(4095).understood);
}

static void
more_programs_than_can_be_told_are_not_understood(void **state)
{
	struct ck_buf b = CK_BUF_INIT;

	(void)state;
	PUT(&b, 0, ACL_ANY, 1, 0, ACL_THRESHOLD, KC_ACL_TRUSTED_MAX + 1, 1);
	for (size_t i = 0; i <= KC_ACL_TRUSTED_MAX; i++)
		PUT(&b, ACL_CODE, 1, 20, 0, 0, 0, 0, 0, 4, 0x41414100);
	PUT(&b, 0, ACL_EVERY);
	assert_false(inspect(&b).understood);
	assert_int_equal(inspect(&b).ntrusted, 0);
	ck_buf_free(&b);
}

static void
two_decrypt_entries_have_no_common_access(void **state)
{
	struct ck_buf b = CK_BUF_INIT;
	struct kc_acl_info info;

	(void)state;
	PUT(&b, 0, ACL_ANY, 2, 0, ACL_ANY, 0, ACL_EVERY,
	    0, 0x10000, 0, 0, 0, 1, ACL_DECRYPT);
	info = inspect(&b);
	assert_true(info.understood);
	assert_int_equal(info.entries, 2);
	assert_int_equal(info.access, KC_ACCESS_UNKNOWN);
	ck_buf_free(&b);
	/* And none at all is not "any" either. */
	PUT(&b, 0, ACL_ANY, 1, 0, ACL_ANY, 0, 0, 1, ACL_ENCRYPT);
	info = inspect(&b);
	assert_true(info.understood);
	assert_int_equal(info.access, KC_ACCESS_UNKNOWN);
	ck_buf_free(&b);
}

/* macOS denies access then; there is no first among equals. */
static void
two_partition_lists_are_not_understood(void **state)
{
	struct ck_buf b = CK_BUF_INIT;

	(void)state;
	for (uint32_t n = 1; n <= 2; n++) {
		b.n = 0;
		PUT(&b, 0, ACL_ANY, n);
		for (uint32_t i = 0; i < n; i++) {
			PUT(&b, 0, ACL_PAYLOAD, 4, 0);
			ck_buf_text(&b, ACL_PARTITION_TAG);
			ck_buf_zeros(&b, 1);
			PUT(&b, 0, 1, ACL_PARTITION_ID);
		}
		assert_int_equal(inspect(&b).understood, n == 1);
		assert_int_equal(inspect(&b).has_partitions, n == 1);
	}
	ck_buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_acl_has_its_28_bytes),
		cmocka_unit_test(any_application_acl_has_its_148_bytes),
		cmocka_unit_test(built_acls_equal_real_ones),
		cmocka_unit_test(version_200_acl_equals_the_synthetic_one),
		cmocka_unit_test(partition_list_is_written_as_macos_does),
		cmocka_unit_test(every_real_acl_is_understood),
		cmocka_unit_test(description_ends_at_a_nul),
		cmocka_unit_test(built_acls_are_read_back),
		cmocka_unit_test(
		    unusable_arguments_are_refused_and_output_unchanged),
		cmocka_unit_test(subjects_are_named_by_what_they_allow),
		cmocka_unit_test(malformed_subjects_are_not_understood),
		cmocka_unit_test(deep_nesting_is_not_understood),
		cmocka_unit_test(too_many_subjects_are_not_understood),
		cmocka_unit_test(
		    more_programs_than_can_be_told_are_not_understood),
		cmocka_unit_test(two_decrypt_entries_have_no_common_access),
		cmocka_unit_test(two_partition_lists_are_not_understood),
	};

	return cmocka_run_group_tests(tests, help_heap, NULL);
}
