/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering the status; see status.h. */
#include "custody/status.h"

#include <string.h>
#include <sys/stat.h>

#include "base/secret.h"
#include "custody/broker.h"
#include "custody/preflight.h"
#include "custody/rules.h"
#include "custody/settings.h"
#include "store/broker_file.h"

static void
look_at_file(const struct ck_place *p, struct ck_status *s)
{
	const struct ck_login login = { p->keychain, NULL, CK_WAIT_MS };

	s->file_err = ck_login_status(&login, &s->file, &s->file_fail);
	/* A login keychain may be readable for others, ours may not; get
	 * refuses it. */
	if (s->file_err == CK_OK && (s->file.mode & 077) != 0)
		s->file_err = ck_fail_set(&s->file_fail, CK_REFUSED,
		    p->keychain, "has mode %04o; it must be closed to group "
		    "and others", (unsigned int)s->file.mode);
	s->settings_changed = s->file_err == CK_OK &&
	    (s->file.idle_timeout != CK_DEDICATED_IDLE ||
	    !s->file.lock_on_sleep);
}

static ck_err
add_other(void *arg, const struct ck_rec_credential *row)
{
	struct ck_status *s = arg;

	if (s->known && strcmp(row->name, s->row.name) == 0)
		return CK_OK;
	if (s->others < CK_STATUS_OTHERS)
		s->other[s->others] = *row;
	s->others++;
	return CK_OK;
}

/* Records that cannot be read are an answer, and what is there is in charge
 * whatever they are. */
static void
unread(const struct ck_place *p, ck_err r, const struct ck_fail *fail,
    struct ck_status *s)
{
	struct stat st;

	s->view_err = r;
	s->view_fail = *fail;
	s->custody = lstat(p->dir, &st) == 0;
	s->in_charge = ck_place_dedicated(p, &s->keychain, NULL) != CK_OK ||
	    s->keychain;
}

/* What workers get; nothing of it is worth a failure here. */
static void
look_at_workers(const struct ck_place *p, const struct ck_view *v,
    struct ck_status *s)
{
	char text[16];

	if (ck_setting_read(v, CK_SETTING_SANDBOX, text, sizeof(text),
	    NULL) != CK_OK || ck_word_parse(text, &s->word, NULL) != CK_OK)
		s->word = CK_WORD_FOLLOW;
	s->seen = ck_setting_read(v, CK_SETTING_SEEN, text, sizeof(text),
	    NULL) == CK_OK && strcmp(text, "on") == 0;
	s->strict = ck_setting_read(v, CK_SETTING_STRICT, text, sizeof(text),
	    NULL) == CK_OK && strcmp(text, "on") == 0;
	if (s->in_charge && ck_rules_notes(p, v->rec, &s->edges, &s->gaps,
	    NULL) != CK_OK)
		ck_status_done(s);
}

void
ck_status_done(struct ck_status *s)
{
	ck_buf_free(&s->edges);
	ck_buf_free(&s->gaps);
}

static ck_err
from_records(const struct ck_place *p, const struct ck_view *v,
    struct ck_status *s, struct ck_fail *fail)
{
	const char *differs = "";
	struct stat st;
	ck_err r;

	s->custody = v->dirfd >= 0;
	s->records = v->rec != NULL;
	s->known = v->known;
	s->row = v->row;
	s->journal_open = v->journal_open;
	s->journal = v->journal;
	s->keychain = v->dedicated;
	s->in_charge = ck_view_is_dedicated(v) || v->hollow;
	if (v->rec != NULL)
		look_at_workers(p, v, s);
	if (v->rec == NULL)
		return CK_OK;
	if ((r = ck_records_credential_each(v->rec, add_other, s,
	    fail)) != CK_OK)
		return r;
	s->rules_there = lstat(p->rules, &st) == 0;
	/* They stay when the credential goes back to its broker. */
	if (s->in_charge || s->rules_there)
		s->rules_err = ck_rules_match(p, v->dirfd, v->rec, &differs,
		    NULL);
	s->rules_match = s->rules_err == CK_OK && differs == NULL;
	return CK_OK;
}

struct wanted {
	const char *account;
	bool found;
};

static ck_err
is_wanted(void *arg, const char *name, const char *type, bool bearer)
{
	struct wanted *w = arg;
	char id[CK_PROVIDER_SIZE];

	(void)type;
	(void)bearer;
	if (ck_broker_provider(name, id, NULL) == CK_OK &&
	    strcmp(id, w->account) == 0)
		w->found = true;
	return CK_OK;
}

/* By its name alone.  What cannot be read may well have it. */
static bool
holds_nothing(const struct ck_place *p)
{
	struct wanted w = { NULL, false };
	char id[CK_PROVIDER_SIZE];

	if (p->broker_kind != CK_KIND_FILE_BROKER)
		return ck_broker_read(p, NULL, NULL) == CK_ABSENT;
	if (ck_broker_provider(p->account, id, NULL) != CK_OK)
		return false;
	w.account = id;
	return ck_broker_file_names(p->broker, is_wanted, &w,
	    NULL) == CK_OK && !w.found;
}

static void
look_around(const struct ck_place *p, struct ck_status *s)
{
	s->override = p->operator_override;
	s->heap_locked = ck_secret_heap_locked();
	s->list_err = ck_preflight_search_list(p, NULL);
	s->sandbox_err = ck_launch_switch(p, &s->sandbox, NULL);
	/* Only where it is a file: a keychain broker is not opened for this. */
	if (p->broker_kind == CK_KIND_FILE_BROKER)
		s->unlock_known = ck_unlock_place_exists(p, &s->unlock_there,
		    NULL) == CK_OK;
	if (s->in_charge)
		look_at_file(p, s);
	else if (s->view_err == CK_OK)
		s->nothing = holds_nothing(p);
}

ck_err
ck_status(struct ck_place *p, struct ck_status *ret, struct ck_fail *fail)
{
	const bool said = p->broker_said || p->names_said;
	struct ck_fail why = CK_FAIL_INIT;
	struct ck_view v = CK_VIEW_INIT;
	struct ck_status s;
	ck_err r;

	memset(&s, 0, sizeof(s));
	/* A directory that has lost its keychain is an answer, too. */
	r = ck_view_open_lost(p, CK_REC_READ, &v, &why);
	if (r == CK_REFUSED && said) {
		if (fail != NULL)
			*fail = why;
		return r;
	}
	if (r == CK_OK)
		r = from_records(p, &v, &s, &why);
	ck_view_close(&v);
	if (r != CK_OK)
		unread(p, r, &why, &s);
	else if (!s.known && !p->names_said &&
	    strcmp(p->credential, CK_OPERATOR_NAME) != 0) {
		(void)ck_fail_set(fail, CK_USAGE, p->credential,
		    "is no credential that the records know");
		ck_fail_next(fail, "clankie-keys status names those that they "
		    "do, and --service and --account one that they do not");
		ck_status_done(&s);
		return CK_USAGE;
	}
	look_around(p, &s);
	*ret = s;
	return CK_OK;
}
