/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the rows of the meta tables to relations and index definitions
 * (docs/keychain-format.md section 7).  The meta tables' own layout is built
 * in: rows about them are kept but not believed.
 */
#include <stdlib.h>
#include <string.h>

#include "db_int.h"
#include "db_shape.h"

static bool
is_meta(uint32_t relation)
{
	return relation <= KC_REL_SCHEMA_PARSING;
}

/* Room for n attributes. */
static ck_err
attrs_alloc(struct kc_db *db, struct kc_table *t, size_t n,
    struct ck_fail *fail)
{
	t->attrs = calloc(n + 1, sizeof(*t->attrs));
	if (t->attrs == NULL)
		return kc_nomem(db, fail);
	t->rel.attrs = t->attrs;
	t->rel.nattrs = 0;
	return CK_OK;
}

static ck_err
meta_table(struct kc_db *db, const struct kc_shape *shape,
    struct ck_fail *fail)
{
	struct kc_table *t = kc_table_find(db, shape->id);
	ck_err r;

	if (t == NULL)
		return kc_damaged(db, fail, "the table %s is missing",
		    shape->name);
	if ((r = kc_table_header(db, t, fail)) != CK_OK)
		return r;
	if ((r = attrs_alloc(db, t, shape->nfields, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < shape->nfields; i++) {
		const struct kc_field *f = &shape->fields[i];

		t->attrs[i] = (struct kc_attr){ f->id, f->name_format,
		    f->format, CK_SPAN_TEXT(f->name) };
	}
	t->rel.id = shape->id;
	t->rel.name = CK_SPAN_TEXT(shape->name);
	t->rel.nattrs = shape->nfields;
	t->known = true;
	return CK_OK;
}

/*
 * The next row of meta table t that is about a table of its own, which goes
 * to *ret_of, with all its values or with the relation alone, column 0 in all
 * of them.  CK_ABSENT at the end.
 */
enum take { TAKE_ALL, TAKE_RELATION };

static ck_err
next_row(struct kc_db *db, const struct kc_table *t, enum take take,
    struct kc_scan *scan, struct kc_value *ret, struct kc_table **ret_of,
    struct ck_fail *fail)
{
	struct kc_record rec;
	ck_err r;

	for (;;) {
		if ((r = kc_scan_next(db, t, scan, &rec, fail)) != CK_OK)
			return r;
		r = take == TAKE_ALL ? kc_db_values(db, &rec, ret, fail) :
		    kc_column_value(db, t, &rec, 0, ret, fail);
		if (r != CK_OK)
			return r;
		if (!ret[0].present)
			return kc_damaged_in(db, t, fail,
			    "row %u names no relation",
			    (unsigned int)rec.number);
		if (is_meta(ret[0].word))
			continue;
		*ret_of = kc_table_find(db, ret[0].word);
		if (*ret_of == NULL)
			return kc_damaged_in(db, t, fail,
			    "row %u is about table 0x%08x, which is missing",
			    (unsigned int)rec.number,
			    (unsigned int)ret[0].word);
		return CK_OK;
	}
}

static ck_err
load_relations(struct kc_db *db, struct ck_fail *fail)
{
	const struct kc_table *info = kc_table_find(db, KC_REL_SCHEMA_INFO);
	struct kc_value row[KC_INFO_COLUMNS];
	struct kc_table *t = NULL;
	struct kc_scan scan;
	ck_err r;

	kc_scan_start(info, &scan);
	while ((r = next_row(db, info, TAKE_ALL, &scan, row, &t,
	    fail)) == CK_OK) {
		if (t->known)
			return kc_damaged_in(db, info, fail,
			    "table 0x%08x is described twice",
			    (unsigned int)t->id);
		if ((r = kc_table_header(db, t, fail)) != CK_OK)
			return r;
		t->rel.id = t->id;
		t->rel.name = row[KC_INFO_NAME].bytes;
		t->known = true;
	}
	return r == CK_ABSENT ? CK_OK : r;
}

/* First pass over the attribute rows: how many has each table? */
static ck_err
count_attributes(struct kc_db *db, const struct kc_table *meta,
    struct ck_fail *fail)
{
	struct kc_value row[KC_COL_COLUMNS];
	struct kc_table *t = NULL;
	struct kc_scan scan;
	ck_err r;

	kc_scan_start(meta, &scan);
	while ((r = next_row(db, meta, TAKE_RELATION, &scan, row, &t,
	    fail)) == CK_OK) {
		if (!t->known)
			return kc_damaged_in(db, meta, fail,
			    "attributes for table 0x%08x, which has no name",
			    (unsigned int)t->id);
		if (++t->rel.nattrs > KC_ATTRS_MAX)
			return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
			    "table 0x%08x has more than %u attributes",
			    (unsigned int)t->id, KC_ATTRS_MAX);
	}
	if (r != CK_ABSENT)
		return r;
	for (size_t i = 0; i < db->ntables; i++) {
		t = &db->tables[i];
		if (!t->known || is_meta(t->id))
			continue;
		r = attrs_alloc(db, t, t->rel.nattrs, fail);
		if (r != CK_OK)
			return r;
	}
	return CK_OK;
}

static ck_err
load_attributes(struct kc_db *db, struct ck_fail *fail)
{
	const struct kc_table *meta =
	    kc_table_find(db, KC_REL_SCHEMA_ATTRIBUTES);
	struct kc_value row[KC_COL_COLUMNS];
	struct kc_table *t = NULL;
	struct kc_scan scan;
	ck_err r;

	if ((r = count_attributes(db, meta, fail)) != CK_OK)
		return r;
	kc_scan_start(meta, &scan);
	while ((r = next_row(db, meta, TAKE_ALL, &scan, row, &t,
	    fail)) == CK_OK) {
		if (!row[KC_COL_ATTRIBUTE].present ||
		    !row[KC_COL_FORMAT].present)
			return kc_damaged_in(db, meta, fail,
			    "an attribute of table 0x%08x has no id or format",
			    (unsigned int)t->id);
		t->attrs[t->rel.nattrs++] = (struct kc_attr){
			row[KC_COL_ATTRIBUTE].word,
			row[KC_COL_NAME_FORMAT].word,
			row[KC_COL_FORMAT].word,
			row[KC_COL_NAME].bytes
		};
	}
	return r == CK_ABSENT ? CK_OK : r;
}

/* The definition with that id, made at its place when it is new. */
static ck_err
index_def(struct kc_db *db, struct kc_table *t, uint32_t id, bool unique,
    struct kc_index_def **ret, struct ck_fail *fail)
{
	struct kc_index_def *defs;
	size_t i = 0;

