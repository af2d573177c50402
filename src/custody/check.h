/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the custody in order?  The answer is data: a list of findings, each with
 * a stable code.  A failure that keeps something from being judged is a
 * finding of its own, never silence.
 */
#ifndef CK_CUSTODY_CHECK_H
#define CK_CUSTODY_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "custody/place.h"

/* An error closes the service's gate and gives exit status 21.  A warning is
 * for the owner to act on, and an info only to know; neither changes the exit
 * status. */
enum ck_severity {
	CK_SEV_INFO,
	CK_SEV_WARNING,
	CK_SEV_ERROR,
	CK_SEV_COUNT
};

/* "info", "warning", "error"; never NULL. */
const char *ck_severity_name(enum ck_severity severity);

enum ck_finding_code {
	CK_F_NOT_MIGRATED,
	CK_F_DEDICATED_MISSING,
	CK_F_DEDICATED_LOCKED,        /* its unlock password cannot be had */
	CK_F_DEDICATED_DAMAGED,
	CK_F_DEDICATED_DENIED,
	CK_F_DEDICATED_REPLACED,      /* another file than the records noted */
	CK_F_ITEM_ATTRIBUTES,
	CK_F_ON_SEARCH_LIST,
	CK_F_SETTINGS_CHANGED,
	CK_F_UNLOCK_MISSING,
	CK_F_UNLOCK_WRONG,
	CK_F_UNLOCK_UNREADABLE,
	CK_F_UNSAFE_ANCESTOR,
	CK_F_UNSAFE_OWNER,
	CK_F_UNSAFE_MODE,
	CK_F_EXTRA_LINK,
	CK_F_SYMLINK,
	CK_F_WRONG_TYPE,
	CK_F_REMOTE_FILESYSTEM,
	CK_F_SYNCED_FOLDER,
	CK_F_SECOND_CUSTODY,
	CK_F_LEFTOVER,
	CK_F_FOREIGN_FILE,            /* a name in the custody, not ours */
	CK_F_BROKER_NOT_NOTED,        /* custody/locator.h */
	CK_F_ASIDE,
	CK_F_SECOND_LOGIN,
	CK_F_SECOND_FILE,
	CK_F_SECOND_DOTENV,
	CK_F_SECOND_NAME,             /* in a broker, but not as its own */
	CK_F_OVERRIDE,
	CK_F_SERVICE_ENVIRONMENT,
	CK_F_OLD_WORKER,
	CK_F_STALE_INDEX,
	CK_F_REMAINING_SECRETS,
	CK_F_RECORDS_MISSING,
	CK_F_RECORDS_DAMAGED,
	CK_F_RECORDS_UNREADABLE,
	CK_F_EVENT_CHAIN,
	CK_F_SEAL_BROKEN,
	CK_F_GENERATION_BEHIND,
	CK_F_JOURNAL_OPEN,
	CK_F_RESTORE_UNFINISHED,
	CK_F_PRECEDENCE,
	CK_F_PRINCIPAL_UNKNOWN,
	CK_F_PRINCIPAL_NOT_HONOURING,
	CK_F_RULES_MISSING,
	CK_F_RULES_DIFFER,
	CK_F_SANDBOX_OFF,
	CK_F_SANDBOX_UNKNOWN,
	CK_F_SANDBOX_CHANGED,         /* it was on */
	CK_F_PLAN_STALE,              /* no worker would be started */
	CK_F_UNCONFINED,              /* a worker outside of any boundary */
	CK_F_PANE,                    /* ... or the owner's own */
	CK_F_SERVER_WIDE,             /* every pane is a worker */
	CK_F_RESTORES,                /* ... panes without their wrapper */
	CK_F_NO_WRAPPER,              /* panes of hires have none */
	CK_F_WRAPPER,                 /* links or entry are not as installed */
	CK_F_REPAIR_FAILED,
	CK_F_NOT_CHECKED,             /* needs a password, or is hidden */
	CK_F_NOT_JUDGED,              /* a failure was in the way */
	CK_F_NO_ANSWER,               /* the gate's time was over */
	CK_F_COUNT
};

/* What is said of a code wherever it is found. */
struct ck_finding_info {
	const char *code;             /* stable, for programs */
	enum ck_severity severity;
	const char *next;             /* the usual next step, for ck_advice() */
};
/* code is below CK_F_COUNT. */
const struct ck_finding_info *ck_finding_info(enum ck_finding_code code);

struct ck_finding {
	enum ck_finding_code code;
	char place[CK_PATH_MAX];
	char message[512];
	char next[512];
};

/* More than these are counted, and no longer kept; none of them is lost for
 * the verdict. */
enum { CK_FINDINGS_MAX = 128 };
struct ck_findings {
	size_t n;                         /* kept */
	size_t count[CK_SEV_COUNT];       /* found */
	bool cut_short;                   /* a killed writer was in the way */
	const struct ck_place *place;     /* borrowed while they are looked for;
	                                   * NULL: next steps in general */
	struct ck_finding at[CK_FINDINGS_MAX];
};

/* None yet.  What was kept stays in memory and counts no more. */
void ck_findings_clear(struct ck_findings *list);
/* Append.  next NULL or "": the usual one of the code. */
void ck_finding_add(struct ck_findings *list, enum ck_finding_code code,
    const char *place, const char *next, const char *fmt, ...)
    CK_PRINTF(5, 6);
/* Append a failure, with its own next step if it has one.  A failure without
 * a reason gets the sentence of its code r. */
void ck_finding_fail(struct ck_findings *list, enum ck_finding_code code,
    ck_err r, const struct ck_fail *fail);
bool ck_findings_has(const struct ck_findings *list,
    enum ck_finding_code code);
/* An error was found at this very place. */
bool ck_findings_error_at(const struct ck_findings *list, const char *place);

struct ck_check_how {
	const char *principal;        /* NULL, or the one that asks */
	/* Leave away what takes time and cannot close the gate: other
	 * processes, and what else the broker holds. */
	bool startup;
};

/*
 * Look at everything; changes nothing, but lets SQLite undo what a killed
 * writer left half made in the records.  *ret is overwritten.  Service,
 * account, format and broker in p become the recorded ones.
 */
void ck_check(struct ck_place *p, const struct ck_check_how *how,
    struct ck_findings *ret);

/*
 * Mend what is safe of what ck_check() found: rules made again from the
 * records, the auto-lock settings, the note of which file the keychain is,
 * what killed writers left, keychains that lie aside, and a stale index entry.
 * Nothing is derived from
 * records that do not hold.  *ret_done tells what was done, and has a
 * CK_F_REPAIR_FAILED for what could not be.  CK_BUSY: another clankie-keys is
 * changing this custody; CK_REFUSED: in a worker pane.
 */
CK_MUST_USE ck_err ck_check_repair(struct ck_place *p,
    const struct ck_findings *found, struct ck_findings *ret_done,
    struct ck_fail *fail);

#endif
