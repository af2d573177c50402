/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys worker env: what a worker's environment is, for people and as
 * text for a shell; and the words of the owner about it. */
#include "worker.h"

#include <string.h>
#include <unistd.h>

#include "boundary/blank.h"
#include "custody/preflight.h"
#include "custody/settings.h"

enum as { AS_TEXT, AS_JSON, AS_SH, AS_FISH };

struct show {
	struct cli *cli;
	enum as as;
	struct ck_buf b;
};

static void
as_json(struct ck_buf *b, struct ck_span name, const char *value,
    const char *why)
{
	js_open(b, '{');
	js_bytes(b, "name", name);
	if (value == NULL)
		js_null(b, "value");
	else
		js_text(b, "value", value);
	js_text(b, "why", why);
	js_shut(b, '}');
}

static void
as_text(struct ck_buf *b, struct ck_span name, const char *value,
    const char *why)
{
	bool some = value != NULL && value[0] != '\0';

	ck_buf_text(b, value == NULL ? "keep   " : some ? "set    " :
	    "empty  ");
	cli_show_bytes(b, name);
	if (some) {
		ck_buf_text(b, "=");
		cli_show_bytes(b, (struct ck_span){ (const uint8_t *)value,
		    strlen(value) });
	}
	ck_buf_format(b, "  (%s)\n", why);
}

/* The shell that reads it must find the same bytes. */
static void
as_command(struct ck_buf *b, bool fish, struct ck_span name,
    const char *value)
{
	ck_buf_text(b, fish ? "set -gx " : "export ");
	ck_buf_bytes(b, name.p, name.n);
	ck_buf_text(b, fish ? " '" : "='");
	for (; *value != '\0'; value++) {
		if (*value == '\'')
			ck_buf_text(b, fish ? "\\'" : "'\\''");
		else if (*value == '\\' && fish)
			ck_buf_text(b, "\\\\");
		else
			ck_buf_bytes(b, value, 1);
	}
	ck_buf_text(b, "'\n");
}

/* One variable; value NULL: it stays as it is.  Names in an environment can
 * be anything; the values shown are ours. */
static ck_err
variable(struct show *s, const char *text, const char *value,
    const char *why)
{
	const struct ck_span name = { (const uint8_t *)text,
		ck_blank_name(text) };

	if (s->as == AS_JSON)
		as_json(&s->b, name, value, why);
	else if (s->as == AS_TEXT)
		as_text(&s->b, name, value, why);
	else if (value == NULL)
		return CK_OK;
	else if (!ck_blank_is_name(text, name.n))
		return ck_fail_set(&s->cli->fail, CK_NOENFORCE, NULL,
		    "a variable whose name no shell takes would have to be "
		    "set empty");
	else
		as_command(&s->b, s->as == AS_FISH, name, value);
	return CK_OK;
}

static ck_err
variables(struct show *s, const struct worker_words *words)
{
	const char *at, *more = words->marker;
	ck_err r;

	if ((r = variable(s, CK_MARKER, "1",
	    "the marker of a worker")) != CK_OK ||
	    (more[0] != '\0' && (r = variable(s, more, more + ck_blank_name(more) + 1, "the recorded marker")) != CK_OK))
		return r;
	for (size_t i = 0; (at = ck_blank_listed(i)) != NULL; i++)
		if ((r = variable(s, at, "", "a bearer")) != CK_OK)
			return r;
	for (size_t i = 0; (at = environ[i]) != NULL; i++) {
		enum ck_blank class = ck_blank_class(at);
		bool key = class == CK_BLANK_KEY;

		if (class != CK_BLANK_PATTERN && !key)
			continue;
		if ((r = variable(s, at,
		    worker_empties(words, at) ? "" : NULL, key ?
		    "a provider's key" : "named like a bearer")) != CK_OK)
			return r;
	}
	return CK_OK;
}

