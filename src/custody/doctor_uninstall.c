/* SPDX-License-Identifier: Apache-2.0 */
/* The flow of doctor --uninstall; see doctor_uninstall.h. */
#include "custody/doctor_uninstall_int.h"

#include <string.h>

#include "base/io.h"
#include "custody/preflight.h"

/* Records that are damaged tell nothing; that must not keep anybody here. */
static ck_err
look(struct ck_out *o, struct ck_fail *fail)
{
	struct ck_fail why = CK_FAIL_INIT;
	ck_err r;

	r = ck_view_open(o->p, CK_REC_READ, &o->v, &why);
	if (r == CK_DAMAGED || r == CK_NOSTORE) {
		o->v = (struct ck_view)CK_VIEW_INIT;
		ck_line(&o->ret->bearers, "the records do not say more (%s)",
		    why.why);
	} else if (r != CK_OK) {
		if (fail != NULL)
			*fail = why;
		return r;
	}
	if ((r = ck_out_bearers(o, fail)) != CK_OK)
		return r;
	return ck_out_files(o, fail);
}

/* What is in the way names itself, and how to clear it. */
static ck_err
blocked(const struct ck_uninstall *u, struct ck_fail *fail)
{
	if (u->in_the_way.n == 0)
		return CK_OK;
	(void)ck_fail_set(fail, CK_DECIDE, NULL, "%s%s; nothing was removed",
	    u->in_the_way.at[0], u->in_the_way.n > 1 ? ", and more" : "");
	ck_fail_next(fail, "%s", u->commands.n > 0 ? u->commands.at[0] :
	    "clankie-keys doctor --uninstall names all of it");
	return CK_DECIDE;
}

static ck_err
carry_out(struct ck_out *o, struct ck_fail *fail)
{
	int lock = -1;
	ck_err r;

	r = ck_place_open_dir(o->p, &o->dirfd, fail);
	if (r != CK_OK && r != CK_NOSTORE)
		return r;
	if (o->confirm && r == CK_OK && (r = ck_place_lock(o->p, o->dirfd, &lock,
	    fail)) != CK_OK)
		return r;
	if ((r = look(o, fail)) == CK_OK && o->confirm &&
	    (r = blocked(o->ret, fail)) == CK_OK) {
		/* SQLite's locks on the file go before it does. */
		ck_view_close(&o->v);
		r = ck_out_remove(o, fail);
	}
	ck_io_close(&lock);
	return r;
}

ck_err
ck_doctor_uninstall(struct ck_place *p, bool confirm,
    struct ck_uninstall *ret, struct ck_fail *fail)
{
	struct ck_out o = { p, ret, confirm, CK_VIEW_INIT, -1 };
	ck_err r;

	memset(ret, 0, sizeof(*ret));
	if (confirm && (r = ck_preflight_worker(p->worker_marked,
	    "doctor --uninstall --confirm", fail)) != CK_OK)
		return r;
	r = carry_out(&o, fail);
	ck_view_close(&o.v);
	ck_io_close(&o.dirfd);
	return r;
}
