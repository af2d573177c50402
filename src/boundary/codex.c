/* SPDX-License-Identifier: Apache-2.0 */
/* The decision; see codex.h. */
#include "boundary/codex_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One place that may set a mode. */
struct source {
	const char *place;
	const char *mode, *permissions;      /* "" when it sets none */
	bool broken;
};

/* Managed file, two spellings of the command line, and each layer. */
enum { SOURCES = CK_CODEX_LAYERS + 4 };

struct decision {
	const struct ck_codex_world *w;
	struct ck_codex_words words;
	struct codex_file file[CK_CODEX_LAYERS];
	const struct codex_file *user;       /* the user's, or NULL */
	const struct codex_file *named;      /* that of --profile, or NULL */
	const char *profile;                 /* that counts, or NULL */
	bool top_profile;                    /* it is the user file's word */
	char name[CK_CODEX_VALUE];           /* that word */
};

/* How Codex may read what is not settled. */
struct variant {
	bool project;                /* the project's files count */
	bool old;                    /* profiles as before 0.134 */
};

static void
undecided(struct ck_native_answer *ret, const char *place, const char *why)
{
	ck_native_set(ret, CK_NATIVE_UNDECIDED, place, "%s", why);
}

/* --- values --- */

static void
by_mode(const char *mode, const char *place, struct ck_native_answer *ret)
{
	if (strcmp(mode, "danger-full-access") == 0)
		ck_native_set(ret, CK_NATIVE_FULL, place,
		    "sets danger-full-access");
	else if (strcmp(mode, "read-only") == 0 ||
	    strcmp(mode, "workspace-write") == 0)
		ck_native_set(ret, CK_NATIVE_OWN, place, "sets %s", mode);
	else
		undecided(ret, place, "sets a mode that is not known");
}

/* [permissions.NAME] of all layers: the worst of them. */
static enum codex_table
table_of(const struct decision *d)
{
	enum codex_table table = CODEX_TABLE_NONE;

	for (size_t i = 0; i < d->w->n; i++)
		if (d->file[i].table > table)
			table = d->file[i].table;
	return table;
}

static void
by_permissions(const struct decision *d, const char *name,
    const char *place, struct ck_native_answer *ret)
{
	if (strcmp(name, ":danger-full-access") == 0)
		ck_native_set(ret, CK_NATIVE_FULL, place,
		    "sets :danger-full-access");
	else if (strcmp(name, ":read-only") == 0 ||
	    strcmp(name, ":workspace") == 0)
		ck_native_set(ret, CK_NATIVE_OWN, place, "sets %s", name);
	else if (name[0] == ':' || d->words.odd)
		undecided(ret, place, "sets permissions that are not known");
	else if (table_of(d) == CODEX_TABLE_FULL)
		ck_native_set(ret, CK_NATIVE_FULL, place,
		    "sets permissions that write to the root");
	else if (table_of(d) == CODEX_TABLE_SOME)
		ck_native_set(ret, CK_NATIVE_OWN, place,
		    "sets permissions of its own");
	else
		undecided(ret, place, "sets permissions that no file "
		    "explains");
}

static void
by_source(const struct decision *d, const struct source *s, bool legacy,
    struct ck_native_answer *ret)
{
	if (legacy)
		by_mode(s->mode, s->place, ret);
	else
		by_permissions(d, s->permissions, s->place, ret);
}

/* --- the sources of one variant, by rank --- */

static void
add(struct source *s, size_t *n, const char *place, const char *mode,
    const char *permissions, bool broken)
{
	const struct source next = { place, mode, permissions, broken };

	s[(*n)++] = next;
}

static void
add_layers(const struct decision *d, enum ck_codex_kind kind,
    struct source *s, size_t *n)
{
	for (size_t i = 0; i < d->w->n; i++)
		if (d->w->layer[i].kind == kind)
			add(s, n, d->w->layer[i].path, d->file[i].mode,
			    d->file[i].permissions, d->file[i].broken);
}

static size_t
sources(const struct decision *d, const struct variant *v,
    struct source s[SOURCES])
{
	size_t n = 0;

	add_layers(d, CK_CODEX_MANAGED, s, &n);
	add(s, &n, "-c", d->words.mode, d->words.permissions, false);
	if (v->old && d->profile != NULL && d->user != NULL)
		add(s, &n, "[profiles]", d->user->profile_mode,
		    d->user->profile_permissions, d->user->broken);
	if (v->project)
		add_layers(d, CK_CODEX_PROJECT, s, &n);
	if (!v->old)
		add_layers(d, CK_CODEX_PROFILE, s, &n);
	add_layers(d, CK_CODEX_USER, s, &n);
	add_layers(d, CK_CODEX_SYSTEM, s, &n);
	return n;
}