static ck_err
show(struct cli *cli, enum as as, const struct worker_words *words,
    bool recorded)
{
	struct show s = { cli, as, CK_BUF_INIT };
	ck_err r;

	if (as == AS_JSON) {
		js_open(&s.b, '{');
		js_bool(&s.b, "ok", true);
		js_bool(&s.b, "recorded", recorded);
		js_text(&s.b, "provider_keys", words->blank_keys ? "blank" :
		    "keep");
		js_text(&s.b, "kept", words->kept);
		js_name(&s.b, "variables");
		js_open(&s.b, '[');
	}
	if ((r = variables(&s, words)) == CK_OK) {
		if (as == AS_JSON) {
			js_shut(&s.b, ']');
			js_shut(&s.b, '}');
			ck_buf_text(&s.b, "\n");
		}
		r = recorded ? cli_put_done(cli, &s.b) : cli_put(cli, &s.b);
	}
	ck_buf_free(&s.b);
	return r;
}

static ck_err
record(struct cli *cli, struct ck_place *place, struct ck_view *v,
    const struct worker_words *words)
{
	const struct ck_setting set[] = {
		{ CK_SETTING_MARKER, words->marker },
		{ CK_SETTING_KEYS, words->blank_keys ? "blank" : "keep" },
		{ CK_SETTING_KEYS_KEPT, words->kept },
	};

	return ck_settings_put(place, v, set, 3, &cli->fail);
}

/* Read what is recorded, and perhaps write it. */
static ck_err
read_and_show(struct cli *cli, enum as as, const struct worker_said *said,
    bool recording, int password_fd)
{
	struct ck_secret password = CK_SECRET_INIT;
	struct ck_view v = CK_VIEW_INIT;
	struct worker_words words;
	struct ck_place place;
	ck_err r;

	if (recording &&
	    ((r = ck_preflight_worker(cli->say.worker_marked,
	    "say what workers inherit", &cli->fail)) != CK_OK ||
	    (r = cli_prepare(cli, CLI_HEAP_VALUE)) != CK_OK ||
	    (r = cli_password(cli, password_fd, &password)) != CK_OK))
		return r;
	if (password.p != NULL)
		cli->say.login_password = &password;
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_view_open(&place, recording ? CK_REC_WRITE : CK_REC_READ,
	    &v, &cli->fail)) != CK_OK ||
	    (r = worker_words(cli, &v, said, &words)) != CK_OK)
		goto out;
	if (!recording || (r = record(cli, &place, &v, &words)) == CK_OK)
		r = show(cli, as, &words, recording);
out:
	ck_secret_wipe(&password);
	ck_view_close(&v);
	return r;
}

ck_err
worker_env(struct cli *cli, int argc, char **argv)
{
	struct worker_said said = WORKER_SAID_INIT;
	const char *format = "text";
	bool recording = false;
	int password_fd = -1;
	enum as as = AS_TEXT;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--format", OPT_TEXT, &format },
		{ "--marker", OPT_TEXT, &said.marker },
		{ "--provider-keys", OPT_TEXT, &said.keys },
		{ "--keep", OPT_LIST, &said.kept },
		{ "--record", OPT_FLAG, &recording },
		{ "--login-password-fd", OPT_FD, &password_fd },
	};
	ck_err r;

	r = cli_options(cli, argc, argv, opts, sizeof(opts) / sizeof(opts[0]),
	    NULL, 0, &n);
	if (r != CK_OK)
		return r;
	if (password_fd >= 0 && !recording)
		return ck_fail_set(&cli->fail, CK_USAGE, "--login-password-fd",
		    "is for --record");
	if (strcmp(format, "sh") == 0)
		as = AS_SH;
	else if (strcmp(format, "fish") == 0)
		as = AS_FISH;
	else if (strcmp(format, "text") != 0)
		return ck_fail_set(&cli->fail, CK_USAGE, format,
		    "is no format; text, sh and fish are");
	if (cli->json)
		as = AS_JSON;
	return read_and_show(cli, as, &said, recording, password_fd);
}
