/* SPDX-License-Identifier: Apache-2.0 */
/* A short list of sentences for people, made where the facts are known. */
#ifndef CK_CUSTODY_LINES_H
#define CK_CUSTODY_LINES_H

#include <stddef.h>

#include "base/err.h"
#include "base/path.h"

/* Two paths and what is said of them; more lines than fit are counted. */
enum { CK_LINES_MAX = 48, CK_LINE_SIZE = 2 * CK_PATH_MAX + 512 };
struct ck_lines {
	size_t n;
	size_t more;
	char at[CK_LINES_MAX][CK_LINE_SIZE];
};

void ck_line(struct ck_lines *l, const char *fmt, ...) CK_PRINTF(2, 3);

#endif
