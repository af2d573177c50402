/* SPDX-License-Identifier: Apache-2.0 */
/* Second bearers, and what else lies where the first one was; see
 * check_int.h. */
#include "custody/check_int.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/environ.h"
#include "custody/advice.h"
#include "custody/broker.h"
#include "store/broker_file.h"
#include "store/dotenv.h"
#include "store/login.h"

#define OVERRIDE "CLANKIE_OPERATOR_TOKEN"
#define NAMES_SHOWN 12

/* An operation that is open has not taken its copy away yet. */
static bool
is_on_its_way(const struct ck_check *c)
{
	const char *operation = c->v.journal.operation;

	return ck_view_is_moving(&c->v, c->p) &&
	    (strcmp(operation, "migrate") == 0 ||
	    strcmp(operation, "restore") == 0);
}

static void
on_its_way(struct ck_check *c, enum ck_rec_kind kind, const char *path)
{
	char next[CK_ADVICE_SIZE] = "";

	ck_advice_finish(c->p, &c->v.journal, next);
	ck_finding_add(c->out, kind == CK_KIND_LOGIN_KEYCHAIN ?
	    CK_F_SECOND_LOGIN : CK_F_SECOND_FILE, path, next,
	    "holds %s / %s, where every process of yours can read it, since "
	    "a %s was not finished", c->p->service, c->p->account,
	    c->v.journal.operation);
}

static void
look_in(void *arg, enum ck_rec_kind kind, const char *path)
{
	struct ck_check *c = arg;
	struct ck_place where = *c->p;
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	where.broker_kind = kind;
	(void)snprintf(where.broker, sizeof(where.broker), "%s", path);
	r = ck_broker_read(&where, NULL, &fail);
	if (r == CK_OK && is_on_its_way(c))
		on_its_way(c, kind, path);
	else if (r == CK_OK)
		ck_finding_add(c->out, kind == CK_KIND_LOGIN_KEYCHAIN ?
		    CK_F_SECOND_LOGIN : CK_F_SECOND_FILE, path, NULL,
		    "holds %s / %s although the dedicated keychain is in "
		    "charge: some program does not ask the records",
		    where.service, where.account);
	else if (r != CK_ABSENT && !ck_findings_error_at(c->out, path))
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
}

/* The broker in use, the one the environment names, and the usual one. */
static void
brokers(struct ck_check *c, void (*fn)(void *arg, enum ck_rec_kind kind,
    const char *path))
{
	const struct ck_place *p = c->p;
	char usual[CK_PATH_MAX];

	fn(c, p->broker_kind, p->broker);
	if (strcmp(p->file_broker, p->broker) != 0)
		fn(c, CK_KIND_FILE_BROKER, p->file_broker);
	if (ck_path_join(p->config, "clankie/credentials.json", usual,
	    NULL) == CK_OK && strcmp(usual, p->broker) != 0 &&
	    strcmp(usual, p->file_broker) != 0)
		fn(c, CK_KIND_FILE_BROKER, usual);
}

static ck_err
dotenv(void *arg, const struct ck_rec_protected *row)
{
	struct ck_check *c = arg;
	struct ck_fail fail = CK_FAIL_INIT;
	bool found = false;
	ck_err r;

	if (strcmp(ck_path_base(row->path), ".env.local") != 0)
		return CK_OK;
	r = ck_dotenv_find_bearer(row->path, &found, NULL, &fail);
	if (r == CK_OK && found)
		ck_finding_add(c->out, CK_F_SECOND_DOTENV, row->path, NULL,
		    "holds something with the form of an operator bearer");
	else if (r != CK_OK && r != CK_NOSTORE)
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
	return CK_OK;
}

static void
dotenvs(struct ck_check *c)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	if (!c->viewed || c->v.rec == NULL)
		return;
	r = ck_records_protected_each(c->v.rec, dotenv, c, &fail);
	if (r != CK_OK)
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
}

/* More than these are counted and not named. */
#define PROCESSES_SHOWN 16

