/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions: insert, update, delete, the new file; see db.h. */
#include <string.h>

#include "db_edit.h"

/* A table that may be changed. */
static ck_err
writable(struct kc_db *db, uint32_t relation, struct kc_table **ret,
    struct ck_fail *fail)
{
	struct kc_table *t = kc_table_find(db, relation);

	if (!db->writing)
		return ck_fail_set(fail, CK_INTERNAL, db->shown,
		    "changed outside a transaction");
	if (t == NULL || !t->known)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "has no table 0x%08x that could be written",
		    (unsigned int)relation);
	if (relation <= KC_REL_SCHEMA_PARSING)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "the description of its tables cannot be changed");
	*ret = t;
	return kc_edit_open(db, t, fail);
}

/* Upper bound of what is kept for one record; false when that is too much. */
static bool
fits(const struct kc_db *db, const struct kc_relation *rel,
    const struct kc_value *values, struct ck_span data)
{
	size_t n = db->arena.total, room = KC_FILE_MAX;

	if (n > room || data.n > room - n)
		return false;
	n += data.n;
	for (size_t i = 0; i < rel->nattrs; i++) {
		if (!values[i].present)
			continue;
		if (n > room || values[i].bytes.n > room - n)
			return false;
		n += values[i].bytes.n;
	}
	return true;
}

/*
 * Are these values fit to be written?  old, when there is one, holds what the
 * record has now: what somebody else stored may be kept.
 */
static ck_err
values_check(const struct kc_db *db, const struct kc_table *t,
    const struct kc_value *values, const struct kc_value *old,
    struct ck_span data, struct ck_fail *fail)
{
	for (size_t i = 0; i < t->rel.nattrs; i++) {
		const struct kc_attr *attr = &t->rel.attrs[i];
		const char *no;

		if (!values[i].present)
			continue;
		if (old != NULL && old[i].present &&
		    kc_value_same(attr->format, &values[i], &old[i]))
			continue;
		no = kc_value_refusal(attr->format, &values[i]);
		if (no != NULL)
			return ck_fail_set(fail, CK_USAGE, db->shown,
			    "table 0x%08x: the value of attribute 0x%08x %s",
			    (unsigned int)t->id, (unsigned int)attr->id, no);
	}
	if (!fits(db, &t->rel, values, data))
		return ck_fail_set(fail, CK_NOSPACE, db->shown,
		    "would become larger than the %zu bytes allowed",
		    KC_FILE_MAX);
	return CK_OK;
}

/* The values with defaults for what a unique index needs (section 6.2). */
static void
with_defaults(const struct kc_table *t, const struct kc_value *values,
    struct kc_value *ret)
{
	for (size_t i = 0; i < t->rel.nattrs; i++)
		ret[i] = values[i];
	for (size_t i = 0; i < t->ndefs; i++) {
		const struct kc_index_def *def = &t->defs[i];

		for (size_t k = 0; def->unique && k < def->nkeys; k++)
			if (!ret[def->keys[k]].present)
				ret[def->keys[k]] = (struct kc_value){
				    true, 0, CK_SPAN_NONE };
	}
}

/* The encoded record, in the arena. */
static ck_err
encode(struct kc_db *db, const struct kc_table *t,
    const struct kc_record *head, uint32_t semantic,
    const struct kc_value *values, uint8_t **ret, uint32_t *ret_n,
    struct ck_fail *fail)
{
	struct ck_buf buf = CK_BUF_INIT;
	uint8_t *p = NULL;

	kc_record_put(&t->rel, head, semantic, values, &buf);
	if (ck_buf_ok(&buf) == CK_OK)
		p = kc_arena_take(&db->arena, buf.n);
	if (p != NULL) {
		memcpy(p, buf.p, buf.n);
		*ret = p;
		*ret_n = (uint32_t)buf.n;
	}
	ck_buf_free(&buf);
	return p != NULL ? CK_OK : kc_nomem(db, fail);
}

static ck_err
clash(const struct kc_db *db, const struct kc_table *t, uint32_t index,
    struct ck_fail *fail)
{
	return ck_fail_set(fail, CK_REFUSED, db->shown,
	    "table 0x%08x already has a record with the same key (index %u)",
	    (unsigned int)t->id, (unsigned int)index);
}

