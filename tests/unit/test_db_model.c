/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random transactions on one table against a model that follows sections 3
 * and 6 of the format in the most naive way: plain lists, linear searches.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help_db.h"
#include "keychain/db.h"
#include "keychain/db_int.h"

#define MOST 1024          /* record numbers */
#define COMMITS 120
#define OPS_MAX 60
#define INDEXES 3          /* (acct, svce), acct, svce */
#define FREE 0xffffffffU

struct item {
	bool live;
	char account[4], service[4];
	size_t na, ns;
	uint32_t created, version;
};

struct list {
	uint32_t e[MOST];
	size_t n;
};

struct model {
	struct item items[MOST];
	struct list physical;
	struct list index[INDEXES];
	struct list free;            /* handed out from the end */
	size_t slots, next;
	bool gone[MOST], put[MOST];  /* in this transaction */
	uint32_t commit;
	size_t clashes;
};

static uint32_t seed;

static uint32_t
rnd(uint32_t below)
{
	seed = seed * 1664525U + 1013904223U;
	return (seed >> 8) % below;
}

/* Short, often equal, with NUL and high bytes, sometimes a prefix. */
static size_t
random_text(char *p)
{
	static const char letters[4] = { 'a', 'b', '\0', '\xe4' };
	size_t n = rnd(4);

	for (size_t i = 0; i < n; i++)
		p[i] = letters[rnd(4)];
	return n;
}

static int
compare_text(const char *a, size_t na, const char *b, size_t nb)
{
	int c = memcmp(a, b, na < nb ? na : nb);

	if (c != 0)
		return c;
	return na < nb ? -1 : na > nb;
}

static int
compare(const struct item *a, const struct item *b, size_t index)
{
	int c = 0;

	if (index != 2)
		c = compare_text(a->account, a->na, b->account, b->na);
	if (c == 0 && index != 1)
		c = compare_text(a->service, a->ns, b->service, b->ns);
	return c;
}

static void
list_remove(struct list *l, uint32_t number)
{
	size_t to = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->e[i] != number)
			l->e[to++] = l->e[i];
	l->n = to;
}

static void
list_put(struct list *l, size_t at, uint32_t number)
{
	assert_true(l->n < MOST);
	memmove(&l->e[at + 1], &l->e[at], (l->n - at) * sizeof(l->e[0]));
	l->e[at] = number;
	l->n++;
}

static void
index_add(struct model *m, uint32_t number)
{
	for (size_t i = 0; i < INDEXES; i++) {
		size_t at = 0;

		while (at < m->index[i].n &&
		    compare(&m->items[m->index[i].e[at]], &m->items[number],
		    i) <= 0)
			at++;
		list_put(&m->index[i], at, number);
	}
}

static void
index_drop(struct model *m, uint32_t number)
{
	for (size_t i = 0; i < INDEXES; i++)
		list_remove(&m->index[i], number);
}

/* Another live record with the key of it? */
static bool
taken(const struct model *m, const struct item *it, uint32_t but)
{
	for (uint32_t i = 0; i < MOST; i++)
		if (i != but && m->items[i].live &&
		    compare(&m->items[i], it, 0) == 0)
			return true;
	return false;
}

static void
fill(const struct kc_relation *rel, const struct item *it,
    struct kc_value *ret)
{
	help_db_generic(rel, "", "", ret);
	ret[kc_relation_column(rel, KC_ATTR_ACCOUNT)] =
	    help_bytes(it->account, it->na);
	ret[kc_relation_column(rel, KC_ATTR_SERVICE)] =
	    help_bytes(it->service, it->ns);
}

