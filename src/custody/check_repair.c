/* SPDX-License-Identifier: Apache-2.0 */
/* Mending what is safe, under the custody's lock; see check.h. */
#include "custody/check_int.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "custody/broker.h"
#include "custody/dedicated.h"
#include "custody/locator.h"
#include "custody/preflight.h"
#include "custody/resolve.h"
#include "custody/rules.h"
#include "custody/seal.h"

struct repair {
	struct ck_place *p;
	const struct ck_findings *found;
	struct ck_findings *done;
	struct ck_view v;
	struct ck_secret password;
	struct ck_secret key;            /* the seal key */
};

static bool
wanted(const struct repair *m, enum ck_finding_code code)
{
	return ck_findings_has(m->found, code);
}

static void
failed(struct repair *m, ck_err r, const struct ck_fail *fail)
{
	ck_finding_fail(m->done, CK_F_REPAIR_FAILED, r, fail);
}

/* Nothing may be derived from records that do not hold, or of which that
 * cannot be said: keychain, seal and anchor are asked. */
static bool
records_hold(struct repair *m)
{
	struct ck_secret value = CK_SECRET_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	if (m->v.rec == NULL || !ck_view_is_dedicated(&m->v)) {
		ck_finding_add(m->done, CK_F_REPAIR_FAILED, m->p->dir, NULL,
		    "there are no records that anything could be made from: "
		    "what the other findings say goes first");
		return false;
	}
	if ((r = ck_records_begin(m->v.rec, &fail)) == CK_OK) {
		r = ck_records_check(m->v.rec, &fail);
		ck_records_rollback(m->v.rec);
	}
	if (r == CK_OK)
		r = ck_seal_open(m->p, m->v.rec, &m->password, &value,
		    &m->key, &fail);
	ck_secret_wipe(&value);
	if (r == CK_OK)
		return true;
	failed(m, r, &fail);
	return false;
}

static void
sweep_one(struct repair *m, const struct ck_leftover *left)
{
	size_t n[CK_LEFTOVER_FORMS] = { 0 };
	struct ck_fail fail = CK_FAIL_INIT;
	int fd = -1;
	ck_err r;

	r = ck_io_open_dir(AT_FDCWD, left->dir, left->dir, CK_IO_OWNER, &fd,
	    NULL, &fail);
	if (r == CK_OK)
		r = ck_io_left(fd, left->forms, left->n, left->dir, n, &fail);
	for (size_t i = 0; r == CK_OK && i < left->n; i++)
		if (n[i] > 0 && (r = ck_io_sweep(fd, left->forms[i],
		    left->dir, &fail)) == CK_OK)
			ck_finding_add(m->done, CK_F_LEFTOVER, left->dir, NULL,
			    "%zu file%s %s removed", n[i],
			    n[i] == 1 ? "" : "s", left->forms[i]);
	ck_io_close(&fd);
	if (r != CK_OK && r != CK_NOSTORE)
		failed(m, r, &fail);
}

static void
sweep(struct repair *m)
{
	struct ck_leftover left[CK_LEFTOVERS];
	char unlock_dir[CK_PATH_MAX];

	ck_check_leftovers(m->p, unlock_dir, left);
	for (size_t i = 0; i < CK_LEFTOVERS; i++)
		sweep_one(m, &left[i]);
}

static void
rules(struct repair *m)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	r = ck_rules_write(m->p, m->v.dirfd, m->v.rec, &fail);
	if (r != CK_OK) {
		failed(m, r, &fail);
		return;
	}
	for (size_t i = 0; i < m->found->n; i++)
		if (m->found->at[i].code == CK_F_RULES_MISSING ||
		    m->found->at[i].code == CK_F_RULES_DIFFER)
			ck_finding_add(m->done, m->found->at[i].code,
			    m->found->at[i].place, NULL,
			    "written from the records");
}

/* Inside a transaction: which file the keychain is now. */
static ck_err
note_rows(struct repair *m, struct ck_fail *fail)
{
	struct ck_records *rec = m->v.rec;
	ck_err r;

	if ((r = ck_view_note_file(m->p, rec, fail)) != CK_OK ||
	    (r = ck_records_event(rec, "repaired", m->p->keychain,
	    fail)) != CK_OK)
		return r;
	return ck_seal_write_key(rec, &m->key, fail);
}

static ck_err
note_file(struct repair *m, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_records_begin(m->v.rec, fail)) != CK_OK)
		return r;
	if ((r = note_rows(m, fail)) == CK_OK)
		return ck_records_commit(m->v.rec, fail);
	ck_records_rollback(m->v.rec);
	return r;
}

/* Settings are part of the file, which is replaced when they change. */
static void
keychain(struct repair *m)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	if (m->v.journal_open) {
		ck_finding_add(m->done, CK_F_REPAIR_FAILED, m->p->keychain,
		    NULL, "an unfinished %s goes first",
		    m->v.journal.operation);
		return;
	}
	if (wanted(m, CK_F_SETTINGS_CHANGED)) {
		if ((r = ck_dedicated_relock(m->p, &m->password,
		    &fail)) != CK_OK)
			goto out;
		ck_finding_add(m->done, CK_F_SETTINGS_CHANGED, m->p->keychain,
		    NULL, "set to lock after %d s and on sleep",
		    CK_DEDICATED_IDLE);
	}
	if ((r = note_file(m, &fail)) == CK_OK &&
	    wanted(m, CK_F_DEDICATED_REPLACED))
		ck_finding_add(m->done, CK_F_DEDICATED_REPLACED,
		    m->p->keychain, NULL, "noted in the records, after its "
		    "content was found to be what they tell of");