/* --sandbox counts as the older syntax, and a mode in any layer. */
static bool
is_legacy(const struct decision *d, const struct source *s, size_t n)
{
	bool legacy = d->words.flags.sandbox[0] != '\0' ||
	    d->words.flags.native || d->words.flags.bypass;

	for (size_t i = 0; i < n; i++)
		legacy = legacy || s[i].mode[0] != '\0';
	return legacy;
}

static const char *
broken_before(const struct source *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i].broken)
			return s[i].place;
	return NULL;
}

/* The flags, which stand behind the managed files and before all else. */
static bool
by_flags(const struct decision *d, struct ck_native_answer *ret)
{
	const struct ck_codex_flags *f = &d->words.flags;

	if (f->bypass)
		ck_native_set(ret, CK_NATIVE_FULL, f->sandbox_word,
		    "turns the sandbox off");
	else if (f->sandbox[0] != '\0')
		by_mode(f->sandbox, "--sandbox", ret);
	else if (f->native)
		ck_native_set(ret, CK_NATIVE_OWN, f->sandbox_word,
		    "is a kind of workspace-write");
	else
		return false;
	return true;
}

/* A managed file decides; but whoever says otherwise on the command line may
 * know better than we. */
static void
against_words(const struct decision *d, const struct source *words,
    struct ck_native_answer *ret)
{
	struct ck_native_answer said;

	if (!by_flags(d, &said)) {
		if (words->mode[0] != '\0')
			by_mode(words->mode, words->place, &said);
		else if (words->permissions[0] != '\0')
			by_permissions(d, words->permissions, words->place,
			    &said);
		else
			return;
	}
	if (said.answer != ret->answer)
		undecided(ret, ret->place,
		    "is managed, and the command line says otherwise");
}

static void
decide_variant(const struct decision *d, const struct variant *v,
    struct ck_native_answer *ret)
{
	struct source s[SOURCES];
	const char *broken;
	size_t n = sources(d, v, s), at = 0, words = 0;
	bool legacy = is_legacy(d, s, n);

	while (strcmp(s[words].place, "-c") != 0)
		words++;
	while (at < n && (legacy ? s[at].mode : s[at].permissions)[0] ==
	    '\0')
		at++;
	if (at >= words && by_flags(d, ret)) {
		at = words;
	} else if (at > words && d->words.odd) {
		undecided(ret, "-c", "changes profiles, permissions or "
		    "trust");
	} else if (at < n) {
		by_source(d, &s[at], legacy, ret);
		if (at < words)
			against_words(d, &s[words], ret);
	} else {
		ck_native_set(ret, CK_NATIVE_OWN, "",
		    "nothing sets a mode: the built-in one confines");
	}
	/* The newer syntax counts only where no layer has the older one. */
	broken = broken_before(s, legacy && at < n ? at + 1 : n);
	if (broken != NULL)
		undecided(ret, broken, "cannot be read or understood");
}

/* --- what is not settled --- */

/* Is the project trusted?  The closest directory that is listed decides. */
static void
trusts(const struct decision *d, bool *ret_with, bool *ret_without)
{
	bool has = false, known, trusted;

	for (size_t i = 0; i < d->w->n; i++)
		has = has || d->w->layer[i].kind == CK_CODEX_PROJECT;
	known = d->user != NULL && !d->user->broken &&
	    d->user->trust_rank != 0 && !d->words.odd;
	trusted = known && d->user->trusted;
	*ret_with = has && (trusted || !known);
	*ret_without = !has || !trusted;
}

/* Before 0.134 a profile is a table of the user file, since then a file of
 * its own; a version that finds neither does not start. */
static bool
profiles(const struct decision *d, bool *ret_old, bool *ret_new,
    struct ck_native_answer *ret)
{
	bool table = d->user != NULL && d->user->has_profile;
	bool file = d->named != NULL;

	*ret_old = table;
	*ret_new = d->profile == NULL || file || d->top_profile;
	if (*ret_old || *ret_new)
		return true;
	undecided(ret, d->profile, "is a profile that no file has");
	return false;
}

