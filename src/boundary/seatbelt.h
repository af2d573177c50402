/* SPDX-License-Identifier: Apache-2.0 */
/* A policy as the text that sandbox-exec -f reads (docs/boundary.md). */
#ifndef CK_BOUNDARY_SEATBELT_H
#define CK_BOUNDARY_SEATBELT_H

#include "base/bytes.h"
#include "policy.h"

/* The tag every deny carries into the system log. */
#define CK_SEATBELT_TAG "clankie-keys"

/*
 * Append the profile to out; the same policy gives the same bytes.  The text
 * holds no time, no version and no name of the machine, so that it can be
 * compared with a file.  CK_REFUSED names a path that cannot be written
 * safely (ck_seatbelt_path()); CK_NOENFORCE: the two models of rule order
 * differ (ck_policy_agrees()); CK_NOMEM.  On failure out is as it was.
 */
CK_MUST_USE ck_err ck_seatbelt_render(const struct ck_policy *p,
    struct ck_buf *out, struct ck_fail *fail);

/* The rules alone, for a profile that has more around them; the same errors. */
CK_MUST_USE ck_err ck_seatbelt_rules(const struct ck_policy *p,
    struct ck_buf *out, struct ck_fail *fail);

/*
 * Whether a path can be part of a profile: absolute, no empty, "." or ".."
 * component, no trailing slash, valid UTF-8, no byte below 0x20 nor 0x7F, no
 * "${" (profiles may switch on variables).  CK_REFUSED otherwise.
 */
CK_MUST_USE ck_err ck_seatbelt_path(const char *path, struct ck_fail *fail);

#endif
