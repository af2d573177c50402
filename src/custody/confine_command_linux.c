/* SPDX-License-Identifier: Apache-2.0 */
/* See confine_command.h. */
#include "custody/confine_command.h"

#include "custody/bwrap_program.h"

/* From Linux 5.14 on each user namespace counts its own. */
const bool ck_confine_counts_processes = true;

ck_err
ck_confine_command(const struct ck_confine *c, struct ck_buf *out,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_bwrap_program(fail)) != CK_OK)
		return r;
	ck_buf_bytes(out, CK_BWRAP_PROGRAM, sizeof(CK_BWRAP_PROGRAM));
	return ck_confine_bwrap(c, out, fail);
}
