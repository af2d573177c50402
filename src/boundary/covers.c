/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second opinion on a worker policy: questions a worker's system calls
 * would raise, put to the evaluator.  Knows nothing of how the rules are
 * made, so that a mistake there is not repeated here.
 */
#include "policy_rules.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define TEXT_MAX (CK_PATH_MAX + 96)

/* What a call asks of the path it is made on. */
struct call {
	const char *what;
	enum ck_op op;
};

static const struct call reading[] = {
	{ "open to read", CK_OP_READ_DATA },
	{ "getxattr", CK_OP_READ_XATTR },
	{ "map to execute", CK_OP_MAP_EXECUTABLE },
};
static const struct call writing[] = {
	{ "open to write", CK_OP_WRITE_DATA },
	{ "create or rename over", CK_OP_WRITE_CREATE },
	{ "unlink, rename away or swap", CK_OP_WRITE_UNLINK },
	{ "link", CK_OP_LINK },
	{ "clonefile", CK_OP_CLONE },
	{ "chmod", CK_OP_WRITE_MODE },
	{ "chmod of set-id bits", CK_OP_WRITE_SETUGID },
	{ "chown", CK_OP_WRITE_OWNER },
	{ "chflags", CK_OP_WRITE_FLAGS },
	{ "change of access list", CK_OP_WRITE_ACL },
	{ "utimes", CK_OP_WRITE_TIMES },
	{ "setxattr", CK_OP_WRITE_XATTR },
	{ "change of Finder information", CK_OP_WRITE_FINDERINFO },
	{ "mount", CK_OP_MOUNT },
};
static const struct call moving[] = {
	{ "rename away or swap", CK_OP_WRITE_UNLINK },
	{ "create again", CK_OP_WRITE_CREATE },
	{ "clonefile", CK_OP_CLONE },
	{ "link", CK_OP_LINK },
	{ "chmod", CK_OP_WRITE_MODE },
	{ "chown", CK_OP_WRITE_OWNER },
	{ "chflags", CK_OP_WRITE_FLAGS },
	{ "change of access list", CK_OP_WRITE_ACL },
	{ "mount", CK_OP_MOUNT },
};
static const struct call working[] = {
	{ "create", CK_OP_WRITE_CREATE },
	{ "open to write", CK_OP_WRITE_DATA },
	{ "open to read", CK_OP_READ_DATA },
	{ "unlink or rename", CK_OP_WRITE_UNLINK },
};
static const struct call seeing[] = {
	{ "stat", CK_OP_READ_METADATA },
	{ "test of existence", CK_OP_EXISTENCE },
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

struct ask {
	const struct ck_policy *p;
	const struct ck_protect *set;
	size_t n;
	const struct ck_worker_options *options;
	struct ck_fail *fail;
};

static ck_err
expect(struct ask *a, enum ck_effect effect, const struct call *call,
    size_t n, const char *path)
{
	static const enum ck_model models[] = { CK_MODEL_SPECIFIC,
	    CK_MODEL_LAST };
	struct ck_verdict v;
	ck_err r;

	for (size_t i = 0; i < n; i++)
		for (size_t m = 0; m < COUNT(models); m++) {
			r = ck_policy_decide_as(a->p, models[m], call[i].op,
			    path, &v);
			if (r != CK_OK)
				return ck_fail_set(a->fail, r, path,
				    "the boundary has no answer for it");
			if (v.effect != effect)
				return ck_fail_set(a->fail, CK_NOENFORCE,
				    path, "the boundary %s %s on it (%s)",
				    effect == CK_DENY ? "allows" : "denies",
				    call[i].what, ck_op_name(call[i].op));
		}
	return CK_OK;
}

/* path with ASCII letters in upper case from its last component on, or from
 * the start. */
static void
upper(char *path, bool all)
{
	char *at = all ? path : strrchr(path, '/');

	for (; at != NULL && *at != '\0'; at++)
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
}

/* The same question in every spelling the options promise. */
static ck_err
expect_denied(struct ask *a, const struct call *call, size_t n,
    const char *path)
{
	char text[TEXT_MAX];
	ck_err r;

	for (unsigned int way = 0; way < 6; way++) {
		bool alias = way % 2 == 1, folded = way >= 2;

		if ((alias && !a->options->data_volume) ||
		    (folded && !a->options->fold))
			continue;
		(void)snprintf(text, sizeof(text), "%s%s",
		    alias ? CK_DATA_VOLUME : "", path);
		if (folded)
			upper(text, way >= 4);
		if ((r = expect(a, CK_DENY, call, n, text)) != CK_OK)
			return r;
	}
	return CK_OK;
}

/* Some member of the set is about path, so that it proves nothing. */
static bool
in_set(const struct ask *a, const char *path)
{
	for (size_t i = 0; i < a->n; i++) {
		const char *own = ck_policy_short_path(a->set[i].path,
		    a->options);
		size_t n = strlen(own);
		char next;

		if (strncasecmp(path, own, n) != 0)
			continue;
		next = path[n];
		if (next == '\0' || next == '.' ||
		    (next == '/' && a->set[i].directory))
			return true;
	}
	return false;
}

static ck_err
check_bytes(struct ask *a, const struct ck_protect *what, const char *path)
{
	ck_err r;

	r = expect_denied(a, writing, COUNT(writing), path);
	if (r == CK_OK && what->deny_read)
		r = expect_denied(a, reading, COUNT(reading), path);
	if (r == CK_OK)
		r = expect(a, CK_ALLOW, seeing, COUNT(seeing), path);
	return r;
}

static ck_err
check_target(struct ask *a, const struct ck_protect *what)
{
	static const char *const below[] = { "", "/x", "/x/.y z" };
	static const char *const beside[] = { "", ".sb-abcd1234-abcdef",
	    ".4711.6f1b4c1e-0000-4000-8000-00c0ffee0000.tmp", ".lock",
	    ".lock/x", ".tmp-a1B2c3D4" };
	const char *const *tail = what->directory ? below : beside;
	size_t n = what->directory ? COUNT(below) : COUNT(beside);
	const char *path = ck_policy_short_path(what->path, a->options);
	char text[TEXT_MAX];
	ck_err r;

	for (size_t i = 0; i < n; i++) {
		(void)snprintf(text, sizeof(text), "%s%s", path, tail[i]);
		if ((r = check_bytes(a, what, text)) != CK_OK)
			return r;
	}
	(void)snprintf(text, sizeof(text), "%s-control", path);
	if (in_set(a, text))
		return CK_OK;
	return expect(a, CK_ALLOW, working, COUNT(working), text);
}

static ck_err
check_ancestors(struct ask *a, const struct ck_protect *what)
{
	char dir[CK_PATH_MAX], text[TEXT_MAX];
	ck_err r;

	for (ck_path_parent(ck_policy_short_path(what->path, a->options),
	    dir); strcmp(dir, "/") != 0;
	    ck_path_parent(dir, dir)) {
		r = expect_denied(a, moving, COUNT(moving), dir);
		if (r != CK_OK)
			return r;
		(void)snprintf(text, sizeof(text), "%s/control", dir);
		if (in_set(a, text))
			continue;
		r = expect(a, CK_ALLOW, working, COUNT(working), text);
		if (r == CK_OK)
			r = expect(a, CK_ALLOW, seeing, COUNT(seeing), dir);
		if (r != CK_OK)
			return r;
	}
	return CK_OK;
}

ck_err
ck_policy_covers(const struct ck_policy *p, const struct ck_protect *set,
    size_t n, const struct ck_worker_options *options, struct ck_fail *fail)
{
	struct ask a = { p, set, n, options, fail };
	ck_err r;

	for (size_t i = 0; i < n; i++) {
		if ((r = check_target(&a, &set[i])) != CK_OK)
			return r;
		if ((r = check_ancestors(&a, &set[i])) != CK_OK)
			return r;
	}
	return CK_OK;
}
