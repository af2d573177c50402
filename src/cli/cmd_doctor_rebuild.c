/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys doctor --rebuild */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "custody/advice.h"
#include "custody/check.h"
#include "custody/doctor_rebuild.h"

static void
shown(struct ck_buf *b, const char *text)
{
	cli_show_bytes(b, CK_SPAN_TEXT(text));
}

static void
lines(const char *head, const struct ck_lines *l, struct ck_buf *b)
{
	if (l->n > 0)
		ck_buf_format(b, "%s\n", head);
	for (size_t i = 0; i < l->n; i++) {
		ck_buf_text(b, "  ");
		shown(b, l->at[i]);
		ck_buf_text(b, "\n");
	}
	if (l->more > 0)
		ck_buf_format(b, "  and %zu more\n", l->more);
}

static void
row(const struct ck_rebuild_row *w, struct ck_buf *b)
{
	ck_buf_text(b, "  ");
	shown(b, w->c.name);
	ck_buf_text(b, ": ");
	shown(b, w->c.service);
	ck_buf_text(b, " / ");
	shown(b, w->c.account);
	ck_buf_format(b, ", %s, %s, generation %llu%s", w->c.format,
	    ck_rec_state_name(w->c.state),
	    (unsigned long long)w->c.generation,
	    w->guessed ? " (guessed)" : "");
	if (w->c.fingerprint[0] != '\0')
		ck_buf_format(b, ", fingerprint %.8s", w->c.fingerprint);
	ck_buf_format(b, "\n    broker (%s): ", w->broker_from);
	shown(b, w->broker);
	ck_buf_format(b, " (%s)\n", ck_rec_kind_name(w->broker_kind));
}

static void
people(const struct ck_place *p, const struct ck_rebuild *m, bool written,
    struct ck_buf *b)
{
	ck_buf_format(b, "%s ", written ? "wrote" : "would write");
	shown(b, p->dir);
	ck_buf_text(b, "/" CK_REC_FILE "\ncredentials\n");
	for (size_t i = 0; i < m->n; i++)
		row(&m->row[i], b);
	ck_buf_text(b, "first for every reader and writer\n  ");
	shown(b, p->keychain);
	ck_buf_text(b, "\nworkers are kept from\n");
	for (size_t i = 0; i < m->set.n; i++) {
		ck_buf_text(b, "  ");
		shown(b, m->set.row[i].path);
		ck_buf_text(b, " (");
		shown(b, m->set.row[i].why);
		ck_buf_format(b, "%s)\n",
		    m->from_old[i] ? "; from the old records" : "");
	}
	lines("different from the old records", &m->differ, b);
	lines("not known any more", &m->lost, b);
	if (m->kept[0] != '\0') {
		ck_buf_text(b, "the old records are kept as\n  ");
		shown(b, m->kept);
		ck_buf_text(b, "\n");
	}
	if (m->earlier)
		ck_buf_text(b, "attention: the keychain holds other values "
		    "than were noted with its unlock password\n");
	if (!written)
		ck_buf_text(b, "nothing was changed\n");
}

static void
js_shown(struct ck_buf *b, const char *name, const char *text)
{
	struct ck_buf safe = CK_BUF_INIT;

	shown(&safe, text);
	js_bytes(b, name, ck_buf_view(&safe));
	b->failed = b->failed || safe.failed;
	ck_buf_free(&safe);
}

static void
json_lines(const char *name, const struct ck_lines *l, struct ck_buf *b)
{
	js_name(b, name);
	js_open(b, '[');
	for (size_t i = 0; i < l->n; i++)
		js_item(b, l->at[i]);
	js_shut(b, ']');
}

