/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the topics; see check.h. */
#include "custody/check.h"

#include <string.h>

#include "custody/check_int.h"

/* How often a writer may be killed between two looks of ours. */
#define LOOKS_MAX 8

static void
look(struct ck_place *p, const struct ck_check_how *how,
    struct ck_findings *ret)
{
	const struct ck_view none = CK_VIEW_INIT;
	struct ck_check c;

	ck_findings_clear(ret);
	memset(&c, 0, sizeof(c));
	c.p = p;
	c.how = how;
	c.out = ret;
	c.v = none;
	ret->place = p;
	/* Places first: what is wrong with them explains what fails later. */
	ck_check_places(&c);
	ck_check_records(&c);
	ck_check_broker_place(&c);
	ck_check_aside(&c);
	ck_check_dedicated(&c);
	ck_check_stores(&c);
	ck_check_rules(&c);
	ck_view_close(&c.v);
	ret->place = NULL;
}

void
ck_check(struct ck_place *p, const struct ck_check_how *how,
    struct ck_findings *ret)
{
	struct ck_fail fail = CK_FAIL_INIT;

	/* Inside a worker's boundary nothing can be said of what is behind. */
	if (ck_place_outside(p, &fail) != CK_OK) {
		ck_findings_clear(ret);
		ck_finding_fail(ret, CK_F_NOT_JUDGED, CK_NESTED, &fail);
		return;
	}
	/* What it left half made is undone by opening the records again. */
	look(p, how, ret);
	for (int i = 1; i < LOOKS_MAX && ret->cut_short; i++)
		look(p, how, ret);
}
