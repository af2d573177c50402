/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other credentials in the dedicated keychain; see check_int.h.  A service
 * that starts reads them too, so each is judged as the one that was asked for.
 */
#include "custody/check_int.h"

#include <string.h>

#include "custody/dedicated_int.h"
#include "custody/resolve.h"
#include "custody/seal.h"

struct others {
	struct ck_check *c;
	const struct ck_secret *password, *key;
};

/* A move or a rotation may have come between keychain and records; whoever
 * reads the credential knows how to tell. */
static bool
is_given(const struct ck_place *p)
{
	struct ck_secret value = CK_SECRET_INIT;
	struct ck_place at = *p;
	bool ret = ck_resolve(&at, NULL, &value, NULL, NULL) == CK_OK;

	ck_secret_wipe(&value);
	return ret;
}

/* Its item, and the item against its row. */
static ck_err
judge(const struct others *o, const struct ck_place *at,
    enum ck_finding_code *ret, struct ck_fail *fail)
{
	struct ck_secret value = CK_SECRET_INIT;
	struct kc *kc = NULL;
	ck_err r;

	*ret = CK_F_DEDICATED_DAMAGED;
	if ((r = ck_dedicated_open(at->keychain, o->password, &kc,
	    fail)) != CK_OK)
		return r;
	*ret = CK_F_ITEM_ATTRIBUTES;
	if ((r = ck_dedicated_names_in(at, kc, fail)) != CK_OK)
		goto out;
	*ret = CK_F_DEDICATED_DAMAGED;
	if ((r = ck_dedicated_read_in(at, kc, &value, NULL, fail)) != CK_OK)
		goto out;
	*ret = CK_F_GENERATION_BEHIND;
	r = ck_seal_value(at, o->c->v.rec, o->key, &value, fail);
out:
	ck_secret_wipe(&value);
	kc_close(&kc);
	return r;
}

static ck_err
one(void *arg, const struct ck_rec_credential *row)
{
	const struct others *o = arg;
	struct ck_check *c = o->c;
	struct ck_fail fail = CK_FAIL_INIT;
	enum ck_finding_code code = CK_F_NOT_JUDGED;
	struct ck_place at;
	ck_err r;

	if ((row->state != CK_STATE_DEDICATED &&
	    row->state != CK_STATE_RESTORING) ||
	    strcmp(row->name, c->p->credential) == 0)
		return CK_OK;
	if ((r = ck_place_of_row(c->p, row, &at, &fail)) == CK_OK &&
	    ((r = judge(o, &at, &code, &fail)) == CK_OK || is_given(&at)))
		return CK_OK;
	/* Locked is what a keychain that was replaced meanwhile says. */
	ck_finding_fail(c->out, r == CK_DAMAGED ? code : CK_F_NOT_JUDGED, r,
	    &fail);
	return CK_OK;
}

void
ck_check_others(struct ck_check *c, const struct ck_secret *password,
    const struct ck_secret *key)
{
	struct others o = { c, password, key };
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	if (!c->viewed || c->v.rec == NULL)
		return;
	if ((r = ck_check_begin(c, &fail)) == CK_OK) {
		r = ck_records_credential_each(c->v.rec, one, &o, &fail);
		ck_check_end(c);
	}
	if (r != CK_OK)
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
}
