/* SPDX-License-Identifier: Apache-2.0 */
/* Items of one file into a new one with keys of its own; see keychain.h. */
#include "keychain/keychain.h"

#include <string.h>

#include "keychain/kc_int.h"

/* Tables that describe the file, or that every new file has by itself. */
static bool
is_own(uint32_t relation)
{
	return relation <= KC_REL_SCHEMA_PARSING ||
	    relation == KC_REL_DB_BLOB || relation == KC_REL_GENERIC;
}

/* One item: it has a key of its own, and no attribute has more than the one
 * value that is carried. */
static ck_err
item_can(struct kc *kc, const struct kc_record *item, struct ck_fail *fail)
{
	struct kc_record keyrec;
	ck_err r;

	if ((r = kc_db_single(kc->db, item, fail)) != CK_OK)
		return r;
	return kc_item_key(kc, item, &keyrec, fail);
}

/* Nothing lies in the tables that are not carried; the symmetric keys are
 * those of the items. */
static ck_err
others_empty(struct kc *kc, uint32_t items, struct ck_fail *fail)
{
	const struct kc_relation *rel;
	uint32_t n;
	ck_err r;

	for (size_t i = 0; i < kc_db_relation_count(kc->db); i++) {
		rel = kc_db_relation_at(kc->db, i);
		if (is_own(rel->id))
			continue;
		if ((r = kc_db_count(kc->db, rel->id, &n, fail)) != CK_OK)
			return r;
		if (n != (rel->id == KC_REL_SYMMETRIC_KEY ? items : 0))
			return ck_fail_set(fail, CK_UNSUPPORTED, kc->path,
			    "holds something else than generic passwords "
			    "(table 0x%08lx), which cannot be carried into a "
			    "new file", (unsigned long)rel->id);
	}
	return CK_OK;
}

ck_err
kc_can_carry(struct kc *kc, struct ck_fail *fail)
{
	struct kc_record item;
	uint32_t number = 0, items = 0;
	size_t keys;
	ck_err r;

	if ((r = kc_need_keys(kc, fail)) != CK_OK ||
	    (r = kc_verify(kc, &keys, fail)) != CK_OK)
		return r;
	if (kc->blob.version != KC_BLOB_V100 &&
	    kc->blob.version != KC_BLOB_V200)
		return ck_fail_set(fail, CK_UNSUPPORTED, kc->path,
		    "has blob version 0x%lx, which no new file is given",
		    (unsigned long)kc->blob.version);
	while ((r = kc_db_next(kc->db, KC_REL_GENERIC, &number, &item,
	    fail)) == CK_OK) {
		if ((r = item_can(kc, &item, fail)) != CK_OK)
			return r;
		items++;
	}
	return r == CK_ABSENT ? others_empty(kc, items, fail) : r;
}

/* Attribute by attribute the same columns: values can go from one file's
 * table into the other's as they are. */
static ck_err
same_columns(struct kc *from, struct kc *to, struct ck_fail *fail)
{
	const struct kc_relation *a, *b;
	bool same;

	a = kc_db_relation(from->db, KC_REL_GENERIC);
	b = kc_db_relation(to->db, KC_REL_GENERIC);
	same = a != NULL && b != NULL && a->nattrs == b->nattrs &&
	    a->nattrs <= KC_VALUES_MAX &&
	    from->blob.version == to->blob.version;
	for (size_t i = 0; same && i < a->nattrs; i++)
		same = a->attrs[i].id == b->attrs[i].id &&
		    a->attrs[i].format == b->attrs[i].format;
	if (same)
		return CK_OK;
	return ck_fail_set(fail, CK_UNSUPPORTED, from->path,
	    "has items of another form than new files have");
}

ck_err
kc_carry(struct kc *from, const struct kc_record *item, struct kc *to,
    struct ck_fail *fail)
{
	struct ck_secret secret = CK_SECRET_INIT, private_acl = CK_SECRET_INIT;
	struct kc_value values[KC_VALUES_MAX];
	struct kc_key_blob parsed;
	struct kc_record keyrec;
	ck_err r;

