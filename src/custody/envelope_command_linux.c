/* SPDX-License-Identifier: Apache-2.0 */
/* On Linux bubblewrap makes the envelope; see envelope.h. */
#include "custody/envelope.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BWRAP "/usr/bin/bwrap"

const char ck_envelope_shell[] = "/bin/sh";
const bool ck_envelope_has_entry = true;

static ck_err
is_the_systems(const char *program, struct ck_fail *fail)
{
	struct stat st;

	if (stat(program, &st) != 0) {
		(void)ck_fail_set(fail, CK_NOENFORCE, program,
		    "is not installed, and makes the envelope on Linux");
		ck_fail_next(fail, "install bubblewrap");
		return CK_NOENFORCE;
	}
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 ||
	    (st.st_mode & 022) != 0)
		return ck_fail_set(fail, CK_NOENFORCE, program,
		    "is not the system's own program");
	return CK_OK;
}

ck_err
ck_envelope_command(const struct ck_envelope *e, const char *entry,
    const char *directory, struct ck_buf *out, struct ck_fail *fail)
{
	struct ck_envelope_box *box;
	ck_err r;

	if ((r = is_the_systems(BWRAP, fail)) != CK_OK)
		return r;
	if ((box = calloc(1, sizeof(*box))) == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	box->entry = entry;
	box->directory = directory;
	if ((r = ck_envelope_identify(e, box, fail)) == CK_OK) {
		ck_buf_bytes(out, BWRAP, sizeof(BWRAP));
		r = ck_envelope_bwrap(e, box, out, fail);
	}
	free(box);
	return r;
}
