/* SPDX-License-Identifier: Apache-2.0 */
/* Is a Clankie installed, and does it ask the records; see preflight.h. */
#include "custody/preflight.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "custody/advice.h"

/* PATH exists in some form. */
static bool
exists(const char *dir, const char *name, char ret[CK_PATH_MAX])
{
	struct stat st;

	if (ck_path_join(dir, name, ret, NULL) != CK_OK)
		return false;
	/* What cannot be examined may well be there. */
	return lstat(ret, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* The launcher's state files, one a service: <id>-service.json. */
static bool
has_service_state(const char *state, char ret[CK_PATH_MAX])
{
	static const char tail[] = "-service.json";
	char dirname[CK_PATH_MAX];
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	if (ck_path_join(state, "clankie", dirname, NULL) != CK_OK ||
	    (dir = opendir(dirname)) == NULL)
		return false;
	while (!found && (entry = readdir(dir)) != NULL) {
		size_t n = strlen(entry->d_name);

		found = n >= sizeof(tail) &&
		    strcmp(entry->d_name + n - (sizeof(tail) - 1), tail) == 0 &&
		    ck_path_join(dirname, entry->d_name, ret, NULL) == CK_OK;
	}
	(void)closedir(dir);
	return found;
}

/* The service's own readers and writers must be known to ask the records. */
static ck_err
service_honours(const struct ck_view *v, bool *ret, struct ck_fail *fail)
{
	static const char *const places[] = {
		"service-startup", "authenticator"
	};
	struct ck_rec_principal who;
	ck_err r;

	*ret = v->rec != NULL;
	for (size_t i = 0; *ret && i < 2; i++) {
		r = ck_records_principal_get(v->rec, places[i], &who, fail);
		if (r != CK_OK && r != CK_ABSENT)
			return r;
		*ret = r == CK_OK && strcmp(who.honours, "yes") == 0;
	}
	return CK_OK;
}

ck_err
ck_preflight_clankie(const struct ck_place *p, const struct ck_view *v,
    bool honours, struct ck_preflight *ret, struct ck_fail *fail)
{
	static const char plist[] =
	    "Library/LaunchAgents/bot.clankie.autostart.plist";
	char sign[CK_PATH_MAX] = "";
	bool known = false;
	ck_err r;

	if (!exists(p->home, plist, sign) &&
	    !has_service_state(p->state, sign) &&
	    !exists(p->clankie_state, "events.jsonl", sign) &&
	    !exists(p->clankie_state, "herdr", sign))
		return CK_OK;
	memcpy(ret->clankie, sign, sizeof(ret->clankie));
	if (honours)
		return CK_OK;
	if ((r = service_honours(v, &known, fail)) != CK_OK || known)
		return r;
	(void)ck_fail_set(fail, CK_DECIDE, sign,
	    "a Clankie is installed here that is not known to ask the records; "
	    "an older one would make a second bearer at its next start");
	ck_advise(fail, p, "if yours follows ADR 0296: {migrate "
	    "--service-honours-precedence}");
	return CK_DECIDE;
}