static void
op_insert(struct kc_db *db, struct model *m)
{
	const struct kc_relation *rel = kc_db_relation(db, KC_REL_GENERIC);
	struct item it = { true, "", "", 0, 0, m->commit + 1, 0 };
	struct kc_value values[32];
	uint32_t number, got = FREE;
	struct ck_span data = { (const uint8_t *)"data", rnd(5) };
	ck_err r;

	it.na = random_text(it.account);
	it.ns = random_text(it.service);
	fill(rel, &it, values);
	r = kc_db_insert(db, KC_REL_GENERIC, values, data, &got, NULL);
	if (m->free.n > 0)
		number = m->free.e[--m->free.n];
	else
		number = (uint32_t)m->next++;
	assert_true(number < MOST);
	if (taken(m, &it, FREE)) {
		assert_int_equal(r, CK_REFUSED);
		assert_int_equal(got, FREE);
		m->clashes++;
		return;
	}
	assert_int_equal(r, CK_OK);
	assert_int_equal(got, number);
	m->items[number] = it;
	m->put[number] = true;
	index_add(m, number);
}

static void
op_update(struct kc_db *db, struct model *m)
{
	const struct kc_relation *rel = kc_db_relation(db, KC_REL_GENERIC);
	uint32_t number = rnd((uint32_t)m->next);
	struct item it = m->items[number];
	struct kc_value values[32];
	struct ck_span data = { (const uint8_t *)"data", rnd(5) };
	ck_err r;

	it.na = random_text(it.account);
	if (rnd(2) == 0)
		it.ns = random_text(it.service);
	it.version++;
	fill(rel, &it, values);
	r = kc_db_update(db, KC_REL_GENERIC, number, values, data, NULL);
	if (!it.live) {
		assert_int_equal(r, CK_ABSENT);
		return;
	}
	index_drop(m, number);
	if (taken(m, &it, number)) {
		assert_int_equal(r, CK_REFUSED);
		index_add(m, number);
		m->clashes++;
		return;
	}
	assert_int_equal(r, CK_OK);
	m->items[number] = it;
	/* A record of this transaction was never in the file. */
	if (!m->put[number])
		m->gone[number] = true;
	m->put[number] = true;
	index_add(m, number);
}

static void
op_delete(struct kc_db *db, struct model *m)
{
	uint32_t number = rnd((uint32_t)m->next);
	ck_err r;

	r = kc_db_delete(db, KC_REL_GENERIC, number, NULL);
	if (!m->items[number].live) {
		assert_int_equal(r, CK_ABSENT);
		return;
	}
	assert_int_equal(r, CK_OK);
	if (!m->put[number])
		m->gone[number] = true;
	m->put[number] = false;
	m->items[number].live = false;
	index_drop(m, number);
}

/* Sections 3.1 and 3.2. */
static void
model_commit(struct model *m)
{
	size_t old = m->slots - 1, ins = 0, to = 0, n = MOST;

	for (size_t i = 0; i < m->physical.n; i++)
		if (!m->gone[m->physical.e[i]])
			m->physical.e[to++] = m->physical.e[i];
	m->physical.n = to;
	for (uint32_t i = 0; i < MOST; i++) {
		if (!m->put[i])
			continue;
		ins = i;
		list_put(&m->physical, m->physical.n, i);
	}
	while (n-- > 0) {
		if (!m->gone[n])
			continue;
		if (n != old || old <= ins)
			break;
		old--;
	}
	m->slots = (old > ins ? old : ins) + 1;
	m->next = m->slots;
	m->free.n = 0;
	for (uint32_t i = 0; i < m->slots; i++)
		if (!m->items[i].live)
			list_put(&m->free, m->free.n, i);
	memset(m->gone, 0, sizeof(m->gone));
	memset(m->put, 0, sizeof(m->put));
	m->commit++;
}

static void
check_index(struct kc_db *db, const struct kc_table *t,
    const struct model *m, size_t i)
{
	struct kc_index_view ix;
	struct kc_entry e;

	HELP_OK(kc_index_open(db, t, i, &ix, &fail));
	assert_int_equal(ix.entries, m->index[i].n);
	for (uint32_t n = 0; n < ix.entries; n++) {
		HELP_OK(kc_index_entry(db, t, &ix, n, &e, &fail));
		assert_int_equal(e.number, m->index[i].e[n]);
	}
}

