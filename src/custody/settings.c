/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the records; see settings.h. */
#include "custody/settings.h"

#include <string.h>

#include "base/io.h"
#include "custody/dedicated.h"
#include "custody/seal.h"

ck_err
ck_setting_read(const struct ck_view *v, const char *name, char *ret,
    size_t n, struct ck_fail *fail)
{
	ck_err r = v->rec == NULL ? CK_ABSENT :
	    ck_records_setting_get(v->rec, name, ret, n, fail);

	if (r != CK_ABSENT)
		return r;
	ret[0] = '\0';
	return CK_OK;
}

static ck_err
is_recorded(const struct ck_view *v, const struct ck_setting *set, size_t n,
    bool *ret, struct ck_fail *fail)
{
	char value[1024];
	bool same = true;
	ck_err r;

	for (size_t i = 0; i < n; i++) {
		if ((r = ck_setting_read(v, set[i].name, value, sizeof(value),
		    fail)) != CK_OK)
			return r;
		same = same && strcmp(value, set[i].value) == 0;
	}
	*ret = same;
	return CK_OK;
}

/* Inside a transaction of records that fit their seal. */
static ck_err
put(struct ck_records *rec, const struct ck_setting *set, size_t n,
    const struct ck_rec_protected *row, const struct ck_secret *key,
    struct ck_fail *fail)
{
	ck_err r;

	for (size_t i = 0; i < n; i++)
		if ((r = ck_records_setting_put(rec, set[i].name,
		    set[i].value, fail)) != CK_OK ||
		    (r = ck_records_event(rec, "setting", set[i].name,
		    fail)) != CK_OK)
			return r;
	if (row != NULL &&
	    ((r = ck_records_protected_add(rec, row, fail)) != CK_OK ||
	    (r = ck_records_event(rec, "protected", row->path,
	    fail)) != CK_OK))
		return r;
	return ck_seal_write_key(rec, key, fail);
}

static ck_err
transact(struct ck_place *p, struct ck_view *v, const struct ck_setting *set,
    size_t n, const struct ck_rec_protected *row, struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT;
	struct ck_anchor anchor;
	ck_err r;

	if ((r = ck_dedicated_look_at(p, NULL, NULL, &key, &anchor,
	    fail)) != CK_OK ||
	    (r = ck_records_begin(v->rec, fail)) != CK_OK)
		goto out;
	if ((r = ck_seal_check(p, v->rec, &key, &anchor, fail)) == CK_OK &&
	    (r = put(v->rec, set, n, row, &key, fail)) == CK_OK)
		r = ck_records_commit(v->rec, fail);
	else
		ck_records_rollback(v->rec);
out:
	ck_secret_wipe(&key);
	return r;
}

ck_err
ck_settings_put_locked(struct ck_place *p, struct ck_view *v,
    const struct ck_setting *set, size_t n,
    const struct ck_rec_protected *row, struct ck_fail *fail)
{
	bool same = false, there = row == NULL;
	ck_err r;

	if (v->journal_open &&
	    (r = ck_view_unhindered(v, p, "worker", fail)) != CK_OK)
		return r;
	if ((r = is_recorded(v, set, n, &same, fail)) != CK_OK ||
	    (row != NULL && (r = ck_records_protected_has(v->rec, row->path,
	    &there, fail)) != CK_OK) || (same && there))
		return r;
	return transact(p, v, set, n, there ? NULL : row, fail);
}

ck_err
ck_settings_put(struct ck_place *p, struct ck_view *v,
    const struct ck_setting *set, size_t n, struct ck_fail *fail)
{
	int lock = -1;
	ck_err r;

	if (v->rec == NULL || !v->dedicated) {
		(void)ck_fail_set(fail, CK_NOSTORE, p->dir,
		    "there are no records that this could be written to");
		ck_fail_next(fail, "clankie-keys migrate");
		return CK_NOSTORE;
	}
	if ((r = ck_view_lock(p, v, &lock, fail)) != CK_OK)
		return r;
	r = ck_settings_put_locked(p, v, set, n, NULL, fail);
	ck_io_close(&lock);
	return r;
}
