/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys rotate */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "custody/rekey.h"
#include "custody/rotate.h"

/* A generation as status prints it. */
static ck_err
number(struct cli *cli, const char *text, struct ck_rotate_how *how)
{
	size_t n;

	if (text == NULL)
		return CK_OK;
	n = strlen(text);
	if (n == 0 || n > 18 || strspn(text, "0123456789") != n)
		return ck_fail_set(&cli->fail, CK_USAGE, text,
		    "is not a generation");
	how->if_generation = true;
	how->generation = strtoull(text, NULL, 10);
	return CK_OK;
}

static void
people(const struct ck_rotate_report *m, struct ck_buf *b)
{
	if (m->end == CK_ROTATE_RESUMED)
		ck_buf_text(b, "an interrupted rotation was finished; no "
		    "further value was made\n");
	ck_buf_format(b, "keychain     %s\n"
	    "generation   %llu\n"
	    "fingerprint  %.8s\n", m->keychain,
	    (unsigned long long)m->generation, m->fingerprint);
}

static void
json(const struct ck_place *p, const struct ck_rotate_report *m,
    struct ck_buf *b)
{
	js_open(b, '{');
	js_bool(b, "ok", true);
	js_text(b, "outcome", m->end == CK_ROTATE_RESUMED ? "resumed" :
	    "rotated");
	js_text(b, "credential", p->credential);
	js_text(b, "service", p->service);
	js_text(b, "account", p->account);
	js_text(b, "keychain", m->keychain);
	js_number(b, "generation", (long long)m->generation);
	js_bytes(b, "fingerprint", (struct ck_span){
	    (const uint8_t *)m->fingerprint, 8 });
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

static void
keychain_people(const struct ck_place *p, const struct ck_rekey_report *m,
    struct ck_buf *b)
{
	if (m->end == CK_REKEY_RESUMED)
		ck_buf_text(b, "an interrupted replacement of the keychain "
		    "was finished\n");
	ck_buf_format(b, "keychain     %s\n"
	    "             new file, new keys, new password; %u item%s as "
	    "before, and the old file is gone\n"
	    "unlock       %s\n"
	    "generation   %llu, as before\n"
	    "fingerprint  %.8s, as before\n", m->keychain, m->items,
	    m->items == 1 ? "" : "s",
	    p->broker_kind == CK_KIND_LOGIN_KEYCHAIN ?
	    "item " CK_OWN_SERVICE " / " CK_UNLOCK_ACCOUNT " of the broker" :
	    p->unlock, (unsigned long long)m->generation, m->fingerprint);
}

static void
keychain_json(const struct ck_place *p, const struct ck_rekey_report *m,
    struct ck_buf *b)
{
	js_open(b, '{');
	js_bool(b, "ok", true);
	js_text(b, "outcome", m->end == CK_REKEY_RESUMED ? "resumed" :
	    "keychain-rotated");
	js_text(b, "keychain", m->keychain);
	js_text(b, "signature", m->signature);
	js_number(b, "items", m->items);
	js_text(b, "credential", p->credential);
	js_number(b, "generation", (long long)m->generation);
	js_bytes(b, "fingerprint", (struct ck_span){
	    (const uint8_t *)m->fingerprint, 8 });
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

/* What the command line said besides cli->say. */
struct said {
	bool keychain;
	const char *generation;
	int password_fd;
	int value_fd;
};

/* rotate --keychain */
static ck_err
keychain(struct cli *cli, struct ck_buf *out)
{
	struct ck_rekey_report report;
	struct ck_place place;
	ck_err r;

	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_rekey(&place, &report, &cli->fail)) != CK_OK)
		return r;
	if (cli->json)
		keychain_json(&place, &report, out);
	else
		keychain_people(&place, &report, out);
	return CK_OK;
}

/* rotate [CREDENTIAL] */
static ck_err
credential(struct cli *cli, const struct said *said, struct ck_buf *out)
{
	struct ck_rotate_how how = { NULL, false, 0 };
	struct ck_secret value = CK_SECRET_INIT;
	struct ck_rotate_report report;
	struct ck_place place;
	ck_err r;

	if ((r = number(cli, said->generation, &how)) != CK_OK)
		return r;
	/* Every byte is the value, a line end too: `get` gives it back. */
	if (said->value_fd >= 0 && (r = ck_secret_read_fd(said->value_fd,
	    CK_SECRET_MAX, &value, &cli->fail)) != CK_OK)
		return r;
	if (said->value_fd >= 0)
		how.value = &value;
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_rotate(&place, &how, &report, &cli->fail)) != CK_OK)
		goto out;
	if (cli->json)
		json(&place, &report, out);
	else
		people(&report, out);
out:
	ck_secret_wipe(&value);
	return r;
}

static ck_err
no_credential(struct cli *cli, const struct said *said)
{
	if (cli->say.credential == NULL && said->generation == NULL &&
	    said->value_fd < 0 && cli->say.service == NULL &&
	    cli->say.account == NULL)
		return CK_OK;
	return ck_fail_set(&cli->fail, CK_USAGE, "--keychain",
	    "is about the whole keychain and takes no credential");
}

ck_err
cmd_rotate(struct cli *cli, int argc, char **argv)
{
	struct ck_secret password = CK_SECRET_INIT;
	struct said said = { false, NULL, -1, -1 };
	struct ck_buf out = CK_BUF_INIT;
	const char *words[1];
	size_t n = 0;
	const struct opt opts[] = {
		{ "--keychain", OPT_FLAG, &said.keychain },
		{ "--if-generation", OPT_TEXT, &said.generation },
		{ "--secret-fd", OPT_FD, &said.value_fd },
		{ "--broker", OPT_TEXT, &cli->say.broker },
		{ "--login-password-fd", OPT_FD, &said.password_fd },
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
	if ((said.keychain && (r = no_credential(cli, &said)) != CK_OK) ||
	    (r = cli_broker(cli)) != CK_OK)
		return r;
	if ((r = cli_password(cli, said.password_fd, &password)) != CK_OK)
		goto out;
	if (password.p != NULL)
		cli->say.login_password = &password;
	r = said.keychain ? keychain(cli, &out) :
	    credential(cli, &said, &out);
	if (r == CK_OK)
		r = cli_put_done(cli, &out);
out:
	ck_buf_free(&out);
	ck_secret_wipe(&password);
	return r;
}
