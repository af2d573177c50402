/* SPDX-License-Identifier: Apache-2.0 */
/* The pending unlock password in both kinds of broker; see pending.h. */
#include "custody/pending.h"

#include <stdio.h>
#include <string.h>

#include "custody/broker.h"
#include "store/login.h"
#include "store/unlock.h"

static struct ck_login
as_login(const struct ck_place *p)
{
	struct ck_login login = { p->broker, p->login_password, CK_WAIT_MS };

	return login;
}

static bool
is_keychain(const struct ck_place *p)
{
	return p->broker_kind == CK_KIND_LOGIN_KEYCHAIN;
}

static const char *
where(const struct ck_place *p)
{
	return is_keychain(p) ? p->broker : p->unlock;
}

static ck_err
none(const struct ck_place *p, struct ck_fail *fail)
{
	return ck_fail_set(fail, CK_NOSTORE, where(p),
	    "holds no pending unlock password");
}

static ck_err
file_get(const struct ck_place *p, struct ck_secret *ret,
    struct ck_fail *fail)
{
	struct ck_unlock u = CK_UNLOCK_INIT;
	ck_err r;

	if ((r = ck_unlock_get(p->unlock, &u, fail)) != CK_OK)
		return r;
	if (u.pending_password.p == NULL)
		r = none(p, fail);
	else if (strcmp(u.pending_keychain, p->keychain) != 0)
		r = ck_fail_set(fail, CK_REFUSED, p->unlock,
		    "holds the pending unlock password of another keychain "
		    "(%.400s)", u.pending_keychain);
	else
		ck_secret_move(ret, &u.pending_password);
	ck_unlock_wipe(&u);
	return r;
}

ck_err
ck_pending_get(const struct ck_place *p, struct ck_secret *ret,
    struct ck_fail *fail)
{
	struct ck_login login = as_login(p);
	ck_err r;

	if (!is_keychain(p))
		return file_get(p, ret, fail);
	r = ck_login_find(&login, CK_OWN_SERVICE, CK_PENDING_ACCOUNT, ret,
	    fail);
	/* As with the other one: this absence is not the bearer's. */
	return r == CK_ABSENT ? none(p, fail) : r;
}

/* unlock.json with another pending password, or with none (NULL). */
static ck_err
file_put(const struct ck_place *p, const struct ck_secret *pending,
    struct ck_fail *fail)
{
	struct ck_unlock u = CK_UNLOCK_INIT;
	ck_err r;

	if ((r = ck_unlock_get(p->unlock, &u, fail)) != CK_OK)
		return r;
	ck_secret_wipe(&u.pending_password);
	memset(u.pending_keychain, 0, sizeof(u.pending_keychain));
	if (pending != NULL) {
		memcpy(u.pending_keychain, p->keychain,
		    sizeof(u.pending_keychain));
		if ((r = ck_secret_copy(pending->p, pending->n,
		    &u.pending_password)) != CK_OK)
			(void)ck_fail_set(fail, r, NULL, "no secure memory");
	}
	if (r == CK_OK)
		r = ck_unlock_put(p->unlock, &u, fail);
	ck_unlock_wipe(&u);
	return r;
}

ck_err
ck_pending_put(const struct ck_place *p, const struct ck_secret *password,
    struct ck_fail *fail)
{
	const struct ck_login login = as_login(p);
	const struct ck_login_item item = { CK_OWN_SERVICE,
	    CK_PENDING_ACCOUNT, "clankie-keys unlock password (pending)",
	    password };
	struct ck_secret back = CK_SECRET_INIT;
	ck_err r;

	r = ck_pending_get(p, &back, fail);
	if (r == CK_NOSTORE)
		r = is_keychain(p) ? ck_login_add(&login, &item, fail) :
		    file_put(p, password, fail);
	else if (r == CK_OK && !ck_secret_equal(&back, password))
		r = ck_fail_set(fail, CK_REFUSED, where(p),
		    "holds another pending unlock password");
	ck_secret_wipe(&back);
	if (r != CK_OK || (r = ck_pending_get(p, &back, fail)) != CK_OK)
		return r;
	if (!ck_secret_equal(&back, password))
		r = ck_fail_set(fail, CK_IO, where(p),
		    "gives the unlock password back changed");
	ck_secret_wipe(&back);
	return r;
}

