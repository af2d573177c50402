/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's keychain search list, read from its preference file and never
 * written: macOS itself rewrites that file without a lock, and programs that
 * "repaired" it have cost people their lists.
 */
#include "store/login.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

#define PLIST_MAX ((size_t)1 << 20)

/* The five entities of XML, the only ones a property list uses. */
static const struct {
	const char *name;
	char c;
} entities[] = {
	{ "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' },
	{ "&quot;", '"' }, { "&apos;", '\'' },
};

/* One XML text of n bytes as a path below home when it starts with "~/". */
static ck_err
decode(const char *p, size_t n, const char *home, char ret[CK_PATH_MAX],
    struct ck_fail *fail)
{
	char text[CK_PATH_MAX];
	size_t used = 0;

	for (size_t i = 0; i < n;) {
		char c = p[i];
		size_t len = 1;

		for (size_t e = 0; e < sizeof(entities) / sizeof(entities[0]);
		    e++) {
			size_t el = strlen(entities[e].name);

			if (n - i >= el &&
			    memcmp(p + i, entities[e].name, el) == 0) {
				c = entities[e].c;
				len = el;
			}
		}
		if (used == sizeof(text) - 1)
			return ck_fail_set(fail, CK_UNSUPPORTED, NULL,
			    "a search list entry is longer than a path");
		text[used++] = c;
		i += len;
	}
	text[used] = '\0';
	if (strncmp(text, "~/", 2) == 0)
		return ck_path_join(home, text + 2, ret, fail);
	return ck_path_format(ret, fail, "%s", text);
}

/* Call cb for the string behind each key DbName. */
static ck_err
each_name(const char *text, const char *home, ck_login_list_cb *cb,
    void *arg, struct ck_fail *fail)
{
	static const char key[] = "<key>DbName</key>";
	static const char open[] = "<string>", shut[] = "</string>";
	char path[CK_PATH_MAX];
	const char *end;
	ck_err r;

	while ((text = strstr(text, key)) != NULL) {
		text += sizeof(key) - 1;
		text += strspn(text, " \t\r\n");
		if (strncmp(text, open, sizeof(open) - 1) != 0)
			return CK_DAMAGED;
		text += sizeof(open) - 1;
		if ((end = strstr(text, shut)) == NULL)
			return CK_DAMAGED;
		r = decode(text, (size_t)(end - text), home, path, fail);
		if (r != CK_OK || (r = cb(arg, path)) != CK_OK)
			return r;
		text = end;
	}
	return CK_OK;
}

ck_err
ck_login_search_list(const char *home, ck_login_list_cb *cb, void *arg,
    struct ck_fail *fail)
{
	char path[CK_PATH_MAX];
	uint8_t *text = NULL;
	size_t n;
	int fd = -1;
	ck_err r;

	r = ck_path_join(home, "Library/Preferences/com.apple.security.plist",
	    path, fail);
	if (r != CK_OK)
		return r;
	r = ck_io_open_file(AT_FDCWD, path, path, 0, &fd, NULL, fail);
	if (r == CK_NOSTORE)
		return CK_OK;   /* the default list, which is not ours */
	if (r != CK_OK)
		return r;
	r = ck_io_read_all(fd, PLIST_MAX, path, &text, &n, fail);
	ck_io_close(&fd);
	if (r != CK_OK)
		return r;
	if (n >= 6 && memcmp(text, "bplist", 6) == 0) {
		r = ck_fail_set(fail, CK_UNSUPPORTED, path,
		    "is a binary property list");
		ck_fail_next(fail, "plutil -convert xml1 -o - '%s'", path);
	} else if (strlen((const char *)text) != n ||
	    strstr((const char *)text, "<plist") == NULL) {
		r = ck_fail_set(fail, CK_DAMAGED, path,
		    "is not a property list");
	} else {
		r = each_name((const char *)text, home, cb, arg, fail);
		if (r == CK_DAMAGED)
			(void)ck_fail_set(fail, r, path,
			    "is not a property list that can be followed");
	}
	free(text);
	return r;
}
