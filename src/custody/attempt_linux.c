/* SPDX-License-Identifier: Apache-2.0 */
/* What only Linux has: /proc, tracing, namespaces, mounts, O_TMPFILE; see
 * attempt.h. */
#include "custody/attempt_int.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_open_tree
#define SYS_open_tree 428            /* these: of every architecture */
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#define OPEN_TREE_A_COPY 1U          /* OPEN_TREE_CLONE */

#define FILE_BELOW ".clankie-keys/operator/operator.keychain-db"

static int
proc_root(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "/proc/self/root%s", s->keychain);
}

static int
proc_cwd(const struct ck_scene *s)
{
	return chdir(s->home) != 0 ? errno :
	    ck_try_steal(s, "/proc/self/cwd/" FILE_BELOW);
}

static int
reopened(const struct ck_scene *s)
{
	int fd = open(s->keychain, O_PATH | O_CLOEXEC);

	return fd < 0 ? errno : ck_try_steal_at(s, "/proc/self/fd/%d", fd);
}

/* The handle is that of a file which is there; opening it by handle needs a
 * right that nobody here has. */
static int
by_handle(const struct ck_scene *s)
{
	struct {
		struct file_handle head;
		unsigned char room[128];
	} h = { .head = { .handle_bytes = 128 } };
	int mount_id, dir;

	if (name_to_handle_at(AT_FDCWD, s->keychain, &h.head, &mount_id,
	    0) != 0)
		return errno;
	if ((dir = open(s->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return errno;
	return ck_try_take(s, open_by_handle_at(dir, &h.head, O_RDONLY));
}

static int
outside_root(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "/proc/%ld/root%s", (long)s->outside,
	    s->keychain);
}

static int
outside_cwd(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "/proc/%ld/cwd/operator.keychain-db",
	    (long)s->outside);
}

static int
outside_fd(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "/proc/%ld/fd/8", (long)s->outside);
}

static int
outside_dir_fd(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "/proc/%ld/fd/9/operator.keychain-db",
	    (long)s->outside);
}

static int
outside_environment(const struct ck_scene *s)
{
	return ck_try_steal_at(s, "/proc/%ld/environ", (long)s->outside);
}

/* Where its stack is. */
static int
stack_of(pid_t pid, unsigned long *ret)
{
	char path[64], line[512];
	unsigned long end = 0;
	FILE *maps;

	(void)snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	if ((maps = fopen(path, "re")) == NULL)
		return errno;
	while (fgets(line, sizeof(line), maps) != NULL)
		if (strstr(line, "[stack]") != NULL) {
			const char *dash = strchr(line, '-');

			end = dash == NULL ? 0 : strtoul(dash + 1, NULL, 16);
		}
	(void)fclose(maps);
	*ret = end - 4096;
	return end == 0 ? ENODATA : 0;
}

static int
outside_memory(const struct ck_scene *s)
{
	unsigned long at = 0;
	char path[64], buf[64];
	int fd, why = stack_of(s->outside, &at);

	if (why != 0)
		return why;
	(void)snprintf(path, sizeof(path), "/proc/%ld/mem", (long)s->outside);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return errno;
	if (pread(fd, buf, sizeof(buf), (off_t)at) != (ssize_t)sizeof(buf))
		return errno;
	return ck_try_got(s, "memory", 6);
}

/* The address does not matter where the kernel says no before it looks. */
static int
outside_memory_call(const struct ck_scene *s)
{
	unsigned long at = 4096;
	char buf[64];
	struct iovec here = { buf, sizeof(buf) }, there = here;

	(void)!stack_of(s->outside, &at);
	/* An address over there, and no pointer of ours. */
	memcpy(&there.iov_base, &at, sizeof(at));
	return process_vm_readv(s->outside, &here, 1, &there, 1, 0) < 0 ?
	    errno : ck_try_got(s, "memory", 6);
}

