/* SPDX-License-Identifier: Apache-2.0 */
/* Records and their values (docs/keychain-format.md sections 3 and 4). */
#include "db_int.h"

ck_err
kc_record_at(struct kc_db *db, const struct kc_table *t, size_t at,
    size_t limit, struct kc_record *ret, struct ck_fail *fail)
{
	size_t fixed = KC_REC_ATTRS + 4 * t->rel.nattrs, size, data;
	struct kc_record rec;
	const uint8_t *p;
	ck_err r;

	if (at % 4 != 0 || at < t->records_at || at > limit ||
	    limit - at < fixed)
		return kc_damaged_in(db, t, fail,
		    "a record at 0x%zx is out of place", at);
	if ((r = kc_table_need(db, t, at, fixed, fail)) != CK_OK)
		return r;
	p = kc_table_at(db, t, at);
	size = ck_get_be32(p + KC_REC_SIZE);
	data = ck_get_be32(p + KC_REC_DATA);
	if (size < fixed || size % 4 != 0 || size > limit - at)
		return kc_damaged_in(db, t, fail,
		    "the record at 0x%zx has an impossible size of 0x%zx", at,
		    size);
	if (data > size - fixed)
		return kc_damaged_in(db, t, fail,
		    "the data of the record at 0x%zx runs past its end", at);
	if ((r = kc_table_need(db, t, at, size, fail)) != CK_OK)
		return r;
	rec.relation = t->id;
	rec.number = ck_get_be32(p + KC_REC_NUMBER);
	rec.created = ck_get_be32(p + KC_REC_CREATED);
	rec.version = ck_get_be32(p + KC_REC_VERSION);
	rec.data = (struct ck_span){ p + fixed, data };
	rec.raw = (struct ck_span){ p, size };
	*ret = rec;
	return CK_OK;
}

void
kc_scan_start(const struct kc_table *t, struct kc_scan *ret)
{
	ret->at = t->records_at;
	ret->left = t->records;
}

ck_err
kc_scan_next(struct kc_db *db, const struct kc_table *t, struct kc_scan *scan,
    struct kc_record *ret, struct ck_fail *fail)
{
	ck_err r;

	if (scan->left == 0)
		return CK_ABSENT;
	r = kc_record_at(db, t, scan->at, t->index_at, ret, fail);
	if (r != CK_OK)
		return r;
	scan->at += ret->raw.n;
	scan->left--;
	return CK_OK;
}

/* A table with records to read; *ret is NULL when the file has none such. */
static ck_err
readable(const struct kc_db *db, uint32_t relation, struct kc_table **ret,
    struct ck_fail *fail)
{
	struct kc_table *t = kc_table_find(db, relation);

	if (t != NULL && !t->known)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "table 0x%08x is not described in the file",
		    (unsigned int)relation);
	*ret = t;
	return CK_OK;
}

static ck_err
absent(const struct kc_db *db, uint32_t relation, uint32_t number,
    struct ck_fail *fail)
{
	return ck_fail_set(fail, CK_ABSENT, db->shown,
	    "table 0x%08x has no record %u", (unsigned int)relation,
	    (unsigned int)number);
}

/* Is a slot word one of the free list, as far as one word can tell? */
static bool
slot_free(const struct kc_table *t, uint32_t word)
{
	return word == 0 || ((word & 3) == 1 && word >= KC_TAB_SLOT &&
	    word < t->records_at);
}

/* The record in slot number, which exists.  CK_ABSENT without a message when
 * the slot is free. */
static ck_err
slot_record(struct kc_db *db, const struct kc_table *t, uint32_t number,
    struct kc_record *ret, struct ck_fail *fail)
{
	size_t at = KC_TAB_SLOT + 4 * (size_t)number;
	struct kc_record rec;
	uint32_t word;
	ck_err r;

	if ((r = kc_table_need(db, t, at, 4, fail)) != CK_OK)
		return r;
	word = kc_table_u32(db, t, at);
	if (slot_free(t, word))
		return CK_ABSENT;
	r = kc_record_at(db, t, word, t->index_at, &rec, fail);
	if (r != CK_OK)
		return r;
	if (rec.number != number)
		return kc_damaged_in(db, t, fail,
		    "record number %u leads to record %u",
		    (unsigned int)number, (unsigned int)rec.number);
	*ret = rec;
	return CK_OK;
}

ck_err
kc_db_count(struct kc_db *db, uint32_t relation, uint32_t *ret,
    struct ck_fail *fail)
{
	struct kc_table *t = NULL;
	ck_err r;

	if ((r = readable(db, relation, &t, fail)) != CK_OK)
		return r;
	*ret = t == NULL ? 0 : t->records;
	return CK_OK;
}

ck_err
kc_db_record(struct kc_db *db, uint32_t relation, uint32_t number,
    struct kc_record *ret, struct ck_fail *fail)
{
	struct kc_table *t = NULL;
	ck_err r;

	if ((r = readable(db, relation, &t, fail)) != CK_OK)
		return r;
	if (t == NULL || number >= t->slots)
		return absent(db, relation, number, fail);
	r = slot_record(db, t, number, ret, fail);
	if (r == CK_ABSENT)
		return absent(db, relation, number, fail);
	return r;
}

ck_err
kc_db_next(struct kc_db *db, uint32_t relation, uint32_t *number,
    struct kc_record *ret, struct ck_fail *fail)
{
	struct kc_table *t = NULL;
	ck_err r;

	if ((r = readable(db, relation, &t, fail)) != CK_OK)
		return r;
	for (uint32_t i = *number; t != NULL && i < t->slots; i++) {
		r = slot_record(db, t, i, ret, fail);
		if (r == CK_ABSENT)
			continue;
		if (r == CK_OK)
			*number = i + 1;
		return r;
	}
	return absent(db, relation, *number, fail);
}

