/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults below SQLite: its n-th memory request, or its n-th call on files,
 * fails.  Everything else goes to the real thing.
 */
#ifndef CK_TESTS_HELP_VFS_H
#define CK_TESTS_HELP_VFS_H

#include <stdbool.h>

/* Once a program, before SQLite is used. */
void help_vfs_install(void);

/* The n-th request from now on fails, once; 0 disarms.  fired says whether it
 * came to that since. */
void help_memory_fail(unsigned long n);
bool help_memory_fired(void);

/* The n-th write, sync, truncation, deletion or opening of a file from now on
 * fails with rc (an SQLite code), and so does every later one if again is
 * set; 0 disarms. */
void help_file_fail(unsigned long n, int rc, bool again);
/* The same for the n-th read. */
void help_read_fail(unsigned long n, int rc);
bool help_file_fired(void);

#endif
