/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes against records (docs/keychain-format.md section 19, 17 to 19). */
#include <stdlib.h>
#include <string.h>

#include "db_verify.h"

static ck_err
bad(const struct kc_db *db, const struct kc_table *t,
    const struct kc_index_view *ix, uint32_t i, const char *what,
    struct ck_fail *fail)
{
	return kc_damaged_in(db, t, fail, "index %u: entry %u %s",
	    (unsigned int)ix->def->id, (unsigned int)i, what);
}

/* Does the record have a value for each attribute of the index? */
static ck_err
in_index(const struct kc_db *db, const struct kc_table *t,
    const struct kc_index_def *def, const struct kc_record *rec, bool *ret,
    struct ck_fail *fail)
{
	struct kc_value v;
	uint32_t count;
	size_t bytes;
	bool all = true;

	for (size_t k = 0; k < def->nkeys; k++) {
		if (!kc_raw_value(&t->rel, rec->raw, def->keys[k], &v, &count,
		    &bytes))
			return kc_damaged_in(db, t, fail,
			    "record %u is broken", (unsigned int)rec->number);
		if (count > 1)
			return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
			    "table 0x%08x: record %u has several values of "
			    "an indexed attribute", (unsigned int)t->id,
			    (unsigned int)rec->number);
		all = all && v.present;
	}
	*ret = all;
	return CK_OK;
}

/* How many entries the index must have. */
static ck_err
expected(struct kc_db *db, const struct kc_table *t,
    const struct kc_index_def *def, uint32_t *ret, struct ck_fail *fail)
{
	struct kc_scan scan;
	struct kc_record rec;
	uint32_t n = 0;
	bool in = false;
	ck_err r;

	kc_scan_start(t, &scan);
	while ((r = kc_scan_next(db, t, &scan, &rec, fail)) == CK_OK) {
		r = in_index(db, t, def, &rec, &in, fail);
		if (r != CK_OK)
			return r;
		if (!in && def->unique)
			return kc_damaged_in(db, t, fail,
			    "record %u lacks a part of its unique key",
			    (unsigned int)rec.number);
		n += in;
	}
	if (r != CK_ABSENT)
		return r;
	*ret = n;
	return CK_OK;
}

/* The key of an entry is what its record says. */
static ck_err
check_key(const struct kc_db *db, const struct kc_table *t,
    const struct kc_index_view *ix, uint32_t i, const struct kc_entry *e,
    struct ck_fail *fail)
{
	const uint8_t *rec = kc_table_at(db, t, kc_table_u32(db, t,
	    KC_TAB_SLOT + 4 * (size_t)e->number));
	struct ck_span rest = { e->key, e->n };
	struct ck_span raw = { rec, ck_get_be32(rec + KC_REC_SIZE) };
	struct kc_value key, v;
	uint32_t count;
	size_t bytes;

	for (size_t k = 0; k < ix->def->nkeys; k++) {
		size_t col = ix->def->keys[k];
		uint32_t format = t->rel.attrs[col].format;

		if (!kc_key_take(format, &rest, &key))
			return bad(db, t, ix, i, "has a broken key", fail);
		if (!kc_raw_value(&t->rel, raw, col, &v, &count, &bytes) ||
		    !v.present || !kc_value_same(format, &key, &v))
			return bad(db, t, ix, i,
			    "has another key than its record", fail);
	}
	if (rest.n != 0)
		return bad(db, t, ix, i, "has a key that is too long", fail);
	return CK_OK;
}

/* Two neighbours, both with well-formed keys. */
static ck_err
check_order(const struct kc_db *db, const struct kc_table *t,
    const struct kc_index_view *ix, uint32_t i, const struct kc_entry *before,
    const struct kc_entry *e, struct ck_fail *fail)
{
	struct ck_span a = { before->key, before->n }, b = { e->key, e->n };
	struct kc_value va, vb;
	int c = 0;

	for (size_t k = 0; k < ix->def->nkeys && c == 0; k++) {
		uint32_t format = t->rel.attrs[ix->def->keys[k]].format;

		if (!kc_key_take(format, &a, &va) ||
		    !kc_key_take(format, &b, &vb))
			return bad(db, t, ix, i, "has a broken key", fail);
		c = kc_value_compare(format, &va, &vb);
	}
	if (c > 0)
		return bad(db, t, ix, i, "is out of order", fail);
	if (c == 0 && ix->def->unique)
		return bad(db, t, ix, i, "has the same key as the one before",
		    fail);
	return CK_OK;
}

