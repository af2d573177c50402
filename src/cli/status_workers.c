/* SPDX-License-Identifier: Apache-2.0 */
/* The part of status that is about workers; see cli.h. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "custody/proof.h"
#include "custody/status.h"

/* What is so for every worker of this system, whatever the rules. */
static const char *const everywhere[] = {
	"files of root and of other users show the owner nobody",
	"set-user-ID programs run without their privilege",
	"processes outside get no signal of a worker's, from Linux 6.12 on",
	"file systems that are mounted outside later are not seen",
};

/* What no path rule can close. */
static const char *const no_path[] = {
	"abstract sockets, and services that listen on this host's network, are "
	"not closed",
};

void
cli_kernel(char ret[CK_KERNEL_SIZE])
{
	struct utsname u;

	if (uname(&u) == 0)
		(void)snprintf(ret, CK_KERNEL_SIZE, "%.20s %.40s %.30s",
		    u.sysname, u.release, u.machine);
	else
		ret[0] = '\0';
}

/* When the boundary was last proved, and whether that is still about what
 * runs here. */
static void
proof_line(const struct ck_place *place, struct ck_buf *b)
{
	struct ck_fail fail = CK_FAIL_INIT;
	char kernel[CK_KERNEL_SIZE];
	struct ck_proof proof;
	ck_err r = ck_proof_read(place, &proof, &fail);

	cli_kernel(kernel);
	if (r == CK_ABSENT)
		ck_buf_text(b, "proved       never: clankie-keys boundary "
		    "verify\n");
	else if (r != CK_OK)
		ck_buf_format(b, "proved       not known: %s\n", fail.why);
	else
		ck_buf_format(b, "proved       %s on %s (clankie-keys %s, %s)"
		    "%s\n", proof.verdict, proof.at, proof.version,
		    proof.kernel, strcmp(proof.version, CK_VERSION) != 0 ||
		    strcmp(proof.kernel, kernel) != 0 ? ", which are others "
		    "now: clankie-keys boundary verify" : "");
}

/* The strings of a buffer, each with its NUL. */
static const char *
next_text(const struct ck_buf *b, const char *at)
{
	const char *end;

	if (b->n == 0)
		return NULL;
	end = (const char *)b->p + b->n;
	at = at == NULL ? (const char *)b->p : at + strlen(at) + 1;
	return at < end ? at : NULL;
}

/* NULL: there is no memory, and nothing is listed. */
static struct ck_helpers *
find_helpers(const struct ck_place *place)
{
	struct ck_helpers *helpers = calloc(1, sizeof(*helpers));
	struct ck_helpers_say say;

	cli_helpers_say(place, &say);
	if (helpers != NULL && ck_helpers_find(&say, helpers, NULL) != CK_OK) {
		free(helpers);
		helpers = NULL;
	}
	return helpers;
}

static bool
is_closed(const struct ck_status *s, const struct ck_helper *h)
{
	return s->strict && !h->own && h->kind != CK_HELPER_AGENT;
}

static const char *
word_name(const struct ck_status *s)
{
	return s->word == CK_WORD_ON ? "on" : s->word == CK_WORD_OFF ?
	    "off" : "follow";
}

static void
helper_lines(const struct ck_place *place, const struct ck_status *s,
    struct ck_buf *b)
{
	struct ck_helpers *helpers = find_helpers(place);

	for (size_t i = 0; helpers != NULL && i < helpers->n; i++) {
		const struct ck_helper *h = &helpers->at[i];

		ck_buf_format(b, "helper       %s ", ck_helper_name(h->kind));
		cli_show_bytes(b, CK_SPAN_TEXT(h->path));
		ck_buf_format(b, " (%s)\n", is_closed(s, h) ?
		    "closed to workers" : h->own ?
		    "open to workers: the pane's own" : "open to workers");
	}
	if (helpers != NULL && helpers->more)
		ck_buf_text(b, "helper       and others\n");
	free(helpers);
}

void
status_workers_text(const struct ck_place *place, const struct ck_status *s,
    struct ck_buf *b)
{
	const char *at = NULL;

	if (!s->in_charge || !s->records)
		return;
	if (s->word != CK_WORD_FOLLOW)
		ck_buf_format(b, "             your word is %s "
		    "(worker sandbox)\n", word_name(s));
	else if (s->seen && (s->sandbox_err != CK_OK ||
	    s->sandbox != CK_SANDBOX_ON))
		ck_buf_text(b, "             it was on before: no worker is "
		    "started until you say so (worker sandbox)\n");
	ck_buf_format(b, "strict       %s\n", s->strict ?
	    "on: helpers outside are closed to workers" :
	    "off: helpers outside are open to workers");
	proof_line(place, b);
	helper_lines(place, s, b);
	while ((at = next_text(&s->edges, at)) != NULL) {
		ck_buf_text(b, "exception    EXDEV for renames and hard links "
		    "across ");
		cli_show_bytes(b, CK_SPAN_TEXT(at));
		ck_buf_text(b, "\n");
	}
	for (size_t i = 0; i < sizeof(everywhere) / sizeof(*everywhere); i++)
		ck_buf_format(b, "exception    %s\n", everywhere[i]);
	while ((at = next_text(&s->gaps, at)) != NULL) {
		ck_buf_text(b, "gap          ");
		cli_show_bytes(b, CK_SPAN_TEXT(at));
		ck_buf_text(b, "\n");
	}
	for (size_t i = 0; i < sizeof(no_path) / sizeof(*no_path); i++)
		ck_buf_format(b, "gap          %s\n", no_path[i]);
}

static void
texts_json(struct ck_buf *b, const char *name, const struct ck_buf *texts,
    const char *const *fixed, size_t n)
{
	const char *at = NULL;

	js_name(b, name);
	js_open(b, '[');
	while (texts != NULL && (at = next_text(texts, at)) != NULL)
		js_item(b, at);
	for (size_t i = 0; i < n; i++)
		js_item(b, fixed[i]);
	js_shut(b, ']');
}

void
status_workers_json(const struct ck_place *place, const struct ck_status *s,
    struct ck_buf *b)
{
	struct ck_helpers *helpers = find_helpers(place);
	struct ck_proof proof;

	js_text(b, "worker_word", word_name(s));
	js_bool(b, "worker_seen_on", s->seen);
	js_bool(b, "worker_strict", s->strict);
	js_name(b, "proved");
	if (ck_proof_read(place, &proof, NULL) == CK_OK) {
		js_open(b, '{');
		js_text(b, "verdict", proof.verdict);
		js_text(b, "at", proof.at);
		js_text(b, "version", proof.version);
		js_text(b, "kernel", proof.kernel);
		js_shut(b, '}');
	} else {
		ck_buf_text(b, "null");
	}
	js_name(b, "helpers");
	js_open(b, '[');
	for (size_t i = 0; helpers != NULL && i < helpers->n; i++) {
		const struct ck_helper *h = &helpers->at[i];

		js_open(b, '{');
		js_text(b, "kind", ck_helper_name(h->kind));
		js_bytes(b, "path", CK_SPAN_TEXT(h->path));
		js_bool(b, "own", h->own);
		js_bool(b, "closed", is_closed(s, h));
		js_shut(b, '}');
	}
	js_shut(b, ']');
	texts_json(b, "edges", &s->edges, NULL, 0);
	texts_json(b, "exceptions", NULL, everywhere,
	    sizeof(everywhere) / sizeof(*everywhere));
	texts_json(b, "gaps", &s->gaps, no_path,
	    sizeof(no_path) / sizeof(*no_path));
	free(helpers);
}
