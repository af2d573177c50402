/* SPDX-License-Identifier: Apache-2.0 */
/* From protected paths to rules on disk; see rules.h. */
#include "custody/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "boundary/seatbelt.h"

/* Largest rules file that is read back. */
#define RULES_MAX ((size_t)4 << 20)

static ck_err
add_row(struct ck_rules_set *set, const char *path, bool directory,
    bool deny_read, const char *why, struct ck_fail *fail)
{
	struct ck_rec_protected *row;

	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->row[i].path, path) == 0)
			return CK_OK;
	if (set->n == CK_RULES_ROWS_MAX)
		return ck_fail_set(fail, CK_REFUSED, path,
		    "is one protected path more than the %d that fit",
		    CK_RULES_ROWS_MAX);
	row = &set->row[set->n++];
	memset(row, 0, sizeof(*row));
	(void)snprintf(row->path, sizeof(row->path), "%s", path);
	(void)snprintf(row->why, sizeof(row->why), "%s", why);
	row->directory = directory;
	row->deny_read = deny_read;
	return CK_OK;
}

/* The path, and where it leads when it is a symbolic link. */
static ck_err
add(struct ck_rules_set *set, const char *path, bool directory,
    bool deny_read, const char *why, struct ck_fail *fail)
{
	char real[CK_PATH_MAX];
	struct stat st;
	ck_err r;

	if ((r = add_row(set, path, directory, deny_read, why,
	    fail)) != CK_OK)
		return r;
	if (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode))
		return CK_OK;
	if ((r = ck_path_canonical(path, real, fail)) != CK_OK)
		return r;
	return add_row(set, real, directory, deny_read, why, fail);
}

/* dir/name, the directory resolved as far as it exists. */
static ck_err
below(const char *dir, const char *name, char ret[CK_PATH_MAX],
    struct ck_fail *fail)
{
	char path[CK_PATH_MAX], parent[CK_PATH_MAX], real[CK_PATH_MAX];
	ck_err r;

	if ((r = ck_path_join(dir, name, path, fail)) != CK_OK)
		return r;
	ck_path_parent(path, parent);
	if ((r = ck_path_canonical(parent, real, fail)) != CK_OK)
		return r;
	return ck_path_join(real, ck_path_base(path), ret, fail);
}

ck_err
ck_rules_defaults(const struct ck_place *p, const char *const *checkouts,
    size_t n, struct ck_rules_set *ret, struct ck_fail *fail)
{
	const struct {
		const char *dir, *name;
		bool directory, deny_read;
		const char *why;
	} usual[] = {
		{ p->dir, NULL, true, true, "custody directory" },
		{ p->file_broker, NULL, false, true, "file broker" },
		{ p->config, "clankie/credentials.json", false, true,
		    "file broker" },
		{ p->settings, NULL, false, false, "settings" },
		{ p->config, "clankie-keys", true, false,
		    "unlock password" },
		{ p->config, "herdr/config.toml", false, false,
		    "Herdr configuration" },
		{ p->home, ".local/libexec/clankie-keys", true, false,
		    "worker entry" },
	};
	struct ck_rules_set set;
	char path[CK_PATH_MAX];
	ck_err r;

	set.n = 0;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		r = usual[i].name == NULL ?
		    ck_path_format(path, fail, "%s", usual[i].dir) :
		    below(usual[i].dir, usual[i].name, path, fail);
		if (r != CK_OK || (r = add(&set, path, usual[i].directory,
		    usual[i].deny_read, usual[i].why, fail)) != CK_OK)
			return r;
	}
	for (size_t i = 0; i < n; i++)
		if ((r = below(checkouts[i], ".env.local", path,
		    fail)) != CK_OK ||
		    (r = add(&set, path, false, true, "checkout",
		    fail)) != CK_OK)
			return r;
	ret->n = set.n;
	memcpy(ret->row, set.row, set.n * sizeof(set.row[0]));
	return CK_OK;
}

static ck_err
collect(void *arg, const struct ck_rec_protected *row)
{
	struct ck_rules_set *set = arg;

	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->row[i].path, row->path) == 0)
			return CK_OK;
	if (set->n == CK_RULES_ROWS_MAX)
		return CK_REFUSED;
	set->row[set->n++] = *row;
	return CK_OK;
}

static ck_err
collect_broker(void *arg, const struct ck_rec_store *row)
{
	return row->kind != CK_KIND_FILE_BROKER ? CK_OK :
	    add_row(arg, row->path, false, true, "file broker", NULL);
}

ck_err
ck_rules_recorded(const struct ck_place *p, struct ck_records *rec,
    struct ck_rules_set *ret, struct ck_fail *fail)
{
	ck_err r;

