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

	if (ck_launch_decide(f, NULL, &how, why) != CK_OK)
		return "refused";
	return how == CK_LAUNCH_CONFINED ? "confined" :
	    how == CK_LAUNCH_ENVELOPE ? "envelope" : "unconfined";
}

static ck_err
show(struct cli *cli, const struct ck_place *place,
    const struct ck_launch *l, bool recorded)
{
	const struct ck_launch_facts *f = &l->facts;
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
		js_text(&b, "undecided", l->wrap_undecided ? "wrap" :
		    "refuse");
		js_bool(&b, "strict", l->strict);
		js_text(&b, "inside", inside_name(f->inside));
		js_text(&b, "launch", next);
		js_text(&b, "code", ck_err_code(why.code));
		js_shut(&b, '}');
		ck_buf_text(&b, "\n");
	} else {
		ck_buf_format(&b, "settings     %s (%s)\n"
		    "your word    %s\n"
		    "seen on      %s\n"
		    "strict       %s\n"
		    "inside       %s\n"
		    "a launch is  %s%s%s\n", setting_name(f), place->settings,
		    word_name(f->word), f->seen ? "yes" : "no",
		    l->strict ? "on" : "off",
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
	r = show(cli, place, &launch, recorded);
	ck_launch_close(&launch);
	return r;
}

/* What the owner says, as he says it: NULL is nothing. */
struct said {
	const char *word, *undecided, *strict;
	int password_fd;
};

/* One of two words; CK_USAGE. */
static ck_err
either(struct cli *cli, const char *text, const char *yes, const char *no,
    bool *ret)
{
	*ret = text != NULL && strcmp(text, yes) == 0;
	if (text == NULL || *ret || strcmp(text, no) == 0)
		return CK_OK;
	return ck_fail_set(&cli->fail, CK_USAGE, text, "is neither %s nor %s",
	    yes, no);
}

static ck_err
say(struct cli *cli, const struct said *said, struct ck_place *place)
{
	enum ck_word word = CK_WORD_FOLLOW;
	bool wrap = false, strict = false;
	const struct ck_launch_said launch = {
		said->word == NULL ? NULL : &word,
		said->undecided == NULL ? NULL : &wrap,
		said->strict == NULL ? NULL : &strict,
	};
	ck_err r;

	if (said->word != NULL && (said->word[0] == '\0' ||
	    ck_word_parse(said->word, &word, NULL) != CK_OK))
		return ck_fail_set(&cli->fail, CK_USAGE, said->word,
		    "is neither on, off nor follow");
	if ((r = either(cli, said->undecided, "wrap", "refuse",
	    &wrap)) != CK_OK ||
	    (r = either(cli, said->strict, "on", "off", &strict)) != CK_OK ||
	    (r = ck_preflight_worker(cli->say.worker_marked,
	    "say whether workers are confined", &cli->fail)) != CK_OK ||
	    (r = ck_place_resolve(&cli->say, place, &cli->fail)) != CK_OK)
		return r;
	return ck_launch_say(place, &launch, &cli->fail);
}

ck_err
worker_sandbox(struct cli *cli, int argc, char **argv)
{
	struct ck_secret password = CK_SECRET_INIT;
	struct said said = { NULL, NULL, NULL, -1 };
	struct ck_place place;
	size_t n = 0;
	bool recorded;
	const struct opt opts[] = {
		{ "--undecided", OPT_TEXT, &said.undecided },
		{ "--strict", OPT_TEXT, &said.strict },
		{ "--login-password-fd", OPT_FD, &said.password_fd },
	};
	ck_err r;

	if ((r = cli_options(cli, argc, argv, opts, sizeof(opts) /
	    sizeof(opts[0]), &said.word, 1, &n)) != CK_OK ||
	    (r = cli_prepare(cli, CLI_HEAP_VALUE)) != CK_OK ||
	    (r = cli_password(cli, said.password_fd, &password)) != CK_OK)
		return r;
	if (password.p != NULL)
		cli->say.login_password = &password;
	recorded = said.word != NULL || said.undecided != NULL ||
	    said.strict != NULL;
	r = recorded ? say(cli, &said, &place) :
	    ck_place_resolve(&cli->say, &place, &cli->fail);
	if (r == CK_OK)
		r = look_and_show(cli, &place, recorded);
	ck_secret_wipe(&password);
	return r;
}