	if ((r = kc_need_keys(from, fail)) != CK_OK ||
	    (r = kc_need_keys(to, fail)) != CK_OK ||
	    (r = kc_need_write(to, fail)) != CK_OK ||
	    (r = same_columns(from, to, fail)) != CK_OK)
		return r;
	if ((r = kc_db_values(from->db, item, values, fail)) != CK_OK ||
	    (r = kc_item_key(from, item, &keyrec, fail)) != CK_OK ||
	    (r = kc_prove_key(from, item, &keyrec, &parsed, &private_acl,
	    fail)) != CK_OK ||
	    (r = kc_item_secret(from, item, &secret, fail)) != CK_OK)
		goto out;
	r = kc_put_item(to, values, parsed.public_acl, &private_acl, &secret,
	    fail);
out:
	ck_secret_wipe(&secret);
	ck_secret_wipe(&private_acl);
	return r;
}

/* The access list of an item's key, as it lies in the file. */
static ck_err
access_of(struct kc *kc, const struct kc_record *item, struct ck_span *ret,
    struct ck_fail *fail)
{
	struct kc_key_blob parsed;
	struct kc_record keyrec;
	ck_err r;

	if ((r = kc_item_key(kc, item, &keyrec, fail)) == CK_OK &&
	    (r = kc_key_blob_parse(keyrec.data, kc->path, &parsed,
	    fail)) == CK_OK)
		*ret = parsed.public_acl;
	return r;
}

static bool
same_values(const struct kc_value *a, const struct kc_value *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].present != b[i].present || a[i].word != b[i].word ||
		    !ck_span_equal(a[i].bytes, b[i].bytes))
			return false;
	return true;
}

/* x of a and y of b: everything but keys, labels and numbers. */
static ck_err
same_item(struct kc *a, const struct kc_record *x, struct kc *b,
    const struct kc_record *y, bool *ret, struct ck_fail *fail)
{
	const struct kc_relation *rel = kc_db_relation(a->db, KC_REL_GENERIC);
	struct ck_secret sx = CK_SECRET_INIT, sy = CK_SECRET_INIT;
	struct ck_span ax = CK_SPAN_NONE, ay = CK_SPAN_NONE;
	struct kc_value vx[KC_VALUES_MAX], vy[KC_VALUES_MAX];
	ck_err r;

	if ((r = kc_db_values(a->db, x, vx, fail)) != CK_OK ||
	    (r = kc_db_values(b->db, y, vy, fail)) != CK_OK)
		return r;
	if ((r = access_of(a, x, &ax, fail)) != CK_OK ||
	    (r = access_of(b, y, &ay, fail)) != CK_OK)
		return r;
	if ((r = kc_item_secret(a, x, &sx, fail)) == CK_OK &&
	    (r = kc_item_secret(b, y, &sy, fail)) == CK_OK)
		*ret = same_values(vx, vy, rel->nattrs) &&
		    ck_span_equal(ax, ay) && ck_secret_equal(&sx, &sy);
	ck_secret_wipe(&sx);
	ck_secret_wipe(&sy);
	return r;
}

/* Both files have their items in the same order: b was filled from a. */
ck_err
kc_same_items(struct kc *a, struct kc *b, struct ck_fail *fail)
{
	struct kc_record x, y;
	uint32_t at = 0, bt = 0;
	bool same = true;
	ck_err r, other;

	if ((r = same_columns(a, b, fail)) != CK_OK)
		return r;
	while (same) {
		r = kc_db_next(a->db, KC_REL_GENERIC, &at, &x, fail);
		other = kc_db_next(b->db, KC_REL_GENERIC, &bt, &y, fail);
		if (r == CK_ABSENT && other == CK_ABSENT)
			return CK_OK;
		if (r != CK_OK && r != CK_ABSENT)
			return r;
		if (other != CK_OK && other != CK_ABSENT)
			return other;
		same = r == other;
		if (same && (r = same_item(a, &x, b, &y, &same,
		    fail)) != CK_OK)
			return r;
	}
	return ck_fail_set(fail, CK_DAMAGED, b->path,
	    "does not give back the items that were written");
}
