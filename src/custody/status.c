/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering the status; see status.h. */
#include "custody/status.h"

#include <string.h>

#include "base/secret.h"
#include "custody/broker.h"
#include "custody/preflight.h"
#include "custody/rules.h"

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

ck_err
ck_status(struct ck_place *p, struct ck_status *ret, struct ck_fail *fail)
{
	struct ck_view v = CK_VIEW_INIT;
	const char *differs = "";
	struct ck_status s;
	ck_err r;

	memset(&s, 0, sizeof(s));
	if ((r = ck_view_open(p, CK_REC_READ, &v, fail)) != CK_OK)
		return r;
	s.custody = v.dirfd >= 0;
	s.records = v.rec != NULL;
	s.known = v.known;
	s.row = v.row;
	if (v.rec != NULL && (r = ck_records_credential_each(v.rec, add_other,
	    &s, fail)) != CK_OK) {
		ck_view_close(&v);
		return r;
	}
	s.journal_open = v.journal_open;
	s.journal = v.journal;
	s.keychain = v.dedicated;
	s.in_charge = ck_view_is_dedicated(&v);
	s.override = p->operator_override;
	s.heap_locked = ck_secret_heap_locked();
	s.list_err = ck_preflight_search_list(p, NULL);
	s.sandbox_err = ck_settings_worker_sandbox(p->settings, &s.sandbox,
	    NULL);
	/* Only where it is a file: a keychain broker is not opened for this. */
	if (p->broker_kind == CK_KIND_FILE_BROKER)
		s.unlock_known = ck_unlock_place_exists(p, &s.unlock_there,
		    NULL) == CK_OK;
	if (s.in_charge)
		look_at_file(p, &s);
	if (s.in_charge && v.rec != NULL)
		s.rules_err = ck_rules_match(p, v.dirfd, v.rec, &differs,
		    NULL);
	s.rules_match = s.rules_err == CK_OK && differs == NULL;
	ck_view_close(&v);
	*ret = s;
	return CK_OK;
}
