/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A boundary as data: an ordered list of rules.  Renderers (seatbelt.h) turn
 * it into what a system enforces; the evaluator here says what that decides,
 * on any system.  Paths are compared byte by byte and are never looked up:
 * whoever builds a policy resolves them first (ck_path_canonical()).
 */
#ifndef CK_BOUNDARY_POLICY_H
#define CK_BOUNDARY_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/path.h"
#include "op.h"

enum ck_effect {
	CK_ALLOW,
	CK_DENY
};

/* Which paths a rule is about. */
enum ck_filter {
	CK_FILTER_NONE,      /* no filter: sets what the operation does */
	CK_FILTER_LITERAL,   /* exactly this path */
	CK_FILTER_SUBPATH,   /* this path and everything below it */
	CK_FILTER_PREFIX,    /* every path that starts with this text */
	CK_FILTER_NUMBERED   /* this text, a decimal digit, then anything */
};

/* Why a rule is there; renderers and reports group by it. */
enum ck_part {
	CK_PART_BASE,        /* the policy's defaults */
	CK_PART_TARGET,      /* a protected path */
	CK_PART_TEMPORARY,   /* what its writers put beside it for a moment */
	CK_PART_ANCESTOR     /* a directory on the way to it */
};

struct ck_rule {
	enum ck_effect effect;
	ck_ops ops;              /* as named; a name stands for its children */
	enum ck_filter filter;
	bool fold;               /* ASCII letters match in either case too */
	bool alias;              /* another spelling of a place also listed */
	enum ck_part part;
	const char *path;        /* absolute; NULL with CK_FILTER_NONE */
	const char *why;         /* for people; never NULL */
};

struct ck_policy;

CK_MUST_USE ck_err ck_policy_new(struct ck_policy **ret);
void ck_policy_free(struct ck_policy **pp);      /* NULL is fine */

/*
 * Append a copy of rule, texts included.  CK_REFUSED, with the path named:
 * not absolute, an empty, "." or ".." component, a trailing slash.
 * CK_INTERNAL: no operation, a path filter on an operation that has none.
 */
CK_MUST_USE ck_err ck_policy_add(struct ck_policy *p,
    const struct ck_rule *rule, struct ck_fail *fail);

size_t ck_policy_count(const struct ck_policy *p);
/* The i-th rule from 0, owned by the policy; NULL past the end. */
const struct ck_rule *ck_policy_rule(const struct ck_policy *p, size_t i);
/* One line for people, without a newline:
 * deny file-write-unlink: literal /a/b (why). */
void ck_policy_describe(const struct ck_policy *p, size_t i,
    struct ck_buf *out);

/*
 * The two readings of rule order in circulation.  SPECIFIC is what current
 * systems do: the last matching filtered rule that names the operation itself,
 * else the last unfiltered one that does, else the same for its parent.  LAST
 * is what people expect: the last rule that matches at any level.  Nothing on
 * which they differ may be emitted; see ck_policy_agrees().
 */
enum ck_model {
	CK_MODEL_SPECIFIC,
	CK_MODEL_LAST
};

struct ck_verdict {
	enum ck_effect effect;
	size_t rule;             /* index of the deciding rule */
	const char *why;         /* that rule's; owned by the policy */
};

/*
 * What happens to op on path, a resolved absolute path; NULL for operations
 * without one, which only unfiltered rules match.  CK_REFUSED: path is not
 * absolute or has an empty, "." or ".." component; CK_NOENFORCE: the policy
 * has no default.  ck_policy_decide() is CK_MODEL_SPECIFIC.
 */
CK_MUST_USE ck_err ck_policy_decide(const struct ck_policy *p, enum ck_op op,
    const char *path, struct ck_verdict *ret);
CK_MUST_USE ck_err ck_policy_decide_as(const struct ck_policy *p,
    enum ck_model model, enum ck_op op, const char *path,
    struct ck_verdict *ret);

/*
 * Proof from the rules' shape that both models decide every question alike.
 * CK_NOENFORCE names the first rule that breaks it.  Sufficient, not
 * necessary: a refused policy may still be harmless.
 */
CK_MUST_USE ck_err ck_policy_agrees(const struct ck_policy *p,
    struct ck_fail *fail);

/* What the owner protects. */
struct ck_protect {
	char path[CK_PATH_MAX];  /* canonical */
	bool directory;          /* with everything below */
	bool deny_read;          /* false: only writes are denied */
	bool own_parent;         /* its parent directory holds nothing else */
	bool close_parent;       /* a mount plan masks its directory with it */
	const char *why;         /* NULL: "protected" */
};

struct ck_worker_options {
	const char *home;        /* canonical home of the owner */
	bool data_volume;        /* macOS: also below /System/Volumes/Data */
	bool fold;               /* macOS: case-insensitive volumes */
};

/*
 * The worker policy: everything is allowed but what touches the set.  For
 * each member, in each spelling:
 *  - reads (data and extended attributes; metadata stays visible) if
 *    deny_read, and always every write, link, clone and mount;
 *  - of a file also its temporary names: keychain ".sb-", ours ".tmp-",
 *    the broker's ".PID.UUID.tmp" and ".lock";
 *  - its ancestors, the root excepted: no removal or renaming, creation,
 *    change of mode, owner, flags or access list, link, clone, mount; every
 *    write to the directory itself where own_parent says so.
 * Order of the set and repeated members make no difference.  CK_REFUSED: a
 * path that is not canonical text, is the home, or has the home below it.
 */
CK_MUST_USE ck_err ck_policy_worker(const struct ck_protect *set, size_t n,
    const struct ck_worker_options *options, struct ck_policy **ret,
    struct ck_fail *fail);

/*
 * Check a policy against the set it was made from, by asking the evaluator
 * and not by comparing rules: every way to the bytes is denied in both
 * models, and existence, siblings and work in the ancestors are allowed.
 * CK_NOENFORCE names the first path and operation that is not.
 */
CK_MUST_USE ck_err ck_policy_covers(const struct ck_policy *p,
    const struct ck_protect *set, size_t n,
    const struct ck_worker_options *options, struct ck_fail *fail);

#endif
