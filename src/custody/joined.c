/* SPDX-License-Identifier: Apache-2.0 */
/* One item among others; see joined.h. */
#include "custody/joined.h"

#include <string.h>

#include "base/bytes.h"
#include "base/io.h"
#include "custody/dedicated.h"
#include "keychain/keychain.h"
#include "store/login.h"

#define JOINED_RULES (CK_IO_OWNER | CK_IO_PRIVATE | CK_IO_ONELINK)

static ck_err
has_label(struct kc *kc, const char *label, bool *ret, struct ck_fail *fail)
{
	struct kc_record rec;
	struct kc_value v;
	uint32_t number = 0;
	ck_err r;

	while ((r = kc_db_next(kc_db(kc), KC_REL_GENERIC, &number, &rec,
	    fail)) == CK_OK) {
		if ((r = kc_db_value(kc_db(kc), &rec, KC_ATTR_LABEL, &v,
		    fail)) != CK_OK)
			return r;
		if (v.present && ck_span_equal(v.bytes, CK_SPAN_TEXT(label))) {
			*ret = true;
			return CK_OK;
		}
	}
	if (r != CK_ABSENT)
		return r;
	*ret = false;
	return CK_OK;
}

ck_err
ck_joined_holds(const struct ck_place *p, bool *ret, struct ck_fail *fail)
{
	char label[CK_DEDICATED_LABEL_SIZE];
	struct kc_record rec;
	struct kc *kc = NULL;
	ck_err r;

	if ((r = kc_open(p->keychain, JOINED_RULES, &kc, fail)) != CK_OK)
		return r;
	r = kc_find(kc, CK_SPAN_TEXT(p->service), CK_SPAN_TEXT(p->account),
	    &rec, fail);
	ck_dedicated_label(p, label);
	if (r == CK_ABSENT)
		r = has_label(kc, label, ret, fail);
	else if (r == CK_OK)
		*ret = true;
	kc_close(&kc);
	return r;
}

ck_err
ck_joined_add(const struct ck_place *p, const struct ck_secret *password,
    const struct ck_secret *value, struct ck_fail *fail)
{
	const struct ck_login login = { p->keychain, password, CK_WAIT_MS };
	char label[CK_DEDICATED_LABEL_SIZE];
	const struct ck_login_item item = { p->service, p->account, label,
	    value };

	ck_dedicated_label(p, label);
	return ck_login_add(&login, &item, fail);
}

ck_err
ck_joined_remove(const struct ck_place *p, const struct ck_secret *password,
    const struct ck_secret *expected, struct ck_fail *fail)
{
	const struct ck_login login = { p->keychain, password, CK_WAIT_MS };

	return ck_login_delete(&login, p->service, p->account, expected, fail);
}

/* What is looked for among the rows of the others. */
struct search {
	const char *own;                 /* credential */
	bool found;
	struct ck_rec_store broker;
};

static ck_err
is_moved(void *arg, const struct ck_rec_credential *row)
{
	struct search *s = arg;

	if (row->state != CK_STATE_BROKER && strcmp(row->name, s->own) != 0)
		s->found = true;
	return CK_OK;
}

ck_err
ck_joined_others(const struct ck_place *p, struct ck_records *rec, bool *ret,
    struct ck_fail *fail)
{
	struct search s = { .own = p->credential };
	ck_err r;

	r = ck_records_credential_each(rec, is_moved, &s, fail);
	if (r == CK_OK)
		*ret = s.found;
	return r;
}

/* Behind the dedicated store stands the broker that was first before. */
static ck_err
is_behind(void *arg, const struct ck_rec_precedence *row)
{
	struct search *s = arg;

	if (s->found || row->rank != 1 ||
	    strcmp(row->credential, s->own) == 0 ||
	    (row->store.kind != CK_KIND_LOGIN_KEYCHAIN &&
	    row->store.kind != CK_KIND_FILE_BROKER))
		return CK_OK;
	s->found = true;
	s->broker = row->store;
	return CK_OK;
}

ck_err
ck_joined_broker(const struct ck_place *p, struct ck_records *rec,
    struct ck_rec_store *ret, struct ck_fail *fail)
{
	struct search s = { .own = p->credential };
	ck_err r;

	r = ck_records_precedence_each(rec, NULL, NULL, is_behind, &s, fail);
	if (r == CK_OK && !s.found)
		r = ck_fail_set(fail, CK_ABSENT, p->dir,
		    "no other credential is in the dedicated keychain");
	if (r == CK_OK)
		*ret = s.broker;
	return r;
}
