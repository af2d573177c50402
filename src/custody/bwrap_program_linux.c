/* SPDX-License-Identifier: Apache-2.0 */
/* See bwrap_program.h. */
#include "custody/bwrap_program.h"

#include <sys/stat.h>

ck_err
ck_bwrap_program(struct ck_fail *fail)
{
	struct stat st;

	if (stat(CK_BWRAP_PROGRAM, &st) != 0) {
		(void)ck_fail_set(fail, CK_NOENFORCE, CK_BWRAP_PROGRAM,
		    "is not installed, and makes this boundary on Linux");
		ck_fail_next(fail, "install bubblewrap");
		return CK_NOENFORCE;
	}
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022) != 0)
		return ck_fail_set(fail, CK_NOENFORCE, CK_BWRAP_PROGRAM,
		    "is not the system's own program");
	return CK_OK;
}
