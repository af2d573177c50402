/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys migrate */
#include "cli.h"

#include <string.h>
#include <sys/stat.h>

#include "custody/advice.h"
#include "custody/migrate.h"
#include "custody/rotate.h"

/* --checkout DIR as canonical directories. */
static ck_err
checkouts(struct cli *cli, const struct opt_list *said,
    char room[OPT_LIST_MAX][CK_PATH_MAX], const char **ret)
{
	char path[CK_PATH_MAX];
	struct stat st;
	ck_err r;

	for (size_t i = 0; i < said->n; i++) {
		if ((r = cli_absolute(cli, said->word[i], path)) != CK_OK ||
		    (r = ck_path_canonical(path, room[i],
		    &cli->fail)) != CK_OK)
			return r;
		/* A slip of the pen would protect nothing. */
		if (stat(room[i], &st) != 0 || !S_ISDIR(st.st_mode))
			return ck_fail_set(&cli->fail, CK_NOSTORE, room[i],
			    "is no directory, and so no checkout");
		ret[i] = room[i];
	}
	return CK_OK;
}

static const char *
end_name(enum ck_migrate_end end)
{
	switch (end) {
	case CK_MIGRATED:
		return "migrated";
	case CK_MIGRATE_ALREADY:
		return "already";
	case CK_MIGRATE_RESUMED:
		return "resumed";
	case CK_MIGRATE_PLANNED:
		break;
	}
	return "planned";
}

static const char *
sandbox_name(const struct ck_migrate_report *m)
{
	if (!m->sandbox_known)
		return "unknown";
	return m->sandbox == CK_SANDBOX_ON ? "on" :
	    m->sandbox == CK_SANDBOX_OFF ? "off" : "absent";
}

static void
plan(const struct ck_place *p, const struct ck_migrate_report *m,
    struct ck_buf *b)
{
	ck_buf_format(b, "would move %s / %s\n"
	    "  from            %s (%s)\n"
	    "  to              %s\n"
	    "  unlock password %s\n"
	    "  records         %s/%s: the dedicated keychain first for every "
	    "reader and writer\n"
	    "  rules           %s\n"
	    "  then erase      %zu cop%s in the broker, compared again under "
	    "its lock\n"
	    "nothing was changed\n", p->service, p->account, m->broker,
	    ck_rec_kind_name(m->broker_kind), m->keychain,
	    m->broker_kind == CK_KIND_LOGIN_KEYCHAIN ?
	    "an item of the same keychain" : p->unlock, p->dir, CK_REC_FILE,
	    m->rules, m->copies, m->copies == 1 ? "y" : "ies");
}

/*
 * --rotate: the value that every process could read goes at once.  One that
 * was rotated since is no such value any more, so that the same command line
 * can be given again.
 */
static ck_err
rotate(struct cli *cli, struct ck_place *p, const struct ck_migrate_report *m,
    bool dry_run, struct ck_rotate_report *ret)
{
	const struct ck_rotate_how how = { NULL, true, m->generation };
	struct ck_rotate_report report;
	ck_err r;

	if (dry_run)
		return CK_OK;
	r = ck_rotate(p, &how, &report, &cli->fail);
	if (r == CK_CHANGED && m->end == CK_MIGRATE_ALREADY)
		return CK_OK;
	if (r == CK_OK)
		*ret = report;
	else if (cli->fail.next[0] == '\0')
		ck_advise(&cli->fail, p, "the migration is complete; {rotate} "
		    "does what is left");
	return r;
}

/* Said before anything is moved: only an operator's bearer can be minted. */
static ck_err
can_mint(struct cli *cli, const struct ck_place *p)
{
	if (p->format == CK_FORMAT_OPERATOR_BEARER)
		return CK_OK;
	(void)ck_fail_set(&cli->fail, CK_UNSUPPORTED, p->credential,
	    "cannot be minted here: its new value comes from whoever issues "
	    "it");
	ck_advise(&cli->fail, p, "{migrate} without --rotate, then {rotate}");
	return CK_UNSUPPORTED;
}

/* What --checkout and --service-honours-precedence did to a credential that
 * had been moved before. */
static void
amended(const struct ck_migrate_report *m, bool dry_run, struct ck_buf *b)
{
	const struct ck_amend_report *a = &m->amended;
	const char *would = dry_run ? "would be " : "";

	if (a->added > 0)
		ck_buf_format(b, "checkouts    %zu %sadded to the rules\n",
		    a->added, would);
	if (a->there > 0)
		ck_buf_format(b, "checkouts    %zu in the rules already\n",
		    a->there);
	if (a->bearers > 0)
		ck_buf_format(b, "             %zu with something of the form "
		    "of an operator bearer in .env.local:\n"
		    "             clankie-keys check says where\n", a->bearers);
	if (a->changed > 0)
		ck_buf_format(b, "records      %zu of the service's places %s"
		    "noted as asking them\n", a->changed, would);
}

