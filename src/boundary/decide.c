/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluator: what a policy says about one operation on one path, and the
 * proof that the two readings of rule order cannot differ on it.
 */
#include "policy_rules.h"

#include <string.h>

/* Longest way from an operation to "default", both counted. */
#define CHAIN_MAX 8

static unsigned char
lower(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= 'A' && u <= 'Z' ? (unsigned char)(u + ('a' - 'A')) : u;
}

/* The first n bytes are the same, ASCII case aside if fold.  From the end, for
 * paths of one policy begin alike. */
static bool
same(const char *a, const char *b, size_t n, bool fold)
{
	if (!fold)
		return n == 0 || (a[n - 1] == b[n - 1] &&
		    memcmp(a, b, n) == 0);
	for (size_t i = n; i-- > 0;)
		if (a[i] != b[i] && lower(a[i]) != lower(b[i]))
			return false;
	return true;
}

static bool
matches(const struct ck_slot *s, const char *path, size_t n)
{
	size_t len = s->path_n;

	if (s->rule.filter == CK_FILTER_NONE)
		return true;
	if (path == NULL || n < len)
		return false;
	switch (s->rule.filter) {
	case CK_FILTER_LITERAL:
		if (n != len)
			return false;
		break;
	case CK_FILTER_SUBPATH:
		/* "/" ends in the slash that others need behind them. */
		if (len > 1 && n != len && path[len] != '/')
			return false;
		break;
	case CK_FILTER_NUMBERED:
		if (path[len] < '0' || path[len] > '9')
			return false;
		break;
	case CK_FILTER_PREFIX:
	case CK_FILTER_NONE:
		break;
	}
	return same(s->path, path, len, s->rule.fold);
}

/* op, its parent, ... "default", as sets of one. */
static size_t
chain_of(enum ck_op op, ck_ops ret[CHAIN_MAX])
{
	size_t n = 0;

	while (op != CK_OP_DEFAULT && n + 1 < CHAIN_MAX) {
		ret[n++] = (ck_ops)1 << op;
		op = ck_op_parent(op);
	}
	ret[n++] = CK_OPS(DEFAULT);
	return n;
}

/* Smaller wins.  All ranks of an operation come before those of its parent,
 * filtered rules before unfiltered ones. */
static size_t
rank_of(const struct ck_rule *rule, const ck_ops *chain, size_t n)
{
	size_t depth = 0;

	while (depth < n && (rule->ops & chain[depth]) == 0)
		depth++;
	return depth * 2 + (rule->filter == CK_FILTER_NONE ? 1 : 0);
}

ck_err
ck_policy_decide_as(const struct ck_policy *p, enum ck_model model,
    enum ck_op op, const char *path, struct ck_verdict *ret)
{
	ck_ops chain[CHAIN_MAX], lineage;
	size_t chain_n, path_n, best = SIZE_MAX, found = 0;

	if ((unsigned int)op >= CK_OP_COUNT ||
	    (path != NULL && ck_policy_path_fault(path) != NULL))
		return CK_REFUSED;
	path_n = path == NULL ? 0 : strlen(path);
	lineage = ck_op_lineage(op);
	chain_n = chain_of(op, chain);
	for (size_t i = p->n; i-- > 0 && best > 0;) {
		const struct ck_slot *s = &p->slot[i];
		size_t rank;

		if ((s->rule.ops & lineage) == 0)
			continue;
		rank = model == CK_MODEL_LAST ? 0 :
		    rank_of(&s->rule, chain, chain_n);
		/* Going backwards, an equal rank has been seen later. */
		if (rank >= best || !matches(s, path, path_n))
			continue;
		best = rank;
		found = i;
	}
	if (best == SIZE_MAX)
		return CK_NOENFORCE;
	ret->effect = p->slot[found].rule.effect;
	ret->rule = found;
	ret->why = p->slot[found].why;
	return CK_OK;
}

ck_err
ck_policy_decide(const struct ck_policy *p, enum ck_op op, const char *path,
    struct ck_verdict *ret)
{
	return ck_policy_decide_as(p, CK_MODEL_SPECIFIC, op, path, ret);
}

/*
 * Whether a deny holds against an allow in both models.  Where the allow
 * names something more specific, the deny must name that too, or it loses
 * under SPECIFIC.  An unfiltered deny loses there to any filtered allow of
 * the same operation.
 */
static bool
deny_holds(const struct ck_rule *deny, const struct ck_rule *allow)
{
	bool bare = deny->filter == CK_FILTER_NONE &&
	    allow->filter != CK_FILTER_NONE;

	for (unsigned int op = 0; op < CK_OP_COUNT; op++) {
		if ((allow->ops >> op & 1) == 0)
			continue;
		if ((ck_op_lineage((enum ck_op)op) & deny->ops) == 0)
			continue;
		if (bare || (deny->ops >> op & 1) == 0)
			return false;
	}
	return true;
}

static ck_err
differs(const struct ck_policy *p, size_t i, const char *what,
    struct ck_fail *fail)
{
	return ck_fail_set(fail, CK_NOENFORCE, p->slot[i].path,
	    "rule %zu of the boundary can be read in two ways: %s", i, what);
}

/*
 * Why this is enough: with every deny behind every allow, LAST says deny as
 * soon as any deny matches.  SPECIFIC looks at the most specific operation
 * that a matching rule names.  Were that one named by allows only, then a
 * matching deny names one of its ancestors, which deny_holds() rules out.
 */
ck_err
ck_policy_agrees(const struct ck_policy *p, struct ck_fail *fail)
{
	bool denies = false;

	if (p->n == 0 || p->slot[0].rule.filter != CK_FILTER_NONE ||
	    p->slot[0].rule.ops != CK_OPS(DEFAULT))
		return ck_fail_set(fail, CK_NOENFORCE, NULL,
		    "the boundary does not begin with its default");
	for (size_t i = 1; i < p->n; i++) {
		const struct ck_rule *rule = &p->slot[i].rule;

		if ((rule->ops & CK_OPS(DEFAULT)) != 0)
			return differs(p, i, "a second default", fail);
		if (rule->effect == CK_ALLOW && denies)
			return differs(p, i, "an allow behind a deny", fail);
		denies = denies || rule->effect == CK_DENY;
		for (size_t j = 1; rule->effect == CK_DENY && j < i; j++)
			if (p->slot[j].rule.effect == CK_ALLOW &&
			    !deny_holds(rule, &p->slot[j].rule))
				return differs(p, i, "an allow names a more "
				    "specific operation", fail);
	}
	return CK_OK;
}