struct processes {
	struct ck_check *c;
	size_t n;
	char migrated[CK_CLOCK_ISO_SIZE];
};

/* The next one's place, or what says that there are more; false when that has
 * been said. */
static bool
next_process(struct processes *k, const struct ck_environ_process *process,
    char ret[64])
{
	k->n++;
	if (k->n <= PROCESSES_SHOWN)
		(void)snprintf(ret, 64, "process %ld", (long)process->pid);
	else
		(void)snprintf(ret, 64, "further processes");
	return k->n <= PROCESSES_SHOWN + 1;
}

static void
overridden(void *arg, const struct ck_environ_process *process)
{
	struct processes *k = arg;
	char place[64];

	if (next_process(k, process, place))
		ck_finding_add(k->c->out, CK_F_SERVICE_ENVIRONMENT, place,
		    NULL, "was started with " OVERRIDE ", which goes before "
		    "every store");
}

static void
old_worker(void *arg, const struct ck_environ_process *process)
{
	struct processes *k = arg;
	char began[CK_CLOCK_ISO_SIZE], place[64];

	ck_clock_iso(process->started, began);
	/* ISO dates compare as text. */
	if (process->started != 0 && strcmp(began, k->migrated) > 0)
		return;
	if (next_process(k, process, place))
		ck_finding_add(k->c->out, CK_F_OLD_WORKER, place, NULL,
		    "is a worker that runs since %s, before the migration at "
		    "%s: it may have read the bearer, and no rules hold it",
		    process->started != 0 ? began : "an unknown time",
		    k->migrated);
}

static ck_err
migration(void *arg, const struct ck_rec_event *row)
{
	struct processes *k = arg;

	if (strcmp(row->what, "migrated") == 0)
		memcpy(k->migrated, row->at, sizeof(k->migrated));
	return CK_OK;
}

static void
scan(struct ck_check *c, const char *name, const char *unless,
    ck_environ_cb cb, struct processes *k, size_t *ret_unseen)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	*ret_unseen = 0;
	if ((r = ck_environ_scan(name, unless, cb, k, ret_unseen,
	    &fail)) != CK_OK)
		ck_finding_fail(c->out, r == CK_UNSUPPORTED ?
		    CK_F_NOT_CHECKED : CK_F_NOT_JUDGED, r, &fail);
}

static void
processes(struct ck_check *c)
{
	struct processes services = { c, 0, "" }, workers = { c, 0, "" };
	size_t unseen, again;

	/* A worker has it, set empty by its launch, so that it asks no store. */
	scan(c, OVERRIDE, CK_MARKER_DEFAULT, overridden, &services, &unseen);
	if (unseen > 0)
		ck_finding_add(c->out, CK_F_NOT_CHECKED, "/proc",
		    "look at them yourself, or end them", "%zu process%s of "
		    "yours %s not show what the environment holds", unseen,
		    unseen == 1 ? "" : "es", unseen == 1 ? "does" : "do");
	/* Records that cannot be read have a finding of their own. */
	if (c->in_charge && c->viewed && c->v.rec != NULL &&
	    ck_records_event_each(c->v.rec, migration, &workers,
	    NULL) == CK_OK && workers.migrated[0] != '\0')
		scan(c, CK_MARKER_DEFAULT, NULL, old_worker, &workers,
		    &again);
}

static void
environment(struct ck_check *c)
{
	if (c->p->operator_override)
		ck_finding_add(c->out, CK_F_OVERRIDE, OVERRIDE, NULL,
		    "is set here, if only empty, and goes before every store "
		    "for whoever asks it");
	if (!c->how->startup)
		processes(c);
}