bool
kc_raw_value(const struct kc_relation *rel, struct ck_span raw, size_t col,
    struct kc_value *ret, uint32_t *ret_count, size_t *ret_bytes)
{
	size_t fixed = KC_REC_ATTRS + 4 * rel->nattrs, at, used;
	uint32_t word, count = 1;
	struct kc_value v = { false, 0, CK_SPAN_NONE }, first = v;

	word = ck_get_be32(raw.p + KC_REC_ATTRS + 4 * col);
	at = word & ~(uint32_t)1;
	if (word == 0)
		count = 0;
	else if (at < fixed || at % 4 != 0 || at > raw.n)
		return false;
	if (word != 0 && (word & 1) == 0) {
		if (raw.n - at < 4)
			return false;
		count = ck_get_be32(raw.p + at);
		at += 4;
	}
	/* Each takes a word at least, which bounds the work by the size. */
	if (count > KC_VALUES_MAX ||
	    (count > 1 && count > (raw.n - at) / 4))
		return false;
	*ret_bytes = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct ck_span rest = { raw.p + at, raw.n - at };

		if (!kc_value_take(rel->attrs[col].format, rest, &v, &used))
			return false;
		if (i == 0)
			first = v;
		at += used;
		*ret_bytes += used;
	}
	*ret = first;
	*ret_count = count;
	return true;
}

ck_err
kc_column_value(struct kc_db *db, const struct kc_table *t,
    const struct kc_record *rec, size_t col, struct kc_value *ret,
    struct ck_fail *fail)
{
	const struct kc_attr *attr = &t->rel.attrs[col];
	uint32_t count;
	size_t bytes;

	if (!kc_format_known(attr->format))
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "table 0x%08x: attribute 0x%08x has format %u, which is "
		    "not known", (unsigned int)t->id, (unsigned int)attr->id,
		    (unsigned int)attr->format);
	if (!kc_raw_value(&t->rel, rec->raw, col, ret, &count, &bytes))
		return kc_damaged_in(db, t, fail,
		    "attribute 0x%08x of record %u is broken",
		    (unsigned int)attr->id, (unsigned int)rec->number);
	return CK_OK;
}

ck_err
kc_db_value(struct kc_db *db, const struct kc_record *rec, uint32_t attr,
    struct kc_value *ret, struct ck_fail *fail)
{
	const struct kc_table *t = kc_table_find(db, rec->relation);
	size_t col;

	if (t == NULL || !t->known)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "table 0x%08x is not described in the file",
		    (unsigned int)rec->relation);
	col = kc_relation_column(&t->rel, attr);
	if (col == t->rel.nattrs)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "table 0x%08x has no attribute 0x%08x",
		    (unsigned int)t->id, (unsigned int)attr);
	return kc_column_value(db, t, rec, col, ret, fail);
}

ck_err
kc_db_values(struct kc_db *db, const struct kc_record *rec,
    struct kc_value *ret, struct ck_fail *fail)
{
	const struct kc_table *t = kc_table_find(db, rec->relation);
	struct kc_value values[KC_ATTRS_MAX];
	ck_err r;

	if (t == NULL || !t->known)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "table 0x%08x is not described in the file",
		    (unsigned int)rec->relation);
	for (size_t i = 0; i < t->rel.nattrs; i++) {
		r = kc_column_value(db, t, rec, i, &values[i], fail);
		if (r != CK_OK)
			return r;
	}
	for (size_t i = 0; i < t->rel.nattrs; i++)
		ret[i] = values[i];
	return CK_OK;
}

ck_err
kc_db_single(struct kc_db *db, const struct kc_record *rec,
    struct ck_fail *fail)
{
	const struct kc_table *t = kc_table_find(db, rec->relation);
	struct kc_value v;
	uint32_t count;
	size_t bytes;

	for (size_t i = 0; t != NULL && i < t->rel.nattrs; i++) {
		if (!kc_raw_value(&t->rel, rec->raw, i, &v, &count, &bytes))
			return kc_damaged_in(db, t, fail,
			    "record %u is broken", (unsigned int)rec->number);
		if (count > 1)
			return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
			    "table 0x%08x: record %u has several values of "
			    "attribute 0x%08x", (unsigned int)t->id,
			    (unsigned int)rec->number,
			    (unsigned int)t->rel.attrs[i].id);
	}
	return CK_OK;
}

void
kc_record_put(const struct kc_relation *rel, const struct kc_record *head,
    uint32_t semantic, const struct kc_value *values, struct ck_buf *out)
{
	size_t start = out->n, slot;

	ck_buf_u32(out, 0);
	ck_buf_u32(out, head->number);
	ck_buf_u32(out, head->created);
	ck_buf_u32(out, head->version);
	ck_buf_u32(out, (uint32_t)head->data.n);
	ck_buf_u32(out, semantic);
	slot = out->n;
	ck_buf_zeros(out, 4 * rel->nattrs);
	ck_buf_span(out, head->data);
	ck_buf_zeros(out, (4 - head->data.n % 4) % 4);
	for (size_t i = 0; i < rel->nattrs; i++) {
		if (!values[i].present)
			continue;
		/* Bit 0 says that there is one value and no count. */
		if (!out->failed)
			ck_put_be32(out->p + slot + 4 * i,
			    (uint32_t)(out->n - start) | 1);
		kc_value_put(rel->attrs[i].format, &values[i], out);
	}
	if (!out->failed)
		ck_put_be32(out->p + start + KC_REC_SIZE,
		    (uint32_t)(out->n - start));
}
