/* SPDX-License-Identifier: Apache-2.0 */
/* Every attempt in turn, and the verdicts; see verify.h. */
#include "custody/verify_int.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define ROWS_MAX 160
#define WHOLE_MS (5 * 60 * 1000)   /* fifty times what it takes */

const char *
ck_verdict_name(enum ck_verdict v)
{
	static const char *const names[] = { "PASS", "FAIL", "N/A",
		"UNTRUSTED", "INDETERMINATE" };

	return names[v];
}

const char *
ck_seen_name(enum ck_seen s)
{
	static const char *const names[] = { "not-run", "worked", "refused",
		"launch-refused", "not-possible", "strange" };

	return names[s];
}

/* The means of an attempt that nothing of the outside stands for. */
static bool
is_refusal(unsigned int flags, enum ck_seen s)
{
	return s == CK_SEEN_REFUSED ||
	    (s == CK_SEEN_STOPPED && (flags & CK_TRY_PREPARED) != 0);
}

enum ck_verdict
ck_verdict_of(unsigned int flags, enum ck_seen control, enum ck_seen before,
    enum ck_seen after)
{
	/* Whatever else was seen: inside, it worked. */
	if (before == CK_SEEN_WORKED || after == CK_SEEN_WORKED)
		return CK_VERDICT_FAIL;
	if (control == CK_SEEN_CANNOT || (control == CK_SEEN_REFUSED &&
	    (flags & CK_TRY_RARE) != 0))
		return CK_VERDICT_NA;
	if (control != CK_SEEN_WORKED)
		return CK_VERDICT_UNDECIDED;
	if (is_refusal(flags, before) && is_refusal(flags, after))
		return CK_VERDICT_PASS;
	return before == CK_SEEN_STOPPED || after == CK_SEEN_STOPPED ?
	    CK_VERDICT_UNTRUSTED : CK_VERDICT_UNDECIDED;
}

enum ck_verdict
ck_verdict_all(const size_t count[CK_VERDICT_COUNT])
{
	static const enum ck_verdict order[] = { CK_VERDICT_FAIL,
		CK_VERDICT_UNTRUSTED, CK_VERDICT_UNDECIDED };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (count[order[i]] > 0)
			return order[i];
	/* Nothing tried proves nothing. */
	return count[CK_VERDICT_PASS] > 0 ? CK_VERDICT_PASS :
	    CK_VERDICT_UNDECIDED;
}

struct engine {
	struct ck_trial t;
	struct ck_verify_row row[ROWS_MAX];
	size_t n;
	struct ck_verify_sum sum;
	uint64_t until;
};

/* Can a worker be started here at all, and do there what it may? */
static ck_err
can_enter(struct engine *e, bool *ret, struct ck_fail *fail)
{
	enum ck_seen seen = CK_SEEN_NOTHING;
	char how[96] = "";
	ck_err r;

	if ((r = ck_trial_turn(&e->t, &ck_attempt_allowed, true, &seen, how,
	    fail)) != CK_OK)
		return r;
	*ret = seen == CK_SEEN_WORKED;
	if (!*ret)
		(void)snprintf(e->sum.why, sizeof(e->sum.why),
		    "no worker can be started here that does what it may: %s",
		    how[0] != '\0' ? how : ck_seen_name(seen));
	return CK_OK;
}

/* What got through has changed the home for the next ones. */
static ck_err
mend(struct engine *e, enum ck_seen seen, struct ck_fail *fail)
{
	if (e->t.how->without ||
	    (seen != CK_SEEN_WORKED && seen != CK_SEEN_STRANGE))
		return CK_OK;
	return ck_trial_again(&e->t, fail);
}

static ck_err
stopped(const struct engine *e, struct ck_fail *fail)
{
	if (*e->t.how->stop != 0)
		return ck_fail_set(fail, CK_NOENFORCE, NULL,
		    "was stopped: nothing is proved");
	if (ck_clock_mono_ms() > e->until)
		return ck_fail_set(fail, CK_NOENFORCE, NULL, "has taken five "
		    "minutes, which is too long: nothing is proved");
	return CK_OK;
}

