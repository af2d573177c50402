/* SPDX-License-Identifier: Apache-2.0 */
/* On Linux bubblewrap makes the envelope; see envelope.h. */
#include "custody/envelope.h"

#include <stdlib.h>
#include <string.h>

#include "custody/bwrap_program.h"

const char ck_envelope_shell[] = "/bin/sh";
const bool ck_envelope_has_entry = true;

ck_err
ck_envelope_command(const struct ck_envelope *e, const char *entry,
    const char *directory, struct ck_buf *out, struct ck_fail *fail)
{
	struct ck_envelope_box *box;
	ck_err r;

	if ((r = ck_bwrap_program(fail)) != CK_OK)
		return r;
	if ((box = calloc(1, sizeof(*box))) == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	box->entry = entry;
	box->directory = directory;
	if ((r = ck_envelope_identify(e, box, fail)) == CK_OK) {
		ck_buf_bytes(out, CK_BWRAP_PROGRAM, sizeof(CK_BWRAP_PROGRAM));
		r = ck_envelope_bwrap(e, box, out, fail);
	}
	free(box);
	return r;
}
