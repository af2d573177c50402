/* SPDX-License-Identifier: Apache-2.0 */
/* The scene, and what all attempts need; see attempt.h. */
#include "custody/attempt_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/platform.h"

ck_err
ck_scene_make(const char *home, pid_t outside, const char *self,
    char **environment, struct ck_scene *ret, struct ck_fail *fail)
{
	struct ck_scene s = { .outside = outside, .self = self,
		.environment = environment };
	const struct {
		char *to;
		const char *below;
	} parts[] = {
		{ s.home, "" }, { s.custody, "/.clankie-keys" },
		{ s.vault, "/.clankie-keys/operator" },
		{ s.keychain, "/.clankie-keys/operator/operator.keychain-db" },
		{ s.records, "/.clankie-keys/custody.db" },
		{ s.plan, "/.clankie-keys/worker.mounts" },
		{ s.clankie, "/.config/clankie" },
		{ s.broker, "/.config/clankie/credentials.json" },
		{ s.settings, "/.config/clankie/settings.json" },
		{ s.unlock, "/.config/clankie-keys/unlock.json" },
		{ s.app, "/src/app" }, { s.env, "/src/app/.env.local" },
		{ s.work, "/task" }, { s.x, "/task/x" },
		{ s.loot, "/task/loot" },
		{ s.socket, "/.config/herdr/herdr.sock" },
	};
	ck_err r;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if ((r = ck_path_format(parts[i].to, fail, "%s%s", home,
		    parts[i].below)) != CK_OK)
			return r;
	*ret = s;
	return CK_OK;
}

const struct ck_attempt *
ck_attempt_at(size_t i)
{
	static const struct ck_attempt *const lists[] = {
		ck_attempts_read, ck_attempts_change, ck_attempts_system,
		ck_attempts_launch
	};

	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
		for (const struct ck_attempt *a = lists[k]; a->id != NULL; a++)
			if (i-- == 0)
				return a;
	return NULL;
}

/* What a worker may do: read what is not closed to it. */
static int
settings(const struct ck_scene *s)
{
	return ck_try_steal(s, s->settings);
}

const struct ck_attempt ck_attempt_allowed = { "may-read", "reading "
    "settings.json, which a worker may", CK_TRY_READ, settings, NULL, NULL };

const struct ck_attempt *
ck_attempt_by_id(const char *id)
{
	const struct ck_attempt *a;

	if (strcmp(id, ck_attempt_allowed.id) == 0)
		return &ck_attempt_allowed;
	for (size_t i = 0; (a = ck_attempt_at(i)) != NULL; i++)
		if (strcmp(a->id, id) == 0)
			return a;
	return NULL;
}

ck_err
ck_attempt_run(const struct ck_attempt *a, const struct ck_scene *s,
    int *ret, int *ret_why, struct ck_fail *fail)
{
	char mark[CK_PATH_MAX];
	struct stat st;
	int why;
	ck_err r;

	if ((r = ck_path_join(s->home, CK_SCENE_MARK, mark, fail)) != CK_OK)
		return r;
	if (lstat(mark, &st) != 0 || st.st_uid != geteuid())
		return ck_fail_set(fail, CK_REFUSED, s->home,
		    "was not made to be attacked");
	(void)umask(077);
	why = a->run(s);
	*ret = why == 0 ? 0 : why == CK_TRY_CANNOT ? 2 : 1;
	*ret_why = why > 0 ? why : 0;
	return CK_OK;
}

int
ck_try_got(const struct ck_scene *s, const char *what, size_t n)
{
	int fd, why = 0;

	(void)unlink(s->loot);
	fd = open(s->loot, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    0600);

	if (fd < 0)
		return errno;
	if (write(fd, what, n) != (ssize_t)n)
		why = errno == 0 ? EIO : errno;
	(void)close(fd);
	return why;
}

int
ck_try_take(const struct ck_scene *s, int fd)
{
	char buf[4096];
	ssize_t n;
	int why;

	if (fd < 0)
		return errno;
	n = read(fd, buf, sizeof(buf));
	why = n < 0 ? errno : n == 0 ? ENODATA :
	    ck_try_got(s, buf, (size_t)n);
	(void)close(fd);
	return why;
}

int
ck_try_steal(const struct ck_scene *s, const char *path)
{
	return ck_try_take(s, open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

int
ck_try_steal_at(const struct ck_scene *s, const char *fmt, ...)
{
	char path[2 * CK_PATH_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return n < 0 || (size_t)n >= sizeof(path) ? ENAMETOOLONG :
	    ck_try_steal(s, path);
}

int
ck_try_make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int why = 0;

	if (fd < 0)
		return errno;
	if (write(fd, "{}\n", 3) != 3)
		why = errno;
	(void)close(fd);
	return why;
}

static int
wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

char **
ck_try_words(const char *const *argv)
{
	size_t n = 0;
	char **ret;

	while (argv[n] != NULL)
		n++;
	if ((ret = calloc(n + 1, sizeof(*ret))) == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if ((ret[i] = strdup(argv[i])) == NULL) {
			while (i > 0)
				free(ret[--i]);
			free(ret);
			return NULL;
		}
	return ret;
}

int
ck_try_tool(const char *const *argv)
{
	char **words;
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return errno;
	if (pid == 0) {
		if ((words = ck_try_words(argv)) == NULL || words[0] == NULL)
			_exit(126);
		(void)execvp(words[0], words);
		_exit(errno == ENOENT ? 127 : 126);
	}
	status = wait_for(pid);
	return status == 127 ? CK_TRY_CANNOT : status == 0 ? 0 : EACCES;
}

int
ck_try_child(const struct ck_scene *s, ck_try_fn *f)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return errno;
	if (pid == 0) {
		int why = f(s);

		_exit(why == CK_TRY_CANNOT ? 255 : why > 254 ? EIO : why);
	}
	status = wait_for(pid);
	return status == 255 ? CK_TRY_CANNOT : status < 0 ? ECHILD : status;
}

/* From one directory's point of view, as the platform's call wants it. */
int
ck_try_exchange(const char *a, const char *b)
{
	return ck_platform_exchange(AT_FDCWD, a, b);
}
