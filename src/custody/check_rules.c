/* SPDX-License-Identifier: Apache-2.0 */
/* The rules on disk, and the sandbox that uses them; see check_int.h. */
#include "custody/check_int.h"

#include <errno.h>
#include <sys/stat.h>

#include "custody/rules.h"
#include "custody/settings.h"
#include "custody/shell_links.h"
#include "store/settings.h"

static void
rules(struct ck_check *c)
{
	const struct ck_place *p = c->p;
	const char *const files[] = { p->rules, p->mounts };
	struct ck_fail fail = CK_FAIL_INIT;
	bool missing = false;
	struct stat st;
	const char *differs = NULL;
	ck_err r;

	if (!c->viewed || c->v.rec == NULL)
		return;   /* the records' own finding says it */
	for (size_t i = 0; i < 2; i++) {
		if (lstat(files[i], &st) == 0 || errno != ENOENT)
			continue;
		missing = true;
		ck_finding_add(c->out, CK_F_RULES_MISSING, files[i], NULL,
		    "is missing, so nothing tells a sandbox what to keep "
		    "workers from");
	}
	if (missing)
		return;
	r = ck_rules_match(p, c->v.dirfd, c->v.rec, &differs,
	    &fail);
	if (r == CK_OK && differs != NULL)
		ck_finding_add(c->out, CK_F_RULES_DIFFER, differs, NULL,
		    "is not what the records give");
	else if (r != CK_OK && !ck_findings_error_at(c->out, p->rules) &&
	    !ck_findings_error_at(c->out, p->mounts))
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
}

static void
sandbox(struct ck_check *c)
{
	enum ck_worker_sandbox sandbox = CK_SANDBOX_ABSENT;
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r;

	r = ck_settings_worker_sandbox(c->p->settings, &sandbox, &fail);
	if (r != CK_OK)
		ck_finding_fail(c->out, CK_F_SANDBOX_UNKNOWN, r, &fail);
	else if (sandbox != CK_SANDBOX_ON)
		ck_finding_add(c->out, CK_F_SANDBOX_OFF, c->p->settings, NULL,
		    "%s fleet.workerSandbox: nothing is protected yet",
		    sandbox == CK_SANDBOX_OFF ? "turns off" : "does not set");
}

/* Where it is broken, a pane has no shell, or one that is no worker. */
static void
wrapper(struct ck_check *c)
{
	char entry[CK_PATH_MAX], path[CK_PATH_MAX];
	struct ck_fail fail = CK_FAIL_INIT;
	const char *why = NULL;
	ck_err r;

	if (!c->viewed || c->v.rec == NULL)
		return;
	if ((r = ck_setting_read(&c->v, CK_SETTING_ENTRY, entry,
	    sizeof(entry), &fail)) != CK_OK)
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
	else if (entry[0] != '\0' &&
	    !ck_links_are_whole(c->p, entry, path, &why))
		ck_finding_add(c->out, CK_F_WRAPPER, path, NULL, "%s", why);
}

void
ck_check_rules(struct ck_check *c)
{
	if (c->in_charge) {
		rules(c);
		wrapper(c);
	}
	sandbox(c);
}
