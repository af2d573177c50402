/* SPDX-License-Identifier: Apache-2.0 */
/* From protected paths to rules on disk; see rules.h. */
#include "custody/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boundary/seatbelt.h"

/* Rows of the file broker: its directory goes with it. */
#define WHY_BROKER "file broker"

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

/* Where the usual things are. */
struct usual_places {
	const char *dir, *file_broker, *config, *settings, *home;
};

static ck_err
add_usual(const struct usual_places *at, struct ck_rules_set *set,
    struct ck_fail *fail)
{
	const struct {
		const char *dir, *name;
		bool directory, deny_read;
		const char *why;
	} usual[] = {
		{ at->dir, NULL, true, true, "custody directory" },
		{ at->file_broker, NULL, false, true, WHY_BROKER },
		{ at->config, "clankie/credentials.json", false, true,
		    WHY_BROKER },
		{ at->settings, NULL, false, false, "settings" },
		{ at->config, "clankie-keys", true, false,
		    "unlock password" },
		{ at->config, "herdr/config.toml", false, false,
		    "Herdr configuration" },
		{ at->home, ".local/libexec/clankie-keys", true, false,
		    "worker entry" },
	};
	char path[CK_PATH_MAX];
	ck_err r;

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		r = usual[i].name == NULL ?
		    ck_path_format(path, fail, "%s", usual[i].dir) :
		    below(usual[i].dir, usual[i].name, path, fail);
		if (r != CK_OK || (r = add(set, path, usual[i].directory,
		    usual[i].deny_read, usual[i].why, fail)) != CK_OK)
			return r;
	}
	return CK_OK;
}

