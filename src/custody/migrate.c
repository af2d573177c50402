/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of the migration; see migrate.h and design section 8. */
#include "custody/migrate.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/io.h"
#include "custody/advice.h"
#include "custody/migrate_int.h"
#include "custody/rules.h"
#include "custody/seal.h"
#include "store/login.h"

static void
run_init(struct ck_migrate_run *run, struct ck_place *p,
    const struct ck_migrate_how *how)
{
	const struct ck_view v = CK_VIEW_INIT;
	const struct ck_broker_lock lock = CK_BROKER_LOCK_INIT;

	memset(run, 0, sizeof(*run));
	run->p = p;
	run->how = how;
	run->v = v;
	run->broker_lock = lock;
	run->lockfd = -1;
}

static void
run_done(struct ck_migrate_run *run)
{
	ck_secret_wipe(&run->key);
	ck_secret_wipe(&run->password);
	ck_preflight_done(&run->pf);
	ck_view_close(&run->v);
	ck_broker_lock_release(&run->broker_lock);
	ck_io_close(&run->lockfd);
}

static bool
all_done(const struct ck_view *v)
{
	return !v->journal_open && ck_view_is_dedicated(v);
}

/* One item has one name. */
static ck_err
not_another(const struct ck_view *v, const struct ck_place *p,
    struct ck_fail *fail)
{
	if (v->known || !v->item)
		return CK_OK;
	return ck_fail_set(fail, CK_REFUSED, p->keychain,
	    "has an item %s / %s already, or one that is called %s",
	    p->service, p->account, p->credential);
}

/* Every reader asks for the operator's bearer by its own name. */
static ck_err
named_rightly(const struct ck_view *v, const struct ck_place *p,
    struct ck_fail *fail)
{
	if (strcmp(p->service, CK_OWN_SERVICE) == 0)
		return ck_fail_set(fail, CK_USAGE, p->credential,
		    "cannot be an item of the service %s, which is for our "
		    "own", CK_OWN_SERVICE);
	if (v->known || p->format != CK_FORMAT_OPERATOR_BEARER ||
	    strcmp(p->credential, CK_OPERATOR_NAME) == 0)
		return CK_OK;
	(void)ck_fail_set(fail, CK_USAGE, p->credential,
	    "names no item: %s / %s is the credential %s", p->service,
	    p->account, CK_OPERATOR_NAME);
	ck_fail_next(fail, "give its --service and --account");
	return CK_USAGE;
}

static ck_err
lost(const struct ck_place *p, struct ck_fail *fail)
{
	(void)ck_fail_set(fail, CK_NOSTORE, p->keychain,
	    "the records say the credential is here, but the file is missing");
	ck_advise(fail, p, "put it back from a backup; if it is lost for good: "
	    "{reset}");
	return CK_NOSTORE;
}

/* Steps 0 and "preflight again": everything that can be known beforehand. */
static ck_err
preflight(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	ck_err r;

	ck_preflight_done(&run->pf);
	if ((r = ck_view_unhindered(&run->v, p, CK_MIGRATE_OPERATION,
	    fail)) != CK_OK)
		return r;
	run->resumed = run->v.journal_open;
	if (run->resumed)
		memcpy(run->nonce, run->v.journal.nonce, sizeof(run->nonce));
	if ((r = ck_preflight_places(p, fail)) != CK_OK)
		return r;
	/* Once the item is where it belongs the broker may be empty. */
	run->in_place = run->v.dedicated && ck_view_is_dedicated(&run->v);
	run->joins = run->v.dedicated && !run->in_place;
	if (run->in_place)
		return CK_OK;
	/* Its keychain is lost, and only its owner gives it up. */
	if (run->resumed && !run->v.dedicated && run->v.known &&
	    run->v.row.state == CK_STATE_DEDICATED)
		return lost(p, fail);
	/* Somebody else's row is not taken for a migration that began. */
	if (run->resumed && !run->v.dedicated &&
	    (r = ck_preflight_orphan(p, &run->v, fail)) != CK_OK)
		return r;
	if (run->joins && (r = ck_migrate_may_join(run, fail)) != CK_OK)
		return r;
	if ((r = ck_preflight_clankie(p, &run->v, run->how->honours, &run->pf,
	    fail)) != CK_OK)
		return r;
	if (!run->resumed && !run->joins &&
	    ((r = ck_preflight_password(p, fail)) != CK_OK ||
	    (r = ck_preflight_orphan(p, &run->v, fail)) != CK_OK))
		return r;
	return ck_preflight_copies(p, run->how->checkouts,
	    run->how->ncheckouts, &run->pf, fail);
}

