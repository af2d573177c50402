/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unlock password and its anchor; see unlock_place.h.  An item has the
 * text "PASSWORD GENERATION SIGNATURE PRINT OPERATION", in which "-" stands
 * for an empty field, or "PASSWORD" alone.
 */
#include "custody/unlock_place.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/crypto.h>

#include "store/login.h"
#include "store/unlock.h"

/* Behind the password: a number and three fields of hex digits. */
#define TAIL_MAX 192

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

/* Is what unlock.json holds for our keychain? */
static ck_err
for_us(const struct ck_place *p, const struct ck_unlock *u,
    struct ck_fail *fail)
{
	if (strcmp(u->keychain, p->keychain) == 0)
		return CK_OK;
	return ck_fail_set(fail, CK_REFUSED, p->unlock,
	    "holds the unlock password of another keychain (%.400s)",
	    u->keychain);
}

static ck_err
file_read(const struct ck_place *p, struct ck_unlock *ret,
    struct ck_fail *fail)
{
	struct ck_unlock u = CK_UNLOCK_INIT;
	ck_err r;

	r = ck_unlock_get(p->unlock, &u, fail);
	if (r == CK_NOSTORE)
		return ck_fail_set(fail, r, p->unlock,
		    "the unlock password is missing");
	if (r == CK_OK && (r = for_us(p, &u, fail)) == CK_OK) {
		*ret = u;
		u = (struct ck_unlock)CK_UNLOCK_INIT;
	}
	ck_unlock_wipe(&u);
	return r;
}

/* A field up to the next space or the end. */
static bool
parse_field(const char **text, char *ret, size_t size)
{
	const char *at = *text;
	size_t n;

	if (*at++ != ' ')
		return false;
	n = strcspn(at, " ");
	*text = at + n;
	if (n == 1 && *at == '-')
		n = 0;
	if (n >= size || strspn(at, "0123456789abcdef") < n ||
	    (n == 0 && *at != '-'))
		return false;
	memcpy(ret, at, n);
	ret[n] = '\0';
	return true;
}

/* What stands behind the password, if anything. */
static bool
parse_anchor(const uint8_t *text, size_t n, struct ck_anchor *ret)
{
	struct ck_anchor a = CK_ANCHOR_INIT;
	char copy[TAIL_MAX];
	const char *at;
	char *rest;

	if (n == 0) {
		*ret = a;
		return true;
	}
	if (n < 2 || n >= sizeof(copy) || text[0] != ' ' || text[1] < '0' ||
	    text[1] > '9' || memchr(text, 0, n) != NULL)
		return false;
	memcpy(copy, text + 1, n - 1);
	copy[n - 1] = '\0';
	errno = 0;
	a.generation = strtoumax(copy, &rest, 10);
	at = rest;
	if (errno != 0 ||
	    !parse_field(&at, a.signature, sizeof(a.signature)) ||
	    !parse_field(&at, a.print, sizeof(a.print)) ||
	    !parse_field(&at, a.operation, sizeof(a.operation)) ||
	    *at != '\0')
		return false;
	*ret = a;
	return true;
}

/* The item's whole text, and what it says. */
static ck_err
item_read(const struct ck_place *p, struct ck_secret *ret_text,
    struct ck_anchor *ret, struct ck_fail *fail)
{
	struct ck_login login = as_login(p);
	struct ck_secret text = CK_SECRET_INIT;
	ck_err r;

