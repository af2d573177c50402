/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys check */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "custody/advice.h"
#include "custody/check.h"
#include "deadline.h"
#include "findings.h"

/* The gate's bound is 2 seconds; starting and answering take the rest. */
#define STARTUP_MS 1700

/* What the gate says when its time is over; the shape is that of json(). */
#define LATE_MESSAGE "a store gave no answer within 1.7 s"
#define LATE_NEXT \
    "clankie-keys check waits longer and says what is in the way"
#define LATE_TEXT "clankie-keys: check: no-answer: " LATE_MESSAGE \
    " (" LATE_NEXT ")\n"
#define LATE_JSON "{\"ok\":false,\"findings\":[{\"code\":\"no-answer\"," \
    "\"severity\":\"error\",\"place\":\"\",\"message\":\"" LATE_MESSAGE \
    "\",\"next\":\"" LATE_NEXT "\"}]}\n"

struct asked {
	struct ck_check_how how;
	bool repair;
	bool codes;
};

static const char *
severity(const struct ck_finding *f)
{
	return ck_severity_name(ck_finding_info(f->code)->severity);
}

/* Names of somebody else's making stay on their line. */
static void
shown(struct ck_buf *b, const char *text)
{
	cli_show_bytes(b, CK_SPAN_TEXT(text));
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

/* done: what was mended, without what could not be. */
static void
json_list(const struct ck_findings *list, bool done, struct ck_buf *b)
{
	js_name(b, done ? "repaired" : "findings");
	js_open(b, '[');
	for (size_t i = 0; i < list->n; i++) {
		const struct ck_finding *f = &list->at[i];

		if (done && f->code == CK_F_REPAIR_FAILED)
			continue;
		js_open(b, '{');
		js_text(b, "code", ck_finding_info(f->code)->code);
		if (!done)
			js_text(b, "severity", severity(f));
		js_shown(b, "place", f->place);
		js_shown(b, "message", f->message);
		if (!done)
			js_shown(b, "next", f->next);
		js_shut(b, '}');
	}
	js_shut(b, ']');
}

static void
json(const struct ck_findings *found, const struct ck_findings *done,
    struct ck_buf *b)
{
	js_open(b, '{');
	js_bool(b, "ok", found->count[CK_SEV_ERROR] == 0);
	json_list(found, false, b);
	if (done != NULL)
		json_list(done, true, b);
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

static void
one(const char *word, const struct ck_finding *f, struct ck_buf *b)
{
	ck_buf_format(b, "%-8s %s\n         ", word,
	    ck_finding_info(f->code)->code);
	shown(b, f->place);
	ck_buf_text(b, f->place[0] != '\0' ? ": " : "");
	shown(b, f->message);
	ck_buf_text(b, "\n");
}

static void
people(const struct ck_findings *found, const struct ck_findings *done,
    bool verbose, struct ck_buf *b)
{
	enum cli_sum sum;

	for (size_t i = 0; done != NULL && i < done->n; i++)
		if (done->at[i].code != CK_F_REPAIR_FAILED)
			one("repaired", &done->at[i], b);
	for (size_t i = 0; i < found->n; i++) {
		sum = verbose ? CLI_SUM_NONE : cli_sum(found, i, b);
		if (sum == CLI_SUM_SAID)
			continue;
		if (sum == CLI_SUM_NONE)
			one(severity(&found->at[i]), &found->at[i], b);
		ck_buf_text(b, "         next: ");
		shown(b, found->at[i].next);
		ck_buf_text(b, "\n");
	}
	if (found->count[CK_SEV_ERROR] == 0)
		ck_buf_text(b, "no error: the gate is open\n");
}

/* The table itself: every code, how bad it is, the usual next step. */
static ck_err
list_codes(struct cli *cli)
{
	struct ck_buf b = CK_BUF_INIT;
	char next[CK_ADVICE_SIZE];
	ck_err r;

	for (int i = 0; i < CK_F_COUNT; i++) {
		const struct ck_finding_info *info =
		    ck_finding_info((enum ck_finding_code)i);

		ck_advice(NULL, next, "%s", info->next);
		ck_buf_format(&b, "%-24s %-8s %s\n", info->code,
		    ck_severity_name(info->severity), next);
	}
	r = cli_put(cli, &b);
	ck_buf_free(&b);
	return r;
}

/* The verdict, with the first error to act on. */
static ck_err
verdict(struct cli *cli, const struct ck_findings *found)
{
	size_t errors = found->count[CK_SEV_ERROR];
	const struct ck_finding *f = NULL;
	char more[64] = "";

	if (errors == 0)
		return CK_OK;
	for (size_t i = found->n; i-- > 0;)
		if (ck_finding_info(found->at[i].code)->severity ==
		    CK_SEV_ERROR)
			f = &found->at[i];
	if (f == NULL)
		return ck_fail_set(&cli->fail, CK_FINDINGS, NULL,
		    "%zu errors", errors);
	if (errors > 1)
		(void)snprintf(more, sizeof(more), "; %zu more error%s",
		    errors - 1, errors == 2 ? "" : "s");
	(void)ck_fail_set(&cli->fail, CK_FINDINGS, f->place, "%s: %.400s%s",
	    ck_finding_info(f->code)->code, f->message, more);
	ck_fail_next(&cli->fail, "%s", f->next);
	return CK_FINDINGS;
}

static ck_err
answer(struct cli *cli, const struct asked *asked,
    const struct ck_findings *found, const struct ck_findings *done)
{
	struct ck_buf b = CK_BUF_INIT;
	size_t warnings = found->count[CK_SEV_WARNING];
	ck_err r = CK_OK, v = verdict(cli, found);

	if (cli->json)
		json(found, done, &b);
	else if (!asked->how.startup)
		people(found, done, cli->verbose, &b);
	if (b.n > 0 || b.failed)
		r = cli_put(cli, &b);
	ck_buf_free(&b);
	if (r != CK_OK)
		return r;
	cli->answered = true;
	/* The gate always says one line, so that a log shows it was asked. */
	if (v == CK_OK && asked->how.startup)
		cli_say(cli, "no error, %zu warning%s%s", warnings,
		    warnings == 1 ? "" : "s", warnings == 0 ? "" :
		    " (clankie-keys check)");
	return v;
}

/* What was found, what was then mended, and what is left. */
static ck_err
look(struct cli *cli, const struct asked *asked, struct ck_findings *found,
    struct ck_findings *done)
{
	struct ck_place place;
	ck_err r;

	/* A second custody is a finding here. */
	cli->say.second_later = true;
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) == CK_USAGE)
		return r;
	if (r != CK_OK) {
		ck_finding_fail(found, CK_F_NOT_JUDGED, r, &cli->fail);
		return CK_OK;
	}
	ck_check(&place, &asked->how, found);
	if (!asked->repair)
		return CK_OK;
	if ((r = ck_check_repair(&place, found, done, &cli->fail)) != CK_OK)
		return r;
	ck_check(&place, &asked->how, found);
	for (size_t i = 0; i < done->n; i++)
		if (done->at[i].code == CK_F_REPAIR_FAILED)
			ck_finding_add(found, CK_F_REPAIR_FAILED,
			    done->at[i].place, done->at[i].next, "%s",
			    done->at[i].message);
	return CK_OK;
}

