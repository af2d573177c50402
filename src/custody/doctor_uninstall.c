/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of doctor --uninstall, and where bearers lie; see
 * doctor_uninstall.h. */
#include "custody/doctor_uninstall_int.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "custody/broker.h"
#include "custody/dedicated.h"
#include "custody/doctor.h"
#include "custody/preflight.h"
#include "keychain/keychain.h"
#include "store/dotenv.h"
#include "store/login.h"

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

static void
brokers(struct ck_out *o, const char *service, const char *account)
{
	struct ck_place where = *o->p;
	char usual[CK_PATH_MAX];

	memcpy(where.service, service, strlen(service) + 1);
	memcpy(where.account, account, strlen(account) + 1);
	broker(o, &where);
	where.broker_kind = CK_KIND_FILE_BROKER;
	if (strcmp(o->p->file_broker, o->p->broker) != 0) {
		memcpy(where.broker, o->p->file_broker, sizeof(where.broker));
		broker(o, &where);
	}
	if (ck_path_join(o->p->config, "clankie/credentials.json", usual,
	    NULL) == CK_OK && strcmp(usual, o->p->broker) != 0 &&
	    strcmp(usual, o->p->file_broker) != 0) {
		memcpy(where.broker, usual, sizeof(usual));
		broker(o, &where);
	}
}

/* A row that says dedicated without a file tells of a bearer elsewhere. */
static ck_err
recorded(void *arg, const struct ck_rec_credential *row)
{
	struct ck_out *o = arg;

	brokers(o, row->service, row->account);
	if (o->v.dedicated || (row->state != CK_STATE_DEDICATED &&
	    row->state != CK_STATE_RESTORING))
		return CK_OK;
	ck_line(&o->ret->in_the_way, "the records say that %s is in %s, "
	    "which is not there", row->name, o->p->keychain);
	command(o, "doctor", NULL, true);
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
	char finish[CK_VIEW_COMMAND_SIZE];
	size_t before = o->ret->bearers.n;
	ck_err r;

	if (o->v.rec == NULL) {
		brokers(o, o->p->service, o->p->account);
		return CK_OK;
	}
	if ((r = ck_records_credential_each(o->v.rec, recorded, o,
	    fail)) != CK_OK ||
	    (r = ck_records_protected_each(o->v.rec, dotenv, o,
	    fail)) != CK_OK)
		return r;
	if (!o->v.known && o->ret->bearers.n == before)
		brokers(o, o->p->service, o->p->account);
	if (!o->v.journal_open)
		return CK_OK;
	ck_view_command(&o->v.journal, finish);
	ck_line(&o->ret->in_the_way, "an earlier %s was not finished (%s)",
	    o->v.journal.operation, finish);
	return CK_OK;
}

/* Both unlock passwords are ours, whichever keychain they open. */
static ck_err
passwords(struct ck_out *o, struct ck_fail *fail)
{
	const struct ck_place *p = o->p;
	const struct ck_login login = { p->broker, NULL, CK_WAIT_MS };
	bool keychain = p->broker_kind == CK_KIND_LOGIN_KEYCHAIN;
	bool there = false;
	ck_err r;

	r = ck_unlock_place_exists(p, &there, fail);
	if (r == CK_NOSTORE)
		return CK_OK;   /* no broker, no item in it */
	if (r == CK_OK && !there && keychain) {
		r = ck_login_find(&login, CK_OWN_SERVICE, CK_PENDING_ACCOUNT,
		    NULL, fail);
		there = r == CK_OK;
		r = r == CK_ABSENT ? CK_OK : r;
	}
	if (r == CK_OK && there)
		ck_line(&o->ret->in_the_way, "%s holds the unlock password of "
		    "a dedicated keychain", keychain ? p->broker : p->unlock);
	return r;
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

/* Records that are damaged tell nothing; that must not keep anybody here. */
static ck_err
look(struct ck_out *o, struct ck_fail *fail)
{
	struct ck_fail why = CK_FAIL_INIT;
	ck_err r;

	r = ck_view_open(o->p, CK_REC_READ, &o->v, &why);
	if (r == CK_DAMAGED || r == CK_NOSTORE) {
		o->v = (struct ck_view)CK_VIEW_INIT;
		ck_line(&o->ret->bearers, "the records do not say more (%s)",
		    why.why);
	} else if (r != CK_OK) {
		if (fail != NULL)
			*fail = why;
		return r;
	}
	if ((r = ck_out_bearers(o, fail)) != CK_OK)
		return r;
	return ck_out_files(o, fail);
}

/* What is in the way names itself, and how to clear it. */
static ck_err
blocked(const struct ck_uninstall *u, struct ck_fail *fail)
{
	if (u->in_the_way.n == 0)
		return CK_OK;
	(void)ck_fail_set(fail, CK_DECIDE, NULL, "%s%s; nothing was removed",
	    u->in_the_way.at[0], u->in_the_way.n > 1 ? ", and more" : "");
	ck_fail_next(fail, "%s", u->commands.n > 0 ? u->commands.at[0] :
	    "clankie-keys doctor --uninstall names all of it");
	return CK_DECIDE;
}

static ck_err
carry_out(struct ck_out *o, struct ck_fail *fail)
{
	int lock = -1;
	ck_err r;

	r = ck_place_open_dir(o->p, &o->dirfd, fail);
	if (r != CK_OK && r != CK_NOSTORE)
		return r;
	if (o->confirm && r == CK_OK && (r = ck_place_lock(o->p, o->dirfd, &lock,
	    fail)) != CK_OK)
		return r;
	if ((r = look(o, fail)) == CK_OK && o->confirm &&
	    (r = blocked(o->ret, fail)) == CK_OK) {
		/* SQLite's locks on the file go before it does. */
		ck_view_close(&o->v);
		r = ck_out_remove(o, fail);
	}
	ck_io_close(&lock);
	return r;
}

ck_err
ck_doctor_uninstall(struct ck_place *p, bool confirm,
    struct ck_uninstall *ret, struct ck_fail *fail)
{
	struct ck_out o = { p, ret, confirm, CK_VIEW_INIT, -1 };
	ck_err r;

	memset(ret, 0, sizeof(*ret));
	if (confirm && (r = ck_preflight_worker(p->worker_marked,
	    "doctor --uninstall --confirm", fail)) != CK_OK)
		return r;
	r = carry_out(&o, fail);
	ck_view_close(&o.v);
	ck_io_close(&o.dirfd);
	return r;
}
