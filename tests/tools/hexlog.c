/* SPDX-License-Identifier: Apache-2.0 */
/* See hexlog.h. */
#include "hexlog.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

const char *
hexlog_hex(const char *s, char stop, struct text *ret)
{
	char digits[3] = "";

	for (ret->n = 0; *s != stop; s += 4) {
		if (s[0] != '\\' || s[1] != 'x' || s[2] == '\0')
			return NULL;
		digits[0] = s[2];
		digits[1] = s[3];
		if (ck_hex_decode(digits, &ret->p[ret->n], 1) != CK_OK)
			return NULL;
		ret->n++;
	}
	ret->p[ret->n] = '\0';
	return s + 1;
}

const char *
hexlog_string(const char *s, struct text *ret)
{
	if ((s = strchr(s, '"')) == NULL)
		return NULL;
	if ((s = hexlog_hex(s + 1, '"', ret)) == NULL)
		return NULL;
	ret->cut = strncmp(s, "...", 3) == 0;
	return s;
}

int
hexlog_fd(const char *args, struct text *ret_path)
{
	const char *open = args + strcspn(args, "<,");
	bool number = isdigit((unsigned char)args[0]);

	ret_path->p[0] = '\0';
	ret_path->n = 0;
	if (!number && strncmp(args, "AT_FDCWD", 8) != 0)
		return -1;
	if (open[0] == '<' && open[1] == '\\') {
		(void)hexlog_hex(open + 1, '>', ret_path);
	} else if (open[0] == '<') {
		/* Older versions of strace leave the path as it is. */
		ret_path->n = strcspn(open + 1, ">");
		memcpy(ret_path->p, open + 1, ret_path->n);
		ret_path->p[ret_path->n] = '\0';
	}
	return number ? (int)strtol(args, NULL, 10) : -1;
}
