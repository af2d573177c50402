/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clankie-keys envelope launch: becomes the command in its envelope, or, when
 * none is prepared, as it is.  Whatever is wrong with an envelope stops it.
 */
#include "envelope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "custody/inside.h"
#include "custody/resolve.h"
#include "worker.h"

#define ENTRY "clankie-envelope-entry"
#define OPERATOR_TOKEN "CLANKIE_OPERATOR_TOKEN"
/* More than a limit on open files usually is. */
#define DESCRIPTORS_MAX 65536

/* What passes as it is (integration.md 6.4), without the two bearers; and
 * those, which have to be named. */
static const char *const passed[] = {
	"LANG", "LC_ALL", "TERM", "COLORTERM", "HOST", "PORT", "CLANKIE_HOST"
};
static const char *const bearers[] = {
	"CLANKIE_CAPTAIN_TOKEN", OPERATOR_TOKEN
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct launch {
	struct cli *cli;
	struct ck_place place;
	struct ck_envelope *e;
	struct opt_list provision;
	int password_fd;
	struct ck_buf env, words;   /* NUL behind each */
	char program[CK_PATH_MAX], entry[CK_PATH_MAX];
	char directory[CK_PATH_MAX], sockets[CK_PATH_MAX];
};

static ck_err
no_memory(struct cli *cli)
{
	return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
}

static void
put(struct launch *l, const char *name, const char *value)
{
	const uint8_t end = 0;

	ck_buf_format(&l->env, "%s=%s", name, value);
	ck_buf_bytes(&l->env, &end, 1);
}

/* dir and rest are parts of one path. */
static void
put_path(struct launch *l, const char *name, const char *dir,
    const char *rest)
{
	const uint8_t end = 0;

	ck_buf_format(&l->env, "%s=%s%s", name, dir, rest);
	ck_buf_bytes(&l->env, &end, 1);
}

/* The key of the bearer, as the authenticator asks for it.  In a process of
 * its own: the one that becomes the service has no limit or mode of ours. */
static void
give_operator(struct launch *l, int fd)
{
	struct ck_secret value = CK_SECRET_INIT, password = CK_SECRET_INIT;
	struct ck_secret key = CK_SECRET_INIT;
	struct cli *cli = l->cli;
	ck_err r;

	if ((r = cli_prepare(cli, CLI_HEAP_VALUE)) == CK_OK &&
	    (r = cli_password(cli, l->password_fd, &password)) == CK_OK) {
		l->place.login_password = password.p == NULL ? NULL :
		    &password;
		r = ck_resolve(&l->place, NULL, &value, NULL, &cli->fail);
	}
	if (r == CK_OK && (r = ck_bearer_key(&value, &key)) != CK_OK)
		(void)ck_fail_set(&cli->fail, r, NULL,
		    "the bearer has no key");
	if (r == CK_OK)
		r = ck_io_write_all(fd, key.p, key.n, NULL, &cli->fail);
	if (r != CK_OK)
		cli_report(cli, r);
	ck_secret_wipe(&key);
	ck_secret_wipe(&value);
	ck_secret_wipe(&password);
	_exit(ck_err_exit(r));
}

static ck_err
read_operator(struct launch *l, int fd, pid_t pid)
{
	const uint8_t end = 0;
	char text[512];
	int status = 0;
	size_t n = 0;
	ssize_t k;

	while (n < sizeof(text) && ((k = read(fd, text + n,
	    sizeof(text) - n)) > 0 || (k < 0 && errno == EINTR)))
		n += k > 0 ? (size_t)k : 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || n == 0 ||
	    n == sizeof(text)) {
		(void)ck_fail_set(&l->cli->fail, CK_NOENFORCE, OPERATOR_TOKEN,
		    "cannot be provisioned: the credential was not given");
		return CK_NOENFORCE;
	}
	ck_buf_text(&l->env, OPERATOR_TOKEN "=");
	ck_buf_bytes(&l->env, text, n);
	ck_buf_bytes(&l->env, &end, 1);
	explicit_bzero(text, sizeof(text));
	return CK_OK;
}

