/* SPDX-License-Identifier: Apache-2.0 */
/* What being inside of a boundary means for an answer; see inside.h. */
#include "custody/inside.h"

ck_err
ck_inside_absent(const struct ck_place *p, ck_err r, struct ck_fail *fail)
{
	enum ck_inside inside = CK_INSIDE_NOTHING;

	if (r != CK_ABSENT || ck_inside(p, &inside, NULL) != CK_OK ||
	    inside != CK_INSIDE_ENVELOPE)
		return r;
	(void)ck_fail_set(fail, CK_NESTED, p->credential,
	    "is not in this private home, and the owner's stores cannot be "
	    "reached from inside of a launch envelope");
	ck_fail_next(fail, "provision it: clankie-keys envelope launch "
	    "--provision, from outside");
	return CK_NESTED;
}