	while (i < t->ndefs && t->defs[i].id < id)
		i++;
	if (i < t->ndefs && t->defs[i].id == id) {
		*ret = &t->defs[i];
		return CK_OK;
	}
	if (t->ndefs == KC_INDEXES_MAX)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "table 0x%08x has more than %u indexes",
		    (unsigned int)t->id, KC_INDEXES_MAX);
	defs = realloc(t->defs, (t->ndefs + 1) * sizeof(*defs));
	if (defs == NULL)
		return kc_nomem(db, fail);
	memmove(&defs[i + 1], &defs[i], (t->ndefs - i) * sizeof(*defs));
	memset(&defs[i], 0, sizeof(*defs));
	defs[i].id = id;
	defs[i].unique = unique;
	t->defs = defs;
	t->ndefs++;
	*ret = &defs[i];
	return CK_OK;
}

ck_err
kc_schema_index(struct kc_db *db, struct kc_table *t, uint32_t id,
    bool unique, size_t col, struct ck_fail *fail)
{
	struct kc_index_def *def = NULL;
	ck_err r;

	if ((r = index_def(db, t, id, unique, &def, fail)) != CK_OK)
		return r;
	if (def->unique != unique)
		return kc_damaged_in(db, t, fail,
		    "index %u is unique and not unique", (unsigned int)id);
	if (def->nkeys == KC_KEYS_MAX)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "table 0x%08x: index %u has more than %u attributes",
		    (unsigned int)t->id, (unsigned int)id, KC_KEYS_MAX);
	def->keys[def->nkeys++] = (uint16_t)col;
	return CK_OK;
}

static ck_err
index_row(struct kc_db *db, const struct kc_table *meta, struct kc_table *t,
    const struct kc_value *row, struct ck_fail *fail)
{
	uint32_t id = row[KC_IDX_INDEX].word;
	uint32_t attr = row[KC_IDX_ATTRIBUTE].word;
	uint32_t type = row[KC_IDX_TYPE].word;
	size_t col;

	if (!row[KC_IDX_INDEX].present || !row[KC_IDX_ATTRIBUTE].present ||
	    !row[KC_IDX_TYPE].present || type > KC_INDEX_PLAIN)
		return kc_damaged_in(db, meta, fail,
		    "a row about an index of table 0x%08x makes no sense",
		    (unsigned int)t->id);
	col = kc_relation_column(&t->rel, attr);
	if (!t->known || col == t->rel.nattrs)
		return kc_damaged_in(db, meta, fail,
		    "index %u of table 0x%08x uses attribute 0x%08x, which "
		    "does not exist", (unsigned int)id, (unsigned int)t->id,
		    (unsigned int)attr);
	return kc_schema_index(db, t, id, type == KC_INDEX_UNIQUE, col, fail);
}

static ck_err
load_indexes(struct kc_db *db, struct ck_fail *fail)
{
	const struct kc_table *meta =
	    kc_table_find(db, KC_REL_SCHEMA_INDEXES);
	struct kc_value row[KC_IDX_COLUMNS];
	struct kc_table *t = NULL;
	struct kc_scan scan;
	ck_err r;

	kc_scan_start(meta, &scan);
	while ((r = next_row(db, meta, TAKE_ALL, &scan, row, &t,
	    fail)) == CK_OK)
		if ((r = index_row(db, meta, t, row, fail)) != CK_OK)
			return r;
	return r == CK_ABSENT ? CK_OK : r;
}

ck_err
kc_schema_load(struct kc_db *db, struct ck_fail *fail)
{
	ck_err r;

	for (size_t i = 0; i < KC_SHAPE_META; i++)
		if ((r = meta_table(db, &kc_shapes[i], fail)) != CK_OK)
			return r;
	if ((r = load_relations(db, fail)) != CK_OK)
		return r;
	if ((r = load_attributes(db, fail)) != CK_OK)
		return r;
	return load_indexes(db, fail);
}