static ck_err
resolve_operator(struct launch *l)
{
	int fd[2];
	pid_t pid;
	ck_err r;

	if (pipe(fd) != 0)
		return ck_fail_sys(&l->cli->fail, errno, NULL, "make a pipe");
	if ((pid = fork()) == 0) {
		(void)close(fd[0]);
		give_operator(l, fd[1]);
	}
	(void)close(fd[1]);
	r = pid < 0 ? ck_fail_sys(&l->cli->fail, errno, NULL, "fork") :
	    read_operator(l, fd[0], pid);
	(void)close(fd[0]);
	return r;
}

static ck_err
provide(struct launch *l, const char *name)
{
	const char *value = getenv(name);

	for (size_t i = 0; i < COUNT(bearers); i++) {
		if (strcmp(name, bearers[i]) != 0)
			continue;
		if (value != NULL && value[0] != '\0') {
			put(l, name, value);
			return CK_OK;
		}
		if (strcmp(name, OPERATOR_TOKEN) == 0)
			return resolve_operator(l);
		return ck_fail_set(&l->cli->fail, CK_USAGE, name,
		    "is to be provisioned and is not set here");
	}
	return ck_fail_set(&l->cli->fail, CK_USAGE, name,
	    "is nothing that can be provisioned: %s or %s", bearers[0],
	    bearers[1]);
}

/* Rebuilt, and nothing of the caller's but what is listed. */
static ck_err
environment(struct launch *l)
{
	const struct ck_envelope *e = l->e;
	const uint8_t end = 0;
	const char *value;
	ck_err r;

	for (size_t i = 0; i < COUNT(passed); i++)
		if ((value = getenv(passed[i])) != NULL)
			put(l, passed[i], value);
	put(l, "HOME", e->home);
	put_path(l, "XDG_CONFIG_HOME", e->home, "/config");
	put_path(l, "XDG_STATE_HOME", e->home, "/state");
	put_path(l, "CLANKIE_STATE_HOME", e->home, "/state");
	put_path(l, "CLANKIE_SETTINGS_FILE", e->home,
	    "/config/clankie/settings.json");
	put_path(l, "CLANKIE_STATE", e->home, "/s");
	put_path(l, "TMPDIR", e->home, "/tmp");
	put(l, "OPENSSL_CONF", "/dev/null");
	put(l, "SHELL", ck_envelope_shell);
	put(l, "CLANKIE_LOCAL_SANDBOX", e->control);
	put(l, "XDG_RUNTIME_DIR", l->sockets);
	put_path(l, "HERDR_SOCKET_PATH", l->sockets, "/herdr/herdr.sock");
	ck_buf_format(&l->env, "PATH=%s/bin:%s/bin:%s:/usr/bin:/bin:/usr/sbin:"
	    "/sbin", e->home, e->runtime, e->runtime);
	ck_buf_bytes(&l->env, &end, 1);
	for (size_t i = 0; i < l->provision.n; i++)
		if ((r = provide(l, l->provision.word[i])) != CK_OK)
			return r;
	return ck_buf_ok(&l->env) == CK_OK ? CK_OK : no_memory(l->cli);
}

static bool
is_of_runtime(const struct ck_envelope *e, const char *path)
{
	if (ck_path_under(path, e->runtime))
		return true;
	for (size_t i = 0; i < e->nfiles; i++)
		if (strcmp(path, e->file[i]) == 0)
			return true;
	return false;
}

/* A name without a slash is looked for in the runtime alone. */
static ck_err
find_program(struct launch *l, const char *word)
{
	const struct ck_envelope *e = l->e;
	char path[CK_PATH_MAX];
	struct cli *cli = l->cli;
	ck_err r;

	if (strchr(word, '/') != NULL)
		r = cli_absolute(cli, word, path);
	else if ((r = ck_path_format(path, &cli->fail, "%s/bin/%s", e->runtime,
	    word)) == CK_OK && access(path, F_OK) != 0)
		r = ck_path_format(path, &cli->fail, "%s/%s", e->runtime,
		    word);
	if (r != CK_OK ||
	    (r = ck_path_canonical(path, l->program, &cli->fail)) != CK_OK)
		return r;
	if (is_of_runtime(e, l->program))
		return CK_OK;
	(void)ck_fail_set(&cli->fail, CK_NOENFORCE, l->program,
	    "is not of the runtime %.400s that the envelope was prepared for",
	    e->runtime);
	ck_fail_next(&cli->fail, "clankie-keys envelope status");
	return CK_NOENFORCE;
}