	r = ck_login_find(&login, CK_OWN_SERVICE, CK_UNLOCK_ACCOUNT, &text,
	    fail);
	/* The item's absence is not the bearer's: another code. */
	if (r == CK_ABSENT)
		return ck_fail_set(fail, CK_NOSTORE, p->broker,
		    "the unlock password is missing (item %s / %s)",
		    CK_OWN_SERVICE, CK_UNLOCK_ACCOUNT);
	if (r != CK_OK)
		return r;
	if (text.n < CK_UNLOCK_PASSWORD_SIZE ||
	    !parse_anchor(text.p + CK_UNLOCK_PASSWORD_SIZE,
	    text.n - CK_UNLOCK_PASSWORD_SIZE, ret))
		r = ck_fail_set(fail, CK_DAMAGED, p->broker,
		    "holds no unlock password in the item %s / %s",
		    CK_OWN_SERVICE, CK_UNLOCK_ACCOUNT);
	else
		ck_secret_move(ret_text, &text);
	ck_secret_wipe(&text);
	return r;
}

static const char *
field(const char *text)
{
	return text[0] != '\0' ? text : "-";
}

static ck_err
item_text(const struct ck_secret *password, const struct ck_anchor *a,
    struct ck_secret *ret)
{
	char tail[TAIL_MAX];
	int n;
	ck_err r;

	n = snprintf(tail, sizeof(tail), " %" PRIu64 " %s %s %s",
	    a->generation, field(a->signature), field(a->print),
	    field(a->operation));
	if (n < 0 || (size_t)n >= sizeof(tail))
		return CK_INTERNAL;
	if ((r = ck_secret_alloc(password->n + (size_t)n, ret)) != CK_OK)
		return r;
	memcpy(ret->p, password->p, password->n);
	memcpy(ret->p + password->n, tail, (size_t)n);
	return CK_OK;
}

/* The anchor of unlock.json, whose fields may be longer. */
static bool
file_anchor(const struct ck_unlock *u, struct ck_anchor *ret)
{
	struct ck_anchor a = CK_ANCHOR_INIT;

	if (strlen(u->signature) >= sizeof(a.signature))
		return false;
	a.generation = u->generation;
	memcpy(a.signature, u->signature, strlen(u->signature) + 1);
	memcpy(a.print, u->print, sizeof(a.print));
	memcpy(a.operation, u->operation, sizeof(a.operation));
	*ret = a;
	return true;
}

static void
set_file_anchor(struct ck_unlock *u, const struct ck_anchor *a)
{
	u->generation = a->generation;
	memset(u->signature, 0, sizeof(u->signature));
	memcpy(u->signature, a->signature, sizeof(a->signature));
	memcpy(u->print, a->print, sizeof(u->print));
	memcpy(u->operation, a->operation, sizeof(u->operation));
}

ck_err
ck_unlock_place_read(const struct ck_place *p, struct ck_secret *ret_password,
    struct ck_anchor *ret_anchor, struct ck_fail *fail)
{
	struct ck_unlock u = CK_UNLOCK_INIT;
	struct ck_secret text = CK_SECRET_INIT;
	struct ck_anchor a = CK_ANCHOR_INIT;
	ck_err r;

	if (is_keychain(p)) {
		r = item_read(p, &text, &a, fail);
	} else if ((r = file_read(p, &u, fail)) == CK_OK) {
		if (!file_anchor(&u, &a))
			r = ck_fail_set(fail, CK_DAMAGED, p->unlock,
			    "notes a signature that is too long");
		ck_secret_move(&text, &u.password);
	}
	if (r == CK_OK && ret_password != NULL &&
	    (r = ck_secret_copy(text.p, CK_UNLOCK_PASSWORD_SIZE,
	    ret_password)) != CK_OK)
		r = ck_fail_set(fail, r, NULL, "no secure memory");
	if (r == CK_OK && ret_anchor != NULL)
		*ret_anchor = a;
	ck_secret_wipe(&text);
	ck_unlock_wipe(&u);
	return r;
}

ck_err
ck_unlock_place_get(const struct ck_place *p, struct ck_secret *ret,
    struct ck_fail *fail)
{
	return ck_unlock_place_read(p, ret, NULL, fail);
}

ck_err
ck_unlock_place_exists(const struct ck_place *p, bool *ret,
    struct ck_fail *fail)
{
	struct ck_login login = as_login(p);
	struct stat st;
	ck_err r;

