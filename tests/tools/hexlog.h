/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of a log of strace -xx -y: every string and path in hex, so that no
 * text in it can be taken for syntax.
 */
#ifndef CK_TOOLS_HEXLOG_H
#define CK_TOOLS_HEXLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A string argument, decoded.  The caller gives p room for the text it comes
 * from; a NUL that n does not count stands behind it. */
struct text {
	uint8_t *p;
	size_t n;
	bool cut;            /* strace did not show all of it */
};

/* Decode \xHH until stop; returns what is behind it, or NULL when the text is
 * something else. */
const char *hexlog_hex(const char *s, char stop, struct text *ret);

/* The next quoted string at or after s; NULL when there is none. */
const char *hexlog_string(const char *s, struct text *ret);

/* An argument like "7</path>": the number, and the path, which is empty when
 * there is none.  -1 for AT_FDCWD, with its path, and for anything else. */
int hexlog_fd(const char *args, struct text *ret_path);

#endif
