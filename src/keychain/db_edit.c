/* SPDX-License-Identifier: Apache-2.0 */
/* The changes of a transaction to one table; see db_edit.h. */
#include "db_edit.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)1 << 18)
/* With some hundred thousand records, moving half of the short run at each
 * insert costs about as much as merging it every PEND_MAX inserts. */
#define PEND_MAX ((size_t)512)

struct kc_chunk {
	struct kc_chunk *before;
	uint8_t bytes[];
};

uint8_t *
kc_arena_take(struct kc_arena *a, size_t n)
{
	struct kc_chunk *c;
	uint8_t *p;

	if (a->last == NULL || n > a->room - a->used) {
		size_t room = n > CHUNK ? n : CHUNK;

		c = malloc(sizeof(*c) + room);
		if (c == NULL)
			return NULL;
		c->before = a->last;
		a->last = c;
		a->room = room;
		a->used = 0;
	}
	p = a->last->bytes + a->used;
	a->used += n;
	a->total += n + 16;
	return p;
}

void
kc_arena_free(struct kc_arena *a)
{
	struct kc_chunk *before;

	for (; a->last != NULL; a->last = before) {
		before = a->last->before;
		free(a->last);
	}
	*a = (struct kc_arena){ NULL, 0, 0, 0 };
}

/* Room for n more; false when out of memory, the run as it was. */
static bool
run_grow(struct kc_run *run, size_t n)
{
	size_t room = run->room < 16 ? 16 : run->room;
	struct kc_entry *e;

	if (n <= run->room - run->n)
		return true;
	while (room - run->n < n)
		room *= 2;
	e = realloc(run->e, room * sizeof(*e));
	if (e == NULL)
		return false;
	run->e = e;
	run->room = room;
	return true;
}

static ck_err
load_index(struct kc_db *db, const struct kc_table *t, size_t i,
    struct kc_index_edit *ed, struct ck_fail *fail)
{
	struct kc_index_view ix;
	ck_err r;

	if (!run_grow(&ed->pend, PEND_MAX))
		return kc_nomem(db, fail);
	if (t->slots == 0)
		return CK_OK;
	if ((r = kc_index_open(db, t, i, &ix, fail)) != CK_OK)
		return r;
	if (!run_grow(&ed->main, ix.entries))
		return kc_nomem(db, fail);
	for (uint32_t n = 0; n < ix.entries; n++) {
		r = kc_index_entry(db, t, &ix, n, &ed->main.e[n], fail);
		if (r != CK_OK)
			return r;
		/* Verified, but the number leads into an array here. */
		if (ed->main.e[n].number >= t->slots)
			return kc_damaged_in(db, t, fail,
			    "index %u leads nowhere",
			    (unsigned int)t->defs[i].id);
	}
	ed->main.n = ix.entries;
	return CK_OK;
}

ck_err
kc_edit_open(struct kc_db *db, struct kc_table *t, struct ck_fail *fail)
{
	struct kc_edit *ed;
	ck_err r = CK_OK;

	if (t->edit != NULL)
		return CK_OK;
	if ((ed = calloc(1, sizeof(*ed))) == NULL)
		return kc_nomem(db, fail);
	t->edit = ed;
	ed->nchanges = t->slots;
	ed->room = (size_t)t->slots + 16;
	ed->free_next = t->free_head;
	ed->changes = calloc(ed->room, sizeof(*ed->changes));
	ed->indexes = calloc(t->ndefs + 1, sizeof(*ed->indexes));
	if (ed->changes == NULL || ed->indexes == NULL)
		r = kc_nomem(db, fail);
	for (size_t i = 0; r == CK_OK && i < t->ndefs; i++)
		r = load_index(db, t, i, &ed->indexes[i], fail);
	if (r != CK_OK)
		kc_edit_free(t);
	return r;
}

void
kc_edit_free(struct kc_table *t)
{
	struct kc_edit *ed = t->edit;

	if (ed == NULL)
		return;
	for (size_t i = 0; ed->indexes != NULL && i < t->ndefs; i++) {
		free(ed->indexes[i].main.e);
		free(ed->indexes[i].pend.e);
	}
	free(ed->indexes);
	free(ed->changes);
	free(ed);
	t->edit = NULL;
}