/* A keychain broker's index; only its password opens it. */
static void
index_entry(struct ck_check *c)
{
	struct ck_fail fail = CK_FAIL_INIT;
	bool stale = false;
	ck_err r;

	/* Without the password not-checked has said so; with a wrong one
	 * dedicated-locked has; and an entry for what is there is no stale
	 * one. */
	if (c->p->login_password == NULL ||
	    ck_findings_has(c->out, CK_F_DEDICATED_LOCKED) ||
	    ck_findings_has(c->out, CK_F_SECOND_LOGIN))
		return;
	r = ck_broker_index(c->p, false, &stale, &fail);
	if (r == CK_OK && stale)
		ck_finding_add(c->out, CK_F_STALE_INDEX, c->p->broker, NULL,
		    "names %s in its index (%s / %s), which is not there any "
		    "more", c->p->account, c->p->service, CK_INDEX_ACCOUNT);
	else if (r != CK_OK && !ck_findings_error_at(c->out, c->p->broker))
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
}

struct names {
	const char *own;
	struct ck_buf text;
	size_t n;
};

static ck_err
other(void *arg, const char *name, const char *type, bool bearer)
{
	struct names *names = arg;

	(void)type;
	(void)bearer;
	if (strcmp(name, names->own) == 0)
		return CK_OK;
	if (names->n < NAMES_SHOWN)
		ck_buf_format(&names->text, "%s%s", names->n == 0 ? "" : ", ",
		    name);
	names->n++;
	return CK_OK;
}

struct stray {
	struct ck_check *c;
	const char *path;
};

/* Nobody asks for it under that name; but every process can read it. */
static ck_err
stray_bearer(void *arg, const char *name, const char *type, bool bearer)
{
	const struct stray *s = arg;

	(void)type;
	if (bearer && strcmp(name, s->c->p->account) != 0)
		ck_finding_add(s->c->out, CK_F_SECOND_NAME, s->path, NULL,
		    "holds something with the form of an operator bearer as "
		    "%s", name);
	return CK_OK;
}

/* A place that cannot be read has a finding of its own. */
static void
stray_bearers(void *arg, enum ck_rec_kind kind, const char *path)
{
	struct stray s = { arg, path };

	if (kind == CK_KIND_FILE_BROKER)
		(void)!ck_broker_file_names(path, stray_bearer, &s, NULL);
}

/* To know, not to act on: this protects one credential. */
static void
remaining(struct ck_check *c)
{
	const struct ck_place *p = c->p;
	const struct ck_login login = { p->broker, NULL, CK_WAIT_MS };
	struct names names = { p->account, CK_BUF_INIT, 0 };
	struct ck_login_status status;

	if (p->broker_kind == CK_KIND_LOGIN_KEYCHAIN) {
		if (ck_login_status(&login, &status, NULL) == CK_OK &&
		    status.items > 0)
			ck_finding_add(c->out, CK_F_REMAINING_SECRETS,
			    p->broker, NULL, "holds %u item%s, the unlock "
			    "password among them", status.items,
			    status.items == 1 ? "" : "s");
		return;
	}
	/* What cannot be read has been said by brokers(). */
	if (ck_broker_file_names(p->broker, other, &names, NULL) == CK_OK &&
	    names.n > 0 && ck_buf_ok(&names.text) == CK_OK)
		ck_finding_add(c->out, CK_F_REMAINING_SECRETS, p->broker,
		    NULL, "holds %zu other%s: %.*s%s", names.n,
		    names.n == 1 ? "" : "s", (int)names.text.n,
		    (const char *)names.text.p,
		    names.n > NAMES_SHOWN ? ", ..." : "");
	ck_buf_free(&names.text);
}

void
ck_check_stores(struct ck_check *c)
{
	/* Between the steps of its own migration or way back the broker's copy
	 * is no second bearer; the journal's finding says what goes on. */
	const char *operation = c->v.journal.operation;
	bool moving = c->viewed && ck_view_is_moving(&c->v, c->p) &&
	    (strcmp(operation, "migrate") == 0 ||
	    strcmp(operation, "restore") == 0);

	environment(c);
	if (!c->in_charge)
		return;
	if (!moving) {
		brokers(c, look_in);
		index_entry(c);
	}
	dotenvs(c);
	if (c->how->startup)
		return;
	brokers(c, stray_bearers);
	remaining(c);
}
