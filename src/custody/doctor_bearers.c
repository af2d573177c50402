/* SPDX-License-Identifier: Apache-2.0 */
/* Where bearers and unlock passwords lie; see doctor_uninstall.h. */
#include "custody/doctor_uninstall_int.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "custody/advice.h"
#include "custody/broker.h"
#include "custody/dedicated.h"
#include "custody/doctor.h"
#include "custody/joined.h"
#include "custody/locator.h"
#include "keychain/keychain.h"
#include "store/dotenv.h"

#define READABLE "every process of this user can read it"

/* A command of ours for this custody; text may hold a name to be quoted. */
static void
command(struct ck_out *o, const char *verb, const char *name, bool password)
{
	struct ck_buf b = CK_BUF_INIT;

	ck_buf_format(&b, "clankie-keys %s", verb);
	if (name != NULL) {
		ck_buf_text(&b, " ");
		ck_doctor_quote(&b, name);
	}
	ck_doctor_options(o->p, password, &b);
	if (ck_buf_ok(&b) == CK_OK && b.n < CK_LINE_SIZE)
		ck_line(&o->ret->commands, "%.*s", (int)b.n,
		    (const char *)b.p);
	ck_buf_free(&b);
}

/* The labels of our items, for which no password is needed. */
static ck_err
labels(struct ck_out *o, struct kc *kc, struct ck_fail *fail)
{
	char name[sizeof(((struct ck_rec_credential *)NULL)->name)];
	struct kc_record rec;
	struct kc_value v;
	uint32_t number = 0;
	size_t n = strlen(CK_ITEM_LABEL);
	ck_err r;

	while ((r = kc_db_next(kc_db(kc), KC_REL_GENERIC, &number, &rec,
	    fail)) == CK_OK) {
		if (kc_db_value(kc_db(kc), &rec, KC_ATTR_LABEL, &v,
		    NULL) != CK_OK || !v.present || v.bytes.n <= n ||
		    v.bytes.n - n >= sizeof(name) ||
		    memcmp(v.bytes.p, CK_ITEM_LABEL, n) != 0)
			continue;
		memcpy(name, v.bytes.p + n, v.bytes.n - n);
		name[v.bytes.n - n] = '\0';
		ck_line(&o->ret->bearers, "%s: the credential %s, in the "
		    "dedicated keychain", o->p->keychain, name);
		ck_line(&o->ret->in_the_way, "%s holds the credential %s",
		    o->p->keychain, name);
		command(o, "restore", name, true);
	}
	return r == CK_ABSENT ? CK_OK : r;
}

/* A file that cannot be read may hold anything. */
static void
dedicated(struct ck_out *o)
{
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc *kc = NULL;
	size_t before = o->ret->in_the_way.n;
	bool there = true;
	ck_err r;

	r = ck_place_dedicated(o->p, &there, &fail);
	if (r == CK_OK && !there)
		return;
	if (r == CK_OK && (r = kc_open(o->p->keychain, CK_IO_OWNER, &kc,
	    &fail)) == CK_OK)
		r = labels(o, kc, &fail);
	kc_close(&kc);
	if (r == CK_OK && o->ret->in_the_way.n > before)
		return;
	ck_line(&o->ret->bearers, "%s: may hold credentials (%s)",
	    o->p->keychain, r == CK_OK ? "none that we know" : fail.why);
	ck_line(&o->ret->in_the_way, "%s is there and does not say which "
	    "credentials it holds", o->p->keychain);
	command(o, "doctor", NULL, true);
}

/* One of the general brokers, for one credential. */
static void
broker(struct ck_out *o, const struct ck_place *where)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r = ck_broker_read(where, NULL, &fail);

	if (r == CK_OK)
		ck_line(&o->ret->bearers, "%s (%s): %s / %s; " READABLE,
		    where->broker, ck_rec_kind_name(where->broker_kind),
		    where->service, where->account);
	else if (r != CK_ABSENT && r != CK_NOSTORE)
		ck_line(&o->ret->bearers, "%s: cannot be read (%s)",
		    where->broker, fail.why);
}

