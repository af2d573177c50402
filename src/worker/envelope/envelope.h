/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clankie-envelope-entry: the last step into a launch envelope on Linux.
 * bubblewrap has bound the grants; this proves that they are the ones that
 * were examined, lets nothing but them be opened (Landlock), and becomes the
 * command.  Linked statically; no allocation.
 */
#ifndef CK_WORKER_ENVELOPE_ENVELOPE_H
#define CK_WORKER_ENVELOPE_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { EN_SAME_MAX = 512, EN_ALLOW_MAX = 512 };

struct envelope_entry {
	const char *control;
	struct {
		const char *path;
		unsigned long long device, inode;
	} same[EN_SAME_MAX];
	size_t nsame;
	const char *allow[EN_ALLOW_MAX];
	size_t nallow;
	bool network;
	char **command;
};

/*
 * From here on nothing can be opened that does not lie below one of allow,
 * but that the root can be listed, and control's record read.  From Landlock's
 * version 6 on also no abstract socket of the outside and no signal to it.
 * CK_NOENFORCE: the kernel has no Landlock, or one that would keep files from
 * being moved between directories (below version 2); or with network, and
 * below version 6, abstract sockets of the outside could be reached.
 */
CK_MUST_USE ck_err en_shut(const struct envelope_entry *e,
    struct ck_fail *fail);

/* The grants are the very files and directories that were examined.
 * CK_NOENFORCE. */
CK_MUST_USE ck_err en_same(const struct envelope_entry *e,
    struct ck_fail *fail);

/* The record can be read, the probe is there and cannot.  CK_NOENFORCE. */
CK_MUST_USE ck_err en_prove(const struct envelope_entry *e,
    struct ck_fail *fail);

#endif
