/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An empty keychain (docs/keychain-format.md section 9): the meta rows of
 * kc_shapes are inserted like any other record, the outcome is laid out, and
 * that file is opened like any other.
 */
#include <stdlib.h>
#include <string.h>

#include "db_edit.h"
#include "db_shape.h"

#define FIRST_COMMIT 1

static struct kc_value
word(uint32_t v)
{
	return (struct kc_value){ true, v, CK_SPAN_NONE };
}

static struct kc_value
text(const char *s)
{
	if (s == NULL)
		return (struct kc_value){ false, 0, CK_SPAN_NONE };
	return (struct kc_value){ true, 0, CK_SPAN_TEXT(s) };
}

/* The table of a shape, with its fields but without indexes. */
static ck_err
table_make(struct kc_db *db, const struct kc_shape *shape, struct kc_table *t,
    struct ck_fail *fail)
{
	t->id = shape->id;
	t->rel.id = shape->id;
	t->rel.name = CK_SPAN_TEXT(shape->name);
	t->known = true;
	t->attrs = calloc(shape->nfields + 1, sizeof(*t->attrs));
	if (t->attrs == NULL)
		return kc_nomem(db, fail);
	for (size_t i = 0; i < shape->nfields; i++) {
		const struct kc_field *f = &shape->fields[i];

		t->attrs[i].id = f->id;
		t->attrs[i].name_format = f->name_format;
		t->attrs[i].format = f->format;
		t->attrs[i].name = text(f->name).bytes;
	}
	t->rel.attrs = t->attrs;
	t->rel.nattrs = shape->nfields;
	return CK_OK;
}

static int
by_id(const void *a, const void *b)
{
	const struct kc_table *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static ck_err
tables_make(struct kc_db *db, struct ck_fail *fail)
{
	ck_err r;

	db->tables = calloc(KC_SHAPE_COUNT, sizeof(*db->tables));
	if (db->tables == NULL)
		return kc_nomem(db, fail);
	db->ntables = KC_SHAPE_COUNT;
	for (size_t i = 0; i < KC_SHAPE_COUNT; i++) {
		r = table_make(db, &kc_shapes[i], &db->tables[i], fail);
		if (r != CK_OK)
			return r;
	}
	qsort(db->tables, db->ntables, sizeof(*db->tables), by_id);
	return CK_OK;
}

static ck_err
put_row(struct kc_db *db, uint32_t meta, const struct kc_value *row,
    struct ck_fail *fail)
{
	struct kc_table *t = kc_table_find(db, meta);
	ck_err r;

	if ((r = kc_edit_open(db, t, fail)) != CK_OK)
		return r;
	return kc_insert(db, t, row, (struct ck_span)CK_SPAN_NONE, NULL,
	    fail);
}

static ck_err
put_attributes(struct kc_db *db, const struct kc_shape *shape,
    struct ck_fail *fail)
{
	ck_err r = CK_OK;

	for (size_t i = 0; r == CK_OK && i < shape->nfields; i++) {
		const struct kc_field *f = &shape->fields[i];
		struct kc_value row[KC_COL_COLUMNS] = {
			[KC_COL_RELATION] = word(shape->id),
			[KC_COL_ATTRIBUTE] = word(f->id),
			[KC_COL_NAME_FORMAT] = word(f->name_format),
			[KC_COL_NAME] = text(f->name),
			[KC_COL_FORMAT] = word(f->format),
		};

		r = put_row(db, KC_REL_SCHEMA_ATTRIBUTES, row, fail);
	}
	return r;
}

/* One attribute of one index, as a row and as a definition. */
static ck_err
put_index(struct kc_db *db, const struct kc_shape *shape, uint32_t id,
    uint32_t type, size_t col, struct ck_fail *fail)
{
	struct kc_table *t = kc_table_find(db, shape->id);
	struct kc_value row[KC_IDX_COLUMNS] = {
		[KC_IDX_RELATION] = word(shape->id),
		[KC_IDX_INDEX] = word(id),
		[KC_IDX_ATTRIBUTE] = word(shape->fields[col].id),
		[KC_IDX_TYPE] = word(type),
		[KC_IDX_LOCATION] = word(KC_INDEX_ON_ATTRIBUTE),
	};
	ck_err r;

	r = kc_schema_index(db, t, id, type == KC_INDEX_UNIQUE, col, fail);
	if (r != CK_OK)
		return r;
	return put_row(db, KC_REL_SCHEMA_INDEXES, row, fail);
}

static ck_err
put_shape(struct kc_db *db, const struct kc_shape *shape,
    struct ck_fail *fail)
{
	struct kc_value row[KC_INFO_COLUMNS] = {
		[KC_INFO_RELATION] = word(shape->id),
		[KC_INFO_NAME] = text(shape->name),
	};
	ck_err r;

	r = put_row(db, KC_REL_SCHEMA_INFO, row, fail);
	if (r == CK_OK)
		r = put_attributes(db, shape, fail);
	for (size_t i = 0; r == CK_OK && i < shape->nunique; i++)
		r = put_index(db, shape, 0, KC_INDEX_UNIQUE, shape->unique[i],
		    fail);
	for (size_t i = 0; r == CK_OK && i < shape->nplain; i++)
		r = put_index(db, shape, shape->plain_id + (uint32_t)i,
		    KC_INDEX_PLAIN, shape->plain[i], fail);
	return r;
}

ck_err
kc_db_new(struct kc_db **ret, struct ck_fail *fail)
{
	static const char shown[] = "the new keychain";
	struct ck_buf file = CK_BUF_INIT;
	struct kc_db *maker, *db = NULL;
	ck_err r;

	if ((maker = kc_db_make(shown)) == NULL)
		return ck_fail_set(fail, CK_NOMEM, shown,
		    "no memory to make it");
	maker->next = FIRST_COMMIT;
	r = tables_make(maker, fail);
	for (size_t i = 0; r == CK_OK && i < KC_SHAPE_COUNT; i++)
		r = put_shape(maker, &kc_shapes[i], fail);
	if (r == CK_OK)
		r = kc_layout_file(maker, true, FIRST_COMMIT, &file, fail);
	if (r == CK_OK)
		r = kc_db_open_bytes(ck_buf_view(&file), shown, &db, fail);
	if (r != CK_OK)
		goto out;
	/* Not one commit is behind it: the first one is still to come. */
	db->next = FIRST_COMMIT;
	db->writing = true;
	*ret = db;
out:
	kc_db_free(&maker);
	ck_buf_free(&file);
	return r;
}
