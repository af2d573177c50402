/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys envelope status: from outside, what is prepared and what that
 * is not. */
#include "envelope.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

/* What an envelope is not (ADR 0257, limits). */
static const char *const limits[] = {
	"no virtual machine: a hole in the kernel is a hole in it",
	"no barrier against exfiltration, where the network is granted",
	"metadata of other files stays visible on macOS; there, sandbox-exec is "
	    "deprecated by Apple",
	"screen access, and whatever a helper outside does for the service, lie "
	    "outside of it",
	"workspaces and private home are fully open to workers, to each other's "
	    "too",
	"no sandbox starts inside of it: neither Seatbelt nor Landlock nests",
};

void
status_envelope(const struct ck_place *p, char ret[STATUS_ENVELOPE_SIZE])
{
	struct ck_envelope *e = calloc(1, sizeof(*e));
	ck_err r = e == NULL ? CK_NOMEM : ck_envelope_load(p, e, NULL);

	if (r == CK_OK)
		r = ck_envelope_intact(e, NULL);
	if (r == CK_OK)
		(void)snprintf(ret, STATUS_ENVELOPE_SIZE, "prepared (%s)",
		    ck_level_name(e->level));
	else
		(void)snprintf(ret, STATUS_ENVELOPE_SIZE, "%s",
		    r == CK_ABSENT ? "none" : "refused");
	free(e);
}

struct state {
	struct ck_place place;
	struct ck_envelope *e;
	ck_err r;                /* CK_OK, CK_ABSENT, or what launch says */
	struct ck_fail fail;
	uint8_t *last;           /* the note of the last launch, or NULL */
	size_t last_n, leftovers, workers;
	char worker_text[128];
};

static const char *
state_name(ck_err r)
{
	return r == CK_OK ? "prepared" : r == CK_ABSENT ? "none" : "refused";
}

static void
look(struct state *s)
{
	const unsigned int rules = CK_IO_OWNER | CK_IO_ONELINK;
	char path[CK_PATH_MAX];
	int fd = -1;

	s->r = ck_envelope_load(&s->place, s->e, &s->fail);
	if (s->r == CK_OK)
		s->r = ck_envelope_check(&s->place, s->e, &s->fail);
	if (s->r == CK_OK)
		s->r = ck_envelope_intact(s->e, &s->fail);
	(void)!ck_envelope_leftovers(&s->place, false, &s->leftovers, NULL);
	s->workers = envelope_workers(s->worker_text, sizeof(s->worker_text));
	if (s->r == CK_OK && ck_path_join(s->e->control, CK_ENVELOPE_LAUNCH,
	    path, NULL) == CK_OK && ck_io_open_file(AT_FDCWD, path, NULL,
	    rules, &fd, NULL, NULL) == CK_OK &&
	    ck_io_read_all(fd, 4096, path, &s->last, &s->last_n,
	    NULL) != CK_OK)
		s->last = NULL;
	ck_io_close(&fd);
}

static void
people(const struct state *s, struct ck_buf *b)
{
	const struct ck_envelope *e = s->e;

	ck_buf_format(b, "envelope     %s\n", state_name(s->r));
	if (s->r != CK_OK && s->r != CK_ABSENT)
		ck_buf_format(b, "             %s: %s\n             nothing is "
		    "launched with it%s%s\n", s->fail.place, s->fail.why,
		    s->fail.next[0] == '\0' ? "" : "; next: ", s->fail.next);
	if (s->r == CK_ABSENT)
		ck_buf_text(b, "             the service starts with the "
		    "ordinary full access\n");
	if (s->r == CK_OK) {
		ck_buf_format(b, "level        %s\nruntime      %s\n"
		    "private home %s\nnetwork      %s\n",
		    ck_level_name(e->level), e->runtime, e->home,
		    e->network ? "to anywhere" : "none");
		for (size_t i = 0; i < e->nworkspaces; i++)
			ck_buf_format(b, "workspace    %s\n",
			    e->workspace[i]);
		if (s->last == NULL)
			ck_buf_text(b, "last launch  none\n");
		else
			ck_buf_format(b, "last launch  %.*s",
			    (int)s->last_n, (const char *)s->last);
	}
	if (s->leftovers > 0)
		ck_buf_format(b, "left behind  %zu by a prepare or remove that "
		    "was stopped: clankie-keys envelope remove\n",
		    s->leftovers);
	if (s->workers > 0)
		ck_buf_format(b, "workers      %zu without any boundary (%s)\n",
		    s->workers, s->worker_text);
	if (s->r != CK_OK)
		return;
	ck_buf_text(b, "\nIt is\n");
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		ck_buf_format(b, "  %s\n", limits[i]);
	ck_buf_text(b, "The owner's proof is open: a deliberate lower, start "
	    "and hire, a refusal of an\noutside directory to that worker, and "
	    "stop, remove, start with the access back.\n");
}

static void
json(const struct state *s, struct ck_buf *b)
{
	const struct ck_envelope *e = s->e;
	const char *note = (const char *)s->last;
	size_t n = s->last_n;

	js_open(b, '{');
	js_bool(b, "ok", true);
	js_text(b, "state", state_name(s->r));
	if (s->r == CK_OK || s->r == CK_ABSENT)
		js_null(b, "why");
	else
		js_text(b, "why", s->fail.why);
	if (s->r == CK_OK) {
		js_text(b, "id", e->id);
		js_text(b, "level", ck_level_name(e->level));
		js_text(b, "runtime", e->runtime);
		js_text(b, "private_home", e->home);
		js_bool(b, "network", e->network);
		js_name(b, "workspaces");
		js_open(b, '[');
		for (size_t i = 0; i < e->nworkspaces; i++)
			js_item(b, e->workspace[i]);
		js_shut(b, ']');
	}
	/* Our own text, on one line. */
	if (note != NULL && n > 1 && note[n - 1] == '\n') {
		js_name(b, "last_launch");
		ck_buf_bytes(b, note, n - 1);
	} else {
		js_null(b, "last_launch");
	}
	js_number(b, "left_behind", (long long)s->leftovers);
	js_number(b, "unconfined_workers", (long long)s->workers);
	js_text(b, "owners_proof", "open");
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

ck_err
envelope_status(struct cli *cli, int argc, char **argv)
{
	struct state *s = calloc(1, sizeof(*s));
	struct ck_buf out = CK_BUF_INIT;
	size_t n = 0;
	ck_err r;

	if (s == NULL || (s->e = calloc(1, sizeof(*s->e))) == NULL) {
		r = ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
		goto out;
	}
	if ((r = cli_options(cli, argc, argv, NULL, 0, NULL, 0,
	    &n)) != CK_OK ||
	    (r = cli_prepare(cli, CLI_HEAP_VALUE)) != CK_OK ||
	    (r = ck_place_resolve(&cli->say, &s->place, &cli->fail)) != CK_OK)
		goto out;
	look(s);
	if (cli->json)
		json(s, &out);
	else
		people(s, &out);
	r = cli_put(cli, &out);
out:
	ck_buf_free(&out);
	if (s != NULL) {
		free(s->last);
		free(s->e);
	}
	free(s);
	return r;
}
