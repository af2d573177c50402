/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs outside of a worker's boundary that do what a worker asks them to,
 * as far as they can be reached by a path: a worker that starts its command
 * there has left the boundary.
 */
#ifndef CK_CUSTODY_HELPERS_H
#define CK_CUSTODY_HELPERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/path.h"

enum ck_helper_kind {
	CK_HELPER_MULTIPLEXER,       /* Herdr, tmux, screen, zellij */
	CK_HELPER_CONTAINER,         /* docker, podman, containerd */
	CK_HELPER_DBUS,
	CK_HELPER_SYSTEMD,           /* the user's service manager */
	CK_HELPER_AGENT              /* ssh and gpg: they sign, and start nothing */
};

/* "multiplexer" and so on; never NULL. */
const char *ck_helper_name(enum ck_helper_kind kind);

struct ck_helper {
	enum ck_helper_kind kind;
	bool own;                    /* the pane's own multiplexer */
	bool directory;              /* of sockets that are all to be closed,
	                              * also those that come later */
	char path[CK_PATH_MAX];      /* canonical */
};

enum { CK_HELPERS_MAX = 64 };
struct ck_helpers {
	size_t n;
	bool more;                   /* there are others */
	struct ck_helper at[CK_HELPERS_MAX];
};

/* Values of the variables of these names, NULL when not set; home and config
 * are directories.  They say where to look. */
struct ck_helpers_say {
	const char *home, *config, *clankie_state;
	const char *runtime_dir;     /* XDG_RUNTIME_DIR */
	const char *tmux, *tmux_tmpdir, *herdr_socket_path;
	const char *ssh_auth_sock, *docker_host, *dbus_address;
};

/* Sockets that the user could connect to now; nothing is connected to.
 * CK_NOMEM; what cannot be looked at is left out. */
CK_MUST_USE ck_err ck_helpers_find(const struct ck_helpers_say *say,
    struct ck_helpers *ret, struct ck_fail *fail);

/*
 * What worker.strict closes: all of it but agents and the pane's own
 * multiplexer; directories as a whole where only the user's sockets are in
 * them.  CK_NOENFORCE: there are more than fit.
 */
CK_MUST_USE ck_err ck_helpers_close(const struct ck_helpers_say *say,
    struct ck_helpers *ret, struct ck_fail *fail);

#endif
