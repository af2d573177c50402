/* SPDX-License-Identifier: Apache-2.0 */
/* Law 6 as code: the records are the one truth, the rules are made from
 * them, and what lies on disk is compared with what the records give. */
#ifndef CK_CUSTODY_RULES_H
#define CK_CUSTODY_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"
#include "boundary/mounts.h"
#include "boundary/policy.h"
#include "custody/place.h"
#include "records/records.h"

/* The protected paths of a custody, before anybody added one. */
enum { CK_RULES_ROWS_MAX = 128 };
struct ck_rules_set {
	struct ck_rec_protected row[CK_RULES_ROWS_MAX];
	size_t n;
};

/*
 * Design section 4 and 9 as rows: custody directory, file broker, the
 * checkouts' .env.local (closed), settings, unlock password, worker entry
 * and Herdr's configuration (not to be changed).  A path that is a symbolic
 * link is listed with its target.  CK_REFUSED: too many, or a link to
 * nowhere.
 */
CK_MUST_USE ck_err ck_rules_defaults(const struct ck_place *p,
    const char *const *checkouts, size_t n, struct ck_rules_set *ret,
    struct ck_fail *fail);

/* The rows the records hold; and always, whatever they say, the file brokers
 * in use and what ck_rules_defaults() has for this home without an
 * environment.  CK_REFUSED when there are too many. */
CK_MUST_USE ck_err ck_rules_recorded(const struct ck_place *p,
    struct ck_records *rec, struct ck_rules_set *ret, struct ck_fail *fail);

/*
 * The worker profile as Seatbelt text, appended to out.  prove: the policy is
 * evaluated against the set before it is rendered (CK_NOENFORCE); a text that
 * is only compared needs no proof.
 */
CK_MUST_USE ck_err ck_rules_seatbelt(const struct ck_place *p,
    const struct ck_rules_set *set, bool prove, struct ck_buf *out,
    struct ck_fail *fail);

/* The worker policy of the set, with the spellings of macOS, covered by proof
 * (CK_NOENFORCE).  The caller frees it. */
CK_MUST_USE ck_err ck_rules_policy(const struct ck_place *p,
    const struct ck_rules_set *set, struct ck_policy **ret,
    struct ck_fail *fail);

/* The same set as the mount plan of a Linux worker; prove as above. */
CK_MUST_USE ck_err ck_rules_mounts(const struct ck_place *p,
    const struct ck_rules_set *set, bool prove, struct ck_mounts *ret,
    struct ck_fail *fail);
/* Both can be made of the set. */
CK_MUST_USE ck_err ck_rules_possible(const struct ck_place *p,
    const struct ck_rules_set *set, struct ck_fail *fail);
/* How that plan is made here, for ck_mounts_report(). */
void ck_rules_mounts_options(const struct ck_place *p,
    struct ck_mounts_options *ret);

/* Write the recorded rules to worker.sb and worker.mounts (0600) and read
 * them back.  Files that are right are not touched. */
CK_MUST_USE ck_err ck_rules_write(const struct ck_place *p, int dirfd,
    struct ck_records *rec, struct ck_fail *fail);

/*
 * Do the rules on disk equal the rules the records give?  *ret is NULL, or
 * the path of a file that does not or that is missing, p's own.  What the
 * records do not say is not compared: which directory a step of the plan is
 * about, and which could be renamed.  A checkout that was made anew is no
 * reason to doubt them, but ck_rules_ready() refuses.
 */
CK_MUST_USE ck_err ck_rules_match(const struct ck_place *p, int dirfd,
    struct ck_records *rec, const char **ret, struct ck_fail *fail);

/* The plan on disk can be carried out: it is what the records give, down to
 * the directories.  CK_NOENFORCE, with the next step. */
CK_MUST_USE ck_err ck_rules_ready(const struct ck_place *p, int dirfd,
    struct ck_records *rec, struct ck_fail *fail);

/*
 * What comes with the boundary of a Linux worker: the directories that renames
 * and hard links cannot cross, appended to edges, and what it leaves open
 * (ck_mounts_report()), to gaps; each with a NUL behind.
 */
CK_MUST_USE ck_err ck_rules_notes(const struct ck_place *p,
    struct ck_records *rec, struct ck_buf *edges, struct ck_buf *gaps,
    struct ck_fail *fail);

#endif
