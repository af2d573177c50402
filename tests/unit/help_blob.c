/* SPDX-License-Identifier: Apache-2.0 */
/* Real files cut up by hand; see help_blob.h. */
#include "help_blob.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "base/io.h"
#include "base/path.h"

const struct help_vector help_vectors[HELP_VECTORS] = {
	{ "v100-genp-inet-keys.keychain", "password", 5, 2 },
	{ "v100-passwords-identities-certs.keychain", "password", 11, 5 },
	{ "v200-empty.keychain-db", "password", 0, 0 },
	{ "v200-genp-inet-keys.keychain-db", "password", 5, 2 },
	{ "synthetic/synthetic-v100-one-item.keychain", "example", 1, 1 },
	{ "synthetic/synthetic-v200-one-item.keychain-db", "example", 1, 1 }
};

#define COMMON                                                               \
	{ KC_ATTR_CREATED, 2, KC_DATE, CK_SPAN_NONE },                       \
	{ KC_ATTR_MODIFIED, 2, KC_DATE, CK_SPAN_NONE },                      \
	{ KC_ATTR_KIND, 2, KC_BLOB, CK_SPAN_NONE },                          \
	{ KC_ATTR_COMMENT, 2, KC_BLOB, CK_SPAN_NONE },                       \
	{ KC_ATTR_CREATOR, 2, KC_UINT32, CK_SPAN_NONE },                     \
	{ KC_ATTR_TYPE, 2, KC_UINT32, CK_SPAN_NONE },                        \
	{ 0x73637270, 2, KC_SINT32, CK_SPAN_NONE },                          \
	{ KC_ATTR_LABEL, 0, KC_BLOB, CK_SPAN_NONE },                         \
	{ KC_ATTR_ALIAS, 0, KC_BLOB, CK_SPAN_NONE },                         \
	{ 0x696e7669, 2, KC_SINT32, CK_SPAN_NONE },                          \
	{ 0x6e656761, 2, KC_SINT32, CK_SPAN_NONE },                          \
	{ 0x63757369, 2, KC_SINT32, CK_SPAN_NONE },                          \
	{ 0x70726f74, 2, KC_BLOB, CK_SPAN_NONE },                            \
	{ KC_ATTR_ACCOUNT, 2, KC_BLOB, CK_SPAN_NONE }

static const struct kc_attr generic_attrs[] = {
	COMMON,
	{ KC_ATTR_SERVICE, 2, KC_BLOB, CK_SPAN_NONE },
	{ KC_ATTR_GENERIC, 2, KC_BLOB, CK_SPAN_NONE }
};

static const struct kc_attr internet_attrs[] = {
	COMMON,
	{ 0x73646d6e, 2, KC_BLOB, CK_SPAN_NONE },
	{ 0x73727672, 2, KC_BLOB, CK_SPAN_NONE },
	{ 0x7074636c, 2, KC_UINT32, CK_SPAN_NONE },
	{ 0x61747970, 2, KC_BLOB, CK_SPAN_NONE },
	{ 0x706f7274, 2, KC_UINT32, CK_SPAN_NONE },
	{ 0x70617468, 2, KC_BLOB, CK_SPAN_NONE }
};

