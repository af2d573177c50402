/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys status */
#include "cli.h"

#include <string.h>

#include "custody/advice.h"
#include "custody/status.h"

static const char *
sandbox_name(const struct ck_status *s)
{
	if (s->sandbox_err != CK_OK)
		return "unknown";
	return s->sandbox == CK_SANDBOX_ON ? "on" :
	    s->sandbox == CK_SANDBOX_OFF ? "off" : "absent";
}

static const char *
rules_name(const struct ck_status *s)
{
	if (s->view_err != CK_OK)
		return "unknown";
	if (!s->records || (!s->in_charge && !s->rules_there))
		return "none";
	if (s->rules_err != CK_OK)
		return "unknown";
	return s->rules_match ? "match" : "differ";
}

/* One place on its line; a name may hold what a terminal would obey. */
static void
place_line(struct ck_buf *b, const char *what, const char *path)
{
	ck_buf_format(b, "%-13s", what);
	cli_show_bytes(b, CK_SPAN_TEXT(path));
}

/* How things stand with the file, in words. */
static void
file_lines(const struct ck_place *p, const struct ck_status *s,
    struct ck_buf *b)
{
	if (s->file_err != CK_OK) {
		place_line(b, "keychain", p->keychain);
		ck_buf_format(b, "\n             %s: ",
		    ck_err_text(s->file_err));
		cli_show_bytes(b, CK_SPAN_TEXT(s->file_fail.why));
		ck_buf_text(b, "\n");
		return;
	}
	place_line(b, "keychain", p->keychain);
	ck_buf_format(b, "\n"
	    "             mode %04o, blob version 0x%x, %u item%s, %s\n"
	    "             locks after %u s%s%s\n",
	    (unsigned int)s->file.mode, s->file.version, s->file.items,
	    s->file.items == 1 ? "" : "s",
	    s->list_err == CK_OK ? "not on the search list (as intended)" :
	    s->list_err == CK_REFUSED ? "ON THE SEARCH LIST" :
	    "search list unknown", s->file.idle_timeout,
	    s->file.lock_on_sleep ? " and on sleep" : "",
	    s->settings_changed ? " (not what was set)" : "");
}

/* What keeps the credential from being read, as for ck_advice(), or NULL. */
static const char *
trouble(const struct ck_status *s)
{
	if (s->journal_open)
		return NULL;
	if (s->view_err != CK_OK)
		return s->view_fail.next[0] != '\0' ? s->view_fail.next :
		    "{doctor} says what mends it";
	if (s->in_charge && s->file_err != CK_OK)
		return "the dedicated keychain cannot be used as it is (see "
		    "above): put it right, or back from a backup; if it is "
		    "lost for good: {reset}";
	if (s->in_charge && s->unlock_known && !s->unlock_there)
		return "the unlock password is missing, and without it the "
		    "dedicated keychain cannot be opened: put it back from a "
		    "backup; if it is lost for good: {reset}";
	if (!s->keychain && !s->in_charge && s->unlock_known &&
	    s->unlock_there)
		return "an unlock password is stored, but the dedicated "
		    "keychain it opens is not here: put the custody directory "
		    "back, or name it with --home";
	return NULL;
}

static void
next_lines(const struct ck_place *p, const struct ck_status *s,
    struct ck_buf *b)
{
	struct ck_fail absent = CK_FAIL_INIT;
	char next[CK_ADVICE_SIZE] = "";

	ck_buf_text(b, "\n");
	if (s->journal_open && !ck_view_known_operation(s->journal.operation))
		ck_advice(p, next, "{doctor} says what to do about an "
		    "operation that this version does not know");
	else if (s->journal_open)
		ck_advice_finish(p, &s->journal, next);
	else if (trouble(s) != NULL)
		ck_advice(p, next, "%s", trouble(s));
	else if (!s->in_charge && s->nothing)
		ck_advise_absent(&absent, p, "{migrate} then moves it");
	else if (!s->in_charge)
		ck_advice(p, next, "{migrate}");
	else if (s->rules_err != CK_OK || !s->rules_match)
		ck_advice(p, next, "{rules --write}");
	if (absent.next[0] != '\0')
		ck_buf_format(b, "next: the broker holds none: %s\n",
		    absent.next);
	else if (s->journal_open)
		ck_buf_format(b, "next: finish the interrupted %s: %s\n",
		    s->journal.operation, next);
	else if (next[0] != '\0')
		ck_buf_format(b, "next: %s\n", next);
	else if (s->sandbox_err != CK_OK || s->sandbox != CK_SANDBOX_ON) {
		ck_buf_text(b, "next: turn on fleet.workerSandbox in ");
		cli_show_bytes(b, CK_SPAN_TEXT(p->settings));
		ck_buf_text(b, "; until then nothing is protected\n");
	}
	ck_buf_text(b, "Any unconfined process of yours can read the "
	    "credential with `get`; the boundary is around workers.\n"
	    "Other secrets of the broker are not protected by this.  macOS: "
	    "unverified until its owner ran the proof.\n");
}

