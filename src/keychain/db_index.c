/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexes as they are in the file: found, taken apart, searched
 * (docs/keychain-format.md section 6).  A search reads a few blocks of the
 * file however many records there are.
 */
#include "db_int.h"

/* Where index i starts, or the section ends when i is the number of them. */
static ck_err
index_place(struct kc_db *db, const struct kc_table *t, size_t i, size_t *ret,
    struct ck_fail *fail)
{
	size_t list = t->index_at + KC_IXS_OFFSETS;
	ck_err r;

	if (i == t->ndefs) {
		*ret = t->size;
		return CK_OK;
	}
	r = kc_table_need(db, t, list + 4 * i, 4, fail);
	if (r != CK_OK)
		return r;
	*ret = kc_table_u32(db, t, list + 4 * i);
	if (*ret % 4 != 0 || *ret > t->size)
		return kc_damaged_in(db, t, fail,
		    "index %u is out of place", (unsigned int)t->defs[i].id);
	return CK_OK;
}

/* The header of an index against its definition. */
static ck_err
header_check(struct kc_db *db, const struct kc_table *t,
    const struct kc_index_view *ix, struct ck_fail *fail)
{
	const struct kc_index_def *def = ix->def;
	const uint8_t *p = kc_table_at(db, t, ix->at);
	bool same;

	same = ck_get_be32(p + KC_IX_ID) == def->id &&
	    ck_get_be32(p + KC_IX_UNIQUE) == (def->unique ? 1U : 0U) &&
	    ck_get_be32(p + KC_IX_KEYS) == def->nkeys;
	if (!same)
		return kc_damaged_in(db, t, fail,
		    "index %u is not as its description says",
		    (unsigned int)def->id);
	for (size_t k = 0; k < def->nkeys; k++)
		if (ck_get_be32(p + KC_IX_ATTRS + 4 * k) !=
		    t->rel.attrs[def->keys[k]].id)
			return kc_damaged_in(db, t, fail,
			    "index %u has other attributes than its "
			    "description says", (unsigned int)def->id);
	return CK_OK;
}

ck_err
kc_index_section(struct kc_db *db, const struct kc_table *t, size_t *ret,
    struct ck_fail *fail)
{
	ck_err r;

	r = kc_table_need(db, t, t->index_at, KC_IXS_OFFSETS, fail);
	if (r != CK_OK)
		return r;
	if (kc_table_u32(db, t, t->index_at + KC_IXS_SIZE) !=
	    t->size - t->index_at)
		return kc_damaged_in(db, t, fail,
		    "its indexes do not end where it ends");
	if (kc_table_u32(db, t, t->index_at + KC_IXS_COUNT) != t->ndefs)
		return kc_damaged_in(db, t, fail,
		    "it has %u indexes, %zu are described",
		    (unsigned int)kc_table_u32(db, t,
		    t->index_at + KC_IXS_COUNT), t->ndefs);
	*ret = t->index_at + KC_IXS_OFFSETS + 4 * t->ndefs;
	return CK_OK;
}

ck_err
kc_index_open(struct kc_db *db, const struct kc_table *t, size_t i,
    struct kc_index_view *ret, struct ck_fail *fail)
{
	struct kc_index_view ix = { 0 };
	size_t head, room, first;
	ck_err r;

	ix.def = &t->defs[i];
	if ((r = kc_index_section(db, t, &first, fail)) != CK_OK)
		return r;
	if ((r = index_place(db, t, i, &ix.at, fail)) != CK_OK)
		return r;
	if ((r = index_place(db, t, i + 1, &ix.end, fail)) != CK_OK)
		return r;
	head = KC_IX_ATTRS + 4 * ix.def->nkeys + 4;
	if (ix.at < first || ix.end < ix.at || ix.end - ix.at < head)
		return kc_damaged_in(db, t, fail, "index %u is too short",
		    (unsigned int)ix.def->id);
	if ((r = kc_table_need(db, t, ix.at, head, fail)) != CK_OK)
		return r;
	if ((r = header_check(db, t, &ix, fail)) != CK_OK)
		return r;
	room = ix.end - ix.at - head;
	ix.entries = kc_table_u32(db, t, ix.at + head - 4);
	if (kc_table_u32(db, t, ix.at + KC_IX_SIZE) != ix.end - ix.at ||
	    ix.entries > room / 8)
		return kc_damaged_in(db, t, fail,
		    "index %u has an impossible size",
		    (unsigned int)ix.def->id);
	ix.offsets_at = ix.at + head;
	ix.numbers_at = ix.offsets_at + 4 * (size_t)ix.entries;
	ix.keys_at = ix.numbers_at + 4 * (size_t)ix.entries;
	*ret = ix;
	return CK_OK;
}

ck_err
kc_index_entry(struct kc_db *db, const struct kc_table *t,
    const struct kc_index_view *ix, uint32_t i, struct kc_entry *ret,
    struct ck_fail *fail)
{
	size_t offset_at = ix->offsets_at + 4 * (size_t)i;
	size_t number_at = ix->numbers_at + 4 * (size_t)i;
	size_t at, n;
	ck_err r;

