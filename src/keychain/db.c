/* SPDX-License-Identifier: Apache-2.0 */
/* The keychain object: opening, the array of tables, relations; see db.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "db_edit.h"
#include "db_int.h"

static const char sqlite_magic[] = "SQLite format 3";  /* its NUL counts */

void
kc_damaged_note(const struct kc_db *db, struct ck_fail *fail, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	ck_fail_note(fail, CK_DAMAGED, db->shown, "%s", why);
}

void
kc_damaged_in_note(const struct kc_db *db, const struct kc_table *t,
    struct ck_fail *fail, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	ck_fail_note(fail, CK_DAMAGED, db->shown, "table 0x%08x: %s",
	    (unsigned int)t->id, why);
}

const uint8_t *
kc_table_at(const struct kc_db *db, const struct kc_table *t, size_t at)
{
	return db->src.p + t->at + at;
}

uint32_t
kc_table_u32(const struct kc_db *db, const struct kc_table *t, size_t at)
{
	return ck_get_be32(kc_table_at(db, t, at));
}

ck_err
kc_table_need(struct kc_db *db, const struct kc_table *t, size_t at, size_t n,
    struct ck_fail *fail)
{
	if (at > t->size || n > t->size - at)
		return kc_damaged_in(db, t, fail,
		    "%zu bytes at 0x%zx lie behind its end", n, at);
	return kc_src_need(&db->src, t->at + at, n, fail);
}

