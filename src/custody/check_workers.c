/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that run without a boundary although they should have one, as far
 * as a process shows it; see check_int.h. */
#include "custody/check_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/environ.h"
#include "boundary/toml.h"
#include "custody/harness_int.h"
#include "custody/settings.h"
#include "custody/shell_links.h"

/* Set by Herdr for the programs in its panes. */
#define PANE "HERDR_PANE_ID"

enum { SHOWN = 16, KNOWN_MAX = 1024 };

struct seen {
	struct ck_check *c;
	char hires[CK_PATH_MAX + 64];    /* HERDR_SOCKET_PATH=... of the server
	                                  * that Clankie keeps for hires */
	size_t n, shown;
	struct ck_environ_process at[KNOWN_MAX];
};

static void
collect(void *arg, const struct ck_environ_process *process)
{
	struct seen *s = arg;

	if (s->n < KNOWN_MAX && ck_environ_same_mounts(process->pid))
		s->at[s->n++] = *process;
}

/* What it started belongs to it, and is not named by itself. */
static bool
is_child(const struct seen *s, size_t i)
{
	for (size_t k = 0; k < s->n; k++)
		if (s->at[k].pid == s->at[i].parent)
			return true;
	return false;
}

static void
name(struct seen *s, enum ck_finding_code code, size_t i, const char *why)
{
	char place[64];

	if (++s->shown > SHOWN + 1)
		return;
	if (s->shown <= SHOWN)
		(void)snprintf(place, sizeof(place), "process %ld",
		    (long)s->at[i].pid);
	else
		(void)snprintf(place, sizeof(place), "further processes");
	ck_finding_add(s->c->out, code, place, NULL, "%s", why);
}

/* false: they cannot be seen here, which was said where the environment is
 * looked at. */
static bool
find(struct seen *s, const char *variable, const char *unless)
{
	size_t unseen;

	s->n = s->shown = 0;
	return ck_environ_scan(variable, unless, collect, s, &unseen,
	    NULL) == CK_OK;
}

/* A pane that is restored, or a command or plugin pane, has lost the marker.
 * Which server it belongs to tells whether it is a hire's. */
static void
panes(struct seen *s)
{
	if (!find(s, PANE, CK_MARKER_DEFAULT))
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (is_child(s, i))
			continue;
		if (ck_environ_has(s->at[i].pid, s->hires))
			name(s, CK_F_UNCONFINED, i, "is a pane of the server "
			    "for hires, and no boundary is around it: it was "
			    "restored, or is a command or plugin pane");
		else
			name(s, CK_F_PANE, i, "is a pane of Herdr with no "
			    "boundary around it: yours, or a hire's that was "
			    "restored, or a command or plugin pane");
	}
}

static void
marked(struct seen *s)
{
	if (!find(s, CK_MARKER_DEFAULT, NULL))
		return;
	for (size_t i = 0; i < s->n; i++)
		if (!is_child(s, i))
			name(s, CK_F_UNCONFINED, i, "is marked as a worker, "
			    "and no boundary is around it");
}

/* What Herdr's configuration says of shells and restored panes. */
struct herdr {
	char shell[CK_TOML_TEXT];
	bool no_resume;
};

static ck_err
take(void *arg, const struct ck_toml_value *v)
{
	struct herdr *h = arg;

	if (v->n != 2)
		return CK_OK;
	if (strcmp(v->part[0], "terminal") == 0 &&
	    strcmp(v->part[1], "default_shell") == 0 &&
	    v->kind == CK_TOML_STRING)
		(void)snprintf(h->shell, sizeof(h->shell), "%s", v->text);
	if (strcmp(v->part[0], "session") == 0 &&
	    strcmp(v->part[1], "resume_agents_on_restore") == 0)
		h->no_resume = strcmp(v->text, "false") == 0;
	return CK_OK;
}

static void
configuration(struct ck_check *c)
{
	char path[CK_PATH_MAX], links[CK_PATH_MAX];
	struct herdr h = { "", false };
	uint8_t *text = NULL;
	size_t n = 0;

	if (ck_path_join(c->p->config, "herdr/config.toml", path,
	    NULL) != CK_OK || ck_links_dir(c->p, links, NULL) != CK_OK ||
	    !ck_harness_text(path, &text, &n))
		return;
	if (text == NULL ||
	    ck_toml_read((const char *)text, n, take, &h) != CK_OK) {
		ck_finding_add(c->out, CK_F_NOT_CHECKED, path,
		    "see that it is in order", "cannot be read or understood, "
		    "so what its panes run is not known");
	} else if (ck_path_under(h.shell, links)) {
		ck_finding_add(c->out, CK_F_SERVER_WIDE, path, NULL,
		    "starts every pane as a worker, your own terminals too");
	} else if (!h.no_resume) {
		ck_finding_add(c->out, CK_F_RESTORES, path, NULL,
		    "lets a restarted server restore panes, which then have "
		    "no wrapper of their own, and resume their agents");
	}
	free(text);
}

/* Where Clankie keeps a server for hires, its panes are to be workers. */
static void
hire_server(struct ck_check *c)
{
	char dir[CK_PATH_MAX], entry[CK_PATH_MAX];
	struct stat st;

	if (!c->viewed || ck_setting_read(&c->v, CK_SETTING_ENTRY, entry,
	    sizeof(entry), NULL) != CK_OK || entry[0] != '\0' ||
	    ck_path_join(c->p->clankie_state, "herdr", dir, NULL) != CK_OK ||
	    lstat(dir, &st) != 0)
		return;
	ck_finding_add(c->out, CK_F_NO_WRAPPER, dir, NULL,
	    "is the place of a server for hires, and no wrapper is installed "
	    "that could be its shell");
}

void
ck_check_workers(struct ck_check *c)
{
	struct seen *s = calloc(1, sizeof(*s));

	configuration(c);
	hire_server(c);
	if (s == NULL)
		return;
	s->c = c;
	(void)snprintf(s->hires, sizeof(s->hires),
	    "HERDR_SOCKET_PATH=%s/herdr/herdr.sock", c->p->clankie_state);
	marked(s);
	panes(s);
	free(s);
}