/* One replacement of the file: the old password goes with the word pending. */
static ck_err
file_promote(const struct ck_place *p, const struct ck_secret *password,
    const char *signature, struct ck_fail *fail)
{
	struct ck_unlock u = CK_UNLOCK_INIT;
	ck_err r;

	if ((r = ck_unlock_get(p->unlock, &u, fail)) != CK_OK)
		return r;
	if (u.pending_password.p == NULL)
		goto out;
	ck_secret_wipe(&u.password);
	ck_secret_move(&u.password, &u.pending_password);
	memcpy(u.keychain, u.pending_keychain, sizeof(u.keychain));
	memset(u.pending_keychain, 0, sizeof(u.pending_keychain));
	(void)snprintf(u.signature, sizeof(u.signature), "%s", signature);
	if (!ck_secret_equal(&u.password, password))
		r = ck_fail_set(fail, CK_CHANGED, p->unlock,
		    "holds another pending unlock password");
	else
		r = ck_unlock_put(p->unlock, &u, fail);
out:
	ck_unlock_wipe(&u);
	return r;
}

/* Two changes of the keychain: while both items are there they are equal. */
static ck_err
item_promote(const struct ck_place *p, const struct ck_secret *password,
    const char *signature, struct ck_fail *fail)
{
	const struct ck_login login = as_login(p);
	struct ck_secret now = CK_SECRET_INIT, pending = CK_SECRET_INIT;
	struct ck_anchor anchor;
	ck_err r;

	r = ck_pending_get(p, &pending, fail);
	if (r == CK_NOSTORE)
		return CK_OK;
	if (r != CK_OK || (r = ck_unlock_place_read(p, &now, &anchor,
	    fail)) != CK_OK)
		goto out;
	(void)snprintf(anchor.signature, sizeof(anchor.signature), "%s",
	    signature);
	if (!ck_secret_equal(&pending, password))
		r = ck_fail_set(fail, CK_CHANGED, p->broker,
		    "holds another pending unlock password");
	else if (!ck_secret_equal(&now, password))
		r = ck_unlock_place_swap(p, &now, password, &anchor, fail);
	if (r == CK_OK)
		r = ck_login_delete(&login, CK_OWN_SERVICE,
		    CK_PENDING_ACCOUNT, password, fail);
out:
	ck_secret_wipe(&now);
	ck_secret_wipe(&pending);
	return r;
}

ck_err
ck_pending_promote(const struct ck_place *p, const struct ck_secret *password,
    const char *signature, struct ck_fail *fail)
{
	struct ck_secret back = CK_SECRET_INIT;
	ck_err r;

	r = is_keychain(p) ? item_promote(p, password, signature, fail) :
	    file_promote(p, password, signature, fail);
	if (r != CK_OK || (r = ck_unlock_place_get(p, &back, fail)) != CK_OK)
		return r;
	if (!ck_secret_equal(&back, password))
		r = ck_fail_set(fail, CK_CHANGED, where(p),
		    "holds another unlock password than the keychain needs");
	ck_secret_wipe(&back);
	return r;
}

ck_err
ck_pending_drop(const struct ck_place *p, struct ck_fail *fail)
{
	const struct ck_login login = as_login(p);
	struct ck_secret pending = CK_SECRET_INIT;
	ck_err r;

	r = ck_pending_get(p, &pending, fail);
	if (r == CK_OK)
		r = is_keychain(p) ? ck_login_delete(&login, CK_OWN_SERVICE,
		    CK_PENDING_ACCOUNT, &pending, fail) :
		    file_put(p, NULL, fail);
	else if (r == CK_NOSTORE)
		r = is_keychain(p) ? CK_OK : ck_unlock_tidy(p->unlock, fail);
	ck_secret_wipe(&pending);
	return r;
}