ck_err
kc_insert(struct kc_db *db, struct kc_table *t, const struct kc_value *values,
    struct ck_span data, uint32_t *ret_number, struct ck_fail *fail)
{
	struct kc_record head = { t->id, 0, db->next, 0, data, CK_SPAN_NONE };
	struct kc_value full[KC_ATTRS_MAX];
	struct kc_keys_of keys;
	uint32_t index = 0, number, n = 0;
	uint8_t *raw = NULL;
	ck_err r;

	with_defaults(t, values, full);
	if ((r = values_check(db, t, full, NULL, data, fail)) != CK_OK)
		return r;
	if ((r = encode(db, t, &head, 0, full, &raw, &n, fail)) != CK_OK)
		return r;
	if ((r = kc_edit_keys(db, t, full, &keys, fail)) != CK_OK)
		return r;
	if ((r = kc_edit_reserve(db, t, fail)) != CK_OK)
		return r;
	/* Taken before the check: a refused record keeps its number. */
	number = kc_edit_number(db, t);
	if (kc_edit_clash(t, &keys, &index))
		return clash(db, t, index, fail);
	ck_put_be32(raw + KC_REC_NUMBER, number);
	kc_edit_add(t, &keys, number);
	t->edit->changes[number].rec = raw;
	t->edit->changes[number].n = n;
	db->changed = true;
	if (ret_number != NULL)
		*ret_number = number;
	return CK_OK;
}

ck_err
kc_db_insert(struct kc_db *db, uint32_t relation,
    const struct kc_value *values, struct ck_span data, uint32_t *ret_number,
    struct ck_fail *fail)
{
	struct kc_table *t = NULL;
	ck_err r;

	if ((r = writable(db, relation, &t, fail)) != CK_OK)
		return r;
	return kc_insert(db, t, values, data, ret_number, fail);
}

/*
 * The record as it is now, with its values.  One with several values of an
 * attribute is CK_UNSUPPORTED when single is asked for: they would be lost.
 */
static ck_err
current(const struct kc_db *db, const struct kc_table *t, uint32_t number,
    bool single, struct ck_span *ret_raw, struct kc_value *ret_values,
    struct ck_fail *fail)
{
	struct ck_span raw = kc_edit_record(db, t, number);
	uint32_t count;
	size_t bytes;

	if (raw.n == 0)
		return ck_fail_set(fail, CK_ABSENT, db->shown,
		    "table 0x%08x has no record %u", (unsigned int)t->id,
		    (unsigned int)number);
	for (size_t i = 0; i < t->rel.nattrs; i++) {
		if (!kc_raw_value(&t->rel, raw, i, &ret_values[i], &count,
		    &bytes))
			return kc_damaged_in(db, t, fail,
			    "record %u is broken", (unsigned int)number);
		if (single && count > 1)
			return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
			    "table 0x%08x: record %u has several values of "
			    "attribute 0x%08x", (unsigned int)t->id,
			    (unsigned int)number,
			    (unsigned int)t->rel.attrs[i].id);
	}
	*ret_raw = raw;
	return CK_OK;
}

/* The stored record of that number is no more, if there was one. */
static void
retire(const struct kc_db *db, struct kc_table *t, uint32_t number)
{
	struct kc_change *c = &t->edit->changes[number];
	uint32_t word;

	c->rec = NULL;
	c->n = 0;
	if (number >= t->slots)
		return;
	word = kc_table_u32(db, t, KC_TAB_SLOT + 4 * (size_t)number);
	c->gone = word != 0 && (word & 1) == 0;
}

/* Exchange the keys of a record, or none of them. */
static ck_err
rekey(struct kc_db *db, struct kc_table *t, uint32_t number,
    const struct kc_value *old, const struct kc_value *values,
    struct ck_fail *fail)
{
	struct kc_keys_of before, after;
	uint32_t index = 0;
	ck_err r;

	if ((r = kc_edit_keys(db, t, old, &before, fail)) != CK_OK)
		return r;
	if ((r = kc_edit_keys(db, t, values, &after, fail)) != CK_OK)
		return r;
	if ((r = kc_edit_reserve(db, t, fail)) != CK_OK)
		return r;
	kc_edit_drop(t, &before, number);
	if (kc_edit_clash(t, &after, &index)) {
		/* They come back behind their equals, section 6.4. */
		kc_edit_add(t, &before, number);
		return clash(db, t, index, fail);
	}
	kc_edit_add(t, &after, number);
	return CK_OK;
}

