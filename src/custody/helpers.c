/* SPDX-License-Identifier: Apache-2.0 */
/* See helpers.h. */
#include "custody/helpers.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where sockets are looked for: a socket, or a directory of them, which may
 * be closed as a whole or holds other things too. */
enum spot_kind { SPOT_SOCKET, SPOT_CLOSED, SPOT_MIXED };

struct spot {
	enum ck_helper_kind kind;
	enum spot_kind is;
	int depth;                   /* of directories below it */
	char path[CK_PATH_MAX];
};

enum { SPOTS_MAX = 40 };
struct spots {
	size_t n;
	struct spot at[SPOTS_MAX];
	char own[2][CK_PATH_MAX];    /* the pane's multiplexers, or "" */
};

const char *
ck_helper_name(enum ck_helper_kind kind)
{
	static const char *const names[] = { "multiplexer", "container",
		"dbus", "systemd", "agent" };

	return names[kind];
}

/* One more place; a path that does not fit has no socket either. */
static void
add(struct spots *s, enum ck_helper_kind kind, enum spot_kind is,
    const char *dir, const char *name)
{
	struct spot *spot = &s->at[s->n];
	char path[CK_PATH_MAX];

	if (s->n == SPOTS_MAX || dir == NULL || dir[0] != '/' ||
	    ck_path_format(path, NULL, "%s%s%s", dir,
	    name[0] == '\0' ? "" : "/", name) != CK_OK ||
	    ck_path_canonical(path, spot->path, NULL) != CK_OK)
		return;
	spot->kind = kind;
	spot->is = is;
	spot->depth = is == SPOT_MIXED ? 2 : 0;
	s->n++;
}

/* Below one run-time directory of the user. */
static void
add_runtime(struct spots *s, const char *dir)
{
	add(s, CK_HELPER_DBUS, SPOT_SOCKET, dir, "bus");
	add(s, CK_HELPER_SYSTEMD, SPOT_CLOSED, dir, "systemd");
	add(s, CK_HELPER_CONTAINER, SPOT_SOCKET, dir, "docker.sock");
	add(s, CK_HELPER_CONTAINER, SPOT_CLOSED, dir, "podman");
	add(s, CK_HELPER_MULTIPLEXER, SPOT_CLOSED, dir, "zellij");
	add(s, CK_HELPER_AGENT, SPOT_MIXED, dir, "gnupg");
}

/* The path in an address like unix://PATH or unix:path=PATH,guid=...; NULL:
 * another kind. */
static const char *
in_address(const char *text, const char *prefix, char ret[CK_PATH_MAX])
{
	size_t n;

	if (text == NULL || strncmp(text, prefix, strlen(prefix)) != 0)
		return NULL;
	text += strlen(prefix);
	n = strcspn(text, ",;");
	if (n == 0 || n >= CK_PATH_MAX)
		return NULL;
	memcpy(ret, text, n);
	ret[n] = '\0';
	return ret;
}

static void
set_own(char to[CK_PATH_MAX], const char *path)
{
	if (path == NULL || path[0] != '/' ||
	    ck_path_canonical(path, to, NULL) != CK_OK)
		to[0] = '\0';
}

static void
add_multiplexers(struct spots *s, const struct ck_helpers_say *say)
{
	const struct passwd *pw = getpwuid(geteuid());
	char path[CK_PATH_MAX], name[64];

	(void)snprintf(name, sizeof(name), "tmux-%lu",
	    (unsigned long)geteuid());
	add(s, CK_HELPER_MULTIPLEXER, SPOT_CLOSED, "/tmp", name);
	add(s, CK_HELPER_MULTIPLEXER, SPOT_CLOSED, say->tmux_tmpdir, name);
	if (pw != NULL && ck_path_format(path, NULL, "/run/screen/S-%s",
	    pw->pw_name) == CK_OK)
		add(s, CK_HELPER_MULTIPLEXER, SPOT_CLOSED, path, "");
	add(s, CK_HELPER_MULTIPLEXER, SPOT_CLOSED, say->home, ".screen");
	add(s, CK_HELPER_MULTIPLEXER, SPOT_MIXED, say->config, "herdr");
	add(s, CK_HELPER_MULTIPLEXER, SPOT_MIXED, say->clankie_state,
	    "herdr");
	add(s, CK_HELPER_MULTIPLEXER, SPOT_SOCKET, say->herdr_socket_path,
	    "");
	set_own(s->own[0], say->herdr_socket_path);
	/* SOCKET,PROCESS,SESSION */
	set_own(s->own[1], in_address(say->tmux, "", path));
}