struct ck_span
kc_edit_record(const struct kc_db *db, const struct kc_table *t,
    uint32_t number)
{
	const struct kc_change *c;
	struct ck_span raw = CK_SPAN_NONE;
	uint32_t word;

	if (number >= t->edit->nchanges)
		return raw;
	c = &t->edit->changes[number];
	if (c->rec != NULL)
		return (struct ck_span){ c->rec, c->n };
	if (c->gone || number >= t->slots)
		return raw;
	word = kc_table_u32(db, t, KC_TAB_SLOT + 4 * (size_t)number);
	if (word == 0 || (word & 1) != 0)
		return raw;
	raw.p = kc_table_at(db, t, word);
	raw.n = ck_get_be32(raw.p + KC_REC_SIZE);
	return raw;
}

uint32_t
kc_edit_number(struct kc_db *db, struct kc_table *t)
{
	struct kc_edit *ed = t->edit;
	uint32_t number;

	if (ed->free_next == 0)
		return (uint32_t)ed->nchanges++;
	number = ((ed->free_next ^ 1) - KC_TAB_SLOT) / 4;
	ed->free_next = kc_table_u32(db, t, ed->free_next ^ 1);
	return number;
}

ck_err
kc_edit_keys(struct kc_db *db, const struct kc_table *t,
    const struct kc_value *values, struct kc_keys_of *ret,
    struct ck_fail *fail)
{
	struct ck_buf buf = CK_BUF_INIT;
	ck_err r = CK_OK;

	for (size_t i = 0; r == CK_OK && i < t->ndefs; i++) {
		const struct kc_index_def *def = &t->defs[i];
		size_t k = 0;
		uint8_t *p;

		ret->key[i] = (struct ck_span)CK_SPAN_NONE;
		buf.n = 0;
		while (k < def->nkeys && values[def->keys[k]].present) {
			kc_value_put(t->rel.attrs[def->keys[k]].format,
			    &values[def->keys[k]], &buf);
			k++;
		}
		if (k < def->nkeys)
			continue;
		p = buf.failed ? NULL : kc_arena_take(&db->arena, buf.n);
		if (p == NULL) {
			r = kc_nomem(db, fail);
			break;
		}
		if (buf.n > 0)
			memcpy(p, buf.p, buf.n);
		ret->key[i] = (struct ck_span){ p, buf.n };
	}
	ck_buf_free(&buf);
	return r;
}

bool
kc_edit_live(const struct kc_edit *ed, const struct kc_entry *e)
{
	return (e->number & KC_FRESH) != 0 || !ed->changes[e->number].stale;
}

/* Order of two keys of one index, both known to be well-formed. */
static int
order(const struct kc_table *t, const struct kc_index_def *def,
    struct ck_span a, struct ck_span b)
{
	struct kc_value va, vb;
	int c = 0;

	for (size_t k = 0; k < def->nkeys && c == 0; k++) {
		uint32_t format = t->rel.attrs[def->keys[k]].format;

		if (!kc_key_take(format, &a, &va) ||
		    !kc_key_take(format, &b, &vb))
			break;
		c = kc_value_compare(format, &va, &vb);
	}
	return c;
}

static int
order_at(const struct kc_table *t, size_t i, const struct kc_run *run,
    size_t at, struct ck_span key)
{
	struct ck_span have = { run->e[at].key, run->e[at].n };

	return order(t, &t->defs[i], have, key);
}

/* Where the first entry is that is above key (behind all equal ones), or with
 * after false the first that is not below it. */
static size_t
bound(const struct kc_table *t, size_t i, const struct kc_run *run,
    struct ck_span key, bool after)
{
	size_t low = 0, high = run->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = order_at(t, i, run, mid, key);

