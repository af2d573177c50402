/* SPDX-License-Identifier: Apache-2.0 */
/* The dedicated keychain, its unlock password and the seal; see
 * check_int.h. */
#include "custody/check_int.h"

#include "base/io.h"

#include "custody/broker.h"
#include "custody/dedicated_int.h"
#include "custody/resolve.h"
#include "custody/seal.h"

static void
unread(struct ck_check *c, ck_err r, const struct ck_fail *fail)
{
	enum ck_finding_code code = CK_F_NOT_JUDGED;

	/* Owner, mode, links and type have findings of their own. */
	if (r == CK_REFUSED && (ck_findings_error_at(c->out, c->p->keychain) ||
	    ck_findings_error_at(c->out, c->p->operator_dir)))
		return;
	if (r == CK_NOSTORE)
		code = CK_F_DEDICATED_MISSING;
	else if (r == CK_DENIED)
		code = CK_F_DEDICATED_DENIED;
	else if (r == CK_DAMAGED || r == CK_UNSUPPORTED)
		code = CK_F_DEDICATED_DAMAGED;
	else if (r == CK_LOCKED)
		code = CK_F_UNLOCK_WRONG;
	ck_finding_fail(c->out, code, r, fail);
}

/* Is it the file that the records noted?  By itself no harm: a backup that
 * was put back looks like this, and the seal judges what is in it. */
static void
same_file(struct ck_check *c, const struct stat *file)
{
	struct ck_rec_store noted;

	if (!c->viewed || c->v.rec == NULL || c->v.journal_open ||
	    ck_records_store_by_kind(c->v.rec, CK_KIND_DEDICATED, &noted,
	    NULL) != CK_OK)
		return;
	if (noted.device != (uint64_t)file->st_dev ||
	    noted.inode != (uint64_t)file->st_ino)
		ck_finding_add(c->out, CK_F_DEDICATED_REPLACED, c->p->keychain,
		    NULL, "is another file than the one the records noted");
}

/* Without any password.  False: what is inside cannot be asked any more. */
static bool
outside(struct ck_check *c, struct kc *kc)
{
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc_info file;
	ck_err r;

	kc_info(kc, &file);
	if (file.idle_timeout != CK_DEDICATED_IDLE || !file.lock_on_sleep)
		ck_finding_add(c->out, CK_F_SETTINGS_CHANGED, c->p->keychain,
		    NULL, "locks after %u s and %s on sleep; %d s and sleep "
		    "were set", file.idle_timeout,
		    file.lock_on_sleep ? "also" : "not", CK_DEDICATED_IDLE);
	same_file(c, kc_stat(kc));
	if ((r = ck_dedicated_names_in(c->p, kc, &fail)) == CK_OK)
		return true;
	if (r == CK_DAMAGED)
		ck_finding_fail(c->out, CK_F_ITEM_ATTRIBUTES, r, &fail);
	else
		unread(c, r, &fail);
	return false;
}

/* The unlock password.  False when it cannot be had, which has been said. */
static bool
unlock(struct ck_check *c, struct ck_secret *ret, struct ck_anchor *ret_anchor)
{
	const struct ck_place *p = c->p;
	const char *place = p->broker_kind == CK_KIND_LOGIN_KEYCHAIN ?
	    p->broker : p->unlock;
	struct ck_fail fail = CK_FAIL_INIT;
	bool there = true;
	ck_err r;

	if (ck_unlock_place_exists(p, &there, NULL) == CK_OK && !there) {
		ck_finding_add(c->out, CK_F_UNLOCK_MISSING, place, NULL,
		    "does not hold the unlock password, without which the "
		    "dedicated keychain cannot be opened");
		return false;
	}
	if ((r = ck_unlock_place_read(p, ret, ret_anchor, &fail)) == CK_OK)
		return true;
	/* The gate fails closed: what was not seen is not in order. */
	if (r == CK_LOCKED && p->login_password == NULL)
		ck_finding_add(c->out, CK_F_DEDICATED_LOCKED, place, NULL,
		    "is locked, so that unlock password, items, seal and "
		    "index were not checked");
	else if (r == CK_LOCKED)
		ck_finding_fail(c->out, CK_F_DEDICATED_LOCKED, r, &fail);
	else if (r != CK_REFUSED || !ck_findings_error_at(c->out, fail.place))
		ck_finding_fail(c->out, CK_F_UNLOCK_UNREADABLE, r, &fail);
	return false;
}

