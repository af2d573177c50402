/* SPDX-License-Identifier: Apache-2.0 */
/* Is anything lost, and what; see reset_int.h. */
#include "custody/reset_int.h"

#include <string.h>

#include "custody/advice.h"
#include "custody/broker.h"
#include "custody/seal.h"

const char *
ck_lost_text(enum ck_lost lost)
{
	switch (lost) {
	case CK_LOST_FILE:
		return "the dedicated keychain is missing";
	case CK_LOST_PASSWORD:
		return "its unlock password is missing";
	case CK_LOST_MATCH:
		return "the stored unlock password does not open it";
	case CK_LOST_CONTENT:
		return "what it holds is damaged";
	case CK_LOST_NOTHING:
		break;
	}
	return "nothing is lost";
}

const char *
ck_lost_name(enum ck_lost lost)
{
	switch (lost) {
	case CK_LOST_FILE:
		return "keychain-missing";
	case CK_LOST_PASSWORD:
		return "password-missing";
	case CK_LOST_MATCH:
		return "password-wrong";
	case CK_LOST_CONTENT:
		return "keychain-damaged";
	case CK_LOST_NOTHING:
		break;
	}
	return "nothing";
}

/*
 * The stored password: there, missing, or in a file of ours that cannot be
 * read any more.  Everything else (a locked or damaged broker, a mode, another
 * keychain's password) says nothing about a loss.
 */
static ck_err
password_state(const struct ck_place *p, bool *ret_there,
    struct ck_fail *fail)
{
	struct ck_secret password = CK_SECRET_INIT;
	struct ck_fail why = CK_FAIL_INIT;
	ck_err r;

	r = ck_unlock_place_get(p, &password, &why);
	ck_secret_wipe(&password);
	*ret_there = r == CK_OK;
	if (r == CK_OK || r == CK_NOSTORE ||
	    (r == CK_DAMAGED && p->broker_kind == CK_KIND_FILE_BROKER))
		return CK_OK;
	if (fail != NULL)
		*fail = why;
	return r;
}

ck_err
ck_reset_judge(const struct ck_place *p, const struct ck_view *v,
    enum ck_lost *ret, struct ck_fail *fail)
{
	struct ck_secret value = CK_SECRET_INIT, key = CK_SECRET_INIT;
	struct ck_fail why = CK_FAIL_INIT;
	bool password = false;
	ck_err r;

	if ((r = password_state(p, &password, fail)) != CK_OK)
		return r;
	if (!v->dedicated || !password) {
		*ret = v->dedicated ? CK_LOST_PASSWORD : CK_LOST_FILE;
		return CK_OK;
	}
	r = ck_dedicated_look(p, NULL, &value, &key, &why);
	ck_secret_wipe(&value);
	ck_secret_wipe(&key);
	switch (r) {
	case CK_OK:
		*ret = CK_LOST_NOTHING;
		return CK_OK;
	case CK_LOCKED:
		*ret = CK_LOST_MATCH;
		return CK_OK;
	case CK_DAMAGED:
		*ret = CK_LOST_CONTENT;
		return CK_OK;
	default:
		break;
	}
	if (fail != NULL)
		*fail = why;
	return r;
}

ck_err
ck_reset_broker_has(const struct ck_reset_run *run, bool *ret,
    struct ck_fail *fail)
{
	const struct ck_rec_journal *j = &run->v.journal;
	ck_err r;

	*ret = false;
	if (!run->v.journal_open ||
	    strcmp(j->credential, run->p->credential) != 0)
		return CK_OK;
	/* A reset that was begun in this way makes no new generation. */
	if (strcmp(j->operation, CK_RESET_OPERATION) == 0) {
		*ret = j->to_generation == j->from_generation;
		return CK_OK;
	}
	if (strcmp(j->operation, CK_MIGRATE_OPERATION) != 0 &&
	    strcmp(j->operation, CK_RESTORE_OPERATION) != 0)
		return CK_OK;
	r = ck_broker_read(run->p, NULL, fail);
	*ret = r == CK_OK;
	return r == CK_ABSENT ? CK_OK : r;
}

static ck_err
holds_none(const struct ck_place *p, struct ck_fail *fail)
{
	ck_err r = ck_broker_read(p, NULL, fail);

	if (r == CK_ABSENT)
		return CK_OK;
	if (r != CK_OK)
		return r;
	(void)ck_fail_set(fail, CK_DECIDE, p->broker,
	    "holds a bearer of its own (%s / %s), and a second one must not "
	    "be made beside it", p->service, p->account);
	ck_advise(fail, p, "keep its value if it is in use and remove it there "
	    "with the program that wrote it; after a reset, %s brings a kept "
	    "value in", p->format == CK_FORMAT_OPERATOR_BEARER ?
	    "{rotate --secret-fd N}" : "{migrate}");
	return CK_DECIDE;
}

ck_err
ck_reset_no_other(const struct ck_place *p, bool keeps, struct ck_fail *fail)
{
	struct ck_place other = *p;
	ck_err r = CK_OK;

	if (!keeps)
		r = holds_none(p, fail);
	if (r != CK_OK || p->broker_kind == CK_KIND_FILE_BROKER)
		return r;
	other.broker_kind = CK_KIND_FILE_BROKER;
	memcpy(other.broker, other.file_broker, sizeof(other.broker));
	return holds_none(&other, fail);
}
