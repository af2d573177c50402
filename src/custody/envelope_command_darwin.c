/* SPDX-License-Identifier: Apache-2.0 */
/* On macOS sandbox-exec makes the envelope; see envelope.h.  Not verified on a
 * Mac. */
#include "custody/envelope.h"

#include <string.h>
#include <sys/stat.h>

#define SANDBOX_EXEC "/usr/bin/sandbox-exec"

const char ck_envelope_shell[] = "/bin/zsh";
const bool ck_envelope_has_entry = false;

ck_err
ck_envelope_command(const struct ck_envelope *e, const char *entry,
    const char *directory, struct ck_buf *out, struct ck_fail *fail)
{
	char profile[CK_PATH_MAX];
	struct stat st;
	ck_err r;

	(void)entry;
	(void)directory;
	if (stat(SANDBOX_EXEC, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != 0)
		return ck_fail_set(fail, CK_NOENFORCE, SANDBOX_EXEC,
		    "is not there or not the system's own program");
	if ((r = ck_path_join(e->control, CK_ENVELOPE_PROFILE, profile,
	    fail)) != CK_OK)
		return r;
	ck_buf_bytes(out, SANDBOX_EXEC, sizeof(SANDBOX_EXEC));
	ck_buf_bytes(out, "-f", 3);
	ck_buf_bytes(out, profile, strlen(profile) + 1);
	return ck_buf_ok(out) == CK_OK ? CK_OK : ck_fail_set(fail, CK_NOMEM,
	    NULL, "no memory");
}
