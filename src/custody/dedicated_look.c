/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the dedicated keychain beside somebody who replaces it; see
 * dedicated.h.  No password is ever stored twice for two files, so one that
 * was read twice and opened the file neither time does not belong to it.
 */
#include "custody/dedicated.h"

#include "custody/advice.h"
#include "custody/broker.h"
#include "custody/pending.h"

/* How often others may come between two looks of ours. */
#define LOOKS_MAX 32

/* What was stored at one look. */
struct stored {
	struct ck_secret now, pending;
	struct ck_anchor anchor;
};

#define STORED_INIT { CK_SECRET_INIT, CK_SECRET_INIT, CK_ANCHOR_INIT }

static void
stored_wipe(struct stored *s)
{
	ck_secret_wipe(&s->now);
	ck_secret_wipe(&s->pending);
}

static bool
same(const struct ck_secret *a, const struct ck_secret *b)
{
	if (a->p == NULL || b->p == NULL)
		return a->p == b->p;
	return ck_secret_equal(a, b);
}

static ck_err
password_of(const struct ck_place *p, struct stored *ret,
    struct ck_fail *fail)
{
	ck_err r = ck_unlock_place_read(p, &ret->now, &ret->anchor, fail);

	if (r == CK_NOSTORE)
		ck_advise(fail, p, "put it back: without it the dedicated "
		    "keychain cannot be opened.  If it is lost for good: "
		    "{reset}");
	return r;
}

/* One look.  *ret_used is the password that opened the file. */
static ck_err
look_once(const struct ck_place *p, struct stored *s,
    struct ck_secret **ret_used, struct ck_secret *ret_value,
    struct ck_secret *ret_key, struct ck_fail *fail)
{
	struct ck_fail other = CK_FAIL_INIT;
	ck_err r, pending;

	*ret_used = NULL;
	if ((r = password_of(p, s, fail)) != CK_OK)
		return r;
	*ret_used = &s->now;
	r = ck_dedicated_read_both(p, &s->now, ret_value, ret_key, fail);
	if (r != CK_LOCKED)
		return r;
	pending = ck_pending_get(p, &s->pending, &other);
	if (pending == CK_NOSTORE)
		return r;
	if (pending != CK_OK) {
		if (fail != NULL)
			*fail = other;
		*ret_used = NULL;
		return pending;
	}
	*ret_used = &s->pending;
	return ck_dedicated_read_both(p, &s->pending, ret_value, ret_key,
	    fail);
}

ck_err
ck_dedicated_look_at(const struct ck_place *p,
    struct ck_secret *ret_password, struct ck_secret *ret_value,
    struct ck_secret *ret_key, struct ck_anchor *ret_anchor,
    struct ck_fail *fail)
{
	struct stored before = STORED_INIT, s = STORED_INIT;
	struct ck_secret *used = NULL;
	ck_err r = CK_LOCKED;

	for (int i = 0; i < LOOKS_MAX; i++) {
		r = look_once(p, &s, &used, ret_value, ret_key, fail);
		if (r != CK_LOCKED || used == NULL ||
		    (same(&s.now, &before.now) &&
		    same(&s.pending, &before.pending)))
			break;
		stored_wipe(&before);
		before = s;
		s = (struct stored)STORED_INIT;
	}
	if (r == CK_OK && ret_password != NULL)
		ck_secret_move(ret_password, used);
	if (r == CK_OK && ret_anchor != NULL)
		*ret_anchor = s.anchor;
	if (r == CK_DAMAGED && fail != NULL && fail->next[0] == '\0')
		ck_advise(fail, p, "put the keychain back from a backup of "
		    "this day; if it is lost for good: {reset}");
	stored_wipe(&s);
	stored_wipe(&before);
	return r;
}

ck_err
ck_dedicated_look(const struct ck_place *p, struct ck_secret *ret_password,
    struct ck_secret *ret_value, struct ck_secret *ret_key,
    struct ck_fail *fail)
{
	return ck_dedicated_look_at(p, ret_password, ret_value, ret_key, NULL,
	    fail);
}