static void
add_all(struct spots *s, const struct ck_helpers_say *say)
{
	char path[CK_PATH_MAX];

	add_multiplexers(s, say);
	(void)snprintf(path, sizeof(path), "/run/user/%lu",
	    (unsigned long)geteuid());
	add_runtime(s, path);
	if (say->runtime_dir != NULL && strcmp(say->runtime_dir, path) != 0)
		add_runtime(s, say->runtime_dir);
	add(s, CK_HELPER_CONTAINER, SPOT_SOCKET, "/run", "docker.sock");
	add(s, CK_HELPER_CONTAINER, SPOT_SOCKET, "/run",
	    "podman/podman.sock");
	add(s, CK_HELPER_CONTAINER, SPOT_SOCKET, "/run",
	    "containerd/containerd.sock");
	add(s, CK_HELPER_DBUS, SPOT_SOCKET, "/run", "dbus/system_bus_socket");
	add(s, CK_HELPER_CONTAINER, SPOT_SOCKET,
	    in_address(say->docker_host, "unix://", path), "");
	add(s, CK_HELPER_DBUS, SPOT_SOCKET,
	    in_address(say->dbus_address, "unix:path=", path), "");
	add(s, CK_HELPER_AGENT, SPOT_SOCKET, say->ssh_auth_sock, "");
	add(s, CK_HELPER_AGENT, SPOT_MIXED, say->home, ".ssh/agent");
}

static bool
is_own(const struct spots *s, const char *path)
{
	return strcmp(path, s->own[0]) == 0 || strcmp(path, s->own[1]) == 0;
}

static void
note(struct ck_helpers *ret, const struct spots *s, const struct spot *spot,
    const char *path, bool directory)
{
	struct ck_helper *h = &ret->at[ret->n];

	for (size_t i = 0; i < ret->n; i++)
		if (strcmp(ret->at[i].path, path) == 0)
			return;
	ret->more = ret->more || ret->n == CK_HELPERS_MAX;
	if (ret->n == CK_HELPERS_MAX)
		return;
	h->kind = spot->kind;
	h->own = !directory && is_own(s, path);
	h->directory = directory;
	(void)snprintf(h->path, sizeof(h->path), "%s", path);
	ret->n++;
}

static void look(const struct spots *s, const struct spot *spot,
    const char *path, int depth, struct ck_helpers *ret);

static void
look_below(const struct spots *s, const struct spot *spot, const char *dir,
    int depth, struct ck_helpers *ret)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	char path[CK_PATH_MAX];

	while (d != NULL && (entry = readdir(d)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0 &&
		    ck_path_join(dir, entry->d_name, path, NULL) == CK_OK)
			look(s, spot, path, depth, ret);
	if (d != NULL)
		(void)closedir(d);
}

/* A socket is reachable when it can be written; a symbolic link is another
 * name of something that has its own. */
static void
look(const struct spots *s, const struct spot *spot, const char *path,
    int depth, struct ck_helpers *ret)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return;
	if (S_ISSOCK(st.st_mode) && access(path, W_OK) == 0)
		note(ret, s, spot, path, false);
	else if (S_ISDIR(st.st_mode) && depth >= 0)
		look_below(s, spot, path, depth - 1, ret);
}

ck_err
ck_helpers_find(const struct ck_helpers_say *say, struct ck_helpers *ret,
    struct ck_fail *fail)
{
	struct spots *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	add_all(s, say);
	ret->n = 0;
	ret->more = false;
	for (size_t i = 0; i < s->n; i++)
		look(s, &s->at[i], s->at[i].path, s->at[i].depth, ret);
	free(s);
	return CK_OK;
}

/* Nothing but the user's sockets is in it, and not the pane's own. */
static bool
closes_whole(const struct spots *s, const struct spot *spot)
{
	struct stat st;

	if (spot->is != SPOT_CLOSED || lstat(spot->path, &st) != 0 ||
	    !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return false;
	for (size_t i = 0; i < 2; i++)
		if (s->own[i][0] != '\0' &&
		    ck_path_under(s->own[i], spot->path))
			return false;
	return true;
}

ck_err
ck_helpers_close(const struct ck_helpers_say *say, struct ck_helpers *ret,
    struct ck_fail *fail)
{
	struct spots *s = calloc(1, sizeof(*s));
	size_t kept = 0;

	if (s == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	add_all(s, say);
	ret->n = 0;
	ret->more = false;
	for (size_t i = 0; i < s->n; i++) {
		const struct spot *spot = &s->at[i];

		if (spot->kind == CK_HELPER_AGENT)
			continue;
		if (closes_whole(s, spot))
			note(ret, s, spot, spot->path, true);
		else
			look(s, spot, spot->path, spot->depth, ret);
	}
	free(s);
	for (size_t i = 0; i < ret->n; i++)
		if (!ret->at[i].own)
			ret->at[kept++] = ret->at[i];
	ret->n = kept;
	return ret->more ? ck_fail_set(fail, CK_NOENFORCE, NULL,
	    "there are more than %d sockets of helpers to close",
	    CK_HELPERS_MAX) : CK_OK;
}
