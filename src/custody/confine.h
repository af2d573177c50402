/* SPDX-License-Identifier: Apache-2.0 */
/* What boundary confine is told, looked up on this machine. */
#ifndef CK_CUSTODY_CONFINE_H
#define CK_CUSTODY_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "boundary/confine.h"
#include "custody/place.h"

struct ck_confine_said {
	const char *workspace;   /* every path absolute, as typed */
	const char *const *writable, *const *exclude, *const *protect;
	size_t nwritable, nexclude, nprotect;
	bool network;
};

/*
 * Look everything up.  Masked, whether it exists or not: the usual credentials
 * below the home, the custody, the directories of broker and unlock password,
 * and what was excluded.  CK_REFUSED: a workspace or writable root that is no
 * directory, is reached through a symbolic link, or holds the home or something
 * that is masked; a protected path that is missing, a symbolic link, or outside
 * of every writable root.  CK_NOENFORCE: something that is not there cannot be
 * masked where it would come.  ck_confine_done() frees what it allocated, also
 * after a failure.
 */
CK_MUST_USE ck_err ck_confine_look(const struct ck_place *p,
    const struct ck_confine_said *said, struct ck_confine *ret,
    struct ck_fail *fail);
void ck_confine_done(struct ck_confine *c);

#endif
