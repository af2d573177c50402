/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys authenticate */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "base/io.h"
#include "custody/authenticate.h"
#include "stream_line.h"

/* What one read takes: hundreds of requests, answered by one write. */
#define BLOCK ((size_t)64 << 10)

static ck_err
ask_once(struct cli *cli, struct ck_auth *auth)
{
	struct ck_secret candidate = CK_SECRET_INIT;
	struct ck_buf b = CK_BUF_INIT;
	ck_err r, out;

	if ((r = ck_secret_read_fd(STDIN_FILENO, CK_SECRET_MAX, &candidate,
	    &cli->fail)) != CK_OK)
		return r;
	r = ck_auth_ask(auth, candidate.p, candidate.n, &cli->fail);
	ck_secret_wipe(&candidate);
	if (!cli->json || (r != CK_OK && r != CK_NO))
		return r;
	js_open(&b, '{');
	js_bool(&b, "ok", true);
	js_bool(&b, "match", r == CK_OK);
	js_shut(&b, '}');
	ck_buf_text(&b, "\n");
	out = cli_put(cli, &b);
	ck_buf_free(&b);
	return out != CK_OK ? out : r;
}

static void
reply(struct ck_buf *b, struct ck_span id, ck_err r)
{
	if (id.n == 0)
		ck_buf_text(b, "-");
	else
		ck_buf_span(b, id);
	if (r == CK_OK) {
		ck_buf_text(b, " yes\n");
	} else if (r == CK_NO) {
		ck_buf_text(b, " no\n");
	} else {
		ck_buf_text(b, " error ");
		ck_buf_text(b, ck_err_code(r));
		ck_buf_text(b, "\n");
	}
}

/* Answer every line that is complete. */
static void
answer(struct ck_auth *auth, struct ck_lines *l, struct ck_secret *candidate,
    struct ck_buf *out)
{
	struct ck_span line, id;
	enum ck_line kind;
	size_t n = 0;
	ck_err r;

	while ((kind = ck_lines_next(l, &line)) != CK_LINE_NONE) {
		if (kind == CK_LINE_OVERLONG) {
			reply(out, ck_stream_id(line), CK_USAGE);
			continue;
		}
		r = ck_stream_parse(line, &id, candidate->p, &n);
		if (r == CK_OK)
			r = ck_auth_ask(auth, candidate->p, n, NULL);
		OPENSSL_cleanse(candidate->p, line.n / 2);
		reply(out, id, r);
	}
}

static ck_err
read_some(struct cli *cli, struct ck_lines *l, bool *ret_end)
{
	ssize_t got;

	do
		got = read(STDIN_FILENO, l->p + l->to, l->size - l->to);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return ck_fail_sys(&cli->fail, errno, "standard input",
		    "read");
	l->to += (size_t)got;
	*ret_end = got == 0;
	return CK_OK;
}

/* Until the end of the input.  A line without its newline may be half a
 * request and is refused. */
static ck_err
serve(struct cli *cli, struct ck_auth *auth, struct ck_lines *l,
    struct ck_secret *candidate, struct ck_buf *out)
{
	bool end = false;
	ck_err r;

	while (!end) {
		if ((r = read_some(cli, l, &end)) != CK_OK)
			return r;
		ck_auth_batch(auth);
		answer(auth, l, candidate, out);
		if (end && !l->skip && l->from < l->to)
			reply(out, ck_stream_id((struct ck_span){
			    l->p + l->from, l->to - l->from }), CK_USAGE);
		ck_lines_pack(l);
		if ((r = cli_put(cli, out)) != CK_OK)
			return r;
		out->n = 0;
	}
	return CK_OK;
}

static ck_err
stream(struct cli *cli, struct ck_auth *auth)
{
	struct ck_secret block = CK_SECRET_INIT, candidate = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;
	struct ck_lines l = { .size = BLOCK };
	ck_err r;

	/* A reader that went away is an error of write(). */
	(void)signal(SIGPIPE, SIG_IGN);
	if (ck_secret_alloc(BLOCK, &block) != CK_OK ||
	    ck_secret_alloc(CK_STREAM_LINE_MAX, &candidate) != CK_OK) {
		r = ck_fail_set(&cli->fail, CK_NOMEM, NULL,
		    "no secure memory for requests");
	} else {
		l.p = block.p;
		r = serve(cli, auth, &l, &candidate, &out);
	}
	ck_buf_free(&out);
	ck_secret_wipe(&candidate);
	ck_secret_wipe(&block);
	return r;
}

ck_err
cmd_authenticate(struct cli *cli, int argc, char **argv)
{
	struct ck_secret password = CK_SECRET_INIT;
	struct ck_auth auth = CK_AUTH_INIT;
	const char *words[1];
	bool streaming = false;
	int password_fd = -1;
	struct ck_place place;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--stream", OPT_FLAG, &streaming },
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
	if (streaming && cli->json)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "--stream has its own replies: --json does not fit");
	if (password_fd == STDIN_FILENO)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "the password needs another descriptor than the candidate");
	if ((r = cli_password(cli, password_fd, &password)) != CK_OK)
		goto out;
	if (password.p != NULL)
		cli->say.login_password = &password;
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_auth_open(&place, &auth, &cli->fail)) != CK_OK)
		goto out;
	r = streaming ? stream(cli, &auth) : ask_once(cli, &auth);
out:
	ck_auth_close(&auth);
	ck_secret_wipe(&password);
	return r;
}
