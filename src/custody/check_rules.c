/* SPDX-License-Identifier: Apache-2.0 */
/* The rules on disk, and the sandbox that uses them; see check_int.h. */
#include "custody/check_int.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "custody/inside.h"
#include "custody/launch.h"
#include "custody/rules.h"
#include "custody/settings.h"
#include "custody/shell_links.h"

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
	else if (r == CK_OK && !c->how->startup && ck_inside_possible() &&
	    ck_rules_ready(p, c->v.dirfd, c->v.rec, &fail) == CK_NOENFORCE)
		ck_finding_add(c->out, CK_F_PLAN_STALE, p->mounts, NULL,
		    "%s: no worker is started with it", fail.why);
	else if (r != CK_OK && !ck_findings_error_at(c->out, p->rules) &&
	    !ck_findings_error_at(c->out, p->mounts))
		ck_finding_fail(c->out, CK_F_NOT_JUDGED, r, &fail);
}

static void
sandbox(struct ck_check *c)
{
	enum ck_worker_sandbox now = CK_SANDBOX_ABSENT;
	struct ck_fail fail = CK_FAIL_INIT;
	const char *seen = "", *word = "";
	char texts[2][16] = { "", "" };
	ck_err r;

	/* What cannot be read here has a finding of its own. */
	if (c->viewed && ck_setting_read(&c->v, CK_SETTING_SEEN, texts[0],
	    sizeof(texts[0]), NULL) == CK_OK)
		seen = texts[0];
	if (c->viewed && ck_setting_read(&c->v, CK_SETTING_SANDBOX, texts[1],
	    sizeof(texts[1]), NULL) == CK_OK)
		word = texts[1];
	r = ck_launch_switch(c->p, &now, &fail);
	c->sandbox_on = strcmp(word, "on") == 0 || (r == CK_OK &&
	    now == CK_SANDBOX_ON && strcmp(word, "off") != 0);
	if (r != CK_OK)
		ck_finding_fail(c->out, CK_F_SANDBOX_UNKNOWN, r, &fail);
	else if (strcmp(word, "off") == 0)
		ck_finding_add(c->out, CK_F_SANDBOX_OFF, c->p->settings,
		    NULL, "does not count: your word is off, and nothing is "
		    "protected");
	else if (!c->sandbox_on && strcmp(seen, "on") == 0)
		ck_finding_add(c->out, CK_F_SANDBOX_CHANGED, c->p->settings,
		    NULL, "turned fleet.workerSandbox off after it was on, "
		    "which a worker may have done: no worker is started");
	else if (!c->sandbox_on)
		ck_finding_add(c->out, CK_F_SANDBOX_OFF, c->p->settings, NULL,
		    "%s fleet.workerSandbox: nothing is protected yet",
		    now == CK_SANDBOX_OFF ? "turns off" : "does not set");
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
	if (c->in_charge && c->sandbox_on && !c->how->startup)
		ck_check_workers(c);
}
