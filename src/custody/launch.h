/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a worker is to be started: the one place where the switch
 * (fleet.workerSandbox), the owner's word about it, and the boundary this
 * process may be inside of already come together.
 */
#ifndef CK_CUSTODY_LAUNCH_H
#define CK_CUSTODY_LAUNCH_H

#include <stdbool.h>

#include "base/err.h"
#include "custody/inside.h"
#include "custody/place.h"
#include "custody/view.h"
#include "store/settings.h"

/* Settings of the records. */
#define CK_SETTING_SANDBOX "worker.sandbox"      /* on, off, follow or "" */
#define CK_SETTING_SEEN "worker.sandbox.seen"    /* on: it was once */
/* wrap: also a harness of which it is not clear whether it confines itself,
 * where boundaries do not nest; else it is refused there. */
#define CK_SETTING_UNDECIDED "worker.undecided"
/* on: helpers outside are closed to workers, too (helpers.h). */
#define CK_SETTING_STRICT "worker.strict"

enum ck_word {
	CK_WORD_FOLLOW,              /* what settings.json says */
	CK_WORD_ON,
	CK_WORD_OFF
};

/* CK_DAMAGED for anything but "", "follow", "on" and "off". */
CK_MUST_USE ck_err ck_word_parse(const char *text, enum ck_word *ret,
    struct ck_fail *fail);

struct ck_launch_facts {
	enum ck_inside inside;
	enum ck_word word;
	bool seen;                   /* the switch was on once */
	bool readable;               /* the switch could be read ... */
	enum ck_worker_sandbox setting;
	bool custody;                /* there is something to protect */
	bool possible;               /* this system has a boundary for it */
};

enum ck_launch_how {
	CK_LAUNCH_CONFINED,
	CK_LAUNCH_ENVELOPE,          /* in an envelope: blanked variables only */
	CK_LAUNCH_NATIVE,            /* the same in a harness's own confinement,
	                              * which ck_launch_decide() knows nothing of */
	CK_LAUNCH_OFF                /* the same without any boundary */
};

/*
 * Decide, from nothing but these facts; p (may be NULL) completes the next
 * step of a refusal.  CK_NESTED: inside a boundary
 * already; CK_DECIDE: the switch was on, is not any more, and the owner has
 * said nothing; CK_REFUSED: it cannot be read; CK_NOSTORE, CK_NOENFORCE: on,
 * and nothing says what to keep from workers, or nothing could.
 */
CK_MUST_USE ck_err ck_launch_decide(const struct ck_launch_facts *facts,
    const struct ck_place *p, enum ck_launch_how *ret, struct ck_fail *fail);

/* A look at all of it.  With a custody, v is open inside a transaction in
 * which the records fit their seal: what they say is the owner's. */
struct ck_launch {
	struct ck_launch_facts facts;
	struct ck_view v;
	struct ck_fail setting_fail; /* why the switch could not be read */
	bool wrap_undecided;         /* by CK_SETTING_UNDECIDED */
	bool strict;                 /* by CK_SETTING_STRICT */
};

#define CK_LAUNCH_INIT { .v = CK_VIEW_INIT }

/*
 * Gather.  CK_DAMAGED: the records were changed without the keychain;
 * CK_LOCKED: the key of their seal needs the broker's password; CK_REFUSED:
 * p's home is not the user's, whose own home has a custody, too.
 */
CK_MUST_USE ck_err ck_launch_look(struct ck_place *p, struct ck_launch *ret,
    struct ck_fail *fail);
void ck_launch_close(struct ck_launch *l);

/* Decide, and for a confined launch see that the plan is in order. */
CK_MUST_USE ck_err ck_launch_settle(const struct ck_place *p,
    const struct ck_launch *l, enum ck_launch_how *ret,
    struct ck_fail *fail);

/* The switch is on and that is not recorded yet.  The transaction of the look
 * must be closed.  CK_BUSY: an operation is under way; the next launch will
 * do. */
bool ck_launch_is_news(const struct ck_launch *l);
CK_MUST_USE ck_err ck_launch_remember(struct ck_place *p,
    struct ck_fail *fail);

/* The switch by settings.json: in p's place for it, and in the usual one if
 * that is another.  On in one of them is on. */
CK_MUST_USE ck_err ck_launch_switch(const struct ck_place *p,
    enum ck_worker_sandbox *ret, struct ck_fail *fail);

/* What the owner says; NULL: nothing about that. */
struct ck_launch_said {
	const enum ck_word *word;    /* "follow" forgets what was seen before */
	const bool *wrap_undecided;
	const bool *strict;
};

/* Record it in one sealed transaction.  Errors of ck_settings_put(). */
CK_MUST_USE ck_err ck_launch_say(struct ck_place *p,
    const struct ck_launch_said *said, struct ck_fail *fail);

#endif
