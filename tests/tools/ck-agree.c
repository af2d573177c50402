/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-agree make SEED ROOT OUT
 * ck-agree try FILE
 * ck-agree compare SEED ROOT OUT
 *
 * The agreement table (agree.h).  make lays out the homes in ROOT and writes to
 * OUT: plan.NN, bwrap.NN, calls.NN, scheme.N and answers.N.  try does the calls
 * of one file and prints an errno a line; its output outside the boundary is
 * expected in OUT/outside.NN, inside in OUT/inside.NN.  compare prints the
 * table: how often the readings agree, and each kind of difference with its
 * count; a difference of no known kind goes to standard error and ends it with
 * 1.  What is inside can also be bubblewrap with the arguments of bwrap.NN.
 * Linux only.
 */
#include "agree.h"

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boundary/bwrap.h"

/* What a difference can be.  The evaluator's answer is the policy's. */
enum kind {
	ALIKE, NO_CALL, FIRMLINK, EITHER_CASE, TEMPORARY, NOT_THERE,
	WAY_TO_NOTHING, ATTRIBUTES, TAKEN_ALONG, NOT_NAMED, KINDS,
	UNEXPLAINED = KINDS
};

static const char *const kinds[KINDS] = {
	[ALIKE] = "alike",
	[NO_CALL] = "no system call of Linux asks for this operation",
	[FIRMLINK] = "a firmlink spelling has no Linux form",
	[EITHER_CASE] = "another name on Linux, where case counts",
	[TEMPORARY] = "temporary name of a single file: not closed on Linux",
	[NOT_THERE] = "not there: nothing to mount on",
	[WAY_TO_NOTHING] = "on the way to what is not there: not held",
	[ATTRIBUTES] = "mode, owner, attributes of a directory on the way",
	[TAKEN_ALONG] = "closed with the directory of its file",
	[NOT_NAMED] = "in a mask, and not named there: as if it was not there",
};

static FILE *
open_out(const char *dir, const char *name, size_t i, const char *mode)
{
	char path[CK_PATH_MAX];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s.%02zu", dir, name, i);
	if ((f = fopen(path, mode)) == NULL)
		err(2, "%s", path);
	return f;
}

static void
put_all(const char *dir, const char *name, size_t i, const struct ck_buf *b)
{
	FILE *f = open_out(dir, name, i, "w");

	if (ck_buf_ok(b) != CK_OK || fwrite(b->p, 1, b->n, f) != b->n ||
	    fclose(f) != 0)
		err(2, "%s.%02zu", name, i);
}

static void
put_plan(const struct ag_policy *a, size_t i, const char *out)
{
	const struct ck_mounts_options options = { a->home,
		(unsigned long)geteuid(), ck_mounts_look, NULL };
	struct ck_mounts *plan = calloc(1, sizeof(*plan));
	struct ck_fail fail = CK_FAIL_INIT;
	struct ck_buf text = CK_BUF_INIT;

	if (plan == NULL)
		err(2, NULL);
	if (ck_mounts_compile(a->set, a->n, &options, plan, &fail) != CK_OK ||
	    ck_mounts_cover(plan, a->set, a->n, &options, &fail) != CK_OK)
		errx(2, "%s: %s", fail.place, fail.why);
	ck_mounts_write(plan, &text);
	put_all(out, "plan", i, &text);
	ck_buf_free(&text);
	if (ck_bwrap_render(plan, &options, CK_BWRAP_NULL, &text, &fail) !=
	    CK_OK)
		errx(2, "%s: %s", fail.place, fail.why);
	put_all(out, "bwrap", i, &text);
	ck_buf_free(&text);
	free(plan);
}

/* Operation, path, NUL: what can be tried. */
static void
put_calls(const struct ag_policy *a, size_t i, const char *out)
{
	struct ck_buf b = CK_BUF_INIT;

	for (size_t k = 0; k < AG_EACH; k++) {
		const struct ag_case *c = &a->cases[k];

		ck_buf_format(&b, "%d %s", (int)c->op, c->raw);
		ck_buf_bytes(&b, "", 1);
	}
	put_all(out, "calls", i, &b);
	ck_buf_free(&b);
}

