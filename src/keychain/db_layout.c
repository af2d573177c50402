/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table and a file as they are written (docs/keychain-format.md sections 2,
 * 3.1, 3.2 and 6.1).
 */
#include <string.h>

#include "db_edit.h"

/* Write a word into what is already in the buffer. */
static void
patch(struct ck_buf *out, size_t at, size_t v)
{
	if (!out->failed)
		ck_put_be32(out->p + at, (uint32_t)v);
}

/* How many numbers the table keeps, section 3.2. */
static size_t
slot_count(const struct kc_table *t)
{
	const struct kc_edit *ed = t->edit;
	size_t old = t->slots == 0 ? 0 : (size_t)t->slots - 1;
	size_t ins = ed->nchanges;

	while (ins > 0 && ed->changes[ins - 1].rec == NULL)
		ins--;
	ins = ins == 0 ? 0 : ins - 1;
	/* Only a tail that went away just now is cut off. */
	while (old > ins && ed->changes[old].gone)
		old--;
	return (old > ins ? old : ins) + 1;
}

/* A record and its slot. */
static void
put_record(struct ck_buf *out, size_t start, uint32_t number, const void *p,
    size_t n)
{
	patch(out, start + KC_TAB_SLOT + 4 * (size_t)number, out->n - start);
	ck_buf_bytes(out, p, n);
}

/* What stayed keeps its order; what is new or changed follows by number. */
static ck_err
put_records(struct kc_db *db, const struct kc_table *t, struct ck_buf *out,
    size_t start, size_t *ret_count, struct ck_fail *fail)
{
	const struct kc_edit *ed = t->edit;
	struct kc_scan scan;
	struct kc_record rec;
	size_t count = 0;
	ck_err r;

	kc_scan_start(t, &scan);
	while ((r = kc_scan_next(db, t, &scan, &rec, fail)) == CK_OK) {
		if (rec.number >= t->slots)
			return kc_damaged_in(db, t, fail,
			    "a record has a number it cannot have");
		if (ed->changes[rec.number].gone)
			continue;
		put_record(out, start, rec.number, rec.raw.p, rec.raw.n);
		count++;
	}
	if (r != CK_ABSENT)
		return r;
	for (size_t i = 0; i < ed->nchanges; i++) {
		if (ed->changes[i].rec == NULL)
			continue;
		put_record(out, start, (uint32_t)i, ed->changes[i].rec,
		    ed->changes[i].n);
		count++;
	}
	*ret_count = count;
	return CK_OK;
}

/* Chain the slots nobody uses, so that the highest is handed out first. */
static size_t
put_free_list(struct ck_buf *out, size_t start, size_t slots)
{
	size_t head = 0;

	for (size_t i = 0; i < slots && !out->failed; i++) {
		size_t at = KC_TAB_SLOT + 4 * i;

		if (ck_get_be32(out->p + start + at) != 0)
			continue;
		patch(out, start + at, head);
		head = at | 1;
	}
	return head;
}

static void
put_index(const struct kc_table *t, size_t i, struct ck_buf *out,
    size_t start)
{
	const struct kc_index_def *def = &t->defs[i];
	const struct kc_run *run = &t->edit->indexes[i].main;
	size_t at = out->n, count_at, key_at, live = 0;

	ck_buf_u32(out, 0);
	ck_buf_u32(out, def->id);
	ck_buf_u32(out, def->unique ? 1 : 0);
	ck_buf_u32(out, (uint32_t)def->nkeys);
	for (size_t k = 0; k < def->nkeys; k++)
		ck_buf_u32(out, t->rel.attrs[def->keys[k]].id);
	for (size_t n = 0; n < run->n; n++)
		live += kc_edit_live(t->edit, &run->e[n]);
	count_at = out->n;
	key_at = count_at + 4 + 8 * live - start;
	ck_buf_u32(out, (uint32_t)live);
	for (size_t n = 0; n < run->n; n++) {
		if (!kc_edit_live(t->edit, &run->e[n]))
			continue;
		ck_buf_u32(out, (uint32_t)key_at);
		key_at += 4 + run->e[n].n;
	}
	for (size_t n = 0; n < run->n; n++)
		if (kc_edit_live(t->edit, &run->e[n]))
			ck_buf_u32(out, run->e[n].number & ~KC_FRESH);
	for (size_t n = 0; n < run->n; n++) {
		if (!kc_edit_live(t->edit, &run->e[n]))
			continue;
		ck_buf_u32(out, run->e[n].n);
		ck_buf_bytes(out, run->e[n].key, run->e[n].n);
	}
	patch(out, at + KC_IX_SIZE, out->n - at);
}

