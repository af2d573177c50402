/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys envelope: prepare, remove, prove. */
#include "envelope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environ.h"

struct workers {
	char *text;
	size_t size, used, n;
};

enum { WORKERS_SHOWN = 8 };

static void
one_worker(void *arg, const struct ck_environ_process *process)
{
	struct workers *w = arg;
	int k;

	if (!ck_environ_same_mounts(process->pid) || w->n++ >= WORKERS_SHOWN ||
	    w->used >= w->size)
		return;
	k = snprintf(w->text + w->used, w->size - w->used, "%s%ld",
	    w->n == 1 ? "" : ", ", (long)process->pid);
	w->used += k < 0 ? 0 : (size_t)k;
}

size_t
envelope_workers(char *ret, size_t size)
{
	struct workers w = { ret, size, 0, 0 };
	size_t unseen = 0;

	ret[0] = '\0';
	(void)!ck_environ_scan(CK_MARKER_DEFAULT, NULL, one_worker, &w,
	    &unseen, NULL);
	return w.n;
}

struct said {
	const char *level, *runtime, *home;
	struct opt_list files, workspaces;
	bool network;
};

static ck_err
take_list(struct cli *cli, const struct opt_list *list,
    char (*ret)[CK_PATH_MAX], size_t most, size_t *ret_n, const char *what)
{
	ck_err r;

	if (list->n > most)
		return ck_fail_set(&cli->fail, CK_USAGE, what,
		    "at most %zu can be given", most);
	for (size_t i = 0; i < list->n; i++)
		if ((r = cli_absolute(cli, list->word[i], ret[i])) != CK_OK)
			return r;
	*ret_n = list->n;
	return CK_OK;
}

/* The program of the runtime, where nothing else was said. */
static ck_err
usual_file(struct cli *cli, struct ck_envelope *e)
{
	static const char *const usual[] = { "bin/node", "node" };
	char path[CK_PATH_MAX];
	FILE *f;
	ck_err r;

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++) {
		if ((r = ck_path_join(e->runtime, usual[i], path,
		    &cli->fail)) != CK_OK)
			return r;
		if ((f = fopen(path, "re")) == NULL)
			continue;
		(void)fclose(f);
		memcpy(e->file[0], path, sizeof(path));
		e->nfiles = 1;
		return CK_OK;
	}
	(void)ck_fail_set(&cli->fail, CK_REFUSED, e->runtime,
	    "has no bin/node: which program is the runtime's?");
	ck_fail_next(&cli->fail, "name it, and each library outside of the "
	    "runtime and the system that it loads, with --runtime-file FILE");
	return CK_REFUSED;
}

static ck_err
private_home(struct cli *cli, const struct ck_place *p, const char *said,
    char ret[CK_PATH_MAX])
{
	char parent[CK_PATH_MAX];

	if (said != NULL)
		return cli_absolute(cli, said, ret);
	ck_path_parent(p->settings, parent);
	return ck_path_join(parent, "local-sandbox-home", ret, &cli->fail);
}

static ck_err
take_said(struct cli *cli, const struct said *said, const struct ck_place *p,
    struct ck_envelope *e)
{
	ck_err r;

	if (said->level == NULL || said->runtime == NULL ||
	    said->workspaces.n == 0)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "--level, --runtime and --workspace have to be given");
	if ((r = ck_level_find(said->level, &e->level, &cli->fail)) != CK_OK ||
	    (r = cli_absolute(cli, said->runtime, e->runtime)) != CK_OK ||
	    (r = take_list(cli, &said->workspaces, e->workspace,
	    CK_ENVELOPE_WORKSPACES, &e->nworkspaces, "--workspace")) != CK_OK ||
	    (r = take_list(cli, &said->files, e->file, CK_ENVELOPE_FILES,
	    &e->nfiles, "--runtime-file")) != CK_OK ||
	    (r = private_home(cli, p, said->home, e->home)) != CK_OK)
		return r;
	e->network = said->network;
	return e->nfiles > 0 ? CK_OK : usual_file(cli, e);
}

static void
prepared(const struct ck_envelope *e, const struct ck_envelope_report *m,
    struct ck_buf *b)
{
	char workers[128];
	size_t n = envelope_workers(workers, sizeof(workers));

	ck_buf_format(b, "level        %s\n"
	    "control      %s\n"
	    "private home %s%s\n"
	    "network      %s\n", ck_level_name(e->level), e->control, e->home,
	    m->home_made ? "" : " (was there; its settings are new)",
	    e->network ? "to anywhere" : "none");
	ck_buf_format(b, "\nStill yours to do, with the service stopped:\n"
	    "  its continuing state (conversations, memory, pairing) into\n"
	    "    %s/state and %s/s\n"
	    "  the accounts and login files that its harnesses need into the "
	    "private home\n", e->home, e->home);
	if (!m->settings)
		ck_buf_text(b, "  settings: there were none to copy\n");
	if (n > 0)
		ck_buf_format(b, "  %zu unconfined worker%s that run%s now "
		    "(%s): end or finish them first\n", n, n == 1 ? "" : "s",
		    n == 1 ? "s" : "", workers);
	ck_buf_text(b, "Then start it with\n"
	    "  clankie-keys envelope launch -- COMMAND\n"
	    "Nothing was started, moved or changed elsewhere.\n");
}

