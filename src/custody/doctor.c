/* SPDX-License-Identifier: Apache-2.0 */
/* Remedies with the real places in them, in their order; see doctor.h. */
#include "custody/doctor_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "custody/preflight.h"
#include "store/login.h"

/* How many names beside a place are tried for putting it aside. */
#define ASIDES_MAX 100

void
ck_doctor_quote(struct ck_buf *b, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789_-./:@%+=,";

	if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
		ck_buf_text(b, text);
		return;
	}
	ck_buf_text(b, "'");
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			ck_buf_text(b, "'\"'\"'");
		else
			ck_buf_bytes(b, text, 1);
	}
	ck_buf_text(b, "'");
}

/* The keychain is alone in its directory, also when it is put aside. */
bool
ck_doctor_aside(const struct ck_case *c, char ret[CK_PATH_MAX])
{
	const char *place = c->f->place;
	const char *dir = NULL;
	char parent[CK_PATH_MAX];
	struct stat st;

	if (c->p != NULL && strcmp(place, c->p->keychain) == 0)
		dir = c->p->dir;
	ck_path_parent(place, parent);
	for (int i = 1; i <= ASIDES_MAX; i++) {
		if (ck_path_format(ret, NULL, "%s/%s.aside-%d",
		    dir != NULL ? dir : parent, ck_path_base(place),
		    i) != CK_OK)
			return false;
		if (lstat(ret, &st) != 0 && errno == ENOENT)
			return true;
	}
	return false;
}

bool
ck_doctor_target(const struct ck_case *c, char ret[CK_PATH_MAX])
{
	struct stat st;

	return c->f->place[0] == '/' && stat(c->f->place, &st) == 0 &&
	    ck_path_canonical(c->f->place, ret, NULL) == CK_OK;
}

/* Hard links of a file lie on its file system, anywhere. */
static void
mount_root(const char *place, char ret[CK_PATH_MAX])
{
	char up[CK_PATH_MAX];
	struct stat here, st;

	ck_path_parent(place, ret);
	if (lstat(place, &here) != 0)
		return;
	while (strcmp(ret, "/") != 0) {
		ck_path_parent(ret, up);
		if (stat(up, &st) != 0 || st.st_dev != here.st_dev)
			return;
		memcpy(ret, up, sizeof(up));
	}
}

/* find(1) takes the name for a pattern. */
static void
pattern(struct ck_buf *b, const char *place)
{
	char text[2 * CK_PATH_MAX];
	size_t n = 0;

	for (; *place != '\0' && n + 2 < sizeof(text); place++) {
		if (strchr("*?[]\\", *place) != NULL)
			text[n++] = '\\';
		text[n++] = *place;
	}
	text[n] = '\0';
	ck_doctor_quote(b, text);
}

static void
option(struct ck_buf *b, const char *name, const char *value)
{
	ck_buf_format(b, " %s ", name);
	ck_doctor_quote(b, value);
}

void
ck_doctor_options(const struct ck_place *p, bool password, struct ck_buf *b)
{
	char usual[CK_PATH_MAX], broker[CK_PATH_MAX + 16];
	bool keychain = p->broker_kind == CK_KIND_LOGIN_KEYCHAIN;

	if (ck_path_join(p->home, ".clankie-keys", usual, NULL) == CK_OK &&
	    strcmp(usual, p->dir) != 0)
		option(b, "--home", p->dir);
	if (p->broker_said) {
		(void)snprintf(broker, sizeof(broker), "%s:%s",
		    keychain ? "keychain" : "file", p->broker);
		option(b, "--broker", broker);
	}
	if (password && keychain)
		ck_buf_text(b, " --login-password-fd 3 3<PASSWORD-FILE");
}

static void
credential(const struct ck_place *p, struct ck_buf *b)
{
	if (strcmp(p->credential, CK_OPERATOR_NAME) == 0)
		return;
	ck_buf_text(b, " ");
	ck_doctor_quote(b, p->credential);
}

/* The words behind "clankie-keys" of a next step.  They may come from records
 * that anybody edited. */
static void
words(const char *next, struct ck_buf *b)
{
	char word[sizeof(((struct ck_finding *)NULL)->next)];

	for (next += strcspn(next, " "); *next != '\0';) {
		size_t n;

		next += strspn(next, " ");
		n = strcspn(next, " ");
		if (n == 0)
			break;
		memcpy(word, next, n);
		word[n] = '\0';
		/* The options that follow bring the password. */
		if (strcmp(word, "--login-password-fd") == 0)
			break;
		if (strcmp(word, "--secret-fd") == 0) {
			ck_buf_text(b, " --secret-fd 4 4<VALUE-FILE");
			next += n + 1;
			next += strcspn(next, " ");
			continue;
		}
		ck_buf_text(b, " ");
		ck_doctor_quote(b, word);
		next += n;
	}
}

struct listed {
	const struct ck_place *p;
	struct ck_buf *b;
	size_t n;
};

static ck_err
listed(void *arg, const char *path)
{
	struct listed *l = arg;

	if (ck_preflight_is_ours(l->p, path))
		return CK_OK;
	ck_buf_text(l->b, " ");
	ck_doctor_quote(l->b, path);
	l->n++;
	return CK_OK;
}

/* False: it cannot be read, or nothing would be left of it. */
static bool
others_listed(const struct ck_place *p, struct ck_buf *b)
{
	struct listed l = { p, b, 0 };

	return ck_login_search_list(p->home, listed, &l, NULL) == CK_OK &&
	    l.n > 0;
}

