/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences; see lines.h. */
#include "custody/lines.h"

#include <stdarg.h>
#include <stdio.h>

void
ck_line(struct ck_lines *l, const char *fmt, ...)
{
	char *line;
	va_list ap;

	if (l->n == CK_LINES_MAX) {
		l->more++;
		return;
	}
	line = l->at[l->n++];
	va_start(ap, fmt);
	(void)vsnprintf(line, CK_LINE_SIZE, fmt, ap);
	va_end(ap);
}
