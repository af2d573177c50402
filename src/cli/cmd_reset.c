/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys reset */
#include "cli.h"

#include "custody/reset.h"

/* How values that cannot be made here come back. */
static void
others_lines(const struct ck_place *p, const struct ck_reset_report *m,
    struct ck_buf *b)
{
	char names[512];

	if (m->others.n == 0)
		return;
	ck_reset_names_text(&m->others, names, sizeof(names));
	ck_buf_format(b, "to bring     %s: whoever issued it has to be asked "
	    "for a new value.\n"
	    "             Put that into %s,\n"
	    "             then clankie-keys migrate NAME%s\n", names, p->broker,
	    p->broker_kind == CK_KIND_LOGIN_KEYCHAIN ?
	    " --login-password-fd N" : "");
}

static void
minted_lines(const struct ck_reset_report *m, struct ck_buf *b)
{
	ck_buf_format(b, "keychain     %s\n"
	    "generation   %llu\n"
	    "fingerprint  %.8s\n"
	    "rules        %s\n\n", m->keychain,
	    (unsigned long long)m->generation, m->fingerprint, m->rules);
	ck_buf_text(b, "The old bearer may still be known to somebody and is "
	    "accepted wherever it was\nremembered: restart the service.  The "
	    "key of the old seal is gone with the keychain,\nso nobody can "
	    "tell whether the records were edited before: look at them with\n"
	    "  clankie-keys precedence list\n");
}

static void
people(const struct ck_place *p, const struct ck_reset_report *m,
    struct ck_buf *b)
{
	if (m->resumed)
		ck_buf_text(b, "an interrupted reset was finished\n");
	else
		ck_buf_format(b, "given up     %s: %s\n", p->credential,
		    ck_lost_text(m->lost));
	if (m->kept[0] != '\0')
		ck_buf_format(b, "kept aside   %s\n", m->kept);
	if (m->kept_password[0] != '\0')
		ck_buf_format(b, "             %s%s\n",
		    m->kept_password[0] == '/' ? "" :
		    "item " CK_OWN_SERVICE " / ", m->kept_password);
	if (m->broker_kept)
		ck_buf_format(b, "in charge    %s, whose copy of %s holds "
		    "again: see that it is yours.\n"
		    "             clankie-keys migrate moves it\n", p->broker,
		    p->credential);
	others_lines(p, m, b);
	if (m->minted)
		minted_lines(m, b);
}

static void
text_or_null(struct ck_buf *b, const char *name, const char *value)
{
	if (value[0] != '\0')
		js_text(b, name, value);
	else
		js_null(b, name);
}

static void
json(const struct ck_place *p, const struct ck_reset_report *m,
    struct ck_buf *b)
{
	js_open(b, '{');
	js_bool(b, "ok", true);
	js_text(b, "outcome", m->resumed ? "resumed" : "reset");
	js_text(b, "credential", p->credential);
	if (m->resumed)
		js_null(b, "lost");
	else
		js_text(b, "lost", ck_lost_name(m->lost));
	text_or_null(b, "kept_keychain", m->kept);
	text_or_null(b, "kept_password", m->kept_password);
	text_or_null(b, "keychain", m->keychain);
	js_bool(b, "broker_in_charge", m->broker_kept);
	js_text(b, "rules", m->rules);
	if (m->minted) {
		js_number(b, "generation", (long long)m->generation);
		js_bytes(b, "fingerprint", (struct ck_span){
		    (const uint8_t *)m->fingerprint, 8 });
	}
	js_name(b, "given_up");
	js_open(b, '[');
	for (size_t i = 0; i < m->others.n && i < CK_RESET_NAMES; i++)
		js_item(b, m->others.name[i]);
	js_shut(b, ']');
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

ck_err
cmd_reset(struct cli *cli, int argc, char **argv)
{
	struct ck_secret password = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;
	struct ck_reset_report report;
	struct ck_place place;
	const char *words[1];
	bool confirmed = false;
	int password_fd = -1;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--confirm", OPT_FLAG, &confirmed },
		{ "--login-password-fd", OPT_FD, &password_fd },
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
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_reset(&place, confirmed, &report, &cli->fail)) != CK_OK)
		goto out;
	if (cli->json)
		json(&place, &report, &out);
	else
		people(&place, &report, &out);
	r = cli_put_done(cli, &out);
out:
	ck_buf_free(&out);
	ck_secret_wipe(&password);
	return r;
}
