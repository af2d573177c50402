/* SPDX-License-Identifier: Apache-2.0 */
/* See live.h. */
#include "custody/live.h"

#include <string.h>
#include <unistd.h>

ck_err
ck_live_look(const struct ck_place *p, struct ck_live *ret,
    struct ck_fail *fail)
{
	struct ck_live live;
	ck_err r;

	memset(&live, 0, sizeof(live));
	if ((r = ck_inside(p, &live.inside, fail)) != CK_OK)
		return r;
	live.sandbox_exec = access("/usr/bin/sandbox-exec", X_OK) == 0;
	*ret = live;
	return CK_OK;
}
