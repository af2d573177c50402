/* SPDX-License-Identifier: Apache-2.0 */
/* What a Linux worker's boundary changes besides, and what it leaves open; see
 * rules.h. */
#include "custody/rules.h"

#include <stdlib.h>
#include <string.h>

ck_err
ck_rules_notes(const struct ck_place *p, struct ck_records *rec,
    struct ck_buf *edges, struct ck_buf *gaps, struct ck_fail *fail)
{
	struct {
		struct ck_rules_set set;
		struct ck_mounts plan;
	} *made = calloc(1, sizeof(*made));
	struct ck_mounts_options options;
	ck_err r;

	if (made == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	if ((r = ck_rules_recorded(p, rec, &made->set, fail)) != CK_OK ||
	    (r = ck_rules_mounts(p, &made->set, false, &made->plan,
	    fail)) != CK_OK)
		goto out;
	ck_rules_mounts_options(p, &options);
	for (size_t i = 0; i < made->plan.n; i++) {
		const struct ck_mount *m = &made->plan.step[i];

		/* A directory that is there is a mount of its own inside. */
		if (m->step == CK_MOUNT_BIND && m->known)
			ck_buf_bytes(edges, m->path, strlen(m->path) + 1);
		if (ck_mounts_report(&made->plan, i, &options, gaps))
			ck_buf_bytes(gaps, "", 1);
	}
	if ((r = ck_buf_ok(edges)) != CK_OK || (r = ck_buf_ok(gaps)) != CK_OK)
		(void)ck_fail_set(fail, r, NULL, "no memory");
out:
	free(made);
	return r;
}