	/* These are what the rules are for: no edit of the records takes them
	 * out.  First, so that a row cannot make them weaker either. */
	ret->n = 0;
	if ((r = add_row(ret, p->dir, true, true, "custody directory",
	    fail)) != CK_OK)
		return r;
	/* All of them, so that it is the same for whichever credential. */
	if ((r = ck_records_store_each(rec, collect_broker, ret,
	    fail)) != CK_OK)
		return r;
	if (p->broker_kind == CK_KIND_FILE_BROKER &&
	    (r = add_row(ret, p->broker, false, true, "file broker",
	    fail)) != CK_OK)
		return r;
	return ck_records_protected_each(rec, collect, ret, fail);
}

/* prove: evaluate the policy against the set before it is rendered. */
static ck_err
render(const struct ck_place *p, const struct ck_rules_set *set, bool prove,
    struct ck_buf *out, struct ck_fail *fail)
{
	/* The profile is read by macOS, whose volumes fold case and show the
	 * data volume under a second name. */
	const struct ck_worker_options options = { p->home, true, true };
	struct ck_policy *policy = NULL;
	struct ck_protect *protect;
	ck_err r;

	protect = calloc(set->n == 0 ? 1 : set->n, sizeof(*protect));
	if (protect == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	for (size_t i = 0; i < set->n; i++) {
		memcpy(protect[i].path, set->row[i].path,
		    sizeof(protect[i].path));
		protect[i].directory = set->row[i].directory;
		protect[i].deny_read = set->row[i].deny_read;
		protect[i].why = set->row[i].why;
	}
	r = ck_policy_worker(protect, set->n, &options, &policy, fail);
	if (r == CK_OK && prove)
		r = ck_policy_covers(policy, protect, set->n, &options, fail);
	if (r == CK_OK)
		r = ck_seatbelt_render(policy, out, fail);
	ck_policy_free(&policy);
	free(protect);
	return r;
}

ck_err
ck_rules_seatbelt(const struct ck_place *p, const struct ck_rules_set *set,
    struct ck_buf *out, struct ck_fail *fail)
{
	return render(p, set, true, out, fail);
}

/* The rules that the records give, now. */
static ck_err
recorded_text(const struct ck_place *p, struct ck_records *rec, bool prove,
    struct ck_buf *out, struct ck_fail *fail)
{
	struct ck_rules_set *set = calloc(1, sizeof(*set));
	ck_err r;

	if (set == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	if ((r = ck_rules_recorded(p, rec, set, fail)) == CK_OK)
		r = render(p, set, prove, out, fail);
	free(set);
	return r;
}

/* Compare worker.sb with text. */
static ck_err
on_disk(const struct ck_place *p, int dirfd, struct ck_span text, bool *ret,
    struct ck_fail *fail)
{
	uint8_t *bytes = NULL;
	size_t n = 0;
	int fd = -1;
	ck_err r;

	r = ck_io_open_file(dirfd, CK_RULES_FILE, p->rules,
	    CK_IO_OWNER | CK_IO_NOWRITE | CK_IO_ONELINK, &fd, NULL, fail);
	if (r == CK_NOSTORE) {
		*ret = false;
		return CK_OK;
	}
	if (r != CK_OK)
		return r;
	r = ck_io_read_all(fd, RULES_MAX, p->rules, &bytes, &n, fail);
	ck_io_close(&fd);
	if (r != CK_OK)
		return r;
	*ret = n == text.n && memcmp(bytes, text.p, n) == 0;
	free(bytes);
	return CK_OK;
}

ck_err
ck_rules_write(const struct ck_place *p, int dirfd, struct ck_records *rec,
    struct ck_fail *fail)
{
	struct ck_buf text = CK_BUF_INIT;
	bool same = false;
	ck_err r;

	if ((r = recorded_text(p, rec, true, &text, fail)) != CK_OK)
		goto out;
	if ((r = on_disk(p, dirfd, ck_buf_view(&text), &same, fail)) != CK_OK ||
	    same)
		goto out;
	if ((r = ck_io_replace(dirfd, CK_RULES_FILE, p->rules, text.p, text.n,
	    0600, fail)) != CK_OK)
		goto out;
	if ((r = on_disk(p, dirfd, ck_buf_view(&text), &same, fail)) == CK_OK &&
	    !same)
		r = ck_fail_set(fail, CK_IO, p->rules,
		    "does not give back what was written");
out:
	ck_buf_free(&text);
	return r;
}

ck_err
ck_rules_match(const struct ck_place *p, int dirfd, struct ck_records *rec,
    bool *ret, struct ck_fail *fail)
{
	struct ck_buf text = CK_BUF_INIT;
	ck_err r;

	/* The same text was proved when it was written; what differs from it
	 * is not asked for a proof. */
	if ((r = recorded_text(p, rec, false, &text, fail)) == CK_OK)
		r = on_disk(p, dirfd, ck_buf_view(&text), ret, fail);
	ck_buf_free(&text);
	return r;
}
