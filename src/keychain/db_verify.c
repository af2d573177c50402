/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole file against its own rules (docs/keychain-format.md section 19,
 * items 1 to 19).  Opening has done the container, table headers and meta
 * rows; here every record, slot and index entry is looked at.  What passes is
 * laid out again byte for byte, so a write can lose nothing.
 */
#include "db_int.h"
#include "db_verify.h"

/* Names of attributes, formats, ids (item 15). */
static ck_err
check_relation(const struct kc_db *db, const struct kc_table *t,
    struct ck_fail *fail)
{
	const struct kc_relation *rel = &t->rel;

	for (size_t i = 0; i < rel->nattrs; i++) {
		const struct kc_attr *a = &rel->attrs[i];

		if (!kc_format_known(a->format))
			return kc_damaged_in(db, t, fail,
			    "attribute 0x%08x has format %u, which is not "
			    "known", (unsigned int)a->id,
			    (unsigned int)a->format);
		if (a->name_format == 0 && a->name.p == NULL)
			return kc_damaged_in(db, t, fail,
			    "attribute 0x%08x has no name",
			    (unsigned int)a->id);
		if (kc_relation_column(rel, a->id) != i)
			return kc_damaged_in(db, t, fail,
			    "attribute 0x%08x is there twice",
			    (unsigned int)a->id);
	}
	return CK_OK;
}

/* Every value of a record; together they must fit into it, so that none lies
 * upon another (items 13 and 14). */
static ck_err
check_values(const struct kc_db *db, const struct kc_table *t,
    const struct kc_record *rec, struct ck_fail *fail)
{
	size_t room = rec->raw.n - KC_REC_ATTRS - 4 * t->rel.nattrs;
	struct kc_value v;
	uint32_t count;
	size_t bytes;

	room -= (rec->data.n + 3) & ~(size_t)3;
	for (size_t i = 0; i < t->rel.nattrs; i++) {
		if (!kc_raw_value(&t->rel, rec->raw, i, &v, &count, &bytes))
			return kc_damaged_in(db, t, fail,
			    "attribute 0x%08x of record %u is broken",
			    (unsigned int)t->rel.attrs[i].id,
			    (unsigned int)rec->number);
		if (bytes > room)
			return kc_damaged_in(db, t, fail,
			    "values of record %u overlap",
			    (unsigned int)rec->number);
		room -= bytes;
	}
	return CK_OK;
}

/* Records one after the other, each one where its slot says (items 8, 9, 11
 * to 14).  Since no slot leads to two places, no record has two slots when
 * there are as many records as used slots. */
static ck_err
check_records(struct kc_db *db, const struct kc_table *t,
    struct ck_fail *fail)
{
	struct kc_scan scan;
	struct kc_record rec;
	size_t at;
	ck_err r;

	kc_scan_start(t, &scan);
	for (;;) {
		at = scan.at;
		r = kc_scan_next(db, t, &scan, &rec, fail);
		if (r != CK_OK)
			break;
		if (rec.number >= t->slots || kc_table_u32(db, t,
		    KC_TAB_SLOT + 4 * (size_t)rec.number) != at)
			return kc_damaged_in(db, t, fail,
			    "the record at 0x%zx is not where number %u leads",
			    at, (unsigned int)rec.number);
		if ((r = check_values(db, t, &rec, fail)) != CK_OK)
			return r;
	}
	if (r != CK_ABSENT)
		return r;
	if (scan.at != t->index_at)
		return kc_damaged_in(db, t, fail,
		    "%zu bytes between records and indexes",
		    t->index_at - scan.at);
	return CK_OK;
}

/*
 * The free list is the one every writer leaves: lowest number first, each
 * slot holding the head before it (section 3.2).  That rules out loops, links
 * into used slots and links to nowhere at once (item 10).
 */
static ck_err
check_slots(struct kc_db *db, const struct kc_table *t, struct ck_fail *fail)
{
	uint32_t head = 0, used = 0;

	for (uint32_t i = 0; i < t->slots; i++) {
		uint32_t at = KC_TAB_SLOT + 4 * i;
		uint32_t word = kc_table_u32(db, t, at);

		if (word != 0 && (word & 1) == 0) {
			used++;
			continue;
		}
		if (word != head)
			return kc_damaged_in(db, t, fail,
			    "the list of free numbers is broken at %u",
			    (unsigned int)i);
		head = at | 1;
	}
	if (head != t->free_head)
		return kc_damaged_in(db, t, fail,
		    "the list of free numbers starts at 0x%x, expected 0x%x",
		    (unsigned int)t->free_head, (unsigned int)head);
	if (used != t->records)
		return kc_damaged_in(db, t, fail,
		    "%u records but %u numbers in use",
		    (unsigned int)t->records, (unsigned int)used);
	return CK_OK;
}

static ck_err
check_table(struct kc_db *db, const struct kc_table *t, struct ck_fail *fail)
{
	ck_err r;

	if ((r = check_relation(db, t, fail)) != CK_OK)
		return r;
	if ((r = check_slots(db, t, fail)) != CK_OK)
		return r;
	if ((r = check_records(db, t, fail)) != CK_OK)
		return r;
	return kc_verify_indexes(db, t, fail);
}

ck_err
kc_db_verify(struct kc_db *db, struct ck_fail *fail)
{
	const struct kc_table *blob = kc_table_find(db, KC_REL_DB_BLOB);
	ck_err r;

	/* All of it in one go; nothing is read twice, so what was checked
	 * here is what a transaction works on. */
	if ((r = kc_src_need(&db->src, 0, db->src.n, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < db->ntables; i++) {
		/* What the file does not describe is only copied. */
		if (!db->tables[i].known)
			continue;
		r = check_table(db, &db->tables[i], fail);
		if (r != CK_OK)
			return r;
	}
	if (blob == NULL || !blob->known)
		return kc_damaged(db, fail, "the database blob is missing");
	if (blob->records != 1)
		return kc_damaged(db, fail,
		    "has %u database blobs instead of one",
		    (unsigned int)blob->records);
	return CK_OK;
}