static void
put_indexes(const struct kc_table *t, struct ck_buf *out, size_t start)
{
	size_t at = out->n;

	ck_buf_u32(out, 0);
	ck_buf_u32(out, (uint32_t)t->ndefs);
	ck_buf_zeros(out, 4 * t->ndefs);
	for (size_t i = 0; i < t->ndefs; i++) {
		patch(out, at + KC_IXS_OFFSETS + 4 * i, out->n - start);
		put_index(t, i, out, start);
	}
	patch(out, at + KC_IXS_SIZE, out->n - at);
}

ck_err
kc_layout_table(struct kc_db *db, struct kc_table *t, struct ck_buf *out,
    struct ck_fail *fail)
{
	size_t start = out->n, slots, count = 0, index_at, head;
	ck_err r;

	if ((r = kc_edit_open(db, t, fail)) != CK_OK)
		return r;
	if ((r = kc_edit_settle(db, t, fail)) != CK_OK)
		return r;
	slots = slot_count(t);
	ck_buf_zeros(out, KC_TAB_SLOT + 4 * slots);
	if ((r = put_records(db, t, out, start, &count, fail)) != CK_OK)
		return r;
	head = put_free_list(out, start, slots);
	index_at = out->n - start;
	put_indexes(t, out, start);
	patch(out, start + KC_TAB_SIZE, out->n - start);
	patch(out, start + KC_TAB_ID, t->id);
	patch(out, start + KC_TAB_RECORDS, count);
	patch(out, start + KC_TAB_RECORDS_AT, KC_TAB_SLOT + 4 * slots);
	patch(out, start + KC_TAB_INDEX_AT, index_at);
	patch(out, start + KC_TAB_FREE, head);
	patch(out, start + KC_TAB_SLOTS, slots);
	return ck_buf_ok(out) == CK_OK ? CK_OK : kc_nomem(db, fail);
}

/* The 20 bytes in front: what the file had, or those of a new one. */
static ck_err
put_header(struct kc_db *db, struct ck_buf *out, struct ck_fail *fail)
{
	ck_err r;

	if (db->src.n > 0) {
		r = kc_src_need(&db->src, 0, KC_SCHEMA_AT, fail);
		if (r == CK_OK)
			ck_buf_bytes(out, db->src.p, KC_SCHEMA_AT);
		return r;
	}
	ck_buf_u32(out, KC_MAGIC);
	ck_buf_u32(out, KC_VERSION);
	ck_buf_u32(out, KC_AUTH_AT);
	ck_buf_u32(out, KC_SCHEMA_AT);
	ck_buf_u32(out, 0);
	return CK_OK;
}

static ck_err
put_table(struct kc_db *db, struct kc_table *t, bool all, struct ck_buf *out,
    struct ck_fail *fail)
{
	ck_err r;

	if (t->known && (all || t->edit != NULL))
		return kc_layout_table(db, t, out, fail);
	if ((r = kc_table_need(db, t, 0, t->size, fail)) != CK_OK)
		return r;
	ck_buf_bytes(out, kc_table_at(db, t, 0), t->size);
	return CK_OK;
}

ck_err
kc_layout_file(struct kc_db *db, bool all, uint32_t commit,
    struct ck_buf *out, struct ck_fail *fail)
{
	size_t schema = KC_SCHEMA_AT;
	ck_err r;

	ck_buf_reserve(out, db->src.n);
	if ((r = put_header(db, out, fail)) != CK_OK)
		return r;
	ck_buf_u32(out, 0);
	ck_buf_u32(out, (uint32_t)db->ntables);
	ck_buf_zeros(out, 4 * db->ntables);
	for (size_t i = 0; i < db->ntables; i++) {
		patch(out, schema + KC_SCHEMA_TABLES + 4 * i,
		    out->n - schema);
		r = put_table(db, &db->tables[i], all, out, fail);
		if (r != CK_OK)
			return r;
		if (out->n > KC_FILE_MAX)
			break;
	}
	if (out->n > KC_FILE_MAX - 4)
		return ck_fail_set(fail, CK_REFUSED, db->shown,
		    "would become larger than the %zu bytes allowed",
		    KC_FILE_MAX);
	patch(out, schema + KC_SCHEMA_SIZE, out->n - schema);
	ck_buf_u32(out, commit);
	return ck_buf_ok(out) == CK_OK ? CK_OK : kc_nomem(db, fail);
}
