/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the tables protected and setting; see records.h. */
#include "records_int.h"

#include <string.h>

static const char *const kinds[] = { "file", "directory" };
static const char *const denies[] = { "write", "read+write" };

#define SETTING_MAX 1024

ck_err
ck_records_protected_add(struct ck_records *rec,
    const struct ck_rec_protected *p, struct ck_fail *fail)
{
	bool own = false;
	ck_err r;

	if ((r = ck_rec_check_path(rec, "a protected path", p->path,
	    fail)) != CK_OK)
		return r;
	if ((r = ck_rec_check_text(rec, "the reason of a protected path",
	    p->why, sizeof(p->why), true, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = ck_rec_change(rec, CK_ST_PROTECTED_ADD, CK_VALUES(CK_V_T(p->path),
	    CK_V_T(kinds[p->directory ? 1 : 0]),
	    CK_V_T(denies[p->deny_read ? 1 : 0]), CK_V_T(p->why)), NULL, fail);
	return ck_rec_leave(rec, own, r, fail);
}

ck_err
ck_records_protected_remove(struct ck_records *rec, const char *path,
    struct ck_fail *fail)
{
	bool own = false;
	int rows = 0;
	ck_err r;

	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = ck_rec_change(rec, CK_ST_PROTECTED_REMOVE,
	    CK_VALUES(CK_V_T(path)), &rows, fail);
	if (r == CK_OK && rows == 0)
		r = ck_fail_set(fail, CK_ABSENT, path,
		    "is not among the protected paths");
	return ck_rec_leave(rec, own, r, fail);
}

struct each {
	ck_rec_protected_cb cb;
	void *arg;
};

static ck_err
pass(struct ck_rec_row *row, void *arg)
{
	const struct each *each = arg;
	struct ck_rec_protected p = { 0 };

	ck_rec_text(row, 0, p.path, sizeof(p.path));
	p.directory = ck_rec_choice(row, 1, kinds, 2) == 1;
	p.deny_read = ck_rec_choice(row, 2, denies, 2) == 1;
	ck_rec_text(row, 3, p.why, sizeof(p.why));
	return row->r == CK_OK ? each->cb(each->arg, &p) : row->r;
}

ck_err
ck_records_protected_each(struct ck_records *rec, ck_rec_protected_cb cb,
    void *arg, struct ck_fail *fail)
{
	struct each each = { cb, arg };

	return ck_rec_all(rec, CK_ST_PROTECTED_EACH, NULL, pass, &each, fail);
}

struct wanted {
	const char *path;
	bool found;
};

static ck_err
is_it(void *arg, const struct ck_rec_protected *row)
{
	struct wanted *w = arg;

	w->found = w->found || strcmp(row->path, w->path) == 0;
	return CK_OK;
}

ck_err
ck_records_protected_has(struct ck_records *rec, const char *path, bool *ret,
    struct ck_fail *fail)
{
	struct wanted w = { path, false };
	ck_err r;

	if ((r = ck_records_protected_each(rec, is_it, &w, fail)) == CK_OK)
		*ret = w.found;
	return r;
}

static ck_err
take_value(struct ck_rec_row *row, void *arg)
{
	ck_rec_text(row, 0, arg, SETTING_MAX);
	return row->r;
}

ck_err
ck_records_setting_get(struct ck_records *rec, const char *name, char *ret,
    size_t n, struct ck_fail *fail)
{
	char value[SETTING_MAX] = "";
	size_t len;
	ck_err r;

	if ((r = ck_rec_one(rec, CK_ST_SETTING_GET, CK_VALUES(CK_V_T(name)),
	    take_value, value, "setting", name, fail)) != CK_OK)
		return r;
	len = strlen(value);
	if (len >= n)
		return ck_fail_set(fail, CK_REFUSED, rec->path,
		    "setting %s is longer than the %zu bytes it may have "
		    "here", name, n);
	memcpy(ret, value, len + 1);
	return CK_OK;
}

ck_err
ck_records_setting_put(struct ck_records *rec, const char *name,
    const char *value, struct ck_fail *fail)
{
	bool own = false;
	ck_err r;

	if ((r = ck_rec_check_text(rec, "the name of a setting", name, 64,
	    false, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_check_text(rec, "the value of a setting", value,
	    SETTING_MAX, true, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = ck_rec_change(rec, CK_ST_SETTING_PUT, CK_VALUES(CK_V_T(name),
	    CK_V_T(value)), NULL, fail);
	return ck_rec_leave(rec, own, r, fail);
}
