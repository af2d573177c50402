/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mount plan to bubblewrap's arguments; see bwrap.h.  A file that is closed is
 * /dev/null bound on it: bubblewrap binds without devices, so that opening it
 * is EACCES, and needs no descriptor for it as it does for --file.
 */
#include "boundary/bwrap.h"

#include <string.h>

struct words {
	struct ck_buf *out;
	enum ck_bwrap_form form;
	bool begun;              /* there is a word, or an option, before */
};

static bool
is_plain(const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789_./:+,@%=-";

	return word[0] != '\0' && word[strspn(word, plain)] == '\0';
}

/* In single quotes, where only a single quote means something. */
static void
put_quoted(struct ck_buf *out, const char *word)
{
	ck_buf_text(out, "'");
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			ck_buf_text(out, "'\\''");
		else
			ck_buf_bytes(out, word, 1);
	}
	ck_buf_text(out, "'");
}

void
ck_shell_word(struct ck_buf *out, const char *word)
{
	if (is_plain(word))
		ck_buf_text(out, word);
	else
		put_quoted(out, word);
}

static void
put_word(struct words *w, const char *word)
{
	if (w->form == CK_BWRAP_NULL) {
		ck_buf_bytes(w->out, word, strlen(word) + 1);
		return;
	}
	/* An option begins a line; the shell joins the lines. */
	if (w->begun)
		ck_buf_text(w->out, word[0] == '-' ? " \\\n" : " ");
	w->begun = true;
	ck_shell_word(w->out, word);
}

static void
put_option(struct words *w, const char *name, const char *a, const char *b)
{
	put_word(w, name);
	if (a != NULL)
		put_word(w, a);
	if (b != NULL)
		put_word(w, b);
}

static const char *
mode_text(unsigned int mode, char ret[5])
{
	for (int i = 3; i >= 0; i--, mode >>= 3)
		ret[i] = (char)('0' + (mode & 7));
	ret[4] = '\0';
	return ret;
}

/* A look at what bubblewrap would mount on. */
static ck_err
is_there(const struct ck_mounts_options *options, const struct ck_mount *m,
    bool *ret, struct ck_fail *fail)
{
	struct ck_mount_fact fact;
	ck_err r = options->look(options->arg, m->path, &fact, fail);

	if (r == CK_OK)
		*ret = fact.there && !fact.link;
	return r;
}

/* A directory is only held where something below it is mounted on. */
static bool
is_needed(const struct ck_mounts *plan, const bool *there, size_t i)
{
	for (size_t k = 0; k < plan->n; k++)
		if (there[k] && plan->step[k].step != CK_MOUNT_BIND &&
		    plan->step[k].step != CK_MOUNT_NAME &&
		    ck_path_under(plan->step[k].path, plan->step[i].path))
			return true;
	return false;
}

static void
put_name(struct words *w, const struct ck_mount *m)
{
	char mode[5];

	if (!m->directory) {
		put_option(w, "--ro-bind", "/dev/null", m->path);
		return;
	}
	put_option(w, "--perms", mode_text(m->mode, mode), NULL);
	put_option(w, "--dir", m->path, NULL);
}

/* The mask, its names and what is put back; then it is closed. */
static void
put_mask(struct words *w, const struct ck_mounts *plan, const bool *there,
    size_t i)
{
	const struct ck_mount *mask = &plan->step[i];
	char mode[5];

	put_option(w, "--perms", mode_text(mask->mode, mode), NULL);
	put_option(w, "--tmpfs", mask->path, NULL);
	for (size_t k = i + 1; k < plan->n; k++) {
		const struct ck_mount *m = &plan->step[k];

		if (m->step == CK_MOUNT_NAME)
			put_name(w, m);
		else if (m->step != CK_MOUNT_BACK)
			break;
		else if (there[k])
			put_option(w, "--ro-bind", m->path, m->path);
	}
	put_option(w, "--remount-ro", mask->path, NULL);
}

static void
put_step(struct words *w, const struct ck_mounts *plan, const bool *there,
    size_t i)
{
	const struct ck_mount *m = &plan->step[i];

	if (!there[i])
		return;
	switch (m->step) {
	case CK_MOUNT_BIND:
		if (is_needed(plan, there, i))
			put_option(w, "--bind", m->path, m->path);
		break;
	case CK_MOUNT_READ:
		put_option(w, "--ro-bind", m->path, m->path);
		break;
	case CK_MOUNT_MASK:
		put_mask(w, plan, there, i);
		break;
	case CK_MOUNT_SHUT:
		put_option(w, "--ro-bind", "/dev/null", m->path);
		break;
	case CK_MOUNT_NAME:
	case CK_MOUNT_BACK:
	case CK_MOUNT_STEPS:
		break;           /* with their mask */
	}
}

ck_err
ck_bwrap_render(const struct ck_mounts *plan,
    const struct ck_mounts_options *options, enum ck_bwrap_form form,
    struct ck_buf *out, struct ck_fail *fail)
{
	struct words w = { out, form, false };
	bool there[CK_MOUNTS_MAX], any = false;
	size_t start = out->n;
	ck_err r;

	for (size_t i = 0; i < plan->n; i++) {
		if ((r = is_there(options, &plan->step[i], &there[i],
		    fail)) != CK_OK)
			return r;
		any = any || (there[i] &&
		    plan->step[i].step != CK_MOUNT_BIND);
	}
	if (!any)
		return ck_fail_set(fail, CK_NOENFORCE, NULL,
		    "nothing that is to be protected is there");
	put_option(&w, "--dev-bind", "/", "/");
	for (size_t i = 0; i < plan->n; i++)
		put_step(&w, plan, there, i);
	put_option(&w, "--die-with-parent", NULL, NULL);
	put_option(&w, "--new-session", NULL, NULL);
	if (form == CK_BWRAP_SHELL)
		ck_buf_text(out, "\n");
	if (ck_buf_ok(out) == CK_OK)
		return CK_OK;
	out->n = start;
	return ck_fail_set(fail, CK_NOMEM, NULL,
	    "no memory for the arguments of bubblewrap");
}

const char *
ck_bwrap_gap(size_t i)
{
	static const char *const gaps[] = {
		"bwrap: a closed file shows as a device: that it exists can "
		    "be seen, its kind and size cannot",
		"bwrap: --new-session is what keeps a worker from typing into "
		    "the terminal; job control and Ctrl-C go with it",
		"bwrap: descriptors and variables are inherited: close those "
		    "from 3, and unset LD_* and the bearers (worker env)",
		"bwrap: nothing is proved at the launch: not which directory "
		    "a path leads to, no second hard link, no second mount",
		"bwrap: the worker is a child of bwrap, not its caller's own "
		    "process",
	};

	return i < sizeof(gaps) / sizeof(gaps[0]) ? gaps[i] : NULL;
}