static ck_err
find_entry(struct launch *l)
{
	const struct ck_envelope *e = l->e;
	ck_err r;

	if (!ck_envelope_has_entry)
		return CK_OK;
	if ((r = worker_beside(l->cli, ENTRY, l->entry)) != CK_OK)
		return r;
	for (size_t i = 0; i < e->nworkspaces; i++)
		if (ck_path_under(l->entry, e->workspace[i]))
			return ck_fail_set(&l->cli->fail, CK_REFUSED, l->entry,
			    "lies in a workspace, where the service could "
			    "replace it");
	return ck_path_under(l->entry, e->home) ? ck_fail_set(&l->cli->fail,
	    CK_REFUSED, l->entry, "lies in the private home") : CK_OK;
}

/* Where it is now, if that is granted. */
static ck_err
find_directory(struct launch *l)
{
	const struct ck_envelope *e = l->e;
	char cwd[CK_PATH_MAX];
	bool granted = getcwd(cwd, sizeof(cwd)) != NULL &&
	    (ck_path_under(cwd, e->home) || ck_path_under(cwd, e->runtime));

	for (size_t i = 0; !granted && i < e->nworkspaces && cwd[0] == '/';
	    i++)
		granted = ck_path_under(cwd, e->workspace[i]);
	return ck_path_format(l->directory, &l->cli->fail, "%s",
	    granted ? cwd : e->workspace[0]);
}

/* Texts with a NUL behind each, as pointers; room for more behind. */
static char **
pointers(const struct ck_buf *b, size_t more, size_t *ret_n)
{
	size_t n = 0;
	char **list;

	for (size_t i = 0; i < b->n; i++)
		n += b->p[i] == 0 ? 1 : 0;
	if ((list = calloc(n + more + 1, sizeof(*list))) == NULL)
		return NULL;
	*ret_n = n;
	n = 0;
	for (size_t i = 0; i < b->n; i += strlen((char *)b->p + i) + 1)
		list[n++] = (char *)b->p + i;
	return list;
}

/* Does the boundary come about at all?  A first, harmless command says so, for
 * what bubblewrap says of itself is no status of ours. */
