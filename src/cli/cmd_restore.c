/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys restore */
#include "cli.h"

#include "custody/advice.h"
#include "custody/restore.h"

static const char *
end_name(enum ck_restore_end end)
{
	switch (end) {
	case CK_RESTORED:
		return "restored";
	case CK_RESTORE_ALREADY:
		return "already";
	case CK_RESTORE_RESUMED:
		return "resumed";
	case CK_RESTORE_PLANNED:
		break;
	}
	return "planned";
}

static void
plan(const struct ck_place *p, const struct ck_restore_report *m,
    struct ck_buf *b)
{
	ck_buf_format(b, "would put %s / %s back\n"
	    "  from            %s\n"
	    "  to              %s (%s)\n"
	    "  records         %s/%s: the broker for every reader and writer\n"
	    "  then remove     %s\n"
	    "nothing was changed\n", p->service, p->account, m->keychain,
	    m->broker, ck_rec_kind_name(m->broker_kind), p->dir,
	    CK_REC_FILE, m->stays ?
	    "its item; the keychain stays for the other credentials" :
	    "the dedicated keychain and its unlock password");
}

static void
people(const struct ck_place *p, const struct ck_restore_report *m,
    struct ck_buf *b)
{
	char next[CK_ADVICE_SIZE];

	if (m->end == CK_RESTORE_PLANNED) {
		plan(p, m, b);
		return;
	}
	if (m->end == CK_RESTORE_ALREADY) {
		ck_buf_format(b, "already in the broker; nothing was changed\n"
		    "broker       %s (%s)\n", m->broker,
		    ck_rec_kind_name(m->broker_kind));
		return;
	}
	if (m->end == CK_RESTORE_RESUMED)
		ck_buf_text(b, "an interrupted restore was finished\n");
	ck_buf_format(b, "broker       %s (%s)\n\n"
	    "Every process of this user can read this credential again.  ",
	    m->broker, ck_rec_kind_name(m->broker_kind));
	if (m->covered)
		ck_buf_format(b, "Only workers that run under\n  %s\nare kept "
		    "from the file, and no other process.\n", m->rules);
	else
		ck_buf_format(b, "The rules in\n  %s\ndo not protect it.\n",
		    m->rules);
	ck_advice(p, next, "{migrate}");
	ck_buf_format(b, "%s moves it into a dedicated keychain again.\n",
	    next);
}

static void
json(const struct ck_place *p, const struct ck_restore_report *m,
    struct ck_buf *b)
{
	js_open(b, '{');
	js_bool(b, "ok", true);
	js_text(b, "outcome", end_name(m->end));
	js_text(b, "credential", p->credential);
	js_text(b, "service", p->service);
	js_text(b, "account", p->account);
	js_text(b, "broker", m->broker);
	js_text(b, "broker_kind", ck_rec_kind_name(m->broker_kind));
	js_text(b, "keychain", m->keychain);
	js_text(b, "rules", m->rules);
	js_bool(b, "rules_cover_broker", m->covered);
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

ck_err
cmd_restore(struct cli *cli, int argc, char **argv)
{
	struct ck_secret password = CK_SECRET_INIT;
	struct ck_restore_report report;
	struct ck_buf out = CK_BUF_INIT;
	struct ck_place place;
	const char *words[1];
	int password_fd = -1;
	bool dry_run = false;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--dry-run", OPT_FLAG, &dry_run },
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
	if (n == 1)
		cli->say.credential = words[0];
	if ((r = cli_password(cli, password_fd, &password)) != CK_OK)
		goto out;
	if (password.p != NULL)
		cli->say.login_password = &password;
	if ((r = cli_broker(cli)) != CK_OK ||
	    (r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_restore(&place, dry_run, &report, &cli->fail)) != CK_OK)
		goto out;
	if (cli->json)
		json(&place, &report, &out);
	else
		people(&place, &report, &out);
	r = dry_run ? cli_put(cli, &out) : cli_put_done(cli, &out);
out:
	ck_buf_free(&out);
	ck_secret_wipe(&password);
	return r;
}
