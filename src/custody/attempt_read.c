/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what is protected, by every spelling and every program; see
 * attempt.h. */
#include "custody/attempt_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "boundary/blank.h"

static int
keychain(const struct ck_scene *s)
{
	return ck_try_steal(s, s->keychain);
}

static int
records(const struct ck_scene *s)
{
	return ck_try_steal(s, s->records);
}

static int
plan(const struct ck_scene *s)
{
	return ck_try_steal(s, s->plan);
}

static int
broker(const struct ck_scene *s)
{
	return ck_try_steal(s, s->broker);
}

static int
env_local(const struct ck_scene *s)
{
	return ck_try_steal(s, s->env);
}

/* Any name in the vault: what the file is called is no secret, whether it can
 * be listed says whether the mask is there. */
static int
listing(const struct ck_scene *s)
{
	DIR *d = opendir(s->vault);
	int why;

	if (d == NULL)
		return errno;
	errno = 0;
	why = readdir(d) != NULL ? ck_try_got(s, "listed", 6) : errno;
	(void)closedir(d);
	return why;
}

static int
mapped(const struct ck_scene *s)
{
	int fd = open(s->keychain, O_RDONLY | O_CLOEXEC), why;
	void *p;

	if (fd < 0)
		return errno;
	p = mmap(NULL, 64, PROT_READ, MAP_PRIVATE, fd, 0);
	why = p == MAP_FAILED ? errno : ck_try_got(s, p, 64);
	(void)close(fd);
	return why;
}

static int
dots(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "%s/.config/../.clankie-keys/./operator/../"
	    "operator/operator.keychain-db", s->home);
}

static int
slashes(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "%s//.clankie-keys///operator//"
	    "operator.keychain-db", s->home);
}

static int
from_vault(const struct ck_scene *s)
{
	return chdir(s->vault) != 0 ? errno :
	    ck_try_steal(s, "operator.keychain-db");
}

static int
from_home(const struct ck_scene *s)
{
	return chdir(s->home) != 0 ? errno :
	    ck_try_steal(s, ".clankie-keys/operator/operator.keychain-db");
}

static int
symbolic(const struct ck_scene *s)
{
	return symlink(s->keychain, s->x) != 0 ? errno :
	    ck_try_steal(s, s->x);
}

static int
symbolic_dir(const struct ck_scene *s)
{
	return symlink(s->vault, s->x) != 0 ? errno :
	    ck_try_steal_at(s, "%s/operator.keychain-db", s->x);
}

/* A file to be executed is opened by the kernel and not by the worker. */
static int
by_shell(const struct ck_scene *s)
{
	return ck_try_tool((const char *const[]){ "/bin/sh", "-c",
	    "cat <\"$1\" >\"$2\"", "sh", s->keychain,
	    s->loot, NULL });
}

static int
by_python(const struct ck_scene *s)
{
	static const char script[] = "import sys; open(sys.argv[2], 'wb')"
	    ".write(open(sys.argv[1], 'rb').read())";

	return ck_try_tool((const char *const[]){ "python3", "-c", script,
	    s->keychain, s->loot, NULL });
}

static int
by_perl(const struct ck_scene *s)
{
	static const char script[] = "open(F, '<', shift) or exit 1; "
	    "open(T, '>', shift) or exit 1; print T <F>; close(T) or exit 1";

	return ck_try_tool((const char *const[]){ "perl", "-e", script,
	    s->keychain, s->loot, NULL });
}

static int
by_node(const struct ck_scene *s)
{
	static const char script[] = "const f = require('fs'); "
	    "f.writeFileSync(process.argv[2], f.readFileSync(process.argv[1]))";

	return ck_try_tool((const char *const[]){ "node", "-e", script,
	    s->keychain, s->loot, NULL });
}

static int
by_cp(const struct ck_scene *s)
{
	return ck_try_tool((const char *const[]){ "cp", "-R", s->custody,
	    s->x, NULL }) == CK_TRY_CANNOT ? CK_TRY_CANNOT :
	    ck_try_steal_at(s, "%s/operator/operator.keychain-db", s->x);
}

/* Our own program, asked for the credential. */
static int
by_get(const struct ck_scene *s)
{
	return ck_try_tool((const char *const[]){ "/bin/sh", "-c",
	    "exec \"$1\" get --fd 3 3>\"$2\" 2>/dev/null", "sh",
	    s->self, s->loot, NULL });
}