static ck_err
try_it(struct launch *l, char **argv, size_t n, char **env)
{
	static char harmless[] = "/usr/bin/true";
	int status = 0;
	pid_t pid;

	argv[n] = harmless;
	argv[n + 1] = NULL;
	if ((pid = fork()) == 0) {
		(void)execve(argv[0], argv, env);
		_exit(126);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return CK_OK;
	(void)ck_fail_set(&l->cli->fail, CK_NOENFORCE, argv[0],
	    "does not make the envelope here, as it says above; nothing was "
	    "started");
	ck_fail_next(&l->cli->fail, "clankie-keys envelope status");
	return CK_NOENFORCE;
}

/* What is open here is open in no process of the envelope, the one that makes
 * it included. */
static void
close_the_rest(void)
{
	long most = sysconf(_SC_OPEN_MAX);

	if (most < 0 || most > DESCRIPTORS_MAX)
		most = DESCRIPTORS_MAX;
	for (int fd = 3; fd < (int)most; fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static ck_err
become(struct launch *l, int argc, char **command)
{
	size_t n = 0, vars = 0;
	char **argv = pointers(&l->words, (size_t)argc + 2, &n);
	char **env = pointers(&l->env, 0, &vars);
	ck_err r = CK_OK;

	if (argv == NULL || env == NULL)
		r = no_memory(l->cli);
	close_the_rest();
	if (r == CK_OK && (r = try_it(l, argv, n, env)) == CK_OK &&
	    (r = ck_envelope_note(l->e, l->provision.word,
	    &l->cli->fail)) == CK_OK) {
		memcpy(argv + n, command, (size_t)argc * sizeof(*argv));
		argv[n] = l->program;
		argv[n + (size_t)argc] = NULL;
		(void)execve(argv[0], argv, env);
		r = ck_fail_set(&l->cli->fail, CK_NOENFORCE, argv[0],
		    "cannot be run: %s", strerror(errno));
	}
	free(argv);
	free(env);
	return r;
}

/* Everything that must be in order first. */
static ck_err
ready(struct launch *l, const char *word)
{
	enum ck_inside inside = CK_INSIDE_NOTHING;
	struct cli *cli = l->cli;
	ck_err r;

	if ((r = ck_inside(&l->place, &inside, &cli->fail)) != CK_OK)
		return r;
	if (inside != CK_INSIDE_NOTHING)
		return ck_fail_set(&cli->fail, CK_NESTED, NULL,
		    "an envelope is launched from outside of every boundary");
	if (geteuid() == 0) {
		(void)ck_fail_set(&cli->fail, CK_NOENFORCE, NULL,
		    "root cannot be kept from anything");
		ck_fail_next(&cli->fail, "start the service as an ordinary "
		    "user");
		return CK_NOENFORCE;
	}
	if ((r = ck_envelope_check(&l->place, l->e, &cli->fail)) != CK_OK ||
	    (r = ck_envelope_intact(l->e, &cli->fail)) != CK_OK ||
	    (r = find_program(l, word)) != CK_OK ||
	    (r = find_entry(l)) != CK_OK || (r = find_directory(l)) != CK_OK ||
	    (r = ck_envelope_namespace(l->e, l->sockets,
	    &cli->fail)) != CK_OK || (r = environment(l)) != CK_OK)
		return r;
	return ck_envelope_command(l->e, l->entry, l->directory, &l->words,
	    &cli->fail);
}

static void
ordinary(struct cli *cli, char **command)
{
	bool missing;

	(void)execvp(command[0], command);
	missing = errno == ENOENT || errno == ENOTDIR;
	cli_report(cli, ck_fail_set(&cli->fail, CK_IO, command[0],
	    "cannot be run: %s", strerror(errno)));
	_exit(missing ? 127 : 126);
}

static ck_err
launch(struct launch *l, int argc, char **command)
{
	struct cli *cli = l->cli;
	ck_err r;

	if ((r = ck_place_resolve(&cli->say, &l->place, &cli->fail)) != CK_OK)
		return r;
	/* Only that nothing is there means that nothing was meant; and one that
	 * the environment names was. */
	r = ck_envelope_load(&l->place, l->e, &cli->fail);
	if (r == CK_ABSENT && cli->say.local_sandbox != NULL) {
		(void)ck_fail_set(&cli->fail, CK_NOENFORCE,
		    l->place.envelope, "is named by CLANKIE_LOCAL_SANDBOX and "
		    "is not there");
		ck_fail_next(&cli->fail, "unset CLANKIE_LOCAL_SANDBOX, or "
		    "prepare an envelope there");
		return CK_NOENFORCE;
	}
	if (r == CK_ABSENT) {
		ordinary(cli, command);
		return CK_INTERNAL;
	}
	if (r != CK_OK || (r = ready(l, command[0])) != CK_OK)
		return r;
	return become(l, argc, command);
}

ck_err
envelope_launch(struct cli *cli, int argc, char **argv)
{
	struct launch *l = calloc(1, sizeof(*l));
	int own = 0;
	size_t n = 0;
	ck_err r;

	if (l == NULL)
		return no_memory(cli);
	l->cli = cli;
	l->password_fd = -1;
	if ((l->e = calloc(1, sizeof(*l->e))) == NULL) {
		r = no_memory(cli);
		goto out;
	}
	const struct opt opts[] = {
		{ "--provision", OPT_LIST, &l->provision },
		{ "--login-password-fd", OPT_FD, &l->password_fd },
	};
	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	r = cli_options(cli, own, argv, opts, COUNT(opts), NULL, 0, &n);
	if (r == CK_OK && own + 1 >= argc)
		r = ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "no command stands behind --");
	if (r == CK_OK && l->provision.n == OPT_LIST_MAX)
		r = ck_fail_set(&cli->fail, CK_USAGE, "--provision",
		    "is given too many times");
	if (r == CK_OK)
		r = launch(l, argc - own - 1, argv + own + 1);
out:
	ck_buf_free(&l->env);
	ck_buf_free(&l->words);
	free(l->e);
	free(l);
	return r;
}
