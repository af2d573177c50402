/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of doctor --rebuild; see doctor_rebuild.h. */
#include "custody/doctor_rebuild_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "custody/advice.h"
#include "custody/anchor.h"
#include "custody/dedicated.h"
#include "custody/locator.h"
#include "custody/preflight.h"

/* No rotation counts that far; an edited row might say so. */
#define GENERATION_MAX ((uint64_t)1 << 53)

struct run {
	struct ck_place *p;
	struct ck_old *old;
	struct ck_items items;
	struct ck_rebuild *out;
	struct ck_secret password, key;
	int dirfd, lockfd;
};

/*
 * Beside which broker the unlock password lies: --broker, else that of the
 * credential, else that of another one which is in the keychain.
 */
static void
choose_broker(struct run *run)
{
	const struct ck_old *old = run->old;
	struct ck_place *p = run->p;
	const struct ck_rec_store *found = ck_old_broker(old, p->credential);

	for (size_t i = 0; found == NULL && i < old->n; i++)
		if (old->row[i].state != CK_STATE_BROKER &&
		    old->broker[i].id != 0)
			found = &old->broker[i];
	if (found == NULL)
		ck_locator_stand_in(p);
	if (p->broker_said || found == NULL)
		return;
	p->broker_kind = found->kind;
	memcpy(p->broker, found->path, sizeof(p->broker));
}

/* What was said is said of p's credential, and of those that the old records
 * do not know. */
static void
set_broker(const struct run *run, struct ck_rebuild_row *row)
{
	const struct ck_place *p = run->p;
	const struct ck_rec_store *was = ck_old_broker(run->old, row->c.name);
	char noted[CK_PATH_MAX];

	if (was != NULL && (!p->broker_said ||
	    strcmp(row->c.name, p->credential) != 0)) {
		row->broker_kind = was->kind;
		memcpy(row->broker, was->path, sizeof(row->broker));
		row->broker_from = "old records";
		return;
	}
	row->broker_kind = p->broker_kind;
	memcpy(row->broker, p->broker, sizeof(row->broker));
	row->broker_from = p->broker_said ? "command line" :
	    ck_locator_get(p, noted, NULL) == CK_OK &&
	    strcmp(noted, p->broker) == 0 ? CK_LOCATOR_FILE : "default";
}

/* A generation stands for one value: for another one it is the next. */
static void
set_generation(const struct ck_old *old, struct ck_rebuild_row *row)
{
	const struct ck_rec_credential *was = ck_old_row(old, row->c.name);

	row->c.generation = 1;
	row->guessed = true;
	if (was == NULL || was->generation == 0 ||
	    was->generation > GENERATION_MAX)
		return;
	row->guessed = strcmp(was->fingerprint, row->c.fingerprint) != 0;
	row->c.generation = was->generation + row->guessed;
}