static void
json_rows(const struct ck_rebuild *m, struct ck_buf *b)
{
	js_name(b, "credentials");
	js_open(b, '[');
	for (size_t i = 0; i < m->n; i++) {
		const struct ck_rec_credential *c = &m->row[i].c;

		js_open(b, '{');
		js_text(b, "name", c->name);
		js_shown(b, "service", c->service);
		js_shown(b, "account", c->account);
		js_text(b, "format", c->format);
		js_text(b, "state", ck_rec_state_name(c->state));
		js_number(b, "generation", (long long)c->generation);
		js_bool(b, "generation_guessed", m->row[i].guessed);
		if (c->fingerprint[0] != '\0')
			js_bytes(b, "fingerprint", (struct ck_span){
			    (const uint8_t *)c->fingerprint, 8 });
		else
			js_null(b, "fingerprint");
		js_shown(b, "broker", m->row[i].broker);
		js_text(b, "broker_kind",
		    ck_rec_kind_name(m->row[i].broker_kind));
		js_text(b, "broker_from", m->row[i].broker_from);
		js_shut(b, '}');
	}
	js_shut(b, ']');
}

static void
json_protected(const struct ck_rebuild *m, struct ck_buf *b)
{
	js_name(b, "protected");
	js_open(b, '[');
	for (size_t i = 0; i < m->set.n; i++) {
		const struct ck_rec_protected *w = &m->set.row[i];

		js_open(b, '{');
		js_shown(b, "path", w->path);
		js_text(b, "kind", w->directory ? "directory" : "file");
		js_text(b, "deny", w->deny_read ? "read+write" : "write");
		js_shown(b, "why", w->why);
		js_bool(b, "from_old", m->from_old[i]);
		js_shut(b, '}');
	}
	js_shut(b, ']');
}

static void
json(const struct ck_place *p, const struct ck_rebuild *m, bool written,
    struct ck_buf *b)
{
	js_open(b, '{');
	js_bool(b, "ok", written);
	js_text(b, "outcome", written ? "rebuilt" : "planned");
	js_text(b, "keychain", p->keychain);
	json_rows(m, b);
	json_protected(m, b);
	js_bool(b, "earlier", m->earlier);
	json_lines("differ", &m->differ, b);
	json_lines("lost", &m->lost, b);
	if (m->kept[0] != '\0')
		js_text(b, "kept", m->kept);
	else
		js_null(b, "kept");
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

/* What check says of the new records goes with the answer. */
static ck_err
look_again(struct cli *cli)
{
	const struct ck_check_how how = { NULL, false };
	struct ck_findings *found = calloc(1, sizeof(*found));
	struct ck_place place;
	size_t errors;
	ck_err r;

	if (found == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) == CK_OK) {
		ck_check(&place, &how, found);
		errors = found->count[CK_SEV_ERROR];
		if (errors > 0) {
			r = ck_fail_set(&cli->fail, CK_FINDINGS, NULL,
			    "the records are rebuilt, and check finds %zu "
			    "error%s still", errors, errors == 1 ? "" : "s");
			ck_advise(&cli->fail, &place, "{doctor}");
		}
	}
	free(found);
	return r;
}

static ck_err
ask(struct cli *cli, const struct ck_place *place, bool earlier)
{
	(void)ck_fail_set(&cli->fail, CK_DECIDE, NULL,
	    "nothing is written before you have seen it");
	ck_advise(&cli->fail, place, earlier ?
	    "put back the keychain of the day of the unlock password; else "
	    "{doctor --rebuild --accept-earlier --confirm} writes it" :
	    "{doctor --rebuild --confirm} writes it");
	return CK_DECIDE;
}

ck_err
doctor_rebuild(struct cli *cli, bool confirm, bool accept_earlier)
{
	struct ck_rebuild *m = calloc(1, sizeof(*m));
	struct ck_buf b = CK_BUF_INIT;
	struct ck_place place;
	ck_err r;

	if (m == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_doctor_rebuild(&place, confirm, accept_earlier, m,
	    &cli->fail)) != CK_OK)
		goto out;
	if (cli->json)
		json(&place, m, confirm, &b);
	else
		people(&place, m, confirm, &b);
	if ((r = cli_put(cli, &b)) != CK_OK)
		goto out;
	cli->answered = true;
	r = confirm ? look_again(cli) : ask(cli, &place, m->earlier);
out:
	ck_buf_free(&b);
	free(m);
	return r;
}