/*
 * The preflight looked without a lock, and another migration may have moved
 * things between two of its looks.  Before a refusal is final it is asked for
 * again under the lock, when there is one; first is what it said before.
 */
static ck_err
look_again(struct ck_migrate_run *run, ck_err first, struct ck_fail *fail)
{
	struct ck_fail other = CK_FAIL_INIT;
	int lock = -1;
	ck_err r;

	ck_view_close(&run->v);
	r = ck_view_open(run->p, CK_REC_READ, &run->v, &other);
	if (r != CK_OK || run->v.dirfd < 0)
		return first;
	r = ck_place_lock(run->p, run->v.dirfd, &lock, &other);
	if (r == CK_OK) {
		ck_view_close(&run->v);
		r = ck_view_open(run->p, CK_REC_READ, &run->v, &other);
	}
	if (r == CK_OK && !all_done(&run->v))
		r = preflight(run, &other);
	ck_io_close(&lock);
	if (r != CK_OK && fail != NULL)
		*fail = other;
	return r;
}

/* Step 1: directory, locks, and everything again under them. */
static ck_err
take_locks(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	struct stat st;
	ck_err r;

	if ((r = ck_path_chain_safe(p->dir, fail)) != CK_OK)
		return r;
	run->made_dir = lstat(p->dir, &st) != 0;
	if ((r = ck_io_make_dir(AT_FDCWD, p->dir, p->dir, 0700,
	    fail)) != CK_OK)
		return r;
	ck_view_close(&run->v);
	if ((r = ck_place_open_dir(p, &run->v.dirfd, fail)) != CK_OK)
		return r;
	if ((r = ck_place_lock(p, run->v.dirfd, &run->lockfd, fail)) != CK_OK)
		return r;
	ck_view_close(&run->v);
	if ((r = ck_view_open(p, CK_REC_WRITE, &run->v, fail)) != CK_OK)
		return r;
	if ((r = not_another(&run->v, p, fail)) != CK_OK)
		return r;
	if (all_done(&run->v))
		return CK_OK;
	if ((r = ck_broker_lock(p, &run->broker_lock, fail)) != CK_OK)
		return r;
	return preflight(run, fail);
}

struct unasked {
	const struct ck_migrate_how *how;
	struct ck_buf names;
};

static ck_err
name_one(void *arg, const struct ck_rec_principal *who)
{
	struct unasked *u = arg;

	if (strcmp(who->honours, "yes") != 0 &&
	    !(u->how->honours && ck_migrate_promised(who->id)))
		ck_buf_format(&u->names, "%s%s", u->names.n == 0 ? "" : ", ",
		    who->id);
	return CK_OK;
}

/* Who may go on looking in the broker, said before anything moves. */
static ck_err
name_unasked(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct unasked u = { run->how, CK_BUF_INIT };
	const uint8_t end = 0;
	ck_err r;

	if (run->how->unasked == NULL || run->v.rec == NULL)
		return CK_OK;
	r = ck_records_principal_each(run->v.rec, name_one, &u, fail);
	if (r == CK_OK && u.names.n > 0) {
		ck_buf_bytes(&u.names, &end, 1);
		if (ck_buf_ok(&u.names) == CK_OK)
			run->how->unasked(run->how->arg,
			    (const char *)u.names.p);
		else
			r = ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	}
	ck_buf_free(&u.names);
	return r;
}

/* Steps 1 to 4: until the file has its name, a failure is taken back. */
static ck_err
move_in(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_secret value = CK_SECRET_INIT, key = CK_SECRET_INIT;
	ck_err r;

	/* What an interrupted run left is gone on with only when seal and
	 * anchor show that it was one of ours. */
	if (run->in_place && (r = ck_seal_open(run->p, run->v.rec,
	    &run->password, &value, &key, fail)) != CK_OK)
		goto out;
	if ((r = ck_migrate_begin(run, fail)) != CK_OK ||
	    (r = name_unasked(run, fail)) != CK_OK)
		goto out;
	if (run->in_place)
		r = ck_dedicated_tidy(run->p, fail);
	else if (run->joins)
		r = ck_migrate_join(run, fail);
	else if ((r = ck_migrate_password(run, fail)) == CK_OK)
		r = ck_migrate_build(run, fail);
	if (r == CK_OK)
		r = ck_migrate_install(run, fail);
out:
	ck_secret_wipe(&value);
	ck_secret_wipe(&key);
	if (r != CK_OK && !run->in_place)
		ck_migrate_undo(run);
	return r;
}

