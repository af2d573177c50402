/* SPDX-License-Identifier: Apache-2.0 */
/* What only macOS has: clones, files by number, the second name of the data
 * volume, security(1); see attempt.h.  Unverified until a Mac has run it. */
#include "custody/attempt_int.h"

#include <errno.h>
#include <sys/clonefile.h>
#include <sys/stat.h>

static int
by_number(const struct ck_scene *s)
{
	struct stat st;

	return stat(s->keychain, &st) != 0 ? errno :
	    ck_try_steal_at(s, "/.vol/%ld/%llu", (long)st.st_dev,
	    (unsigned long long)st.st_ino);
}

static int
data_volume(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "/System/Volumes/Data%s", s->keychain);
}

static int
other_case(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "%s/.CLANKIE-KEYS/OPERATOR/"
	    "Operator.Keychain-DB", s->home);
}

static int
cloned(const struct ck_scene *s)
{
	return clonefile(s->keychain, s->x, 0) != 0 ? errno :
	    ck_try_steal(s, s->x);
}

static int
by_security(const struct ck_scene *s)
{
	static const char script[] = "/usr/bin/security dump-keychain \"$1\" "
	    ">\"$2\" 2>/dev/null; test -s \"$2\"";

	return ck_try_tool((const char *const[]){ "/bin/sh", "-c", script,
	    "sh", s->keychain, s->loot, NULL });
}

static int
inner_sandbox(const struct ck_scene *s)
{
	return ck_try_tool((const char *const[]){ "/usr/bin/sandbox-exec", "-p",
	    "(version 1) (allow default)", "/bin/sh", "-c",
	    "cat \"$1\" >\"$2\"", "sh", s->keychain, s->loot,
	    NULL });
}

#define READ(id, text, run) { id, text, CK_TRY_READ, run, NULL, NULL }

const struct ck_attempt ck_attempts_system[] = {
	READ("by-number", "through /.vol", by_number),
	READ("data-volume", "through /System/Volumes/Data", data_volume),
	{ "other-case", "in capital letters", CK_TRY_READ | CK_TRY_RARE,
	    other_case, NULL, NULL },
	READ("clone", "clonefile", cloned),
	READ("security", "security dump-keychain", by_security),
	READ("inner-sandbox", "a sandbox that allows everything",
	    inner_sandbox),
	{ NULL, NULL, 0, NULL, NULL, NULL }
};