	if (is_keychain(p)) {
		r = ck_login_find(&login, CK_OWN_SERVICE, CK_UNLOCK_ACCOUNT,
		    NULL, fail);
		if (r == CK_OK || r == CK_ABSENT)
			*ret = r == CK_OK;
		return r == CK_ABSENT ? CK_OK : r;
	}
	if (lstat(p->unlock, &st) == 0) {
		*ret = true;
		return CK_OK;
	}
	if (errno != ENOENT)
		return ck_fail_sys(fail, errno, p->unlock, "examine it");
	*ret = false;
	return CK_OK;
}

static bool
same_anchor(const struct ck_anchor *a, const struct ck_anchor *b)
{
	return a->generation == b->generation &&
	    strcmp(a->signature, b->signature) == 0 &&
	    strcmp(a->print, b->print) == 0 &&
	    strcmp(a->operation, b->operation) == 0;
}

/* What is stored there must come back. */
static ck_err
proved(const struct ck_place *p, const struct ck_secret *password,
    const struct ck_anchor *anchor, struct ck_fail *fail)
{
	struct ck_secret back = CK_SECRET_INIT;
	struct ck_anchor a;
	ck_err r;

	if ((r = ck_unlock_place_read(p, &back, &a, fail)) != CK_OK)
		return r;
	if (!ck_secret_equal(&back, password) || !same_anchor(&a, anchor))
		r = ck_fail_set(fail, CK_IO, where(p),
		    "gives the unlock password back changed");
	ck_secret_wipe(&back);
	return r;
}

ck_err
ck_unlock_place_put(const struct ck_place *p,
    const struct ck_secret *password, const char *operation,
    struct ck_fail *fail)
{
	struct ck_anchor anchor = CK_ANCHOR_INIT;
	struct ck_login login = as_login(p);
	struct ck_secret back = CK_SECRET_INIT, text = CK_SECRET_INIT;
	const struct ck_login_item item = { CK_OWN_SERVICE, CK_UNLOCK_ACCOUNT,
	    "clankie-keys unlock password", &text };
	struct ck_unlock u = CK_UNLOCK_INIT;
	ck_err r;

	if ((r = ck_unlock_place_get(p, &back, fail)) == CK_OK) {
		r = ck_secret_equal(&back, password) ? CK_OK :
		    ck_fail_set(fail, CK_REFUSED, where(p),
		    "holds an unlock password already");
		ck_secret_wipe(&back);
		return r;
	}
	if (r != CK_NOSTORE)
		return r;
	(void)snprintf(anchor.operation, sizeof(anchor.operation), "%s",
	    operation);
	if (is_keychain(p)) {
		if ((r = item_text(password, &anchor, &text)) != CK_OK)
			return ck_fail_set(fail, r, NULL, "no secure memory");
		r = ck_login_add(&login, &item, fail);
		ck_secret_wipe(&text);
	} else {
		u.password = *password;   /* borrowed for the call */
		memcpy(u.keychain, p->keychain, sizeof(u.keychain));
		set_file_anchor(&u, &anchor);
		r = ck_unlock_put(p->unlock, &u, fail);
	}
	return r == CK_OK ? proved(p, password, &anchor, fail) : r;
}

static ck_err
changed(const struct ck_place *p, struct ck_fail *fail)
{
	return ck_fail_set(fail, CK_CHANGED, where(p),
	    "holds another unlock password now");
}

static ck_err
item_swap(const struct ck_place *p, const struct ck_secret *now,
    const struct ck_secret *password, const struct ck_anchor *anchor,
    struct ck_fail *fail)
{
	struct ck_login login = as_login(p);
	struct ck_secret old = CK_SECRET_INIT, new = CK_SECRET_INIT;
	const struct ck_login_item item = { CK_OWN_SERVICE,
	    CK_UNLOCK_ACCOUNT, NULL, &new };
	struct ck_anchor was;
	ck_err r;

