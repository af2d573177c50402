/* SPDX-License-Identifier: Apache-2.0 */
/* Protected sets that several tests of the boundary share. */
#ifndef CK_TESTS_HELP_BOUNDARY_H
#define CK_TESTS_HELP_BOUNDARY_H

#include "boundary/policy.h"

#define HELP_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* What a macOS owner would have: custody directory, broker, a checkout's
 * .env.local, unlock password alone in its directory, settings, entry. */
#define HELP_SET_COUNT 6
extern const struct ck_protect help_set[HELP_SET_COUNT];
extern const struct ck_worker_options help_macos;   /* home /Users/o */
extern const struct ck_worker_options help_plain;   /* no aliases, no fold */

/* An envelope with a runtime /srv/rt, a private home, two workspaces and a
 * control directory below /h; without network. */
struct ck_envelope;
void help_envelope(struct ck_envelope *ret);

/* One member with this path. */
struct ck_protect help_protect(const char *path, bool directory,
    bool deny_read);

/* ck_policy_worker() that must succeed. */
struct ck_policy *help_worker(const struct ck_protect *set, size_t n,
    const struct ck_worker_options *options);

/* A default and up to most - 1 rules on /a, /a/b, /a/b/c and /b, the same for
 * the same seed; many of them ambiguous. */
struct ck_policy *help_random_policy(uint32_t *seed, uint32_t most);

#endif
