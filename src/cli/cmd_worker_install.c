/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clankie-keys worker install-shell: links under the names of shells that lead
 * to the worker entry, where workers cannot change them, and the record of the
 * entry.  It says what a wrapper does that is set for a whole server.
 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environ.h"
#include "base/io.h"
#include "custody/preflight.h"
#include "custody/rules.h"
#include "custody/seal.h"
#include "custody/settings.h"
#include "custody/shell_links.h"

struct install {
	struct cli *cli;
	struct ck_place place;
	struct ck_view v;
	int lock;
	struct ck_links links;
	char shell[CK_PATH_MAX];     /* to record, or "" */
	char real[CK_PATH_MAX];      /* what the links start now */
	bool changed;
	bool herdr;                  /* an empty configuration was made */
	bool server_wide;            /* Herdr's configuration names a link */
	bool other_shell;            /* ... or another shell */
};

/* A worker of this home that began before directory and configuration were
 * there can change them still. */
struct running {
	const char *home;            /* HOME=... */
	long pid;
};

static void
is_running(void *arg, const struct ck_environ_process *process)
{
	struct running *running = arg;

	if (ck_environ_has(process->pid, running->home))
		running->pid = (long)process->pid;
}

static ck_err
nobody_before(struct install *in)
{
	char config[CK_PATH_MAX], home[CK_PATH_MAX];
	struct running running = { home, 0 };
	size_t unseen = 0;
	ck_err r;

	if ((r = ck_path_join(in->place.config, "herdr/config.toml", config,
	    &in->cli->fail)) != CK_OK)
		return r;
	if (access(in->links.dir, F_OK) == 0 && access(config, F_OK) == 0)
		return CK_OK;
	if ((r = ck_path_format(home, &in->cli->fail, "HOME=%s",
	    in->place.home)) != CK_OK)
		return r;
	r = ck_environ_scan(CK_MARKER_DEFAULT, NULL, is_running, &running,
	    &unseen, &in->cli->fail);
	if (r == CK_UNSUPPORTED || (r == CK_OK && running.pid == 0))
		return CK_OK;
	if (r != CK_OK)
		return r;
	(void)ck_fail_set(&in->cli->fail, CK_BUSY, in->links.dir,
	    "would be open to process %ld, a worker that runs already",
	    running.pid);
	ck_fail_next(&in->cli->fail, "end it, then clankie-keys worker "
	    "install-shell");
	return CK_BUSY;
}

/* The entry that came with this program; copied, with the program, unless
 * both are the system's. */
