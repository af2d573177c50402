/* SPDX-License-Identifier: Apache-2.0 */
/* From a finding's code, and a look at its place, to what mends it; see
 * doctor_int.h. */
#include "custody/doctor_int.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* The turns: what lies in the way of the next look goes first. */
enum {
	AT_PLACES = 10,
	AT_ENVIRONMENT = 20,
	AT_KEYCHAIN = 30,
	AT_RECORDS = 40,
	AT_JOURNAL = 50,
	AT_REPAIR = 60,
	AT_SECOND = 70,
	AT_SANDBOX = 80,
	AT_LAST = 90
};

#define KEYS "clankie-keys "
#define REPAIR KEYS "check%c --repair%w"
#define REBUILD KEYS "doctor%c --rebuild --confirm%w"
#define LOOK "look at what it would write first, without --confirm; custody.db " \
    "from a backup of this day would keep the event log too"
#define COMPARE "; clankie-keys check then finds neither unlock-wrong nor " \
    "generation-behind.  Without one clankie-keys reset%c%w gives up " \
    "what it held and makes a new bearer"

typedef void choose(const struct ck_case *c, struct ck_cure *cure);

static bool
is_keychain(const struct ck_case *c)
{
	return c->p != NULL && c->p->broker_kind == CK_KIND_LOGIN_KEYCHAIN;
}

/* Ours, and only its mode keeps us out? */
static bool
closed_to_us(const char *path, struct stat *st)
{
	return path[0] == '/' && lstat(path, st) == 0 &&
	    st->st_uid == geteuid() &&
	    (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode)) &&
	    (st->st_mode & (S_ISDIR(st->st_mode) ? 0700U : 0600U)) !=
	    (S_ISDIR(st->st_mode) ? 0700U : 0600U);
}

static void
readable(const struct ck_case *c, struct ck_cure *cure)
{
	struct stat st;

	if (!closed_to_us(c->f->place, &st))
		return;
	cure->command = S_ISDIR(st.st_mode) ? "chmod u+rwx %P" :
	    "chmod u+rw %P";
	cure->decide = NULL;
}

static void
ancestor(const struct ck_case *c, struct ck_cure *cure)
{
	struct stat st;

	if (lstat(c->f->place, &st) != 0)
		return;
	if (st.st_uid == geteuid() || geteuid() == 0)
		cure->command = "chmod go-w %P";
	else if (st.st_uid == 0)
		cure->command = "sudo chmod go-w %P";
	else
		return;
	cure->decide = NULL;
}

/* check has said which of the two it must be. */
static void
mode(const struct ck_case *c, struct ck_cure *cure)
{
	if (strncmp(c->f->next, "chmod go-w", 10) == 0)
		cure->command = "chmod go-w %P";
}

static void
symlink_place(const struct ck_case *c, struct ck_cure *cure)
{
	char target[CK_PATH_MAX];
	struct stat st;

	if (!ck_doctor_target(c, target) || lstat(target, &st) != 0 ||
	    st.st_uid != geteuid())
		return;
	cure->command = S_ISDIR(st.st_mode) ? "rm %P && mv %T %P" :
	    "mv %T %P";
	cure->decide = "only if it was you who moved it there, and nobody "
	    "else could change it";
}

/* Where the unlock password is an item, no file is put back for it. */
static void
unlock(const struct ck_case *c, struct ck_cure *cure)
{
	if (!is_keychain(c)) {
		readable(c, cure);
		return;
	}
	cure->command = NULL;
	cure->decide = "put the item bot.clankie.custody / operator-keychain "
	    "back into %B from a backup of that keychain" COMPARE;
}

static void
unlock_wrong(const struct ck_case *c, struct ck_cure *cure)
{
	if (is_keychain(c))
		unlock(c, cure);
}

/* Was the dedicated keychain opened, and nothing found that keeps it from
 * giving the credential?  Else what lies elsewhere may be the last copy. */