struct kc_table *
kc_table_find(const struct kc_db *db, uint32_t id)
{
	size_t low = 0, high = db->ntables;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (db->tables[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < db->ntables && db->tables[low].id == id)
		return &db->tables[low];
	return NULL;
}

ck_err
kc_table_header(struct kc_db *db, struct kc_table *t, struct ck_fail *fail)
{
	size_t slots_end;
	ck_err r;

	if ((r = kc_table_need(db, t, 0, KC_TAB_SLOT, fail)) != CK_OK)
		return r;
	t->records = kc_table_u32(db, t, KC_TAB_RECORDS);
	t->records_at = kc_table_u32(db, t, KC_TAB_RECORDS_AT);
	t->index_at = kc_table_u32(db, t, KC_TAB_INDEX_AT);
	t->free_head = kc_table_u32(db, t, KC_TAB_FREE);
	t->slots = kc_table_u32(db, t, KC_TAB_SLOTS);
	if (t->slots == 0 || t->slots > (t->size - KC_TAB_SLOT) / 4)
		return kc_damaged_in(db, t, fail,
		    "%u record numbers do not fit", (unsigned int)t->slots);
	slots_end = KC_TAB_SLOT + 4 * (size_t)t->slots;
	if (t->records > t->slots)
		return kc_damaged_in(db, t, fail,
		    "%u records but %u record numbers",
		    (unsigned int)t->records, (unsigned int)t->slots);
	if (t->records_at != slots_end)
		return kc_damaged_in(db, t, fail,
		    "its records start at 0x%zx, not behind the numbers",
		    t->records_at);
	if (t->index_at < t->records_at || t->index_at % 4 != 0 ||
	    t->index_at > t->size - KC_IXS_OFFSETS)
		return kc_damaged_in(db, t, fail,
		    "its indexes at 0x%zx are out of place", t->index_at);
	return CK_OK;
}

/* Place and size of table i, which must start where the last one ended. */
static ck_err
table_place(struct kc_db *db, size_t i, size_t at, size_t end,
    struct ck_fail *fail)
{
	size_t schema = KC_SCHEMA_AT;
	size_t said = ck_get_be32(db->src.p + schema + KC_SCHEMA_TABLES +
	    4 * i);
	struct kc_table *t = &db->tables[i];
	ck_err r;

	if (said != at - schema)
		return kc_damaged(db, fail,
		    "table %zu is at 0x%zx, expected at 0x%zx", i, said,
		    at - schema);
	if (end - at < KC_TAB_SLOT)
		return kc_damaged(db, fail,
		    "table %zu runs past the end", i);
	if ((r = kc_src_need(&db->src, at, KC_TAB_SLOT, fail)) != CK_OK)
		return r;
	t->at = at;
	t->size = ck_get_be32(db->src.p + at + KC_TAB_SIZE);
	t->id = ck_get_be32(db->src.p + at + KC_TAB_ID);
	if (t->size < KC_TAB_SLOT || t->size % 4 != 0 || t->size > end - at)
		return kc_damaged(db, fail,
		    "table %zu (0x%08x) has an impossible size of 0x%zx", i,
		    (unsigned int)t->id, t->size);
	if (i > 0 && t[-1].id >= t->id)
		return kc_damaged(db, fail,
		    "table %zu (0x%08x) is twice there or out of order", i,
		    (unsigned int)t->id);
	return CK_OK;
}

static ck_err
tables_load(struct kc_db *db, struct ck_fail *fail)
{
	size_t end = db->src.n - 4, at;
	uint32_t count;
	ck_err r;

	count = ck_get_be32(db->src.p + KC_SCHEMA_AT + KC_SCHEMA_COUNT);
	if (count > KC_TABLES_MAX ||
	    4 * (size_t)count > db->src.n - KC_FILE_MIN)
		return kc_damaged(db, fail, "%u tables do not fit",
		    (unsigned int)count);
	r = kc_src_need(&db->src, KC_SCHEMA_AT,
	    KC_SCHEMA_TABLES + 4 * (size_t)count, fail);
	if (r != CK_OK)
		return r;
	db->tables = calloc((size_t)count + 1, sizeof(*db->tables));
	if (db->tables == NULL)
		return kc_nomem(db, fail);
	db->ntables = count;
	at = KC_SCHEMA_AT + KC_SCHEMA_TABLES + 4 * (size_t)count;
	for (size_t i = 0; i < count; i++) {
		if ((r = table_place(db, i, at, end, fail)) != CK_OK)
			return r;
		at += db->tables[i].size;
	}
	if (at != end)
		return kc_damaged(db, fail,
		    "%zu bytes behind the last table", end - at);
	return CK_OK;
}

/* What kind of file is it?  n is at least KC_FILE_MIN. */
static ck_err
header_check(struct kc_db *db, struct ck_fail *fail)
{
	const uint8_t *p = db->src.p;
	uint32_t version, size;
	ck_err r;

	if ((r = kc_src_need(&db->src, 0, KC_FILE_MIN, fail)) != CK_OK)
		return r;
	if (memcmp(p, sqlite_magic, sizeof(sqlite_magic)) == 0)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "is an SQLite database, not a keychain file");
	if (ck_get_be32(p + KC_HEAD_MAGIC) != KC_MAGIC)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "is not a keychain file");
	version = ck_get_be32(p + KC_HEAD_VERSION);
	if (version != KC_VERSION)
		return ck_fail_set(fail, CK_UNSUPPORTED, db->shown,
		    "has keychain format version 0x%08x; only 0x%08x is known",
		    (unsigned int)version, (unsigned int)KC_VERSION);
	if (ck_get_be32(p + KC_HEAD_SCHEMA) != KC_SCHEMA_AT)
		return kc_damaged(db, fail, "its tables are out of place");
	size = ck_get_be32(p + KC_SCHEMA_AT + KC_SCHEMA_SIZE);
	if ((uint64_t)size + KC_SCHEMA_AT + 4 != db->src.n)
		return kc_damaged(db, fail,
		    "is %zu bytes long but should be %llu", db->src.n,
		    (unsigned long long)size + KC_SCHEMA_AT + 4);
	return CK_OK;
}

/* Everything behind the source. */
static ck_err
open_source(struct kc_db *db, struct ck_fail *fail)
{
	ck_err r;

	if ((r = header_check(db, fail)) != CK_OK)
		return r;
	if ((r = kc_src_need(&db->src, db->src.n - 4, 4, fail)) != CK_OK)
		return r;
	db->commit = ck_get_be32(db->src.p + db->src.n - 4);
	/* A counter of 0 never appears: it is skipped when it wraps. */
	db->next = db->commit == UINT32_MAX ? 1 : db->commit + 1;
	if ((r = tables_load(db, fail)) != CK_OK)
		return r;
	return kc_schema_load(db, fail);
}

