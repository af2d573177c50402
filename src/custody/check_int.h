/* SPDX-License-Identifier: Apache-2.0 */
/* One run of check, between its topics. */
#ifndef CK_CUSTODY_CHECK_INT_H
#define CK_CUSTODY_CHECK_INT_H

#include "base/secret.h"
#include "custody/check.h"
#include "custody/view.h"

struct ck_check {
	struct ck_place *p;
	const struct ck_check_how *how;
	struct ck_findings *out;
	struct ck_view v;
	bool viewed;                  /* v could be read */
	bool in_charge;               /* the dedicated keychain decides */
	bool file_there;              /* its file has its name */
	bool sandbox_on;              /* workers are to be confined */
	bool snapshot;                /* v.rec has one for the whole run */
};

/* Each topic adds its findings and fails on nothing. */

/* Owners, modes, links, file systems, a second custody, the search list. */
void ck_check_places(struct ck_check *c);
/* The same of the broker, once the records have said which it is. */
void ck_check_broker_place(struct ck_check *c);
/* The records; opens c->v and settles who is in charge. */
void ck_check_records(struct ck_check *c);
/* Reads of c->v.rec that must agree stand between these two: a snapshot, the
 * run's own where it has one. */
CK_MUST_USE ck_err ck_check_begin(struct ck_check *c, struct ck_fail *fail);
void ck_check_end(struct ck_check *c);
/* The dedicated keychain, its unlock password and the seal. */
void ck_check_dedicated(struct ck_check *c);
/* The items of the other credentials in it, each against its row. */
void ck_check_others(struct ck_check *c, const struct ck_secret *password,
    const struct ck_secret *key);
/* What else holds a bearer, and what else lies beside where it was. */
void ck_check_stores(struct ck_check *c);
/* Rules on disk and the sandbox that uses them. */
void ck_check_rules(struct ck_check *c);
/* With the sandbox on: workers and panes outside of a boundary, and what Herdr
 * is told that would make such. */
void ck_check_workers(struct ck_check *c);

/* What lies in the custody and is none of ours. */
void ck_check_strangers(struct ck_check *c);

/* Keychains that lie aside and belong to no operation under way. */
void ck_check_aside(struct ck_check *c);
/* Each of them: PREFIXNONCE in p's directory, which v has open. */
typedef void (*ck_aside_cb)(void *arg, const char *prefix,
    const char *nonce);
CK_MUST_USE ck_err ck_check_asides(const struct ck_place *p,
    const struct ck_view *v, ck_aside_cb cb, void *arg,
    struct ck_fail *fail);

/* Where killed writers leave files, for check and its repair. */
enum { CK_LEFTOVERS = 3, CK_LEFTOVER_FORMS = 5 };
struct ck_leftover {
	const char *dir;              /* p's, or unlock_dir */
	const char *forms[CK_LEFTOVER_FORMS];   /* of ck_io_sweep() */
	size_t n;                     /* of them */
};
void ck_check_leftovers(const struct ck_place *p,
    char unlock_dir[CK_PATH_MAX], struct ck_leftover ret[CK_LEFTOVERS]);

#endif
