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
help_db_generic(const struct kc_relation *rel, const char *account,
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
	help_db_generic(kc_db_relation(db, KC_REL_GENERIC), "account", name,
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

void
help_same(const struct ck_buf *a, const struct ck_buf *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->p, b->p, a->n);
}

static void
put_table(struct ck_buf *out, size_t slot, const void *p, size_t n)
{
	ck_put_be32(out->p + slot, (uint32_t)(out->n - KC_SCHEMA_AT));
	ck_buf_bytes(out, p, n);
}

void
help_add_table(const struct ck_buf *file, uint32_t id, struct ck_span body,
    struct ck_buf *ret)
{
	struct kc_db *db = help_db_open(ck_buf_view(file));
	struct ck_buf table = CK_BUF_INIT;
	size_t slot = KC_SCHEMA_AT + KC_SCHEMA_TABLES;
	bool done = false;

	*ret = (struct ck_buf)CK_BUF_INIT;
	ck_buf_u32(&table, (uint32_t)body.n + 8);
	ck_buf_u32(&table, id);
	ck_buf_span(&table, body);
	ck_buf_bytes(ret, file->p, slot);
	ck_buf_zeros(ret, 4 * (db->ntables + 1));
	ck_put_be32(ret->p + KC_SCHEMA_AT + KC_SCHEMA_COUNT,
	    (uint32_t)db->ntables + 1);
	for (size_t i = 0; i <= db->ntables; i++, slot += 4) {
		const struct kc_table *t = &db->tables[done ? i - 1 : i];

		if (!done && (i == db->ntables || t->id > id)) {
			put_table(ret, slot, table.p, table.n);
			done = true;
			continue;
		}
		put_table(ret, slot, kc_table_at(db, t, 0), t->size);
	}
	ck_put_be32(ret->p + KC_SCHEMA_AT, (uint32_t)ret->n - KC_SCHEMA_AT);
	ck_buf_bytes(ret, file->p + file->n - 4, 4);
	ck_buf_free(&table);
	kc_db_free(&db);
}

static void
inside(const struct kc_db *db, struct ck_span s)
{
	if (s.n == 0)
		return;
	assert_true(s.p >= db->src.p && s.n <= db->src.n &&
	    (size_t)(s.p - db->src.p) <= db->src.n - s.n);
}

/* Look the record up under whatever it holds; answers may be wrong in a
 * damaged file, but must be within bounds. */
static void
probe(struct kc_db *db, const struct kc_table *t,
    const struct kc_value *values)
{
	struct kc_value keys[KC_KEYS_MAX];
	uint32_t number = 0;
	bool hit = false;

	for (size_t i = 0; i < t->ndefs; i++) {
		for (size_t k = 0; k < t->defs[i].nkeys; k++)
			keys[k] = values[t->defs[i].keys[k]];
		if (kc_db_lookup(db, t->id, t->defs[i].id, keys,
		    t->defs[i].nkeys, &hit, &number, NULL) == CK_OK && hit)
			assert_true(number < t->slots);
	}
}

static void
read_table(struct kc_db *db, const struct kc_table *t)
{
	struct kc_value values[KC_ATTRS_MAX];
	struct kc_record rec;
	ck_err r;

	for (uint32_t number = 0; number < t->slots; ) {
		r = kc_db_next(db, t->id, &number, &rec, NULL);
		if (r == CK_ABSENT)
			return;
		if (r != CK_OK) {
			number++;
			continue;
		}
		inside(db, rec.raw);
		inside(db, rec.data);
		if (kc_db_values(db, &rec, values, NULL) != CK_OK)
			continue;
		for (size_t i = 0; i < t->rel.nattrs; i++)
			inside(db, values[i].bytes);
		probe(db, t, values);
	}
}

ck_err
help_exercise(struct ck_span file)
{
	struct ck_buf out = CK_BUF_INIT;
	struct kc_db *db = NULL;
	ck_err r;

	r = kc_db_open_bytes(file, "fuzz", &db, NULL);
	if (r != CK_OK) {
		assert_null(db);
		return r;
	}
	for (size_t i = 0; i < db->ntables; i++)
		if (db->tables[i].known)
			read_table(db, &db->tables[i]);
	r = kc_db_verify(db, NULL);
	assert_int_equal(kc_db_begin(db, NULL), r);
	if (r == CK_OK) {
		HELP_OK(kc_db_serialise(db, true, &out, &fail));
		assert_int_equal(out.n, file.n);
		assert_memory_equal(out.p, file.p, file.n);
	}
	ck_buf_free(&out);
	kc_db_free(&db);
	return r;
}