/* One of the names of the place itself; false: there is none. */
static bool
about_place(const struct ck_case *c, char what, struct ck_buf *b)
{
	char path[CK_PATH_MAX];
	bool ok = true;

	switch (what) {
	case 'P':
		ck_doctor_quote(b, c->f->place);
		return true;
	case 'G':
		pattern(b, c->f->place);
		return true;
	case 'N':
		ck_doctor_quote(b, c->f->place + strcspn(c->f->place,
		    "0123456789"));
		return true;
	case 'V':
		words(c->f->next, b);
		return true;
	case 'M':
		mount_root(c->f->place, path);
		break;
	case 'A':
		ok = ck_doctor_aside(c, path);
		break;
	case 'T':
		ok = ck_doctor_target(c, path);
		break;
	default:
		return false;
	}
	if (ok)
		ck_doctor_quote(b, path);
	return ok;
}

/* A name of the custody; false: there is none. */
static bool
about_custody(const struct ck_place *p, char what, struct ck_buf *b)
{
	char path[CK_PATH_MAX];
	const char *name = path;

	switch (what) {
	case 'c':
		credential(p, b);
		return true;
	case 'L':
		return others_listed(p, b);
	case 'o':
	case 'w':
		ck_doctor_options(p, what == 'w', b);
		return true;
	case 'K':
		name = p->keychain;
		break;
	case 'O':
		name = p->operator_dir;
		break;
	case 'R':
		if (ck_path_join(p->dir, CK_REC_FILE, path, NULL) != CK_OK)
			return false;
		break;
	case 'U':
		name = p->unlock;
		break;
	case 'u':
		ck_path_parent(p->unlock, path);
		break;
	case 'B':
		name = p->broker;
		break;
	case 'S':
		name = p->settings;
		break;
	case 's':
		ck_path_parent(p->settings, path);
		break;
	case 'v':
		name = p->service;
		break;
	case 'a':
		name = p->account;
		break;
	default:
		return false;
	}
	ck_doctor_quote(b, name);
	return true;
}

/* False, and nothing: a name in it is not known. */
static bool
expand(const struct ck_case *c, const char *text, struct ck_buf *ret)
{
	struct ck_buf b = CK_BUF_INIT;
	bool ok = true;

	for (; ok && *text != '\0'; text++) {
		if (*text != '%') {
			ck_buf_bytes(&b, text, 1);
			continue;
		}
		text++;
		ok = about_place(c, *text, &b) || (c->p != NULL &&
		    about_custody(c->p, *text, &b));
	}
	if (ok)
		*ret = b;
	else
		ck_buf_free(&b);
	return ok;
}

static void
treat(const struct ck_case *c, struct ck_remedy *ret)
{
	struct ck_cure cure;
	bool done = false;

	ret->order = ck_doctor_cure(c, &cure);
	if (cure.command != NULL)
		done = expand(c, cure.command, &ret->command);
	if (cure.decide != NULL)
		(void)!expand(c, cure.decide, &ret->decide);
	/* check's own sentence is better than none. */
	if (!done && ret->decide.n == 0)
		ck_buf_text(&ret->decide, c->f->next);
}

static bool
is_same(const struct ck_remedy *a, const struct ck_remedy *b)
{
	return ck_span_equal(ck_buf_view(&a->command),
	    ck_buf_view(&b->command)) && (a->command.n > 0 ||
	    ck_span_equal(ck_buf_view(&a->decide), ck_buf_view(&b->decide)));
}

/* Insertion keeps the order in which check found equal ones. */
static void
insert(const struct ck_doctor *d, size_t list[], size_t n, size_t i,
    bool severity)
{
	const struct ck_finding *at = d->found.at;

	for (; n > 0; n--) {
		size_t j = list[n - 1];
		int a = severity ?
		    (int)ck_finding_info(at[i].code)->severity -
		    (int)ck_finding_info(at[j].code)->severity : 0;

		if (a < 0 || (a == 0 &&
		    d->remedy[j].order <= d->remedy[i].order))
			break;
		list[n] = j;
	}
	list[n] = i;
}

static bool
has_step(const struct ck_doctor *d, size_t i)
{
	for (size_t k = 0; k < d->nsteps; k++)
		if (is_same(&d->remedy[d->steps[k]], &d->remedy[i]))
			return true;
	return false;
}

ck_err
ck_doctor_remedies(const struct ck_place *p, struct ck_doctor *d,
    struct ck_fail *fail)
{
	const struct ck_remedy none = { 0, CK_BUF_INIT, CK_BUF_INIT };

	d->nsteps = 0;
	for (size_t i = 0; i < d->found.n; i++) {
		const struct ck_case c = { p, &d->found.at[i],
			&d->found };

		d->remedy[i] = none;
		treat(&c, &d->remedy[i]);
		insert(d, d->shown, i, i, true);
		/* What is only to know is no step. */
		if (ck_finding_info(c.f->code)->severity == CK_SEV_INFO ||
		    has_step(d, i))
			continue;
		insert(d, d->steps, d->nsteps, i, false);
		d->nsteps++;
	}
	for (size_t i = 0; i < d->found.n; i++)
		if (ck_buf_ok(&d->remedy[i].command) != CK_OK ||
		    ck_buf_ok(&d->remedy[i].decide) != CK_OK) {
			ck_doctor_done(d);
			return ck_fail_set(fail, CK_NOMEM, NULL,
			    "no memory for the remedies");
		}
	return CK_OK;
}

void
ck_doctor_done(struct ck_doctor *d)
{
	for (size_t i = 0; i < d->found.n; i++) {
		ck_buf_free(&d->remedy[i].command);
		ck_buf_free(&d->remedy[i].decide);
	}
	d->found.n = 0;
}
