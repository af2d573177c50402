/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-attempt VERB ARGUMENT...
 *
 * One thing a program could try against what it may not have, which no shell
 * command does as plainly.  Exit status 0: it worked; 1: the system said no,
 * and how is on standard output; 2: wrong usage.  Linux only.
 *
 *	write PATH          open for writing
 *	create PATH         O_CREAT | O_EXCL
 *	exchange A B        renameat2(RENAME_EXCHANGE)
 *	xattr PATH          setxattr user.ck
 *	map PATH            mmap it and read a byte
 *	below FD PATH       openat(FD, PATH) for reading
 *	ptrace PID          attach, detach
 *	memory PID          read a byte of /proc/PID/mem
 *	signal PID          kill(PID, 0)
 *	scopes              does this kernel keep signals in? (Landlock 6)
 *	tiocsti             type into a terminal of its own
 *	detach PATH         umount2(MNT_DETACH)
 *	clone DIR PATH      open_tree(DIR, CLONE), then open PATH in it
 *	writable PATH       remount it writable
 *	connect PATH        to a socket there
 *	listen PATH         be that socket, until killed
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <signal.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif

static int
opened(int fd)
{
	if (fd < 0)
		return -1;
	(void)close(fd);
	return 0;
}

static int
number(const char *text)
{
	return (int)strtol(text, NULL, 10);
}

static int
do_write(char **arg)
{
	return opened(open(arg[0], O_WRONLY | O_CLOEXEC));
}

static int
do_create(char **arg)
{
	return opened(open(arg[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0600));
}

static int
do_exchange(char **arg)
{
	return (int)syscall(SYS_renameat2, AT_FDCWD, arg[0], AT_FDCWD, arg[1],
	    RENAME_EXCHANGE);
}

static int
do_xattr(char **arg)
{
	return setxattr(arg[0], "user.ck", "x", 1, 0);
}

static int
do_map(char **arg)
{
	int fd = open(arg[0], O_RDONLY | O_CLOEXEC);
	char *p;

	if (fd < 0)
		return -1;
	p = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	(void)close(fd);
	return p == MAP_FAILED || *p == '\0' ? -1 : 0;
}

static int
do_below(char **arg)
{
	return opened(openat(number(arg[0]), arg[1], O_RDONLY | O_CLOEXEC));
}

static int
do_ptrace(char **arg)
{
	pid_t pid = number(arg[0]);

	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) != 0)
		return -1;
	(void)waitpid(pid, NULL, __WALL);
	return (int)ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static int
do_memory(char **arg)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", number(arg[0]));
	return opened(open(path, O_RDONLY | O_CLOEXEC));
}

static int
do_signal(char **arg)
{
	return kill(number(arg[0]), 0);
}

static int
do_scopes(char **arg)
{
	(void)arg;
	errno = ENOSYS;
	return syscall(444, NULL, 0, 1U) >= 6 ? 0 : -1;
}

/* With a terminal of its own, so that nobody's shell gets the character. */
static int
do_tiocsti(char **arg)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;
	int status = 0;
	pid_t pid;

	(void)arg;
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
		err(2, "no terminal");
	if ((pid = fork()) == 0) {
		(void)setsid();
		slave = open(ptsname(master), O_RDWR);
		if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) != 0)
			_exit(2);
		_exit(ioctl(slave, TIOCSTI, "x") == 0 ? 0 : errno);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		err(2, "no child");
	errno = WEXITSTATUS(status);
	return errno == 0 ? 0 : -1;
}

static int
do_detach(char **arg)
{
	return umount2(arg[0], MNT_DETACH);
}

static int
do_clone(char **arg)
{
	/* OPEN_TREE_CLONE; not recursive, so without what is mounted on it */
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, arg[0], 1U);

	if (tree < 0)
		return -1;
	return opened(openat(tree, arg[1], O_RDONLY | O_CLOEXEC));
}

static int
do_writable(char **arg)
{
	return mount(NULL, arg[0], NULL, MS_REMOUNT | MS_BIND, NULL);
}

static int
unix_socket(const char *path, struct sockaddr_un *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(ret->sun_path))
		errx(2, "%s: too long", path);
	memcpy(ret->sun_path, path, strlen(path) + 1);
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int
do_connect(char **arg)
{
	struct sockaddr_un to;
	int fd = unix_socket(arg[0], &to);

	return connect(fd, (const struct sockaddr *)&to, sizeof(to));
}

static int
do_listen(char **arg)
{
	struct sockaddr_un at;
	int fd = unix_socket(arg[0], &at);

	if (bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(fd, 100) != 0)
		return -1;
	(void)pause();
	return 0;
}

static const struct {
	const char *name;
	int args;
	int (*run)(char **arg);
} verbs[] = {
	{ "write", 1, do_write }, { "create", 1, do_create },
	{ "exchange", 2, do_exchange }, { "xattr", 1, do_xattr },
	{ "map", 1, do_map }, { "below", 2, do_below },
	{ "ptrace", 1, do_ptrace }, { "memory", 1, do_memory },
	{ "signal", 1, do_signal }, { "scopes", 0, do_scopes }, { "tiocsti", 0, do_tiocsti },
	{ "detach", 1, do_detach }, { "clone", 2, do_clone },
	{ "writable", 1, do_writable }, { "connect", 1, do_connect },
	{ "listen", 1, do_listen },
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (argc < 2 || strcmp(argv[1], verbs[i].name) != 0 ||
		    argc - 2 != verbs[i].args)
			continue;
		if (verbs[i].run(argv + 2) == 0)
			return 0;
		(void)printf("%s\n", strerror(errno));
		return 1;
	}
	errx(2, "usage: see the top of its source");
}
