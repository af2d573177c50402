/* SPDX-License-Identifier: Apache-2.0 */
/* The list of findings and the table of what can be found; see check.h. */
#include "custody/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "custody/advice.h"

#define BACKUP "put it back from a backup of this day; {status} says where " \
    "it belongs.  If it is lost for good: {reset}"
#define RECORDS "put custody.db back from a backup of this day, or see what " \
    "{doctor --rebuild} would make"
#define MESSAGE "see to what the message says; then {check} again"

/* A next step names only commands that exist, in the braces of advice.h, and
 * none that would send back here; tests follow them. */
static const struct ck_finding_info table[CK_F_COUNT] = {
	[CK_F_NOT_MIGRATED] = { "not-migrated", CK_SEV_ERROR,
	    "{migrate}" },
	[CK_F_DEDICATED_MISSING] = { "dedicated-missing", CK_SEV_ERROR,
	    BACKUP },
	[CK_F_DEDICATED_LOCKED] = { "dedicated-locked", CK_SEV_ERROR,
	    "give the broker's password: {check --login-password-fd N}" },
	[CK_F_DEDICATED_DAMAGED] = { "dedicated-damaged", CK_SEV_ERROR,
	    BACKUP },
	[CK_F_DEDICATED_DENIED] = { "dedicated-denied", CK_SEV_ERROR,
	    "let yourself read it again (ls -l shows owner and mode)" },
	[CK_F_DEDICATED_REPLACED] = { "dedicated-replaced", CK_SEV_WARNING,
	    "if you put it there: {check --repair}" },
	[CK_F_ITEM_ATTRIBUTES] = { "item-attributes-changed", CK_SEV_ERROR,
	    BACKUP },
	[CK_F_ON_SEARCH_LIST] = { "on-search-list", CK_SEV_ERROR,
	    "remove it from the list in Keychain Access" },
	[CK_F_SETTINGS_CHANGED] = { "settings-changed", CK_SEV_WARNING,
	    "{check --repair}" },
	[CK_F_UNLOCK_MISSING] = { "unlock-missing", CK_SEV_ERROR, BACKUP },
	[CK_F_UNLOCK_WRONG] = { "unlock-wrong", CK_SEV_ERROR,
	    "put keychain and unlock password back from one backup; {status} "
	    "says where they belong.  If they are lost for good: {reset}" },
	[CK_F_UNLOCK_UNREADABLE] = { "unlock-unreadable", CK_SEV_ERROR,
	    BACKUP },
	[CK_F_UNSAFE_ANCESTOR] = { "unsafe-ancestor", CK_SEV_ERROR,
	    "close the directory to other users" },
	[CK_F_UNSAFE_OWNER] = { "unsafe-owner", CK_SEV_ERROR,
	    "find out who put it there, then chown it to yourself" },
	[CK_F_UNSAFE_MODE] = { "unsafe-mode", CK_SEV_ERROR, "chmod go= it" },
	[CK_F_EXTRA_LINK] = { "extra-link", CK_SEV_ERROR,
	    "find the other name (find / -xdev -samefile) and remove it" },
	[CK_F_SYMLINK] = { "symlink", CK_SEV_ERROR,
	    "put the real file or directory in its place" },
	[CK_F_WRONG_TYPE] = { "wrong-type", CK_SEV_ERROR,
	    "move it away and put the real one back from a backup" },
	[CK_F_REMOTE_FILESYSTEM] = { "remote-filesystem", CK_SEV_ERROR,
	    "{restore}, then migrate with --home DIR on a local file "
	    "system" },
	[CK_F_SYNCED_FOLDER] = { "synced-folder", CK_SEV_WARNING,
	    "{restore}, then migrate with --home DIR outside of it" },
	[CK_F_SECOND_CUSTODY] = { "second-custody", CK_SEV_ERROR,
	    "leave --home and CLANKIE_KEYS_HOME away, or move the one that "
	    "is not yours" },
	[CK_F_LEFTOVER] = { "leftover-temporary", CK_SEV_WARNING,
	    "{check --repair}" },
	[CK_F_ASIDE] = { "leftover-keychain", CK_SEV_WARNING,
	    "{check --repair}" },
	[CK_F_FOREIGN_FILE] = { "foreign-file", CK_SEV_WARNING,
	    "find out who put it there, then move it away" },
	[CK_F_BROKER_NOT_NOTED] = { "broker-not-noted", CK_SEV_WARNING,
	    "{check --repair --login-password-fd N}" },
	[CK_F_SECOND_LOGIN] = { "second-bearer-login", CK_SEV_ERROR,
	    "find the program that wrote it, then remove the item; {doctor} "
	    "has the command" },
	[CK_F_SECOND_FILE] = { "second-bearer-file", CK_SEV_ERROR,
	    "find the program that wrote it, then remove its entry; {doctor} "
	    "has the command" },
	[CK_F_SECOND_DOTENV] = { "second-bearer-dotenv", CK_SEV_ERROR,
	    "remove it from that file, then {rotate}" },
	[CK_F_SECOND_NAME] = { "bearer-other-name", CK_SEV_WARNING,
	    "remove that entry with the program that wrote it, then {rotate}" },
	[CK_F_OVERRIDE] = { "environment-override", CK_SEV_ERROR,
	    "unset CLANKIE_OPERATOR_TOKEN" },
	[CK_F_SERVICE_ENVIRONMENT] = { "service-environment", CK_SEV_WARNING,
	    "start that process again without CLANKIE_OPERATOR_TOKEN" },
	[CK_F_OLD_WORKER] = { "worker-before-migration", CK_SEV_WARNING,
	    "end it and start it again, then {rotate}" },
	[CK_F_STALE_INDEX] = { "stale-index", CK_SEV_WARNING,
	    "{check --repair --login-password-fd N}" },
	[CK_F_REMAINING_SECRETS] = { "remaining-secrets", CK_SEV_INFO,
	    "nothing to do; they are not protected by this" },
	[CK_F_RECORDS_MISSING] = { "records-missing", CK_SEV_ERROR, RECORDS },
	[CK_F_RECORDS_DAMAGED] = { "records-damaged", CK_SEV_ERROR, RECORDS },
	[CK_F_RECORDS_UNREADABLE] = { "records-unreadable", CK_SEV_ERROR,
	    MESSAGE },
	[CK_F_EVENT_CHAIN] = { "event-chain-broken", CK_SEV_ERROR, RECORDS },
	[CK_F_SEAL_BROKEN] = { "seal-broken", CK_SEV_ERROR, RECORDS },
	[CK_F_GENERATION_BEHIND] = { "generation-behind", CK_SEV_ERROR,
	    "put records and keychain back from one backup, or see what "
	    "{doctor --rebuild} would make" },
	[CK_F_JOURNAL_OPEN] = { "journal-open", CK_SEV_WARNING,
	    "{doctor} says what finishes it" },
	[CK_F_RESTORE_UNFINISHED] = { "restore-unfinished", CK_SEV_ERROR,
	    "{restore}" },
	[CK_F_PRECEDENCE] = { "precedence-not-first", CK_SEV_ERROR, RECORDS },
	[CK_F_PRINCIPAL_UNKNOWN] = { "principal-unknown", CK_SEV_ERROR,
	    "{precedence list} names those that it knows" },
	[CK_F_PRINCIPAL_NOT_HONOURING] = { "principal-not-honouring",
	    CK_SEV_WARNING, "once it does: {precedence honours PRINCIPAL "
	    "yes}" },
	[CK_F_RULES_MISSING] = { "rules-missing", CK_SEV_ERROR,
	    "{rules --write}" },
	[CK_F_RULES_DIFFER] = { "rules-differ", CK_SEV_ERROR,
	    "{rules --write}" },
	[CK_F_SANDBOX_OFF] = { "sandbox-off", CK_SEV_WARNING,
	    "turn on fleet.workerSandbox" },
	[CK_F_SANDBOX_UNKNOWN] = { "sandbox-unknown", CK_SEV_WARNING,
	    "mend the settings file" },
	[CK_F_SANDBOX_CHANGED] = { "sandbox-turned-off", CK_SEV_WARNING,
	    "if it was you: {worker sandbox follow}; else turn it on again" },
	[CK_F_PLAN_STALE] = { "plan-stale", CK_SEV_WARNING,
	    "{rules --write}" },
	[CK_F_UNCONFINED] = { "worker-unconfined", CK_SEV_WARNING,
	    "end it and start it again as a worker" },
	[CK_F_PANE] = { "pane-unconfined", CK_SEV_INFO,
	    "nothing to do if it is your own; else end it" },
	[CK_F_SERVER_WIDE] = { "wrapper-server-wide", CK_SEV_WARNING,
	    "give hires a server of their own, and this one your shell" },
	[CK_F_RESTORES] = { "panes-restored", CK_SEV_INFO,
	    "set resume_agents_on_restore = false in [session], or give hires "
	    "a server whose SHELL is the wrapper" },
	[CK_F_NO_WRAPPER] = { "wrapper-missing", CK_SEV_WARNING,
	    "{worker install-shell}" },
	[CK_F_WRAPPER] = { "wrapper-broken", CK_SEV_WARNING,
	    "{worker install-shell}" },
	[CK_F_REPAIR_FAILED] = { "repair-failed", CK_SEV_ERROR,
	    "see to what the message says; then {check --repair} again" },
	[CK_F_NOT_CHECKED] = { "not-checked", CK_SEV_INFO,
	    "{check --login-password-fd N}" },
	[CK_F_NOT_JUDGED] = { "not-judged", CK_SEV_ERROR, MESSAGE },
	[CK_F_NO_ANSWER] = { "no-answer", CK_SEV_ERROR,
	    "{check} waits longer and says what is in the way" },
};

