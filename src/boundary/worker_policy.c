/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker policy: from what the owner protects to rules.  Denies only, so
 * that the order of rules cannot matter and the text can be sorted.
 */
#include "policy_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The wildcard and each member: a release or a reader may look at either. */
#define WRITES (CK_OPS(WRITE_ANY) | CK_OPS(WRITE_ACL) |                       \
	CK_OPS(WRITE_CREATE) | CK_OPS(WRITE_DATA) | CK_OPS(WRITE_FLAGS) |     \
	CK_OPS(WRITE_MODE) | CK_OPS(WRITE_OWNER) | CK_OPS(WRITE_TIMES) |      \
	CK_OPS(WRITE_UNLINK) | CK_OPS(WRITE_XATTR))
/* Not under file-write*.  A clone of a directory takes all below with it. */
#define OTHER_NAMES (CK_OPS(LINK) | CK_OPS(CLONE) | CK_OPS(MOUNT))
/* Not file-read*: that hides metadata, and then a secret that cannot be read
 * looks like one that does not exist. */
#define READS (CK_OPS(READ_DATA) | CK_OPS(READ_XATTR) | CK_OPS(MAP_EXECUTABLE))
/* What would move, replace or open up a directory people work in.  Times and
 * attributes stay theirs, or "touch DIR" and archive tools fail. */
#define MOVES (CK_OPS(WRITE_UNLINK) | CK_OPS(WRITE_CREATE) |                  \
	CK_OPS(WRITE_MODE) | CK_OPS(WRITE_OWNER) | CK_OPS(WRITE_ACL) |        \
	CK_OPS(WRITE_FLAGS))

/* Names a file's writers use for a moment, as text behind its own. */
static const struct {
	enum ck_filter filter;
	const char *suffix;
} temporaries[] = {
	{ CK_FILTER_NUMBERED, "." },      /* credential broker: .PID.UUID.tmp */
	{ CK_FILTER_SUBPATH, ".lock" },   /* its lock directory */
	{ CK_FILTER_PREFIX, ".sb-" },     /* Security.framework */
	{ CK_FILTER_PREFIX, ".tmp-" },    /* ck_io_replace() */
};

struct build {
	struct ck_policy *p;
	const struct ck_worker_options *options;
	const char *home;        /* options->home, short spelling */
	struct ck_fail *fail;
};

const char *
ck_policy_short_path(const char *path,
    const struct ck_worker_options *options)
{
	if (!options->data_volume || !ck_path_under(path, CK_DATA_VOLUME))
		return path;
	path += sizeof(CK_DATA_VOLUME) - 1;
	return *path == '\0' ? "/" : path;
}

/* Add rule for text + suffix, in each spelling of the place. */
static ck_err
add(struct build *b, struct ck_rule rule, const char *text,
    const char *suffix)
{
	char path[sizeof(CK_DATA_VOLUME) + CK_PATH_MAX + 16];
	ck_err r;

	rule.effect = CK_DENY;
	rule.path = path;
	(void)snprintf(path, sizeof(path), "%s%s", text, suffix);
	if ((r = ck_policy_add(b->p, &rule, b->fail)) != CK_OK)
		return r;
	if (!b->options->data_volume)
		return CK_OK;
	rule.alias = true;
	(void)snprintf(path, sizeof(path), CK_DATA_VOLUME "%s%s", text, suffix);
	return ck_policy_add(b->p, &rule, b->fail);
}

static ck_err
add_target(struct build *b, const struct ck_protect *what, const char *path)
{
	struct ck_rule rule = {
		.ops = WRITES | OTHER_NAMES | (what->deny_read ? READS : 0),
		.filter = CK_FILTER_LITERAL,
		.fold = b->options->fold && !what->directory,
		.part = CK_PART_TARGET,
		.why = what->why == NULL ? "protected" : what->why
	};
	char why[CK_PATH_MAX + 32];
	ck_err r;

	if ((r = add(b, rule, path, "")) != CK_OK)
		return r;
	rule.fold = b->options->fold;
	if (what->directory) {
		rule.filter = CK_FILTER_SUBPATH;
		return add(b, rule, path, "");
	}
	(void)snprintf(why, sizeof(why), "temporary name of %s", path);
	rule.part = CK_PART_TEMPORARY;
	rule.why = why;
	for (size_t i = 0; i < sizeof(temporaries) / sizeof(*temporaries);
	    i++) {
		rule.filter = temporaries[i].filter;
		if ((r = add(b, rule, path, temporaries[i].suffix)) != CK_OK)
			return r;
	}
	return CK_OK;
}

/* dir lies below the home, not at it. */
static bool
inside_home(const struct build *b, const char *dir)
{
	return ck_path_under(dir, b->home) && !ck_path_under(b->home, dir);
}

static ck_err
add_ancestors(struct build *b, const struct ck_protect *what,
    const char *path)
{
	char why[CK_PATH_MAX + 32], dir[CK_PATH_MAX];
	struct ck_rule rule = {
		.filter = CK_FILTER_LITERAL,
		.fold = b->options->fold,
		.part = CK_PART_ANCESTOR,
		.why = why
	};
	bool own = what->own_parent;
	ck_err r;

	(void)snprintf(why, sizeof(why), "on the way to %s", path);
	ck_path_parent(path, dir);
	while (strcmp(dir, "/") != 0) {
		rule.ops = OTHER_NAMES |
		    (own && inside_home(b, dir) ? WRITES : MOVES);
		if ((r = add(b, rule, dir, "")) != CK_OK)
			return r;
		own = false;
		ck_path_parent(dir, dir);
	}
	return CK_OK;
}

