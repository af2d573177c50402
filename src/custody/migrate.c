/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of the migration; see migrate.h and design section 8. */
#include "custody/migrate.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "custody/migrate_int.h"
#include "custody/rules.h"
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

/* The dedicated keychain of this version holds one credential. */
static ck_err
not_another(const struct ck_view *v, const struct ck_place *p,
    struct ck_fail *fail)
{
	if (v->known || v->rec == NULL || !v->dedicated)
		return CK_OK;
	return ck_fail_set(fail, CK_UNSUPPORTED, p->keychain,
	    "holds another credential, and one is all that this version "
	    "keeps there, so %s stays where it is", p->credential);
}

/* Every reader asks for the operator's bearer by its own name. */
static ck_err
named_rightly(const struct ck_view *v, const struct ck_place *p,
    struct ck_fail *fail)
{
	if (v->known || p->format != CK_FORMAT_OPERATOR_BEARER ||
	    strcmp(p->credential, CK_OPERATOR_NAME) == 0)
		return CK_OK;
	(void)ck_fail_set(fail, CK_USAGE, p->credential,
	    "names no item: %s / %s is the credential %s", p->service,
	    p->account, CK_OPERATOR_NAME);
	ck_fail_next(fail, "give its --service and --account");
	return CK_USAGE;
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
	/* Once the new keychain has its name the broker may be empty. */
	if (run->v.dedicated)
		return CK_OK;
	if ((r = ck_preflight_clankie(p, &run->v, run->how->honours, &run->pf,
	    fail)) != CK_OK)
		return r;
	if (!run->resumed && (r = ck_preflight_password(p, fail)) != CK_OK)
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
	struct stat st;
	int lock = -1;
	ck_err r;

	ck_view_close(&run->v);
	r = ck_view_open(run->p, CK_REC_READ, &run->v, &other);
	if (r != CK_OK || run->v.dirfd < 0 ||
	    fstatat(run->v.dirfd, CK_LOCK_FILE, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return first;
	r = ck_view_lock(run->p, run->v.dirfd, &lock, &other);
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
	if ((r = ck_view_lock(p, run->v.dirfd, &run->lockfd, fail)) != CK_OK)
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

/* Steps 1 to 4: until the file has its name, a failure is taken back. */
static ck_err
move_in(struct ck_migrate_run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_migrate_begin(run, fail)) != CK_OK)
		goto out;
	if (run->v.dedicated)
		r = ck_unlock_place_get(run->p, &run->password, fail);
	else if ((r = ck_migrate_password(run, fail)) == CK_OK)
		r = ck_migrate_build(run, fail);
	if (r == CK_OK)
		r = ck_migrate_install(run, fail);
out:
	if (r != CK_OK && !run->v.dedicated)
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
	if (run->v.dedicated && fail != NULL && fail->next[0] == '\0')
		ck_fail_next(fail, "clankie-keys migrate again finishes what "
		    "was begun; the credential can be read meanwhile");
	return r;
}

/* The dedicated keychain, as far as it can be judged with what is at hand. */
static ck_err
keychain_sound(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	const struct ck_login login = { p->keychain, NULL, CK_WAIT_MS };
	struct ck_login_status st;
	ck_err r;

	if (!run->v.dedicated) {
		(void)ck_fail_set(fail, CK_NOSTORE, p->keychain,
		    "the records say the credential is here, but the file is "
		    "missing");
		ck_fail_next(fail, "put it back from a backup");
		return CK_NOSTORE;
	}
	if (p->broker_kind == CK_KIND_LOGIN_KEYCHAIN &&
	    p->login_password == NULL)
		return ck_login_status(&login, &st, fail);
	if ((r = ck_unlock_place_get(p, &run->password, fail)) != CK_OK)
		return r;
	return ck_dedicated_prove(p, p->keychain, &run->password, NULL, fail);
}

/* "Already done" is said only of something that is still so; rules that were
 * lost or edited are written again. */
static ck_err
still_sound(struct ck_migrate_run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	const char *differs = NULL;
	int lock = -1;
	ck_err r;

	if ((r = keychain_sound(run, fail)) != CK_OK)
		return r;
	if (ck_rules_match(p, run->v.dirfd, run->v.rec, &differs,
	    NULL) == CK_OK && differs == NULL)
		return CK_OK;
	if (run->how->dry_run)
		return CK_OK;
	if ((r = ck_view_lock(p, run->v.dirfd, &lock, fail)) != CK_OK)
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

static void
report(struct ck_migrate_run *run, enum ck_migrate_end end,
    struct ck_migrate_report *ret)
{
	struct ck_place *p = run->p;
	struct ck_rec_credential row;

	memset(ret, 0, sizeof(*ret));
	ret->end = end;
	ret->broker_kind = p->broker_kind;
	ret->copies = run->pf.ncopies;
	memcpy(ret->broker, p->broker, sizeof(ret->broker));
	memcpy(ret->keychain, p->keychain, sizeof(ret->keychain));
	memcpy(ret->rules, p->rules, sizeof(ret->rules));
	if (end != CK_MIGRATE_PLANNED && run->v.rec != NULL &&
	    ck_records_credential_get(run->v.rec, p->credential, &row,
	    NULL) == CK_OK)
		memcpy(ret->fingerprint, row.fingerprint,
		    sizeof(ret->fingerprint));
	ret->sandbox_known = ck_settings_worker_sandbox(p->settings,
	    &ret->sandbox, NULL) == CK_OK;
}

ck_err
ck_migrate(struct ck_place *p, const struct ck_migrate_how *how,
    struct ck_migrate_report *ret, struct ck_fail *fail)
{
	enum ck_migrate_end end = CK_MIGRATE_PLANNED;
	struct ck_migrate_run run;
	ck_err r;

	run_init(&run, p, how);
	if ((r = ck_preflight_context(p, CK_MIGRATE_OPERATION, fail)) != CK_OK ||
	    (r = ck_preflight_selftest(fail)) != CK_OK ||
	    (r = ck_view_open(p, CK_REC_READ, &run.v, fail)) != CK_OK ||
	    (r = not_another(&run.v, p, fail)) != CK_OK ||
	    (r = named_rightly(&run.v, p, fail)) != CK_OK)
		goto out;
	if (!all_done(&run.v) && (r = preflight(&run, fail)) != CK_OK &&
	    (r = look_again(&run, r, fail)) != CK_OK)
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
	report(&run, end, ret);
	goto out;
locked_out:
	/* Nothing was begun; a directory of this run's own goes again. */
	ck_migrate_undo_dir(&run);
out:
	run_done(&run);
	return r;
}
