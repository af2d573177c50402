/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way out: what is still in our custody, what leads to it from outside,
 * and what goes when nothing is left that could be lost.  No bearer and no
 * unlock password is ever removed here.
 */
#ifndef CK_CUSTODY_DOCTOR_UNINSTALL_H
#define CK_CUSTODY_DOCTOR_UNINSTALL_H

#include <stdbool.h>

#include "base/err.h"
#include "custody/lines.h"
#include "custody/place.h"

struct ck_uninstall {
	struct ck_lines bearers;      /* where they lie, whoever put them there */
	struct ck_lines in_the_way;   /* what must not be lost: bearers and
	                               * passwords of ours, open operations */
	struct ck_lines commands;     /* for sh(1), which clear that way */
	struct ck_lines by_hand;      /* what other programs have of ours */
	struct ck_lines removes;      /* goes (has gone) with confirm */
	struct ck_lines stays;        /* is not ours, and why that matters */
	bool removed;
};

/*
 * Look, and with confirm remove: rules, records, lock, leftovers, directories
 * that are empty then.  *ret is overwritten; it is complete with CK_OK and
 * with CK_DECIDE.
 *
 * CK_DECIDE   with confirm: something is in the way, and nothing was removed
 * CK_REFUSED  with confirm: a worker pane; a directory that is not safe
 * CK_BUSY     another clankie-keys is changing this custody
 * A run that dies is finished by the next one.
 */
CK_MUST_USE ck_err ck_doctor_uninstall(struct ck_place *p, bool confirm,
    struct ck_uninstall *ret, struct ck_fail *fail);

#endif
