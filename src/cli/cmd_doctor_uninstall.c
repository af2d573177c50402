/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys doctor --uninstall */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "custody/doctor_uninstall.h"

/* commands: as they are, to be copied. */
static void
lines(const char *head, const struct ck_lines *l, bool commands,
    struct ck_buf *b)
{
	if (l->n == 0)
		return;
	ck_buf_format(b, "%s\n", head);
	for (size_t i = 0; i < l->n; i++) {
		ck_buf_text(b, "  ");
		if (commands)
			cli_show_command(b, CK_SPAN_TEXT(l->at[i]));
		else
			cli_show_bytes(b, CK_SPAN_TEXT(l->at[i]));
		ck_buf_text(b, "\n");
	}
	if (l->more > 0)
		ck_buf_format(b, "  and %zu more\n", l->more);
}

static bool
has_records(const struct ck_uninstall *u)
{
	for (size_t i = 0; i < u->removes.n; i++)
		if (strcmp(ck_path_base(u->removes.at[i]), CK_REC_FILE) == 0)
			return true;
	return false;
}

static void
people(const struct ck_uninstall *u, struct ck_buf *b)
{
	lines("bearers lie in", &u->bearers, false, b);
	lines("in the way", &u->in_the_way, false, b);
	lines("first run", &u->commands, true, b);
	lines("remove by hand, where it was put by hand", &u->by_hand, false,
	    b);
	lines(u->removed ? "removed" : "--confirm removes", &u->removes, false,
	    b);
	if (has_records(u))
		ck_buf_format(b, "%s\n", u->removed ?
		    "no copy of the event log was kept" :
		    "no copy of the event log is kept: copy " CK_REC_FILE
		    " first if you want one");
	lines("stays, and is not ours to remove", &u->stays, false, b);
	if (u->bearers.n + u->in_the_way.n + u->removes.n == 0)
		ck_buf_text(b, "there is nothing of ours here\n");
}

static void
json_lines(const char *name, const struct ck_lines *l, struct ck_buf *b)
{
	js_name(b, name);
	js_open(b, '[');
	for (size_t i = 0; i < l->n; i++)
		js_item(b, l->at[i]);
	js_shut(b, ']');
}

static void
json(const struct ck_uninstall *u, bool ok, struct ck_buf *b)
{
	js_open(b, '{');
	js_bool(b, "ok", ok);
	js_text(b, "outcome", u->removed ? "removed" : "planned");
	json_lines("bearers", &u->bearers, b);
	json_lines("in_the_way", &u->in_the_way, b);
	json_lines("commands", &u->commands, b);
	json_lines("by_hand", &u->by_hand, b);
	json_lines("removes", &u->removes, b);
	json_lines("stays", &u->stays, b);
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

/* Looking is not the way out: something is left to be done or decided. */
static ck_err
ask(struct cli *cli, const struct ck_uninstall *u)
{
	if (u->removes.n + u->in_the_way.n == 0)
		return CK_OK;
	(void)ck_fail_set(&cli->fail, CK_DECIDE, NULL, "nothing was removed");
	ck_fail_next(&cli->fail, "%s", u->commands.n > 0 ? u->commands.at[0] :
	    u->in_the_way.n > 0 ? "clear what is in the way first" :
	    "clankie-keys doctor --uninstall --confirm");
	return CK_DECIDE;
}

ck_err
doctor_uninstall(struct cli *cli, bool confirm)
{
	struct ck_uninstall *u = calloc(1, sizeof(*u));
	struct ck_buf b = CK_BUF_INIT;
	struct ck_place place;
	ck_err r, put;

	if (u == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK)
		goto out;
	r = ck_doctor_uninstall(&place, confirm, u, &cli->fail);
	if (r != CK_OK && (r != CK_DECIDE || !confirm))
		goto out;
	if (!confirm)
		r = ask(cli, u);
	if (cli->json)
		json(u, r == CK_OK, &b);
	else
		people(u, &b);
	if ((put = cli_put(cli, &b)) != CK_OK)
		r = put;
	cli->answered = put == CK_OK;
out:
	ck_buf_free(&b);
	free(u);
	return r;
}