	if ((r = kc_table_need(db, t, offset_at, 4, fail)) != CK_OK)
		return r;
	if ((r = kc_table_need(db, t, number_at, 4, fail)) != CK_OK)
		return r;
	at = kc_table_u32(db, t, offset_at);
	if (at % 4 != 0 || at < ix->keys_at || at > ix->end ||
	    ix->end - at < 4)
		return kc_damaged_in(db, t, fail,
		    "index %u: key %u is out of place",
		    (unsigned int)ix->def->id, (unsigned int)i);
	if ((r = kc_table_need(db, t, at, 4, fail)) != CK_OK)
		return r;
	n = kc_table_u32(db, t, at);
	if (n % 4 != 0 || n > ix->end - at - 4)
		return kc_damaged_in(db, t, fail,
		    "index %u: key %u is too long",
		    (unsigned int)ix->def->id, (unsigned int)i);
	if ((r = kc_table_need(db, t, at + 4, n, fail)) != CK_OK)
		return r;
	ret->key = kc_table_at(db, t, at + 4);
	ret->n = (uint32_t)n;
	ret->number = kc_table_u32(db, t, number_at);
	return CK_OK;
}

bool
kc_key_take(uint32_t format, struct ck_span *rest, struct kc_value *ret)
{
	size_t used;

	if (!kc_value_take(format, *rest, ret, &used))
		return false;
	rest->p += used;
	rest->n -= used;
	return true;
}

/* Order of an entry's key against the first nkeys values. */
static ck_err
entry_compare(struct kc_db *db, const struct kc_table *t,
    const struct kc_index_view *ix, const struct kc_entry *e,
    const struct kc_value *keys, size_t nkeys, int *ret, struct ck_fail *fail)
{
	struct ck_span rest = { e->key, e->n };
	struct kc_value v;
	int c = 0;

	for (size_t k = 0; k < nkeys && c == 0; k++) {
		uint32_t format = t->rel.attrs[ix->def->keys[k]].format;

		if (!kc_key_take(format, &rest, &v))
			return kc_damaged_in(db, t, fail,
			    "index %u: a key is broken",
			    (unsigned int)ix->def->id);
		c = kc_value_compare(format, &v, &keys[k]);
	}
	*ret = c;
	return CK_OK;
}

/* The first entry that is not below keys; *ret_hit when it equals them. */
static ck_err
search(struct kc_db *db, const struct kc_table *t,
    const struct kc_index_view *ix, const struct kc_value *keys, size_t nkeys,
    bool *ret_hit, uint32_t *ret_number, struct ck_fail *fail)
{
	uint32_t low = 0, high = ix->entries, mid, number = 0;
	struct kc_entry e;
	bool hit = false;
	int c = 0;
	ck_err r;

	while (low < high) {
		mid = low + (high - low) / 2;
		r = kc_index_entry(db, t, ix, mid, &e, fail);
		if (r != CK_OK)
			return r;
		r = entry_compare(db, t, ix, &e, keys, nkeys, &c, fail);
		if (r != CK_OK)
			return r;
		if (c < 0) {
			low = mid + 1;
			continue;
		}
		/* The last equal entry met on the way left is the first. */
		if (c == 0) {
			hit = true;
			number = e.number;
		}
		high = mid;
	}
	if (hit && number >= t->slots)
		return kc_damaged_in(db, t, fail,
		    "index %u leads to record %u, which does not exist",
		    (unsigned int)ix->def->id, (unsigned int)number);
	*ret_hit = hit;
	if (hit)
		*ret_number = number;
	return CK_OK;
}

ck_err
kc_db_lookup(struct kc_db *db, uint32_t relation, uint32_t index,
    const struct kc_value *keys, size_t nkeys, bool *ret_hit,
    uint32_t *ret_number, struct ck_fail *fail)
{
	const struct kc_table *t = kc_table_find(db, relation);
	struct kc_index_view ix;
	size_t i = 0;
	ck_err r;

	while (t != NULL && i < t->ndefs && t->defs[i].id != index)
		i++;
	if (t == NULL || i == t->ndefs)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "table 0x%08x has no index %u", (unsigned int)relation,
		    (unsigned int)index);
	if (nkeys == 0 || nkeys > t->defs[i].nkeys)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "table 0x%08x: index %u has %zu attributes, not %zu",
		    (unsigned int)relation, (unsigned int)index,
		    t->defs[i].nkeys, nkeys);
	for (size_t k = 0; k < nkeys; k++) {
		uint32_t format = t->rel.attrs[t->defs[i].keys[k]].format;
		const char *no = keys[k].present ?
		    kc_value_refusal(format, &keys[k]) : "is missing";

		if (no != NULL)
			return ck_fail_set(fail, CK_USAGE, db->shown,
			    "the value to look for %s", no);
	}
	if ((r = kc_index_open(db, t, i, &ix, fail)) != CK_OK)
		return r;
	return search(db, t, &ix, keys, nkeys, ret_hit, ret_number, fail);
}

ck_err
kc_db_index_for(struct kc_db *db, uint32_t relation, const uint32_t *attrs,
    size_t n, uint32_t *ret, struct ck_fail *fail)
{
	const struct kc_table *t = kc_table_find(db, relation);
	size_t ndefs = t == NULL ? 0 : t->ndefs, k;

	for (size_t i = 0; i < ndefs; i++) {
		const struct kc_index_def *def = &t->defs[i];

		for (k = 0; k < n && k < def->nkeys; k++)
			if (t->rel.attrs[def->keys[k]].id != attrs[k])
				break;
		if (k == n) {
			*ret = def->id;
			return CK_OK;
		}
	}
	return ck_fail_set(fail, CK_ABSENT, db->shown,
	    "table 0x%08x has no index for that", (unsigned int)relation);
}
