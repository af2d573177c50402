/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of worker.mounts, written and read; see mounts_text.h. */
#include "boundary/mounts_text.h"

#include <stdio.h>
#include <string.h>

/* Which words a step has. */
static const struct {
	const char *name;
	bool file, mode, identity;
	int phase;                   /* of the three of the order */
} steps[CK_MOUNT_STEPS] = {
	[CK_MOUNT_BIND] = { "bind", false, false, true, 0 },
	[CK_MOUNT_READ] = { "read", true, false, true, 0 },
	[CK_MOUNT_MASK] = { "mask", false, true, true, 1 },
	[CK_MOUNT_NAME] = { "name", true, true, false, 1 },
	[CK_MOUNT_BACK] = { "back", true, false, false, 1 },
	[CK_MOUNT_SHUT] = { "shut", true, false, false, 2 },
};

const char *
ck_mount_step_name(enum ck_mount_step step)
{
	return (unsigned int)step < CK_MOUNT_STEPS ? steps[step].name : "?";
}

int
ck_mount_path_compare(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	if (*a == *b)
		return 0;
	/* The slash sorts first: "/a/b" between "/a" and "/a-b". */
	if (*a == '\0' || *b == '\0')
		return *a == '\0' ? -1 : 1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

int
ck_mount_compare(const struct ck_mount *a, const struct ck_mount *b)
{
	int pa = steps[a->step].phase, pb = steps[b->step].phase;

	return pa != pb ? pa - pb : ck_mount_path_compare(a->path, b->path);
}

void
ck_mount_escape(const char *path, char ret[4 * CK_PATH_MAX])
{
	char *to = ret;

	for (; *path != '\0'; path++) {
		unsigned char c = (unsigned char)*path;

		if (c > ' ' && c != '\\' && c != 0x7f) {
			*to++ = *path;
			continue;
		}
		*to++ = '\\';
		*to++ = (char)('0' + (c >> 6));
		*to++ = (char)('0' + (c >> 3 & 7));
		*to++ = (char)('0' + (c & 7));
	}
	*to = '\0';
}

size_t
ck_mount_line(const struct ck_mount *m, char ret[CK_MOUNT_LINE_MAX])
{
	char path[4 * CK_PATH_MAX], mode[16] = "-", identity[64] = "- -";
	int n;

	ck_mount_escape(m->path, path);
	if (steps[m->step].mode)
		(void)snprintf(mode, sizeof(mode), "%04o", m->mode & 07777);
	if (m->known)
		(void)snprintf(identity, sizeof(identity), "%llu %llu",
		    m->device, m->inode);
	n = snprintf(ret, CK_MOUNT_LINE_MAX, "%s %s %s %s %s\n",
	    steps[m->step].name, m->directory ? "dir" : "file", mode,
	    identity, path);
	return n < 0 ? 0 : (size_t)n;
}

/* One word up to the next space or the end, which is consumed. */
static bool
word(const char **at, char *ret, size_t room)
{
	size_t n = strcspn(*at, " ");

	if (n == 0 || n >= room)
		return false;
	memcpy(ret, *at, n);
	ret[n] = '\0';
	*at += n + ((*at)[n] == ' ');
	return true;
}

/* Digits of this base; how many is checked by writing it again. */
static bool
digits(const char *text, unsigned int base, unsigned long long *ret)
{
	unsigned long long value = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		unsigned int digit = (unsigned int)*text - '0';

		if (digit >= base || value > (~0ULL - digit) / base)
			return false;
		value = value * base + digit;
	}
	*ret = value;
	return true;
}

bool
ck_mount_unescape(const char *text, char ret[CK_PATH_MAX])
{
	size_t n = 0;

	while (*text != '\0') {
		unsigned int c = (unsigned char)*text++;

		if (c == '\\') {
			c = 0;
			for (int i = 0; i < 3; i++, text++) {
				if (*text < '0' || *text > '7')
					return false;
				c = c << 3 | (unsigned int)(*text - '0');
			}
		}
		if (c == 0 || c > 0xff || n + 1 >= CK_PATH_MAX)
			return false;
		ret[n++] = (char)c;
	}
	ret[n] = '\0';
	return true;
}

/* Absolute, not the root, and no component that means another place. */
static bool
is_place(const char *path)
{
	if (path[0] != '/')
		return false;
	while (*path == '/') {
		size_t n = strcspn(++path, "/");

		if (n == 0 || (path[0] == '.' && (n == 1 ||
		    (n == 2 && path[1] == '.'))))
			return false;
		path += n;
	}
	return true;
}

static bool
read_words(const char *line, struct ck_mount *m)
{
	char text[64];
	unsigned long long mode = 0;
	unsigned int step = 0;

	if (!word(&line, text, sizeof(text)))
		return false;
	while (step < CK_MOUNT_STEPS && strcmp(text, steps[step].name) != 0)
		step++;
	if (step == CK_MOUNT_STEPS || !word(&line, text, sizeof(text)))
		return false;
	m->step = (enum ck_mount_step)step;
	m->directory = strcmp(text, "dir") == 0;
	if (!m->directory && (!steps[step].file || strcmp(text, "file") != 0))
		return false;
	if (!word(&line, text, sizeof(text)) ||
	    (steps[step].mode && (!digits(text, 8, &mode) || mode > 0777)))
		return false;
	m->mode = (unsigned int)mode;
	if (!word(&line, text, sizeof(text)))
		return false;
	m->known = strcmp(text, "-") != 0;
	if (m->known && (!m->directory || !steps[step].identity ||
	    !digits(text, 10, &m->device)))
		return false;
	if (!word(&line, text, sizeof(text)) ||
	    (m->known && !digits(text, 10, &m->inode)))
		return false;
	return ck_mount_unescape(line, m->path) && is_place(m->path);
}

