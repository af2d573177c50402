/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes, HMAC and PBKDF2: published vectors, and libcrypto's other interface
 * for every length around the edges of a block. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "base/hash.h"

#define EDGE 200        /* three blocks and some */

static struct ck_span
text(const char *s)
{
	return CK_SPAN_TEXT(s);
}

static void
assert_hex(const uint8_t *got, const char *hex)
{
	uint8_t want[64];
	size_t n = strlen(hex) / 2;

	assert_int_equal(ck_hex_decode(hex, want, n), CK_OK);
	assert_memory_equal(got, want, n);
}

/* FIPS 180-4, the examples of NIST. */
static void
published_digests(void **state)
{
	const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmno"
	    "mnopnopq";
	uint8_t md[CK_SHA256_BYTES];

	(void)state;
	ck_hash(CK_SHA1, text("abc"), md);
	assert_hex(md, "a9993e364706816aba3e25717850c26c9cd0d89d");
	ck_hash(CK_SHA1, text(two), md);
	assert_hex(md, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
	ck_hash(CK_SHA1, text(""), md);
	assert_hex(md, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
	ck_hash(CK_SHA256, text("abc"), md);
	assert_hex(md, "ba7816bf8f01cfea414140de5dae2223"
	    "b00361a396177a9cb410ff61f20015ad");
	ck_hash(CK_SHA256, text(two), md);
	assert_hex(md, "248d6a61d20638b8e5c026930c3e6039"
	    "a33ce45964ff2167f6ecedd419db06c1");
}

/* RFC 2202 and RFC 4231, case 2 and the key that is longer than a block. */
static void
published_macs(void **state)
{
	const char *what = "what do ya want for nothing?";
	uint8_t mac[CK_SHA256_BYTES], key[131];

	(void)state;
	memset(key, 0xaa, sizeof(key));
	assert_int_equal(ck_hmac(CK_SHA1, text("Jefe"), what, strlen(what),
	    mac), CK_OK);
	assert_hex(mac, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
	assert_int_equal(ck_hmac(CK_SHA256, text("Jefe"), what, strlen(what),
	    mac), CK_OK);
	assert_hex(mac, "5bdcc146bf60754e6a042426089575c7"
	    "5a003f089d2739839dec58b964ec3843");
	what = "Test Using Larger Than Block-Size Key - Hash Key First";
	assert_int_equal(ck_hmac(CK_SHA1, (struct ck_span){ key, 80 }, what,
	    strlen(what), mac), CK_OK);
	assert_hex(mac, "aa4ae5e15272d00e95705637ce8a3b55ed402112");
	assert_int_equal(ck_hmac(CK_SHA256, (struct ck_span){ key, 131 }, what,
	    strlen(what), mac), CK_OK);
	assert_hex(mac, "60e431591ee0b67f0d8a26aacbf5b77f"
	    "8e0bc6213728c5140546040f0ee37f54");
}

/* RFC 6070. */
static void
published_keys(void **state)
{
	static const struct {
		const char *password, *salt;
		unsigned int rounds;
		const char *hex;
	} vector[] = {
		{ "password", "salt", 1,
		    "0c60c80f961f0e71f3a9b524af6012062fe037a6" },
		{ "password", "salt", 2,
		    "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957" },
		{ "password", "salt", 4096,
		    "4b007901b765489abead49d926f721d065a429c1" },
		{ "passwordPASSWORDpassword",
		    "saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096,
		    "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(vector) / sizeof(vector[0]); i++) {
		struct ck_secret key = CK_SECRET_INIT;

		assert_int_equal(ck_pbkdf2_sha1(text(vector[i].password),
		    text(vector[i].salt), vector[i].rounds,
		    strlen(vector[i].hex) / 2, &key), CK_OK);
		assert_hex(key.p, vector[i].hex);
		ck_secret_wipe(&key);
	}
}

static void
same_as_evp(enum ck_hash kind, const EVP_MD *md, const uint8_t *p, size_t n)
{
	uint8_t ours[CK_SHA256_BYTES], theirs[EVP_MAX_MD_SIZE];
	const struct ck_span in = { p, n };
	const struct ck_span parts[] = { { p, n / 3 },
	    { p + n / 3, n - n / 3 } };
	size_t size = (size_t)EVP_MD_get_size(md);

	assert_int_equal(EVP_Digest(p, n, theirs, NULL, md, NULL), 1);
	ck_hash(kind, in, ours);
	assert_memory_equal(ours, theirs, size);
	memset(ours, 0, sizeof(ours));
	assert_int_equal(ck_hash_secret(kind, parts, 2, ours), CK_OK);
	assert_memory_equal(ours, theirs, size);
	assert_non_null(HMAC(md, p, (int)n, p, n, theirs, NULL));
	assert_int_equal(ck_hmac(kind, in, p, n, ours), CK_OK);
	assert_memory_equal(ours, theirs, size);
}

static void
every_length_is_as_evp_has_it(void **state)
{
	uint8_t bytes[EDGE];

	(void)state;
	assert_int_equal(RAND_bytes(bytes, sizeof(bytes)), 1);
	for (size_t n = 0; n <= EDGE; n++) {
		same_as_evp(CK_SHA1, EVP_sha1(), bytes, n);
		same_as_evp(CK_SHA256, EVP_sha256(), bytes, n);
	}
}

static void
every_key_is_as_pkcs5_has_it(void **state)
{
	uint8_t bytes[EDGE], theirs[EDGE];

	(void)state;
	assert_int_equal(RAND_bytes(bytes, sizeof(bytes)), 1);
	for (size_t n = 1; n <= EDGE; n += 7) {
		struct ck_secret key = CK_SECRET_INIT;

		assert_int_equal(PKCS5_PBKDF2_HMAC((const char *)bytes,
		    (int)n, bytes, (int)(EDGE - n), 3, EVP_sha1(), (int)n,
		    theirs), 1);
		assert_int_equal(ck_pbkdf2_sha1((struct ck_span){ bytes, n },
		    (struct ck_span){ bytes, EDGE - n }, 3, n, &key), CK_OK);
		assert_int_equal(key.n, n);
		assert_memory_equal(key.p, theirs, n);
		ck_secret_wipe(&key);
	}
}

static void
a_mac_starts_anew_under_its_key(void **state)
{
	uint8_t first[CK_SHA256_BYTES], again[CK_SHA256_BYTES];
	struct ck_hmac *h = NULL;

	(void)state;
	assert_int_equal(ck_hmac_new(CK_SHA256, text("key"), &h), CK_OK);
	ck_hmac_add(h, "one", 3);
	ck_hmac_end(h, first);
	ck_hmac_add(h, "two", 3);
	ck_hmac_end(h, again);
	assert_memory_not_equal(first, again, sizeof(first));
	ck_hmac_add(h, "o", 1);
	ck_hmac_add(h, "", 0);
	ck_hmac_add(h, "ne", 2);
	ck_hmac_end(h, again);
	assert_memory_equal(first, again, sizeof(first));
	ck_hmac_free(&h);
	assert_null(h);
	ck_hmac_free(&h);
}

static void
nothing_wanted_or_no_rounds_is_refused(void **state)
{
	struct ck_secret key = CK_SECRET_INIT;

	(void)state;
	assert_int_equal(ck_pbkdf2_sha1(text("p"), text("s"), 0, 20, &key),
	    CK_USAGE);
	assert_int_equal(ck_pbkdf2_sha1(text("p"), text("s"), 1, 0, &key),
	    CK_USAGE);
	assert_null(key.p);
}

/* There is no other memory to fall back to. */
static void
full_secure_memory_is_no_memory(void **state)
{
	struct ck_secret rest[64], key = CK_SECRET_INIT;
	uint8_t mac[CK_SHA256_BYTES] = { 7 };
	struct ck_hmac *h = NULL;
	size_t n = 0;

	(void)state;
	for (size_t size = (size_t)1 << 20; size >= 16 && n < 64; size /= 2)
		for (rest[n] = (struct ck_secret)CK_SECRET_INIT; n < 63 &&
		    ck_secret_alloc(size, &rest[n]) == CK_OK; )
			rest[++n] = (struct ck_secret)CK_SECRET_INIT;
	assert_int_equal(ck_hmac_new(CK_SHA1, text("k"), &h), CK_NOMEM);
	assert_null(h);
	assert_int_equal(ck_hmac(CK_SHA1, text("k"), "x", 1, mac), CK_NOMEM);
	assert_int_equal(ck_hash_secret(CK_SHA1, NULL, 0, mac), CK_NOMEM);
	assert_int_equal(mac[0], 7);
	assert_int_equal(ck_pbkdf2_sha1(text("p"), text("s"), 1, 20, &key),
	    CK_NOMEM);
	assert_null(key.p);
	while (n > 0)
		ck_secret_wipe(&rest[--n]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_digests),
		cmocka_unit_test(published_macs),
		cmocka_unit_test(published_keys),
		cmocka_unit_test(every_length_is_as_evp_has_it),
		cmocka_unit_test(every_key_is_as_pkcs5_has_it),
		cmocka_unit_test(a_mac_starts_anew_under_its_key),
		cmocka_unit_test(nothing_wanted_or_no_rounds_is_refused),
		cmocka_unit_test(full_secure_memory_is_no_memory),
	};

	if (ck_secret_heap_init((size_t)1 << 16, NULL) != CK_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
