/* SPDX-License-Identifier: Apache-2.0 */
/* See confine.h. */
#include "boundary/confine.h"

#include <stdio.h>
#include <string.h>

#include "boundary/policy.h"
#include "boundary/seatbelt.h"

const char *
ck_confine_credential(size_t i)
{
	static const char *const paths[] = {
		".ssh", ".aws", ".gnupg", ".kube", ".config/gcloud", ".azure",
		".config/agentteams/keys"
	};

	return i < sizeof(paths) / sizeof(*paths) ? paths[i] : NULL;
}

#define WRITES (CK_OPS(WRITE_ANY) | CK_OPS(WRITE_ACL) |                       \
	CK_OPS(WRITE_CREATE) | CK_OPS(WRITE_DATA) | CK_OPS(WRITE_FLAGS) |     \
	CK_OPS(WRITE_MODE) | CK_OPS(WRITE_OWNER) | CK_OPS(WRITE_TIMES) |      \
	CK_OPS(WRITE_UNLINK) | CK_OPS(WRITE_XATTR))
#define OTHER_NAMES (CK_OPS(LINK) | CK_OPS(CLONE) | CK_OPS(MOUNT))
#define READS (CK_OPS(READ_DATA) | CK_OPS(READ_XATTR) | CK_OPS(MAP_EXECUTABLE))
/* Everything but writing, mounting, and the network. */
#define WORLD (CK_OPS(READ_ANY) | CK_OPS(MAP_EXECUTABLE) |                    \
	CK_OPS(EXISTENCE) | CK_OPS(EXEC) | CK_OPS(FORK) | CK_OPS(MACH_ANY) |  \
	CK_OPS(SIGNAL))
#define MOVES (CK_OPS(WRITE_UNLINK) | CK_OPS(WRITE_CREATE) |                  \
	CK_OPS(WRITE_MODE) | CK_OPS(WRITE_OWNER) | CK_OPS(WRITE_ACL) |        \
	CK_OPS(WRITE_FLAGS) | OTHER_NAMES)

/* Programs that change the user (integration.md 13.2); by name, which is not
 * the same as no new privileges. */
static const char *const privileged[] = {
	"/usr/bin/sudo", "/usr/bin/su", "/usr/bin/login", "/usr/bin/newgrp",
	"/usr/bin/passwd", "/usr/bin/crontab", "/usr/bin/at", "/usr/bin/atq",
	"/usr/bin/atrm", "/usr/bin/batch", "/usr/bin/quota",
	"/usr/libexec/authopen", "/usr/libexec/security_authtrampoline",
	"/usr/sbin/traceroute", "/usr/sbin/traceroute6"
};
static const char *const streams[] = {
	"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty",
	"/dev/fd"
};
static const char *const temporary[] = { "/private/tmp", "/private/var/folders" };

struct build {
	struct ck_policy *p;
	struct ck_fail *fail;
	ck_err r;
};

static void
add(struct build *b, enum ck_effect effect, ck_ops ops, enum ck_filter filter,
    const char *path, const char *why)
{
	const struct ck_rule rule = {
		.effect = effect, .ops = ops, .filter = filter, .path = path,
		.part = path == NULL ? CK_PART_BASE : CK_PART_TARGET,
		.why = why
	};

	if (b->r == CK_OK)
		b->r = ck_policy_add(b->p, &rule, b->fail);
}

