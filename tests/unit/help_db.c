/* SPDX-License-Identifier: Apache-2.0 */
/* Short ways to use the table layer; see help_db.h. */
#include "unit.h"

#include <stdio.h>
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

static void
add_item(struct kc_db *db, size_t i)
{
	struct kc_value values[32];
	char name[32];
	struct ck_span data = { (const uint8_t *)name, sizeof(name) };

	memset(name, 0, sizeof(name));
	(void)snprintf(name, sizeof(name), "service%05zu", i);
	help_generic(kc_db_relation(db, KC_REL_GENERIC), "account", name,
	    values);
	HELP_OK(kc_db_insert(db, KC_REL_GENERIC, values, data, NULL, &fail));
	help_key(kc_db_relation(db, KC_REL_SYMMETRIC_KEY), name, values);
	HELP_OK(kc_db_insert(db, KC_REL_SYMMETRIC_KEY, values, data, NULL,
	    &fail));
}

void
help_many(size_t n, struct ck_buf *ret)
{
	struct ck_buf file = CK_BUF_INIT;
	struct kc_db *db;

	help_new_file(168, &file);
	db = help_db_open(ck_buf_view(&file));
	HELP_OK(kc_db_begin(db, &fail));
	/* In an order that is neither that of the index nor its reverse. */
	for (size_t i = 0; i < n; i++)
		add_item(db, i * 7 % n);
	help_serialise(db, ret);
	kc_db_free(&db);
	ck_buf_free(&file);
}

size_t
help_find(struct kc_db *db, const struct kc_table *t,
    const struct kc_record *rec)
{
	struct kc_value values[KC_ATTRS_MAX], keys[KC_KEYS_MAX], v;
	struct kc_record found;
	size_t tried = 0, k;

	HELP_OK(kc_db_values(db, rec, values, &fail));
	for (size_t i = 0; i < t->ndefs; i++) {
		const struct kc_index_def *def = &t->defs[i];
		uint32_t number = 0;
		bool hit = false;

		for (k = 0; k < def->nkeys && values[def->keys[k]].present;
		    k++)
			keys[k] = values[def->keys[k]];
		if (k < def->nkeys)
			continue;
		tried++;
		HELP_OK(kc_db_lookup(db, t->id, def->id, keys, k, &hit,
		    &number, &fail));
		assert_true(hit);
		if (def->unique)
			assert_int_equal(number, rec->number);
		HELP_OK(kc_db_record(db, t->id, number, &found, &fail));
		while (k-- > 0) {
			const struct kc_attr *a =
			    &t->rel.attrs[def->keys[k]];

			HELP_OK(kc_db_value(db, &found, a->id, &v, &fail));
			assert_true(v.present);
			assert_true(kc_value_same(a->format, &v, &keys[k]));
		}
	}
	return tried;
}
