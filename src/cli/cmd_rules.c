/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys rules */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "boundary/bwrap.h"
#include "custody/advice.h"
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

/* What is shown, and what it leaves open: a line for each. */
struct shown {
	struct ck_rules_set set;
	struct ck_mounts plan;
	struct ck_buf text;
	struct ck_buf gaps;
};

static ck_err
chosen_set(struct cli *cli, const struct ck_place *place,
    const struct ck_view *v, const struct opt_list *said,
    struct ck_rules_set *ret)
{
	const char *dirs[OPT_LIST_MAX];
	static char room[OPT_LIST_MAX][CK_PATH_MAX];
	char path[CK_PATH_MAX];
	ck_err r;

	/* --checkout only adds to what is shown; the records decide what is
	 * written. */
	for (size_t i = 0; i < said->n; i++) {
		dirs[i] = room[i];
		if ((r = cli_absolute(cli, said->word[i], path)) != CK_OK ||
		    (r = ck_path_canonical(path, room[i],
		    &cli->fail)) != CK_OK)
			return r;
	}
	if (has_custody(v))
		return ck_rules_recorded(place, v->rec, ret, &cli->fail);
	return ck_rules_defaults(place, dirs, said->n, ret, &cli->fail);
}

/* How the mount plan is shown. */
enum plan_form {
	PLAN_FILE,                   /* as in worker.mounts */
	PLAN_BWRAP,                  /* bubblewrap's arguments for a shell */
	PLAN_BWRAP_NULL              /* and for its --args */
};

static ck_err
show_mounts(struct cli *cli, const struct ck_place *place,
    enum plan_form form, struct shown *to)
{
	struct ck_mounts_options options;
	const char *gap;
	ck_err r;