static int
leaves_session(const struct ck_scene *s)
{
	return setsid() < 0 ? errno : ck_try_child(s, keychain);
}

static int
grandchild(const struct ck_scene *s)
{
	return ck_try_child(s, leaves_session);
}

static int
inherited_file(const struct ck_scene *s)
{
	return ck_try_take(s, dup(8));
}

static int
inherited_dir(const struct ck_scene *s)
{
	return ck_try_take(s, openat(9, "operator.keychain-db",
	    O_RDONLY | O_CLOEXEC));
}

static int
stdin_file(const struct ck_scene *s)
{
	return ck_try_take(s, dup(STDIN_FILENO));
}

static int
stdin_dir(const struct ck_scene *s)
{
	return ck_try_take(s, openat(STDIN_FILENO, "operator.keychain-db",
	    O_RDONLY | O_CLOEXEC));
}

/* A variable with a value, by name. */
static const char *
value_of(const struct ck_scene *s, const char *name)
{
	for (char **at = s->environment; *at != NULL; at++)
		if (ck_blank_same_name(*at, name))
			return *at + ck_blank_name(*at) + 1;
	return "";
}

static int
bearers(const struct ck_scene *s)
{
	const char *name;

	for (size_t i = 0; (name = ck_blank_listed(i)) != NULL; i++)
		if (value_of(s, name)[0] != '\0')
			return ck_try_got(s, name, strlen(name));
	return ENODATA;
}

static int
loader(const struct ck_scene *s)
{
	static const char *const names[] = { "LD_PRELOAD=", "LD_AUDIT=",
		"LD_LIBRARY_PATH=", "BASH_ENV=", "ENV=", "GLIBC_TUNABLES=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (value_of(s, names[i])[0] != '\0')
			return ck_try_got(s, names[i], strlen(names[i]));
	return ENODATA;
}

#define READ(id, text, run) { id, text, CK_TRY_READ, run, NULL, NULL }
#define READ_WITH(id, text, run, flags) \
	{ id, text, CK_TRY_READ | (flags), run, NULL, NULL }

const struct ck_attempt ck_attempts_read[] = {
	READ("read-keychain", "read the dedicated keychain", keychain),
	READ("read-records", "read the records", records),
	READ("read-plan", "read the compiled rules", plan),
	READ("read-broker", "read the broker's file", broker),
	READ("read-env-local", "read a checkout's .env.local", env_local),
	READ("list-custody", "list the keychain's directory", listing),
	READ("read-mapped", "map the keychain into memory", mapped),
	READ("read-dots", "a path with . and ..", dots),
	READ("read-slashes", "a path with doubled slashes", slashes),
	READ("read-from-vault", "from the keychain's own directory",
	    from_vault),
	READ("read-relative", "a relative path, from the home", from_home),
	READ("read-symlink", "through a symbolic link", symbolic),
	READ("read-symlink-dir", "through a link to its directory",
	    symbolic_dir),
	READ("read-sh", "the shell's redirection", by_shell),
	READ("read-python", "Python", by_python),
	READ("read-perl", "Perl", by_perl),
	READ("read-node", "Node.js", by_node),
	READ("read-cp", "a copy of the whole custody directory", by_cp),
	READ("read-get", "clankie-keys get", by_get),
	READ("read-grandchild", "a grandchild in a session of its own",
	    grandchild),
	READ_WITH("fd-file", "a descriptor of the keychain that was left open",
	    inherited_file, CK_TRY_FILE),
	READ_WITH("fd-dir", "a descriptor of its directory that was left open",
	    inherited_dir, CK_TRY_DIR),
	READ_WITH("stdin-file", "the broker's file as standard input",
	    stdin_file, CK_TRY_STDIN_FILE | CK_TRY_PREPARED),
	READ_WITH("stdin-dir", "the keychain's directory as standard input",
	    stdin_dir, CK_TRY_STDIN_DIR | CK_TRY_PREPARED),
	READ_WITH("env-bearers", "bearers in the environment", bearers,
	    CK_TRY_ENV),
	READ_WITH("env-loader", "variables that load code", loader,
	    CK_TRY_ENV),
	{ NULL, NULL, 0, NULL, NULL, NULL }
};