static ck_err
carry_out(struct ck_migrate_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = move_in(run, fail)) == CK_OK &&
	    (r = ck_migrate_rules(run, fail)) == CK_OK &&
	    (r = ck_migrate_erase(run, fail)) == CK_OK &&
	    (r = ck_migrate_finish(run, fail)) == CK_OK)
		return CK_OK;
	if (run->in_place && fail != NULL && fail->next[0] == '\0')
		ck_advise(fail, run->p, "{migrate} again finishes what was "
		    "begun; the credential can be read meanwhile");
	return r;
}

/* The dedicated keychain, as far as it can be judged with what is at hand.
 * *ret_proved: the records were found to be ours. */
static ck_err
keychain_sound(struct ck_migrate_run *run, bool *ret_proved,
    struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	const struct ck_login login = { p->keychain, NULL, CK_WAIT_MS };
	struct ck_secret value = CK_SECRET_INIT, key = CK_SECRET_INIT;
	struct ck_login_status st;
	ck_err r;

	*ret_proved = false;
	if (!run->v.dedicated)
		return lost(p, fail);
	if (p->broker_kind == CK_KIND_LOGIN_KEYCHAIN &&
	    p->login_password == NULL)
		return ck_login_status(&login, &st, fail);
	r = ck_seal_open(p, run->v.rec, &run->password, &value, &key, fail);
	ck_secret_wipe(&value);
	ck_secret_wipe(&key);
	if (r != CK_OK)
		return r;
	*ret_proved = true;
	return ck_dedicated_prove(p, p->keychain, &run->password, NULL, fail);
}

/* "Already done" is said only of something that is still so; rules that were
 * lost or edited are written again, from records that are ours. */
static ck_err
still_sound(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	const char *differs = NULL;
	bool proved = false;
	int lock = -1;
	ck_err r;

	if ((r = keychain_sound(run, &proved, fail)) != CK_OK)
		return r;
	if (ck_rules_match(p, run->v.dirfd, run->v.rec, &differs,
	    NULL) == CK_OK && differs == NULL)
		return CK_OK;
	if (run->how->dry_run)
		return CK_OK;
	if (!proved) {
		(void)ck_fail_set(fail, CK_LOCKED, p->rules,
		    "is not what the records give, which cannot be proved "
		    "without the password of %.400s", p->broker);
		ck_advise(fail, p, "{rules --write}");
		return CK_LOCKED;
	}
	if ((r = ck_place_lock(p, run->v.dirfd, &lock, fail)) != CK_OK)
		return r;
	r = ck_rules_write(p, run->v.dirfd, run->v.rec, fail);
	ck_io_close(&lock);
	return r;
}

/* Neither broker must have grown a second bearer since. */
static ck_err
no_second_bearer(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_place other = *run->p;
	ck_err r;

	r = ck_broker_read(&other, NULL, NULL);
	if (r != CK_OK && other.broker_kind != CK_KIND_FILE_BROKER) {
		other.broker_kind = CK_KIND_FILE_BROKER;
		memcpy(other.broker, other.file_broker, sizeof(other.broker));
		r = ck_broker_read(&other, NULL, NULL);
	}
	if (r != CK_OK)
		return CK_OK;   /* nothing there, or nothing we can see */
	(void)ck_fail_set(fail, CK_DECIDE, other.broker,
	    "holds a bearer again although the dedicated keychain %.300s is "
	    "in charge: some program does not ask the records",
	    run->p->keychain);
	ck_fail_next(fail, "find the program, then remove its copy");
	return CK_DECIDE;
}

struct moved {
	const char *credential;
	uint64_t generation;
};

static ck_err
last_moved(void *arg, const struct ck_rec_event *event)
{
	static const char words[] = CK_MIGRATED_GENERATION;
	struct moved *m = arg;
	size_t n = strlen(m->credential);

	if (strcmp(event->what, CK_MIGRATED_EVENT) == 0 &&
	    strncmp(event->detail, m->credential, n) == 0 &&
	    event->detail[n] == ' ' && strncmp(event->detail + n + 1, words,
	    sizeof(words) - 1) == 0)
		m->generation = strtoull(event->detail + n + sizeof(words),
		    NULL, 10);
	return CK_OK;
}