	if ((r = ck_rules_mounts(place, &to->set, true, &to->plan,
	    &cli->fail)) != CK_OK)
		return r;
	ck_rules_mounts_options(place, &options);
	if (form == PLAN_FILE)
		ck_mounts_write(&to->plan, &to->text);
	else if ((r = ck_bwrap_render(&to->plan, &options,
	    form == PLAN_BWRAP ? CK_BWRAP_SHELL : CK_BWRAP_NULL, &to->text,
	    &cli->fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < to->plan.n; i++)
		if (ck_mounts_report(&to->plan, i, &options, &to->gaps))
			ck_buf_bytes(&to->gaps, "", 1);
	for (size_t i = 0; form != PLAN_FILE &&
	    (gap = ck_bwrap_gap(i)) != NULL; i++)
		ck_buf_bytes(&to->gaps, gap, strlen(gap) + 1);
	if ((r = ck_buf_ok(&to->text)) == CK_OK)
		r = ck_buf_ok(&to->gaps);
	return r == CK_OK ? r : ck_fail_set(&cli->fail, r, NULL, "no memory");
}

/* Each gap is a string; they lie one behind the other. */
static const char *
next_gap(const struct shown *s, const char *gap)
{
	const char *end;

	if (s->gaps.n == 0)
		return NULL;
	end = (const char *)s->gaps.p + s->gaps.n;
	gap = gap == NULL ? (const char *)s->gaps.p : gap + strlen(gap) + 1;
	return gap < end ? gap : NULL;
}

static ck_err
put(struct cli *cli, const struct shown *s, const char *format,
    const char *path, bool written)
{
	struct ck_buf b = CK_BUF_INIT;
	const char *gap = NULL;
	ck_err r;

	if (!cli->json) {
		while ((gap = next_gap(s, gap)) != NULL)
			cli_say(cli, "%s", gap);
		return cli_put(cli, &s->text);
	}
	js_open(&b, '{');
	js_bool(&b, "ok", true);
	js_text(&b, "format", format);
	if (path != NULL)
		js_text(&b, "path", path);
	else
		js_null(&b, "path");
	js_bool(&b, "written", written);
	js_bytes(&b, "text", ck_buf_view(&s->text));
	js_name(&b, "gaps");
	js_open(&b, '[');
	while ((gap = next_gap(s, gap)) != NULL)
		js_item(&b, gap);
	js_shut(&b, ']');
	js_shut(&b, '}');
	ck_buf_text(&b, "\n");
	r = cli_put(cli, &b);
	ck_buf_free(&b);
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
		ck_advise(&cli->fail, place, "{migrate}");
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

/* Both files are the records', whichever format was asked for. */
static ck_err
say_written(struct cli *cli, const struct ck_place *place)
{
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	ck_buf_format(&b, "written      %s\n             %s\n", place->rules,
	    place->mounts);
	r = cli_put_done(cli, &b);
	ck_buf_free(&b);
	return r;
}

/* What was asked for: a text in a format, or why one thing is decided. */
struct asked {
	const char *format;
	const char *path, *op;       /* NULL, unless it is to be explained */
	bool write;
	bool null;                   /* bwrap: for its --args */
};

/* As text, which is the place's file in two of the formats. */
static ck_err
show_text(struct cli *cli, const struct ck_place *place,
    const struct asked *asked, struct shown *s)
{
	const char *path = NULL;
	ck_err r;

	if (strcmp(asked->format, "bwrap") == 0) {
		r = show_mounts(cli, place, asked->null ? PLAN_BWRAP_NULL :
		    PLAN_BWRAP, s);
	} else if (strcmp(asked->format, "mounts") == 0) {
		path = place->mounts;
		r = show_mounts(cli, place, PLAN_FILE, s);
	} else {
		path = place->rules;
		r = ck_rules_seatbelt(place, &s->set, true, &s->text,
		    &cli->fail);
	}
	return r != CK_OK ? r : put(cli, s, asked->format, path,
	    asked->write);
}

static ck_err
show(struct cli *cli, const struct ck_place *place, const struct ck_view *v,
    const struct opt_list *said, const struct asked *asked)
{
	struct shown *s = calloc(1, sizeof(*s));
	ck_err r;

	if (s == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	if ((r = chosen_set(cli, place, v, said, &s->set)) == CK_OK &&
	    (asked->path != NULL || strcmp(asked->format, "json") == 0)) {
		r = asked->path == NULL ? rules_json(cli, place, &s->set) :
		    rules_explain(cli, place, &s->set, asked->path,
		    asked->op);
		free(s);
		return r;
	}
	if (r == CK_OK)
		r = show_text(cli, place, asked, s);
	ck_buf_free(&s->text);
	ck_buf_free(&s->gaps);
	free(s);
	return r;
}

static bool
is_format(const char *format)
{
	static const char *const formats[] = { "seatbelt", "mounts", "bwrap",
		"json" };

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(format, formats[i]) == 0)
			return true;
	return false;
}

/* Does what was asked for make sense together? */
static ck_err
judge_asked(struct cli *cli, const char *const *words, size_t n,
    const struct opt_list *said, struct asked *asked)
{
	if (n > 0 && (n != 2 || strcmp(words[0], "explain") != 0))
		return ck_fail_set(&cli->fail, CK_USAGE, words[0],
		    "is nothing to do with rules: explain and a path is");
	asked->path = n == 2 ? words[1] : NULL;
	if ((asked->path != NULL) != (asked->op != NULL))
		return ck_fail_set(&cli->fail, CK_USAGE, "--op",
		    "goes with explain and a path, which needs it");
	if (!is_format(asked->format))
		return ck_fail_set(&cli->fail, CK_UNSUPPORTED, asked->format,
		    "is not a format of this version; seatbelt, mounts, bwrap "
		    "and json are");
	if (asked->null && (cli->json ||
	    strcmp(asked->format, "bwrap") != 0))
		return ck_fail_set(&cli->fail, CK_USAGE, "--null",
		    "goes with --format bwrap, and not with --json");
	if (asked->write && (said->n > 0 || asked->path != NULL))
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "explain and --checkout only show; what is written comes "
		    "from the records");
	return !asked->write ? CK_OK :
	    ck_preflight_worker(cli->say.worker_marked, "write the rules",
	    &cli->fail);
}

ck_err
cmd_rules(struct cli *cli, int argc, char **argv)
{
	struct opt_list said = { { NULL }, 0 };
	struct ck_view v = CK_VIEW_INIT;
	struct ck_secret password = CK_SECRET_INIT;
	struct asked asked = { "seatbelt", NULL, NULL, false, false };
	const char *words[2];
	struct ck_place place;
	int password_fd = -1;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--format", OPT_TEXT, &asked.format },
		{ "--op", OPT_TEXT, &asked.op },
		{ "--write", OPT_FLAG, &asked.write },
		{ "--null", OPT_FLAG, &asked.null },
		{ "--checkout", OPT_LIST, &said },
		{ "--login-password-fd", OPT_FD, &password_fd },
	};
	ck_err r;

	r = cli_options(cli, argc, argv, opts, sizeof(opts) / sizeof(opts[0]),
	    words, 2, &n);
	if (r != CK_OK ||
	    (r = judge_asked(cli, words, n, &said, &asked)) != CK_OK)
		return r;
	if ((r = cli_password(cli, password_fd, &password)) != CK_OK)
		return r;
	if (password.p != NULL)
		cli->say.login_password = &password;
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_view_open(&place, CK_REC_READ, &v, &cli->fail)) != CK_OK)
		goto out;
	if (asked.write && (r = write_rules(cli, &place, &v)) != CK_OK)
		goto out;
	if (asked.write && !cli->json)
		r = say_written(cli, &place);
	else
		r = show(cli, &place, &v, &said, &asked);
out:
	ck_secret_wipe(&password);
	ck_view_close(&v);
	return r;
}