/* Records and keychain against the seal, once. */
static ck_err
sealed(struct ck_check *c, const struct ck_secret *key,
    const struct ck_secret *value, const struct ck_anchor *anchor,
    enum ck_finding_code *ret_code, struct ck_fail *fail)
{
	ck_err r;

	*ret_code = CK_F_SEAL_BROKEN;
	if ((r = ck_check_begin(c, fail)) != CK_OK)
		return r;
	r = ck_seal_rows(c->p, c->v.rec, key, anchor, fail);
	if (r == CK_OK && c->v.known) {
		*ret_code = CK_F_GENERATION_BEHIND;
		r = ck_seal_value(c->p, c->v.rec, key, value, fail);
	} else if (r == CK_DAMAGED &&
	    ck_seal_rows(c->p, c->v.rec, key, NULL, NULL) == CK_OK) {
		*ret_code = CK_F_GENERATION_BEHIND;
	}
	ck_check_end(c);
	return r;
}

static void
seal(struct ck_check *c, const struct ck_secret *key,
    const struct ck_secret *value, const struct ck_anchor *anchor)
{
	struct ck_secret again = CK_SECRET_INIT;
	enum ck_finding_code code;
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	if (!c->viewed || c->v.rec == NULL)
		return;   /* the records' own finding says it */
	r = sealed(c, key, value, anchor, &code, &fail);
	/* A rotation may have come between keychain and records; whoever reads
	 * the credential knows how to tell. */
	if (r == CK_DAMAGED && c->v.known) {
		struct ck_place place = *c->p;

		if (ck_resolve(&place, NULL, &again, NULL, NULL) == CK_OK)
			r = CK_OK;
		ck_secret_wipe(&again);
	}
	if (r != CK_OK)
		ck_finding_fail(c->out, r == CK_DAMAGED ? code :
		    CK_F_RECORDS_UNREADABLE, r, &fail);
	else if (!c->v.known)
		ck_finding_add(c->out, CK_F_NOT_MIGRATED, c->p->credential,
		    NULL, "is no credential that the records know");
}

/* Closes the file as soon as it was read: it holds its keys. */
static void
inside(struct ck_check *c, struct kc **kc, const struct ck_secret *password,
    struct ck_anchor *anchor)
{
	struct ck_secret value = CK_SECRET_INIT, key = CK_SECRET_INIT;
	struct ck_secret other = CK_SECRET_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	if ((r = ck_dedicated_unlock(*kc, password, &fail)) == CK_OK)
		r = ck_dedicated_read_in(c->p, *kc, &value, &key, &fail);
	kc_close(kc);
	/* While the keychain is being replaced another one may be right. */
	if (r == CK_LOCKED && (r = ck_dedicated_look_at(c->p, &other, &value,
	    &key, anchor, &fail)) == CK_OK)
		password = &other;
	if (r == CK_OK && !c->how->startup)
		r = ck_dedicated_prove(c->p, c->p->keychain, password, NULL,
		    &fail);
	if (r == CK_OK) {
		seal(c, &key, &value, anchor);
		ck_check_others(c, password, &key);
	} else {
		unread(c, r, &fail);
	}
	ck_secret_wipe(&other);
	ck_secret_wipe(&value);
	ck_secret_wipe(&key);
}

void
ck_check_dedicated(struct ck_check *c)
{
	struct ck_secret password = CK_SECRET_INIT;
	struct ck_anchor anchor = CK_ANCHOR_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc *kc = NULL;
	bool open;
	ck_err r;

	if (!c->in_charge)
		return;
	if (!c->file_there) {
		if (c->viewed)
			ck_finding_add(c->out, CK_F_DEDICATED_MISSING,
			    c->p->keychain, NULL, "is missing, and the records "
			    "say the credential is there");
		return;
	}
	/* Both are asked, whatever the other says. */
	open = unlock(c, &password, &anchor);
	if ((r = kc_open(c->p->keychain, CK_DEDICATED_RULES, &kc,
	    &fail)) != CK_OK)
		unread(c, r, &fail);
	else if (outside(c, kc) && open)
		inside(c, &kc, &password, &anchor);
	kc_close(&kc);
	ck_secret_wipe(&password);
}
