/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys doctor */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "custody/doctor.h"
#include "findings.h"

static void
sentence(struct ck_buf *b, struct ck_span text)
{
	cli_show_bytes(b, text);
	ck_buf_text(b, "\n");
}

static void
finding(const struct ck_finding *f, struct ck_buf *b)
{
	const struct ck_finding_info *info = ck_finding_info(f->code);

	ck_buf_format(b, "%-8s %s\n         ",
	    ck_severity_name(info->severity), info->code);
	cli_show_bytes(b, CK_SPAN_TEXT(f->place));
	ck_buf_text(b, f->place[0] != '\0' ? ": " : "");
	sentence(b, CK_SPAN_TEXT(f->message));
}

static void
one(const struct ck_doctor *d, size_t i, bool verbose, struct ck_buf *b)
{
	enum cli_sum sum = verbose ? CLI_SUM_NONE : cli_sum(&d->found, i, b);

	if (sum == CLI_SUM_SAID)
		return;
	if (sum == CLI_SUM_NONE)
		finding(&d->found.at[i], b);
	if (d->remedy[i].decide.n > 0) {
		ck_buf_text(b, "         decide: ");
		sentence(b, ck_buf_view(&d->remedy[i].decide));
	}
	if (d->remedy[i].command.n > 0) {
		ck_buf_text(b, "         run: ");
		cli_show_command(b, ck_buf_view(&d->remedy[i].command));
		ck_buf_text(b, "\n");
	}
}

static void
steps(const struct ck_doctor *d, struct ck_buf *b)
{
	if (d->nsteps == 0) {
		ck_buf_text(b, "nothing to mend\n");
		return;
	}
	ck_buf_text(b, "\nin this order:\n");
	for (size_t k = 0; k < d->nsteps; k++) {
		const struct ck_remedy *m = &d->remedy[d->steps[k]];

		ck_buf_format(b, "%3zu. ", k + 1);
		if (m->command.n > 0) {
			cli_show_command(b, ck_buf_view(&m->command));
			ck_buf_text(b, "\n");
		} else {
			ck_buf_format(b, "%s: ", ck_finding_info(
			    d->found.at[d->steps[k]].code)->code);
			sentence(b, ck_buf_view(&m->decide));
		}
	}
	ck_buf_text(b, "then clankie-keys doctor again: one finding may hide "
	    "another\n");
}

static void
people(const struct ck_doctor *d, bool verbose, struct ck_buf *b)
{
	size_t all = 0;

	for (size_t i = 0; i < d->found.n; i++)
		one(d, d->shown[i], verbose, b);
	for (int i = 0; i < CK_SEV_COUNT; i++)
		all += d->found.count[i];
	if (all > d->found.n)
		ck_buf_format(b, "and %zu more\n", all - d->found.n);
	steps(d, b);
}

/* As it is, so that a program can run it; null when there is none. */
static void
js_span(struct ck_buf *b, const char *name, const struct ck_buf *text)
{
	if (text->n > 0)
		js_bytes(b, name, ck_buf_view(text));
	else
		js_null(b, name);
}

static void
js_shown(struct ck_buf *b, const char *name, struct ck_span text)
{
	struct ck_buf safe = CK_BUF_INIT;

	cli_show_bytes(&safe, text);
	js_bytes(b, name, ck_buf_view(&safe));
	b->failed = b->failed || safe.failed;
	ck_buf_free(&safe);
}

static void
json_remedy(const struct ck_remedy *m, struct ck_buf *b)
{
	if (m->decide.n > 0)
		js_shown(b, "decide", ck_buf_view(&m->decide));
	else
		js_null(b, "decide");
	js_span(b, "command", &m->command);
}