/* Outside, then inside: the first half. */
static ck_err
first_half(struct engine *e, struct ck_fail *fail)
{
	ck_err r = CK_OK;

	for (size_t i = 0; i < e->n && r == CK_OK; i++) {
		struct ck_verify_row *row = &e->row[i];

		if ((r = stopped(e, fail)) != CK_OK ||
		    (r = ck_trial_turn(&e->t, row->attempt, false,
		    &row->control, NULL, fail)) != CK_OK ||
		    (r = ck_trial_turn(&e->t, row->attempt, true,
		    &row->before, row->how, fail)) != CK_OK ||
		    (r = mend(e, row->before, fail)) != CK_OK)
			break;
	}
	return r;
}

static ck_err
rotate(struct engine *e, struct ck_fail *fail)
{
	ck_err r = ck_trial_command(&e->t, (const char *const[]){ "rotate",
	    NULL }, fail);

	if (r == CK_OK)
		r = ck_trial_command(&e->t, (const char *const[]){ "rules",
		    "--write", NULL }, fail);
	return r == CK_OK ? ck_trial_outside(&e->t, fail) : r;
}

/* The second half, and with it the verdicts. */
static ck_err
second_half(struct engine *e, ck_verify_cb cb, void *arg,
    struct ck_fail *fail)
{
	ck_err r = CK_OK;

	for (size_t i = 0; i < e->n && r == CK_OK; i++) {
		struct ck_verify_row *row = &e->row[i];

		if ((r = stopped(e, fail)) != CK_OK ||
		    (r = ck_trial_turn(&e->t, row->attempt, true, &row->after,
		    NULL, fail)) != CK_OK)
			break;
		row->verdict = ck_verdict_of(row->attempt->flags, row->control,
		    row->before, row->after);
		e->sum.count[row->verdict]++;
		cb(arg, row);
		r = mend(e, row->after, fail);
	}
	return r;
}

/* Nothing can be tried where no worker starts. */
static void
all_untrusted(struct engine *e, ck_verify_cb cb, void *arg)
{
	for (size_t i = 0; i < e->n; i++) {
		e->row[i].verdict = CK_VERDICT_UNTRUSTED;
		e->sum.count[CK_VERDICT_UNTRUSTED]++;
		cb(arg, &e->row[i]);
	}
}

static ck_err
choose(struct engine *e, const char *only, struct ck_fail *fail)
{
	const struct ck_attempt *a;

	for (size_t i = 0; (a = ck_attempt_at(i)) != NULL; i++)
		if (e->n < ROWS_MAX && (only == NULL ||
		    strcmp(only, a->id) == 0))
			e->row[e->n++].attempt = a;
	return e->n > 0 ? CK_OK : ck_fail_set(fail, CK_USAGE, only,
	    "is no attempt");
}

static ck_err
run(struct engine *e, ck_verify_cb cb, void *arg, struct ck_fail *fail)
{
	bool enters = false;
	ck_err r;

	if ((r = can_enter(e, &enters, fail)) != CK_OK)
		return r;
	if (!enters) {
		all_untrusted(e, cb, arg);
		return CK_OK;
	}
	if ((r = first_half(e, fail)) != CK_OK ||
	    (r = rotate(e, fail)) != CK_OK)
		return r;
	return second_half(e, cb, arg, fail);
}

ck_err
ck_verify(const struct ck_verify_how *how, ck_verify_cb cb, void *arg,
    struct ck_verify_sum *ret, struct ck_fail *fail)
{
	static struct engine e;
	ck_err r;

	memset(&e, 0, sizeof(e));
	if (geteuid() == 0) {
		(void)ck_fail_set(fail, CK_NOENFORCE, NULL,
		    "root cannot be kept from anything, so that nothing could "
		    "be proved");
		ck_fail_next(fail, "run it as the user whose workers it is "
		    "about");
		return CK_NOENFORCE;
	}
	if ((r = choose(&e, how->only, fail)) != CK_OK ||
	    (r = ck_trial_begin(how, &e.t, fail)) != CK_OK)
		return r;
	e.until = ck_clock_mono_ms() + WHOLE_MS;
	r = run(&e, cb, arg, fail);
	ck_trial_end(&e.t);
	/* Whatever failed then, failed because of that. */
	if (stopped(&e, NULL) != CK_OK)
		r = stopped(&e, fail);
	if (r != CK_OK)
		return r;
	e.sum.verdict = ck_verdict_all(e.sum.count);
	*ret = e.sum;
	return CK_OK;
}
