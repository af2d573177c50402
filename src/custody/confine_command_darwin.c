/* SPDX-License-Identifier: Apache-2.0 */
/* See confine_command.h.  The profile is an argument, so that it lies in no
 * file that could be written.  Not verified on a Mac. */
#include "custody/confine_command.h"

#define SANDBOX_EXEC "/usr/bin/sandbox-exec"

const bool ck_confine_counts_processes = false;

ck_err
ck_confine_command(const struct ck_confine *c, struct ck_buf *out,
    struct ck_fail *fail)
{
	const uint8_t end = 0;
	ck_err r;

	ck_buf_bytes(out, SANDBOX_EXEC, sizeof(SANDBOX_EXEC));
	ck_buf_bytes(out, "-p", 3);
	if ((r = ck_confine_seatbelt(c, out, fail)) == CK_OK)
		ck_buf_bytes(out, &end, 1);
	return r;
}