ck_err
kc_db_update(struct kc_db *db, uint32_t relation, uint32_t number,
    const struct kc_value *values, struct ck_span data, struct ck_fail *fail)
{
	struct kc_value full[KC_ATTRS_MAX], old[KC_ATTRS_MAX];
	struct kc_record head = { relation, number, 0, 0, data,
	    CK_SPAN_NONE };
	struct kc_table *t = NULL;
	struct ck_span raw = CK_SPAN_NONE;
	uint8_t *rec = NULL;
	uint32_t n = 0;
	ck_err r;

	if ((r = writable(db, relation, &t, fail)) != CK_OK)
		return r;
	if ((r = current(db, t, number, true, &raw, old, fail)) != CK_OK)
		return r;
	with_defaults(t, values, full);
	if ((r = values_check(db, t, full, old, data, fail)) != CK_OK)
		return r;
	head.created = ck_get_be32(raw.p + KC_REC_CREATED);
	head.version = ck_get_be32(raw.p + KC_REC_VERSION) + 1;
	r = encode(db, t, &head, ck_get_be32(raw.p + KC_REC_SEMANTIC), full,
	    &rec, &n, fail);
	if (r != CK_OK)
		return r;
	if ((r = rekey(db, t, number, old, full, fail)) != CK_OK)
		return r;
	retire(db, t, number);
	t->edit->changes[number].rec = rec;
	t->edit->changes[number].n = n;
	db->changed = true;
	return CK_OK;
}

ck_err
kc_db_delete(struct kc_db *db, uint32_t relation, uint32_t number,
    struct ck_fail *fail)
{
	struct kc_value old[KC_ATTRS_MAX];
	struct kc_table *t = NULL;
	struct ck_span raw = CK_SPAN_NONE;
	struct kc_keys_of keys;
	ck_err r;

	if ((r = writable(db, relation, &t, fail)) != CK_OK)
		return r;
	if ((r = current(db, t, number, false, &raw, old, fail)) != CK_OK)
		return r;
	if ((r = kc_edit_keys(db, t, old, &keys, fail)) != CK_OK)
		return r;
	kc_edit_drop(t, &keys, number);
	retire(db, t, number);
	db->changed = true;
	return CK_OK;
}

ck_err
kc_db_begin(struct kc_db *db, struct ck_fail *fail)
{
	ck_err r;

	if (db->writing)
		return ck_fail_set(fail, CK_INTERNAL, db->shown,
		    "a transaction is running already");
	if ((r = kc_db_verify(db, fail)) != CK_OK)
		return r;
	db->writing = true;
	return CK_OK;
}

/* How many records of the database blob would there be? */
static size_t
blobs(const struct kc_db *db)
{
	const struct kc_table *t = kc_table_find(db, KC_REL_DB_BLOB);
	size_t n;

	if (t == NULL)
		return 0;
	n = t->records;
	for (size_t i = 0; t->edit != NULL && i < t->edit->nchanges; i++) {
		n += t->edit->changes[i].rec != NULL;
		n -= t->edit->changes[i].gone;
	}
	return n;
}

/* No change, no difference. */
static ck_err
copy(struct kc_db *db, struct ck_buf *out, struct ck_fail *fail)
{
	ck_err r;

	if ((r = kc_src_need(&db->src, 0, db->src.n, fail)) != CK_OK)
		return r;
	ck_buf_bytes(out, db->src.p, db->src.n);
	return ck_buf_ok(out) == CK_OK ? CK_OK : kc_nomem(db, fail);
}

ck_err
kc_db_serialise(struct kc_db *db, bool rebuild, struct ck_buf *ret,
    struct ck_fail *fail)
{
	struct ck_buf out = CK_BUF_INIT;
	ck_err r;

	if (rebuild && (!db->writing || db->changed))
		return ck_fail_set(fail, CK_INTERNAL, db->shown,
		    "rebuilt outside a transaction or with changes");
	if (db->writing && blobs(db) != 1)
		return ck_fail_set(fail, CK_INTERNAL, db->shown,
		    "would hold %zu database blobs", blobs(db));
	if (db->changed || rebuild)
		r = kc_layout_file(db, rebuild,
		    db->changed ? db->next : db->commit, &out, fail);
	else
		r = copy(db, &out, fail);
	if (r == CK_OK)
		*ret = out;
	else
		ck_buf_free(&out);
	return r;
}