static void
json(const struct ck_doctor *d, struct ck_buf *b)
{
	js_open(b, '{');
	js_bool(b, "ok", d->found.count[CK_SEV_ERROR] == 0);
	js_name(b, "findings");
	js_open(b, '[');
	for (size_t i = 0; i < d->found.n; i++) {
		const struct ck_finding *f = &d->found.at[d->shown[i]];
		const struct ck_finding_info *info = ck_finding_info(f->code);

		js_open(b, '{');
		js_text(b, "code", info->code);
		js_text(b, "severity", ck_severity_name(info->severity));
		js_shown(b, "place", CK_SPAN_TEXT(f->place));
		js_shown(b, "message", CK_SPAN_TEXT(f->message));
		json_remedy(&d->remedy[d->shown[i]], b);
		js_shut(b, '}');
	}
	js_shut(b, ']');
	js_name(b, "steps");
	js_open(b, '[');
	for (size_t k = 0; k < d->nsteps; k++) {
		js_open(b, '{');
		js_text(b, "code", ck_finding_info(
		    d->found.at[d->steps[k]].code)->code);
		json_remedy(&d->remedy[d->steps[k]], b);
		js_shut(b, '}');
	}
	js_shut(b, ']');
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

static ck_err
answer(struct cli *cli, const struct ck_doctor *d)
{
	struct ck_buf b = CK_BUF_INIT;
	size_t errors = d->found.count[CK_SEV_ERROR];
	ck_err r;

	if (cli->json)
		json(d, &b);
	else
		people(d, cli->verbose, &b);
	r = cli_put(cli, &b);
	ck_buf_free(&b);
	if (r != CK_OK)
		return r;
	cli->answered = true;
	if (errors > 0)
		r = ck_fail_set(&cli->fail, CK_FINDINGS, NULL,
		    "%zu error%s to mend", errors, errors == 1 ? "" : "s");
	return r;
}

static ck_err
look(struct cli *cli, struct ck_doctor *d)
{
	const struct ck_check_how how = { NULL, false };
	struct ck_place place;
	ck_err r;

	/* A second custody is a finding here. */
	cli->say.second_later = true;
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) == CK_USAGE)
		return r;
	if (r != CK_OK) {
		ck_finding_fail(&d->found, CK_F_NOT_JUDGED, r, &cli->fail);
		return ck_doctor_remedies(NULL, d, &cli->fail);
	}
	ck_check(&place, &how, &d->found);
	return ck_doctor_remedies(&place, d, &cli->fail);
}

static ck_err
doctor(struct cli *cli)
{
	struct ck_doctor *d = calloc(1, sizeof(*d));
	ck_err r;

	if (d == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	if ((r = look(cli, d)) == CK_OK) {
		r = answer(cli, d);
		ck_doctor_done(d);
	}
	free(d);
	return r;
}

ck_err
cmd_doctor(struct cli *cli, int argc, char **argv)
{
	struct ck_secret password = CK_SECRET_INIT;
	bool rebuild = false, uninstall = false, confirm = false;
	bool accept_earlier = false;
	int password_fd = -1;
	const char *words[1];
	size_t n = 0;
	const struct opt opts[] = {
		{ "--rebuild", OPT_FLAG, &rebuild },
		{ "--uninstall", OPT_FLAG, &uninstall },
		{ "--confirm", OPT_FLAG, &confirm },
		{ "--accept-earlier", OPT_FLAG, &accept_earlier },
		{ "--broker", OPT_TEXT, &cli->say.broker },
		{ "--login-password-fd", OPT_FD, &password_fd },
		{ "--service", OPT_TEXT, &cli->say.service },
		{ "--account", OPT_TEXT, &cli->say.account },
	};
	ck_err r;

	r = cli_options(cli, argc, argv, opts, sizeof(opts) / sizeof(opts[0]),
	    words, 1, &n);
	if (r != CK_OK)
		return r;
	if (rebuild && uninstall)
		return ck_fail_set(&cli->fail, CK_USAGE, "--uninstall",
		    "does not go with --rebuild");
	if (confirm && !rebuild && !uninstall)
		return ck_fail_set(&cli->fail, CK_USAGE, "--confirm",
		    "goes with what it confirms");
	if (accept_earlier && !rebuild)
		return ck_fail_set(&cli->fail, CK_USAGE, "--accept-earlier",
		    "goes with --rebuild");
	if (n == 1)
		cli->say.credential = words[0];
	if ((r = cli_broker(cli)) != CK_OK ||
	    (r = cli_password(cli, password_fd, &password)) != CK_OK)
		return r;
	if (password.p != NULL)
		cli->say.login_password = &password;
	r = rebuild ? doctor_rebuild(cli, confirm, accept_earlier) :
	    uninstall ? doctor_uninstall(cli, confirm) : doctor(cli);
	ck_secret_wipe(&password);
	return r;
}
