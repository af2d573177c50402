/* SPDX-License-Identifier: Apache-2.0 */
/* The list of rules: making, reading, describing; see policy.h. */
#include "policy_rules.h"

#include <stdlib.h>
#include <string.h>

/* More rules than any set of this program makes; a limit on the work. */
#define RULES_MAX 65536

ck_err
ck_policy_new(struct ck_policy **ret)
{
	struct ck_policy *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return CK_NOMEM;
	*ret = p;
	return CK_OK;
}

void
ck_slot_clear(struct ck_slot *s)
{
	free(s->path);
	free(s->why);
	memset(s, 0, sizeof(*s));
}

void
ck_policy_free(struct ck_policy **pp)
{
	struct ck_policy *p;

	if (pp == NULL || *pp == NULL)
		return;
	p = *pp;
	for (size_t i = 0; i < p->n; i++)
		ck_slot_clear(&p->slot[i]);
	free(p->slot);
	free(p);
	*pp = NULL;
}

const char *
ck_policy_path_fault(const char *path)
{
	const char *at = path;

	if (*at != '/')
		return "is not an absolute path";
	if (at[1] == '\0')
		return NULL;
	while (*at == '/') {
		const char *name = ++at;

		while (*at != '/' && *at != '\0')
			at++;
		if (at == name)
			return "has an empty component or a trailing slash";
		if (*name == '.' && (at - name == 1 ||
		    (at - name == 2 && name[1] == '.')))
			return "has a . or .. component";
	}
	return NULL;
}

static ck_err
check_rule(const struct ck_rule *rule, struct ck_fail *fail)
{
	const char *fault;

	if (rule->ops == 0 || rule->ops >> CK_OP_COUNT != 0)
		return ck_fail_set(fail, CK_INTERNAL, rule->path,
		    "a rule names no operation or an unknown one");
	if (rule->filter == CK_FILTER_NONE) {
		if (rule->path != NULL)
			return ck_fail_set(fail, CK_INTERNAL, rule->path,
			    "a rule has a path and no filter");
		return CK_OK;
	}
	if (rule->path == NULL || (rule->ops & ~ck_op_with_path()) != 0)
		return ck_fail_set(fail, CK_INTERNAL, rule->path,
		    "a rule filters an operation that has no path");
	if ((fault = ck_policy_path_fault(rule->path)) != NULL)
		return ck_fail_set(fail, CK_REFUSED, rule->path, "%s", fault);
	return CK_OK;
}

static ck_err
grow(struct ck_policy *p)
{
	size_t room = p->room == 0 ? 32 : p->room * 2;
	struct ck_slot *slot;

	if (p->n < p->room)
		return CK_OK;
	if (room > RULES_MAX)
		return CK_UNSUPPORTED;
	slot = realloc(p->slot, room * sizeof(*slot));
	if (slot == NULL)
		return CK_NOMEM;
	p->slot = slot;
	p->room = room;
	return CK_OK;
}

ck_err
ck_policy_add(struct ck_policy *p, const struct ck_rule *rule,
    struct ck_fail *fail)
{
	struct ck_slot s = { .rule = *rule };
	ck_err r;

	if ((r = check_rule(rule, fail)) != CK_OK)
		return r;
	if ((r = grow(p)) != CK_OK) {
		ck_fail_set(fail, r, rule->path,
		    "no room for another rule of the boundary");
		goto out;
	}
	s.why = strdup(rule->why == NULL ? "" : rule->why);
	if (rule->path != NULL)
		s.path = strdup(rule->path);
	if (s.why == NULL || (rule->path != NULL && s.path == NULL)) {
		r = ck_fail_set(fail, CK_NOMEM, rule->path,
		    "no memory for a rule of the boundary");
		goto out;
	}
	s.rule.why = s.why;
	s.rule.path = s.path;
	s.path_n = s.path == NULL ? 0 : strlen(s.path);
	p->slot[p->n++] = s;
	return CK_OK;
out:
	ck_slot_clear(&s);
	return r;
}

size_t
ck_policy_count(const struct ck_policy *p)
{
	return p->n;
}

const struct ck_rule *
ck_policy_rule(const struct ck_policy *p, size_t i)
{
	return i < p->n ? &p->slot[i].rule : NULL;
}

void
ck_policy_describe(const struct ck_policy *p, size_t i, struct ck_buf *out)
{
	static const char *const filters[] = {
		[CK_FILTER_NONE] = "everything",
		[CK_FILTER_LITERAL] = "exactly",
		[CK_FILTER_SUBPATH] = "at and below",
		[CK_FILTER_PREFIX] = "starting with",
		[CK_FILTER_NUMBERED] = "starting, before a digit, with"
	};
	const struct ck_rule *rule = ck_policy_rule(p, i);

	if (rule == NULL)
		return;
	ck_buf_text(out, rule->effect == CK_DENY ? "deny" : "allow");
	for (unsigned int op = 0; op < CK_OP_COUNT; op++)
		if ((rule->ops >> op & 1) != 0)
			ck_buf_format(out, " %s", ck_op_name((enum ck_op)op));
	ck_buf_format(out, ": %s", filters[rule->filter]);
	if (rule->path != NULL)
		ck_buf_format(out, " %s", rule->path);
	if (rule->fold)
		ck_buf_text(out, ", in either case");
	if (rule->why[0] != '\0')
		ck_buf_format(out, " (%s)", rule->why);
}
