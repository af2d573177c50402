/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys worker sandbox: the switch, what the owner said about it, and
 * saying it. */
#include "worker.h"

#include <string.h>

#include "custody/preflight.h"

static const char *
word_name(enum ck_word word)
{
	return word == CK_WORD_ON ? "on" : word == CK_WORD_OFF ? "off" :
	    "follow";
}

static const char *
setting_name(const struct ck_launch_facts *f)
{
	if (!f->readable)
		return "unknown";
	return f->setting == CK_SANDBOX_ON ? "on" :
	    f->setting == CK_SANDBOX_OFF ? "off" : "absent";
}

static const char *
inside_name(enum ck_inside inside)
{
	switch (inside) {
	case CK_INSIDE_WORKER:
		return "worker";
	case CK_INSIDE_ENVELOPE:
		return "envelope";
	case CK_INSIDE_OTHER:
		return "other";
	case CK_INSIDE_NOTHING:
		break;
	}
	return "nothing";
}

/* What the next launch would do. */
static const char *
outcome(const struct ck_launch_facts *f, struct ck_fail *why)
{
	enum ck_launch_how how = CK_LAUNCH_OFF;

	if (ck_launch_decide(f, &how, why) != CK_OK)
		return "refused";
	return how == CK_LAUNCH_CONFINED ? "confined" :
	    how == CK_LAUNCH_ENVELOPE ? "envelope" : "unconfined";
}

static ck_err
show(struct cli *cli, const struct ck_place *place,
    const struct ck_launch_facts *f, bool wrap, bool recorded)
{
	struct ck_buf b = CK_BUF_INIT;
	struct ck_fail why = CK_FAIL_INIT;
	const char *next = outcome(f, &why);
	ck_err r;

	if (cli->json) {
		js_open(&b, '{');
		js_bool(&b, "ok", true);
		js_bool(&b, "recorded", recorded);
		js_text(&b, "settings", place->settings);
		js_text(&b, "worker_sandbox", setting_name(f));
		js_text(&b, "word", word_name(f->word));
		js_bool(&b, "seen_on", f->seen);
		js_text(&b, "undecided", wrap ? "wrap" : "refuse");
		js_text(&b, "inside", inside_name(f->inside));
		js_text(&b, "launch", next);
		js_text(&b, "code", ck_err_code(why.code));
		js_shut(&b, '}');
		ck_buf_text(&b, "\n");
	} else {
		ck_buf_format(&b, "settings     %s (%s)\n"
		    "your word    %s\n"
		    "seen on      %s\n"
		    "inside       %s\n"
		    "a launch is  %s%s%s\n", setting_name(f), place->settings,
		    word_name(f->word), f->seen ? "yes" : "no",
		    inside_name(f->inside), next, why.why[0] != '\0' ?
		    ": " : "", why.why);
	}
	r = recorded ? cli_put_done(cli, &b) : cli_put(cli, &b);
	ck_buf_free(&b);
	return r;
}

static ck_err
look_and_show(struct cli *cli, struct ck_place *place, bool recorded)
{
	struct ck_launch launch = CK_LAUNCH_INIT;
	ck_err r;

	if ((r = ck_launch_look(place, &launch, &cli->fail)) != CK_OK)
		return r;
	r = show(cli, place, &launch.facts, launch.wrap_undecided, recorded);
	ck_launch_close(&launch);
	return r;
}

/* What the owner says. */
struct said {
	const char *word, *undecided;        /* NULL: nothing */
	enum ck_word on;
	bool wrap;
	int password_fd;
};

static ck_err
parse(struct cli *cli, struct said *said)
{
	if (said->word != NULL && (said->word[0] == '\0' ||
	    ck_word_parse(said->word, &said->on, NULL) != CK_OK))
		return ck_fail_set(&cli->fail, CK_USAGE, said->word,
		    "is neither on, off nor follow");
	if (said->undecided == NULL)
		return CK_OK;
	said->wrap = strcmp(said->undecided, "wrap") == 0;
	return said->wrap || strcmp(said->undecided, "refuse") == 0 ?
	    CK_OK : ck_fail_set(&cli->fail, CK_USAGE, said->undecided,
	    "is neither wrap nor refuse");
}

static ck_err
record_and_show(struct cli *cli, const struct said *said)
{
	struct ck_place place;
	ck_err r;

	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK)
		return r;
	if (said->undecided != NULL && (r = ck_launch_say_undecided(&place,
	    said->wrap, &cli->fail)) != CK_OK)
		return r;
	if (said->word != NULL && (r = ck_launch_say(&place, said->on,
	    &cli->fail)) != CK_OK)
		return r;
	return look_and_show(cli, &place,
	    said->word != NULL || said->undecided != NULL);
}

ck_err
worker_sandbox(struct cli *cli, int argc, char **argv)
{
	struct ck_secret password = CK_SECRET_INIT;
	struct said said = { NULL, NULL, CK_WORD_FOLLOW, false, -1 };
	size_t n = 0;
	const struct opt opts[] = {
		{ "--undecided", OPT_TEXT, &said.undecided },
		{ "--login-password-fd", OPT_FD, &said.password_fd },
	};
	ck_err r;

	if ((r = cli_options(cli, argc, argv, opts, 2, &said.word, 1,
	    &n)) != CK_OK || (r = parse(cli, &said)) != CK_OK ||
	    ((said.word != NULL || said.undecided != NULL) &&
	    (r = ck_preflight_worker(cli->say.worker_marked,
	    "say whether workers are confined", &cli->fail)) != CK_OK) ||
	    (r = cli_prepare(cli, CLI_HEAP_VALUE)) != CK_OK ||
	    (r = cli_password(cli, said.password_fd, &password)) != CK_OK)
		return r;
	if (password.p != NULL)
		cli->say.login_password = &password;
	r = record_and_show(cli, &said);
	ck_secret_wipe(&password);
	return r;
}