static size_t
shown(const struct ck_status *s)
{
	return s->others < CK_STATUS_OTHERS ? s->others : CK_STATUS_OTHERS;
}

/* The other credentials that the records know. */
static void
other_lines(const struct ck_status *s, struct ck_buf *b)
{
	for (size_t i = 0; i < shown(s); i++) {
		const struct ck_rec_credential *row = &s->other[i];

		ck_buf_format(b, "also         %s: ", row->name);
		cli_show_bytes(b, CK_SPAN_TEXT(row->service));
		ck_buf_text(b, " / ");
		cli_show_bytes(b, CK_SPAN_TEXT(row->account));
		ck_buf_format(b, ", %s, generation %llu\n",
		    ck_rec_state_name(row->state),
		    (unsigned long long)row->generation);
	}
	if (shown(s) < s->others)
		ck_buf_format(b, "             and %zu more\n",
		    s->others - shown(s));
}

static void
other_json(const struct ck_status *s, struct ck_buf *b)
{
	js_name(b, "others");
	js_open(b, '[');
	for (size_t i = 0; i < shown(s); i++) {
		const struct ck_rec_credential *row = &s->other[i];

		js_open(b, '{');
		js_text(b, "credential", row->name);
		js_text(b, "service", row->service);
		js_text(b, "account", row->account);
		js_text(b, "state", ck_rec_state_name(row->state));
		js_number(b, "generation", (long long)row->generation);
		js_shut(b, '}');
	}
	js_shut(b, ']');
}

static void
people(const struct ck_place *p, const struct ck_status *s,
    struct ck_buf *b)
{
	char envelope[STATUS_ENVELOPE_SIZE];

	ck_buf_format(b, "credential   %s: %s / %s\n", p->credential,
	    p->service, p->account);
	if (s->view_err != CK_OK) {
		ck_buf_text(b, "records      ");
		cli_show_bytes(b, CK_SPAN_TEXT(s->view_fail.place));
		ck_buf_format(b, "\n             %s: ",
		    ck_err_text(s->view_err));
		cli_show_bytes(b, CK_SPAN_TEXT(s->view_fail.why));
		ck_buf_text(b, "\n");
	}
	ck_buf_format(b, "decided by   %s\n", s->in_charge ?
	    "the dedicated keychain, first for every reader and writer" :
	    "the general broker");
	if (s->known)
		ck_buf_format(b, "state        %s, generation %llu%s%.8s\n",
		    ck_rec_state_name(s->row.state),
		    (unsigned long long)s->row.generation,
		    s->row.fingerprint[0] != '\0' ? ", fingerprint " : "",
		    s->row.fingerprint);
	if (s->in_charge)
		file_lines(p, s, b);
	other_lines(s, b);
	place_line(b, "broker", p->broker);
	ck_buf_format(b, " (%s)\n", ck_rec_kind_name(p->broker_kind));
	place_line(b, "unlock", p->broker_kind == CK_KIND_LOGIN_KEYCHAIN ?
	    "item " CK_OWN_SERVICE " / " CK_UNLOCK_ACCOUNT " of the broker" :
	    p->unlock);
	ck_buf_text(b, "\n");
	place_line(b, "custody", p->dir);
	ck_buf_format(b, "%s\n", s->custody ? "" : " (does not exist yet)");
	place_line(b, "rules", p->rules);
	ck_buf_format(b, " (%s)\n", rules_name(s));
	ck_buf_format(b, "sandbox      %s (", sandbox_name(s));
	cli_show_bytes(b, CK_SPAN_TEXT(p->settings));
	ck_buf_text(b, ")\n");
	status_workers_text(p, s, b);
	status_envelope(p, envelope);
	ck_buf_format(b, "envelope     %s\n", envelope);
	ck_buf_format(b, "memory       secrets %s locked in memory\n",
	    s->heap_locked ? "are" : "could not be");
	if (s->override)
		ck_buf_text(b, "environment  CLANKIE_OPERATOR_TOKEN is set "
		    "and goes before every store: unset it\n");
	next_lines(p, s, b);
}

