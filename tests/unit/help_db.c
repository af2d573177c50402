/* SPDX-License-Identifier: Apache-2.0 */
/* Short ways to use the table layer; see help_db.h. */
#include "unit.h"

#include <string.h>

#include "help_db.h"
#include "help_vectors.h"

struct kc_value
help_word(uint32_t v)
{
	return (struct kc_value){ true, v, CK_SPAN_NONE };
}

struct kc_value
help_bytes(const void *p, size_t n)
{
	return (struct kc_value){ true, 0, { p, n } };
}

struct kc_value
help_text(const char *s)
{
	return help_bytes(s, strlen(s));
}

struct kc_db *
help_db_open(struct ck_span file)
{
	struct kc_db *db = NULL;

	HELP_OK(kc_db_open_bytes(file, "test.keychain", &db, &fail));
	return db;
}

struct kc_db *
help_db_vector(const char *name)
{
	struct ck_buf file = CK_BUF_INIT;
	struct kc_db *db;

	help_vector_load(name, &file);
	db = help_db_open(ck_buf_view(&file));
	ck_buf_free(&file);
	return db;
}

static void
set(const struct kc_relation *rel, struct kc_value *values, uint32_t attr,
    struct kc_value v)
{
	size_t col = kc_relation_column(rel, attr);

	assert_true(col < rel->nattrs);
	values[col] = v;
}

void
help_generic(const struct kc_relation *rel, const char *account,
    const char *service, struct kc_value *ret)
{
	memset(ret, 0, rel->nattrs * sizeof(*ret));
	set(rel, ret, KC_ATTR_CREATED, help_bytes("20240102030405Z", 16));
	set(rel, ret, KC_ATTR_MODIFIED, help_bytes("20240102030405Z", 16));
	set(rel, ret, KC_ATTR_LABEL, help_text(service));
	set(rel, ret, KC_ATTR_ACCOUNT, help_text(account));
	set(rel, ret, KC_ATTR_SERVICE, help_text(service));
}

void
help_key(const struct kc_relation *rel, const char *label,
    struct kc_value *ret)
{
	assert_int_equal(rel->nattrs, 27);
	for (size_t i = 0; i < rel->nattrs; i++)
		ret[i] = rel->attrs[i].format == KC_BLOB ? help_text("") :
		    help_word(i == 3 || i == 14 || i >= 18);
	ret[0] = help_word(KC_REL_SYMMETRIC_KEY);
	ret[6] = help_text(label);
	ret[9] = help_word(17);
	ret[10] = help_word(192);
	ret[11] = help_word(192);
}

void
help_new_file(size_t n, struct ck_buf *ret)
{
	uint8_t blob[256];
	struct kc_db *db = NULL;

	assert_true(n <= sizeof(blob));
	memset(blob, 0xb1, sizeof(blob));
	HELP_OK(kc_db_new(&db, &fail));
	HELP_OK(kc_db_insert(db, KC_REL_DB_BLOB, NULL,
	    (struct ck_span){ blob, n }, NULL, &fail));
	help_serialise(db, ret);
	kc_db_free(&db);
}

void
help_serialise(struct kc_db *db, struct ck_buf *ret)
{
	struct ck_buf out = CK_BUF_INIT;

	HELP_OK(kc_db_serialise(db, false, &out, &fail));
	*ret = out;
}
