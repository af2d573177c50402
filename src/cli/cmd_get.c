/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys get */
#include "cli.h"

#include <unistd.h>

#include "custody/resolve.h"

/* Where the secret goes, and whether it may. */
static ck_err
choose_fd(struct cli *cli, int fd, bool raw, int *ret)
{
	if (fd >= 0 && raw)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "--fd and --raw exclude each other");
	if (fd < 0)
		fd = STDOUT_FILENO;
	if (!raw && isatty(fd)) {
		(void)ck_fail_set(&cli->fail, CK_REFUSED, NULL,
		    "a secret is not written to a terminal");
		ck_fail_next(&cli->fail, "--raw does it, --fd N names another "
		    "descriptor");
		return CK_REFUSED;
	}
	*ret = fd;
	return CK_OK;
}

static ck_err
deliver(struct cli *cli, const struct ck_place *place, bool key_only, int fd,
    const struct ck_secret *value)
{
	struct ck_secret key = CK_SECRET_INIT;
	ck_err r;

	if (!key_only)
		return ck_secret_write_fd(fd, value, &cli->fail);
	if (place->format != CK_FORMAT_OPERATOR_BEARER)
		return ck_fail_set(&cli->fail, CK_UNSUPPORTED, NULL,
		    "--key is for the operator's bearer only");
	if ((r = ck_bearer_key(value, &key)) != CK_OK)
		return ck_fail_set(&cli->fail, r, NULL,
		    "the stored bearer has no key");
	r = ck_secret_write_fd(fd, &key, &cli->fail);
	ck_secret_wipe(&key);
	return r;
}

/* Where the value came from, for those who asked. */
static ck_err
say_where(struct cli *cli, const struct ck_resolved *where)
{
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	if (cli->verbose)
		cli_say(cli, "from %s (%s)", where->path,
		    ck_rec_kind_name(where->kind));
	if (!cli->json)
		return CK_OK;
	js_open(&b, '{');
	js_bool(&b, "ok", true);
	js_text(&b, "store", ck_rec_kind_name(where->kind));
	js_text(&b, "path", where->path);
	js_shut(&b, '}');
	ck_buf_text(&b, "\n");
	r = cli_put(cli, &b);
	ck_buf_free(&b);
	return r;
}

ck_err
cmd_get(struct cli *cli, int argc, char **argv)
{
	struct ck_secret password = CK_SECRET_INIT, value = CK_SECRET_INIT;
	const char *reader = NULL, *words[1];
	bool raw = false, key_only = false;
	int fd = -1, password_fd = -1;
	struct ck_resolved where;
	struct ck_place place;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--as", OPT_TEXT, &reader },
		{ "--fd", OPT_FD, &fd },
		{ "--raw", OPT_FLAG, &raw },
		{ "--key", OPT_FLAG, &key_only },
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
	if (cli->json && fd < 0)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "--json needs --fd N: a secret is never part of JSON");
	if ((r = choose_fd(cli, fd, raw, &fd)) != CK_OK)
		return r;
	if ((r = cli_password(cli, password_fd, &password)) != CK_OK)
		goto out;
	if (password.p != NULL)
		cli->say.login_password = &password;
	if ((r = cli_broker(cli)) != CK_OK ||
	    (r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK)
		goto out;
	if ((r = ck_resolve(&place, reader, &value, &where,
	    &cli->fail)) != CK_OK)
		goto out;
	if ((r = deliver(cli, &place, key_only, fd, &value)) != CK_OK)
		goto out;
	r = say_where(cli, &where);
out:
	ck_secret_wipe(&value);
	ck_secret_wipe(&password);
	return r;
}
