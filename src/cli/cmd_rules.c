/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys rules */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "custody/preflight.h"
#include "custody/rules.h"
#include "custody/seal.h"
#include "custody/view.h"

/* There is a keychain, of whichever credential, and what says so. */
static bool
has_custody(const struct ck_view *v)
{
	return v->rec != NULL && (v->dedicated || ck_view_is_dedicated(v));
}

/* --checkout only adds to what is shown; the records decide what is written. */
static ck_err
show(struct cli *cli, const struct ck_place *place, const struct ck_view *v,
    const struct opt_list *said, struct ck_buf *out)
{
	struct ck_rules_set *set = calloc(1, sizeof(*set));
	const char *dirs[OPT_LIST_MAX];
	static char room[OPT_LIST_MAX][CK_PATH_MAX];
	char path[CK_PATH_MAX];
	ck_err r = CK_OK;

	if (set == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	for (size_t i = 0; r == CK_OK && i < said->n; i++) {
		dirs[i] = room[i];
		if ((r = cli_absolute(cli, said->word[i], path)) == CK_OK)
			r = ck_path_canonical(path, room[i], &cli->fail);
	}
	if (r == CK_OK && has_custody(v))
		r = ck_rules_recorded(place, v->rec, set, &cli->fail);
	else if (r == CK_OK)
		r = ck_rules_defaults(place, dirs, said->n, set, &cli->fail);
	if (r == CK_OK)
		r = ck_rules_seatbelt(place, set, out, &cli->fail);
	free(set);
	return r;
}

/* The rules are the records', so there must be records first. */
static ck_err
write_rules(struct cli *cli, const struct ck_place *place,
    const struct ck_view *v)
{
	int lock = -1;
	ck_err r;

	if (!has_custody(v)) {
		(void)ck_fail_set(&cli->fail, CK_NOSTORE, place->dir,
		    "there are no records that rules could be written from");
		ck_fail_next(&cli->fail, "clankie-keys migrate");
		return CK_NOSTORE;
	}
	/* Edited records would make weaker rules. */
	if ((r = ck_seal_records(place, v->rec, &cli->fail)) != CK_OK ||
	    (r = ck_place_lock(place, v->dirfd, &lock, &cli->fail)) != CK_OK)
		return r;
	r = ck_rules_write(place, v->dirfd, v->rec, &cli->fail);
	ck_io_close(&lock);
	return r;
}

ck_err
cmd_rules(struct cli *cli, int argc, char **argv)
{
	struct opt_list said = { { NULL }, 0 };
	struct ck_view v = CK_VIEW_INIT;
	struct ck_buf out = CK_BUF_INIT;
	struct ck_secret password = CK_SECRET_INIT;
	const char *format = "seatbelt";
	struct ck_place place;
	int password_fd = -1;
	bool write = false;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--format", OPT_TEXT, &format },
		{ "--write", OPT_FLAG, &write },
		{ "--checkout", OPT_LIST, &said },
		{ "--login-password-fd", OPT_FD, &password_fd },
	};
	ck_err r;

	r = cli_options(cli, argc, argv, opts, sizeof(opts) / sizeof(opts[0]),
	    NULL, 0, &n);
	if (r != CK_OK)
		return r;
	if (strcmp(format, "seatbelt") != 0)
		return ck_fail_set(&cli->fail, CK_UNSUPPORTED, format,
		    "is not a format of this version; seatbelt is");
	if (write && said.n > 0)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "--checkout shows rules; what is written comes from the "
		    "records");
	if (write && (r = ck_preflight_worker(cli->say.worker_marked,
	    "write the rules", &cli->fail)) != CK_OK)
		return r;
	if ((r = cli_password(cli, password_fd, &password)) != CK_OK)
		return r;
	if (password.p != NULL)
		cli->say.login_password = &password;
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_view_open(&place, CK_REC_READ, &v, &cli->fail)) != CK_OK)
		goto out;
	if (write && (r = write_rules(cli, &place, &v)) != CK_OK)
		goto out;
	if ((r = show(cli, &place, &v, &said, &out)) != CK_OK)
		goto out;
	if (cli->json) {
		struct ck_buf b = CK_BUF_INIT;

		js_open(&b, '{');
		js_bool(&b, "ok", true);
		js_text(&b, "format", format);
		js_text(&b, "path", place.rules);
		js_bool(&b, "written", write);
		js_bytes(&b, "text", ck_buf_view(&out));
		js_shut(&b, '}');
		ck_buf_text(&b, "\n");
		r = cli_put(cli, &b);
		ck_buf_free(&b);
	} else {
		r = cli_put(cli, &out);
	}
out:
	ck_secret_wipe(&password);
	ck_buf_free(&out);
	ck_view_close(&v);
	return r;
}
