/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys precedence */
#include "cli.h"

#include <string.h>

#include "custody/advice.h"
#include "custody/amend.h"
#include "custody/resolve.h"
#include "custody/view.h"

struct listing {
	struct ck_buf *out;
	bool json;
	size_t rows;
};

/* Rows can be edited: nothing of them steers a terminal or breaks a line. */
static void
padded(struct ck_buf *b, const char *text, size_t width)
{
	size_t before = b->n;

	cli_show_bytes(b, CK_SPAN_TEXT(text));
	do
		ck_buf_text(b, " ");
	while (!b->failed && b->n - before <= width);
}

static ck_err
one(void *arg, const struct ck_rec_precedence *row)
{
	struct listing *l = arg;

	l->rows++;
	if (!l->json) {
		padded(l->out, row->credential, 12);
		padded(l->out, row->principal, 22);
		padded(l->out, row->role, 7);
		ck_buf_format(l->out, "%-4d  %-14s ", row->rank,
		    ck_rec_kind_name(row->store.kind));
		cli_show_bytes(l->out, CK_SPAN_TEXT(row->store.path));
		ck_buf_format(l->out, "%s\n",
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

static void
heading(struct ck_buf *b)
{
	padded(b, "CREDENTIAL", 12);
	padded(b, "PRINCIPAL", 22);
	padded(b, "ROLE", 7);
	ck_buf_text(b, "RANK  STORE          PATH\n");
}

/* What a principal is, and what follows for it. */
static ck_err
explain(struct cli *cli, struct ck_records *rec, const char *id,
    struct ck_buf *out)
{
	struct ck_rec_principal who;
	ck_err r;

	r = ck_records_principal_get(rec, id, &who, &cli->fail);
	if (r == CK_ABSENT) {
		(void)ck_fail_set(&cli->fail, CK_USAGE, id,
		    "is not a principal that the records know");
		ck_advise(&cli->fail, NULL, "{precedence list}");
		return CK_USAGE;
	}
	if (r != CK_OK || cli->json)
		return r;
	cli_show_bytes(out, CK_SPAN_TEXT(who.id));
	ck_buf_text(out, ": ");
	cli_show_bytes(out, CK_SPAN_TEXT(who.what));
	ck_buf_format(out, "\nreads: %s  writes: %s  asks the records: ",
	    who.reader ? "yes" : "no", who.writer ? "yes" : "no");
	cli_show_bytes(out, CK_SPAN_TEXT(who.honours));
	ck_buf_text(out, "\n\n");
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
	if (r == CK_OK && !cli->json)
		heading(&out);
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

static ck_err
count(void *arg, const struct ck_rec_event *row)
{
	*(uint64_t *)arg = row->seq;
	return CK_OK;
}

/* How far the events are what was written: their number, or the reason. */
static ck_err
events(struct ck_records *rec, uint64_t *ret, struct ck_fail *fail)
{
	ck_err r;

	*ret = 0;
	if ((r = ck_records_begin(rec, fail)) != CK_OK)
		return r;
	if ((r = ck_records_events_verify(rec, fail)) == CK_OK)
		r = ck_records_event_each(rec, count, ret, fail);
	ck_records_rollback(rec);
	return r;
}

/*
 * Seal and events, both shown whatever the other says.  The seal is proved as
 * `get` proves it: the value is read, and fits the records.
 */
static ck_err
verify(struct cli *cli, struct ck_place *place, const struct ck_view *v)
{
	struct ck_secret value = CK_SECRET_INIT;
	struct ck_fail events_fail = CK_FAIL_INIT;
	struct ck_buf out = CK_BUF_INIT;
	ck_err seal, chain, r;
	uint64_t n;

	seal = ck_resolve(place, NULL, &value, NULL, &cli->fail);
	ck_secret_wipe(&value);
	chain = events(v->rec, &n, &events_fail);
	if (cli->json && seal == CK_OK && chain == CK_OK) {
		js_open(&out, '{');
		js_bool(&out, "ok", true);
		js_text(&out, "seal", "fits");
		js_number(&out, "generation", (long long)v->row.generation);
		js_text(&out, "events", "unbroken");
		js_number(&out, "event_count", (long long)n);
		js_shut(&out, '}');
		ck_buf_text(&out, "\n");
	} else if (!cli->json) {
		ck_buf_format(&out, "seal         %s\n", seal == CK_OK ?
		    "fits the records, and the records fit the keychain" :
		    seal == CK_DAMAGED ? "DOES NOT FIT" :
		    "could not be compared");
		if (chain == CK_OK)
			ck_buf_format(&out, "events       %llu, none changed "
			    "or missing\n", (unsigned long long)n);
		else
			ck_buf_format(&out, "events       NOT WHAT WAS "
			    "WRITTEN: %s\n", events_fail.why);
	}
	r = cli_put(cli, &out);
	ck_buf_free(&out);
	if (seal != CK_OK)
		return seal;
	if (chain != CK_OK)
		cli->fail = events_fail;
	return chain != CK_OK ? chain : r;
}

static ck_err
first_moved(void *arg, const struct ck_rec_credential *row)
{
	char *name = arg;

	if (name[0] == '\0' && row->state != CK_STATE_BROKER)
		memcpy(name, row->name, sizeof(row->name));
	return CK_OK;
}

/* The seal is over all records; the keychain is asked by the name of what it
 * holds, which may be another credential than the operator's bearer. */
static ck_err
verify_sealed(struct cli *cli, struct ck_place *place, struct ck_view *v)
{
	char name[sizeof(v->row.name)] = "";
	ck_err r;

	if (!ck_view_is_dedicated(v) &&
	    (r = ck_records_credential_each(v->rec, first_moved,
	    name, &cli->fail)) != CK_OK)
		return r;
	if (name[0] != '\0') {
		ck_view_close(v);
		cli->say.credential = name;
		r = ck_place_resolve(&cli->say, place, &cli->fail);
		cli->say.credential = NULL;
		if (r != CK_OK || (r = ck_view_open(place, CK_REC_READ, v,
		    &cli->fail)) != CK_OK)
			return r;
	}
	if (ck_view_is_dedicated(v))
		return verify(cli, place, v);
	(void)ck_fail_set(&cli->fail, CK_NOSTORE, place->dir,
	    "%s was not migrated: there is no seal to compare",
	    place->credential);
	ck_advise(&cli->fail, place, "{migrate}");
	return CK_NOSTORE;
}

/* precedence honours PRINCIPAL yes|no|unknown */
static ck_err
honours(struct cli *cli, struct ck_place *place, const char *const *words)
{
	const struct ck_amend_how how = { .operation = "precedence honours",
	    .principals = words, .nprincipals = 1, .honours = words[1] };
	struct ck_amend_report report;
	struct ck_buf out = CK_BUF_INIT;
	ck_err r;

	if (strcmp(words[1], "yes") != 0 && strcmp(words[1], "no") != 0 &&
	    strcmp(words[1], "unknown") != 0)
		return ck_fail_set(&cli->fail, CK_USAGE, words[1],
		    "is not yes, no or unknown");
	if ((r = ck_amend(place, &how, &report, &cli->fail)) != CK_OK)
		return r;
	if (cli->json) {
		js_open(&out, '{');
		js_bool(&out, "ok", true);
		js_text(&out, "principal", words[0]);
		js_text(&out, "honours", words[1]);
		js_bool(&out, "changed", report.changed > 0);
		js_shut(&out, '}');
		ck_buf_text(&out, "\n");
	} else {
		ck_buf_format(&out, "%s asks the records: %s%s\n", words[0],
		    words[1], report.changed > 0 ? "" :
		    ", as was noted already");
	}
	r = cli_put_done(cli, &out);
	ck_buf_free(&out);
	return r;
}

/* What only reads them. */
static ck_err
read(struct cli *cli, struct ck_place *place, bool verified,
    const char *principal)
{
	struct ck_view v = CK_VIEW_INIT;
	ck_err r;

	if ((r = ck_view_open(place, CK_REC_READ, &v, &cli->fail)) != CK_OK)
		return r;
	if (v.rec == NULL) {
		r = ck_fail_set(&cli->fail, CK_NOSTORE, place->dir,
		    "there are no records yet: every reader and writer asks "
		    "its broker");
		ck_advise(&cli->fail, place, "{migrate}");
	} else if (verified) {
		r = verify_sealed(cli, place, &v);
	} else {
		r = print(cli, v.rec, principal);
	}
	ck_view_close(&v);
	return r;
}

ck_err
cmd_precedence(struct cli *cli, int argc, char **argv)
{
	struct ck_place place;
	struct ck_secret password = CK_SECRET_INIT;
	const char *words[3];
	bool list, explained, verified, honoured;
	int password_fd = -1;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--login-password-fd", OPT_FD, &password_fd },
	};
	ck_err r;

	r = cli_options(cli, argc, argv, opts, 1, words, 3, &n);
	if (r != CK_OK)
		return r;
	list = n == 1 && strcmp(words[0], "list") == 0;
	explained = n == 2 && strcmp(words[0], "explain") == 0;
	verified = n == 1 && strcmp(words[0], "verify") == 0;
	honoured = n == 3 && strcmp(words[0], "honours") == 0;
	if (!list && !explained && !verified && !honoured)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "list, explain and a principal, verify, or honours, a "
		    "principal and yes, no or unknown");
	if ((r = cli_password(cli, password_fd, &password)) != CK_OK)
		goto out;
	if (password.p != NULL)
		cli->say.login_password = &password;
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK)
		goto out;
	r = honoured ? honours(cli, &place, words + 1) :
	    read(cli, &place, verified, explained ? words[1] : NULL);
out:
	ck_secret_wipe(&password);
	return r;
}