static bool
gives_its_value(const struct ck_case *c)
{
	static const enum ck_finding_code not[] = {
		CK_F_DEDICATED_MISSING, CK_F_DEDICATED_LOCKED,
		CK_F_DEDICATED_DAMAGED, CK_F_DEDICATED_DENIED,
		CK_F_ITEM_ATTRIBUTES, CK_F_UNLOCK_MISSING, CK_F_UNLOCK_WRONG,
		CK_F_UNLOCK_UNREADABLE, CK_F_RECORDS_MISSING,
		CK_F_RECORDS_DAMAGED, CK_F_RECORDS_UNREADABLE,
		CK_F_SEAL_BROKEN, CK_F_GENERATION_BEHIND, CK_F_NOT_JUDGED
	};

	for (size_t i = 0; i < sizeof(not) / sizeof(not[0]); i++)
		if (ck_findings_has(c->all, not[i]))
			return false;
	/* Without the broker's password it was not opened. */
	for (size_t i = 0; c->p != NULL && i < c->all->n; i++)
		if (c->all->at[i].code == CK_F_NOT_CHECKED &&
		    (strcmp(c->all->at[i].place, c->p->keychain) == 0 ||
		    strcmp(c->all->at[i].place, c->p->broker) == 0))
			return false;
	return true;
}

/* Nothing is removed that may be the last copy, nor what an operation that is
 * open takes away by itself. */
static bool
may_remove(const struct ck_case *c, struct ck_cure *cure)
{
	if (strncmp(c->f->next, KEYS, strlen(KEYS)) == 0) {
		cure->command = "clankie-keys%V%w";
		cure->decide = NULL;
		return false;
	}
	if (gives_its_value(c))
		return true;
	cure->command = NULL;
	cure->decide = "keep it: it may be the last copy.  Mend first what "
	    "keeps the dedicated keychain from being read, then ask "
	    "clankie-keys doctor%c%o again";
	return false;
}

static void
second_file(const struct ck_case *c, struct ck_cure *cure)
{
	(void)may_remove(c, cure);
}

/* macOS keeps its own login keychain. */
static void
second_login(const struct ck_case *c, struct ck_cure *cure)
{
	if (!may_remove(c, cure))
		return;
	if (ck_path_contains_nocase(c->f->place, "login.keychain"))
		cure->command = "security delete-generic-password -s %v -a %a "
		    "%P";
}

static void
records(const struct ck_case *c, struct ck_cure *cure)
{
	if (strncmp(c->f->next, "sqlite3 ", 8) == 0) {
		cure->command = "sqlite3 %R 'PRAGMA journal_mode=DELETE'";
		cure->decide = NULL;
		return;
	}
	readable(c, cure);
}

/* Only a verb that check knows to finish what was begun. */
static void
journal(const struct ck_case *c, struct ck_cure *cure)
{
	if (strncmp(c->f->next, KEYS, strlen(KEYS)) == 0 &&
	    strncmp(c->f->next, KEYS "doctor", strlen(KEYS "doctor")) != 0)
		cure->command = "clankie-keys%V%w";
	else
		cure->decide = "a newer clankie-keys began it: run that one, "
		    "or put %R back from a backup of the day before";
}

static void
sandbox(const struct ck_case *c, struct ck_cure *cure)
{
	struct stat st;

	if (lstat(c->f->place, &st) != 0)
		cure->command = "mkdir -p %s && echo "
		    "'{\"fleet\":{\"workerSandbox\":true}}' >%S";
}

static void
not_checked(const struct ck_case *c, struct ck_cure *cure)
{
	if (is_keychain(c) && c->p->login_password == NULL &&
	    strcmp(c->f->place, c->p->broker) == 0)
		cure->command = KEYS "doctor%c%o --login-password-fd 3 "
		    "3<PASSWORD-FILE";
}

#define NOBODYS "find out first which program wrote it: it goes on writing " \
    "there until it asks the records"