/* Entry i, the bytes of which start at *at.  seen has one bit a number. */
static ck_err
check_entry(struct kc_db *db, const struct kc_table *t,
    const struct kc_index_view *ix, uint32_t i, size_t *at, uint8_t *seen,
    struct kc_entry *ret, struct ck_fail *fail)
{
	struct kc_entry e;
	uint32_t word;
	ck_err r;

	if ((r = kc_index_entry(db, t, ix, i, &e, fail)) != CK_OK)
		return r;
	if (e.key != kc_table_at(db, t, *at + 4))
		return bad(db, t, ix, i, "is not stored in order", fail);
	*at += 4 + (size_t)e.n;
	word = e.number < t->slots ? kc_table_u32(db, t,
	    KC_TAB_SLOT + 4 * (size_t)e.number) : 0;
	if (word == 0 || (word & 1) != 0)
		return bad(db, t, ix, i, "is about a record that is not there",
		    fail);
	if ((seen[e.number / 8] >> (e.number % 8) & 1) != 0)
		return bad(db, t, ix, i, "is about the same record as another",
		    fail);
	seen[e.number / 8] |= (uint8_t)(1U << (e.number % 8));
	if ((r = check_key(db, t, ix, i, &e, fail)) != CK_OK)
		return r;
	*ret = e;
	return CK_OK;
}

static ck_err
check_index(struct kc_db *db, const struct kc_table *t,
    const struct kc_index_view *ix, uint8_t *seen, struct ck_fail *fail)
{
	struct kc_entry before = { NULL, 0, 0 }, e = before;
	size_t at = ix->keys_at;
	uint32_t want = 0;
	ck_err r;

	if ((r = expected(db, t, ix->def, &want, fail)) != CK_OK)
		return r;
	if (want != ix->entries)
		return kc_damaged_in(db, t, fail,
		    "index %u has %u entries instead of %u",
		    (unsigned int)ix->def->id, (unsigned int)ix->entries,
		    (unsigned int)want);
	for (uint32_t i = 0; i < ix->entries; i++) {
		r = check_entry(db, t, ix, i, &at, seen, &e, fail);
		if (r != CK_OK)
			return r;
		if (i > 0 && (r = check_order(db, t, ix, i, &before, &e,
		    fail)) != CK_OK)
			return r;
		before = e;
	}
	if (at != ix->end)
		return kc_damaged_in(db, t, fail,
		    "index %u has %zu bytes behind its keys",
		    (unsigned int)ix->def->id, ix->end - at);
	return CK_OK;
}

ck_err
kc_verify_indexes(struct kc_db *db, const struct kc_table *t,
    struct ck_fail *fail)
{
	size_t bytes = (size_t)t->slots / 8 + 1;
	struct kc_index_view ix;
	size_t end;
	uint8_t *seen;
	ck_err r;

	if ((r = kc_index_section(db, t, &end, fail)) != CK_OK)
		return r;
	if ((seen = malloc(bytes)) == NULL)
		return kc_nomem(db, fail);
	for (size_t i = 0; r == CK_OK && i < t->ndefs; i++) {
		memset(seen, 0, bytes);
		if ((r = kc_index_open(db, t, i, &ix, fail)) != CK_OK)
			break;
		if (ix.at != end) {
			r = kc_damaged_in(db, t, fail,
			    "index %u is out of place",
			    (unsigned int)ix.def->id);
			break;
		}
		end = ix.end;
		r = check_index(db, t, &ix, seen, fail);
	}
	if (r == CK_OK && end != t->size)
		r = kc_damaged_in(db, t, fail,
		    "%zu bytes behind its indexes", t->size - end);
	free(seen);
	return r;
}
