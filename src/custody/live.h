/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine has that a boundary could be made with; looked at, and
 * never the same as what was proved. */
#ifndef CK_CUSTODY_LIVE_H
#define CK_CUSTODY_LIVE_H

#include <stdbool.h>

#include "base/err.h"
#include "custody/inside.h"
#include "custody/place.h"

struct ck_live {
	bool bwrap;              /* /usr/bin/bwrap is there */
	bool user_namespaces;    /* one could be made just now */
	bool apparmor;           /* AppArmor restricts them to profiles */
	int landlock;            /* version, 0: none */
	bool sandbox_exec;       /* /usr/bin/sandbox-exec is there */
	enum ck_inside inside;   /* a boundary this process is in already */
};

CK_MUST_USE ck_err ck_live_look(const struct ck_place *p, struct ck_live *ret,
    struct ck_fail *fail);

#endif