static void
each(struct build *b, enum ck_effect effect, ck_ops ops,
    enum ck_filter filter, const char *const *list, size_t n,
    const char *why)
{
	for (size_t i = 0; i < n; i++)
		add(b, effect, ops, filter, list[i], why);
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The directories between a writable root and what is protected in it. */
static void
ancestors(struct build *b, const struct ck_confine *c, const char *path)
{
	char dir[CK_PATH_MAX];

	for (ck_path_parent(path, dir); strcmp(dir, "/") != 0;
	    ck_path_parent(dir, dir))
		for (size_t i = 0; i < c->nwritable; i++)
			if (ck_path_under(dir, c->writable[i].path)) {
				add(b, CK_DENY, MOVES, CK_FILTER_LITERAL, dir,
				    "on the way to a control path");
				break;
			}
}

ck_err
ck_policy_confine(const struct ck_confine *c, struct ck_policy **ret,
    struct ck_fail *fail)
{
	struct build b = { NULL, fail, CK_OK };

	if ((b.r = ck_policy_new(&b.p)) != CK_OK)
		return ck_fail_set(fail, b.r, NULL, "no memory for a boundary");
	add(&b, CK_DENY, CK_OPS(DEFAULT), CK_FILTER_NONE, NULL, "not granted");
	add(&b, CK_ALLOW, WORLD | (c->network ? CK_OPS(NETWORK_ANY) : 0),
	    CK_FILTER_NONE, NULL, "the world, to read");
	each(&b, CK_ALLOW, CK_OPS(WRITE_ANY), CK_FILTER_LITERAL, streams,
	    COUNT(streams), "a stream");
	each(&b, CK_ALLOW, CK_OPS(WRITE_ANY) | CK_OPS(LINK) | CK_OPS(CLONE),
	    CK_FILTER_SUBPATH, temporary, COUNT(temporary),
	    "temporary files");
	for (size_t i = 0; i < c->nwritable; i++)
		add(&b, CK_ALLOW, CK_OPS(WRITE_ANY) | CK_OPS(LINK) |
		    CK_OPS(CLONE), CK_FILTER_SUBPATH, c->writable[i].path,
		    "a writable root");
	for (size_t i = 0; i < c->nmask; i++)
		add(&b, CK_DENY, READS | WRITES | OTHER_NAMES,
		    CK_FILTER_SUBPATH, c->mask[i].path, "a credential");
	for (size_t i = 0; i < c->nprotect; i++) {
		add(&b, CK_DENY, WRITES | OTHER_NAMES, CK_FILTER_SUBPATH,
		    c->protect[i].path, "a control path");
		ancestors(&b, c, c->protect[i].path);
	}
	each(&b, CK_DENY, CK_OPS(EXEC), CK_FILTER_LITERAL, privileged,
	    COUNT(privileged), "changes the user");
	if (b.r == CK_OK && (b.r = ck_policy_agrees(b.p, fail)) == CK_OK) {
		*ret = b.p;
		b.p = NULL;
	}
	ck_policy_free(&b.p);
	return b.r;
}

ck_err
ck_confine_seatbelt(const struct ck_confine *c, struct ck_buf *out,
    struct ck_fail *fail)
{
	struct ck_policy *p = NULL;
	size_t start = out->n;
	ck_err r;

	if ((r = ck_policy_confine(c, &p, fail)) != CK_OK)
		return r;
	ck_buf_text(out, "(version 1)\n");
	r = ck_seatbelt_rules(p, out, fail);
	ck_policy_free(&p);
	if (r == CK_OK) {
		ck_buf_text(out, "(allow process-info* sysctl-read "
		    "pseudo-tty file-ioctl dynamic-code-generation\n"
		    "    iokit-open ipc-posix-shm user-preference-read)\n");
		if (c->network)
			ck_buf_text(out, "(allow system-socket)\n");
		if (ck_buf_ok(out) == CK_OK)
			return CK_OK;
		r = ck_fail_set(fail, CK_NOMEM, NULL,
		    "no memory for the text of the boundary");
	}
	out->n = start;
	return r;
}

static void
option(struct ck_buf *out, const char *name, const char *a, const char *b)
{
	ck_buf_bytes(out, name, strlen(name) + 1);
	if (a != NULL)
		ck_buf_bytes(out, a, strlen(a) + 1);
	if (b != NULL)
		ck_buf_bytes(out, b, strlen(b) + 1);
}

static bool
is_masked(const struct ck_confine *c, const char *path)
{
	for (size_t i = 0; i < c->nmask; i++)
		if (strcmp(c->mask[i].path, path) == 0)
			return true;
	return false;
}

/* What lies in it now; what comes later does not show. */
static void
rebuild(struct ck_buf *out, const struct ck_confine *c,
    const struct ck_confine_rebuilt *d)
{
	char path[CK_PATH_MAX + 257];

	option(out, "--tmpfs", d->path, NULL);
	for (size_t i = 0; i < d->n; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s",
		    strcmp(d->path, "/") == 0 ? "" : d->path, d->entry[i]);
		if (!is_masked(c, path))
			option(out, "--ro-bind-try", path, path);
	}
	for (size_t i = 0; i < d->nlinks; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s",
		    strcmp(d->path, "/") == 0 ? "" : d->path,
		    d->link[i].name);
		option(out, "--symlink", d->link[i].to, path);
	}
}