static ck_err
add_member(struct build *b, const struct ck_protect *what)
{
	const char *path = what->path, *fault;
	ck_err r;

	if ((fault = ck_policy_path_fault(path)) != NULL)
		return ck_fail_set(b->fail, CK_REFUSED, path, "%s", fault);
	path = ck_policy_short_path(path, b->options);
	if (ck_path_under(b->home, path)) {
		r = ck_fail_set(b->fail, CK_REFUSED, what->path,
		    "cannot be protected: the home %s is in it", b->home);
		ck_fail_next(b->fail, "protect a directory below the home");
		return r;
	}
	if ((r = add_target(b, what, path)) != CK_OK)
		return r;
	return add_ancestors(b, what, path);
}

static int
compare_number(ck_ops a, ck_ops b)
{
	return (a > b) - (a < b);
}

static const char *
text_of(const struct ck_slot *s)
{
	return s->path == NULL ? "" : s->path;
}

/* By place; the first of several at one place keeps its part and reason. */
static int
by_place(const void *pa, const void *pb)
{
	const struct ck_slot *a = pa, *b = pb;
	int c;

	if ((c = strcmp(text_of(a), text_of(b))) != 0)
		return c;
	if ((c = compare_number(a->rule.filter, b->rule.filter)) != 0)
		return c;
	if ((c = compare_number(a->rule.part, b->rule.part)) != 0)
		return c;
	if ((c = compare_number(b->rule.ops, a->rule.ops)) != 0)
		return c;
	return strcmp(a->why, b->why);
}

static bool
reads(const struct ck_slot *s)
{
	return (s->rule.ops & CK_OPS(READ_DATA)) != 0;
}

/* By what a reader of the text looks for first: the base, then secrets, what
 * may only be read, ancestors; equal operations side by side. */
static int
by_weight(const void *pa, const void *pb)
{
	const struct ck_slot *a = pa, *b = pb;
	bool base_a = a->rule.part == CK_PART_BASE;
	bool base_b = b->rule.part == CK_PART_BASE;
	bool way_a = a->rule.part == CK_PART_ANCESTOR;
	bool way_b = b->rule.part == CK_PART_ANCESTOR;
	int c;

	if (base_a != base_b)
		return base_a ? -1 : 1;
	if (way_a != way_b)
		return way_a ? 1 : -1;
	if (reads(a) != reads(b))
		return reads(a) ? -1 : 1;
	if ((c = compare_number(b->rule.ops, a->rule.ops)) != 0)
		return c;
	if (a->rule.alias != b->rule.alias)
		return a->rule.alias ? 1 : -1;
	return by_place(a, b);
}

/* All rules are denies, so two for one place are one with both sets. */
static void
merge(struct ck_policy *p)
{
	size_t kept = 0;

	qsort(p->slot, p->n, sizeof(*p->slot), by_place);
	for (size_t i = 1; i < p->n; i++) {
		struct ck_slot *a = &p->slot[kept], *b = &p->slot[i];

		if (a->rule.filter != b->rule.filter ||
		    strcmp(text_of(a), text_of(b)) != 0) {
			kept++;
			if (kept != i)
				p->slot[kept] = *b;
			continue;
		}
		a->rule.ops |= b->rule.ops;
		a->rule.fold = a->rule.fold || b->rule.fold;
		a->rule.alias = a->rule.alias && b->rule.alias;
		ck_slot_clear(b);
	}
	p->n = kept + 1;
	qsort(p->slot, p->n, sizeof(*p->slot), by_weight);
}

ck_err
ck_policy_worker(const struct ck_protect *set, size_t n,
    const struct ck_worker_options *options, struct ck_policy **ret,
    struct ck_fail *fail)
{
	static const struct ck_rule base = {
		.effect = CK_ALLOW,
		.ops = CK_OPS(DEFAULT),
		.part = CK_PART_BASE,
		.why = "not about anything protected"
	};
	struct build b = { NULL, options,
	    ck_policy_short_path(options->home, options), fail };
	const char *fault = ck_policy_path_fault(options->home);
	ck_err r;

	if (fault != NULL)
		return ck_fail_set(fail, CK_REFUSED, options->home,
		    "the home %s", fault);
	if ((r = ck_policy_new(&b.p)) != CK_OK)
		return ck_fail_set(fail, r, NULL, "no memory for a boundary");
	if ((r = ck_policy_add(b.p, &base, fail)) != CK_OK)
		goto out;
	for (size_t i = 0; i < n; i++)
		if ((r = add_member(&b, &set[i])) != CK_OK)
			goto out;
	merge(b.p);
	if ((r = ck_policy_agrees(b.p, fail)) != CK_OK)
		goto out;
	*ret = b.p;
	b.p = NULL;
out:
	ck_policy_free(&b.p);
	return r;
}
