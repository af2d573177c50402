/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody unconfined prepares before a launch, or does during the work;
 * see attempt.h. */
#include "custody/attempt_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A second name of a file, given before. */
static int
link_keychain(const struct ck_scene *s)
{
	return link(s->keychain, s->x) != 0 ? errno : 0;
}

static int
link_broker(const struct ck_scene *s)
{
	return link(s->broker, s->x) != 0 ? errno : 0;
}

static int
link_env(const struct ck_scene *s)
{
	return link(s->env, s->x) != 0 ? errno : 0;
}

static int
unlink_x(const struct ck_scene *s)
{
	return unlink(s->x) != 0 ? errno : 0;
}

static int
steal_x(const struct ck_scene *s)
{
	return ck_try_steal(s, s->x);
}

/* The thing itself lies elsewhere, and its name is a symbolic link there. */
static int
aside(const char *path, const struct ck_scene *s)
{
	return rename(path, s->x) != 0 || symlink(s->x, path) != 0 ? errno : 0;
}

static int
back(const char *path, const struct ck_scene *s)
{
	return unlink(path) != 0 || rename(s->x, path) != 0 ? errno : 0;
}

static int
custody_aside(const struct ck_scene *s)
{
	return aside(s->custody, s);
}

static int
custody_back(const struct ck_scene *s)
{
	return back(s->custody, s);
}

static int
custody_steal(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "%s/operator/operator.keychain-db", s->x);
}

static int
clankie_aside(const struct ck_scene *s)
{
	return aside(s->clankie, s);
}

static int
clankie_back(const struct ck_scene *s)
{
	return back(s->clankie, s);
}

static int
clankie_steal(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "%s/credentials.json", s->x);
}

static int
env_aside(const struct ck_scene *s)
{
	return aside(s->env, s);
}

static int
env_back(const struct ck_scene *s)
{
	return back(s->env, s);
}

static int
app_aside(const struct ck_scene *s)
{
	return aside(s->app, s);
}

static int
app_back(const struct ck_scene *s)
{
	return back(s->app, s);
}

static int
app_steal(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "%s/.env.local", s->x);
}

/* The real file is the one that holds something; its twin is empty. */
static int
either_env(const struct ck_scene *s)
{
	int why = ck_try_steal(s, s->env);

	return why == 0 ? 0 : ck_try_steal_at(s, "%s/src/twin/.env.local",
	    s->home);
}

static void
nap(void)
{
	const struct timespec ms = { 0, 2000000 };

	(void)nanosleep(&ms, NULL);
}

/* Until the owner says stop, for three seconds at most: whatever can be read
 * at any of the names, or be written, while files are replaced. */
static int
polling(const struct ck_scene *s)
{
	const char *const path[] = { s->keychain, s->broker, s->records,
		s->plan };
	char begun[2 * CK_PATH_MAX], stop[2 * CK_PATH_MAX];
	int why = EACCES, fd;

	(void)snprintf(begun, sizeof(begun), "%s/begun", s->work);
	(void)snprintf(stop, sizeof(stop), "%s/stop", s->work);
	if (ck_try_make(begun) != 0)
		return EIO;
	for (int i = 0; i < 1500 && access(stop, F_OK) != 0; i++) {
		for (size_t k = 0; k < sizeof(path) / sizeof(path[0]); k++) {
			if (ck_try_steal(s, path[k]) == 0 ||
			    ck_try_steal_at(s, "%s.new", path[k]) == 0)
				why = 0;
		}
		if ((fd = open(s->settings, O_WRONLY | O_CLOEXEC)) >= 0) {
			(void)close(fd);
			why = ck_try_got(s, "settings", 8);
		}
		nap();
	}
	return why;
}

static int
reach_socket(const struct ck_scene *s)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(s->socket) >= sizeof(to.sun_path))
		return CK_TRY_CANNOT;
	memcpy(to.sun_path, s->socket, strlen(s->socket) + 1);
	if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) < 0)
		return errno;
	return connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0 ?
	    errno : ck_try_got(s, "connected", 9);
}

#define PREPARED(id, text, run, prepare, undo) \
	{ id, text, CK_TRY_READ | CK_TRY_PREPARED, run, prepare, undo }

const struct ck_attempt ck_attempts_launch[] = {
	PREPARED("planted-keychain", "a second name of the keychain from "
	    "before", steal_x, link_keychain, unlink_x),
	PREPARED("planted-broker", "a second name of the broker's file from "
	    "before", steal_x, link_broker, unlink_x),
	PREPARED("planted-env", "a second name of .env.local from before",
	    steal_x, link_env, unlink_x),
	PREPARED("aside-custody", "the custody directory as a symbolic link",
	    custody_steal, custody_aside, custody_back),
	PREPARED("aside-clankie", "the broker's directory as a symbolic link",
	    clankie_steal, clankie_aside, clankie_back),
	PREPARED("aside-env", ".env.local as a symbolic link", steal_x,
	    env_aside, env_back),
	PREPARED("aside-checkout", "the checkout as a symbolic link",
	    app_steal, app_aside, app_back),
	{ "swapped-parent", "directories that change places while it is "
	    "launched", CK_TRY_READ | CK_TRY_PREPARED | CK_TRY_SWAPS,
	    either_env, NULL, NULL },
	{ "strict-socket", "a multiplexer's socket, with worker.strict",
	    CK_TRY_READ | CK_TRY_STRICT, reach_socket, NULL, NULL },
	/* Last: it leaves other files behind than the rules were made for. */
	{ "owner-replaces", "reading on while the owner replaces and rotates",
	    CK_TRY_READ | CK_TRY_OWNER, polling, NULL, NULL },
	{ NULL, NULL, 0, NULL, NULL, NULL }
};
