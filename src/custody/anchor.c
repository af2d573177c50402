/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing and moving the anchor; see anchor.h. */
#include "custody/anchor.h"

#include <string.h>

#include "custody/advice.h"
#include "custody/broker.h"
#include "custody/seal.h"
#include "store/login.h"

static ck_err
add(void *arg, const struct ck_rec_credential *row)
{
	uint64_t *sum = arg;

	*sum += row->generation;
	if (row->state == CK_STATE_MIGRATING && row->generation > 0)
		(*sum)--;
	return CK_OK;
}

ck_err
ck_anchor_generation(struct ck_records *rec, uint64_t *ret,
    struct ck_fail *fail)
{
	uint64_t sum = 0;
	ck_err r = ck_records_credential_each(rec, add, &sum, fail);

	if (r == CK_OK)
		*ret = sum;
	return r;
}

/* What an open operation leaves undecided. */
struct slack {
	bool none;                       /* there may be no keychain yet */
	bool other;                      /* it may be another file's anchor */
	int64_t low, high;               /* how far the anchor may be off */
};

static void
slack_of(const struct ck_rec_journal *j, struct slack *ret)
{
	static const struct {
		const char *operation;
		struct slack slack;
	} table[] = {
		{ "migrate", { true, false, -1, 0 } },
		{ "rotate", { false, false, 0, 1 } },
		{ "rotate --keychain", { false, true, 0, 0 } },
		{ "restore", { true, false, 0, 0 } },
		{ "reset --confirm", { true, true, -1, 0 } },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(j->operation, table[i].operation) == 0)
			*ret = table[i].slack;
}

static ck_err
earlier(const struct ck_place *p, struct ck_fail *fail)
{
	char file[CK_PATH_MAX];

	if (ck_path_join(p->dir, CK_REC_FILE, file, NULL) != CK_OK)
		memcpy(file, p->dir, sizeof(file));
	(void)ck_fail_set(fail, CK_DAMAGED, file,
	    "is of another day than what is noted with the unlock password: "
	    "records and keychain were put back");
	ck_advise(fail, p, "put records, keychain and unlock password back "
	    "from one backup, or see what {doctor --rebuild} would make");
	return CK_DAMAGED;
}

ck_err
ck_anchor_check(const struct ck_place *p, struct ck_records *rec,
    const struct ck_anchor *anchor, struct ck_fail *fail)
{
	struct slack slack = { false, false, 0, 0 };
	struct ck_rec_journal j;
	uint64_t want = 0;
	int64_t off;
	ck_err r;

	r = ck_records_journal_get(rec, &j, fail);
	if (r == CK_OK)
		slack_of(&j, &slack);
	else if (r != CK_ABSENT)
		return r;
	if (anchor->signature[0] == '\0')
		return slack.none ? CK_OK : earlier(p, fail);
	if ((r = ck_anchor_generation(rec, &want, fail)) != CK_OK)
		return r;
	off = (int64_t)(anchor->generation - want);
	if (off < slack.low || off > slack.high)
		return earlier(p, fail);
	return CK_OK;
}

ck_err
ck_anchor_writable(const struct ck_place *p, struct ck_fail *fail)
{
	struct ck_place at = *p;

	if (p->broker_kind == CK_KIND_LOGIN_KEYCHAIN)
		return ck_broker_writable(p, fail);
	memcpy(at.broker, p->unlock, sizeof(at.broker));
	return ck_broker_writable(&at, fail);
}

ck_err
ck_anchor_write(const struct ck_place *p, struct ck_records *rec,
    const struct ck_secret *password, uint64_t more, struct ck_fail *fail)
{
	const struct ck_login login = { p->keychain, NULL, CK_WAIT_MS };
	struct ck_login_status st;
	struct ck_anchor a;
	ck_err r;

	memset(&a, 0, sizeof(a));
	if ((r = ck_anchor_generation(rec, &a.generation, fail)) != CK_OK ||
	    (r = ck_login_status(&login, &st, fail)) != CK_OK)
		return r;
	a.generation += more;
	memcpy(a.signature, st.signature, sizeof(a.signature));
	return ck_unlock_place_anchor(p, password, &a, fail);
}

ck_err
ck_anchor_lift(const struct ck_place *p, const struct ck_secret *password,
    struct ck_fail *fail)
{
	struct ck_anchor a;
	ck_err r;

	if ((r = ck_unlock_place_read(p, NULL, &a, fail)) != CK_OK)
		return r;
	memset(a.signature, 0, sizeof(a.signature));
	return ck_unlock_place_anchor(p, password, &a, fail);
}
