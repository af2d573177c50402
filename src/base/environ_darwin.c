/* SPDX-License-Identifier: Apache-2.0 */
/* macOS half of environ.h: other processes are not asked there. */
#include "environ.h"

ck_err
ck_environ_scan(const char *name, struct ck_environ *ret,
    struct ck_fail *fail)
{
	(void)name;
	(void)ret;
	return ck_fail_set(fail, CK_UNSUPPORTED, NULL,
	    "what other processes have in their environment is not looked at "
	    "on this system");
}