static int
outside_traced(const struct ck_scene *s)
{
	if (ptrace(PTRACE_ATTACH, s->outside, NULL, NULL) != 0)
		return errno;
	(void)waitpid(s->outside, NULL, __WALL);
	(void)ptrace(PTRACE_DETACH, s->outside, NULL, NULL);
	return ck_try_got(s, "attached", 8);
}

static int
outside_fd_taken(const struct ck_scene *s)
{
	int process = (int)syscall(SYS_pidfd_open, s->outside, 0), fd;

	if (process < 0)
		return errno;
	fd = (int)syscall(SYS_pidfd_getfd, process, 8, 0);
	return fd < 0 ? errno : lseek(fd, 0, SEEK_SET) != 0 ? errno :
	    ck_try_take(s, fd);
}

/* Kernels before 6.12 keep no signals in, which is documented. */
static int
outside_signal(const struct ck_scene *s)
{
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1U) < 6)
		return CK_TRY_CANNOT;
	return kill(s->outside, SIGCONT) != 0 ? errno :
	    ck_try_got(s, "signalled", 9);
}

/* With a terminal of its own, so that nobody's shell gets the character. */
static int
types(const struct ck_scene *s)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;

	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
	    setsid() < 0 ||
	    (slave = open(ptsname(master), O_RDWR | O_CLOEXEC)) < 0 ||
	    ioctl(slave, TIOCSCTTY, 0) != 0)
		return CK_TRY_CANNOT;
	return ioctl(slave, TIOCSTI, "x") != 0 ? errno :
	    ck_try_got(s, "typed", 5);
}

static int
typing(const struct ck_scene *s)
{
	return ck_try_child(s, types);
}

static void
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	(void)close(fd);
}

/* A namespace in which this process has every capability.  What follows may
 * fail; whether the keychain can be read then is what counts. */