/* The recorded one, the one the environment names, and the usual one. */
static void
brokers(struct ck_out *o, const struct ck_place *recorded)
{
	struct ck_place where = *recorded;
	char usual[CK_PATH_MAX];

	broker(o, &where);
	where.broker_kind = CK_KIND_FILE_BROKER;
	if (strcmp(o->p->file_broker, recorded->broker) != 0) {
		memcpy(where.broker, o->p->file_broker, sizeof(where.broker));
		broker(o, &where);
	}
	if (ck_path_join(o->p->config, "clankie/credentials.json", usual,
	    NULL) == CK_OK && strcmp(usual, recorded->broker) != 0 &&
	    strcmp(usual, o->p->file_broker) != 0) {
		memcpy(where.broker, usual, sizeof(usual));
		broker(o, &where);
	}
}

static ck_err
is_broker(void *arg, const struct ck_rec_precedence *row)
{
	struct ck_place *where = arg;

	if (row->store.kind == CK_KIND_LOGIN_KEYCHAIN ||
	    row->store.kind == CK_KIND_FILE_BROKER) {
		where->broker_kind = row->store.kind;
		memcpy(where->broker, row->store.path, sizeof(where->broker));
	}
	return CK_OK;
}

/* A row that says dedicated without an item tells of a bearer elsewhere. */
static void
astray(struct ck_out *o, const struct ck_place *where)
{
	bool there = false;

	if (o->v.dedicated && (ck_joined_holds(where, &there, NULL) != CK_OK ||
	    there))
		return;   /* named, or said to be unreadable, already */
	ck_line(&o->ret->in_the_way, "the records say that %s is in %s, "
	    "which %s", where->credential, where->keychain,
	    o->v.dedicated ? "has no item of it" : "is not there");
	command(o, "reset", where->credential, true);
}

static ck_err
recorded(void *arg, const struct ck_rec_credential *row)
{
	struct ck_out *o = arg;
	struct ck_place where = *o->p;
	ck_err r;

	memcpy(where.credential, row->name, sizeof(where.credential));
	memcpy(where.service, row->service, sizeof(where.service));
	memcpy(where.account, row->account, sizeof(where.account));
	if ((r = ck_records_precedence_each(o->v.rec, row->name, NULL,
	    is_broker, &where, NULL)) != CK_OK)
		return r;
	brokers(o, &where);
	if (row->state == CK_STATE_DEDICATED ||
	    row->state == CK_STATE_RESTORING)
		astray(o, &where);
	return CK_OK;
}

static ck_err
dotenv(void *arg, const struct ck_rec_protected *row)
{
	struct ck_out *o = arg;
	bool found = false;

	if (strcmp(ck_path_base(row->path), ".env.local") == 0 &&
	    ck_dotenv_find_bearer(row->path, &found, NULL, NULL) == CK_OK &&
	    found)
		ck_line(&o->ret->bearers, "%s (dotenv): something with the "
		    "form of an operator bearer; " READABLE, row->path);
	return CK_OK;
}

static ck_err
records(struct ck_out *o, struct ck_fail *fail)
{
	char finish[CK_ADVICE_SIZE];
	size_t before = o->ret->bearers.n;
	ck_err r;

	if (o->v.rec == NULL) {
		brokers(o, o->p);
		return CK_OK;
	}
	if ((r = ck_records_credential_each(o->v.rec, recorded, o,
	    fail)) != CK_OK ||
	    (r = ck_records_protected_each(o->v.rec, dotenv, o,
	    fail)) != CK_OK)
		return r;
	if (!o->v.known && o->ret->bearers.n == before)
		brokers(o, o->p);
	if (!o->v.journal_open)
		return CK_OK;
	ck_advice_finish(o->p, &o->v.journal, finish);
	ck_line(&o->ret->commands, "%s", finish);
	ck_line(&o->ret->in_the_way, "an earlier %s was not finished (%s)",
	    o->v.journal.operation, finish);
	return CK_OK;
}

/* One that a reset kept, or that is left of a keychain that is gone, opens
 * nothing here. */