/* A mask's name or what is put back lies below the last mask. */
static bool
fits_behind(const struct ck_mounts *plan, const struct ck_mount *m)
{
	const struct ck_mount *last = plan->n == 0 ? NULL :
	    &plan->step[plan->n - 1];

	if (last != NULL && ck_mount_compare(last, m) >= 0)
		return false;
	if (m->step == CK_MOUNT_SHUT)
		return !m->directory;
	if (m->step != CK_MOUNT_NAME && m->step != CK_MOUNT_BACK)
		return true;
	for (size_t i = plan->n; i > 0; i--)
		if (plan->step[i - 1].step == CK_MOUNT_MASK)
			return ck_path_under(m->path, plan->step[i - 1].path);
	return false;
}

/* One line without its newline, into the next step of the plan. */
static ck_err
read_step(const char *line, size_t number, const char *shown,
    struct ck_mounts *plan, struct ck_fail *fail)
{
	char again[CK_MOUNT_LINE_MAX];
	struct ck_mount *m = &plan->step[plan->n];
	size_t n;

	if (plan->n == CK_MOUNTS_MAX)
		return ck_fail_set(fail, CK_REFUSED, shown,
		    "has more than %d steps", CK_MOUNTS_MAX);
	memset(m, 0, sizeof(*m));
	if (!read_words(line, m))
		return ck_fail_set(fail, CK_DAMAGED, shown,
		    "line %zu is no step of a plan", number);
	n = ck_mount_line(m, again);
	if (n == 0 || strlen(line) != n - 1 || memcmp(line, again, n - 1) != 0)
		return ck_fail_set(fail, CK_DAMAGED, shown,
		    "line %zu is not spelled as it would be written", number);
	if (!fits_behind(plan, m))
		return ck_fail_set(fail, CK_DAMAGED, shown,
		    "line %zu is out of order", number);
	plan->n++;
	return CK_OK;
}

/* "NAME NUMBER", and in no other spelling. */
static bool
read_count(const char *line, const char *name, unsigned long long *ret)
{
	char again[64];
	size_t n = strlen(name);

	if (strncmp(line, name, n) != 0 || line[n] != ' ' ||
	    !digits(line + n + 1, 10, ret))
		return false;
	(void)snprintf(again, sizeof(again), "%s %llu", name, *ret);
	return strcmp(again, line) == 0;
}

/* The next line into a buffer; false at the end, or when it has none. */
static bool
next_line(const char **at, const char *end, char ret[CK_MOUNT_LINE_MAX])
{
	const char *stop = memchr(*at, '\n', (size_t)(end - *at));
	size_t n;

	if (stop == NULL)
		return false;
	n = (size_t)(stop - *at);
	if (n >= CK_MOUNT_LINE_MAX || memchr(*at, '\0', n) != NULL)
		return false;
	memcpy(ret, *at, n);
	ret[n] = '\0';
	*at = stop + 1;
	return true;
}

static ck_err
read_all(const char *at, const char *end, const char *shown,
    struct ck_mounts *plan, struct ck_fail *fail)
{
	char line[CK_MOUNT_LINE_MAX];
	unsigned long long count = 0;
	size_t number = 1;
	ck_err r;

	if (!next_line(&at, end, line) || strcmp(line, CK_MOUNTS_FIRST) != 0)
		return ck_fail_set(fail, CK_UNSUPPORTED, shown,
		    "does not begin with \"%s\"", CK_MOUNTS_FIRST);
	number++;
	if (!next_line(&at, end, line) || !read_count(line, "user", &count) ||
	    count > 0xffffffffULL)
		return ck_fail_set(fail, CK_DAMAGED, shown,
		    "line %zu does not name the user", number);
	plan->user = (unsigned long)count;
	for (number++; next_line(&at, end, line); number++) {
		if (!read_count(line, "end", &count)) {
			if ((r = read_step(line, number, shown, plan,
			    fail)) != CK_OK)
				return r;
			continue;
		}
		if (count == plan->n && at == end)
			return CK_OK;
		return ck_fail_set(fail, CK_DAMAGED, shown,
		    "line %zu does not end it", number);
	}
	return ck_fail_set(fail, CK_DAMAGED, shown,
	    "ends at line %zu, before its end", number);
}

ck_err
ck_mounts_read(const char *text, size_t n, const char *shown,
    struct ck_mounts *ret, struct ck_fail *fail)
{
	ck_err r;

	ret->n = 0;
	r = read_all(text, text + n, shown, ret, fail);
	if (r != CK_OK)
		ret->n = 0;
	return r;
}