static ck_err
size_check(uint64_t n, const char *shown, struct ck_fail *fail)
{
	if (n > KC_FILE_MAX)
		return ck_fail_set(fail, CK_UNSUPPORTED, shown,
		    "is larger than the %zu bytes read here", KC_FILE_MAX);
	if (n == 0)
		return ck_fail_set(fail, CK_DAMAGED, shown, "is empty");
	if (n < KC_FILE_MIN)
		return ck_fail_set(fail, CK_DAMAGED, shown,
		    "is only %u bytes long, too short for a keychain",
		    (unsigned int)n);
	return CK_OK;
}

struct kc_db *
kc_db_make(const char *shown)
{
	struct kc_db *db = calloc(1, sizeof(*db));

	if (db == NULL)
		return NULL;
	db->src = (struct kc_src)KC_SRC_INIT;
	db->shown = strdup(shown);
	if (db->shown == NULL) {
		free(db);
		return NULL;
	}
	return db;
}

ck_err
kc_db_open_fd(int fd, const char *shown, struct kc_db **ret,
    struct ck_fail *fail)
{
	struct kc_db *db = NULL;
	struct stat st;
	ck_err r;

	if (fstat(fd, &st) != 0)
		return ck_fail_sys(fail, errno, shown, "examine it");
	r = size_check(st.st_size < 0 ? 0 : (uint64_t)st.st_size, shown, fail);
	if (r != CK_OK)
		return r;
	if ((db = kc_db_make(shown)) == NULL)
		return ck_fail_set(fail, CK_NOMEM, shown,
		    "no memory to read it");
	r = kc_src_from_fd(fd, (size_t)st.st_size, db->shown, &db->src, fail);
	if (r == CK_OK)
		r = open_source(db, fail);
	if (r != CK_OK) {
		kc_db_free(&db);
		return r;
	}
	*ret = db;
	return CK_OK;
}

ck_err
kc_db_open_bytes(struct ck_span in, const char *shown, struct kc_db **ret,
    struct ck_fail *fail)
{
	struct kc_db *db = NULL;
	ck_err r;

	if ((r = size_check(in.n, shown, fail)) != CK_OK)
		return r;
	if ((db = kc_db_make(shown)) == NULL)
		return ck_fail_set(fail, CK_NOMEM, shown,
		    "no memory to read it");
	r = kc_src_from_bytes(in, db->shown, &db->src, fail);
	if (r == CK_OK)
		r = open_source(db, fail);
	if (r != CK_OK) {
		kc_db_free(&db);
		return r;
	}
	*ret = db;
	return CK_OK;
}

void
kc_db_free(struct kc_db **dbp)
{
	struct kc_db *db = *dbp;

	if (db == NULL)
		return;
	for (size_t i = 0; i < db->ntables; i++) {
		kc_edit_free(&db->tables[i]);
		free(db->tables[i].attrs);
		free(db->tables[i].defs);
	}
	free(db->tables);
	kc_arena_free(&db->arena);
	kc_src_free(&db->src);
	free(db->shown);
	free(db);
	*dbp = NULL;
}

uint32_t
kc_db_commit(const struct kc_db *db)
{
	return db->commit;
}

size_t
kc_db_blocks(const struct kc_db *db)
{
	return db->src.loaded;
}

size_t
kc_db_relation_count(const struct kc_db *db)
{
	size_t n = 0;

	for (size_t i = 0; i < db->ntables; i++)
		n += db->tables[i].known;
	return n;
}

const struct kc_relation *
kc_db_relation_at(const struct kc_db *db, size_t i)
{
	for (size_t t = 0; t < db->ntables; t++)
		if (db->tables[t].known && i-- == 0)
			return &db->tables[t].rel;
	return NULL;
}

const struct kc_relation *
kc_db_relation(const struct kc_db *db, uint32_t id)
{
	const struct kc_table *t = kc_table_find(db, id);

	return t != NULL && t->known ? &t->rel : NULL;
}

size_t
kc_relation_column(const struct kc_relation *rel, uint32_t attr)
{
	size_t i = 0;

	while (i < rel->nattrs && rel->attrs[i].id != attr)
		i++;
	return i;
}