static ck_err
check(struct cli *cli, const struct asked *asked, int password_fd)
{
	struct ck_findings *lists = calloc(2, sizeof(*lists));
	struct ck_secret password = CK_SECRET_INIT;
	ck_err r;

	r = lists != NULL ? cli_password(cli, password_fd, &password) :
	    ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	if (password.p != NULL)
		cli->say.login_password = &password;
	if (r == CK_OK)
		r = look(cli, asked, &lists[0], &lists[1]);
	ck_secret_wipe(&password);
	if (asked->how.startup)
		cli_deadline_met();
	if (r == CK_OK)
		r = answer(cli, asked, &lists[0],
		    asked->repair ? &lists[1] : NULL);
	free(lists);
	return r;
}

ck_err
cmd_check(struct cli *cli, int argc, char **argv)
{
	struct asked asked = { { NULL, false }, false, false };
	int password_fd = -1;
	const char *words[1];
	size_t n = 0;
	const struct opt opts[] = {
		{ "--as", OPT_TEXT, &asked.how.principal },
		{ "--startup", OPT_FLAG, &asked.how.startup },
		{ "--repair", OPT_FLAG, &asked.repair },
		{ "--codes", OPT_FLAG, &asked.codes },
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
	if (asked.codes)
		return list_codes(cli);
	if (asked.repair && asked.how.startup)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "--startup changes nothing, so --repair is another call");
	if (n == 1)
		cli->say.credential = words[0];
	if ((r = cli_broker(cli)) != CK_OK)
		return r;
	if (asked.how.startup && (r = cli_deadline(STARTUP_MS,
	    cli->json ? LATE_JSON : "", LATE_TEXT, ck_err_exit(CK_FINDINGS),
	    &cli->fail)) != CK_OK)
		return r;
	return check(cli, &asked, password_fd);
}
