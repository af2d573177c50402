/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys boundary decide: can a boundary be emitted, is there one that
 * works here, and can the bearer be read. */
#include "boundary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boundary/capable.h"
#include "custody/live.h"
#include "custody/proof.h"

struct decide {
	const char *framework, *platform;
	struct opt_list said;
	struct ck_tokens tokens;
	enum ck_profile profile;
	bool allow;
	struct ck_capable answer;
	bool here;               /* the platform is this machine's */
	struct ck_live live;
	char evidence[BOUNDARY_EVIDENCE_SIZE];
	bool proved;
	struct ck_buf message;   /* of the advisory */
};

bool
boundary_evidence(const struct ck_place *place,
    char ret[BOUNDARY_EVIDENCE_SIZE])
{
	struct ck_fail fail = CK_FAIL_INIT;
	char kernel[CK_KERNEL_SIZE];
	struct ck_proof proof;
	ck_err r = ck_proof_read(place, &proof, &fail);
	bool same;

	cli_kernel(kernel);
	if (r != CK_OK) {
		(void)snprintf(ret, BOUNDARY_EVIDENCE_SIZE, "unverified%s%.200s",
		    r == CK_ABSENT ? "" : ": ", r == CK_ABSENT ? "" :
		    fail.why);
		return false;
	}
	same = strcmp(proof.version, CK_VERSION) == 0 &&
	    strcmp(proof.kernel, kernel) == 0;
	if (strcmp(proof.verdict, "PASS") != 0)
		(void)snprintf(ret, BOUNDARY_EVIDENCE_SIZE, "unverified: the "
		    "last boundary verify, on %s, said %s", proof.at,
		    proof.verdict);
	else
		(void)snprintf(ret, BOUNDARY_EVIDENCE_SIZE, "%s on %s "
		    "(clankie-keys %s, %s)", same ? "engages as tested" :
		    "stale: engaged as tested", proof.at, proof.version,
		    proof.kernel);
	return same && strcmp(proof.verdict, "PASS") == 0;
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

static void
live_text(const struct decide *d, struct ck_buf *b)
{
	const struct ck_live *l = &d->live;

	if (!d->here) {
		ck_buf_text(b, "not looked at: that is another platform than "
		    "this machine's\n");
		return;
	}
	if (strcmp(ck_target_here, "darwin") == 0)
		ck_buf_format(b, "sandbox-exec is %sthere; ",
		    l->sandbox_exec ? "" : "not ");
	else
		ck_buf_format(b, "bubblewrap is %sthere, user namespaces are "
		    "%sallowed%s, Landlock %s%.0d; ", l->bwrap ? "" : "not ",
		    l->user_namespaces ? "" : "not ", l->apparmor ?
		    " and AppArmor restricts them to profiles" : "",
		    l->landlock > 0 ? "version " : "is missing", l->landlock);
	ck_buf_format(b, "inside of %s%s\n", inside_name(l->inside),
	    l->inside == CK_INSIDE_NOTHING ? " yet" : " already");
}

/* Its own sandbox, where it has one, lets everything be read. */
static const char *
bearer(const struct decide *d)
{
	if (!d->answer.capable)
		return "can be read: there is no boundary";
	if (ck_target_of(d->platform) != CK_TARGET_LINUX)
		return "can be read: clankie-keys worker exec, which denies "
		    "that, is there on Linux only in this version";
	return "can be read by it unless it is started through clankie-keys "
	    "worker exec";
}

/* Two lines, never one: what can be emitted, and what that says of the
 * bearer. */
static void
people(const struct decide *d, struct ck_buf *b)
{
	const struct ck_capable *a = &d->answer;

	ck_buf_format(b, "framework    %s\nplatform     %s\n"
	    "profile      %s\nrequested    %s\n", d->framework, d->platform,
	    ck_profile_name(d->profile), a->requested ? "yes" :
	    "no: nothing is emitted");
	ck_buf_format(b, "boundary     %s\n", !a->capable ?
	    "cannot be emitted: nothing here would confine it" :
	    a->advisory == CK_ADVISORY_NONE ? "can be emitted" :
	    "can be emitted; it protects nothing until it is wrapped");
	ck_buf_format(b, "mechanism    %s\n", ck_mechanism_text(a->mechanism));
	ck_buf_format(b, "the bearer   %s\n", bearer(d));
	ck_buf_text(b, "live         ");
	live_text(d, b);
	ck_buf_format(b, "evidence     %s\n", d->here ? d->evidence :
	    "unverified: this machine is another platform");
	if (a->advisory != CK_ADVISORY_NONE)
		ck_buf_format(b, "advisory     %s (%s)\n  %.*s\n",
		    ck_advisory_code(a->advisory), a->fatal ? "fatal" :
		    "not fatal", (int)d->message.n,
		    (const char *)d->message.p);
	if (a->requested && d->profile == CK_PROFILE_EXCLUSIVE)
		ck_buf_text(b, "advisory     " CK_ADVISORY_EXCLUSIVE " (not "
		    "fatal)\n  exclusive keeps credentials from being read; "
		    "what comes in to the host is not closed by it\n");
	if (d->allow && a->fatal)
		ck_buf_text(b, "emitted      nothing, as you asked: there is "
		    "still no boundary\n");
}

static void
live_json(const struct decide *d, struct ck_buf *b)
{
	const struct ck_live *l = &d->live;

	if (!d->here) {
		js_null(b, "live");
		return;
	}
	js_name(b, "live");
	js_open(b, '{');
	js_bool(b, "bwrap", l->bwrap);
	js_bool(b, "user_namespaces", l->user_namespaces);
	js_bool(b, "apparmor_restricts", l->apparmor);
	js_number(b, "landlock", l->landlock);
	js_bool(b, "sandbox_exec", l->sandbox_exec);
	js_text(b, "inside", inside_name(l->inside));
	js_shut(b, '}');
}

static void
json(const struct decide *d, struct ck_buf *b)
{
	const struct ck_capable *a = &d->answer;

	js_open(b, '{');
	js_bool(b, "ok", !a->refused);
	js_bytes(b, "framework", CK_SPAN_TEXT(d->framework));
	js_bytes(b, "platform", CK_SPAN_TEXT(d->platform));
	js_text(b, "profile", ck_profile_name(d->profile));
	js_name(b, "tokens");
	js_open(b, '[');
	for (size_t i = 0; i < d->tokens.n; i++)
		js_item(b, d->tokens.at[i]);
	js_shut(b, ']');
	js_bool(b, "requested", a->requested);
	js_bool(b, "capable", a->capable);
	js_text(b, "mechanism", ck_mechanism_name(a->mechanism));
	if (a->advisory == CK_ADVISORY_NONE) {
		js_null(b, "advisory");
	} else {
		js_name(b, "advisory");
		js_open(b, '{');
		js_text(b, "code", ck_advisory_code(a->advisory));
		js_bool(b, "fatal", a->fatal);
		js_bytes(b, "message", ck_buf_view(&d->message));
		js_shut(b, '}');
	}
	js_bool(b, "emit", a->emit);
	live_json(d, b);
	js_text(b, "evidence", d->here ? d->evidence : "unverified");
	js_bool(b, "bearer_unreadable", false);
	if (a->requested && d->profile == CK_PROFILE_EXCLUSIVE)
		js_text(b, "also", CK_ADVISORY_EXCLUSIVE);
	else
		js_null(b, "also");
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

static ck_err
take(struct cli *cli, struct decide *d, const char *profile)
{
	ck_err r;

	if (d->framework == NULL || profile == NULL)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "--framework and --profile have to be given");
	if (d->platform == NULL)
		d->platform = ck_target_here;
	if ((r = ck_profile_find(profile, &d->profile, &cli->fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < d->said.n; i++)
		if ((r = ck_tokens_add(&d->tokens, d->said.word[i],
		    &cli->fail)) != CK_OK)
			return r;
	return ck_tokens_expand(&d->tokens, d->profile,
	    ck_framework_of(d->framework), &cli->fail);
}

static ck_err
answer(struct cli *cli, struct decide *d)
{
	struct ck_place place;
	ck_err r;

	ck_capable_decide(ck_framework_of(d->framework),
	    ck_target_of(d->platform), ck_tokens_request(&d->tokens,
	    d->profile), d->allow, &d->answer);
	d->here = ck_target_of(d->platform) == ck_target_of(ck_target_here);
	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK)
		return r;
	d->proved = boundary_evidence(&place, d->evidence) && d->here;
	if (d->here && (r = ck_live_look(&place, &d->live,
	    &cli->fail)) != CK_OK)
		return r;
	ck_advisory_text(d->answer.advisory, d->framework, d->platform,
	    d->proved, &d->message);
	return ck_buf_ok(&d->message) == CK_OK ? CK_OK :
	    ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
}

static ck_err
show(struct cli *cli, struct decide *d)
{
	struct ck_buf out = CK_BUF_INIT, why = CK_BUF_INIT;
	const uint8_t end = 0;
	ck_err r;

	if (cli->json) {
		json(d, &out);
		cli->answered = true;
	} else {
		people(d, &out);
	}
	r = cli_put(cli, &out);
	if (r == CK_OK && d->answer.refused) {
		ck_advisory_refusal(d->framework, d->platform, &why);
		ck_buf_bytes(&why, &end, 1);
		(void)ck_fail_set(&cli->fail, CK_NOENFORCE, NULL, "%s",
		    ck_buf_ok(&why) == CK_OK ? (char *)why.p : "fail-closed");
		ck_fail_next(&cli->fail, "--allow-unenforced-confinement goes "
		    "on without any boundary");
		r = CK_NOENFORCE;
	}
	ck_buf_free(&why);
	ck_buf_free(&out);
	return r;
}

ck_err
boundary_decide(struct cli *cli, int argc, char **argv)
{
	struct decide *d = calloc(1, sizeof(*d));
	const char *profile = NULL;
	size_t n = 0;
	ck_err r;

	if (d == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	const struct opt opts[] = {
		{ "--framework", OPT_TEXT, &d->framework },
		{ "--platform", OPT_TEXT, &d->platform },
		{ "--profile", OPT_TEXT, &profile },
		{ "--token", OPT_LIST, &d->said },
		{ "--allow-unenforced-confinement", OPT_FLAG, &d->allow },
	};
	if ((r = cli_options(cli, argc, argv, opts,
	    sizeof(opts) / sizeof(opts[0]), NULL, 0, &n)) == CK_OK &&
	    (r = cli_prepare(cli, CLI_HEAP_KEYS)) == CK_OK &&
	    (r = take(cli, d, profile)) == CK_OK &&
	    (r = answer(cli, d)) == CK_OK)
		r = show(cli, d);
	ck_buf_free(&d->message);
	free(d);
	return r;
}
