/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the table store; see records.h. */
#include "records_int.h"

#include <stdio.h>

static const char *const kinds[] = {
	[CK_KIND_DEDICATED] = "dedicated",
	[CK_KIND_LOGIN_KEYCHAIN] = "login-keychain",
	[CK_KIND_FILE_BROKER] = "file-broker",
	[CK_KIND_DOTENV] = "dotenv"
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

const char *
ck_rec_kind_name(enum ck_rec_kind kind)
{
	return (size_t)kind < KINDS ? kinds[kind] : "unknown";
}

void
ck_rec_read_store(struct ck_rec_row *row, int column,
    struct ck_rec_store *ret)
{
	ret->id = ck_rec_number(row, column);
	ret->kind = (enum ck_rec_kind)ck_rec_choice(row, column + 1, kinds,
	    KINDS);
	ck_rec_text(row, column + 2, ret->path, sizeof(ret->path));
	/* The column is signed; the bits are the number. */
	ret->device = (uint64_t)ck_rec_number(row, column + 3);
	ret->inode = (uint64_t)ck_rec_number(row, column + 4);
}

static ck_err
take(struct ck_rec_row *row, void *arg)
{
	ck_rec_read_store(row, 0, arg);
	return row->r;
}

ck_err
ck_records_store_get(struct ck_records *rec, int64_t id,
    struct ck_rec_store *ret, struct ck_fail *fail)
{
	struct ck_rec_store s = { 0 };
	char key[32];
	ck_err r;

	(void)snprintf(key, sizeof(key), "%lld", (long long)id);
	r = ck_rec_one(rec, CK_ST_STORE_GET, CK_VALUES(CK_V_I(id)), take, &s,
	    "store", key, fail);
	if (r == CK_OK)
		*ret = s;
	return r;
}

/* The first row, and whether there are more. */
struct first {
	struct ck_rec_store store;
	int rows;
};

static ck_err
take_first(struct ck_rec_row *row, void *arg)
{
	struct first *first = arg;

	if (first->rows++ == 0)
		ck_rec_read_store(row, 0, &first->store);
	return row->r;
}

ck_err
ck_records_store_by_kind(struct ck_records *rec, enum ck_rec_kind kind,
    struct ck_rec_store *ret, struct ck_fail *fail)
{
	const char *name = ck_rec_kind_name(kind);
	struct first first = { { 0 }, 0 };
	ck_err r;

	if ((r = ck_rec_all(rec, CK_ST_STORE_KIND, CK_VALUES(CK_V_T(name)),
	    take_first, &first, fail)) != CK_OK)
		return r;
	if (first.rows == 0)
		return ck_fail_set(fail, CK_ABSENT, rec->path,
		    "the records have no store of kind %s", name);
	if (first.rows > 1)
		return ck_fail_set(fail, CK_REFUSED, rec->path,
		    "the records have %d stores of kind %s", first.rows,
		    name);
	*ret = first.store;
	return CK_OK;
}

/* A row of this number takes place and identity of s. */
static ck_err
update(struct ck_records *rec, int64_t id, const struct ck_rec_store *s,
    struct ck_fail *fail)
{
	return ck_rec_change(rec, CK_ST_STORE_UPDATE, CK_VALUES(CK_V_I(id),
	    CK_V_T(s->path), CK_V_I(s->device), CK_V_I(s->inode)), NULL, fail);
}

static ck_err
update_known(struct ck_records *rec, const struct ck_rec_store *s,
    struct ck_fail *fail)
{
	struct ck_rec_store now = { 0 };
	ck_err r;

	if ((r = ck_records_store_get(rec, s->id, &now, fail)) != CK_OK)
		return r;
	if (now.kind != s->kind)
		return ck_fail_set(fail, CK_REFUSED, rec->path,
		    "store %lld is of kind %s and stays so",
		    (long long)s->id, ck_rec_kind_name(now.kind));
	return update(rec, s->id, s, fail);
}

static ck_err
find_or_insert(struct ck_records *rec, const struct ck_rec_store *s,
    int64_t *ret_id, struct ck_fail *fail)
{
	const char *kind = ck_rec_kind_name(s->kind);
	struct first first = { { 0 }, 0 };
	ck_err r;

	if ((r = ck_rec_all(rec, CK_ST_STORE_FIND, CK_VALUES(CK_V_T(kind),
	    CK_V_T(s->path)), take_first, &first, fail)) != CK_OK)
		return r;
	if (first.rows > 0) {
		*ret_id = first.store.id;
		return update(rec, first.store.id, s, fail);
	}
	if (s->kind == CK_KIND_DEDICATED) {
		if ((r = ck_rec_all(rec, CK_ST_STORE_KIND,
		    CK_VALUES(CK_V_T(kind)), take_first, &first,
		    fail)) != CK_OK)
			return r;
		if (first.rows > 0)
			return ck_fail_set(fail, CK_REFUSED, s->path,
			    "the dedicated store is recorded as %s",
			    first.store.path);
	}
	if ((r = ck_rec_change(rec, CK_ST_STORE_INSERT, CK_VALUES(
	    CK_V_T(kind), CK_V_T(s->path), CK_V_I(s->device),
	    CK_V_I(s->inode)), NULL, fail)) != CK_OK)
		return r;
	*ret_id = sqlite3_last_insert_rowid(rec->db);
	return CK_OK;
}

ck_err
ck_records_store_put(struct ck_records *rec, const struct ck_rec_store *s,
    int64_t *ret_id, struct ck_fail *fail)
{
	int64_t id = s->id;
	bool own = false;
	ck_err r;

	if ((size_t)s->kind >= KINDS)
		return ck_fail_set(fail, CK_REFUSED, rec->path,
		    "a store has no kind %d", (int)s->kind);
	if ((r = ck_rec_check_path(rec, "the path of a store", s->path,
	    fail)) != CK_OK)
		return r;
	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	if (id != 0)
		r = update_known(rec, s, fail);
	else
		r = find_or_insert(rec, s, &id, fail);
	r = ck_rec_leave(rec, own, r, fail);
	if (r == CK_OK && ret_id != NULL)
		*ret_id = id;
	return r;
}

ck_err
ck_records_store_remove(struct ck_records *rec, int64_t id,
    struct ck_fail *fail)
{
	bool own = false;
	int rows = 0;
	ck_err r;

	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = ck_rec_change(rec, CK_ST_STORE_DELETE, CK_VALUES(CK_V_I(id)),
	    &rows, fail);
	if (r == CK_OK && rows == 0)
		r = ck_fail_set(fail, CK_ABSENT, rec->path,
		    "the records have no store %lld", (long long)id);
	return ck_rec_leave(rec, own, r, fail);
}

struct each {
	ck_rec_store_cb cb;
	void *arg;
};

static ck_err
pass(struct ck_rec_row *row, void *arg)
{
	const struct each *each = arg;
	struct ck_rec_store s = { 0 };

	ck_rec_read_store(row, 0, &s);
	return row->r == CK_OK ? each->cb(each->arg, &s) : row->r;
}

ck_err
ck_records_store_each(struct ck_records *rec, ck_rec_store_cb cb, void *arg,
    struct ck_fail *fail)
{
	struct each each = { cb, arg };

	return ck_rec_all(rec, CK_ST_STORE_EACH, NULL, pass, &each, fail);
}
