/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of struct ck_policy, for the files of this module only. */
#ifndef CK_BOUNDARY_POLICY_RULES_H
#define CK_BOUNDARY_POLICY_RULES_H

#include "policy.h"

/* A rule with the texts it owns; rule.path and rule.why point to them. */
struct ck_slot {
	struct ck_rule rule;
	char *path;
	char *why;
	size_t path_n;           /* length of path */
};

struct ck_policy {
	struct ck_slot *slot;
	size_t n;
	size_t room;
};

/* Release what a slot owns. */
void ck_slot_clear(struct ck_slot *s);

/* Where macOS also shows the volume that holds everything of the user. */
#define CK_DATA_VOLUME "/System/Volumes/Data"
/* path without that prefix (a pointer into it, or "/"), if there is such a
 * volume: the spelling that the kernel usually rebuilds. */
const char *ck_policy_short_path(const char *path,
    const struct ck_worker_options *options);

/* NULL, or what keeps path from being a resolved absolute one. */
const char *ck_policy_path_fault(const char *path);

#endif