static void
file_json(const struct ck_place *p, const struct ck_status *s,
    struct ck_buf *b)
{
	js_name(b, "keychain");
	js_open(b, '{');
	js_text(b, "path", p->keychain);
	js_text(b, "code", ck_err_code(s->file_err));
	if (s->file_err == CK_OK) {
		js_number(b, "mode", s->file.mode);
		js_number(b, "version", s->file.version);
		js_number(b, "items", s->file.items);
		js_number(b, "idle_timeout", s->file.idle_timeout);
		js_bool(b, "lock_on_sleep", s->file.lock_on_sleep);
		js_bool(b, "settings_changed", s->settings_changed);
		js_text(b, "signature", s->file.signature);
	} else {
		js_text(b, "message", s->file_fail.why);
	}
	js_text(b, "search_list", s->list_err == CK_OK ? "absent" :
	    s->list_err == CK_REFUSED ? "listed" : "unknown");
	js_shut(b, '}');
}

static void
json(const struct ck_place *p, const struct ck_status *s, struct ck_buf *b)
{
	char envelope[STATUS_ENVELOPE_SIZE];

	js_open(b, '{');
	js_bool(b, "ok", trouble(s) == NULL);
	js_text(b, "credential", p->credential);
	js_text(b, "service", p->service);
	js_text(b, "account", p->account);
	js_text(b, "decided_by", s->in_charge ? "dedicated" :
	    ck_rec_kind_name(p->broker_kind));
	if (s->known) {
		js_text(b, "state", ck_rec_state_name(s->row.state));
		js_number(b, "generation", (long long)s->row.generation);
		js_bytes(b, "fingerprint", (struct ck_span){
		    (const uint8_t *)s->row.fingerprint,
		    s->row.fingerprint[0] == '\0' ? 0 : 8 });
	} else {
		js_null(b, "state");
	}
	if (s->in_charge)
		file_json(p, s, b);
	else
		js_null(b, "keychain");
	js_text(b, "broker", p->broker);
	js_text(b, "broker_kind", ck_rec_kind_name(p->broker_kind));
	js_text(b, "custody", p->dir);
	js_bool(b, "custody_exists", s->custody);
	js_text(b, "records", ck_err_code(s->view_err));
	if (s->view_err != CK_OK)
		js_bytes(b, "records_message",
		    CK_SPAN_TEXT(s->view_fail.why));
	js_text(b, "rules", p->rules);
	js_text(b, "rules_state", rules_name(s));
	js_text(b, "settings", p->settings);
	js_text(b, "worker_sandbox", sandbox_name(s));
	status_workers_json(p, s, b);
	status_envelope(p, envelope);
	js_text(b, "envelope", envelope);
	if (s->journal_open)
		js_text(b, "unfinished", s->journal.operation);
	else
		js_null(b, "unfinished");
	other_json(s, b);
	js_bool(b, "environment_override", s->override);
	js_bool(b, "memory_locked", s->heap_locked);
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

ck_err
cmd_status(struct cli *cli, int argc, char **argv)
{
	struct ck_buf out = CK_BUF_INIT;
	struct ck_status status;
	struct ck_place place;
	const char *words[1];
	size_t n = 0;
	const struct opt opts[] = {
		{ "--broker", OPT_TEXT, &cli->say.broker },
		{ "--service", OPT_TEXT, &cli->say.service },
		{ "--account", OPT_TEXT, &cli->say.account },
	};
	ck_err r;

	r = cli_options(cli, argc, argv, opts, sizeof(opts) / sizeof(opts[0]),
	    words, 1, &n);
	if (r != CK_OK)
		return r;
	if (n == 1)
		cli->say.credential = words[0];
	if ((r = cli_broker(cli)) != CK_OK ||
	    (r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_status(&place, &status, &cli->fail)) != CK_OK)
		return r;
	if (cli->json)
		json(&place, &status, &out);
	else
		people(&place, &status, &out);
	r = cli_put(cli, &out);
	ck_buf_free(&out);
	ck_status_done(&status);
	return r;
}
