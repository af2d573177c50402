/* SPDX-License-Identifier: Apache-2.0 */
/* See help_boundary.h. */
#include "help_boundary.h"

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
