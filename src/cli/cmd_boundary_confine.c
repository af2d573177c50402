/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys boundary confine: becomes a command that can read the world but
 * no credential, and write its workspace alone. */
#include "boundary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "boundary/bwrap.h"
#include "custody/confine.h"
#include "custody/confine_command.h"

#define PRLIMIT "/usr/bin/prlimit"

/* All that passes besides what was said (integration.md 13.1). */
static const char *const passed[] = {
	"PATH", "HOME", "USER", "LOGNAME", "TERM", "LANG", "LC_ALL", "LC_CTYPE",
	"LC_MESSAGES", "TZ", "TMPDIR", "SHELL"
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct confine {
	const char *workspace, *network;
	struct opt_list writable, exclude, protect, env;
	unsigned int cpu, nproc;
	bool check;
	char path[4][OPT_LIST_MAX][CK_PATH_MAX];
	const char *word[4][OPT_LIST_MAX];
	const char *exclude_all[OPT_LIST_MAX + CK_HELPERS_MAX + 1];
	struct ck_helpers helpers;
	char runtime_dir[64];
	struct ck_confine what;
	struct ck_buf words, vars;
};

static ck_err
absolute(struct cli *cli, struct confine *c, int which,
    const struct opt_list *list)
{
	ck_err r;

	for (size_t i = 0; i < list->n; i++) {
		if ((r = cli_absolute(cli, list->word[i],
		    c->path[which][i])) != CK_OK)
			return r;
		c->word[which][i] = c->path[which][i];
	}
	return CK_OK;
}

/* Whatever starts commands or signs for this user outside is no part of the
 * world that is read: its sockets are masked, with what was excluded. */
static ck_err
excludes(struct cli *cli, struct confine *c, const struct ck_place *place,
    size_t *ret_n)
{
	struct ck_helpers_say say;
	size_t n = 0;
	ck_err r;

	for (size_t i = 0; i < c->exclude.n; i++)
		c->exclude_all[n++] = c->word[1][i];
	cli_helpers_say(place, &say);
	if ((r = ck_helpers_find(&say, &c->helpers, &cli->fail)) != CK_OK)
		return r;
	if (c->helpers.more)
		return ck_fail_set(&cli->fail, CK_NOENFORCE, NULL,
		    "there are more than %d sockets of helpers to mask",
		    CK_HELPERS_MAX);
	for (size_t i = 0; i < c->helpers.n; i++)
		c->exclude_all[n++] = c->helpers.at[i].path;
	/* Of all of the session, also those that come later. */
	(void)snprintf(c->runtime_dir, sizeof(c->runtime_dir), "/run/user/%lu",
	    (unsigned long)getuid());
	if (access(c->runtime_dir, F_OK) == 0)
		c->exclude_all[n++] = c->runtime_dir;
	*ret_n = n;
	return CK_OK;
}

static ck_err
look(struct cli *cli, struct confine *c)
{
	struct ck_confine_said said;
	struct ck_place place;
	ck_err r;

	memset(&said, 0, sizeof(said));
	if (c->workspace == NULL)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "--workspace has to be given");
	if (c->network != NULL && strcmp(c->network, "deny") != 0 &&
	    strcmp(c->network, "host") != 0)
		return ck_fail_set(&cli->fail, CK_USAGE, c->network,
		    "is not deny or host");
	if ((r = cli_absolute(cli, c->workspace, c->path[3][0])) != CK_OK ||
	    (r = absolute(cli, c, 0, &c->writable)) != CK_OK ||
	    (r = absolute(cli, c, 1, &c->exclude)) != CK_OK ||
	    (r = absolute(cli, c, 2, &c->protect)) != CK_OK ||
	    (r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK)
		return r;
	said.workspace = c->path[3][0];
	said.writable = c->word[0];
	said.nwritable = c->writable.n;
	said.exclude = c->exclude_all;
	if ((r = excludes(cli, c, &place, &said.nexclude)) != CK_OK)
		return r;
	said.protect = c->word[2];
	said.nprotect = c->protect.n;
	said.network = c->network != NULL && strcmp(c->network, "host") == 0;
	return ck_confine_look(&place, &said, &c->what, &cli->fail);
}

static void
put(struct ck_buf *b, const char *word)
{
	ck_buf_bytes(b, word, strlen(word) + 1);
}

static void
put_variable(struct ck_buf *b, const char *name)
{
	const char *value = getenv(name);
	const uint8_t end = 0;

	if (value == NULL)
		return;
	ck_buf_format(b, "%s=%s", name, value);
	ck_buf_bytes(b, &end, 1);
}

/* Limits: applied, or named as not applied. */
static void
limits(struct cli *cli, struct confine *c)
{
	char text[32];

	if (c->nproc == 0)
		return;
	if (!ck_confine_counts_processes || access(PRLIMIT, X_OK) != 0) {
		cli_say(cli, "--nproc-max is not applied: %s",
		    ck_confine_counts_processes ? PRLIMIT " is missing" :
		    "a limit on processes counts all of the user's here");
		return;
	}
	(void)snprintf(text, sizeof(text), "--nproc=%u", c->nproc);
	put(&c->words, PRLIMIT);
	put(&c->words, text);
	put(&c->words, "--");
}

static ck_err
make(struct cli *cli, struct confine *c)
{
	ck_err r;

	for (size_t i = 0; i < COUNT(passed); i++)
		put_variable(&c->vars, passed[i]);
	for (size_t i = 0; i < c->env.n; i++)
		put_variable(&c->vars, c->env.word[i]);
	if ((r = ck_confine_command(&c->what, &c->words, &cli->fail)) != CK_OK)
		return r;
	limits(cli, c);
	if (ck_buf_ok(&c->words) == CK_OK && ck_buf_ok(&c->vars) == CK_OK)
		return CK_OK;
	return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
}

/* As a shell would run it; what was allowed by name is left for that shell to
 * fill in, since it may be a secret. */
static ck_err
show(struct cli *cli, struct confine *c, int argc, char **command)
{
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	if (c->cpu > 0)
		ck_buf_format(&b, "ulimit -t %u; ", c->cpu);
	ck_buf_text(&b, "exec env -i");
	for (size_t i = 0; i < COUNT(passed); i++)
		if (getenv(passed[i]) != NULL) {
			ck_buf_format(&b, " %s=", passed[i]);
			ck_shell_word(&b, getenv(passed[i]));
		}
	for (size_t i = 0; i < c->env.n; i++)
		if (getenv(c->env.word[i]) != NULL)
			ck_buf_format(&b, " %s=\"$%s\"", c->env.word[i],
			    c->env.word[i]);
	for (size_t i = 0; i < c->words.n;
	    i += strlen((char *)c->words.p + i) + 1) {
		ck_buf_text(&b, " ");
		ck_shell_word(&b, (char *)c->words.p + i);
	}
	for (int i = 0; i < argc; i++) {
		ck_buf_text(&b, " ");
		ck_shell_word(&b, command[i]);
	}
	ck_buf_text(&b, "\n");
	r = cli_put(cli, &b);
	ck_buf_free(&b);
	return r;
}

/* Texts with a NUL behind each, as pointers, and then more of them. */
static char **
pointers(const struct ck_buf *b, int argc, char **more)
{
	size_t n = 0;
	char **list;

	for (size_t i = 0; i < b->n; i++)
		n += b->p[i] == 0 ? 1 : 0;
	if ((list = calloc(n + (size_t)argc + 1, sizeof(*list))) == NULL)
		return NULL;
	n = 0;
	for (size_t i = 0; i < b->n; i += strlen((char *)b->p + i) + 1)
		list[n++] = (char *)b->p + i;
	for (int i = 0; i < argc; i++)
		list[n++] = more[i];
	return list;
}

static ck_err
become(struct cli *cli, struct confine *c, int argc, char **command)
{
	struct rlimit cpu = { c->cpu, (rlim_t)c->cpu + 1 };
	char **argv = pointers(&c->words, argc, command);
	char **env = pointers(&c->vars, 0, NULL);
	ck_err r = CK_OK;

	if (argv == NULL || env == NULL)
		r = ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	else if (c->cpu > 0 && setrlimit(RLIMIT_CPU, &cpu) != 0)
		r = ck_fail_sys(&cli->fail, errno, NULL,
		    "limit its processor time");
	if (r == CK_OK) {
		(void)execve(argv[0], argv, env);
		r = ck_fail_set(&cli->fail, CK_NOENFORCE, argv[0],
		    "cannot be run: %s", strerror(errno));
	}
	free(argv);
	free(env);
	return r;
}

static ck_err
confine(struct cli *cli, struct confine *c, int argc, char **command)
{
	ck_err r;

	if (argc < 1)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "no command stands behind --");
	if (geteuid() == 0 && !c->check) {
		(void)ck_fail_set(&cli->fail, CK_NOENFORCE, NULL,
		    "root cannot be kept from anything");
		ck_fail_next(&cli->fail, "run it as an ordinary user");
		return CK_NOENFORCE;
	}
	if ((r = look(cli, c)) != CK_OK || (r = make(cli, c)) != CK_OK)
		return r;
	return c->check ? show(cli, c, argc, command) :
	    become(cli, c, argc, command);
}

ck_err
boundary_confine(struct cli *cli, int argc, char **argv)
{
	struct confine *c = calloc(1, sizeof(*c));
	int own = 0;
	size_t n = 0;
	ck_err r;

	if (c == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	const struct opt opts[] = {
		{ "--workspace", OPT_TEXT, &c->workspace },
		{ "--writable", OPT_LIST, &c->writable },
		{ "--exclude", OPT_LIST, &c->exclude },
		{ "--protect", OPT_LIST, &c->protect },
		{ "--network", OPT_TEXT, &c->network },
		{ "--env-allow", OPT_LIST, &c->env },
		{ "--cpu-max", OPT_NUMBER, &c->cpu },
		{ "--nproc-max", OPT_NUMBER, &c->nproc },
		{ "--check", OPT_FLAG, &c->check },
	};
	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	if ((r = cli_options(cli, own, argv, opts, COUNT(opts), NULL, 0,
	    &n)) == CK_OK)
		r = confine(cli, c, argc - own - 1, argv + own + 1);
	ck_confine_done(&c->what);
	ck_buf_free(&c->words);
	ck_buf_free(&c->vars);
	free(c);
	return r;
}