static void
own_item(struct ck_out *o, const char *broker, struct ck_span account)
{
	struct ck_buf b = CK_BUF_INIT;
	char name[256];

	ck_line(&o->ret->in_the_way, "%s holds the unlock password of a "
	    "dedicated keychain (item %s / %.*s)", broker,
	    CK_OWN_SERVICE, (int)account.n, (const char *)account.p);
	if (account.n >= sizeof(name) || (o->v.dedicated &&
	    (ck_span_equal(account, CK_SPAN_TEXT(CK_UNLOCK_ACCOUNT)) ||
	    ck_span_equal(account, CK_SPAN_TEXT(CK_PENDING_ACCOUNT)))))
		return;   /* restore takes it along */
	memcpy(name, account.p, account.n);
	name[account.n] = '\0';
	ck_buf_text(&b, "clankie-keys keychain delete ");
	ck_doctor_quote(&b, broker);
	ck_buf_text(&b, " --service " CK_OWN_SERVICE " --account ");
	ck_doctor_quote(&b, name);
	if (ck_buf_ok(&b) == CK_OK && b.n < CK_LINE_SIZE)
		ck_line(&o->ret->commands, "%.*s", (int)b.n,
		    (const char *)b.p);
	ck_buf_free(&b);
}

/* Every item of ours in a keychain broker is, or was, an unlock password. */
static ck_err
own_items(struct ck_out *o, const char *broker, struct ck_fail *fail)
{
	struct kc_record rec;
	struct kc_value service, account;
	struct kc *kc = NULL;
	uint32_t number = 0;
	ck_err r;

	r = kc_open(broker, CK_IO_OWNER, &kc, fail);
	if (r == CK_NOSTORE)
		return CK_OK;   /* no broker, no item in it */
	while (r == CK_OK && (r = kc_db_next(kc_db(kc), KC_REL_GENERIC,
	    &number, &rec, fail)) == CK_OK) {
		if ((r = kc_db_value(kc_db(kc), &rec, KC_ATTR_SERVICE,
		    &service, fail)) != CK_OK ||
		    (r = kc_db_value(kc_db(kc), &rec, KC_ATTR_ACCOUNT,
		    &account, fail)) != CK_OK)
			break;
		if (service.present && account.present &&
		    ck_span_equal(service.bytes, CK_SPAN_TEXT(CK_OWN_SERVICE)))
			own_item(o, broker, account.bytes);
	}
	kc_close(&kc);
	return r == CK_ABSENT ? CK_OK : r;
}

/* unlock.json is looked for in any case; its directory has the others. */
static ck_err
passwords(struct ck_out *o, struct ck_fail *fail)
{
	const struct ck_place *p = o->p;
	char noted[CK_PATH_MAX];
	struct stat st;
	ck_err r;

	if (lstat(p->unlock, &st) == 0)
		ck_line(&o->ret->in_the_way, "%s holds the unlock password of "
		    "a dedicated keychain", p->unlock);
	else if (errno != ENOENT && errno != ENOTDIR)
		return ck_fail_sys(fail, errno, p->unlock, "examine it");
	if (p->broker_kind == CK_KIND_LOGIN_KEYCHAIN &&
	    (r = own_items(o, p->broker, fail)) != CK_OK)
		return r;
	/* Records that were lost or edited name another one. */
	r = ck_locator_get(p, noted, fail);
	if (r != CK_OK)
		return r == CK_NOSTORE ? CK_OK : r;
	return p->broker_kind == CK_KIND_LOGIN_KEYCHAIN &&
	    strcmp(noted, p->broker) == 0 ? CK_OK : own_items(o, noted, fail);
}

ck_err
ck_out_bearers(struct ck_out *o, struct ck_fail *fail)
{
	ck_err r;

	dedicated(o);
	if ((r = records(o, fail)) != CK_OK)
		return r;
	if (o->p->operator_override)
		ck_line(&o->ret->bearers, "CLANKIE_OPERATOR_TOKEN in this "
		    "environment, if only empty");
	return passwords(o, fail);
}