static int
own_world(void)
{
	char map[64];
	long uid = (long)geteuid(), gid = (long)getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return errno;
	put("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "0 %ld 1", uid);
	put("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof(map), "0 %ld 1", gid);
	put("/proc/self/gid_map", map);
	return 0;
}

static int
world_plain(const struct ck_scene *s)
{
	int why = own_world();

	return why != 0 ? why : ck_try_steal(s, s->keychain);
}

static int
world_unmount(const struct ck_scene *s)
{
	int why = own_world();

	(void)umount2(s->vault, 0);
	(void)umount2(s->custody, 0);
	(void)umount2(s->custody, MNT_DETACH);
	return why != 0 ? why : ck_try_steal(s, s->keychain);
}

static int
world_unmount_home(const struct ck_scene *s)
{
	int why = own_world();

	for (int i = 0; i < 8; i++) {
		(void)umount2(s->custody, MNT_DETACH);
		(void)umount2(s->clankie, MNT_DETACH);
		(void)umount2(s->home, MNT_DETACH);
	}
	return why != 0 ? why : ck_try_steal(s, s->keychain);
}

static int
world_bind(const struct ck_scene *s)
{
	int why = own_world();

	if (why != 0)
		return why;
	if (mkdir(s->x, 0700) != 0 ||
	    mount(s->home, s->x, NULL, MS_BIND, NULL) != 0)
		return ck_try_steal(s, s->keychain);
	return ck_try_steal_at(s, "%s/" FILE_BELOW, s->x);
}

static int
world_bind_all(const struct ck_scene *s)
{
	char mask[2 * CK_PATH_MAX];
	int why = own_world();

	if (why != 0)
		return why;
	if (mkdir(s->x, 0700) != 0 ||
	    mount("/", s->x, NULL, MS_BIND | MS_REC, NULL) != 0)
		return ck_try_steal(s, s->keychain);
	(void)snprintf(mask, sizeof(mask), "%s%s", s->x, s->custody);
	(void)umount2(mask, MNT_DETACH);
	return ck_try_steal_at(s, "%s%s", s->x, s->keychain);
}

static int
world_over(const struct ck_scene *s)
{
	int why = own_world();

	/* An ancestor bound over itself shows what was below the mask. */
	(void)mount(s->home, s->home, NULL, MS_BIND, NULL);
	return why != 0 ? why : ck_try_steal(s, s->keychain);
}

static int
world_move(const struct ck_scene *s)
{
	int why = own_world();

	if (why == 0 && mkdir(s->x, 0700) == 0)
		(void)mount(s->custody, s->x, NULL, MS_MOVE, NULL);
	return why != 0 ? why : ck_try_steal(s, s->keychain);
}

static int
world_overlay(const struct ck_scene *s)
{
	char options[8 * CK_PATH_MAX], upper[2 * CK_PATH_MAX];
	char scratch[2 * CK_PATH_MAX];
	int why = own_world();

	(void)snprintf(upper, sizeof(upper), "%s/upper", s->work);
	(void)snprintf(scratch, sizeof(scratch), "%s/scratch", s->work);
	(void)mkdir(upper, 0700);
	(void)mkdir(scratch, 0700);
	(void)snprintf(options, sizeof(options),
	    "lowerdir=%s,upperdir=%s,workdir=%s", s->home, upper, scratch);
	if (why == 0 && mkdir(s->x, 0700) == 0 &&
	    mount("overlay", s->x, "overlay", 0, options) == 0)
		return ck_try_steal_at(s, "%s/" FILE_BELOW, s->x);
	return why != 0 ? why : ck_try_steal(s, s->keychain);
}

static int
world_tree(const struct ck_scene *s)
{
	int why = own_world(), tree;

	if (why != 0)
		return why;
	tree = (int)syscall(SYS_open_tree, AT_FDCWD, s->home,
	    OPEN_TREE_A_COPY | O_CLOEXEC);
	return tree < 0 ? ck_try_steal(s, s->keychain) :
	    ck_try_take(s, openat(tree, FILE_BELOW, O_RDONLY | O_CLOEXEC));
}

static int
world_writable(const struct ck_scene *s)
{
	int why = own_world();

	(void)mount(NULL, s->custody, NULL, MS_REMOUNT | MS_BIND, NULL);
	(void)chmod(s->custody, 0777);
	(void)chmod(s->vault, 0777);
	(void)chmod(s->keychain, 0666);
	return why != 0 ? why : ck_try_steal(s, s->keychain);
}

static int
world_twice(const struct ck_scene *s)
{
	int why = own_world();

	return why != 0 ? why : ck_try_child(s, world_unmount);
}

static int
world_settings(const struct ck_scene *s)
{
	int why = own_world(), fd;

	(void)umount2(s->settings, MNT_DETACH);
	(void)mount(NULL, s->settings, NULL, MS_REMOUNT | MS_BIND, NULL);
	if (why != 0)
		return why;
	if ((fd = open(s->settings, O_WRONLY | O_APPEND | O_CLOEXEC)) < 0)
		return errno;
	return write(fd, "x", 1) == 1 ? 0 : errno;
}

/* A file without a name gets one beside the keychain. */
static int
nameless(const struct ck_scene *s)
{
	char from[64], to[2 * CK_PATH_MAX];
	int fd = open(s->work, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	(void)snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	(void)snprintf(to, sizeof(to), "%s/new", s->vault);
	return linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) != 0 ?
	    errno : 0;
}

static int
nameless_there(const struct ck_scene *s)
{
	char from[64], to[2 * CK_PATH_MAX];
	int fd = open(s->vault, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	(void)snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	(void)snprintf(to, sizeof(to), "%s/new", s->vault);
	return linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) != 0 ?
	    errno : 0;
}

/* Where the kernel has bubblewrap start, a worker may use it. */
static int
inner_sandbox(const struct ck_scene *s)
{
	static const char script[] = "cat \"$1\" /mnt/" FILE_BELOW
	    " >\"$2\" 2>/dev/null; test -s \"$2\"";

	return ck_try_tool((const char *const[]){ "bwrap", "--dev-bind", "/",
	    "/", "--ro-bind", s->home, "/mnt", "/bin/sh", "-c", script, "sh",
	    s->keychain, s->loot, NULL });
}

static int
inner_namespace(const struct ck_scene *s)
{
	static const char script[] = "umount -l \"$3\" 2>/dev/null; "
	    "mount --make-rprivate / 2>/dev/null; umount \"$3\" 2>/dev/null; "
	    "cat \"$1\" >\"$2\"; test -s \"$2\"";

	return ck_try_tool((const char *const[]){ "unshare", "-Urm", "/bin/sh",
	    "-c", script, "sh", s->keychain, s->loot, s->custody, NULL });
}

#define READ(id, text, run) { id, text, CK_TRY_READ, run, NULL, NULL }
#define RARE(id, text, run) \
	{ id, text, CK_TRY_READ | CK_TRY_RARE, run, NULL, NULL }
#define CHANGE(id, text, run) { id, text, 0, run, NULL, NULL }

const struct ck_attempt ck_attempts_system[] = {
	READ("proc-root", "through /proc/self/root", proc_root),
	READ("proc-cwd", "through /proc/self/cwd", proc_cwd),
	READ("proc-reopen", "a descriptor by path, opened again", reopened),
	RARE("by-handle", "open_by_handle_at", by_handle),
	READ("outside-root", "the root directory of a process outside",
	    outside_root),
	READ("outside-cwd", "the working directory of a process outside",
	    outside_cwd),
	READ("outside-fd", "a descriptor of a process outside", outside_fd),
	READ("outside-dir-fd", "a directory of a process outside",
	    outside_dir_fd),
	READ("outside-environ", "the environment of a process outside",
	    outside_environment),
	RARE("outside-memory", "the memory of a process outside",
	    outside_memory),
	RARE("outside-vm-readv", "the same by process_vm_readv",
	    outside_memory_call),
	RARE("outside-ptrace", "tracing a process outside", outside_traced),
	READ("outside-signal", "a signal to a process outside",
	    outside_signal),
	RARE("outside-getfd", "pidfd_getfd", outside_fd_taken),
	RARE("terminal", "typing into a terminal (TIOCSTI)", typing),
	RARE("world-plain", "root of a namespace of its own", world_plain),
	RARE("world-unmount", "... that unmounts the mask", world_unmount),
	RARE("world-unmount-home", "... that unmounts everything there",
	    world_unmount_home),
	RARE("world-bind", "... that binds the home elsewhere", world_bind),
	RARE("world-bind-all", "... that binds the whole tree elsewhere",
	    world_bind_all),
	RARE("world-over", "... that binds an ancestor over the mask",
	    world_over),
	RARE("world-move", "... that moves the mask away", world_move),
	RARE("world-overlay", "... that lays the home over", world_overlay),
	RARE("world-tree", "... that copies the tree (open_tree)",
	    world_tree),
	{ "world-writable", "... that mounts the mask writable",
	    CK_TRY_READ | CK_TRY_RARE | CK_TRY_COPY, world_writable, NULL,
	    NULL },
	RARE("world-twice", "... in another such one", world_twice),
	{ "world-settings", "... that changes settings.json", CK_TRY_RARE,
	    world_settings, NULL, NULL },
	READ("inner-bwrap", "bubblewrap that binds the home",
	    inner_sandbox),
	READ("inner-unshare", "unshare(1) and umount(8)", inner_namespace),
	CHANGE("nameless", "a nameless file (O_TMPFILE) that gets a name "
	    "there", nameless),
	CHANGE("nameless-there", "a nameless file made there",
	    nameless_there),
	{ NULL, NULL, 0, NULL, NULL, NULL }
};
