/* SPDX-License-Identifier: Apache-2.0 */
/* See help_boundary.h. */
#include "help_boundary.h"

#include "boundary/envelope.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

const struct ck_protect help_set[HELP_SET_COUNT] = {
	{ .path = "/Users/o/.clankie-keys", .directory = true,
	    .deny_read = true, .why = "holds the operator credential" },
	{ .path = "/Users/o/.config/clankie/credentials.json",
	    .deny_read = true, .why = "file broker" },
	{ .path = "/Users/o/src/app/.env.local", .deny_read = true,
	    .why = "keys of a checkout" },
	{ .path = "/Users/o/.config/clankie-keys/unlock.json",
	    .deny_read = true, .own_parent = true, .why = "unlock password" },
	{ .path = "/Users/o/.config/clankie/settings.json",
	    .why = "turns the boundary on" },
	{ .path = "/Users/o/.local/libexec/clankie-keys", .directory = true,
	    .why = "worker entry" },
};

const struct ck_worker_options help_macos = {
	.home = "/Users/o", .data_volume = true, .fold = true
};
const struct ck_worker_options help_plain = { .home = "/Users/o" };

struct ck_protect
help_protect(const char *path, bool directory, bool deny_read)
{
	struct ck_protect what = {
		.directory = directory, .deny_read = deny_read
	};

	assert_true(strlen(path) < sizeof(what.path));
	memcpy(what.path, path, strlen(path) + 1);
	return what;
}

struct ck_policy *
help_worker(const struct ck_protect *set, size_t n,
    const struct ck_worker_options *options)
{
	struct ck_policy *p = NULL;
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r = ck_policy_worker(set, n, options, &p, &fail);

	if (r != CK_OK)
		fail_msg("%s: %s: %s", ck_err_code(r), fail.place, fail.why);
	return p;
}

/* A small generator of our own, so that a failure can be repeated. */
static uint32_t
roll(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 16) % n;
}

static struct ck_rule
random_rule(uint32_t *seed, bool first)
{
	static const char *const paths[] = { "/a", "/a/b", "/a/b/c", "/b" };
	static const enum ck_op ops[] = { CK_OP_FILE_ANY, CK_OP_READ_ANY,
		CK_OP_READ_DATA, CK_OP_READ_METADATA, CK_OP_WRITE_ANY,
		CK_OP_LINK };
	struct ck_rule rule = { .ops = CK_OPS(DEFAULT) };

	rule.effect = roll(seed, 2) == 0 ? CK_ALLOW : CK_DENY;
	if (first)
		return rule;
	rule.ops = 0;
	for (uint32_t n = 1 + roll(seed, 3); n > 0; n--)
		rule.ops |= (ck_ops)1 << ops[roll(seed, HELP_COUNT(ops))];
	if (roll(seed, 5) == 0)
		return rule;
	rule.filter = roll(seed, 2) == 0 ? CK_FILTER_LITERAL :
	    CK_FILTER_SUBPATH;
	rule.path = paths[roll(seed, HELP_COUNT(paths))];
	return rule;
}

struct ck_policy *
help_random_policy(uint32_t *seed, uint32_t most)
{
	struct ck_policy *p = NULL;
	uint32_t n = 1 + roll(seed, most);

	assert_int_equal(ck_policy_new(&p), CK_OK);
	for (uint32_t i = 0; i < n; i++) {
		struct ck_rule rule = random_rule(seed, i == 0);

		assert_int_equal(ck_policy_add(p, &rule, NULL), CK_OK);
	}
	return p;
}

void
help_envelope(struct ck_envelope *ret)
{
	static const struct {
		size_t at;
		const char *text;
	} texts[] = {
		{ offsetof(struct ck_envelope, id),
		    "00000000-0000-4000-8000-000000000000" },
		{ offsetof(struct ck_envelope, runtime), "/srv/rt" },
		{ offsetof(struct ck_envelope, file), "/srv/node" },
		{ offsetof(struct ck_envelope, home), "/h/private" },
		{ offsetof(struct ck_envelope, workspace), "/h/work space" },
		{ offsetof(struct ck_envelope, workspace) + CK_PATH_MAX,
		    "/h/caf\xC3\xA9" },
		{ offsetof(struct ck_envelope, control), "/h/control" },
	};

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < HELP_COUNT(texts); i++)
		memcpy((char *)ret + texts[i].at, texts[i].text,
		    strlen(texts[i].text) + 1);
	ret->level = CK_LEVEL_WORKERS;
	ret->nfiles = 1;
	ret->nworkspaces = 2;
}
