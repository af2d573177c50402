/* SPDX-License-Identifier: Apache-2.0 */
/* One run of doctor --uninstall, between looking and removing. */
#ifndef CK_CUSTODY_DOCTOR_UNINSTALL_INT_H
#define CK_CUSTODY_DOCTOR_UNINSTALL_INT_H

#include "custody/doctor_uninstall.h"
#include "custody/view.h"

struct ck_out {
	struct ck_place *p;
	struct ck_uninstall *ret;
	bool confirm;
	struct ck_view v;             /* empty when it cannot be read */
	int dirfd;                    /* -1: no custody directory */
};

/* Bearers in and outside the custody, and what else is in the way. */
CK_MUST_USE ck_err ck_out_bearers(struct ck_out *o, struct ck_fail *fail);
/* Every name in our directories, and other programs' files. */
CK_MUST_USE ck_err ck_out_files(struct ck_out *o, struct ck_fail *fail);
/* Remove what ck_out_files() listed; the caller holds the lock. */
CK_MUST_USE ck_err ck_out_remove(struct ck_out *o, struct ck_fail *fail);

#endif
