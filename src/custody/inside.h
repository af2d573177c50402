/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which boundary this process is inside of, as far as it can be proved.  What
 * the environment says is where to look, and nothing more.
 */
#ifndef CK_CUSTODY_INSIDE_H
#define CK_CUSTODY_INSIDE_H

#include <stdbool.h>

#include "base/err.h"
#include "boundary/envelope.h"
#include "boundary/native.h"
#include "custody/place.h"

enum ck_inside {
	CK_INSIDE_NOTHING,           /* of ours */
	CK_INSIDE_WORKER,            /* a worker's: the custody is masked */
	CK_INSIDE_ENVELOPE,          /* the launch envelope of a service */
	CK_INSIDE_OTHER              /* one that lets none be made in it */
};

/*
 * An envelope is proved by its probe: a file of the user's that he may read
 * by its mode and its owner, and cannot open, while its neighbour, the
 * envelope's record, can be.  On Linux the mount that keeps them from being
 * written must stand in the kernel's list, too.  CK_NOENFORCE: the system does
 * not show its mounts.
 */
CK_MUST_USE ck_err ck_inside(const struct ck_place *p, enum ck_inside *ret,
    struct ck_fail *fail);

/* r, unless it says "absent" inside of an envelope, where the owner's stores
 * only cannot be seen: CK_NESTED then. */
CK_MUST_USE ck_err ck_inside_absent(const struct ck_place *p, ck_err r,
    struct ck_fail *fail);

/* This version makes a worker's boundary on this system. */
bool ck_inside_possible(void);
/* Whether boundaries nest here. */
enum ck_system ck_inside_system(void);

#endif