static int
make(uint32_t seed, const char *root, const char *out)
{
	static struct ag_policy a;

	for (size_t n = 0; n < AG_PROGRAMS; n++) {
		struct ck_buf program = CK_BUF_INIT, answers = CK_BUF_INIT;

		for (size_t i = n; i < AG_POLICIES; i += AG_PROGRAMS) {
			struct ck_policy *rules;

			ag_policy(seed, i, root, true, &a);
			rules = ag_rules(&a, NULL);
			put_plan(&a, i, out);
			put_calls(&a, i, out);
			ag_scheme(&a, rules, &program, &answers);
			ck_policy_free(&rules);
		}
		put_all(out, "scheme", n, &program);
		put_all(out, "answers", n, &answers);
		ck_buf_free(&program);
		ck_buf_free(&answers);
	}
	return 0;
}

static int
try(const char *path)
{
	static char text[AG_RAW + 16];
	FILE *f = fopen(path, "r");
	size_t n = 0;
	int c;

	if (f == NULL)
		err(2, "%s", path);
	while ((c = getc(f)) != EOF) {
		char *end;
		long op;

		if (n == sizeof(text))
			errx(2, "%s: a path is too long", path);
		text[n++] = (char)c;
		if (c != '\0')
			continue;
		n = 0;
		op = strtol(text, &end, 10);
		(void)printf("%d\n", ag_call((enum ck_op)op, end + 1));
	}
	(void)fclose(f);
	return fflush(stdout) == 0 ? 0 : 2;
}

/* All readings of one policy. */
struct readings {
	struct ag_policy a;
	struct ck_policy *rules, *plain;
	struct ag_plan *plan;
	FILE *outside, *inside;
};

static void
open_readings(struct readings *r, uint32_t seed, size_t i, const char *root,
    const char *out)
{
	struct ck_worker_options plain;
	FILE *f = open_out(out, "plan", i, "r");

	ag_policy(seed, i, root, false, &r->a);
	plain = r->a.options;
	plain.fold = false;
	r->rules = ag_rules(&r->a, NULL);
	r->plain = ag_rules(&r->a, &plain);
	r->plan = ag_plan_read(f);
	(void)fclose(f);
	r->outside = open_out(out, "outside", i, "r");
	r->inside = open_out(out, "inside", i, "r");
}

static void
close_readings(struct readings *r)
{
	(void)fclose(r->inside);
	(void)fclose(r->outside);
	ag_plan_free(r->plan);
	ck_policy_free(&r->plain);
	ck_policy_free(&r->rules);
}

static int
next_number(FILE *f)
{
	char line[32];

	if (fgets(line, sizeof(line), f) == NULL)
		errx(2, "a list of results ends early");
	return (int)strtol(line, NULL, 10);
}

static struct ck_verdict
ask(const struct ck_policy *p, const struct ag_case *c)
{
	struct ck_verdict v = { CK_ALLOW, 0, NULL };

	if (ck_policy_decide(p, c->op, c->path, &v) != CK_OK)
		errx(2, "%s: no answer", c->path);
	return v;
}

/* The policy denies, the plan does not. */
static enum kind
why_more(const struct readings *r, const struct ag_case *c,
    const struct ck_verdict *v)
{
	bool exists = access(c->path, F_OK) == 0;

	if (ask(r->plain, c).effect == CK_ALLOW)
		return EITHER_CASE;
	switch (ck_policy_rule(r->rules, v->rule)->part) {
	case CK_PART_TEMPORARY:
		return TEMPORARY;
	case CK_PART_TARGET:
		return exists ? UNEXPLAINED : NOT_THERE;
	case CK_PART_ANCESTOR:
		if (c->op == CK_OP_WRITE_UNLINK || c->op == CK_OP_WRITE_CREATE)
			return WAY_TO_NOTHING;
		return ATTRIBUTES;
	case CK_PART_BASE:
		break;
	}
	return UNEXPLAINED;
}