/* Each directory above it that could be renamed inside. */
static void
hold_ancestors(struct ck_buf *out, const struct ck_confine *c,
    const char *path)
{
	char way[CK_CONFINE_MAX][CK_PATH_MAX];
	char dir[CK_PATH_MAX];
	size_t n = 0;

	for (ck_path_parent(path, dir); strcmp(dir, "/") != 0 &&
	    n < CK_CONFINE_MAX; ck_path_parent(dir, dir))
		for (size_t i = 0; i < c->nwritable; i++)
			if (ck_path_under(dir, c->writable[i].path) &&
			    strcmp(dir, c->writable[i].path) != 0) {
				memcpy(way[n++], dir, sizeof(dir));
				break;
			}
	while (n-- > 0)
		option(out, "--bind", way[n], way[n]);
}

/* It goes with the directory that it lies in. */
static bool
is_inside_mask(const struct ck_confine *c, const char *path)
{
	for (size_t i = 0; i < c->nmask; i++)
		if (c->mask[i].there && c->mask[i].directory &&
		    strcmp(c->mask[i].path, path) != 0 &&
		    ck_path_under(path, c->mask[i].path))
			return true;
	return false;
}

static void
masks(struct ck_buf *out, const struct ck_confine *c)
{
	for (size_t i = 0; i < c->nmask; i++) {
		const struct ck_confine_path *m = &c->mask[i];

		if (!m->there || is_inside_mask(c, m->path))
			continue;
		if (!m->directory) {
			option(out, "--ro-bind", "/dev/null", m->path);
			continue;
		}
		option(out, "--perms", "0000", NULL);
		option(out, "--tmpfs", m->path, NULL);
		option(out, "--remount-ro", m->path, NULL);
	}
}

ck_err
ck_confine_bwrap(const struct ck_confine *c, struct ck_buf *out,
    struct ck_fail *fail)
{
	static const char *const always[] = {
		"--unshare-user", "--unshare-ipc", "--unshare-pid",
		"--unshare-uts", "--unshare-cgroup-try", "--die-with-parent",
		"--new-session"
	};
	size_t start = out->n;

	for (size_t i = 0; i < COUNT(always); i++)
		option(out, always[i], NULL, NULL);
	if (!c->network)
		option(out, "--unshare-net", NULL, NULL);
	option(out, "--ro-bind", "/", "/");
	option(out, "--dev", "/dev", NULL);
	option(out, "--proc", "/proc", NULL);
	option(out, "--tmpfs", "/tmp", NULL);
	for (size_t i = 0; i < c->nrebuilt; i++)
		rebuild(out, c, &c->rebuilt[i]);
	for (size_t i = 0; i < c->nwritable; i++)
		option(out, "--bind", c->writable[i].path,
		    c->writable[i].path);
	for (size_t i = 0; i < c->nprotect; i++)
		hold_ancestors(out, c, c->protect[i].path);
	for (size_t i = 0; i < c->nprotect; i++)
		option(out, "--ro-bind", c->protect[i].path,
		    c->protect[i].path);
	masks(out, c);
	for (size_t i = c->nrebuilt; i-- > 0;)
		option(out, "--remount-ro", c->rebuilt[i].path, NULL);
	option(out, "--chdir", c->writable[0].path, NULL);
	option(out, "--", NULL, NULL);
	if (ck_buf_ok(out) == CK_OK)
		return CK_OK;
	out->n = start;
	return ck_fail_set(fail, CK_NOMEM, NULL,
	    "no memory for the arguments of bubblewrap");
}