	if ((r = item_read(p, &old, &was, fail)) != CK_OK)
		return r;
	if (now->n != CK_UNLOCK_PASSWORD_SIZE ||
	    CRYPTO_memcmp(old.p, now->p, now->n) != 0)
		r = changed(p, fail);
	else if ((r = item_text(password, anchor, &new)) != CK_OK)
		(void)ck_fail_set(fail, r, NULL, "no secure memory");
	else
		r = ck_login_update(&login, &item, &old, fail);
	ck_secret_wipe(&new);
	ck_secret_wipe(&old);
	return r;
}

/* keep: leave a pending password there. */
static ck_err
file_swap(const struct ck_place *p, const struct ck_secret *now,
    const struct ck_secret *password, const struct ck_anchor *anchor,
    bool keep, struct ck_fail *fail)
{
	struct ck_unlock u = CK_UNLOCK_INIT;
	ck_err r;

	if ((r = file_read(p, &u, fail)) != CK_OK)
		return r;
	if (!ck_secret_equal(&u.password, now)) {
		r = changed(p, fail);
		goto out;
	}
	ck_secret_wipe(&u.password);
	if ((r = ck_secret_copy(password->p, password->n,
	    &u.password)) != CK_OK) {
		r = ck_fail_set(fail, r, NULL, "no secure memory");
		goto out;
	}
	if (!keep) {
		ck_secret_wipe(&u.pending_password);
		memset(u.pending_keychain, 0, sizeof(u.pending_keychain));
	}
	set_file_anchor(&u, anchor);
	r = ck_unlock_put(p->unlock, &u, fail);
out:
	ck_unlock_wipe(&u);
	return r;
}

ck_err
ck_unlock_place_swap(const struct ck_place *p, const struct ck_secret *now,
    const struct ck_secret *password, const struct ck_anchor *anchor,
    struct ck_fail *fail)
{
	ck_err r;

	r = is_keychain(p) ? item_swap(p, now, password, anchor, fail) :
	    file_swap(p, now, password, anchor, false, fail);
	return r == CK_OK ? proved(p, password, anchor, fail) : r;
}

ck_err
ck_unlock_place_anchor(const struct ck_place *p,
    const struct ck_secret *password, const struct ck_anchor *anchor,
    struct ck_fail *fail)
{
	ck_err r;

	/* Nothing is written for what stands there already. */
	if (proved(p, password, anchor, NULL) == CK_OK)
		return CK_OK;
	r = is_keychain(p) ? item_swap(p, password, password, anchor, fail) :
	    file_swap(p, password, password, anchor, true, fail);
	return r == CK_OK ? proved(p, password, anchor, fail) : r;
}

ck_err
ck_unlock_place_remove(const struct ck_place *p,
    const struct ck_secret *password, struct ck_fail *fail)
{
	struct ck_login login = as_login(p);
	struct ck_secret text = CK_SECRET_INIT;
	struct ck_unlock u = CK_UNLOCK_INIT;
	struct ck_anchor a;
	ck_err r;

	if (is_keychain(p)) {
		if ((r = item_read(p, &text, &a, fail)) != CK_OK)
			return r == CK_NOSTORE ? CK_ABSENT : r;
		r = password->n == CK_UNLOCK_PASSWORD_SIZE &&
		    CRYPTO_memcmp(text.p, password->p, password->n) == 0 ?
		    ck_login_delete(&login, CK_OWN_SERVICE, CK_UNLOCK_ACCOUNT,
		    &text, fail) : changed(p, fail);
		ck_secret_wipe(&text);
		return r;
	}
	if ((r = file_read(p, &u, fail)) != CK_OK)
		return r;
	r = ck_secret_equal(&u.password, password) ?
	    ck_unlock_remove(p->unlock, fail) : changed(p, fail);
	ck_unlock_wipe(&u);
	return r;
}