#define WORD(id) { id, 2, KC_UINT32, CK_SPAN_NONE }
#define BLOB(id) { id, 2, KC_BLOB, CK_SPAN_NONE }
static const struct kc_attr key_attrs[] = {
	WORD(0), BLOB(1), BLOB(2), WORD(3), WORD(4), WORD(5), BLOB(6),
	BLOB(7), BLOB(8), WORD(9), WORD(10), WORD(11), BLOB(12), BLOB(13),
	WORD(14), WORD(15), WORD(16), WORD(17), WORD(18), WORD(19), WORD(20),
	WORD(21), WORD(22), WORD(23), WORD(24), WORD(25), WORD(26)
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
const struct kc_relation help_generic = {
	KC_REL_GENERIC, CK_SPAN_NONE, generic_attrs, COUNT(generic_attrs)
};
const struct kc_relation help_internet = {
	KC_REL_INTERNET, CK_SPAN_NONE, internet_attrs, COUNT(internet_attrs)
};
const struct kc_relation help_key_relation = {
	KC_REL_SYMMETRIC_KEY, CK_SPAN_NONE, key_attrs, COUNT(key_attrs)
};

int
help_heap(void **state)
{
	(void)state;
	return ck_secret_heap_init((size_t)1 << 24, NULL) == CK_OK ? 0 : -1;
}

void
help_hex(const char *text, uint8_t *ret, size_t n)
{
	assert_int_equal(ck_hex_decode(text, ret, n), CK_OK);
}

struct ck_secret
help_blob_secret(const void *p, size_t n)
{
	struct ck_secret s = CK_SECRET_INIT;

	assert_int_equal(ck_secret_copy(p, n, &s), CK_OK);
	return s;
}

struct ck_secret
help_secret_text(const char *text)
{
	return help_blob_secret(text, strlen(text));
}

void
help_fill(uint8_t first, uint8_t *ret, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = (uint8_t)(first + i);
}

struct ck_secret
help_range(uint8_t first, size_t n)
{
	struct ck_secret s = CK_SECRET_INIT;

	assert_int_equal(ck_secret_alloc(n, &s), CK_OK);
	help_fill(first, s.p, n);
	return s;
}

struct kc_keys
help_example_keys(void)
{
	struct kc_keys k = KC_KEYS_INIT;

	k.encrypt = help_range(0x00, KC_ENCRYPT_BYTES);
	k.sign = help_range(0x20, KC_SIGN_BYTES);
	assert_int_equal(ck_secret_alloc(0, &k.private_acl), CK_OK);
	return k;
}

struct kc_key_blob
help_example_key_blob(uint32_t version, struct ck_span acl)
{
	struct kc_key_blob k;

	memset(&k, 0, sizeof(k));
	k.version = version;
	help_fill(0xb0, k.iv, sizeof(k.iv));
	k.header = kc_item_key_header;
	k.public_acl = acl;
	return k;
}

uint8_t *
help_blob_read(const char *name, size_t *ret_n)
{
	const char *folder = getenv("CLANKIE_KEYS_VECTORS");
	char path[CK_PATH_MAX];
	struct ck_fail fail = CK_FAIL_INIT;
	uint8_t *p = NULL;
	int fd = -1;

	if (folder == NULL)
		folder = "../shared/vectors";
	assert_int_equal(ck_path_join(folder, name, path, &fail), CK_OK);
	if (ck_io_open_file(AT_FDCWD, path, NULL, 0, &fd, NULL,
	    &fail) == CK_NOSTORE) {
		print_message("SKIP: no test vector %s\n", path);
		skip();
	}
	assert_true(fd >= 0);
	assert_int_equal(ck_io_read_all(fd, (size_t)1 << 20, path, &p, ret_n,
	    &fail), CK_OK);
	ck_io_close(&fd);
	return p;
}

/* Sort what lies at offset at: a key, the database blob, an item. */
static void
classify(struct help_file *f, size_t at, const struct ck_secret *password)
{
	struct ck_span rest = { f->p + at, f->n - at };
	struct ck_secret master = CK_SECRET_INIT;
	struct kc_key_blob key;
	struct kc_db_blob db;
	struct ck_span label;

	if (kc_item_data_label(rest, &label) &&
	    (help_fits(f, at, &help_generic) ||
	    help_fits(f, at, &help_internet))) {
		assert_true(f->nitems < HELP_ITEMS_MAX);
		f->item[f->nitems++] = at;
		return;
	}
	if (kc_key_blob_parse(rest, "vector", &key, NULL) == CK_OK) {
		assert_true(f->nkeys < HELP_KEYS_MAX);
		f->key[f->nkeys++] = (struct help_key){ at, key };
		return;
	}
	if (kc_db_blob_parse(rest, "vector", &db, NULL) != CK_OK)
		return;
	assert_int_equal(kc_master_key(password, db.salt, &master), CK_OK);
	assert_null(f->keys.sign.p);
	assert_int_equal(kc_db_blob_open(&db, &master, &f->keys), CK_OK);
	f->db = db;
	ck_secret_wipe(&master);
}

void
help_load(const struct help_vector *v, struct help_file *ret)
{
	struct ck_secret password = help_secret_text(v->password);

	memset(ret, 0, sizeof(*ret));
	ret->p = help_blob_read(v->name, &ret->n);
	for (size_t at = 0; at + 32 <= ret->n; at += 4)
		classify(ret, at, &password);
	ck_secret_wipe(&password);
	assert_non_null(ret->keys.sign.p);
	assert_int_equal(ret->nkeys, v->nkeys);
	assert_int_equal(ret->nitems, v->nitems);
}

void
help_free(struct help_file *f)
{
	kc_keys_wipe(&f->keys);
	free(f->p);
}

void
help_manifest_hex(const char *name, const char *word, uint8_t *ret, size_t n)
{
	size_t size;
	char *text = (char *)help_blob_read("MANIFEST.md", &size);
	char heading[CK_PATH_MAX], digits[129];
	char *p;

	assert_true(2 * n < sizeof(digits));
	(void)snprintf(heading, sizeof(heading), "### `%s`", name);
	p = strstr(text, heading);
	assert_non_null(p);
	p = strstr(p, word);
	assert_non_null(p);
	p = strchr(p, '`');
	assert_non_null(p);
	(void)snprintf(digits, sizeof(digits), "%.*s", (int)(2 * n), p + 1);
	help_hex(digits, ret, n);
	free(text);
}

bool
help_manifest_names(struct ck_span text)
{
	size_t size;
	uint8_t *all = help_blob_read("MANIFEST.md", &size);
	bool found = false;

	for (size_t i = 1; !found && i + text.n < size; i++)
		found = all[i - 1] == '`' && all[i + text.n] == '`' &&
		    memcmp(all + i, text.p, text.n) == 0;
	free(all);
	return found;
}

bool
help_fits(const struct help_file *f, size_t at, const struct kc_relation *rel)
{
	size_t front = 24 + 4 * rel->nattrs;
	const uint8_t *p = f->p + at - front;
	uint32_t size, data;

	if (at < front)
		return false;
	size = ck_get_be32(p);
	data = ck_get_be32(p + 16);
	/* The first attribute, the creation date, follows the data. */
	return size % 4 == 0 && size <= f->n && data <= size &&
	    ck_get_be32(p + 24) == ((front + data + 3) & ~(size_t)3) + 1;
}

void
help_values(const struct help_file *f, size_t at,
    const struct kc_relation *rel, struct kc_value *ret)
{
	const uint8_t *rec = f->p + at - 24 - 4 * rel->nattrs;

	memset(ret, 0, rel->nattrs * sizeof(*ret));
	for (size_t i = 0; i < rel->nattrs; i++) {
		uint32_t offset = ck_get_be32(rec + 24 + 4 * i);
		const uint8_t *p = rec + (offset ^ 1);

		if (offset == 0)
			continue;
		assert_true(offset & 1);
		ret[i].present = true;
		if (rel->attrs[i].format == KC_DATE)
			ret[i].bytes = (struct ck_span){ p, 16 };
		else if (rel->attrs[i].format == KC_BLOB)
			ret[i].bytes = (struct ck_span){ p + 4,
			    ck_get_be32(p) };
		else
			ret[i].word = ck_get_be32(p);
	}
}

struct ck_span
help_item_of(const struct help_file *f, const struct help_key *k,
    size_t *ret_at, const struct kc_relation **ret_rel)
{
	struct kc_value v[COUNT(key_attrs)];

	help_values(f, k->at, &help_key_relation, v);
	for (size_t i = 0; i < f->nitems; i++) {
		size_t at = f->item[i];
		struct ck_span label = { f->p + at, KC_LABEL_BYTES };
		const struct kc_relation *rel = &help_generic;

		if (!ck_span_equal(label, v[6].bytes))
			continue;
		if (!help_fits(f, at, rel))
			rel = &help_internet;
		*ret_at = at;
		*ret_rel = rel;
		return (struct ck_span){ label.p, ck_get_be32(f->p + at -
		    24 - 4 * rel->nattrs + 16) };
	}
	return (struct ck_span)CK_SPAN_NONE;
}