/* All readings must agree. */
static void
decide_all(const struct decision *d, struct ck_native_answer *ret)
{
	bool with = false, without = false, old = false, new = false;
	struct ck_native_answer one;
	bool first = true;

	if (!profiles(d, &old, &new, ret))
		return;
	trusts(d, &with, &without);
	for (int i = 0; i < 4; i++) {
		const struct variant v = { (i & 1) != 0, (i & 2) != 0 };

		if (!(v.project ? with : without) || !(v.old ? old : new))
			continue;
		decide_variant(d, &v, &one);
		if (!first && one.answer != ret->answer) {
			undecided(ret, one.place[0] != '\0' ? one.place :
			    ret->place, with && without ?
			    "counts only if the project is trusted" :
			    "counts in some versions only");
			return;
		}
		if (first)
			*ret = one;
		first = false;
	}
}

/* Full access that may not be asked for is refused or lowered by Codex. */
static void
requirements(const struct decision *d, struct ck_native_answer *ret)
{
	for (size_t i = 0; i < d->w->n; i++) {
		const struct codex_file *f = &d->file[i];

		if (d->w->layer[i].kind != CK_CODEX_REQUIREMENTS)
			continue;
		if ((ret->answer == CK_NATIVE_FULL && (f->broken ||
		    (f->lists_modes && !f->allows_full))) ||
		    f->lists_profiles)
			undecided(ret, d->w->layer[i].path,
			    "may not allow what is asked for");
	}
}

/* --- reading --- */

static void
read_layers(struct decision *d, const char *permissions)
{
	const struct ck_codex_world *w = d->w;

	d->user = d->named = NULL;
	for (size_t i = 0; i < w->n; i++) {
		const struct codex_wanted want = {
			w->layer[i].kind == CK_CODEX_REQUIREMENTS,
			d->profile, permissions, w->trust, w->trusts,
		};

		codex_file_read(&w->layer[i], &want, &d->file[i]);
		if (w->layer[i].kind == CK_CODEX_USER)
			d->user = &d->file[i];
		if (w->layer[i].kind == CK_CODEX_PROFILE)
			d->named = &d->file[i];
	}
}

/* The name of a table of permissions that some layer asks for; "" for none,
 * and for more than one, which is then explained by no file. */
static const char *
asked_permissions(const struct decision *d)
{
	const char *name = d->words.permissions;

	if (name[0] == ':')
		name = "";
	for (size_t i = 0; i < d->w->n; i++) {
		const struct codex_file *f = &d->file[i];
		const char *const here[] = { f->permissions,
			f->profile_permissions };

		for (size_t j = 0; j < 2; j++) {
			if (here[j][0] == '\0' || here[j][0] == ':')
				continue;
			if (name[0] != '\0' && strcmp(name, here[j]) != 0)
				return "";
			name = here[j];
		}
	}
	return name;
}

/* More than once, since one file tells what to look for in another. */
static void
read_all(struct decision *d)
{
	char permissions[CK_CODEX_VALUE];

	d->profile = d->words.profile;
	read_layers(d, NULL);
	if (d->profile == NULL && d->user != NULL &&
	    d->user->profile[0] != '\0') {
		memcpy(d->name, d->user->profile, sizeof(d->name));
		d->top_profile = true;
		d->profile = d->name;
		read_layers(d, NULL);
	}
	(void)snprintf(permissions, sizeof(permissions), "%s",
	    asked_permissions(d));
	if (permissions[0] != '\0')
		read_layers(d, permissions);
}

static void
decide(struct decision *d, struct ck_native_answer *ret)
{
	const struct ck_codex_world *w = d->w;

	ck_codex_words(w->argc, w->argv, &d->words);
	if (d->words.unknown != NULL)
		undecided(ret, d->words.unknown, "is an option that is not "
		    "known, or lacks its value");
	else if (d->words.late)
		undecided(ret, "-c", "sets a mode behind app-server, where it "
		    "may not count");
	else if (w->preferences)
		undecided(ret, "managed preferences", "exist and cannot be "
		    "read here");
	else if (w->n > CK_CODEX_LAYERS)
		undecided(ret, "", "there are more files than are read");
	else {
		read_all(d);
		decide_all(d, ret);
		requirements(d, ret);
	}
}

void
ck_codex_decide(const struct ck_codex_world *w, struct ck_native_answer *ret)
{
	struct decision *d = calloc(1, sizeof(*d));

	if (d == NULL) {
		undecided(ret, "", "there is no memory");
		return;
	}
	d->w = w;
	decide(d, ret);
	free(d);
}
