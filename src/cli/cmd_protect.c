/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys protect */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "custody/advice.h"
#include "custody/amend.h"
#include "custody/preflight.h"
#include "custody/rules.h"
#include "custody/view.h"

#define WHY_OWNER "added by the owner"

/* Without these no program runs, so nobody means them. */
static const char *const needed[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys",
	"/dev", "/run", "/tmp", "/var", "/opt", "/System", "/Library",
	"/private"
};

static ck_err
not_needed(struct cli *cli, const struct ck_place *place, const char *path)
{
	const char *what = NULL;

	if (ck_path_under(place->home, path))
		what = "holds your home: a worker could do nothing there";
	for (size_t i = 0; what == NULL &&
	    i < sizeof(needed) / sizeof(needed[0]); i++)
		if (strcmp(path, needed[i]) == 0)
			what = "holds what every program needs";
	if (what == NULL)
		return CK_OK;
	(void)ck_fail_set(&cli->fail, CK_REFUSED, path, "%s", what);
	ck_fail_next(&cli->fail, "name what is to be protected in it");
	return CK_REFUSED;
}

/* What was typed, as a place that is there. */
static ck_err
row_of(struct cli *cli, const struct ck_place *place, const char *typed,
    bool write_only, struct ck_rec_protected *ret)
{
	char path[CK_PATH_MAX];
	struct stat st;
	ck_err r;

	memset(ret, 0, sizeof(*ret));
	if ((r = cli_absolute(cli, typed, path)) != CK_OK)
		return r;
	if (lstat(path, &st) != 0) {
		(void)ck_fail_set(&cli->fail, CK_NOSTORE, path,
		    "does not exist, or cannot be examined");
		ck_fail_next(&cli->fail, "make it first: a file and a "
		    "directory are protected in different ways");
		return CK_NOSTORE;
	}
	if ((r = ck_path_canonical(path, ret->path, &cli->fail)) != CK_OK)
		return r;
	if (S_ISLNK(st.st_mode)) {
		(void)ck_fail_set(&cli->fail, CK_REFUSED, path,
		    "is a symbolic link, which can be made to lead elsewhere");
		ck_advise(&cli->fail, place, "{protect add %s}", ret->path);
		return CK_REFUSED;
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return ck_fail_set(&cli->fail, CK_UNSUPPORTED, path,
		    "is neither a file nor a directory");
	ret->directory = S_ISDIR(st.st_mode);
	ret->deny_read = !write_only;
	memcpy(ret->why, WHY_OWNER, sizeof(WHY_OWNER));
	return not_needed(cli, place, ret->path);
}

static ck_err
say(struct cli *cli, const char *outcome, const char *path,
    const char *people)
{
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	if (cli->json) {
		js_open(&b, '{');
		js_bool(&b, "ok", true);
		js_text(&b, "outcome", outcome);
		js_bytes(&b, "path", CK_SPAN_TEXT(path));
		js_shut(&b, '}');
		ck_buf_text(&b, "\n");
	} else {
		cli_show_bytes(&b, CK_SPAN_TEXT(path));
		ck_buf_format(&b, ": %s\n", people);
	}
	r = cli_put_done(cli, &b);
	ck_buf_free(&b);
	return r;
}

static ck_err
add(struct cli *cli, struct ck_place *place, const char *typed,
    bool write_only)
{
	struct ck_rec_protected row;
	struct ck_amend_how how = { .operation = "protect add",
	    .rows = &row, .nrows = 1 };
	struct ck_amend_report report;
	ck_err r;

	if ((r = row_of(cli, place, typed, write_only, &row)) != CK_OK ||
	    (r = ck_amend(place, &how, &report, &cli->fail)) != CK_OK)
		return r;
	return report.added == 0 ? say(cli, "already", row.path,
	    "is protected already") : say(cli, "protected", row.path,
	    write_only ? "workers that are started from now on cannot change "
	    "it" : "workers that are started from now on can neither read "
	    "nor change it");
}

static ck_err
drop(struct cli *cli, struct ck_place *place, const char *typed)
{
	char path[CK_PATH_MAX], canonical[CK_PATH_MAX];
	const struct ck_amend_how how = { .operation = "protect remove",
	    .remove = canonical };
	struct ck_amend_report report;
	ck_err r;

	if ((r = cli_absolute(cli, typed, path)) != CK_OK ||
	    (r = ck_path_canonical(path, canonical, &cli->fail)) != CK_OK ||
	    (r = ck_amend(place, &how, &report, &cli->fail)) != CK_OK)
		return r;
	return say(cli, "removed", canonical,
	    "workers that are started from now on may use it");
}

static ck_err
checkout(struct cli *cli, struct ck_place *place, const char *typed)
{
	char path[CK_PATH_MAX], canonical[CK_PATH_MAX];
	const char *const dirs[] = { canonical };
	const struct ck_amend_how how = { .operation = "protect checkout",
	    .checkouts = dirs, .ncheckouts = 1 };
	struct ck_amend_report report;
	struct stat st;
	ck_err r;

	if ((r = cli_absolute(cli, typed, path)) != CK_OK ||
	    (r = ck_path_canonical(path, canonical, &cli->fail)) != CK_OK)
		return r;
	if (stat(canonical, &st) != 0 || !S_ISDIR(st.st_mode))
		return ck_fail_set(&cli->fail, CK_NOSTORE, canonical,
		    "is no directory");
	if ((r = ck_amend(place, &how, &report, &cli->fail)) != CK_OK)
		return r;
	if (report.bearers > 0)
		cli_say(cli, "%s/.env.local holds an operator bearer: remove "
		    "it there, then clankie-keys rotate", canonical);
	return report.added == 0 ? say(cli, "already", canonical,
	    "is protected already") : say(cli, "protected", canonical,
	    "its .env.local is kept from workers that are started from now "
	    "on");
}

static void
show(const struct ck_rules_set *set, bool json, struct ck_buf *b)
{
	if (json) {
		js_open(b, '{');
		js_bool(b, "ok", true);
		js_name(b, "protected");
		js_open(b, '[');
	}
	for (size_t i = 0; i < set->n; i++) {
		const struct ck_rec_protected *row = &set->row[i];
		const char *deny = row->deny_read ? "read+write" : "write";
		const char *kind = row->directory ? "directory" : "file";

		if (!json) {
			ck_buf_format(b, "%-10s  %-9s  ", deny, kind);
			cli_show_bytes(b, CK_SPAN_TEXT(row->path));
			ck_buf_text(b, "  (");
			cli_show_bytes(b, CK_SPAN_TEXT(row->why));
			ck_buf_text(b, ")\n");
			continue;
		}
		js_open(b, '{');
		js_bytes(b, "path", CK_SPAN_TEXT(row->path));
		js_text(b, "kind", kind);
		js_text(b, "deny", deny);
		js_bytes(b, "why", CK_SPAN_TEXT(row->why));
		js_shut(b, '}');
	}
	if (json) {
		js_shut(b, ']');
		js_shut(b, '}');
		ck_buf_text(b, "\n");
	}
}

static ck_err
list(struct cli *cli, struct ck_place *place)
{
	struct ck_rules_set *set = calloc(1, sizeof(*set));
	struct ck_view v = CK_VIEW_INIT;
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	if (set == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	if ((r = ck_view_open(place, CK_REC_READ, &v, &cli->fail)) != CK_OK)
		goto out;
	if (v.rec == NULL) {
		r = ck_fail_set(&cli->fail, CK_NOSTORE, place->dir,
		    "there are no records yet, so nothing is protected");
		ck_advise(&cli->fail, place, "{migrate}");
		goto out;
	}
	if ((r = ck_rules_recorded(place, v.rec, set, &cli->fail)) != CK_OK)
		goto out;
	show(set, cli->json, &b);
	r = cli_put(cli, &b);
out:
	ck_view_close(&v);
	ck_buf_free(&b);
	free(set);
	return r;
}

static ck_err
run(struct cli *cli, struct ck_place *place, const char *const *words,
    size_t n, bool write_only)
{
	bool adds = n == 2 && strcmp(words[0], "add") == 0;

	if (write_only && !adds)
		return ck_fail_set(&cli->fail, CK_USAGE, "--write-only",
		    "goes with add");
	if (adds)
		return add(cli, place, words[1], write_only);
	if (n == 1 && strcmp(words[0], "list") == 0)
		return list(cli, place);
	if (n == 2 && strcmp(words[0], "remove") == 0)
		return drop(cli, place, words[1]);
	if (n == 2 && strcmp(words[0], "checkout") == 0)
		return checkout(cli, place, words[1]);
	return ck_fail_set(&cli->fail, CK_USAGE, NULL,
	    "list, add and a path, remove and a path, or checkout and a "
	    "directory");
}

ck_err
cmd_protect(struct cli *cli, int argc, char **argv)
{
	struct ck_secret password = CK_SECRET_INIT;
	struct ck_place place;
	const char *words[2];
	bool write_only = false;
	int password_fd = -1;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--write-only", OPT_FLAG, &write_only },
		{ "--login-password-fd", OPT_FD, &password_fd },
	};
	ck_err r;

	r = cli_options(cli, argc, argv, opts, 2, words, 2, &n);
	if (r != CK_OK)
		return r;
	if ((r = cli_password(cli, password_fd, &password)) != CK_OK)
		goto out;
	if (password.p != NULL)
		cli->say.login_password = &password;
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) == CK_OK)
		r = run(cli, &place, words, n, write_only);
out:
	ck_secret_wipe(&password);
	return r;
}