static enum kind
judge(const struct readings *r, const struct ag_case *c, enum ag_says says)
{
	struct ck_verdict v = ask(r->rules, c);

	if (!ag_has_call(c->op))
		return NO_CALL;
	if (c->firmlink)
		return FIRMLINK;
	if ((v.effect == CK_DENY) == (says != AG_OPEN))
		return ALIKE;
	if (v.effect == CK_DENY)
		return why_more(r, c, &v);
	if (ag_plan_takes_along(r->plan, c->path))
		return TAKEN_ALONG;
	return says == AG_HIDDEN ? NOT_NAMED : UNEXPLAINED;
}

/* What the kernel did is what the plan says: as outside, or no.  Two reasons to
 * refuse the same thing come in either order. */
static bool
kernel_agrees(enum ag_says says, int outside, int inside)
{
	return says == AG_OPEN ? (inside == 0) == (outside == 0) :
	    inside != 0;
}

struct sums {
	unsigned long kind[KINDS], spelled, tried, worked, kept, bad;
};

static void
compare_case(const struct readings *r, const struct ag_case *c,
    struct sums *s)
{
	int outside = next_number(r->outside), inside = next_number(r->inside);
	enum ag_says says = ag_plan_says(r->plan, c->op, c->path);
	enum kind kind = judge(r, c, says);
	char path[CK_PATH_MAX];

	if (ck_path_canonical(c->raw, path, NULL) == CK_OK &&
	    strcmp(path, c->path) == 0)
		s->spelled++;
	if (kind == UNEXPLAINED) {
		s->bad++;
		(void)fprintf(stderr, "%s %s: unexplained, the policy %s, the "
		    "plan says %d\n", ck_op_name(c->op), c->path,
		    ask(r->rules, c).effect == CK_DENY ? "denies" : "allows",
		    (int)says);
		return;
	}
	s->kind[kind]++;
	if (kind == NO_CALL || kind == FIRMLINK)
		return;
	s->tried++;
	s->worked += outside == 0;
	s->kept += outside == 0 && inside != 0;
	if (kernel_agrees(says, outside, inside))
		return;
	s->bad++;
	(void)fprintf(stderr, "%s %s: the plan says %d, the kernel %d outside "
	    "and %d inside\n", ck_op_name(c->op), c->path, (int)says, outside,
	    inside);
}

static int
compare(uint32_t seed, const char *root, const char *out)
{
	static struct readings r;
	struct sums s = { { 0 }, 0, 0, 0, 0, 0 };

	for (size_t i = 0; i < AG_POLICIES; i++) {
		open_readings(&r, seed, i, root, out);
		for (size_t k = 0; k < AG_EACH; k++)
			compare_case(&r, &r.a.cases[k], &s);
		close_readings(&r);
	}
	(void)printf("seed %lu, %d policies, %d cases\n", (unsigned long)seed,
	    AG_POLICIES, AG_POLICIES * AG_EACH);
	for (size_t i = 0; i < KINDS; i++)
		(void)printf("%6lu %s\n", s.kind[i], kinds[i]);
	(void)printf("%6lu spellings lead to the path that is meant\n",
	    s.spelled);
	(void)printf("%6lu tried by the kernel, as the plan says\n", s.tried);
	(void)printf("%6lu unexplained\n", s.bad);
	/* Which attributes there are depends on the file system. */
	(void)printf("# of those that are tried, %lu work outside, and of these "
	    "%lu fail inside\n", s.worked, s.kept);
	return s.bad == 0 && fflush(stdout) == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
	uint32_t seed;

	if (argc == 3 && strcmp(argv[1], "try") == 0)
		return try(argv[2]);
	if (argc != 5)
		errx(2, "usage: see the top of its source");
	seed = (uint32_t)strtoul(argv[2], NULL, 10);
	return strcmp(argv[1], "make") == 0 ? make(seed, argv[3], argv[4]) :
	    compare(seed, argv[3], argv[4]);
}
