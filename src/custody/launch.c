/* SPDX-License-Identifier: Apache-2.0 */
/* How a worker is to be started; see launch.h. */
#include "custody/launch.h"

#include <string.h>

#include "custody/advice.h"

ck_err
ck_word_parse(const char *text, enum ck_word *ret, struct ck_fail *fail)
{
	static const struct {
		const char *text;
		enum ck_word word;
	} words[] = {
		{ "", CK_WORD_FOLLOW },
		{ "follow", CK_WORD_FOLLOW },
		{ "on", CK_WORD_ON },
		{ "off", CK_WORD_OFF },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i].text) == 0) {
			*ret = words[i].word;
			return CK_OK;
		}
	}
	return ck_fail_set(fail, CK_DAMAGED, CK_SETTING_SANDBOX,
	    "is recorded as something else than on, off or follow");
}

static ck_err
nested(struct ck_fail *fail, bool worker)
{
	(void)ck_fail_set(fail, CK_NESTED, NULL, worker ?
	    "this is inside a worker's boundary already" :
	    "this is inside another boundary, which lets none be made in it");
	ck_fail_next(fail, worker ?
	    "start the command as it is: it is confined" :
	    "start workers outside of it");
	return CK_NESTED;
}

/* Following settings.json; *ret_on. */
static ck_err
follow(const struct ck_launch_facts *f, const struct ck_place *p,
    bool *ret_on, struct ck_fail *fail)
{
	if (!f->readable) {
		(void)ck_fail_set(fail, CK_REFUSED, NULL,
		    "whether workers are confined (fleet.workerSandbox) cannot "
		    "be read");
		ck_advise(fail, p, "mend settings.json, or say it: "
		    "{worker sandbox on}");
		return CK_REFUSED;
	}
	*ret_on = f->setting == CK_SANDBOX_ON;
	if (*ret_on || !f->seen)
		return CK_OK;
	(void)ck_fail_set(fail, CK_DECIDE, NULL,
	    "fleet.workerSandbox was on and is not any more, which a worker "
	    "may have done");
	ck_advise(fail, p, "if it was you: {worker sandbox follow}; else turn "
	    "it on again");
	return CK_DECIDE;
}

ck_err
ck_launch_decide(const struct ck_launch_facts *f, const struct ck_place *p,
    enum ck_launch_how *ret, struct ck_fail *fail)
{
	bool on = f->word == CK_WORD_ON;
	ck_err r;

	switch (f->inside) {
	case CK_INSIDE_WORKER:
	case CK_INSIDE_OTHER:
		return nested(fail, f->inside == CK_INSIDE_WORKER);
	case CK_INSIDE_ENVELOPE:
		*ret = CK_LAUNCH_ENVELOPE;
		return CK_OK;
	case CK_INSIDE_NOTHING:
		break;
	}
	if (f->word == CK_WORD_FOLLOW && (r = follow(f, p, &on,
	    fail)) != CK_OK)
		return r;
	if (!on) {
		*ret = CK_LAUNCH_OFF;
		return CK_OK;
	}
	if (!f->custody) {
		(void)ck_fail_set(fail, CK_NOSTORE, NULL,
		    "there are no records that say what to keep workers "
		    "from");
		ck_advise(fail, p, "{migrate}");
		return CK_NOSTORE;
	}
	if (!f->possible)
		return ck_fail_set(fail, CK_NOENFORCE, NULL,
		    "this version makes no worker's boundary on this system");
	*ret = CK_LAUNCH_CONFINED;
	return CK_OK;
}
