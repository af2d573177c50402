/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The envelope as arguments of bubblewrap; see envelope.h.  An empty root into
 * which the grants are bound: what is not granted is not there at all, sockets
 * by path among it.  The control directory is there, read-only, with the real
 * probe: that nobody in here can open it is the kernel's doing (Landlock), by
 * the entry, and cannot be imitated with a mode.
 */
#include "boundary/envelope.h"

#include <stdio.h>
#include <string.h>

void
ck_envelope_system(struct ck_envelope_system ret[CK_ENVELOPE_SYSTEM])
{
	static const char *const paths[CK_ENVELOPE_SYSTEM] = {
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
		"/etc"
	};

	memset(ret, 0, CK_ENVELOPE_SYSTEM * sizeof(*ret));
	for (size_t i = 0; i < CK_ENVELOPE_SYSTEM; i++)
		ret[i].path = paths[i];
}

void
ck_envelope_grants(const struct ck_envelope *e,
    struct ck_envelope_grant ret[CK_ENVELOPE_GRANTS], size_t *ret_n)
{
	size_t n = 0;

	memset(ret, 0, CK_ENVELOPE_GRANTS * sizeof(*ret));
	ret[n++].path = e->runtime;
	for (size_t i = 0; i < e->nfiles; i++)
		ret[n++].path = e->file[i];
	ret[n++].path = e->home;
	for (size_t i = 0; i < e->nworkspaces; i++)
		ret[n++].path = e->workspace[i];
	ret[n++].path = e->control;
	*ret_n = n;
}

static void
word(struct ck_buf *out, const char *text)
{
	ck_buf_bytes(out, text, strlen(text) + 1);
}

static void
option(struct ck_buf *out, const char *name, const char *a, const char *b)
{
	word(out, name);
	if (a != NULL)
		word(out, a);
	if (b != NULL)
		word(out, b);
}

/* Workers that outlive the service go on: no --die-with-parent, and pid 1 of
 * the namespace waits for them.  Nothing is mounted any more in there, so no
 * user namespace is needed. */
static void
namespaces(struct ck_buf *out, const struct ck_envelope *e)
{
	static const char *const always[] = {
		"--unshare-user", "--disable-userns", "--unshare-ipc",
		"--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"
	};

	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		word(out, always[i]);
	if (!e->network)
		word(out, "--unshare-net");
}

static void
system_files(struct ck_buf *out, const struct ck_envelope_box *box,
    bool network_too)
{
	for (size_t i = 0; i < CK_ENVELOPE_SYSTEM; i++) {
		const struct ck_envelope_system *s = &box->system[i];

		if (!s->there)
			continue;
		if (s->link[0] != '\0')
			option(out, "--symlink", s->link, s->path);
		else
			option(out, "--ro-bind", s->path, s->path);
	}
	option(out, "--proc", "/proc", NULL);
	option(out, "--dev", "/dev", NULL);
	option(out, "--tmpfs", "/tmp", NULL);
	option(out, "--tmpfs", "/run", NULL);
	if (network_too)
		option(out, "--ro-bind-try", "/run/systemd/resolve",
		    "/run/systemd/resolve");
}

static void
bind_grants(struct ck_buf *out, const struct ck_envelope *e,
    const struct ck_envelope_box *box)
{
	option(out, "--ro-bind", e->runtime, e->runtime);
	for (size_t i = 0; i < e->nfiles; i++)
		if (!ck_path_under(e->file[i], e->runtime) &&
		    !ck_path_under(e->file[i], "/usr"))
			option(out, "--ro-bind", e->file[i], e->file[i]);
	option(out, "--bind", e->home, e->home);
	for (size_t i = 0; i < e->nworkspaces; i++)
		option(out, "--bind", e->workspace[i], e->workspace[i]);
	option(out, "--ro-bind", e->control, e->control);
	option(out, "--ro-bind", box->entry, "/run/clankie-envelope-entry");
	option(out, "--remount-ro", "/run", NULL);
	option(out, "--remount-ro", "/", NULL);
	option(out, "--chdir", box->directory, NULL);
}

/* A directory with the control files in it is not let be used as a whole. */
static void
allow(struct ck_buf *out, const struct ck_envelope *e, const char *path)
{
	if (!ck_path_under(e->control, path))
		option(out, "--allow", path, NULL);
}

/* What the entry lets be used, and what it proves first. */
static void
entry_words(struct ck_buf *out, const struct ck_envelope *e,
    const struct ck_envelope_box *box)
{
	static const char *const own[] = { "/proc", "/dev", "/tmp", "/run" };
	char number[24];

	word(out, "--");
	word(out, "/run/clankie-envelope-entry");
	option(out, "--control", e->control, NULL);
	for (size_t i = 0; i < box->ngrants; i++) {
		const struct ck_envelope_grant *g = &box->grant[i];

		option(out, "--same", g->path, NULL);
		(void)snprintf(number, sizeof(number), "%llu", g->device);
		word(out, number);
		(void)snprintf(number, sizeof(number), "%llu", g->inode);
		word(out, number);
		allow(out, e, g->path);
	}
	for (size_t i = 0; i < CK_ENVELOPE_SYSTEM; i++)
		if (box->system[i].there && box->system[i].link[0] == '\0')
			allow(out, e, box->system[i].path);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		allow(out, e, own[i]);
	if (e->network)
		word(out, "--network");
	word(out, "--");
}

ck_err
ck_envelope_bwrap(const struct ck_envelope *e,
    const struct ck_envelope_box *box, struct ck_buf *out,
    struct ck_fail *fail)
{
	size_t start = out->n;

	namespaces(out, e);
	system_files(out, box, e->network);
	bind_grants(out, e, box);
	entry_words(out, e, box);
	if (ck_buf_ok(out) == CK_OK)
		return CK_OK;
	out->n = start;
	return ck_fail_set(fail, CK_NOMEM, NULL,
	    "no memory for the arguments of bubblewrap");
}