		if (c < 0 || (after && c == 0))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Does the run hold the key in an entry that counts? */
static bool
holds(const struct kc_table *t, size_t i, const struct kc_run *run,
    struct ck_span key)
{
	for (size_t at = bound(t, i, run, key, false); at < run->n; at++) {
		if (order_at(t, i, run, at, key) != 0)
			return false;
		if (kc_edit_live(t->edit, &run->e[at]))
			return true;
	}
	return false;
}

bool
kc_edit_clash(const struct kc_table *t, const struct kc_keys_of *keys,
    uint32_t *ret_index)
{
	for (size_t i = 0; i < t->ndefs; i++) {
		const struct kc_index_edit *ix = &t->edit->indexes[i];

		if (!t->defs[i].unique || keys->key[i].p == NULL)
			continue;
		if (!holds(t, i, &ix->main, keys->key[i]) &&
		    !holds(t, i, &ix->pend, keys->key[i]))
			continue;
		*ret_index = t->defs[i].id;
		return true;
	}
	return false;
}

/*
 * Merge the short run into the large one, from the back and in place, with a
 * search for each short entry: comparing costs more than moving.  Among equals
 * the large run's come first: they are older.
 */
static bool
merge(const struct kc_table *t, size_t i, struct kc_index_edit *ix)
{
	struct kc_run *main = &ix->main, *pend = &ix->pend;
	size_t total = main->n + pend->n, at;

	if (!run_grow(main, pend->n))
		return false;
	for (; pend->n > 0; pend->n--) {
		const struct kc_entry *e = &pend->e[pend->n - 1];
		struct ck_span key = { e->key, e->n };

		/* main->n is what of the large run is still unmoved. */
		at = bound(t, i, main, key, true);
		memmove(&main->e[at + pend->n], &main->e[at],
		    (main->n - at) * sizeof(*main->e));
		main->n = at;
		main->e[at + pend->n - 1] = *e;
	}
	main->n = total;
	return true;
}

ck_err
kc_edit_reserve(struct kc_db *db, struct kc_table *t, struct ck_fail *fail)
{
	struct kc_edit *ed = t->edit;

	if (ed->nchanges == ed->room) {
		size_t room = ed->room * 2;
		struct kc_change *c = realloc(ed->changes,
		    room * sizeof(*c));

		if (c == NULL)
			return kc_nomem(db, fail);
		memset(c + ed->room, 0, (room - ed->room) * sizeof(*c));
		ed->changes = c;
		ed->room = room;
	}
	for (size_t i = 0; i < t->ndefs; i++) {
		struct kc_index_edit *ix = &ed->indexes[i];

		if (ix->pend.n == PEND_MAX && !merge(t, i, ix))
			return kc_nomem(db, fail);
		if (!run_grow(&ix->main, 1))
			return kc_nomem(db, fail);
	}
	return CK_OK;
}

static void
insert_at(struct kc_run *run, size_t at, struct ck_span key, uint32_t number)
{
	memmove(&run->e[at + 1], &run->e[at],
	    (run->n - at) * sizeof(*run->e));
	run->e[at] = (struct kc_entry){ key.p, (uint32_t)key.n,
	    number | KC_FRESH };
	run->n++;
}

void
kc_edit_add(struct kc_table *t, const struct kc_keys_of *keys,
    uint32_t number)
{
	for (size_t i = 0; i < t->ndefs; i++) {
		struct kc_index_edit *ix = &t->edit->indexes[i];
		struct ck_span key = keys->key[i];

		if (key.p == NULL)
			continue;
		/* What belongs at the very end needs no merge later; most
		 * indexes of a key table hold one value only. */
		if (ix->pend.n == 0 && (ix->main.n == 0 || order_at(t, i,
		    &ix->main, ix->main.n - 1, key) <= 0))
			insert_at(&ix->main, ix->main.n, key, number);
		else
			insert_at(&ix->pend,
			    bound(t, i, &ix->pend, key, true), key, number);
	}
	t->edit->changes[number].fresh = true;
}

/* Take the fresh entry of number out of the run's entries that equal key. */
static bool
remove_from(const struct kc_table *t, size_t i, struct kc_run *run,
    struct ck_span key, uint32_t number)
{
	size_t at = bound(t, i, run, key, false);
	size_t end = bound(t, i, run, key, true);

	while (at < end && run->e[at].number != (number | KC_FRESH))
		at++;
	if (at == end)
		return false;
	memmove(&run->e[at], &run->e[at + 1],
	    (run->n - at - 1) * sizeof(*run->e));
	run->n--;
	return true;
}

void
kc_edit_drop(struct kc_table *t, const struct kc_keys_of *keys,
    uint32_t number)
{
	struct kc_change *c = &t->edit->changes[number];

	c->stale = true;
	if (!c->fresh)
		return;
	for (size_t i = 0; i < t->ndefs; i++) {
		struct kc_index_edit *ix = &t->edit->indexes[i];

		if (keys->key[i].p == NULL)
			continue;
		if (!remove_from(t, i, &ix->pend, keys->key[i], number))
			(void)remove_from(t, i, &ix->main, keys->key[i],
			    number);
	}
	c->fresh = false;
}

ck_err
kc_edit_settle(struct kc_db *db, struct kc_table *t, struct ck_fail *fail)
{
	for (size_t i = 0; i < t->ndefs; i++)
		if (!merge(t, i, &t->edit->indexes[i]))
			return kc_nomem(db, fail);
	return CK_OK;
}