static void
people(const struct ck_place *p, const struct ck_migrate_report *m,
    const struct ck_rotate_report *t, bool dry_run, struct ck_buf *b)
{
	char next[CK_ADVICE_SIZE];

	if (m->end == CK_MIGRATE_PLANNED) {
		plan(p, m, b);
		return;
	}
	if (m->end == CK_MIGRATE_ALREADY)
		ck_buf_format(b, "already in the dedicated keychain%s\n",
		    dry_run || (t->generation == 0 && m->amended.added == 0 &&
		    m->amended.changed == 0) ? "; nothing was changed" : "");
	else if (m->end == CK_MIGRATE_RESUMED)
		ck_buf_format(b, "an interrupted migration was finished\n");
	ck_buf_format(b, "keychain     %s\n"
	    "fingerprint  %.8s\n"
	    "rules        %s\n", m->keychain, t->generation == 0 ?
	    m->fingerprint : t->fingerprint, m->rules);
	if (t->generation != 0)
		ck_buf_format(b, "generation   %llu: the value that was in "
		    "the broker holds no more\n",
		    (unsigned long long)t->generation);
	amended(m, dry_run, b);
	if (m->end == CK_MIGRATE_ALREADY)
		return;
	ck_buf_text(b, "\n");
	ck_advice(p, next, "{rotate}");
	if (t->generation == 0)
		ck_buf_format(b, "Until now every process of this user could "
		    "read this credential: replace it with\n  %s\n", next);
	if (m->sandbox_known && m->sandbox == CK_SANDBOX_ON)
		return;
	ck_buf_format(b, "The worker sandbox is %s: nothing is protected "
	    "yet.  Turn on fleet.workerSandbox in\n  %s\n",
	    m->sandbox_known ? "off" : "in an unknown state", p->settings);
}

static void
json(const struct ck_place *p, const struct ck_migrate_report *m,
    const struct ck_rotate_report *t, struct ck_buf *b)
{
	const char *print = t->generation == 0 ? m->fingerprint :
	    t->fingerprint;

	js_open(b, '{');
	js_bool(b, "ok", true);
	js_text(b, "outcome", end_name(m->end));
	js_text(b, "credential", p->credential);
	js_text(b, "service", p->service);
	js_text(b, "account", p->account);
	js_text(b, "broker", m->broker);
	js_text(b, "broker_kind", ck_rec_kind_name(m->broker_kind));
	js_text(b, "keychain", m->keychain);
	js_text(b, "rules", m->rules);
	if (print[0] != '\0')
		js_bytes(b, "fingerprint", (struct ck_span){
		    (const uint8_t *)print, 8 });
	else
		js_null(b, "fingerprint");
	js_text(b, "worker_sandbox", sandbox_name(m));
	js_number(b, "checkouts_added", (long long)m->amended.added);
	js_bool(b, "rotate_advised", t->generation == 0 &&
	    (m->end == CK_MIGRATED || m->end == CK_MIGRATE_RESUMED));
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

static void
unasked(void *arg, const char *names)
{
	cli_say(arg, "not known to ask the records, and may go on looking in "
	    "the broker: %s", names);
}

ck_err
cmd_migrate(struct cli *cli, int argc, char **argv)
{
	static char room[OPT_LIST_MAX][CK_PATH_MAX];
	const char *dirs[OPT_LIST_MAX], *words[1];
	struct opt_list said = { { NULL }, 0 };
	struct ck_migrate_how how = { false, false, dirs, 0, unasked, cli };
	struct ck_migrate_report report;
	struct ck_rotate_report rotated;
	struct ck_secret password = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;
	struct ck_place place;
	int password_fd = -1;
	bool rotating = false;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--dry-run", OPT_FLAG, &how.dry_run },
		{ "--rotate", OPT_FLAG, &rotating },
		{ "--service-honours-precedence", OPT_FLAG, &how.honours },
		{ "--broker", OPT_TEXT, &cli->say.broker },
		{ "--login-password-fd", OPT_FD, &password_fd },
		{ "--service", OPT_TEXT, &cli->say.service },
		{ "--account", OPT_TEXT, &cli->say.account },
		{ "--checkout", OPT_LIST, &said },
	};
	ck_err r;

	r = cli_options(cli, argc, argv, opts, sizeof(opts) / sizeof(opts[0]),
	    words, 1, &n);
	if (r != CK_OK)
		return r;
	if (n == 1)
		cli->say.credential = words[0];
	if ((r = cli_password(cli, password_fd, &password)) != CK_OK)
		goto out;
	if (password.p != NULL)
		cli->say.login_password = &password;
	if ((r = checkouts(cli, &said, room, dirs)) != CK_OK)
		goto out;
	how.ncheckouts = said.n;
	if ((r = cli_broker(cli)) != CK_OK ||
	    (r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK)
		goto out;
	if (rotating && (r = can_mint(cli, &place)) != CK_OK)
		goto out;
	if ((r = ck_migrate(&place, &how, &report, &cli->fail)) != CK_OK)
		goto out;
	memset(&rotated, 0, sizeof(rotated));
	if (rotating &&
	    (r = rotate(cli, &place, &report, how.dry_run,
	    &rotated)) != CK_OK)
		goto out;
	if (cli->json)
		json(&place, &report, &rotated, &out);
	else
		people(&place, &report, &rotated, how.dry_run, &out);
	r = how.dry_run ? cli_put(cli, &out) : cli_put_done(cli, &out);
out:
	ck_buf_free(&out);
	ck_secret_wipe(&password);
	return r;
}