static ck_err
report(struct ck_migrate_run *run, enum ck_migrate_end end,
    struct ck_migrate_report *ret, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	struct moved moved = { p->credential, 1 };
	struct ck_migrate_report made;
	struct ck_rec_credential row;
	ck_err r;

	memset(&made, 0, sizeof(made));
	made.end = end;
	made.broker_kind = p->broker_kind;
	made.copies = run->pf.ncopies;
	memcpy(made.broker, p->broker, sizeof(made.broker));
	memcpy(made.keychain, p->keychain, sizeof(made.keychain));
	memcpy(made.rules, p->rules, sizeof(made.rules));
	if (end != CK_MIGRATE_PLANNED) {
		if ((r = ck_records_credential_get(run->v.rec, p->credential,
		    &row, fail)) != CK_OK ||
		    (r = ck_records_event_each(run->v.rec, last_moved, &moved,
		    fail)) != CK_OK)
			return r;
		memcpy(made.fingerprint, row.fingerprint,
		    sizeof(made.fingerprint));
		made.generation = moved.generation;
	}
	made.sandbox_known = ck_settings_worker_sandbox(p->settings,
	    &made.sandbox, NULL) == CK_OK;
	*ret = made;
	return CK_OK;
}

static ck_err
migrate(struct ck_place *p, const struct ck_migrate_how *how,
    struct ck_migrate_report *ret, struct ck_fail *fail)
{
	enum ck_migrate_end end = CK_MIGRATE_PLANNED;
	struct ck_migrate_run run;
	ck_err r;

	run_init(&run, p, how);
	if ((r = ck_preflight_context(p, CK_MIGRATE_OPERATION, fail)) != CK_OK ||
	    (r = ck_preflight_selftest(fail)) != CK_OK ||
	    (r = ck_view_open(p, CK_REC_READ, &run.v, fail)) != CK_OK ||
	    (r = named_rightly(&run.v, p, fail)) != CK_OK ||
	    (r = not_another(&run.v, p, fail)) != CK_OK)
		goto out;
	if (!all_done(&run.v) && (r = preflight(&run, fail)) != CK_OK &&
	    (r = look_again(&run, r, fail)) != CK_OK)
		goto out;
	if (!all_done(&run.v) && how->dry_run &&
	    (r = name_unasked(&run, fail)) != CK_OK)
		goto out;
	if (!all_done(&run.v) && !how->dry_run) {
		if ((r = take_locks(&run, fail)) != CK_OK)
			goto locked_out;
		if (!all_done(&run.v)) {
			if ((r = carry_out(&run, fail)) != CK_OK)
				goto out;
			end = run.resumed ? CK_MIGRATE_RESUMED : CK_MIGRATED;
		}
	}
	if (end == CK_MIGRATE_PLANNED && all_done(&run.v)) {
		end = CK_MIGRATE_ALREADY;
		if ((r = still_sound(&run, fail)) != CK_OK ||
		    (r = no_second_bearer(&run, fail)) != CK_OK)
			goto out;
	}
	r = report(&run, end, ret, fail);
	goto out;
locked_out:
	/* Nothing was begun; a directory of this run's own goes again. */
	ck_migrate_undo_dir(&run);
out:
	run_done(&run);
	return r;
}

/* What the rows of an earlier run cannot know of yet. */
static ck_err
add(struct ck_place *p, const struct ck_migrate_how *how,
    struct ck_migrate_report *ret, struct ck_fail *fail)
{
	struct ck_amend_how more = { .operation = CK_MIGRATE_OPERATION,
	    .dry_run = how->dry_run, .checkouts = how->checkouts,
	    .ncheckouts = how->ncheckouts, .honours = "yes" };

	if (how->honours)
		more.principals = ck_amend_promised(&more.nprincipals);
	if (how->ncheckouts == 0 && !how->honours)
		return CK_OK;
	return ck_amend(p, &more, &ret->amended, fail);
}

ck_err
ck_migrate(struct ck_place *p, const struct ck_migrate_how *how,
    struct ck_migrate_report *ret, struct ck_fail *fail)
{
	struct ck_migrate_report report;
	ck_err r;

	if ((r = migrate(p, how, &report, fail)) != CK_OK)
		return r;
	if ((report.end == CK_MIGRATE_ALREADY ||
	    report.end == CK_MIGRATE_RESUMED) &&
	    (r = add(p, how, &report, fail)) != CK_OK)
		return r;
	*ret = report;
	return CK_OK;
}