static int
by_name(const void *a, const void *b)
{
	const struct ck_rec_credential *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/*
 * Are they the values that were noted?  Those that an unfinished operation
 * brought in are not, yet: whoever lost the records in the middle of it is
 * asked, since the same is seen when an older keychain was put there then.
 * Before the first values are noted no older keychain is opened by the
 * password beside it.
 */
static ck_err
compare_values(struct run *run, const struct ck_anchor *anchor,
    struct ck_fail *fail)
{
	const struct ck_rec_credential *row[CK_REBUILD_ROWS_MAX];
	const size_t one = sizeof(row) / CK_REBUILD_ROWS_MAX;
	struct ck_rebuild *out = run->out;
	char print[CK_ANCHOR_PRINT_SIZE];
	ck_err r;

	if (anchor->print[0] == '\0')
		return CK_OK;
	for (size_t i = 0; i < out->n; i++)
		row[i] = &out->row[i].c;
	qsort(row, out->n, one, by_name);
	if ((r = ck_anchor_print_rows(row, out->n, print, fail)) == CK_OK)
		out->earlier = strcmp(print, anchor->print) != 0;
	return r;
}

/* No fewer rotations than are noted with the unlock password: those that the
 * old records do not tell of are counted to the first credential. */
static ck_err
reach_anchor(struct run *run, struct ck_fail *fail)
{
	struct ck_rebuild *out = run->out;
	struct ck_anchor anchor;
	uint64_t sum = 0;
	ck_err r;

	if ((r = ck_unlock_place_read(run->p, NULL, &anchor, fail)) != CK_OK ||
	    (r = compare_values(run, &anchor, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < run->old->n; i++)
		if (run->old->row[i].state == CK_STATE_BROKER)
			sum += run->old->row[i].generation;
	for (size_t i = 0; i < out->n; i++)
		sum += out->row[i].c.generation;
	if (out->n > 0 && sum < anchor.generation &&
	    anchor.generation <= GENERATION_MAX) {
		out->row[0].c.generation += anchor.generation - sum;
		/* With one credential the note says it. */
		out->row[0].guessed = out->n > 1;
	}
	return CK_OK;
}

static ck_err
derive_rows(struct run *run, struct ck_fail *fail)
{
	struct ck_rebuild *out = run->out;
	ck_err r;

	for (size_t i = 0; i < run->items.n; i++) {
		struct ck_rebuild_row *row = &out->row[out->n++];

		row->c = run->items.at[i];
		row->has_item = true;
		set_generation(run->old, row);
		set_broker(run, row);
	}
	if ((r = reach_anchor(run, fail)) != CK_OK)
		return r;
	/* What never was in the keychain is as it was. */
	for (size_t i = 0; i < run->old->n; i++) {
		const struct ck_rec_credential *was = &run->old->row[i];
		bool known = false;

		for (size_t j = 0; j < run->items.n; j++)
			known = known ||
			    strcmp(was->name, run->items.at[j].name) == 0;
		if (known || was->state != CK_STATE_BROKER)
			continue;
		if (out->n == CK_REBUILD_ROWS_MAX)
			return ck_fail_set(fail, CK_UNSUPPORTED, run->p->dir,
			    "has more than %d credentials",
			    CK_REBUILD_ROWS_MAX);
		out->row[out->n].c = *was;
		/* A row that somebody wrote must not end the counting. */
		if (was->generation > GENERATION_MAX)
			out->row[out->n].c.generation = 0;
		set_broker(run, &out->row[out->n++]);
	}
	return CK_OK;
}

/* Adding never weakens; of two rows for one path the stricter holds. */
static void
add_protected(struct ck_rebuild *out, const struct ck_rec_protected *row,
    struct ck_lines *lost)
{
	struct ck_rules_set *set = &out->set;

	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->row[i].path, row->path) == 0) {
			set->row[i].deny_read |= row->deny_read;
			set->row[i].directory |= row->directory;
			return;
		}
	if (set->n == CK_RULES_ROWS_MAX) {
		ck_line(lost, "that workers are kept from %s: there are "
		    "too many paths", row->path);
		return;
	}
	out->from_old[set->n] = true;
	set->row[set->n++] = *row;
}

static ck_err
derive_protected(struct run *run, struct ck_fail *fail)
{
	struct ck_rebuild *out = run->out;
	ck_err r;

	if ((r = ck_rules_defaults(run->p, NULL, 0, &out->set, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < run->old->set.n; i++)
		add_protected(out, &run->old->set.row[i], &out->lost);
	r = ck_rules_possible(run->p, &out->set, fail);
	if (r != CK_OK && r != CK_NOMEM && run->old->set.n > 0) {
		/* A row of theirs gives no rules; then none of them counts. */
		ck_line(&out->lost, "the old protected paths: no rules can be "
		    "made from them");
		memset(out->from_old, 0, sizeof(out->from_old));
		if ((r = ck_rules_defaults(run->p, NULL, 0, &out->set,
		    fail)) == CK_OK)
			r = ck_rules_possible(run->p, &out->set, fail);
	}
	return r;
}

/* Keychain and password: without both there is nothing to derive from. */
/* Where the password is looked for is a guess when no records say it. */
static void
without_password(const struct ck_place *p, ck_err r, struct ck_fail *fail)
{
	if (p->broker_kind == CK_KIND_LOGIN_KEYCHAIN &&
	    p->login_password == NULL)
		ck_advise(fail, p, "give its password: {doctor --rebuild}");
	else if (r == CK_NOSTORE && !p->broker_said)
		ck_fail_next(fail, "where the broker is a keychain: "
		    "clankie-keys doctor --rebuild --broker keychain:PATH "
		    "--login-password-fd N; if the password is lost with the "
		    "records: mv '%.150s' aside and begin anew", p->dir);
	else
		ck_fail_next(fail, "put the unlock password back from a "
		    "backup; if it is lost with the records: mv '%.200s' "
		    "aside and begin anew", p->dir);
}

static ck_err
open_keychain(struct run *run, struct ck_fail *fail)
{
	struct ck_place *p = run->p;
	bool there = false;
	ck_err r;

	if ((r = ck_place_dedicated(p, &there, fail)) != CK_OK)
		return r;
	if (!there) {
		(void)ck_fail_set(fail, CK_NOSTORE, p->keychain,
		    "is missing, and the records can only be derived from it");
		ck_advise(fail, p, "{doctor} says what is there");
		return CK_NOSTORE;
	}
	r = ck_dedicated_look(p, &run->password, NULL, NULL, fail);
	/* reset cannot help without records. */
	if (r == CK_NOSTORE || r == CK_LOCKED)
		without_password(p, r, fail);
	if (r == CK_OK)
		r = ck_doctor_items(p, &run->password, &run->items, &run->key,
		    fail);
	if (r != CK_OK && fail != NULL && fail->next[0] == '\0')
		ck_advise(fail, p, "{doctor} says what is there");
	return r;
}

static ck_err
must_not_hold(struct run *run, struct ck_fail *fail)
{
	bool holds = false;
	ck_err r;

	if ((r = ck_old_holds(run->p, run->old, &run->items, &run->key,
	    &holds, fail)) != CK_OK || !holds)
		return r;
	(void)ck_fail_set(fail, CK_REFUSED, run->p->dir,
	    "has records that hold and fit the keychain: there is nothing to "
	    "rebuild");
	ck_advise(fail, run->p, "{check}");
	return CK_REFUSED;
}

static ck_err
derive(struct run *run, struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_old_read(run->p, run->dirfd, run->old, fail)) != CK_OK)
		return r;
	choose_broker(run);
	if ((r = open_keychain(run, fail)) != CK_OK ||
	    (r = must_not_hold(run, fail)) != CK_OK ||
	    (r = derive_rows(run, fail)) != CK_OK ||
	    (r = derive_protected(run, fail)) != CK_OK)
		return r;
	ck_old_compare(run->p, run->old, &run->items, run->out);
	return CK_OK;
}

static ck_err
of_this_day(const struct run *run, struct ck_fail *fail)
{
	if (!run->out->earlier)
		return CK_OK;
	(void)ck_fail_set(fail, CK_DECIDE, run->p->keychain,
	    "holds other values than were noted with its unlock password: it "
	    "was put back to another day");
	ck_advise(fail, run->p, "put back the keychain of the day of the "
	    "unlock password; if there is none and this value is to be in "
	    "force again: {doctor --rebuild --accept-earlier --confirm}");
	return CK_DECIDE;
}

static ck_err
carry_out(struct run *run, bool confirm, bool accept_earlier,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_place_open_dir(run->p, &run->dirfd, fail)) != CK_OK)
		return r;
	if (confirm &&
	    ((r = ck_place_lock(run->p, run->dirfd, &run->lockfd,
	    fail)) != CK_OK ||
	    (r = ck_rebuild_clean(run->p, run->dirfd, fail)) != CK_OK))
		return r;
	if ((r = derive(run, fail)) != CK_OK || !confirm ||
	    (!accept_earlier && (r = of_this_day(run, fail)) != CK_OK))
		return r;
	/* SQLite's own locks on the old file go before it does. */
	ck_old_done(run->old);
	return ck_rebuild_write(run->p, run->dirfd, &run->items, &run->key,
	    &run->password, run->out, fail);
}

ck_err
ck_doctor_rebuild(struct ck_place *p, bool confirm, bool accept_earlier,
    struct ck_rebuild *ret, struct ck_fail *fail)
{
	struct run run;
	ck_err r;

	memset(&run, 0, sizeof(run));
	run.p = p;
	run.dirfd = -1;
	run.lockfd = -1;
	if ((r = ck_preflight_context(p, "doctor --rebuild", fail)) != CK_OK ||
	    (r = ck_preflight_selftest(fail)) != CK_OK)
		return r;
	run.old = calloc(1, sizeof(*run.old));
	run.out = calloc(1, sizeof(*run.out));
	if (run.old == NULL || run.out == NULL)
		r = ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	else
		r = carry_out(&run, confirm, accept_earlier, fail);
	if (r == CK_OK)
		*ret = *run.out;
	ck_secret_wipe(&run.key);
	ck_secret_wipe(&run.password);
	if (run.old != NULL)
		ck_old_done(run.old);
	free(run.old);
	free(run.out);
	ck_io_close(&run.lockfd);
	ck_io_close(&run.dirfd);
	return r;
}
