/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys precedence */
#include "cli.h"

#include <string.h>

#include "custody/view.h"

struct listing {
	struct ck_buf *out;
	bool json;
	size_t rows;
};

static ck_err
one(void *arg, const struct ck_rec_precedence *row)
{
	struct listing *l = arg;

	l->rows++;
	if (!l->json) {
		ck_buf_format(l->out, "%-12s %-22s %-7s %d  %-14s %s%s\n",
		    row->credential, row->principal, row->role, row->rank,
		    ck_rec_kind_name(row->store.kind), row->store.path,
		    strcmp(row->honours, "yes") == 0 ? "" :
		    strcmp(row->honours, "no") == 0 ?
		    "  (does not ask the records)" :
		    "  (not known to ask the records)");
		return CK_OK;
	}
	js_open(l->out, '{');
	js_text(l->out, "credential", row->credential);
	js_text(l->out, "principal", row->principal);
	js_text(l->out, "role", row->role);
	js_number(l->out, "rank", row->rank);
	js_text(l->out, "store", ck_rec_kind_name(row->store.kind));
	js_text(l->out, "path", row->store.path);
	js_text(l->out, "honours", row->honours);
	js_shut(l->out, '}');
	return CK_OK;
}

/* What a principal is, and what follows for it. */
static ck_err
explain(struct cli *cli, struct ck_records *rec, const char *id,
    struct ck_buf *out)
{
	struct ck_rec_principal who;
	ck_err r;

	r = ck_records_principal_get(rec, id, &who, &cli->fail);
	if (r == CK_ABSENT)
		return ck_fail_set(&cli->fail, CK_USAGE, id,
		    "is not a principal that the records know");
	if (r != CK_OK || cli->json)
		return r;
	ck_buf_format(out, "%s: %s\nreads: %s  writes: %s  asks the records: "
	    "%s\n\n", who.id, who.what, who.reader ? "yes" : "no",
	    who.writer ? "yes" : "no", who.honours);
	return CK_OK;
}

static ck_err
print(struct cli *cli, struct ck_records *rec, const char *principal)
{
	struct ck_buf out = CK_BUF_INIT;
	struct listing l = { &out, cli->json, 0 };
	ck_err r = CK_OK;

	if (cli->json) {
		js_open(&out, '{');
		js_bool(&out, "ok", true);
		js_name(&out, "precedence");
		js_open(&out, '[');
	}
	if (principal != NULL)
		r = explain(cli, rec, principal, &out);
	if (r == CK_OK)
		r = ck_records_precedence_each(rec, NULL, principal, one, &l,
		    &cli->fail);
	if (r != CK_OK)
		goto out;
	if (cli->json) {
		js_shut(&out, ']');
		js_shut(&out, '}');
		ck_buf_text(&out, "\n");
	} else if (l.rows == 0) {
		ck_buf_text(&out, "no precedence is recorded for it\n");
	} else if (principal != NULL) {
		ck_buf_text(&out, "\nRank 0 decides.  When it cannot be read "
		    "the answer is its error; rank 1 is where the credential "
		    "was before and is never asked instead.\n");
	}
	r = cli_put(cli, &out);
out:
	ck_buf_free(&out);
	return r;
}

ck_err
cmd_precedence(struct cli *cli, int argc, char **argv)
{
	struct ck_view v = CK_VIEW_INIT;
	struct ck_place place;
	const char *words[2];
	size_t n = 0;
	bool list, explained;
	ck_err r;

	r = cli_options(cli, argc, argv, NULL, 0, words, 2, &n);
	if (r != CK_OK)
		return r;
	list = n == 1 && strcmp(words[0], "list") == 0;
	explained = n == 2 && strcmp(words[0], "explain") == 0;
	if (!list && !explained)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "list, or explain and a principal");
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_view_open(&place, CK_REC_READ, &v, &cli->fail)) != CK_OK)
		return r;
	if (v.rec == NULL) {
		r = ck_fail_set(&cli->fail, CK_NOSTORE, place.dir,
		    "there are no records yet: every reader and writer asks "
		    "its broker");
		ck_fail_next(&cli->fail, "clankie-keys migrate");
	} else {
		r = print(cli, v.rec, explained ? words[1] : NULL);
	}
	ck_view_close(&v);
	return r;
}