static ck_err
choose_entry(struct install *in)
{
	struct ck_links *l = &in->links;
	struct ck_fail *fail = &in->cli->fail;
	char entry[CK_PATH_MAX], self[CK_PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	ck_err r;

	self[n < 0 ? 0 : n] = '\0';
	if ((r = worker_entry_beside(in->cli, entry)) != CK_OK)
		return r;
	if (ck_links_is_system(entry) && ck_links_is_system(self))
		return ck_path_format(l->entry, fail, "%s", entry);
	if ((r = ck_path_join(l->dir, CK_LINKS_ENTRY, l->entry,
	    fail)) != CK_OK ||
	    (r = ck_path_format(l->from_program, fail, "%s",
	    self)) != CK_OK)
		return r;
	return ck_path_format(l->from_entry, fail, "%s", entry);
}

/* What an earlier run recorded. */
static ck_err
read_before(struct install *in)
{
	char copied[8];
	ck_err r;

	if ((r = ck_setting_read(&in->v, CK_SETTING_ENTRY, in->links.before,
	    sizeof(in->links.before), &in->cli->fail)) != CK_OK ||
	    (r = ck_setting_read(&in->v, CK_SETTING_COPIED, copied,
	    sizeof(copied), &in->cli->fail)) != CK_OK)
		return r;
	in->links.copied = strcmp(copied, "yes") == 0;
	if (in->shell[0] != '\0')
		return CK_OK;
	return ck_setting_read(&in->v, CK_SETTING_SHELL, in->shell,
	    sizeof(in->shell), &in->cli->fail);
}

static ck_err
record(struct install *in, const char *entry, const char *copied)
{
	const struct ck_setting set[] = {
		{ CK_SETTING_ENTRY, entry },
		{ CK_SETTING_COPIED, copied },
		{ CK_SETTING_SHELL, in->shell },
	};
	struct ck_rec_protected row = {
		.directory = true, .deny_read = false, .why = "worker entry"
	};
	struct ck_fail *fail = &in->cli->fail;
	ck_err r;

	if ((r = ck_path_format(row.path, fail, "%s", in->links.dir)) !=
	    CK_OK || (r = ck_settings_put_locked(&in->place, &in->v, set, 3,
	    &row, fail)) != CK_OK ||
	    (entry[0] != '\0' && (r = ck_links_herdr(&in->place, in->v.rec,
	    &in->herdr, fail)) != CK_OK))
		return r;
	/* The directory is there now, so the plan can be about it. */
	return ck_rules_write(&in->place, in->v.dirfd, in->v.rec, fail);
}

/* What the links will start: it must not be one of them, nor the entry as it
 * is or as it will be. */
static ck_err
choose_shell(struct install *in)
{
	const struct ck_links *l = &in->links;
	bool copied = l->from_entry[0] != '\0';
	ck_err r;

	r = worker_real_shell(in->cli, in->shell,
	    copied ? l->from_entry : l->entry, in->real);
	if (r != CK_OK || !copied || access(l->entry, F_OK) != 0)
		return r;
	return worker_real_shell(in->cli, in->shell, l->entry, in->real);
}

static ck_err
install(struct install *in)
{
	struct ck_links *l = &in->links;
	struct ck_fail *fail = &in->cli->fail;
	ck_err r;

	if ((r = nobody_before(in)) != CK_OK ||
	    (r = choose_entry(in)) != CK_OK ||
	    (r = choose_shell(in)) != CK_OK ||
	    (r = ck_links_make(&in->place, l, &in->changed, fail)) != CK_OK ||
	    (r = record(in, l->entry, l->from_entry[0] != '\0' ? "yes" :
	    "")) != CK_OK)
		return r;
	/* Through the installed one, by all its rules. */
	return worker_find_entry(in->cli, l->entry, l->entry);
}

static ck_err
uninstall(struct install *in)
{
	size_t removed = 0;
	ck_err r;

	memcpy(in->links.entry, in->links.before, sizeof(in->links.entry));
	in->shell[0] = '\0';
	if (in->links.before[0] != '\0' &&
	    (r = ck_links_remove(&in->place, &in->links, &removed,
	    &in->cli->fail)) != CK_OK)
		return r;
	in->changed = removed > 0;
	return record(in, "", "");
}

/* Which shell Herdr's own configuration gives every pane. */
static void
look_at_herdr(struct install *in)
{
	char path[CK_PATH_MAX];
	uint8_t *text = NULL;
	size_t n = 0;
	int fd = -1;

	if (ck_path_join(in->place.config, "herdr/config.toml", path,
	    NULL) != CK_OK || ck_io_open_file(AT_FDCWD, path, path, 0, &fd,
	    NULL, NULL) != CK_OK)
		return;
	if (ck_io_read_all(fd, (size_t)1 << 20, path, &text, &n,
	    NULL) == CK_OK)
		for (char *line = strtok((char *)text, "\n"); line != NULL;
		    line = strtok(NULL, "\n")) {
			line += strspn(line, " \t");
			if (strncmp(line, "default_shell", 13) != 0)
				continue;
			in->server_wide = strstr(line, in->links.dir) != NULL;
			in->other_shell = !in->server_wide;
		}
	free(text);
	ck_io_close(&fd);
}

static void
tell(const struct install *in, struct ck_buf *b)
{
	const char *name = ck_path_base(in->real);

	ck_buf_format(b, "links:  %s/{zsh,bash,fish,sh}%s\n", in->links.dir,
	    in->changed ? "" : " (as they were)");
	ck_buf_format(b, "entry:  %s\nshell:  %s\n", in->links.entry,
	    in->real);
	ck_buf_format(b, "\nStart the server that runs hires with SHELL set to "
	    "the link named like the shell:\n"
	    "    SHELL=%s/%s herdr server\n", in->links.dir, name);
	ck_buf_text(b, "On Linux every pane of that server is then a worker, "
	    "your own too, and none is if\n"
	    "a pane alone is given SHELL: let hires have a server of their "
	    "own, and yours another.\n"
	    "Panes that are restored get the server's shell; so must they.  "
	    "Workers that run already\nare what they were.\n");
	if (in->herdr)
		ck_buf_format(b, "\nAn empty %s/herdr/config.toml was made, or "
		    "a worker\ncould make one that names another shell.\n",
		    in->place.config);
	if (in->other_shell)
		ck_buf_text(b, "\nHerdr's config.toml names another "
		    "default_shell, which goes before SHELL: its panes\n"
		    "are no workers.  If you did not write that, a worker "
		    "did.\n");
	if (in->server_wide)
		ck_buf_text(b, "\nHerdr's config.toml names a link as "
		    "default_shell: every server of this user runs\n"
		    "workers only, your own terminals in Herdr included.\n");
}

static void
tell_json(const struct install *in, bool removed, struct ck_buf *b)
{
	js_open(b, '{');
	js_bool(b, "ok", true);
	js_bool(b, "installed", !removed);
	js_bool(b, "changed", in->changed);
	js_bool(b, "herdr_config_made", in->herdr);
	js_text(b, "dir", in->links.dir);
	js_text(b, "entry", in->links.entry);
	if (removed)
		js_null(b, "shell");
	else
		js_text(b, "shell", in->real);
	js_bool(b, "server_wide", in->server_wide);
	js_bool(b, "other_default_shell", in->other_shell);
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

static ck_err
report(struct install *in, bool removed)
{
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	look_at_herdr(in);
	if (in->cli->json)
		tell_json(in, removed, &b);
	else if (!removed)
		tell(in, &b);
	else
		ck_buf_format(&b, "%s\nWhoever still names them as SHELL gets "
		    "no shell, or, per pane on a Mac, one that is no "
		    "worker.\n", in->changed ? "The links are removed." :
		    "There were no links.");
	r = cli_put_done(in->cli, &b);
	ck_buf_free(&b);
	return r;
}

/* A pane's environment is not asked where the custody is. */
static ck_err
usual_place(const struct install *in)
{
	char usual[CK_PATH_MAX];
	ck_err r;

	r = ck_path_join(in->place.home, ".clankie-keys", usual,
	    &in->cli->fail);
	if (r != CK_OK || strcmp(in->place.dir, usual) == 0)
		return r;
	return ck_fail_set(&in->cli->fail, CK_REFUSED, in->place.dir,
	    "is not where the links look for the custody, which is %.400s "
	    "only", usual);
}

/* Records that are there, read anew under the lock, and that fit their
 * seal. */
static ck_err
begin(struct install *in)
{
	struct ck_fail *fail = &in->cli->fail;
	ck_err r;

	if ((r = ck_place_resolve(&in->cli->say, &in->place, fail)) != CK_OK ||
	    (r = usual_place(in)) != CK_OK ||
	    (r = ck_links_dir(&in->place, in->links.dir, fail)) != CK_OK ||
	    (r = ck_view_open(&in->place, CK_REC_WRITE, &in->v,
	    fail)) != CK_OK)
		return r;
	if (in->v.rec == NULL || !in->v.dedicated) {
		(void)ck_fail_set(fail, CK_NOSTORE, in->place.dir,
		    "there are no records that say what to keep workers "
		    "from");
		ck_fail_next(fail, "clankie-keys migrate");
		return CK_NOSTORE;
	}
	if ((r = ck_view_lock(&in->place, &in->v, &in->lock, fail)) != CK_OK ||
	    (r = ck_seal_records(&in->place, in->v.rec, fail)) != CK_OK)
		return r;
	return read_before(in);
}

static ck_err
run(struct cli *cli, const char *shell, bool removing, int password_fd)
{
	static struct install in;
	struct ck_secret password = CK_SECRET_INIT;
	ck_err r;

	in = (struct install){ .cli = cli, .v = CK_VIEW_INIT, .lock = -1 };
	if ((r = cli_prepare(cli, CLI_HEAP_VALUE)) != CK_OK ||
	    (r = cli_password(cli, password_fd, &password)) != CK_OK)
		return r;
	if (password.p != NULL)
		cli->say.login_password = &password;
	if (shell != NULL && (r = ck_path_format(in.shell, &cli->fail, "%s",
	    shell)) != CK_OK)
		goto out;
	if ((r = begin(&in)) == CK_OK &&
	    (r = removing ? uninstall(&in) : install(&in)) == CK_OK)
		r = report(&in, removing);
out:
	ck_io_close(&in.lock);
	ck_view_close(&in.v);
	ck_secret_wipe(&password);
	return r;
}

ck_err
worker_install(struct cli *cli, int argc, char **argv)
{
	const char *shell = NULL;
	int password_fd = -1;
	bool removing = false;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--shell", OPT_TEXT, &shell },
		{ "--remove", OPT_FLAG, &removing },
		{ "--login-password-fd", OPT_FD, &password_fd },
	};
	ck_err r;

	if ((r = cli_options(cli, argc, argv, opts, sizeof(opts) /
	    sizeof(opts[0]), NULL, 0, &n)) != CK_OK)
		return r;
	if (removing && shell != NULL)
		return ck_fail_set(&cli->fail, CK_USAGE, "--shell",
		    "is for installing");
	if (geteuid() == 0) {
		(void)ck_fail_set(&cli->fail, CK_NOENFORCE, NULL,
		    "root cannot be kept from anything");
		ck_fail_next(&cli->fail, "install it as an ordinary user");
		return CK_NOENFORCE;
	}
	if ((r = ck_preflight_worker(cli->say.worker_marked,
	    "install the shell of workers", &cli->fail)) != CK_OK)
		return r;
	return run(cli, shell, removing, password_fd);
}
