/* SPDX-License-Identifier: Apache-2.0 */
/* The rules on disk against the rules the records give; see rules.h. */
#include "custody/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "custody/advice.h"

/* Largest rules file that is read back. */
#define RULES_MAX ((size_t)4 << 20)

/* What the records give, now. */
struct made {
	struct ck_rules_set set;
	struct ck_mounts plan;
	struct ck_mounts on_disk;
	struct ck_buf sb;
	struct ck_buf mounts;
};

static void
made_free(struct made **mp)
{
	if (*mp == NULL)
		return;
	ck_buf_free(&(*mp)->sb);
	ck_buf_free(&(*mp)->mounts);
	free(*mp);
	*mp = NULL;
}

/* What to make; proving is asking the second opinions. */
enum { MAKE_PLAN = 0, MAKE_SB = 1, MAKE_PROVED = 2 };

static ck_err
make(const struct ck_place *p, struct ck_records *rec, unsigned int how,
    struct made **ret, struct ck_fail *fail)
{
	struct made *m = calloc(1, sizeof(*m));
	bool prove = (how & MAKE_PROVED) != 0;
	ck_err r;

	if (m == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	if ((r = ck_rules_recorded(p, rec, &m->set, fail)) != CK_OK ||
	    ((how & MAKE_SB) != 0 && (r = ck_rules_seatbelt(p, &m->set,
	    prove, &m->sb, fail)) != CK_OK) ||
	    (r = ck_rules_mounts(p, &m->set, prove, &m->plan, fail)) != CK_OK)
		goto out;
	ck_mounts_write(&m->plan, &m->mounts);
	if ((r = ck_buf_ok(&m->mounts)) != CK_OK) {
		(void)ck_fail_set(fail, r, NULL, "no memory");
		goto out;
	}
	*ret = m;
	m = NULL;
out:
	made_free(&m);
	return r;
}

/* A rules file; *ret NULL when it is missing.  The caller frees. */
static ck_err
read_file(int dirfd, const char *name, const char *shown, uint8_t **ret,
    size_t *ret_n, struct ck_fail *fail)
{
	int fd = -1;
	ck_err r;

	r = ck_io_open_file(dirfd, name, shown,
	    CK_IO_OWNER | CK_IO_NOWRITE | CK_IO_ONELINK, &fd, NULL, fail);
	if (r == CK_NOSTORE) {
		*ret = NULL;
		*ret_n = 0;
		return CK_OK;
	}
	if (r != CK_OK)
		return r;
	r = ck_io_read_all(fd, RULES_MAX, shown, ret, ret_n, fail);
	ck_io_close(&fd);
	return r;
}

/* Compare a file with text. */
static ck_err
holds(int dirfd, const char *name, const char *shown, struct ck_span text,
    bool *ret, struct ck_fail *fail)
{
	uint8_t *bytes = NULL;
	size_t n = 0;
	ck_err r;

	r = read_file(dirfd, name, shown, &bytes, &n, fail);
	if (r != CK_OK)
		return r;
	*ret = bytes != NULL && n == text.n && memcmp(bytes, text.p, n) == 0;
	free(bytes);
	return CK_OK;
}

static ck_err
write_one(int dirfd, const char *name, const char *shown, struct ck_span text,
    struct ck_fail *fail)
{
	bool same = false;
	ck_err r;

	if ((r = holds(dirfd, name, shown, text, &same, fail)) != CK_OK ||
	    same)
		return r;
	if ((r = ck_io_replace(dirfd, name, shown, text.p, text.n, 0600,
	    fail)) != CK_OK)
		return r;
	if ((r = holds(dirfd, name, shown, text, &same, fail)) == CK_OK &&
	    !same)
		r = ck_fail_set(fail, CK_IO, shown,
		    "does not give back what was written");
	return r;
}

ck_err
ck_rules_write(const struct ck_place *p, int dirfd, struct ck_records *rec,
    struct ck_fail *fail)
{
	struct made *m = NULL;
	ck_err r;

	if ((r = make(p, rec, MAKE_SB | MAKE_PROVED, &m, fail)) != CK_OK)
		return r;
	if ((r = write_one(dirfd, CK_RULES_FILE, p->rules,
	    ck_buf_view(&m->sb), fail)) == CK_OK)
		r = write_one(dirfd, CK_MOUNTS_FILE, p->mounts,
		    ck_buf_view(&m->mounts), fail);
	made_free(&m);
	return r;
}

/* The plan on disk against m->plan.  A text that is no plan is another one. */
static ck_err
compare_plan(const struct ck_place *p, int dirfd, struct made *m, bool *ret,
    bool *ret_facts, struct ck_fail *fail)
{
	uint8_t *bytes = NULL;
	size_t n = 0;
	ck_err r;

	r = read_file(dirfd, CK_MOUNTS_FILE, p->mounts, &bytes, &n, fail);
	if (r != CK_OK)
		return r;
	*ret_facts = false;
	*ret = bytes != NULL && ck_mounts_read((const char *)bytes, n,
	    p->mounts, &m->on_disk, NULL) == CK_OK &&
	    ck_mounts_same(&m->on_disk, &m->plan, ret_facts);
	free(bytes);
	return CK_OK;
}

ck_err
ck_rules_match(const struct ck_place *p, int dirfd, struct ck_records *rec,
    const char **ret, struct ck_fail *fail)
{
	struct made *m = NULL;
	bool sb = false, plan = false, facts;
	ck_err r;

	/* The same text was proved when it was written; what differs from it
	 * is not asked for a proof. */
	if ((r = make(p, rec, MAKE_SB, &m, fail)) != CK_OK)
		return r;
	if ((r = holds(dirfd, CK_RULES_FILE, p->rules, ck_buf_view(&m->sb),
	    &sb, fail)) == CK_OK &&
	    (r = compare_plan(p, dirfd, m, &plan, &facts, fail)) == CK_OK)
		*ret = !sb ? p->rules : !plan ? p->mounts : NULL;
	made_free(&m);
	return r;
}

ck_err
ck_rules_ready(const struct ck_place *p, int dirfd, struct ck_records *rec,
    struct ck_fail *fail)
{
	struct made *m = NULL;
	bool plan = false, facts = false;
	ck_err r;

	if ((r = make(p, rec, MAKE_PROVED, &m, fail)) != CK_OK)
		return r;
	r = compare_plan(p, dirfd, m, &plan, &facts, fail);
	made_free(&m);
	if (r != CK_OK || (plan && facts))
		return r;
	(void)ck_fail_set(fail, CK_NOENFORCE, p->mounts, plan ?
	    "was made when one of the directories in it was another one" :
	    "is not what the records give");
	ck_advise(fail, p, "{rules --write}");
	return CK_NOENFORCE;
}
