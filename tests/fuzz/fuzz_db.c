/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table layer on arbitrary bytes.  Opening, reading, looking up and
 * verifying must stay within bounds; what verifies must be laid out again
 * byte for byte, and must verify again after a change.
 */
#include <stdlib.h>
#include <string.h>

#include "keychain/db.h"
#include "keychain/db_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
inside(const struct kc_db *db, struct ck_span s)
{
	must(s.n == 0 || (s.p >= db->src.p && s.n <= db->src.n &&
	    (size_t)(s.p - db->src.p) <= db->src.n - s.n));
}

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
			must(number < t->slots);
	}
}

static void
read_table(struct kc_db *db, const struct kc_table *t)
{
	struct kc_value values[KC_ATTRS_MAX];
	struct kc_record rec;
	uint32_t number = 0;
	ck_err r;

	while (number < t->slots) {
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

/* Take the first record of each table away and put another one in. */
static void
edit(struct kc_db *db)
{
	struct kc_value values[KC_ATTRS_MAX];
	struct kc_record rec;

	for (size_t i = 0; i < db->ntables; i++) {
		const struct kc_table *t = &db->tables[i];
		uint32_t number = 0;

		if (!t->known || t->id == KC_REL_DB_BLOB ||
		    kc_db_next(db, t->id, &number, &rec, NULL) != CK_OK ||
		    kc_db_values(db, &rec, values, NULL) != CK_OK)
			continue;
		(void)!kc_db_update(db, t->id, rec.number, values, rec.data,
		    NULL);
		(void)!kc_db_delete(db, t->id, rec.number, NULL);
		(void)!kc_db_insert(db, t->id, values, rec.data, NULL, NULL);
	}
}

static void
write_again(struct kc_db *db, const uint8_t *data, size_t size)
{
	struct ck_buf out = CK_BUF_INIT;
	struct kc_db *next = NULL;

	must(kc_db_serialise(db, true, &out, NULL) == CK_OK);
	must(out.n == size && memcmp(out.p, data, size) == 0);
	ck_buf_free(&out);
	edit(db);
	must(kc_db_serialise(db, false, &out, NULL) == CK_OK);
	must(kc_db_open_bytes(ck_buf_view(&out), "fuzz", &next, NULL) ==
	    CK_OK);
	must(kc_db_verify(next, NULL) == CK_OK);
	kc_db_free(&next);
	ck_buf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ck_span in = { data, size };
	struct kc_db *db = NULL;
	ck_err r;

	if (kc_db_open_bytes(in, "fuzz", &db, NULL) != CK_OK)
		return 0;
	for (size_t i = 0; i < db->ntables; i++)
		if (db->tables[i].known)
			read_table(db, &db->tables[i]);
	r = kc_db_verify(db, NULL);
	must(kc_db_begin(db, NULL) == r);
	if (r == CK_OK)
		write_again(db, data, size);
	kc_db_free(&db);
	return 0;
}
