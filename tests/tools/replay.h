/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does to a tree (disk.h) what a log of strace -f -xx -y says that a process,
 * or several one after another, did to the real one.  A log that cannot be
 * followed to the letter ends the program with status 2: mappings that are
 * written to, two processes at a time, strings that are cut off, calls that
 * are not known here.
 */
#ifndef CK_TOOLS_REPLAY_H
#define CK_TOOLS_REPLAY_H

#include "disk.h"

/* Called behind each call that changed the tree or brought something to the
 * disk; what is like "fsync .clankie-keys/custody.db".  Returns false to end. */
typedef bool replay_step(void *arg, const struct disk *d, const char *what);

/* root is where the tree lay in the log, without a slash at the end. */
void replay(const char *log, const char *root, struct disk *d,
    replay_step *step, void *arg);

#endif
