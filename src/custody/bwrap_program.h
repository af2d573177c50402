/* SPDX-License-Identifier: Apache-2.0 */
/* bubblewrap as this system has it. */
#ifndef CK_CUSTODY_BWRAP_PROGRAM_H
#define CK_CUSTODY_BWRAP_PROGRAM_H

#include "base/err.h"

#define CK_BWRAP_PROGRAM "/usr/bin/bwrap"

/* It is there and belongs to root.  CK_NOENFORCE. */
CK_MUST_USE ck_err ck_bwrap_program(struct ck_fail *fail);

#endif
