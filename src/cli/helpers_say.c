/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says of programs outside of a worker's boundary. */
#include "cli.h"

#include <stdlib.h>

void
cli_helpers_say(const struct ck_place *place, struct ck_helpers_say *ret)
{
	ret->home = place->home;
	ret->config = place->config;
	ret->clankie_state = place->clankie_state;
	ret->runtime_dir = getenv("XDG_RUNTIME_DIR");
	ret->tmux = getenv("TMUX");
	ret->tmux_tmpdir = getenv("TMUX_TMPDIR");
	ret->herdr_socket_path = getenv("HERDR_SOCKET_PATH");
	ret->ssh_auth_sock = getenv("SSH_AUTH_SOCK");
	ret->docker_host = getenv("DOCKER_HOST");
	ret->dbus_address = getenv("DBUS_SESSION_BUS_ADDRESS");
}