static const struct row {
	int at;
	struct ck_cure cure;
	choose *choose;
} table[CK_F_COUNT] = {
	[CK_F_NOT_MIGRATED] = { AT_LAST, { KEYS "migrate%c%w", NULL }, NULL },
	[CK_F_DEDICATED_MISSING] = { AT_KEYCHAIN, {
	    "(umask 077 && mkdir -p %O && cp -p BACKUP %K && chmod 0600 %K)",
	    "BACKUP is this file from a backup of this day" COMPARE }, NULL },
	[CK_F_DEDICATED_LOCKED] = { AT_KEYCHAIN, { NULL,
	    "give the right password of %B" }, not_checked },
	[CK_F_DEDICATED_DAMAGED] = { AT_KEYCHAIN, {
	    "mv %P %A && cp -p BACKUP %K && chmod 0600 %K",
	    "BACKUP is this file from a backup of this day" COMPARE }, NULL },
	[CK_F_DEDICATED_DENIED] = { AT_KEYCHAIN, { NULL, NULL }, readable },
	[CK_F_DEDICATED_REPLACED] = { AT_REPAIR, { REPAIR,
	    "only if it was you who put it there" }, NULL },
	[CK_F_ITEM_ATTRIBUTES] = { AT_KEYCHAIN, {
	    "mv %K %A && cp -p BACKUP %K && chmod 0600 %K",
	    "BACKUP is this file from a backup of this day" COMPARE }, NULL },
	/* The command replaces the whole list. */
	[CK_F_ON_SEARCH_LIST] = { AT_PLACES, {
	    "security list-keychains -d user -s%L",
	    "see that every other keychain of yours is in the command" },
	    NULL },
	[CK_F_SETTINGS_CHANGED] = { AT_REPAIR, { REPAIR, NULL }, NULL },
	[CK_F_UNLOCK_MISSING] = { AT_KEYCHAIN, {
	    "(umask 077 && mkdir -p %u && cp -p BACKUP %U && chmod 0600 %U)",
	    "BACKUP is this file from a backup of this day" COMPARE },
	    unlock },
	[CK_F_UNLOCK_WRONG] = { AT_KEYCHAIN, {
	    "cp -p BACKUP-KEYCHAIN %K && cp -p BACKUP-UNLOCK %U",
	    "both are of one backup, the newest there is; keep what is there "
	    "now until get has worked" }, unlock_wrong },
	[CK_F_UNLOCK_UNREADABLE] = { AT_KEYCHAIN, {
	    "mv %U %A && cp -p BACKUP %U && chmod 0600 %U",
	    "BACKUP is this file from a backup of this day" COMPARE },
	    unlock },
	[CK_F_UNSAFE_ANCESTOR] = { AT_PLACES, { NULL, NULL }, ancestor },
	[CK_F_UNSAFE_OWNER] = { AT_PLACES, {
	    "sudo chown \"$(id -u)\" %P",
	    "find out who put it there, and whether the content is yours, "
	    "first" }, NULL },
	[CK_F_UNSAFE_MODE] = { AT_PLACES, { "chmod go= %P", NULL }, mode },
	[CK_F_EXTRA_LINK] = { AT_PLACES, {
	    "find %M -xdev -samefile %P ! -path %G -ok rm {} ';'",
	    "another name leads past every rule; find out who made it" },
	    NULL },
	[CK_F_SYMLINK] = { AT_PLACES, { NULL, NULL }, symlink_place },
	[CK_F_WRONG_TYPE] = { AT_PLACES, { "mv %P %A",
	    "look at it first; what belongs there is then missing, and said "
	    "by the next clankie-keys doctor" }, NULL },
	[CK_F_REMOTE_FILESYSTEM] = { AT_LAST, { NULL, NULL }, NULL },
	[CK_F_SYNCED_FOLDER] = { AT_LAST, { NULL, NULL }, NULL },
	[CK_F_SECOND_CUSTODY] = { AT_ENVIRONMENT, { NULL, NULL }, NULL },
	[CK_F_LEFTOVER] = { AT_REPAIR, { REPAIR, NULL }, NULL },
	[CK_F_FOREIGN_FILE] = { AT_PLACES, { NULL,
	    "find out who put it there, then move it away" }, NULL },
	[CK_F_BROKER_NOT_NOTED] = { AT_REPAIR, { REPAIR, NULL }, NULL },
	[CK_F_ASIDE] = { AT_REPAIR, { REPAIR, NULL }, NULL },
	[CK_F_SECOND_LOGIN] = { AT_SECOND, {
	    KEYS "keychain delete %P --service %v --account %a", NOBODYS },
	    second_login },
	[CK_F_SECOND_FILE] = { AT_SECOND, {
	    "cp -p %P %P.new && jq --arg a %a 'del(.[$a])' %P >%P.new && "
	    "mv %P.new %P", NOBODYS }, second_file },
	[CK_F_SECOND_DOTENV] = { AT_SECOND, {
	    "cp -p %P %P.new && sed /clankie_op_/d %P >%P.new && "
	    "mv %P.new %P && " KEYS "rotate%c%w",
	    "every process of yours could read it there" }, second_file },
	[CK_F_SECOND_NAME] = { AT_SECOND, { NULL,
	    "remove that entry with the program that wrote it; if it is the "
	    "bearer in use, clankie-keys rotate makes it useless" }, NULL },
	[CK_F_OVERRIDE] = { AT_ENVIRONMENT, {
	    "unset CLANKIE_OPERATOR_TOKEN",
	    "find out what sets it, or it comes back" }, NULL },
	[CK_F_SERVICE_ENVIRONMENT] = { AT_ENVIRONMENT, { "kill %N",
	    "take the variable away where that program gets it from, and "
	    "start it again" }, NULL },
	[CK_F_OLD_WORKER] = { AT_ENVIRONMENT, { "kill %N",
	    "save its work first; then clankie-keys rotate, for it may have "
	    "read the bearer" }, NULL },
	[CK_F_STALE_INDEX] = { AT_REPAIR, { REPAIR, NULL }, NULL },
	[CK_F_REMAINING_SECRETS] = { AT_LAST, { NULL, NULL }, NULL },
	[CK_F_RECORDS_MISSING] = { AT_RECORDS, { REBUILD, LOOK }, NULL },
	[CK_F_RECORDS_DAMAGED] = { AT_RECORDS, { REBUILD, LOOK }, NULL },
	[CK_F_RECORDS_UNREADABLE] = { AT_RECORDS, { NULL, NULL }, records },
	[CK_F_EVENT_CHAIN] = { AT_RECORDS, { REBUILD, LOOK }, NULL },
	[CK_F_SEAL_BROKEN] = { AT_RECORDS, { REBUILD, LOOK }, NULL },
	[CK_F_GENERATION_BEHIND] = { AT_RECORDS, { REBUILD,
	    "only if %R is the older of the two (ls -l); if it is %K, put the "
	    "newer keychain back instead" }, NULL },
	[CK_F_JOURNAL_OPEN] = { AT_JOURNAL, { NULL, NULL }, journal },
	[CK_F_RESTORE_UNFINISHED] = { AT_JOURNAL, { NULL, NULL }, journal },
	[CK_F_PRECEDENCE] = { AT_RECORDS, { REBUILD, LOOK }, NULL },
	[CK_F_PRINCIPAL_UNKNOWN] = { AT_LAST, { NULL, NULL }, NULL },
	/* One step, however many they are. */
	[CK_F_PRINCIPAL_NOT_HONOURING] = { AT_LAST, { NULL,
	    "leave it out of use, or put a version of it in place that asks "
	    "the records; then clankie-keys precedence honours PRINCIPAL "
	    "yes%w" }, NULL },
	[CK_F_RULES_MISSING] = { AT_REPAIR, { REPAIR, NULL }, NULL },
	[CK_F_RULES_DIFFER] = { AT_REPAIR, { REPAIR, NULL }, NULL },
	[CK_F_SANDBOX_OFF] = { AT_SANDBOX, {
	    "cp -p %S %S.new && jq '.fleet.workerSandbox = true' %S >%S.new "
	    "&& mv %S.new %S", NULL }, sandbox },
	[CK_F_SANDBOX_UNKNOWN] = { AT_SANDBOX, { NULL, NULL }, readable },
	[CK_F_SANDBOX_CHANGED] = { AT_SANDBOX, { NULL,
	    "if it was you: " KEYS "worker sandbox follow%w; else find out "
	    "who turned it off, and turn it on again" }, NULL },
	[CK_F_PLAN_STALE] = { AT_REPAIR, { KEYS "rules --write%w",
	    "look first at the directory that was replaced" }, NULL },
	[CK_F_UNCONFINED] = { AT_ENVIRONMENT, { "kill %N",
	    "save its work first, and start it again as a worker; then "
	    "clankie-keys rotate, for it may have read the bearer" }, NULL },
	[CK_F_PANE] = { AT_LAST, { NULL, NULL }, NULL },
	[CK_F_SERVER_WIDE] = { AT_LAST, { NULL,
	    "take default_shell away there, and start a server for hires "
	    "with the wrapper as its SHELL" }, NULL },
	[CK_F_RESTORES] = { AT_LAST, { NULL, NULL }, NULL },
	[CK_F_NO_WRAPPER] = { AT_SANDBOX, { KEYS "worker install-shell%w",
	    "it says how the server for hires gets it" }, NULL },
	[CK_F_WRAPPER] = { AT_SANDBOX, { KEYS "worker install-shell%w",
	    "if a file there is not ours, look what it is and move it away "
	    "first" }, NULL },
	[CK_F_REPAIR_FAILED] = { AT_LAST, { NULL, NULL }, NULL },
	[CK_F_NOT_CHECKED] = { AT_LAST, { NULL, NULL }, not_checked },
	[CK_F_NOT_JUDGED] = { AT_PLACES, { NULL, NULL }, readable },
	[CK_F_NO_ANSWER] = { AT_LAST, { NULL, NULL }, NULL },
};

int
ck_doctor_cure(const struct ck_case *c, struct ck_cure *ret)
{
	const struct row *row = &table[c->f->code];

	*ret = row->cure;
	if (row->choose != NULL)
		row->choose(c, ret);
	return row->at;
}
