/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds pieces of known secrets in other bytes: every run of 8 bytes of a
 * secret, as it is, in hex and in base64.  Never prints what it found.
 */
#ifndef CK_TOOLS_PATTERNS_H
#define CK_TOOLS_PATTERNS_H

#include <stddef.h>
#include <stdint.h>

struct patterns;                         /* opaque */

/*
 * Read secrets, one per line in lower-case hex, each of at least 8 bytes.
 * Exits with status 2 when the file cannot be read or says something else.
 */
struct patterns *patterns_load(const char *path);

/* How many secrets the file named. */
size_t patterns_count(const struct patterns *p);

/* NULL when no piece of any secret is in buf; else how it was written
 * ("as it is", "in hex", "in base64"). */
const char *patterns_find(const struct patterns *p, const uint8_t *buf,
    size_t n);

void patterns_free(struct patterns *p);

#endif