const char *
ck_severity_name(enum ck_severity severity)
{
	static const char *const names[CK_SEV_COUNT] = {
		"info", "warning", "error"
	};

	return (unsigned int)severity < CK_SEV_COUNT ? names[severity] :
	    "error";
}

const struct ck_finding_info *
ck_finding_info(enum ck_finding_code code)
{
	return &table[code];
}

/* The room for one more, or NULL; counts it in any case. */
static struct ck_finding *
grow(struct ck_findings *list, enum ck_finding_code code, const char *place,
    const char *next)
{
	struct ck_finding *f;

	list->count[table[code].severity]++;
	if (list->n == CK_FINDINGS_MAX)
		return NULL;
	f = &list->at[list->n++];
	f->code = code;
	(void)snprintf(f->place, sizeof(f->place), "%s", place);
	if (next != NULL && next[0] != '\0')
		(void)snprintf(f->next, sizeof(f->next), "%s", next);
	else
		ck_advice(list->place, f->next, "%s", table[code].next);
	return f;
}

void
ck_findings_clear(struct ck_findings *list)
{
	list->n = 0;
	memset(list->count, 0, sizeof(list->count));
	list->cut_short = false;
	list->place = NULL;
}

void
ck_finding_add(struct ck_findings *list, enum ck_finding_code code,
    const char *place, const char *next, const char *fmt, ...)
{
	struct ck_finding *f = grow(list, code, place, next);
	va_list ap;

	if (f == NULL)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(f->message, sizeof(f->message), fmt, ap);
	va_end(ap);
}

void
ck_finding_fail(struct ck_findings *list, enum ck_finding_code code,
    ck_err r, const struct ck_fail *fail)
{
	list->cut_short = list->cut_short || r == CK_READONLY;
	ck_finding_add(list, code, fail->place, fail->next, "%s",
	    fail->why[0] != '\0' ? fail->why : ck_err_text(r));
}

bool
ck_findings_has(const struct ck_findings *list, enum ck_finding_code code)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].code == code)
			return true;
	return false;
}

bool
ck_findings_error_at(const struct ck_findings *list, const char *place)
{
	for (size_t i = 0; i < list->n; i++)
		if (table[list->at[i].code].severity == CK_SEV_ERROR &&
		    strcmp(list->at[i].place, place) == 0)
			return true;
	return false;
}
