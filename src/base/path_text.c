/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as text; see path.h. */
#include "path.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

ck_err
ck_path_format(char ret[CK_PATH_MAX], struct ck_fail *fail, const char *fmt,
    ...)
{
	char buf[CK_PATH_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(buf))
		return ck_fail_set(fail, CK_REFUSED, NULL,
		    "a path is longer than %d bytes", CK_PATH_MAX - 1);
	memcpy(ret, buf, (size_t)n + 1);
	return CK_OK;
}

ck_err
ck_path_join(const char *dir, const char *name, char ret[CK_PATH_MAX],
    struct ck_fail *fail)
{
	size_t n = strlen(dir);

	while (n > 0 && dir[n - 1] == '/')
		n--;
	if (n >= CK_PATH_MAX)
		return ck_fail_set(fail, CK_REFUSED, NULL,
		    "a path is longer than %d bytes", CK_PATH_MAX - 1);
	return ck_path_format(ret, fail, "%.*s/%s", (int)n, dir, name);
}

void
ck_path_parent(const char *path, char ret[CK_PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t n;

	if (slash == NULL) {
		memcpy(ret, ".", 2);
		return;
	}
	n = slash == path ? 1 : (size_t)(slash - path);
	if (n >= CK_PATH_MAX)
		n = CK_PATH_MAX - 1;
	memmove(ret, path, n);
	ret[n] = '\0';
}

const char *
ck_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

bool
ck_path_under(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 0 && dir[n - 1] == '/')
		n--;
	return strncmp(path, dir, n) == 0 &&
	    (path[n] == '\0' || path[n] == '/');
}

bool
ck_path_contains_nocase(const char *path, const char *needle)
{
	size_t n = strlen(needle);

	for (; *path != '\0'; path++) {
		size_t i = 0;

		while (i < n && tolower((unsigned char)path[i]) ==
		    tolower((unsigned char)needle[i]))
			i++;
		if (i == n)
			return true;
	}
	return n == 0;
}