out:
	if (r != CK_OK)
		failed(m, r, &fail);
}

/* The records were found to hold: the broker that they name is the one. */
static void
note_broker(struct repair *m)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r = ck_locator_put(m->p, &fail);

	if (r == CK_OK)
		ck_finding_add(m->done, CK_F_BROKER_NOT_NOTED, m->p->broker,
		    NULL, "noted beside the records");
	else
		failed(m, r, &fail);
}

static void
prune(struct repair *m)
{
	struct ck_broker_lock lock = CK_BROKER_LOCK_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	bool stale = false;
	ck_err r;

	if ((r = ck_broker_lock(m->p, &lock, &fail)) != CK_OK) {
		failed(m, r, &fail);
		return;
	}
	/* Again under the lock: an entry for what is there is not stale. */
	r = ck_broker_read(m->p, NULL, &fail);
	if (r == CK_OK)
		r = ck_fail_set(&fail, CK_CHANGED, m->p->broker,
		    "holds the credential again");
	else if (r == CK_ABSENT)
		r = ck_broker_index(m->p, true, &stale, &fail);
	ck_broker_lock_release(&lock);
	if (r != CK_OK)
		failed(m, r, &fail);
	else if (stale)
		ck_finding_add(m->done, CK_F_STALE_INDEX, m->p->broker, NULL,
		    "the entry %s taken out of its index", m->p->account);
}

static void
discard(void *arg, const char *prefix, const char *nonce)
{
	struct repair *m = arg;
	char path[CK_PATH_MAX] = "";
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	if ((r = ck_path_format(path, &fail, "%s/%s%s", m->p->dir, prefix,
	    nonce)) == CK_OK &&
	    (r = ck_dedicated_discard(m->p, m->v.dirfd, prefix, nonce,
	    &fail)) == CK_OK)
		ck_finding_add(m->done, CK_F_ASIDE, path, NULL, "removed");
	else
		failed(m, r, &fail);
}

/* Only beside a keychain that can be opened and is what the records tell of:
 * what lies aside might be all there is. */
static void
aside(struct repair *m)
{
	struct ck_secret value = CK_SECRET_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	r = ck_resolve(m->p, NULL, &value, NULL, &fail);
	ck_secret_wipe(&value);
	if (r == CK_OK)
		r = ck_check_asides(m->p, &m->v, discard, m, &fail);
	if (r != CK_OK)
		failed(m, r, &fail);
}

/* Everything that was found and can be mended, the custody's lock held. */
static void
mend(struct repair *m)
{
	bool write_rules = wanted(m, CK_F_RULES_MISSING) ||
	    wanted(m, CK_F_RULES_DIFFER);
	bool write_file = wanted(m, CK_F_SETTINGS_CHANGED) ||
	    wanted(m, CK_F_DEDICATED_REPLACED);
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	if (wanted(m, CK_F_LEFTOVER))
		sweep(m);
	if (!write_rules && !write_file && !wanted(m, CK_F_STALE_INDEX) &&
	    !wanted(m, CK_F_ASIDE) && !wanted(m, CK_F_BROKER_NOT_NOTED))
		return;
	if ((r = ck_view_open(m->p, CK_REC_WRITE, &m->v, &fail)) != CK_OK) {
		failed(m, r, &fail);
		return;
	}
	if (!records_hold(m))
		return;
	if (write_rules)
		rules(m);
	if (write_file)
		keychain(m);
	if (wanted(m, CK_F_BROKER_NOT_NOTED))
		note_broker(m);
	if (wanted(m, CK_F_STALE_INDEX))
		prune(m);
	if (wanted(m, CK_F_ASIDE))
		aside(m);
}

/* Is there anything among it that this file knows how to mend? */
static bool
mendable(const struct ck_findings *found)
{
	static const enum ck_finding_code codes[] = {
		CK_F_LEFTOVER, CK_F_RULES_MISSING, CK_F_RULES_DIFFER,
		CK_F_SETTINGS_CHANGED, CK_F_DEDICATED_REPLACED,
		CK_F_STALE_INDEX, CK_F_ASIDE, CK_F_BROKER_NOT_NOTED
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (ck_findings_has(found, codes[i]))
			return true;
	return false;
}

ck_err
ck_check_repair(struct ck_place *p, const struct ck_findings *found,
    struct ck_findings *ret_done, struct ck_fail *fail)
{
	struct repair m = { p, found, ret_done, CK_VIEW_INIT,
	    CK_SECRET_INIT, CK_SECRET_INIT };
	struct ck_fail why = CK_FAIL_INIT;
	int dirfd = -1, lock = -1;
	ck_err r;

	memset(ret_done, 0, sizeof(*ret_done));
	if ((r = ck_preflight_worker(p->worker_marked, "check --repair",
	    fail)) != CK_OK || !mendable(found))
		return r;
	if ((r = ck_place_open_dir(p, &dirfd, &why)) != CK_OK) {
		failed(&m, r, &why);
		return CK_OK;
	}
	if ((r = ck_place_lock(p, dirfd, &lock, fail)) == CK_OK)
		mend(&m);
	ck_secret_wipe(&m.key);
	ck_secret_wipe(&m.password);
	ck_view_close(&m.v);
	ck_io_close(&lock);
	ck_io_close(&dirfd);
	return r;
}