static void
prepared_json(const struct ck_envelope *e,
    const struct ck_envelope_report *m, struct ck_buf *b)
{
	char workers[128];

	js_open(b, '{');
	js_bool(b, "ok", true);
	js_text(b, "id", e->id);
	js_text(b, "level", ck_level_name(e->level));
	js_text(b, "control", e->control);
	js_text(b, "private_home", e->home);
	js_bool(b, "private_home_made", m->home_made);
	js_bool(b, "settings_copied", m->settings);
	js_bool(b, "network", e->network);
	js_number(b, "unconfined_workers",
	    (long long)envelope_workers(workers, sizeof(workers)));
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

ck_err
envelope_prepare(struct cli *cli, int argc, char **argv)
{
	struct said said = { NULL, NULL, NULL, { { NULL }, 0 },
	    { { NULL }, 0 }, false };
	const struct opt opts[] = {
		{ "--level", OPT_TEXT, &said.level },
		{ "--runtime", OPT_TEXT, &said.runtime },
		{ "--runtime-file", OPT_LIST, &said.files },
		{ "--workspace", OPT_LIST, &said.workspaces },
		{ "--private-home", OPT_TEXT, &said.home },
		{ "--network", OPT_FLAG, &said.network },
	};
	struct ck_envelope *e = calloc(1, sizeof(*e));
	struct ck_envelope_report report;
	struct ck_buf out = CK_BUF_INIT;
	struct ck_place place;
	size_t n = 0;
	ck_err r;

	if (e == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	if ((r = cli_options(cli, argc, argv, opts,
	    sizeof(opts) / sizeof(opts[0]), NULL, 0, &n)) != CK_OK ||
	    (r = cli_prepare(cli, CLI_HEAP_VALUE)) != CK_OK ||
	    (r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = take_said(cli, &said, &place, e)) != CK_OK ||
	    (r = ck_envelope_prepare(&place, e, &report, &cli->fail)) != CK_OK)
		goto out;
	if (cli->json)
		prepared_json(e, &report, &out);
	else
		prepared(e, &report, &out);
	r = cli_put_done(cli, &out);
out:
	ck_buf_free(&out);
	free(e);
	return r;
}

static ck_err
envelope_remove(struct cli *cli, int argc, char **argv)
{
	struct ck_buf out = CK_BUF_INIT;
	struct ck_place place;
	size_t n = 0;
	ck_err r;

	if ((r = cli_options(cli, argc, argv, NULL, 0, NULL, 0,
	    &n)) != CK_OK ||
	    (r = cli_prepare(cli, CLI_HEAP_VALUE)) != CK_OK ||
	    (r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_envelope_remove(&place, &cli->fail)) != CK_OK)
		return r;
	if (cli->json)
		ck_buf_text(&out, "{\"ok\":true}\n");
	else
		ck_buf_text(&out, "removed: from its next start on the service "
		    "has the ordinary full access\nThe private home stays, and "
		    "so does what runs in the envelope now.\n");
	r = cli_put_done(cli, &out);
	ck_buf_free(&out);
	return r;
}

static ck_err
envelope_prove(struct cli *cli, int argc, char **argv)
{
	struct ck_buf out = CK_BUF_INIT;
	struct ck_place place;
	const char *label;
	size_t n = 0;
	ck_err r, put;

	if ((r = cli_options(cli, argc, argv, NULL, 0, NULL, 0,
	    &n)) != CK_OK ||
	    (r = cli_prepare(cli, CLI_HEAP_VALUE)) != CK_OK ||
	    (r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK)
		return r;
	r = ck_envelope_prove(&place, &cli->fail);
	label = r == CK_OK ? "os-sandbox" : "service-preference";
	if (r != CK_OK && r != CK_NOENFORCE)
		return r;
	if (cli->json) {
		js_open(&out, '{');
		js_bool(&out, "ok", r == CK_OK);
		js_text(&out, "enforcement", label);
		if (r == CK_OK)
			js_null(&out, "why");
		else
			js_text(&out, "why", cli->fail.why);
		js_shut(&out, '}');
		ck_buf_text(&out, "\n");
		cli->answered = true;
	} else {
		ck_buf_format(&out, "%s\n", label);
	}
	put = cli_put(cli, &out);
	ck_buf_free(&out);
	return put == CK_OK ? r : put;
}

ck_err
cmd_envelope(struct cli *cli, int argc, char **argv)
{
	static const struct {
		const char *name;
		ck_err (*run)(struct cli *cli, int argc, char **argv);
	} parts[] = {
		{ "prepare", envelope_prepare },
		{ "launch", envelope_launch },
		{ "prove", envelope_prove },
		{ "status", envelope_status },
		{ "remove", envelope_remove },
	};

	for (size_t i = 0; argc > 0 && i < sizeof(parts) / sizeof(*parts); i++)
		if (strcmp(argv[0], parts[i].name) == 0)
			return parts[i].run(cli, argc - 1, argv + 1);
	return ck_fail_set(&cli->fail, CK_USAGE, argc > 0 ? argv[0] : NULL,
	    "prepare, launch, prove, status or remove has to be said");
}
