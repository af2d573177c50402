/* SPDX-License-Identifier: Apache-2.0 */
/* What the command cannot do, now and later; see worker.h. */
#include "worker/worker.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>

/* The number of ioctl by architecture, and by those that share a kernel with
 * it.  All of them have the lower half of an argument first. */
#if defined(__x86_64__)
#define FILTER_ARCHES { { AUDIT_ARCH_X86_64, 16 }, { AUDIT_ARCH_I386, 54 } }
#define FILTER_X32 514
#elif defined(__i386__)
#define FILTER_ARCHES { { AUDIT_ARCH_I386, 54 }, { AUDIT_ARCH_I386, 54 } }
#elif defined(__aarch64__)
#define FILTER_ARCHES { { AUDIT_ARCH_AARCH64, 29 }, { AUDIT_ARCH_ARM, 54 } }
#elif defined(__arm__)
#define FILTER_ARCHES { { AUDIT_ARCH_ARM, 54 }, { AUDIT_ARCH_ARM, 54 } }
#elif defined(__riscv) && __riscv_xlen == 64
#define FILTER_ARCHES { { AUDIT_ARCH_RISCV64, 29 }, { AUDIT_ARCH_RISCV64, 29 } }
#else
/* cppcheck-suppress preprocessorErrorDirective */
#error "the system call filter does not know this architecture"
#endif
#ifndef FILTER_X32
#define FILTER_X32 0xffffffffU       /* no system call */
#endif

#define X32_BIT 0x40000000U

static ck_err
failed(struct ck_fail *fail, const char *doing)
{
	return ck_fail_set(fail, CK_NOENFORCE, NULL, "cannot %s: %s", doing,
	    strerror(errno));
}

/*
 * EPERM for putting characters into the terminal's input: TIOCSTI types into
 * the shell outside that shares it, TIOCLINUX can paste.  The kernel looks at
 * 32 bits of the request, and so does this.  A system call of an architecture
 * that is not listed cannot be told apart and does not exist (ENOSYS).
 */
ck_err
wk_terminal_filter(struct ck_fail *fail)
{
	static const struct {
		unsigned int arch, number;
	} arches[2] = FILTER_ARCHES;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arches[0].arch, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arches[1].arch, 5, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		/* 4: the first architecture */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arches[0].number, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILTER_X32 | X32_BIT,
		    4, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		/* 8: the second */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arches[1].number, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		/* 11: ioctl; its second argument, the lower half */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCLINUX, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	const struct sock_fprog program = {
		sizeof(code) / sizeof(code[0]), code
	};

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
		return failed(fail, "filter what is typed into the terminal");
	return CK_OK;
}

/* Of linux/landlock.h, newer than many systems' headers: what scopes came
 * with, and the numbers that every architecture has in common. */
#define LANDLOCK_SCOPES_FROM 6
#define LANDLOCK_SCOPES_SIGNAL 2ULL      /* LANDLOCK_SCOPE_SIGNAL */
#define LANDLOCK_ASK_VERSION 1U          /* ..._CREATE_RULESET_VERSION */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif

/*
 * No signal to a process outside, by kernels from 6.12: SIGUSR1 opens the
 * debugger of a Node.js process to every local program, and SIGABRT writes its
 * memory into a file.  Older kernels cannot, which docs/boundary.md says.
 * Nothing else is restricted: a rule on files would keep the command from
 * mounting in namespaces of its own.
 */
static ck_err
scope_signals(struct ck_fail *fail)
{
	const struct {
		uint64_t files, network, scoped;
	} what = { 0, 0, LANDLOCK_SCOPES_SIGNAL };
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_ASK_VERSION);
	int fd;

	if (version < LANDLOCK_SCOPES_FROM)
		return CK_OK;
	fd = (int)syscall(SYS_landlock_create_ruleset, &what, sizeof(what), 0);
	if (fd < 0)
		return failed(fail, "scope signals");
	if (syscall(SYS_landlock_restrict_self, fd, 0) != 0) {
		(void)close(fd);
		return failed(fail, "scope signals");
	}
	(void)close(fd);
	return CK_OK;
}

/* Every capability out of every set, and no way for one to come back. */
static ck_err
drop_capabilities(struct ck_fail *fail)
{
	struct __user_cap_header_struct head = {
		_LINUX_CAPABILITY_VERSION_3, 0
	};
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
	    SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
	    SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
	    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0;
	    cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			return failed(fail, "drop a capability for good");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 &&
	    errno != EINVAL)
		return failed(fail, "drop ambient capabilities");
	if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) != 0)
		return failed(fail, "lock the ways capabilities come back");
	if (syscall(SYS_capset, &head, none) != 0)
		return failed(fail, "drop capabilities");
	return CK_OK;
}

/* Ask, do not trust. */
static ck_err
nothing_left(struct ck_fail *fail)
{
	struct __user_cap_header_struct head = {
		_LINUX_CAPABILITY_VERSION_3, 0
	};
	struct __user_cap_data_struct has[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
	unsigned int left = 0;

	if (syscall(SYS_capget, &head, has) != 0)
		return failed(fail, "ask for its capabilities");
	for (int i = 0; i < 2; i++)
		left |= has[i].effective | has[i].permitted |
		    has[i].inheritable;
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0;
	    cap++)
		left |= (unsigned int)prctl(PR_CAPBSET_READ, cap, 0, 0, 0);
	if (left != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ||
	    prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		return ck_fail_set(fail, CK_NOENFORCE, NULL,
		    "privileges were not dropped");
	return CK_OK;
}

ck_err
wk_privileges_drop(struct ck_fail *fail)
{
	ck_err r;

	if ((r = drop_capabilities(fail)) != CK_OK)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return failed(fail, "give up new privileges");
	if ((r = scope_signals(fail)) != CK_OK ||
	    (r = wk_terminal_filter(fail)) != CK_OK)
		return r;
	return nothing_left(fail);
}