ck_err
ck_rules_defaults(const struct ck_place *p, const char *const *checkouts,
    size_t n, struct ck_rules_set *ret, struct ck_fail *fail)
{
	const struct usual_places at = { p->dir, p->file_broker, p->config,
		p->settings, p->home };
	struct ck_rules_set set;
	char path[CK_PATH_MAX];
	ck_err r;

	set.n = 0;
	if ((r = add_usual(&at, &set, fail)) != CK_OK)
		return r;
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

/* What is protected whatever the records say, by nothing but the home: rules
 * that followed the environment would be others for each caller. */
static ck_err
add_pinned(const struct ck_place *p, struct ck_rules_set *set,
    struct ck_fail *fail)
{
	char config[CK_PATH_MAX], broker[CK_PATH_MAX], settings[CK_PATH_MAX];
	const struct usual_places at = { p->dir, broker, config, settings,
		p->home };
	ck_err r;

	if ((r = below(p->home, ".config", config, fail)) != CK_OK ||
	    (r = below(config, "clankie/credentials.json", broker,
	    fail)) != CK_OK ||
	    (r = below(config, "clankie/settings.json", settings,
	    fail)) != CK_OK)
		return r;
	return add_usual(&at, set, fail);
}

static ck_err
collect(void *arg, const struct ck_rec_protected *row)
{
	struct ck_rules_set *set = arg;

	for (size_t i = 0; i < set->n; i++) {
		struct ck_rec_protected *known = &set->row[i];

		if (strcmp(known->path, row->path) != 0)
			continue;
		/* A row makes nothing weaker, but it may close more. */
		known->deny_read = known->deny_read || row->deny_read;
		known->directory = known->directory || row->directory;
		return CK_OK;
	}
	if (set->n == CK_RULES_ROWS_MAX)
		return CK_REFUSED;
	set->row[set->n++] = *row;
	return CK_OK;
}

static ck_err
collect_broker(void *arg, const struct ck_rec_store *row)
{
	return row->kind != CK_KIND_FILE_BROKER ? CK_OK :
	    add_row(arg, row->path, false, true, WHY_BROKER, NULL);
}

ck_err
ck_rules_recorded(const struct ck_place *p, struct ck_records *rec,
    struct ck_rules_set *ret, struct ck_fail *fail)
{
	ck_err r;

	/* First, so that a row cannot make them weaker either. */
	ret->n = 0;
	if ((r = add_pinned(p, ret, fail)) != CK_OK)
		return r;
	/* All of them, so that it is the same for whichever credential. */
	if ((r = ck_records_store_each(rec, collect_broker, ret,
	    fail)) != CK_OK)
		return r;
	if (p->broker_kind == CK_KIND_FILE_BROKER &&
	    (r = add_row(ret, p->broker, false, true, WHY_BROKER,
	    fail)) != CK_OK)
		return r;
	return ck_records_protected_each(rec, collect, ret, fail);
}

enum { SHOWN = 5 };     /* names that a mask shows */

/* The set as the boundary takes it, with room for the names that a mask
 * shows; the caller frees.  NULL: no memory. */
static struct ck_protect *
protect_of(const struct ck_rules_set *set)
{
	struct ck_protect *protect = calloc(set->n + SHOWN, sizeof(*protect));

	for (size_t i = 0; protect != NULL && i < set->n; i++) {
		const struct ck_rec_protected *row = &set->row[i];

		memcpy(protect[i].path, row->path, sizeof(protect[i].path));
		protect[i].directory = row->directory;
		protect[i].deny_read = row->deny_read;
		protect[i].why = row->why;
		protect[i].close_parent = !row->directory &&
		    strcmp(row->why, WHY_BROKER) == 0;
	}
	return protect;
}

/*
 * What somebody who looks for it finds in the masked custody directory: a
 * dedicated keychain that is there and cannot be read, or a program would fall
 * back to another store.  Appended to the set.
 */
static void
show_custody(const struct ck_place *p, struct ck_protect *protect, size_t *n)
{
	const struct {
		const char *path;
		bool directory;
	} shown[SHOWN] = {
		{ p->operator_dir, true },
		{ p->keychain, false },
		{ p->records, false },
		{ p->rules, false },
		{ p->mounts, false },
	};

	for (size_t i = 0; i < SHOWN; i++) {
		struct ck_protect *what = &protect[(*n)++];

		(void)snprintf(what->path, sizeof(what->path), "%s",
		    shown[i].path);
		what->directory = shown[i].directory;
		what->deny_read = true;
		what->why = "custody directory";
	}
}

static ck_err
make_policy(const struct ck_place *p, const struct ck_rules_set *set,
    bool prove, struct ck_policy **ret, struct ck_fail *fail)
{
	/* The profile is read by macOS, whose volumes fold case and show the
	 * data volume under a second name. */
	const struct ck_worker_options options = { p->home, true, true };
	struct ck_protect *protect = protect_of(set);
	ck_err r;

	if (protect == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	r = ck_policy_worker(protect, set->n, &options, ret, fail);
	if (r == CK_OK && prove && (r = ck_policy_covers(*ret, protect,
	    set->n, &options, fail)) != CK_OK)
		ck_policy_free(ret);
	free(protect);
	return r;
}

ck_err
ck_rules_policy(const struct ck_place *p, const struct ck_rules_set *set,
    struct ck_policy **ret, struct ck_fail *fail)
{
	return make_policy(p, set, true, ret, fail);
}

ck_err
ck_rules_seatbelt(const struct ck_place *p, const struct ck_rules_set *set,
    bool prove, struct ck_buf *out, struct ck_fail *fail)
{
	struct ck_policy *policy = NULL;
	ck_err r;

	if ((r = make_policy(p, set, prove, &policy, fail)) == CK_OK)
		r = ck_seatbelt_render(policy, out, fail);
	ck_policy_free(&policy);
	return r;
}

void
ck_rules_mounts_options(const struct ck_place *p,
    struct ck_mounts_options *ret)
{
	ret->home = p->home;
	ret->user = (unsigned long)geteuid();
	ret->look = ck_mounts_look;
	ret->arg = NULL;
}

ck_err
ck_rules_mounts(const struct ck_place *p, const struct ck_rules_set *set,
    bool prove, struct ck_mounts *ret, struct ck_fail *fail)
{
	struct ck_protect *protect = protect_of(set);
	struct ck_mounts_options options;
	size_t n = set->n;
	ck_err r;

	if (protect == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	ck_rules_mounts_options(p, &options);
	show_custody(p, protect, &n);
	r = ck_mounts_compile(protect, n, &options, ret, fail);
	if (r == CK_OK && prove)
		r = ck_mounts_cover(ret, protect, n, &options, fail);
	free(protect);
	return r;
}

ck_err
ck_rules_possible(const struct ck_place *p, const struct ck_rules_set *set,
    struct ck_fail *fail)
{
	struct ck_mounts *plan = calloc(1, sizeof(*plan));
	struct ck_buf text = CK_BUF_INIT;
	ck_err r;

	if (plan == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	if ((r = ck_rules_seatbelt(p, set, true, &text, fail)) == CK_OK)
		r = ck_rules_mounts(p, set, true, plan, fail);
	ck_buf_free(&text);
	free(plan);
	return r;
}