/* The first of the entries that equal the item must be found. */
static void
check_lookups(struct kc_db *db, const struct kc_table *t,
    const struct model *m, const struct item *it)
{
	struct kc_value both[2] = { help_bytes(it->account, it->na),
	    help_bytes(it->service, it->ns) };
	const struct kc_value *keys[INDEXES] = { both, both, both + 1 };
	static const size_t nkeys[INDEXES] = { 2, 1, 1 };

	for (size_t i = 0; i < INDEXES; i++) {
		uint32_t number = FREE;
		size_t at = 0;
		bool hit = false;

		while (compare(&m->items[m->index[i].e[at]], it, i) != 0)
			at++;
		HELP_OK(kc_db_lookup(db, t->id, t->defs[i].id, keys[i],
		    nkeys[i], &hit, &number, &fail));
		assert_true(hit);
		assert_int_equal(number, m->index[i].e[at]);
	}
}

static void
check(struct kc_db *db, const struct model *m)
{
	const struct kc_table *t = kc_table_find(db, KC_REL_GENERIC);
	struct kc_scan scan;
	struct kc_record rec;

	HELP_OK(kc_db_verify(db, &fail));
	assert_int_equal(kc_db_commit(db), m->commit);
	assert_int_equal(t->slots, m->slots);
	assert_int_equal(t->records, m->physical.n);
	assert_int_equal(t->free_head, m->free.n == 0 ? 0 :
	    (28 + 4 * m->free.e[m->free.n - 1]) | 1);
	kc_scan_start(t, &scan);
	for (size_t i = 0; i < m->physical.n; i++) {
		const struct item *it = &m->items[m->physical.e[i]];
		struct kc_value a, s;

		HELP_OK(kc_scan_next(db, t, &scan, &rec, &fail));
		assert_int_equal(rec.number, m->physical.e[i]);
		assert_int_equal(rec.created, it->created);
		assert_int_equal(rec.version, it->version);
		HELP_OK(kc_db_value(db, &rec, KC_ATTR_ACCOUNT, &a, &fail));
		HELP_OK(kc_db_value(db, &rec, KC_ATTR_SERVICE, &s, &fail));
		assert_int_equal(a.bytes.n, it->na);
		assert_memory_equal(a.bytes.p, it->account, it->na);
		assert_int_equal(s.bytes.n, it->ns);
		assert_memory_equal(s.bytes.p, it->service, it->ns);
		check_lookups(db, t, m, it);
	}
	for (size_t i = 0; i < INDEXES; i++)
		check_index(db, t, m, i);
}

static void
run(uint32_t start, bool growing)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ck_buf file = CK_BUF_INIT, out = CK_BUF_INIT;
	struct kc_db *db;

	assert_non_null(m);
	seed = start;
	help_new_file(168, &file);
	*m = (struct model){ .slots = 1, .next = 1, .commit = 1,
	    .free = { { 0 }, 1 } };
	for (size_t c = 0; c < COMMITS; c++) {
		uint32_t ops = 1 + rnd(OPS_MAX);

		db = help_db_open(ck_buf_view(&file));
		HELP_OK(kc_db_begin(db, &fail));
		/* One success at least, or the counter stays. */
		do {
			op_insert(db, m);
		} while (!db->changed);
		for (uint32_t i = 0; i < ops; i++) {
			uint32_t dice = rnd(10);

			if (dice < (growing ? 6 : 4))
				op_insert(db, m);
			else if (dice < 7)
				op_update(db, m);
			else
				op_delete(db, m);
		}
		help_serialise(db, &out);
		kc_db_free(&db);
		model_commit(m);
		ck_buf_free(&file);
		file = out;
		out = (struct ck_buf)CK_BUF_INIT;
		db = help_db_open(ck_buf_view(&file));
		check(db, m);
		kc_db_free(&db);
	}
	/* A run in which nothing was refused has tested too little. */
	assert_true(m->clashes > 20);
	ck_buf_free(&file);
	free(m);
}

static void
random_transactions_agree_with_the_model(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 4; i++)
		run(i * 7919, i % 2 == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_transactions_agree_with_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
